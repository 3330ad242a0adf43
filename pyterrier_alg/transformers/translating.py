"""The stages of each operator of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import pyterrier as pt

from pyterrier_alg.algebra.expressions import Apply, Count, Number, Text
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.transformers import combining, leaves, masks, rescaling, scores, selecting, sets
from pyterrier_alg.transformers.parts import Part

if TYPE_CHECKING:
    from pyterrier_alg.transformers.compiling import Compiler


#: How an operator of the table becomes stages, from its application; its relations and masks are compiled already.
_Stage: TypeAlias = "Callable[[Compiler, Apply], Part]"


def _then(make: Callable[[], pt.Transformer]) -> _Stage:
    return lambda c, node: c.parts[node.arguments[0]].then(make())


def _then_with(make: Callable[[float], pt.Transformer]) -> _Stage:
    return lambda c, node: c.parts[node.arguments[0]].then(make(c.number(node.arguments[1])))


def _scan(make: Callable[..., pt.Transformer]) -> _Stage:
    return lambda c, node: Part((make(c.collection, c.operand(node.arguments[0]), c.value(node.arguments[1])),))


def _compare(c: Compiler, node: Apply) -> Part:
    x, than = node.arguments
    column = c.column(x)
    value = c.text(than) if c.kind(than) is Kind.TEXT else c.number(than)
    return c.values(x).then(masks.Compare(node.operator, value, column=column))


def _per(c: Compiler, node: Apply) -> Part:
    n, group, scored = node.arguments
    column = c.column(group)
    size = cast(Count, n).value
    return c.whole(lambda g, s: combining.Per(size, g, s, column=column), c.values(group), c.parts[scored])


def _fill(c: Compiler, node: Apply) -> Part:
    number = c.number(node.arguments[0])
    return c.whole(lambda s: combining.Fill(c.collection, number, s), c.parts[node.arguments[1]])


def _isin(c: Compiler, node: Apply) -> Part:
    x, *wanted = node.arguments
    literals = [w.value for w in wanted if isinstance(w, Number | Text)]
    return c.values(x).then(masks.IsIn(*literals, column=c.column(x)))


def _clip(c: Compiler, node: Apply) -> Part:
    lo, hi, s = node.arguments
    return c.parts[s].then(scores.Clip(c.number(lo), c.number(hi)))


def _rrf(c: Compiler, node: Apply) -> Part:
    k, depth = c.number(c.option(node, "k")), cast(Count, c.option(node, "depth")).value
    return c.whole(lambda *s: combining.Rrf(*s, k=k, depth=depth), *(c.parts[argument] for argument in node.arguments))


def _mmr(c: Compiler, node: Apply) -> Part:
    k, s, matrix = node.arguments
    share = c.number(c.option(node, "relevance"))
    return c.parts[s].then(selecting.Mmr(c.collection, c.operand(matrix), cast(Count, k).value, relevance=share))


STAGES: Mapping[str, _Stage] = {
    "@": _scan(leaves.Scan),
    "closeness": _scan(leaves.Closeness),
    "neg": _then(scores.Negate),
    "/": _then_with(scores.Divide),
    **dict.fromkeys((">=", ">", "<=", "<"), _compare),
    "~": lambda c, node: c.whole(lambda m: sets.Not(c.collection, m), c.parts[node.arguments[0]]),
    ">>": lambda c, node: c.whole(combining.Restrict, *(c.parts[argument] for argument in node.arguments)),
    "top": lambda c, node: c.parts[node.arguments[1]].then(selecting.Top(cast(Count, node.arguments[0]).value)),
    "per": _per,
    "fill": _fill,
    "support": lambda c, node: c.values(node.arguments[0]).then(masks.Support()),
    "ids": lambda c, node: Part((leaves.Ids(c.collection, *(cast(Text, a).value for a in node.arguments)),)),
    "isin": _isin,
    "minmax": _then(rescaling.MinMax),
    "maxnorm": _then(rescaling.MaxNorm),
    "zscore": _then(rescaling.ZScore),
    "softmax": _then(rescaling.Softmax),
    "ranks": _then(rescaling.Ranks),
    "sigmoid": _then(scores.Sigmoid),
    "log1p": _then(scores.Log1p),
    "exp": _then(scores.Exp),
    "abs": _then(scores.Abs),
    "clip": _clip,
    "rrf": _rrf,
    "mmr": _mmr,
    "decay": _then_with(scores.Decay),
    "recip_decay": _then_with(scores.RecipDecay),
    "days_since": lambda c, node: c.values(node.arguments[0]).then(masks.DaysSince(c.text(node.arguments[1]))),
}

#: Operators that combine any number of transformers from the left.
JOINING: Mapping[str, Callable[..., pt.Transformer]] = {
    "+": combining.Plus,
    "-": combining.Minus,
    "*": combining.Times,
    "&": sets.And,
    "|": sets.Or,
}

#: What gives vectors only; leaves compute these.
VECTORS = ("row", "encode", "centroid", "unit")


def with_number(operator: str, c: float) -> pt.Transformer:
    """S + c, S − c or S · c."""
    return scores.Scale(c) if operator == "*" else scores.Shift(c if operator == "+" else -c)


def from_number(operator: str, c: float) -> pt.Transformer:
    """C + S, c − S or c · S."""
    return scores.SubtractFrom(c) if operator == "-" else with_number(operator, c)
