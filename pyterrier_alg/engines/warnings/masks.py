"""Masks that come too late, and masks that let nothing through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pyterrier_alg.algebra.expressions import Apply, Expression, Number, Text
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection.operands import ColumnOperand, RelationOperand
from pyterrier_alg.engines._relations import intersection
from pyterrier_alg.engines.arithmetic import POINTWISE
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.warnings.reading import Reading, figure, records, warning

#: What takes some of a relation's records by their rank, and the place of that relation among its arguments.
CUTS = {"top": 1, "per": 2, "mmr": 1}

#: What leaves a relation's records as they are.
RESCALINGS = frozenset({"minmax", "maxnorm", "zscore", "softmax", "ranks"})

_COMPARISONS = frozenset({">=", ">", "<=", "<", "isin"})


def cut_before_mask(reading: Reading) -> Iterator[ProgramWarning]:
    """`m >> top(k, S)`, also through names of steps, arithmetic and rescalings between: always, whatever the data."""
    for node in reading.applied(">>"):
        cut = _cut(reading, node)
        if cut is None:
            continue
        mask = node.arguments[0]
        taken = reading.relation(cut).positions
        kept = len(intersection(reading.mask(mask), taken))
        place = CUTS[cut.operator]
        inner = Apply(">>", (mask, cut.arguments[place]))
        restricted = Apply(cut.operator, (*cut.arguments[:place], inner, *cut.arguments[place + 1 :]), cut.options)
        through = f"{kept:,} of {len(taken):,}"
        message = f"{shown(cut)} takes its records before {shown(mask)} is asked, which lets {through} through"
        where = "" if node.arguments[1] == cut else f" for {shown(cut)}"
        yield warning(
            "cut_before_mask", message, node, f"restrict first: {shown(restricted, 100)}{where}",
            mask=shown(mask), cut=shown(cut), taken=len(taken), kept=kept,
        )  # fmt: skip


def empty_mask(reading: Reading) -> Iterator[ProgramWarning]:
    """A mask that leaves nothing of a relation, and a comparison that nothing satisfies, unless it is negated.

    Where a conjunction is empty because a part of it is, that part is named. A mask that a cut came before has the
    other warning.
    """
    blamed: dict[Expression, ProgramWarning] = {}
    for node in reading.applied(">>"):
        mask, relation = node.arguments
        if not len(reading.mask(mask)):
            culprit = _culprit(reading, mask)
            blamed.setdefault(culprit, _empty(reading, culprit))
        elif (
            len(reading.relation(relation).positions)
            and not len(reading.relation(node).positions)
            and _cut(reading, node) is None
        ):
            blamed.setdefault(mask, _disjoint(reading, mask, relation))
    for node in _asked(reading):
        if not len(reading.mask(node)) and _answers(reading, node):
            blamed.setdefault(node, _empty(reading, node))
    yield from blamed.values()


def _cut(reading: Reading, node: Apply) -> Apply | None:
    """The first selection under a restriction that has its records before the restriction has."""
    stack, seen = [node.arguments[1]], set[Expression]()
    while stack:
        inner = reading.meant(stack.pop())
        if inner in seen or not isinstance(inner, Apply):
            continue
        seen.add(inner)
        if inner.operator in CUTS:
            return inner
        if inner.operator in POINTWISE or inner.operator in RESCALINGS:
            stack.extend(part for part in reversed(inner.arguments) if reading.is_relation(part))
    return None


def _culprit(reading: Reading, mask: Expression) -> Expression:
    """The smallest part of an empty mask that is to blame for it."""
    while True:
        inner = reading.meant(mask)
        if not isinstance(inner, Apply) or inner.operator not in ("&", "|"):
            return inner if isinstance(inner, Apply) else mask
        empty = [part for part in inner.arguments if not len(reading.mask(part))]
        if not empty:
            return inner
        mask = empty[0]


def _asked(reading: Reading) -> Iterator[Apply]:
    """Comparisons that records are asked to satisfy: those under a complement say who is left out."""
    roots = [node.arguments[0] for node in reading.applied(">>")]
    roots += [node.arguments[1] for node in reading.applied("centroid")]
    stack, seen = [(root, True) for root in roots], set[tuple[Expression, bool]]()
    while stack:
        mask, positive = stack.pop()
        inner = reading.meant(mask)
        if (inner, positive) in seen or not isinstance(inner, Apply):
            continue
        seen.add((inner, positive))
        if inner.operator in _COMPARISONS and positive:
            yield inner
        elif inner.operator in ("&", "|", "~"):
            stack.extend((part, positive != (inner.operator == "~")) for part in inner.arguments)


def _answers(reading: Reading, comparison: Apply) -> int:
    """How many records have a value to be compared."""
    value = reading.value(comparison.arguments[0])
    return len(value.positions) if isinstance(value, RelationOperand | ColumnOperand) else 0


def _empty(reading: Reading, mask: Expression) -> ProgramWarning:
    """Of a mask without records, and no part to blame."""
    operator = mask.operator if isinstance(mask, Apply) else ""
    parts = [shown(part) for part in mask.parts]
    message, hint = f"{shown(mask)} lets no record through", "choose another mask, or leave it out"
    if isinstance(mask, Apply) and operator in _COMPARISONS:
        there = _values(reading, mask.arguments[0])
        message += f": {parts[0]} {there}"
        hint = _satisfiable(reading, mask)
    elif operator == "&":
        message += f": {parts[0]} and {parts[1]} have no record in common"
        hint = f"maybe {parts[0]} | {parts[1]}"
    elif operator == "~":
        message += f": {parts[0]} has all of them"
    elif operator == "support":
        message += f": {parts[0]} scores none"
        hint = f"see why {parts[0]} scores none"
    elif not len(reading.scope.docnos):
        message += ": the collection has none"
        hint = "bind a collection with records"
    return warning("empty_mask", message, mask, hint, mask=shown(mask), records=0)


def _satisfiable(reading: Reading, comparison: Apply) -> str:
    """A comparison like this one that lets records through."""
    operand = comparison.arguments[0]
    value = reading.value(operand)
    if not isinstance(value, RelationOperand | ColumnOperand) or not len(value.positions):
        return f"bind values to {shown(operand)}"
    values = sorted((value.scores if isinstance(value, RelationOperand) else value.values).tolist())
    middle = values[len(values) // 2]
    text = ">=" if comparison.operator == ">" else "<=" if comparison.operator == "<" else comparison.operator
    literal = Text(middle) if isinstance(middle, str) else Number(middle)
    return f"maybe {shown(Apply(text, (operand, literal)), 100)}: that is in the middle of what it has"


def _disjoint(reading: Reading, mask: Expression, relation: Expression) -> ProgramWarning:
    """Of a mask that has records, but none that the relation scores."""
    count, scored = len(reading.mask(mask)), len(reading.relation(relation).positions)
    message = (
        f"{shown(mask)} lets through none of the {records(scored, shown(relation))}, and has {records(count)} itself"
    )
    hint = f"to have the mask's records with a score for each, restrict fill(0, {shown(relation)})"
    return warning("empty_mask", message, mask, hint, mask=shown(mask), records=count, relation=shown(relation))


def _values(reading: Reading, operand: Expression) -> str:
    """What a relation or a column has, in words."""
    value = reading.value(operand)
    if isinstance(value, RelationOperand) and len(value.scores):
        return f"goes from {figure(value.scores.min())} to {figure(value.scores.max())}"
    if isinstance(value, ColumnOperand) and len(value.values):
        counts = sorted(Counter(value.values.tolist()).items(), key=lambda item: (-item[1], item[0]))
        texts = [repr(text if len(text) <= 40 else text[:39] + "…") for text, _ in counts]
        return f"has {', '.join(texts[:3])}{f' and {len(texts) - 3:,} more' if len(texts) > 3 else ''}"
    return "has no values"
