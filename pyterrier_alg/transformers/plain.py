"""Expressions that are no relations or masks, with the steps that they name written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyterrier_alg.algebra.expressions import Apply, Expression, Name
from pyterrier_alg.engines.demand import demand


class Plain:
    """Numbers, texts, vectors, matrices and columns of one formula, as leaves take them.

    A leaf knows the collection, and the relations and masks that the pipeline remembers, but no other step. A mask
    inside a vector is left to the pipeline, and its name put in its place.
    """

    def __init__(self, steps: Mapping[str, Expression], name: Callable[[Expression], Expression]) -> None:
        """Begin with nothing known.

        Args:
            steps: of the formula, by name.
            name: the name that a vector's mask has in the pipeline.
        """
        self._steps, self._name = steps, name
        self._known: dict[Expression, Expression] = {}

    def value(self, node: Expression) -> Expression:
        """The expression, written out."""
        return demand(node, self._needs, self._visit, self._known)

    def masks(self, vector: Expression) -> list[Expression]:
        """The masks that a vector depends on."""
        found: dict[Expression, None] = {}
        stack, seen = [vector], {vector}
        while stack:
            node = stack.pop()
            if is_centroid(node):
                found[node.parts[1]] = None
            new = [other for other in self._needs(node) if other not in seen]
            seen.update(new)
            stack += new
        return list(found)

    def _needs(self, node: Expression) -> Sequence[Expression]:
        if isinstance(node, Name):
            return [self._steps[node.name]] if node.name in self._steps else []
        return node.parts[:1] if is_centroid(node) else node.parts

    def _visit(self, node: Expression) -> Expression:
        if isinstance(node, Name):
            return self._known[self._steps[node.name]] if node.name in self._steps else node
        if not isinstance(node, Apply):
            return node
        if is_centroid(node):
            matrix, mask = node.arguments
            return Apply(node.operator, (self._known[matrix], self._name(mask)), span=node.span)
        arguments = tuple(self._known[argument] for argument in node.arguments)
        return node if arguments == node.arguments else Apply(node.operator, arguments, node.options, span=node.span)


def is_centroid(node: Expression) -> bool:
    """Whether a vector is the centroid of a mask."""
    return isinstance(node, Apply) and node.operator == "centroid"
