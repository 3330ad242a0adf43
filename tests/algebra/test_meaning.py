"""The definition over small literal worlds: what each operator gives, to the bit, and the faults that data show."""

import math
import random
import struct
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_alg.algebra import (
    OPERATORS,
    AlgebraError,
    Apply,
    Binding,
    Count,
    Distance,
    EvaluationError,
    Expression,
    Formula,
    Kind,
    Name,
    Number,
    Space,
    Type,
    check,
    parse,
)
from pyterrier_alg.algebra.definitions import MEANINGS
from pyterrier_alg.algebra.meaning import Column, Matrix, Vector, World, evaluate, ranked, steps

DOT = Space("dot", 2, Distance.INNER_PRODUCT)
ANGLE = Space("angle", 2, Distance.COSINE)
FLAT = Space("flat", 2, Distance.L2)
# 0.6 and 0.8 in float32: a unit row, as well as float32 can hold it.
SIX, EIGHT = 0.6000000238418579, 0.800000011920929


def encoder(text):
    vectors = {"x": (1.0, 0.0), "wide": (0.1, 1.0), "long": (1.0, 2.0, 3.0), "inf": (math.inf, -math.inf)}
    if text not in vectors:
        raise AlgebraError("zero_vector", f"nothing is left of {text!r}", "write more of it")
    return vectors[text]


def bm25(text, depth):
    found = {"d": 9.0, "a": 7.0, "b": 5.0}
    return dict(list(found.items())[: 2 if depth is None else depth])


OPERANDS = {
    "E": Matrix({"a": (1, 0), "b": (0, 1), "c": (1, 1), "d": (-1, 2), "e": (2, 0)}, DOT, encoder),
    "C": Matrix({"a": (1, 0), "b": (SIX, EIGHT), "c": (0, 1), "d": (-1, 0)}, ANGLE),
    "L": Matrix({"a": (0, 0), "b": (3, 4), "c": (1, 0)}, FLAT, encoder),
    "q1": Vector((1.0, 0.0), DOT),
    "q2": Vector((0.0, 2.0), DOT),
    "tenth": Vector((0.10000000149011612, 3.0), DOT),
    "angle": Vector((2.0, 0.0), ANGLE),
    "origin": Vector((0.0, 0.0), FLAT),
    "S": {"d": 0.0, "c": 2.0, "b": 1.0, "a": 3.0},
    "A": {"a": 1.0, "b": 1.0, "c": 0.5},
    "B": {"b": 2.0, "h": -1.0},
    "N": {"a": -0.4, "b": -0.1, "c": 0.2},
    "w": {"a": 0.1, "b": 1.0, "c": 1.0},
    "empty": {},
    "one": {"a": 5.0},
    "flat": {"a": 2.0, "b": 2.0},
    "loss": {"b": -2.0, "a": -1.0},
    "far": {"c": -1000.0, "a": 0.0, "b": 1000.0},
    "big": {"b": 1e308, "a": 1.0, "c": -1e308},
    "wide": {"a": 1e200, "b": -1e200, "c": 0.0},
    "full": {"a": 1.7e308, "b": 1.6e308},
    "tiny": {"a": 5e-324, "b": 0.0},
    "age": {"a": -5.0, "b": 0.0, "c": 30.0, "d": 90.0},
    "group by": {"a": 1.0, "b": 1.0, "d": 2.0},
    "input": {"g": 4.0},
    "m": frozenset("abd"),
    "n": frozenset("dh"),
    "all": frozenset("abcdefgh"),
    "lang": Column({"a": "en", "b": "de", "c": "en", "d": "fr"}),
    "published": Column({"a": "2024-01-01", "b": "2023-12-31", "d": "2026-12-01"}),
    "alpha": 0.25,
    "query": "x",
    "now": "2026-12-01",
    "bm25": bm25,
    "stray": lambda text, depth: {"a": 1.0, "zz": 2.0, "yy": 3.0},
    "endless": lambda text, depth: {"a": math.inf},
}
WORLD = World(tuple("abcdefgh"), OPERANDS)


