"""Arrow record batches as a source: which columns are there, of which types, and their values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import BindingError, DataError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.formats._reading import Block
from pyterrier_alg.collection.formats._writing import DOCNO
from pyterrier_alg.collection.parts import space_from_dict

if TYPE_CHECKING:
    import pyarrow as pa

#: The batches of some columns, in the same order each time.
Batches: TypeAlias = Callable[[list[str]], Iterable["pa.RecordBatch"]]

#: Where a schema's metadata hold the space of the vectors, as JSON.
SPACE_KEY = b"pyterrier_alg.space"


@dataclass(frozen=True)
class ArrowSource:
    """Record batches as a source.

    Attributes:
        what: what messages call it.
        schema: of all its columns.
        batches: gives some of them.
        vector: the column of vectors; None where none is read.
        columns: the metadata columns that are read; None for all others.
    """

    what: str
    schema: pa.Schema
    batches: Batches
    vector: str | None
    columns: Sequence[str] | None

    def __post_init__(self) -> None:
        """Refuse a source that lacks columns, or has one of a type that no operand holds.

        Raises:
            BindingError: `bad_operand`.
        """
        have = Counter(self.schema.names)
        wanted = [DOCNO, *([] if self.vector is None else [self.vector]), *(self.columns or ())]
        missing = [name for name in wanted if name not in have]
        if missing:
            absent, names = ", ".join(map(str, missing)), ", ".join(self.schema.names) or "none"
            message = f"{self.what} has no column {absent}; its columns are {names}"
            hint = "vector=None reads metadata alone" if self.vector in missing else ""
            raise BindingError("bad_operand", message, hint)
        twice = [name for name in [*wanted, *self._columns] if have[name] > 1]
        if twice:
            raise BindingError("bad_operand", f"{self.what} has more than one column {twice[0]}")
        for name in self._columns:
            if _dtype(self.schema.field(name).type) is None:
                message = f"the column {name} of {self.what} is of type {self.schema.field(name).type}"
                hint = "columns= names those to read: text, dates, numbers or booleans"
                raise BindingError("bad_operand", message, hint)

    @property
    def has_vectors(self) -> bool:
        """Whether vectors are read."""
        return self.vector is not None

    @cached_property
    def dimensions(self) -> int | None:
        """As the column's type says, or its first vector."""
        if self.vector is None:
            return None
        kind = _plain_type(self.schema.field(self.vector).type)
        if not _is_list(kind) or not _is_number(kind.value_type):
            message = f"the column {self.vector} of {self.what} is of type {kind}, no list of numbers"
            raise BindingError("bad_operand", message)
        size = getattr(kind, "list_size", -1)
        if size > 0:
            return int(size)
        for batch in self.batches([self.vector]):
            lengths = _plain(batch.column(0)).value_lengths().drop_null()
            if len(lengths):
                return int(lengths[0].as_py())
        return None

    @cached_property
    def space(self) -> Space | None:
        """As `to_arrow` wrote it down; None where nothing, or nothing that fits, is written."""
        try:
            found = space_from_dict(json.loads((self.schema.metadata or {})[SPACE_KEY]))
        except (LookupError, TypeError, ValueError, BindingError):
            return None
        return found if found.dimensions == self.dimensions else None

    @property
    def dtypes(self) -> Mapping[str, str]:
        """The metadata columns that are read."""
        return {name: _dtype(self.schema.field(name).type) or "object" for name in self._columns}

    def docnos(self) -> Iterator[Any]:
        """Every docno."""
        for batch in self.batches([DOCNO]):
            try:
                yield from batch.column(0).to_pylist()
            except UnicodeDecodeError as error:
                raise BindingError("bad_docno", f"{self.what} has a docno that is no UTF-8: {error}") from error

    def blocks(self) -> Iterator[Block]:
        """A batch at a time."""
        wanted = list(dict.fromkeys([*([] if self.vector is None else [self.vector]), *self._columns]))
        # Without another column a batch would not tell how many records it has.
        for batch in self.batches(wanted or [DOCNO]):
            columns = {name: self._values(name, batch.column(name)) for name in self._columns}
            if self.vector is None:
                yield Block(np.zeros(batch.num_rows, dtype=bool), (), columns)
            else:
                present, vectors = self._vectors(batch.column(self.vector))
                yield Block(present, vectors, columns)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        if self.columns is not None:
            return tuple(self.columns)
        return tuple(name for name in self.schema.names if name not in (DOCNO, self.vector))

    def _values(self, name: str, column: pa.Array) -> list[Any]:
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            return _days(column)
        try:
            values: list[Any] = column.to_pylist()
        except UnicodeDecodeError as error:
            message = f"the column {name} of {self.what} has a text that is no UTF-8: {error}"
            raise BindingError("bad_operand", message) from error
        return values

    def _vectors(self, column: pa.Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
        """Which records have a vector, and these."""
        column = _plain(column)
        present = column.is_valid().to_numpy(zero_copy_only=False)
        there = column.drop_null()
        values = there.flatten()
        lengths = there.value_lengths().to_numpy(zero_copy_only=False)
        if values.null_count:
            raise BindingError(
                "non_finite", f"the column {self.vector} of {self.what} has vectors with missing elements"
            )
        if len(lengths) and (lengths != lengths[0]).any():
            other = lengths[lengths != lengths[0]][0]
            message = f"the column {self.vector} of {self.what} has vectors of {lengths[0]} and of {other} elements"
            raise BindingError("ragged_rows", message, "every row has as many elements as its space has dimensions")
        width = int(lengths[0]) if len(lengths) else self.dimensions or 0
        return present, values.to_numpy(zero_copy_only=False).reshape(len(lengths), width)


def _days(column: pa.Array) -> list[Any]:
    """Dates, and the UTC days of moments; NumPy's own values stand for days that no calendar has.

    Arrow counts moments of whatever zone in UTC, so that no zone need be known here.
    """
    import pyarrow as pa

    kind = column.type
    unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    counts = column.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()).fill_null(0)
    days = counts.to_numpy(zero_copy_only=False).astype(np.int64).astype(f"datetime64[{unit}]").astype("datetime64[D]")
    days[~column.is_valid().to_numpy(zero_copy_only=False)] = np.datetime64("NaT")
    found: list[Any] = days.tolist()
    # Beyond the calendar there is nothing but a number of days.
    return [days[place] if isinstance(day, int) else day for place, day in enumerate(found)]


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which an extension, such as a tensor of fixed shape, stores its values."""
    return getattr(kind, "storage_type", kind)


def _plain(column: pa.Array) -> pa.Array:
    return getattr(column, "storage", column)


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return any(test(kind) for test in (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list))


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _dtype(kind: pa.DataType) -> str | None:
    """What pandas calls a column of this type; None where no operand holds one."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _dtype(kind.value_type)
    if types.is_boolean(kind):
        return "bool"
    if _is_number(kind) or types.is_decimal(kind):
        return "float64"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "datetime64[s]"
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    return "object" if any(test(kind) for test in texts) else None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file or folder that cannot be read.

    Raises:
        DataError: `corrupted_data`.
    """
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError("corrupted_data", f"{path} cannot be read: {error}", "copy it again") from error
