"""What may stand at each place of an expression, told by the operators around it and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Number, Retrieve, Text, walk
from pyterrier_alg.algebra.kinds import Kind, Space, Type
from pyterrier_alg.algebra.operators import LITERALS, OPERATORS, Parameter

#: Kinds whose values live in a space.
_IN_SPACE = frozenset({Kind.VECTOR, Kind.MATRIX})


@dataclass(frozen=True, slots=True)
class Expectation:
    """What would fit at a place.

    Attributes:
        kinds: any of these.
        space: of a vector or matrix there; None where any will do.
    """

    kinds: frozenset[Kind]
    space: Space | None = None

    def takes(self, found: Type | None) -> bool:
        """Whether something of this type fits; what is not known may."""
        if found is None:
            return True
        return found.kind in self.kinds and (not self.space or found.space in (None, self.space))


ANYTHING = Expectation(frozenset(Kind))
A_RELATION = Expectation(frozenset({Kind.RELATION}))
_A_TEXT = Expectation(frozenset({Kind.TEXT}))


def fits(argument: Expression, place: Parameter, types: Mapping[Expression, Type]) -> bool:
    """Whether an argument may stand at a place of a signature; one with a fault of its own may.

    Args:
        argument: what stands there.
        place: what is wanted there.
        types: of what is known.
    """
    if place.accepts in LITERALS:
        if place.accepts.startswith("count"):
            # A count that may be 0 is computed with, so it must be one that a float64 holds exactly.
            exact = isinstance(argument, Count) and len(argument.digits) <= 15
            return exact if place.accepts == "count0" else isinstance(argument, Count) and argument.digits != "0"
        return isinstance(argument, Text) or (place.accepts == "literal" and isinstance(argument, Number))
    if isinstance(argument, Count):
        return Kind.NUMBER in place.kinds
    found = types.get(argument)
    return found is None or found.kind in place.kinds


def expectations(root: Expression, of_root: Expectation, types: Mapping[Expression, Type]) -> dict[int, Expectation]:
    """What would fit at every place of an expression, by the identity of the node that stands there.

    Args:
        root: the expression.
        of_root: what would fit in its own place.
        types: of what is known of its parts.
    """
    found = {id(root): of_root}
    for node in reversed(list(walk(root))):
        if isinstance(node, Retrieve):
            found.update((id(argument), _A_TEXT) for argument in node.arguments[:1])
        elif isinstance(node, Apply):
            _below(node, found.get(id(node), ANYTHING), types, found)
    return found


def _below(node: Apply, here: Expectation, types: Mapping[Expression, Type], found: dict[int, Expectation]) -> None:
    count = len(node.arguments)
    ways = [(s.result, places) for s in OPERATORS[node.operator].signatures if (places := s.spread(count)) is not None]
    fit = [[fits(a, p, types) for a, p in zip(node.arguments, places, strict=True)] for _, places in ways]
    known = (types[a].space for a in node.arguments if a in types)
    space = next((s for s in known if s is not None), here.space)
    for i, argument in enumerate(node.arguments):
        # The ways that everything else allows: first by what stands beside it and around it, then by less.
        beside = [way for way, row in zip(ways, fit, strict=True) if row.count(False) == (not row[i])]
        around = [way for way in beside if way[0] in here.kinds]
        kinds = frozenset(kind for _, places in around or beside or ways for kind in places[i].kinds)
        found[id(argument)] = Expectation(kinds, space if kinds & _IN_SPACE else None)
    for _, value in node.options:
        found[id(value)] = Expectation(frozenset({Kind.NUMBER}))
