"""A matrix in the making: rows come in any order, and go to their place in docno order, in memory or in a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import DataError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.files import allocate, row_blocks, writing
from pyterrier_alg.collection.operands import Positions
from pyterrier_alg.collection.records import frozen
from pyterrier_alg.collection.rows import as_rows, in_space
from pyterrier_alg.collection.scalars import as_scalar, scalar_type


def checked_rows(
    vectors: Any, space: Space, names: list[str], what: str, *, normalise: bool, drop_zero_rows: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Vectors as rows of a space, and which of them stay.

    Raises:
        BindingError: `dimensions`, `ragged_rows`, `bad_operand`, `non_finite`, `zero_row`, `not_unit`.
    """
    rows = as_rows(vectors, space, names, what)
    stored, kept = in_space(rows, space, names, what, normalise=normalise, drop_zero_rows=drop_zero_rows)
    staying = [name for name, stays in zip(names, kept.tolist(), strict=True) if stays]
    return as_scalar(stored, space, staying, what), kept


class MatrixRows:
    """Room for a row of each record.

    With a file, the rows are written there and mapped: what is not in use need not be in memory.
    """

    def __init__(self, records: int, space: Space, file: Path | None) -> None:
        """Take the room.

        Raises:
            DataError: `path_exists`, `unwritable`.
        """
        self._file, self._shape, self._dtype = file, (records, space.dimensions), scalar_type(space)
        self._kept = np.zeros(records, dtype=bool)
        if file is not None:
            with writing(file):
                taken = os.path.lexists(file)
            if taken:
                raise DataError("path_exists", f"{file} exists already", "give a new file, or remove it first")
            allocate(file, records * space.dimensions * self._dtype.itemsize)
        if file is None or not records:
            self._rows: npt.NDArray[Any] = np.empty(self._shape, dtype=self._dtype)
            return
        try:
            with writing(file):
                self._rows = np.memmap(file, mode="r+", dtype=self._dtype, shape=self._shape)
        except BaseException:
            file.unlink(missing_ok=True)
            raise

    def put(self, positions: Positions, rows: npt.NDArray[Any]) -> None:
        """Rows of some records."""
        self._rows[positions] = rows
        self._kept[positions] = True

    def finish(self) -> tuple[Positions, npt.NDArray[Any]]:
        """The positions that have a row, ascending, and their rows; read-only."""
        positions = np.flatnonzero(self._kept).astype(np.int64)
        if len(positions) < len(self._kept):
            # Moved up a block at a time, in place: a row never goes below one that is still to be read.
            done = 0
            for block in row_blocks(len(self._rows), self._rows.shape[1] * self._rows.itemsize):
                staying = self._rows[block][self._kept[block]]
                self._rows[done : done + len(staying)] = staying
                done += len(staying)
        if isinstance(self._rows, np.memmap) and self._file is not None:
            shape = (len(positions), self._shape[1])
            with writing(self._file):
                self._rows.flush()
                self._rows = np.empty(0, dtype=self._dtype)
                os.truncate(self._file, shape[0] * shape[1] * self._dtype.itemsize)
            # A plain array over the mapping: arithmetic on the mapping's own class gives mappings that are none.
            mapped = np.memmap(self._file, mode="r", dtype=self._dtype, shape=shape) if shape[0] else np.empty(shape)
            return frozen(positions), frozen(np.asarray(mapped, dtype=self._dtype))
        return frozen(positions), frozen(self._rows[: len(positions)])

    def discard(self) -> None:
        """Remove the file of a matrix that comes to nothing."""
        self._rows = np.empty(0, dtype=self._dtype)
        if self._file is not None:
            self._file.unlink(missing_ok=True)
