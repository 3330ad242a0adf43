"""Texts of documents on disk: one Arrow file, mapped into memory, of which only the rows that are asked for are read.

`texts.arrow` has `docno` and the fields, a row a record in the order in which the collection got its docnos; null where
a record has no such text. It is an uncompressed Arrow IPC file, which pandas, Polars and DuckDB read too.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyterrier as pt

from pyterrier_alg.algebra.errors import DataError
from pyterrier_alg.collection.files import MEND, Hashed, listed_checksum

TEXTS = "texts.arrow"

_DOCNO = "docno"

#: Bytes that are copied at once.
_COPIED = 1 << 22

#: Rows and characters of a record batch, whichever is reached first: what a reader touches is a row, not a batch.
_ROWS, _CHARACTERS = 1 << 13, 1 << 23


@dataclass(frozen=True)
class StoredTexts:
    """The texts that a saved collection keeps; equal where the files are.

    Once opened they stay what they were: the file is mapped, as matrices are, and another one that takes its place
    afterwards is not looked at. One that took its place before is refused.

    Attributes:
        path: the Arrow file.
        fields: the names of the texts.
        checksum: SHA-256 of the file.
    """

    path: Path = field(compare=False)
    fields: tuple[str, ...]
    checksum: str

    def __reduce__(self) -> tuple[Any, ...]:
        # An open file is not pickled.
        return type(self), (self.path, self.fields, self.checksum)

    def opened(self) -> StoredTexts:
        """The same, whose file is open.

        Raises:
            DataError: `missing_data`; `corrupted_data`, where the folder has become another collection's.
        """
        # To ask for the mapping is to make it.
        _ = self._mapped
        return self

    def copied(self, folder: Path) -> dict[str, Any]:
        """Copy the file into a folder that is being written; the facts of the copy.

        Raises:
            DataError: `missing_data`, `corrupted_data`, `unwritable`.
        """
        with Hashed(folder / TEXTS) as out, memoryview(self._bytes()) as view:
            for start in range(0, len(view), _COPIED):
                out.write(view[start : start + _COPIED])
        if out.facts["sha256"] != self.checksum:
            raise DataError("corrupted_data", f"{self.path} is not what was written: its checksum differs", MEND)
        return out.facts

    def moved(self, folder: Path) -> StoredTexts:
        """The same texts, copied to another folder, and open."""
        return replace(self, path=folder / TEXTS).opened()

    def take(
        self, rows: npt.NDArray[np.int64], wanted: Sequence[str], *, verbose: bool = False
    ) -> dict[str, list[str | None]]:
        """Some rows of some fields.

        Args:
            rows: numbers of records, in the order given to the collection; in any order, repeated or not.
            wanted: names of fields.
            verbose: whether progress is shown, by blocks of the file.

        Returns:
            For each field the texts, None where a record has none.

        Raises:
            DataError: `missing_data`, `corrupted_data`.
        """
        import pyarrow as pa

        self._bytes()
        try:
            batches, ends = self._batches
            found: dict[str, list[str | None]] = {name: [None] * len(rows) for name in wanted}
            numbers = np.searchsorted(ends, rows, side="right")
            for number in pt.tqdm(np.unique(numbers).tolist(), desc="texts", unit="block", disable=not verbose):
                places = np.flatnonzero(numbers == number)
                batch = batches[number]
                inside = pa.array(rows[places] - (ends[number] - batch.num_rows))
                for name in wanted:
                    texts = batch.column(name).take(inside).to_pylist()
                    for place, text in zip(places.tolist(), texts, strict=True):
                        found[name][place] = text
        except (LookupError, OSError, ValueError) as error:
            raise DataError("corrupted_data", f"{self.path} cannot be read: {error}", MEND) from error
        return found

    def _bytes(self) -> mmap.mmap:
        """The mapped file, which is as long as it was: to read what was cut off would kill the process."""
        if self._mapped.size() != len(self._mapped):
            message = f"{self.path} is not what was opened: it has another length now"
            raise DataError("corrupted_data", message, MEND)
        return self._mapped

    @cached_property
    def _mapped(self) -> mmap.mmap:
        """The bytes of the file."""
        try:
            with self.path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise DataError("missing_data", f"cannot read {self.path}: {error.strerror or error}", MEND) from error
        except ValueError as error:
            raise DataError("corrupted_data", f"{self.path} cannot be read: {error}", MEND) from error
        # Asked after the file is open, since folders may be replaced at any time.
        if listed_checksum(self.path) != self.checksum:
            message = f"{self.path} holds the texts of another collection, which stands there now"
            raise DataError("corrupted_data", message, "open the collection again, or give each a folder of its own")
        return mapped

    @cached_property
    def _batches(self) -> tuple[list[Any], npt.NDArray[np.int64]]:
        """The record batches, which are views of the mapped file, and where each of them ends."""
        import pyarrow as pa

        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._mapped)))
        batches = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        return batches, np.cumsum([batch.num_rows for batch in batches], dtype=np.int64)


class TextsFile:
    """Writes texts as they come, a few thousand documents at a time.

    Attributes:
        found: whether any document had a text.
    """

    def __init__(self, folder: Path, fields: Sequence[str]) -> None:
        """Begin the file."""
        import pyarrow as pa

        self._schema = pa.schema([pa.field(name, pa.large_string()) for name in (_DOCNO, *fields)])
        self._out = Hashed(folder / TEXTS)
        self._sink = pa.PythonFile(self._out, mode="w")
        self._writer = pa.ipc.new_file(self._sink, self._schema)
        self._columns: list[list[str | None]] = [[] for _ in self._schema]
        self._characters = 0
        self.found = False

    def append(self, docno: str, texts: Sequence[str | None]) -> None:
        """One document."""
        self.found = self.found or any(text is not None for text in texts)
        for column, text in zip(self._columns, (docno, *texts), strict=True):
            column.append(text)
            self._characters += len(text or "")
        if len(self._columns[0]) >= _ROWS or self._characters >= _CHARACTERS:
            self._flush()

    def finish(self) -> Mapping[str, dict[str, Any]]:
        """Write what is left; the file's facts by name."""
        self._flush()
        self.close()
        return {TEXTS: self._out.facts}

    def close(self) -> None:
        """Give the file back, finished or not."""
        if not self._out.closed:
            try:
                self._writer.close()
                self._sink.close()
            finally:
                # On a full disk the end of the file cannot be written.
                self._out.close()

    def __enter__(self) -> TextsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._columns[0]:
            arrays = [pa.array(column, pa.large_string()) for column in self._columns]
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._columns = [[] for _ in self._schema]
        self._characters = 0
