"""The vector operators: computed in float64, rounded to float32 once, never -0.

What overflows float32 comes out as inf, for the caller to report.
"""

from __future__ import annotations

import math

import numpy as np

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.exact._products import inner_products
from pyterrier_alg.exact._slices import (
    BLOCK,
    Doubles,
    Singles,
    blocks,
    first_unit,
    fsum,
    round_sums,
    singles,
    slice_twice,
    sum_bits,
)


def add(u: Singles, v: Singles) -> Singles:
    """The sum of two vectors, in float64, rounded to float32 once."""
    return _narrowed(singles(u).astype(np.float64) + singles(v))


def subtract(u: Singles, v: Singles) -> Singles:
    """The first vector minus the second, in float64, rounded to float32 once."""
    return _narrowed(singles(u).astype(np.float64) - singles(v))


def scale(c: float, v: Singles) -> Singles:
    """A number times a vector, in float64, rounded to float32 once."""
    with np.errstate(all="ignore"):
        return _narrowed(float(c) * singles(v).astype(np.float64))


def negate(v: Singles) -> Singles:
    """The vector with every sign turned, 0 for -0."""
    return _narrowed(-singles(v).astype(np.float64))


def norm(v: Singles) -> float:
    """√Σv²: the sum exact and rounded once, then one square root.

    >>> norm(np.float32([3, 4]))
    5.0
    """
    return math.sqrt(inner_products(singles(v)[np.newaxis], v)[0])


def unit(v: Singles) -> Singles:
    """The vector divided by its norm in float64, rounded to float32 once.

    Raises:
        AlgebraError: `zero_vector`.
    """
    length = norm(v)
    if length == 0.0:
        raise AlgebraError("zero_vector", "a zero vector has no direction")
    return _narrowed(singles(v).astype(np.float64) / length)


def mean(rows: Singles) -> Singles:
    """The mean of float32 rows, (n, d) to (d,): exact sums rounded once, divided in float64, rounded to float32 once.

    Raises:
        AlgebraError: `empty_centroid`, where there are no rows.

    >>> mean(np.float32([[1, 2], [2, 4]])).tolist()
    [1.5, 3.0]
    """
    rows = singles(rows)
    count, dimensions = rows.shape
    if not count:
        raise AlgebraError("empty_centroid", "no rows to take the mean of")
    parts = list(blocks(count, max(1, BLOCK // max(1, dimensions))))
    with np.errstate(all="ignore"):
        peak = np.zeros(dimensions)
        for part in parts:
            np.maximum(peak, np.abs(rows[part]).max(axis=0), out=peak)
        bits = sum_bits(count)
        step = first_unit(peak, bits)
        high, low, rest, spread = np.zeros((4, dimensions))
        for part in parts:
            values = rows[part].astype(np.float64)
            first, second = np.empty((2, *values.shape))
            slice_twice(values, step, bits, first, second)
            high += first.sum(axis=0)
            low += second.sum(axis=0)
            rest += values.sum(axis=0)
            spread += np.abs(values).sum(axis=0)
        sums, decided = round_sums(high, low, rest, spread * ((count + 4) * 2.0**-51))
    for column in np.flatnonzero(~decided).tolist():
        sums[column] = fsum(rows[:, column].tolist())
    return _narrowed(sums / count)


def _narrowed(values: Doubles) -> Singles:
    """Rounded to float32, 0 for -0."""
    with np.errstate(all="ignore"):
        return values.astype(np.float32) + np.float32(0.0)
