"""Vaswani as a PyTerrier dataset."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg import Program, vaswani
from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.datasets import AlgDatasetProvider, VaswaniDataset

ROOT = Path(__file__).parents[1]
TEXTS = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets")) / "vaswani"
needs_texts = pytest.mark.skipif(
    not (TEXTS / "docs.txt").is_file(), reason="Vaswani's texts are not here: IR_DATASETS_HOME has no vaswani/docs.txt"
)


@pytest.fixture
def dataset():
    return AlgDatasetProvider().get_dataset("vaswani")


@pytest.fixture
def texts_home(tmp_path, monkeypatch):
    # A copy, since ir_datasets writes beside the texts.
    home = tmp_path / "vaswani"
    home.mkdir()
    for name in ("docs.txt", "queries.txt", "qrels.txt"):
        shutil.copyfile(TEXTS / name, home / name)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))


def test_the_provider_has_what_it_lists():
    provider = AlgDatasetProvider()
    assert provider.list_dataset_names() == ["vaswani"]
    assert all(isinstance(provider.get_dataset(name), pt.datasets.Dataset) for name in provider.list_dataset_names())
    with pytest.raises(KeyError, match=r"alg:trec-robust-2004.*vaswani"):
        provider.get_dataset("trec-robust-2004")


def test_what_is_shipped(dataset):
    data = load_vaswani()
    for variant in (None, "bag"):
        pd.testing.assert_frame_equal(dataset.get_topics(variant), data.topics())
    pd.testing.assert_frame_equal(dataset.get_qrels(), data.qrels())
    topics, qrels = dataset.get_topicsqrels()
    assert (len(topics), len(qrels)) == (93, 2083)
    assert repr(dataset) == "VaswaniDataset()" and (dataset.get_corpus_lang(), dataset.get_topics_lang()) == (
        "en",
        "en",
    )


def test_results_are_a_run_with_its_queries(dataset):
    results = dataset.get_results()
    assert list(results.columns) == ["qid", "query", "docno", "score", "rank"]
    pd.testing.assert_frame_equal(results.drop(columns="query"), load_vaswani().run())
    queries = dataset.get_topics().set_index("qid")["query"]
    assert (results["query"] == results["qid"].map(queries)).all()


def test_an_experiment_over_it(dataset):
    c = dataset.collection()
    assert c is vaswani() and dataset.collection(bm25="counts") is vaswani(bm25="counts")
    systems = {"BM25": Program("bm25(query)", c), "recorded": dataset.get_results()}
    table = pt.Experiment(systems, *dataset.get_topicsqrels(), ["map"], validate="error")
    assert table["map"].tolist() == [pytest.approx(0.2965, abs=5e-5)] * 2


@pytest.mark.parametrize("method", ["get_topics", "get_qrels", "get_results"])
def test_variants_that_there_are_not(dataset, method):
    with pytest.raises(AlgebraError, match="'title'") as caught:
        getattr(dataset, method)("title")
    assert caught.value.code == "unknown_variant"


def test_what_it_does_not_have(dataset):
    with pytest.raises(NotImplementedError):
        dataset.get_index()
    assert [dataset._describe_component(c) for c in ("topics", "qrels", "corpus", "index")] == [
        ["bag", "text"], True, True, None
    ]  # fmt: skip


@needs_texts
def test_texts_are_those_of_ir_datasets(dataset, texts_home):
    documents = dataset.get_corpus_iter(verbose=False)
    assert len(documents) == 11429
    documents = list(documents)
    assert tuple(document["docno"] for document in documents) == load_vaswani().docnos
    assert documents[0]["text"].startswith("compact memories have flexible capacities")
    texts = dataset.get_topics("text")
    assert list(texts.columns) == ["qid", "query"] and len(texts) == 93
    assert texts["query"][0].startswith("MEASUREMENT OF DIELECTRIC CONSTANT") and not texts["query"][0].endswith("\n")
    loaded = dataset.text_loader()(pd.DataFrame({"docno": ["2", "1"]}))
    assert loaded["text"].tolist() == [documents[1]["text"], documents[0]["text"]]


@pytest.mark.parametrize("asked", ["get_corpus_iter(verbose=False)", "get_topics('text')", "text_loader()"])
def test_texts_that_are_not_here_and_cannot_be_fetched(asked, tmp_path):
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network here')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from pyterrier_alg.algebra import AlgebraError\n"
        "from pyterrier_alg.datasets import VaswaniDataset\n"
        "try:\n"
        f"    VaswaniDataset().{asked}\n"
        "except AlgebraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "IR_DATASETS_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("missing_texts: the texts of irds:vaswani") and "IR_DATASETS_HOME" in done.stdout


def test_each_call_gives_a_new_object():
    # PyTerrier wraps a method of what it is given.
    assert VaswaniDataset() is not VaswaniDataset()
    assert AlgDatasetProvider().get_dataset("vaswani") is not AlgDatasetProvider().get_dataset("vaswani")
