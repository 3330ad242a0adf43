"""Coefficients as parameters, under PyTerrier's own grid search; programs beside each other in experiments."""

import copy
import pickle

import pandas as pd
import pyterrier as pt
import pytest
from stages import RESULTS, SMALL, TOPICS

from pyterrier_alg import Program, vaswani
from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.transformers import Scan, Top, Tunable

TUNED = SMALL.bind(alpha=0.5, beta=2.0)
PROGRAM = Program("top(2, w + alpha * beta * (E @ query))", TUNED)


class TestTunable:
    @pt.testing.transformer_test_class
    def test_tunable():
        return Tunable(PROGRAM)


def test_runs_with_the_numbers_that_it_was_set_to():
    tunable = Tunable(PROGRAM)
    assert tunable.coefficients == {"alpha": 0.5, "beta": 2.0} and tunable.get_parameter("beta") == 2
    tunable.set_parameter("alpha", -1)
    expected = Program("top(2, w + -1 * beta * (E @ query))", TUNED)
    for frame in (TOPICS, RESULTS):
        pd.testing.assert_frame_equal(tunable(frame), expected(frame))
    assert PROGRAM.collection is TUNED and TUNED.operands["alpha"].value == 0.5
    assert repr(tunable) == f"Tunable({PROGRAM!r}, alpha=-1.0, beta=2.0)"
    assert tunable.transform_inputs()[0] == ["qid", "query"]


def test_equals_itself_only():
    one, other = Tunable(PROGRAM), Tunable(PROGRAM)
    assert one != other and len({one, other}) == 2 and one in {one: 1}
    assert (one >> Top(1)) != (other >> Top(1))
    assert pickle.loads(pickle.dumps(one)).coefficients == copy.deepcopy(one).coefficients == one.coefficients


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("alhpa", 1, "unknown_name"), ("w", 1, "unknown_name"), ("alpha", "1", "bad_operand"),
     ("alpha", float("inf"), "non_finite"), ("beta", 0, "division_by_zero")],
)  # fmt: skip
def test_what_cannot_be_set(name, value, code):
    tunable = Tunable(Program("w / beta + alpha", TUNED))
    with pytest.raises(AlgebraError) as caught:
        tunable.set_parameter(name, value)
    assert caught.value.code == code and tunable.coefficients == {"beta": 2.0, "alpha": 0.5}


def test_what_cannot_be_tuned():
    with pytest.raises(AlgebraError, match="names no number"):
        Tunable(Program("w", TUNED))
    with pytest.raises(AlgebraError, match="bad_argument"):
        Tunable(Scan(TUNED, "E"))


QRELS = pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d2"], "label": [1, 1]})


def test_grid_scan_and_search():
    first, second = Tunable(PROGRAM), Tunable(PROGRAM)
    grid = pt.GridScan(first >> Program("top(1, input)", SMALL), {first: {"alpha": [-5, 0, 5]}}, TOPICS, QRELS, ["P_1"])
    # Query 1 is answered with alpha 5, when the row counts; query 2 by a record without a row, and so never.
    assert grid["tran_0_alpha"].tolist() == [-5, 0, 5] and grid["P_1"].tolist() == [0, 0, 0.5]
    best = pt.GridSearch(second, {second: {"alpha": [-5, 5], "beta": [1, 2]}}, TOPICS, QRELS, "P_1")
    assert best is second and best.coefficients["alpha"] == 5
    with pytest.raises(ValueError, match="gamma"):
        pt.GridScan(first, {first: {"gamma": [1]}}, TOPICS, QRELS)


def test_two_of_them_are_tuned_apart():
    one, other = Tunable(Program("alpha * w", TUNED)), Tunable(Program("alpha * w", TUNED))
    grid = pt.GridScan(one + other, {one: {"alpha": [1, 2]}, other: {"alpha": [3, 4, 5]}}, TOPICS, QRELS, ["map"])
    assert len(grid) == 6


def test_equal_leading_programs_are_run_once_under_the_tree_plan(monkeypatch):
    c = vaswani()
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["wave guide", "valve amplifier"]})
    first = lambda: Program("top(100, E @ query)", c)  # noqa: E731
    rerank = [first() >> Program(f"top(10, input - {a} * (E @ q2))", c) for a in (0.25, 0.5)]
    qrels = first()(topics).head(5).assign(label=1)[["qid", "docno", "label"]]
    ran = []
    run = Program.transform
    monkeypatch.setattr(Program, "transform", lambda self, inp: ran.append(self.formula.ascii) or run(self, inp))
    arguments = ([*rerank], topics, qrels, ["P_5"])
    tree = pt.Experiment(*arguments, names=["a", "b"], plan="tree", validate="error")
    in_tree, ran[:] = [t for t in ran if t == "top(100, E @ query)"], []
    plain = pt.Experiment(*arguments, names=["a", "b"], plan="linear", validate="error")
    alone = [t for t in ran if t == "top(100, E @ query)"]
    pd.testing.assert_frame_equal(tree, plain)
    assert len(in_tree) == len(alone) - 1
