"""The first k of a relation: candidates by a fast scan with a proven error bound, then their defined scores.

A record whose upper bound lies below the (k + 3)-th largest lower bound is below k + 3 others and can be neither among
the first k nor one of the first three left. All others are candidates. Their scores come from exact kernels, so what is
returned does not depend on the scan, the mask, the order of the rows or the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from pyterrier_alg import exact
from pyterrier_alg.algebra.expressions import Apply, Expression, Name
from pyterrier_alg.algebra.kinds import Distance
from pyterrier_alg.collection.operands import MaskOperand, MatrixOperand, Positions, RelationOperand, Rows, Scores
from pyterrier_alg.collection.scalars import plain_products
from pyterrier_alg.engines._bounds import Bounds, Direction, Unbounded, bounded
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._extent import domain, reach
from pyterrier_alg.engines._relations import find, lengths
from pyterrier_alg.engines.demand import demand
from pyterrier_alg.relation import CONTENDERS, GapCheck, rank_order

#: Fewer records than this are scored exactly at once.
_FEW = 64


@dataclass(frozen=True, eq=False)
class Selection:
    """The first k of a relation, and the first ones left.

    Attributes:
        k: how many were asked for.
        positions: in rank order, `CONTENDERS` more than k where there are as many.
        scores: theirs.
        candidates: how many records were scored exactly to find them.
        scan_error: the largest error bound of the scan that found these; None where there was none.
    """

    k: int
    positions: Positions
    scores: Scores
    candidates: int
    scan_error: float | None = None

    @classmethod
    def among(cls, k: int, positions: Positions, scores: Scores, scan_error: float | None = None) -> Selection:
        """Select from records in ascending order that hold the first k and the first ones left."""
        order = rank_order(scores)[: k + CONTENDERS]
        return cls(k, positions[order], scores[order], len(positions), scan_error)

    @property
    def relation(self) -> RelationOperand:
        """What was selected."""
        order = np.argsort(self.positions[: self.k])
        return RelationOperand(self.positions[: self.k][order], self.scores[: self.k][order])

    def gap_check(self, docnos: npt.NDArray[np.object_]) -> GapCheck:
        """Certified: see the module."""
        check = GapCheck.of(docnos[self.positions], self.scores, self.k, certified=True)
        return replace(check, candidates=self.candidates, scan_error=self.scan_error)


class Selector:
    """Finds the first k records of relation expressions."""

    def __init__(self, fold_directions: bool) -> None:
        """Choose how to scan.

        Args:
            fold_directions: scan a linear combination of directions over one matrix once, not each direction by itself.
        """
        self.fold_directions = fold_directions
        self._norms: WeakKeyDictionary[MatrixOperand, float] = WeakKeyDictionary()
        self._lengths: WeakKeyDictionary[MatrixOperand, Scores] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without what was measured of matrices."""
        return type(self), (self.fold_directions,)

    def __call__(self, evaluation: Evaluation, k: int, expression: Expression) -> Selection:
        """The first k of a relation expression; its frontier is known."""
        try:
            # An overflow anywhere is an error of the program, also at records that no mask lets through.
            reach(evaluation, expression, self.row_norm)
            positions = cast(Positions, domain(evaluation, expression))
            scan_error = None
            if len(positions) > max(_FEW, k + CONTENDERS):
                places, scan_error = self._candidates(evaluation, k + CONTENDERS, expression, positions)
                positions = positions[places]
        except Unbounded:
            whole = evaluation.relation(expression)
            return Selection.among(k, whole.positions, whole.scores)
        return Selection.among(k, positions, exactly(evaluation, expression, positions).values, scan_error)

    def roughly(self, evaluation: Evaluation, expression: Expression, positions: Positions) -> Bounds:
        """The scores of a relation expression, whose frontier is known, at these records: by a scan, with its error.

        Raises:
            Unbounded: where no useful bound can be given.
        """
        return _Scores(evaluation, positions, self).of(expression)

    def row_norm(self, matrix: MatrixOperand) -> float:
        """The largest norm of a matrix's rows, from above; measured once."""
        norm = self._norms.get(matrix)
        if norm is None:
            squares = np.einsum("ij,ij->i", matrix.rows, matrix.rows, dtype=np.float64)
            # The plain sum of d squares is off by less than (d + 2) 2^-53 of itself.
            norm = math.sqrt(float(squares.max(initial=0.0))) * (1.0 + (matrix.rows.shape[1] + 8) * 2.0**-52)
            self._norms[matrix] = norm
        return norm

    def row_lengths(self, matrix: MatrixOperand) -> Scores:
        """The norm of each row of a matrix, as defined; measured once."""
        found = self._lengths.get(matrix)
        if found is None:
            found = self._lengths[matrix] = lengths(matrix.rows)
        return found

    def _candidates(
        self, evaluation: Evaluation, first: int, expression: Expression, positions: Positions
    ) -> tuple[Positions, float]:
        """Indices of those that may be among the first so many, and the largest error of the scan."""
        bounds = self.roughly(evaluation, expression, positions)
        errors = 0.0 if bounds.errors is None else bounds.errors
        lower, upper = bounds.values - errors, bounds.values + errors
        # The rounding of the two ends themselves.
        least = np.partition(lower, len(lower) - first)[len(lower) - first]
        slack = 0.0 if bounds.errors is None else 2.0**-50 * (abs(least) + np.abs(upper))
        return np.flatnonzero(upper + slack >= least), float(np.max(errors))


