"""What every operator means, in plain Python: the definition that engines are tested against.

Values are what one would write on paper: a number is a float, a text a str, a relation a dict from docno to score, a
mask a frozenset of docnos, a retriever a function. Nothing here is fast and nothing is clever. Three rules hold:

- Every sum is exact and rounded once (`math.fsum`). All else is one float64 operation after the other, in the order in
  which it is written here.
- After each operator −0 is 0, each element of a vector is rounded to float32, and what is not finite is an error.
- Rank order is score descending, then docno ascending by code point.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from pyterrier_alg.algebra.kinds import Distance, Space

Records: TypeAlias = tuple[str, ...]
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
Value: TypeAlias = float | str | Vector | Matrix | Relation | Mask | Column | Retriever


class Fault(Exception):  # noqa: N818
    """An error that does not know its place in a program yet.

    Attributes:
        code: of the contract's list.
        message: one line.
        argument: the argument that is to blame, by its number; None for the operator itself.
        hint: how to mend it.
    """

    def __init__(self, code: str, message: str, argument: int | None = None, hint: str = "") -> None:
        """Keep the parts."""
        super().__init__(code, message)
        self.code, self.message, self.argument, self.hint = code, message, argument, hint


def ranked(relation: Relation) -> list[tuple[str, float]]:
    """Records and scores in rank order: score descending, then docno ascending by code point."""
    return sorted(relation.items(), key=lambda record: (-record[1], record[0]))


def finite(value: Value) -> Value:
    """A value after an operator, with 0 for −0 and elements of vectors rounded to float32.

    Raises:
        Fault: `non_finite`, naming the record (the first by code point) or the element.
    """
    match value:
        case float():
            if not math.isfinite(value):
                raise Fault("non_finite", f"it is {value}")
            return value + 0.0
        case dict():
            faulty = [docno for docno, score in value.items() if not math.isfinite(score)]
            if faulty:
                raise Fault("non_finite", f"the score of {min(faulty)!r} is {value[min(faulty)]}")
            return {docno: score + 0.0 for docno, score in value.items()}
        case Vector():
            return _rounded(value)
    return value


def _rounded(v: Vector) -> Vector:
    elements = tuple(map(_single, v.values))
    for place, element in enumerate(elements):
        if not math.isfinite(element):
            raise Fault("non_finite", f"element {place} leaves the range of float32")
    return Vector(elements, v.space)


def _single(value: float) -> float:
    """The nearest float32, ties to even; infinite where it is too large for that."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0]) + 0.0
    except OverflowError:
        return math.copysign(math.inf, value)


# Arithmetic: an inner join of relations, a number meets every record, vectors meet element by element.


def _pointwise(compute: Callable[..., float]) -> Callable[..., Any]:
    """From a function of floats: each record's own scores, or each element, and the numbers as they are."""

    def apply(records: Records, *arguments: Any) -> Any:
        relations = [a for a in arguments if isinstance(a, dict)]
        vectors = [a for a in arguments if isinstance(a, Vector)]
        if vectors:
            rows = zip(
                *(a.values if isinstance(a, Vector) else [a] * len(vectors[0].values) for a in arguments), strict=True
            )
            return Vector(tuple(compute(*row) for row in rows), vectors[0].space)
        if not relations:
            return compute(*arguments)
        both = [d for d in relations[0] if all(d in other for other in relations)]
        return {d: compute(*(a[d] if isinstance(a, dict) else a for a in arguments)) for d in both}

    return apply


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


def _sigmoid(x: float) -> float:
    """1 / (1 + exp(−x)), which is 0 where exp(−x) leaves float64 (x below −709.78)."""
    return 1.0 / (1.0 + _exp(-x))


def _decay(age: float, half_life: float) -> float:
    """2 to the power −(age / half_life); a negative age counts as 0."""
    return math.pow(2.0, -(max(age, 0.0) / half_life))


def _recip_decay(age: float, scale: float) -> float:
    """1 / (1 + age / scale); a negative age counts as 0."""
    return 1.0 / (1.0 + max(age, 0.0) / scale)


def _divide(x: float, c: float) -> float:
    if c == 0:
        raise Fault("division_by_zero", "division by zero", 1)
    return x / c


def _inner_product(a: Sequence[float], b: Sequence[float]) -> float:
    """Σab; products of float32 values are exact in float64, so that only the sum rounds."""
    return math.fsum(map(operator.mul, a, b))


def _norm(v: Sequence[float]) -> float:
    """√Σv²."""
    return math.sqrt(_inner_product(v, v))


# Scans and vectors.


