"""Inner products, exact and rounded once, by three matrix products of slices.

The method and its proof stand in `_slices.py`.
"""

from __future__ import annotations

from operator import mul

import numpy as np

from pyterrier_alg.exact._slices import BLOCK, Doubles, Singles, blocks, fsum, round_sums, singles, slice_rows, two_sum

# Vectors that share the slices of one block of rows.
_VECTORS = 256


def inner_products(rows: Singles, vectors: Singles) -> Doubles:
    """Each row's inner product with a vector, or with each of several: exact, rounded to float64 once.

    Args:
        rows: float32, shape (n, d), in any memory layout; a mapped file is read a block at a time.
        vectors: float32, shape (d,) or (m, d). Many at once cost far less than one after the other.

    Returns:
        float64, shape (n,) or (n, m): `math.fsum(float(a) * float(b) for a, b in zip(row, vector))`, with 0 for -0.

    Raises:
        TypeError: an argument is not float32.
        ValueError: the shapes do not fit.

    >>> inner_products(np.float32([[1e8, 1, -1e8], [0, 3, 0]]), np.float32([1e8, 1, 1e8])).tolist()
    [1.0, 3.0]
    """
    rows, vectors = singles(rows), singles(vectors)
    if rows.ndim != 2 or vectors.ndim not in (1, 2) or rows.shape[1] != vectors.shape[-1]:
        raise ValueError(f"rows of shape {rows.shape} do not meet vectors of shape {vectors.shape}")
    if vectors.ndim == 1:
        return inner_products(rows, vectors[np.newaxis]).reshape(-1)
    result = np.zeros((len(rows), len(vectors)))
    dimensions = rows.shape[1]
    if dimensions and result.size:
        with np.errstate(all="ignore"):
            for some in blocks(len(vectors), _VECTORS):
                multiply = _Multiplier(vectors[some])
                for block in blocks(len(rows), max(16, BLOCK // (dimensions + len(multiply.vectors)))):
                    result[block, some] = multiply(rows[block])
    return result


class _Multiplier:
    """A few vectors, sliced, and what multiplies a block of rows by them."""

    def __init__(self, vectors: Singles) -> None:
        self.vectors = vectors
        count, dimensions = vectors.shape
        self.bits = min(24, (52 - (dimensions - 1).bit_length()) // 2)
        self.values = vectors.astype(np.float64)
        slices = np.empty((count, 2 * dimensions))
        self.remainders = slice_rows(self.values.copy(), self.bits, slices)
        self.has_remainders = bool(self.remainders.any())
        first, second = slices[:, :dimensions], slices[:, dimensions:]
        # A row's slices lie side by side, first and second; these meet them in one product each.
        self.first, self.second = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
        self.crossed = np.concatenate([self.second, self.first])

    def __call__(self, rows: Singles) -> Doubles:
        """The products, shape (rows, vectors)."""
        dimensions = rows.shape[1]
        slices = np.empty((len(rows), 2 * dimensions))
        remainders = slice_rows(rows.astype(np.float64, order="C"), self.bits, slices)
        high = slices[:, :dimensions] @ self.first
        middle = slices @ self.crossed
        low = slices[:, dimensions:] @ self.second
        total, error = two_sum(high, middle)
        error += low
        result: Doubles = total + error + 0.0
        # A sum of squares is zero only where all remainders are: the smallest square is 2^-298.
        squares = np.einsum("ij,ij->i", remainders, remainders)
        left = np.arange(len(rows)) if self.has_remainders else np.flatnonzero(squares)
        if len(left):
            settled = self._with_remainders(rows[left], remainders[left], total[left], error[left])
            result[left] = settled
        return result

    def _with_remainders(self, rows: Singles, remainders: Doubles, high: Doubles, low: Doubles) -> Doubles:
        """(x - r)·(y - r') is known as high + low; add r·(y - r') + x·r' in plain float64, within its bound."""
        values = rows.astype(np.float64)
        rest = remainders @ (self.values - self.remainders).T + values @ self.remainders.T
        slack = np.outer(_norms(remainders), _norms(self.values)) + np.outer(_norms(values), _norms(self.remainders))
        slack *= (rows.shape[1] + 4) * 2.0**-51
        result, decided = round_sums(high, low, rest, slack)
        for i, j in np.argwhere(~decided).tolist():
            result[i, j] = fsum(map(mul, values[i].tolist(), self.values[j].tolist()))
        return result


def _norms(rows: Doubles) -> Doubles:
    """Euclidean norms in plain float64."""
    norms: Doubles = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return norms
