"""The Vaswani test collection as this package ships it: derived data only, verified as it is loaded.

What the files hold, where they come from and how they were made is told by `SOURCES.md` beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.collection.signed_hash import SignedHashEncoder

__all__ = ["CHECKSUMS", "FILES", "RECORDED_DEPTH", "VaswaniData", "load_vaswani", "vaswani_folder"]

CHECKSUMS = "SHA256SUMS"
FILES = (
    "docnos.txt",
    "vocabulary.txt",
    "document_offsets.npy",
    "document_terms.npy",
    "document_counts.npy",
    "topics.txt",
    "qrels.txt",
    "bm25_offsets.npy",
    "bm25_documents.npy",
    "bm25_scores.npy",
)
RECORDED_DEPTH = 1000

_Scalar = TypeVar("_Scalar", bound=np.generic)
_MEND = "install the package again, or rebuild the file with `python experiments/build_vaswani.py --out FOLDER`"


@dataclass(frozen=True, eq=False)
class VaswaniData:
    """Documents, topics and qrels of Vaswani as numbers, and Terrier's BM25 results; no text. Arrays are read-only.

    Attributes:
        docnos: `"1"` … `"11429"`, in the order of the collection; every array over documents has this order.
        vocabulary: the documents' tokens, ascending.
        document_offsets: where the entries of each document begin, and where the last ones end (int32, n + 1).
        document_terms: for each entry a position in `vocabulary` (uint16), ascending within a document.
        document_counts: for each entry how often the term occurs in the document (uint8).
        topic_counts: by qid, in the order of the collection: each token of the topic and how often it occurs.
        relevant: by qid, the docnos judged relevant, in the order of the collection's file.
        run_offsets: where the recorded results of each topic begin, and where the last ones end (int32).
        run_documents: for each result a position in `docnos` (uint16), in the order that Terrier returned.
        run_scores: for each result Terrier's score (float64).
    """

    docnos: tuple[str, ...]
    vocabulary: tuple[str, ...]
    document_offsets: npt.NDArray[np.int32]
    document_terms: npt.NDArray[np.uint16]
    document_counts: npt.NDArray[np.uint8]
    topic_counts: Mapping[str, Mapping[str, int]]
    relevant: Mapping[str, tuple[str, ...]]
    run_offsets: npt.NDArray[np.int32]
    run_documents: npt.NDArray[np.uint16]
    run_scores: npt.NDArray[np.float64]

    def matrix(self, dimensions: int = 256, seed: int = 0) -> npt.NDArray[np.float32]:
        """The documents' signed-hash vectors, unit rows in the order of `docnos`, shape (11429, dimensions).

        Raises:
            DataError: `zero_vector`, naming the documents whose terms cancel in so few dimensions.
            AlgebraError: `bad_parameter`, where dimensions or seed are out of range.

        Example:
            >>> load_vaswani().matrix().shape
            (11429, 256)
        """
        encoder = SignedHashEncoder(dimensions, seed)
        rows = encoder.encode_counts(self.document_offsets, self.document_terms, self.document_counts, self.vocabulary)
        zero = [self.docnos[place] for place in np.flatnonzero(~np.any(rows, axis=1))]
        if zero:
            shown = ", ".join(zero[:10]) + (", …" if len(zero) > 10 else "")
            raise DataError(
                "zero_vector",
                f"{len(zero)} documents have no direction in the space {encoder.identity}: {shown}",
                "take more dimensions, or another seed",
            )
        return rows

    def topics(self) -> pd.DataFrame:
        """The topics as a PyTerrier frame: `qid` and `query`, both str.

        `query` is the topic's bag of words: its tokens, each as often as it occurs, in alphabetical order. Its
        signed-hash vector is that of the topic's text. The BM25 results were recorded for this very string.
        """
        bags = [
            " ".join(term for term in sorted(counts) for _ in range(counts[term]))
            for counts in self.topic_counts.values()
        ]
        return pd.DataFrame({"qid": list(self.topic_counts), "query": bags})

    def qrels(self) -> pd.DataFrame:
        """The relevance judgements: `qid` and `docno` (str) and `label` (int64), which is always 1."""
        pairs = [(qid, docno) for qid, docnos in self.relevant.items() for docno in docnos]
        frame = pd.DataFrame(pairs, columns=["qid", "docno"])
        return frame.assign(label=np.ones(len(frame), np.int64))

    def run(self, qid: str | None = None, depth: int = RECORDED_DEPTH) -> pd.DataFrame:
        """Terrier's recorded BM25 results: `qid`, `docno` (str), `score` (float64), `rank` (int64, from 0).

        The order is that of the algebra, score descending, then docno ascending by code point. Which of equally scored
        documents are within the first 1000 is Terrier's choice.

        Args:
            qid: one topic only; all of them, one after the other, where None.
            depth: how many results a topic at most, 1 to 1000.

        Raises:
            DataError: `unknown_topic`.
            AlgebraError: `bad_parameter`, where the depth was not recorded.

        Example:
            >>> load_vaswani().run("1", depth=2)
              qid docno      score  rank
            0   1  8172  24.566031     0
            1   1  9881  22.110514     1
        """
        if not 1 <= depth <= RECORDED_DEPTH:
            raise AlgebraError("bad_parameter", f"the recorded runs have depths 1 to {RECORDED_DEPTH}, not {depth}")
        qids = list(self.topic_counts)
        if qid is not None and qid not in self.topic_counts:
            raise DataError("unknown_topic", f"Vaswani has no topic {qid!r}", f"topics are {qids[0]} to {qids[-1]}")
        wanted = range(len(qids)) if qid is None else [qids.index(qid)]
        return pd.concat([self._results(qids[place], place, depth) for place in wanted], ignore_index=True)

    def _results(self, qid: str, place: int, depth: int) -> pd.DataFrame:
        """The results of the topic that stands at a place, in rank order."""
        part = slice(self.run_offsets[place], self.run_offsets[place + 1])
        pairs = zip(self.run_scores[part].tolist(), self.run_documents[part].tolist(), strict=True)
        ordered = sorted((-score, self.docnos[document]) for score, document in pairs)[:depth]
        return pd.DataFrame(
            {
                "qid": [qid] * len(ordered),
                "docno": [docno for _, docno in ordered],
                "score": [-negative for negative, _ in ordered],
                "rank": np.arange(len(ordered), dtype=np.int64),
            }
        )

    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each document, in the order of `docnos`."""
        upto = np.concatenate([[0], np.cumsum(self.document_counts, dtype=np.int64)])
        return np.diff(upto[self.document_offsets])