def binding(name, value):
    match value:
        case float():
            return Binding(Type(Kind.NUMBER), value)
        case str():
            return Binding(Type(Kind.TEXT), value)
        case Vector(space=space):
            return Binding(Type(Kind.VECTOR, space))
        case Matrix(space=space):
            return Binding(Type(Kind.MATRIX, space))
        case dict():
            return Binding(Type(Kind.RELATION))
        case frozenset():
            return Binding(Type(Kind.MASK))
        case Column():
            return Binding(Type(Kind.DATE_COLUMN if name == "published" else Kind.TEXT_COLUMN))
    return Binding(Type(Kind.RETRIEVER))


def run(program, **operands):
    """A program that the checker passes, over the world with some operands more."""
    formula = Formula((), program) if isinstance(program, Expression) else parse(program)
    world = World(WORLD.records, {**OPERANDS, **operands})
    check(formula, {name: binding(name, value) for name, value in world.operands.items()})
    return evaluate(formula, world)


def vector(text):
    formula = parse(f"v = {text}\nE @ v")
    return steps(formula, WORLD)["v"].values


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


RESULTS = {
    # Scans, and the vectors that they take.
    "E @ q1": {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    "E @ query": {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    'E @ "x"': {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    'E @ encode(E, "x")': {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    "E @ q1 - 0.5 (E @ q2)": {"e": 2, "a": 1, "c": 0, "b": -1, "d": -3},
    "E @ (q1 - 0.5 q2)": {"e": 2, "a": 1, "c": 0, "b": -1, "d": -3},
    "E @ (q1 + q2)": {"c": 3, "d": 3, "b": 2, "e": 2, "a": 1},
    "E @ -q1": {"d": 1, "b": 0, "a": -1, "c": -1, "e": -2},
    "E @ (q1 - q1)": {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0},
    'E @ row(E, "b")': {"d": 2, "b": 1, "c": 1, "a": 0, "e": 0},
    "E @ unit(q2)": {"d": 2, "b": 1, "c": 1, "a": 0, "e": 0},
    "E @ centroid(E, m | n)": {"d": 2, "b": 1, "c": 1, "a": 0, "e": 0},
    "closeness(E, q2)": {"d": 4, "b": 2, "c": 2, "a": 0, "e": 0},
    'closeness(E, "x")': {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    "closeness(C, angle)": {
        "a": 1,
        "b": 2 * SIX / (math.sqrt(math.fsum([SIX * SIX, EIGHT * EIGHT])) * 2),
        "c": 0,
        "d": -1,
    },
    "closeness(C, angle - angle)": {"a": 0, "b": 0, "c": 0, "d": 0},
    "closeness(L, origin)": {"a": 0, "c": -1, "b": -5},
    'closeness(L, "x")': {"c": 0, "a": -1, "b": -math.sqrt(20)},
    # Arithmetic is an inner join; a number meets every record.
    "-S": {"d": 0, "b": -1, "c": -2, "a": -3},
    "--A": {"a": 1, "b": 1, "c": 0.5},
    "A - A - A": {"c": -0.5, "a": -1, "b": -1},
    "-0.5 A + A": {"a": 0.5, "b": 0.5, "c": 0.25},
    "A + B": {"b": 3},
    "A * B": {"b": 2},
    "A - 0.5 B": {"b": 0},
    "A - 0.5 fill(0, B)": {"a": 1, "c": 0.5, "b": 0},
    "fill(0, A) - 0.5 fill(0, B)": {"a": 1, "c": 0.5, "h": 0.5, "b": 0, "d": 0, "e": 0, "f": 0, "g": 0},
    "(support(A) | support(B)) >> (fill(0, A) + fill(0, B))": {"b": 3, "a": 1, "c": 0.5, "h": -1},
    "N * w": {"c": 0.2, "a": -0.4 * 0.1, "b": -0.1},
    "S / 2 + 1": {"a": 2.5, "c": 2, "b": 1.5, "d": 1},
    "1 - A": {"c": 0.5, "a": 0, "b": 0},
    "(1 - alpha) * S + alpha * S": {"a": 3, "c": 2, "b": 1, "d": 0},
    "0.1 * A + 0.2": {"a": 0.1 + 0.2, "b": 0.1 + 0.2, "c": 0.25},
    "empty + A": {},
    "input": {"g": 4},
    # Masks.
    "m >> S": {"a": 3, "b": 1, "d": 0},
    "~m >> S": {"c": 2},
    "m & n >> S": {"d": 0},
    "m | n >> S": {"a": 3, "b": 1, "d": 0},
    "m >> A + S": {"a": 4, "b": 2},
    "m >> n >> S": {"d": 0},
    "all >> one": {"a": 5},
    "~all >> S": {},
    "S >= 2 >> S": {"a": 3, "c": 2},
    "S > 2 >> S": {"a": 3},
    "S <= 1 >> S": {"b": 1, "d": 0},
    "S < 1 >> S": {"d": 0},
    "A >= 2 * alpha >> S": {"a": 3, "c": 2, "b": 1},
    'published >= "2024-01-01" >> S': {"a": 3, "d": 0},
    'published > "2024-01-01" >> S': {"d": 0},
    'published <= "2024-01-01" >> S': {"a": 3, "b": 1},
    "published < now >> S": {"a": 3, "b": 1},
    'isin(lang, "en", "fr") >> S': {"a": 3, "c": 2, "d": 0},
    'lang != "en" >> S': {"b": 1, "d": 0},
    'isin(published, "2026-12-01") >> S': {"d": 0},
    "isin(S, 3, 0) >> S": {"a": 3, "d": 0},
    "S != 3 >> S": {"c": 2, "b": 1, "d": 0},
    'ids("c", "a", "c") >> S': {"a": 3, "c": 2},
    "support(published) >> S": {"a": 3, "b": 1, "d": 0},
    "~support(B) >> A": {"a": 1, "c": 0.5},
    # Selections.
    "top(2, S)": {"a": 3, "c": 2},
    "top(1, A)": {"a": 1},
    "top(100, S)": {"a": 3, "c": 2, "b": 1, "d": 0},
    "top(1000000000000000000000000000000, S)": {"a": 3, "c": 2, "b": 1, "d": 0},
    "top(1, m >> (E @ q1))": {"a": 1},
    "m >> top(1, E @ q1)": {},
    "top(2, empty)": {},
    "per(1, lang, S)": {"a": 3, "b": 1, "d": 0},
    "per(2, lang, A)": {"a": 1, "b": 1, "c": 0.5},
    "per(1, `group by`, S)": {"a": 3, "d": 0},
    "per(1, `group by`, A)": {"a": 1},
    "per(9, lang, B)": {"b": 2},
    "ranks(A)": {"c": 3, "b": 2, "a": 1},
    "rrf(A, B)": {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "h": 1 / 62, "c": 1 / 63},
    "rrf(A, B, k=1, depth=1)": {"a": 0.5, "b": 0.5},
    "rrf(empty, A, k=0)": {"a": 1, "b": 0.5, "c": 1 / 3},
    "rrf(empty, empty)": {},
    "mmr(2, S, E, relevance=1)": {"a": 3, "c": 2},
    "mmr(9, S, E, relevance=0.5)": {"a": 1.5, "b": 0.5, "c": 0.5, "d": -1},
    "mmr(2, S, E)": {"a": 0.7 * 3, "c": 0.7 * 2 - (1 - 0.7) * 1},
    "mmr(3, A, C, relevance=0)": {"a": 0, "c": 0, "b": -1 * EIGHT},
    "mmr(3, B, E)": {"b": 1.4},
    "bm25(query)": {"d": 9, "a": 7},
    'bm25("x", 3)': {"d": 9, "a": 7, "b": 5},
    "bm25(query, 1)": {"d": 9},
    # Rescalings over the relation's own domain.
    "minmax(S)": {"a": 1, "c": 2 / 3, "b": 1 / 3, "d": 0},
    "minmax(flat)": {"a": 1, "b": 1},
    "minmax(one)": {"a": 1},
    "minmax(empty)": {},
    "maxnorm(S)": {"a": 1, "c": 2 / 3, "b": 1 / 3, "d": 0},
    "maxnorm(B)": {"b": 1, "h": -0.5},
    "maxnorm(empty)": {},
    "zscore(top(2, S))": {"a": 1, "c": -1},
    "zscore(flat)": {"a": 0, "b": 0},
    "zscore(empty)": {},
    "softmax(flat)": {"a": 0.5, "b": 0.5},
    "softmax(one)": {"a": 1},
    "softmax(far)": {"b": 1, "a": 0, "c": 0},
    "softmax(empty)": {},
    "softmax(big)": {"b": 1, "a": 0, "c": 0},
    "sigmoid(far)": {"b": 1, "a": 0.5, "c": 0},
    "sigmoid(one)": {"a": 1 / (1 + math.exp(-5.0))},
    "exp(S)": {"a": math.exp(3.0), "c": math.exp(2.0), "b": math.exp(1.0), "d": 1},
    "log1p(S)": {"a": math.log1p(3.0), "c": math.log1p(2.0), "b": math.log1p(1.0), "d": 0},
    "abs(B)": {"b": 2, "h": 1},
    "clip(1, 2, S)": {"a": 2, "c": 2, "b": 1, "d": 1},
    "clip(alpha, alpha, S)": {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25},
    "decay(age, 30)": {"a": 1, "b": 1, "c": 0.5, "d": 0.125},
    "decay(full, 1e-300)": {"a": 0, "b": 0},
    "recip_decay(age, 30)": {"a": 1, "b": 1, "c": 0.5, "d": 0.25},
    "days_since(published, now)": {"b": 1066, "a": 1065, "d": 0},
    'days_since(published, "2024-03-01")': {"b": 61, "a": 60, "d": -1005},
    # Steps of every kind.
    "F = E\nr = bm25\npool = support(r(query))\nc = alpha * 2\nv = 2 q1\ntop(5, pool >> (c * (F @ v)))": {
        "a": 1,
        "d": -1,
    },
    'l = lang\nt = "x"\nisin(l, "de") >> (E @ t)': {"b": 0},
}


@pytest.mark.parametrize("text", RESULTS)
def test_gives_what_the_table_says_in_rank_order(text):
    expected = sorted(RESULTS[text].items(), key=lambda item: (-item[1], item[0]))
    assert list(run(text).items()) == expected


def test_every_operator_is_defined_and_stands_in_the_table_above():
    assert MEANINGS.keys() == OPERATORS.keys()
    formulas = map(parse, RESULTS)
    used = {node.operator for f in formulas for e in f.expressions for node in _nodes(e) if isinstance(node, Apply)}
    assert used == OPERATORS.keys()


def _nodes(expression):
    yield expression
    for part in expression.parts:
        yield from _nodes(part)


FAULTS = {
    "huge = 2 big\nhuge": ("non_finite", "2 big", "'b'"),
    "full + full": ("non_finite", "full + full", "'a'"),
    "full * -10 >= 0 >> S": ("non_finite", "full * -10", "'a'"),
    "full / alpha": ("non_finite", "full / alpha", "'a'"),
    "exp(far)": ("non_finite", "exp(far)", "'b'"),
    "log1p(loss)": ("non_finite", "log1p(loss)", "'a'"),
    "zscore(wide)": ("non_finite", "zscore(wide)", "'a'"),
    "zscore(full)": ("non_finite", "zscore(full)", "'a'"),
    "zscore(tiny)": ("non_finite", "zscore(tiny)", "'a'"),
    "E @ (1e300 * q1)": ("non_finite", "(1e300 * q1)", "element 0"),
    'E @ "inf"': ("non_finite", 'E @ "inf"', "element 0"),
    "endless(query)": ("non_finite", "endless(query)", "'a'"),
    "stray(query)": ("unknown_record", "stray(query)", "'yy'"),
    'ids("a", "nosuch") >> A': ("unknown_record", '"nosuch"', "'nosuch'"),
    'E @ row(E, "nosuch")': ("unknown_record", '"nosuch"', "'nosuch'"),
    'E @ row(E, "h")': ("unknown_record", '"h"', "'h'"),
    "E @ centroid(E, support(empty))": ("empty_centroid", "centroid(E, support(empty))", ""),
    'E @ centroid(E, ids("h"))': ("empty_centroid", 'centroid(E, ids("h"))', ""),
    "E @ unit(q1 - q1)": ("zero_vector", "unit(q1 - q1)", ""),
    'E @ "the"': ("zero_vector", 'E @ "the"', "'the'"),
    "maxnorm(loss)": ("nonpositive_maximum", "maxnorm(loss)", "-1.0"),
    "maxnorm(0 * S)": ("nonpositive_maximum", "maxnorm(0 * S)", "0.0"),
    'C @ "x"': ("missing_encoder", 'C @ "x"', "angle"),
    'E @ "long"': ("space", 'E @ "long"', "3 dimensions"),
}


@pytest.mark.parametrize("text", FAULTS)
def test_names_step_place_and_record_of_a_fault(text):
    code, place, named = FAULTS[text]
    with pytest.raises(EvaluationError) as caught:
        run(text)
    (fault,) = caught.value.diagnostics
    assert fault.code == code and named in fault.message
    assert caught.value.source == text and text[fault.span.start : fault.span.stop] == place


def test_a_fault_of_an_encoder_keeps_its_hint_and_its_cause():
    with pytest.raises(EvaluationError) as caught:
        run('E @ "the"')
    assert caught.value.hint == "write more of it" and isinstance(caught.value.__cause__, AlgebraError)


def test_a_long_step_is_named_in_one_short_line():
    total = Name("S")
    for _ in range(300):
        total = total + Name("S")
    with pytest.raises(EvaluationError) as caught:
        run(Number(1e308) * total)
    assert len(caught.value.message) < 150 and "parts" in caught.value.message


def test_a_step_that_the_result_does_not_use_cannot_fail():
    assert run("bad = log1p(loss)\nworse = bad + 1\nS") == OPERANDS["S"]
    with pytest.raises(EvaluationError):
        run("bad = log1p(loss)\nworse = bad + 1\nworse")
    with pytest.raises(EvaluationError):
        steps(parse("bad = log1p(loss)\nS"), WORLD)


def test_steps_have_values_of_every_kind():
    found = steps(
        parse('p = m & n\nv = q1 + q2\nc = 2 * alpha\nt = "a"\nF = E\nx = lang\nR = 0 * one\nr = bm25\nR'), WORLD
    )
    assert found == {
        "p": frozenset("d"), "v": Vector((1.0, 2.0), DOT), "c": 0.5, "t": "a", "F": OPERANDS["E"],
        "x": OPERANDS["lang"], "R": {"a": 0.0}, "r": bm25,
    }  # fmt: skip


def test_there_is_no_negative_zero():
    programs = ("A - A", "0 * B", "-(A - A)", "-1 * (0 * A)", "E @ q1", "clip(-1, 0, B) * 0", "E @ (0 * q1)", "Z")
    for text in (*programs, "closeness(L, origin)", "minmax(Z)", "mmr(2, Z, E)", "endless(query)"):
        scores = run(text, Z={"a": -0.0, "b": -1.0}, endless=lambda text, depth: {"a": -0.0}).values()
        assert all(math.copysign(1, score) == 1 for score in scores if score == 0), text
    assert all(math.copysign(1, x) == 1 for x in (*vector("-(q1 - q1)"), *vector("-1 * (q1 - q1)")))


# The end of float32 overflows, everything else is the nearest float32 of one float64 operation.
VECTORS = {
    "0.1 * q1": (single(0.1), 0.0),
    "tenth + tenth": (single(0.10000000149011612 * 2), 6.0),
    "0.1 * (0.1 * tenth)": (single(0.1 * single(0.1 * 0.10000000149011612)), single(0.1 * single(0.1 * 3.0))),
    "-tenth": (-0.10000000149011612, -3.0),
    "tenth - q2": (0.10000000149011612, 1.0),
    "unit(tenth)": tuple(
        single(x / math.sqrt(math.fsum([0.10000000149011612**2, 9.0]))) for x in (0.10000000149011612, 3.0)
    ),
    "unit(1e-44 * q1)": (1.0, 0.0),
    "1e-50 * q1": (0.0, 0.0),
    "3.4028235e38 * q1": (3.4028234663852886e38, 0.0),
    'encode(E, "wide")': (single(0.1), 1.0),
    'row(E, "d")': (-1.0, 2.0),
    'centroid(E, ids("a", "c", "d"))': (single(1 / 3), 1.0),
}


@pytest.mark.parametrize("text", VECTORS)
def test_vector_operators_round_to_float32_once_each(text):
    assert vector(text) == VECTORS[text]


def test_a_direction_and_a_difference_of_scores_round_differently():
    near = {"E": Matrix({"a": (1.0,)}, DOT), "u": Vector((1.0,), DOT), "v": Vector((2.0**-30,), DOT)}
    assert run("E @ u + E @ v", **near) == {"a": 1 + 2.0**-30}
    assert run("E @ (u + v)", **near) == {"a": 1.0}


singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(singles, singles), min_size=1, max_size=12))
def test_an_inner_product_is_exact_and_rounded_once(pairs):
    left, right = zip(*pairs, strict=True)
    score = run("E @ v", E=Matrix({"a": left}, DOT), v=Vector(right, DOT))["a"]
    assert score == float(sum(Fraction(x) * Fraction(y) for x, y in pairs))


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1e6, 1e6), min_size=2), st.randoms())
def test_no_score_depends_on_the_order_of_records(scores, shuffler):
    items = list(scores.items())
    shuffler.shuffle(items)
    for text in ("minmax(R)", "softmax(R)", "ranks(R)", "per(2, R, R)", "rrf(R, S)", "mmr(3, R, E)", "top(3, R)"):
        one, other = run(text, R=scores), run(text, R=dict(items))
        assert list(one.items()) == list(other.items()), text


