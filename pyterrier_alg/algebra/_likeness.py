"""How alike two expressions are: which of their parts belong together, and what it costs that others do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from math import inf
from typing import cast

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.operators import OPERATORS


def replacing(old: Expression, new: Expression) -> float:
    """What it costs to put one expression in another's place."""
    leaves = old.size == new.size == 1 and type(old) is type(new)
    return 1.0 if leaves or reversed_operands(old, new) else 1.0 + 0.5 * (old.size + new.size)


def surplus(whole: Expression, kept: Expression) -> float:
    """What it costs that an operator stands around one of its parts."""
    return 1.0 + 0.4 * (whole.size - kept.size - 1)


def reversed_operands(old: Expression, new: Expression) -> bool:
    """Whether an operator has its operands in the other order."""
    same = isinstance(old, Apply) and isinstance(new, Apply) and old.operator == new.operator
    return same and len(old.parts) == 2 and old.parts == new.parts[::-1]


def likeness(old: Expression, new: Expression) -> float:
    """How alike two expressions look from above: infinite where equal, else by how many parts in equal places are."""
    if old == new:
        return inf
    shared = sum(a == b for a, b in zip(old.parts, new.parts, strict=False))
    return 1.0 + shared if alike(old, new) else 0.0


def keeps(node: Expression) -> list[int]:
    """The arguments in whose place an operator may stand: those that are of the kind that it gives."""
    if not isinstance(node, Apply) or node.operator not in OPERATORS:
        return []
    found: set[int] = set()
    for signature in OPERATORS[node.operator].signatures:
        places = signature.spread(len(node.arguments)) or ()
        mine = [i for i, place in enumerate(places) if place.kinds == (signature.result,)]
        if mine and all(may_be(a, p.kinds) for a, p in zip(node.arguments, places, strict=True)):
            found.update(mine)
    return sorted(found)


def may_be(node: Expression, kinds: Sequence[Kind]) -> bool:
    """Whether an expression can be of one of these kinds, as far as its form tells; none stands for a literal."""
    match node:
        case Count():
            return not kinds or Kind.NUMBER in kinds
        case Number():
            return not kinds or Kind.NUMBER in kinds
        case Text():
            return not kinds or Kind.TEXT in kinds
        case Retrieve():
            return Kind.RELATION in kinds
        case Apply() if node.operator in OPERATORS:
            return any(signature.result in kinds for signature in OPERATORS[node.operator].signatures)
    return bool(kinds)


def alike(old: Expression, new: Expression) -> bool:
    """Whether two nodes are one operator, or two that take and give the same kinds, over arguments that match."""
    if isinstance(old, Retrieve) and isinstance(new, Retrieve):
        return all(len(node.arguments) in (1, 2) and not node.options for node in (old, new))
    if not (isinstance(old, Apply) and isinstance(new, Apply)) or {old.operator, new.operator} - OPERATORS.keys():
        return False
    if old.operator != new.operator:
        same_count = len(old.arguments) == len(new.arguments)
        return same_count and not (old.options or new.options) and _shape(old) == _shape(new)
    return len(old.arguments) == len(new.arguments) or _repeating(old) is not None


def matched(old: Expression, new: Expression) -> list[tuple[Expression | None, Expression | None, str]]:
    """The arguments and options of two nodes that are alike, beside each other; None where one side lacks it."""
    left, right = cast(Apply, old), cast(Apply, new)
    fixed = min(len(left.arguments), len(right.arguments)) if isinstance(old, Retrieve) else _repeating(left)
    fixed = len(left.arguments) if fixed is None else fixed
    pairs: list[tuple[Expression | None, Expression | None, str]]
    pairs = [(a, b, "") for a, b in zip(left.arguments[:fixed], right.arguments[:fixed], strict=True)]
    pairs += [(a, b, "") for a, b in _in_sequence(left.arguments[fixed:], right.arguments[fixed:])]
    before, after = dict(left.options), dict(right.options)
    known = [option.name for option in OPERATORS[left.operator].options] if isinstance(old, Apply) else []
    keys = sorted({*before, *after}, key=lambda key: (known.index(key) if key in known else len(known), key))
    return pairs + [(before.get(key), after.get(key), key) for key in keys]


def _in_sequence(
    old: Sequence[Expression], new: Sequence[Expression]
) -> Iterator[tuple[Expression | None, Expression | None]]:
    """Two lists beside each other; at least one pair stands in both, so that no choice leaves nothing."""
    digests = [a.digest for a in old], [b.digest for b in new]
    for _, i, i_end, j, j_end in SequenceMatcher(None, *digests, autojunk=False).get_opcodes():
        both = min(i_end - i, j_end - j)
        yield from zip(old[i : i + both], new[j : j + both], strict=True)
        yield from ((a, None) for a in old[i + both : i_end])
        yield from ((None, b) for b in new[j + both : j_end])


def labels(node: Expression) -> dict[int, str]:
    """What the operator table calls the places of arguments, by the arguments' identity; none for infix operators."""
    if isinstance(node, Retrieve):
        return dict(zip(map(id, node.arguments), ("text", "depth"), strict=False))
    if not isinstance(node, Apply) or not OPERATORS[node.operator].is_function:
        return {}
    places = OPERATORS[node.operator].signatures[0].spread(len(node.arguments)) or ()
    return {id(given): place.name for given, place in zip(node.arguments, places, strict=False)}


def _repeating(node: Apply) -> int | None:
    """How many arguments come before those that repeat; None where none do."""
    last = OPERATORS[node.operator].signatures[0].parameters
    return len(last) - 1 if last and last[-1].many else None


def _shape(node: Apply) -> tuple[object, ...]:
    signatures = OPERATORS[node.operator].signatures
    return tuple((tuple((p.accepts, p.many) for p in s.parameters), s.result) for s in signatures)


def called(node: Expression) -> object:
    """The operator, or the retriever with how it is named."""
    if isinstance(node, Retrieve):
        return type(node), node.retriever
    return (Apply, node.operator) if isinstance(node, Apply) else node


def sort_of(old: Expression, new: Expression) -> str:
    """What sort of replacement this is."""
    for kind, sort in ((Number, "coefficient"), (Count, "count"), (Text, "text"), (Name, "operand")):
        if isinstance(old, kind) and isinstance(new, kind):
            return sort
    if isinstance(old, Number) or isinstance(new, Number):
        return "coefficient"
    return "reordered" if reversed_operands(old, new) else "replaced"
