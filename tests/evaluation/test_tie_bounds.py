"""Bounds over the orders of ties, against every order."""

import itertools
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, ERR, RR, Bpref, IPrec, Judged, P, R, Rprec, SetAP, SetF, SetP, SetR, Success, nDCG

from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.evaluation import SUPPORTED, StrictScores, TieBounds, experiment, tie_bounds

MEASURES = [
    P @ 1, P @ 3, P(rel=2) @ 2, P(judged_only=True) @ 2, R @ 2, R(rel=2) @ 3,
    RR, RR(rel=2), RR @ 2, RR(rel=2) @ 3, RR(judged_only=True),
    AP, AP @ 2, AP(rel=2), AP(judged_only=True), Rprec, Rprec(rel=2), Bpref, Bpref(rel=2),
    Success @ 1, Success(rel=2) @ 2, Success(judged_only=True) @ 1, IPrec @ 0.1, IPrec @ 0.5, IPrec @ 1.0,
    nDCG, nDCG @ 1, nDCG @ 3, nDCG(judged_only=True) @ 2,
    nDCG(gains={1: 5, 2: 3, 0: 2, -1: 1}), nDCG(gains={1: 0, 3: 1}) @ 2, Judged, Judged @ 1, Judged @ 3,
    SetP, SetP(relative=True), SetP(judged_only=True), SetR, SetF, SetF(beta=2.0), SetAP,
]  # fmt: skip

#: These run a program of their own for every run.
SLOW = [nDCG(dcg="exp-log2") @ 2, nDCG(dcg="exp-log2") @ 5, ERR @ 2, ERR @ 5]

GRADES = st.sampled_from([None, None, -2, -1, 0, 1, 1, 2, 3])


@st.composite
def cases(draw):
    """Up to five records in up to three groups of equal scores, and grades, of records that were not found too."""
    docnos = list("abcde")[: draw(st.integers(1, 5))]
    scores = {docno: float(draw(st.integers(0, 2))) for docno in docnos}
    grades = {docno: draw(GRADES) for docno in docnos} | {f"z{i}": draw(GRADES) for i in range(3)}
    return scores, {docno: grade for docno, grade in grades.items() if grade is not None} | {
        "y": draw(st.sampled_from([0, 2]))
    }


def _orders(scores):
    groups = [[d for d in scores if scores[d] == score] for score in sorted(set(scores.values()), reverse=True)]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield list(itertools.chain(*parts))


def _by_every_order(measures, scores, labels):
    """The least and the greatest value; each order is a query of its own."""
    orders = list(_orders(scores))
    run = {str(i): {d: float(len(order) - j) for j, d in enumerate(order)} for i, order in enumerate(orders)}
    found = {}
    for metric in ir_measures.iter_calc(measures, {qid: labels for qid in run}, run):
        found.setdefault(str(metric.measure), []).append(metric.value)
    return {measure: (min(values), max(values)) for measure, values in found.items()}


def _frames(scores, labels):
    run = pd.DataFrame({"qid": "1", "docno": list(scores), "score": list(scores.values())})
    return run, pd.DataFrame({"qid": "1", "docno": list(labels), "label": list(labels.values())})


def _check(measures, case):
    found = tie_bounds(*_frames(*case), measures).per_query
    bounds = {row.measure: (row.least, row.greatest) for row in found.itertuples()}
    assert bounds == _by_every_order(measures, *case)
    # The value of our order, and that of the evaluation's own, are those of some order.
    assert (found["least"] <= found["value"]).all() and (found["value"] <= found["greatest"]).all()
    assert (found["least"] <= found["evaluated"]).all() and (found["evaluated"] <= found["greatest"]).all()


@settings(max_examples=150, deadline=None)
@given(cases())
def test_the_bounds_are_those_of_every_order(case):
    _check(MEASURES, case)


@settings(max_examples=15, deadline=None)
@given(cases())
def test_so_are_those_of_gdeval(case):
    _check(SLOW, case)


def test_every_supported_measure_is_tested():
    assert {measure.NAME for measure in MEASURES + SLOW} == set(SUPPORTED)


RUN = pd.DataFrame(
    {
        "qid": ["2", "2", "2", "1", "1", "9"],
        "docno": ["a", "b", "c", "d", "e", "a"],
        "score": [1.0, 1.0, 1.0, 2.0, 1.0, 5.0],
    }
)
QRELS = pd.DataFrame({"qid": ["1", "2", "3"], "docno": ["e", "b", "a"], "label": [1, 1, 1]})


