"""Orientation: what a program may name in a collection, as facts for programs and a table for people.

The first answer stays within `BUDGET` however much is bound; whatever it leaves out can be asked for by name.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import chain, zip_longest
from typing import Any, cast

from pyterrier_alg.algebra.kinds import Kind, Space
from pyterrier_alg.algebra.operators import RESERVED_OPERANDS
from pyterrier_alg.collection._facts import details, facts, shortened
from pyterrier_alg.collection._facts_engines import engine_facts
from pyterrier_alg.collection._facts_language import grammar, limits, operator_facts, operator_named, reserved
from pyterrier_alg.collection.binding import unknown_name
from pyterrier_alg.collection.examples import example_programs, examples_of, query_programs, rerank_programs
from pyterrier_alg.collection.operands import MatrixOperand
from pyterrier_alg.collection.parts import space_to_dict
from pyterrier_alg.collection.per_query import Bound
from pyterrier_alg.collection.records import Records
from pyterrier_alg.collection.showing import as_html, as_text

#: How many bytes of JSON the first answer and lists have at most: about 1,500 tokens of 4.
BUDGET = 6000

#: Of these, for spaces and for example programs; for the names alone of operands that are not listed with their facts.
_SPACES, _EXAMPLES, _NAMES = 900, 900, 500

#: The longest program that the first answer shows.
_LONGEST_PROGRAM = 160

#: After as many operands that no longer fit, no more are tried.
_MISFITS = 5


@dataclass(frozen=True, repr=False)
class Orientation:
    """What is bound, or one name in detail: a table when printed, JSON-ready values from `to_dict`.

    Attributes:
        facts: the JSON-ready values, as `orient_schema()` describes them.
    """

    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; their layout is stable."""
        return copy.deepcopy(dict(self.facts))

    def __repr__(self) -> str:
        """A table as wide as the terminal at most."""
        return as_text(self.facts)

    def _repr_html_(self) -> str:
        return as_html(self.facts)


def orient(name: str, records: Records, operands: Mapping[str, Bound], query_space: Space | None) -> Orientation:
    """A short answer about all operands, and the language.

    Args:
        name: of the collection.
        records: its records.
        operands: what is bound.
        query_space: the space of topics' vectors, where it was stated.

    Returns:
        Keys `collection`, `records`, `spaces`, `query_space`, `operands` (with their facts, as many as fit), `names`
        (by kind, of others, as many as fit), `counts` (of each kind, all of them), `reserved` (names that have a
        meaning already), `examples` (programs that run without a query), `query_examples` (over topics),
        `rerank_examples` (over results), `grammar`, `limits` and `engines`.
    """
    topics_space = query_space or _only_space(operands)
    given = [operand.binding.type.space for operand in operands.values()]
    spaces = [space for space in dict.fromkeys([*given, query_space]) if space is not None]
    by_kind = _by_kind(operands)
    answer: dict[str, Any] = {
        "collection": shortened(name),
        "records": len(records),
        "spaces": list(_fitting(map(_space, spaces), _SPACES)),
        "query_space": shortened(topics_space.name) if topics_space else None,
        "operands": [],
        "names": {},
        "counts": {kind: len(names) for kind, names in by_kind.items()},
        "reserved": reserved(operands, topics_space),
        **_examples(records, operands),
        "grammar": grammar(),
        "limits": limits(),
        "engines": engine_facts(),
    }
    answer["operands"], answer["names"] = _listed(by_kind, operands, records, BUDGET - _size(answer))
    return Orientation(answer)


def orient_name(
    name: object, records: Records, operands: Mapping[str, Bound], query_space: Space | None = None
) -> Orientation:
    """Whatever can be asked for by name.

    Args:
        name: of an operand; of an operator, a function or a reserved name; a kind, for the operands of it; or a pattern
            with `*` or `?`, for those whose names match it. The first of these that there is counts.
        records: the collection's.
        operands: what is bound.
        query_space: the space of topics' vectors, where it was stated.

    Returns:
        The details (`operand`, `operator` or `reserved`), or a list (`matching`).

    Raises:
        UnknownNameError: `unknown_name`.
    """
    if not isinstance(name, str):
        raise unknown_name(name, operands)
    if name in operands:
        return orient_operand(name, records, operands)
    if name in RESERVED_OPERANDS:
        known = reserved(operands, query_space or _only_space(operands))
        return Orientation({"reserved": next(facts for facts in known if facts["name"] == name)})
    operator = operator_named(name)
    if operator is not None:
        return Orientation({"operator": operator_facts(operator)})
    of_kind = _by_kind(operands).get(name)
    if of_kind is not None:
        return _matching(name, of_kind, records, operands)
    if "*" in name or "?" in name:
        return _matching(name, [n for n in operands if fnmatchcase(n, name)], records, operands)
    raise unknown_name(name, operands)


