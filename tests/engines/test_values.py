"""Numbers, texts, vectors and matrices of a formula, by themselves, as every engine gets them."""

import numpy as np
import pytest
from vectorised_tables import Encoder, Tables, vector

from pyterrier_alg.algebra.errors import AlgebraError, EvaluationError
from pyterrier_alg.algebra.expressions import Apply, Name, Number
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.engines.values import matrix_value, number_value, text_value, vector_value

TABLES = Tables("abc")
E = TABLES.matrix({"a": [3, 4], "b": [0, 1]}, encoder=Encoder({"x": [1, 2], "long": [1, 2, 3], "hot": [np.inf, 0]}))
SCOPE = TABLES.scope(
    E=E,
    q1=vector([1, 0.1], E),
    q2=vector([0, 2], E),
    m=TABLES.mask("bc"),
    S=TABLES.relation({"a": 1, "b": 5}),
    alpha=0.1,
    query="x",
)

VECTORS = {
    "q1": [1, 0.1],
    "q1 + q2": [1, np.float32(0.1) + np.float64(2)],
    "q1 - 0.5 q2": [1, np.float64(np.float32(0.1)) - 1],
    "-(q1 - q1)": [0, 0],
    "alpha * q2": [0, 0.2],
    "unit(row(E, 'a'))": [0.6, 0.8],
    "encode(E, query)": [1, 2],
    "centroid(E, all)": [1.5, 2.5],
    "centroid(E, m)": [0, 1],
    "centroid(E, S >= 2)": [0, 1],
}


@pytest.mark.parametrize("text", VECTORS)
def test_vectors_are_computed_in_float64_and_kept_in_float32(text):
    formula = parse(f"F = E\nv = {text}\nw = v\nF @ w")
    for expression in (formula.steps[1][1], Name("w")):
        value = vector_value(expression, SCOPE, formula)
        assert value.dtype == np.float32
        assert value.tobytes() == np.float32(VECTORS[text]).tobytes()


def test_numbers_texts_and_matrices_follow_steps():
    formula = parse("half = (1 - alpha) / 2\nname = query\nF = E\nG = F\nhalf * (G @ name)")
    assert number_value(Name("half"), SCOPE, formula) == (1 - 0.1) / 2
    assert text_value(Name("name"), SCOPE, formula) == "x"
    assert matrix_value(Name("G"), SCOPE, formula) is E


def test_zero_has_no_sign():
    assert str(number_value(-Number(0.0) * Number(5), SCOPE, parse("S"))) == "0.0"


def test_a_given_callable_finds_the_records_of_a_mask():
    formula = parse("E @ centroid(E, m)")
    asked = []

    def positions(mask):
        asked.append(mask)
        return np.array([0])

    value = vector_value(formula.result.arguments[1], SCOPE, formula, positions)
    assert value.tolist() == [3, 4] and asked == [Name("m")]


FAULTS = {
    "unit(q1 - q1)": "zero_vector",
    "row(E, 'nosuch')": "unknown_record",
    "row(E, 'c')": "unknown_record",
    "centroid(E, ~all)": "empty_centroid",
    "centroid(E, ids('c'))": "empty_centroid",
    "1e39 * q1": "non_finite",
    "encode(E, 'long')": "space",
    "encode(E, 'hot')": "non_finite",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_carry_code_and_place(text):
    formula = parse(f"E @ ({text})")
    with pytest.raises(EvaluationError) as caught:
        vector_value(formula.result.arguments[1], SCOPE, formula)
    assert caught.value.code == FAULTS[text]
    span = caught.value.diagnostics[0].span
    assert formula.source[span.start : span.stop].strip("()") in text


def test_what_an_encoder_refuses_is_marked_in_the_program():
    class Refusing(Encoder):
        def encode(self, text):
            raise AlgebraError("zero_vector", f"nothing is left of {text!r}", "write more")

    matrix = TABLES.matrix({"a": [1, 0]}, encoder=Refusing({}))
    formula = parse("E @ encode(E, 'the')")
    with pytest.raises(EvaluationError, match="nothing is left of 'the'") as caught:
        vector_value(formula.result.arguments[1], TABLES.scope(E=matrix), formula)
    assert (caught.value.code, caught.value.hint) == ("zero_vector", "write more")
    with pytest.raises(EvaluationError) as caught:
        vector_value(formula.result.arguments[1], TABLES.scope(E=TABLES.matrix({"a": [1, 0]})), formula)
    assert caught.value.code == "missing_encoder"


def test_deep_sums_of_vectors_do_not_recurse():
    total = Name("q2")
    for _ in range(3000):
        total = Apply("+", (total, Name("q2")))
    assert vector_value(total, SCOPE, Formula((), Name("E") @ total)).tolist() == [0, 6002]


def test_a_relation_is_no_plain_value():
    with pytest.raises(TypeError, match="relation"):
        number_value(parse("S + 1").result, SCOPE, parse("S + 1"))
