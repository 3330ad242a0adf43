"""From formulas to PyTerrier pipelines, and the engine that runs them.

A step of the formula becomes a step of the pipeline, computed once. So does what is written more than once, and what is
nested so deeply that running it would exhaust Python's stack.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.checking import Checked, check
from pyterrier_alg.algebra.errors import AlgebraError, EvaluationError, ProgramError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Kind, Type
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.algebra.reading import read_expression
from pyterrier_alg.collection.operands import Scope, TextOperand, VectorOperand
from pyterrier_alg.engines.definition import outermost_selection
from pyterrier_alg.engines.demand import demand, fault, shown
from pyterrier_alg.engines.engine import RETRIEVE, Engine
from pyterrier_alg.relation import GapCheck, ScoredRelation
from pyterrier_alg.transformers import combining, leaves, masks, rescaling, scores, selecting
from pyterrier_alg.transformers.sources import OneScope, Source, columns_needed
from pyterrier_alg.transformers.steps import Forget, Recall, Remember

#: How many operators may stand inside each other before the inner ones become a step.
DEEPEST = 25

_RESULTS = (Kind.RELATION, Kind.MASK)
_COLUMNS = (Kind.TEXT_COLUMN, Kind.DATE_COLUMN)
_CHAINS = ({"+", "-"}, {"*"}, {"&"}, {"|"})


@dataclass(frozen=True)
class _Part:
    """A piece of pipeline: stages in order, and how many operators stand inside each other in it."""

    stages: tuple[pt.Transformer, ...]
    depth: int = 0

    def then(self, stage: pt.Transformer) -> _Part:
        return _Part((*self.stages, stage), self.depth)

    @property
    def transformer(self) -> pt.Transformer:
        return self.stages[0] if len(self.stages) == 1 else pt.Compose(*self.stages)


def compile_formula(formula: Formula, collection: Source) -> pt.Transformer:
    """A pipeline of transformers that computes what a formula means.

    Args:
        formula: what to compute.
        collection: has its operands.

    Returns:
        From a topics frame to a results frame. It can be drawn, taken apart and put into other pipelines. Over results
        every leaf looks at the records that came in only.

    Raises:
        ProgramError: everything that can be found wrong before running, at once.

    Example:
        >>> compile_formula(parse("top(10, m >> (E @ q1 - 0.5 * (E @ q2)))"), vaswani)  # doctest: +SKIP
        (Restrict(BoundMask(vaswani, 'm'), Minus(Scan(…), (Scan(…) >> Scale(0.5)))) >> Top(10))
    """
    return _Compiler(formula, collection).pipeline()


def compile_mask(expression: Expression, collection: Source) -> pt.Transformer:
    """A pipeline that computes a mask.

    Args:
        expression: of kind mask.
        collection: has its operands.

    Returns:
        From a topics or a results frame to a frame of eligible records.

    Raises:
        ProgramError: as `compile_formula`.
    """
    # Read again, so that places in messages are places in the text that they show.
    text = repr(expression)
    mask = read_expression(text)
    bindings = dict(_bindings(collection, [mask]))
    scored = _fresh("S", bindings)
    bindings[scored] = Binding(Type(Kind.RELATION))
    checked = check(Formula((), Apply(">>", (mask, Name(scored))), text), bindings)
    return _Compiler(Formula((), mask, text), collection, checked).pipeline()


class PipelineEngine(Engine):
    """Runs a formula as a pipeline of PyTerrier transformers, over frames; certified.

    Slower than arrays, and independent of them: it shares the exact sums with the other engines, and no operator.
    """

    name = "pipeline"

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """What there is a stage for."""
        return frozenset({*_STAGES, *_JOINING, *_VECTORS, RETRIEVE})

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
            frame = _Compiler(formula, OneScope(scope), placed=True).pipeline().transform(pd.DataFrame(topic))
        except EvaluationError as error:
            # A leaf knows its own expression only; the places in it are the formula's.
            raise EvaluationError(error.diagnostics, source) from None
        return frame["docno"].tolist(), frame["score"].to_numpy()


class _Placed(pt.Transformer):
    """A stage that says where in the program it stands, when something goes wrong in it."""

    def __init__(self, stage: pt.Transformer, node: Expression, formula: Formula) -> None:
        self.stage, self.node, self.formula = stage, node, formula

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        try:
            found: pd.DataFrame = self.stage.transform(inp)
            return found
        except ProgramError:
            raise
        except AlgebraError as error:
            raise fault(
                error.code, f"{shown(self.node)}: {error.message}", self.node, self.formula, error.hint
            ) from error


class _Compiler:
    """Compiles each distinct relation and mask of one formula once, parts before wholes."""

    def __init__(
        self, formula: Formula, collection: Source, checked: Checked | None = None, *, placed: bool = False
    ) -> None:
        self.formula, self.collection, self.placed = formula, collection, placed
        self.bindings = _bindings(collection, formula.expressions)
        self.checked = checked or check(formula, self.bindings)
        self.steps = dict(formula.steps)
        self.parts: dict[Expression, _Part] = {}
        self.plain: dict[Expression, Expression] = {}
        self.remembered: list[Remember] = []
        self.names: dict[Expression, str] = {}
        self.numbers = itertools.count(1)
        self.uses = _uses(formula)
        for node in walk(*formula.expressions):
            if _is_centroid(node) and not isinstance(node.parts[1], Name):
                self.name(node.parts[1])

    def pipeline(self) -> pt.Transformer:
        result = self.part(self.formula.result)
        if not self.remembered:
            return result.transformer
        return pt.Compose(*self.remembered, *result.stages, Forget())

    def kind(self, node: Expression) -> Kind | None:
        """The kind of an expression; None for a count."""
        found = self.checked.types.get(node)
        return found.kind if found else None

    def part(self, node: Expression) -> _Part:
        """The pipeline of a relation or mask."""
        return demand(node, self.needs, self.visit, self.parts)

    def needs(self, node: Expression) -> Iterable[Expression]:
        if isinstance(node, Name):
            return [self.steps[node.name]] if node.name in self.steps else []
        if (chain := self.chain(node)) is not None:
            return [term for term in (chain[0], *(term for _, term in chain[1])) if self.kind(term) in _RESULTS]
        below = [part for part in node.parts if self.kind(part) in _RESULTS]
        vectors = [part for part in node.parts if self.kind(part) is Kind.VECTOR]
        return [*below, *(mask for vector in vectors for mask in self.masks(vector))]

    def visit(self, node: Expression) -> _Part:
        kind = self.kind(node)
        if isinstance(node, Name):
            if node.name in self.steps:
                return self.remember(node.name, self.parts[self.steps[node.name]], kind)
            leaf = leaves.Bound if kind is Kind.RELATION else leaves.BoundMask
            return _Part((leaf(self.collection, node.name),))
        if isinstance(node, Retrieve):
            retriever = cast(Name, self.value(Name(node.retriever))).name
            depth = cast(Count, node.arguments[1]).value if len(node.arguments) > 1 else None
            text = self.value(node.arguments[0])
            part = _Part((leaves.Retrieve(self.collection, retriever, text, depth=depth),))
        else:
            operator = cast(Apply, node)
            chain = self.chain(node)
            part = self.chained(*chain) if chain is not None else _STAGES[operator.operator](self, operator)
        return self.settled(node, self.at(node, part) if self.placed else part)

    def at(self, node: Expression, part: _Part) -> _Part:
        """The part, whose new stages, at its end, say that they stand here."""
        known = len(part.stages)
        while known and not isinstance(part.stages[known - 1], _Placed):
            known -= 1
        placed = (_Placed(stage, node, self.formula) for stage in part.stages[known:])
        return _Part((*part.stages[:known], *placed), part.depth)

    def settled(self, node: Expression, part: _Part) -> _Part:
        """The part, or a recollection of it where it is used again, is deep, or is named in a vector."""
        if node in self.names or self.uses[node] > 1 or part.depth >= DEEPEST:
            return self.remember(self.name(node), part, self.kind(node))
        return part

    def remember(self, name: str, part: _Part, kind: Kind | None) -> _Part:
        self.remembered.append(Remember(name, part.transformer))
        return _Part((Recall(name, scored=kind is Kind.RELATION),))

    def name(self, node: Expression) -> str:
        """A name for what the formula gives none, which nothing else has."""
        if node not in self.names:
            self.names[node] = self.fresh()
        return self.names[node]

    def fresh(self) -> str:
        return _fresh(f"part {next(self.numbers)}", self.bindings.keys() | self.steps.keys())

    def chain(self, node: Expression) -> tuple[Expression, list[tuple[str, Expression]]] | None:
        """A left-deep chain of one sort of operator as its first term and the others, each with its operator."""
        group = next((g for g in _CHAINS if isinstance(node, Apply) and node.operator in g), None)
        if group is None or self.kind(node) not in _RESULTS:
            return None
        terms: list[tuple[str, Expression]] = []
        inner = node
        while isinstance(inner, Apply) and inner.operator in group and self.kind(inner) in _RESULTS:
            if inner is not node and (self.uses[inner] > 1 or inner in self.names):
                break
            terms.append((inner.operator, inner.arguments[1]))
            inner = inner.arguments[0]
        return inner, terms[::-1]

    def chained(self, first: Expression, others: Sequence[tuple[str, Expression]]) -> _Part:
        group: list[tuple[str, _Part]] = []
        leading = None if self.kind(first) in _RESULTS else self.number(first)
        if leading is None:
            group.append(("", self.parts[first]))
        for operator, term in others:
            if self.kind(term) in _RESULTS:
                part = self.parts[term]
                if leading is not None:
                    part, operator, leading = part.then(_from_number(operator, leading)), "", None
                group.append((operator, part))
            else:
                group = [("", self.joined(group).then(_with_number(operator, self.number(term))))]
        return self.joined(group)

    def joined(self, group: Sequence[tuple[str, _Part]]) -> _Part:
        """Operands of one operator, or of + and −, as one stage that combines them from the left."""
        if len(group) == 1:
            return group[0][1]
        operators = {operator for operator, _ in group[1:]}
        parts = [part for _, part in group]
        if operators == {"+", "-"}:
            # a − b is a + (−b), bit for bit.
            parts = [part.then(scores.Negate()) if operator == "-" else part for operator, part in group]
            operators = {"+"}
        whole = self.whole(_JOINING[operators.pop()], *parts)
        # A number between terms ends a group, so that a chain of these nests.
        return self.remember(self.fresh(), whole, Kind.RELATION) if whole.depth >= DEEPEST else whole

    def whole(self, make: Callable[..., pt.Transformer], *parts: _Part) -> _Part:
        """An operator over parts."""
        return _Part((make(*(part.transformer for part in parts)),), 1 + max(part.depth for part in parts))

    def number(self, node: Expression) -> float:
        if isinstance(node, Count):
            return float(node.digits)
        # A default stands in the table, not in the formula.
        return node.value if isinstance(node, Number) else self.checked.numbers[node]

    def option(self, node: Apply, name: str) -> Expression:
        """What is given by this name, or its default."""
        defaults = {option.name: option.default for option in OPERATORS[node.operator].options}
        return dict(node.options).get(name, defaults[name])

    def values(self, node: Expression) -> _Part:
        """What is compared or grouped by: a relation, or a column's values."""
        if self.kind(node) in _COLUMNS:
            return _Part((leaves.Field(self.collection, self.operand(node)),))
        return self.parts[node]

    def text(self, node: Expression) -> str:
        """A text that is known before running: a literal, or a bound one."""
        value = self.value(node)
        return value.value if isinstance(value, Text) else str(self.bindings[cast(Name, value).name].value)

    def column(self, node: Expression) -> str:
        return leaves.VALUE if self.kind(node) in _COLUMNS else "score"

    def operand(self, node: Expression) -> str:
        """The operand that a matrix or column expression names, maybe through steps."""
        return cast(Name, self.value(node)).name

    def value(self, node: Expression) -> Expression:
        """An expression that is no relation or mask, with the steps that it names written out."""
        return demand(node, self.plain_needs, self.plain_visit, self.plain)

    def plain_needs(self, node: Expression) -> Sequence[Expression]:
        if isinstance(node, Name):
            return [self.steps[node.name]] if node.name in self.steps else []
        return node.parts[:1] if isinstance(node, Apply) and node.operator == "centroid" else node.parts

    def plain_visit(self, node: Expression) -> Expression:
        if isinstance(node, Name):
            return self.plain[self.steps[node.name]] if node.name in self.steps else node
        if not isinstance(node, Apply):
            return node
        if node.operator == "centroid":
            mask = node.arguments[1]
            mask = mask if isinstance(mask, Name) else Name(self.name(mask))
            return Apply(node.operator, (self.plain[node.arguments[0]], mask), span=node.span)
        arguments = tuple(self.plain[argument] for argument in node.arguments)
        return node if arguments == node.arguments else Apply(node.operator, arguments, node.options, span=node.span)

    def masks(self, vector: Expression) -> list[Expression]:
        """The masks that a vector depends on."""
        found: dict[Expression, None] = {}
        stack, seen = [vector], {vector}
        while stack:
            node = stack.pop()
            if _is_centroid(node):
                found[node.parts[1]] = None
            new = [other for other in self.plain_needs(node) if other not in seen]
            seen.update(new)
            stack += new
        return list(found)


