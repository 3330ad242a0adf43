"""The engine that runs formulas as pipelines of PyTerrier transformers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import EvaluationError
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection.operands import Scope, TextOperand, VectorOperand
from pyterrier_alg.engines.definition import outermost_selection
from pyterrier_alg.engines.engine import RETRIEVE, Engine
from pyterrier_alg.relation import GapCheck, ScoredRelation
from pyterrier_alg.transformers.compiling import Compiler
from pyterrier_alg.transformers.sources import OneScope
from pyterrier_alg.transformers.translating import JOINING, STAGES, VECTORS


class PipelineEngine(Engine):
    """Runs a formula as a pipeline of PyTerrier transformers, over frames; certified.

    Slower than arrays, and independent of them where engines go wrong: it shares the arithmetic of scores and of exact
    sums with the vectorised engine, but no selection, no join, no domain and no order.
    """

    name = "pipeline"

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """What there is a stage for."""
        return frozenset({*STAGES, *JOINING, *VECTORS, RETRIEVE})

    def evaluate(self, formula: Formula, scope: Scope) -> ScoredRelation:
        """Run a sound formula for one query."""
        selection = outermost_selection(formula)
        if selection is None:
            found = self._relation(formula, scope)
            return ScoredRelation.ordered(*found)
        # The whole relation before the cut has what the gap check needs: the first record left.
        k, inner = selection
        docnos, values = self._relation(Formula(formula.steps, inner, formula.source), scope)
        whole = ScoredRelation.ordered(docnos, values)
        gaps = GapCheck.of(whole.docnos, whole.scores, k, certified=True)
        return ScoredRelation.ordered(docnos[:k], values[:k], gap_check=gaps)

    def _relation(self, formula: Formula, scope: Scope) -> tuple[list[str], Any]:
        topic: dict[str, list[Any]] = {"qid": [scope.qid or "1"]}
        for name in ("query", "query_vec"):
            operand = scope.operands.get(name)
            if isinstance(operand, TextOperand):
                topic[name] = [operand.value]
            elif isinstance(operand, VectorOperand):
                topic[name] = [operand.values]
        source = formula.source or formula.ascii
        try:
            frame = Compiler(formula, OneScope(scope), placed=True).pipeline().transform(pd.DataFrame(topic))
        except EvaluationError as error:
            # A leaf knows its own expression only; the places in it are the formula's.
            raise EvaluationError(error.diagnostics, source) from None
        return frame["docno"].tolist(), frame["score"].to_numpy()
