"""What a sweep found, as values that people read."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.session._coefficients import Coefficient
from pyterrier_alg.session._layout import as_html, as_text, one_line

#: How many intervals are shown around the present value.
_SHOWN = 15

#: How many docnos a cell shows.
_FEW = 4

_COLUMNS = ("", "from", "to", "for certain", "what changes at its start")


@dataclass(frozen=True)
class Interval:
    """Values of the coefficient between which the first records, and their order, stay the same.

    Attributes:
        ranking: their docnos, in rank order.
        start: where it begins: a break-point, exactly, or the lower end of the range; on a grid its first point.
        stop: where it ends; on a grid its last point.
        certain: the least and greatest float64 between which the defined scores have this order for certain; None
            where rounding decides all through, and on a grid.
        error: why the program cannot run at these points of a grid; empty where it can.
    """

    ranking: tuple[str, ...]
    start: Fraction | float
    stop: Fraction | float
    certain: tuple[float, float] | None
    error: str = ""

    def __contains__(self, value: float) -> bool:
        """Whether a value lies between its ends; on a grid, or at an end of the range, the ends count."""
        return self.start <= value <= self.stop

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "from": float(self.start),
            "to": float(self.stop),
            "certain": None if self.certain is None else list(self.certain),
            "docnos": list(self.ranking),
            "error": self.error or None,
        }


@dataclass(frozen=True)
class BreakPoint:
    """Where the first records change, or their order.

    Attributes:
        at: the very point, a fraction; None on a grid, which only tells between which points it lies.
        near: the float64 values beside it that are certain, or the two points of a grid; what lies between them is
            rounding's to decide, or was not looked at. None where a neighbouring interval is nowhere certain.
        ranking: the order at the very point, where equal scores go by docno; empty on a grid.
        entered: docnos that come in, in their new order.
        left: docnos that leave, in their old order.
        moved: docnos that stay and have another rank, in their new order.
    """

    at: Fraction | None
    near: tuple[float, float] | None
    ranking: tuple[str, ...]
    entered: tuple[str, ...]
    left: tuple[str, ...]
    moved: tuple[str, ...]

    @classmethod
    def between(
        cls, before: Interval, after: Interval, at: Fraction | None = None, ranking: tuple[str, ...] = ()
    ) -> BreakPoint:
        """What changes from one interval to the next."""
        near = None
        if at is None:
            near = (float(before.stop), float(after.start))
        elif before.certain is not None and after.certain is not None:
            near = (before.certain[1], after.certain[0])
        old, new = ({docno: rank for rank, docno in enumerate(side.ranking)} for side in (before, after))
        entered = tuple(docno for docno in new if docno not in old)
        left = tuple(docno for docno in old if docno not in new)
        moved = tuple(docno for docno in new if docno in old and old[docno] != new[docno])
        return cls(at, near, ranking, entered, left, moved)

    @property
    def changes_set(self) -> bool:
        """Whether records come in or leave, and not only the order changes."""
        return bool(self.entered or self.left)

    def __str__(self) -> str:
        """What changes, on one line."""
        said = [*(f"+{docno}" for docno in self.entered[:_FEW]), *(f"−{docno}" for docno in self.left[:_FEW])]
        more = max(len(self.entered) - _FEW, 0) + max(len(self.left) - _FEW, 0)
        if not said:
            said = [" ↔ ".join(self.moved[:_FEW])]
            more = max(len(self.moved) - _FEW, 0)
        return " ".join([*said, *([f"… {more} more"] if more else [])])

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; the very point also as a fraction of whole numbers, as text."""
        return {
            "at": None if self.at is None else float(self.at),
            "exactly": None if self.at is None else str(self.at),
            "near": None if self.near is None else list(self.near),
            "changes": "set" if self.changes_set else "order",
            "entered": list(self.entered),
            "left": list(self.left),
            "moved": list(self.moved),
            "docnos": list(self.ranking),
        }