def exactly(evaluation: Evaluation, expression: Expression, positions: Positions) -> Bounds:
    """The defined scores of a relation expression, whose frontier is known, at these records."""
    return _Scores(evaluation, positions, None).of(expression)


class _Scores:
    """The scores of one relation expression at some records, node by node: exact, or within an error."""

    def __init__(self, evaluation: Evaluation, positions: Positions, selector: Selector | None) -> None:
        self.evaluation, self.positions, self.selector = evaluation, positions, selector
        self.memo: dict[Expression, Bounds | Direction | float] = {}

    def of(self, expression: Expression) -> Bounds:
        """The scores of a relation expression."""
        found = demand(expression, lambda node: self.evaluation.inside(node) or (), self._visit, self.memo)
        return self._settled(found)

    def _visit(self, node: Expression) -> Bounds | Direction | float:
        if node in self.evaluation.known:
            value = self.evaluation.known[node]
            return self._leaf(value) if isinstance(value, RelationOperand) else cast(float, value)
        if isinstance(node, Name):
            return self.memo[self.evaluation.steps[node.name]]
        if self.evaluation.is_scan(node):
            return self._scan(node)
        operator = cast(Apply, node).operator
        arguments = [self.memo[part] for part in self.evaluation.inside(node) or ()]
        if all(isinstance(argument, float) for argument in arguments):
            return cast(float, self.evaluation.value(node))
        if operator == ">>":
            return self._restricted(node, arguments[0])
        folded = self._folded(operator, arguments)
        if folded is not None:
            return folded
        numbers_or_bounds = [a if isinstance(a, float) else self._settled(a) for a in arguments]
        if operator == "fill":
            return cast(Bounds, numbers_or_bounds[1]).filled(cast(float, numbers_or_bounds[0]))
        result = bounded(operator, numbers_or_bounds)
        if result.errors is None:
            self._finite(node, result)
        return result

    def _finite(self, node: Expression, bounds: Bounds) -> None:
        defined = slice(None) if bounds.defined is None else bounds.defined
        self.evaluation.finite(node, self.positions[defined], bounds.values[defined])

    def _leaf(self, relation: RelationOperand) -> Bounds:
        if not len(relation.positions):
            return self._nothing()
        places, there = find(self.positions, relation.positions)
        return Bounds(relation.scores[places], None, there)

    def _nothing(self) -> Bounds:
        size = len(self.positions)
        return Bounds(np.zeros(size), None, np.zeros(size, dtype=bool))

    def _scan(self, node: Expression) -> Bounds | Direction:
        matrix, vector = self.evaluation.scan(node)
        if not len(matrix.positions):
            return self._nothing()
        if self.selector is not None and not (_is_closeness(node) and matrix.is_l2):
            direction = Direction.of(matrix, vector.values)
            if _is_closeness(node) and matrix.space.distance is Distance.COSINE:
                return self._cosine(direction, vector.values)
            return direction if self.selector.fold_directions else self._settled(direction)
        places, there = find(self.positions, matrix.positions)
        return Bounds(self.evaluation.scanned(node, places), None, there)

    def _cosine(self, direction: Direction, vector: Rows) -> Bounds:
        """Inner products over both lengths, which are known as defined; 0 where one of them is 0."""
        products = self._settled(direction)
        places, _ = find(self.positions, direction.matrix.positions)
        norms = cast(Selector, self.selector).row_lengths(direction.matrix)[places] * exact.norm(vector)
        return products.over(norms)

    def _restricted(self, node: Expression, scores: Bounds | Direction | float) -> Bounds | Direction:
        mask = cast(MaskOperand, self.evaluation.known[node.parts[0]])
        _, there = find(self.positions, mask.positions)
        if there is None and isinstance(scores, Direction):
            return scores
        return self._settled(scores).within(there)

    def _folded(self, operator: str, arguments: Sequence[Bounds | Direction | float]) -> Direction | None:
        """The one direction that an operator makes of directions over one matrix and numbers, if it does."""
        match operator, arguments:
            case "neg", [Direction() as direction]:
                return direction.scaled(-1.0)
            case "*", [float() as c, Direction() as direction] | [Direction() as direction, float() as c]:
                return direction.scaled(c)
            case "/", [Direction() as direction, float() as c]:
                return direction.scaled(1.0 / c)
            case "+" | "-", [Direction() as left, Direction() as right] if left.matrix is right.matrix:
                return left.plus(right, 1.0 if operator == "+" else -1.0)
        return None

    def _settled(self, scores: Bounds | Direction | float) -> Bounds:
        """A direction's scan, in float32; anything else as it is."""
        if not isinstance(scores, Direction):
            return cast(Bounds, scores)
        matrix = scores.matrix
        vector = scores.vector.astype(np.float32)
        error = scores.error(vector, cast(Selector, self.selector).row_norm(matrix))
        places, there = find(self.positions, matrix.positions)
        # One thread, row by row: as fast as memory allows, where a BLAS waits for its threads when the machine is busy.
        if isinstance(places, slice) or 4 * len(places) > len(matrix.positions):
            values = plain_products(matrix.rows, vector).astype(np.float64)[places]
        else:
            values = plain_products(matrix.rows[places], vector).astype(np.float64)
        return Bounds(values, error, there)


def _is_closeness(node: Expression) -> bool:
    return isinstance(node, Apply) and node.operator == "closeness"
