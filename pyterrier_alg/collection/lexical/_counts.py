"""BM25 over term counts: this package's own, which needs no text, no Java and no index on disk."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.collection.documents import Docnos, text_to_encode
from pyterrier_alg.collection.lexical._results import DEPTH, depth_of
from pyterrier_alg.collection.records import is_text
from pyterrier_alg.collection.signed_hash import tokens

Counts: TypeAlias = npt.NDArray[np.integer[Any]]

#: Digits that decide how the logarithm is rounded to float64, on whatever machine.
_DIGITS = Context(prec=40)


@dataclass(frozen=True, eq=False)
class CountsRetriever:
    """BM25 over the counts of terms in documents: any query, the same bits on every machine.

    The score of a document d for a query q is the sum, over the terms t of the query that occur in d, of

        qtf(t) · ln((2N + 2) / (2n(t) + 1)) · tf(t, d) / (tf(t, d) + k1 · (1 − b + b · len(d) / avglen))

    with N documents, n(t) of which have the term, tf and qtf its counts in the document and in the query, len(d) the
    tokens of a document, and avglen their mean. Only documents that have a term of the query are found.

    Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, section 3.4, without the
    factor k1 + 1, which changes no order. Theirs is the weight ln((N − n + ½) / (n + ½)), which is negative for a term
    of more than half the documents; here one is added within the logarithm, and no score is ever negative. A term that
    the query has twice counts twice.

    Terms are added in their alphabetical order in float64, each operation by itself and the logarithm rounded once, so
    that no score depends on threads, on the order of words, documents or terms, or on the machine's mathematical
    library. Equal scores are in the order of docnos by code point: results at one depth begin those at any greater one.

    Attributes:
        name: of what was counted.
        docnos: of the documents.
        vocabulary: the terms.
        offsets: where the entries of each document begin, and where the last ones end; shape (documents + 1,).
        terms: for each entry a position in `vocabulary`, at most once in a document.
        counts: for each entry how often the term occurs in the document, from 1.
        k1: how slowly a term's weight saturates with its count, from 0.
        b: how far documents' lengths count, 0 to 1.
        default_depth: how many results it gives where the program states no depth.
        tokenise: gives a query's terms; the documents must have been counted by the same.

    Raises:
        BindingError: `bad_operand`, where the arrays are no counts of these documents.
        AlgebraError: `bad_parameter`.

    Example:
        >>> texts = [{"docno": "d1", "text": "wave guides"}, {"docno": "d2", "text": "A wave."}]
        >>> counted = CountsRetriever.of("two texts", texts)
        >>> counted.identity
        'BM25 over the term counts of two texts (k1=1.2, b=0.75)'
        >>> counted.search("GUIDES?", 10)
        {'d1': 0.31506...}
    """

    name: str
    docnos: Sequence[str] = field(repr=False)
    vocabulary: Sequence[str] = field(repr=False)
    offsets: Counts = field(repr=False)
    terms: Counts = field(repr=False)
    counts: Counts = field(repr=False)
    k1: float = 1.2
    b: float = 0.75
    default_depth: int = DEPTH
    tokenise: Callable[[str], Sequence[str]] = field(default=tokens, repr=False)

    def __post_init__(self) -> None:
        """Refuse what are no counts."""
        if not is_text(self.name):
            raise BindingError("bad_operand", f"what was counted has a text for its name, not {self.name!r}")
        numbers = all(isinstance(number, Real) for number in (self.k1, self.b))
        if not (numbers and math.isfinite(self.k1) and self.k1 >= 0 and 0 <= self.b <= 1):
            message = f"BM25 needs k1 from 0 and b from 0 to 1, not k1={self.k1!r}, b={self.b!r}"
            raise AlgebraError("bad_parameter", message)
        for what, names in (("docno", self.docnos), ("term", self.vocabulary)):
            if not all(map(is_text, names)) or len(set(names)) < len(names):
                raise BindingError("bad_operand", f"{self.identity}: each {what} is a string and is there once")
        depth = depth_of(self.default_depth, f"{self.identity}: the default depth")
        object.__setattr__(self, "default_depth", depth)
        for what in ("offsets", "terms", "counts"):
            array = np.asarray(getattr(self, what))
            if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or not array.size):
                raise BindingError("bad_operand", f"{self.identity}: {what} are whole numbers in one dimension")
            object.__setattr__(self, what, array.astype(np.int64) if not array.size else array)
        self._check_entries()

    @classmethod
    def of(
        cls,
        name: str,
        documents: Iterable[Mapping[str, Any]],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        default_depth: int = DEPTH,
        tokenise: Callable[[str], Sequence[str]] = tokens,
    ) -> CountsRetriever:
        """Count the terms of documents.

        Args:
            name: of the documents.
            documents: with `docno` and `text`.
            k1: as the class has it.
            b: as the class has it.
            default_depth: as the class has it.
            tokenise: gives the terms of documents and of queries.

        Raises:
            BindingError: `bad_operand` for what is no document, or has no text; `bad_docno`, `duplicate_docno`.
        """
        known, docnos, bags = Docnos(), [], []
        for document in documents:
            docnos.append(known.add(document))
            bags.append(Counter(tokenise(text_to_encode(document, ("text",), docnos[-1]))))
        vocabulary = sorted(set().union(*bags))
        place = {term: at for at, term in enumerate(vocabulary)}
        entries = [(place[term], count) for words in bags for term, count in words.items()]
        terms, counts = np.array(entries, dtype=np.int64).reshape(-1, 2).T
        offsets = np.cumsum([0, *map(len, bags)])
        return cls(name, docnos, vocabulary, offsets, terms, counts, k1, b, default_depth, tokenise)

    @property
    def identity(self) -> str:
        """What `orient` calls it."""
        return f"BM25 over the term counts of {self.name} (k1={self.k1:g}, b={self.b:g})"

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The best results in rank order; nothing for a text without terms of the vocabulary.

        Args:
            text: whatever `tokenise` takes.
            depth: how many results at most.
        """
        asked = Counter(self.tokenise(text))
        scores = np.zeros(len(self.docnos))
        for term in sorted(term for term in asked if term in self._places):
            documents, weights = self._postings(self._places[term])
            # A document is there once, so that nothing is added to the same place twice at a time.
            scores[documents] += asked[term] * weights
        return self._best(scores, depth)

    def _best(self, scores: npt.NDArray[np.float64], depth: int) -> dict[str, float]:
        found = np.flatnonzero(scores)
        if depth < 1:
            return {}
        if len(found) > depth:
            least = np.partition(scores[found], len(found) - depth)[len(found) - depth]
            # Those that tie with the last are kept: which of them stay is for their docnos to say.
            found = found[scores[found] >= least]
        order = found[np.lexsort((self._turns[found], -scores[found]))][:depth]
        return {self.docnos[place]: float(scores[place]) for place in order}

    def _postings(self, place: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The documents that have a term, and what one occurrence of it in the query is worth in each."""
        starts, documents, counts = self._inverted
        part = slice(starts[place], starts[place + 1])
        tf = counts[part].astype(np.float64)
        odds = Decimal(2 * len(self.docnos) + 2) / Decimal(2 * len(tf) + 1) if len(tf) else Decimal(1)
        weight = float(_DIGITS.ln(odds))
        return documents[part], weight * (tf / (tf + self._saturation[documents[part]]))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.vocabulary)}

    @cached_property
    def _inverted(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """By term: where its entries begin; and of each entry the document and the count."""
        terms = self.terms.astype(np.int64)
        order = np.argsort(terms, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(terms, minlength=len(self.vocabulary)))])
        return starts.astype(np.int64), _documents(self.offsets)[order], self.counts[order].astype(np.int64)

    @cached_property
    def _saturation(self) -> npt.NDArray[np.float64]:
        """Of each document: k1 · (1 − b + b · len / avglen)."""
        upto = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        lengths = np.diff(upto[self.offsets.astype(np.int64)]).astype(np.float64)
        mean = float(upto[-1]) / max(len(lengths), 1)
        saturation: npt.NDArray[np.float64] = self.k1 * ((1 - self.b) + self.b * (lengths / (mean or 1.0)))
        return saturation

    @cached_property
    def _turns(self) -> npt.NDArray[np.int64]:
        """Of each document: how many docnos come before its own."""
        turns = np.empty(len(self.docnos), dtype=np.int64)
        turns[sorted(range(len(turns)), key=self.docnos.__getitem__)] = np.arange(len(turns))
        return turns

    def _check_entries(self) -> None:
        offsets, terms, counts = self.offsets, self.terms, self.counts
        fault = ""
        if len(offsets) != len(self.docnos) + 1 or len(terms) != len(counts):
            entries = f"{len(offsets):,} offsets, {len(terms):,} terms, {len(counts):,} counts"
            fault = f"{len(self.docnos):,} documents have one offset more, and as many counts as terms, not {entries}"
        elif offsets[0] != 0 or offsets[-1] != len(terms) or np.any(offsets[1:] < offsets[:-1]):
            fault = "offsets ascend from 0 to the number of entries"
        elif len(terms) and (terms.min() < 0 or terms.max() >= len(self.vocabulary) or counts.min() < 1):
            fault = "an entry is a term of the vocabulary with a count from 1"
        elif _any_twice(_documents(offsets), terms):
            fault = "a document has a term in one entry"
        if fault:
            raise BindingError("bad_operand", f"{self.identity}: {fault}")

    def __getstate__(self) -> dict[str, Any]:
        # What is derived is derived again where it is wanted.
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


def _documents(offsets: Counts) -> npt.NDArray[np.int64]:
    """Of each entry: its document."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def _any_twice(documents: npt.NDArray[np.int64], terms: Counts) -> bool:
    """Whether a document has a term twice."""
    order = np.lexsort((terms, documents))
    documents, terms = documents[order], terms[order]
    return bool(np.any((terms[1:] == terms[:-1]) & (documents[1:] == documents[:-1])))
