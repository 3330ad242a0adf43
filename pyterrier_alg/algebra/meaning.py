"""What every operator means, in plain Python: the definition that engines are tested against.

Values are what one would write on paper: a number is a float, a text a str, a relation a dict from docno to score, a
mask a frozenset of docnos, a retriever a function. Nothing here is fast and nothing is clever. The rules of arithmetic:

- elements of rows and vectors are float32 values, each vector operator computes in float64 and rounds to float32;
- every sum is exact and rounded once (`math.fsum`); all else is one float64 operation after the other; −0 is 0;
- a step that is not finite is an error.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from pyterrier_alg.algebra.errors import AlgebraError, Diagnostic, EvaluationError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text, fold
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.algebra.operators import OPERATORS

Relation: TypeAlias = dict[str, float]
Mask: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class Vector:
    """A point or direction: float32 values, of a space."""

    values: tuple[float, ...]
    space: Space


@dataclass(frozen=True)
class Matrix:
    """One row a record, not necessarily for every record, and the space's query encoder where there is one."""

    rows: Mapping[str, tuple[float, ...]]
    space: Space
    encode: Callable[[str], tuple[float, ...]] | None = None


@dataclass(frozen=True)
class Column:
    """A text or date column; days are in ISO form, so that they compare as texts do."""

    values: Mapping[str, str]


#: From a text and a depth (None: the retriever's own) to its results.
Retriever: TypeAlias = Callable[[str, int | None], Relation]
Value: TypeAlias = float | str | int | Vector | Matrix | Relation | Mask | Column | Retriever


@dataclass(frozen=True)
class World:
    """All that a formula may name.

    Attributes:
        records: the collection's docnos.
        operands: by name, `query`, `query_vec`, `now`, `all` and `input` among them where they are bound.
    """

    records: tuple[str, ...]
    operands: Mapping[str, Value]


def evaluate(formula: Formula, world: World) -> Relation:
    """The relation that a formula means.

    Args:
        formula: sound for the world.
        world: the records and operands.

    Returns:
        Docno to score, in rank order.

    Raises:
        EvaluationError: `non_finite`, `unknown_record`, `empty_centroid`, `zero_vector`, `nonpositive_maximum`, or
            what an encoder or a retriever says.

    Example:
        >>> evaluate(parse("m >> S + 1"), World(("a", "b"), {"S": {"a": 1.0, "b": 2.0}, "m": frozenset("b")}))
        {'b': 3.0}
    """
    result = values(formula, world)[-1]
    return dict(ranked(result)) if isinstance(result, dict) else {}


def values(formula: Formula, world: World) -> list[Any]:
    """What every step means, and the result last, in the order of the formula."""
    known: dict[str, Value] = dict(world.operands)
    memo: dict[Expression, Any] = {}
    found = []
    for name, expression in (*formula.steps, ("", formula.result)):
        value = fold(expression, lambda node, below: _mean(node, below, world, known, formula), memo)
        found.append(value)
        known[name] = value
    return found


def ranked(relation: Relation) -> list[tuple[str, float]]:
    """Records and scores in rank order: score descending, then docno ascending by code point."""
    return sorted(relation.items(), key=lambda record: (-record[1], record[0]))


def _mean(node: Expression, below: Sequence[Any], world: World, known: Mapping[str, Value], formula: Formula) -> Any:
    """What one node means, given what its parts mean; a fault names the node and its place."""
    try:
        return _finite(node, _value(node, below, world, known))
    except EvaluationError:
        raise
    except AlgebraError as error:
        diagnostic = Diagnostic(error.code, f"{node!r}: {error.message}", node.span, error.hint)
        raise EvaluationError([diagnostic], formula.source or formula.ascii) from None


def _value(node: Expression, below: Sequence[Any], world: World, known: Mapping[str, Value]) -> Any:
    match node:
        case Number(value=number):
            return number
        case Text(value=text):
            return text
        case Count():
            return node.value
        case Name(name=name):
            return known[name]
        case Retrieve(retriever=name):
            search: Any = known[name]
            return search(*below) if len(below) == 2 else search(below[0], None)
        case Apply(operator=key, arguments=arguments, options=options):
            entry = OPERATORS[key]
            given = {option.name: _literal(option.default) for option in entry.options}
            given |= {name: below[len(arguments) + i] for i, (name, _) in enumerate(options)}
            return MEANINGS[key](world, *below[: len(arguments)], **given)
    raise TypeError(node)


def _literal(default: Expression) -> float:
    return default.value if isinstance(default, Number | Count) else math.nan


def _finite(node: Expression, value: Any) -> Any:
    """The value with 0 for −0, or an error that names the record whose score is not finite."""
    if isinstance(value, float):
        value = {"": value}
        return _finite(node, value)[""]
    if isinstance(value, dict):
        for docno, score in value.items():
            if not math.isfinite(score):
                raise AlgebraError("non_finite", f"the score is {score} for {docno!r}" if docno else f"it is {score}")
        return {docno: score + 0.0 for docno, score in value.items()}
    if isinstance(value, Vector) and not all(map(math.isfinite, value.values)):
        raise AlgebraError("non_finite", "it leaves the range of float32")
    return value


