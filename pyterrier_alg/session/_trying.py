"""One edit of a program, and trying it by running it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.session._floats import first_true
from pyterrier_alg.session._situation import AtRecord, Place, Situation

Figure: TypeAlias = "float | int | str"


@dataclass(frozen=True)
class Edit:
    """One edit that admits the record.

    Attributes:
        kind: `coefficient`, `count`, `threshold`, `value`, `clause`, `mask` or `fill`.
        change: in words.
        program: the edited text.
        numbers: values of bound numbers that the edit changes, by name.
        rank: the record's rank then, from 0.
        before: the number, count or day that the program has; None where the edit is of another kind.
        after: what it becomes.
        not_yet: the neighbour of `after`, nearer to `before`, with which the record is still absent.
        formula: the edited program.
    """

    kind: str
    change: str
    program: str
    numbers: Mapping[str, float]
    rank: int
    before: Figure | None = None
    after: Figure | None = None
    not_yet: Figure | None = None
    formula: Formula = field(repr=False, compare=False, kw_only=True)

    @property
    def size(self) -> float:
        """The change relative to what the program has; infinite for an edit that is not of a number."""
        if not isinstance(self.before, float | int) or not isinstance(self.after, float | int):
            return math.inf
        return abs(self.after - self.before) / (abs(self.before) or 1.0)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "kind": self.kind,
            "change": self.change,
            "program": self.program,
            "numbers": dict(self.numbers),
            "rank": self.rank,
            "before": self.before,
            "after": self.after,
            "not_yet": self.not_yet,
        }


class Trials:
    """Tries edits, and counts them."""

    def __init__(self, situation: Situation, docno: str, at: AtRecord) -> None:
        """Nothing is tried yet."""
        self.situation, self.docno, self.at = situation, docno, at
        self.tried = 0

    def _rank(self, formula: Formula, situation: Situation | None = None) -> int | None:
        """The record's rank in an edited program; None where it is absent, or the program fails."""
        try:
            result = (situation or self.situation).run(formula)
        except AlgebraError:
            return None
        return result.docnos.tolist().index(self.docno) if self.docno in result else None

    def _whole(self, kind: str, change: str, formula: Formula) -> Iterator[Edit]:
        """An edit that is made or not."""
        self.tried += 1
        rank = self._rank(formula)
        if rank is not None:
            yield Edit(kind, change, formula.ascii, {}, rank, formula=formula)

    def _number(
        self,
        kind: str,
        change: Callable[[Any], str],
        before: Figure,
        ends: tuple[int, int],
        value: Callable[[int], Any],
        made: Callable[[Any], tuple[Formula, Mapping[str, float]]],
        holds: Callable[[Any], bool] | None = None,
    ) -> Iterator[Edit]:
        """The smallest edit of a number between a place at which it is no edit, and one that should admit.

        Args:
            kind: of the edit.
            change: the edit in words.
            before: what the program has.
            ends: a place that does not admit, and one that should.
            value: from a place to the number.
            made: from a number to the edited program, and values of bound numbers.
            holds: a quicker way to say whether a number admits; what it finds is run all the same.
        """
        self.tried += 1

        def rank(place: int) -> int | None:
            formula, numbers = made(value(place))
            return self._rank(formula, self._with(numbers))

        def admits(place: int) -> bool:
            return rank(place) is not None if holds is None else holds(value(place))

        no, yes = ends
        if no == yes or not admits(yes):
            return
        not_yet, place = first_true(no, yes, admits)
        after = value(place)
        formula, numbers = made(after)
        admitted = rank(place)
        if admitted is not None and rank(not_yet) is None:
            yield Edit(
                kind, change(after), formula.ascii, numbers, admitted, before, after, value(not_yet), formula=formula
            )

    def _with(self, numbers: Mapping[str, float]) -> Situation:
        situation = self.situation
        for name, number in numbers.items():
            situation = situation.with_number(name, number)
        return situation

    def _node(self, place: Place) -> Expression:
        node = self.situation.steps[place.step] if place.step is not None else self.situation.meant.result
        for index in place.indices:
            node = node.parts[index]
        return node
