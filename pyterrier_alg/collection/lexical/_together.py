"""Many queries by few calls: a program over topics asks its retrievers for a chunk of them at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, cast

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Count, Name, Retrieve, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection.lexical._pyterrier import PyTerrierRetriever, TopicRetriever
from pyterrier_alg.collection.operands import RetrieverOperand, Retrieving, Scope, TextOperand
from pyterrier_alg.collection.topics import Topic

#: How many queries are asked for by one call: enough to share its costs, few enough to hold their results.
CHUNK = 128


def search_together(formula: Formula, scopes: Sequence[Scope], chunk: int = CHUNK) -> list[Scope]:
    """The same scopes, whose retrievers look up many topics at a time when the first of them is asked.

    This is for calls with the topic's own text, `bm25(query)` or `bm25(query, 100)`, of retrievers that have
    `search_all(texts, depth)`; every other call is as before, and so is every result.

    Args:
        formula: what will run over each of the scopes.
        scopes: one a query, all of one collection.
        chunk: how many queries one call asks for.
    """
    together = list(scopes)
    for name, depth in _calls(formula):
        asked = [(place, *found) for place, scope in enumerate(together) if (found := _asked(scope, name)) is not None]
        for start in range(0, len(asked), chunk) if len(asked) > 1 else ():
            part = asked[start : start + chunk]
            _, retriever, _ = part[0]
            topics = [topic for _, _, topic in part]
            shared = _Chunk(retriever, topics, retriever.default_depth if depth is None else depth)
            for turn, (place, _, _) in enumerate(part):
                together[place] = _with_member(together[place], name, shared, turn)
    return together


def _calls(formula: Formula) -> list[tuple[str, int | None]]:
    """The retrievers that are asked for the topic's own text, with the depth where one is stated."""
    calls = []
    for node in walk(*formula.expressions):
        if isinstance(node, Retrieve) and node.arguments[0] == Name("query"):
            depths = [argument.value for argument in node.arguments[1:] if isinstance(argument, Count)]
            calls.append((node.retriever, depths[0] if depths else None))
    return list(dict.fromkeys(calls))


def _asked(scope: Scope, name: str) -> tuple[Any, Topic] | None:
    """A retriever that searches many texts at once, and what it is asked for; None where it is none."""
    operand, text = scope.operands.get(name), scope.operands.get("query")
    if not isinstance(operand, RetrieverOperand) or not isinstance(text, TextOperand):
        return None
    retriever: Any = operand.retriever
    while isinstance(retriever, _Member):
        retriever = retriever.retriever
    known = isinstance(retriever, TopicRetriever)
    topic = retriever.topic if known else Topic("", text.value)
    retriever = retriever.retriever if known else retriever
    return (retriever, topic) if hasattr(retriever, "search_all") else None


def _with_member(scope: Scope, name: str, chunk: _Chunk, turn: int) -> Scope:
    operand = scope.operands[name]
    member = _Member(cast(RetrieverOperand, operand).retriever, chunk, turn)
    return replace(scope, operands=MappingProxyType({**scope.operands, name: RetrieverOperand(member)}))


class _Chunk:
    """Some topics' searches by one retriever, made when the first of them is wanted."""

    def __init__(self, retriever: Any, topics: Sequence[Topic], depth: int) -> None:
        self.texts, self.depth = [topic.query or "" for topic in topics], depth
        self._retriever, self._topics = retriever, topics
        self._found: list[Mapping[str, float] | None] | None = None

    def take(self, turn: int) -> Mapping[str, float] | None:
        """A topic's results, once; None where it is to be asked for by itself, so that an error is its own."""
        if self._found is None:
            try:
                self._found = list(self._search())
            except AlgebraError:
                self._found = [None] * len(self._topics)
        # Scopes outlive their run, results need not.
        found, self._found[turn] = self._found[turn], None
        return found

    def _search(self) -> Sequence[Mapping[str, float]]:
        if isinstance(self._retriever, PyTerrierRetriever) and all(topic.qid for topic in self._topics):
            return self._retriever.search_topics(self._topics, self.depth)
        found: Sequence[Mapping[str, float]] = self._retriever.search_all(self.texts, self.depth)
        return found


@dataclass(frozen=True, eq=False)
class _Member:
    """The retriever of one scope, which takes its topic's results from the chunk."""

    retriever: Retrieving
    chunk: _Chunk
    turn: int

    @property
    def identity(self) -> str:
        return self.retriever.identity

    @property
    def default_depth(self) -> int:
        return self.retriever.default_depth

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        shared = (text, depth) == (self.chunk.texts[self.turn], self.chunk.depth)
        found = self.chunk.take(self.turn) if shared else None
        return self.retriever.search(text, depth) if found is None else found

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process asks for itself.
        return _itself, (self.retriever,)


def _itself(retriever: Retrieving) -> Retrieving:
    return retriever
