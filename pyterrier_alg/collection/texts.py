"""Loaders: transformers that add what a collection stores of the documents of a frame, their texts or vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import BindingError, DataError
from pyterrier_alg.collection.binding import unknown_name
from pyterrier_alg.collection.frames import names_of
from pyterrier_alg.collection.operands import MatrixOperand, Positions
from pyterrier_alg.collection.records import Records, plain_docnos, shown
from pyterrier_alg.collection.stored_records import rows_of
from pyterrier_alg.collection.stored_texts import StoredTexts

if TYPE_CHECKING:
    from pyterrier_alg.collection.collection import Collection

_FRAME = "the frame"


class _Loader(pt.Transformer):
    """Adds columns by docno; rows, their order, scores and ranks stay as they are."""

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer:
        """Cut first: nothing is loaded for what is cut off."""
        return pt.RankCutoff(k) >> self

    def subtransformers(self) -> dict[str, pt.Transformer]:
        """None: PyTerrier would take an empty tuple for a list of them."""
        return {}

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """How PyTerrier draws it."""
        return {"label": type(self).__name__, "help_url": None}


@dataclass(frozen=True)
class TextLoader(_Loader):
    """Adds stored texts to documents or results, a column a field; a record without that text gets an empty one.

    A column that is there already is replaced. Only the rows of the frame's documents are read from the file. Equal
    where the stored texts and the fields are.

    Args:
        records: the collection's.
        texts: what it stores.
        fields: the texts that are added.
        verbose: whether progress is shown.
    """

    records: Records = field(compare=False)
    texts: StoredTexts
    fields: tuple[str, ...]
    verbose: bool = field(default=False, compare=False, kw_only=True)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The frame with its texts.

        Args:
            inp: has `docno`, each of the collection's.

        Raises:
            BindingError: `bad_docno`, `unknown_docno`.
            DataError: `missing_data`, `corrupted_data`.
        """
        pt.validate.columns(inp, includes=["docno"], context=self)
        positions, which = _positions(inp, self.records)
        found = self.texts.take(rows_of(self.records)[positions], self.fields, verbose=self.verbose)
        columns = {name: [values[place] or "" for place in which.tolist()] for name, values in found.items()}
        return inp.assign(**{name: pd.Series(values, inp.index, dtype="str") for name, values in columns.items()})

    def __repr__(self) -> str:
        """Its fields; the collection is elsewhere."""
        return f"TextLoader({', '.join(map(repr, self.fields))})"


@dataclass(frozen=True)
class VecLoader(_Loader):
    """Adds stored vectors to documents or results, as the column `doc_vec`: float32 arrays of shape (dimensions,).

    A column `doc_vec` that is there already is replaced.

    Args:
        collection: has the matrix.
        matrix: its name.

    Raises:
        UnknownNameError: `unknown_name`.
        BindingError: `bad_operand`, where the name is no matrix's.
    """

    collection: Collection
    matrix: str = "E"

    def __post_init__(self) -> None:
        """Refuse a name that is no matrix's before anything runs."""
        if not isinstance(self.matrix, str) or self.matrix not in self.collection:
            raise unknown_name(self.matrix, self.collection.operands)
        bound = self.collection.operands[self.matrix]
        if not isinstance(bound, MatrixOperand):
            raise BindingError("bad_operand", f"{self.matrix} is a {bound.binding.type}, not a matrix")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The frame with its vectors.

        Args:
            inp: has `docno`, each of the collection's and covered by the matrix.

        Raises:
            BindingError: `bad_docno`, `unknown_docno`; `unknown_record`, for one that has no row in the matrix.
        """
        pt.validate.columns(inp, includes=["docno"], context=self)
        records, matrix = self.collection._records, cast(MatrixOperand, self.collection.operands[self.matrix])
        positions, which = _positions(inp, records)
        places = np.searchsorted(matrix.positions, positions)
        there = np.isin(positions, matrix.positions)
        if not there.all():
            without = shown(records.docnos[positions[~there]].tolist())
            hint = f"a program over {self.matrix} gives only records that have a row"
            raise BindingError("unknown_record", f"{self.matrix} has no row for {without}", hint)
        rows = matrix.rows[places].astype(np.float32)
        vectors = pd.Series([rows[place].copy() for place in which.tolist()], inp.index, dtype=object)
        return inp.assign(doc_vec=vectors)

    def __hash__(self) -> int:
        """By what is at hand: the collection's own hash reads its matrices."""
        return hash((self.matrix, len(self.collection)))

    def __repr__(self) -> str:
        """The matrix; the collection is elsewhere."""
        return f"VecLoader({self.matrix!r})"


def text_loader(
    records: Records, texts: StoredTexts | None, fields: str | Iterable[str] = "*", *, verbose: bool = False
) -> TextLoader:
    """A loader of some fields, or of all for `"*"`.

    Raises:
        DataError: `missing_texts`, where the collection stores none.
        BindingError: `bad_operand`, for a field that it does not store.
    """
    if texts is None:
        hint = "AlgebraIndexer(path, texts=[…]) stores those of a corpus"
        raise DataError("missing_texts", "the collection stores no texts", hint)
    wanted = texts.fields if fields == "*" else (fields,) if isinstance(fields, str) else names_of(fields, "fields")
    missing = [name for name in wanted if name not in texts.fields]
    if missing:
        message = f"the collection stores no text {shown(missing)}"
        raise BindingError("bad_operand", message, f"it stores {', '.join(map(repr, texts.fields))}")
    return TextLoader(records, texts, wanted, verbose=verbose)


def _positions(frame: pd.DataFrame, records: Records) -> tuple[Positions, npt.NDArray[np.intp]]:
    """The positions of a frame's distinct documents, and for each row which of them it is."""
    docnos = plain_docnos(frame["docno"], _FRAME)
    numbers: dict[str, int] = {}
    which = np.fromiter((numbers.setdefault(docno, len(numbers)) for docno in docnos), np.intp, len(docnos))
    return records.positions(numbers, _FRAME), which
