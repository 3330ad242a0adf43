"""Operators over whole scored relations and masks, as arrays: positions ascending, scores beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg import exact
from pyterrier_alg.algebra.kinds import Distance
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    Positions,
    RelationOperand,
    Rows,
    Scores,
)
from pyterrier_alg.engines.arithmetic import pointwise
from pyterrier_alg.relation import rank_order

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {">=": ge, ">": gt, "<=": le, "<": lt}


def same(a: Positions, b: Positions) -> bool:
    """Whether two sets of records are one."""
    return a is b or (len(a) == len(b) and np.array_equal(a, b))


def intersection(a: Positions, b: Positions) -> Positions:
    """The records of both, ascending."""
    return a if same(a, b) else np.intersect1d(a, b, assume_unique=True)


def find(wanted: Positions, positions: Positions) -> tuple[npt.NDArray[np.intp] | slice, npt.NDArray[np.bool_] | None]:
    """Where each wanted record stands among ascending positions.

    Returns:
        Indices, and which of the wanted are there at all (None: all of them). The index of one that is not is any.
    """
    if same(wanted, positions):
        return slice(None), None
    if not len(positions):
        return np.zeros(0, dtype=np.intp), np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(positions, wanted), len(positions) - 1)
    there = positions[places] == wanted
    return places, None if there.all() else there


def among(wanted: Positions, positions: Positions) -> npt.NDArray[np.intp] | slice:
    """Indices into ascending positions of those that are wanted, ascending."""
    places, there = find(wanted, positions)
    if there is None or isinstance(places, slice):
        return places
    return places[there] if len(places) else places


def joined(s: RelationOperand, t: RelationOperand) -> tuple[Positions, Scores, Scores]:
    """The records that both score, with both scores."""
    if same(s.positions, t.positions):
        return s.positions, s.scores, t.scores
    positions, i, j = np.intersect1d(s.positions, t.positions, assume_unique=True, return_indices=True)
    return positions, s.scores[i], t.scores[j]


def restricted(positions: Positions, s: RelationOperand) -> RelationOperand:
    """S for these records only."""
    if same(positions, s.positions):
        return s
    kept, _, places = np.intersect1d(positions, s.positions, assume_unique=True, return_indices=True)
    return RelationOperand(kept, s.scores[places])


def filled(c: float, s: RelationOperand, size: int) -> RelationOperand:
    """S, and c for every other record of a collection of this size."""
    scores = np.full(size, c, dtype=np.float64)
    scores[s.positions] = s.scores
    return RelationOperand(np.arange(size, dtype=np.int64), scores)


def combined(operator: str, arguments: Sequence[RelationOperand | float]) -> RelationOperand:
    """A pointwise operator over one or two relations (an inner join) and numbers."""
    relations = [a for a in arguments if isinstance(a, RelationOperand)]
    if len(relations) == 1:
        values = [a.scores if isinstance(a, RelationOperand) else a for a in arguments]
        return RelationOperand(relations[0].positions, pointwise(operator, values))
    positions, left, right = joined(relations[0], relations[1])
    return RelationOperand(positions, pointwise(operator, [left, right]))


def ranks(scores: Scores) -> Scores:
    """1, 2, 3, … in rank order."""
    result = np.empty(len(scores))
    result[rank_order(scores)] = np.arange(1, len(scores) + 1)
    return result


def closeness(matrix: MatrixOperand, places: Positions | slice, vector: Rows) -> Scores:
    """Likeness of some rows and a vector by the space's own distance, larger is closer."""
    rows = matrix.rows[places]
    if matrix.is_l2:
        return -np.sqrt(exact.squared_distances(rows, vector)) + 0.0
    scores = exact.inner_products(rows, vector)
    if matrix.space.distance is Distance.INNER_PRODUCT:
        return scores
    norms = lengths(rows) * exact.norm(vector)
    return np.where(norms == 0.0, 0.0, scores / np.where(norms == 0.0, 1.0, norms))


