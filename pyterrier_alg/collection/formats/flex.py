"""Dense indexes as pyterrier_dr's `FlexIndex` has them, read and written without pyterrier_dr.

A folder with `pt_meta.json` (`vec_size`, `doc_count`), `vecs.f4` (float32, a row a document) and `docnos.npids`. It
says neither how its vectors are compared nor what made them: the caller does.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import BindingError, DataError, MissingExtraError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.files import row_blocks, writing
from pyterrier_alg.collection.formats._reading import BATCH, Block, Reading, bare_matrix, read, with_operands
from pyterrier_alg.collection.formats._rows import checked_rows
from pyterrier_alg.collection.formats._writing import pick
from pyterrier_alg.collection.operands import Encoder
from pyterrier_alg.collection.placing import new_folder
from pyterrier_alg.collection.records import frozen

__all__ = ["from_flex", "to_flex"]

_META, _VECTORS, _DOCNOS = "pt_meta.json", "vecs.f4", "docnos.npids"
#: What npids raises over bytes, or docnos, that are not to its liking.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error)

_KIND = {"type": "dense_index", "format": "flex"}


def from_flex(
    path: str | Path,
    *,
    matrix: str = "E",
    space: Space | str | None = None,
    distance: Distance | str | None = None,
    encoder: Encoder | None = None,
    normalise: bool = False,
    drop_zero_rows: bool = False,
    rows_file: str | Path | None = None,
    name: str = "",
) -> Collection:
    """A collection over a `.flex` artifact.

    The vectors are read once, to check them. Where the docnos ascend by code point and every row may stay as it is, the
    matrix is the artifact's own file, mapped and read-only: nothing is converted, and the folder must stay where it is.
    Otherwise (docnos `"1"` … `"10"` do not ascend, rows are normalised or dropped, an element is −0) the rows are
    copied in docno order: into memory, or into `rows_file`, which is mapped.

    Args:
        path: the artifact's folder.
        matrix: the name of the matrix.
        space: where the vectors live, or its name; `"text"` where left out.
        distance: of a space that is given by name: `"cosine"`, for which rows must be unit, where left out. FlexIndex
            itself takes inner products unless told otherwise.
        encoder: what makes vectors of this space from query texts.
        normalise: divide each row by its length.
        drop_zero_rows: leave records without a row where it is zero.
        rows_file: a new file for rows that must be copied; it belongs to the collection, and must stay where it is.
        name: of the collection.

    Returns:
        The collection, with its docnos in the artifact's order.

    Raises:
        MissingExtraError: without the extra `flex`.
        DataError: `missing_data`, `corrupted_data`, `not_a_collection` for another artifact; `path_exists`,
            `unwritable`, for the file of rows.
        BindingError: `duplicate_docno`, `bad_docno`, `non_finite`, `not_unit`, `zero_row`, `space`, `dimensions`,
            `encoder`, `bad_name`, `reserved_name`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> space = Space("demo", 2)
        >>> c = Collection(["d1", "d2"]).bind(E=Matrix([[1.0, 0.0], [0.6, 0.8]], space=space))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     to_flex(c, Path(folder) / "demo.flex")
        ...     from_flex(Path(folder) / "demo.flex", space="demo") == c
        True
    """
    source = _open(Path(path))
    reading = Reading(matrix, space, distance, encoder, normalise, drop_zero_rows, rows_file, name=name)
    ascends = all(docno < following for docno, following in zip(source.names, source.names[1:], strict=False))
    return (_in_place(source, reading) if ascends else None) or read(source, reading)


def to_flex(collection: Collection, path: str | Path, *, matrix: str | None = None) -> None:
    """Write a matrix as a new `.flex` artifact, which pyterrier_dr's `FlexIndex(path)` opens.

    The folder is written aside and renamed. Documents stand in docno order, so that `from_flex` maps the file; records
    without a row are left out. Neither the space nor the encoders are part of the format.

    Args:
        collection: whose matrix.
        path: the folder to be.
        matrix: the name of the matrix; the only one where left out.

    Raises:
        MissingExtraError: without the extra `flex`.
        BindingError: `unknown_name`; `bad_operand` where there is no matrix, or it has no row; `bad_docno` for a docno
            that the format cannot keep.
        DataError: `path_exists`, `unwritable`.
    """
    npids = _npids("writing .flex artifacts")
    found = pick(collection, matrix, ()).matrix
    if found is None or not len(found.positions):
        message = "the collection has no matrix" if found is None else "the matrix has no rows"
        raise BindingError("bad_operand", f"{message}, and a .flex artifact holds rows")
    docnos = collection.at().docnos[found.positions].tolist()
    with new_folder(Path(path)) as aside:
        with writing(aside / _VECTORS), (aside / _VECTORS).open("xb") as out:
            for block in row_blocks(len(found.rows), found.rows.shape[1] * 4):
                out.write(np.ascontiguousarray(found.rows[block], dtype="<f4").reshape(-1).data)
        _write_docnos(npids, docnos, aside / _DOCNOS)
        meta = {**_KIND, "package_hint": "pyterrier-dr", "vec_size": found.rows.shape[1], "doc_count": len(docnos)}
        with writing(aside / _META):
            (aside / _META).write_text(json.dumps(meta), encoding="ascii")


@dataclass(frozen=True)
class _Flex:
    """An open artifact: a source."""

    what: str
    names: list[str]
    rows: npt.NDArray[np.float32]
    space: Space | None = None
    has_vectors: bool = True
    dtypes: Mapping[str, str] = field(default_factory=dict)

    @property
    def dimensions(self) -> int:
        return int(self.rows.shape[1])

    def docnos(self) -> list[str]:
        return self.names

    def blocks(self) -> Iterator[Block]:
        for start in range(0, len(self.rows), BATCH):
            rows = self.rows[start : start + BATCH]
            yield Block(np.ones(len(rows), dtype=bool), rows)


def _open(path: Path) -> _Flex:
    npids = _npids("reading .flex artifacts")
    try:
        meta = json.loads((path / _META).read_bytes())
        if not isinstance(meta, dict) or any(meta.get(key) != value for key, value in _KIND.items()):
            raise DataError("not_a_collection", f"{path / _META} does not describe a {' '.join(_KIND.values())}")
        count, size = meta.get("doc_count"), meta.get("vec_size")
        if type(count) is not int or type(size) is not int or count < 1 or size < 1:
            raise DataError("corrupted_data", f"{path / _META} says {count!r} documents of {size!r} dimensions")
        there = (path / _VECTORS).stat().st_size
        if there != 4 * count * size:
            message = f"{path / _VECTORS} has {there:,} bytes, {count:,} rows of {size:,} take {4 * count * size:,}"
            raise DataError("corrupted_data", message, "copy the folder again")
        # A plain array over the mapping: arithmetic on the mapping's own class gives mappings that are none.
        rows = np.asarray(np.memmap(path / _VECTORS, mode="r", dtype="<f4", shape=(count, size)))
        docnos = _docnos(npids, path / _DOCNOS)
    except OSError as error:
        raise DataError("missing_data", f"cannot read {error.filename or path}: {error.strerror or error}") from error
    except _UNREADABLE as error:
        raise DataError("corrupted_data", f"{path} cannot be read: {error!r}", "copy the folder again") from error
    if len(docnos) != count:
        message = f"{path / _DOCNOS} has {len(docnos):,} docnos, {_META} says {count:,} documents"
        raise DataError("corrupted_data", message, "copy the folder again")
    return _Flex(path.name, docnos, frozen(rows))


def _in_place(source: _Flex, reading: Reading) -> Collection | None:
    """The collection over the artifact's own file; None where a row may not stay as it is there."""
    collection = Collection(source.names, name=reading.name)
    operand = bare_matrix(collection, source, reading)
    if operand.space.scalar != "float32":
        return None
    start = 0
    for block in source.blocks():
        names = source.names[start : start + len(block.vectors)]
        what = f"{reading.matrix} of {source.what}"
        stored, kept = checked_rows(
            block.vectors,
            operand.space,
            names,
            what,
            normalise=reading.normalise,
            drop_zero_rows=reading.drop_zero_rows,
        )
        # Bits, since -0 equals 0.
        if not kept.all() or not np.array_equal(stored.view(np.uint32), block.vectors.view(np.uint32)):
            return None
        start += len(names)
    positions = frozen(np.arange(len(source.names), dtype=np.int64))
    return with_operands(collection, {reading.matrix: replace(operand, positions=positions, rows=source.rows)})


