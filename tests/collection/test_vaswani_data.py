"""The shipped Vaswani data: what they say, the bytes of their matrices, and how damage is met."""

import re
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.collection import vaswani_data
from pyterrier_alg.collection.vaswani_data import CHECKSUMS, FILES, load_vaswani, vaswani_folder


@pytest.fixture(scope="module")
def vaswani():
    return load_vaswani()


@pytest.fixture
def copied(tmp_path):
    return Path(shutil.copytree(vaswani_folder(), tmp_path / "vaswani"))


def test_sources_state_the_numbers_of_the_files(vaswani):
    table = re.findall(r"^\| (.+?) \| ([\d,]+) \|$", (vaswani_folder() / "SOURCES.md").read_text(), re.MULTILINE)
    assert {what: int(number.replace(",", "")) for what, number in table} == {
        "documents": len(vaswani.docnos),
        "vocabulary (different tokens in documents)": len(vaswani.vocabulary),
        "tokens in documents": int(vaswani.lengths().sum()),
        "entries (different tokens, summed over documents)": len(vaswani.document_terms),
        "topics": len(vaswani.topics()),
        "tokens in topics": sum(len(query.split()) for query in vaswani.topics()["query"]),
        "relevance judgements": len(vaswani.qrels()),
        "results of recorded runs": len(vaswani.run()),
    }


def test_sources_tell_of_every_file():
    text = (vaswani_folder() / "SOURCES.md").read_text()
    assert set(re.findall(r"^\| `(\S+)` \|", text, re.MULTILINE)) == set(FILES)


@pytest.mark.parametrize(
    ("dimensions", "seed", "digest"),
    [
        (256, 0, "f455bec7f2f82607b49a3ea49451bd31a9b8d4fed0e09dea1b501f71b78fdc74"),
        (128, 0, "d1e235c72032d5cbbe6d2a35a4714e7bd9478b3db33a3ac7fe9992c3ce14996b"),
        (128, 7, "e0c25834dd3fc1368a393d68d8bf0cee1afb34ea28f97ff2243054e958084a2c"),
    ],
)
def test_the_matrix_is_the_same_on_every_machine(vaswani, dimensions, seed, digest):
    rows = vaswani.matrix(dimensions, seed)
    assert rows.shape == (11429, dimensions) and rows.dtype == np.float32
    assert sha256(rows.astype("<f4").tobytes()).hexdigest() == digest


def test_rows_have_length_one(vaswani):
    rows = vaswani.matrix(64).astype(np.float64)
    assert np.abs(np.sqrt((rows * rows).sum(axis=1)) - 1).max() < 1e-7


@pytest.mark.parametrize(("dimensions", "some"), [(1, "4, 9, 14"), (4, "217, 7245, 8002, 9983, 10265")])
def test_documents_without_direction_are_named(vaswani, dimensions, some):
    with pytest.raises(DataError) as caught:
        vaswani.matrix(dimensions)
    assert caught.value.code == "zero_vector" and some in caught.value.message and caught.value.hint


def test_documents_that_share_their_row(vaswani):
    _, counts = np.unique(vaswani.matrix(), axis=0, return_counts=True)
    assert ((counts > 1).sum(), counts[counts > 1].sum()) == (14, 30)


def test_topics_are_bags_of_words(vaswani):
    topics = vaswani.topics()
    assert topics.columns.tolist() == ["qid", "query"] and topics["qid"].tolist() == [str(i) for i in range(1, 94)]
    assert topics["query"][0] == "by constant dielectric liquids measurement microwave of of of techniques the use"
    bags = topics["query"].str.split()
    assert all(bag == sorted(bag) for bag in bags)
    assert [dict(Counter(bag)) for bag in bags] == [dict(counts) for counts in vaswani.topic_counts.values()]
    pt.validate.query_frame(topics, extra_columns=["query"])


def test_qrels_and_runs_are_what_an_experiment_takes(vaswani):
    qrels, run = vaswani.qrels(), vaswani.run()
    assert qrels.columns.tolist() == ["qid", "docno", "label"] and qrels["label"].dtype == np.int64
    assert set(qrels["docno"]) <= set(vaswani.docnos) and set(qrels["qid"]) == set(vaswani.topics()["qid"])
    assert run.columns.tolist() == ["qid", "docno", "score", "rank"] and run["score"].dtype == np.float64
    assert pd.api.types.is_string_dtype(run["docno"]) and pd.api.types.is_string_dtype(qrels["docno"])
    table = pt.Experiment([run], vaswani.topics(), qrels, [AP, nDCG @ 10], names=["BM25"], validate="error")
    assert table.round(4).to_dict("records") == [{"name": "BM25", "AP": 0.2965, "nDCG@10": 0.4466}]


def test_runs_are_in_rank_order(vaswani):
    run = vaswani.run()
    for qid, results in run.groupby("qid"):
        keys = list(zip(-results["score"], results["docno"], strict=True))
        assert keys == sorted(keys) and len(set(results["docno"])) == len(keys) <= 1000
        assert results["rank"].tolist() == list(range(len(keys)))
        part = vaswani.run(qid, 52)
        pd.testing.assert_frame_equal(part, results.head(52).reset_index(drop=True))
    assert vaswani.run(depth=1)["qid"].tolist() == vaswani.topics()["qid"].tolist()


