"""Steps: what a pipeline has computed already, carried beside each query for the stages after it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.transformers.frames import Rows, Scores, Topics, of_records, query_columns
from pyterrier_alg.transformers.stage import Stage

#: The query column that holds each query's steps: PyTerrier and we carry what begins with q along with the query.
STEPS = "q_steps"


@dataclass(frozen=True, eq=False)
class Step:
    """What a step gave for one query.

    Attributes:
        docnos: its records.
        scores: theirs; None for a mask.
    """

    docnos: list[str]
    scores: Scores | None


@dataclass(frozen=True, repr=False)
class Remember(Stage):
    """Run a stage and keep what it gives as a named step of each query; the frame itself goes on as it came.

    Args:
        step: its name.
        stage: gives results, or a mask.
        everywhere: whether the stage gets the queries alone, also where results come in: it sees the whole collection.

    Example:
        >>> Remember("pool", bm25 % 52) >> Recall("pool") >> Remember("scaled", ...)  # doctest: +SKIP
    """

    step: str
    stage: pt.Transformer
    everywhere: bool = field(default=False, kw_only=True)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Add the step to the queries' steps."""
        # Without queries the stage says what it needs.
        alone = self.everywhere and "qid" in inp.columns
        found = self.stage.transform(Topics.of(inp).frame.copy() if alone else inp.copy())
        topics = Topics.of(inp)
        scored = "score" in found.columns
        rows = Rows.of(found, self.stage, scored=scored)
        codes = topics.codes(rows.qids, self.stage)
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(topics.places) + 1))
        before = steps_of(inp)
        after: dict[str, dict[str, Step]] = {}
        for i, qid in enumerate(topics.places):
            mine = order[edges[i] : edges[i + 1]]
            found_here = Step([rows.docnos[j] for j in mine.tolist()], rows.scores[mine] if scored else None)
            after[qid] = {**before.get(qid, {}), self.step: found_here}
        column = np.empty(len(inp), dtype=object)
        column[:] = [after[qid] for qid in inp["qid"].tolist()]
        return inp.assign(**{STEPS: column})

    def compile(self) -> pt.Transformer:
        """The same, with the stage compiled."""
        return replace(self, stage=self.stage.compile())


@dataclass(frozen=True, repr=False)
class Recall(Stage):
    """The results, or the mask, that a step before gave; of a results frame, for its records only.

    Args:
        step: its name.
        scored: False for a mask.
    """

    step: str
    scored: bool = field(default=True, kw_only=True)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Give the step."""
        with pt.validate.any(inp, context=self) as v:
            v.query_frame([STEPS], mode="retrieve")
            v.result_frame([STEPS], mode="rerank")
        topics, steps = Topics.of(inp), steps_of(inp)
        wanted = Rows.of(inp, "the input", scored=False) if v.mode == "rerank" else None
        qids: list[str] = []
        docnos: list[str] = []
        scores: list[Scores] = [np.empty(0)]
        for qid in topics.places:
            step = steps.get(qid, {}).get(self.step)
            if step is None or (step.scores is not None) != self.scored:
                what = "results" if self.scored else "a mask"
                raise AlgebraError("unknown_name", f"no step {self.step!r} before gives {what} for qid {qid!r}")
            qids += [qid] * len(step.docnos)
            docnos += step.docnos
            scores += [] if step.scores is None else [step.scores]
        return of_records(topics, qids, docnos, np.concatenate(scores) if self.scored else None, wanted, self)


@dataclass(frozen=True, repr=False)
class Forget(Stage):
    """Drop the queries' steps, at the end of a pipeline that has used them."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The frame without them."""
        pt.validate.columns(inp, includes=["qid", STEPS], context=self)
        return inp.drop(columns=STEPS)


def steps_of(frame: pd.DataFrame) -> dict[str, dict[str, Step]]:
    """The steps of each query of a frame so far."""
    if STEPS not in query_columns(frame):
        return {}
    known: dict[str, Any] = {}
    for qid, steps in zip(frame["qid"].tolist(), frame[STEPS].tolist(), strict=True):
        if isinstance(steps, dict):
            known[qid] = steps
    return known
