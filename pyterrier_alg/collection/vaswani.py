"""Vaswani, ready to be searched: signed-hash vectors, lengths, BM25, and the operands of the parity programs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.lexical import RecordedRetriever, TerrierRetriever
from pyterrier_alg.collection.operands import Retrieving
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.collection.specs import Matrix, Retriever, Vector
from pyterrier_alg.collection.vaswani_data import RECORDED_DEPTH, VaswaniData, load_vaswani, vaswani_folder

__all__ = ["POOL_DEPTH", "vaswani"]

#: How many documents of the recorded BM25 run make the pool `m`.
POOL_DEPTH = 52

_LIVE = (
    "to search any text: pip install 'pyterrier-alg[terrier]', install Java 11 or newer, let ir_datasets have the "
    'texts (irds:vaswani), and use vaswani(bm25="terrier")'
)
_BUILDING = threading.Lock()


def vaswani(
    *,
    dimensions: int = 256,
    bm25: Literal["recorded", "terrier"] = "recorded",
    q1: str = "72",
    q2: str = "73",
    folder: Path | str | None = None,
) -> Collection:
    """The Vaswani test collection (11,429 abstracts on electronics and physics, 93 topics), without its texts.

    Args:
        dimensions: of the signed-hash vectors.
        bm25: `"recorded"` looks the shipped topics' results up and needs neither Java nor texts; `"terrier"` searches
            any text, needs both, and builds its index when first asked.
        q1: the topic whose vector is `q1`, and whose recorded BM25 results are the pool.
        q2: the topic whose vector is `q2`.
        folder: where the data are; the shipped ones where None.

    Returns:
        A collection that binds `E` (matrix, cosine), `length` (tokens a document), `bm25` (retriever, depth 1000),
        `q1` and `q2` (vectors), `m` (mask: the pool, the first 52 BM25 results of q1's topic) and `w` (the pool's
        scores divided by their maximum). Calling again with the same arguments gives the same object.

    Raises:
        DataError: `missing_data`, `corrupted_data`, `unknown_topic`; `zero_vector`, where the dimensions are too few.
        AlgebraError: `bad_parameter`.

    Example:
        >>> vaswani()
        <Collection 'vaswani': 11,429 records; E, length, bm25, q1, q2, m, w>
    """
    if bm25 not in ("recorded", "terrier"):
        raise AlgebraError("bad_parameter", f"bm25 is 'recorded' or 'terrier', not {bm25!r}")
    where = vaswani_folder() if folder is None else Path(folder).resolve()
    # One thread builds, the others get what it built: the same parameters give the same object.
    with _BUILDING:
        return _with_pair(where, dimensions, bm25, q1, q2)


@lru_cache(maxsize=2)
def _data(folder: Path) -> VaswaniData:
    return load_vaswani(folder)


@lru_cache(maxsize=4)
def _searchable(folder: Path, dimensions: int, bm25: str) -> Collection:
    """Everything that does not depend on the pair of topics."""
    data, encoder = _data(folder), SignedHashEncoder(dimensions)
    return Collection(data.docnos, name="vaswani").bind(
        E=Matrix(data.matrix(dimensions), _space(encoder), encoder),
        length=dict(zip(data.docnos, data.lengths().tolist(), strict=True)),
        bm25=Retriever(_recorded(data) if bm25 == "recorded" else _terrier(data)),
    )


@lru_cache(maxsize=16)
def _with_pair(folder: Path, dimensions: int, bm25: str, q1: str, q2: str) -> Collection:
    data, encoder = _data(folder), SignedHashEncoder(dimensions)
    topics = data.topics()
    texts = dict(zip(topics["qid"].tolist(), topics["query"].tolist(), strict=True))
    for qid in (q1, q2):
        if qid not in texts:
            raise DataError("unknown_topic", f"Vaswani has no topic {qid!r}", "its topics are '1' to '93'")
    pool = data.run(q1, POOL_DEPTH)
    docnos, scores = pool["docno"].tolist(), pool["score"].tolist()
    return _searchable(folder, dimensions, bm25).bind(
        q1=Vector(encoder.encode(texts[q1]), _space(encoder)),
        q2=Vector(encoder.encode(texts[q2]), _space(encoder)),
        m=set(docnos),
        w={docno: score / max(scores) for docno, score in zip(docnos, scores, strict=True)},
    )


def _space(encoder: SignedHashEncoder) -> Space:
    identity = encoder.identity
    return Space("signed-hash", encoder.dimensions, document_encoder=identity, query_encoder=identity)


def _recorded(data: VaswaniData) -> Retrieving:
    identity = "Terrier 5.11 BM25 over irds:vaswani, recorded"
    return RecordedRetriever.of(data.topics(), data.run(), identity=identity, depth=RECORDED_DEPTH, hint=_LIVE)


def _terrier(data: VaswaniData) -> Retrieving:
    return TerrierRetriever("irds:vaswani", _corpus, data.docnos, RECORDED_DEPTH)


def _corpus() -> Iterable[Mapping[str, Any]]:
    documents: Iterable[Mapping[str, Any]] = pt.get_dataset("irds:vaswani").get_corpus_iter(verbose=False)
    return documents
