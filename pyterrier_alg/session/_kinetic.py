"""The first k of straight lines as the coefficient moves: every point at which they change, exactly.

The records at the top are followed from the lower end of the range to the upper one. The next point is where two
neighbours among them cross, or where the last of them is overtaken from below: found in float64 with bounds, for all
records, and settled in fractions for those few that the bounds leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.collection.operands import Scores
from pyterrier_alg.session._affine import Affine
from pyterrier_alg.session._rounding import SLACK, TINY, UNIT

#: Into how many windows a range is cut, in each of which only those records are looked at that may come to the top.
_WINDOWS = 64

Places: TypeAlias = "npt.NDArray[np.intp]"


@dataclass(frozen=True, slots=True)
class Event:
    """A point at which the records at the top change, or their order.

    Attributes:
        at: the point; the lower end of the range for the first.
        there: the order at the very point, where ties go by docno; places among the lines.
        after: the order just behind it.
    """

    at: Fraction
    there: tuple[int, ...]
    after: tuple[int, ...]


class Lines:
    """Lines that may come to the top, in the order of their docnos.

    Attributes:
        k: how many are followed.
        kept: where they stand in the domain of the scores.
        group: lines of one group have equal defined scores, wherever the coefficient stands.
    """

    def __init__(self, affine: Affine, k: int) -> None:
        """Keep what can be among the first k: of records that are scored alike, the first k."""
        self.affine, self.k = affine, k
        self.kept, self.group = _foremost(affine.sources(), k)
        a, b = affine.lines.a[self.kept], affine.lines.b[self.kept]
        self.a, self.a_error, self.b, self.b_error = a.values, a.errors, b.values, b.errors
        self.rounding = np.broadcast_to(affine.lines.rounding, len(affine.domain))[self.kept]
        self._exact: dict[int, tuple[Fraction, Fraction]] = {}
        self._crossings: dict[tuple[int, int], tuple[float, Fraction] | None] = {}

    def follow(self, low: float, high: float) -> Iterator[Event]:
        """Every event from the lower end of a range on, and strictly below its upper end."""
        at = Fraction(low)
        near = self._candidates(low, high)
        there, order = self._order(at, near)
        yield Event(at, there, order)
        ends = np.linspace(low, high, _WINDOWS + 1)
        for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            near = self._candidates(start, stop)
            end = Fraction(stop)
            while (point := self._next(at, order, near, end)) is not None and point < high:
                at = point
                there, order = self._order(at, near)
                yield Event(at, there, order)

    def certain(self, order: Sequence[int], low: float, high: float) -> tuple[float, float] | None:
        """Between which values the defined scores have this order for certain, within a range; None for nowhere.

        Each gap between neighbours, and between the last and any other, has to be wider than both roundings.
        """
        if not order:
            return low, high
        outside = np.ones(len(self.kept), dtype=bool)
        outside[list(order)] = False
        others = np.flatnonzero(outside)
        above = np.concatenate([order[:-1], np.full(len(others), order[-1])]).astype(np.intp)
        below = np.concatenate([order[1:], others]).astype(np.intp)
        # Equal scores stand in the order of docnos, whatever they are.
        differ = self.group[above] != self.group[below]
        i, j = above[differ], below[differ]
        largest = max(abs(low), abs(high))
        a, b = self.a[i] - self.a[j], self.b[i] - self.b[j]
        needed = self.rounding[i] + self.rounding[j] + self.a_error[i] + self.a_error[j]
        needed = needed + largest * (self.b_error[i] + self.b_error[j]) + 8 * UNIT * (np.abs(a) + largest * np.abs(b))
        short = needed * SLACK + TINY - a
        if np.any((b == 0) & (short >= 0)):
            return None
        with np.errstate(all="ignore"):
            points = short / b
        first = max([low, *_up(points[b > 0]).max(initial=-np.inf, keepdims=True).tolist()])
        last = min([high, *_down(points[b < 0]).min(initial=np.inf, keepdims=True).tolist()])
        return (first, last) if first <= last else None

    def line(self, place: int) -> tuple[Fraction, Fraction]:
        """The exact line of a record."""
        self._settle([place])
        return self._exact[place]

    def _settle(self, places: Sequence[int]) -> None:
        """Know the exact lines of some records."""
        missing = sorted({place for place in places if place not in self._exact})
        if missing:
            a, b = self.affine.exact(self.affine.domain[self.kept[missing]])
            self._exact.update(zip(missing, zip(a, b, strict=True), strict=True))

    def _values(self, at: float, places: Places | slice = slice(None)) -> tuple[Scores, Scores]:
        """The values of lines within half a unit of a point, and their errors."""
        a, b = self.a[places], self.b[places]
        values = a + at * b
        errors = self.a_error[places] + abs(at) * self.b_error[places] + 4 * UNIT * (np.abs(a) + np.abs(at * b))
        return values, errors * SLACK + TINY

    def _candidates(self, low: float, high: float) -> Places:
        """The lines that may be among the first k somewhere in a range; those of the first k there are among them."""
        (left, left_error), (right, right_error) = self._values(low), self._values(high)
        upper = np.maximum(left + left_error, right + right_error)
        lower = np.minimum(left - left_error, right - right_error)
        return np.flatnonzero(upper >= _kth(lower, self.k))

    def _order(self, at: Fraction, near: Places) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The first k at a point, and just behind it."""
        values, errors = self._values(float(at), near)
        close = np.flatnonzero(values + errors >= _kth(values - errors, self.k))
        close = close[np.argsort(-values[close], kind="stable")]
        there: list[int] = near[close].tolist()
        after = list(there)
        # Only where the bounds leave the order open is it settled in fractions.
        apart = -np.diff(values[close]) > 2 * errors[close].max(initial=0.0) * SLACK
        ends = np.flatnonzero(np.r_[apart, True]) + 1
        sizes = np.diff(np.r_[0, ends])
        for end, size in zip(ends[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            some = there[end - size : end]
            self._settle(some)
            height = {place: self._exact[place][0] + at * self._exact[place][1] for place in some}
            ties = {place: (-height[place], place) for place in some}
            behind = {place: (-height[place], -self._exact[place][1], place) for place in some}
            there[end - size : end] = sorted(some, key=ties.__getitem__)
            after[end - size : end] = sorted(some, key=behind.__getitem__)
        return tuple(there[: self.k]), tuple(after[: self.k])

    def _next(self, at: Fraction, order: tuple[int, ...], near: Places, end: Fraction) -> Fraction | None:
        """The first point behind this one, up to an end, at which something at the top is overtaken."""
        points = [self._crossing(i, j) for i, j in zip(order, order[1:], strict=False)]
        points += [self._crossing(order[-1], j) for j in self._overtaking(at, order, near, end)] if order else []
        # Who stands above is higher, or is so from here on: every crossing is still to come. Rounding keeps an order.
        found = min((point for point in points if point is not None), default=None)
        return found[1] if found is not None and found[1] <= end else None

    def _crossing(self, above: int, below: int) -> tuple[float, Fraction] | None:
        """Where a line overtakes the one above it, rounded and exactly; None where it never does."""
        pair = (above, below)
        if pair not in self._crossings:
            (a, b), (c, d) = self.line(above), self.line(below)
            point = (a - c) / (d - b) if d > b else None
            self._crossings[pair] = None if point is None else (_rounded(point), point)
        return self._crossings[pair]

    def _overtaking(self, at: Fraction, order: tuple[int, ...], near: Places, end: Fraction) -> list[int]:
        """The lines that may be the first to overtake the last one of an order."""
        others = np.setdiff1d(near, order, assume_unique=True)
        here, last = float(at), order[-1]
        values, errors = self._values(here, others)
        value, error = self._values(here, np.array([last]))
        gap, wrong = value[0] - values, (error[0] + errors) * SLACK
        closing = self.b[others] - self.b[last]
        doubt = (self.b_error[others] + self.b_error[last] + 4 * UNIT * np.abs(closing)) * SLACK + TINY
        with np.errstate(all="ignore"):
            earliest = np.maximum(gap - wrong, 0.0) / (closing + doubt)
            latest = np.where(closing > doubt, np.maximum(gap + wrong, 0.0) / (closing - doubt), np.inf)
        within = min(latest.min(initial=np.inf), float(end - at)) * SLACK + TINY
        found = others[(closing + doubt > 0) & (earliest <= within)]
        places: list[int] = found.tolist()
        self._settle(places)
        return places


def _foremost(sources: Scores, k: int) -> tuple[Places, Places]:
    """Of records that are scored from the same values, the first k, and a number for each such group."""
    if not sources.size:
        return np.arange(min(len(sources), k)), np.zeros(min(len(sources), k), dtype=np.intp)
    rows = np.ascontiguousarray(sources).view(np.int64).reshape(sources.shape)
    group = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0])
    within = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    kept = np.sort(order[within < k])
    return kept, group[kept]


def _kth(values: Scores, k: int) -> float:
    """The k-th largest value; of fewer, less than any."""
    return float(np.partition(values, len(values) - k)[len(values) - k]) if len(values) > k else -np.inf


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _up(points: Scores) -> Scores:
    return np.nextafter(np.nextafter(points, np.inf), np.inf)


def _down(points: Scores) -> Scores:
    return np.nextafter(np.nextafter(points, -np.inf), -np.inf)
