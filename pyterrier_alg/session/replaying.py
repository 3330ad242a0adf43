"""Replaying a log, and comparing two: the first step that differs, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.collection import Collection
from pyterrier_alg.session._differences import StepDifference, difference, notes_of
from pyterrier_alg.session._layout import as_html, as_text, one_line
from pyterrier_alg.session.log import Log, operand_from_dict, said, topic_from_dict
from pyterrier_alg.session.session import Session


@dataclass(frozen=True, repr=False)
class Replay:
    """What came of doing a log's steps again.

    Attributes:
        session: the new session, up to the step that differs and with it.
        steps: how many steps came out the same.
        of: how many the log has.
        step: the first that differs, from 1; None where all are the same.
        difference: how it differs.
        notes: what differs and need not matter: versions, the collection's digest.
    """

    session: Session
    steps: int
    of: int
    step: int | None
    difference: StepDifference | None
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether every step came out the same."""
        return self.step is None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        found = self.difference
        return {
            "same": self.is_same,
            "steps": self.steps,
            "of": self.of,
            "step": self.step,
            "difference": {"aspect": found.aspect, "message": found.message} if found else None,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """A verdict, the first step that differs, and notes."""
        return "\n".join([self._verdict, *(f"  note: {one_line(note, 200)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return as_html("Replay", (), (), [self._verdict, *self.notes])

    @property
    def _verdict(self) -> str:
        if self.difference is None:
            return f"all {self.of} steps came out the same" if self.of != 1 else "the one step came out the same"
        return f"step {self.step} of {self.of} differs: {self.difference.aspect}: {self.difference.message}"


@dataclass(frozen=True, repr=False)
class LogDifference:
    """How two logs differ.

    Attributes:
        rows: each the number of a step of the first log and of the second, None where there is none, and how they
            differ, None where they do not.
        texts: what each row's step does.
        notes: what differs and need not matter: versions, the collection's digest.
    """

    rows: tuple[tuple[int | None, int | None, StepDifference | None], ...]
    texts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether the logs have the same steps, which came out the same."""
        return self.first is None

    @property
    def first(self) -> tuple[int | None, int | None, StepDifference | None] | None:
        """The first row that differs; None where all are the same."""
        return next((row for row in self.rows if row[2] is not None), None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        rows = [
            {"first": a, "second": b, "aspect": d.aspect if d else None, "message": d.message if d else None}
            for a, b, d in self.rows
        ]
        return {"same": self.is_same, "steps": rows, "notes": list(self.notes)}

    def __repr__(self) -> str:
        """A line a step."""
        heading = "the logs are the same" if self.is_same else "the logs differ"
        lines = as_text(("first", "second", "step", "difference"), self._table, numeric=("first", "second"))
        notes = [f"note: {one_line(note, 200)}" for note in self.notes]
        return "\n".join([heading, *(f"  {line}" for line in (*lines, *notes))])

    def _repr_html_(self) -> str:
        return as_html("Difference of logs", ("first", "second", "step", "difference"), self._table, self.notes)

    @property
    def _table(self) -> list[tuple[object, ...]]:
        both = zip(self.rows, self.texts, strict=True)
        return [(a or "", b or "", text, f"{d.aspect}: {d.message}" if d else "") for (a, b, d), text in both]


def replay(
    log: Log | str, collection: Collection, *, operands: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
) -> Replay:
    """Do a log's steps again, and find the first that comes out differently.

    Args:
        log: of a session, or its JSON Lines.
        collection: what the session was over when it began.
        operands: by name, what was bound to them in the session and is too large to be in the log; where a name was
            bound several times, one mapping for each of these steps of binding, in their order.

    Returns:
        Whether all steps came out the same, else the first that does not, and how.

    Raises:
        DataError: as `Log.parse`; `corrupted_data`, for a step that lacks what it needs.

    Example:
        >>> c = Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 2.0})
        >>> session = Session(c)
        >>> _ = session.run("top(1, S)")
        >>> replay(session.log, c)
        the one step came out the same
        >>> replay(session.log, Collection(["d1", "d2"]).bind(S={"d1": 3.0, "d2": 2.0}))
        step 1 of 1 differs: operand: S is another operand
          note: the collection is another one than the log's
    """
    known = Log.parse(log) if isinstance(log, str) else log
    header = known.header
    with_warnings = all(entry.get("warnings") is not None for entry in known if entry.get("result"))
    session = Session(collection, engine=str(header.get("engine", "vectorised")), warnings=with_warnings)
    notes = tuple(notes_of(header, session.log.header, "the log's"))
    given = iter([operands] if isinstance(operands, Mapping) else operands)
    every = operands if isinstance(operands, Mapping) else None
    for number, entry in enumerate(known, 1):
        try:
            if entry["action"] == "run":
                _run(session, entry)
            elif entry["action"] == "forget":
                session.forget(*entry["operands"])
            else:
                values = _values(session, entry, every if every is not None else _next_of(given, entry))
                (session.bind if entry["action"] == "bind" else session.rebind)(**values)
        except _MissingError as missing:
            found: StepDifference | None = StepDifference("missing", str(missing))
        except AlgebraError as error:
            found = StepDifference("error", f"it ran, and now it raises {error.code}: {one_line(error.message, 200)}")
        except (LookupError, TypeError, ValueError) as error:
            message = f"step {number} of the log lacks what it needs: {type(error).__name__}: {error}"
            raise DataError("corrupted_data", message, "the log was changed") from error
        else:
            found = difference(entry, session.log.entries[-1], ("the log's", "now"))
        if found is not None:
            return Replay(session, number - 1, len(known), number, found, notes)
    return Replay(session, len(known), len(known), None, None, notes)


def diff(first: Log | str, second: Log | str) -> LogDifference:
    """Compare two logs: which steps are in one only, and which came out differently.

    Args:
        first: a log, or its JSON Lines.
        second: another.

    Raises:
        DataError: as `Log.parse`.

    Example:
        >>> c = Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 2.0})
        >>> one, other = Session(c), Session(c)
        >>> _ = one.run("top(1, S)"), other.run("top(2, S)"), other.run("S")
        >>> diff(one.log, other.log)
        the logs differ
          first  second  step            difference
              1       1  r1 = top(1, S)  program: top(1, S), then top(2, S)
                      2  r2 = S          action: only in the second
    """
    a, b = (Log.parse(log) if isinstance(log, str) else log for log in (first, second))
    rows: list[tuple[int | None, int | None, StepDifference | None]] = []
    texts: list[str] = []
    left, right = [_key(entry) for entry in a], [_key(entry) for entry in b]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        paired = min(i2 - i1, j2 - j1) if tag != "equal" else i2 - i1
        for i, j in zip(range(i1, i1 + paired), range(j1, j1 + paired), strict=True):
            rows.append((i + 1, j + 1, difference(a.entries[i], b.entries[j], ("", "then"))))
            texts.append(said(a.entries[i]))
        for i in range(i1 + paired, i2):
            rows.append((i + 1, None, StepDifference("action", "only in the first")))
            texts.append(said(a.entries[i]))
        for j in range(j1 + paired, j2):
            rows.append((None, j + 1, StepDifference("action", "only in the second")))
            texts.append(said(b.entries[j]))
    return LogDifference(tuple(rows), tuple(texts), tuple(notes_of(b.header, a.header, "the first's")))


def _key(entry: Mapping[str, Any]) -> str:
    """What a step does: what other logs may do as well."""
    if entry["action"] != "run":
        return repr((entry["action"], list(entry["operands"])))
    return repr((entry["program"], entry["engine"], entry["topic"], entry.get("name")))


class _MissingError(Exception):
    """What a log does not hold, and was not given."""


def _run(session: Session, entry: Mapping[str, Any]) -> None:
    topic = topic_from_dict(entry["topic"])
    try:
        # Whether it replaced another result is seen from its having been kept.
        session.run(entry["program"], entry["name"], topic, entry["engine"], replace="result" in entry)
    except AlgebraError:
        # It is logged; whether the log has the same error is compared.
        if len(session.log) < entry["step"]:
            raise


def _next_of(given: Iterator[Mapping[str, Any]], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    needed = any(operand.get("operand") is None for operand in entry["operands"].values())
    return next(given, {}) if needed else {}


def _values(session: Session, entry: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for name, facts in entry["operands"].items():
        operand = facts.get("operand")
        if operand is None and name not in given:
            raise _MissingError(f"the log does not hold what was bound to {name}: give it, operands={{{name!r}: …}}")
        if operand is None:
            values[name] = given[name]
        else:
            values[name] = session[operand["value"]] if operand["kind"] == "result" else operand_from_dict(operand)
    return values
