"""Retrievers: results recorded before, BM25 by Terrier, by PISA and over term counts, and any PyTerrier retriever."""

from pyterrier_alg.collection.lexical._counts import CountsRetriever
from pyterrier_alg.collection.lexical._pisa import PisaRetriever
from pyterrier_alg.collection.lexical._pyterrier import PyTerrierRetriever, TopicRetriever, as_retriever, token_of
from pyterrier_alg.collection.lexical._recorded import RecordedRetriever
from pyterrier_alg.collection.lexical._results import DEPTH, bag, best
from pyterrier_alg.collection.lexical._terrier import TerrierRetriever
from pyterrier_alg.collection.lexical._texts import TextsRetriever
from pyterrier_alg.collection.lexical._together import search_together

__all__ = [
    "DEPTH",
    "CountsRetriever",
    "PisaRetriever",
    "PyTerrierRetriever",
    "RecordedRetriever",
    "TerrierRetriever",
    "TextsRetriever",
    "TopicRetriever",
    "as_retriever",
    "bag",
    "best",
    "search_together",
    "token_of",
]
