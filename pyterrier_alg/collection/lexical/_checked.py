"""Retrievers of others: any object that searches, whose results are checked before an engine sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.collection.lexical._counts import CountsRetriever
from pyterrier_alg.collection.lexical._recorded import RecordedRetriever
from pyterrier_alg.collection.lexical._results import best_of_pairs, depth_of, failed
from pyterrier_alg.collection.lexical._texts import TextsRetriever
from pyterrier_alg.collection.operands import Retrieving
from pyterrier_alg.collection.records import is_text

#: Whose results are what they should be.
_OWN = (CountsRetriever, RecordedRetriever, TextsRetriever)


@dataclass(frozen=True, eq=False)
class CheckedRetriever:
    """Any object that searches.

    Attributes:
        source: has `search(text, depth)`.
        identity: as the source stated it.
        default_depth: as the source stated it.
    """

    source: Any
    identity: str
    default_depth: int

    def search(self, text: str, depth: int) -> Mapping[str, float]:
        """The source's first `depth` results in rank order.

        Raises:
            AlgebraError: `failed_search`, where the source raises; `bad_results`, where it gives no mapping, a docno
                that is no string, or a score that is no number.
        """
        try:
            found = self.source.search(text, depth)
        except AlgebraError:
            raise
        except Exception as error:
            raise failed(self.identity, text, error) from error
        return best_of_pairs(found, depth, self.identity)


class CheckedTogether(CheckedRetriever):
    """The same for an object that has `search_all(texts, depth)` too."""

    def search_all(self, texts: Sequence[str], depth: int) -> list[Mapping[str, float]]:
        """What `search` gives for each of these texts, by one call.

        Raises:
            AlgebraError: as `search`; `bad_results` also for other than one answer a text.
        """
        try:
            found = list(self.source.search_all(texts, depth))
        except AlgebraError:
            raise
        except Exception as error:
            raise failed(self.identity, f"{len(texts):,} queries", error) from error
        if len(found) != len(texts):
            raise AlgebraError("bad_results", f"{self.identity} gave {len(found):,} answers to {len(texts):,} queries")
        return [best_of_pairs(one, depth, self.identity) for one in found]


def checked(source: Any) -> Retrieving | None:
    """A source as something whose results are what they should be; None where it cannot search.

    Raises:
        BindingError: `bad_operand`, where its identity is no text, or its depth no depth.
    """
    if isinstance(source, (*_OWN, CheckedRetriever)):
        return cast(Retrieving, source)
    fits = (
        callable(getattr(source, "search", None)) and hasattr(source, "identity") and hasattr(source, "default_depth")
    )
    if not fits:
        return None
    identity: object = source.identity
    if not is_text(identity):
        message = f"the identity of a retriever is a text, not {identity!r}"
        raise BindingError("bad_operand", message, "it is what orient() calls it")
    depth = depth_of(source.default_depth, f"the default depth of {identity}")
    kind = CheckedTogether if callable(getattr(source, "search_all", None)) else CheckedRetriever
    return kind(source, str(identity), depth)
