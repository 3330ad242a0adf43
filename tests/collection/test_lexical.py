"""Retrievers: recorded runs, PyTerrier's, and Terrier itself."""

import os
import pickle
import shutil
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg.algebra import AlgebraError, BindingError, MissingExtraError, parse
from pyterrier_alg.collection import Collection, Retriever, Topic, vaswani
from pyterrier_alg.collection.lexical import RecordedRetriever, TerrierRetriever, bag
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.engines.vectorised import VectorisedEngine

TOPICS = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["Wave guides", "valve", "nothing"]})
RUN = pd.DataFrame({"qid": ["1"] * 3 + ["2"], "docno": ["b", "c", "a", "a"], "score": [2.0, 3.0, 2.0, 1.0]})

TEXTS = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets")) / "vaswani"
needs_texts = pytest.mark.skipif(
    not (TEXTS / "docs.txt").is_file(), reason="Vaswani's texts are not here: IR_DATASETS_HOME has no vaswani/docs.txt"
)
needs_terrier = pytest.mark.skipif(
    find_spec("jnius") is None or not (shutil.which("java") or os.environ.get("JAVA_HOME")),
    reason="Terrier needs Java and pip install 'pyterrier-alg[terrier]'",
)


@pytest.fixture
def recorded():
    return RecordedRetriever.of(TOPICS, RUN, identity="test", depth=3, hint="ask elsewhere")


def run(program, retriever, topic=None):
    c = Collection(["a", "b", "c"]).bind(bm25=retriever)
    return list(VectorisedEngine().run(parse(program), c.at(topic)))


@pytest.mark.parametrize("text", ["Wave guides", "wave guides", "GUIDES (wave)!\n", "guides wave"])
def test_a_recorded_query_is_found_by_its_words(recorded, text):
    assert list(recorded.search(text, 3).items()) == [("c", 3.0), ("a", 2.0), ("b", 2.0)]


@pytest.mark.parametrize(
    ("text", "depth", "expected"),
    [("wave guides", 1, {"c": 3.0}), ("valve", 100, {"a": 1.0}), ("nothing", 5, {}), ("", 5, {}), (" ?! ", 5, {})],
)
def test_depths_and_texts_without_results(recorded, text, depth, expected):
    assert recorded.search(text, depth) == expected


@pytest.mark.parametrize(
    ("text", "depth", "code"),
    [
        ("wave", 3, "unrecorded_query"),
        ("wave wave guides", 3, "unrecorded_query"),
        ("wave guides", 4, "unrecorded_depth"),
    ],
)
def test_what_was_not_recorded(recorded, text, depth, code):
    with pytest.raises(AlgebraError) as caught:
        recorded.search(text, depth)
    assert caught.value.code == code and caught.value.hint == "ask elsewhere"


def test_recorded_results_pickle_and_are_equal_by_content(recorded):
    again = pickle.loads(pickle.dumps(recorded))
    assert again == recorded and again.search("valve", 1) == {"a": 1.0}


def test_in_a_program(recorded):
    assert run("top(2, bm25(query))", recorded, Topic("1", "wave guides")) == [("c", 3.0), ("a", 2.0)]
    assert run('bm25("valve")', Retriever(recorded)) == [("a", 1.0)]


class Results(pt.Transformer):
    """Gives the same results to every query."""

    def __init__(self, frame):
        self.frame = frame

    def transform(self, topics):
        self.asked = topics["query"].tolist()
        return self.frame


FOUND = pd.DataFrame({"qid": "1", "docno": ["b", "c", "a"], "score": [2.0, 3.0, 2.0], "rank": [1, 0, 2]})


def test_any_pyterrier_retriever():
    source = Results(FOUND)
    assert run('bm25("Wave (guides)")', source) == [("c", 3.0), ("a", 2.0), ("b", 2.0)]
    assert source.asked == ["Wave (guides)"]
    assert run('bm25("x", 2)', source) == [("c", 3.0), ("a", 2.0)]
    assert run('bm25("x")', Retriever(source, default_depth=1)) == [("c", 3.0)]
    assert run('bm25("x")', Results(FOUND[:0])) == []


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"docno": ["a", "a"], "score": [1.0, 2.0]}),
        pd.DataFrame({"docno": [1], "score": [1.0]}),
        pd.DataFrame({"docno": ["a"], "score": [float("nan")]}),
    ],
)
def test_results_that_are_no_relation(frame):
    with pytest.raises(AlgebraError) as caught:
        run('bm25("x")', Results(frame))
    assert caught.value.code == "bad_results"


@pytest.mark.parametrize("depth", [0, -1, True, 2.5])
def test_a_default_depth_is_a_count(depth):
    with pytest.raises(BindingError, match=repr(depth)):
        Collection(["a"]).bind(bm25=Retriever(Results(FOUND), default_depth=depth))


def test_its_name_for_people():
    c = Collection(["a"]).bind(x=Retriever(Results(FOUND), identity="mine"))
    assert c.at().operands["x"].retriever.identity == "mine"


def test_words():
    assert bag("Wave GUIDES, wave") == "guides wave wave" and bag("...") == ""


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr("pyterrier_alg.collection.lexical.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pyterrier-alg\[terrier\]"):
        TerrierRetriever("some texts", list, ["a"]).search("wave", 5)


@needs_terrier
@pytest.mark.parametrize(
    ("corpus", "told"),
    [
        (lambda: 1 / 0, "division by zero"),
        (lambda: [{"docno": "a", "text": "wave"}], "not those"),
    ],
)
def test_missing_texts_are_named(corpus, told):
    with pytest.raises(AlgebraError, match=told) as caught:
        TerrierRetriever("some texts", corpus, ["a", "b"]).search("wave", 5)
    assert caught.value.code == "missing_texts" and "some texts" in str(caught.value)


@needs_terrier
def test_terrier_over_a_few_texts():
    texts = {"a": "wave guides and wave guides", "b": "a wave", "c": "valve amplifiers", "d": "", "long name": "guides"}
    documents = [{"docno": docno, "text": text} for docno, text in texts.items()]
    retriever = TerrierRetriever("five texts", lambda: documents, list(texts))
    found = retriever.search('Guides (of) the WAVE: guides^2 +valve "x', 10)
    assert set(found) == {"a", "b", "c", "long name"}
    assert list(found.items()) == sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    assert list(retriever.search("wave guides", 1)) == list(retriever.search("guides wave", 9))[:1]
    assert retriever.search("?!", 5) == {} == retriever.search("unheard", 5)


@needs_terrier
@needs_texts
def test_live_vaswani_is_what_was_recorded(tmp_path, monkeypatch):
    # A copy, since ir_datasets writes beside the texts.
    home = tmp_path / "vaswani"
    home.mkdir()
    for name in ("docs.txt", "queries.txt", "qrels.txt"):
        shutil.copyfile(TEXTS / name, home / name)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    data, live = load_vaswani(), vaswani(bm25="terrier").at().operands["bm25"].retriever
    topics = data.topics().set_index("qid")["query"]
    for qid in ("1", "47", "93"):
        expected = data.run(qid)
        found = live.search(topics[qid], 1000)
        assert list(found.items()) == list(zip(expected["docno"], expected["score"], strict=True))
    assert len(live.search("wave guide design", 7)) == 7
