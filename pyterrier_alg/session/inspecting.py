"""Inspection: what there is to see of a relation or a mask before it is used further."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.relation import GapCheck, ScoredRelation
from pyterrier_alg.session._layout import as_html, as_text, one_line
from pyterrier_alg.session.steps import Eligible

#: The shares at which scores are told.
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

_BAR = 30


@dataclass(frozen=True, slots=True)
class Bin:
    """Scores from `low` to `high`; `high` itself belongs to the last bin only.

    Attributes:
        low: its lower end.
        high: its upper end.
        count: how many scores are in it.
    """

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Ties:
    """Records whose scores are equal, exactly.

    Attributes:
        groups: how many scores more than one record has.
        records: how many records have such a score.
        largest: how many records the largest group has; 0 without ties.
    """

    groups: int
    records: int
    largest: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """One record of a relation.

    Attributes:
        rank: from 0.
        docno: the record.
        score: its score.
    """

    rank: int
    docno: str
    score: float


@dataclass(frozen=True, repr=False)
class Inspection:
    """What a relation or a mask holds: a table when printed, JSON-ready values from `to_dict`.

    Attributes:
        label: what was looked at.
        kind: relation or mask.
        count: how many records it scores, or lets through.
        of: how many records the collection has; None where that is not known.
        quantiles: by share the score that occurs there; none for a mask and an empty relation.
        histogram: from the lowest scores to the highest.
        ties: of scores; None for a mask.
        head: the first records in rank order; of a mask, in code-point order, without scores.
        tail: the last records that `head` does not have, in rank order.
        certified: whether records, scores and order are the defined ones.
        error_bound: how far a score may lie from the defined one.
        gap_check: of the selection that gave the relation.
    """

    label: str
    kind: Kind
    count: int
    of: int | None
    quantiles: tuple[tuple[float, float], ...] = ()
    histogram: tuple[Bin, ...] = ()
    ties: Ties | None = None
    head: tuple[Ranked | str, ...] = ()
    tail: tuple[Ranked | str, ...] = ()
    certified: bool = True
    error_bound: float = 0.0
    gap_check: GapCheck | None = None

    @property
    def coverage(self) -> float | None:
        """The share of the collection's records; None where their number is not known or 0."""
        return self.count / self.of if self.of else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; their layout is stable."""
        return {
            "label": self.label,
            "kind": self.kind.value,
            "count": self.count,
            "of": self.of,
            "coverage": self.coverage,
            "quantiles": {f"{share:g}": score for share, score in self.quantiles} or None,
            "histogram": [{"low": b.low, "high": b.high, "count": b.count} for b in self.histogram],
            "ties": None
            if self.ties is None
            else {"groups": self.ties.groups, "records": self.ties.records, "largest": self.ties.largest},
            "head": [_record(record) for record in self.head],
            "tail": [_record(record) for record in self.tail],
            "certified": self.certified,
            "error_bound": self.error_bound if math.isfinite(self.error_bound) else None,
            "gap_check": self.gap_check.to_dict() if self.gap_check else None,
        }

    def __repr__(self) -> str:
        """A table of what `to_dict` has."""
        return "\n".join([self._heading, *(f"  {line}" for line in (*self._lines, *self._bars, *self._records))])

    def _repr_html_(self) -> str:
        widest = max((b.count for b in self.histogram), default=1)
        rows = [(f"{b.low:.6g} to {b.high:.6g}", f"{b.count:,}", "▇" * _bar(b.count, widest)) for b in self.histogram]
        return as_html(self._heading, ("scores", "records", "") if rows else (), rows, [*self._lines, *self._records])

    @property
    def _heading(self) -> str:
        covers = f"{self.count:,} record{'' if self.count == 1 else 's'}"
        if self.of is not None:
            covers = f"{self.count:,} of {self.of:,} records" + (
                f", {100 * self.coverage:.3g} %" if self.coverage else ""
            )
        return f"{one_line(self.label)}: {self.kind}, {covers}" if self.label else f"{self.kind}, {covers}"

    @property
    def _lines(self) -> list[str]:
        lines = []
        if self.quantiles:
            shares = ", ".join(f"{100 * share:g}" for share, _ in self.quantiles)
            lines.append(f"scores {', '.join(f'{score:.6g}' for _, score in self.quantiles)}  (at {shares} %)")
        if self.ties is not None and self.ties.groups:
            t = self.ties
            groups = f"{t.groups:,} group{'' if t.groups == 1 else 's'}"
            lines.append(f"ties: {t.records:,} records in {groups}, the largest of {t.largest:,}")
        if self.gap_check is not None:
            gap = self.gap_check.gap_at_cut
            cut = "nothing beyond the cut" if gap is None else f"gap at the cut {gap:.3g}"
            lines.append(f"{self.gap_check.verdict}, {cut}")
        if not self.certified:
            lines.append(f"not certified: a score may be {self.error_bound:.3g} off")
        return lines

    @property
    def _bars(self) -> list[str]:
        widest = max((b.count for b in self.histogram), default=1)
        rows = [(f"{b.low:.6g}", f"{b.high:.6g}", f"{b.count:,}", "▇" * _bar(b.count, widest)) for b in self.histogram]
        return as_text(("from", "to", "records", ""), rows, numeric=("from", "to", "records"))

    @property
    def _records(self) -> list[str]:
        both = [*self.head, *self.tail]
        if self.kind is Kind.MASK:
            return [", ".join(one_line(str(docno)) for docno in both)] if both else []
        rows = [(r.rank, r.docno, repr(r.score)) for r in both if isinstance(r, Ranked)]
        lines = as_text(("rank", "docno", "score"), rows, numeric=("rank",))
        left = self.count - len(both)
        return [*lines[: 1 + len(self.head)], f"… {left:,} more", *lines[1 + len(self.head) :]] if left > 0 else lines


def inspect(
    relation: ScoredRelation | Eligible, of: int | None = None, *, label: str = "", rows: int = 5, bins: int = 10
) -> Inspection:
    """Look at a relation or a mask.

    Args:
        relation: what is looked at.
        of: how many records the collection has, for the coverage; a mask knows it.
        label: what the heading calls it.
        rows: how many records of each end are told.
        bins: how many ranges of equal width the scores are counted in; fewer where float64 has fewer.

    Returns:
        Count, coverage, quantiles, histogram, ties, head and tail.

    Raises:
        AlgebraError: `bad_argument`, for what is neither, and for fewer than no rows or one bin.

    Example:
        >>> inspect(ScoredRelation.of({"a": 2.0, "b": 1.0, "c": 1.0}), 4, label="S", bins=2)
        S: relation, 3 of 4 records, 75 %
          scores 1, 1, 1, 1, 2, 2, 2  (at 0, 5, 25, 50, 75, 95, 100 %)
          ties: 2 records in 1 group, the largest of 2
          from   to  records
             1  1.5        2  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
           1.5    2        1  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
          rank  docno  score
             0  a      2.0
             1  b      1.0
             2  c      1.0
    """
    for name, value, least in (("rows", rows, 0), ("bins", bins, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise AlgebraError("bad_argument", f"{name} is a whole number from {least}, not {value!r}")
    if isinstance(relation, Eligible):
        docnos = relation.docnos
        ends = docnos[:rows], docnos[max(rows, len(docnos) - rows) :] if rows else ()
        return Inspection(label, Kind.MASK, len(relation), relation.of, head=ends[0], tail=ends[1])
    given: object = relation
    if not isinstance(given, ScoredRelation):
        message = f"a relation or a mask can be inspected, not a {type(given).__name__}"
        raise AlgebraError("bad_argument", message, "run a program: its result is a relation")
    size = len(relation)
    return Inspection(
        label,
        Kind.RELATION,
        size,
        of,
        _quantiles(relation.scores),
        histogram(relation.scores, bins),
        _ties(relation.scores),
        _ranked(relation, 0, min(rows, size)),
        _ranked(relation, max(rows, size - rows), size),
        relation.certified,
        relation.error_bound,
        relation.gap_check,
    )


def histogram(scores: npt.NDArray[np.float64], bins: int) -> tuple[Bin, ...]:
    """How many scores lie in each of so many ranges of equal width; each is in one of them.

    Args:
        scores: finite, in any order.
        bins: how many ranges, 1 or more; one where all scores are equal, and fewer where float64 has fewer.

    Example:
        >>> histogram(np.array([0.0, 1.0, 4.0]), 2)
        (Bin(low=0.0, high=2.0, count=2), Bin(low=2.0, high=4.0, count=1))
    """
    if not len(scores):
        return ()
    low, high = float(scores.min()), float(scores.max())
    shares = np.arange(1, bins) / bins
    # Not low + share * (high - low): the width of a range may be beyond float64.
    inner = np.clip(low * (1.0 - shares) + high * shares, low, high)
    edges = np.unique(np.concatenate([[low], inner, [high]]))
    if len(edges) == 1:
        return (Bin(low, high, len(scores)),)
    places = np.minimum(np.searchsorted(edges, scores, side="right") - 1, len(edges) - 2)
    counts = np.bincount(places, minlength=len(edges) - 1).tolist()
    ends = edges.tolist()
    return tuple(Bin(a, b, count) for a, b, count in zip(ends[:-1], ends[1:], counts, strict=True))


def _quantiles(scores: npt.NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    if not len(scores):
        return ()
    # Scores that occur: between two of them, huge ones would overflow.
    found = np.quantile(scores, QUANTILES, method="inverted_cdf").tolist()
    return tuple(zip(QUANTILES, found, strict=True))


def _ties(scores: npt.NDArray[np.float64]) -> Ties:
    _, counts = np.unique(scores, return_counts=True)
    shared = counts[counts > 1]
    return Ties(len(shared), int(shared.sum()), int(shared.max(initial=0)))


def _ranked(relation: ScoredRelation, start: int, stop: int) -> tuple[Ranked, ...]:
    pairs = zip(relation.docnos[start:stop].tolist(), relation.scores[start:stop].tolist(), strict=True)
    return tuple(Ranked(rank, docno, score) for rank, (docno, score) in enumerate(pairs, start))


def _record(record: Ranked | str) -> Any:
    if isinstance(record, str):
        return record
    return {"rank": record.rank, "docno": record.docno, "score": record.score}


def _bar(count: int, widest: int) -> int:
    """A bar's length; one that is there is seen."""
    return max(1, round(_BAR * count / widest)) if count else 0
