"""What compiling makes of pipelines: one program, and the same frame, bit for bit."""

import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from stages import RESULTS, SMALL, TOPICS

from pyterrier_alg import Program, vaswani
from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.transformers import (
    Abs,
    And,
    Bound,
    BoundMask,
    Clip,
    Closeness,
    Compare,
    DaysSince,
    Decay,
    Divide,
    Exp,
    Field,
    Fill,
    Forget,
    Ids,
    IsIn,
    Keep,
    Log1p,
    MaxNorm,
    MinMax,
    Minus,
    Mmr,
    Negate,
    Not,
    Or,
    Per,
    Plus,
    Ranks,
    RecipDecay,
    Remember,
    Restrict,
    Retrieve,
    Rrf,
    Scale,
    Scan,
    Shift,
    Sigmoid,
    Softmax,
    SubtractFrom,
    Support,
    Times,
    Top,
    Where,
    ZScore,
)  # fmt: skip

#: More ties than the small collection has, and a program to start from.
TIED = SMALL.bind(t={"d1": 1.0, "d2": 1.0, "d10": 1.0, "é": 0.0}, n={"d1", "d10"}, alpha=0.5)

E = lambda v="query": Scan(TIED, "E", v)  # noqa: E731
W, T, RUN = Bound(TIED, "w"), Bound(TIED, "t"), Bound(TIED, "run")
M, N = BoundMask(TIED, "m"), BoundMask(TIED, "n")

#: The pipeline, and the program that compiling it gives.
TABLE = [
    (E() % 2, "top(2, E @ query)"),
    (E() >> Top(2), "top(2, E @ query)"),
    (Program("top(3, t)", TIED) % 2, "top(2, t)"),
    (Program("top(2, t)", TIED) % 2, "top(2, t)"),
    (Program("top(2, t)", TIED) % 3, "top(2, t)"),
    (Program("x = top(2, t)\nx", TIED) % 1, "x = top(2, t)\ntop(1, x)"),
    (Program("mmr(2, t, E)", TIED) % 1, "top(1, mmr(2, t, E))"),
    (Program("t", TIED) % 3 >> Top(2), "top(2, t)"),
    (Minus(E(), E("q1") >> Scale(0.5)) % 2, "top(2, E @ query - 0.5 * (E @ q1))"),
    (Restrict(Or(M, N), Plus(T, E())) >> Top(2), "top(2, (m | n) >> (t + E @ query))"),
    (T % 3 >> Keep(Not(TIED, M)), "~m >> top(3, t)"),
    (T >> Keep(Where(TIED, "w < 1 & lang == 'en'")) >> Top(1), "top(1, ((w < 1) & isin(lang, 'en')) >> t)"),
    (T >> Keep(Field(TIED, "lang") >> IsIn("de", column="value")), "isin(lang, 'de') >> t"),
    (Rrf(E(), W, k=1, depth=2) % 2, "top(2, rrf(E @ query, w, k=1, depth=2))"),
    (Per(1, Field(TIED, "lang"), T, column="value") % 1, "top(1, per(1, lang, t))"),
    (Retrieve(TIED, "bm25", "query", depth=2) % 1, "top(1, bm25(query, 2))"),
    (E() >> Mmr(TIED, "E", 2, relevance=0.5) >> MinMax(), "minmax(mmr(2, E @ query, E, relevance=0.5))"),
    (
        Plus(Program("x = t\nx + 1", TIED), Program("x = w\n2 x", TIED), Program("x = t\nx", TIED)) % 2,
        "x = t\n`x'` = w\ntop(2, x + 1 + 2 * `x'` + x)",
    ),
]


@pytest.mark.parametrize(("pipeline", "text"), TABLE, ids=[text for _, text in TABLE])
@pytest.mark.parametrize("frame", [TOPICS, RESULTS], ids=["topics", "results"])
def test_a_pipeline_becomes_a_program(pipeline, text, frame):
    fused = pipeline.compile()
    assert fused == Program(text, TIED)
    pd.testing.assert_frame_equal(fused(frame), pipeline(frame), check_exact=True)


OTHER = TIED.bind(more=1.0)

#: What stays as it is, since it is no program, or another one.
APART = [
    E() % 0,
    Scale(2) % 2,
    E() * 2 % 2,
    E() + W,
    Plus(E(), Bound(OTHER, "w")),
    E() >> Mmr(OTHER, "E", 2),
    Fill(OTHER, 0.0, T),
    T >> Keep(Bound(TIED, "w") >> MinMax() >> Compare(">", 0.5)),
    T >> Keep(E() % 2),
    T >> Keep(BoundMask(OTHER, "m")),
    Rrf(T, W, k=0.5),
    Field(TIED, "lang") >> IsIn(1.0),
    Field(TIED, "published") >> DaysSince("2024-03-01"),
    Plus(Program("t", TIED, engine="pipeline"), T),
    M >> Keep(N),
    Plus(T, pt.Transformer.from_df(RESULTS)),
]


@pytest.mark.parametrize("pipeline", APART, ids=range(len(APART)))
def test_what_is_no_program_is_left_alone(pipeline):
    fused = pipeline.compile()
    assert not isinstance(fused, Program)
    for frame in (TOPICS, RESULTS.assign(value="en")):
        assert_same(pipeline, fused, frame)


def test_a_cut_is_not_pushed_into_an_engine_that_certifies_nothing():
    program = Program("E @ query", TIED, engine="sqlite")
    assert isinstance((program % 2).compile(), pt.Compose)
    assert (Program("E @ query", TIED, engine="definition") % 2).compile() == Program(
        "top(2, E @ query)", TIED, engine="definition"
    )


