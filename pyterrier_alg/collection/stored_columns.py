"""Text and date columns on disk: one Parquet file, a row a record, with nulls where a record has no value.

Anything that reads Parquet reads it: `docno`, then the columns, in the order in which the collection got its docnos.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.files import Hashed
from pyterrier_alg.collection.operands import ColumnOperand
from pyterrier_alg.collection.parts import Parts
from pyterrier_alg.collection.records import Records

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = "columns.parquet"

_DOCNO = "docno"


def field_names(columns: Mapping[str, ColumnOperand]) -> dict[str, str]:
    """What each operand's column is called in the file: as the operand, unless that is `docno`."""
    names = {name: name for name in columns}
    if _DOCNO in names:
        other = f"{_DOCNO}_"
        while other in columns:
            other += "_"
        names[_DOCNO] = other
    return names


def write_columns(folder: Path, records: Records, columns: Mapping[str, ColumnOperand]) -> dict[str, dict[str, Any]]:
    """Write the file; its facts by name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = field_names(columns)
    arrays = [pa.array(records.given.tolist(), pa.large_string())]
    arrays += [_arrow(column, records) for column in columns.values()]
    table = pa.Table.from_arrays(arrays, names=[_DOCNO, *(names[name] for name in columns)])
    with Hashed(folder / COLUMNS) as out, pa.PythonFile(out, mode="w") as sink:
        pq.write_table(table, sink, compression="zstd")
    return {COLUMNS: out.facts}


def read_columns(path: Path) -> pa.Table:
    """The file's table; nothing of it is converted yet.

    Raises:
        OSError, ValueError: where it cannot be read; Arrow's own errors are of these classes.
    """
    import pyarrow.parquet as pq

    return pq.read_table(path, memory_map=True)


def column_parts(header: Mapping[str, Any], table: pa.Table, name: str, records: Records) -> Parts:
    """A column operand as data.

    Raises:
        LookupError, ValueError: where the table has no such column of these records.
    """
    column = table.column(name)
    if len(column) != len(records):
        raise ValueError(f"a column of {len(column)} rows for {len(records)} records")
    there = column.is_valid().to_numpy()
    values = column.drop_null()
    if header["kind"] == Kind.DATE_COLUMN.value:
        # Arrow's own texts of days end where four digits do; so does the calendar here.
        values = values.cast("string")
    positions = records.order[there]
    order = np.argsort(positions)
    found = values.to_pylist()
    return Parts(header, {"positions": positions[order]}, {"values": [found[place] for place in order.tolist()]})


def _arrow(column: ColumnOperand, records: Records) -> pa.Array:
    import pyarrow as pa

    if column.kind is Kind.DATE_COLUMN:
        days: npt.NDArray[Any] = np.full(len(records), "NaT", dtype="datetime64[D]")
        days[column.positions] = column.values.tolist()
        return pa.array(days[records.order], pa.date32())
    values = np.full(len(records), None, dtype=object)
    values[column.positions] = column.values
    return pa.array(values[records.order].tolist(), pa.large_string())
