"""Rows of a matrix on disk as they come, and their file in docno order: no more than a block of them is in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.collection.files import Hashed, array_header, row_blocks, stored, writing
from pyterrier_alg.collection.operands import Positions


class RowFile:
    """Rows in the order of arrival.

    They are read back by plain reads, not through a mapping, whose pages would count as memory of the process.
    """

    def __init__(self, path: Path, dimensions: int, dtype: np.dtype[Any]) -> None:
        """Begin the file.

        Args:
            path: where; it is removed by `sort_into`.
            dimensions: elements of a row.
            dtype: float32 or float16.
        """
        self.path = path
        self.dimensions = dimensions
        self.dtype = dtype
        with writing(path):
            self._file = path.open("xb")

    def append(self, rows: npt.NDArray[Any]) -> None:
        """More rows, shape (n, dimensions)."""
        if len(rows):
            with writing(self.path):
                self._file.write(stored(rows).reshape(-1).data)

    def sort_into(self, path: Path, order: Positions) -> dict[str, Any]:
        """Write the rows in another order as a .npy file, and remove this one.

        Rows that follow one another in both orders are read at once: documents that came by docno cost one read a
        block, others one read each.

        Args:
            path: the file to be.
            order: the arrival number of each of its rows.

        Returns:
            Its facts.
        """
        self.close()
        width = self.dimensions * self.dtype.itemsize
        with writing(path), self.path.open("rb", buffering=0) as source, Hashed(path) as out:
            array_header(out, (len(order), self.dimensions), self.dtype)
            for block in row_blocks(len(order), width):
                numbers = order[block]
                rows = bytearray(len(numbers) * width)
                view = memoryview(rows)
                edges = np.flatnonzero(np.diff(numbers) != 1) + 1
                starts, stops = [0, *edges.tolist()], [*edges.tolist(), len(numbers)]
                for number, start, stop in zip(numbers[starts].tolist(), starts, stops, strict=True):
                    source.seek(number * width)
                    _fill(source, view[start * width : stop * width])
                out.write(rows)
        self.path.unlink()
        return out.facts

    def close(self) -> None:
        """Give the file back."""
        with writing(self.path):
            self._file.close()


def _fill(source: Any, view: memoryview) -> None:
    """Read until the view is full: a read may give less than was asked for."""
    while len(view):
        read = source.readinto(view)
        if not read:
            raise OSError("the rows end early")
        view = view[read:]
