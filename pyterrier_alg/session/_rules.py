"""What each operator that is no plain sum did to one record: its rule, and the numbers that go into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, cast

import numpy as np

from pyterrier_alg import exact
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Number, Retrieve
from pyterrier_alg.algebra.kinds import Distance, Kind
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.collection.operands import ColumnOperand, MatrixOperand, RelationOperand, Rows, VectorOperand
from pyterrier_alg.engines._relations import lengths
from pyterrier_alg.engines.arithmetic import pointwise
from pyterrier_alg.relation import rank_order
from pyterrier_alg.session._situation import AtRecord, Place

Quantity: TypeAlias = float | int | str


@dataclass(frozen=True)
class Part:
    """What goes into a rule.

    Attributes:
        node: the expression.
        place: where it stands.
        value: what it is for the record.
        weight: what it is multiplied by and added with; None where the rule does not add.
        note: how it came by its value, where that is not its own score.
        summand: what to take out of the program to be without it; None where that makes no sense.
    """

    node: Expression
    place: Place
    value: float
    weight: Fraction | None = None
    note: str = ""
    summand: Place | None = None


@dataclass(frozen=True)
class Rule:
    """How one value came about.

    Attributes:
        text: the formula, in the names of quantities and x, the first part's value.
        quantities: by name: what all records share, like a minimum, and what is this record's own, like a rank.
        parts: the expressions that go in.
        bound: how far the parts' sum may be from the value; None where they do not simply add.
    """

    text: str
    quantities: tuple[tuple[str, Quantity], ...] = ()
    parts: tuple[Part, ...] = ()
    bound: Fraction | None = None


def rule_of(node: Expression, place: Place, at: AtRecord) -> Rule | None:
    """The rule of an expression that the record has a score of; None where it is bound, and there is no more to say."""
    if isinstance(node, Retrieve):
        return _retrieved(node, at)
    if not isinstance(node, Apply) or at.situation.kind(node) is not Kind.RELATION:
        return None
    return _RULES.get(node.operator, _pointwise)(node, place, at)


def _whole(node: Expression, at: AtRecord) -> RelationOperand:
    return at.evaluation.relation(node)


def _own(node: Apply, place: Place, at: AtRecord, index: int = 0) -> Part:
    """A relation among the arguments, with the record's score."""
    return Part(node.parts[index], place.part(index), cast(float, at.score(node.parts[index])))


_FORMULAS: Mapping[str, str] = {
    "sigmoid": "1 / (1 + exp(−x))",
    "log1p": "log(1 + x)",
    "exp": "exp(x)",
    "abs": "|x|",
    "clip": "min(max(x, lo), hi)",
    "decay": "2^(−max(x, 0) / half_life)",
    "recip_decay": "1 / (1 + max(x, 0) / scale)",
}


def _pointwise(node: Apply, place: Place, at: AtRecord) -> Rule:
    index = next(i for i, part in enumerate(node.parts) if at.situation.kind(part) is Kind.RELATION)
    signature = next(s for s in OPERATORS[node.operator].signatures if len(s.parameters) == len(node.arguments))
    names = [parameter.name for parameter in signature.parameters]
    numbers = tuple((names[i], at.number(part)) for i, part in enumerate(node.parts) if i != index)
    return Rule(_FORMULAS[node.operator], numbers, (_own(node, place, at, index),))


def _minmax(node: Apply, place: Place, at: AtRecord) -> Rule:
    scores = _whole(node.parts[0], at).scores
    low, high = float(scores.min()), float(scores.max())
    text = "1, as all are equal" if low == high else "(x − min) / (max − min)"
    return Rule(text, (("min", low), ("max", high), ("records", len(scores))), (_own(node, place, at),))


def _maxnorm(node: Apply, place: Place, at: AtRecord) -> Rule:
    scores = _whole(node.parts[0], at).scores
    quantities = (("max", float(scores.max())), ("records", len(scores)))
    return Rule("x / max", quantities, (_own(node, place, at),))


def _zscore(node: Apply, place: Place, at: AtRecord) -> Rule:
    scores = _whole(node.parts[0], at).scores
    if scores.min() == scores.max():
        quantities: tuple[tuple[str, Quantity], ...] = (("mean", float(scores[0])), ("records", len(scores)))
        return Rule("0, as all are equal", quantities, (_own(node, place, at),))
    mean = exact.total(scores) / len(scores)
    distances = scores - mean
    deviation = math.sqrt(exact.total(distances * distances) / len(scores))
    quantities = (("mean", mean), ("deviation", deviation), ("records", len(scores)))
    return Rule("(x − mean) / deviation", quantities, (_own(node, place, at),))


