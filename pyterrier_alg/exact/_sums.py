"""Sums of float64 values, exact and rounded once; the method and its proof stand in `_slices.py`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

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

# Fewer terms than this in a row, and NumPy's overhead for each row exceeds that of math.fsum.
_SHORT = 8


def row_sums(values: Doubles) -> Doubles:
    """The sum of each row of float64 values, shape (n, m) to (n,): exact, rounded once; an overflow gives inf.

    >>> row_sums(np.array([[1e16, 1.0, -1e16], [0.1, 0.2, 0.3]])).tolist()
    [1.0, 0.6]
    """
    values = np.asarray(values, dtype=np.float64)
    if values.shape[1] < _SHORT:
        return np.fromiter(map(fsum, values.tolist()), np.float64, len(values))
    result = np.empty(len(values))
    with np.errstate(all="ignore"):
        for block in blocks(len(values), max(1, BLOCK // values.shape[1])):
            result[block] = _sum_rows(np.array(values[block], order="C"))
    return result


def total(values: Iterable[float]) -> float:
    """The sum of float64 values: exact, rounded once; inf where a partial sum overflows, NaN for inf - inf.

    >>> total([1e16, 1.0, -1e16])
    1.0
    """
    return fsum(values.tolist() if isinstance(values, np.ndarray) else values)


def squared_distances(rows: Singles, vector: Singles) -> Doubles:
    """Σ(e - v)² for each row: the squared differences are float64 operations, their sum is exact and rounded once.

    Args:
        rows: float32, shape (n, d).
        vector: float32, shape (d,).

    Returns:
        float64, shape (n,).

    >>> squared_distances(np.float32([[3, 4], [0, 0]]), np.float32([0, 0])).tolist()
    [25.0, 0.0]
    """
    rows, vector = singles(rows), singles(vector)
    if rows.ndim != 2 or vector.shape != rows.shape[1:]:
        raise ValueError(f"rows of shape {rows.shape} do not meet a vector of shape {vector.shape}")
    result = np.zeros(len(rows))
    if len(vector):
        with np.errstate(all="ignore"):
            for block in blocks(len(rows), max(1, BLOCK // len(vector))):
                differences = rows[block].astype(np.float64, order="C")
                differences -= vector
                differences *= differences
                result[block] = _sum_rows(differences)
    return result


def _sum_rows(values: Doubles) -> Doubles:
    """Row sums, exact and rounded once, of a block of float64 values that may be overwritten."""
    count = values.shape[1]
    bits = sum_bits(count)
    peak = np.maximum(values.max(axis=1), -values.min(axis=1))
    slices = np.empty((2, *values.shape))
    original = values.copy()
    slice_twice(values, first_unit(peak, bits)[:, np.newaxis], bits, slices[0], slices[1])
    high, low = slices.sum(axis=2)
    slack = np.abs(values).sum(axis=1) * ((count + 4) * 2.0**-51)
    result, decided = round_sums(high, low, values.sum(axis=1), slack)
    decided &= (peak == 0.0) | ((peak >= 2.0**-900) & (peak <= 2.0**900))
    for row in np.flatnonzero(~decided).tolist():
        result[row] = fsum(original[row].tolist())
    return result
