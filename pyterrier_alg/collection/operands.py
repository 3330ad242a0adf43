"""Operands as engines see them: positions into the collection's records, and values, nothing else.

A collection keeps its docnos in code-point order, so that position order *is* the tie order of the algebra. Every array
here is read-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.kinds import Binding, Distance, Kind, Space, Type

Positions: TypeAlias = npt.NDArray[np.int64]
Scores: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.float32]


class Encoder(Protocol):
    """What turns a text into a vector of a space."""

    @property
    def identity(self) -> str:
        """What a space records as its encoder."""

    def encode(self, text: str) -> Rows:
        """The text's vector: float32, one-dimensional, unit in a cosine space.

        Raises:
            AlgebraError: `zero_vector`, naming the text, where nothing is left of it.
        """


class DocumentEncoder(Encoder, Protocol):
    """What turns queries and documents into vectors of one space; models of two towers treat them differently."""

    @property
    def document_identity(self) -> str:
        """What a space records as its document encoder; the same as `identity` where both sides are one encoder."""

    @property
    def dimensions(self) -> int:
        """How many elements a vector has."""

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """One row a text, shape (len(texts), dimensions): unit in a cosine space, zeros where nothing is left of it."""


class Retrieving(Protocol):
    """What searches by text: a retriever operand's search."""

    @property
    def identity(self) -> str:
        """What it is, for `orient`: `"recorded Terrier BM25"`."""

    @property
    def default_depth(self) -> int:
        """How many results it gives when the program states no depth."""

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The best `depth` records for the text, docno to score."""


@dataclass(frozen=True, eq=False)
class NumberOperand:
    """A named coefficient."""

    value: float

    @property
    def binding(self) -> Binding:
        """A number, known before running."""
        return Binding(Type(Kind.NUMBER), self.value)


@dataclass(frozen=True, eq=False)
class TextOperand:
    """A bound text: `query`, `now`."""

    value: str

    @property
    def binding(self) -> Binding:
        """A text, known before running."""
        return Binding(Type(Kind.TEXT), self.value)


@dataclass(frozen=True, eq=False)
class VectorOperand:
    """A vector of a space: float32, shape (dimensions,)."""

    values: Rows
    space: Space

    @property
    def binding(self) -> Binding:
        """A vector of its space."""
        return Binding(Type(Kind.VECTOR, self.space))


@dataclass(frozen=True, eq=False)
class MatrixOperand:
    """One row for each covered record: `rows[i]` belongs to record `positions[i]`; these ascend strictly.

    Rows are float32, or float16 where their space says so; arithmetic widens these, which changes no value.
    """

    positions: Positions
    rows: Rows
    space: Space
    encoder: Encoder | None = None

    @property
    def binding(self) -> Binding:
        """A matrix of its space."""
        return Binding(Type(Kind.MATRIX, self.space))

    @property
    def is_l2(self) -> bool:
        """Whether likeness is by Euclidean distance."""
        return self.space.distance is Distance.L2


@dataclass(frozen=True, eq=False)
class RelationOperand:
    """A scored relation: record `positions[i]` has score `scores[i]` (finite float64); positions ascend strictly."""

    positions: Positions
    scores: Scores

    @property
    def binding(self) -> Binding:
        """A relation."""
        return Binding(Type(Kind.RELATION))


@dataclass(frozen=True, eq=False)
class MaskOperand:
    """The eligible records: positions, ascending strictly."""

    positions: Positions

    @property
    def binding(self) -> Binding:
        """A mask."""
        return Binding(Type(Kind.MASK))


@dataclass(frozen=True, eq=False)
class ColumnOperand:
    """A text or date column: record `positions[i]` has `values[i]`, a str, or an ISO day (`"2026-12-01"`) for dates."""

    positions: Positions
    values: npt.NDArray[np.object_]
    kind: Kind

    @property
    def binding(self) -> Binding:
        """A text column or a date column."""
        return Binding(Type(self.kind))


@dataclass(frozen=True, eq=False)
class RetrieverOperand:
    """A retriever, searched when a program calls it."""

    retriever: Retrieving

    @property
    def binding(self) -> Binding:
        """A retriever."""
        return Binding(Type(Kind.RETRIEVER))


Operand: TypeAlias = (
    NumberOperand
    | TextOperand
    | VectorOperand
    | MatrixOperand
    | RelationOperand
    | MaskOperand
    | ColumnOperand
    | RetrieverOperand
)


@dataclass(frozen=True, eq=False)
class Scope:
    """A collection as one query sees it: its records, and every operand that the query may name.

    Attributes:
        docnos: the records' ids in code-point order (object array of str).
        operands: by name, the reserved ones (`query`, `query_vec`, `now`, `all`, `input`) among them where bound.
        qid: the query's id; empty where there is no query.
        shared: the names of the operands that are the same for every query of the collection.
        absent: by name, why an operand that other queries have is not there; an error for those who ask for it.
    """

    docnos: npt.NDArray[np.object_]
    operands: Mapping[str, Operand]
    qid: str = ""
    shared: frozenset[str] = frozenset()
    absent: Mapping[str, AlgebraError] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view of a dict cannot be pickled.
        return type(self), (self.docnos, dict(self.operands), self.qid, self.shared, dict(self.absent))

    def refuse_absent(self, names: Iterable[str]) -> None:
        """Raise why the first of these that is absent is.

        Raises:
            AlgebraError: `no_query_vector`, and what a topic's vector may have: `dimensions`, `query_space`, ….
        """
        for name in names:
            if name in self.absent:
                raise self.absent[name]

    @property
    def bindings(self) -> dict[str, Binding]:
        """What the checker knows of each name."""
        return {name: operand.binding for name, operand in self.operands.items()}

    def position(self, docno: str) -> int | None:
        """Where a record stands, or None where the collection has no such docno."""
        # Object arrays of str compare by code point, as Python does.
        place = int(np.searchsorted(self.docnos, docno))
        return place if place < len(self.docnos) and self.docnos[place] == docno else None
