"""Results: what running a program in a session gives, as an immutable value that tells what it was made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection import Topic
from pyterrier_alg.collection.operands import RelationOperand
from pyterrier_alg.relation import GapCheck, ScoredRelation
from pyterrier_alg.session._layout import as_html, one_line
from pyterrier_alg.session.addressing import as_operand, seen
from pyterrier_alg.session.inspecting import Inspection, inspect
from pyterrier_alg.session.steps import Steps, StepTime
from pyterrier_alg.session.tables import join
from pyterrier_alg.transformers import Program

_SHOWN = 10


class StaleResultError(BindingError):
    """A result that was made of something that its name no longer stands for.

    Attributes:
        handle: the result's.
        changed: the names that stand for something else now.
    """

    def __init__(self, handle: str, changed: tuple[str, ...], hint: str = "") -> None:
        """Say what changed, and how to make the result again."""
        names = ", ".join(changed)
        verb = "stands" if len(changed) == 1 else "stand"
        message = f"{handle} is stale: it was made of {names}, which {verb} for something else now"
        super().__init__("stale", message, hint)
        self.args = (handle, changed, hint)
        self.handle, self.changed = handle, changed


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a program gave in a session; equal to another where both have the same content address.

    It stays what it is, whatever the session binds later: its program keeps the collection that it ran over.

    Attributes:
        handle: what later programs call it: `r1`, `r2`, ….
        program: the program as understood, with its collection and engine.
        topic: the query that it ran for; None where it ran without one.
        relation: the scored relation.
        address: SHA-256, in hexadecimal, of the canonical program, the digests of its operands and of the collection's
            records, and the tie policy; where these do not determine the result (an engine that does not certify, a
            live retriever) also of the engine and the relation.
        digest: of the relation: docnos and scores in rank order.
        operands: each operand that the program names, with the digest of its content.
        name: what it was called when it was run, beside its handle.
        seconds: how long the run took; no part of what is compared.
    """

    handle: str
    program: Program
    topic: Topic | None
    relation: ScoredRelation
    address: str
    digest: str
    operands: tuple[tuple[str, str], ...]
    name: str | None = None
    seconds: float = field(default=0.0, kw_only=True)

    @property
    def formula(self) -> Formula:
        """The program as understood: its `ascii` is the canonical form, its `digest` that form's."""
        return self.program.formula

    @property
    def gap_check(self) -> GapCheck | None:
        """What the last selection says of its order; None where the result was not cut."""
        return self.relation.gap_check

    @property
    def warnings(self) -> tuple[ProgramWarning, ...]:
        """What the program may not have meant; found when first asked for, at the latest."""
        return self.relation.warnings

    @cached_property
    def operand(self) -> RelationOperand:
        """The relation as programs over the same collection name it."""
        return as_operand(self.relation, self.program.collection)

    @cached_property
    def steps(self) -> Steps:
        """The program's relations and masks, named and unnamed, each computed when first asked for."""
        view = seen(self.program, self.topic)
        return Steps(view.formula, view.scope)

    @property
    def times(self) -> tuple[StepTime, ...]:
        """How long each step takes by itself; the program runs once more for it."""
        return self.steps.times()

    def inspect(self, *, rows: int = 5, bins: int = 10) -> Inspection:
        """Count, coverage, quantiles, histogram, ties, head and tail.

        Args:
            rows: how many records of each end are told.
            bins: how many ranges the scores are counted in.
        """
        label = f"{self.handle} {self.name}" if self.name else self.handle
        return inspect(self.relation, len(self.program.collection), label=label, rows=rows, bins=bins)

    def join(self, columns: Iterable[str] | str) -> pd.DataFrame:
        """The result with metadata.

        Args:
            columns: names of columns, relations and masks of the collection, or of texts that it stores.

        Raises:
            BindingError: as `session.tables.join`.
        """
        return join(self.relation, self.program.collection, columns, topic=self.topic)

    def to_frame(self) -> pd.DataFrame:
        """In rank order: `docno`, `score`, `rank`, after `qid` and `query` where it ran for a query."""
        topic = self.topic
        return self.relation.to_frame() if topic is None else self.relation.to_frame(topic.qid, topic.query)

    def to_dict(self, rows: int | None = None) -> dict[str, Any]:
        """As JSON-ready values; their layout is stable, and there is no clock in them.

        Args:
            rows: how many records there are at most; all of them where left out.
        """
        error_bound = self.relation.error_bound
        shown = list(self.relation)[:rows]
        return {
            "handle": self.handle,
            "name": self.name,
            "program": self.formula.ascii,
            "program_digest": self.formula.digest,
            "address": self.address,
            "digest": self.digest,
            "engine": self.program.engine,
            "qid": self.topic.qid if self.topic else None,
            "query": self.topic.query if self.topic else None,
            "operands": dict(self.operands),
            "certified": self.relation.certified,
            "error_bound": error_bound if math.isfinite(error_bound) else None,
            "gap_check": self.gap_check.to_dict() if self.gap_check else None,
            "warnings": [warning.to_dict() for warning in self.warnings],
            "count": len(self.relation),
            "records": [{"docno": docno, "score": score, "rank": rank} for rank, (docno, score) in enumerate(shown)],
        }

    def __len__(self) -> int:
        """How many records it has."""
        return len(self.relation)

    def __eq__(self, other: object) -> bool:
        """The same content address."""
        return isinstance(other, Result) and self.address == other.address

    def __hash__(self) -> int:
        """By content address."""
        return hash(self.address)

    def __repr__(self) -> str:
        """The program, the first ten records, what the selection says of its order, and the warnings found so far."""
        _, *lines = repr(self.relation).split("\n")
        if self.gap_check is not None:
            del lines[-1]
        return "\n".join([self._heading, f"  {self._facts}", *map(one_line, lines), *self._found])

    def _repr_html_(self) -> str:
        scores = self.relation.scores
        tied = ["=" if rank and scores[rank] == scores[rank - 1] else "" for rank in range(min(len(self), _SHOWN))]
        rows = [(f"{rank}{tied[rank]}", d, repr(s)) for rank, (d, s) in zip(range(_SHOWN), self.relation, strict=False)]
        more = [f"… {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return as_html(self._heading, ("rank", "docno", "score"), rows, [*more, self._facts, *self._found])

    @property
    def _heading(self) -> str:
        called = f"{self.handle} {self.name}" if self.name else self.handle
        return f"{called} = {one_line(self.formula.unicode, 100)}"

    @property
    def _facts(self) -> str:
        """One line: how many records, how its order is, by which engine."""
        said = [f"{len(self):,} record{'' if len(self) == 1 else 's'}"]
        if self.topic is not None:
            said.append(f"qid {one_line(self.topic.qid, 20)}")
        if self.gap_check is not None:
            gap = self.gap_check.gap_at_cut
            said += [self.gap_check.verdict, "nothing beyond the cut" if gap is None else f"gap at the cut {gap:.3g}"]
        said.append("certified" if self.relation.certified else f"not certified, {self.relation.error_bound:.3g} off")
        return ", ".join([*said, self.program.engine, f"address {self.address[:12]}"])

    @property
    def _found(self) -> list[str]:
        # To find warnings here would run the program once more.
        found = self.relation.__dict__.get("warnings", ())
        source = self.formula.source or self.formula.ascii
        return [f"warning: {warning.render(source)}" for warning in found]
