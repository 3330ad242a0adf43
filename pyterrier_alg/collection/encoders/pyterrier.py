"""PyTerrier's dense encoders, which add `query_vec` to topics and `doc_vec` to documents, as encoders of a space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.frames import frame_columns
from pyterrier_alg.collection.operands import Rows
from pyterrier_alg.collection.records import frozen, is_text, texts_to_encode
from pyterrier_alg.collection.rows import as_rows, in_space, shape_of

__all__ = ["PyTerrierEncoder"]


@dataclass(frozen=True)
class PyTerrierEncoder:
    """A transformer that adds `query_vec` to a frame `[qid, query]`, and `doc_vec` to a frame `[docno, text]`.

    Every answer is checked: its columns, its docnos, its shape, and that it is finite once rounded to float32. A text
    of white space alone is not sent: no query vector is made of it, and as a document it gets a row of zeros.

    A model that pads its batches may give a text other bits in other company. `batch_size=1` makes a document's row
    independent of its neighbours, at whatever one call a document costs.

    Args:
        query_encoder: adds `query_vec`.
        document_encoder: adds `doc_vec`; the query encoder where left out, since pyterrier_dr's take both frames.
        identity: what a space records as its query encoder. State the model and its version: vectors of two encoders
            never meet, and this name is all that tells them apart.
        document_identity: the same for documents; `identity` where left out.
        dimensions: of every vector.
        normalise: True divides each vector by its length. False leaves vectors as they are, for inner product and l2
            spaces. None refuses vectors that are not unit, which is what a cosine space needs.
        batch_size: documents in one frame.

    Raises:
        AlgebraError: `bad_argument` for what is no transformer; `bad_parameter`.

    Example:
        >>> import pyterrier as pt
        >>> letters = pt.apply.query_vec(lambda row: np.array([row["query"].count(c) for c in "ae"]))
        >>> encoder = PyTerrierEncoder(letters, identity="a and e", dimensions=2, normalise=True)
        >>> encoder.encode("banana bee tree")
        array([0.6, 0.8], dtype=float32)
    """

    query_encoder: pt.Transformer
    document_encoder: pt.Transformer | None = None
    identity: str = field(kw_only=True)
    document_identity: str = field(default="", kw_only=True)
    dimensions: int = field(kw_only=True)
    normalise: bool | None = field(default=None, kw_only=True)
    batch_size: int = field(default=32, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what could encode nothing."""
        for name in ("query_encoder", "document_encoder"):
            given = getattr(self, name)
            if not isinstance(given, pt.Transformer) and (name == "query_encoder" or given is not None):
                raise AlgebraError("bad_argument", f"{name} is a {type(given).__name__}, not a PyTerrier transformer")
        if not self.identity or not is_text(self.identity) or not is_text(self.document_identity):
            message = "an encoder's identity is a text that is not empty"
            raise AlgebraError("bad_parameter", message, 'state the model: identity="tas-b"')
        for name in ("dimensions", "batch_size"):
            number: object = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise AlgebraError("bad_parameter", f"{name} is a whole number, 1 or more, not {number!r}")
        if not (self.normalise is None or isinstance(self.normalise, bool)):
            raise AlgebraError("bad_parameter", f"normalise is True, False or None, not {self.normalise!r}")
        object.__setattr__(self, "document_identity", self.document_identity or self.identity)

    def encode(self, text: str) -> Rows:
        """The query's vector, shape (dimensions,), read-only.

        Raises:
            AlgebraError: `zero_vector`, where the text is empty or its vector is zero.
            BindingError: `bad_operand` for what is no text, or where `query_vec` is missing; `dimensions`,
                `ragged_rows`, `non_finite`, `not_unit`.
        """
        (text,) = texts_to_encode([text])
        if not text.strip():
            raise AlgebraError("zero_vector", f"the text {text!r} has no direction: it is empty")
        frame = pd.DataFrame({"qid": ["1"], "query": [text]})
        answer = self.query_encoder.transform(frame)
        (vectors,) = frame_columns(answer, ("query_vec",), f"what {self.identity} gave for a query")
        rows = self._checked(vectors, [text], self.identity)
        if not rows.any() and self.normalise is not False:
            raise AlgebraError("zero_vector", f"the text {text!r} has no direction: {self.identity} gave zeros")
        return frozen(rows.reshape(-1))

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """One row a text, shape (len(texts), dimensions); zeros where a text is empty.

        Raises:
            BindingError: `bad_operand` for what is no text, or where `doc_vec` or documents are missing; `dimensions`,
                `ragged_rows`, `non_finite`, `not_unit`.
        """
        given = texts_to_encode(texts)
        rows = np.zeros((len(given), self.dimensions), dtype=np.float32)
        there = [place for place, text in enumerate(given) if text.strip()]
        for start in range(0, len(there), self.batch_size):
            places = there[start : start + self.batch_size]
            rows[places] = self._documents([given[place] for place in places])
        return rows

    def _documents(self, texts: list[str]) -> Rows:
        names = [str(place) for place in range(len(texts))]
        model = self.query_encoder if self.document_encoder is None else self.document_encoder
        answer = model.transform(pd.DataFrame({"docno": names, "text": texts}))
        what = f"what {self.document_identity} gave for documents"
        docnos, vectors = frame_columns(answer, ("docno", "doc_vec"), what)
        # Documents come back in whatever order the transformer likes.
        by_docno = {docno: vector for docno, vector in zip(docnos, vectors, strict=True) if isinstance(docno, str)}
        if len(docnos) != len(names) or by_docno.keys() != set(names):
            message = f"{what} are {len(docnos):,} rows, not one for each of its {len(names):,} documents"
            raise BindingError("bad_operand", message)
        return self._checked([by_docno[name] for name in names], texts, self.document_identity)

    def _checked(self, vectors: list[Any], texts: list[str], identity: str) -> Rows:
        distance = Distance.INNER_PRODUCT if self.normalise is False else Distance.COSINE
        space = Space(identity, self.dimensions, distance)
        labels = [text if len(text) <= 60 else f"{text[:60]}…" for text in texts]
        what = f"the output of {identity}"
        rows = as_rows([_vector(vector, what) for vector in vectors], space, labels, what)
        zeros_stay = self.normalise is not False
        kept_rows, kept = in_space(rows, space, labels, what, normalise=bool(self.normalise), drop_zero_rows=zeros_stay)
        result = np.zeros(rows.shape, dtype=np.float32)
        result[kept] = kept_rows
        return result


def _vector(values: Any, what: str) -> Any:
    """A model's vector as an array, whatever it is: lists and other libraries' arrays too.

    Raises:
        BindingError: `ragged_rows`.
    """
    if isinstance(values, np.ndarray):
        # A masked array must be seen to be one.
        return values
    shape_of(values, what)
    return np.asarray(values)
