"""Loaders: stored texts and vectors, by docno, for frames of documents and of results."""

import os
import pickle
import shutil

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg.algebra import AlgebraError, BindingError, DataError
from pyterrier_alg.collection import Collection, Matrix, Space
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.collection.signed_hash import SignedHashEncoder

os.environ["PT_TEST_TRANSFORMER_REPORTS"] = "0"

ENCODER = SignedHashEncoder(64)
DOCUMENTS = [
    {"docno": "d2", "text": "wave guide", "title": "Waves"},
    {"docno": "d10", "text": "magnetic\ncore é", "title": None},
    {"docno": "d1", "text": None, "title": "No text"},
]
RESULTS = pd.DataFrame({
    "qid": ["1", "1", "2"],
    "query": ["a", "a", "b"],
    "docno": ["d10", "d2", "d10"],
    "score": [2.0, 2.0, 0.5],
    "rank": [0, 1, 0],
}, index=[7, 7, 9])  # fmt: skip


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    return build(tmp_path_factory.mktemp("loaders") / "c")


def build(path, documents=DOCUMENTS):
    indexer = AlgebraIndexer(path, encoder=ENCODER, texts=["title", "text"], batch_size=2, overwrite=True)
    with pytest.warns(UserWarning, match="have no text"):
        return indexer.index(documents)


@pytest.fixture(scope="module", autouse=True)
def shared(tmp_path_factory):
    # The classes below are made without a fixture.
    Made.collection = build(tmp_path_factory.mktemp("shared") / "c")


class Made:
    collection = None


@pt.testing.transformer_test_class
def TestTextLoader():  # noqa: N802
    return Made.collection.text_loader()


@pt.testing.transformer_test_class
def TestVecLoader():  # noqa: N802
    return Made.collection.vec_loader()


def test_texts_of_results(c):
    before = RESULTS.copy(deep=True)
    found = c.text_loader()(RESULTS)
    expected = RESULTS.assign(
        title=pd.Series(["", "Waves", ""], RESULTS.index, dtype="str"),
        text=pd.Series(["magnetic\ncore é", "wave guide", "magnetic\ncore é"], RESULTS.index, dtype="str"),
    )
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(RESULTS, before)


@pytest.mark.parametrize(("fields", "columns"), [("title", ["title"]), (["text"], ["text"]), ("*", ["title", "text"])])
def test_the_fields_that_are_asked_for(c, fields, columns):
    documents = pd.DataFrame({"docno": ["d1", "d2"]})
    assert list(c.text_loader(fields)(documents).columns) == ["docno", *columns]


def test_a_column_that_is_there_is_replaced(c):
    frame = pd.DataFrame({"docno": ["d2"], "text": ["other"], "doc_vec": [None]})
    assert c.text_loader("text")(frame)["text"].tolist() == ["wave guide"]
    assert c.vec_loader()(frame)["doc_vec"][0].tolist() == ENCODER.encode("wave guide").tolist()


def test_vectors_of_results(c):
    found = c.vec_loader()(RESULTS)
    assert list(found.columns) == [*RESULTS.columns, "doc_vec"]
    pd.testing.assert_frame_equal(found.drop(columns="doc_vec"), RESULTS)
    for docno, vector in zip(found["docno"], found["doc_vec"], strict=True):
        text = {"d10": "magnetic core", "d2": "wave guide"}[docno]
        assert vector.dtype == np.float32 and vector.tolist() == ENCODER.encode(text).tolist()
    # Each is an array of its own, and none the collection's.
    found["doc_vec"].iloc[0][:] = 9
    assert found["doc_vec"].iloc[2].max() < 9 and c.operands["E"].rows.max() < 9


def test_vectors_of_a_half_precision_matrix(tmp_path):
    documents = [{"docno": "a", "doc_vec": [0.1, 2.0]}]
    c = AlgebraIndexer(tmp_path / "c", distance="l2", scalar="float16").index(documents)
    vector = c.vec_loader()(pd.DataFrame({"docno": ["a"]}))["doc_vec"][0]
    assert vector.dtype == np.float32 and vector.tolist() == [0.0999755859375, 2.0]