def test_equal_scores_are_ordered_by_docno(vaswani):
    tied = [
        pair
        for _, results in vaswani.run().groupby("qid")
        for pair in zip(*(results[c].tolist() for c in ("score", "docno")), strict=True)
    ]
    neighbours = [(a, b) for (s, a), (t, b) in zip(tied, tied[1:], strict=False) if s == t]
    # Terrier's own order, by its document numbers, would have "999" before "1000".
    assert neighbours and any(int(a) > int(b) for a, b in neighbours) and all(a < b for a, b in neighbours)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("94",), "unknown_topic"), (("",), "unknown_topic"), (("1", 0), "bad_parameter"), (("1", 1001), "bad_parameter")],
)
def test_runs_that_were_not_recorded_are_refused(vaswani, arguments, code):
    with pytest.raises(AlgebraError) as caught:
        vaswani.run(*arguments)
    assert caught.value.code == code and str(arguments[-1]) in caught.value.message


def test_lengths_are_tokens_a_document(vaswani):
    assert vaswani.lengths()[:4].tolist() == [23, 25, 42, 12] and vaswani.lengths().dtype == np.int64
    assert len(vaswani.lengths()) == len(vaswani.docnos)


def test_loaded_data_cannot_be_changed(vaswani):
    with pytest.raises(ValueError, match="read-only"):
        vaswani.document_counts[0] = 9
    with pytest.raises(TypeError):
        vaswani.topic_counts["1"]["microwave"] = 2


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["truncated", "a bit flipped", "longer", "empty"])
def test_damaged_files_are_named(copied, name, damage):
    data = (copied / name).read_bytes()
    (copied / name).write_bytes(
        {
            "truncated": data[: len(data) // 2],
            "a bit flipped": data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
            "longer": data + b"\n",
            "empty": b"",
        }[damage]
    )
    with pytest.raises(DataError) as caught:
        load_vaswani(copied)
    assert caught.value.code == "corrupted_data" and name in caught.value.message
    assert "build_vaswani" in caught.value.hint


@pytest.mark.parametrize("name", [*FILES, CHECKSUMS])
def test_missing_files_are_named(copied, name):
    (copied / name).unlink()
    with pytest.raises(DataError) as caught:
        load_vaswani(copied)
    assert caught.value.code == "missing_data" and name in caught.value.message


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match="nowhere") as caught:
        load_vaswani(tmp_path / "nowhere")
    assert caught.value.code == "missing_data"


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines, f"{'0' * 64}  other.npy"],
        lambda lines: ["\udcff", *lines],
        lambda lines: [],
    ],
    ids=["one less", "one more", "not text", "empty"],
)
def test_damaged_checksums_are_named(copied, change):
    lines = change((copied / CHECKSUMS).read_text().splitlines())
    (copied / CHECKSUMS).write_bytes("\n".join(lines).encode(errors="surrogateescape"))
    with pytest.raises(DataError) as caught:
        load_vaswani(copied)
    assert caught.value.code == "corrupted_data" and CHECKSUMS in caught.value.message


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("topics.txt", b"1 no tab\n"),
        ("qrels.txt", b"1 0 1239\n"),
        ("docnos.txt", b"\xff\n"),
        ("bm25_scores.npy", b"no array"),
        ("document_counts.npy", (vaswani_folder() / "bm25_scores.npy").read_bytes()),
    ],
)
def test_files_of_another_make_are_refused_though_their_checksums_hold(copied, name, data):
    old = sha256((copied / name).read_bytes()).hexdigest()
    (copied / name).write_bytes(data)
    sums = (copied / CHECKSUMS).read_text()
    (copied / CHECKSUMS).write_text(sums.replace(old, sha256(data).hexdigest()))
    with pytest.raises(DataError) as caught:
        load_vaswani(copied)
    assert caught.value.code == "corrupted_data" and str(copied) in caught.value.message


def test_pickled_arrays_are_refused(copied):
    name = "document_terms.npy"
    old = sha256((copied / name).read_bytes()).hexdigest()
    np.save(copied / name, np.array([{}], dtype=object), allow_pickle=True)
    sums = (copied / CHECKSUMS).read_text()
    (copied / CHECKSUMS).write_text(sums.replace(old, sha256((copied / name).read_bytes()).hexdigest()))
    with pytest.raises(DataError) as caught:
        load_vaswani(copied)
    assert caught.value.code == "corrupted_data"


@pytest.mark.parametrize("place", ["pyterrier_alg/data/vaswani", "data/vaswani"])
def test_the_folder_is_found_in_a_package_and_in_a_checkout(tmp_path, monkeypatch, place):
    monkeypatch.setattr(vaswani_data, "__file__", str(tmp_path / "pyterrier_alg" / "collection" / "vaswani_data.py"))
    with pytest.raises(DataError) as caught:
        vaswani_folder()
    assert caught.value.code == "missing_data"
    (tmp_path / place).mkdir(parents=True)
    assert vaswani_folder() == (tmp_path / place).resolve()
