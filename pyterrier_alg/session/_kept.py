"""What a session keeps of its results: by handle, by name, by what would make them again; and which are stale."""

from __future__ import annotations

import dataclasses
from collections.abc import Container
from typing import Any, TypeAlias

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.binding import unknown_name
from pyterrier_alg.session.addressing import CAME_IN, digests_at
from pyterrier_alg.session.result import Result

#: All that would make a result again: program, operands, engine, query, and the relation of a live retriever.
Key: TypeAlias = tuple[Any, ...]

#: What comes with a query, and stays what it was.
_OF_A_QUERY = frozenset({"query", "query_vec", "input", CAME_IN})


class Kept:
    """Results by handle and name.

    Attributes:
        results: by handle, in the order in which they were made.
        names: the handle that each name stands for.
        changes: how often this was changed.
        is_rebound: whether a name ever came to stand for something else.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.results: dict[str, Result] = {}
        self.names: dict[str, str] = {}
        self.changes = 0
        self.is_rebound = False
        self._handles: dict[Key, str] = {}
        self._last = 0

    def __contains__(self, name: object) -> bool:
        """Whether a result has this handle or name."""
        return name in self.results or name in self.names

    def __getitem__(self, name: str) -> Result:
        """The result of a handle or name.

        Raises:
            UnknownNameError: `unknown_name`.
        """
        handle = name if name in self.results else self.names.get(name)
        if handle is None:
            raise unknown_name(name, [*self.results, *self.names])
        return self.results[handle]

    def by_name(self) -> dict[str, Result]:
        """Every handle and name with its result."""
        return {**self.results, **{name: self.results[handle] for name, handle in self.names.items()}}

    def next_handle(self, taken: Container[str]) -> str:
        """The handle of the next result; a number is used once, and not where an operand or a name has it."""
        number = self._last + 1
        while f"r{number}" in taken or f"r{number}" in self.names:
            number += 1
        return f"r{number}"

    def knows(self, key: Key) -> bool:
        """Whether there is a result that was made of the same."""
        return key in self._handles

    def again(self, key: Key, name: str | None, *, replace: bool) -> Result:
        """The result that is there, and maybe a name for it.

        Raises:
            BindingError: `duplicate_name`.
        """
        result = self.results[self._handles[key]]
        self._name(result, name, replace=replace)
        return result if name in (None, result.name) else dataclasses.replace(result, name=name)

    def add(self, key: Key, result: Result, *, replace: bool) -> None:
        """Keep a new result under its handle, and its name where it has one.

        Raises:
            BindingError: `duplicate_name`; then it is not kept.
        """
        self._name(result, result.name, replace=replace)
        self.results[result.handle] = result
        self._handles[key] = result.handle
        self._last = int(result.handle[1:])
        self.changes += 1

    def unname(self, names: Container[str]) -> None:
        """Let these names stand for nothing here."""
        self.names = {name: handle for name, handle in self.names.items() if name not in names}
        self._rebound()

    def forget(self, handle: str) -> None:
        """Let go of a result and its names."""
        self.results.pop(handle, None)
        self.names = {name: other for name, other in self.names.items() if other != handle}
        self._handles = {key: other for key, other in self._handles.items() if other != handle}
        self._rebound()

    def changed(self, result: Result, collection: Collection) -> tuple[str, ...]:
        """The names that a result was made of, itself or through others, and that stand for something else now.

        Args:
            result: one of these.
            collection: what names stand for now, results among them.
        """
        found: dict[str, None] = {}
        reached, stack = {result.handle}, [result]
        while stack:
            one = stack.pop()
            topic = Topic(one.topic.qid, one.topic.query, one.topic.vector) if one.topic is not None else None
            now = digests_at(collection, topic, [name for name, _ in one.operands])
            for name, digest in one.operands:
                if name not in _OF_A_QUERY and now.get(name) != digest:
                    found[name] = None
                elif name in self and self[name].handle not in reached:
                    reached.add(self[name].handle)
                    stack.append(self[name])
        return tuple(found)

    def _made_of(self, result: Result) -> set[str]:
        """The names that a result was made of, itself or through others."""
        names: set[str] = set()
        stack = [result]
        while stack:
            new = {name for name, _ in stack.pop().operands} - names
            names |= new
            stack += [self[name] for name in new if name in self]
        return names

    def _rebound(self) -> None:
        self.changes += 1
        self.is_rebound = True

    def _name(self, result: Result, name: str | None, *, replace: bool) -> None:
        """Let a name stand for a result."""
        if name is None or self.names.get(name) == result.handle:
            return
        if name in self.names and not replace:
            message = f"{name!r} stands for {self.names[name]}, another result"
            hint = "take another name, or run(…, replace=True), which makes results of that one stale"
            raise BindingError("duplicate_name", message, hint)
        if name in self.names and name in self._made_of(result):
            message = f"the result is itself made of {name!r}, and would be stale at once"
            raise BindingError("duplicate_name", message, "give it another name")
        self.is_rebound |= name in self.names
        self.names[name] = result.handle
        self.changes += 1