@dataclass(frozen=True, repr=False)
class Sweep:
    """Where the first records change as one coefficient does.

    Attributes:
        formula: the program.
        coefficient: what is turned, with its present value.
        over: the range.
        k: how many records are watched.
        is_exact: whether every break-point in the range is here, exactly; else only a grid was looked at.
        reason: why it is a grid; empty where it is exact.
        intervals: in order; one more than break-points.
        break_points: strictly inside the range.
        records: how many records the program scores; 0 on a grid.
        points: of the grid.
    """

    formula: Formula
    coefficient: Coefficient
    over: tuple[float, float]
    k: int
    is_exact: bool
    reason: str
    intervals: tuple[Interval, ...]
    break_points: tuple[BreakPoint, ...]
    records: int = 0
    points: tuple[float, ...] = ()

    @property
    def value(self) -> float:
        """The coefficient's present value."""
        return self.coefficient.value

    @property
    def here(self) -> Interval | None:
        """The interval of the present value; None outside the range, at a break-point, and between points of a grid."""
        return self.interval(self.value)

    def interval(self, value: float) -> Interval | None:
        """The interval that a value lies in; None outside the range, at a break-point, and between points of a grid."""
        found = [interval for interval in self._around(value) if value in interval]
        return found[0] if len(found) == 1 else None

    def ranking(self, value: float) -> tuple[str, ...] | None:
        """The first records at a value, where they are certain; None where rounding decides or nothing is known."""
        for interval in self._around(value):
            if interval.certain is not None and interval.certain[0] <= value <= interval.certain[1]:
                return interval.ranking
        return next((i.ranking for i in self._around(value) if value in i and value in self.points), None)

    @property
    def same_set(self) -> tuple[Fraction | float, Fraction | float] | None:
        """Between which values the watched records are the present ones, in whatever order."""
        here = self.here
        if here is None:
            return None
        for _, group in groupby(self.intervals, key=lambda interval: (frozenset(interval.ranking), interval.error)):
            together = list(group)
            if any(interval is here for interval in together):
                return together[0].start, together[-1].stop
        return None

    def __len__(self) -> int:
        """How many break-points."""
        return len(self.break_points)

    def __repr__(self) -> str:
        """A heading, the intervals around the present value, and what is known of the others."""
        rows = as_text(_COLUMNS, self._rows(), numeric=("from", "to"))
        return "\n".join([self._heading(), *(f"  {line}" for line in rows), *self._notes()])

    def _repr_html_(self) -> str:
        return as_html(self._heading(), _COLUMNS, self._rows(), self._notes())

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        here = self.here
        same = self.same_set
        return {
            "program": self.formula.ascii,
            "coefficient": self.coefficient.to_dict(),
            "over": list(self.over),
            "k": self.k,
            "method": "exact" if self.is_exact else "grid",
            "reason": self.reason or None,
            "records": self.records if self.is_exact else None,
            "points": list(self.points),
            "here": None if here is None else self.intervals.index(here),
            "same_set": None if same is None else [float(end) for end in same],
            "intervals": [interval.to_dict() for interval in self.intervals],
            "break_points": [point.to_dict() for point in self.break_points],
        }

    def _around(self, value: float) -> tuple[Interval, ...]:
        """The few intervals that a value can lie in."""
        starts: list[Fraction | float] = [interval.start for interval in self.intervals]
        place = bisect.bisect_left(starts, value)
        return self.intervals[max(place - 2, 0) : place + 2]

    def _heading(self) -> str:
        value = f"{self.value:.6g}"
        return f"Sweep of {self.coefficient}, now {value}, in {one_line(self.formula.unicode)}"

    def _rows(self) -> list[tuple[object, ...]]:
        here = self.here
        place = next((i for i, interval in enumerate(self.intervals) if interval.stop >= self.value), 0)
        first = max(0, min(place - _SHOWN // 2, len(self.intervals) - _SHOWN))
        rows: list[tuple[object, ...]] = []
        for i in range(first, min(first + _SHOWN, len(self.intervals))):
            interval = self.intervals[i]
            certain = "grid" if not self.is_exact else "no" if interval.certain is None else "yes"
            change = interval.error or (str(self.break_points[i - 1]) if i else self._first(interval))
            sort = "" if not i or interval.error else "set: " if self.break_points[i - 1].changes_set else "order: "
            mark = "▸" if interval is here else ""
            rows.append((mark, f"{float(interval.start):.9g}", f"{float(interval.stop):.9g}", certain, sort + change))
        return rows

    def _first(self, interval: Interval) -> str:
        more = len(interval.ranking) - _FEW
        return " ".join([*interval.ranking[:_FEW], *([f"… {more} more"] if more > 0 else [])])

    def _notes(self) -> Iterator[str]:
        low, high = (f"{end:.6g}" for end in self.over)
        sets = sum(point.changes_set for point in self.break_points)
        if len(self.intervals) > _SHOWN:
            yield f"… {len(self.intervals) - _SHOWN:,} more intervals"
        if not self.is_exact:
            yield f"a grid of {len(self.points):,} points: changes between them may be missed; {self.reason}"
            yield f"changes of the first {self.k:,} from {low} to {high}: ≥ {len(self):,}; of the records: {sets:,}"
            return
        yield f"exact: changes of the first {self.k:,} from {low} to {high}: {len(self):,}; of the records: {sets:,}"
        widths = [point.near[1] - point.near[0] for point in self.break_points if point.near is not None]
        if widths:
            yield f"rounding decides within {max(widths):.1g} of a break-point at most, where intervals are certain"
        unsure = sum(interval.certain is None for interval in self.intervals)
        if unsure:
            yield f"{unsure:,} of {len(self.intervals):,} intervals are so narrow or so tied that rounding decides"
        same = self.same_set
        if same is None and self.over[0] <= self.value <= self.over[1]:
            yield f"the present value, {self.value:.9g}, is a break-point: records tie there"
        if same is not None:
            yield f"the records are the present ones from {float(same[0]):.9g} to {float(same[1]):.9g}"
