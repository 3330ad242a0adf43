"""A collection in the making: documents come in batches, are checked, encoded, and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection import artifact
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.collection.documents import VECTOR, ColumnBuilder, Docnos, text_of, text_to_encode
from pyterrier_alg.collection.files import open_array
from pyterrier_alg.collection.operands import MatrixOperand, Operand
from pyterrier_alg.collection.records import frozen, shown
from pyterrier_alg.collection.row_file import RowFile
from pyterrier_alg.collection.rows import as_rows, in_space, shape_of
from pyterrier_alg.collection.scalars import as_scalar, scalar_type
from pyterrier_alg.collection.stored_texts import TEXTS, StoredTexts, TextsFile

if TYPE_CHECKING:
    from pyterrier_alg.collection.indexer import AlgebraIndexer

#: What tells PyTerrier which class opens the folder.
IDENTITY = {
    "type": Collection.ARTIFACT_TYPE,
    "format": Collection.ARTIFACT_FORMAT,
    "package_hint": Collection.ARTIFACT_PACKAGE_HINT,
}


class Build:
    """Takes documents in batches; vectors and texts go to disk as they come."""

    def __init__(self, indexer: AlgebraIndexer, folder: Path) -> None:
        """Begin.

        Args:
            indexer: what it is set to.
            folder: where files are written; it becomes the collection's.
        """
        self.indexer, self.folder = indexer, folder
        self.docnos = Docnos()
        self.columns = [ColumnBuilder(name, name in indexer.dates) for name in indexer.columns]
        self.kept = tuple(indexer.encoded if indexer.texts is None else indexer.texts)
        self.files = ExitStack()
        self.texts = self.files.enter_context(TextsFile(folder, self.kept)) if self.kept else None
        self.brings_vectors: bool | None = None
        self.space: Space | None = None
        self.rows: RowFile | None = None
        self.arrivals: list[npt.NDArray[np.int64]] = []
        self.without: dict[str, list[str]] = {}

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *raised: object) -> None:
        self.files.close()

    def add(self, batch: list[Any]) -> None:
        """The next documents."""
        start = len(self.docnos)
        docnos = [self.docnos.add(document) for document in batch]
        if self.texts is not None:
            for docno, document in zip(docnos, batch, strict=True):
                self.texts.append(docno, [text_of(document, name, docno) for name in self.kept])
        for column in self.columns:
            column.append(start, docnos, [document.get(column.name) for document in batch])
        if self.brings_vectors is None:
            self.brings_vectors = VECTOR in batch[0] or not self.indexer.encodes
        places, values = self._given(batch, docnos) if self.brings_vectors else self._encoded(batch, docnos)
        if places:
            self._keep(start, [docnos[place] for place in places], places, values)

    def finish(self) -> None:
        """Put the vectors in docno order, and write the rest."""
        records = self.docnos.records()
        space = self._known_space()
        if self.rows is None:
            self.rows = self._row_file(space)
        positions = records.order[np.concatenate([np.empty(0, np.int64), *self.arrivals])]
        order = np.argsort(positions)
        rows_name = artifact.array_name(0, "rows")
        written = {rows_name: self.rows.sort_into(self.folder / rows_name, order)}
        texts = None
        if self.texts is not None:
            facts = self.texts.finish()
            if self.texts.found or not len(records):
                written |= facts
                texts = StoredTexts(self.folder, self.kept, "")
            else:
                (self.folder / TEXTS).unlink()
        mapped = open_array(self.folder / rows_name)
        matrix = MatrixOperand(frozen(positions[order]), mapped, space, self.indexer.encoder)
        operands: dict[str, Operand] = {self.indexer.matrix: matrix}
        operands |= {column.name: column.operand(records) for column in self.columns}
        content = artifact.Content(records, operands, self.indexer.name, None, texts)
        artifact.write_content(self.folder, content, IDENTITY, written)

    def warnings(self) -> Iterator[str]:
        """What is sound but may not be meant."""
        for reason, docnos in self.without.items():
            yield (
                f"{len(docnos):,} of {len(self.docnos):,} documents {reason} and have no row in "
                f"{self.indexer.matrix}: {shown(docnos)}"
            )
        for column in self.columns:
            if column.kind is None and len(self.docnos):
                yield f"no document has a value of {column.name!r}"

    def _given(self, batch: list[Any], docnos: list[str]) -> tuple[list[int], Any]:
        """The vectors that documents bring."""
        first = len(self.docnos) == len(batch)
        if first and not self.indexer.encodes and not any(VECTOR in document for document in batch):
            message = f"the document {docnos[0]!r} has no doc_vec, and nothing encodes its text"
            hint = "AlgebraIndexer(path, encoder=…), with an encoder that has encode_documents(texts)"
            raise BindingError("encoder", message, hint)
        vectors = [document.get(VECTOR) for document in batch]
        missing = [is_missing(vector) for vector in vectors]
        self._leave_out("bring no vector", [docno for docno, none in zip(docnos, missing, strict=True) if none])
        places = [place for place, none in enumerate(missing) if not none]
        return places, [vectors[place] for place in places]

    def _encoded(self, batch: list[Any], docnos: list[str]) -> tuple[list[int], Any]:
        """The vectors of texts."""
        mixed = next((docno for docno, document in zip(docnos, batch, strict=True) if VECTOR in document), None)
        if mixed is not None:
            message = f"the document {mixed!r} brings a vector of its own, and those before it were encoded"
            raise BindingError("bad_operand", message, "either all documents have doc_vec, or none")
        found = [
            text_to_encode(document, self.indexer.encoded, docno) for docno, document in zip(docnos, batch, strict=True)
        ]
        self._leave_out("have no text", [docno for docno, text in zip(docnos, found, strict=True) if not text.strip()])
        places = [place for place, text in enumerate(found) if text.strip()]
        encoder: Any = self.indexer.encoder
        return places, encoder.encode_documents([found[place] for place in places]) if places else []

    def _keep(self, start: int, docnos: list[str], places: list[int], values: Any) -> None:
        """Append vectors as rows of the space."""
        indexer = self.indexer
        operand = f"{indexer.matrix} (documents {start:,} to {start + places[-1]:,})"
        if self.space is None:
            self.space = self._space_of(values, docnos[0])
        checked = as_rows(values, self.space, docnos, operand)
        # An encoder gives zeros where nothing is left of a text, whatever the space.
        drop = self.space.distance is Distance.COSINE or not self.brings_vectors
        rows, kept = in_space(checked, self.space, docnos, operand, normalise=indexer.normalise, drop_zero_rows=drop)
        there = np.flatnonzero(kept)
        names = [docnos[place] for place in there.tolist()]
        self._leave_out("have a vector of zeros", [docnos[place] for place in np.flatnonzero(~kept).tolist()])
        if self.rows is None:
            self.rows = self._row_file(self.space)
        self.rows.append(as_scalar(rows, self.space, names, operand))
        self.arrivals.append(np.array(places, dtype=np.int64)[there] + start)

    def _space_of(self, values: Any, docno: str) -> Space:
        """The space, when its dimensions are known."""
        encoder: Any = self.indexer.encoder
        stated = getattr(encoder, "dimensions", None)
        found = shape_of(values[0], f"the doc_vec of {docno!r}") if self.brings_vectors else (stated,)
        if len(found) != 1 or not found[0]:
            raise BindingError("dimensions", f"the doc_vec of {docno!r} has the shape {found}, not (dimensions,)")
        if self.brings_vectors and stated is not None and stated != found[0]:
            message = f"the doc_vec of {docno!r} has {found[0]} dimensions, its query encoder has {stated}"
            raise BindingError("dimensions", message)
        return self.indexer.space_with(int(found[0]), "" if self.brings_vectors else encoder.document_identity)

    def _known_space(self) -> Space:
        """The space, also where no document had a vector."""
        if self.space is not None:
            return self.space
        encoder: Any = self.indexer.encoder
        stated = getattr(encoder, "dimensions", None)
        if stated is None:
            message = "no document has a vector, and without an encoder nothing says how many dimensions there are"
            raise BindingError("dimensions", message)
        return self.indexer.space_with(int(stated), "" if self.brings_vectors else encoder.document_identity)

    def _row_file(self, space: Space) -> RowFile:
        rows = RowFile(self.folder / "rows.arriving", space.dimensions, scalar_type(space))
        self.files.callback(rows.close)
        return rows

    def _leave_out(self, reason: str, docnos: list[str]) -> None:
        if docnos:
            self.without.setdefault(reason, []).extend(docnos)