def test_a_centroid_is_the_exact_sum_over_the_number_of_rows():
    rows = dict(zip("abcde", [(1, 0), (2.0**60, 0), (2.0**120, 0), (-(2.0**120), 0), (-(2.0**60), 0)], strict=True))
    world = World(WORLD.records, {"E": Matrix(rows, DOT), "all": OPERANDS["all"]})
    assert steps(parse("v = centroid(E, all)\nE @ v"), world)["v"].values == (single(1 / 5), 0.0)


def test_zscore_is_the_exact_sums_of_one_order_of_operations():
    values = {"a": 0.1, "b": 0.7, "c": 0.2, "d": 1e9}
    mean = math.fsum(values.values()) / 4
    deviation = math.sqrt(math.fsum((x - mean) * (x - mean) for x in values.values()) / 4)
    assert run("zscore(R)", R=values) == {d: (x - mean) / deviation for d, x in values.items()}


def test_softmax_is_the_powers_over_their_exact_sum():
    values = {"a": 0.1, "b": 0.7, "c": -3.0}
    powers = {d: math.exp(x - 0.7) for d, x in values.items()}
    assert run("softmax(R)", R=values) == {d: x / math.fsum(powers.values()) for d, x in powers.items()}


def test_rank_order_is_by_score_and_then_by_code_point():
    relation = {"é": 1.0, "9": 1.0, "10": 1.0, "🙂": 1.0, "\uffee": 1.0, "Z": 2.0, "a": 1.0}
    assert [docno for docno, _ in ranked(relation)] == ["Z", "10", "9", "a", "é", "\uffee", "🙂"]


