"""What leaves share: stages that score records of a collection.

Over topics each gives all that it scores. Over results it scores exactly the records that came in, their old scores
forgotten: a record that it does not score is dropped, one that the collection does not have is an error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.expressions import Expression, Name, walk
from pyterrier_alg.collection import operands as bound
from pyterrier_alg.collection.operands import Positions, Scope
from pyterrier_alg.transformers.frames import Rows, Scores, Topics, of_records, refuse_non_finite
from pyterrier_alg.transformers.sources import Source, columns_needed, positions_of
from pyterrier_alg.transformers.stage import Stage
from pyterrier_alg.transformers.steps import STEPS, Step, steps_of

#: Positions, and what stands beside each: scores, values of a column, or nothing for a mask.
Found: TypeAlias = tuple[Positions, Scores | Sequence[str] | None]


class Leaf(Stage):
    """The base of leaves, each of which keeps its collection."""

    collection: Source

    @abstractmethod
    def find(self, scope: Scope, wanted: Positions | None) -> Found:
        """What one query gets: at least all of the wanted records that are scored, or all records."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Score records for each query."""
        needed = columns_needed(*self._expressions)
        with pt.validate.any(inp, context=self) as v:
            v.query_frame(needed, mode="retrieve")
            v.result_frame(needed, mode="rerank")
        topics, steps = Topics.of(inp), steps_of(inp)
        came = Rows.of(inp, "the input", scored=False) if v.mode == "rerank" else None
        rows_of = _grouped(came) if came is not None else {}
        qids: list[str] = []
        docnos: list[str] = []
        beside: list[Any] = []
        for topic in self.collection.topics(topics.frame.drop(columns=STEPS, errors="ignore")):
            scope = self._with_steps(self.collection.at(topic), steps.get(topic.qid, {}))
            wanted = None if came is None else positions_of(scope, rows_of[topic.qid], topic.qid)
            positions, values = self.find(scope, wanted)
            names = scope.docnos[positions].tolist()
            qids += [topic.qid] * len(names)
            docnos += names
            if isinstance(values, np.ndarray):
                refuse_non_finite(values, [topic.qid] * len(names), names, self)
            beside += [] if values is None else [values]
        return self._framed(topics, qids, docnos, beside, came)

    def _framed(
        self, topics: Topics, qids: list[str], docnos: list[str], beside: list[Any], came: Rows | None
    ) -> pd.DataFrame:
        return of_records(topics, qids, docnos, np.concatenate([np.empty(0), *beside]), came, self)

    @property
    def _expressions(self) -> list[Expression]:
        return [value for value in self._settings() if isinstance(value, Expression)]

    def _with_steps(self, scope: Scope, steps: dict[str, Step]) -> Scope:
        """The scope, with the steps that expressions name; a step shadows no operand."""
        names = {node.name for node in walk(*self._expressions) if isinstance(node, Name)} & steps.keys()
        names -= scope.operands.keys()
        known = {name: _as_operand(scope, steps[name]) for name in names}
        return replace(scope, operands={**scope.operands, **known}) if known else scope


def _grouped(rows: Rows) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for qid, docno in rows.keys:
        groups.setdefault(qid, []).append(docno)
    return groups


def _as_operand(scope: Scope, step: Step) -> bound.Operand:
    positions = positions_of(scope, step.docnos, scope.qid)
    order = np.argsort(positions)
    if step.scores is None:
        return bound.MaskOperand(positions[order])
    return bound.RelationOperand(positions[order], step.scores[order])