def vaswani_folder() -> Path:
    """Where the shipped data are: within the installed package, or beside it in a checkout.

    Raises:
        DataError: `missing_data`, where neither place has them.
    """
    package = Path(__file__).resolve().parents[1]
    for parent in (package, package.parent):
        folder = parent / "data" / "vaswani"
        if folder.is_dir():
            return folder
    raise DataError("missing_data", f"no folder data/vaswani in {package} or beside it", "install the package again")


def load_vaswani(folder: Path | None = None) -> VaswaniData:
    """Read the Vaswani data and verify each file against its recorded SHA-256.

    Args:
        folder: where the files are; the shipped ones where None.

    Raises:
        DataError: `missing_data`, `corrupted_data`, naming the file.
    """
    folder = vaswani_folder() if folder is None else Path(folder)
    checksums = _checksums(folder)
    content = {name: _verified(folder, name, checksums[name]) for name in FILES}
    try:
        return _parsed(content)
    except ValueError as error:
        raise DataError("corrupted_data", f"{folder} holds other data than expected: {error}", _MEND) from error


def _parsed(content: Mapping[str, bytes]) -> VaswaniData:
    """The data that the files' bytes hold."""
    lines = {name: tuple(data.decode("ascii").splitlines()) for name, data in content.items() if name.endswith(".txt")}
    topic_counts = {
        qid: MappingProxyType({term: int(count) for term, count in (entry.split(":") for entry in bag.split())})
        for qid, bag in (line.split("\t") for line in lines["topics.txt"])
    }
    relevant: dict[str, list[str]] = {}
    for qid, _, docno, _ in (line.split() for line in lines["qrels.txt"]):
        relevant.setdefault(qid, []).append(docno)
    return VaswaniData(
        docnos=lines["docnos.txt"],
        vocabulary=lines["vocabulary.txt"],
        document_offsets=_array(content["document_offsets.npy"], np.int32),
        document_terms=_array(content["document_terms.npy"], np.uint16),
        document_counts=_array(content["document_counts.npy"], np.uint8),
        topic_counts=MappingProxyType(topic_counts),
        relevant=MappingProxyType({qid: tuple(docnos) for qid, docnos in relevant.items()}),
        run_offsets=_array(content["bm25_offsets.npy"], np.int32),
        run_documents=_array(content["bm25_documents.npy"], np.uint16),
        run_scores=_array(content["bm25_scores.npy"], np.float64),
    )


def _read(folder: Path, name: str) -> bytes:
    """A file's bytes."""
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise DataError("missing_data", f"cannot read {folder / name}: {error.strerror}", _MEND) from error


def _checksums(folder: Path) -> dict[str, str]:
    """The recorded digest of each file, from lines as `sha256sum` writes them."""
    text = _read(folder, CHECKSUMS).decode(errors="replace")
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}
    if set(digests) != set(FILES):
        wrong = ", ".join(sorted(set(digests) ^ set(FILES)))
        raise DataError("corrupted_data", f"{folder / CHECKSUMS} does not list the expected files: {wrong}", _MEND)
    return digests


def _verified(folder: Path, name: str, digest: str) -> bytes:
    """A file's bytes, which have this digest."""
    data = _read(folder, name)
    if sha256(data).hexdigest() != digest:
        raise DataError("corrupted_data", f"{folder / name} is not what {CHECKSUMS} records: {len(data)} bytes", _MEND)
    return data


def _array(data: bytes, scalar: type[_Scalar]) -> npt.NDArray[_Scalar]:
    """A read-only array of this scalar type, in this machine's byte order."""
    loaded = np.load(BytesIO(data), allow_pickle=False)
    if not np.can_cast(loaded.dtype, scalar, casting="equiv"):
        raise ValueError(f"an array of {loaded.dtype} where {np.dtype(scalar)} belongs")
    array: npt.NDArray[_Scalar] = loaded.astype(scalar, copy=False)
    array.flags.writeable = False
    return array
