"""A filter after retrieval."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pyterrier as pt

from pyterrier_alg.transformers.frames import Rows, Topics, results
from pyterrier_alg.transformers.operators import Operator


@dataclass(frozen=True, repr=False)
class Keep(Operator):
    """Of the results that came in, those that a mask lets through: scores are kept, ranks made anew.

    After a retriever of ours it becomes a mask of the retriever's program, if what it lets through hangs on the record
    alone.

    Args:
        eligible: gives records for the results that came in; scores that it may have are not looked at.

    Example:
        >>> bm25 >> Keep(Where(c, "(year >= 1965) & m"))  # doctest: +SKIP
    """

    eligible: pt.Transformer

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Filter."""
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        return super().transform(inp)

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Keep the eligible records."""
        allowed = self._rows(self.eligible, inp, scored=False)
        rows = Rows.of(inp, "the input")
        kept = rows.take(allowed.find(rows.keys) >= 0)
        return results(topics, topics.codes(kept.qids, self), kept)

    def transform_inputs(self) -> list[list[str]]:
        """The columns of results that the mask can do with."""
        wanted = [list(dict.fromkeys(["qid", "docno", "score", *columns])) for columns in super().transform_inputs()]
        return [columns for i, columns in enumerate(wanted) if set(columns) not in map(set, wanted[:i])]
