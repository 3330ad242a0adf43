"""Scores that are known up to an error: how a fast scan finds candidates without ever losing one.

Every function here keeps a promise about real numbers with float64 arithmetic. Writing u = 2^-53: the defined operator
rounds its result by at most u of it, and so does the same operator on the approximate values; the widening by `_GROWTH`
(2^-48 of the errors) and `_ROUNDING` (2^-50 of the value) covers both and the few roundings of the bound itself,
`_TINY` covers what underflows. Nothing overflows: `Unbounded` is raised first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyterrier_alg.collection.operands import MatrixOperand, Rows, Scores
from pyterrier_alg.engines.arithmetic import pointwise
from pyterrier_alg.exact import float32_scan_bound

#: Above this no bound is claimed; far enough below the largest float64 for any one more operation between two numbers.
LARGEST = 1e150

_GROWTH = 1.0 + 2.0**-48
_ROUNDING = 2.0**-50
_TINY = 1e-280
_INCREASING = frozenset({"exp", "log1p", "sigmoid"})
_DECREASING = frozenset({"decay", "recip_decay"})


class Unbounded(Exception):  # noqa: N818 - no error: the caller computes everything exactly instead
    """No useful bound can be given."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Scores of some records, each within its error of the defined one.

    Attributes:
        values: float64, one a record.
        errors: how far a value may lie from the defined score, one a record or one for all; None where it is the score.
        defined: which of the records are scored at all; None where all are.
    """

    values: Scores
    errors: Scores | float | None = None
    defined: npt.NDArray[np.bool_] | None = None

    def within(self, mask: npt.NDArray[np.bool_] | None) -> Bounds:
        """The same, undefined outside a mask."""
        return Bounds(self.values, self.errors, _both(self.defined, mask))

    def over(self, divisors: Scores) -> Bounds:
        """The quotient by a number for each record, not negative and known exactly; 0 where it is 0.

        Raises:
            Unbounded: where a divisor is too small for its quotient to be bounded.
        """
        zero = divisors == 0.0
        safe = np.where(zero, 1.0, divisors)
        with np.errstate(all="ignore"):
            values = np.where(zero, 0.0, self.values / safe)
            errors = np.asarray(0.0 if self.errors is None else self.errors) / safe * _GROWTH
            errors = np.where(zero, 0.0, errors + _ROUNDING * np.abs(values) + _TINY)
        if not _largest(errors, self.defined) < LARGEST:
            raise Unbounded
        return Bounds(values, errors, self.defined)

    def filled(self, c: float) -> Bounds:
        """The same, c where it was undefined."""
        if self.defined is None:
            return self
        errors = None if self.errors is None else np.where(self.defined, self.errors, 0.0)
        return Bounds(np.where(self.defined, self.values, c), errors)


@dataclass(frozen=True, eq=False)
class Direction:
    """A linear combination of inner products with one matrix, folded into one vector.

    For each row x, the defined score lies within `slack`·‖x‖ of x·vector, and neither is above `reach`·‖x‖ in size.

    Attributes:
        matrix: whose rows are meant.
        vector: float64, shape (dimensions,).
        reach: see above; at least the vector's norm.
        slack: see above.
    """

    matrix: MatrixOperand
    vector: Scores
    reach: float
    slack: float

    @classmethod
    def of(cls, matrix: MatrixOperand, vector: Rows) -> Direction:
        """The plain inner product with a float32 vector, whose defined score is rounded once."""
        values = vector.astype(np.float64)
        reach = _norm(values)
        return cls(matrix, values, reach, 2.0**-52 * reach)

    def scaled(self, c: float) -> Direction:
        """The defined score times c, rounded."""
        reach = abs(c) * self.reach * _GROWTH + _TINY
        slack = (abs(c) * self.slack + _ROUNDING * reach) * _GROWTH + _TINY
        return Direction(self.matrix, c * self.vector, _sane(reach), slack)

    def plus(self, other: Direction, sign: float) -> Direction:
        """The sum of two defined scores (the difference, for sign -1), rounded."""
        reach = (self.reach + other.reach) * _GROWTH
        slack = (self.slack + other.slack + _ROUNDING * reach) * _GROWTH + _TINY
        return Direction(self.matrix, self.vector + sign * other.vector, _sane(reach), slack)

    def error(self, vector: Rows, row_norm: float) -> float:
        """How far a float32 scan with `vector`, this direction's own in float32, may be from the defined scores."""
        # Rows too short for `_TINY` to count are taken as longer.
        row_norm = max(row_norm, 1e-30)
        lost = _norm(self.vector - vector)
        scan = float32_scan_bound(len(vector), row_norm, _norm(vector.astype(np.float64)))
        error = (scan + (lost + self.slack) * row_norm) * _GROWTH + _TINY
        if not error < LARGEST:
            raise Unbounded
        return error


