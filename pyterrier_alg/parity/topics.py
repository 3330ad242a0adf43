"""The topics of Vaswani as pairs of directions: one to favour, one to suppress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pyterrier_alg.algebra import DataError
from pyterrier_alg.collection import Topic, vaswani
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.collection.vaswani_data import load_vaswani

#: The first topic whose contrast with the next one shows the paper's finding: documents 3425 and 7822 tie exactly, and
#: `vec_distance_cosine` in float32 turns them round.
DEMONSTRATION = "72"


@dataclass(frozen=True, slots=True)
class TopicPair:
    """Two topics, by qid.

    Attributes:
        first: q1 is its vector; the pool m and the weight w come from its recorded BM25 run.
        second: q2 is its vector.
    """

    first: str
    second: str


@cache
def _qids() -> tuple[str, ...]:
    return tuple(load_vaswani().topics()["qid"])


def topic_pair(first: str, second: str | None = None) -> TopicPair:
    """A topic against another.

    Args:
        first: a qid of Vaswani.
        second: another; the next one where left out, and after the last the first.

    Returns:
        The pair.

    Raises:
        DataError: `unknown_topic`.
    """
    qids = _qids()
    for qid in (first, second):
        if qid is not None and qid not in qids:
            raise DataError("unknown_topic", f"Vaswani has no topic {qid!r}", f"its topics are {qids[0]} to {qids[-1]}")
    return TopicPair(first, second or qids[(qids.index(first) + 1) % len(qids)])


def all_pairs() -> list[TopicPair]:
    """Every topic against the next, the last one against the first."""
    return [topic_pair(qid) for qid in _qids()]


def parity_scopes(pairs: Sequence[TopicPair], dimensions: int) -> list[Scope]:
    """What the programs name, for each pair: E, q1, q2, m and w.

    Args:
        pairs: topics.
        dimensions: of the signed-hash vectors.

    Returns:
        A scope for each pair, which share the matrix.

    Raises:
        DataError: what loading the collection refuses; `zero_vector` where the dimensions are too few.
    """
    queries = load_vaswani().topics().set_index("qid")["query"]
    return [
        vaswani(dimensions=dimensions, q1=pair.first, q2=pair.second).at(Topic(pair.first, str(queries[pair.first])))
        for pair in pairs
    ]
