"""Pieces of a statement: what a relation, a mask or a column is while the statement is being put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from pyterrier_alg.engines.sql.dialects import real, whole

#: The column that every table has, and by which everything is joined.
DOCNO = "docno"
SCORE = "score"


@dataclass(frozen=True, slots=True)
class Source:
    """A table in a join.

    Attributes:
        table: its name.
        optional: whether it may lack a record (a left join).
        every: whether it lists every record of the collection, so that a join with another table does not need it.
        width: how many tables it stands for, once the database has put everything together.
    """

    table: str
    optional: bool = False
    every: bool = False
    width: int = 1

    @property
    def alias(self) -> str:
        """How its columns are called; a table may be joined in both ways at once."""
        return f"{self.table}?" if self.optional else self.table

    def column(self, name: str = SCORE) -> exp.Column:
        """One of its columns."""
        return exp.column(name, table=self.alias)


@dataclass(frozen=True, eq=False)
class Select:
    """A join of tables by docno, with a score (of a relation), conditions, or both.

    Attributes:
        sources: the tables, each once; the first is not optional.
        score: over their columns; None for a mask.
        conditions: all of them must hold.
        depth: how deep the largest expression is once the database has put everything together.
        members: of a union that has not been written yet; then nothing else is set.
    """

    sources: tuple[Source, ...] = ()
    score: exp.Expr | None = None
    conditions: tuple[exp.Expr, ...] = ()
    depth: int = 1
    members: tuple[Select, ...] = ()

    @classmethod
    def of(cls, source: Source, column: str | None = SCORE, depth: int = 1) -> Select:
        """A whole table, with one of its columns or none."""
        return cls((source,), source.column(column) if column else None, (), depth)

    @property
    def width(self) -> int:
        """How many tables it joins once the database has put everything together."""
        return sum(source.width for source in self.sources)

    @property
    def is_table(self) -> bool:
        """Whether it is one table as it stands."""
        plain = self.score is None or isinstance(self.score, exp.Column)
        return len(self.sources) == 1 and not self.conditions and plain

    @property
    def table(self) -> Source:
        """The one table that it is."""
        return self.sources[0]

    def value(self) -> exp.Expr:
        """Its score, to build upon: a copy where something has been built upon it already."""
        if self.score is None:
            raise TypeError("a mask has no score")
        return self.score if self.score.parent is None else self.score.copy()

    def scored(self, score: exp.Expr | None) -> Select:
        """The same records with another score."""
        return replace(self, score=score, depth=self.depth + 1)

    def where(self, *conditions: exp.Expr) -> Select:
        """The records for which these hold as well."""
        return replace(self, conditions=(*self.conditions, *conditions), depth=self.depth + len(conditions))

    def joined(self, other: Select, score: exp.Expr | None) -> Select:
        """The records in both."""
        sources = tuple(dict.fromkeys((*self.sources, *other.sources)))
        conditions = (*self.conditions, *other.conditions)
        return Select(sources, score, conditions, max(self.depth, other.depth, len(conditions)) + 1)

    def query(self, *more: exp.Expr) -> exp.Select:
        """As a query of docno, score (where it has one) and more columns."""
        columns: list[exp.Expr] = [exp.column(DOCNO)]
        if self.score is not None:
            columns.append(exp.alias_(self.value(), SCORE, copy=False))
        query = exp.Select(expressions=[*columns, *more])
        inner = [source for source in self.sources if not source.optional]
        inner = [source for source in inner if not source.every] or inner[:1]
        first, *others = (*inner, *(source for source in self.sources if source.optional))
        query.set("from_", exp.From(this=_aliased(first)))
        query.set("joins", [
            exp.Join(this=_aliased(source), side="LEFT" if source.optional else None, using=[exp.to_identifier(DOCNO)])
            for source in others
        ])  # fmt: skip
        if self.conditions:
            query.set("where", exp.Where(this=every([c.copy() for c in self.conditions])))
        return query


def _aliased(source: Source) -> exp.Table:
    table = exp.Table(this=exp.to_identifier(source.table, quoted=True))
    if source.optional:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(source.alias, quoted=True)))
    return table


def every(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conjunction, grouped to the left."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = exp.And(this=result, expression=condition)
    return result


_SUMS, _PRODUCTS = (exp.Add, exp.Sub), (exp.Mul, exp.Div)


def arithmetic(operator: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """`left operator right`, in parentheses only where the grouping needs them."""
    kind = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div}[operator]
    loose = isinstance(left, _SUMS) and kind in _PRODUCTS
    left = exp.Paren(this=left) if loose or _is_open(left) else left
    tight = isinstance(right, _PRODUCTS) and kind in _SUMS
    right = right if tight or not isinstance(right, (*_SUMS, *_PRODUCTS, exp.Neg)) else exp.Paren(this=right)
    # Both are floats, and the divisor is not 0: no cast and no guard is wanted.
    return kind(this=left, expression=right, **({"typed": True, "safe": False} if kind is exp.Div else {}))


def _is_open(left: exp.Expr) -> bool:
    return isinstance(left, exp.Neg)


def negative(value: exp.Expr) -> exp.Expr:
    """`-value`."""
    simple = isinstance(value, exp.Column | exp.Placeholder | exp.Func | exp.Paren)
    return exp.Neg(this=value if simple else exp.Paren(this=value))


def over(function: exp.Expr, *, by: exp.Expr | None = None, order: exp.Order | None = None) -> exp.Window:
    """A window function."""
    return exp.Window(this=function, partition_by=[by] if by is not None else None, order=order)


def rank_order(score: exp.Expr, *, ties: bool = True) -> exp.Order:
    """Score descending, then docno ascending."""
    keys = [exp.Ordered(this=score, desc=True)]
    if ties:
        keys.append(exp.Ordered(this=exp.column(DOCNO), desc=False))
    return exp.Order(expressions=keys)


def choose(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> exp.Case:
    """`CASE WHEN condition THEN then ELSE otherwise END`."""
    return exp.Case(ifs=[exp.If(this=condition, true=then)], default=otherwise)


def largest_float() -> exp.Expr:
    """The largest finite float64, as the databases read it back."""
    return exp.Literal.number("1.7976931348623157e308")


__all__ = [
    "DOCNO", "SCORE", "Select", "Source", "arithmetic", "choose", "every", "largest_float", "negative", "over",
    "rank_order", "real", "whole",
]  # fmt: skip
