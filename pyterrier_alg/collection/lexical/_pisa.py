"""BM25 by PISA, which needs no Java."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError, MissingExtraError
from pyterrier_alg.collection.lexical._results import DEPTH
from pyterrier_alg.collection.lexical._texts import TextsRetriever

#: PISA takes these for separators, NUL excepted, which it refuses, and bytes that no encoding of the platform gives.
_NO_WORDS = re.compile("[^!-~]+")


class PisaRetriever(TextsRetriever):
    """BM25 by PISA over texts, indexed when first asked: PISA's analysis and constants, a temporary folder, no Java.

    PISA reads words of ASCII letters and digits, drops Terrier's stop words and stems by Porter2; it has no query
    language. A word that a query has twice counts once. Scores are float32. Every posting of the query's words is
    scored (`ranked_or`), since the algorithms that skip some give other last bits at other depths; and where documents
    tie at the depth, more are asked for, so that the order is the total order and results at one depth begin those at
    a greater one. PISA reports its progress on the standard streams while it indexes.

    Example:
        >>> texts = [{"docno": "d1", "text": "wave guides"}, {"docno": "d2", "text": "valves"}]
        >>> PisaRetriever("two texts", lambda: texts, ["d1", "d2"])
        <PisaRetriever: PISA BM25 over two texts (k1=0.9, b=0.4)>
    """

    def __init__(
        self,
        name: str,
        corpus: Callable[[], Iterable[Mapping[str, Any]]],
        docnos: Sequence[str],
        depth: int = DEPTH,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        threads: int = 1,
    ) -> None:
        """Store what the index will be made of.

        Args:
            name: of the texts.
            corpus: gives the documents, with `docno` and `text`; called when the index is built.
            docnos: of the collection, for each of which there must be one text.
            depth: how many results it gives where the program states no depth.
            k1: how slowly a term's weight saturates with its count.
            b: how far documents' lengths count, 0 to 1.
            threads: for indexing and for searching; results do not depend on it.
        """
        super().__init__(name, corpus, docnos, depth)
        self.identity = f"PISA BM25 over {name} (k1={k1:g}, b={b:g})"
        self._k1, self._b, self._threads = k1, b, threads

    def __repr__(self) -> str:
        return f"<PisaRetriever: {self.identity}>"

    @classmethod
    def installed(cls) -> bool:
        """Whether `pyterrier-pisa` is installed."""
        return find_spec("pyterrier_pisa") is not None

    def _words(self, text: str) -> str:
        return _NO_WORDS.sub(" ", text).strip()

    def _check(self) -> None:
        if not self.installed():
            raise MissingExtraError("pisa", f"live search ({self.identity})")

    def _build(self, documents: Sequence[dict[str, str]], folder: str) -> Any:
        from pyterrier_pisa import PisaIndex

        readable = ({**document, "text": self._words(document["text"])} for document in documents)
        index = PisaIndex(folder, text_field="text", threads=self._threads).index(readable)
        # Documents reach PISA through a thread of its own, whose errors stay there.
        if len(index) != len(documents):
            message = f"{self.identity}: PISA indexed {len(index):,} of {len(documents):,} texts"
            raise AlgebraError("missing_texts", message)
        return index.bm25(k1=self._k1, b=self._b, query_algorithm="ranked_or")

    def _results(self, index: Any, topics: pd.DataFrame, wanted: int) -> pd.DataFrame:
        size, limit, complete = len(self._docnos), wanted + wanted // 4 + 16, []
        while len(topics):
            index.num_results = min(limit, size)
            results = index.transform(topics)[["qid", "docno", "score"]]
            ranked = results.sort_values("score", ascending=False, kind="stable").groupby("qid")["score"]
            tied = {
                qid
                for qid, scores in ranked
                if len(scores) == index.num_results < size and scores.iloc[wanted - 1] == scores.iloc[-1]
            }
            complete.append(results[~results["qid"].isin(tied)])
            topics, limit = topics[topics["qid"].isin(tied)], 4 * limit
        found: pd.DataFrame = pd.concat(complete, ignore_index=True)
        return found
