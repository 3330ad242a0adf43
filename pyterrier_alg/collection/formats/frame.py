"""Collections from and to pandas frames, with PyTerrier's columns `docno` and `doc_vec`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Distance, Kind, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.collection.formats._reading import BATCH, Block, Reading, read
from pyterrier_alg.collection.formats._writing import DOCNO, VECTOR, Columnar, pick, written
from pyterrier_alg.collection.frames import frame_columns, names_of
from pyterrier_alg.collection.operands import ColumnOperand, Encoder, MaskOperand
from pyterrier_alg.collection.rows import shape_of

__all__ = ["from_frame", "to_frame"]


def from_frame(
    frame: pd.DataFrame,
    *,
    vector: str | None = VECTOR,
    columns: Iterable[str] | None = None,
    dates: Iterable[str] = (),
    matrix: str = "E",
    space: Space | str | None = None,
    distance: Distance | str | None = None,
    encoder: Encoder | None = None,
    normalise: bool = False,
    drop_zero_rows: bool = False,
    rows_file: str | Path | None = None,
    name: str = "",
) -> Collection:
    """A collection with the records of a frame.

    Args:
        frame: has `docno`, once for each record.
        vector: the column of vectors, None or NaN where a record has none; None for a frame without vectors.
        columns: the metadata columns: numbers become relations, booleans masks, text and dates columns. All others than
            `docno` and vectors where left out.
        dates: those of them that are read as ISO 8601 dates where they are text.
        matrix: the name of the matrix.
        space: where the vectors live, or its name; `"text"` where left out.
        distance: of a space that is given by name; `"cosine"`, for which rows must be unit, where left out.
        encoder: what makes vectors of this space from query texts.
        normalise: divide each row by its length.
        drop_zero_rows: leave records without a row where it is zero.
        rows_file: a new file for the rows, which is mapped; in memory where left out.
        name: of the collection.

    Returns:
        The collection, with its docnos in the frame's order.

    Raises:
        BindingError: `bad_operand` for missing columns, and for a frame of results, which has `qid`; whatever binding
            refuses.
        DataError: `path_exists`, `unwritable`, for the file of rows.

    Example:
        >>> frame = pd.DataFrame({"docno": ["b", "a"], "doc_vec": [[0.6, 0.8], [1.0, 0.0]], "year": [1961, None]})
        >>> from_frame(frame)
        <Collection: 2 records; E, year>
    """
    wanted = [DOCNO] if vector is None else [DOCNO, vector]
    docnos, *vectors = frame_columns(frame, wanted, "the frame")
    if "qid" in frame.columns:
        message = "the frame has a qid: its rows are results of queries"
        raise BindingError("bad_operand", message, "bind results as Run(frame) to a collection of documents")
    found = [c for c in frame.columns if c not in wanted] if columns is None else names_of(columns, "columns")
    frame_columns(frame, found, "the frame")
    reading = Reading(matrix, space, distance, encoder, normalise, drop_zero_rows, rows_file, dates, name)
    return read(_Frame(frame, docnos, vectors[0] if vectors else None, found), reading)


def to_frame(
    collection: Collection, *, matrix: str | None = None, columns: Iterable[str] | None = None
) -> pd.DataFrame:
    """A frame with a row for each record, in the order in which the collection got them.

    Args:
        collection: whose records.
        matrix: the name of the matrix; the only one where left out, and none where there is none.
        columns: the names of relations, masks and columns; all that are the same for every query where left out.

    Returns:
        `docno` (text), `doc_vec` (an array of the matrix's element type, None without a row), and for each relation a
        float64 column (NaN without a score), for each mask a bool column, for each text column text (missing without),
        for each date column datetime64 (NaT without).

    Raises:
        BindingError: `unknown_name`, `bad_operand`, `duplicate_name`.

    Example:
        >>> c = Collection(["b", "a"]).bind(year={"a": 1961.0}, selected={"b"})
        >>> to_frame(c)
          docno    year  selected
        0     b     NaN      True
        1     a  1961.0     False
    """
    picked = pick(collection, matrix, columns)
    docnos: list[str] = []
    vectors: list[Any] = []
    values: dict[str, list[Any]] = {name: [] for name in picked.columns}
    for block in written(picked, BATCH):
        docnos += block.docnos
        rows = iter(block.rows)
        vectors += [next(rows).copy() if there else None for there in block.present.tolist()]
        for name, found in block.columns.items():
            values[name] += found
    data: dict[str, Any] = {DOCNO: pd.Series(docnos, dtype="str")}
    if picked.matrix is not None:
        data[VECTOR] = pd.Series(vectors, dtype="object")
    data |= {name: _series(operand, values[name]) for name, operand in picked.columns.items()}
    return pd.DataFrame(data)


def _series(operand: Columnar, values: list[Any]) -> pd.Series[Any]:
    if isinstance(operand, MaskOperand):
        return pd.Series(values, dtype="bool")
    if not isinstance(operand, ColumnOperand):
        return pd.Series(values, dtype="float64")
    if operand.kind is Kind.DATE_COLUMN:
        return pd.Series(np.array(["NaT" if day is None else day for day in values], dtype="datetime64[s]"))
    return pd.Series(values, dtype="object") if None in values else pd.Series(values, dtype="str")


@dataclass(frozen=True)
class _Frame:
    """A frame as a source."""

    frame: pd.DataFrame
    names: list[Any]
    vectors: list[Any] | None
    columns: Sequence[str]
    what: str = "the frame"
    space: Space | None = None

    @property
    def has_vectors(self) -> bool:
        return self.vectors is not None

    @property
    def dimensions(self) -> int | None:
        first = next((vector for vector in self.vectors or () if not is_missing(vector)), None)
        if first is None:
            return None
        shape = shape_of(first, f"the first vector of {self.what}")
        if len(shape) != 1 or not shape[0]:
            raise BindingError("dimensions", f"the first vector of {self.what} has the shape {shape}")
        return shape[0]

    @cached_property
    def dtypes(self) -> Mapping[str, str]:
        return {name: _dtype(self.frame[name].dtype) for name in self.columns}

    def docnos(self) -> list[Any]:
        return self.names

    def blocks(self) -> Iterator[Block]:
        values = {name: self.frame[name].tolist() for name in self.columns}
        for start in range(0, len(self.names), BATCH):
            part = slice(start, start + BATCH)
            vectors = [] if self.vectors is None else self.vectors[part]
            present = np.array([not is_missing(vector) for vector in vectors], dtype=bool)
            if self.vectors is None:
                present = np.zeros(len(self.names[part]), dtype=bool)
            there = [vector for vector in vectors if not is_missing(vector)]
            yield Block(present, _stacked(there), {name: column[part] for name, column in values.items()})


def _stacked(vectors: list[Any]) -> Any:
    """Halves stay halves, which an array of them tells and a list does not."""
    halves = vectors and all(getattr(vector, "dtype", None) == np.float16 for vector in vectors)
    return np.stack(vectors) if halves and len({vector.shape for vector in vectors}) == 1 else vectors


def _dtype(dtype: Any) -> str:
    """The dtype of a column that turns out to be empty."""
    types = pd.api.types
    if types.is_bool_dtype(dtype):
        return "bool"
    if types.is_numeric_dtype(dtype):
        return "float64"
    return "datetime64[s]" if types.is_datetime64_any_dtype(dtype) else "object"