def test_the_whole_frame():
    found = tie_bounds(RUN, QRELS, [RR, "P_1"]).per_query
    expected = pd.DataFrame(
        {
            "qid": ["1", "1", "2", "2", "3", "3"],
            "measure": ["RR", "P_1"] * 3,
            "least": [0.5, 0.0, 1 / 3, 0.0, 0.0, 0.0],
            "value": [0.5, 0.0, 0.5, 0.0, 0.0, 0.0],
            "evaluated": [0.5, 0.0, 0.5, 0.0, 0.0, 0.0],
            "greatest": [0.5, 0.0, 1.0, 1.0, 0.0, 0.0],
            "tied": [0, 0, 3, 3, 0, 0],
        }
    )
    pd.testing.assert_frame_equal(found, expected)


def test_the_means_count_judged_queries_that_found_nothing_and_no_others():
    means = tie_bounds(RUN, QRELS, [RR]).means
    assert means["open"].tolist() == [1]
    assert math.isclose(means["least"][0], (0.5 + 1 / 3) / 3) and math.isclose(means["greatest"][0], 1.5 / 3)


def test_the_value_is_that_of_strict_scores_and_evaluated_that_of_the_scores():
    run = pd.DataFrame({"qid": "1", "docno": ["a", "b", "c"], "score": [1.0, 1.0, 0.5]})
    found = tie_bounds(run, QRELS.assign(docno="a"), [RR, RR @ 5]).per_query.set_index(["qid", "measure"]).loc["1"]
    assert StrictScores()(run)["docno"].tolist() == ["a", "b", "c"]
    assert found["value"].tolist() == [1.0, 1.0]
    assert found["evaluated"].tolist() == [0.5, 1.0]


def test_float32_ties_are_those_of_trec_eval():
    run = pd.DataFrame({"qid": "1", "docno": ["a", "b"], "score": [1.0 + 1e-9, 1.0]})
    qrels = QRELS.iloc[:1].assign(docno="a")
    exact, single = (tie_bounds(run, qrels, [RR], precision=p).per_query.loc[0] for p in ("float64", "float32"))
    assert (exact["least"], exact["value"], exact["evaluated"], exact["greatest"], exact["tied"]) == (1, 1, 0.5, 1, 0)
    assert (single["least"], single["value"], single["evaluated"], single["greatest"], single["tied"]) == (
        0.5,
        1,
        0.5,
        1,
        2,
    )


def test_ids_of_any_form():
    run = pd.DataFrame({"qid": "a-1 x", "docno": ["d 1", "é\n", "NA"], "score": [1.0, 1.0, 0.0]})
    qrels = pd.DataFrame({"qid": ["a-1 x"], "docno": ["é\n"], "label": [1]})
    found = tie_bounds(run, qrels, [ERR @ 1, nDCG(dcg="exp-log2") @ 1, nDCG @ 1, RR @ 1]).per_query
    assert found["least"].tolist() == [0.0] * 4 and (found["greatest"] > 0).all()
    assert found["qid"].tolist() == ["a-1 x"] * 4


def test_an_empty_run_has_0_throughout():
    found = tie_bounds(RUN.iloc[:0], QRELS, [AP, nDCG @ 10, Judged @ 5, RR @ 3]).per_query
    assert len(found) == 12 and (found[["least", "value", "evaluated", "greatest"]] == 0).all(axis=None)


def test_frames_are_untouched():
    run, qrels = RUN.copy(deep=True), QRELS.copy(deep=True)
    tie_bounds(RUN, QRELS, MEASURES)
    pd.testing.assert_frame_equal(RUN, run)
    pd.testing.assert_frame_equal(QRELS, qrels)


@pytest.mark.parametrize(
    ("run", "qrels", "measures", "code"),
    [
        (RUN, QRELS, [ir_measures.infAP], "unsupported"),
        (RUN, QRELS, [ir_measures.Compat(p=0.9)], "unsupported"),
        (RUN, QRELS, ["num_q"], "unsupported"),
        (RUN, QRELS, [ir_measures.R], "bad_parameter"),
        (RUN, QRELS, [P(rel=0) @ 5], "bad_parameter"),
        (RUN, QRELS, [nDCG(gains={1: -1})], "bad_parameter"),
        (RUN, QRELS, ["no_such"], "bad_argument"),
        (RUN, QRELS, "map", "bad_argument"),
        (RUN, QRELS, [], "bad_argument"),
        (RUN, QRELS, [10], "bad_argument"),
        (pd.concat([RUN, RUN]), QRELS, [AP], "duplicate_docno"),
        (RUN.assign(score=np.nan), QRELS, [AP], "non_finite"),
        (RUN.drop(columns="score"), QRELS, [AP], "kind"),
        (RUN.assign(qid=1), QRELS, [AP], "bad_qid"),
        ({"1": {}}, QRELS, [AP], "bad_argument"),
        (RUN, pd.concat([QRELS, QRELS]), [AP], "duplicate_docno"),
        (RUN, QRELS.assign(label=0.5), [AP], "bad_qrels"),
        (RUN, QRELS.assign(label=-1), [AP], "bad_qrels"),
        (RUN, QRELS.iloc[:0], [AP], "bad_qrels"),
        (RUN, QRELS.drop(columns="label"), [AP], "kind"),
        (RUN, None, [AP], "bad_argument"),
    ],
)
def test_what_has_no_bounds_is_refused(run, qrels, measures, code):
    with pytest.raises(AlgebraError) as caught:
        tie_bounds(run, qrels, measures)
    assert caught.value.code == code