def _encode(records: Records, matrix: Matrix, text: str) -> Vector:
    if matrix.encode is None:
        hint = "bind the matrix with an encoder, or use a vector"
        raise Fault("missing_encoder", f"the space {matrix.space.name} has no query encoder here", hint=hint)
    elements = tuple(matrix.encode(text))
    if len(elements) != matrix.space.dimensions:
        raise Fault("space", f"the encoder of {matrix.space} gave {len(elements)} dimensions")
    vector = _rounded(Vector(elements, matrix.space))
    # In an l2 space the origin is a point like any other.
    if matrix.space.distance is not Distance.L2 and not any(vector.values):
        raise Fault("zero_vector", f"the text {text!r} has no direction in {matrix.space}")
    return vector


def _direction(matrix: Matrix, v: Vector | str) -> Sequence[float]:
    return (v if isinstance(v, Vector) else _encode((), matrix, v)).values


def _scan(records: Records, matrix: Matrix, v: Vector | str) -> Relation:
    """Σev for each row e."""
    direction = _direction(matrix, v)
    return {docno: _inner_product(row, direction) for docno, row in matrix.rows.items()}


def _closeness(records: Records, matrix: Matrix, v: Vector | str) -> Relation:
    """Cosine: Σev / (√Σe² · √Σv²), 0 where v is zero. Inner product: Σev. L2: −√Σ(e − v)²."""
    direction = _direction(matrix, v)
    if matrix.space.distance is Distance.L2:
        return {docno: -_distance(row, direction) for docno, row in matrix.rows.items()}
    products = {docno: _inner_product(row, direction) for docno, row in matrix.rows.items()}
    if matrix.space.distance is Distance.INNER_PRODUCT:
        return products
    lengths = {docno: _norm(row) * _norm(direction) for docno, row in matrix.rows.items()}
    return {docno: product / lengths[docno] if lengths[docno] else 0.0 for docno, product in products.items()}


def _distance(a: Sequence[float], b: Sequence[float]) -> float:
    """√Σ(a − b)²; a difference and its square are one operation each."""
    differences = list(map(operator.sub, a, b))
    return math.sqrt(math.fsum(map(operator.mul, differences, differences)))


def _row(records: Records, matrix: Matrix, docno: str) -> Vector:
    if docno not in matrix.rows:
        raise Fault("unknown_record", f"there is no row for {docno!r}", 1)
    return Vector(matrix.rows[docno], matrix.space)


def _unit(records: Records, v: Vector) -> Vector:
    """Each element divided by √Σv²."""
    length = _norm(v.values)
    if length == 0:
        raise Fault("zero_vector", "a zero vector has no direction")
    return Vector(tuple(x / length for x in v.values), v.space)


def _centroid(records: Records, matrix: Matrix, m: Mask) -> Vector:
    """Each element is Σe / n over the n rows."""
    rows = [matrix.rows[docno] for docno in matrix.rows if docno in m]
    if not rows:
        raise Fault("empty_centroid", "the mask holds no record that the matrix covers")
    return Vector(tuple(math.fsum(column) / len(rows) for column in zip(*rows, strict=True)), matrix.space)


# Domains and masks.


def _ids(records: Records, *docnos: str) -> Mask:
    for place, docno in enumerate(docnos):
        if docno not in records:
            raise Fault("unknown_record", f"the collection has no record {docno!r}", place)
    return frozenset(docnos)


def _held(x: Relation | Column) -> Mapping[str, Any]:
    return x.values if isinstance(x, Column) else x


def _comparison(holds: Callable[[Any, Any], bool]) -> Callable[..., Mask]:
    return lambda records, x, c: frozenset(docno for docno, value in _held(x).items() if holds(value, c))


# Selections.


def _per(records: Records, n: int, group: Relation | Column, s: Relation) -> Relation:
    taken: dict[Any, int] = {}
    kept = {}
    for docno, score in ranked(s):
        if docno in _held(group):
            value = _held(group)[docno]
            taken[value] = taken.get(value, 0) + 1
            if taken[value] <= n:
                kept[docno] = score
    return kept


def _ranks(records: Records, s: Relation) -> Relation:
    return {docno: float(rank) for rank, (docno, _) in enumerate(ranked(s), start=1)}


def _rrf(records: Records, *relations: Relation, k: float, depth: int) -> Relation:
    """The sum of 1 / (k + rank) over the relations whose first `depth` hold the record."""
    terms: dict[str, list[float]] = {}
    for relation in relations:
        for rank, (docno, _) in enumerate(ranked(relation)[:depth], start=1):
            terms.setdefault(docno, []).append(1.0 / (float(k) + rank))
    return {docno: math.fsum(of_docno) for docno, of_docno in terms.items()}