def _softmax(node: Apply, place: Place, at: AtRecord) -> Rule:
    scores = _whole(node.parts[0], at).scores
    high = float(scores.max())
    total = exact.total(pointwise("exp", [scores - high]))
    quantities = (("max", high), ("sum", total), ("records", len(scores)))
    return Rule("exp(x − max) / sum", quantities, (_own(node, place, at),))


def rank_in(relation: RelationOperand, position: int) -> int | None:
    """The record's rank from 1, or None where it has none."""
    place = int(np.searchsorted(relation.positions, position))
    if place == len(relation.positions) or relation.positions[place] != position:
        return None
    return int(np.flatnonzero(rank_order(relation.scores) == place)[0]) + 1


def _ranks(node: Apply, place: Place, at: AtRecord) -> Rule:
    count = len(_whole(node.parts[0], at).scores)
    return Rule("the place of x, from 1", (("records", count),), (_own(node, place, at),))


def literal(node: Apply, name: str) -> Expression:
    """What is given by a name, or its default."""
    defaults = {option.name: option.default for option in OPERATORS[node.operator].options}
    return dict(node.options).get(name, defaults[name])


def _option(node: Apply, name: str, at: AtRecord) -> float:
    """The value of what is given by a name, or of its default."""
    given = literal(node, name)
    return float(given.value) if isinstance(given, Number | Count) else at.number(given)


def _rrf(node: Apply, place: Place, at: AtRecord) -> Rule:
    k, depth = _option(node, "k", at), cast(Count, literal(node, "depth")).value
    parts = []
    for index, part in enumerate(node.arguments):
        rank = rank_in(_whole(part, at), at.position)
        counts = rank is not None and rank <= depth
        value = 1.0 / (k + cast(int, rank)) if counts else 0.0
        note = "not scored" if rank is None else f"rank {rank:,}" if counts else f"rank {rank:,}, below depth {depth:,}"
        summand = place.part(index) if len(node.arguments) > 1 else None
        parts.append(Part(part, place.part(index), value, Fraction(1), note, summand))
    rounding = abs(Fraction(cast(float, at.score(node)))) / 2**53 + Fraction(1, 2**1075)
    return Rule("the sum of 1 / (k + rank), rank from 1", (("k", k), ("depth", depth)), tuple(parts), rounding)


def _mmr(node: Apply, place: Place, at: AtRecord) -> Rule:
    relevance = _option(node, "relevance", at)
    matrix = cast(MatrixOperand, at.evaluation.value(node.arguments[2]))
    chosen = _whole(node, at)
    order = chosen.positions[rank_order(chosen.scores)]
    before = order[: int(np.flatnonzero(order == at.position)[0])]
    rows = matrix.rows[np.searchsorted(matrix.positions, before)]
    likeness = exact.inner_products(rows, _row(matrix, at.position))
    nearest = 0.0 if not len(before) else max(0.0, float(likeness.max()))
    quantities: list[tuple[str, Quantity]] = [("relevance", relevance), ("likeness", nearest)]
    if nearest > 0.0:
        quantities.append(("most like", str(at.situation.scope.docnos[before[int(np.argmax(likeness))]])))
    quantities.append(("chosen before", len(before)))
    text = "relevance · x − (1 − relevance) · likeness"
    return Rule(text, tuple(quantities), (_own(node, place, at, 1),))


def _row(matrix: MatrixOperand, position: int) -> Rows:
    """The record's row, in float32 also where it is stored narrower."""
    return np.array(matrix.rows[int(np.searchsorted(matrix.positions, position))], dtype=np.float32)


def _scan(node: Apply, place: Place, at: AtRecord) -> Rule:
    at.score(node)
    matrix = cast(MatrixOperand, at.evaluation.value(node.arguments[0]))
    row = _row(matrix, at.position)
    parts = list(_directions(node, place, at, row)) if at.situation.kind(node.arguments[1]) is Kind.VECTOR else []
    quantities = (("row length", float(lengths(row[np.newaxis])[0])),)
    if len(parts) < 2:
        return Rule("the inner product of row and direction", quantities)
    return Rule("the sum over directions", quantities, tuple(parts), _scan_bound(node, at, row, parts))


