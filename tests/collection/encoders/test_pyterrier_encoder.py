"""Any PyTerrier encoder as the encoder of a space: what it is sent, and what is refused of what it gives."""

import pickle

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg.algebra import AlgebraError, EvaluationError, parse
from pyterrier_alg.collection import Collection, Matrix, Space
from pyterrier_alg.collection.encoders import PyTerrierEncoder, SignedHashEncoder
from pyterrier_alg.collection.formats import from_corpus
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.engines.vectorised import VectorisedEngine

HASH = SignedHashEncoder(16)


class TwoTowers(pt.Transformer):
    """Both sides in one transformer, as pyterrier_dr's are: what it does depends on the columns that it gets."""

    def __init__(self, factor=1.0, backwards=False):
        self.factor = factor
        self.backwards = backwards

    def transform(self, inp):
        if "query" in inp.columns:
            return inp.assign(query_vec=[HASH.encode(text) * self.factor for text in inp["query"]])
        found = inp.assign(doc_vec=[row * self.factor for row in HASH.encode_documents(inp["text"].tolist())])
        return found.iloc[::-1] if self.backwards else found

    def __eq__(self, other):
        return isinstance(other, TwoTowers) and (self.factor, self.backwards) == (other.factor, other.backwards)

    def __hash__(self):
        return hash((self.factor, self.backwards))


class Gives(pt.Transformer):
    """Gives these vectors, whatever is asked."""

    def __init__(self, *vectors):
        self.vectors = vectors

    def transform(self, inp):
        name = "query_vec" if "query" in inp.columns else "doc_vec"
        return inp.assign(**{name: pd.Series(list(self.vectors), index=inp.index, dtype="object")})


def encoder(*arguments, **options):
    return PyTerrierEncoder(*arguments, **{"identity": "hash", "dimensions": 16, **options})


TEXTS = ["wave guide", "", "valve amplifier", " \n", "antenna", "waves", "guides"]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 32])
@pytest.mark.parametrize("backwards", [False, True])
def test_rows_are_those_of_the_texts_in_their_order(batch_size, backwards):
    found = encoder(TwoTowers(backwards=backwards), batch_size=batch_size).encode_documents(TEXTS)
    assert found.dtype == np.float32
    assert np.array_equal(found, HASH.encode_documents(TEXTS))


def test_a_query_and_two_transformers():
    found = encoder(TwoTowers(), TwoTowers(backwards=True), document_identity="hash of documents")
    assert np.array_equal(found.encode("wave guide"), HASH.encode("wave guide"))
    assert not found.encode("wave guide").flags.writeable
    assert (found.identity, found.document_identity) == ("hash", "hash of documents")
    assert encoder(TwoTowers()).document_identity == "hash"
    only_documents = pt.apply.doc_vec(lambda row: HASH.encode(row["text"]))
    only_queries = pt.apply.query_vec(lambda row: HASH.encode(row["query"]))
    split = encoder(only_queries, only_documents)
    assert np.array_equal(split.encode_documents(["wave"])[0], split.encode("wave"))


def test_no_texts():
    assert encoder(TwoTowers()).encode_documents([]).shape == (0, 16)
    assert encoder(Gives()).encode_documents(["", " "]).tolist() == [[0.0] * 16] * 2


@pytest.mark.parametrize("text", ["", "  ", "\t\n"])
def test_an_empty_query_has_no_direction(text):
    with pytest.raises(AlgebraError) as raised:
        encoder(TwoTowers()).encode(text)
    assert raised.value.code == "zero_vector"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_element_types_are_rounded_to_float32(dtype):
    vector = np.zeros(16, dtype=dtype)
    vector[3] = 1
    found = encoder(Gives(vector)).encode("x")
    assert found.dtype == np.float32 and found.tolist() == vector.tolist()


