"""Results that another retriever gave before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.lexical._results import DEPTH, bag


@dataclass(frozen=True)
class RecordedRetriever:
    """Looks results up that another retriever gave before, by the bag of words of the query.

    Attributes:
        identity: of the retriever that was recorded.
        results: by bag of words: docnos with scores, in rank order.
        depth: how deep it was recorded; a query with fewer results has no others.
        default_depth: how many results it gives where the program states no depth.
        hint: what to do about a query that was not recorded.
    """

    identity: str
    results: Mapping[str, tuple[tuple[str, float], ...]] = field(repr=False)
    depth: int = DEPTH
    default_depth: int = DEPTH
    hint: str = field(default="", repr=False)

    @classmethod
    def of(
        cls, topics: pd.DataFrame, run: pd.DataFrame, *, identity: str, depth: int = DEPTH, hint: str = ""
    ) -> RecordedRetriever:
        """Record a run.

        Args:
            topics: `qid` and `query`.
            run: `qid`, `docno` and `score`; each topic's results to this depth.
            identity: of the retriever that gave it.
            depth: to which it was recorded.
            hint: what to do about other queries.
        """
        rows = zip(run["qid"].tolist(), run["docno"].tolist(), run["score"].tolist(), strict=True)
        found: dict[str, list[tuple[str, float]]] = {}
        for qid, docno, score in rows:
            found.setdefault(qid, []).append((docno, float(score)))
        results = {
            bag(query): tuple(sorted(found.get(qid, ()), key=lambda pair: (-pair[1], pair[0])))
            for qid, query in zip(topics["qid"].tolist(), topics["query"].tolist(), strict=True)
        }
        return cls(identity, MappingProxyType(results), depth, depth, hint)

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The best recorded results.

        Raises:
            AlgebraError: `unrecorded_query`, `unrecorded_depth`.
        """
        words = bag(text)
        # Nothing matches a query without words, whoever is asked.
        found = self.results.get(words) if words else ()
        if found is None:
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            message = f"only {len(self.results)} recorded queries can be searched here, {shown!r} is none of them"
            raise AlgebraError("unrecorded_query", message, self.hint)
        if depth > self.depth and len(found) >= self.depth:
            message = f"results were recorded to depth {self.depth:,}, not {depth:,}"
            raise AlgebraError("unrecorded_depth", message, self.hint)
        return dict(found[:depth])

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view of a dict cannot be pickled.
        arguments = (self.identity, dict(self.results), self.depth, self.default_depth, self.hint)
        return type(self), arguments
