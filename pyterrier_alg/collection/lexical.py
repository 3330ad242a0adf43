"""Retrievers: recorded results, any PyTerrier retriever, and a Terrier index that is built when first asked."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, cast

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, BindingError, MissingExtraError
from pyterrier_alg.collection.operands import Retrieving
from pyterrier_alg.collection.signed_hash import tokens

#: How many results a retriever gives where nothing else is said.
DEPTH = 1000


def bag(text: str) -> str:
    """A text's tokens in alphabetical order: the same for every text of the same words.

    Example:
        >>> bag("Wave GUIDES, wave")
        'guides wave wave'
    """
    return " ".join(sorted(tokens(text)))


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


@dataclass(frozen=True)
class PyTerrierRetriever:
    """Any PyTerrier retriever: topics in, results out.

    Attributes:
        transformer: called with one topic.
        identity: what `orient` calls it.
        default_depth: how many results it gives where the program states no depth. It never gives more than the
            transformer itself is set to give.
    """

    transformer: Any = field(repr=False)
    identity: str
    default_depth: int = DEPTH

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The transformer's first `depth` results in rank order.

        Raises:
            AlgebraError: `bad_results`, where a docno comes twice, is no string, or has no score.
        """
        frame = self.transformer.transform(pd.DataFrame({"qid": ["1"], "query": [text]}))
        return best(frame, depth, self.identity)


def best(results: pd.DataFrame, depth: int, identity: str) -> dict[str, float]:
    """The first `depth` results of one query, by score, then docno.

    Raises:
        AlgebraError: `bad_results`.
    """
    docnos, scores = results["docno"].tolist(), [float(score) for score in results["score"].tolist()]
    if len(set(docnos)) < len(docnos) or not all(isinstance(docno, str) for docno in docnos):
        raise AlgebraError("bad_results", f"{identity} gave docnos that are no strings, or one of them twice")
    if any(score != score for score in scores):
        raise AlgebraError("bad_results", f"{identity} gave a score that is NaN")
    return dict(sorted(zip(docnos, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))[:depth])


class TerrierRetriever:
    """BM25 by Terrier over texts, indexed when first asked: Terrier's defaults, one thread, a temporary folder.

    The query is reduced to its bag of words, so punctuation is no query language and equal bags give equal results.

    Attributes:
        identity: what `orient` calls it.
        default_depth: how many results it gives where the program states no depth.
    """

    def __init__(
        self, name: str, corpus: Callable[[], Iterable[Mapping[str, str]]], docnos: Sequence[str], depth: int = DEPTH
    ) -> None:
        """Store what the index will be made of.

        Args:
            name: of the texts.
            corpus: gives the documents, with `docno` and `text`; called when the index is built.
            docnos: of the collection, for which every text must be there.
            depth: how many results it gives where the program states no depth.
        """
        self.identity, self.default_depth = f"Terrier BM25 over {name}", depth
        self._name, self._corpus, self._docnos = name, corpus, docnos
        self._lock = threading.Lock()
        self._reference: Any = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The best `depth` results, where nothing matches a query without words.

        Raises:
            MissingExtraError: where PyTerrier's Java side is not installed.
            AlgebraError: `missing_java`, `missing_texts`.
        """
        words = bag(text)
        if not words:
            return {}
        wanted = min(depth, len(self._docnos))
        with self._lock:
            if self._reference is None:
                self._reference = self._index()
            retriever = pt.terrier.Retriever(self._reference, wmodel="BM25", num_results=wanted)
        results = retriever.transform(pd.DataFrame({"qid": ["1"], "query": [words]}))
        return best(results, wanted, self.identity)

    def _index(self) -> Any:
        if find_spec("jnius") is None:
            raise MissingExtraError("terrier", f"live search ({self.identity})")
        try:
            # A second start is refused.
            if not pt.java.started():
                pt.java.init()
        except Exception as error:
            message = f"{self.identity} needs Java 11 or newer: {error}"
            raise AlgebraError("missing_java", message, "install a JDK and set JAVA_HOME") from error
        documents = self._documents()
        self._folder = tempfile.TemporaryDirectory(prefix="pyterrier-alg-")
        meta = {"docno": max(map(len, self._docnos))}
        return pt.IterDictIndexer(self._folder.name, meta=meta, threads=1).index(iter(documents))

    def _documents(self) -> list[Mapping[str, str]]:
        """All texts, read before anything is built."""
        try:
            documents = list(self._corpus())
        except Exception as error:
            raise AlgebraError(
                "missing_texts",
                f"the texts of {self._name} cannot be read: {error}",
                "ir_datasets downloads them into IR_DATASETS_HOME (~/.ir_datasets), which must be writable",
            ) from error
        if {document["docno"] for document in documents} != set(self._docnos):
            raise AlgebraError("missing_texts", f"the texts of {self._name} are not those of the collection's records")
        return documents

    def __getstate__(self) -> dict[str, Any]:
        # An index lives in one process; another builds its own.
        return {**self.__dict__, "_lock": None, "_reference": None, "_folder": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_lock": threading.Lock()}


def as_retriever(source: Any, default_depth: int = DEPTH, identity: str = "") -> Retrieving | None:
    """A source as something that searches, or None where it is none.

    Args:
        source: has `search(text, depth)`, `identity` and `default_depth`; or is a PyTerrier transformer.
        default_depth: of a transformer.
        identity: of a transformer; its `repr` where empty.

    Raises:
        BindingError: `bad_operand`, where the depth is none.
    """
    if isinstance(default_depth, bool) or not isinstance(default_depth, int) or default_depth < 1:
        raise BindingError("bad_operand", f"a default depth is a whole number from 1, not {default_depth!r}")
    if isinstance(source, pt.Transformer):
        return PyTerrierRetriever(source, identity or repr(source), default_depth)
    fits = (
        callable(getattr(source, "search", None)) and hasattr(source, "identity") and hasattr(source, "default_depth")
    )
    return cast(Retrieving, source) if fits else None
