"""Collections from and to Lance datasets, a batch of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyterrier_alg.algebra.errors import BindingError, DataError, MissingExtraError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.files import writing
from pyterrier_alg.collection.formats._arrow_in import ArrowSource, naming
from pyterrier_alg.collection.formats._arrow_out import record_batches, schema_of
from pyterrier_alg.collection.formats._reading import BATCH, Reading, read
from pyterrier_alg.collection.formats._writing import VECTOR, pick
from pyterrier_alg.collection.frames import names_of
from pyterrier_alg.collection.operands import Encoder
from pyterrier_alg.collection.placing import new_folder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_lance", "to_lance"]


def from_lance(
    path: str | Path,
    *,
    version: int | None = None,
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
    """A collection with the records of a Lance dataset, as one version of it has them.

    The docnos are read first, then the rest, a few thousand rows at a time.

    Args:
        path: the dataset's folder; it has `docno`, once for each record.
        version: of the dataset; the newest where left out.
        vector: the column of vectors, lists of numbers of fixed or equal length, null where a record has none; None for
            a dataset without vectors.
        columns: the metadata columns: numbers become relations, booleans masks, text and dates columns. All others than
            `docno` and vectors where left out.
        dates: those of them that are read as ISO 8601 dates where they are text.
        matrix: the name of the matrix.
        space: where the vectors live, or its name. Where left out, the space that `to_lance` wrote down, else `"text"`.
        distance: of a space that is given by name; `"cosine"`, for which rows must be unit, where left out.
        encoder: what makes vectors of this space from query texts.
        normalise: divide each row by its length.
        drop_zero_rows: leave records without a row where it is zero.
        rows_file: a new file for the rows, which is mapped; in memory where left out.
        name: of the collection.

    Returns:
        The collection, with its docnos in the dataset's order.

    Raises:
        MissingExtraError: without the extra `lance`.
        DataError: `missing_data`, `corrupted_data`; `path_exists`, `unwritable`, for the file of rows.
        BindingError: `bad_operand` for missing columns and types that no operand holds; whatever binding refuses.
    """
    lance = _lance("reading Lance datasets")
    folder = Path(path)
    if not folder.is_dir():
        raise DataError("missing_data", f"{folder} is no folder")
    with naming(folder):
        dataset = lance.dataset(os.fspath(folder), version=version)

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        with naming(folder):
            scanner = dataset.scanner(columns=names, batch_size=BATCH, batch_readahead=2, scan_in_order=True)
            for batch in scanner.to_batches():
                yield batch.select(names)

    found = None if columns is None else names_of(columns, "columns")
    source = ArrowSource(folder.name, dataset.schema, batches, vector, found)
    reading = Reading(matrix, space, distance, encoder, normalise, drop_zero_rows, rows_file, dates, name)
    return read(source, reading)


def to_lance(
    collection: Collection,
    path: str | Path,
    *,
    matrix: str | None = None,
    columns: Iterable[str] | None = None,
) -> None:
    """Write a collection's matrix and columns as a new Lance dataset, with the columns of `to_arrow`.

    The folder is written aside and renamed.

    Args:
        collection: whose records.
        path: the folder to be.
        matrix: the name of the matrix; the only one where left out, and none where there is none.
        columns: the names of relations, masks and columns; all that are the same for every query where left out.

    Raises:
        MissingExtraError: without the extra `lance`.
        BindingError: `unknown_name`, `bad_operand`, `duplicate_name`; `bad_name` for one with a null character.
        DataError: `path_exists`, `unwritable`.
    """
    import pyarrow as pa

    lance = _lance("writing Lance datasets")
    picked = pick(collection, matrix, columns)
    schema = schema_of(picked)
    _refuse_cut(schema.names)
    reader = pa.RecordBatchReader.from_batches(schema, record_batches(picked, schema))
    with new_folder(Path(path)) as aside, writing(aside):
        lance.write_dataset(reader, os.fspath(aside), schema=schema, mode="create")


def _refuse_cut(names: Iterable[str]) -> None:
    """Refuse names that Lance would cut at their first null character.

    Raises:
        BindingError: `bad_name`.
    """
    cut = [name for name in names if "\0" in name]
    if cut:
        message = f"Lance cannot keep the name {cut[0]!r}: it has a null character"
        raise BindingError("bad_name", message, "leave it out: columns=")


def _lance(purpose: str) -> Any:
    try:
        import lance
    except ModuleNotFoundError as error:
        if error.name != "lance":
            raise
        raise MissingExtraError("lance", purpose) from error
    return lance
