"""Retrievers that index texts when they are first asked."""

from __future__ import annotations

import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import finalize

import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.lexical._results import DEPTH, best_of_each, depth_of
from pyterrier_alg.collection.signed_hash import tokens


class TextsRetriever(ABC):
    """BM25 over texts by an index of another project's, built in a temporary folder when first asked.

    The index knows documents by their place in `docnos`, so that no docno is too long for it, or of characters that it
    cannot hold. All texts are read into memory first, and nothing is built where one is missing.

    Attributes:
        identity: what `orient` calls it.
        default_depth: how many results it gives where the program states no depth.
    """

    identity: str
    default_depth: int

    def __init__(
        self,
        name: str,
        corpus: Callable[[], Iterable[Mapping[str, Any]]],
        docnos: Sequence[str],
        depth: int = DEPTH,
    ) -> None:
        """Store what the index will be made of.

        Args:
            name: of the texts.
            corpus: gives the documents, with `docno` and `text`; called when the index is built.
            docnos: of the collection, for each of which there must be one text.
            depth: how many results it gives where the program states no depth.
        """
        self.default_depth = depth_of(depth)
        self._name, self._corpus, self._docnos = name, corpus, docnos
        self._lock = threading.Lock()
        self._index: Any = None
        # An index of no terms at all is more than some can build.
        self._wordless = False

    @classmethod
    @abstractmethod
    def installed(cls) -> bool:
        """Whether what it needs is on this machine, as far as that shows without starting it."""

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The best results; nothing for a text without words.

        Args:
            text: words; whatever else is in it is no query language.
            depth: how many results at most.

        Raises:
            MissingExtraError: where what it needs is not installed.
            AlgebraError: `missing_texts`, `missing_java`.
        """
        return self.search_all([text], depth)[0]

    def search_all(self, texts: Sequence[str], depth: int) -> list[Mapping[str, float]]:
        """What `search` gives for each of these texts, by one call of the index.

        Raises:
            MissingExtraError: as `search`.
            AlgebraError: as `search`.
        """
        words = [self._words(text) for text in texts]
        asked = [query for query in dict.fromkeys(words) if query]
        wanted = min(depth, len(self._docnos))
        if not asked or wanted < 1:
            return [{} for _ in texts]
        with self._lock:
            if self._index is None and not self._wordless:
                self._build_once()
            if self._wordless:
                return [{} for _ in texts]
            frame = pd.DataFrame({"qid": [str(place) for place in range(len(asked))], "query": asked})
            results = self._results(self._index, frame, wanted)
        named = results.assign(docno=[self._docnos[int(place)] for place in results["docno"].tolist()])
        found = dict(zip(asked, best_of_each(named, frame["qid"].tolist(), wanted, self.identity), strict=True))
        return [dict(found.get(query, ())) for query in words]

    @abstractmethod
    def _words(self, text: str) -> str:
        """What the index is asked for this text; empty where there is nothing to ask for."""

    @abstractmethod
    def _check(self) -> None:
        """Refuse where something that it needs is missing, before any text is read."""

    @abstractmethod
    def _build(self, documents: Sequence[dict[str, str]], folder: str) -> Any:
        """The index of documents, of which at least one has text; each `docno` is a place in the collection.

        Returns:
            The index; None where its analysis leaves no term of the texts, so that there is nothing to search.
        """

    @abstractmethod
    def _results(self, index: Any, topics: pd.DataFrame, wanted: int) -> pd.DataFrame:
        """At least the best results of each topic, so many: `qid`, `docno`, `score`."""

    def _build_once(self) -> None:
        self._check()
        documents = [{"docno": str(place), "text": text} for place, text in enumerate(self._texts())]
        self._wordless = not any(tokens(document["text"]) for document in documents)
        if not self._wordless:
            folder = tempfile.mkdtemp(prefix="pyterrier-alg-")
            finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._index = self._build(documents, folder)
            self._wordless = self._index is None

    def _texts(self) -> list[str]:
        """All texts, in the order of the collection's docnos."""
        try:
            found = [(document["docno"], document["text"]) for document in self._corpus()]
        except Exception as error:
            raise AlgebraError(
                "missing_texts",
                f"the texts of {self._name} cannot be read: {type(error).__name__}: {error}",
                "ir_datasets downloads them into IR_DATASETS_HOME (~/.ir_datasets), which must be writable",
            ) from error
        texts = dict(found)
        if len(texts) < len(found) or texts.keys() != set(self._docnos):
            raise AlgebraError("missing_texts", f"the texts of {self._name} are not those of the collection's records")
        for docno, text in found:
            if not isinstance(text, str):
                message = f"the text of {docno!r} is a {type(text).__name__}, not a text"
                raise AlgebraError("missing_texts", f"{self._name}: {message}")
        return [texts[docno] for docno in self._docnos]

    def __getstate__(self) -> dict[str, Any]:
        # An index lives in one process; another builds its own.
        return {**self.__dict__, "_lock": None, "_index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_lock": threading.Lock()}
