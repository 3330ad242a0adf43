"""What each stage gives, written out."""

import math

import pandas as pd
import pyterrier as pt
import pytest
from stages import RESULTS, SMALL, TOPICS, Given, given

from pyterrier_alg.algebra import AlgebraError, EvaluationError, ProgramError
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
    Recall,
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

ONE = pd.DataFrame({"qid": ["1"]})


def _scores(stage, frame=ONE):
    found = stage(frame)
    return dict(zip(found["docno"], found["score"], strict=True))


def _results(rows, **more):
    columns = {"qid": [r[0] for r in rows], "query": [r[1] for r in rows], "docno": [r[2] for r in rows], **more}
    scored = {"score": [float(r[3]) for r in rows], "rank": pd.array([r[4] for r in rows]).astype("int64")}
    return pd.DataFrame({**columns, **scored}).astype({"rank": "int64"})


def test_scan_over_topics():
    expected = _results(
        [
            ("2", "valve", "é", 2.0, 0),
            ("2", "valve", "d10", 0.5, 1),
            ("2", "valve", "d1", 0.0, 2),
            ("1", "wave guide", "d1", 1.0, 0),
            ("1", "wave guide", "d10", 0.5, 1),
            ("1", "wave guide", "é", 0.0, 2),
        ]
    )
    pd.testing.assert_frame_equal(Scan(SMALL, "E")(TOPICS), expected)


def test_scan_over_results_scores_the_records_that_came_in_and_drops_what_has_no_row():
    rows = [
        ("1", "wave guide", "d1", 1.0, 0), ("1", "wave guide", "d10", 0.5, 1), ("2", "valve", "é", 2.0, 0),
    ]  # fmt: skip
    found = Scan(SMALL, "E")(RESULTS)
    pd.testing.assert_frame_equal(found, _results(rows, title=["one", "ten", "e"])[found.columns.tolist()])


def test_unary_stage_keeps_columns_and_ranks_anew():
    rows = [
        ("1", "wave guide", "d10", -2.0, 0), ("1", "wave guide", "d2", -2.0, 1), ("1", "wave guide", "d1", -6.0, 2),
        ("2", "valve", "é", 4.0, 0),
    ]  # fmt: skip
    pd.testing.assert_frame_equal(Scale(-2)(RESULTS), _results(rows, title=["ten", "two", "one", "e"])[RESULTS.columns])


S = {"a": 4.0, "b": 1.0, "c": -2.0}
UNARY = [
    (Scale(0), {"a": 0.0, "b": 0.0, "c": 0.0}),
    (Divide(3), {"a": 4 / 3, "b": 1 / 3, "c": -2 / 3}),
    (Shift(0.1), {"a": 4.1, "b": 1.1, "c": -2 + 0.1}),
    (SubtractFrom(1), {"c": 3.0, "b": 0.0, "a": -3.0}),
    (Negate(), {"c": 2.0, "b": -1.0, "a": -4.0}),
    (Abs(), {"a": 4.0, "c": 2.0, "b": 1.0}),
    (Clip(0, 2), {"a": 2.0, "b": 1.0, "c": 0.0}),
    (Exp(), {"a": math.exp(4), "b": math.e, "c": math.exp(-2)}),
    (Shift(2) >> Log1p(), {"a": math.log1p(6), "b": math.log1p(3), "c": 0.0}),
    (Sigmoid(), {d: 1 / (1 + math.exp(-s)) for d, s in S.items()}),
    (Decay(2), {"c": 1.0, "b": 2**-0.5, "a": 0.25}),
    (RecipDecay(2), {"c": 1.0, "b": 1 / 1.5, "a": 1 / 3}),
    (MinMax(), {"a": 1.0, "b": 0.5, "c": 0.0}),
    (MaxNorm(), {"a": 1.0, "b": 0.25, "c": -0.5}),
    (ZScore(), {d: (s - 1) / math.sqrt(6) for d, s in S.items()}),
    (Softmax(), {d: math.exp(s - 4) / math.fsum([1, math.exp(-3), math.exp(-6)]) for d, s in S.items()}),
    (Ranks(), {"c": 3.0, "b": 2.0, "a": 1.0}),
    (Top(2), {"a": 4.0, "b": 1.0}),
    (Top(10**30), S),
]


@pytest.mark.parametrize(("stage", "expected"), UNARY, ids=repr)
def test_unary_scores(stage, expected):
    found = _scores(given(S) >> stage)
    assert found == expected and list(found) == sorted(expected, key=lambda d: (-expected[d], d))