#: How an operator of the table becomes stages, from its application; its relations and masks are compiled already.
_Stage: TypeAlias = Callable[[_Compiler, Apply], _Part]


def _then(make: Callable[[], pt.Transformer]) -> _Stage:
    return lambda c, node: c.parts[node.arguments[0]].then(make())


def _then_with(make: Callable[[float], pt.Transformer]) -> _Stage:
    return lambda c, node: c.parts[node.arguments[0]].then(make(c.number(node.arguments[1])))


def _scan(make: Callable[..., pt.Transformer]) -> _Stage:
    return lambda c, node: _Part((make(c.collection, c.operand(node.arguments[0]), c.value(node.arguments[1])),))


def _compare(c: _Compiler, node: Apply) -> _Part:
    x, than = node.arguments
    column = c.column(x)
    value = c.text(than) if c.kind(than) is Kind.TEXT else c.number(than)
    return c.values(x).then(masks.Compare(node.operator, value, column=column))


def _per(c: _Compiler, node: Apply) -> _Part:
    n, group, scored = node.arguments
    column = c.column(group)
    size = cast(Count, n).value
    return c.whole(lambda g, s: combining.Per(size, g, s, column=column), c.values(group), c.parts[scored])


def _fill(c: _Compiler, node: Apply) -> _Part:
    number = c.number(node.arguments[0])
    return c.whole(lambda s: combining.Fill(c.collection, number, s), c.parts[node.arguments[1]])


