"""A program as a transformer: from topics to results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.checking import check
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Name, Retrieve, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.reading import as_formula
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines.registry import check_engine, engine
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.transformers.frames import Topics, of_records
from pyterrier_alg.transformers.sources import columns_needed
from pyterrier_alg.transformers.stage import Stage


@dataclass(frozen=True, repr=False)
class Program(Stage):
    """A retrieval program over a collection: a retriever for topics, equal by value.

    Each query is run by itself; a program that names nothing that differs from query to query is run once for all. The
    results of a query are in rank order: score descending, then docno by code point.

    Args:
        formula: text in the notation, a formula, or an expression that Python built.
        collection: has the operands.
        engine: one of `engines()`.

    Raises:
        ProgramError: when it is made, everything that can be found wrong before running, at once.
        AlgebraError: `unknown_engine`.

    Example:
        >>> from pyterrier_alg import Program, vaswani
        >>> Program("top(10, E @ query)", vaswani())
        Program('top(10, E @ query)', vaswani)
    """

    formula: Formula
    collection: Collection
    engine: str = field(default="vectorised", kw_only=True)

    def __post_init__(self) -> None:
        """Read and check."""
        super().__post_init__()
        object.__setattr__(self, "formula", as_formula(self.formula))
        check_engine(self.engine)
        check(self.formula, self.collection.bindings(["qid", "query", *self._columns]))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Run the program for each query.

        Args:
            inp: topics: `qid`, and `query` or `query_vec` where the program names them.

        Returns:
            The query columns, `docno`, `score`, `rank` from 0. A query without results is absent.

        Raises:
            EvaluationError: what only the data show: `non_finite`, `unknown_record`, …
            UnsupportedError: where the engine lacks an operator of the program.
        """
        pt.validate.query_frame(inp, extra_columns=self._columns, context=self)
        topics = Topics.of(inp)
        scopes = [self.collection.at(topic) for topic in self.collection.topics(topics.frame)]
        found = self._run(scopes)
        qids = [qid for qid, relation in zip(topics.places, found, strict=True) for _ in range(len(relation))]
        docnos = [docno for relation in found for docno in relation.docnos.tolist()]
        scores = np.concatenate([np.empty(0), *(relation.scores for relation in found)])
        return of_records(topics, qids, docnos, scores, None, self)

    def run(self, topic: Topic | str | None = None) -> ScoredRelation:
        """Run the program for one query.

        Args:
            topic: the query, or its text; None where the program needs no query.

        Returns:
            The result in rank order, with the gap check of its last selection; `warnings` are found when asked for.

        Raises:
            ProgramError: where the program names a query and there is none; as `transform`.
        """
        _refuse_what_is_no_topic(topic)
        scope = self.collection.at(Topic("1", topic) if isinstance(topic, str) else topic)
        return engine(self.engine).run(self.formula, scope)

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """How PyTerrier draws it."""
        settings = {"formula": self.formula.unicode, "collection": self.collection.name, "engine": self.engine}
        return {"label": "Program", "help_url": None, "settings": settings}

    def _run(self, scopes: list[Scope]) -> list[ScoredRelation]:
        runner = engine(self.engine)
        names = {node.name for node in walk(*self.formula.expressions) if isinstance(node, Name)}
        names |= {node.retriever for node in walk(*self.formula.expressions) if isinstance(node, Retrieve)}
        if scopes and names - dict(self.formula.steps).keys() <= scopes[0].shared:
            return [runner.run(self.formula, scopes[0])] * len(scopes)
        return runner.run_all(self.formula, scopes)

    @property
    def _columns(self) -> list[str]:
        """The columns that topics must have beside `qid`."""
        return columns_needed(*self.formula.expressions)


def _refuse_what_is_no_topic(topic: object) -> None:
    if not isinstance(topic, Topic | str | None):
        message = f"a program runs for a topic or a text, not a {type(topic).__name__}"
        raise AlgebraError("bad_argument", message, "over a topics frame call the program itself")
