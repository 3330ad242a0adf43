"""Scopes for tests, from plain tables."""

from collections.abc import Mapping

import numpy as np

from pyterrier_alg.algebra.kinds import Distance, Kind, Space
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    RelationOperand,
    RetrieverOperand,
    Scope,
    TextOperand,
    VectorOperand,
)


class Encoder:
    """Texts to vectors, from a table."""

    identity = "table"

    def __init__(self, table):
        self.table = table

    def encode(self, text):
        return np.float32(self.table[text])


class Retriever:
    """The same ranking for every text, cut at a depth; it remembers what it was asked."""

    identity = "table"
    default_depth = 2

    def __init__(self, scores):
        self.scores, self.asked = scores, []

    def search(self, text, depth):
        self.asked.append((text, depth))
        return dict(sorted(self.scores.items(), key=lambda item: (-item[1], item[0]))[:depth])


class Tables:
    """Builds operands over one set of docnos."""

    def __init__(self, docnos):
        self.docnos = np.empty(len(docnos), dtype=object)
        self.docnos[:] = sorted(docnos)
        self.place = {docno: i for i, docno in enumerate(self.docnos)}

    def _positions(self, docnos):
        return np.array([self.place[docno] for docno in docnos], dtype=np.int64)

    def relation(self, scores: Mapping[str, float]):
        docnos = sorted(scores)
        return RelationOperand(self._positions(docnos), np.array([scores[d] for d in docnos], dtype=np.float64))

    def mask(self, docnos):
        return MaskOperand(self._positions(sorted(docnos)))

    def matrix(self, rows, distance=Distance.INNER_PRODUCT, encoder=None, name="space"):
        docnos = sorted(rows)
        dimensions = len(rows[docnos[0]]) if docnos else 2
        values = np.array([rows[d] for d in docnos], dtype=np.float32).reshape(-1, dimensions)
        return MatrixOperand(self._positions(docnos), values, Space(name, dimensions, distance), encoder)

    def column(self, values, kind=Kind.TEXT_COLUMN):
        docnos = sorted(values)
        return ColumnOperand(self._positions(docnos), np.array([values[d] for d in docnos], dtype=object), kind)

    def scope(self, **operands):
        lifted = {
            name: NumberOperand(value)
            if isinstance(value, float)
            else TextOperand(value)
            if isinstance(value, str)
            else RetrieverOperand(value)
            if isinstance(value, Retriever)
            else value
            for name, value in operands.items()
        }
        everything = MaskOperand(np.arange(len(self.docnos), dtype=np.int64))
        return Scope(self.docnos, {"all": everything, **lifted}, shared=frozenset(lifted))


def vector(values, matrix):
    """A vector of a matrix's space."""
    return VectorOperand(np.float32(values), matrix.space)


def wide(rows, tables: Tables, **operands):
    """A scope with the same float32 rows in three spaces: E by inner product, C by cosine, L by Euclidean distance.

    An array is a vector of E's space; that under the name `q1` is also `c1` and `l1` of the others.
    """
    bound = {}
    for letter, distance in (("E", Distance.INNER_PRODUCT), ("C", Distance.COSINE), ("L", Distance.L2)):
        space = Space(f"space {letter}", rows.shape[1], distance)
        bound[letter] = MatrixOperand(np.arange(len(rows), dtype=np.int64), rows, space)
        bound[f"{letter.lower()}1"] = VectorOperand(operands["q1"].astype(np.float32), space)
    for name, value in operands.items():
        bound[name] = vector(value, bound["E"]) if isinstance(value, np.ndarray) else value
    return tables.scope(**bound)
