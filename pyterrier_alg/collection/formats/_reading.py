"""From a source of records, vectors and columns to a collection: what all readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.binding import check_operand_name
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.collection.formats._rows import MatrixRows, checked_rows
from pyterrier_alg.collection.frames import names_of
from pyterrier_alg.collection.operands import Encoder, MatrixOperand, Operand, Positions
from pyterrier_alg.collection.specs import Column, Matrix

#: Rows that readers and writers hold at once.
BATCH = 4096


@dataclass(frozen=True)
class Block:
    """Some records that follow one another.

    Attributes:
        present: for each record whether it has a vector.
        vectors: of those that have one, shape (n, dimensions); an array, or a list of arrays.
        columns: by name the value of each record, None or NaN where it has none.
    """

    present: npt.NDArray[np.bool_]
    vectors: Any = ()
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class Source(Protocol):
    """What is read, twice: the docnos first, so that every row that follows has a place."""

    @property
    def what(self) -> str:
        """What messages call it."""

    @property
    def has_vectors(self) -> bool:
        """Whether it has a place for vectors."""

    @property
    def dimensions(self) -> int | None:
        """Of its vectors; None where no record has one."""

    @property
    def space(self) -> Space | None:
        """Where its vectors live, where it says so itself."""

    @property
    def dtypes(self) -> Mapping[str, str]:
        """Its metadata columns, each with the dtype that it has for pandas: what tells the kind of an empty one."""

    def docnos(self) -> Iterable[Any]:
        """The id of every record."""

    def blocks(self) -> Iterator[Block]:
        """Their vectors and values, in the same order."""


@dataclass(frozen=True)
class Reading:
    """What the caller says of a source; the readers' arguments, which see."""

    matrix: str
    space: Space | str | None
    distance: Distance | str | None
    encoder: Encoder | None
    normalise: bool
    drop_zero_rows: bool
    rows_file: str | Path | None = None
    dates: Iterable[str] = ()
    name: str = ""


def read(source: Source, reading: Reading) -> Collection:
    """The collection that a source makes.

    Raises:
        BindingError: whatever binding refuses.
        DataError: `path_exists`, `unwritable`, for the file of rows.
    """
    dates, dtypes = frozenset(names_of(reading.dates, "dates")), source.dtypes
    for name in dtypes:
        check_operand_name(name)
    unknown = sorted(dates - dtypes.keys())
    if unknown:
        have = ", ".join(dtypes) or "none"
        message = f"dates names {', '.join(unknown)}; the columns that are read are {have}"
        raise BindingError("bad_operand", message)
    collection = Collection(source.docnos(), name=reading.name)
    given = collection.docnos.tolist()
    positions = places(given)
    matrix = bare_matrix(collection, source, reading) if source.has_vectors else None
    rows = None
    if matrix is not None:
        file = None if reading.rows_file is None else Path(reading.rows_file)
        rows = MatrixRows(len(given), matrix.space, file)
    try:
        values: dict[str, list[Any]] = {name: [] for name in dtypes}
        start = 0
        for block in source.blocks():
            names = given[start : start + len(block.present)]
            if rows is not None and matrix is not None:
                _put(rows, matrix.space, block, names, positions[start : start + len(names)], source, reading)
            for name, column in block.columns.items():
                values[name].extend(column)
            start += len(names)
        columns = {
            name: Column(_series(given, found, dtypes[name]), dates=name in dates) for name, found in values.items()
        }
        if matrix is not None and rows is not None:
            there, stored = rows.finish()
            operand = replace(matrix, positions=there, rows=stored)
            collection = with_operands(collection, {reading.matrix: operand})
        return collection.bind(**columns)
    except BaseException:
        if rows is not None:
            rows.discard()
        raise


def places(docnos: Sequence[str]) -> Positions:
    """The position of each docno in code-point order.

    Example:
        >>> places(["d2", "d10", "d1"]).tolist()
        [2, 1, 0]
    """
    result = np.empty(len(docnos), dtype=np.int64)
    result[sorted(range(len(docnos)), key=docnos.__getitem__)] = np.arange(len(docnos))
    return result


def bare_matrix(collection: Collection, source: Source, reading: Reading) -> MatrixOperand:
    """A matrix without rows, whose name, space and encoder are those that binding accepts.

    Raises:
        BindingError: `bad_name`, `reserved_name`, `space`, `dimensions`, `encoder`, `bad_operand`.
    """
    check_operand_name(reading.matrix)
    space = _space(source, reading)
    spec = Matrix(np.empty((0, space.dimensions), np.float32), space=space, encoder=reading.encoder, docnos=())
    operand = collection.bind(**{reading.matrix: spec}).operands[reading.matrix]
    if not isinstance(operand, MatrixOperand):
        raise TypeError(type(operand))
    return operand


def with_operands(collection: Collection, operands: Mapping[str, Operand]) -> Collection:
    """The collection with operands that are ready: binding would copy their arrays."""
    return collection._with({**collection.operands, **operands})


def _space(source: Source, reading: Reading) -> Space:
    stated, distance, dimensions = reading.space, reading.distance, source.dimensions
    if stated is None and distance is None and source.space is not None:
        stated = source.space
    if isinstance(stated, Space):
        if distance is not None and distance != stated.distance:
            message = f"the space {stated} is given, and the distance {str(distance)!r}"
            raise BindingError("space", message, "a Space has its distance: leave distance= out")
        if dimensions is not None and stated.dimensions != dimensions:
            message = f"{source.what} has vectors of {dimensions} dimensions, and the space is {stated}"
            raise BindingError("dimensions", message)
        return stated
    if dimensions is None:
        message = f"no record of {source.what} has a vector, so that nothing says how many dimensions there are"
        raise BindingError("dimensions", message, "space=Space(name, dimensions), or vector=None")
    identity = getattr(reading.encoder, "identity", "")
    query_encoder = identity if isinstance(identity, str) else ""
    # Space says what is wrong with a distance that there is not.
    wanted: Any = Distance.COSINE if distance is None else distance
    return Space("text" if stated is None else stated, dimensions, wanted, query_encoder=query_encoder)


def _put(
    rows: MatrixRows,
    space: Space,
    block: Block,
    names: Sequence[str],
    positions: Positions,
    source: Source,
    reading: Reading,
) -> None:
    there = np.flatnonzero(block.present)
    stored, kept = checked_rows(
        block.vectors,
        space,
        [names[place] for place in there.tolist()],
        f"{reading.matrix} of {source.what}",
        normalise=reading.normalise,
        drop_zero_rows=reading.drop_zero_rows,
    )
    rows.put(positions[there[kept]], stored)


def _series(docnos: Sequence[str], values: list[Any], dtype: str) -> Any:
    """Values by docno, where a column without any keeps the type that it came with."""
    if all(is_missing(value) for value in values):
        return pd.Series([], index=pd.Index([], dtype="object"), dtype=dtype)
    return dict(zip(docnos, values, strict=True))
