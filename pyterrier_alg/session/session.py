"""A session: run a program, look at its result, use that in the next program."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.binding import check_operand_name, unknown_name
from pyterrier_alg.session._kept import Key
from pyterrier_alg.session._surface import Surface, Written, plain_topic
from pyterrier_alg.session.addressing import Seen, address, operand_digest, records_digest, relation_digest, seen
from pyterrier_alg.session.log import FORM, Log, error_to_dict, head_of, operand_to_dict, topic_to_dict, versions
from pyterrier_alg.session.result import Result
from pyterrier_alg.transformers import Program


class Session(Surface):
    """Programs over one collection, each result an operand of the next.

    A result has a handle (`r1`, `r2`, …) and, where it was given one, a name; both are operands of later programs. The
    same program over the same operands is the same result, whose handle is used again. What is bound again makes the
    results of it stale: they stay what they are, but programs that name them are refused. One thread at a time uses a
    session.

    Example:
        >>> session = Session(Collection(["d1", "d2", "d3"]).bind(S={"d1": 1.0, "d2": 2.0, "d3": 4.0}, w={"d1": 5.0}))
        >>> session.run("top(2, S)", name="pool")
        r1 pool = top(2, S)
          2 records, separated, gap at the cut 1, certified, vectorised, address f51677b54d03
            0  d3  4.0
            1  d2  2.0
        >>> session.run("pool - 1").relation.to_dict()
        {'d3': 3.0, 'd2': 1.0}
    """

    def __init__(self, collection: Collection, *, engine: str = "vectorised", warnings: bool = True) -> None:
        """Begin with no results.

        Args:
            collection: what programs run over; it stays as it is.
            engine: which runs them, unless a run says another one.
            warnings: whether each run looks for its warnings; where not, they are found when first asked for.

        Raises:
            AlgebraError: `bad_argument`, `unknown_engine`.
        """
        super().__init__(collection, engine)
        self._look_for_warnings = warnings
        self._records = records_digest(collection)
        self._began = collection
        self._entries: list[dict[str, Any]] = []

    @property
    def log(self) -> Log:
        """What was done so far."""
        began = self._began
        facts = {"name": began.name, "records": len(began), "digest": began.digest}
        header = {"log": FORM, "versions": versions(), "engine": self.engine, "collection": facts}
        return Log(header, tuple(self._entries))

    def run(
        self,
        program: Written,
        name: str | None = None,
        topic: Topic | str | None = None,
        engine: str | None = None,
        *,
        replace: bool = False,
    ) -> Result:
        """Run a program and keep its result as an operand.

        Args:
            program: text, a formula or an expression; or a `Program` or a result, of which formula and engine count.
            name: what later programs may call the result beside its handle.
            topic: the query, or its text; None where the program needs none. One with an `input` or a `pool` is
                re-ranked.
            engine: one of `engines()`; the session's where left out.
            replace: whether a name that stands for another result shall stand for this one; results that were made of
                the other under this name become stale.

        Returns:
            The result: the one that is there already where program, operands, topic and engine are the same.

        Raises:
            ProgramError, EvaluationError, UnsupportedError, BindingError: as `Program.run`; they are logged.
            StaleResultError: where the program names a stale result.
            BindingError: `bad_name`, `reserved_name`, `duplicate_name`.
        """
        if topic is None and isinstance(program, Result):
            topic = program.topic
        asked = plain_topic(topic)
        if name is not None:
            self._check_name(name)
        entry: dict[str, Any] = {"step": len(self._entries) + 1, "action": "run", "handle": None, "name": name}
        entry |= {"program": _text(program), "engine": str(engine or self.engine), "topic": topic_to_dict(asked)}
        entry |= {"operands": {}}
        try:
            sound = self.program(program, engine)
            entry |= {"program": sound.formula.ascii, "engine": sound.engine}
            view = seen(sound, asked)
            entry["operands"] = dict(view.operands)
            result = self._result(sound, asked, view, name, replace)
        except AlgebraError as error:
            self._entries.append({**entry, "error": error_to_dict(error)})
            raise
        facts = {"address": result.address, "digest": result.digest, "count": len(result)}
        facts |= {"certified": result.relation.certified, "head": head_of(result.relation)}
        found = sorted({w.code for w in result.warnings}) if self._look_for_warnings else None
        self._entries.append({**entry, "handle": result.handle, "result": facts, "warnings": found})
        return result

    def bind(self, **operands: Any) -> None:
        """Bind more operands, each name once; a result is bound as its relation.

        Raises:
            BindingError: as `Collection.bind`; `duplicate_name` also for the handle or name of a result.
        """
        for name in operands:
            if name in self._kept:
                hint = "rebind(…) gives a name another operand"
                raise BindingError("duplicate_name", f"{name!r} is bound already: it is a result", hint)
        self._bind("bind", self._bound.bind(**_plain(operands)), operands)

    def rebind(self, **operands: Any) -> None:
        """Bind names to other operands; results that were made of them become stale.

        A name that gets an operand of the same content makes nothing stale. A name of a result may be bound again, a
        handle not.

        Raises:
            UnknownNameError: `unknown_name`, where it is not bound.
            BindingError: `duplicate_name` for a handle; as `Collection.bind`. Nothing is bound then.
        """
        for name in operands:
            if name in self._kept.results:
                raise BindingError("duplicate_name", f"{name!r} is a handle, which always stands for its result")
            if name not in self._kept.names and name not in self._bound:
                raise unknown_name(name, [*self._bound.operands, *self._kept.names])
        kept = {name: operand for name, operand in self._bound.operands.items() if name not in operands}
        bound = self._bound._with(kept).bind(**_plain(operands))
        self._kept.unname(operands)
        self._bind("rebind", bound, operands)

    def forget(self, *results: str) -> None:
        """Let go of results, by handle or name; those that were made of them become stale.

        Raises:
            UnknownNameError: `unknown_name`.
        """
        handles = list(dict.fromkeys(self._kept[name].handle for name in results))
        for handle in handles:
            self._kept.forget(handle)
        self._entries.append({"step": len(self._entries) + 1, "action": "forget", "operands": handles})

    def _result(self, program: Program, topic: Topic | None, view: Seen, name: str | None, replace: bool) -> Result:
        """The result of a program: the one that is there, or a new one with the next handle."""
        asked = (topic.qid, topic.query) if topic is not None else None
        key: Key = (program.formula.digest, tuple(view.operands.items()), program.engine, asked)
        if not view.is_live and self._kept.knows(key):
            return self._kept.again(key, name, replace=replace)
        began = perf_counter()
        relation = program.run(topic)
        seconds = perf_counter() - began
        if self._look_for_warnings:
            # Looked at here, they are part of what the result shows.
            _ = relation.warnings
        digest = relation_digest(relation)
        if view.is_live:
            key = (*key, digest)
            if self._kept.knows(key):
                return self._kept.again(key, name, replace=replace)
        own = (program.engine, digest) if view.is_live or not relation.certified else ()
        place = address(program.formula, view.operands, self._records, *own)
        handle = self._kept.next_handle(self._bound.operands)
        made = Result(handle, program, topic, relation, place, digest, key[1], name, seconds=seconds)
        self._kept.add(key, made, replace=replace)
        return made

    def _bind(self, action: str, bound: Collection, operands: Mapping[str, Any]) -> None:
        self._bound, self._whole = bound, None
        scope, facts = bound.at(), {}
        for name, value in operands.items():
            operand = bound.operands[name]
            if isinstance(value, Result) and self._kept.results.get(value.handle) == value:
                said: Any = {"kind": "result", "value": value.handle}
            else:
                said = operand_to_dict(operand, scope)
            facts[name] = {"digest": operand_digest(operand), "operand": said}
        self._entries.append({"step": len(self._entries) + 1, "action": action, "operands": facts})

    def _check_name(self, name: str) -> None:
        check_operand_name(name)
        if name in self._bound or name in self._kept.results:
            what = "a handle" if name in self._kept.results else "an operand"
            raise BindingError("duplicate_name", f"{name!r} is {what} already", "take another name for the result")


def _plain(operands: Mapping[str, Any]) -> dict[str, Any]:
    """Operands as a collection binds them."""
    return {name: value.relation if isinstance(value, Result) else value for name, value in operands.items()}


def _text(program: object) -> str:
    """A program's text, read or not."""
    if isinstance(program, Result | Program):
        return program.formula.ascii
    return repr(program) if isinstance(program, Formula | Expression) else str(program)