@pytest.mark.parametrize(
    ("normalise", "expected"), [(True, [0.6, 0.8]), (False, [3.0, 4.0]), (None, "not_unit")], ids=str
)
def test_what_is_done_about_lengths(normalise, expected):
    found = encoder(Gives(np.array([3.0, 4.0])), dimensions=2, normalise=normalise)
    if expected == "not_unit":
        for encode in (lambda: found.encode("x"), lambda: found.encode_documents(["x"])):
            with pytest.raises(AlgebraError) as raised:
                encode()
            assert raised.value.code == "not_unit"
    else:
        assert found.encode("x").tolist() == np.float32(expected).tolist()
        assert found.encode_documents(["x"]).tolist() == [np.float32(expected).tolist()]


@pytest.mark.parametrize("normalise", [True, None, False])
def test_zero_vectors(normalise):
    found = encoder(Gives(np.zeros(2)), dimensions=2, normalise=normalise)
    assert found.encode_documents(["x"]).tolist() == [[0.0, 0.0]]
    if normalise is False:
        assert found.encode("x").tolist() == [0.0, 0.0]
    else:
        with pytest.raises(AlgebraError) as raised:
            found.encode("x")
        assert raised.value.code == "zero_vector"


BAD_OUTPUT = [
    (pt.Transformer.identity(), "bad_operand", "query_vec|doc_vec"),
    (Gives(np.ones(15) / 4), "dimensions|ragged_rows", "15"),
    (Gives(np.ones((4, 4)) / 4), "dimensions|ragged_rows", "4, 4"),
    (Gives(1.0), "dimensions|ragged_rows", "()|16"),
    (Gives(None), "dimensions|ragged_rows|bad_operand|non_finite", ""),
    (Gives(np.array([np.nan, *[0.0] * 15])), "non_finite", "some text"),
    (Gives(np.array([1e39, *[0.0] * 15])), "non_finite", "some text"),
    (Gives(np.ma.array([0.25] * 16, mask=[True] + [False] * 15)), "bad_operand", "masked"),
    (Gives([[1.0], [1.0, 2.0]]), "ragged_rows", "different lengths"),
    (Gives(np.array(["a"] * 16)), "bad_operand|ragged_rows", "numbers"),
]


@pytest.mark.parametrize(("model", "code", "named"), BAD_OUTPUT)
@pytest.mark.parametrize("side", ["encode", "encode_documents"])
def test_output_that_is_refused(model, code, named, side):
    found = encoder(model)
    with pytest.raises(AlgebraError) as raised:
        found.encode("some text") if side == "encode" else found.encode_documents(["some text"])
    assert raised.value.code in code.split("|")
    assert any(name in raised.value.message for name in named.split("|"))


@pytest.mark.parametrize(
    "answer",
    [
        lambda frame: frame.iloc[1:],
        lambda frame: pd.concat([frame, frame.iloc[:1]]),
        lambda frame: frame.assign(docno="7"),
        lambda frame: frame.assign(docno=[["0"]] * 3),
        lambda frame: frame.drop(columns="docno"),
    ],
)
def test_documents_that_go_astray_are_noticed(answer):
    model = TwoTowers() >> pt.apply.generic(answer)
    with pytest.raises(AlgebraError) as raised:
        encoder(TwoTowers(), model).encode_documents(["wave", "guide", "valve"])
    assert raised.value.code == "bad_operand"


@pytest.mark.parametrize("encode", [encoder(TwoTowers()).encode_documents, HASH.encode_documents])
def test_texts_are_those_that_are_given_whatever_holds_them(encode):
    expected = encode(TEXTS)
    for texts in (iter(TEXTS), tuple(TEXTS), pd.Series(TEXTS, index=range(7, 14)), np.array(TEXTS, dtype=object)):
        assert np.array_equal(encode(texts), expected)
    for texts in ("one text", None, 5):
        with pytest.raises(AlgebraError) as raised:
            encode(texts)
        assert raised.value.code == "bad_operand"


@pytest.mark.parametrize("text", [None, 7, b"x", "half \ud800"])
def test_only_texts_are_encoded(text):
    for encode in (lambda: encoder(TwoTowers()).encode(text), lambda: encoder(TwoTowers()).encode_documents([text])):
        with pytest.raises(AlgebraError) as raised:
            encode()
        assert raised.value.code == "bad_operand"


@pytest.mark.parametrize(
    ("arguments", "options", "code"),
    [
        ((lambda frame: frame,), {}, "bad_argument"),
        ((None,), {}, "bad_argument"),
        ((TwoTowers(), lambda frame: frame), {}, "bad_argument"),
        ((TwoTowers(),), {"identity": ""}, "bad_parameter"),
        ((TwoTowers(),), {"identity": 7}, "bad_parameter"),
        ((TwoTowers(),), {"dimensions": 0}, "bad_parameter"),
        ((TwoTowers(),), {"dimensions": True}, "bad_parameter"),
        ((TwoTowers(),), {"batch_size": 0}, "bad_parameter"),
        ((TwoTowers(),), {"normalise": "yes"}, "bad_parameter"),
        ((TwoTowers(),), {"normalise": np.array([1, 2])}, "bad_parameter"),
    ],
)
def test_encoders_that_cannot_be(arguments, options, code):
    with pytest.raises(AlgebraError) as raised:
        encoder(*arguments, **options)
    assert raised.value.code == code


def test_it_is_a_value():
    found = encoder(TwoTowers(), normalise=True)
    assert found == encoder(TwoTowers(), normalise=True) != encoder(TwoTowers(2.0), normalise=True)
    assert hash(found) == hash(encoder(TwoTowers(), normalise=True))
    again = pickle.loads(pickle.dumps(found))
    assert again == found and np.array_equal(again.encode("wave"), found.encode("wave"))
    assert "identity='hash'" in repr(found)


def test_it_encodes_for_programs_and_for_collections():
    towers = encoder(TwoTowers(3.0), normalise=True, document_identity="documents")
    documents = [{"docno": f"d{place}", "text": text} for place, text in enumerate(TEXTS)]
    c = from_corpus(documents, encoder=towers)
    space = c.operands["E"].space
    assert (space.document_encoder, space.query_encoder) == ("documents", "hash")
    program = parse('(E @ "wave guide") - 0.5 (E @ "valve")')
    plain = from_corpus(documents, encoder=HASH)
    got, wanted = (VectorisedEngine().run(program, collection.at()).to_dict() for collection in (c, plain))
    assert list(got) == list(wanted)
    assert got == pytest.approx(wanted, abs=1e-6)


def test_it_indexes(tmp_path):
    towers = encoder(TwoTowers(backwards=True), document_identity="documents")
    documents = [{"docno": f"d{place}", "text": text} for place, text in enumerate(TEXTS)]
    with pytest.warns(UserWarning, match="no text"):
        built = AlgebraIndexer(tmp_path / "c", encoder=towers, batch_size=2).index(documents)
    wanted = from_corpus(documents, encoder=towers, columns=[]).operands["E"]
    assert np.array_equal(built.operands["E"].rows, wanted.rows)
    assert np.array_equal(built.operands["E"].positions, wanted.positions)
    assert built.operands["E"].space == wanted.space
    again = Collection(tmp_path / "c", encoders={towers.identity: towers})
    best = VectorisedEngine().run(parse('top(1, E @ "valve amplifier")'), again.at()).to_dict()
    assert best == {"d2": pytest.approx(1.0)}


def test_a_program_says_what_the_encoder_says():
    space = Space("text", 16)
    c = Collection(["a"]).bind(E=Matrix([HASH.encode("wave")], space=space, encoder=encoder(TwoTowers(2.0))))
    for text, code in (("wave", "not_unit"), ("", "zero_vector")):
        with pytest.raises(EvaluationError) as raised:
            VectorisedEngine().run(parse(f'E @ "{text}"'), c.at())
        assert raised.value.code == code
