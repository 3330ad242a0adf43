"""Any PyTerrier retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, finalize

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.lexical._checked import checked
from pyterrier_alg.collection.lexical._results import DEPTH, best, best_of_each, depth_of, failed
from pyterrier_alg.collection.operands import Retrieving
from pyterrier_alg.collection.topics import Topic


@dataclass(frozen=True)
class PyTerrierRetriever:
    """Any PyTerrier retriever: topics in, results out.

    It is asked for the text as it is. Punctuation may be the query language of a Terrier index:
    `pt.rewrite.tokenise() >> pt.terrier.Retriever(index)` has none.

    Attributes:
        transformer: called with topics: `qid` and `query`, and `query_vec` where the topic has one.
        identity: what `orient` calls it.
        default_depth: how many results it gives where the program states no depth. It never gives more than the
            transformer itself is set to give.
        token: the same for equal transformers, and no other's: what `repr` calls them tells few of them apart, and
            `pt.apply.generic(f)` from no other function.
    """

    transformer: Any = field(repr=False)
    identity: str
    default_depth: int = DEPTH
    token: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what is no depth."""
        object.__setattr__(self, "default_depth", depth_of(self.default_depth))
        object.__setattr__(self, "token", token_of(self.transformer))

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The transformer's first `depth` results in rank order.

        Raises:
            AlgebraError: `failed_search`, where the transformer raises; `bad_results`, where it gives no `docno` and
                `score`, a docno that comes twice or is no string, or a score that is no number.
        """
        return best(self._asked([Topic(_invented(1), text)]), depth, self.identity)

    def search_all(self, texts: Sequence[str], depth: int) -> list[Mapping[str, float]]:
        """What `search` gives for each of these texts, by one call of the transformer.

        Raises:
            AlgebraError: as `search`; `bad_results` also for results of a qid that was not asked for.
        """
        return self.search_topics([Topic(_invented(place), text) for place, text in enumerate(texts, 1)], depth)

    def search_topics(self, topics: Sequence[Topic], depth: int) -> list[Mapping[str, float]]:
        """The results of topics of different qids, each asked for by its own qid, text and vector.

        Raises:
            AlgebraError: as `search_all`.
        """
        found: dict[str, Mapping[str, float]] = {}
        # A column holds a vector for every row or is not there.
        for with_vector in (True, False):
            group = [topic for topic in topics if (topic.vector is not None) is with_vector]
            if group:
                qids = [topic.qid for topic in group]
                each = best_of_each(self._asked(group), qids, depth, self.identity)
                found |= dict(zip(qids, each, strict=True))
        return [found[topic.qid] for topic in topics]

    def at(self, topic: Topic) -> TopicRetriever:
        """The same retriever for those who ask about one topic."""
        return TopicRetriever(self, topic)

    def _asked(self, topics: Sequence[Topic]) -> Any:
        frame = pd.DataFrame({"qid": [topic.qid for topic in topics], "query": [topic.query for topic in topics]})
        if topics[0].vector is not None:
            frame["query_vec"] = pd.Series([topic.vector for topic in topics], dtype=object)
        try:
            return self.transformer.transform(frame)
        except AlgebraError:
            raise
        except Exception as error:
            asked = frame["query"].iloc[0] if len(frame) == 1 else f"{len(frame):,} queries"
            raise failed(self.identity, asked, error) from error


@dataclass(frozen=True, eq=False)
class TopicRetriever:
    """A PyTerrier retriever as one topic sees it: for the topic's own text, the topic's qid and vector go with it.

    So a transformer that looks its results up by qid gives the topic's, and one that reads `query_vec` finds it.

    Attributes:
        retriever: of the collection.
        topic: the query.
    """

    retriever: PyTerrierRetriever
    topic: Topic

    @property
    def identity(self) -> str:
        """The retriever's."""
        return self.retriever.identity

    @property
    def default_depth(self) -> int:
        """The retriever's."""
        return self.retriever.default_depth

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The first results in rank order.

        Raises:
            AlgebraError: as the retriever.
        """
        if text != self.topic.query:
            return self.retriever.search(text, depth)
        return self.retriever.search_topics([self.topic], depth)[0]


def _invented(place: int) -> str:
    """The qid of a text that is no topic's: a transformer that looks results up by qid must not find another's."""
    return f"text {place}"


def as_retriever(source: Any, default_depth: int = DEPTH, identity: str = "") -> Retrieving | None:
    """A source as something that searches, or None where it is none.

    Args:
        source: has `search(text, depth)`, `identity` and `default_depth`; or is a PyTerrier transformer.
        default_depth: of a transformer.
        identity: of a transformer; its `repr` where empty.

    Returns:
        This package's retrievers as they are, and others in what checks their results.

    Raises:
        BindingError: `bad_operand`, where a depth or an identity is none.
    """
    depth = depth_of(default_depth)
    if isinstance(source, pt.Transformer):
        return PyTerrierRetriever(source, identity or repr(source), depth)
    if isinstance(source, PyTerrierRetriever | TopicRetriever):
        return source
    return checked(source)


_TOKENS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

#: By place in memory: a token, and what stands there, where nothing tells when it is gone.
_PLACES: dict[int, tuple[str, Any]] = {}


def token_of(value: Any) -> str:
    """What tells an object from every one that is not equal to it, wherever it is sent.

    Args:
        value: may be of no hash, and then equals itself alone.
    """
    try:
        return _TOKENS.setdefault(value, uuid4().hex)
    except Exception:
        # It cannot be hashed, or its parts cannot be compared: frames answer with frames.
        pass
    if id(value) not in _PLACES:
        kept = None
        try:
            finalize(value, _PLACES.pop, id(value), None)
        except TypeError:
            # Functions that are written in C.
            kept = value
        _PLACES[id(value)] = uuid4().hex, kept
    return _PLACES[id(value)][0]
