"""Collections from corpora of texts: those of ir_datasets, PyTerrier's datasets, and any iterable of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.collection.documents import text_to_encode
from pyterrier_alg.collection.formats._reading import Block, Reading, read
from pyterrier_alg.collection.formats._writing import DOCNO
from pyterrier_alg.collection.frames import names_of
from pyterrier_alg.collection.operands import DocumentEncoder

__all__ = ["from_corpus"]


def from_corpus(
    corpus: str | Any,
    *,
    encoder: DocumentEncoder | None = None,
    text: str | Sequence[str] = "text",
    columns: Iterable[str] | None = None,
    dates: Iterable[str] = (),
    first: int | None = None,
    matrix: str = "E",
    space: Space | str | None = None,
    distance: Distance | str | None = None,
    batch_size: int = 256,
    name: str = "",
) -> Collection:
    """A collection of a corpus's documents in memory: their fields as columns, and with an encoder their vectors.

    This is for corpora whose texts fit in memory; `AlgebraIndexer` builds a collection on disk, a batch at a time.

    Args:
        corpus: an id of ir_datasets (`"vaswani"`, `"irds:vaswani"`), a dataset of ir_datasets or of PyTerrier, or an
            iterable of dicts with `docno`.
        encoder: what encodes the documents, and queries afterwards; without one there is no matrix.
        text: the field that is encoded, or several, joined by a space.
        columns: the fields that become columns: text, dates, numbers (a relation) or booleans (a mask). Where left out,
            all whose first value is one of these.
        dates: those of them that are read as ISO 8601 dates where they are text.
        first: take only so many documents.
        matrix: the name of the matrix.
        space: where the vectors live, or its name; `"text"` where left out, with the encoder's identities.
        distance: of a space that is given by name; `"cosine"` where left out.
        batch_size: documents that are encoded at once.
        name: of the collection; that of an ir_datasets id where left out.

    Returns:
        The collection, with its docnos in the order of the corpus. A document with nothing to encode has no row.

    Raises:
        AlgebraError: `missing_texts`, where the corpus cannot be read; `bad_argument`, `bad_parameter`.
        BindingError: `bad_operand` for what is no document, or lacks the field to encode; whatever binding refuses.

    Example:
        >>> from pyterrier_alg.collection.encoders import SignedHashEncoder
        >>> documents = [{"docno": "d1", "text": "a wave guide", "year": 1961}, {"docno": "d2", "text": "a valve"}]
        >>> from_corpus(documents, encoder=SignedHashEncoder(64))
        <Collection: 2 records; E, text, year>
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise AlgebraError("bad_parameter", f"batch_size is a whole number, 1 or more, not {batch_size!r}")
    if first is not None and (isinstance(first, bool) or not isinstance(first, int) or first < 0):
        raise AlgebraError("bad_parameter", f"first is a whole number, 0 or more, not {first!r}")
    if encoder is not None and not callable(getattr(encoder, "encode_documents", None)):
        message = f"the encoder is a {type(encoder).__name__} without encode_documents(texts)"
        raise AlgebraError("bad_argument", message)
    documents = _documents(corpus, first)
    found = _fields(documents) if columns is None else names_of(columns, "columns")
    fields = (text,) if isinstance(text, str) else names_of(text, "text")
    source = _Corpus(documents, found, fields, encoder, batch_size)
    if encoder is not None and not isinstance(space, Space):
        wanted: Any = Distance.COSINE if distance is None else distance
        identities = (encoder.document_identity, encoder.identity)
        space, distance = Space(space or "text", encoder.dimensions, wanted, "float32", *identities), None
    label = name or (corpus.removeprefix("irds:") if isinstance(corpus, str) else "")
    reading = Reading(matrix, space, distance, encoder, False, True, None, dates, label)
    return read(source, reading)


@dataclass(frozen=True)
class _Corpus:
    """Documents as a source."""

    documents: list[Mapping[str, Any]]
    columns: tuple[str, ...]
    fields: tuple[str, ...]
    encoder: DocumentEncoder | None
    batch_size: int
    what: str = "the corpus"
    space: Space | None = None

    @property
    def has_vectors(self) -> bool:
        return self.encoder is not None

    @property
    def dimensions(self) -> int | None:
        return None if self.encoder is None else self.encoder.dimensions

    @property
    def dtypes(self) -> Mapping[str, str]:
        return {name: "object" for name in self.columns}

    def docnos(self) -> Iterator[Any]:
        for place, document in enumerate(self.documents):
            if DOCNO not in document:
                have = ", ".join(map(repr, document)) or "none"
                raise BindingError("bad_docno", f"document {place:,} has no docno; its fields are {have}")
            yield document[DOCNO]

    def blocks(self) -> Iterator[Block]:
        for start in range(0, len(self.documents), self.batch_size):
            batch = self.documents[start : start + self.batch_size]
            values = {name: [document.get(name) for document in batch] for name in self.columns}
            if self.encoder is None:
                yield Block(np.zeros(len(batch), dtype=bool), (), values)
                continue
            texts = [text_to_encode(document, self.fields, document[DOCNO]) for document in batch]
            present = np.array([bool(text.strip()) for text in texts], dtype=bool)
            encoded = [text for text in texts if text.strip()]
            yield Block(present, self.encoder.encode_documents(encoded) if encoded else [], values)


def _documents(corpus: Any, first: int | None) -> list[Mapping[str, Any]]:
    """Dicts with `docno`, read whole."""
    try:
        return list(islice(_stream(corpus), first))
    except AlgebraError:
        raise
    except Exception as error:
        # ir_datasets downloads what is not there, and fails in as many ways as the network and its parsers do.
        raise AlgebraError("missing_texts", f"the corpus {corpus!r} cannot be read: {error}") from error


def _stream(corpus: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(corpus, str):
        corpus = pt.get_dataset(corpus if corpus.startswith("irds:") else f"irds:{corpus}")
    if callable(getattr(corpus, "get_corpus_iter", None)):
        documents = corpus.get_corpus_iter(verbose=False)
    elif callable(getattr(corpus, "docs_iter", None)):
        documents = map(_from_irds, corpus.docs_iter())
    elif isinstance(corpus, Iterable) and not isinstance(corpus, Mapping | bytes):
        documents = corpus
    else:
        message = f"the corpus is a {type(corpus).__name__}"
        raise AlgebraError("bad_argument", message, "an id of ir_datasets, a dataset, or dicts {'docno': …}")
    for place, document in enumerate(documents):
        if not isinstance(document, Mapping):
            message = f"document {place:,} is a {type(document).__name__}"
            raise BindingError("bad_operand", message, "a corpus is an iterable of dicts {'docno': …, 'text': …}")
        yield document


def _from_irds(document: Any) -> Mapping[str, Any]:
    """A document of ir_datasets, a named tuple, as PyTerrier has it."""
    fields = document._asdict()
    return {DOCNO: fields.pop("doc_id"), **fields}


def _fields(documents: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """The fields whose first value a column can hold."""
    firsts: dict[str, Any] = {}
    for document in documents:
        for name, value in document.items():
            if name not in firsts and not is_missing(value):
                firsts[name] = value
    kinds = (str, Real, date, np.datetime64, np.bool_)
    return tuple(name for name, value in firsts.items() if name != DOCNO and isinstance(value, kinds))