def test_fused_ties_are_the_same_in_every_order_of_the_lists():
    lists = {"R1": {"a": 2.0, "b": 1.0}, "R2": {"d": 1.0, "c": 2.0}}
    for text in ("rrf(R1, R2)", "rrf(R2, R1)"):
        assert list(run(f"top(1, {text})", **lists).items()) == [("a", 1 / 61)]
        assert list(run(f"top(4, {text})", **lists)) == ["a", "c", "b", "d"]
    first, second = {"a": 3.0, "b": 2.0, "c": 1.0}, {"c": 3.0, "d": 2.0, "a": 1.0}
    expected = {"a": 1 / 61 + 1 / 63, "c": 1 / 61 + 1 / 63, "b": 1 / 62, "d": 1 / 62}
    assert list(run("rrf(S, R, depth=3)", S=first, R=second).items()) == list(expected.items())
    assert run("rrf(S, R, depth=3, k=1)", S=first, R=second)["a"] == 1 / 2 + 1 / 4


def test_reciprocal_ranks_tie_under_every_permutation():
    def at(rank):
        return {"a": 0.5} | {docno: 1.0 for docno in "bcdefgh"[: rank - 1]}

    scores = {run("rrf(X, Y, Z)", X=at(i), Y=at(j), Z=at(k))["a"] for i, j, k in permutations((1, 2, 7))}
    assert len(scores) == 1


