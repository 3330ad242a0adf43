"""Whatever is bound: an orientation is JSON, its examples are sound, and its print commands no terminal."""

import json
import unicodedata

import jsonschema
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import check, parse
from pyterrier_alg.collection import Collection, Matrix, Space
from pyterrier_alg.collection.orienting import BUDGET, orient_schema
from pyterrier_alg.collection.signed_hash import SignedHashEncoder

SPACE = Space("text", 2)
SCHEMA = jsonschema.Draft202012Validator(orient_schema())
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="`\n\r"), max_size=6).filter(
    lambda text: len(text.splitlines()) <= 1
)


def some(values):
    return st.dictionaries(st.sampled_from("abc"), values)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(NAMES, st.one_of(FINITE, ANY_TEXT, some(FINITE), some(ANY_TEXT), st.sets(st.sampled_from("abc"))))
)
def test_any_collection_can_be_oriented_in(operands):
    c = Collection(list("abc"), name="any")
    c = c.bind(**{f"_{name}": value for name, value in operands.items()})
    c = c.bind(E=Matrix(np.eye(2, dtype=np.float32), SPACE, SignedHashEncoder(2), docnos=["a", "b"]))
    answers = [c.orient(), *(c.orient(name) for name in c.operands)]
    for program in c.orient().to_dict()["examples"]:
        check(parse(program), c.bindings())
    assert len(json.dumps(answers[0].to_dict(), ensure_ascii=False).encode()) <= BUDGET
    assert len(str(answers[0])) <= BUDGET
    for answer in answers:
        SCHEMA.validate(answer.to_dict())
        json.dumps(answer.to_dict(), allow_nan=False)
        shown = str(answer) + answer._repr_html_()
        assert not [char for char in shown if char != "\n" and unicodedata.category(char) in ("Cc", "Cs")]
