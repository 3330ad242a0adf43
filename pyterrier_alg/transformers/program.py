"""A program as a transformer: from topics to results, or from results to better ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.checking import check
from pyterrier_alg.algebra.errors import AlgebraError, EvaluationError
from pyterrier_alg.algebra.expressions import Name
from pyterrier_alg.algebra.formula import Formula, operand_names
from pyterrier_alg.algebra.kinds import Binding
from pyterrier_alg.algebra.reading import as_formula
from pyterrier_alg.algebra.restricting import fresh, restrict
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.lexical import search_together
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines.registry import check_engine, engine
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.transformers.frames import Rows, Topics, of_records
from pyterrier_alg.transformers.sources import columns_needed
from pyterrier_alg.transformers.stage import Stage

#: The qid of a text, which no topic should have: what is known of topics by their qid is not of this one.
_TYPED = "text"

#: What a program calls the records of the results that come in, where they are no operand.
POOL = "input docnos"


@dataclass(frozen=True, repr=False)
class Program(Stage):
    """A retrieval program over a collection, equal by value: a retriever for topics, a re-ranker for results.

    Each query is run by itself; a program that names nothing that differs from query to query is run once for all. The
    results of a query are in rank order: score descending, then docno by code point.

    Over results, a query's rows are its pool: `input` is their scores as a relation, and every relation and mask of the
    program is one of these records only, so that `minmax` rescales the pool and `top` selects from it. Vectors still
    come from the whole collection. A program that names `input` needs results.

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
        >>> bm25 % 100 >> Program("top(10, minmax(input) + 0.5 (E @ query))", vaswani())  # doctest: +SKIP
    """

    formula: Formula
    collection: Collection
    engine: str = field(default="vectorised", kw_only=True)

    def __post_init__(self) -> None:
        """Read and check."""
        super().__post_init__()
        object.__setattr__(self, "formula", as_formula(self.formula))
        check_engine(self.engine)
        check(self.formula, self._bindings)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Run the program for each query.

        Args:
            inp: topics (`qid`, and `query` or `query_vec` where the program names them), or results (`docno` too, and
                `score` where it names `input`).

        Returns:
            The query columns, `docno`, the other document columns of results, `score`, `rank` from 0. A query without
            results is absent.

        Raises:
            BindingError: `unknown_docno`, for results that are not the collection's; `no_query_vector`, ….
            EvaluationError: what only the data show: `non_finite`, `unknown_record`, …
            UnsupportedError: where the engine lacks an operator of the program.
        """
        needed = columns_needed(*self.formula.expressions)
        with pt.validate.any(inp, context=self) as v:
            if not self._needs_input:
                v.query_frame(needed, mode="retrieve")
            v.result_frame([*needed, *(["score"] if self._needs_input else [])], mode="rerank")
        came = Rows.of(inp, "the input", scored=self._needs_input) if v.mode == "rerank" else None
        topics = Topics.of(inp)
        found = self._run(self.collection.topics(inp if came is not None else topics.frame))
        qids = [qid for qid, relation in zip(topics.places, found, strict=True) for _ in range(len(relation))]
        docnos = [docno for relation in found for docno in relation.docnos.tolist()]
        scores = np.concatenate([np.empty(0), *(relation.scores for relation in found)])
        return of_records(topics, qids, docnos, scores, came, self)

    def run(self, topic: Topic | str | None = None) -> ScoredRelation:
        """Run the program for one query.

        Args:
            topic: the query, or its text; None where the program needs no query. One that has an `input` or a `pool` is
                re-ranked.

        Returns:
            The result in rank order, with the gap check of its last selection; `warnings` are found when asked for.

        Raises:
            ProgramError: where the program names a query and there is none; as `transform`.

        Example:
            >>> from pyterrier_alg import Program, vaswani
            >>> Program("minmax(input)", vaswani()).run(Topic("1", input={"7": 3.0, "12": 1.0})).to_dict()
            {'7': 1.0, '12': 0.0}
        """
        _refuse_what_is_no_topic(topic)
        (found,) = self._run([Topic(_TYPED, topic) if isinstance(topic, str) else topic])
        return found

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """How PyTerrier draws it."""
        settings = {"formula": self.formula.unicode, "collection": self.collection.name, "engine": self.engine}
        return {"label": "Program", "help_url": None, "settings": settings}

    def with_numbers(self, **numbers: float) -> Program:
        """The same program with other values for some of its collection's numbers.

        Args:
            **numbers: by name, each of which is bound to a number.

        Raises:
            BindingError: as `Collection.with_numbers`.
            ProgramError: `division_by_zero`, `bad_parameter`, `non_finite`, where the program cannot have these values.

        Example:
            >>> from pyterrier_alg import Program, vaswani
            >>> program = Program("top(10, alpha * (E @ query))", vaswani().bind(alpha=0.5))
            >>> program.with_numbers(alpha=2).run("wave guide").scores[0] / program.run("wave guide").scores[0]
            np.float64(4.0)
        """
        return Program(self.formula, self.collection.with_numbers(**numbers), engine=self.engine)

    def over_pool(self) -> Formula:
        """What the program means over results, written out.

        Returns:
            A formula in which the records that came in are the mask named `input docnos`.

        Example:
            >>> from pyterrier_alg import Program, vaswani
            >>> Program("top(10, minmax(E @ query) + input)", vaswani()).over_pool()
            top(10, minmax(`input docnos` >> (E @ query)) + input)
        """
        return self._restricted[0]

    @cached_property
    def _restricted(self) -> tuple[Formula, str]:
        """The formula over a pool, and the pool's name."""
        names = {name for name, _ in self.formula.steps} | set(operand_names(self.formula)) | {*self._bindings}
        pool = fresh(POOL, names)
        return restrict(self.formula, Name(pool), check(self.formula, self._bindings).types), pool

    def _run(self, topics: Sequence[Topic | None]) -> list[ScoredRelation]:
        runner = engine(self.engine)
        scopes = search_together(self.formula, [self._scope(topic) for topic in topics])
        if any(topic is not None and topic.docnos is not None for topic in topics):
            return self._run_all(self._restricted[0], scopes)
        if scopes and scopes[0].shared.issuperset(operand_names(self.formula)):
            return [runner.run(self.formula, scopes[0])] * len(scopes)
        return self._run_all(self.formula, scopes)

    def _run_all(self, formula: Formula, scopes: Sequence[Scope]) -> list[ScoredRelation]:
        """Run a formula for each query; what fails says for which."""
        runner = engine(self.engine)
        try:
            return runner.run_all(formula, scopes)
        except EvaluationError:
            for scope in scopes if len(scopes) > 1 else ():
                try:
                    runner.run(formula, scope)
                except EvaluationError as error:
                    first, *others = error.diagnostics
                    told = replace(first, message=f"{first.message} (qid {scope.qid!r})")
                    raise EvaluationError([told, *others], error.source) from error
            raise

    def _scope(self, topic: Topic | None) -> Scope:
        if topic is None or topic.docnos is None:
            return self.collection.at(topic)
        pool = self.collection.mask(topic.docnos, f"the pool (qid {topic.qid})")
        came = None
        if self._needs_input and topic.input is not None:
            wanted = set(topic.docnos)
            came = {docno: score for docno, score in topic.input.items() if docno in wanted}
        # Scores that the program does not look at may be anything.
        scope = self.collection.at(replace(topic, input=came))
        return replace(scope, operands={**scope.operands, self._restricted[1]: pool})

    @cached_property
    def _needs_input(self) -> bool:
        return "input" in operand_names(self.formula)

    @property
    def _bindings(self) -> dict[str, Binding]:
        """What is known of each name in a results frame."""
        columns = columns_needed(*self.formula.expressions)
        return self.collection.bindings(["qid", "query", *columns, "docno", "score"])


def _refuse_what_is_no_topic(topic: object) -> None:
    if not isinstance(topic, Topic | str | None):
        message = f"a program runs for a topic or a text, not a {type(topic).__name__}"
        raise AlgebraError("bad_argument", message, "over a topics frame call the program itself")