def outcome(pipeline, frame):
    try:
        return pipeline(frame)
    except AlgebraError as error:
        return error.code
    except (pt.validate.InputValidationError, AssertionError) as error:
        return type(error)


def assert_same(pipeline, fused, frame):
    before, after = outcome(pipeline, frame), outcome(fused, frame)
    if isinstance(before, pd.DataFrame) and isinstance(after, pd.DataFrame):
        pd.testing.assert_frame_equal(after, before, check_exact=True)
    else:
        assert before is after or before == after, (before, after)


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e-3])


def _unary(below):
    stage = st.one_of(
        st.sampled_from([Negate(), Abs(), Exp(), Sigmoid(), MinMax(), ZScore(), Softmax(), Ranks(), MaxNorm(),
                         Log1p(), Clip(-0.5, 1), Mmr(TIED, "E", 2), Decay(2), RecipDecay(2), Divide(-4)]),
        NUMBERS.map(Scale), NUMBERS.map(Shift), NUMBERS.map(SubtractFrom), st.integers(1, 4).map(Top),
        st.integers(1, 4).map(pt.RankCutoff),
    )  # fmt: skip
    return st.builds(lambda scored, then: scored >> then, below, stage)


def _masks(below):
    return st.one_of(
        st.sampled_from([M, N, Ids(TIED, "d1", "é"), Where(TIED, "~m"), Where(TIED, "w >= 1"),
                         Field(TIED, "lang") >> IsIn("en", column="value"),
                         Field(TIED, "published") >> Compare(">=", "2024-01-01", column="value")]),
        below.map(lambda s: s >> Support()),
        st.builds(lambda s, c: s >> Compare(">=", c), below, NUMBERS),
        st.builds(lambda s, c: s >> IsIn(c, 1.0), below, NUMBERS),
        st.builds(lambda s, op: op(s, M), below, st.sampled_from([And, Or])),
        below.map(lambda s: Not(TIED, s)),
    )  # fmt: skip


def _binary(below):
    return st.one_of(
        st.builds(lambda op, a, b: op(a, b), st.sampled_from([Plus, Minus, Times]), below, below),
        st.builds(lambda a, b, k: Rrf(a, b, k=k, depth=2), below, below, st.sampled_from([0, 60, 0.5])),
        st.builds(Restrict, _masks(below), below),
        st.builds(lambda s, m: s >> Keep(m), below, _masks(below)),
        st.builds(lambda c, s: Fill(TIED, c, s), NUMBERS, below),
        st.builds(lambda g, s: Per(1, g, s), below, below),
    )  # fmt: skip


LEAVES = st.sampled_from([
    E(), E("q1"), Closeness(TIED, "F", "f1"), W, T, RUN, Retrieve(TIED, "bm25"), Program("top(2, t)", TIED),
    Program("x = w\nx", TIED), Program("x = t\ny = x + w\n2 y", TIED),
])  # fmt: skip

PIPELINES = st.recursive(LEAVES, lambda below: st.one_of(_unary(below), _binary(below)), max_leaves=5)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PIPELINES, st.sampled_from([TOPICS, RESULTS, RESULTS.drop(columns="title").iloc[:0], TOPICS.iloc[:0]]))
def test_compiled_equals_as_written(pipeline, frame):
    fused = pipeline.compile()
    note(f"{pipeline}\n{fused}")
    assert_same(pipeline, fused, frame)


def test_two_directions_become_one_scan():
    c = vaswani()
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["wave guide", "valve amplifier"]})
    pipeline = Minus(Scan(c, "E", "query"), Scan(c, "E", "q2") >> Scale(0.5)) >> Keep(Where(c, "length >= 20"))
    for k in (1, 9, 10, 11, 52):
        fused = (pipeline % k).compile()
        assert fused == Program(f"top({k}, (length >= 20) >> (E @ query - 0.5 * (E @ q2)))", c)
        pd.testing.assert_frame_equal(fused(topics), (pipeline % k)(topics), check_exact=True)


def test_ties_at_every_cut():
    # Of 11,429 documents of whole lengths many share one.
    lengths = Program("length", vaswani())
    topics = pd.DataFrame({"qid": ["1"], "query": ["x"]})
    for k in (1, 2, 3, 10, 100, 1000, 11429, 20000):
        fused = (lengths % k).compile()
        assert isinstance(fused, Program)
        pd.testing.assert_frame_equal(fused(topics), (lengths % k)(topics), check_exact=True)


@pytest.mark.parametrize(
    "pipeline",
    [
        T >> Keep(Program("input", TIED)),
        T >> Keep(Where(TIED, "w > 0.5") >> Scale(1.0)),
        T >> Keep(E("nobodys") >> Support()),
        Remember("m", N) >> Restrict(M, T) >> Top(2) >> Forget(),
        T >> Softmax(),
        T % 2 >> Keep(M),
        Plus(T, W) >> MinMax(),
    ],
    ids=range(7),
)
def test_names_and_columns_that_mean_something_else_behind_a_stage(pipeline):
    # `input` is what comes into the filter; a step shadows no operand; extra columns of topics are no query columns.
    odd = TOPICS.assign(batch=["x", "y"], score=1.0, rank=0, value="v")
    for frame in (odd, RESULTS, TOPICS):
        assert_same(pipeline, pipeline.compile(), frame)
    found = outcome(T >> Softmax(), odd)
    assert list(found.columns) == ["qid", "query", "docno", "batch", "value", "score", "rank"]
