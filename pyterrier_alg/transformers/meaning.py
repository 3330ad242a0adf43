"""What pipelines of our stages mean in the notation, so that several of them can run as one program.

The reverse of compiling. A pipeline has a meaning only where its program gives the same frame, bit for bit and for
every input: a stage that adds or drops document columns has none, nor has one that looks at results that came in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyterrier as pt

from pyterrier_alg import notation as _notation
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number, Retrieve, Text, count, fold, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.operators import COMPARE, OPERATORS
from pyterrier_alg.algebra.restricting import fresh, with_parts
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.transformers import combining, keeping, leaves, masks, program, rescaling, scores, selecting, sets
from pyterrier_alg.transformers.where import Where

#: The functions of the notation, which come from a table that types know nothing of.
notation: Any = _notation

#: The engine whose results are those of the stages, bit for bit.
_ENGINE = "vectorised"


@dataclass(frozen=True)
class Meaning:
    """What a pipeline means.

    Attributes:
        collection: has the operands.
        expression: its result.
        kind: relation, mask, or a column.
        steps: named, before the result; it may use them.
    """

    collection: Collection
    expression: Expression
    kind: Kind = Kind.RELATION
    steps: tuple[tuple[str, Expression], ...] = ()

    @property
    def records(self) -> Expression:
        """The records that it gives, as a mask."""
        return self.expression if self.kind is Kind.MASK else Apply("support", (self.expression,))


def as_program(stage: pt.Transformer) -> program.Program | None:
    """The program that gives what a pipeline gives, where there is one.

    Args:
        stage: a stage, or a composition.

    Returns:
        A program for the vectorised engine; None for what is no relation of one collection's operands.

    Example:
        >>> from pyterrier_alg import vaswani
        >>> as_program(Minus(Scan(vaswani(), "E", "q1"), Scan(vaswani(), "E", "q2") >> Scale(0.5)))
        Program('E @ q1 - 0.5 * (E @ q2)', vaswani)
    """
    found = meaning(stage)
    if found is None or found.kind is not Kind.RELATION:
        return None
    try:
        return program.Program(Formula(found.steps, found.expression), found.collection)
    except AlgebraError:
        # What is wrong with it is said by the stages themselves, where it stands.
        return None


def meaning(stage: pt.Transformer) -> Meaning | None:
    """What a pipeline means, where it has a meaning."""
    if isinstance(stage, program.Program):
        if stage.engine != _ENGINE:
            return None
        return Meaning(stage.collection, stage.formula.result, steps=stage.formula.steps)
    if isinstance(stage, pt.Compose):
        return _composed(list(stage))
    if (leaf := _LEAVES.get(type(stage))) is not None:
        kind, express = leaf
        collection: Any = getattr(stage, "collection", None)
        return Meaning(collection, express(stage), kind) if isinstance(collection, Collection) else None
    if (operator := _OPERATORS.get(type(stage))) is not None:
        return _combined(stage, operator)
    return None


def _composed(stages: Sequence[pt.Transformer]) -> Meaning | None:
    found = meaning(stages[0]) if stages else None
    for stage in stages[1:]:
        if found is None:
            return None
        if isinstance(stage, keeping.Keep):
            found = _kept(found, stage)
        elif isinstance(stage, masks.Support) and found.kind is Kind.RELATION:
            found = Meaning(found.collection, found.records, Kind.MASK, found.steps)
        elif (look := _LOOKS.get(type(stage))) is not None and found.kind in _looked_at(stage):
            found = Meaning(found.collection, look(stage, found.expression), Kind.MASK, found.steps)
        elif (then := _THEN.get(type(stage))) is not None and found.kind is Kind.RELATION:
            foreign = isinstance(stage, selecting.Mmr) and stage.collection != found.collection
            expression = None if foreign else then(stage, found.expression)
            found = None if expression is None else Meaning(found.collection, expression, steps=found.steps)
        else:
            return None
    return found


def _looked_at(stage: Any) -> tuple[Kind, ...]:
    """What a comparison of that column looks at."""
    if stage.column == leaves.VALUE:
        return (Kind.TEXT_COLUMN, Kind.DATE_COLUMN)
    return (Kind.RELATION,) if stage.column == "score" else ()


def _kept(found: Meaning, stage: keeping.Keep) -> Meaning | None:
    """A filter after retrieval is a mask, if whether it lets a record through hangs on that record alone."""
    mask = meaning(stage.eligible)
    if mask is None or found.kind is not Kind.RELATION:
        return None
    if not _is_local([mask.expression, *(expression for _, expression in mask.steps)]):
        return None
    joined = _join([found, mask])
    if joined is None:
        return None
    steps, (scored, eligible) = joined
    return Meaning(found.collection, eligible.records >> scored.expression, steps=steps)


def _is_local(expressions: Sequence[Expression]) -> bool:
    """Whether a mask's say on a record hangs on that record alone, and can fail at no other, and for no query."""
    for node in walk(*expressions):
        if isinstance(node, Retrieve) or (isinstance(node, Name) and node.name == "input"):
            return False
        if isinstance(node, Apply):
            looks = OPERATORS[node.operator].precedence == COMPARE
            if not looks and node.operator not in _LOCAL:
                return False
    return True


