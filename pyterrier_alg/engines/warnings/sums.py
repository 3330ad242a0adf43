"""Sums as rankings see them: a term that decides alone, and a coefficient that decides nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection.operands import Positions, Scores
from pyterrier_alg.engines._relations import find
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.warnings.masks import CUTS
from pyterrier_alg.engines.warnings.reading import Reading, figure, product_with_number, records, warning

#: Operands whose scores range so many times wider than another's are on another scale.
OPERAND_FACTOR = 10.0

#: A coefficient that leaves the wider operand this many times wider has not brought it to the other's scale.
TERM_FACTOR = 4.0

#: What is the same for S and for c·S where c is positive, but for rounding.
_SCALE_FREE = frozenset({"rrf", "ranks", "minmax", "zscore", "maxnorm", "support"})

#: What is the same for S and for S + c, but for rounding.
_SHIFT_FREE = frozenset({"rrf", "ranks", "minmax", "zscore", "softmax", "support"})


@dataclass(frozen=True)
class _Sum:
    """A sum of relations, whatever names, masks, signs and coefficients stand between its terms.

    Attributes:
        root: the outermost + or −.
        terms: the coefficient of each term, by the term.
        scalings: the products with a number inside it.
    """

    root: Apply
    terms: dict[Expression, float] = field(default_factory=dict)
    scalings: list[Expression] = field(default_factory=list)


def scale_mismatch(reading: Reading) -> Iterator[ProgramWarning]:
    """A sum whose widest term has an operand on a wider scale than another's, and a coefficient that leaves it so.

    Widths (largest less smallest score) are those over the records of the sum, of operands without coefficients that
    are written inside them. It is warned of where the operands'
    differ by more than `OPERAND_FACTOR` and the terms', coefficients included, by more than `TERM_FACTOR` in the same
    direction. `0.95 S + 0.05 T` of equally wide S and T is a choice, and so is `A + 0.01 B` where B is a hundred times
    as wide.
    """
    told: set[tuple[Expression, Expression]] = set()
    written = _written(reading)
    for total in _sums(reading):
        positions = reading.relation(total.root).positions
        if len(positions) < 2:
            continue
        terms = [term for term, c in total.terms.items() if c and math.isfinite(c)]
        scores = [_at(reading, term, positions) for term in terms]
        coefficients = np.array([total.terms[term] for term in terms])
        ends = np.array([(s.min(), s.max()) for s in scores]).reshape(-1, 2)
        if not len(terms) or not np.isfinite(ends * coefficients[:, None]).all():
            continue
        spans = ends[:, 1] - ends[:, 0]
        scaled = spans * np.abs(coefficients)
        widths = spans / np.abs([written[term] for term in terms])
        widest = int(np.argmax(scaled))
        small = (widths > 0) & (OPERAND_FACTOR * widths < widths[widest]) & (TERM_FACTOR * scaled < scaled[widest])
        if not small.any():
            continue
        narrowest = int(np.argmin(np.where(small, scaled, np.inf)))
        pair = terms[widest], terms[narrowest]
        if pair not in told:
            told.add(pair)
            yield _mismatch(total, pair, (scores[widest], scores[narrowest]))


def inert_coefficient(reading: Reading) -> Iterator[ProgramWarning]:
    """A coefficient that is 0, or in a ranking that is the same for every (positive) value of it.

    It is the same where the coefficient's term has one score for all records of a sum of which only the order counts,
    and where a positive multiple goes into what looks at ranks or rescales: `rrf(S, 0.3 * T)`.
    """
    scalings = [(node, *scaling) for node in reading.order if (scaling := product_with_number(reading, node))]
    told: set[Expression] = set()
    for node, number, operand, factor in scalings:
        if factor == 0:
            told.add(node)
            yield _zero(reading, node, number, operand)
    if not scalings:
        return
    after_scaling, after_shift = _insensitive(reading)
    for node, number, operand, factor in scalings:
        if factor > 0 and node not in told and after_scaling.get(node):
            told.add(node)
            yield _unseen(node, number, operand)
    for total in _sums(reading):
        positions = reading.relation(total.root).positions
        if len(positions) < 2 or not after_shift.get(total.root):
            continue
        for node in total.scalings:
            scores = _at(reading, node, positions)
            if node not in told and scores.min() == scores.max():
                told.add(node)
                yield _constant(reading, node, total.root, float(scores[0]), len(positions))


def _at(reading: Reading, node: Expression, positions: Positions) -> Scores:
    """The scores of a relation expression at some of its records."""
    relation = reading.relation(node)
    places, _ = find(positions, relation.positions)
    return relation.scores[places]


def _linear(reading: Reading, node: Expression) -> Sequence[tuple[Expression, float]]:
    """The relations that a node adds up, each with its factor; none for a node that is a term itself."""
    if isinstance(node, Name):
        return [(step, 1.0) for step in reading.below(node)]
    scaling = product_with_number(reading, node)
    if scaling is not None:
        return [(scaling[1], scaling[2])]
    if isinstance(node, Apply) and node.operator in ("+", "-", "neg", ">>"):
        signs = {"+": (1.0, 1.0), "-": (1.0, -1.0), "neg": (-1.0,), ">>": (0.0, 1.0)}[node.operator]
        pairs = zip(node.arguments, signs, strict=True)
        return [(part, sign) for part, sign in pairs if reading.is_relation(part)]
    return ()


def _sums(reading: Reading) -> list[_Sum]:
    """The sums of two relations or more that are part of no greater sum."""
    place = {node: i for i, node in enumerate(reading.order)}
    outer = {reading.result}
    for node in reversed(reading.order):
        below = [part for part, _ in _linear(reading, node)]
        if not below:
            outer.update(filter(reading.is_relation, reading.below(node)))
        elif len(below) == 1 and node in outer:
            outer.update(below)
        elif not reading.is_relation(node):
            outer.update(below)
    found = []
    for node in reading.order:
        if node in outer and isinstance(node, Apply) and len(_linear(reading, node)) == 2:
            found.append(_collected(reading, _Sum(node), place))
    return found


def _collected(reading: Reading, total: _Sum, place: dict[Expression, int]) -> _Sum:
    """Find a sum's terms, each expression in it looked at once, after all that adds it."""
    inside: set[Expression] = {total.root}
    stack: list[Expression] = [total.root]
    while stack:
        for part, _ in _linear(reading, stack.pop()):
            if part not in inside:
                inside.add(part)
                stack.append(part)
    coefficients: dict[Expression, float] = {total.root: 1.0}
    for node in sorted(inside, key=lambda node: -place[node]):
        below = _linear(reading, node)
        if not below:
            total.terms[node] = coefficients[node]
        elif product_with_number(reading, node) is not None:
            total.scalings.append(node)
        for part, factor in below:
            coefficients[part] = coefficients.get(part, 0.0) + coefficients[node] * factor
    return total