@pytest.mark.parametrize("make", [lambda c: c.text_loader(), lambda c: c.vec_loader()])
@pytest.mark.parametrize("frame", [RESULTS, pd.DataFrame({"docno": ["d2"]}, dtype="str")])
def test_empty_frames(c, make, frame):
    full, empty, bare = (make(c)(f) for f in (frame, frame.iloc[:0], pd.DataFrame(columns=frame.columns)))
    pd.testing.assert_series_equal(empty.dtypes, full.dtypes)
    assert list(bare.columns) == list(full.columns) and len(empty) == len(bare) == 0


@pytest.mark.parametrize("make", [lambda c: c.text_loader("text"), lambda c: c.vec_loader()])
def test_unknown_documents_are_named(c, make):
    with pytest.raises(BindingError, match="'d3'") as caught:
        make(c)(pd.DataFrame({"docno": ["d2", "d3"]}))
    assert caught.value.code == "unknown_docno"
    with pytest.raises(BindingError) as caught:
        make(c)(pd.DataFrame({"docno": [5]}))
    assert caught.value.code == "bad_docno"
    with pytest.raises(pt.validate.InputValidationError):
        make(c)(pd.DataFrame({"qid": ["1"]}))


def test_a_record_without_a_row(c):
    with pytest.raises(BindingError, match="E has no row for 'd1'") as caught:
        c.vec_loader()(pd.DataFrame({"docno": ["d2", "d1"]}))
    assert caught.value.code == "unknown_record"


def test_what_is_not_stored(c):
    with pytest.raises(BindingError, match="'titel'.*\n.*'title', 'text'"):
        c.text_loader(["titel"])
    with pytest.raises(DataError) as caught:
        Collection(["a"]).text_loader()
    assert caught.value.code == "missing_texts"
    with pytest.raises(AlgebraError) as caught:
        c.vec_loader("F")
    assert caught.value.code == "unknown_name"
    with pytest.raises(BindingError) as caught:
        c.bind(w={"d1": 1.0}).vec_loader("w")
    assert caught.value.code == "bad_operand"


def test_texts_go_with_the_collection(c, tmp_path):
    saved = c.bind(w={"d1": 1.0}).save(tmp_path / "c")
    saved.verify()
    frame = c.text_loader()(RESULTS)
    for loader in (saved.text_loader(), Collection.load(tmp_path / "c").text_loader()):
        assert loader.texts.path.parent == tmp_path / "c" and loader == c.text_loader()
        pd.testing.assert_frame_equal(loader(RESULTS), frame)


def test_values(c, tmp_path):
    other = build(tmp_path / "c", [{**document, "title": "other"} for document in DOCUMENTS])
    assert c.text_loader() == c.text_loader("*") != c.text_loader("text") and c.text_loader() != other.text_loader()
    assert repr(c.text_loader()) == "TextLoader('title', 'text')" and repr(c.vec_loader()) == "VecLoader('E')"
    assert c.vec_loader() == Collection.load(c.path).vec_loader() != c.vec_loader("E") >> c.text_loader()
    assert c.vec_loader() != c.bind(w={"d1": 1.0}).vec_loader()
    for loader in (c.text_loader(), c.vec_loader()):
        again = pickle.loads(pickle.dumps(loader))
        assert again == loader and hash(again) == hash(loader)
        pd.testing.assert_frame_equal(again(RESULTS), loader(RESULTS))


@pytest.mark.parametrize("make", [lambda c: c.text_loader(), lambda c: c.vec_loader()])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_what_is_cut_off_is_not_loaded(c, make, k):
    pipeline = make(c) % k
    fused = pipeline.compile()
    assert isinstance(fused[0], pt.RankCutoff) and fused[1] == make(c)
    pd.testing.assert_frame_equal(fused(RESULTS), pipeline(RESULTS))


