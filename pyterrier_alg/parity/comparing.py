"""How two rankings of one program agree: sets, scores, and order, each reported by itself.

Score tolerance is not rank agreement. A pair that two rankings order differently is a *flip*; what it means depends on
the gap between the two defined scores: a **tie** (0), **rounding** (above 0, within the two stated error bounds
together), or a **disagreement**, which is a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

#: Scores of two implementations must differ by less.
TOLERANCE = 1e-6

TIE, ROUNDING, DISAGREEMENT = "tie", "rounding", "disagreement"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one implementation gave for one program and one query.

    Attributes:
        implementation: its name.
        raw: docnos and scores as the implementation itself ordered and scored them.
        order: docnos in its tie-safe order: rank order of the defined scores where it can certify, else its own.
        bound: how far its scores may lie from the defined ones, as it states.
        certified: whether it says that records and order are the defined ones.
    """

    implementation: str
    raw: tuple[tuple[str, float], ...]
    order: tuple[str, ...]
    bound: float
    certified: bool

    @property
    def raw_order(self) -> tuple[str, ...]:
        """The docnos in the implementation's own order."""
        return tuple(docno for docno, _ in self.raw)


@dataclass(frozen=True, slots=True)
class Flip:
    """Two documents that two rankings order differently.

    Attributes:
        above: docno that the first ranking puts first.
        below: docno that the second ranking puts first.
        gap: the distance of their defined scores.
        sort: `tie`, `rounding` or `disagreement`.
    """

    above: str
    below: str
    gap: float
    sort: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two outcomes of one program and one query agree.

    Attributes:
        first: name of one implementation.
        second: name of the other.
        same_sets: whether the tie-safe rankings hold the same documents.
        same_order: whether the tie-safe rankings are equal.
        largest_difference: of the implementations' own scores, over the documents that both give; 0 without any.
        agreeing_ranks: at how many ranks the raw orders hold the same document.
        ranks: how many ranks there are.
        flips: between the raw orders.
    """

    first: str
    second: str
    same_sets: bool
    same_order: bool
    largest_difference: float
    agreeing_ranks: int
    ranks: int
    flips: tuple[Flip, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """What fails, in words; empty where every check holds."""
        found = []
        if not self.same_sets:
            found.append("different document sets")
        if not self.largest_difference < TOLERANCE:
            found.append(f"scores differ by {self.largest_difference:.2e}, not below {TOLERANCE:g}")
        if not self.same_order:
            found.append("different tie-safe order")
        wrong = [flip for flip in self.flips if flip.sort == DISAGREEMENT]
        if wrong:
            pairs = ", ".join(f"{flip.above}/{flip.below} (gap {flip.gap:.2e})" for flip in wrong[:3])
            found.append(f"order disagreement: {pairs}")
        return tuple(found)


def classify(gap: float, bounds: float) -> str:
    """What a flip means.

    Args:
        gap: the distance of the two defined scores, 0 or more.
        bounds: the two implementations' stated error bounds, added.

    Returns:
        `tie`, `rounding` or `disagreement`.

    Example:
        >>> classify(0.0, 1e-7), classify(1e-8, 1e-7), classify(1e-3, 1e-7)
        ('tie', 'rounding', 'disagreement')
    """
    return TIE if gap == 0 else ROUNDING if gap <= bounds else DISAGREEMENT


def flips(first: Sequence[str], second: Sequence[str], defined: Mapping[str, float], bounds: float) -> tuple[Flip, ...]:
    """The pairs that two rankings order differently; a document that one of them lacks stands behind all that it has.

    Args:
        first: docnos of one ranking.
        second: docnos of the other.
        defined: every docno's defined score; one that is not scored at all belongs in neither ranking, and counts as
            infinitely far from the others.
        bounds: the two stated error bounds, added.

    Returns:
        The flips, in the order of the first ranking.
    """
    places = [{docno: place for place, docno in enumerate(ranking)} for ranking in (first, second)]
    seen = list(dict.fromkeys((*first, *second)))
    found = []
    for x, y in combinations(seen, 2):
        ahead = [place.get(x, len(seen)) - place.get(y, len(seen)) for place in places]
        if ahead[0] * ahead[1] < 0:
            above, below = (x, y) if ahead[0] < 0 else (y, x)
            gap = abs(defined[x] - defined[y]) if x in defined and y in defined else float("inf")
            found.append(Flip(above, below, gap, classify(gap, bounds)))
    return tuple(found)


def compare(first: Outcome, second: Outcome, defined: Mapping[str, float]) -> Comparison:
    """Hold two outcomes of one program and one query against each other.

    Args:
        first: one outcome.
        second: the other.
        defined: the defined score of every document that the program's relation scores before its cut.

    Returns:
        The comparison.
    """
    scores, others = dict(first.raw), dict(second.raw)
    differences = [abs(scores[docno] - others[docno]) for docno in scores if docno in others]
    return Comparison(
        first=first.implementation,
        second=second.implementation,
        same_sets=set(first.order) == set(second.order),
        same_order=first.order == second.order,
        largest_difference=max(differences, default=0.0),
        agreeing_ranks=sum(a == b for a, b in zip(first.raw_order, second.raw_order, strict=False)),
        ranks=max(len(first.raw), len(second.raw)),
        flips=flips(first.raw_order, second.raw_order, defined, first.bound + second.bound),
    )
