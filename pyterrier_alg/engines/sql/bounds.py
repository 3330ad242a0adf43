"""How far a database's scores may be from the defined ones: ranges and errors, carried through a program's arithmetic.

An operator that a database computes as the algebra defines it, on values that are the defined ones, adds no error: it
is the same IEEE operation. After the first error, each operation widens it by what it does to real numbers and by its
two roundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np

from pyterrier_alg import exact
from pyterrier_alg.algebra.checking import Checked
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Retrieve, fold
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.collection.operands import MatrixOperand, RelationOperand, Rows, Scope, Scores
from pyterrier_alg.engines.demand import fault, shown
from pyterrier_alg.engines.sql.dialects import Dialect
from pyterrier_alg.engines.values import matrix_value, number_value, vector_value
from pyterrier_alg.engines.vectorised import mask_positions

_MOST = 1.7976931348623157e308
#: What the algebra lets two engines' exp, log1p, sigmoid, softmax and decay differ by, twice.
_FUNCTION = 2.0**-49
#: Both roundings of one operation, the database's and the definition's.
_ROUNDING = 2.0**-52


@dataclass(frozen=True, slots=True)
class Range:
    """What is known of a step before it runs.

    Attributes:
        low: no score is lower, neither the defined nor the database's.
        high: none is higher.
        error: how far the database's score may be from the defined one; inf where nothing can be said.
        settled: whether the records are the defined ones.
    """

    low: float = 0.0
    high: float = 0.0
    error: float = 0.0
    settled: bool = True

    @property
    def size(self) -> float:
        """No score is larger in size."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_defined(self) -> bool:
        """Whether records and scores are the defined ones."""
        return self.settled and self.error == 0