# Arithmetic: an inner join of relations, a number meets every record, vectors meet element by element.


def _pointwise(compute: Callable[..., float]) -> Callable[..., Any]:
    def apply(world: World, *arguments: Any) -> Any:
        relations = [a for a in arguments if isinstance(a, dict)]
        vectors = [a for a in arguments if isinstance(a, Vector)]
        if vectors:
            rows = zip(
                *(a.values if isinstance(a, Vector) else [a] * len(vectors[0].values) for a in arguments), strict=True
            )
            return Vector(tuple(_single(compute(*row)) for row in rows), vectors[0].space)
        if not relations:
            return compute(*arguments)
        both = [d for d in relations[0] if all(d in other for other in relations)]
        return {d: compute(*(a[d] if isinstance(a, dict) else a for a in arguments)) for d in both}

    return apply


def _single(value: float) -> float:
    """Rounded to float32; infinite where it is too large for that."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0]) + 0.0
    except OverflowError:
        return math.copysign(math.inf, value)


def _guarded(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function of `math` that gives infinity or NaN, as IEEE arithmetic does, where Python raises."""

    def compute(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return compute


_exp = _guarded(math.exp)


def _power_of_two(exponent: float) -> float:
    return _guarded(lambda x: math.pow(2.0, x))(exponent)


def _inner_product(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(map(operator.mul, a, b))


def _norm(v: Sequence[float]) -> float:
    return math.sqrt(_inner_product(v, v))


# Scans and vectors.


def _direction(matrix: Matrix, v: Vector | str) -> Vector:
    if isinstance(v, Vector):
        return v
    if matrix.encode is None:
        raise AlgebraError("missing_encoder", f"the space {matrix.space.name} has no query encoder here")
    return Vector(matrix.encode(v), matrix.space)


def _scan(world: World, matrix: Matrix, v: Vector | str) -> Relation:
    direction = _direction(matrix, v).values
    return {docno: _inner_product(row, direction) for docno, row in matrix.rows.items()}


def _closeness(world: World, matrix: Matrix, v: Vector | str) -> Relation:
    """Cosine (the inner product over the product of both lengths, 0 where that is 0), inner product, or −distance.

    A distance is the root of the exact sum of squared differences, each difference one operation.
    """
    direction = _direction(matrix, v)
    if matrix.space.distance is Distance.L2:
        return {docno: -_distance(row, direction.values) for docno, row in matrix.rows.items()}
    scores = _scan(world, matrix, direction)
    if matrix.space.distance is Distance.INNER_PRODUCT:
        return scores
    lengths = {docno: _norm(matrix.rows[docno]) * _norm(direction.values) for docno in scores}
    return {docno: score / lengths[docno] if lengths[docno] else 0.0 for docno, score in scores.items()}


def _distance(a: Sequence[float], b: Sequence[float]) -> float:
    differences = list(map(operator.sub, a, b))
    return math.sqrt(math.fsum(map(operator.mul, differences, differences)))


def _row(world: World, matrix: Matrix, docno: str) -> Vector:
    if docno not in matrix.rows:
        raise AlgebraError("unknown_record", f"there is no row for {docno!r}")
    return Vector(matrix.rows[docno], matrix.space)


def _unit(world: World, v: Vector) -> Vector:
    length = _norm(v.values)
    if length == 0:
        raise AlgebraError("zero_vector", "a zero vector has no direction")
    return Vector(tuple(_single(x / length) for x in v.values), v.space)


def _centroid(world: World, matrix: Matrix, m: Mask) -> Vector:
    rows = [matrix.rows[docno] for docno in matrix.rows if docno in m]
    if not rows:
        raise AlgebraError("empty_centroid", "the mask holds no record that the matrix covers")
    return Vector(tuple(_single(math.fsum(column) / len(rows)) for column in zip(*rows, strict=True)), matrix.space)


# Domains and masks.


def _restrict(world: World, m: Mask, s: Relation) -> Relation:
    return {docno: score for docno, score in s.items() if docno in m}


def _fill(world: World, c: float, s: Relation) -> Relation:
    return {docno: s.get(docno, c) for docno in world.records}


def _support(world: World, x: Relation | Column) -> Mask:
    return frozenset(x.values if isinstance(x, Column) else x)


def _ids(world: World, *docnos: str) -> Mask:
    for docno in docnos:
        if docno not in world.records:
            raise AlgebraError("unknown_record", f"the collection has no record {docno!r}")
    return frozenset(docnos)


def _held(x: Relation | Column) -> Mapping[str, Any]:
    return x.values if isinstance(x, Column) else x


def _comparison(holds: Callable[[Any, Any], bool]) -> Callable[..., Mask]:
    return lambda world, x, c: frozenset(docno for docno, value in _held(x).items() if holds(value, c))


def _isin(world: World, x: Relation | Column, *wanted: Any) -> Mask:
    return frozenset(docno for docno, value in _held(x).items() if value in wanted)


# Selections.


def _top(world: World, k: int, s: Relation) -> Relation:
    return dict(ranked(s)[:k])


def _per(world: World, n: int, group: Relation | Column, s: Relation) -> Relation:
    taken: dict[Any, int] = {}
    kept = {}
    for docno, score in ranked(s):
        if docno in _held(group):
            value = _held(group)[docno]
            taken[value] = taken.get(value, 0) + 1
            if taken[value] <= n:
                kept[docno] = score
    return kept


def _ranks(world: World, s: Relation) -> Relation:
    return {docno: float(rank) for rank, (docno, _) in enumerate(ranked(s), start=1)}


def _rrf(world: World, *relations: Relation, k: float, depth: int) -> Relation:
    """The sum of 1 / (k + rank) over the relations whose first `depth` hold the record."""
    terms: dict[str, list[float]] = {}
    for relation in relations:
        for rank, (docno, _) in enumerate(ranked(relation)[:depth], start=1):
            terms.setdefault(docno, []).append(1.0 / (float(k) + rank))
    return {docno: math.fsum(of_docno) for docno, of_docno in terms.items()}


def _mmr(world: World, k: int, s: Relation, matrix: Matrix, relevance: float) -> Relation:
    """Carbonell and Goldstein (1998), where a negative likeness earns nothing."""
    left = {docno: 0.0 for docno in sorted(s) if docno in matrix.rows}
    chosen: Relation = {}
    while left and len(chosen) < k:
        worth = {d: relevance * s[d] - (1.0 - relevance) * likeness + 0.0 for d, likeness in left.items()}
        best = ranked(worth)[0][0]
        chosen[best] = worth[best]
        del left[best]
        for docno, likeness in left.items():
            left[docno] = max(likeness, _inner_product(matrix.rows[docno], matrix.rows[best]))
    return chosen


# Rescalings, each over the relation's own domain; an empty relation stays empty.


def _rescaling(compute: Callable[[list[float]], Iterable[float]]) -> Callable[[World, Relation], Relation]:
    return lambda world, s: dict(zip(s, compute(list(s.values())), strict=True)) if s else {}


def _minmax(scores: list[float]) -> list[float]:
    low, high = min(scores), max(scores)
    return [1.0 if low == high else (x - low) / (high - low) for x in scores]


def _maxnorm(scores: list[float]) -> list[float]:
    high = max(scores)
    if high <= 0:
        raise AlgebraError("nonpositive_maximum", f"the largest score is {high}, maxnorm needs a positive one")
    return [x / high for x in scores]


def _zscore(scores: list[float]) -> list[float]:
    """Over the population: mean and variance are exact sums over n."""
    if min(scores) == max(scores):
        return [0.0] * len(scores)
    mean = math.fsum(scores) / len(scores)
    distances = [x - mean for x in scores]
    deviation = math.sqrt(math.fsum(x * x for x in distances) / len(scores))
    return [x / deviation if deviation else math.nan for x in distances]


def _softmax(scores: list[float]) -> list[float]:
    powers = [_exp(x - max(scores)) for x in scores]
    whole = math.fsum(powers)
    return [x / whole for x in powers]


def _days_since(world: World, x: Column, reference: str) -> Relation:
    day = date.fromisoformat(reference)
    return {docno: float((day - date.fromisoformat(value)).days) for docno, value in x.values.items()}


#: The definition of each entry of the operator table: from the world and the values of the arguments to a value.
MEANINGS: Mapping[str, Callable[..., Any]] = {
    "@": _scan,
    "neg": _pointwise(operator.neg),
    "~": lambda world, m: frozenset(world.records) - m,
    "*": _pointwise(operator.mul),
    "/": _pointwise(operator.truediv),
    "+": _pointwise(operator.add),
    "-": _pointwise(operator.sub),
    ">=": _comparison(operator.ge),
    ">": _comparison(operator.gt),
    "<=": _comparison(operator.le),
    "<": _comparison(operator.lt),
    "&": lambda world, m, n: m & n,
    "|": lambda world, m, n: m | n,
    ">>": _restrict,
    "top": _top,
    "per": _per,
    "fill": _fill,
    "support": _support,
    "ids": _ids,
    "isin": _isin,
    "minmax": _rescaling(_minmax),
    "maxnorm": _rescaling(_maxnorm),
    "zscore": _rescaling(_zscore),
    "softmax": _rescaling(_softmax),
    "sigmoid": _pointwise(lambda x: 1.0 / (1.0 + _exp(-x))),
    "log1p": _pointwise(_guarded(math.log1p)),
    "exp": _pointwise(_exp),
    "abs": _pointwise(abs),
    "clip": _pointwise(lambda lo, hi, x: min(max(x, lo), hi)),
    "ranks": _ranks,
    "rrf": _rrf,
    "mmr": _mmr,
    "decay": _pointwise(lambda age, half_life: _power_of_two(-(max(age, 0.0) / half_life))),
    "recip_decay": _pointwise(lambda age, scale: 1.0 / (1.0 + max(age, 0.0) / scale)),
    "days_since": _days_since,
    "closeness": _closeness,
    "row": _row,
    "encode": lambda world, matrix, text: _direction(matrix, text),
    "centroid": _centroid,
    "unit": _unit,
}
