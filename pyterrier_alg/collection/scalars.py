"""The element types that the rows of a matrix are kept in: float32, and float16 where their space says so.

Rows of float16 are exact float16 values, and stay so in memory: half the bytes on disk and in memory of float32.
Arithmetic widens them a block at a time, which changes no value, so that every engine's scores are those of a float32
matrix that holds the same values, bit for bit. The price is time: a scan of them takes about four times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.operands import Rows

# Rows are widened in blocks of about this many elements.
_BLOCK = 1 << 20

#: What `Space.scalar` says of rows that are kept in half precision.
HALF = "float16"


def scalar_type(space: Space) -> np.dtype[Any]:
    """What the rows of a space are kept in: float16 where it says so, float32 otherwise."""
    return np.dtype(np.float16 if space.scalar == HALF else np.float32)


def as_scalar(rows: Rows, space: Space, names: Sequence[str], operand: str) -> npt.NDArray[Any]:
    """Float32 rows in the element type of their space, rounded to nearest where that is float16.

    Args:
        rows: float32, as the space has them.
        space: theirs.
        names: of the records that they belong to, for messages.
        operand: what messages call it.

    Returns:
        The rows themselves, or new ones with 0 for -0.

    Raises:
        BindingError: `non_finite`, where an element is beyond float16 (65,504).

    Example:
        >>> as_scalar(np.float32([[0.1, 2.0]]), Space("s", 2, scalar="float16"), ["d1"], "E").tolist()
        [[0.0999755859375, 2.0]]
    """
    if scalar_type(space) == np.float32:
        return rows
    with np.errstate(over="ignore", under="ignore"):
        halves = rows.astype(np.float16) + np.float16(0)
    if not np.isfinite(halves).all():
        row, column = np.argwhere(~np.isfinite(halves))[0].tolist()
        where = f"element {column} of the row of {names[row]!r}"
        message = f"{operand} is not finite in float16: {where} is {float(rows[row, column])!r}"
        raise BindingError("non_finite", message, 'a space of scalar="float32" holds it')
    return halves


def plain_products(rows: npt.NDArray[Any], vector: Rows) -> Rows:
    """The inner product of each row with a vector in plain float32 arithmetic, without a second matrix in memory.

    Args:
        rows: float32 or float16, shape (n, d).
        vector: float32, shape (d,).

    Returns:
        float32, shape (n,): the same bits for float16 rows as for float32 rows of the same values.
    """
    products: Rows = np.empty(len(rows), dtype=np.float32)
    if rows.dtype == np.float32:
        return np.vecdot(rows, vector, out=products)
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        np.vecdot(rows[start : start + step].astype(np.float32), vector, out=products[start : start + step])
    return products