def _directions(node: Apply, place: Place, at: AtRecord, row: Rows) -> Iterator[Part]:
    """The directions that a vector is a linear combination of, each with its own inner product."""
    stack: list[tuple[Expression, Place, Fraction, Place | None]] = [
        (node.arguments[1], place.part(1), Fraction(1), None)
    ]
    while stack:
        vector, where, weight, summand = stack.pop()
        vector, where = at.situation.named(vector, where)
        operator = vector.operator if isinstance(vector, Apply) else ""
        parts = vector.parts
        if operator in ("+", "-"):
            right = weight if operator == "+" else -weight
            stack.append((parts[1], where.part(1), right, where.part(1)))
            stack.append((parts[0], where.part(0), weight, where.part(0)))
        elif operator == "neg":
            stack.append((parts[0], where.part(0), -weight, summand))
        elif operator == "*":
            stack.append((parts[1], where.part(1), weight * Fraction(at.number(parts[0])), summand))
        else:
            values = cast(VectorOperand, at.evaluation.value(vector)).values
            product = float(exact.inner_products(row[np.newaxis], values)[0])
            yield Part(vector, where, product, weight, "", summand)


def _scan_bound(node: Apply, at: AtRecord, row: Rows, parts: list[Part]) -> Fraction:
    """How far the directions' contributions may be from the score.

    The directions are rounded when they are combined, element by element, to float32; that is taken exactly. Each inner
    product, and the score, is rounded once.
    """
    vector = cast(VectorOperand, at.evaluation.value(node.arguments[1])).values
    combined = [Fraction(0)] * len(row)
    for part in parts:
        values = cast(VectorOperand, at.evaluation.value(part.node)).values.tolist()
        combined = [c + cast(Fraction, part.weight) * Fraction(v) for c, v in zip(combined, values, strict=True)]
    elements = zip(row.tolist(), vector.tolist(), combined, strict=True)
    lost = abs(sum((Fraction(e) * (Fraction(v) - c) for e, v, c in elements), Fraction(0)))
    sizes = [abs(cast(Fraction, part.weight)) * abs(Fraction(part.value)) for part in parts]
    sizes.append(abs(Fraction(cast(float, at.score(node)))))
    return lost + sum(sizes, Fraction(0)) / 2**53 + Fraction(len(sizes), 2**1075)


def _closeness(node: Apply, place: Place, at: AtRecord) -> Rule:
    matrix, vector = at.evaluation.scan(node) if at.score(node) is not None else (None, None)
    row = _row(cast(MatrixOperand, matrix), at.position)
    direction = cast(VectorOperand, vector).values
    if cast(MatrixOperand, matrix).space.distance is Distance.L2:
        return Rule("−√Σ(row − direction)²")
    product = float(exact.inner_products(row[np.newaxis], direction)[0])
    if cast(MatrixOperand, matrix).space.distance is Distance.INNER_PRODUCT:
        return Rule("the inner product of row and direction", (("inner product", product),))
    sizes = (("row length", float(lengths(row[np.newaxis])[0])), ("direction length", float(exact.norm(direction))))
    return Rule("inner product / (row length · direction length)", (("inner product", product), *sizes))


def _days_since(node: Apply, place: Place, at: AtRecord) -> Rule:
    at.score(node)
    column = cast(ColumnOperand, at.evaluation.value(node.arguments[0]))
    day = str(column.values[int(np.searchsorted(column.positions, at.position))])
    reference = cast(str, at.evaluation.value(node.arguments[1]))
    return Rule("days from day to reference", (("day", day), ("reference", reference)))


def _retrieved(node: Retrieve, at: AtRecord) -> Rule:
    found = _whole(node, at)
    rank = rank_in(found, at.position)
    return Rule("as retrieved", (("rank", cast(int, rank)), ("results", len(found.positions))))


_RULES: Mapping[str, Callable[[Apply, Place, AtRecord], Rule]] = {
    "minmax": _minmax,
    "maxnorm": _maxnorm,
    "zscore": _zscore,
    "softmax": _softmax,
    "ranks": _ranks,
    "rrf": _rrf,
    "mmr": _mmr,
    "@": _scan,
    "closeness": _closeness,
    "days_since": _days_since,
}
