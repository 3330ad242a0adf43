"""A compiled program: common table expressions, the final query, and recipes for the values that it binds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from sqlglot import exp

from pyterrier_alg.algebra.expressions import Expression, Retrieve
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.engines.sql.dialects import Dialect
from pyterrier_alg.engines.sql.selects import DOCNO, SCORE, Select, largest_float, rank_order

#: Gives a parameter's value by its name.
Values: TypeAlias = Callable[[str], object]

#: The parameter of the last selection's k.
LIMIT = "k"


@dataclass(frozen=True)
class Statement:
    """One SQL statement, for reading and for running.

    Attributes:
        sql: its text.
        parameters: the values that it binds, by name; one that only operands tell is None where there are none.
        dialect: the database's name.
        preparations: the temporary tables that must be there before, by name, and what makes them: of steps that the
            database cannot share or nest as deep as the program does.
    """

    sql: str
    parameters: Mapping[str, object]
    dialect: str
    preparations: tuple[tuple[str, Statement], ...] = ()

    def __str__(self) -> str:
        """The text, preparations first."""
        return ";\n".join([*(statement.sql for _, statement in self.preparations), self.sql])


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a parameter gets its value.

    Attributes:
        role: `literal`, `count`, `number`, `text`, `day` (a text as days since 1970) or `vector`.
        expression: what is evaluated.
        value: of a literal or a count.
        space: of a vector.
    """

    role: str
    expression: Expression | None = None
    value: object = None
    space: Space | None = None


@dataclass(frozen=True, eq=False)
class Cte:
    """A common table expression."""

    name: str
    query: exp.Expr
    fenced: bool

    @cached_property
    def references(self) -> list[str]:
        """The tables that it names, as often as it names them."""
        return [table.name for table in self.query.find_all(exp.Table)]


