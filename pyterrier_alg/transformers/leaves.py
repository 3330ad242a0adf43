"""Leaves: scans, bound relations and masks, retrievers, metadata columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pyterrier_alg import exact
from pyterrier_alg.algebra.expressions import Expression, Name, Text
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Distance
from pyterrier_alg.collection import operands as bound
from pyterrier_alg.collection.operands import Positions, Scope
from pyterrier_alg.engines.values import encoded, text_value, vector_value
from pyterrier_alg.transformers.frames import Rows, Topics, of_records
from pyterrier_alg.transformers.leaf import Found, Leaf
from pyterrier_alg.transformers.sources import Source, as_expression, operand, positions_of
from pyterrier_alg.transformers.stage import count

#: The document column that a metadata column becomes.
VALUE = "value"


@dataclass(frozen=True, repr=False)
class Scan(Leaf):
    """The inner product of each row with a vector, exact and rounded once: `E @ v` in the notation.

    Args:
        collection: has the matrix.
        matrix: its name.
        vector: notation or an expression, of kind vector or text; a text goes through the query encoder.

    Raises:
        EvaluationError: `unknown_record`, `empty_centroid`, `zero_vector`, `missing_encoder`, `non_finite`.

    Example:
        >>> Scan(vaswani, "E", "query") % 10  # doctest: +SKIP
    """

    collection: Source
    matrix: str
    vector: str | Expression = "query"

    def __post_init__(self) -> None:
        """Read the vector."""
        super().__post_init__()
        object.__setattr__(self, "vector", as_expression(self.vector))

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """Exact inner products."""
        matrix, vector = self._operands(scope)
        positions, rows = _rows(matrix, wanted)
        return positions, exact.inner_products(rows, vector)

    def _operands(self, scope: Scope) -> tuple[bound.MatrixOperand, bound.Rows]:
        matrix = operand(scope, self.matrix, bound.MatrixOperand)
        vector = self._expressions[0]
        formula = Formula((), vector)
        if _is_text(vector, scope):
            return matrix, encoded(vector, matrix, text_value(vector, scope, formula), formula).values
        return matrix, vector_value(vector, scope, formula)


@dataclass(frozen=True, repr=False)
class Closeness(Scan):
    """Likeness by the space's own distance, larger is closer: cosine, inner product, or −√Σ(e − v)².

    Args:
        collection: has the matrix.
        matrix: its name.
        vector: as for `Scan`.
    """

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """By the distance of the matrix's space."""
        matrix, vector = self._operands(scope)
        positions, rows = _rows(matrix, wanted)
        if matrix.space.distance is Distance.L2:
            return positions, -np.sqrt(exact.squared_distances(rows, vector)) + 0.0
        scores = exact.inner_products(rows, vector)
        if matrix.space.distance is Distance.COSINE:
            lengths = np.sqrt(exact.squared_distances(rows, np.zeros_like(vector))) * exact.norm(vector)
            scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths != 0) + 0.0
        return positions, scores


@dataclass(frozen=True, repr=False)
class Bound(Leaf):
    """A bound relation, its scores as they are.

    Args:
        collection: has the relation.
        relation: its name; it may be bound per query.
    """

    collection: Source
    relation: str

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """The relation that the query sees."""
        relation = operand(scope, self.relation, bound.RelationOperand)
        return relation.positions, relation.scores


@dataclass(frozen=True, repr=False)
class Retrieve(Leaf):
    """The results of a bound retriever for a text.

    Args:
        collection: has the retriever.
        retriever: its name.
        text: notation or an expression, of kind text.
        depth: how many results at most; the retriever's own default where it is None.

    Raises:
        AlgebraError: what the retriever says; `unknown_record`, where it gives a docno that the collection lacks.
    """

    collection: Source
    retriever: str
    text: str | Expression = "query"
    depth: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Read the text."""
        super().__post_init__()
        object.__setattr__(self, "text", as_expression(self.text))
        object.__setattr__(self, "depth", None if self.depth is None else count(self.depth, "depth"))

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """Search."""
        retriever = operand(scope, self.retriever, bound.RetrieverOperand).retriever
        text = text_value(self._expressions[0], scope, Formula((), self._expressions[0]))
        found = retriever.search(text, retriever.default_depth if self.depth is None else self.depth)
        scores = np.fromiter(found.values(), np.float64, len(found)) + 0.0
        return positions_of(scope, list(found), scope.qid), scores


class _MaskLeaf(Leaf):
    """A leaf that gives a mask."""

    def _framed(
        self, topics: Topics, qids: list[str], docnos: list[str], beside: list[Any], came: Rows | None
    ) -> pd.DataFrame:
        return of_records(topics, qids, docnos, None, came, self)


@dataclass(frozen=True, repr=False)
class BoundMask(_MaskLeaf):
    """A bound mask: its records, without scores.

    Args:
        collection: has the mask.
        mask: its name, `all` among them; it may be bound per query.
    """

    collection: Source
    mask: str

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """The mask that the query sees."""
        return operand(scope, self.mask, bound.MaskOperand).positions, None


@dataclass(frozen=True, repr=False, init=False)
class Ids(_MaskLeaf):
    """The listed records, as a mask.

    Raises:
        AlgebraError: `unknown_record`, for an id that the collection does not have.
    """

    collection: Source
    docnos: tuple[str, ...]

    def __init__(self, collection: Source, *docnos: str) -> None:
        """List the records.

        Args:
            collection: has them.
            *docnos: their ids, one or more.
        """
        object.__setattr__(self, "collection", collection)
        object.__setattr__(self, "docnos", docnos)

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """The same for every query."""
        return positions_of(scope, sorted(set(self.docnos)), scope.qid), None


@dataclass(frozen=True, repr=False)
class Field(Leaf):
    """A metadata column of text or days, as the document column `value`; records without a value are left out.

    Args:
        collection: has the column.
        column: its name.

    Example:
        >>> Field(c, "lang") >> IsIn("en", "de", column="value")  # doctest: +SKIP
    """

    collection: Source
    column: str

    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """The records that have a value."""
        column = operand(scope, self.column, bound.ColumnOperand)
        return column.positions, column.values.tolist()

    def _framed(
        self, topics: Topics, qids: list[str], docnos: list[str], beside: list[Any], came: Rows | None
    ) -> pd.DataFrame:
        values = [value for part in beside for value in part]
        texts = dict(zip(zip(qids, docnos, strict=True), values, strict=True))
        frame = of_records(topics, qids, docnos, None, came, self).drop(columns=VALUE, errors="ignore")
        keys = zip(frame["qid"].tolist(), frame["docno"].tolist(), strict=True)
        return frame.assign(**{VALUE: pd.Series([texts[key] for key in keys], dtype="str")})


def _rows(matrix: bound.MatrixOperand, wanted: Positions | None) -> tuple[Positions, bound.Rows]:
    """The positions and rows that matter."""
    if wanted is None:
        return matrix.positions, matrix.rows
    kept = np.isin(matrix.positions, wanted)
    return matrix.positions[kept], matrix.rows[kept]


def _is_text(expression: Expression, scope: Scope) -> bool:
    """Whether an expression is a text: a literal, or the name of one."""
    if isinstance(expression, Name):
        return isinstance(scope.operands.get(expression.name), bound.TextOperand)
    return isinstance(expression, Text)
