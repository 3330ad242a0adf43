"""The log of a session: what was run and bound, with digests, as JSON Lines; no clock in it."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pyterrier_alg._version import __version__
from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection import Column, Mask, Relation, Space, Topic, Vector
from pyterrier_alg.collection.files import writing
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    NumberOperand,
    RelationOperand,
    Scope,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.collection.parts import space_from_dict, space_to_dict
from pyterrier_alg.collection.per_query import Bound
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session._layout import as_html, as_text, one_line

#: The version of the log's form.
FORM = 1

#: Operands of at most so many records or elements are logged with their values.
SMALL = 1_000

#: How many records of a result are logged, so that a difference can be shown.
HEAD = 10

#: What a session does.
ACTIONS = ("run", "bind", "rebind", "forget")

_LIBRARIES = ("numpy", "pandas", "python-terrier", "pyterrier", "apsw", "sqlite-vec", "duckdb")


@dataclass(frozen=True, eq=True, repr=False)
class Log:
    """What a session did, step by step.

    Attributes:
        header: the log's form, the versions of what ran, and the collection's name, size and digest.
        entries: the steps, each JSON-ready: `step` (from 1), `action` (one of `ACTIONS`), and for a run the canonical
            `program`, `engine`, `topic`, digests of `operands`, `handle` and `result`, or the `error`.

    Example:
        >>> from pyterrier_alg.session import Session
        >>> session = Session(Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 2.0}))
        >>> _ = session.run("top(1, S)")
        >>> session.log
        Log of 1 step
          1  r1 = top(1, S)  1 record
        >>> Log.parse(session.log.to_jsonl()) == session.log
        True
    """

    header: Mapping[str, Any]
    entries: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Log:
        """Read JSON Lines.

        Raises:
            DataError: `corrupted_data`, naming the line; `unknown_version`.
        """
        values = [(number, _value(line, number)) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if not values or not isinstance(values[0][1].get("log"), int):
            raise DataError("corrupted_data", "the first line is not the header of a log", "Session.log writes one")
        (_, header), *rest = values
        if header["log"] != FORM:
            message = f"the log has form {header['log']}, this version reads {FORM}"
            raise DataError("unknown_version", message, "use a version of the package that reads it")
        for place, (number, entry) in enumerate(rest, 1):
            if entry.get("step") != place or entry.get("action") not in ACTIONS or not _is_whole(entry):
                message = f"line {number} is not step {place} of a log"
                raise DataError("corrupted_data", message, "lines are missing, or were changed")
        return cls(header, tuple(entry for _, entry in rest))

    @classmethod
    def read(cls, path: str | Path) -> Log:
        """Read a file of JSON Lines.

        Raises:
            DataError: `missing_data`; as `parse`.
        """
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError("missing_data", f"{path} cannot be read: {reason}") from error
        return cls.parse(text)

    def write(self, path: str | Path) -> None:
        """Write a file of JSON Lines.

        Raises:
            DataError: `unwritable`.
        """
        with writing(Path(path)):
            Path(path).write_text(self.to_jsonl(), "utf-8")

    def to_jsonl(self) -> str:
        """JSON Lines: the header, then a step a line."""
        return "".join(f"{_line(value)}\n" for value in (self.header, *self.entries))

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"header": json.loads(_line(self.header)), "steps": [json.loads(_line(entry)) for entry in self.entries]}

    def __len__(self) -> int:
        """How many steps."""
        return len(self.entries)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """The steps."""
        return iter(self.entries)

    def __hash__(self) -> int:
        """By content."""
        return hash(self.to_jsonl())

    def __repr__(self) -> str:
        """A line a step."""
        rows = [(entry["step"], said(entry), outcome(entry)) for entry in self.entries]
        heading = f"Log of {len(self)} step{'' if len(self) == 1 else 's'}"
        return "\n".join([heading, *(f"  {line}" for line in as_text(("", "", ""), rows, numeric=()))])

    def _repr_html_(self) -> str:
        rows = [(entry["step"], said(entry), outcome(entry)) for entry in self.entries]
        return as_html("Log", ("step", "what", "outcome"), rows)


def said(entry: Mapping[str, Any]) -> str:
    """What a step does, as tables show it."""
    if entry["action"] != "run":
        return f"{entry['action']} {', '.join(entry['operands'])}"
    called = " ".join(filter(None, (entry.get("handle"), entry.get("name"))))
    program = one_line(entry["program"])
    return f"{called} = {program}" if called else program


def outcome(entry: Mapping[str, Any]) -> str:
    """What came of a step, as tables show it."""
    if entry.get("error"):
        return str(entry["error"]["code"])
    if entry["action"] != "run":
        return ""
    count = entry["result"]["count"]
    return f"{count:,} record{'' if count == 1 else 's'}"


def versions() -> dict[str, str]:
    """Of the package, of Python, and of the libraries that compute; those that are not installed are left out."""
    found = {"pyterrier-alg": __version__, "python": ".".join(map(str, sys.version_info[:3]))}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def head_of(relation: ScoredRelation) -> list[list[Any]]:
    """The first records with their scores."""
    return [[docno, score] for (docno, score), _ in zip(relation, range(HEAD), strict=False)]


def topic_to_dict(topic: Topic | None) -> dict[str, Any] | None:
    """A topic as JSON-ready values, from which `topic_from_dict` makes an equal one."""
    if topic is None:
        return None
    given = topic.input
    return {
        "qid": topic.qid,
        "query": topic.query,
        "vector": None if topic.vector is None else [_number(v) for v in np.asarray(topic.vector).ravel().tolist()],
        "input": None if given is None else {docno: _number(score) for docno, score in given.items()},
        "pool": None if topic.pool is None else list(topic.pool),
    }


def topic_from_dict(values: Mapping[str, Any] | None) -> Topic | None:
    """The topic that `topic_to_dict` was given."""
    if values is None:
        return None
    vector, given = values["vector"], values["input"]
    return Topic(
        values["qid"],
        values["query"],
        None if vector is None else np.array([float(v) for v in vector], dtype=np.float32),
        None if given is None else {docno: float(score) for docno, score in given.items()},
        values["pool"],
    )


def operand_to_dict(operand: Bound, scope: Scope) -> dict[str, Any] | None:
    """The value of a small operand as JSON-ready values; None for one that is large, or that no values make."""
    match operand:
        case NumberOperand(value=value) | TextOperand(value=value):
            return {"kind": operand.binding.type.kind.value, "value": value}
        case VectorOperand(values=values, space=space) if len(values) <= SMALL:
            return {"kind": Kind.VECTOR.value, "value": values.tolist(), "space": space_to_dict(space)}
        case MaskOperand(positions=positions) if len(positions) <= SMALL:
            return {"kind": Kind.MASK.value, "value": scope.docnos[positions].tolist()}
        case RelationOperand(positions=positions, scores=values) if len(positions) <= SMALL:
            return {"kind": Kind.RELATION.value, "value": _by_docno(scope, positions, values)}
        case ColumnOperand(positions=positions, values=values, kind=kind) if len(positions) <= SMALL:
            return {"kind": kind.value, "value": _by_docno(scope, positions, values)}
    return None


def operand_from_dict(values: Mapping[str, Any]) -> Any:
    """What `Collection.bind` makes the operand of that `operand_to_dict` was given."""
    kind, value = Kind(values["kind"]), values["value"]
    match kind:
        case Kind.VECTOR:
            space: Space = space_from_dict(values["space"])
            return Vector(np.array(value, dtype=np.float32), space)
        case Kind.MASK:
            return Mask(value)
        case Kind.RELATION:
            return Relation(value)
        case Kind.TEXT_COLUMN | Kind.DATE_COLUMN:
            return Column(value, dates=kind is Kind.DATE_COLUMN)
    return value


def error_to_dict(error: AlgebraError) -> dict[str, str]:
    """An error as the log has it."""
    return {"code": error.code, "message": error.message}


def _by_docno(scope: Scope, positions: Any, values: Any) -> dict[str, Any]:
    return dict(zip(scope.docnos[positions].tolist(), values.tolist(), strict=True))


def _number(value: float) -> float | str:
    """A number that JSON has, or else its name."""
    return float(value) if math.isfinite(value) else str(float(value))


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(", ", ": "))


def _value(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise DataError("corrupted_data", f"line {number} is no JSON object", "the file is cut off, or no log")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _is_whole(entry: Mapping[str, Any]) -> bool:
    """Whether a step has what the others of its action have."""
    operands: object = entry.get("operands")
    if entry["action"] != "run":
        return isinstance(operands, Mapping if entry["action"] != "forget" else Sequence)
    result = entry.get("result")
    ran = isinstance(result, Mapping) and {"address", "digest", "count", "head"} <= result.keys()
    failed = isinstance(entry.get("error"), Mapping) and "code" in entry["error"]
    return isinstance(entry.get("program"), str) and isinstance(operands, Mapping) and "topic" in entry and ran | failed
