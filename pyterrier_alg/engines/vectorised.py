"""The vectorised engine: NumPy over whole arrays, every score bit for bit the defined one.

A selection scans in float32 to find candidates, with an error bound carried through the program's arithmetic, and
scores those exactly (`_selection`, `_bounds`); all else is exact at once (`_evaluation`, `_relations`, `arithmetic`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula, operand_names
from pyterrier_alg.collection.operands import Operand, Positions, Scope, Scores
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._selection import Selection, Selector, exactly
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.relation import ScoredRelation, rank_order


class VectorisedEngine(Engine):
    """Runs everything that the algebra has; certified.

    Attributes:
        fold_directions: scan `E @ a - 0.5 * (E @ b)` once, along `a - 0.5 * b`, to find candidates. The result is the
            same either way, bit for bit.

    Example:
        >>> from pyterrier_alg.algebra import parse
        >>> from pyterrier_alg.collection.operands import RelationOperand
        >>> S = RelationOperand(np.array([0, 1]), np.array([1.0, 3.0]))
        >>> scope = Scope(np.array(["d1", "d2"], dtype=object), {"S": S})
        >>> VectorisedEngine().run(parse("top(1, 2 S)"), scope).to_dict()
        {'d2': 6.0}
    """

    name = "vectorised"

    def __init__(self, *, fold_directions: bool = True) -> None:
        """Choose how to scan."""
        self.fold_directions = fold_directions
        self._selector = Selector(fold_directions)

    def evaluate(self, formula: Formula, scope: Scope) -> ScoredRelation:
        """Compute a sound formula: the result in rank order, with the gap check of its outermost `top`."""
        evaluation = Evaluation(formula, scope, self._selector)
        result = evaluation.relation(formula.result)
        selection = evaluation.selections.get(evaluation.meant(formula.result))
        if selection is not None:
            positions, scores = selection.positions[: selection.k], selection.scores[: selection.k]
            return ScoredRelation.ordered(scope.docnos[positions], scores, gap_check=selection.gap_check(scope.docnos))
        order = rank_order(result.scores)
        return ScoredRelation.ordered(scope.docnos[result.positions[order]], result.scores[order])

    def selections(self, formula: Formula, scope: Scope) -> dict[Expression, Selection]:
        """What each `top` of a formula found, by its expression, and how many candidates were scored for it."""
        evaluation = Evaluation(formula, scope, self._selector)
        evaluation.value(formula.result)
        return evaluation.selections

    def run_all(self, formula: Formula, scopes: Iterable[Scope]) -> list[ScoredRelation]:
        """Run one formula for many queries; once for those that differ in no operand that it names."""
        names = operand_names(formula)
        known: dict[tuple[int, ...], tuple[list[Operand | None], ScoredRelation]] = {}
        results = []
        for scope in scopes:
            # Kept alive beside the result, so that no identity is used again.
            operands = [scope.operands.get(name) for name in names]
            key = (id(scope.docnos), *map(id, operands))
            if key not in known:
                known[key] = operands, self.run(formula, scope)
            results.append(known[key][1])
        return results


def defined_scores(formula: Formula, expression: Expression, scope: Scope, positions: Positions) -> Scores:
    """The defined scores of a relation expression at some records, whatever engine found these.

    Only scans and pointwise operators are computed for these records alone; what needs a whole relation is, whole.

    Args:
        formula: sound; names refer to its steps.
        expression: of kind relation, the formula's result, a step or a part of one.
        scope: the operands.
        positions: of the records, in any order.

    Returns:
        float64, one a record; NaN where the expression does not score it.

    Raises:
        EvaluationError: as running the formula does.
    """
    evaluation = Evaluation(formula, scope, Selector(fold_directions=True))
    for node in evaluation.frontier(expression):
        evaluation.value(node)
    bounds = exactly(evaluation, expression, positions)
    return bounds.values if bounds.defined is None else np.where(bounds.defined, bounds.values, np.nan)


def mask_positions(formula: Formula, expression: Expression, scope: Scope) -> Positions:
    """The records of a mask expression, ascending.

    Args:
        formula: sound; names refer to its steps.
        expression: of kind mask, a step or a part of one.
        scope: the operands.

    Returns:
        int64.
    """
    return Evaluation(formula, scope, Selector(fold_directions=True)).mask(expression)
