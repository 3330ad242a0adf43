"""Results that another retriever gave before."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.collection.frames import check_qid, frame_columns, grouped
from pyterrier_alg.collection.lexical._results import DEPTH, bag, depth_of
from pyterrier_alg.collection.records import is_text, plain_docnos


@dataclass(frozen=True)
class RecordedRetriever:
    """Looks results up that another retriever gave before, by the bag of words of the query.

    Words are those of `bag`; a text that is not ASCII is taken for the words of every script, since a retriever of
    another language was recorded with them.

    Attributes:
        identity: of the retriever that was recorded.
        results: by bag of words: docnos with scores, in rank order.
        depth: how deep it was recorded; a query with fewer results has no others.
        default_depth: how many results it gives where the program states no depth.
        hint: what to do about a query that was not recorded.

    Raises:
        BindingError: `bad_operand` for what are no texts, depths or finite scores; `bad_docno`, `duplicate_docno`.
    """

    identity: str
    results: Mapping[str, tuple[tuple[str, float], ...]] = field(repr=False)
    depth: int = DEPTH
    default_depth: int = DEPTH
    hint: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Refuse what no file could hold and no search may give."""
        for what in ("identity", "hint"):
            if not is_text(getattr(self, what)):
                raise BindingError("bad_operand", f"the {what} of a recorded retriever is {getattr(self, what)!r}")
        for what in ("depth", "default_depth"):
            object.__setattr__(self, what, depth_of(getattr(self, what), f"the {what} of {self.identity}"))
        for query, found in self.results.items():
            if not is_text(query):
                raise BindingError("bad_operand", f"{self.identity} has results of {query!r}, which is no valid text")
            _check(found, f"{self.identity} for {query!r}")

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

        Raises:
            BindingError: `bad_operand` for missing columns, queries that are no texts or have no words and yet results,
                queries of the same words and different results, and scores that are not finite numbers; `bad_qid`,
                `duplicate_qid`, `bad_docno`, `duplicate_docno`.
        """
        qids, docnos, scores = frame_columns(run, ("qid", "docno", "score"), "the run")
        found = grouped(qids, list(zip(docnos, scores, strict=True)), "the run")
        results: dict[str, tuple[tuple[str, float], ...]] = {}
        first: dict[str, str] = {}
        seen: set[str] = set()
        for given, query in zip(*frame_columns(topics, ("qid", "query"), "the topics"), strict=True):
            qid = check_qid(given, "the topics")
            if qid in seen:
                raise BindingError("duplicate_qid", f"the topics have the qid {qid!r} more than once")
            seen.add(qid)
            if not is_text(query):
                raise BindingError("bad_operand", f"the query of topic {qid!r} is {query!r}, which is no valid text")
            _check(found.get(qid, ()), f"the run (qid {qid})")
            pairs = [(str(docno), float(score) + 0.0) for docno, score in found.get(qid, ())]
            ranked = tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
            words = words_of(query)
            if ranked and not words:
                message = f"the query of topic {qid!r} has no words to find its results by: {query!r}"
                raise BindingError("bad_operand", message, "leave the topic out")
            if results.setdefault(words, ranked) != ranked:
                message = f"the topics {first[words]!r} and {qid!r} have the same words, and different results"
                raise BindingError("bad_operand", message, "results are found by words alone: leave one of them out")
            first.setdefault(words, qid)
        return cls(identity, MappingProxyType(results), depth, depth, hint)

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The best recorded results.

        Raises:
            AlgebraError: `unrecorded_query`, `unrecorded_depth`.
        """
        words = words_of(text)
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


def words_of(text: str) -> str:
    """What results are found by: the words of a text in alphabetical order.

    Example:
        >>> words_of("Wave GUIDES, wave"), words_of("Größe, die")
        ('guides wave wave', 'die größe')
    """
    if text.isascii():
        return bag(text)
    return " ".join(sorted("".join(c if _in_word(c) else " " for c in text.lower()).split()))


def _in_word(character: str) -> bool:
    # Many scripts write vowels as marks, which are no letters.
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _check(found: Any, what: str) -> None:
    """Refuse pairs that are no results of one query."""
    docnos = plain_docnos([docno for docno, _ in found], what)
    if len(set(docnos)) < len(docnos):
        raise BindingError("duplicate_docno", f"{what}: a docno comes more than once")
    for docno, score in found:
        try:
            finite = not isinstance(score, str | bytes | bool) and math.isfinite(score)
        except (OverflowError, TypeError):
            finite = False
        if not finite:
            raise BindingError("bad_operand", f"{what}: the score of {docno!r} is {score!r}, no finite number")
