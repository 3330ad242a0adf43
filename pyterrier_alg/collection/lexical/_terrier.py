"""BM25 by Terrier."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, MissingExtraError
from pyterrier_alg.collection.lexical._results import DEPTH, bag
from pyterrier_alg.collection.lexical._texts import TextsRetriever


class TerrierRetriever(TextsRetriever):
    """BM25 by Terrier over texts, indexed when first asked: Terrier's defaults, one thread, a temporary folder.

    The query is reduced to its bag of words, so punctuation is no query language and equal bags give equal results.
    Which of equally scored documents are the last within the depth is Terrier's choice. The time that Terrier takes
    grows with the square of the number of different words: 20,000 of them take about ten seconds.

    Example:
        >>> texts = [{"docno": "d1", "text": "wave guides"}, {"docno": "d2", "text": "valves"}]
        >>> TerrierRetriever("two texts", lambda: texts, ["d1", "d2"])
        <TerrierRetriever: Terrier BM25 over two texts>
    """

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
        super().__init__(name, corpus, docnos, depth)
        self.identity = f"Terrier BM25 over {name}"

    def __repr__(self) -> str:
        return f"<TerrierRetriever: {self.identity}>"

    @classmethod
    def installed(cls) -> bool:
        """Whether PyTerrier's Java side and a Java are on this machine; Java is not started."""
        return find_spec("jnius") is not None and bool(os.environ.get("JAVA_HOME") or shutil.which("java"))

    def _words(self, text: str) -> str:
        return bag(text)

    def _check(self) -> None:
        if find_spec("jnius") is None:
            raise MissingExtraError("terrier", f"live search ({self.identity})")
        try:
            # A second start is refused.
            if not pt.java.started():
                pt.java.init()
        except Exception as error:
            message = f"{self.identity} needs Java 11 or newer: {error}"
            raise AlgebraError("missing_java", message, "install a JDK and set JAVA_HOME") from error

    def _build(self, documents: Sequence[dict[str, str]], folder: str) -> Any:
        meta = {"docno": len(str(len(documents)))}
        reference = pt.IterDictIndexer(folder, meta=meta, threads=1).index(iter(documents))
        # Terrier drops stop words and single letters, and fails at searching an index without terms.
        terms = pt.IndexFactory.of(reference).getCollectionStatistics().getNumberOfUniqueTerms()
        return reference if terms else None

    def _results(self, index: Any, topics: pd.DataFrame, wanted: int) -> pd.DataFrame:
        results: pd.DataFrame = pt.terrier.Retriever(index, wmodel="BM25", num_results=wanted).transform(topics)
        return results