@pytest.mark.parametrize("stage", [MinMax(), ZScore(), Softmax(), Ranks(), MaxNorm(), Top(1)], ids=repr)
def test_rescaling_is_a_query_by_itself(stage):
    both = pd.concat([given({"a": 1.0, "b": 1.0}).rows, given({"a": 5.0, "c": 5.0}, qid="2").rows])
    found = stage(both)
    expected = {"MinMax": 1.0, "ZScore": 0.0, "Softmax": 0.5, "MaxNorm": 1.0}.get(type(stage).__name__)
    assert found["docno"].tolist() == {"Top": ["a", "a"], "Ranks": ["b", "a", "c", "a"]}.get(
        type(stage).__name__, ["a", "b", "a", "c"]
    )
    if expected is not None:
        assert found["score"].tolist() == [expected] * 4


T = {"c": 1.0, "a": 0.5, "d": 9.0}
BINARY = [
    (Plus(given(S), given(T)), {"a": 4.5, "c": -1.0}),
    (Plus(given(S), given(T), given({"a": 1})), {"a": 5.5}),
    (Minus(given(S), given(T)), {"a": 3.5, "c": -3.0}),
    (Minus(given(S), given(T), given(T)), {"a": 3.0, "c": -4.0}),
    (Times(given(S), given(T)), {"a": 2.0, "c": -2.0}),
    (Restrict(given(T), given(S)), {"a": 4.0, "c": -2.0}),
    (Per(1, given({"a": 7, "b": 7, "c": 8}), given({**S, "d": 99})), {"a": 4.0, "c": -2.0}),
    (Rrf(given(S), given(T), k=60), {"a": 1 / 61 + 1 / 63, "c": 1 / 63 + 1 / 62, "d": 1 / 61, "b": 1 / 62}),
    (Rrf(given(S), given(T), k=0, depth=1), {"a": 1.0, "d": 1.0}),
    (Fill(SMALL, 0.25, given({"d2": 1})), {"d2": 1.0, "d1": 0.25, "d10": 0.25, "é": 0.25}),
    (Fill(SMALL, -1, given({})), {"d1": -1.0, "d10": -1.0, "d2": -1.0, "é": -1.0}),
    (Bound(SMALL, "w"), {"d2": 1.0, "é": 1.0, "d1": 0.5}),
    (Bound(SMALL, "run"), {"d2": 2.0, "d1": 1.0}),
    (Scan(SMALL, "E", "q1 - row(E, 'é')"), {"d1": 1.0, "d10": 0.5, "é": 0.0}),
    (Scan(SMALL, "E", "centroid(E, ~m)"), {"d1": 0.75, "d10": 0.5, "é": 0.5}),
    (Closeness(SMALL, "F", "f1"), {"d1": 0.0, "d10": -math.sqrt(0.5), "é": -math.sqrt(5)}),
    (Retrieve(SMALL, "bm25", "'wave guide'"), {"d2": 3.0, "d10": 2.0}),
    (Retrieve(SMALL, "bm25", "'wave guide'", depth=3), {"d2": 3.0, "d10": 2.0, "d1": 1.0}),
    (Field(SMALL, "published") >> DaysSince("2024-01-02"), {"é": 2.0, "d1": 1.0}),
    (Bound(SMALL, "w") >> Mmr(SMALL, "E", 2, relevance=0.5), {"é": 0.5, "d1": 0.25}),
]


@pytest.mark.parametrize(("stage", "expected"), BINARY, ids=repr)
def test_scores(stage, expected):
    found = _scores(stage)
    assert found == expected and list(found) == sorted(expected, key=lambda d: (-expected[d], d))


def test_mmr_prefers_what_is_unlike_what_it_has():
    # d10 has an inner product of 0.5 with d1, so that é is chosen before it.
    stage = given({"d1": 3.0, "d10": 2.0, "é": 1.8, "d2": 9.0}) >> Mmr(SMALL, "E", 3, relevance=0.5)
    assert _scores(stage) == {"d1": 1.5, "é": 0.9, "d10": 0.5}