#: The operators of such masks, beside comparisons.
_LOCAL = frozenset({"&", "|", "~", "isin", "support", "neg", "abs", "clip"})


def _combined(stage: Any, operator: Callable[..., Expression | None]) -> Meaning | None:
    if hasattr(stage, "collection") and not isinstance(stage.collection, Collection):
        return None
    below = [meaning(operand) for operand in stage.operands]
    known = [found for found in below if found is not None]
    joined = _join(known) if len(known) == len(below) else None
    if joined is None or any(stage.collection != m.collection for m in known if hasattr(stage, "collection")):
        return None
    steps, operands = joined
    expression = operator(stage, *operands)
    if expression is None:
        return None
    kind = Kind.MASK if isinstance(stage, sets.And | sets.Or | sets.Not) else Kind.RELATION
    return Meaning(known[0].collection, expression, kind, steps)


def _join(meanings: Sequence[Meaning]) -> tuple[tuple[tuple[str, Expression], ...], list[Meaning]] | None:
    """The steps of all of them, and each with the names that they have now; None where they share no collection."""
    first = meanings[0].collection
    steps: dict[str, Expression] = {}
    taken = {*first.operands, *(name for found in meanings for name, _ in found.steps)}
    renamed: list[Meaning] = []
    for found in meanings:
        if found.collection != first:
            return None
        names: dict[str, str] = {}
        for name, expression in found.steps:
            value = _rename(expression, names)
            if steps.get(name, value) != value:
                names[name] = fresh(name, taken)
                taken.add(names[name])
            steps[names.get(name, name)] = value
        renamed.append(Meaning(first, _rename(found.expression, names), found.kind))
    return tuple(steps.items()), renamed


def _rename(expression: Expression, names: Mapping[str, str]) -> Expression:
    def visit(node: Expression, below: Sequence[Expression]) -> Expression:
        if isinstance(node, Name):
            return Name(names[node.name]) if node.name in names else node
        if isinstance(node, Retrieve) and node.retriever in names:
            node = Retrieve(names[node.retriever], node.arguments, node.options)
        return with_parts(node, below)

    return fold(expression, visit) if names else expression


def _relations(*operands: Meaning) -> list[Expression] | None:
    """The operands' expressions, if all of them give scores."""
    return [m.expression for m in operands] if all(m.kind is Kind.RELATION for m in operands) else None


def _from_left(key: str) -> Callable[..., Expression | None]:
    def join(stage: Any, *operands: Meaning) -> Expression | None:
        terms = _relations(*operands)
        return _chain(key, terms) if terms is not None else None

    return join


def _chain(key: str, terms: Sequence[Expression]) -> Expression:
    found = terms[0]
    for term in terms[1:]:
        found = Apply(key, (found, term))
    return found


def _sets(key: str) -> Callable[..., Expression | None]:
    return lambda stage, *operands: _chain(key, [m.records for m in operands])


def _restrict(stage: Any, eligible: Meaning, scored: Meaning) -> Expression | None:
    return eligible.records >> scored.expression if scored.kind is Kind.RELATION else None


def _per(stage: combining.Per, groups: Meaning, scored: Meaning) -> Expression | None:
    if scored.kind is not Kind.RELATION or groups.kind not in _looked_at(stage):
        return None
    return Apply("per", (count(stage.n), groups.expression, scored.expression))


