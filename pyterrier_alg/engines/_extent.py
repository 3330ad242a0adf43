"""Where a relation expression is defined, and how large its scores can be, before any of them is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from pyterrier_alg.algebra.expressions import Apply, Expression
from pyterrier_alg.collection.operands import MaskOperand, MatrixOperand, Positions, RelationOperand, Rows
from pyterrier_alg.engines._bounds import LARGEST, Unbounded
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._relations import intersection
from pyterrier_alg.engines.demand import demand


def domain(evaluation: Evaluation, expression: Expression) -> Positions | None:
    """The records that a relation expression scores, ascending; None for a number, which meets all."""
    known = evaluation.known
    memo: dict[Expression, Positions | None] = {}

    def visit(node: Expression) -> Positions | None:
        if node in known:
            value = known[node]
            return value.positions if isinstance(value, RelationOperand) else None
        if evaluation.is_scan(node):
            return evaluation.scan(node)[0].positions
        if isinstance(node, Apply) and node.operator == "fill":
            return np.arange(len(evaluation.scope.docnos), dtype=np.int64)
        below = [memo[part] for part in evaluation.inside(node) or ()]
        if isinstance(node, Apply) and node.operator == ">>":
            below.append(cast(MaskOperand, known[node.arguments[0]]).positions)
        found = [positions for positions in below if positions is not None]
        return None if not found else found[0] if len(found) == 1 else intersection(found[0], found[1])

    return demand(expression, lambda node: evaluation.inside(node) or (), visit, memo)


def reach(evaluation: Evaluation, expression: Expression, row_norm: Callable[[MatrixOperand], float]) -> float:
    """How large any score of an expression can be, over its whole domain."""
    known = evaluation.known
    memo: dict[Expression, float] = {}

    def visit(node: Expression) -> float:
        if node in known:
            value = known[node]
            values = value.scores if isinstance(value, RelationOperand) else np.array([cast(float, value)])
            size = float(np.abs(values).max(initial=0.0))
        elif evaluation.is_scan(node):
            matrix, vector = evaluation.scan(node)
            size = _scan_reach(node, matrix, row_norm(matrix), vector.values)
        else:
            size = _reach_of(node, [memo[part] for part in evaluation.inside(node) or ()])
        if not size < LARGEST:
            raise Unbounded
        return size

    return demand(expression, lambda node: evaluation.inside(node) or (), visit, memo)


def _reach_of(node: Expression, below: Sequence[float]) -> float:
    """How large a pointwise node's scores can be, given that of its parts."""
    match node.operator if isinstance(node, Apply) else "":
        case "+" | "-":
            return below[0] + below[1]
        case "*":
            return below[0] * below[1]
        case "/":
            # The divisor is a number, known exactly, so its size is its value.
            return below[0] / below[1] if below[1] else math.inf
        case "clip":
            return max(below[0], below[1])
        case "fill":
            return max(below)
        case "exp":
            return math.exp(below[0]) if below[0] < 300 else math.inf
        case "log1p":
            return -math.log1p(-below[0]) if below[0] < 0.99 else math.inf
        case "sigmoid" | "decay" | "recip_decay":
            return 1.0
    # A name of a step, a mask, a negation, an absolute value.
    return below[0]


def _scan_reach(node: Expression, matrix: MatrixOperand, row_norm: float, vector: Rows) -> float:
    length = float(np.linalg.norm(vector.astype(np.float64))) * (1.0 + 1e-9)
    return row_norm + length if matrix.is_l2 else max(1.0 + 1e-6, row_norm * length)
