"""The definition as an engine: slow, plain, and what the others are held to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.meaning import Column, Matrix, Value, Vector, World, evaluate, steps
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    Operand,
    RelationOperand,
    RetrieverOperand,
    Retrieving,
    Scope,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.relation import GapCheck, ScoredRelation


class DefinitionEngine(Engine):
    """Runs everything, by `algebra/meaning.py`.

    A matrix is turned into plain tuples once, so that several programs over one collection share that work.
    """

    name = "definition"

    def __init__(self, *, remember: int = 4) -> None:
        """Begin with nothing converted.

        Args:
            remember: how many matrices to keep in their plain form.
        """
        self._remember = remember
        self._matrices: OrderedDict[int, tuple[MatrixOperand, Matrix]] = OrderedDict()

    def evaluate(self, formula: Formula, scope: Scope) -> ScoredRelation:
        """Compute a sound formula literally."""
        world = self.world(scope)
        selection = outermost_selection(formula)
        if selection is None:
            return ScoredRelation.of(evaluate(formula, world))
        k, inner = selection
        # The whole relation before the cut has what the gap check needs: the first record left.
        whole = ScoredRelation.of(evaluate(Formula(formula.steps, inner, formula.source), world))
        check = GapCheck.of(whole.docnos, whole.scores, k, certified=True)
        return ScoredRelation.ordered(whole.docnos[:k].copy(), whole.scores[:k], gap_check=check)

    def steps(self, formula: Formula, scope: Scope) -> dict[str, Any]:
        """The value of every named step, in plain Python."""
        return dict(steps(formula, self.world(scope)))

    def world(self, scope: Scope) -> World:
        """A scope in plain Python."""
        return World(
            tuple(scope.docnos.tolist()),
            {name: self._plain(operand, scope) for name, operand in scope.operands.items()},
        )

    def _plain(self, operand: Operand, scope: Scope) -> Value:
        match operand:
            case NumberOperand(value=number):
                return number
            case TextOperand(value=text):
                return text
            case VectorOperand(values=vector, space=space):
                return Vector(tuple(vector.tolist()), space)
            case MatrixOperand():
                return self._matrix(operand, scope)
            case RelationOperand(positions=positions, scores=scores):
                return dict(zip(scope.docnos[positions].tolist(), scores.tolist(), strict=True))
            case MaskOperand(positions=positions):
                return frozenset(scope.docnos[positions].tolist())
            case ColumnOperand(positions=positions, values=texts):
                return Column(dict(zip(scope.docnos[positions].tolist(), texts.tolist(), strict=True)))
            case RetrieverOperand(retriever=retriever):
                return _search(retriever)

    def _matrix(self, operand: MatrixOperand, scope: Scope) -> Matrix:
        key = id(operand)
        if key not in self._matrices:
            encoder = operand.encoder
            encode = None if encoder is None else lambda text: tuple(np.asarray(encoder.encode(text)).tolist())
            rows = _Rows(operand, scope)
            self._matrices[key] = operand, Matrix(rows, operand.space, encode)
            while len(self._matrices) > self._remember:
                self._matrices.popitem(last=False)
        self._matrices.move_to_end(key)
        return self._matrices[key][1]

    def __getstate__(self) -> dict[str, Any]:
        return {"_remember": self._remember, "_matrices": OrderedDict()}


class _Rows(Mapping[str, tuple[float, ...]]):
    """A matrix as docno to row, made plain when first looked at: most programs look at all rows or at few."""

    def __init__(self, operand: MatrixOperand, scope: Scope) -> None:
        self._places = {docno: i for i, docno in enumerate(scope.docnos[operand.positions].tolist())}
        self._rows = operand.rows
        self._plain: dict[str, tuple[float, ...]] = {}

    def __getitem__(self, docno: str) -> tuple[float, ...]:
        row = self._plain.get(docno)
        if row is None:
            row = self._plain[docno] = tuple(self._rows[self._places[docno]].tolist())
        return row

    def __contains__(self, docno: object) -> bool:
        return docno in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _search(retriever: Retrieving) -> Callable[[str, int | None], dict[str, float]]:
    return lambda text, depth: dict(retriever.search(text, retriever.default_depth if depth is None else depth))


def outermost_selection(formula: Formula) -> tuple[int, Expression] | None:
    """The k and the relation of a result that is `top(k, S)`, also through names of steps; None for other results."""
    steps = dict(formula.steps)
    result = formula.result
    while isinstance(result, Name) and result.name in steps:
        result = steps[result.name]
    if not (isinstance(result, Apply) and result.operator == "top" and isinstance(result.arguments[0], Count)):
        return None
    return result.arguments[0].value, result.arguments[1]
