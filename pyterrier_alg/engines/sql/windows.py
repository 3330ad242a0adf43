"""Rules of what needs a whole relation: selections and rescalings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from pyterrier_alg.algebra.expressions import Apply, Count, Expression
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.engines.sql.dialects import call, real, whole
from pyterrier_alg.engines.sql.plan import Recipe
from pyterrier_alg.engines.sql.selects import (
    DOCNO,
    SCORE,
    Select,
    Source,
    arithmetic,
    choose,
    largest_float,
    over,
    rank_order,
)

if TYPE_CHECKING:
    from pyterrier_alg.engines.sql.compiler import Compiler


#: Longer unions are made in parts: SQLite stops at 500.
LONGEST_UNION = 100


def top(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """The first k."""
    select = cast(Select, parts[1])
    query = select.query()
    query.set("order", rank_order(exp.column(SCORE)))
    query.set("limit", exp.Limit(expression=count_of(compiler, node.arguments[0])))
    return Select.of(compiler.write(query, "top"))


def per(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """The first n of each group."""
    groups, select = (cast(Select, part) for part in parts[1:])
    both = select.joined(groups, select.value())
    place = over(exp.RowNumber(), by=groups.value(), order=rank_order(select.value()))
    source = compiler.write(both.query(exp.alias_(place, "place")), "per")
    first = exp.LTE(this=source.column("place"), expression=count_of(compiler, node.arguments[0]))
    return Select.of(source).where(first)


def ranks(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """Row numbers."""
    select = cast(Select, parts[0])
    rank = exp.cast(over(exp.RowNumber(), order=rank_order(select.value())), "DOUBLE")
    return Select.of(compiler.write(select.scored(rank).query(), "ranks"))


def windowed(compiler: Compiler, select: Select, word: str, **columns: Callable[[exp.Expr], exp.Expr]) -> Source:
    """The table of a select with values over its whole domain beside each score."""
    select = compiler.table(select, f"{word}_argument")
    more = [exp.alias_(make(select.value()), name) for name, make in columns.items()]
    return compiler.write(select.query(*more), word)


def minmax(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """Rescaled by smallest and largest."""
    source = windowed(
        compiler,
        cast(Select, parts[0]),
        "minmax",
        low=lambda s: over(exp.Min(this=s)),
        high=lambda s: over(exp.Max(this=s)),
    )
    low, high, score = (source.column(name) for name in ("low", "high", SCORE))
    share = arithmetic(
        "/", exp.Paren(this=arithmetic("-", score, low.copy())), arithmetic("-", high.copy(), low.copy())
    )
    return Select.of(source).scored(choose(exp.EQ(this=low, expression=high), real(1), share))


def maxnorm(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """Rescaled by the largest, which a run looks at."""
    source = windowed(compiler, cast(Select, parts[0]), "maxnorm", high=lambda s: over(exp.Max(this=s)))
    return Select.of(source).scored(arithmetic("/", source.column(), source.column("high")))


def zscore(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """Rescaled by mean and deviation."""
    first = windowed(
        compiler,
        cast(Select, parts[0]),
        "mean",
        low=lambda s: over(exp.Min(this=s)),
        high=lambda s: over(exp.Max(this=s)),
        mean=partial(mean, compiler),
    )
    distance = exp.Paren(this=arithmetic("-", first.column(), first.column("mean")))
    deviation = exp.Sqrt(this=mean(compiler, arithmetic("*", distance, distance.copy())))
    extremes = [exp.alias_(first.column(name), name) for name in ("low", "high")]
    query = Select.of(first).scored(distance.copy()).query(*extremes, exp.alias_(deviation, "deviation"))
    source = compiler.write(query, "zscore")
    constant = exp.EQ(this=source.column("low"), expression=source.column("high"))
    spread = source.column("deviation")
    # A deviation that overflows, or vanishes though scores differ, rescales to nothing: NULL, which a run refuses.
    sound = exp.And(
        this=exp.GT(this=spread, expression=whole(0)),
        expression=exp.LTE(this=spread.copy(), expression=largest_float()),
    )
    share = arithmetic("/", source.column(), spread.copy())
    return Select.of(source).scored(exp.Case(ifs=[exp.If(this=constant, true=real(0)), exp.If(this=sound, true=share)]))


def mean(compiler: Compiler, value: exp.Expr) -> exp.Expr:
    """The mean over the whole domain."""
    count = over(exp.Count(this=exp.Star()))
    return arithmetic("/", over(total(compiler, value)), exp.cast(count, "DOUBLE"))


def total(compiler: Compiler, value: exp.Expr) -> exp.Expr:
    """The sum over all."""
    return call(compiler.dialect.total, value)


def softmax(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """Powers over their sum."""
    first = windowed(compiler, cast(Select, parts[0]), "highest", high=lambda s: over(exp.Max(this=s)))
    power = exp.Exp(this=arithmetic("-", first.column(), first.column("high")))
    second = windowed(compiler, Select.of(first).scored(power), "softmax", total=lambda s: over(total(compiler, s)))
    return Select.of(second).scored(arithmetic("/", second.column(), second.column("total")))


def rrf(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """The sum of what each ranking adds."""
    given = {option.name: option.default for option in OPERATORS["rrf"].options} | dict(node.options)
    k, depth = cast(Count, given["k"]), cast(Count, given["depth"])
    queries: list[exp.Expr] = [contribution(compiler, cast(Select, part), k, depth) for part in parts]
    while len(queries) > 1 and len(queries) > LONGEST_UNION:
        chunks = [queries[i : i + LONGEST_UNION] for i in range(0, len(queries), LONGEST_UNION)]
        tables = [compiler.write(_all(chunk), "contributions") for chunk in chunks]
        queries = [Select.of(table).query() for table in tables]
    source = compiler.write(_all(queries), "contributions")
    fused = Select.of(source).query()
    fused.set("expressions", [exp.column(DOCNO), exp.alias_(total(compiler, source.column()), SCORE)])
    fused.set("group", exp.Group(expressions=[exp.column(DOCNO)]))
    return Select.of(compiler.write(fused, "rrf"))


def contribution(compiler: Compiler, select: Select, k: Count, depth: Count) -> exp.Expr:
    """What one ranking adds: 1 / (k + rank) for each of its first records."""
    place = over(exp.RowNumber(), order=rank_order(select.value()))
    source = compiler.write(select.query(exp.alias_(place, "place")), "ranking")
    base = compiler.parameter(Recipe("literal", value=_float(k)), "k_rrf")
    share = arithmetic("/", real(1), exp.Paren(this=arithmetic("+", base, source.column("place"))))
    first = exp.LTE(this=source.column("place"), expression=count_of(compiler, depth))
    return Select.of(source).scored(share).where(first).query()


def _all(queries: Sequence[exp.Expr]) -> exp.Expr:
    result = queries[0]
    for query in queries[1:]:
        result = exp.Union(this=result, expression=query, distinct=False)
    return result


def count_of(compiler: Compiler, expression: Expression) -> exp.Placeholder:
    """The parameter of a count."""
    value = cast(Count, expression).value
    return compiler.parameter(Recipe("count", value=value), "n")


def _float(count: Count) -> float:
    return float(count.digits)


#: A rule takes the compiler, a node and its arguments' selects, and gives the node's.
WINDOWS: Mapping[str, Callable[[Compiler, Apply, Sequence[Select | None]], Select]] = {
    "top": top,
    "per": per,
    "ranks": ranks,
    "minmax": minmax,
    "maxnorm": maxnorm,
    "zscore": zscore,
    "softmax": softmax,
    "rrf": rrf,
}