def _isin(c: _Compiler, node: Apply) -> _Part:
    x, *wanted = node.arguments
    literals = [w.value for w in wanted if isinstance(w, Number | Text)]
    return c.values(x).then(masks.IsIn(*literals, column=c.column(x)))


def _clip(c: _Compiler, node: Apply) -> _Part:
    lo, hi, s = node.arguments
    return c.parts[s].then(scores.Clip(c.number(lo), c.number(hi)))


def _rrf(c: _Compiler, node: Apply) -> _Part:
    k, depth = c.number(c.option(node, "k")), cast(Count, c.option(node, "depth")).value
    return c.whole(lambda *s: combining.Rrf(*s, k=k, depth=depth), *(c.parts[argument] for argument in node.arguments))


def _mmr(c: _Compiler, node: Apply) -> _Part:
    k, s, matrix = node.arguments
    share = c.number(c.option(node, "relevance"))
    return c.parts[s].then(selecting.Mmr(c.collection, c.operand(matrix), cast(Count, k).value, relevance=share))


_STAGES: Mapping[str, _Stage] = {
    "@": _scan(leaves.Scan),
    "closeness": _scan(leaves.Closeness),
    "neg": _then(scores.Negate),
    "/": _then_with(scores.Divide),
    **dict.fromkeys((">=", ">", "<=", "<"), _compare),
    "~": lambda c, node: c.whole(lambda m: combining.Not(c.collection, m), c.parts[node.arguments[0]]),
    ">>": lambda c, node: c.whole(combining.Restrict, *(c.parts[argument] for argument in node.arguments)),
    "top": lambda c, node: c.parts[node.arguments[1]].then(selecting.Top(cast(Count, node.arguments[0]).value)),
    "per": _per,
    "fill": _fill,
    "support": lambda c, node: c.values(node.arguments[0]).then(masks.Support()),
    "ids": lambda c, node: _Part((leaves.Ids(c.collection, *(cast(Text, a).value for a in node.arguments)),)),
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
_JOINING: Mapping[str, Callable[..., pt.Transformer]] = {
    "+": combining.Plus,
    "-": combining.Minus,
    "*": combining.Times,
    "&": combining.And,
    "|": combining.Or,
}

#: What gives vectors only; leaves compute these.
_VECTORS = ("row", "encode", "centroid", "unit")


def _with_number(operator: str, c: float) -> pt.Transformer:
    """S + c, S − c or S · c."""
    return scores.Scale(c) if operator == "*" else scores.Shift(c if operator == "+" else -c)


def _from_number(operator: str, c: float) -> pt.Transformer:
    """C + S, c − S or c · S."""
    return scores.SubtractFrom(c) if operator == "-" else _with_number(operator, c)


def _is_centroid(node: Expression) -> bool:
    return isinstance(node, Apply) and node.operator == "centroid"


def _uses(formula: Formula) -> Counter[Expression]:
    """How often each distinct expression stands in a formula."""
    uses: Counter[Expression] = Counter(formula.expressions)
    seen: set[Expression] = set()
    for node in walk(*formula.expressions):
        if node not in seen:
            seen.add(node)
            uses.update(node.parts)
    return uses


def _bindings(collection: Source, expressions: Iterable[Expression]) -> Mapping[str, Binding]:
    return collection.bindings(["qid", "query", *columns_needed(*expressions)])


def _fresh(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "'"
    return name