def _written(reading: Reading) -> dict[Expression, float]:
    """The coefficient that is written inside each relation, where it is a product: 0.1 in `(0.1 * w) * S`."""
    found: dict[Expression, float] = {}
    for node in filter(reading.is_relation, reading.order):
        value = 1.0
        if len(_linear(reading, node)) == 1:
            ((part, factor),) = _linear(reading, node)
            value = factor * found[part]
        elif isinstance(node, Apply) and node.operator == "*":
            value = math.prod(found[part] for part in node.arguments)
        found[node] = value if value and math.isfinite(value) else 1.0
    return found


def _insensitive(reading: Reading) -> tuple[dict[Expression, bool], dict[Expression, bool]]:
    """Which relations all that uses them sees alike when they are scaled, and when they are shifted, as a whole.

    Of a result only the order counts for a shift; scaled scores are other scores.
    """
    scaled, shifted = {reading.result: False}, {reading.result: True}
    for node in reversed(reading.order):
        operator = node.operator if isinstance(node, Apply) else ""
        linear = {part for part, _ in _linear(reading, node)}
        selects = CUTS[operator] if operator in ("top", "per") else None
        for i, part in enumerate(reading.below(node)):
            if not reading.is_relation(part):
                continue
            passes = (part in linear and reading.is_relation(node)) or i == selects
            scale = operator in _SCALE_FREE or (passes and len(linear) < 2 and not _shifts(reading, node))
            shift = operator in _SHIFT_FREE or passes
            scaled[part] = scaled.get(part, True) and scale and (operator in _SCALE_FREE or scaled.get(node, False))
            shifted[part] = shifted.get(part, True) and shift and (operator in _SHIFT_FREE or shifted.get(node, False))
    return scaled, shifted


