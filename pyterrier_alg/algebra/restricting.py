"""A formula over some of the records: what a program means when it re-ranks a pool.

Every relation and mask is one of the pool's records only, from the leaves up, so that `minmax` rescales the pool and
`top` selects from it. Vectors still see the whole collection: which record a vector comes from, and what a centroid
is the mean of, does not hang on the pool, and neither does the score that a record has along it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Retrieve, fold, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind, Type
from pyterrier_alg.algebra.operators import COMPARE, OPERATORS

__all__ = ["fresh", "restrict", "with_parts"]

_RESULTS = (Kind.RELATION, Kind.MASK)

#: Operators that score or admit records that none of their relations and masks does.
_BEYOND = frozenset({"@", "closeness", "days_since", "fill", "~", "ids"})


def restrict(formula: Formula, pool: Expression, types: Mapping[Expression, Type]) -> Formula:
    """The formula over the records of a pool.

    Args:
        formula: sound.
        pool: a mask; `input` must be of its records.
        types: of the formula's expressions, as `check` gives them.

    Returns:
        The formula, whose steps keep their names. A relation or mask among them that a vector is made of has a second
        step, which sees the whole collection.

    Example:
        >>> from pyterrier_alg.algebra import Binding, check
        >>> known = {"S": Binding(Type(Kind.RELATION)), "m": Binding(Type(Kind.MASK))}
        >>> formula = parse("top(5, minmax(S) + (m >> S))")
        >>> restrict(formula, Name("pool"), check(formula, known).types)
        top(5, minmax(pool >> S) + ((pool & m) >> (pool >> S)))
    """
    return _Restriction(formula, pool, types).formula()


def fresh(name: str, taken: Container[str]) -> str:
    """The name, or one like it that is not taken."""
    while name in taken:
        name += "'"
    return name


def with_parts(node: Expression, parts: Sequence[Expression]) -> Expression:
    """A node with other parts in the places of its own, at the same place of the text."""
    if not parts or all(new is old for new, old in zip(parts, node.parts, strict=True)):
        return node
    if not isinstance(node, Apply | Retrieve):
        raise TypeError(f"a {type(node).__name__} has no parts")
    count = len(node.arguments)
    arguments = tuple(parts[:count])
    options = tuple((key, value) for (key, _), value in zip(node.options, parts[count:], strict=True))
    if isinstance(node, Apply):
        return Apply(node.operator, arguments, options, span=node.span)
    return Retrieve(node.retriever, arguments, options, span=node.span)


class _Restriction:
    def __init__(self, formula: Formula, pool: Expression, types: Mapping[Expression, Type]) -> None:
        self.original, self.pool, self.types = formula, pool, types
        self.steps = dict(formula.steps)
        self.whole_names: dict[str, str] = {}
        self.whole_memo: dict[Expression, Expression] = {}
        self.name_whole_steps()

    def formula(self) -> Formula:
        memo: dict[Expression, Expression] = {}
        steps: list[tuple[str, Expression]] = []
        for name, expression in self.original.steps:
            if name in self.whole_names:
                steps.append((self.whole_names[name], self.whole(expression)))
            steps.append((name, fold(expression, self.narrow, memo)))
        return Formula(tuple(steps), fold(self.original.result, self.narrow, memo), self.original.source)

    def kind(self, node: Expression) -> Kind | None:
        found = self.types.get(node)
        return found.kind if found else None

    def name_whole_steps(self) -> None:
        """Name the second step of each relation and mask that some vector is made of, directly or through steps."""
        vectors = [node for node in walk(*self.original.expressions) if self.kind(node) is Kind.VECTOR]
        reached = self.results_named(vectors)
        while left := [name for name in reached if name not in self.whole_names]:
            for name in left:
                taken = {*self.steps, *self.whole_names.values(), *self.names()}
                self.whole_names[name] = fresh(f"{name} of all records", taken)
            reached = self.results_named([self.steps[name] for name in left])

    def results_named(self, expressions: Sequence[Expression]) -> list[str]:
        """The steps of kind relation or mask that expressions name."""
        nodes = walk(*expressions)
        return [n.name for n in nodes if isinstance(n, Name) and n.name in self.steps and self.kind(n) in _RESULTS]

    def names(self) -> set[str]:
        return {node.name for node in walk(*self.original.expressions) if isinstance(node, Name)}

    def whole(self, expression: Expression) -> Expression:
        return fold(expression, self._whole, self.whole_memo)

    def _whole(self, node: Expression, below: Sequence[Expression]) -> Expression:
        if isinstance(node, Name) and node.name in self.whole_names:
            return Name(self.whole_names[node.name], span=node.span)
        return with_parts(node, below)

    def narrow(self, node: Expression, below: Sequence[Expression]) -> Expression:
        kind = self.kind(node)
        if kind is Kind.VECTOR:
            return self.whole(node)
        if kind not in _RESULTS:
            return node
        if isinstance(node, Name):
            return node if node.name in self.steps or node.name == "input" else self.within(node, kind)
        rebuilt = with_parts(node, below)
        return self.within(rebuilt, kind) if isinstance(node, Retrieve) or self.reaches_beyond(node) else rebuilt

    def reaches_beyond(self, node: Expression) -> bool:
        """Whether it scores or admits records by itself, not only those that its relations and masks have."""
        if not isinstance(node, Apply):
            return False
        looks = OPERATORS[node.operator].precedence == COMPARE or node.operator in ("isin", "support")
        return node.operator in _BEYOND or (looks and self.kind(node.arguments[0]) not in _RESULTS)

    def within(self, node: Expression, kind: Kind | None) -> Expression:
        return Apply(">>" if kind is Kind.RELATION else "&", (self.pool, node), span=node.span)
