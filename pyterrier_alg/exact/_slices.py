"""Sums that are rounded once: the arithmetic that the algebra defines, over whole arrays at a time.

Every function returns, bit for bit, what its definition in plain Python with `math.fsum` returns. The value depends on
the numbers alone: not on row position, memory order, strides, blocks, threads or the linear algebra library behind
NumPy.

**Slices.** Let u = 2^-53 and let g be a power of two. For |x| <= 2^50 g, (x + 3·2^51 g) - 3·2^51 g in float64 is x
rounded to a multiple of g: the first sum lies between 2^52 g and 2^53 g, where neighbouring floats are g apart, and the
second is exact. x minus the slice is exact too (it is at most g/2, and a multiple of the last place of x or of g).
Slicing twice,

    x = x1 + x2 + r,    x1 = k1 g1,  |k1| <= 2^b,    x2 = k2 g2,  |k2| <= 2^b,    g2 = 2^-(b+1) g1,

where g1 = 2^-b times a power of two above the largest |x| of the row; r is what the two slices leave (mostly nothing).
The slicing is that of Rump, Ogita and Oishi (Accurate floating-point summation I, SIAM J. Sci. Comput. 31, 2008);
products by slices are those of Ozaki, Ogita, Oishi and Rump (Numer. Algorithms 59, 2012).

**Sums.** With n 2^b <= 2^52, a sum of n first (or n second) slices is a multiple of its g below 2^53 g, and so is each
of its partial sums. Every order of addition is therefore exact, which is why the order may be left to NumPy.

**Inner products.** Slice each row x (g1, g2) and each vector y (h1, h2) with b <= 24 and 2 d 2^2b <= 2^53. By the same
argument three matrix products are exact, in any order, with fused multiply-adds or without:

    H = x1·y1,    M = x1·y2 + x2·y1,    L = x2·y2,    multiples of  p = g1 h1,  q = 2^-(b+1) p,  t = 2^-(b+1) q.

|H| <= 2^52 p = 2^(53+b) q and |M| <= 2^53 q, so s = fl(H + M) is at most 2^(54+b) q. Its error e = H + M - s, which is
a float that TwoSum gives exactly, is at most u 2^(54+b) q = 2^(2b+2) t <= 2^50 t. e and L are multiples of t, and
|L| <= 2^52 t, so e + L is exact. Hence without remainders fl(s + (e + L)) *is* the exact inner product rounded once,
halfway cases included.

**The rounding test.** With remainders the exact sum S is high + low + (something within `slack` of `rest`), where high
and low are floats. (s, e) = TwoSum(high, low) is exact; f = fl(e + rest); w is `slack`, widened by more than the
roundings of e + rest, f - w and f + w. So S lies between s + fl(f - w) and s + fl(f + w). Rounding is monotone: where
fl(s + fl(f - w)) equals fl(s + fl(f + w)), that float is S rounded. Else nothing is claimed (S may be halfway between
floats) and the sum goes to `math.fsum`. `slack` is 0 only without remainders; then w = 0 and S = s + e, and both are S
rounded.

`slack` for remainders summed in plain float64 is the textbook bound (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 3.1): in any order |fl(x·y) - x·y| <= γ_n |x|·|y|, γ_n = n u / (1 - n u), here four times
as large, which also covers the roundings of the norms in it. Nothing underflows: products of float32 values are
multiples of 2^-298 below 2^257, slices of them multiples of 2^-400. Sums of other float64 values are sliced only where
the largest lies in [2^-900, 2^900].

Values are expected finite. Others (they never get past a binding) end in `math.fsum`, and come out as inf or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Doubles: TypeAlias = npt.NDArray[np.float64]
Singles: TypeAlias = npt.NDArray[np.float32]

# float64 elements in a temporary: half a MiB, so that the few of them that a block needs stay in a core's own cache.
BLOCK = 1 << 16
_SHIFT = 3.0 * 2.0**51


def singles(values: Singles) -> Singles:
    """The array itself; a wider one is refused, since products of its elements need not be exact."""
    array: Singles = np.asarray(values)
    if not np.can_cast(array.dtype, np.float32, "safe"):
        raise TypeError(f"float32 values are expected, not {array.dtype}")
    return array


def blocks(length: int, step: int) -> Iterator[slice]:
    """Slices that cover a length."""
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def sum_bits(count: int) -> int:
    """The widest slices of which `count` add up exactly."""
    return min(50, 52 - (count - 1).bit_length())


def first_unit(peak: Doubles, bits: int) -> Doubles:
    """The multiples that a first slice of values up to the peak consists of."""
    unit: Doubles = np.ldexp(1.0, np.frexp(peak)[1] - bits)
    return unit


def slice_twice(values: Doubles, unit: Doubles, bits: int, first: Doubles, second: Doubles) -> None:
    """Split values into two slices, written to `first` and `second`; the values become the remainders."""
    shift = _SHIFT * unit
    np.add(values, shift, out=first)
    first -= shift
    values -= first
    shift *= 2.0 ** -(bits + 1)
    np.add(values, shift, out=second)
    second -= shift
    values -= second


def slice_rows(values: Doubles, bits: int, slices: Doubles) -> Doubles:
    """Slice each row by its own peak, first and second slice side by side; return the values, now remainders."""
    middle = values.shape[1]
    peak = np.maximum(values.max(axis=1), -values.min(axis=1))
    slice_twice(values, first_unit(peak, bits)[:, np.newaxis], bits, slices[:, :middle], slices[:, middle:])
    return values


def two_sum(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """The rounded sum and its error, exactly (Knuth's TwoSum)."""
    total: Doubles = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def round_sums(high: Doubles, low: Doubles, rest: Doubles, slack: Doubles) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """The rounding test: sums rounded, and where that is proved. `slack` may be 0 only where `rest` is."""
    total, error = two_sum(high, low)
    error += rest
    width = np.where(slack == 0.0, 0.0, slack + 2.0**-50 * (np.abs(error) + slack) + 2.0**-1020)
    result: Doubles = total + (error - width) + 0.0
    return result, result == total + (error + width) + 0.0


def fsum(values: Iterable[float]) -> float:
    """`math.fsum` that gives inf for an overflow and NaN for inf - inf, and never -0."""
    try:
        return math.fsum(values) + 0.0
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan
