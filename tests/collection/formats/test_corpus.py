"""Corpora as collections: fields as columns, texts as vectors."""

import datetime
import os
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from pyterrier_alg.algebra import AlgebraError, parse
from pyterrier_alg.collection import Collection, Column, Matrix, Space
from pyterrier_alg.collection.encoders import SignedHashEncoder
from pyterrier_alg.collection.formats import from_corpus
from pyterrier_alg.engines.vectorised import VectorisedEngine

TEXTS = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets")) / "vaswani"
needs_texts = pytest.mark.skipif(
    not (TEXTS / "docs.txt").is_file(), reason="Vaswani's texts are not here: IR_DATASETS_HOME has no vaswani/docs.txt"
)

DOCUMENTS = [
    {"docno": "d2", "title": "Wave guides", "text": "design of bends", "year": 1961, "tags": ["x"], "free": True},
    {"docno": "d10", "title": None, "text": "valves", "year": None, "seen": datetime.date(1999, 1, 2)},
    {"docno": "d1", "title": "?", "text": " \n", "lang": "en"},
]
ENCODER = SignedHashEncoder(64)


def test_fields_become_columns_and_texts_rows():
    found = from_corpus(iter(DOCUMENTS), encoder=ENCODER, text=["title", "text"], batch_size=2, name="three")
    space = Space("text", 64, "cosine", "float32", ENCODER.document_identity, ENCODER.identity)
    rows = ENCODER.encode_documents(["Wave guides design of bends", "valves"])
    expected = Collection(["d2", "d10", "d1"]).bind(
        E=Matrix(rows, space=space, encoder=ENCODER, docnos=["d2", "d10"]),
        title=Column({"d2": "Wave guides", "d1": "?"}),
        text=Column({"d2": "design of bends", "d10": "valves", "d1": " \n"}),
        year={"d2": 1961.0},
        free=Column({"d2": True}),
        seen=Column({"d10": datetime.date(1999, 1, 2)}),
        lang=Column({"d1": "en"}),
    )
    assert found == expected
    assert found.name == "three" and found.docnos.tolist() == ["d2", "d10", "d1"]
    best = VectorisedEngine().run(parse('top(1, E @ "wave guide design")'), found.at())
    assert list(best.to_dict()) == ["d2"]


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_batches_change_nothing(batch_size):
    assert from_corpus(DOCUMENTS, encoder=ENCODER, batch_size=batch_size) == from_corpus(DOCUMENTS, encoder=ENCODER)


def test_without_an_encoder_there_is_no_matrix():
    assert from_corpus(DOCUMENTS, columns=["year"]) == Collection(["d2", "d10", "d1"]).bind(year={"d2": 1961.0})
    assert from_corpus(DOCUMENTS, columns=[], first=2) == Collection(["d2", "d10"])
    assert len(from_corpus([])) == 0


def test_a_stated_space_and_distance():
    found = from_corpus(DOCUMENTS, encoder=ENCODER, space="hashed", distance="l2", columns=[])
    space = found.operands["E"].space
    assert (space.name, space.distance, space.query_encoder) == ("hashed", "l2", ENCODER.identity)
    stated = Space("mine", 64)
    assert from_corpus(DOCUMENTS, encoder=ENCODER, space=stated).operands["E"].space == stated


def test_datasets_of_ir_datasets_and_pyterrier():
    document = namedtuple("Document", ["doc_id", "text"])

    class Irds:
        def docs_iter(self):
            return iter([document("d1", "wave"), document("d0", "guide")])

    class PyTerrier:
        def get_corpus_iter(self, *, verbose=True):
            return iter([{"docno": "d1", "text": "wave"}, {"docno": "d0", "text": "guide"}])

    expected = Collection(["d1", "d0"]).bind(text=Column({"d1": "wave", "d0": "guide"}))
    assert from_corpus(Irds()) == from_corpus(PyTerrier()) == expected


@pytest.mark.parametrize(
    ("corpus", "options", "code", "named"),
    [
        (7, {}, "bad_argument", "int"),
        ({"docno": "d1"}, {}, "bad_argument", "dict"),
        (["d1"], {}, "bad_operand", "document 0"),
        ([{"text": "x"}], {}, "bad_docno", "'text'"),
        ([{"docno": "d1"}, {"docno": "d1"}], {}, "duplicate_docno", "'d1'"),
        ([{"docno": 1}], {}, "bad_docno", "1"),
        ([{"docno": "d1", "body": "x"}], {"encoder": ENCODER}, "bad_operand", "'body'"),
        ([{"docno": "d1", "text": 7}], {"encoder": ENCODER}, "bad_operand", "'text'"),
        (DOCUMENTS, {"encoder": object()}, "bad_argument", "encode_documents"),
        (DOCUMENTS, {"batch_size": 0}, "bad_parameter", "batch_size"),
        (DOCUMENTS, {"first": -1}, "bad_parameter", "first"),
        (DOCUMENTS, {"encoder": ENCODER, "space": Space("s", 8)}, "dimensions", "64"),
        (DOCUMENTS, {"columns": ["tags"]}, "bad_operand", "tags"),
        ("no-such-corpus", {}, "missing_texts", "no-such-corpus"),
    ],
)
def test_corpora_that_are_refused(corpus, options, code, named):
    with pytest.raises(AlgebraError) as raised:
        from_corpus(corpus, **options)
    assert raised.value.code == code and named in raised.value.message


@needs_texts
def test_vaswani():
    found = from_corpus("vaswani", encoder=ENCODER, first=300)
    assert found.name == "vaswani" and found.docnos.tolist() == [str(number) for number in range(1, 301)]
    text = found.operands["text"].values[found.at().position("1")]
    assert "digital data storage" in text
    assert np.array_equal(found.operands["E"].rows[found.at().position("1")], ENCODER.encode(text))
