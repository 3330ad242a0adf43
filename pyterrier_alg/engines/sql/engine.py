"""The SQL engines: load a scope's tables, compile, bind, run, and say how good the answer is."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyterrier_alg.algebra.checking import Checked, check
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Expression, Name, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Kind
from pyterrier_alg.algebra.reading import as_formula
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.engines.sql.bounds import Norms
from pyterrier_alg.engines.sql.compiler import CAPABILITIES, Layout, compile_formula, needed
from pyterrier_alg.engines.sql.dialects import Dialect
from pyterrier_alg.engines.sql.names import Names
from pyterrier_alg.engines.sql.plan import LIMIT, Plan, Statement
from pyterrier_alg.engines.sql.running import Run, parameter_values
from pyterrier_alg.engines.sql.tables import Database, Tables
from pyterrier_alg.relation import ScoredRelation

#: Plans that an engine keeps.
_PLANS = 64

_TABULAR = frozenset({Kind.MATRIX, Kind.RELATION, Kind.MASK, Kind.TEXT_COLUMN, Kind.DATE_COLUMN})


class SqlEngine(Engine):
    """Runs a formula as one statement over tables that hold the scope's operands.

    Without `exact` the scores are the database's own: `error_bound` states how far they may be from the defined ones,
    and nothing is certified. With `exact`, where the bound shows which records can be among the first k, these are
    scored as defined and the result is certified; where it cannot show that (a selection or a rescaling over
    approximate scores), the result is the database's and says so.

    One engine holds one connection, used by one thread at a time. It pickles without it.
    """

    capabilities = CAPABILITIES
    certifies = False
    dialect: Dialect

    def __init__(self, exact: bool = False) -> None:
        """Connect when first used.

        Args:
            exact: whether to score candidates as defined, where that can be certified.
        """
        self.exact = exact
        self._open()

    def _open(self) -> None:
        self._lock = threading.RLock()
        self._database: Database | None = None
        self._tables: Tables | None = None
        self._plans: OrderedDict[object, tuple[Plan, Checked]] = OrderedDict()
        self._norms = Norms()

    def __getstate__(self) -> dict[str, Any]:
        """What it was made with."""
        return {"exact": self.exact}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin anew, without a connection."""
        self.exact = state["exact"]
        self._open()

    @abstractmethod
    def connect(self) -> Database:
        """A new database."""

    def close(self) -> None:
        """End the connection; the next run makes a new one and loads again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
            self._open()

    def compile(self, formula: Formula | Expression | str, over: Scope | Mapping[str, Binding]) -> Statement:
        """The statement that a formula runs as.

        Args:
            formula: what is compiled; text is read first.
            over: a scope, or what the checker knows of one; then parameters that only operands tell are None.

        Returns:
            Text and parameters. Tables are called as the operands are, as far as databases take that.

        Raises:
            ProgramError: what the checker finds.
            UnsupportedError: for an operator outside `capabilities`.
        """
        formula = as_formula(formula)
        _refuse_what_is_no_scope(over)
        scope = over if isinstance(over, Scope) else None
        bindings = over.bindings if isinstance(over, Scope) else over
        checked = check(formula, bindings)
        self.require(formula)
        names = Names()
        docs = names.take("docs")
        used = dict.fromkeys(node.name for node in walk(*formula.expressions) if isinstance(node, Name))
        wanted = [n for n in used if n in bindings and n != "all" and bindings[n].type.kind in _TABULAR]
        plan = compile_formula(
            formula, checked, self.dialect, Layout(docs, {name: names.take(name) for name in wanted})
        )
        if scope is None:
            values: dict[str, object] = {name: recipe.value for name, recipe in plan.recipes.items()}
        else:
            values = parameter_values(plan, needed(formula), scope)
        return plan.statement((values | {LIMIT: plan.k}).get)

    def evaluate(self, formula: Formula, scope: Scope) -> ScoredRelation:
        """Run a sound formula.

        Raises:
            EvaluationError: what only the data shows: `non_finite`, `unknown_record`, `nonpositive_maximum`, …
        """
        with self._running(formula, scope) as run:
            return run.relation(self.exact)

    def raw_rows(self, formula: Formula, scope: Scope) -> list[tuple[str, float]]:
        """What the statement gives when it is ordered by score alone, as people write it: ties as they come.

        Args:
            formula: what is run.
            scope: the operands.

        Returns:
            Docnos and the database's scores, as they came.

        Raises:
            ProgramError, UnsupportedError, EvaluationError: as `run` does.
        """
        check(formula, scope.bindings)
        self.require(formula)
        with self._running(formula, scope) as run:
            return run.rows(run.plan.k, ties=False)

    @contextmanager
    def _running(self, formula: Formula, scope: Scope) -> Iterator[Run]:
        formula = needed(formula)
        with self._lock:
            if self._database is None or self._tables is None:
                self._database = self.connect()
                self._tables = Tables(self._database)
            try:
                layout = self._tables.layout(formula, scope)
                plan, checked = self._plan(formula, scope, layout)
                yield Run(formula, scope, checked, plan, self._database, self._tables, self._norms)
            finally:
                self._tables.end_run()

    def _plan(self, formula: Formula, scope: Scope, layout: Layout) -> tuple[Plan, Checked]:
        bindings = scope.bindings
        types = tuple((name, bindings[name].type) for name in sorted(bindings))
        key = (formula, layout.docs, tuple(layout.tables.items()), types)
        if key not in self._plans:
            checked = check(formula, bindings)
            self._plans[key] = compile_formula(formula, checked, self.dialect, layout), checked
            if len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(key)
        return self._plans[key]


def _refuse_what_is_no_scope(over: object) -> None:
    if not isinstance(over, Scope | Mapping):
        message = f"a statement is compiled over a scope, not a {type(over).__name__}"
        raise AlgebraError("bad_argument", message, "what a query of a collection sees is collection.at()")