@dataclass(eq=False)
class Plan:
    """What a formula compiles to over a layout of tables.

    Attributes:
        dialect: the database's SQL.
        ctes: in an order in which each uses earlier ones only.
        result: the last step; of `top`, what it selects from.
        k: how many records the result takes; None for all.
        recipes: by parameter.
        scans: the parameter of each scan's vector.
        retrievals: tables that searches fill before the statement runs, by name.
        selects: each relation's, by expression, for checks.
    """

    dialect: Dialect
    ctes: list[Cte]
    result: Select
    k: int | None
    recipes: Mapping[str, Recipe]
    scans: Mapping[Expression, str]
    retrievals: Mapping[str, Retrieve]
    selects: Mapping[Expression, Select]
    _texts: dict[object, tuple[str, tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)

    def statement(self, values: Values, *, ties: bool = True, limit: bool = True) -> Statement:
        """The program itself.

        Args:
            values: gives parameters' values.
            ties: whether equal scores are ordered by docno.
            limit: whether the last selection is made by the statement.
        """
        limited = limit and self.k is not None

        def query() -> exp.Expr:
            select = self.result.query()
            select.set("order", rank_order(exp.column(SCORE), ties=ties))
            if limited:
                select.set("limit", exp.Limit(expression=exp.Placeholder(this=LIMIT)))
            return select

        return self._written(("program", ties, limited), query, values)

    def not_finite(self, node: Expression, values: Values) -> Statement:
        """The first record for which a step has no finite score."""

        def query() -> exp.Expr:
            score, most = exp.column(SCORE), largest_float()
            finite = exp.Between(this=score.copy(), low=exp.Neg(this=most.copy()), high=most)
            unknown = exp.Is(this=score.copy(), expression=exp.Null())
            outer = self._over(node)
            outer.set("expressions", [exp.column(DOCNO), score])
            outer.set("where", exp.Where(this=exp.Or(this=unknown, expression=exp.Not(this=exp.Paren(this=finite)))))
            first = exp.Ordered(this=exp.column(DOCNO), desc=False)
            outer.set("order", exp.Order(expressions=[first]))
            outer.set("limit", exp.Limit(expression=exp.Literal.number(1)))
            return outer

        return self._written(("finite", node), query, values)

    def extremes(self, node: Expression, values: Values) -> Statement:
        """The smallest and the largest score of a step; one row, of NULLs where it has none."""

        def query() -> exp.Expr:
            outer = self._over(node)
            score = exp.column(SCORE)
            outer.set(
                "expressions", [exp.alias_(exp.Min(this=score), "low"), exp.alias_(exp.Max(this=score.copy()), "high")]
            )
            return outer

        return self._written(("extremes", node), query, values)

    def _over(self, node: Expression) -> exp.Select:
        """A query over a step, without columns yet."""
        step = exp.Subquery(this=self.selects[node].query(), alias=exp.TableAlias(this=exp.to_identifier("step")))
        return exp.Select(from_=exp.From(this=step))

    def _written(self, key: object, query: Callable[[], exp.Expr], values: Values) -> Statement:
        if key not in self._texts:
            self._texts[key] = self._write(query())
        text, names, tables = self._texts[key]
        preparations = tuple((table, self._preparation(table, values)) for table in tables)
        return Statement(text, {name: values(name) for name in names}, self.dialect.name, preparations)

    def _write(self, query: exp.Expr) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """A query with all that it needs: its text, its parameters, and the tables that must be there before."""
        roots = [table.name for table in query.find_all(exp.Table)]
        everything = self._reached(roots, frozenset())
        tables = tuple(name for name in self._tables if name in everything)
        query = self._with(query, roots)
        names = dict.fromkeys(str(placeholder.this) for placeholder in query.find_all(exp.Placeholder))
        return self.dialect.text(query), tuple(names), tables

    def _preparation(self, name: str, values: Values) -> Statement:
        """The statement that makes a temporary table of a step."""
        key = ("table", name)
        if key not in self._texts:
            text, names, _ = self._write(self._by_name[name].query.copy())
            target = self.dialect.text(exp.to_identifier(name, quoted=True))
            self._texts[key] = f"CREATE TEMP TABLE {target} AS\n{text}", names, ()
        text, names, _ = self._texts[key]
        return Statement(text, {name: values(name) for name in names}, self.dialect.name)

    def _with(self, query: exp.Expr, roots: Iterable[str]) -> exp.Expr:
        needed = self._reached(roots, self._tables)
        parts = [
            exp.CTE(
                this=self._by_name[name].query.copy(),
                alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)),
                materialized=True if self._by_name[name].fenced else None,
            )
            for name in sorted(needed, key=self._order.__getitem__)
        ]
        if parts:
            query.set("with_", exp.With(expressions=parts))
        return query

    def _reached(self, roots: Iterable[str], stop: Collection[str]) -> set[str]:
        """The common table expressions that these tables need, not looking at those where one stops."""
        stack = [name for name in roots if name in self._by_name and name not in stop]
        found: set[str] = set()
        while stack:
            name = stack.pop()
            if name not in found:
                found.add(name)
                stack.extend(r for r in self._by_name[name].references if r in self._by_name and r not in stop)
        return found

    @cached_property
    def _by_name(self) -> dict[str, Cte]:
        return {cte.name: cte for cte in self.ctes}

    @cached_property
    def _order(self) -> dict[str, int]:
        return {cte.name: place for place, cte in enumerate(self.ctes)}

    @cached_property
    def _tables(self) -> dict[str, None]:
        """The steps that become temporary tables, in order."""
        tables: set[str] = set()
        uses: dict[str, int] = {}
        nest: dict[str, int] = {}
        most = self.dialect.most_uses
        for cte in self.ctes:
            below = [name for name in cte.references if name in self._by_name and name not in tables]
            if sum(uses[name] for name in below) >= most:
                # A table of the step alone would have one statement make all that is below it.
                tables.update(name for name in below if uses[name] > 1)
                below = [name for name in below if name not in tables]
            uses[cte.name] = 1 + sum(uses[name] for name in below)
            nest[cte.name] = 1 + max((nest[name] for name in below), default=0)
            if uses[cte.name] > most or nest[cte.name] > self.dialect.deepest_nest:
                tables.add(cte.name)
        return {cte.name: None for cte in self.ctes if cte.name in tables}
