"""Arrays of vectors, checked and rounded: what may become a row or a vector of a space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg import exact
from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.operands import Rows
from pyterrier_alg.collection.records import frozen, shown

#: How far the length of a unit row may be from 1: what normalising in float32 arithmetic leaves, and no half precision.
UNIT_TOLERANCE = 2.0**-20

#: The same where elements are float16: rounding each of them moves the length of a unit row by less.
HALF_TOLERANCE = 2.0**-10

# Rows are looked at in blocks of about this many elements, so that checks take no second matrix of memory.
_BLOCK = 1 << 22


def as_rows(values: Any, space: Space, names: Sequence[str], operand: str) -> Rows:
    """Values as float32 rows, one for each name.

    Args:
        values: an array or a sequence of sequences, shape (n, dimensions).
        space: theirs.
        names: of the records or queries that they belong to, for messages.
        operand: what messages call it.

    Returns:
        A new array, with 0 for -0.

    Raises:
        BindingError: `ragged_rows`, `bad_operand`, `dimensions`, `non_finite`.
    """
    array = _as_array(values, names, operand)
    if not names and not array.size:
        return np.empty((0, space.dimensions), dtype=np.float32)
    if array.shape != (len(names), space.dimensions):
        raise BindingError(
            "dimensions",
            f"{operand} has the shape {array.shape}, and {len(names):,} rows of {space} want "
            f"({len(names)}, {space.dimensions})",
            "give one row a record in the order of the collection's docnos, or say whose they are with docnos=",
        )
    result = np.empty(array.shape, dtype=np.float32)
    for block in _blocks(array):
        with np.errstate(all="ignore"):
            # Adding 0 turns -0 into 0, which the algebra says it is.
            np.add(array[block], np.float32(0), out=result[block], dtype=np.float32, casting="same_kind")
        _refuse_non_finite(array[block], result[block], names, block.start, operand)
    return result


def shape_of(values: Any, operand: str) -> tuple[int, ...]:
    """The shape of one vector's values, whatever they are.

    Raises:
        BindingError: `ragged_rows`, where they have none.
    """
    try:
        return np.shape(values)
    except ValueError:
        raise BindingError("ragged_rows", f"{operand} has elements of different lengths") from None


def as_vector(values: Any, space: Space, operand: str) -> Rows:
    """Values as one read-only float32 vector of a space.

    Raises:
        BindingError: `bad_operand`, `dimensions`, `non_finite`.
    """
    array = _plain_array(values, operand)
    if array.shape != (space.dimensions,):
        message = f"{operand} has the shape {array.shape}, and a vector of {space} has ({space.dimensions},)"
        raise BindingError("dimensions", message)
    with np.errstate(all="ignore"):
        rounded = array.astype(np.float32) + np.float32(0)
    if not np.isfinite(rounded).all():
        place = int(np.flatnonzero(~np.isfinite(rounded))[0])
        message = f"{operand} is not finite in float32: element {place} is {array[place].item()!r}"
        raise BindingError("non_finite", message)
    return frozen(rounded)


def lengths(rows: Rows) -> npt.NDArray[np.float64]:
    """The Euclidean length of each row: exact sum of squares, rounded once, then one square root."""
    result = np.empty(len(rows), dtype=np.float64)
    for block in _blocks(rows):
        result[block] = np.sqrt(exact.row_sums(np.square(rows[block].astype(np.float64))))
    return result


def in_space(
    rows: Rows, space: Space, names: Sequence[str], operand: str, *, normalise: bool, drop_zero_rows: bool
) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Rows as their space stores them, and which of them stay.

    Raises:
        BindingError: `zero_row`, `not_unit`, naming the records.
    """
    kept = np.ones(len(rows), dtype=bool)
    if space.distance is not Distance.COSINE and not normalise and not drop_zero_rows:
        return rows, kept
    norms = lengths(rows)
    zero = norms == 0
    if drop_zero_rows:
        kept = ~zero
    elif zero.any():
        records = shown([names[row] for row in np.flatnonzero(zero).tolist()])
        raise BindingError(
            "zero_row",
            f"{operand} has zero rows, which have no direction: {records}",
            "drop_zero_rows=True leaves these records out of the matrix",
        )
    if normalise:
        for block in _blocks(rows):
            divisors = np.where(zero[block], 1.0, norms[block])[:, None]
            rows[block] = (rows[block].astype(np.float64) / divisors).astype(np.float32) + np.float32(0)
    elif space.distance is Distance.COSINE:
        tolerance = HALF_TOLERANCE if space.scalar == "float16" else UNIT_TOLERANCE
        off = np.flatnonzero(kept & (np.abs(norms - 1) > tolerance)).tolist()
        if len(off):
            first = f"that of {names[off[0]]!r} has length {norms[off[0]]:.9g}"
            raise BindingError(
                "not_unit",
                f"{operand} has rows that are not unit in the cosine space {space.name}: {first}; "
                f"{len(off):,} of {len(rows):,} rows",
                "normalise=True divides each row by its length",
            )
    return (rows if kept.all() else rows[kept]), kept


def _as_array(values: Any, names: Sequence[str], operand: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return _numeric(values, operand)
    if not isinstance(values, Iterable):
        message = f"the rows of {operand} are a {type(values).__name__}"
        raise BindingError("bad_operand", message, "an array, a mapping docno to vector, or a frame [docno, doc_vec]")
    rows = [np.empty(0) if row is None else _plain_array(row, operand) for row in values]
    for place, row in enumerate(rows):
        if row.ndim != 1 or row.shape != rows[0].shape:
            whose = f" ({names[place]!r})" if place < len(names) else ""
            message = f"row {place}{whose} of {operand} has the shape {row.shape}, the first row {rows[0].shape}"
            raise BindingError("ragged_rows", message, "every row has as many elements as its space has dimensions")
    return np.stack(rows) if rows else np.empty((0, 0))


def _plain_array(values: Any, operand: str) -> npt.NDArray[Any]:
    """One vector's values as an array of numbers; NumPy would take True for 1 among them."""
    if isinstance(values, list | tuple) and any(isinstance(value, bool | np.bool_) for value in values):
        raise BindingError("bad_operand", f"{operand} has a bool where a number is meant")
    try:
        return _numeric(values if isinstance(values, np.ma.MaskedArray) else np.asarray(values), operand)
    except ValueError:
        raise BindingError("ragged_rows", f"{operand} has a row whose elements are not all numbers") from None


def _numeric(array: npt.NDArray[Any], operand: str) -> npt.NDArray[Any]:
    if np.ma.is_masked(array):
        # NumPy keeps numbers under the mask, which nobody meant.
        raise BindingError("bad_operand", f"{operand} has missing elements: its array is masked")
    if array.dtype.kind not in "iuf" and array.size:
        message = f"{operand} holds elements of type {array.dtype}, not numbers"
        raise BindingError("bad_operand", message, "give float32, or numbers that can be rounded to it")
    return array


def _refuse_non_finite(array: Any, rounded: Rows, names: Sequence[str], start: int, operand: str) -> None:
    finite = np.isfinite(rounded)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        where = f"element {column} of the row of {names[start + row]!r} (row {start + row})"
        raise BindingError(
            "non_finite", f"{operand} is not finite in float32: {where} is {array[row, column].item()!r}"
        )


def _blocks(rows: npt.NDArray[Any]) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    return (slice(start, min(start + step, len(rows))) for start in range(0, len(rows), step))
