"""Collections from and to Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.formats._arrow_in import ArrowSource
from pyterrier_alg.collection.formats._arrow_out import record_batches, schema_of
from pyterrier_alg.collection.formats._reading import BATCH, Reading, read
from pyterrier_alg.collection.formats._writing import VECTOR, pick
from pyterrier_alg.collection.frames import names_of
from pyterrier_alg.collection.operands import Encoder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_arrow", "to_arrow"]


def from_arrow(
    table: pa.Table,
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
    """A collection with the records of an Arrow table.

    Args:
        table: has `docno`, once for each record.
        vector: the column of vectors, lists of numbers of fixed or equal length, null where a record has none; None for
            a table without vectors.
        columns: the metadata columns: numbers become relations, booleans masks, text and dates columns. All others than
            `docno` and vectors where left out.
        dates: those of them that are read as ISO 8601 dates where they are text.
        matrix: the name of the matrix.
        space: where the vectors live, or its name. Where left out, the space that `to_arrow` wrote down, else `"text"`.
        distance: of a space that is given by name; `"cosine"`, for which rows must be unit, where left out.
        encoder: what makes vectors of this space from query texts.
        normalise: divide each row by its length.
        drop_zero_rows: leave records without a row where it is zero.
        rows_file: a new file for the rows, which is mapped; in memory where left out.
        name: of the collection.

    Returns:
        The collection, with its docnos in the table's order.

    Raises:
        BindingError: `bad_operand` for missing columns and types that no operand holds; whatever binding refuses.
        DataError: `path_exists`, `unwritable`, for the file of rows.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"docno": ["b", "a"], "doc_vec": [[0.6, 0.8], None], "lang": ["en", "de"]})
        >>> from_arrow(table)
        <Collection: 2 records; E, lang>
    """
    import pyarrow as pa

    if not isinstance(table, pa.Table):
        message = f"the table is a {type(table).__name__}, and is read twice"
        raise BindingError("bad_operand", message, "pyarrow.Table.from_batches makes one of record batches")

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        yield from table.select(names).to_batches(max_chunksize=BATCH)

    found = None if columns is None else names_of(columns, "columns")
    source = ArrowSource("the table", table.schema, batches, vector, found)
    reading = Reading(matrix, space, distance, encoder, normalise, drop_zero_rows, rows_file, dates, name)
    return read(source, reading)


def to_arrow(collection: Collection, *, matrix: str | None = None, columns: Iterable[str] | None = None) -> pa.Table:
    """An Arrow table with a row for each record, in the order in which the collection got them.

    Args:
        collection: whose records.
        matrix: the name of the matrix; the only one where left out, and none where there is none.
        columns: the names of relations, masks and columns; all that are the same for every query where left out.

    Returns:
        `docno` (string), `doc_vec` (a list of fixed size of float32, or of float16, null without a row), and for each
        relation a float64 column, for each mask a bool one, for each text column a string one, for each date column a
        date32 one, null without a value. The metadata of its schema hold the space, so that `from_arrow` gives an equal
        collection, but for the query encoder.

    Raises:
        BindingError: `unknown_name`, `bad_operand`, `duplicate_name`.

    Example:
        >>> c = Collection(["b", "a"]).bind(year={"a": 1961.0}, selected={"b"})
        >>> to_arrow(c).to_pydict()
        {'docno': ['b', 'a'], 'year': [None, 1961.0], 'selected': [True, False]}
        >>> from_arrow(to_arrow(c), vector=None) == c
        True
    """
    import pyarrow as pa

    picked = pick(collection, matrix, columns)
    schema = schema_of(picked)
    return pa.Table.from_batches(record_batches(picked, schema), schema=schema)