MASKS = [
    (BoundMask(SMALL, "m"), ["d2", "é"]),
    (BoundMask(SMALL, "all"), ["d1", "d10", "d2", "é"]),
    (Ids(SMALL, "é", "d1", "é"), ["d1", "é"]),
    (Not(SMALL, BoundMask(SMALL, "m")), ["d1", "d10"]),
    (Not(SMALL, given({})), ["d1", "d10", "d2", "é"]),
    (And(BoundMask(SMALL, "m"), given({"é": 1, "d1": 1})), ["é"]),
    (Or(BoundMask(SMALL, "m"), given({"é": 1, "d1": 1})), ["d1", "d2", "é"]),
    (given(S) >> Support(), ["a", "b", "c"]),
    (given(S) >> Compare(">=", 1), ["a", "b"]),
    (given(S) >> Compare(">", 1), ["a"]),
    (given(S) >> Compare("<=", 1), ["b", "c"]),
    (given(S) >> Compare("<", 1), ["c"]),
    (given(S) >> IsIn(4, -2.0, 77), ["a", "c"]),
    (Field(SMALL, "lang") >> IsIn("de", "fr", column="value"), ["é"]),
    (Field(SMALL, "published") >> Compare(">=", "2024-01-01", column="value"), ["d1"]),
    (Where(SMALL, "published < '2024-01-01' | isin(lang, 'en')"), ["d1", "d2", "é"]),
]


@pytest.mark.parametrize(("stage", "expected"), MASKS, ids=repr)
def test_masks(stage, expected):
    found = stage(ONE)
    assert found["docno"].tolist() == expected and not {"score", "rank"} & set(found.columns)


def test_a_missing_value_never_compares():
    frame = given(S).rows.assign(day=["2024-01-01", None, "2025-01-01"], n=[1.0, float("nan"), 3.0])
    assert Compare("<=", "2030-01-01", column="day")(frame)["docno"].tolist() == ["a", "c"]
    assert Compare("<=", 99, column="n")(frame)["docno"].tolist() == ["a", "c"]
    assert DaysSince("2024-01-02", column="day")(frame)["score"].tolist() == [1.0, -365.0]


def test_a_query_without_results_is_absent_but_complemented():
    frame = pd.DataFrame({"qid": ["2", "1"]})
    assert Plus(Bound(SMALL, "run"), Bound(SMALL, "run"))(frame)["qid"].tolist() == ["1", "1"]
    assert Fill(SMALL, 0, Bound(SMALL, "run"))(frame)["qid"].tolist() == ["2"] * 4 + ["1"] * 4
    assert Not(SMALL, Bound(SMALL, "run"))(frame)["qid"].tolist() == ["2"] * 4 + ["1"] * 2
    assert Rrf(Bound(SMALL, "run"), given({"d10": 1.0}, qid="2"))(frame)["docno"].tolist() == ["d10", "d2", "d1"]


def test_document_columns_come_from_the_first_that_has_them():
    left = given({"a": 1, "b": 2}, title=["A", "B"])
    right = given({"b": 3, "a": 4}, title=["no", "no"], url=["ub", "ua"], length=[2, 1])
    found = Plus(left, right)(ONE)
    expected = pd.DataFrame(
        {
            "qid": ["1", "1"],
            "docno": ["a", "b"],
            "title": ["A", "B"],
            "url": ["ua", "ub"],
            "length": [1, 2],
            "score": [5.0, 5.0],
            "rank": [0, 1],
        }
    )
    pd.testing.assert_frame_equal(found, expected)
    assert Or(left, right)(ONE)["title"].tolist() == ["A", "B"]
    assert "url" not in Or(left, right)(ONE).columns


def test_an_operand_may_spoil_what_it_is_given():
    class Spoiling(pt.Transformer):
        def transform(self, inp):
            inp["qid"] = "spoilt"
            return given({"a": 1}).rows

    assert _scores(Plus(Spoiling(), given({"a": 2}), Spoiling())) == {"a": 4.0}


HOSTILE = ["a b", 'q"', "it's", "é", "e\u0301", "🙂", "\uffee", "%", "a;--", "\\", "日本", "1", "01"]


def test_hostile_docnos_stay_as_they_are_and_tie_by_code_point():
    stage = Plus(given(dict.fromkeys(HOSTILE, 1)), given(dict.fromkeys(reversed(HOSTILE), 1)))
    found = stage(pd.DataFrame({"qid": ["1"], "query": ["x"]}))
    assert found["docno"].tolist() == sorted(HOSTILE) and found["rank"].tolist() == list(range(len(HOSTILE)))


def test_negative_zero_is_zero():
    assert [math.copysign(1, s) for s in _scores(given({"a": -0.0, "b": 0.0}) >> Scale(-1)).values()] == [1.0, 1.0]


def test_steps_are_computed_once_and_forgotten():
    asked = []

    class Counting(Given):
        def transform(self, inp):
            asked.append(len(inp))
            return super().transform(inp)

    counting = Counting(given(S).rows)
    pipe = Remember("s", counting) >> Plus(Recall("s"), Recall("s"), Recall("s") >> Scale(2)) >> Forget()
    assert _scores(pipe) == {"a": 16.0, "b": 4.0, "c": -8.0}
    assert asked == [1] and "q_steps" not in pipe(ONE).columns
    mask = Remember("m", given(S) >> Support()) >> Recall("m", scored=False) >> Forget()
    assert mask(ONE)["docno"].tolist() == ["a", "b", "c"]


