"""A compiled program: common table expressions, the final query, and recipes for the values that it binds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from pyterrier_alg.algebra.expressions import Apply, Expression, Retrieve
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.engines.sql.dialects import Dialect
from pyterrier_alg.engines.sql.selects import DOCNO, SCORE, Select, largest_float, rank_order

#: Beyond so many uses, written out, or so deep a nest, a database that expands at each use gets tables instead.
MOST_USES = 48
DEEPEST_NEST = 64

#: The parameter of the last selection's k.
LIMIT = "k"


@dataclass(frozen=True)
class Statement:
    """One SQL statement, for reading and for running.

    Attributes:
        sql: its text.
        parameters: the values that it binds, by name; a value that only a query's operands tell is None where there are none.
        dialect: the database's name.
        preparations: statements that make temporary tables before it, where the database would otherwise write a step that
            is used many times out again at each use; name and text.
    """

    sql: str
    parameters: Mapping[str, object]
    dialect: str
    preparations: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """The text, preparations first."""
        return ";\n".join([*(text for _, text in self.preparations), self.sql])


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
    query: exp.Expression
    fenced: bool

    @property
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
        maxima: what each `maxnorm` rescales, by its expression.
    """

    dialect: Dialect
    ctes: list[Cte]
    result: Select
    k: int | None
    recipes: Mapping[str, Recipe]
    scans: Mapping[Expression, str]
    retrievals: Mapping[str, Retrieve]
    selects: Mapping[Expression, Select]
    maxima: Mapping[Apply, Select]
    _texts: dict[object, tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]] = field(default_factory=dict)

    def statement(self, values: Mapping[str, object], *, ties: bool = True, limit: bool = True) -> Statement:
        """The program itself.

        Args:
            values: of parameters, by name.
            ties: whether equal scores are ordered by docno.
            limit: whether the last selection is made by the statement.
        """
        limited = limit and self.k is not None

        def query() -> exp.Expression:
            select = self.result.query()
            select.set("order", rank_order(exp.column(SCORE), ties=ties))
            if limited:
                select.set("limit", exp.Limit(expression=exp.Placeholder(this=LIMIT)))
            return select

        return self._written(("program", ties, limited), query, values)

    def not_finite(self, node: Expression, values: Mapping[str, object]) -> Statement:
        """The first record for which a step has no finite score."""

        def query() -> exp.Expression:
            inner = self.selects[node].query()
            score, most = exp.column(SCORE), largest_float()
            finite = exp.Between(this=score.copy(), low=exp.Neg(this=most.copy()), high=most)
            wrong = exp.Or(
                this=exp.Is(this=score.copy(), expression=exp.Null()), expression=exp.Not(this=exp.Paren(this=finite))
            )
            outer = exp.Select(expressions=[exp.column(DOCNO), score], where=exp.Where(this=wrong))
            outer.set(
                "from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("step"))))
            )
            outer.set(
                "order", exp.Order(expressions=[exp.Ordered(this=exp.column(DOCNO), desc=False, nulls_first=True)])
            )
            outer.set("limit", exp.Limit(expression=exp.Literal.number(1)))
            return outer

        return self._written(("finite", node), query, values)

    def maximum(self, node: Apply, values: Mapping[str, object]) -> Statement:
        """The largest score of what `maxnorm` rescales."""

        def query() -> exp.Expression:
            select = self.maxima[node].query()
            select.set("expressions", [exp.alias_(exp.Max(this=self.maxima[node].value()), "largest")])
            return select

        return self._written(("maximum", node), query, values)

    def _written(self, key: object, query: object, values: Mapping[str, object]) -> Statement:
        if key not in self._texts:
            self._texts[key] = self._write(query())  # type: ignore[operator]
        text, names, preparations = self._texts[key]
        return Statement(text, {name: values.get(name) for name in names}, self.dialect.name, preparations)

    def _write(self, query: exp.Expression) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
        by_name = {cte.name: cte for cte in self.ctes}
        references = {cte.name: [r for r in cte.references if r in by_name] for cte in self.ctes}
        needed = _reached((t.name for t in query.find_all(exp.Table)), references)
        tables = self._tables([cte for cte in self.ctes if cte.name in needed], references)
        preparations = []
        for name in tables:
            made = self._with(by_name[name].query.copy(), _reached(references[name], references, tables), by_name)
            target = self.dialect.text(exp.to_identifier(name, quoted=True))
            preparations.append((name, f"CREATE TEMP TABLE {target} AS\n{self.dialect.text(made)}"))
        roots = [t.name for t in query.find_all(exp.Table)]
        final = self._with(query, _reached(roots, references, tables), by_name)
        trees = [final, *(by_name[name].query for name in needed)]
        names = dict.fromkeys(str(p.this) for tree in trees for p in tree.find_all(exp.Placeholder))
        return self.dialect.text(final), tuple(names), tuple(preparations)

    def _with(self, query: exp.Expression, needed: set[str], by_name: Mapping[str, Cte]) -> exp.Expression:
        parts = [
            exp.CTE(
                this=cte.query.copy(), alias=exp.TableAlias(this=exp.to_identifier(cte.name, quoted=True)),
                materialized=True if cte.fenced else None,
            )
            for cte in self.ctes if cte.name in needed and cte.name in by_name
        ]  # fmt: skip
        if parts:
            query.set("with_", exp.With(expressions=parts))
        return query

    def _tables(self, ctes: list[Cte], references: Mapping[str, list[str]]) -> dict[str, None]:
        """The steps that become temporary tables, in order."""
        tables: dict[str, None] = {}
        if not self.dialect.expands:
            return tables
        uses: dict[str, int] = {}
        nest: dict[str, int] = {}
        for cte in ctes:
            below = [name for name in references[cte.name] if name not in tables]
            uses[cte.name] = 1 + sum(uses[name] for name in below)
            nest[cte.name] = 1 + max((nest[name] for name in below), default=0)
            if uses[cte.name] > MOST_USES or nest[cte.name] > DEEPEST_NEST:
                tables[cte.name] = None
        return tables


def _reached(
    roots: Iterable[str], references: Mapping[str, list[str]], stop: Mapping[str, None] | None = None
) -> set[str]:
    """The common table expressions that these tables need, not looking behind those that are tables by themselves."""
    stack = [name for name in roots if name in references and name not in (stop or {})]
    found: set[str] = set()
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(r for r in references[name] if r not in (stop or {}))
    return found
