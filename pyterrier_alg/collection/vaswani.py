"""Vaswani, ready to be searched: signed-hash vectors, lengths, BM25, and the operands of the parity programs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.lexical import CountsRetriever, PisaRetriever, RecordedRetriever, TerrierRetriever
from pyterrier_alg.collection.operands import Retrieving
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.collection.specs import Matrix, Retriever, Vector
from pyterrier_alg.collection.vaswani_data import RECORDED_DEPTH, VaswaniData, load_vaswani, vaswani_folder

__all__ = ["POOL_DEPTH", "PROVIDERS", "vaswani", "vaswani_texts"]

#: How many documents of the recorded BM25 run make the pool `m`.
POOL_DEPTH = 52

#: What `bm25` can be. `"live"` is the first of the last three that this machine is ready for.
PROVIDERS = ("recorded", "live", "terrier", "pisa", "counts")

_LIVE = (
    'any text can be searched with vaswani(bm25="counts"), which needs nothing more; with vaswani(bm25="terrier") '
    "(pip install 'pyterrier-alg[terrier]', Java 11 or newer) or vaswani(bm25=\"pisa\") (pip install "
    "'pyterrier-alg[pisa]'), for both of which ir_datasets must have the texts (irds:vaswani)"
)
_BUILDING = threading.Lock()


def vaswani(
    *,
    dimensions: int = 256,
    bm25: Literal["recorded", "live", "terrier", "pisa", "counts"] = "recorded",
    q1: str = "72",
    q2: str = "73",
    folder: Path | str | None = None,
) -> Collection:
    """The Vaswani test collection (11,429 abstracts on electronics and physics, 93 topics), without its texts.

    Args:
        dimensions: of the signed-hash vectors.
        bm25: what the retriever is; `orient` says it. `"recorded"` looks up what Terrier gave for the shipped topics,
            and refuses other text. The others search any text: `"counts"` is BM25 over the shipped counts of terms,
            without stemming or stop words, and needs nothing more; `"terrier"` needs Java and texts, `"pisa"` needs
            texts, and both build an index when first asked. `"live"` is Terrier where Java, PyTerrier's Java side and
            the texts are on this machine, else PISA where it is installed and the texts are here, else the counts:
            what it finds differs between machines.
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
    if bm25 not in PROVIDERS:
        known = ", ".join(map(repr, PROVIDERS))
        raise AlgebraError("bad_parameter", f"bm25 is one of {known}, not {bm25!r}")
    where = vaswani_folder() if folder is None else Path(folder).resolve()
    # One thread builds, the others get what it built: the same parameters give the same object.
    with _BUILDING:
        return _with_pair(where, dimensions, _ready() if bm25 == "live" else bm25, q1, q2)


@lru_cache(maxsize=2)
def _data(folder: Path) -> VaswaniData:
    return load_vaswani(folder)


@lru_cache(maxsize=4)
def _without_text(folder: Path, dimensions: int) -> Collection:
    """What depends neither on the retriever nor on the pair of topics."""
    data, encoder = _data(folder), SignedHashEncoder(dimensions)
    return Collection(data.docnos, name="vaswani").bind(
        E=Matrix(data.matrix(dimensions), _space(encoder), encoder),
        length=dict(zip(data.docnos, data.lengths().tolist(), strict=True)),
    )


@lru_cache(maxsize=8)
def _retriever(folder: Path, bm25: str) -> Retrieving:
    return _RETRIEVERS[bm25](_data(folder))


@lru_cache(maxsize=16)
def _searchable(folder: Path, dimensions: int, bm25: str) -> Collection:
    return _without_text(folder, dimensions).bind(bm25=Retriever(_retriever(folder, bm25)))


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
    return TerrierRetriever("irds:vaswani", vaswani_texts, data.docnos, RECORDED_DEPTH)


def _pisa(data: VaswaniData) -> Retrieving:
    return PisaRetriever("irds:vaswani", vaswani_texts, data.docnos, RECORDED_DEPTH)


def _counts(data: VaswaniData) -> Retrieving:
    entries = data.document_offsets, data.document_terms, data.document_counts
    return CountsRetriever("vaswani", data.docnos, data.vocabulary, *entries, default_depth=RECORDED_DEPTH)


_RETRIEVERS: Mapping[str, Callable[[VaswaniData], Retrieving]] = {
    "recorded": _recorded,
    "terrier": _terrier,
    "pisa": _pisa,
    "counts": _counts,
}


def vaswani_texts() -> Iterable[Mapping[str, Any]]:
    """The documents with `docno` and `text`, which ir_datasets reads, or downloads where it does not have them."""
    documents: Iterable[Mapping[str, Any]] = pt.get_dataset("irds:vaswani").get_corpus_iter(verbose=False)
    return documents


def _ready() -> str:
    """The best live provider that nothing must be installed or downloaded for."""
    home = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets"))
    if (home / "vaswani" / "docs.txt").is_file():
        if TerrierRetriever.installed():
            return "terrier"
        if PisaRetriever.installed():
            return "pisa"
    return "counts"