def test_a_vector_may_name_a_step():
    pipe = Remember("pool", BoundMask(SMALL, "m")) >> Scan(SMALL, "E", "centroid(E, pool)") >> Forget()
    assert _scores(pipe) == {"é": 4.0, "d10": 1.0, "d1": 0.0}


NAN = float("nan")
FAULTS = [
    (lambda: given({"a": 1e308}) >> Scale(10), "non_finite", "'a' (qid '1')"),
    (lambda: given({"a": NAN}) >> Top(1), "non_finite", "'a' (qid '1')"),
    (lambda: Plus(given({"a": 1, "b": 1e308}), given({"a": 1, "b": 1e308})), "non_finite", "'b' (qid '1')"),
    (lambda: given({"a": -2.0}) >> Log1p(), "non_finite", "'a' (qid '1')"),
    (lambda: given({"a": -2.0, "b": 0.0}) >> MaxNorm(), "nonpositive_maximum", "'b' (qid '1')"),
    (lambda: given({"a": 1e200, "b": -1e200}) >> ZScore(), "non_finite", "(qid '1')"),
    (lambda: Ids(SMALL, "nosuch"), "unknown_record", "'nosuch'"),
    (lambda: given({"nosuch": 1}) >> Scan(SMALL, "E", "q1"), "unknown_record", "'nosuch' (qid '1')"),
    (lambda: Given(pd.concat([given({"a": 1}).rows] * 2)) >> Top(1), "duplicate_docno", "'a' more than once"),
    (lambda: Plus(given(S), given(S) >> Support()), "kind", "'score'"),
    (lambda: Plus(given(S), Given(pd.DataFrame({"qid": ["1"]}))), "kind", "'docno'"),
    (lambda: Bound(SMALL, "v"), "unknown_name", "'v'"),
    (lambda: Bound(SMALL, "E"), "kind", "E is a matrix"),
    (lambda: Recall("nosuch"), "unknown_name", "'nosuch'"),
    (lambda: Scan(SMALL, "E", "row(E, 'd2')"), "unknown_record", "'d2'"),
    (lambda: Scan(SMALL, "E", "unit(q1 - q1)"), "zero_vector", "unit"),
    (lambda: Scan(SMALL, "F", "'wave'"), "missing_encoder", "flat"),
]


@pytest.mark.parametrize(("make", "code", "message"), FAULTS)
def test_faults_name_query_and_record(make, code, message):
    frame = ONE.assign(q_steps=[{}]) if "Recall" in repr(make()) else ONE
    with pytest.raises(AlgebraError) as caught:
        make()(frame)
    assert caught.value.code == code and message in str(caught.value)


def test_topics_with_a_qid_twice_are_refused():
    with pytest.raises(AlgebraError, match="duplicate_qid"):
        Bound(SMALL, "w")(pd.DataFrame({"qid": ["1", "1"]}))


def test_qids_are_strings():
    with pytest.raises(AlgebraError, match="bad_qid"):
        Bound(SMALL, "w")(pd.DataFrame({"qid": [1]}))


def test_rows_of_a_query_that_did_not_come_in_are_refused():
    class Other(pt.Transformer):
        def transform(self, inp):
            pt.validate.columns(inp, includes=["qid"], context=self)
            return given({"a": 1}, qid="9").rows

    with pytest.raises(AlgebraError, match="unknown_topic"):
        Plus(Other())(ONE)


BAD = [
    (lambda: Scale(math.inf), "bad_parameter"),
    (lambda: Scale(True), "bad_parameter"),
    (lambda: Scale("2"), "bad_parameter"),
    (lambda: Divide(0.0), "division_by_zero"),
    (lambda: Top(0), "bad_parameter"),
    (lambda: Top(2.0), "bad_parameter"),
    (lambda: Per(0, given(S), given(S)), "bad_parameter"),
    (lambda: Clip(2, 1), "bad_parameter"),
    (lambda: Decay(0), "bad_parameter"),
    (lambda: RecipDecay(-1), "bad_parameter"),
    (lambda: Mmr(SMALL, "E", 1, relevance=1.5), "bad_parameter"),
    (lambda: Rrf(given(S), k=-1), "bad_parameter"),
    (lambda: Rrf(given(S), depth=0), "bad_parameter"),
    (lambda: Compare("==", 1), "bad_parameter"),
    (lambda: Compare(">", "yesterday"), "bad_parameter"),
    (lambda: DaysSince("2024-02-30"), "bad_parameter"),
    (lambda: IsIn(), "bad_argument"),
    (lambda: Plus(), "bad_argument"),
    (lambda: Plus(given(S), 2), "bad_argument"),
    (lambda: Scan(SMALL, "E", "a +"), "syntax"),
    (lambda: Where(SMALL, "w"), "kind"),
    (lambda: Where(SMALL, "m & nosuch"), "unknown_name"),
]