def _mmr(records: Records, k: int, s: Relation, matrix: Matrix, relevance: float) -> Relation:
    """K times the record of greatest relevance · x − (1 − relevance) · max(0, largest Σee′ with those chosen).

    Carbonell and Goldstein (SIGIR 1998), where a negative likeness earns nothing.
    """
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


def retrieve(records: Records, search: Retriever, text: str, depth: int | None = None) -> Relation:
    """A retriever's own results, at its own default depth where none is stated.

    Raises:
        Fault: `unknown_record`, where it gives one that the collection does not have.
    """
    found = dict(search(text, depth))
    unknown = found.keys() - set(records)
    if unknown:
        raise Fault("unknown_record", f"the retriever gave {min(unknown)!r}, which the collection does not have")
    return found


# Rescalings, each over the relation's own domain; an empty relation stays empty.


def _rescaling(compute: Callable[[list[float]], Iterable[float]]) -> Callable[[Records, Relation], Relation]:
    return lambda records, s: dict(zip(s, compute(list(s.values())), strict=True)) if s else {}


def _minmax(scores: list[float]) -> list[float]:
    """(x − min) / (max − min); 1 where all are equal."""
    low, high = min(scores), max(scores)
    return [1.0 if low == high else (x - low) / (high - low) for x in scores]


def _maxnorm(scores: list[float]) -> list[float]:
    high = max(scores)
    if high <= 0:
        raise Fault("nonpositive_maximum", f"the largest score is {high}, maxnorm needs a positive one")
    return [x / high for x in scores]


def _zscore(scores: list[float]) -> list[float]:
    """(x − mean) / deviation, mean = Σx / n, deviation = √(Σ(x − mean)² / n); 0 where all are equal.

    Scores that differ, but by nothing or by more than float64 can hold, have no z-scores: NaN, and so an error.
    """
    if min(scores) == max(scores):
        return [0.0] * len(scores)
    mean = _sum(scores) / len(scores)
    distances = [x - mean for x in scores]
    deviation = math.sqrt(_sum([x * x for x in distances]) / len(scores))
    return [x / deviation if 0 < deviation < math.inf else math.nan for x in distances]


def _sum(terms: list[float]) -> float:
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.inf


def _softmax(scores: list[float]) -> list[float]:
    """Each e = exp(x − max) over Σe."""
    high = max(scores)
    powers = [_exp(x - high) for x in scores]
    whole = math.fsum(powers)
    return [e / whole for e in powers]


def _days_since(records: Records, x: Column, reference: str) -> Relation:
    day = date.fromisoformat(reference)
    return {docno: float((day - date.fromisoformat(value)).days) for docno, value in x.values.items()}


#: The definition of each entry of the operator table: from the records and the values of arguments to a value.
MEANINGS: Mapping[str, Callable[..., Value]] = {
    "@": _scan,
    "neg": _pointwise(operator.neg),
    "~": lambda records, m: frozenset(records) - m,
    "*": _pointwise(operator.mul),
    "/": _pointwise(_divide),
    "+": _pointwise(operator.add),
    "-": _pointwise(operator.sub),
    ">=": _comparison(operator.ge),
    ">": _comparison(operator.gt),
    "<=": _comparison(operator.le),
    "<": _comparison(operator.lt),
    "&": lambda records, m, n: m & n,
    "|": lambda records, m, n: m | n,
    ">>": lambda records, m, s: {docno: score for docno, score in s.items() if docno in m},
    "top": lambda records, k, s: dict(ranked(s)[:k]),
    "per": _per,
    "fill": lambda records, c, s: {docno: s.get(docno, c) for docno in records},
    "support": lambda records, x: frozenset(_held(x)),
    "ids": _ids,
    "isin": lambda records, x, *wanted: frozenset(docno for docno, v in _held(x).items() if v in wanted),
    "minmax": _rescaling(_minmax),
    "maxnorm": _rescaling(_maxnorm),
    "zscore": _rescaling(_zscore),
    "softmax": _rescaling(_softmax),
    "sigmoid": _pointwise(_sigmoid),
    "log1p": _pointwise(_guarded(math.log1p)),
    "exp": _pointwise(_exp),
    "abs": _pointwise(abs),
    "clip": _pointwise(lambda lo, hi, x: min(max(x, lo), hi)),
    "ranks": _ranks,
    "rrf": _rrf,
    "mmr": _mmr,
    "decay": _pointwise(_decay),
    "recip_decay": _pointwise(_recip_decay),
    "days_since": _days_since,
    "closeness": _closeness,
    "row": _row,
    "encode": _encode,
    "centroid": _centroid,
    "unit": _unit,
}
