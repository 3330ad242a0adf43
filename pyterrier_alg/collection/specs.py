"""How operands are named when they are bound: what a plain number, dict or set cannot say by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.operands import Encoder


@dataclass(frozen=True, eq=False)
class Matrix:
    """One vector a record, not necessarily for every record.

    Attributes:
        rows: shape (n, dimensions), in the order of the collection's docnos as it got them or in that of `docnos`;
            or a mapping docno to vector, or a series indexed by docno; or a frame with `docno` and `doc_vec`.
            Rounded to float32.
        space: the semantic space that the rows live in.
        encoder: what makes vectors of this space from query texts; without one, texts cannot be compared with the rows.
        docnos: whose rows they are, where `rows` is an array over fewer records than the collection has.
        normalise: divide each row by its length; a cosine space refuses rows that are not unit otherwise.
        drop_zero_rows: leave records out whose row is zero; a cosine space refuses such a row otherwise.

    Example:
        >>> Matrix([[3.0, 4.0]], space=Space("demo", 2), normalise=True)  # doctest: +ELLIPSIS
        Matrix(rows=[[3.0, 4.0]], space=...)
    """

    rows: Any
    space: Space
    encoder: Encoder | None = None
    docnos: Iterable[str] | None = None
    normalise: bool = False
    drop_zero_rows: bool = False


@dataclass(frozen=True, eq=False)
class Vector:
    """A point or direction of a space.

    Attributes:
        values: shape (dimensions,); rounded to float32. It need not be unit, in any space.
        space: where it lives.
    """

    values: Any
    space: Space


@dataclass(frozen=True, eq=False)
class Relation:
    """A scored relation: docno to a finite number, for some records.

    Attributes:
        scores: a mapping, a `ScoredRelation`, a pandas series indexed by docno, or a frame with `docno` and `score`;
            a frame that has `qid` too is one relation a query, as `Run`.
    """

    scores: Any


@dataclass(frozen=True, eq=False)
class Mask:
    """A set of records.

    Attributes:
        docnos: any iterable of docnos, or a frame with `docno`; a frame that has `qid` too is one mask a query.
    """

    docnos: Any


@dataclass(frozen=True, eq=False)
class Column:
    """A metadata column; None, NaN and NaT are missing values, and a record without a value is no part of it.

    Text makes a text column, dates and date-times a date column of UTC days (a date-time without a zone is taken as
    UTC), numbers a relation, booleans the mask of the records where it is true.

    Attributes:
        values: a mapping docno to value, or a pandas series indexed by docno.
        dates: read text as dates and date-times as ISO 8601 writes them.
    """

    values: Mapping[str, Any] | Any
    dates: bool = False


@dataclass(frozen=True, eq=False)
class Run:
    """One relation a query.

    Attributes:
        frame: columns `qid`, `docno`, `score`, as PyTerrier's results have them. A query without rows has an empty one.
    """

    frame: Any


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """One vector a query.

    Attributes:
        vectors: a frame with `qid` and `query_vec`, or a mapping qid to vector. A query without one is an error.
        space: where they live.
    """

    vectors: Any
    space: Space


@dataclass(frozen=True, eq=False)
class Retriever:
    """What searches the collection by text.

    Attributes:
        source: any PyTerrier retriever, or an object with `search(text, depth)`, `identity` and `default_depth`.
        default_depth: of a PyTerrier retriever, how many results it gives where the program states no depth.
        identity: of a PyTerrier retriever, what `orient` calls it; its `repr` where left out.
    """

    source: Any
    default_depth: int = 1000
    identity: str = ""