def test_rows_with_the_same_products_in_another_order_tie():
    def unit(*elements):
        return tuple(single(x / math.sqrt(sum(y * y for y in elements))) for x in elements)

    world = {
        "E": Matrix({"b": unit(0, 2, 3, 1), "a": unit(0, 1, 3, 2)}, DOT),
        "q1": Vector(unit(-1, -1, 2, -1), DOT),
        "q2": Vector(unit(-3, 1, -2, 1), DOT),
    }
    result = run("E @ q1 - 0.5 (E @ q2)", **world)
    assert list(result.items()) == [("a", 0.4065556138471558), ("b", 0.4065556138471558)]


def test_identical_rows_come_lowest_docno_first():
    row = tuple(single(random.Random(3).gauss(0, 1)) for _ in range(2))
    shared = Matrix(dict.fromkeys("hgfedcba", row), DOT)
    assert list(run("top(3, m >> (E @ q1))", E=shared, m=frozenset("hgfedcb"))) == ["b", "c", "d"]


def test_a_text_reaches_encoder_and_retriever_as_it_is():
    asked = []

    def listen(text, depth=None):
        asked.append((text, depth))
        return {"a": 1.0}

    text = "recent changes: top(10) suppress:x − @ 'quoted' ⊙"
    heard = Matrix({"a": (1, 0)}, DOT, lambda text: listen(text) and (1.0, 0.0))
    run(f'E @ "{text}" + ears("{text}") + ears("{text}", {"9" * 30})', E=heard, ears=listen)
    assert sorted(asked, key=str) == sorted([(text, None), (text, None), (text, Count.LARGEST)], key=str)


def test_an_empty_collection_scores_nothing():
    world = World((), {"E": Matrix({}, DOT), "q": Vector((1.0, 0.0), DOT), "S": {}, "all": frozenset()})
    for text in ("E @ q", "fill(1, S)", "rrf(S, E @ q)", "mmr(3, S, E)", "all >> zscore(S)", "top(3, ranks(S))"):
        assert evaluate(parse(text), world) == {}


def test_long_deep_and_shared_programs_stay_linear():
    total = Name("A")
    for _ in range(3000):
        total = total + Name("A")
    assert run(Apply("top", (Count("2"), total))) == {"a": 3001.0, "b": 3001.0}
    text = ["s0 = E @ q1", *(f"s{i} = 0.5 s{i - 1} + 0.5 s{i - 1}" for i in range(1, 501)), "top(1, s500)"]
    assert run("\n".join(text)) == {"e": 2.0}
