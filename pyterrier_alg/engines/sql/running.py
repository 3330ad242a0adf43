"""One run of a plan: bind values, find the data's own faults, fetch rows and, if asked, score them as defined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from pyterrier_alg.algebra.checking import Checked
from pyterrier_alg.algebra.expressions import Expression, Name, Retrieve
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.operands import Positions, Rows, Scope, Scores
from pyterrier_alg.engines.demand import fault, shown
from pyterrier_alg.engines.sql.bounds import Norms, Range, ranges
from pyterrier_alg.engines.sql.dialects import Dialect
from pyterrier_alg.engines.sql.plan import LIMIT, Plan, Recipe, Statement
from pyterrier_alg.engines.sql.tables import Database, Tables, day_number
from pyterrier_alg.engines.values import number_value, text_value, vector_value
from pyterrier_alg.engines.vectorised import defined_scores
from pyterrier_alg.relation import CONTENDERS, GapCheck, ScoredRelation, rank_order

#: How many records beyond k are fetched to be scored as defined, at first.
_MARGIN = 64


def parameter_values(plan: Plan, formula: Formula, scope: Scope) -> dict[str, object]:
    """The value of each parameter of a plan, k left out.

    Raises:
        EvaluationError: `unknown_record`, `empty_centroid`, `zero_vector`, …
    """
    values: dict[str, object] = {}
    for name, recipe in plan.recipes.items():
        values |= _bound(plan.dialect, name, recipe, formula, scope)
    return values


def _bound(dialect: Dialect, name: str, recipe: Recipe, formula: Formula, scope: Scope) -> Mapping[str, object]:
    expression = recipe.expression
    if expression is None:
        return {name: recipe.value}
    if recipe.role == "number":
        return {name: number_value(expression, scope, formula)}
    if recipe.space is not None:
        return dialect.vector_parameters(name, vector_value(expression, scope, formula), recipe.space)
    text = text_value(expression, scope, formula)
    return {name: day_number(text) if recipe.role == "day" else text}


@dataclass
class Run:
    """One formula over one scope in one database.

    Attributes:
        formula: sound, without steps that its result does not use.
        scope: its operands.
        checked: what the checker found.
        plan: what it compiles to.
        database: where its operands' tables are.
        tables: of this database.
        norms: of matrices.
        values: of parameters, as far as they are known.
        made: steps that are temporary tables already.
        ranges: of scores, and their errors.
    """

    formula: Formula
    scope: Scope
    checked: Checked
    plan: Plan
    database: Database
    tables: Tables
    norms: Norms
    values: dict[str, object] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    ranges: Mapping[Expression, Range] = field(init=False)

    def __post_init__(self) -> None:
        """Evaluate and search what the statement needs, step by step, and find what only the data shows."""
        self.ranges = ranges(self.formula, self.scope, self.checked, self.plan.dialect, self.norms, self)

    def vector(self, node: Expression) -> Rows:
        """The vector of a scan."""
        name = self.plan.scans[node]
        recipe = self.plan.recipes[name]
        values = vector_value(cast(Expression, recipe.expression), self.scope, self.formula)
        self.values |= self.plan.dialect.vector_parameters(name, values, cast(Space, recipe.space))
        return values

    def value(self, name: str) -> object:
        """The value of a parameter; a vector's is known since its scan was looked at."""
        if name not in self.values:
            recipe = self.plan.recipes[name]
            self.values |= _bound(self.plan.dialect, name, recipe, self.formula, self.scope)
        return self.values[name]

    def search(self, node: Retrieve) -> Scores:
        """The scores of a search, whose table is filled."""
        every = np.arange(len(self.scope.docnos))
        scores = defined_scores(self.formula, node, self.scope, every)
        found = np.flatnonzero(~np.isnan(scores))
        name = next(name for name, known in self.plan.retrievals.items() if known == node)
        self.tables.temporary(name, self.scope.docnos[found], (("score", "real", scores[found]),))
        return scores[found]

    def measure(self, node: Expression) -> Range | None:
        """The extremes of a step in the database, all of whose scores must be finite; None where it has no records."""
        for docno, score in self._fetch(self.plan.not_finite(node, self.value)):
            self._refuse(node, docno, score)
        [(low, high)] = self._fetch(self.plan.extremes(node, self.value))
        return None if low is None else Range(low, high)

    def _refuse(self, node: Expression, docno: str, score: float | None) -> None:
        # A database's NULL is what its arithmetic has no value for.
        message = f"{shown(node)} is {math.nan if score is None else score} for {docno!r}"
        raise fault("non_finite", message, node, self.formula)

    def _fetch(self, statement: Statement) -> list[tuple[Any, ...]]:
        for name, preparation in statement.preparations:
            if name not in self.made:
                self.database.rows(preparation.sql, preparation.parameters)
                self.tables.remember(name)
                self.made.add(name)
        return self.database.rows(statement.sql, statement.parameters)

    def rows(self, k: int | None, *, ties: bool = True) -> list[tuple[str, float]]:
        """The first k rows of the result; all for None.

        Raises:
            EvaluationError: `non_finite`, naming the record.
        """
        self.values[LIMIT] = k
        statement = self.plan.statement(self.value, ties=ties, limit=k is not None)
        rows = self._fetch(statement)
        for docno, score in rows:
            if score is None or not math.isfinite(score):
                self._refuse(self.formula.result, docno, score)
        return rows

    @property
    def result(self) -> tuple[Expression, Range]:
        """What the last selection selects from, or the result itself, and what is known of it."""
        steps = dict(self.formula.steps)
        node: Expression = self.formula.result
        while isinstance(node, Name) and node.name in steps:
            node = steps[node.name]
        if self.plan.k is not None:
            node = node.parts[1]
        return node, self.ranges[node]

    def relation(self, exact: bool) -> ScoredRelation:
        """The result in rank order.

        Args:
            exact: whether to score candidates as defined, where that can be certified.
        """
        node, known = self.result
        if exact and known.settled and math.isfinite(known.error):
            return self._certified(node, known)
        k = self.plan.k
        rows = self.rows(None if k is None else k + CONTENDERS)
        return self._ranked([d for d, _ in rows], np.array([s for _, s in rows], dtype=np.float64), known.error, False)

    def _certified(self, node: Expression, known: Range) -> ScoredRelation:
        docnos, scores = self._candidates(known.error)
        if known.error:
            positions = self._positions(docnos)
            scores = defined_scores(self.formula, node, self.scope, positions)
            # Candidates in code-point order, so that equal scores keep it.
            places = np.argsort(positions)
            places = places[rank_order(scores[places])]
            docnos, scores = [docnos[i] for i in places], scores[places]
        return self._ranked(docnos, scores, 0.0, True)

    def _candidates(self, error: float) -> tuple[list[str], Scores]:
        """All records that can be among the first k or the first ones left, in the database's order."""
        k, margin = self.plan.k, _MARGIN if error else CONTENDERS
        while True:
            rows = self.rows(None if k is None else k + margin)
            scores = np.array([score for _, score in rows], dtype=np.float64)
            if k is None or len(rows) < k + margin or not error:
                break
            # Each score is off by at most the error: all of these are certainly better than what was not fetched.
            if scores[-1] < scores[k + CONTENDERS - 1] - 2.0 * error:
                break
            margin *= 4
        return [docno for docno, _ in rows], scores

    def _positions(self, docnos: list[str]) -> Positions:
        names = np.empty(len(docnos), dtype=object)
        names[:] = docnos
        return np.searchsorted(self.scope.docnos, names).astype(np.int64)

    def _ranked(self, docnos: list[str], scores: Scores, error: float, certified: bool) -> ScoredRelation:
        names = np.empty(len(docnos), dtype=object)
        names[:] = docnos
        scores = scores + 0.0
        k, check = self.plan.k, None
        if k is not None:
            check = GapCheck.of(names, scores, k, certified=certified)
            names, scores = names[:k], scores[:k]
        return ScoredRelation.ordered(names, scores, gap_check=check, error_bound=error, certified=certified)
