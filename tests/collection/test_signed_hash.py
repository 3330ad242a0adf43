"""The signed hash: known answers, exactness, and the bytes of whole matrices."""

import math
from collections import Counter
from hashlib import blake2b, sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.signed_hash import SignedHashEncoder, tokens

WORDS = st.text(st.sampled_from("abcde01"), min_size=1, max_size=3)


def by_hand(text: str, dimensions: int, seed: int) -> list[float]:
    """The documented hash, one token at a time."""
    sums = [0] * dimensions
    for token in tokens(text):
        h = int.from_bytes(blake2b(token.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest(), "little")
        sums[h % 2**63 % dimensions] += -1 if h >= 2**63 else 1
    norm = math.sqrt(sum(c * c for c in sums)) or 1.0
    return [float(np.float32(c / norm)) for c in sums]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Band-pass FILTERS, 2nd ed.", ["band", "pass", "filters", "2nd", "ed"]),
        ("a a\nb\tA", ["a", "a", "b", "a"]),
        ("naïve", ["na", "ve"]),
        ("", []),
        (" /.-_ ", []),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("token", "seed", "dimension", "sign"),
    [
        ("wave", 0, 137, -1.0),
        ("valve", 0, 78, 1.0),
        ("valve", 7, 108, 1.0),
        ("1", 0, 106, -1.0),
        ("amplifier", 2**64 - 1, 66, -1.0),
    ],
)
def test_known_answers(token, seed, dimension, sign):
    vector = SignedHashEncoder(256, seed).encode(token)
    assert {int(i): float(vector[i]) for i in np.flatnonzero(vector)} == {dimension: sign}


@given(st.lists(WORDS, min_size=1, max_size=40), st.integers(1, 9), st.integers(0, 2**64 - 1))
def test_vectors_are_those_of_the_documented_hash(words, dimensions, seed):
    text = " ".join(words)
    bag = Counter(words)
    rows = SignedHashEncoder(dimensions, seed).encode_counts(
        [0, len(bag)], range(len(bag)), list(bag.values()), list(bag)
    )
    assert rows.dtype == np.float32 and rows.tolist() == [by_hand(text, dimensions, seed)]
    assert not np.signbit(rows[rows == 0]).any()


@given(st.lists(WORDS, min_size=1, max_size=20), st.randoms())
def test_word_order_changes_no_bit(words, random):
    shuffled = random.sample(words, len(words))
    encoder = SignedHashEncoder(64)
    try:
        expected = encoder.encode(" ".join(words)).tobytes()
    except AlgebraError:
        with pytest.raises(AlgebraError, match="zero_vector"):
            encoder.encode(" ".join(shuffled))
    else:
        assert encoder.encode(" ".join(shuffled)).tobytes() == expected
        assert encoder.encode(" ".join(sorted(words))).tobytes() == expected


def test_a_matrix_has_the_rows_of_its_texts():
    texts = ["digital data storage", "data data band", "pass band filters of data"]
    vocabulary = sorted({token for text in texts for token in tokens(text)})
    bags = [Counter(tokens(text)) for text in texts]
    encoder = SignedHashEncoder(32, seed=5)
    rows = encoder.encode_counts(
        np.cumsum([0, *map(len, bags)]),
        [vocabulary.index(term) for bag in bags for term in bag],
        [count for bag in bags for count in bag.values()],
        vocabulary,
    )
    assert rows.tobytes() == b"".join(encoder.encode(text).tobytes() for text in texts)


def test_empty_bags_and_no_bags():
    encoder = SignedHashEncoder(3)
    assert encoder.encode_counts([0, 0, 1], [0], [4], ["wave"]).any(axis=1).tolist() == [False, True]
    assert encoder.encode_counts([0], [], [], []).shape == (0, 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "no letters or digits"), (" -/ ", "no letters or digits"), ("wave guide", "cancel in 4 dimensions")],
)
def test_a_text_without_direction_is_named(text, reason):
    with pytest.raises(AlgebraError) as caught:
        SignedHashEncoder(4).encode(text)
    assert caught.value.code == "zero_vector"
    assert repr(text) in caught.value.message and reason in caught.value.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimensions": 0},
        {"dimensions": "5"},
        {"dimensions": 2.5},
        {"dimensions": 65537},
        {"dimensions": -1},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(AlgebraError) as caught:
        SignedHashEncoder(**wrong)
    assert caught.value.code == "bad_parameter" and str(*wrong.values()) in caught.value.message


def test_identity_tells_spaces_apart():
    encoders = [SignedHashEncoder(), SignedHashEncoder(128), SignedHashEncoder(256, 1)]
    assert encoders[0].identity == "signed-hash/blake2b/seed=0/256"
    assert len({encoder.identity for encoder in encoders}) == 3
    assert SignedHashEncoder(256, 0) == encoders[0] and hash(SignedHashEncoder(256, 0)) == hash(encoders[0])


def test_every_token_is_known():
    assert SignedHashEncoder().unknown("zyzzyva 42") == []


def test_ties_of_whole_rows_stay_ties_of_bytes():
    encoder = SignedHashEncoder(256)
    assert encoder.encode("wave wave noise").tobytes() == encoder.encode("noise wave noise wave wave wave").tobytes()
    digest = sha256(encoder.encode("a note on the noise of valves").astype("<f4").tobytes()).hexdigest()
    assert digest == "4b0ffea5197a4ef4f2e481e76bf4df4e340f1d41503c5c22445f20736e3131db"
