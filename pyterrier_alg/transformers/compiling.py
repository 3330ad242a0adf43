"""From formulas to PyTerrier pipelines.

A step of the formula becomes a step of the pipeline, computed once. So does what is written more than once, and what is
nested so deeply that running it would exhaust Python's stack.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import pyterrier as pt

from pyterrier_alg.algebra.checking import Checked, check
from pyterrier_alg.algebra.errors import Diagnostic, UnsupportedError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Kind, Type
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.algebra.reading import as_formula, read_expression
from pyterrier_alg.algebra.restricting import fresh
from pyterrier_alg.engines.demand import demand
from pyterrier_alg.transformers import leaves, scores
from pyterrier_alg.transformers.parts import Part, Placed
from pyterrier_alg.transformers.plain import Plain, is_centroid
from pyterrier_alg.transformers.sources import Source, columns_needed
from pyterrier_alg.transformers.steps import Forget, Recall, Remember
from pyterrier_alg.transformers.translating import JOINING, STAGES, from_number, with_number

#: How many operators may stand inside each other before the inner ones become a step.
DEEPEST = 25

#: Follows the names of what a pipeline remembers of the whole collection.
_EVERYWHERE = " of all records"

_RESULTS = (Kind.RELATION, Kind.MASK)
_COLUMNS = (Kind.TEXT_COLUMN, Kind.DATE_COLUMN)
_CHAINS = ({"+", "-"}, {"*"}, {"&"}, {"|"})


def compile_formula(formula: Formula | Expression | str, collection: Source) -> pt.Transformer:
    """A pipeline of transformers that computes what a formula means.

    Args:
        formula: what to compute; text is read first.
        collection: has its operands.

    Returns:
        From a topics frame to a results frame. It can be drawn, taken apart and put into other pipelines. Over results
        every leaf looks at the records that came in only, and vectors at the whole collection, as in a `Program`.

    Raises:
        ProgramError: everything that can be found wrong before running, at once.

    Example:
        >>> compile_formula(parse("top(10, m >> (E @ q1 - 0.5 * (E @ q2)))"), vaswani)  # doctest: +SKIP
        (Restrict(BoundMask(vaswani, 'm'), Minus(Scan(…), (Scan(…) >> Scale(0.5)))) >> Top(10))
    """
    return Compiler(as_formula(formula), collection).pipeline()


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
    scored = fresh("S", bindings)
    bindings[scored] = Binding(Type(Kind.RELATION))
    checked = check(Formula((), Apply(">>", (mask, Name(scored))), text), bindings)
    return Compiler(Formula((), mask, text), collection, checked).pipeline()


class Compiler:
    """Compiles each distinct relation and mask of one formula once, parts before wholes."""

    def __init__(
        self,
        formula: Formula,
        collection: Source,
        checked: Checked | None = None,
        *,
        placed: bool = False,
        everywhere: bool = False,
    ) -> None:
        """Begin with nothing compiled.

        Args:
            formula: what is compiled.
            collection: has its operands.
            checked: what is known of it; it is checked where this is None.
            placed: whether stages say where in the formula they stand when something goes wrong in them.
            everywhere: whether it sees the whole collection, also where results come in: so do the masks of vectors.
        """
        self.formula, self.placed, self.everywhere = formula, placed, everywhere
        self.collection: Source = collection
        self.bindings = _bindings(collection, formula.expressions)
        self.checked = checked or check(formula, self.bindings)
        self.steps = dict(formula.steps)
        self.plain = Plain(self.steps, self.mask_name)
        self.parts: dict[Expression, Part] = {}
        self.remembered: list[Remember] = []
        self.names: dict[Expression, str] = {}
        self.numbers = itertools.count(1)
        self.uses = _uses(formula)
        # What masks of vectors are made of is compiled apart.
        self.beyond: Compiler = self
        if not everywhere:
            self.beyond = Compiler(formula, collection, self.checked, placed=placed, everywhere=True)
            return
        for node in walk(*formula.expressions):
            if is_centroid(node) and not isinstance(node.parts[1], Name):
                self.name(node.parts[1])

    def pipeline(self) -> pt.Transformer:
        """The pipeline of the formula's result, after what it remembers."""
        result = self.part(self.formula.result)
        remembered = [*self.beyond.remembered, *self.remembered]
        if not remembered:
            return result.transformer
        return pt.Compose(*remembered, *result.stages, Forget())

    def kind(self, node: Expression) -> Kind | None:
        """The kind of an expression; None for a count."""
        found = self.checked.types.get(node)
        return found.kind if found else None

    def part(self, node: Expression) -> Part:
        """The pipeline of a relation or mask."""
        return demand(node, self.needs, self.visit, self.parts)

    def needs(self, node: Expression) -> Iterable[Expression]:
        """The relations and masks that must be compiled before this one."""
        if isinstance(node, Name):
            return [self.steps[node.name]] if node.name in self.steps else []
        if (chain := self.chain(node)) is not None:
            return [term for term in (chain[0], *(term for _, term in chain[1])) if self.kind(term) in _RESULTS]
        below = [part for part in node.parts if self.kind(part) in _RESULTS]
        return [*below, *self.vector_masks(node)] if self.everywhere else below

    def vector_masks(self, node: Expression) -> list[Expression]:
        """The masks that the vectors of a node are made of."""
        vectors = [part for part in node.parts if self.kind(part) is Kind.VECTOR]
        return [mask for vector in vectors for mask in self.plain.masks(vector)]

    def visit(self, node: Expression) -> Part:
        """The pipeline of a relation or mask whose needs are compiled."""
        kind = self.kind(node)
        for mask in [] if self.everywhere else self.vector_masks(node):
            self.beyond.part(mask)
        if isinstance(node, Name):
            if node.name in self.steps:
                return self.remember(self.step_name(node.name), self.parts[self.steps[node.name]], kind)
            leaf = leaves.Bound if kind is Kind.RELATION else leaves.BoundMask
            return Part((leaf(self.collection, node.name),))
        if isinstance(node, Retrieve):
            retriever = cast(Name, self.value(Name(node.retriever))).name
            depth = cast(Count, node.arguments[1]).value if len(node.arguments) > 1 else None
            text = self.value(node.arguments[0])
            part = Part((leaves.Retrieve(self.collection, retriever, text, depth=depth),))
        else:
            operator = cast(Apply, node)
            chain = self.chain(node)
            part = self.chained(*chain) if chain is not None else STAGES[operator.operator](self, operator)
        return self.settled(node, self.at(node, part) if self.placed else part)

    def at(self, node: Expression, part: Part) -> Part:
        """The part, whose new stages, at its end, say that they stand here."""
        known = len(part.stages)
        while known and not isinstance(part.stages[known - 1], Placed):
            known -= 1
        placed = (Placed(stage, node, self.formula) for stage in part.stages[known:])
        return Part((*part.stages[:known], *placed), part.depth)

    def settled(self, node: Expression, part: Part) -> Part:
        """The part, or a recollection of it where it is used again, is deep, or is named in a vector."""
        if node in self.names or self.uses[node] > 1 or part.depth >= DEEPEST:
            return self.remember(self.name(node), part, self.kind(node))
        return part

    def remember(self, name: str, part: Part, kind: Kind | None) -> Part:
        """Make a part a step of the pipeline; what recalls it."""
        self.remembered.append(Remember(name, part.transformer, everywhere=self.everywhere))
        return Part((Recall(name, scored=kind is Kind.RELATION),))

    def name(self, node: Expression) -> str:
        """A name for what the formula gives none, which nothing else has."""
        if node not in self.names:
            self.names[node] = self.fresh()
        return self.names[node]

    def fresh(self) -> str:
        """A name that no operand and no step has."""
        name = f"part {next(self.numbers)}{_EVERYWHERE if self.everywhere else ''}"
        return fresh(name, self.bindings.keys() | self.steps.keys())

    def step_name(self, step: str) -> str:
        """What the pipeline calls a step of the formula."""
        return fresh(step + _EVERYWHERE, self.bindings.keys() | self.steps.keys()) if self.everywhere else step

    def mask_name(self, mask: Expression) -> Expression:
        """The name of a vector's mask: an operand's, or what the pipeline remembers of the whole collection."""
        if isinstance(mask, Name):
            return Name(self.beyond.step_name(mask.name)) if mask.name in self.steps else mask
        return Name(self.beyond.name(mask))

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

    def chained(self, first: Expression, others: Sequence[tuple[str, Expression]]) -> Part:
        """The pipeline of a chain: relations that follow each other in one stage, numbers in stages of their own."""
        group: list[tuple[str, Part]] = []
        leading = None if self.kind(first) in _RESULTS else self.number(first)
        if leading is None:
            group.append(("", self.parts[first]))
        for operator, term in others:
            if self.kind(term) in _RESULTS:
                part = self.parts[term]
                if leading is not None:
                    part, operator, leading = part.then(from_number(operator, leading)), "", None
                group.append((operator, part))
            else:
                # A number between terms ends a group, so that a chain of these nests.
                before = self.joined(group)
                if before.depth >= DEEPEST:
                    before = self.remember(self.fresh(), before, Kind.RELATION)
                group = [("", before.then(with_number(operator, self.number(term))))]
        return self.joined(group)

    def joined(self, group: Sequence[tuple[str, Part]]) -> Part:
        """Operands of one operator, or of + and −, as one stage that combines them from the left."""
        if len(group) == 1:
            return group[0][1]
        operators = {operator for operator, _ in group[1:]}
        parts = [part for _, part in group]
        if operators == {"+", "-"}:
            # a − b is a + (−b), bit for bit.
            parts = [part.then(scores.Negate()) if operator == "-" else part for operator, part in group]
            operators = {"+"}
        return self.whole(JOINING[operators.pop()], *parts)

    def whole(self, make: Callable[..., pt.Transformer], *parts: Part) -> Part:
        """An operator over parts."""
        return Part((make(*(part.transformer for part in parts)),), 1 + max(part.depth for part in parts))

    def number(self, node: Expression) -> float:
        """The value of a number, which is known before running."""
        if isinstance(node, Count):
            return float(node.digits)
        # A default stands in the table, not in the formula.
        return node.value if isinstance(node, Number) else self.checked.numbers[node]

    def option(self, node: Apply, name: str) -> Expression:
        """What is given by this name, or its default."""
        defaults = {option.name: option.default for option in OPERATORS[node.operator].options}
        return dict(node.options).get(name, defaults[name])

    def values(self, node: Expression) -> Part:
        """What is compared or grouped by: a relation, or a column's values."""
        if self.kind(node) in _COLUMNS:
            return Part((leaves.Field(self.collection, self.operand(node)),))
        return self.parts[node]

    def text(self, node: Expression) -> str:
        """A text that is known before running: a literal, or a bound one.

        Raises:
            UnsupportedError: for the query's own text.
        """
        value = self.value(node)
        known = value.value if isinstance(value, Text) else self.bindings[cast(Name, value).name].value
        if not isinstance(known, str):
            message = f"a pipeline cannot compare days with {value!r}, which differs from query to query"
            hint = "run it as a Program, on any engine"
            raise UnsupportedError([Diagnostic("unsupported", message, node.span, hint)], self.formula.source)
        return known

    def column(self, node: Expression) -> str:
        """The frame's column that holds what `values` gives."""
        return leaves.VALUE if self.kind(node) in _COLUMNS else "score"

    def operand(self, node: Expression) -> str:
        """The operand that a matrix or column expression names, maybe through steps."""
        return cast(Name, self.value(node)).name

    def value(self, node: Expression) -> Expression:
        """An expression that is no relation or mask, with the steps that it names written out."""
        return self.plain.value(node)


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
