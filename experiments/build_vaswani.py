"""Rebuild data/vaswani from the collection itself (through ir_datasets) and from Terrier, or check what is shipped.

    python experiments/build_vaswani.py --check               # rebuild in memory and compare; exit 1 at a difference
    python experiments/build_vaswani.py --check --only counts # the same without Terrier, hence without Java
    python experiments/build_vaswani.py --out FOLDER          # write the files

Needs `pip install 'pyterrier-alg[terrier]'` and Java 11 or newer for the runs. ir_datasets downloads the texts into
IR_DATASETS_HOME (by default ~/.ir_datasets), which must be writable.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, MissingExtraError
from pyterrier_alg.collection.signed_hash import tokens
from pyterrier_alg.collection.vaswani_data import CHECKSUMS, FILES, RECORDED_DEPTH, vaswani_folder

# PyTerrier would take the newest release; a recorded run names its own.
TERRIER = "5.11"


def main(arguments: list[str] | None = None) -> int:
    """Build or check, and return the exit status."""
    parser = argparse.ArgumentParser(description="Rebuild data/vaswani, or check what is shipped.")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--out", type=Path, metavar="FOLDER", help="write the files into this folder")
    task.add_argument("--check", action="store_true", help="compare a rebuild with what is shipped")
    parser.add_argument("--only", choices=["counts", "run"], help="with --check: only this part")
    parser.add_argument("--shipped", type=Path, metavar="FOLDER", help="with --check: the folder to compare with")
    options = parser.parse_args(arguments)
    if options.out and options.only:
        parser.error("--only goes with --check: a folder holds all files or none")
    try:
        dataset = pt.get_dataset("irds:vaswani")
        files: dict[str, bytes] = {}
        if options.only != "run":
            files |= counted(dataset)
        if options.only != "counts":
            files |= retrieved(dataset)
        if options.out:
            write(options.out, files)
            return 0
        return check(options.shipped or vaswani_folder(), files)
    except AlgebraError as error:
        print(error, file=sys.stderr)
        return 2


def counted(dataset: Any) -> dict[str, bytes]:
    """The files of term counts, topics and qrels, by name."""
    docnos, bags = [], []
    for document in dataset.get_corpus_iter(verbose=False):
        docnos.append(document["docno"])
        bags.append(Counter(tokens(document["text"])))
    vocabulary = sorted(set().union(*bags))
    place = {term: number for number, term in enumerate(vocabulary)}
    entries = [(place[term], count) for bag in bags for term, count in sorted(bag.items())]
    topics = dataset.get_topics()
    qrels = dataset.get_qrels()
    return {
        "docnos.txt": _lines(docnos),
        "vocabulary.txt": _lines(vocabulary),
        "document_offsets.npy": _npy(_offsets(map(len, bags)), "<i4"),
        "document_terms.npy": _npy([term for term, _ in entries], "<u2"),
        "document_counts.npy": _npy([count for _, count in entries], "<u1"),
        "topics.txt": _lines(
            qid + "\t" + " ".join(f"{term}:{count}" for term, count in sorted(Counter(tokens(text)).items()))
            for qid, text in zip(topics["qid"], topics["query"], strict=True)
        ),
        "qrels.txt": _lines(
            f"{qid} 0 {docno} {label}"
            for qid, docno, label in zip(qrels["qid"], qrels["docno"], qrels["label"], strict=True)
        ),
    }


def retrieved(dataset: Any) -> dict[str, bytes]:
    """The files of the BM25 run, by name: Terrier's defaults over each topic's tokens in alphabetical order."""
    if find_spec("jnius") is None:
        raise MissingExtraError("terrier", "recording Terrier's BM25 results")
    pt.terrier.set_version(TERRIER)
    docnos = [document["docno"] for document in dataset.get_corpus_iter(verbose=False)]
    topics = dataset.get_topics()
    topics = topics.assign(query=[" ".join(sorted(tokens(text))) for text in topics["query"]])
    with tempfile.TemporaryDirectory() as folder:
        index = pt.IterDictIndexer(folder, meta={"docno": max(map(len, docnos))}, threads=1)
        reference = index.index(dataset.get_corpus_iter(verbose=False))
        results = pt.terrier.Retriever(reference, wmodel="BM25", num_results=RECORDED_DEPTH).transform(topics)
    parts = [results[results["qid"] == qid].sort_values("rank") for qid in topics["qid"]]
    place = {docno: number for number, docno in enumerate(docnos)}
    return {
        "bm25_offsets.npy": _npy(_offsets(map(len, parts)), "<i4"),
        "bm25_documents.npy": _npy([place[docno] for part in parts for docno in part["docno"]], "<u2"),
        "bm25_scores.npy": _npy([score for part in parts for score in part["score"]], "<f8"),
    }


def check(shipped: Path, files: Mapping[str, bytes]) -> int:
    """Compare rebuilt files with the shipped ones; print the first difference and return 1, or return 0."""
    for name, data in files.items():
        path = shipped / name
        if not path.is_file():
            print(f"{name}: not in {shipped}")
            return 1
        if path.read_bytes() != data:
            print(f"{name}: {_difference(name, path, data)}")
            return 1
        print(f"{name}: equal, {len(data)} bytes")
    return 0


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files, each aside and then renamed, the checksums last: a half-written folder does not verify."""
    folder.mkdir(parents=True, exist_ok=True)
    sums = _lines(f"{sha256(files[name]).hexdigest()}  {name}" for name in FILES)
    for name, data in [*((name, files[name]) for name in FILES), (CHECKSUMS, sums)]:
        aside = folder / f".{name}.new"
        aside.write_bytes(data)
        os.replace(aside, folder / name)
        print(f"{folder / name}: {len(data)} bytes")


def _difference(name: str, path: Path, data: bytes) -> str:
    """The first place where a shipped file differs from its rebuild."""
    old: list[Any]
    new: list[Any]
    if name.endswith(".npy"):
        try:
            old = np.load(path, allow_pickle=False).tolist()
        except ValueError as error:
            return f"the shipped array does not load: {error}"
        new = np.load(BytesIO(data), allow_pickle=False).tolist()
    else:
        old, new = path.read_text(errors="replace").splitlines(), data.decode().splitlines()
    for place, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            return f"entry {place} is {before!r}, rebuilt {after!r}"
    if len(old) != len(new):
        return f"{len(old)} entries, rebuilt {len(new)}"
    return "equal values, other bytes"


def _lines(lines: Iterable[str]) -> bytes:
    """Text of one line each."""
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _offsets(lengths: Iterable[int]) -> npt.NDArray[np.int64]:
    """Where each part begins, and where the last one ends."""
    return np.cumsum([0, *lengths])


def _npy(values: npt.ArrayLike, kind: str) -> bytes:
    """The bytes of a .npy file; values that the kind cannot hold are an OverflowError."""
    exact = np.asarray(values)
    stored = exact.astype(kind)
    if not np.array_equal(exact, stored):
        raise OverflowError(f"values up to {exact.max()} do not fit {kind}")
    file = BytesIO()
    np.save(file, stored, allow_pickle=False)
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main())
