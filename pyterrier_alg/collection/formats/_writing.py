"""From a collection to batches of plain values, in the order in which it got its records: what all writers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.collection.binding import unknown_name
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.formats._reading import places
from pyterrier_alg.collection.operands import ColumnOperand, MaskOperand, MatrixOperand, Positions, RelationOperand

Columnar: TypeAlias = RelationOperand | MaskOperand | ColumnOperand

DOCNO = "docno"
VECTOR = "doc_vec"


@dataclass(frozen=True)
class Picked:
    """What of a collection is written.

    Attributes:
        collection: whose.
        name: of the matrix; empty where there is none.
        matrix: the matrix.
        columns: metadata columns, relations and masks, by name.
    """

    collection: Collection
    name: str
    matrix: MatrixOperand | None
    columns: dict[str, Columnar]


@dataclass(frozen=True)
class Written:
    """Some records that follow one another.

    Attributes:
        docnos: theirs.
        present: whether each has a row; empty without a matrix.
        rows: of those that have one.
        columns: by name the value of each: float, bool, text or ISO day, None where there is none.
    """

    docnos: list[str]
    present: npt.NDArray[np.bool_]
    rows: npt.NDArray[Any]
    columns: dict[str, list[Any]]


def pick(collection: Collection, matrix: str | None, columns: Iterable[str] | None) -> Picked:
    """The operands to write.

    Args:
        collection: whose.
        matrix: its name; the only one where None.
        columns: their names; where None all relations, masks and columns that are the same for every query.

    Raises:
        BindingError: `unknown_name`; `bad_operand` for what is no matrix or no column, and where there are several
            matrices; `duplicate_name` for a column that is called as the docnos or vectors are.
    """
    operands = collection.operands
    for name in ([] if matrix is None else [matrix]) + list(columns or ()):
        if name not in operands:
            raise unknown_name(name, operands)
    if matrix is None:
        matrices = [name for name, operand in operands.items() if isinstance(operand, MatrixOperand)]
        if len(matrices) > 1:
            message = f"the collection has several matrices: {', '.join(matrices)}"
            raise BindingError("bad_operand", message, "say which one: matrix=")
        matrix = matrices[0] if matrices else ""
    found = operands[matrix] if matrix else None
    if found is not None and not isinstance(found, MatrixOperand):
        raise BindingError("bad_operand", f"{matrix} is a {found.binding.type}, not a matrix")
    picked: dict[str, Columnar] = {}
    for name in operands if columns is None else columns:
        operand = operands[name]
        if isinstance(operand, RelationOperand | MaskOperand | ColumnOperand):
            picked[name] = operand
        elif columns is not None:
            message = f"{name} is a {operand.binding.type}, which has no one value a record"
            raise BindingError("bad_operand", message, "relations, masks and columns can be written")
    for name in {DOCNO, VECTOR} & picked.keys():
        message = f"the operand {name!r} would be written as the column that holds the {name}s"
        raise BindingError("duplicate_name", message, "leave it out: columns=")
    return Picked(collection, matrix, found, picked)


def written(picked: Picked, size: int) -> Iterator[Written]:
    """The records, `size` at once."""
    docnos = picked.collection.docnos.tolist()
    positions = places(docnos)
    for start in range(0, len(docnos), size):
        block = positions[start : start + size]
        present, rows = np.zeros(0, bool), np.empty((0, 0), np.float32)
        if picked.matrix is not None:
            present, where = _found(picked.matrix.positions, block)
            rows = picked.matrix.rows[where]
        values = {name: _values(operand, block) for name, operand in picked.columns.items()}
        yield Written(docnos[start : start + size], present, rows, values)


def _found(positions: Positions, wanted: Positions) -> tuple[npt.NDArray[np.bool_], Positions]:
    """Which of the wanted records an operand has, and where."""
    where = np.searchsorted(positions, wanted)
    present = np.zeros(len(wanted), dtype=bool)
    inside = where < len(positions)
    present[inside] = positions[where[inside]] == wanted[inside]
    return present, where[present]


def _values(operand: Columnar, wanted: Positions) -> list[Any]:
    present, where = _found(operand.positions, wanted)
    if isinstance(operand, MaskOperand):
        return list(present.tolist())
    values = (operand.scores if isinstance(operand, RelationOperand) else operand.values)[where].tolist()
    result: list[Any] = [None] * len(wanted)
    for place, value in zip(np.flatnonzero(present).tolist(), values, strict=True):
        result[place] = value
    return result
