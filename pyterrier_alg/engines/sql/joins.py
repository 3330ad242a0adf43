"""Rules of what is a join: scans, arithmetic, masks and functions of single scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number, Text
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.engines.sql.dialects import Dialect, call, real
from pyterrier_alg.engines.sql.plan import Recipe
from pyterrier_alg.engines.sql.selects import (
    DOCNO,
    Select,
    Source,
    arithmetic,
    choose,
    negative,
)

if TYPE_CHECKING:
    from pyterrier_alg.engines.sql.compiler import Compiler


COMPARISONS: Mapping[str, type[exp.Binary]] = {">=": exp.GTE, ">": exp.GT, "<=": exp.LTE, "<": exp.LT}

#: Longer unions become steps of their own: SQLite stops at 500 in one, and at 1,000 in all that it nests.
LONGEST_UNION = 25


def scan(compiler: Compiler, node: Apply, _: Sequence[Select | None]) -> Select:
    """A matrix against a vector."""
    matrix, meaning = node.arguments
    source = Source(compiler.layout.tables[compiler.operand(matrix)])
    measure = compiler.dialect.product if node.operator == "@" else compiler.dialect.closeness
    compiler.scans[node] = compiler.vector(matrix, meaning)
    score = measure(source.column("vector"), compiler.scans[node], compiler.space(matrix))
    return Select((source,), score, (), 4)


def combined(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """Two relations, joined by docno, or a relation and a number."""
    left, right = parts
    if left is not None and right is not None:
        return left.joined(right, arithmetic(node.operator, left.value(), right.value()))
    select = cast(Select, left or right)
    values = [
        part.value() if part is not None else compiler.number(argument)
        for part, argument in zip(parts, node.arguments, strict=True)
    ]
    return select.scored(arithmetic(node.operator, *values))


def pointwise(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """A function of each score alone."""
    place = next(i for i, part in enumerate(parts) if part is not None)
    select = cast(Select, parts[place])
    if node.operator == "log1p":
        # It uses its argument more than once.
        select = compiler.table(select, "log1p_argument")
    numbers = [compiler.number(a) for i, a in enumerate(node.arguments) if i != place]
    return select.scored(POINTWISE[node.operator](compiler.dialect, select.value(), *numbers))


def comparison(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """The records whose score or day compares so."""
    select, than = cast(Select, parts[0]), node.arguments[1]
    bound = day_text(compiler, than) if compiler.kind(node.arguments[0]) is Kind.DATE_COLUMN else compiler.number(than)
    condition = COMPARISONS[node.operator](this=select.value(), expression=bound)
    return select.where(condition).scored(None)


def day_text(compiler: Compiler, expression: Expression) -> exp.Placeholder:
    """The parameter of a day."""
    if isinstance(expression, Text):
        return compiler.literal(expression.value)
    return compiler.parameter(Recipe("text", expression), expression.name if isinstance(expression, Name) else "day")


def members(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """The records whose value is listed."""
    select = cast(Select, parts[0])
    wanted = [compiler.literal(cast(Text | Number, a).value) for a in node.arguments[1:]]
    return select.where(exp.In(this=select.value(), expressions=wanted)).scored(None)


def listed(compiler: Compiler, node: Apply, _: Sequence[Select | None]) -> Select:
    """Listed records."""
    wanted = [compiler.literal(cast(Text, a).value) for a in node.arguments]
    return compiler.everything.where(exp.In(this=exp.column(DOCNO), expressions=wanted))


def restrict(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """A relation joined with a mask."""
    mask, select = (cast(Select, part) for part in parts)
    # The scores' tables come first, the way one would write it.
    return select.joined(mask, select.value())


def both(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """Two masks, joined."""
    left, right = (cast(Select, part) for part in parts)
    return left.joined(right, None)


def either(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """The union of masks, gathered so that a chain of them is one."""
    left, right = (cast(Select, part) for part in parts)
    members = tuple(m for part in (left, right) for m in (part.members or (part,)))
    union = Select(members=members)
    return union if len(members) < LONGEST_UNION else Select(members=(compiler.solid(union),))


def others(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """The records that a mask lacks."""
    mask = compiler.table(cast(Select, parts[0]), "mask").table
    optional = Source(mask.table, optional=True, width=mask.width)
    absent = exp.Is(this=optional.column(DOCNO), expression=exp.Null())
    return Select((Source(compiler.layout.docs, every=True), optional), None, (absent,), 2)


def support(compiler: Compiler, _: Apply, parts: Sequence[Select | None]) -> Select:
    """The records without their scores."""
    return cast(Select, parts[0]).scored(None)


def fill(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """All records, with a number where there is no score."""
    known = compiler.table(cast(Select, parts[1]), "fill_argument")
    optional = Source(known.table.table, optional=True, width=known.table.width)
    score = exp.Coalesce(this=optional.column(), expressions=[compiler.number(node.arguments[0])])
    return Select((Source(compiler.layout.docs, every=True), optional), score, (), known.depth + 1)


def days_since(compiler: Compiler, node: Apply, parts: Sequence[Select | None]) -> Select:
    """A difference of days."""
    source = cast(Select, parts[0]).table
    day = compiler.parameter(Recipe("day", node.arguments[1]), "day")
    return Select.of(source).scored(exp.cast(arithmetic("-", day, source.column("day")), "DOUBLE"))


def _log1p(_: Dialect, s: exp.Expr) -> exp.Expr:
    # Few databases have log1p. ln(1 + s) · s / ((1 + s) − 1) is as exact as their ln (Goldberg 1991, theorem 4).
    one_more = arithmetic("+", real(1), s.copy())
    lost = exp.EQ(this=one_more, expression=real(1))
    difference = arithmetic("-", one_more.copy(), real(1))
    quotient = arithmetic("/", s.copy(), exp.Paren(this=difference))
    return choose(lost, s.copy(), arithmetic("*", exp.Ln(this=one_more.copy()), exp.Paren(this=quotient)))


def _age(dialect: Dialect, s: exp.Expr) -> exp.Expr:
    return call(dialect.largest, s, real(0))


def _sigmoid(_: Dialect, s: exp.Expr) -> exp.Expr:
    return arithmetic("/", real(1), exp.Paren(this=arithmetic("+", real(1), exp.Exp(this=negative(s)))))


def _decay(dialect: Dialect, s: exp.Expr, half_life: exp.Expr) -> exp.Expr:
    return call("power", real(2), exp.Neg(this=exp.Paren(this=arithmetic("/", _age(dialect, s), half_life))))


def _recip_decay(dialect: Dialect, s: exp.Expr, scale: exp.Expr) -> exp.Expr:
    share = arithmetic("/", _age(dialect, s), scale)
    return arithmetic("/", real(1), exp.Paren(this=arithmetic("+", real(1), share)))


def _clip(dialect: Dialect, s: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return call(dialect.smallest, call(dialect.largest, s, low), high)


POINTWISE: Mapping[str, Callable[..., exp.Expr]] = {
    "neg": lambda _, s: negative(s),
    "abs": lambda _, s: exp.Abs(this=s),
    "exp": lambda _, s: exp.Exp(this=s),
    "sigmoid": _sigmoid,
    "log1p": _log1p,
    "decay": _decay,
    "recip_decay": _recip_decay,
    "clip": _clip,
}

#: A rule takes the compiler, a node and its arguments' selects, and gives the node's.
JOINS: Mapping[str, Callable[[Compiler, Apply, Sequence[Select | None]], Select]] = {
    "@": scan,
    "closeness": scan,
    **dict.fromkeys(("+", "-", "*", "/"), combined),
    **dict.fromkeys(POINTWISE, pointwise),
    **dict.fromkeys(COMPARISONS, comparison),
    "isin": members,
    "ids": listed,
    ">>": restrict,
    "&": both,
    "|": either,
    "~": others,
    "support": support,
    "fill": fill,
    "days_since": days_since,
}