@pytest.mark.parametrize(("make", "code"), BAD)
def test_bad_parameters_are_refused_when_a_stage_is_made(make, code):
    with pytest.raises(AlgebraError) as caught:
        make()
    assert caught.value.code == code


def test_a_mask_in_the_notation_shows_its_faults_in_its_own_text():
    with pytest.raises(ProgramError) as caught:
        Where(SMALL, "m  &  w")
    assert "  m & w\n      ^" in str(caught.value)


def test_inputs_are_what_all_operands_can_do_with():
    both = Plus(Scan(SMALL, "E", "query"), Scan(SMALL, "E", "query_vec"))
    assert pt.inspect.transformer_inputs(both)[0] == ["qid", "query", "query_vec"]
    rerank = Plus(Scan(SMALL, "E", "query"), Scale(2))
    assert pt.inspect.transformer_inputs(rerank) == [["qid", "query", "docno", "score"]]
    with pytest.raises(pt.validate.InputValidationError):
        both(ONE)
    with pytest.raises(EvaluationError):
        Scan(SMALL, "E", "row(E, 'd2')")(ONE)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Scan("E @ query", SMALL),
        lambda: Scan(SMALL, 3),
        lambda: Scan(SMALL, "E", 3),
        lambda: Bound({"w": 1.0}, "w"),
        lambda: Restrict("m", Scan(SMALL, "E")),
        lambda: Fill(SMALL, 0, SMALL),
        lambda: Plus(Scan(SMALL, "E"), "w"),
        lambda: Retrieve(SMALL, 5),
    ],
)
def test_what_is_no_operand_is_refused_when_the_stage_is_made(wrong):
    with pytest.raises(AlgebraError) as caught:
        wrong()
    assert caught.value.code == "bad_argument"


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        (lambda: Scan(SMALL, "E", "q9"), "unknown_name"),
        (lambda: Scan(SMALL, "E", "E"), "kind"),
        (lambda: Scan(SMALL, "w"), "kind"),
        (lambda: Scan(SMALL, "nosuch"), "unknown_name"),
    ],
)
def test_an_operand_of_another_kind_is_named_when_the_stage_runs(stage, code):
    with pytest.raises(AlgebraError) as caught:
        stage().transform(TOPICS)
    assert caught.value.code == code


VALUES = pd.DataFrame({"qid": ["1"] * 3, "docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})


def test_a_value_that_is_missing_makes_no_group_and_never_compares():
    for values in (["x", None, "x"], pd.array(["x", pd.NA, "x"], dtype="string")):
        frame = VALUES.assign(g=values)
        groups = pt.apply.generic(lambda frame: frame)
        assert Per(1, groups, Scale(1.0), column="g")(frame)["docno"].tolist() == ["a"]
        assert IsIn("x", column="g")(frame)["docno"].tolist() == ["a", "c"]
    days = VALUES.assign(g=["2024-01-01", None, pd.NA])
    assert Compare(">=", "2023-01-01", column="g")(days)["docno"].tolist() == ["a"]


@pytest.mark.parametrize(
    ("stage", "values", "code"),
    [
        (DaysSince("2024-01-01", column="g"), ["2023-01-01", "bad", "2023-01-01"], "bad_date"),
        (DaysSince("2024-01-01", column="g"), [1, 2, 3], "bad_date"),
        (Compare(">=", "2024-01-01", column="g"), list(pd.to_datetime(["2024-01-01"] * 3)), "bad_operand"),
        (Compare(">=", 1, column="g"), ["1", "2", "3"], "bad_operand"),
        (Per(1, pt.apply.generic(lambda frame: frame), Scale(1.0), column="g"), [["x"], ["y"], ["z"]], "bad_operand"),
    ],
    ids=range(5),
)
def test_a_value_that_cannot_be_looked_at_is_named(stage, values, code):
    with pytest.raises(AlgebraError) as caught:
        stage(VALUES.assign(g=values))
    assert caught.value.code == code
