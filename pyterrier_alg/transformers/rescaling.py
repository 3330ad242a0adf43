"""Stages that rescale a query's scores by all of them together."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.engines import arithmetic
from pyterrier_alg.transformers.frames import Places, Rows, Scores, by_query, rank_order
from pyterrier_alg.transformers.scores import Rescoring


class _Rescaling(Rescoring):
    """Each query's scores together."""

    def rescore(self, rows: Rows, codes: Places) -> Scores:
        scores = np.empty(len(codes))
        for mine in by_query(codes):
            scores[mine] = self.compute(rows.take(mine))
        return scores

    @abstractmethod
    def compute(self, rows: Rows) -> Scores:
        """The new scores of one query's rows, of which there is at least one."""


@dataclass(frozen=True, repr=False)
class MinMax(_Rescaling):
    """(S − min) / (max − min); 1 where all scores of a query are equal, since each is the maximum."""

    def compute(self, rows: Rows) -> Scores:
        """From 0 to 1."""
        return arithmetic.minmax(rows.scores)


@dataclass(frozen=True, repr=False)
class MaxNorm(_Rescaling):
    """S / max, of which the greatest is 1.

    Raises:
        AlgebraError: `nonpositive_maximum`, naming the query and its best record.
    """

    def compute(self, rows: Rows) -> Scores:
        """S / max."""
        best = int(rows.scores.argmax())
        high = float(rows.scores[best])
        if high <= 0:
            where = f"that of {rows.docnos[best]!r} (qid {rows.qids[best]!r})"
            raise AlgebraError("nonpositive_maximum", f"the largest score is {high}, {where}; it must be above 0")
        return rows.scores / high


@dataclass(frozen=True, repr=False)
class ZScore(_Rescaling):
    """(S − mean) / population deviation; 0 where all scores of a query are equal. Sums are exact, rounded once."""

    def compute(self, rows: Rows) -> Scores:
        """Mean 0, deviation 1."""
        return arithmetic.zscore(rows.scores)


@dataclass(frozen=True, repr=False)
class Softmax(_Rescaling):
    """e^(S − max) over the sum of these, which is exact and rounded once."""

    def compute(self, rows: Rows) -> Scores:
        """Shares that add up to 1."""
        return arithmetic.softmax(rows.scores)


@dataclass(frozen=True, repr=False)
class Ranks(_Rescaling):
    """1, 2, 3, … in rank order, as scores: the first record gets the least."""

    def compute(self, rows: Rows) -> Scores:
        """Each record's rank, from 1."""
        ranks = np.empty(len(rows.scores))
        order = rank_order(np.zeros(len(ranks), dtype=np.intp), rows.scores, rows.docnos)
        ranks[order] = np.arange(1, len(ranks) + 1)
        return ranks