def lengths(rows: Rows) -> Scores:
    """√Σe² of each row."""
    return np.sqrt(exact.squared_distances(rows, np.zeros(rows.shape[1], dtype=np.float32)))


def reciprocal_rank_fusion(rankings: Sequence[Positions], k: float) -> RelationOperand:
    """The sum of 1 / (k + rank) over rankings, each the positions of its records in rank order."""
    union = np.unique(np.concatenate(rankings))
    # A ranking without the record adds 0, which changes no sum.
    terms = np.zeros((len(union), len(rankings)))
    for column, ranking in enumerate(rankings):
        terms[np.searchsorted(union, ranking), column] = 1.0 / (k + np.arange(1, len(ranking) + 1))
    return RelationOperand(union, exact.row_sums(terms))


def first_of_each(n: int, groups: ColumnOperand | RelationOperand, s: RelationOperand) -> RelationOperand:
    """At most the first n records, in rank order, of those that share a value."""
    values = groups.values if isinstance(groups, ColumnOperand) else groups.scores
    positions, i, j = np.intersect1d(s.positions, groups.positions, assume_unique=True, return_indices=True)
    scores = s.scores[i]
    _, group = np.unique(values[j], return_inverse=True)
    # Stable sorts: by rank order first, then by group, leaves each group in rank order.
    order = rank_order(scores)
    order = order[np.argsort(group[order], kind="stable")]
    place = np.arange(len(order))
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0]) if len(order) else place
    within = place - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    kept = np.sort(order[within < n])
    return RelationOperand(positions[kept], scores[kept])


def maximal_marginal_relevance(k: int, s: RelationOperand, matrix: MatrixOperand, relevance: float) -> RelationOperand:
    """Choose k times the record of greatest relevance·S − (1 − relevance)·max(0, likeness to those chosen)."""
    positions, i, j = np.intersect1d(s.positions, matrix.positions, assume_unique=True, return_indices=True)
    rows = matrix.rows[j]
    gain = relevance * s.scores[i]
    penalty = 1.0 - relevance
    likeness = np.zeros(len(positions))
    left = np.ones(len(positions), dtype=bool)
    chosen: list[int] = []
    values: list[float] = []
    while len(chosen) < min(k, len(positions)):
        worth = gain - penalty * likeness + 0.0
        # argmax takes the first of equal ones, which is the lowest docno.
        best = int(np.argmax(np.where(left, worth, -np.inf)))
        chosen.append(best)
        values.append(float(worth[best]))
        left[best] = False
        likeness = np.maximum(likeness, exact.inner_products(rows, rows[best]))
    order = np.argsort(chosen) if chosen else np.zeros(0, dtype=np.intp)
    return RelationOperand(positions[np.array(chosen, dtype=np.intp)[order]], np.array(values, dtype=np.float64)[order])


def compared(operator: str, x: RelationOperand | ColumnOperand, than: float | str) -> MaskOperand:
    """The records whose score, or day, compares so with a number or a day."""
    # Days in ISO form compare as texts do.
    values: Any = x.values if isinstance(x, ColumnOperand) else x.scores
    return MaskOperand(x.positions[np.asarray(_COMPARISONS[operator](values, than), dtype=bool)])


def members(x: RelationOperand | ColumnOperand, wanted: Sequence[float] | Sequence[str]) -> MaskOperand:
    """The records whose value equals one of these."""
    if isinstance(x, RelationOperand):
        return MaskOperand(x.positions[np.isin(x.scores, np.array(list(wanted), dtype=np.float64))])
    values = frozenset(wanted)
    return MaskOperand(x.positions[np.fromiter((v in values for v in x.values), bool, len(x.positions))])


def days_since(column: ColumnOperand, reference: str) -> RelationOperand:
    """Whole days from each record's day to the reference."""
    days = np.array(column.values.tolist(), dtype="datetime64[D]")
    age = (np.datetime64(reference, "D") - days).astype(np.int64)
    return RelationOperand(column.positions, age.astype(np.float64))