class Norms:
    """Norms of matrices, each computed once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: WeakKeyDictionary[MatrixOperand, tuple[float, float]] = WeakKeyDictionary()

    def __call__(self, matrix: MatrixOperand) -> tuple[float, float]:
        """The largest norm of a row, and how far any is from 1; both from above."""
        if matrix not in self._known:
            squares = np.einsum("ij,ij->i", matrix.rows, matrix.rows, dtype=np.float64)
            norms, slack = np.sqrt(squares), 1.0 + (matrix.space.dimensions + 8) * 2.0**-52
            largest = float(norms.max(initial=0.0)) * slack
            self._known[matrix] = largest, float(np.abs(norms - 1.0).max(initial=0.0)) + largest * (slack - 1.0)
        return self._known[matrix]


class Look(Protocol):
    """What a run shows of the data."""

    def vector(self, node: Expression) -> Rows:
        """The vector of a scan."""

    def search(self, node: Retrieve) -> Scores:
        """The scores of a search."""

    def measure(self, node: Expression) -> Range | None:
        """The extremes of a relation in the database, all of whose scores must be finite; None where it is empty."""


def ranges(
    formula: Formula,
    scope: Scope,
    checked: Checked,
    dialect: Dialect,
    norms: Norms,
    look: Look,
) -> Mapping[Expression, Range]:
    """What is known of each step of a formula before it runs.

    Args:
        formula: sound.
        scope: its operands.
        checked: what the checker found.
        dialect: the database's, which says how far its scans may be off.
        norms: of matrices.
        look: looks at the data.

    Returns:
        Ranges, by expression.

    Raises:
        EvaluationError: what only the data shows, the first that an evaluation in order meets.
    """
    return _Propagation(formula, scope, checked, dialect, norms, look).run()


@dataclass
class _Propagation:
    formula: Formula
    scope: Scope
    checked: Checked
    dialect: Dialect
    norms: Norms
    look: Look

    def run(self) -> Mapping[Expression, Range]:
        memo: dict[Expression, Range] = {}
        for name, expression in self.formula.steps:
            memo[Name(name)] = fold(expression, self.visit, memo)
            if self.kind(expression) is Kind.VECTOR:
                # For its complaint, in its turn.
                vector_value(expression, self.scope, self.formula)
        fold(self.formula.result, self.visit, memo)
        return memo

    def visit(self, node: Expression, below: Sequence[Range]) -> Range:
        kind = self.kind(node)
        if kind is Kind.NUMBER:
            return self.number(node, below)
        if kind not in (Kind.RELATION, Kind.MASK):
            return Range()
        if isinstance(node, Retrieve):
            return _of_scores(self.look.search(node))
        if isinstance(node, Name):
            operand = self.scope.operands[node.name]
            return _of_scores(operand.scores) if isinstance(operand, RelationOperand) else Range()
        node = cast(Apply, node)
        known = self.apply(node, below[: len(node.arguments)])
        if kind is Kind.RELATION and not (-_MOST <= known.low and known.high <= _MOST):
            # Of scores that are the defined ones, the database's extremes are; of others nothing is known.
            seen = self.look.measure(node) or Range()
            known = replace(known, low=seen.low, high=seen.high, error=0.0 if known.error == 0 else math.inf)
        return known

    def kind(self, node: Expression) -> Kind:
        found = self.checked.types.get(node)
        return found.kind if found is not None else Kind.NUMBER

    def number(self, node: Expression, below: Sequence[Range]) -> Range:
        if isinstance(node, Apply):
            known = _FUNCTIONS["neg"](below[0]) if node.operator == "neg" else _ARITHMETIC[node.operator](*below)
            if known.low == known.high and math.isfinite(known.low):
                return known
        value = number_value(node, self.scope, self.formula)
        return Range(value, value)

    def apply(self, node: Apply, below: Sequence[Range]) -> Range:
        operator = node.operator
        if operator in ("@", "closeness"):
            return self.scan(node)
        if operator in _ARITHMETIC:
            return _ARITHMETIC[operator](*below)
        if operator in _FUNCTIONS:
            return _FUNCTIONS[operator](*below)
        if operator == "maxnorm":
            return self.maxnorm(node, below[0])
        if operator in _RESCALINGS:
            inner = _RESCALINGS[operator](below[0], len(self.scope.docnos))
            return inner if below[0].is_defined else replace(inner, error=math.inf, settled=below[0].settled)
        settled = all(part.settled for part in below)
        match operator:
            case ">>":
                return replace(below[1], settled=settled)
            case "fill":
                low, high = min(below[0].low, below[1].low), max(below[0].high, below[1].high)
                return Range(low, high, below[1].error if settled else math.inf)
            case "top" | "per":
                return replace(below[-1], settled=all(part.is_defined for part in below))
            case "rrf":
                return self.rrf(node, below)
            case "ids":
                # For its complaint about unknown records.
                mask_positions(self.formula, node, self.scope)
            case "days_since":
                return Range(-4e6, 4e6)
            case ">=" | ">" | "<=" | "<" | "isin":
                return Range(settled=all(part.is_defined for part in below))
        return Range(settled=settled)

    def scan(self, node: Apply) -> Range:
        matrix, vector = matrix_value(node.arguments[0], self.scope, self.formula), self.look.vector(node)
        largest, uneven = self.norms(matrix)
        if node.operator == "@":
            size = largest * exact.norm(vector) * 1.001
            return Range(-size, size, self.dialect.product_bound(matrix.space, largest, uneven, vector))
        error = self.dialect.closeness_bound(matrix.space, largest, uneven, vector)
        size = (largest + exact.norm(vector)) if matrix.is_l2 else max(1.0, largest * exact.norm(vector))
        return Range(-size * 1.001, size * 1.001, error)

    def maxnorm(self, node: Apply, s: Range) -> Range:
        seen = s if s.low > 0 else self.look.measure(node.arguments[0])
        if seen is None:
            return Range(settled=s.settled)
        if seen.high <= 0:
            message = f"the largest score in {shown(node)} is {seen.high!r}, maxnorm needs a positive one"
            raise fault("nonpositive_maximum", message, node, self.formula)
        low = seen.low / seen.high if seen.low < 0 else 0.0
        return Range(low, 1.0) if s.is_defined else Range(-math.inf if low else 0.0, 1.0, math.inf, s.settled)

    def rrf(self, node: Apply, below: Sequence[Range]) -> Range:
        given = {option.name: option.default for option in OPERATORS["rrf"].options} | dict(node.options)
        k = float(cast(Count, given["k"]).digits)
        high = len(below) / (k + 1.0)
        if not all(part.is_defined for part in below):
            return Range(0.0, high, math.inf, settled=False)
        # One term is exact and two are rounded once, however they are added up.
        return Range(0.0, high, 0.0 if len(below) <= 2 else len(below) * _ROUNDING * high)


def _of_scores(scores: Scores) -> Range:
    return Range(float(scores.min(initial=math.inf)), float(scores.max(initial=-math.inf))) if len(scores) else Range()


def _rounded(low: float, high: float, error: float, *operands: Range) -> Range:
    """A range widened by the roundings of an operation that works on what is off already."""
    settled = all(o.settled for o in operands)
    if any(math.isnan(end) for end in (low, high)):
        low, high = -math.inf, math.inf
    if error == 0:
        return Range(low, high, 0.0, settled)
    wide = error * (1.0 + 2.0**-48) + _ROUNDING * (max(abs(low), abs(high)) + error) + 2.0**-1070
    return Range(low, high, wide if not math.isnan(wide) else math.inf, settled)


def _add(a: Range, b: Range) -> Range:
    return _rounded(a.low + b.low, a.high + b.high, a.error + b.error, a, b)


def _subtract(a: Range, b: Range) -> Range:
    return _rounded(a.low - b.high, a.high - b.low, a.error + b.error, a, b)


def _multiply(a: Range, b: Range) -> Range:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    error = 0.0
    if a.error or b.error:
        error = a.size * b.error + b.size * a.error + a.error * b.error
    return _rounded(min(ends), max(ends), error, a, b)


def _divide(a: Range, c: Range) -> Range:
    ends = (a.low / c.low, a.high / c.low) if c.low else (-math.inf, math.inf)
    return _rounded(min(ends), max(ends), a.error / abs(c.low) if c.low else math.inf, a)


def _monotone(function: Callable[[float], float], steepness: Callable[[Range], float]) -> Callable[..., Range]:
    """The rule of a function that is not IEEE's, increasing, with a largest slope over a range."""

    def rule(s: Range) -> Range:
        low, high = function(s.low), function(s.high)
        stretched = steepness(s) * s.error if s.error else 0.0
        size = max(abs(low), abs(high))
        error = stretched * (1.0 + 2.0**-40) + _FUNCTION * size if math.isfinite(size) else math.inf
        return Range(low, high, error if not math.isnan(error) else math.inf, s.settled)

    return rule


