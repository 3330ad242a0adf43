"""Operators over arrays of scores: of each record by itself, one float64 operation after another, or of all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg import exact
from pyterrier_alg.collection.operands import Scores

#: Scores of several records, or one number for all of them.
Operandi: TypeAlias = Scores | float


def _each(function: Callable[[float], float]) -> Callable[[Scores], Scores]:
    """A function of one float, over an array.

    NumPy's own exp and log1p may round differently in the vector and in the scalar part of a loop, so that equal
    arguments could give unequal values by their position; the functions of `math` cannot.
    """

    def guarded(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    def over(values: Scores) -> Scores:
        return np.fromiter(map(guarded, values.tolist()), np.float64, len(values))

    return over


_exp = _each(math.exp)
_log1p = _each(math.log1p)
_power_of_two = _each(lambda exponent: math.pow(2.0, exponent))


def _sigmoid(s: Scores) -> Scores:
    return 1.0 / (1.0 + _exp(-s))


def _decay(age: Scores, half_life: float) -> Scores:
    return _power_of_two(-np.maximum(age, 0.0) / half_life)


def _reciprocal_decay(age: Scores, scale: float) -> Scores:
    return 1.0 / (1.0 + np.maximum(age, 0.0) / scale)


_FUNCTIONS: Mapping[str, Callable[..., npt.NDArray[np.float64]]] = {
    "neg": np.negative,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "abs": np.abs,
    "clip": lambda lo, hi, s: np.minimum(np.maximum(s, lo), hi),
    "exp": _exp,
    "log1p": _log1p,
    "sigmoid": _sigmoid,
    "decay": _decay,
    "recip_decay": _reciprocal_decay,
}

#: The operators that this module computes.
POINTWISE = frozenset(_FUNCTIONS)


def pointwise(operator: str, arguments: list[Operandi]) -> Scores:
    """Apply an operator to aligned arguments: entry i of every array belongs to one record.

    Args:
        operator: one of `POINTWISE`.
        arguments: in the operator's order; at least one is an array.

    Returns:
        float64, 0 for -0. What leaves float64 comes out as inf or NaN, for the caller to report.

    Example:
        >>> pointwise("-", [np.array([1.0, 2.0]), 0.5])
        array([0.5, 1.5])
    """
    with np.errstate(all="ignore"):
        return _FUNCTIONS[operator](*arguments) + 0.0


def minmax(scores: Scores) -> Scores:
    """(S − min) / (max − min); 1 where all are equal."""
    low, high = scores.min(), scores.max()
    return np.ones(len(scores)) if low == high else (scores - low) / (high - low)


def zscore(scores: Scores) -> Scores:
    """(S − mean) / population deviation; 0 where all are equal."""
    if scores.min() == scores.max():
        return np.zeros(len(scores))
    distances = scores - exact.total(scores) / len(scores)
    deviation = math.sqrt(exact.total(distances * distances) / len(scores))
    # Scores that differ, but by nothing or by more than float64 can hold, have no z-scores.
    return distances / (deviation if 0 < deviation < math.inf else math.nan)


def softmax(scores: Scores) -> Scores:
    """exp(S − max) over the sum of these."""
    powers = pointwise("exp", [scores - scores.max()])
    return powers / exact.total(powers)
