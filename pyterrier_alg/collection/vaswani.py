"""Vaswani, ready to be searched: signed-hash vectors, lengths, BM25, and the operands of the parity programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pyterrier as pt

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.lexical import RecordedRetriever, TerrierRetriever
from pyterrier_alg.collection.operands import Retrieving
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.collection.specs import Matrix, Retriever, Vector
from pyterrier_alg.collection.vaswani_data import RECORDED_DEPTH, VaswaniData, load_vaswani

__all__ = ["POOL_DEPTH", "vaswani"]

#: How many documents of the recorded BM25 run make the pool `m`.
POOL_DEPTH = 52

_LIVE = (
    "to search any text: pip install 'pyterrier-alg[terrier]', install Java 11 or newer, let ir_datasets have the "
    'texts (irds:vaswani), and pass bm25="terrier"'
)


def vaswani(
    *,
    dimensions: int = 256,
    bm25: Literal["recorded", "terrier"] = "recorded",
    folder: Path | str | None = None,
    q1: str = "2",
    q2: str = "3",
) -> Collection:
    """The Vaswani test collection (11,429 abstracts on electronics and physics, 93 topics), without its texts.

    Args:
        dimensions: of the signed-hash vectors.
        bm25: `"recorded"` looks the shipped topics' results up and needs neither Java nor texts; `"terrier"` searches
            any text, needs both, and builds its index when first asked.
        folder: where the data are; the shipped ones where None.
        q1: the topic whose vector is `q1`, and whose recorded BM25 results are the pool.
        q2: the topic whose vector is `q2`.

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
    return _with_pair(dimensions, bm25, None if folder is None else Path(folder), q1, q2)


@lru_cache(maxsize=2)
def _data(folder: Path | None) -> VaswaniData:
    return load_vaswani(folder)


@lru_cache(maxsize=4)
def _searchable(dimensions: int, bm25: str, folder: Path | None) -> Collection:
    """Everything that does not depend on the pair of topics."""
    data, encoder = _data(folder), SignedHashEncoder(dimensions)
    if bm25 not in _RETRIEVERS:
        message = f"bm25 is one of {', '.join(map(repr, _RETRIEVERS))}, not {bm25!r}"
        raise BindingError("bad_parameter", message)
    space = Space(
        "signed-hash", dimensions, document_encoder=encoder.identity, query_encoder=encoder.identity
    )
    return Collection(data.docnos, name="vaswani").bind(
        E=Matrix(data.matrix(dimensions), space, encoder),
        length=dict(zip(data.docnos, data.lengths().tolist(), strict=True)),
        bm25=Retriever(_RETRIEVERS[bm25](data)),
    )


@lru_cache(maxsize=128)
def _with_pair(dimensions: int, bm25: str, folder: Path | None, q1: str, q2: str) -> Collection:
    searchable, data = _searchable(dimensions, bm25, folder), _data(folder)
    pool, matrix = data.run(q1, POOL_DEPTH), searchable.operands["E"]
    scores = pool["score"] / pool["score"].max()
    return searchable.bind(
        q1=_direction(q1, data, matrix),
        q2=_direction(q2, data, matrix),
        m=set(pool["docno"]),
        w=dict(zip(pool["docno"].tolist(), scores.tolist(), strict=True)),
    )


def _direction(qid: str, data: VaswaniData, matrix: MatrixOperand) -> Vector:
    topics = data.topics()
    query = topics.loc[topics["qid"] == qid, "query"].item()
    return Vector(matrix.encoder.encode(query), matrix.space)


def _recorded(data: VaswaniData) -> Retrieving:
    identity = "Terrier 5.11 BM25 over irds:vaswani, recorded"
    return RecordedRetriever.of(data.topics(), data.run(), identity=identity, depth=RECORDED_DEPTH, hint=_LIVE)


def _terrier(data: VaswaniData) -> Retrieving:
    def corpus() -> object:
        return pt.get_dataset("irds:vaswani").get_corpus_iter(verbose=False)

    return TerrierRetriever("irds:vaswani", corpus, data.docnos, RECORDED_DEPTH)


_RETRIEVERS: dict[str, Callable[[VaswaniData], Retrieving]] = {"recorded": _recorded, "terrier": _terrier}