def _exp(value: float) -> float:
    try:
        # A little more than any database's own.
        return math.exp(value) * (1.0 + 1e-12)
    except OverflowError:
        return math.inf


def _log1p(value: float) -> float:
    return math.log1p(value) if value > -1.0 else -math.inf


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + _exp(-value))


def _abs(s: Range) -> Range:
    low = 0.0 if s.low <= 0 <= s.high else min(abs(s.low), abs(s.high))
    return replace(s, low=low, high=s.size)


def _clip(low: Range, high: Range, s: Range) -> Range:
    return replace(s, low=min(max(s.low, low.low), high.low), high=min(max(s.high, low.low), high.low))


def _decay(age: Range, half_life: Range) -> Range:
    slope = math.log(2.0) / half_life.low if half_life.low > 0 else math.inf
    return Range(0.0, 1.0, (slope * age.error if age.error else 0.0) * 1.001 + _FUNCTION, age.settled)


def _recip_decay(age: Range, scale: Range) -> Range:
    slope = 1.0 / scale.low if scale.low > 0 else math.inf
    return _rounded(0.0, 1.0, slope * age.error * 1.001 if age.error else 0.0, age)


def _minmax(s: Range, _: int) -> Range:
    # An overflow of the difference would show as what is not finite, or as 0.
    return Range(0.0, 1.0) if s.high - s.low <= _MOST else Range(-math.inf, math.inf)


def _zscore(_: Range, __: int) -> Range:
    # Whether the deviation overflows or vanishes hangs on how scores lie, which a range does not tell: the run looks.
    return Range(-math.inf, math.inf, math.inf)


def _softmax(_: Range, records: int) -> Range:
    return Range(0.0, 1.0, (records + 16) * 2.0**-51)


_ARITHMETIC: Mapping[str, Callable[..., Range]] = {"+": _add, "-": _subtract, "*": _multiply, "/": _divide}
_FUNCTIONS: Mapping[str, Callable[..., Range]] = {
    "neg": lambda s: replace(s, low=-s.high, high=-s.low),
    "abs": _abs,
    "clip": _clip,
    "decay": _decay,
    "recip_decay": _recip_decay,
    "exp": _monotone(_exp, lambda s: _exp(s.high + s.error)),
    "log1p": _monotone(_log1p, lambda s: 1.0 / (1.0 + s.low - s.error) if s.low - s.error > -1.0 else math.inf),
    "sigmoid": _monotone(_sigmoid, lambda s: 0.25),
}
_RESCALINGS: Mapping[str, Callable[[Range, int], Range]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "softmax": _softmax,
    "ranks": lambda s, records: Range(1.0, max(1.0, records)),
}