def orient_operand(name: str, records: Records, operands: Mapping[str, Bound]) -> Orientation:
    """One operand in detail.

    Returns:
        The operand's facts, with its space, quantiles of scores or row lengths, the most frequent values, and a few of
        the records that it does not cover.
    """
    operand = operands[name]
    space = operand.binding.type.space
    found = {"name": name, **facts(operand, records), **details(operand, records)}
    found["space"] = space_to_dict(space) if space else None
    found["examples"] = examples_of(name, operands, records)
    return Orientation({"operand": found, "records": len(records)})


def orient_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of what `Orientation.to_dict()` gives.

    Example:
        >>> orient_schema()["title"]
        'Orientation in a retrieval collection'
    """
    text = files("pyterrier_alg.collection").joinpath("orient.schema.json").read_text("utf-8")
    return cast("dict[str, Any]", json.loads(text))


#: The order in which kinds are listed: what can be searched, then what narrows and weighs it.
_ORDER = (
    Kind.MATRIX,
    Kind.RETRIEVER,
    Kind.VECTOR,
    Kind.RELATION,
    Kind.MASK,
    Kind.TEXT_COLUMN,
    Kind.DATE_COLUMN,
    Kind.NUMBER,
    Kind.TEXT,
)


def _by_kind(operands: Mapping[str, Bound]) -> dict[str, list[str]]:
    """Names by kind: kinds in their order, names in the order of binding."""
    found: dict[str, list[str]] = {kind.value: [] for kind in _ORDER}
    for name, operand in operands.items():
        found[operand.binding.type.kind.value].append(name)
    return {kind: names for kind, names in found.items() if names}


def _only_space(operands: Mapping[str, Bound]) -> Space | None:
    """The space of the matrices, where they have one."""
    spaces = {operand.space for operand in operands.values() if isinstance(operand, MatrixOperand)}
    return spaces.pop() if len(spaces) == 1 else None


def _space(space: Space) -> dict[str, Any]:
    """A space with both encoders' identities, as long as a list can show."""
    return {key: shortened(value) if isinstance(value, str) else value for key, value in space_to_dict(space).items()}


def _examples(records: Records, operands: Mapping[str, Bound]) -> dict[str, list[str]]:
    groups = {
        "examples": example_programs(operands, records),
        "query_examples": query_programs(operands),
        "rerank_examples": rerank_programs(operands),
    }
    short = {key: [p for p in programs if len(p) <= _LONGEST_PROGRAM] for key, programs in groups.items()}
    return {key: list(_fitting(programs, _EXAMPLES)) for key, programs in short.items()}


def _listed(
    by_kind: Mapping[str, Sequence[str]], operands: Mapping[str, Bound], records: Records, room: int
) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Operands with their facts, of every kind some, and names of others: as many as there is room for."""
    # One of each kind, then a second of each kind, …
    turns = chain.from_iterable(zip_longest(*by_kind.values()))
    order = [name for name in turns if name is not None]
    seen: dict[str, dict[str, Any]] = {}

    def entries(room: int) -> Iterator[dict[str, Any]]:
        misfits = 0
        for name in order:
            entry = seen.get(name)
            if entry is None and _size(name) < room:
                entry = seen[name] = {"name": name, **facts(operands[name], records)}
            size = room if entry is None else _size(entry) + 2
            if entry is not None and size <= room:
                room -= size
                yield entry
                continue
            misfits += 1
            if misfits == _MISFITS:
                return

    found = {entry["name"]: entry for entry in entries(room)}
    if len(found) < len(order):
        found = {entry["name"]: entry for entry in entries(room - _NAMES)}
    listed = [found[name] for names in by_kind.values() for name in names if name in found]
    rest = [name for name in order if name not in found]
    kinds = {name: kind for kind, names in by_kind.items() for name in names}
    named: dict[str, list[str]] = {}
    # Each may be the first of its kind, whose key takes room too.
    for name in _fitting(rest, _NAMES - 20 * len(by_kind)):
        named.setdefault(kinds[name], []).append(name)
    return listed, {kind: named[kind] for kind in by_kind if kind in named}


def _matching(pattern: str, names: Sequence[str], records: Records, operands: Mapping[str, Bound]) -> Orientation:
    """A list of operands, the first of them with their facts."""
    by_kind = _by_kind({name: operands[name] for name in names})
    room = BUDGET // 2
    listed, _ = _listed(by_kind, operands, records, room)
    shown = {entry["name"] for entry in listed}
    others = list(_fitting((name for name in names if name not in shown), room - _NAMES))
    answer = {
        "matching": pattern,
        "records": len(records),
        "count": len(names),
        "operands": listed,
        "names": others,
        "left": len(names) - len(listed) - len(others),
    }
    return Orientation(answer)


def _fitting(values: Iterable[Any], room: int) -> Iterator[Any]:
    """The values that there is room for, those too large left out."""
    misfits = 0
    for value in values:
        size = _size(value) + 2
        if size <= room:
            room -= size
            yield value
        elif (misfits := misfits + 1) == _MISFITS:
            return


def _size(value: object) -> int:
    """Bytes of a value's JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
