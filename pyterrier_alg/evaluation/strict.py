"""Scores for evaluation: strictly decreasing in rank order, with the true ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.transformers.frames import Places, Rows, Scores, Topics, by_query, rank_order, results
from pyterrier_alg.transformers.stage import Stage

#: The document column that keeps the scores that came in.
TRUE_SCORE = "true_score"

#: Up to here float32, which trec_eval reads scores as, tells all whole numbers apart.
_MOST = 2**24


@dataclass(frozen=True, repr=False)
class StrictScores(Stage):
    """Strictly decreasing stand-in scores in rank order, so that evaluation takes the records in that order.

    Evaluation looks at scores only, and orders equal ones by docno: trec_eval's measures descending, others (RR@k,
    Judged@k) ascending. trec_eval moreover reads scores as float32, where many different scores are equal. The first of
    a query's n records gets the score n, the last gets 1: whole numbers, which float32 and a run file keep apart. The
    score that came in stands in the document column `true_score`; a column of that name is replaced.

    Put it last. A cut-off behind it is not pushed in front of it, since n counts the records that came in.

    Args:
        by: `"score"`, for score descending, then docno by code point; `"rank"`, for the frame's own rank ascending,
            equal ranks by score descending, then docno.

    Raises:
        AlgebraError: `bad_argument`; while running `non_finite`, `bad_operand`, `duplicate_docno`, `bad_docno`,
            `bad_qid`; `limit` for more than 16,777,216 records of one query.

    Example:
        >>> run = pt.new.ranked_documents([[0.5, 0.5, 0.25]], qid=["1"], docno=[["b", "a", "c"]])
        >>> StrictScores()(run)[["docno", "true_score", "score", "rank"]]
          docno  true_score  score  rank
        0     a        0.50    3.0     0
        1     b        0.50    2.0     1
        2     c        0.25    1.0     2
    """

    by: Literal["score", "rank"] = field(default="score", kw_only=True)
    _sign = "Strict scores"

    def __post_init__(self) -> None:
        """Check the word."""
        super().__post_init__()
        if self.by not in ("score", "rank"):
            raise AlgebraError("bad_argument", f"by is 'score' or 'rank', not {self.by!r}")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Put the stand-ins in the place of the scores.

        Args:
            inp: results: `qid`, `docno`, `score`; `rank` where the order is by rank.

        Returns:
            The query columns, `docno`, the other document columns, `true_score`, `score`, `rank` from 0.
        """
        needed = ["score", "rank"] if self.by == "rank" else ["score"]
        pt.validate.result_frame(inp, extra_columns=needed, context=self)
        topics, rows = Topics.of(inp), Rows.of(inp, "the input")
        codes = topics.codes(rows.qids, self)
        leading = None if self.by == "score" else -_ranks(inp)
        stand_ins = strict_scores(codes, rows.scores, rows.docnos, leading)
        extras = rows.extras.assign(**{TRUE_SCORE: rows.scores})
        return results(topics, codes, replace(rows, scores=stand_ins, extras=extras))


def strict_scores(codes: Places, scores: Scores, docnos: Sequence[str], leading: Scores | None = None) -> Scores:
    """The stand-ins of all rows: n for the first of a query's n records in order, 1 for the last.

    Args:
        codes: the query of each row.
        scores: finite.
        docnos: one a row.
        leading: goes before the scores in the order, larger first; one a row.

    Raises:
        AlgebraError: `limit`.

    Example:
        >>> strict_scores(np.array([0, 0, 1]), np.array([1.0, 1.0, 7.0]), ["b", "a", "c"]).tolist()
        [1.0, 2.0, 1.0]
    """
    order = rank_order(codes, scores, docnos)
    if leading is not None:
        # Stable: rows of equal leading values stay in rank order.
        order = order[np.argsort(-leading[order], kind="stable")]
    stand_ins = np.empty(len(order))
    for mine in by_query(codes[order]):
        if len(mine) > _MOST:
            raise AlgebraError("limit", f"a query has {len(mine):,} records, more than stand-in scores can tell apart")
        stand_ins[order[mine]] = np.arange(len(mine), 0, -1)
    return stand_ins


def _ranks(frame: pd.DataFrame) -> Scores:
    """The ranks as they came, all of them numbers."""
    try:
        ranks = frame["rank"].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise AlgebraError("bad_operand", "the ranks of the input are not all numbers") from None
    if not np.isfinite(ranks).all():
        raise AlgebraError("non_finite", "the input has a record without a rank")
    return ranks