def _shifts(reading: Reading, node: Expression) -> bool:
    """Whether a node adds a number to a relation."""
    return (
        isinstance(node, Apply)
        and node.operator in ("+", "-")
        and any(reading.kind(part) is Kind.NUMBER for part in node.arguments)
    )


def _mismatch(total: _Sum, pair: Sequence[Expression], scores: Sequence[Scores]) -> ProgramWarning:
    texts, ranges = [], []
    for term, values in zip(pair, scores, strict=True):
        c = total.terms[term]
        texts.append(shown(term if c == 1 else Apply("neg", (term,)) if c == -1 else Apply("*", (Number(c), term))))
        ranges.append(sorted((c * float(values.min()), c * float(values.max()))))
    (low, high), (least, most) = ranges
    # Wider than float64 goes is said to be as wide as it goes, and scaling may round a narrow range to none.
    ratio = min((high - low) / max(most - least, sys.float_info.min), sys.float_info.max)
    message = (
        f"{texts[0]} goes from {figure(low)} to {figure(high)}, {texts[1]} from {figure(least)} to {figure(most)}: "
        f"{figure(ratio)} times as wide, the first decides the order"
    )
    operands = " and ".join(f"minmax({shown(term)})" for term in pair)
    return warning(
        "scale_mismatch", message, total.root, f"bring both to one scale first: {operands}",
        wide=texts[0], wide_range=[low, high], narrow=texts[1], narrow_range=[least, most], ratio=ratio,
    )  # fmt: skip


def _zero(reading: Reading, node: Expression, number: Expression, operand: Expression) -> ProgramWarning:
    message = f"the coefficient {shown(number)} of {shown(operand)} is 0: "
    message += "its scores become 0" if reading.is_relation(node) else "the direction does not count"
    return warning(
        "inert_coefficient", message, number.at(number.span or node.span),
        f"give it another value, or leave {shown(node)} out",
        coefficient=shown(number), value=0.0, operand=shown(operand), reason="zero",
    )  # fmt: skip


def _unseen(node: Expression, number: Expression, operand: Expression) -> ProgramWarning:
    message = (
        f"the coefficient {shown(number)} of {shown(operand)} changes nothing: only the order of {shown(node)}, or its "
        "scores after rescaling, are used"
    )
    return warning(
        "inert_coefficient", message, number.at(number.span or node.span),
        "leave it out; to weigh operands, rescale each and add them: alpha * minmax(S) + minmax(T)",
        coefficient=shown(number), operand=shown(operand), reason="rescaled",
    )  # fmt: skip


def _constant(reading: Reading, node: Expression, root: Expression, score: float, count: int) -> ProgramWarning:
    number, operand, factor = product_with_number(reading, node) or (node, node, 1.0)
    message = (
        f"the coefficient {shown(number)} changes no order: {shown(node)} is {figure(score)} for all {records(count)} "
        f"of {shown(root)}"
    )
    return warning(
        "inert_coefficient", message, number.at(number.span or node.span),
        f"leave {shown(node)} out, or use an operand whose scores differ for {shown(operand)}",
        coefficient=shown(number), value=factor, operand=shown(operand), reason="constant", score=score,
    )  # fmt: skip