def _rrf(stage: combining.Rrf, *operands: Meaning) -> Expression | None:
    terms = _relations(*operands)
    if terms is None or not float(stage.k).is_integer():
        return None
    found: Expression = notation.rrf(*terms, k=int(stage.k), depth=stage.depth)
    return found


def _fill(stage: combining.Fill, scored: Meaning) -> Expression | None:
    return Apply("fill", (Number(stage.c), scored.expression)) if scored.kind is Kind.RELATION else None


def _retrieved(stage: Any) -> Expression:
    return Retrieve(stage.retriever, (stage.text,) if stage.depth is None else (stage.text, count(stage.depth)))


def _isin(stage: masks.IsIn, looked_at: Expression) -> Expression:
    return Apply("isin", (looked_at, *(Text(v) if isinstance(v, str) else Number(v) for v in stage.values)))


def _compare(stage: masks.Compare, looked_at: Expression) -> Expression:
    than = Text(stage.than) if isinstance(stage.than, str) else Number(stage.than)
    return Apply(stage.comparison, (looked_at, than))


#: Leaves: the kind of what they give, and how it is written.
_LEAVES: Mapping[type, tuple[Kind, Callable[[Any], Expression]]] = {
    leaves.Scan: (Kind.RELATION, lambda t: Name(t.matrix) @ t.vector),
    leaves.Closeness: (Kind.RELATION, lambda t: notation.closeness(Name(t.matrix), t.vector)),
    leaves.Bound: (Kind.RELATION, lambda t: Name(t.relation)),
    leaves.Retrieve: (Kind.RELATION, _retrieved),
    leaves.BoundMask: (Kind.MASK, lambda t: Name(t.mask)),
    leaves.Ids: (Kind.MASK, lambda t: notation.ids(*t.docnos)),
    leaves.Field: (Kind.TEXT_COLUMN, lambda t: Name(t.column)),
    Where: (Kind.MASK, lambda t: t.mask),
}

#: Stages that give other scores, or fewer records.
_THEN: Mapping[type, Callable[[Any, Expression], Expression | None]] = {
    scores.Scale: lambda t, s: t.c * s,
    scores.Divide: lambda t, s: s / t.c,
    scores.Shift: lambda t, s: s + t.c,
    scores.SubtractFrom: lambda t, s: t.c - s,
    scores.Negate: lambda t, s: -s,
    scores.Abs: lambda t, s: notation.abs(s),
    scores.Clip: lambda t, s: notation.clip(t.lo, t.hi, s),
    scores.Exp: lambda t, s: notation.exp(s),
    scores.Log1p: lambda t, s: notation.log1p(s),
    scores.Sigmoid: lambda t, s: notation.sigmoid(s),
    scores.Decay: lambda t, s: notation.decay(s, t.half_life),
    scores.RecipDecay: lambda t, s: notation.recip_decay(s, t.scale),
    rescaling.MinMax: lambda t, s: notation.minmax(s),
    rescaling.MaxNorm: lambda t, s: notation.maxnorm(s),
    rescaling.ZScore: lambda t, s: notation.zscore(s),
    rescaling.Softmax: lambda t, s: notation.softmax(s),
    rescaling.Ranks: lambda t, s: notation.ranks(s),
    selecting.Top: lambda t, s: notation.top(t.k, s),
    selecting.Mmr: lambda t, s: notation.mmr(t.k, s, Name(t.matrix), relevance=t.relevance),
}

#: Stages that look at a score, or at the value of a column.
_LOOKS: Mapping[type, Callable[[Any, Expression], Expression]] = {masks.Compare: _compare, masks.IsIn: _isin}

#: Operators over transformers.
_OPERATORS: Mapping[type, Callable[..., Expression | None]] = {
    combining.Plus: _from_left("+"),
    combining.Minus: _from_left("-"),
    combining.Times: _from_left("*"),
    combining.Restrict: _restrict,
    combining.Per: _per,
    combining.Fill: _fill,
    combining.Rrf: _rrf,
    sets.And: _sets("&"),
    sets.Or: _sets("|"),
    sets.Not: lambda stage, eligible: ~eligible.records,
}