def _write_docnos(npids: Any, docnos: list[str], path: Path) -> None:
    """Write the file of docnos, and read it back: trailing null characters are lost in it, and a lone docno may be.

    Raises:
        BindingError: `bad_docno`.
        DataError: `unwritable`.
    """
    with writing(path):
        try:
            npids.Lookup.build(docnos, path, return_self=False)
            kept, places = _docnos(npids, path), _places(npids, docnos, path)
        except _UNREADABLE as error:
            raise BindingError("bad_docno", f"{path.name} cannot keep these docnos: {error!r}") from error
    for place, docno in enumerate(docnos):
        if kept[place] != docno or places[place] != place:
            raise BindingError(
                "bad_docno", f"{path.name} cannot keep the docno {docno!r}: it is found as {kept[place]!r}"
            )


def _docnos(npids: Any, path: Path) -> list[str]:
    lookup = npids.Lookup(path)
    return [str(docno) for docno in lookup.fwd]


def _places(npids: Any, docnos: list[str], path: Path) -> list[int]:
    """Where the file finds each docno."""
    lookup, found = npids.Lookup(path), list[int]()
    for start in range(0, len(docnos), BATCH):
        found += lookup.inv[docnos[start : start + BATCH]]
    return found


def _npids(purpose: str) -> Any:
    try:
        import npids
    except ModuleNotFoundError as error:
        if error.name != "npids":
            raise
        raise MissingExtraError("flex", purpose) from error
    return npids
