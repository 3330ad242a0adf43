"""Vaswani as a collection: what it binds, and that all of it is the shipped data."""

import pickle
import shutil
import sys
import threading

import numpy as np
import pytest

from pyterrier_alg.algebra import AlgebraError, parse
from pyterrier_alg.collection import Topic, vaswani
from pyterrier_alg.collection.lexical import PisaRetriever, TerrierRetriever
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.collection.vaswani_data import load_vaswani, vaswani_folder
from pyterrier_alg.engines.vectorised import VectorisedEngine


@pytest.fixture(scope="module")
def data():
    return load_vaswani()


def run(program, collection, topic=None):
    return VectorisedEngine().run(parse(program), collection.at(topic))


def test_what_it_binds():
    c = vaswani()
    kinds = {name: str(binding.type) for name, binding in c.bindings().items()}
    assert kinds == {
        "E": "matrix[signed-hash]", "length": "relation", "bm25": "retriever", "q1": "vector[signed-hash]",
        "q2": "vector[signed-hash]", "m": "mask", "w": "relation", "all": "mask",
    }  # fmt: skip
    assert len(c) == 11429 and c.docnos[:3].tolist() == ["1", "2", "3"] and c.at().docnos[:3].tolist() == [
        "1", "10", "100"
    ]  # fmt: skip
    space = c.at().operands["E"].space
    assert space.document_encoder == space.query_encoder == "signed-hash/blake2b/seed=0/256"


def test_rows_and_lengths_belong_to_their_documents(data):
    scope = vaswani(dimensions=64).at()
    rows, lengths = data.matrix(64), data.lengths()
    matrix, length = scope.operands["E"], scope.operands["length"]
    assert len(matrix.positions) == len(length.positions) == 11429
    for place in (0, 1, 9, 98, 4999, 11428):
        position = scope.position(data.docnos[place])
        assert matrix.rows[position].tobytes() == rows[place].tobytes()
        assert length.scores[position] == lengths[place]
    assert sorted(map(bytes, matrix.rows)) == sorted(map(bytes, rows))


@pytest.mark.parametrize(("arguments", "q1", "q2"), [({}, "72", "73"), ({"q1": "1", "q2": "93"}, "1", "93")])
def test_the_operands_of_the_push(data, arguments, q1, q2):
    scope = vaswani(**arguments).at()
    topics = data.topics().set_index("qid")["query"]
    assert scope.operands["q1"].values.tobytes() == SignedHashEncoder().encode(topics[q1]).tobytes()
    assert scope.operands["q2"].values.tobytes() == SignedHashEncoder().encode(topics[q2]).tobytes()
    pool = data.run(q1, 52).set_index("docno")["score"]
    assert set(scope.docnos[scope.operands["m"].positions]) == set(pool.index) and len(pool) == 52
    weights = dict(zip(scope.docnos[scope.operands["w"].positions], scope.operands["w"].scores, strict=True))
    assert weights == {docno: score / pool.max() for docno, score in pool.items()} and max(weights.values()) == 1


def test_every_topic_can_be_searched(data):
    c = vaswani()
    for topic in c.topics(data.topics()):
        found = run("bm25(query)", c, topic).to_frame()
        expected = data.run(topic.qid)
        assert found["docno"].tolist() == expected["docno"].tolist()
        assert np.array_equal(found["score"], expected["score"])


def test_a_program_of_text_vectors_and_bm25():
    c = vaswani()
    topic = Topic("1", "MEASUREMENT OF DIELECTRIC CONSTANT OF LIQUIDS BY THE USE OF MICROWAVE TECHNIQUES\n")
    found = run("top(3, minmax(bm25(query, 52)) * (support(bm25(query, 52)) >> (E @ query)))", c, topic)
    assert len(found) == 3 and found.certified and set(found.docnos) <= set(load_vaswani().run("1", 52)["docno"])


def test_other_text_says_how_to_search_it():
    with pytest.raises(AlgebraError) as caught:
        run('bm25("unheard of")', vaswani())
    assert caught.value.code == "unrecorded_query"
    for told in (
        'vaswani(bm25="counts"), which needs nothing',
        "'pyterrier-alg[terrier]'",
        "Java 11",
        "'pyterrier-alg[pisa]'",
    ):
        assert told in caught.value.hint
    assert len(run('top(5, bm25("unheard of"))', vaswani(bm25="counts"))) == 5


@pytest.mark.parametrize(
    ("bm25", "told"),
    [
        ("recorded", "Terrier 5.11 BM25 over irds:vaswani, recorded"),
        ("terrier", "Terrier BM25 over irds:vaswani"),
        ("pisa", "PISA BM25 over irds:vaswani (k1=0.9, b=0.4)"),
        ("counts", "BM25 over the term counts of vaswani (k1=1.2, b=0.75)"),
    ],
)
def test_every_provider_says_what_it_is_and_is_made_only_when_asked(bm25, told):
    c = vaswani(bm25=bm25)
    assert c.orient("bm25").to_dict()["operand"]["identity"] == told
    again = pickle.loads(pickle.dumps(c)).at().operands["bm25"].retriever
    assert (again.identity, again.default_depth) == (told, 1000)
    assert (c == vaswani()) is (bm25 == "recorded")


def test_live_without_texts_is_the_counts(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    assert vaswani(bm25="live") is vaswani(bm25="counts")


def test_live_with_texts_is_the_best_that_is_installed(monkeypatch, tmp_path):
    # Nothing is read: whether the file is there is what counts.
    (tmp_path / "vaswani").mkdir()
    (tmp_path / "vaswani" / "docs.txt").touch()
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    expected = ["terrier"] * TerrierRetriever.installed() + ["pisa"] * PisaRetriever.installed() + ["counts"]
    assert vaswani(bm25="live") is vaswani(bm25=expected[0])
    # As where it is not installed.
    monkeypatch.setitem(sys.modules, "jnius", None)
    assert vaswani(bm25="live") is vaswani(bm25="pisa" if PisaRetriever.installed() else "counts")
    monkeypatch.setitem(sys.modules, "pyterrier_pisa", None)
    assert vaswani(bm25="live") is vaswani(bm25="counts")


def test_the_same_parameters_give_the_same_collection():
    found = []
    threads = [threading.Thread(target=lambda: found.append(vaswani(dimensions=32))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(one is found[0] for one in found)
    assert vaswani(q1="1").at().operands["E"] is vaswani().at().operands["E"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ({"bm25": "lucene"}, "bad_parameter", "'lucene'"),
        ({"q1": "94"}, "unknown_topic", "'94'"),
        ({"q2": "0"}, "unknown_topic", "'0'"),
        ({"dimensions": 0}, "bad_parameter", "0"),
        ({"dimensions": 1}, "zero_vector", "dimensions"),
        ({"folder": "nowhere"}, "missing_data", "nowhere"),
    ],
)
def test_refused(arguments, code, told):
    with pytest.raises(AlgebraError, match=told) as caught:
        vaswani(**arguments)
    assert caught.value.code == code


def test_another_folder_is_verified(tmp_path):
    folder = shutil.copytree(vaswani_folder(), tmp_path / "vaswani")
    assert vaswani(folder=folder, dimensions=32) == vaswani(dimensions=32)
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / "topics.txt").write_bytes(b"")
    with pytest.raises(AlgebraError, match=r"topics\.txt") as caught:
        vaswani(folder=damaged)
    assert caught.value.code == "corrupted_data"
