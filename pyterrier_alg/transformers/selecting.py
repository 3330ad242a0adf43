"""Stages that keep some of a query's records, in rank order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg import exact
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection import operands as bound
from pyterrier_alg.transformers.frames import Places, Rows, Topics, by_query, rank_order, refuse_non_finite, results
from pyterrier_alg.transformers.sources import Source, operand, positions_of
from pyterrier_alg.transformers.stage import Stage, count, finite


@dataclass(frozen=True, repr=False)
class Top(Stage):
    """The first k records of each query, by score descending and then docno, whatever order they came in.

    PyTerrier's `% k` trusts the ranks as it finds them and breaks no ties.

    Args:
        k: 1 or more.

    Example:
        >>> Top(1)(pt.new.ranked_documents([[1.0, 1.0]], qid=["1"], docno=[["b", "a"]]))["docno"].tolist()
        ['a']
    """

    k: int

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "k", count(self.k, "k"))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Select."""
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        topics, rows = Topics.of(inp), Rows.of(inp, "the input")
        ranked = results(topics, topics.codes(rows.qids, self), rows)
        return ranked[ranked["rank"] < self.k].reset_index(drop=True)


@dataclass(frozen=True, repr=False)
class Mmr(Stage):
    """Maximal marginal relevance (Carbonell and Goldstein, 1998): relevant records that are unlike those chosen.

    k times the record of greatest relevance·S − (1 − relevance)·max(0, largest inner product with those chosen) is
    chosen, of equal ones the first by docno. Its score is that value. Records without a row are dropped.

    Args:
        collection: has the matrix.
        matrix: its name.
        k: how many to choose, 1 or more.
        relevance: the weight of the score, from 0 to 1.
    """

    collection: Source
    matrix: str
    k: int
    relevance: float = field(default=0.7, kw_only=True)

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        object.__setattr__(self, "k", count(self.k, "k"))
        object.__setattr__(self, "relevance", finite(self.relevance, "relevance"))
        if not 0 <= self.relevance <= 1:
            raise AlgebraError("bad_parameter", f"relevance is from 0 to 1, not {self.relevance!r}")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Choose for each query."""
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        topics, rows = Topics.of(inp), Rows.of(inp, "the input")
        codes = topics.codes(rows.qids, self)
        scopes = [self.collection.at(topic) for topic in self.collection.topics(topics.frame[["qid"]])]
        chosen, scores = [np.empty(0, dtype=np.intp)], [np.empty(0)]
        for mine in by_query(codes):
            places, worth = self._choose(rows.take(mine), scopes[int(codes[mine[0]])])
            chosen.append(mine[places])
            scores.append(worth)
        kept = np.concatenate(chosen)
        taken = replace(rows.take(kept), scores=np.concatenate(scores))
        return results(topics, codes[kept], taken)

    def _choose(self, rows: Rows, scope: bound.Scope) -> tuple[Places, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        matrix = operand(scope, self.matrix, bound.MatrixOperand)
        positions = positions_of(scope, rows.docnos, rows.qids[0])
        places = np.searchsorted(matrix.positions, positions)
        covered = np.flatnonzero(np.isin(positions, matrix.positions))
        # By position, so that the first of equal ones is the first by docno.
        candidates = covered[np.argsort(positions[covered])]
        vectors = matrix.rows[places[candidates]]
        with np.errstate(all="ignore"):
            gain = self.relevance * rows.scores[candidates]
        likeness = np.zeros(len(candidates))
        left = np.ones(len(candidates), dtype=bool)
        chosen: list[int] = []
        scores: list[float] = []
        while len(chosen) < min(self.k, len(candidates)):
            worth = gain - (1.0 - self.relevance) * likeness + 0.0
            best = int(np.argmax(np.where(left, worth, -np.inf)))
            chosen.append(best)
            scores.append(float(worth[best]))
            left[best] = False
            likeness = np.maximum(likeness, exact.inner_products(vectors, vectors[best]))
        taken = candidates[np.array(chosen, dtype=np.intp)]
        values = np.array(scores, dtype=np.float64)
        return taken, refuse_non_finite(values, rows.qids, [rows.docnos[i] for i in taken.tolist()], self)


def first_of(rows: Rows, codes: Places, depth: int) -> Places:
    """The first `depth` rows of each query, in rank order."""
    order = rank_order(codes, rows.scores, rows.docnos)
    sorted_codes = codes[order]
    return order[np.arange(len(order)) - np.searchsorted(sorted_codes, sorted_codes) < depth]