def test_texts_of_many_documents(tmp_path):
    n = 20_001
    numbers = np.random.default_rng(3).permutation(n).tolist()
    documents = [{"docno": f"d{i}", "text": f"{i} é" if i % 5 else "", "doc_vec": [1.0]} for i in numbers]
    c = AlgebraIndexer(tmp_path / "c", distance="inner product").index(documents)
    some = np.random.default_rng(4).integers(0, n, 3000).tolist()
    found = c.text_loader()(pd.DataFrame({"docno": [f"d{i}" for i in some]}))
    assert found["text"].tolist() == [f"{i} é" if i % 5 else "" for i in some]


def texts_of(c):
    return c.text_loader()(pd.DataFrame({"docno": ["d2"]}))["text"].tolist()


def test_texts_that_are_cut_while_they_are_in_use(tmp_path):
    c = build(tmp_path / "c")
    (tmp_path / "c" / "texts.arrow").write_bytes(b"ARROW1")
    for ask in (lambda: texts_of(c), lambda: c.save(tmp_path / "d")):
        with pytest.raises(DataError, match=r"texts\.arrow") as caught:
            ask()
        assert caught.value.code == "corrupted_data"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def others(path):
    return build(path, [{"docno": "d2", "text": "of another", "title": "corpus"}, {"docno": "d1", "text": ""}])


@pytest.mark.parametrize("change", [shutil.rmtree, others, lambda path: path.rename(f"{path} moved")])
def test_an_open_collection_keeps_its_texts_whatever_becomes_of_its_folder(tmp_path, change):
    built = build(tmp_path / "c")
    opened, copied = Collection(tmp_path / "c"), built.save(tmp_path / "copy")
    bound = opened.bind(w={"d1": 1.0})
    change(tmp_path / "c")
    change(tmp_path / "copy")
    for number, c in enumerate((built, opened, bound, copied)):
        assert texts_of(c) == ["wave guide"]
        assert texts_of(Collection(c.save(tmp_path / f"again{number}").path)) == ["wave guide"]


@pytest.mark.parametrize(("change", "code"), [(shutil.rmtree, "missing_data"), (others, "corrupted_data")])
def test_a_pickled_collection_refuses_the_texts_of_another_one(tmp_path, change, code):
    c = build(tmp_path / "c")
    same, c = pickle.loads(pickle.dumps(c)), pickle.loads(pickle.dumps(c))
    assert texts_of(same) == ["wave guide"]
    change(tmp_path / "c")
    assert texts_of(same) == ["wave guide"]
    for ask in (lambda: texts_of(c), lambda: c.save(tmp_path / "d")):
        with pytest.raises(DataError, match="texts|pt_meta") as caught:
            ask()
        assert caught.value.code == code
    assert not (tmp_path / "d").exists()


def test_what_was_changed_in_the_stored_texts_is_not_saved(tmp_path):
    c = build(tmp_path / "c")
    file = tmp_path / "c" / "texts.arrow"
    file.write_bytes(file.read_bytes().replace(b"wave", b"wove"))
    with pytest.raises(DataError, match="checksum") as caught:
        c.save(tmp_path / "d")
    assert caught.value.code == "corrupted_data" and not (tmp_path / "d").exists()


def test_vectors_in_memory():
    c = Collection(["a", "b"]).bind(G=Matrix({"b": [1.0, 2.0]}, Space("g", 2, "l2")))
    assert c.vec_loader("G")(pd.DataFrame({"docno": ["b"]}))["doc_vec"][0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("fields", [None, [1], b"text"])
def test_fields_that_are_no_names(c, fields):
    with pytest.raises(BindingError) as caught:
        c.text_loader(fields)
    assert caught.value.code == "bad_operand"


@pytest.mark.parametrize("matrix", [["E"], 3, "F"])
def test_matrices_that_are_not_there(c, matrix):
    with pytest.raises(BindingError) as caught:
        c.vec_loader(matrix)
    assert caught.value.code == "unknown_name"