def test_the_refusal_names_what_is_supported():
    with pytest.raises(AlgebraError) as caught:
        tie_bounds(RUN, QRELS, [AP, ir_measures.infAP])
    assert "infAP" in caught.value.message and all(name in caught.value.hint for name in SUPPORTED)


def test_another_precision_is_refused():
    with pytest.raises(AlgebraError) as caught:
        tie_bounds(RUN, QRELS, [AP], precision="float16")
    assert caught.value.code == "bad_argument"


def _bounds(least, value, greatest, measure="AP"):
    row = {
        "qid": "1",
        "measure": measure,
        "least": least,
        "value": value,
        "evaluated": value,
        "greatest": greatest,
        "tied": 2,
    }
    return TieBounds(pd.DataFrame([row]))


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ((0.5, 0.6, 0.7), (0.1, 0.2, 0.4), "above"),
        ((0.5, 0.6, 0.7), (0.1, 0.2, 0.5), "open"),
        ((0.5, 0.6, 0.7), (0.6, 0.6, 0.6), "open"),
        ((0.5, 0.5, 0.5), (0.6, 0.6, 0.7), "below"),
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "equal"),
    ],
)
def test_a_difference_that_no_order_of_ties_undoes(ours, theirs, verdict):
    found = _bounds(*ours).compare(_bounds(*theirs)).loc[0]
    assert found["verdict"] == verdict
    assert found["least"] == ours[0] - theirs[2] and found["greatest"] == ours[2] - theirs[0]
    assert found["value"] == ours[1] - theirs[1]


@pytest.mark.parametrize("other", [_bounds(0.0, 0.0, 0.0, "RR"), "bounds"])
def test_unlike_bounds_are_not_compared(other):
    with pytest.raises(AlgebraError) as caught:
        _bounds(0.0, 0.0, 0.0).compare(other)
    assert caught.value.code == "bad_argument"


def test_the_print_says_how_much_hangs_on_ties():
    assert repr(tie_bounds(RUN, QRELS, [RR, P @ 1])).splitlines() == [
        "TieBounds: 3 queries, 1 of them with equal scores",
        "measure   least   value  evaluated  greatest  open",
        "RR       0.2778  0.3333     0.3333    0.5000     1",
        "P@1      0.0000  0.0000     0.0000    0.3333     1",
    ]


TOPICS = pd.DataFrame({"qid": sorted(set(QRELS["qid"]))}).assign(query="x")


@pytest.mark.parametrize("label", ["1", 1.0, np.int8(1), True])
def test_labels_of_any_type_that_is_a_whole_number(label):
    qrels = QRELS.assign(label=[label] * len(QRELS))
    expected = tie_bounds(RUN, QRELS.assign(label=1), [AP]).means
    pd.testing.assert_frame_equal(tie_bounds(RUN, qrels, [AP]).means, expected)
    plain = experiment([RUN], TOPICS, QRELS.assign(label=1), [AP])
    pd.testing.assert_frame_equal(experiment([RUN], TOPICS, qrels, [AP]), plain)


@pytest.mark.parametrize("measure", [P @ 0, nDCG @ 0, AP @ 0, R @ -1, RR @ 0, Judged @ 0])
def test_a_cut_off_below_one_is_refused_before_it_ends_the_process(measure):
    for run in (lambda: tie_bounds(RUN, QRELS, [measure]), lambda: experiment([RUN], TOPICS, QRELS, [measure])):
        with pytest.raises(AlgebraError, match="cut-off") as caught:
            run()
        assert caught.value.code == "bad_parameter"


def test_labels_that_cannot_be_counted():
    for label in (10**8, 2**31, -(10**9)):
        with pytest.raises(AlgebraError, match="bad_qrels"):
            tie_bounds(RUN, QRELS.assign(label=[label, *[1] * (len(QRELS) - 1)]), [AP])
