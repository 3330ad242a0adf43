"""Collections from and to Parquet files, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyterrier_alg.algebra.errors import BindingError, DataError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.files import writing
from pyterrier_alg.collection.formats._arrow_in import ArrowSource, naming
from pyterrier_alg.collection.formats._arrow_out import record_batches, schema_of
from pyterrier_alg.collection.formats._reading import BATCH, Reading, read
from pyterrier_alg.collection.formats._writing import DOCNO, VECTOR, pick
from pyterrier_alg.collection.frames import names_of
from pyterrier_alg.collection.operands import ColumnOperand, Encoder
from pyterrier_alg.collection.placing import new_name_beside, put_file

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["from_parquet", "to_parquet"]


def from_parquet(
    path: str | Path,
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
    """A collection with the records of a Parquet file, or of the `*.parquet` files of a folder in order of their names.

    The docnos are read first, then the rest, a few thousand rows at a time.

    Args:
        path: the file or folder; it has `docno`, once for each record.
        vector: the column of vectors, lists of numbers of fixed or equal length, null where a record has none; None for
            a file without vectors.
        columns: the metadata columns: numbers become relations, booleans masks, text and dates columns. All others than
            `docno` and vectors where left out.
        dates: those of them that are read as ISO 8601 dates where they are text.
        matrix: the name of the matrix.
        space: where the vectors live, or its name. Where left out, the space that `to_parquet` wrote down, else
            `"text"`.
        distance: of a space that is given by name; `"cosine"`, for which rows must be unit, where left out.
        encoder: what makes vectors of this space from query texts.
        normalise: divide each row by its length.
        drop_zero_rows: leave records without a row where it is zero.
        rows_file: a new file for the rows, which is mapped; in memory where left out.
        name: of the collection.

    Returns:
        The collection, with its docnos in the order of the file.

    Raises:
        DataError: `missing_data`, `corrupted_data`; `path_exists`, `unwritable`, for the file of rows.
        BindingError: `bad_operand` for missing columns, types that no operand holds, and files that differ in columns;
            whatever binding refuses.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> c = Collection(["b", "a"]).bind(E=Matrix([[0.6, 0.8], [1.0, 0.0]], space=Space("demo", 2)), w={"b": 0.5})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     to_parquet(c, Path(folder) / "demo.parquet")
        ...     from_parquet(Path(folder) / "demo.parquet") == c
        True
    """
    files = _files(Path(path))
    found = None if columns is None else names_of(columns, "columns")
    source = ArrowSource(Path(path).name, _schema(files), lambda names: _batches(files, names), vector, found)
    reading = Reading(matrix, space, distance, encoder, normalise, drop_zero_rows, rows_file, dates, name)
    return read(source, reading)


def to_parquet(
    collection: Collection,
    path: str | Path,
    *,
    matrix: str | None = None,
    columns: Iterable[str] | None = None,
) -> None:
    """Write a collection's matrix and columns as a new Parquet file, with the columns of `to_arrow`.

    The file is written aside and renamed.

    Args:
        collection: whose records.
        path: the file to be.
        matrix: the name of the matrix; the only one where left out, and none where there is none.
        columns: the names of relations, masks and columns; all that are the same for every query where left out.

    Raises:
        BindingError: `unknown_name`, `bad_operand`, `duplicate_name`.
        DataError: `path_exists`, `unwritable`.
    """
    import pyarrow.parquet as pq

    picked, target = pick(collection, matrix, columns), Path(path)
    schema = schema_of(picked)
    # Vectors have no element twice, and dictionaries of them cost room.
    named = [DOCNO, *(name for name, operand in picked.columns.items() if isinstance(operand, ColumnOperand))]
    with writing(target):
        if target.exists():
            raise DataError("path_exists", f"{target} exists already", "write to a new file, or remove it first")
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = new_name_beside(target)
    try:
        with writing(target):
            with pq.ParquetWriter(aside, schema, compression="zstd", use_dictionary=named) as out:
                for batch in record_batches(picked, schema):
                    out.write_batch(batch)
            put_file(aside, target)
    finally:
        with suppress(OSError, ValueError):
            aside.unlink()


def _files(path: Path) -> list[Path]:
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        what = "has no *.parquet file" if path.is_dir() else "is no file"
        raise DataError("missing_data", f"{path} {what}")
    return files


def _schema(files: list[Path]) -> pa.Schema:
    """The columns of all files.

    Raises:
        BindingError: `bad_operand`, where they differ.
    """
    import pyarrow.parquet as pq

    schemas = []
    for file in files:
        with naming(file):
            schemas.append(pq.read_schema(file))
    first, *others = schemas
    for file, schema in zip(files[1:], others, strict=True):
        if not schema.equals(first):
            message = f"{file.name} has the columns {_described(schema)}, and {files[0].name} {_described(first)}"
            raise BindingError("bad_operand", message)
    return first


def _described(schema: Any) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def _batches(files: list[Path], names: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    for file in files:
        with naming(file), pq.ParquetFile(file) as parquet:
            for batch in parquet.iter_batches(batch_size=BATCH, columns=names):
                # Files keep their own order of columns.
                yield batch.select(names)
