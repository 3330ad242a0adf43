"""What went into each expression of a program and what came out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Retrieve
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.operands import ColumnOperand, MaskOperand, MatrixOperand, Positions, RelationOperand
from pyterrier_alg.engines._relations import intersection
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.warnings.reading import Reading
from pyterrier_alg.session._rules import literal

#: From the part that lost records, by its number, through why, to how many.
Drop = tuple[int, str, int]


def covered(reading: Reading, node: Expression) -> Positions | None:
    """The records that an expression has something for; None where it is of no records: a number, a text, a vector."""
    if isinstance(node, Count) or reading.kind(node) in (None, Kind.NUMBER, Kind.TEXT, Kind.VECTOR, Kind.RETRIEVER):
        return None
    value = reading.value(node)
    if isinstance(value, RelationOperand | MaskOperand | MatrixOperand | ColumnOperand):
        return value.positions
    return None


def drops(reading: Reading, node: Expression) -> Iterator[Drop]:
    """The records of its parts that an expression leaves out, and why."""
    if not isinstance(node, Apply) or not (reading.is_relation(node) or reading.kind(node) is Kind.MASK):
        return
    out = cast(Positions, covered(reading, node))
    parts = [covered(reading, part) for part in node.parts]
    match node.operator:
        case "+" | "-" | "*" | "&" if all(part is not None for part in parts):
            for index, (own, other) in enumerate(zip(parts, reversed(parts), strict=True)):
                why = "not in the other mask" if node.operator == "&" else "the other side does not score them"
                yield index, f"{why}: {shown(node.parts[1 - index], 40)}", _without(own, other)
        case ">>":
            yield 1, f"not in {shown(node.parts[0], 40)}", _without(parts[1], parts[0])
            yield 0, f"{shown(node.parts[1], 40)} does not score them", _without(parts[0], parts[1])
        case "top":
            yield 1, "below the cut", _size(parts[1]) - len(out)
        case "per":
            lacking = _without(parts[2], parts[1])
            yield 2, f"{shown(node.parts[1], 40)} has no value", lacking
            yield 2, "below their group's cut", _size(parts[2]) - lacking - len(out)
        case "mmr":
            lacking = _without(parts[1], parts[2])
            yield 1, f"{shown(node.parts[2], 40)} has no row", lacking
            yield 1, "not chosen", _size(parts[1]) - lacking - len(out)
        case "rrf":
            depth = cast(Count, literal(node, "depth")).value
            for index in range(len(node.arguments)):
                yield (
                    index,
                    f"below depth {depth:,} of {shown(node.arguments[index], 40)}",
                    max(0, _size(parts[index]) - depth),
                )
        case ">=" | ">" | "<=" | "<" | "isin":
            yield 0, "do not satisfy it", _size(parts[0]) - len(out)


def missing(reading: Reading, node: Expression) -> int:
    """How many records of the collection a scan has no row of."""
    if isinstance(node, Apply) and node.operator in ("@", "closeness"):
        return len(reading.scope.docnos) - _size(covered(reading, node.parts[0]))
    return 0


def span(reading: Reading, node: Expression) -> tuple[float, float] | None:
    """The least and the greatest score of a relation; None where it has none, or is none."""
    if not reading.is_relation(node):
        return None
    scores = reading.relation(node).scores
    return (float(scores.min()), float(scores.max())) if len(scores) else None


def below(reading: Reading, node: Expression) -> Sequence[Expression]:
    """The parts of an expression that have records, numbers or texts; names lead to the steps that they name."""
    if isinstance(node, Retrieve):
        return node.arguments[:1]
    return [part for part in reading.below(node) if not isinstance(part, Count)]


def _size(positions: Positions | None) -> int:
    return 0 if positions is None else len(positions)


def _without(own: Positions | None, other: Positions | None) -> int:
    if own is None or other is None:
        return 0
    return len(own) - len(intersection(own, other))
