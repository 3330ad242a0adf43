"""The indexer: from a stream of documents to a collection on disk, with no more than a batch of vectors in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any

import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, BindingError, DataError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection import artifact
from pyterrier_alg.collection.binding import check_operand_name
from pyterrier_alg.collection.building import IDENTITY, Build
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.documents import VECTOR
from pyterrier_alg.collection.files import writing
from pyterrier_alg.collection.operands import DocumentEncoder, Encoder
from pyterrier_alg.collection.placing import new_folder
from pyterrier_alg.collection.records import is_text, shown

__all__ = ["AlgebraIndexer"]


@dataclass(frozen=True)
class AlgebraIndexer(pt.Indexer):
    """Builds a collection on disk from a stream of documents.

    A document is a dict: `docno`, its texts, its metadata, and either a text to be encoded or a vector of its own as
    `doc_vec`; the first document decides which, for all. Vectors and texts go to disk batch by batch; docnos and
    metadata are kept in memory, as they are in every open collection. The folder is written aside and renamed, and
    takes up twice the room of its matrix for a while.

    - A document without a docno, with a docno that came before, with a text that is no string or a column of two kinds
      is refused, and with it the build: the error names the docno and its place.
    - A document whose text is empty or None, whose encoding is zero, or whose `doc_vec` is None, or zero in a cosine
      space, gets no row; a warning counts them. They are records without a row, which `E @ query` does not score.

    Args:
        path: the folder to be.
        encoder: what encodes the documents, and queries afterwards; of documents that bring vectors only the latter,
            and none is needed.
        matrix: the name of the matrix.
        space: the name of its space.
        distance: of the space.
        scalar: `"float32"`, or `"float16"` for rows in half precision.
        normalise: divide each row by its length; a cosine space refuses rows that are not unit otherwise.
        text_attr: the fields that are encoded, joined by a space.
        texts: the fields that are kept for `text_loader`; those that are encoded where left out. They go to a file
            of their own, and no file is made where no document has any.
        columns: the fields that become metadata columns: text, dates, numbers (a relation) or booleans (a mask).
        dates: those of them that are read as ISO 8601 dates where they are text.
        name: what people call the collection.
        batch_size: documents that are encoded at once.
        overwrite: whether a collection that stands at the path gives way, once the new one is whole.
        verbose: whether progress is shown.

    Raises:
        AlgebraError: `bad_parameter`; `bad_argument` for an encoder that is none.
        BindingError: `bad_name`, `reserved_name`, `duplicate_name`, `space`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from pyterrier_alg.collection.signed_hash import SignedHashEncoder
        >>> documents = [{"docno": "d1", "text": "wave guide", "year": 1961}, {"docno": "d2", "text": "magnetic core"}]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     indexer = AlgebraIndexer(Path(folder) / "mine", encoder=SignedHashEncoder(64), columns=["year"])
        ...     indexer.index(documents)
        <Collection: 2 records; E, year>
    """

    path: str | Path
    encoder: DocumentEncoder | Encoder | None = field(default=None, kw_only=True)
    matrix: str = field(default="E", kw_only=True)
    space: str = field(default="text", kw_only=True)
    distance: Distance = field(default=Distance.COSINE, kw_only=True)
    scalar: str = field(default="float32", kw_only=True)
    normalise: bool = field(default=False, kw_only=True)
    text_attr: str | Sequence[str] = field(default="text", kw_only=True)
    texts: Sequence[str] | None = field(default=None, kw_only=True)
    columns: Sequence[str] = field(default=(), kw_only=True)
    dates: Sequence[str] = field(default=(), kw_only=True)
    name: str = field(default="", kw_only=True)
    batch_size: int = field(default=512, kw_only=True)
    overwrite: bool = field(default=False, kw_only=True)
    verbose: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what no build could use, before a document is looked at."""
        for attribute in ("text_attr", "texts", "columns", "dates"):
            given: object = getattr(self, attribute)
            if given is None or isinstance(given, str) and attribute == "text_attr":
                continue
            object.__setattr__(self, attribute, _names(given, attribute))
        if not isinstance(self.path, str | Path):
            raise AlgebraError("bad_parameter", f"the path is a {type(self.path).__name__}, not a text or a Path")
        if not is_text(self.name):
            raise AlgebraError("bad_parameter", f"a collection's name is a text, not {self.name!r}")
        if not self.encoded:
            raise AlgebraError("bad_parameter", "text_attr names no field")
        if "docno" in (*self.encoded, *(self.texts or ())):
            raise AlgebraError("bad_parameter", "a docno is no text", "give the text a field of its own")
        if self.scalar not in ("float32", "float16"):
            message = f"rows are kept as float32 or float16, not {self.scalar!r}"
            raise AlgebraError("bad_parameter", message)
        if isinstance(self.batch_size, bool) or not isinstance(self.batch_size, int) or self.batch_size < 1:
            message = f"batch_size is a whole number, 1 or more, not {self.batch_size!r}"
            raise AlgebraError("bad_parameter", message)
        if self.encoder is not None and not _is_encoder(self.encoder):
            message = f"the encoder is a {type(self.encoder).__name__}, no object with identity and encode(text)"
            hint = "a PyTerrier encoder that adds doc_vec stands before the indexer: encoder >> AlgebraIndexer(path)"
            raise AlgebraError("bad_argument", message, hint)
        object.__setattr__(self, "distance", self.space_with(1).distance)
        operands = (self.matrix, *self.columns)
        for operand in operands:
            check_operand_name(operand)
        if len(set(operands)) < len(operands):
            raise BindingError("duplicate_name", f"two operands have one name among {shown(operands)}")
        missing = [name for name in self.dates if name not in self.columns]
        if missing:
            raise AlgebraError("bad_parameter", f"dates names {shown(missing)}, which columns does not")

    @property
    def encoded(self) -> tuple[str, ...]:
        """The fields that are encoded."""
        return (self.text_attr,) if isinstance(self.text_attr, str) else tuple(self.text_attr)

    @property
    def encodes(self) -> bool:
        """Whether texts can be encoded; otherwise documents bring their vectors."""
        return callable(getattr(self.encoder, "encode_documents", None))

    def space_with(self, dimensions: int, document_encoder: str = "") -> Space:
        """The space of the matrix.

        Args:
            dimensions: of its vectors.
            document_encoder: the identity of what made them; opaque, and empty where documents brought them.
        """
        query_encoder = "" if self.encoder is None else self.encoder.identity
        return Space(self.space, dimensions, self.distance, self.scalar, document_encoder, query_encoder)

    def built(self) -> bool:
        """Whether a whole collection stands at the path."""
        return artifact.is_collection(Path(self.path), IDENTITY)

    def index(self, iter: Iterable[Mapping[str, Any]], **kwargs: Any) -> Collection:
        """Build the collection.

        Args:
            iter: the documents, each with a docno of its own, in any order.
            **kwargs: none; PyTerrier's indexers share this signature.

        Returns:
            The collection as opened from the path.

        Raises:
            AlgebraError: `bad_argument`, for what is no iterable of documents.
            BindingError: `bad_docno`, `duplicate_docno`, `bad_operand`, `bad_date`, `dimensions`, `ragged_rows`,
                `non_finite`, `not_unit`, `encoder`. Nothing is left of the build then.
            DataError: `path_exists`, `unwritable`.
        """
        if kwargs:
            raise AlgebraError("bad_argument", f"index() has no option {', '.join(kwargs)}", "the indexer itself has")
        if isinstance(iter, str | Mapping) or not isinstance(iter, Iterable):
            message = f"the corpus is a {type(iter).__name__}"
            raise AlgebraError("bad_argument", message, "an iterable of dicts {'docno': …, 'text': …}")
        path = Path(self.path)
        with writing(path):
            taken = self.overwrite and path.exists() and not (path.is_dir() and not any(path.iterdir()))
        if taken and not self.built():
            message = f"{path} is no collection, and is not overwritten"
            raise DataError("path_exists", message, "give another path, or remove it yourself")
        with new_folder(path, replacing=self.overwrite) as aside, Build(self, aside) as build:
            documents = pt.tqdm(iter, desc=f"indexing {path.name}", unit="d", disable=not self.verbose)
            for batch in _batches(documents, self.batch_size):
                build.add(batch)
            build.finish()
        known = {} if self.encoder is None else {self.encoder.identity: self.encoder}
        for message in build.warnings():
            warnings.warn(message, stacklevel=2)
        return Collection(path, encoders=known)

    def index_inputs(self) -> list[list[str]]:
        """What documents must have: the fields to encode, or a vector."""
        with_vector = ["docno", VECTOR]
        return [["docno", *self.encoded], with_vector] if self.encodes else [with_vector]

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """How PyTerrier draws it."""
        return {"label": "AlgebraIndexer", "help_url": None}

    def subtransformers(self) -> dict[str, pt.Transformer]:
        """None: PyTerrier would take an empty tuple for a list of them."""
        return {}

    def __repr__(self) -> str:
        """As one writes it, without what is as it is by default."""
        given = [(f.name, getattr(self, f.name)) for f in fields(self)[1:] if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join([repr(str(self.path)), *(f'{n}={v!r}' for n, v in given)])})"


def _batches(documents: Iterable[Any], size: int) -> Iterator[list[Any]]:
    ahead = iter(documents)
    while batch := list(islice(ahead, size)):
        yield batch


def _names(given: object, attribute: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise AlgebraError("bad_parameter", f"{attribute} is a list of fields, not {given!r}")
    names = tuple(given)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise AlgebraError("bad_parameter", f"{attribute} is a list of different fields, not {names!r}")
    return names


def _is_encoder(given: object) -> bool:
    """Whether it is an encoder; a class of them is none, and a text has an `encode` of its own."""
    fits = callable(getattr(given, "encode", None)) and hasattr(given, "identity")
    return fits and not isinstance(given, type)