def bounded(operator: str, arguments: Sequence[Bounds | float]) -> Bounds:
    """Apply a pointwise operator, carrying errors along.

    Args:
        operator: one of `POINTWISE`.
        arguments: aligned scores, and numbers.

    Returns:
        The result; exact, bit for bit the defined one, where all arguments are.

    Raises:
        Unbounded: where an error cannot be carried through.
    """
    defined = None
    for argument in arguments:
        if isinstance(argument, Bounds):
            defined = _both(defined, argument.defined)
    inexact = [a for a in arguments if isinstance(a, Bounds) and a.errors is not None]
    with np.errstate(all="ignore"):
        if operator in _INCREASING | _DECREASING and inexact:
            return _monotone(operator, arguments, inexact[0]).within(defined)
        values = pointwise(operator, [a.values if isinstance(a, Bounds) else a for a in arguments])
        if not inexact:
            return Bounds(values, None, defined)
        errors = _errors(operator, arguments) * _GROWTH + _ROUNDING * np.abs(values) + _TINY
    if not _largest(errors, defined) < LARGEST:
        raise Unbounded
    return Bounds(values, errors, defined)


def _errors(operator: str, arguments: Sequence[Bounds | float]) -> Scores:
    """How far exact arithmetic on the values may be from exact arithmetic on the defined scores."""
    sizes = [np.abs(a.values) if isinstance(a, Bounds) else np.float64(abs(a)) for a in arguments]
    errors = [0.0 if not isinstance(a, Bounds) or a.errors is None else a.errors for a in arguments]
    if operator == "*":
        return np.asarray(sizes[0] * errors[1] + sizes[1] * errors[0] + errors[0] * errors[1])
    if operator == "/":
        return np.asarray(errors[0] / sizes[1])
    # Sums and differences add errors up; abs, clip and negation stretch nothing.
    return np.asarray(sum(errors))


def _monotone(operator: str, arguments: Sequence[Bounds | float], inexact: Bounds) -> Bounds:
    """Both ends of each interval through the function, which is monotone up to a few units in the last place."""
    errors = (inexact.errors if inexact.errors is not None else 0.0) * _GROWTH + _ROUNDING * np.abs(inexact.values)
    numbers = [a for a in arguments if not isinstance(a, Bounds)]
    low = pointwise(operator, [inexact.values - errors, *numbers])
    high = pointwise(operator, [inexact.values + errors, *numbers])
    spread = np.abs(high - low) * 0.5 * _GROWTH + 16 * _ROUNDING * np.maximum(np.abs(low), np.abs(high)) + _TINY
    if not _largest(spread, inexact.defined) < LARGEST:
        raise Unbounded
    return Bounds(0.5 * low + 0.5 * high, spread, inexact.defined)


def _both(a: npt.NDArray[np.bool_] | None, b: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_] | None:
    return b if a is None else a if b is None else a & b


def _largest(errors: Scores, defined: npt.NDArray[np.bool_] | None) -> float:
    if defined is not None:
        errors = np.broadcast_to(errors, defined.shape)[defined]
    return float(np.max(errors, initial=0.0))


def _norm(vector: Scores) -> float:
    """A norm from above: the plain sum of d squares is off by (d + 2) u of itself, and by what underflows."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(vector @ vector)) * (1.0 + (len(vector) + 8) * 2.0**-52) + 1e-150


def _sane(reach: float) -> float:
    if not reach < LARGEST:
        raise Unbounded
    return reach
