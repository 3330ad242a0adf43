"""PyTerrier's experiment over systems that are evaluated in their own rank order."""

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.collection import Collection
from pyterrier_alg.evaluation import StrictScores, experiment, tie_bounds
from pyterrier_alg.transformers import Program, Scale

COLLECTION = Collection(["a", "b", "c", "d"], name="four").bind(
    S={"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}, T={"d": 2.0, "c": 1.0}, m={"a", "b"}
)
TOPICS = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["x", "y", "z"]})
QRELS = pd.DataFrame({"qid": ["1", "1", "2", "3", "7"], "docno": ["a", "d", "b", "d", "a"], "label": [1, 2, 1, 1, 1]})
S, T = Program("S", COLLECTION), Program("top(2, T)", COLLECTION)
MEASURES = ["recip_rank", nDCG @ 2]


def test_each_system_is_evaluated_in_its_own_rank_order():
    found = experiment([S, T], TOPICS, QRELS, MEASURES)
    # By hand: S gives a, b, c, d; T gives d, c.
    expected = [[1.0, 1 / 2, 1 / 4], [1.0, 0.0, 1.0]]
    assert np.allclose(found["recip_rank"], np.mean(expected, axis=1))
    plain = pt.Experiment([S, T], TOPICS, QRELS, MEASURES, names=["S", "T"])
    assert plain["recip_rank"][0] != found["recip_rank"][0] and plain["recip_rank"][1] == found["recip_rank"][1]
    same = experiment([S, T], TOPICS, QRELS, MEASURES, stand_ins=False)
    assert same["recip_rank"].tolist() == plain["recip_rank"].tolist()


def test_a_results_frame_is_a_system_too_and_stays_as_it_is():
    run = S(TOPICS)
    before = run.copy(deep=True)
    found = experiment({"program": S, "frame": run}, TOPICS, QRELS, MEASURES, ties=True)
    assert found.loc[0].drop("name").tolist() == found.loc[1].drop("name").tolist()
    pd.testing.assert_frame_equal(run, before)


def test_the_columns_stand_in_the_order_asked_for():
    found = experiment([S, T], TOPICS, QRELS, ["recip_rank", nDCG @ 2, AP, "mrt"], ties=True, baseline=0)
    names = list(found.columns)
    assert names[:11] == [
        "name", "recip_rank", "recip_rank least", "recip_rank greatest", "nDCG@2", "nDCG@2 least", "nDCG@2 greatest",
        "AP", "AP least", "AP greatest", "mrt",
    ]  # fmt: skip
    assert names[11:] == [f"{m} {what}" for m in ("recip_rank", "nDCG@2", "AP") for what in ("+", "-", "p-value")]


def test_the_ties_are_those_of_the_true_scores():
    found = experiment([S, T], TOPICS, QRELS, MEASURES, ties=True)
    judged = QRELS[QRELS["qid"].isin(TOPICS["qid"])]
    for place, system in enumerate([S, T]):
        means = tie_bounds(system(TOPICS), judged, MEASURES).means
        for row in means.itertuples():
            assert found[f"{row.measure} least"][place] == row.least
            assert found[f"{row.measure} greatest"][place] == row.greatest
            assert np.isclose(found[row.measure][place], row.value)
    assert found["recip_rank least"][0] < found["recip_rank"][0] == found["recip_rank greatest"][0] - 0.5 / 3


def test_the_rows_of_each_query():
    found = experiment([S, T], TOPICS, QRELS, MEASURES, ties=True, perquery=True)
    assert list(found.columns) == ["name", "qid", "measure", "value", "least", "greatest"]
    assert len(found) == 12 and (found["least"] <= found["value"]).all() and (found["value"] <= found["greatest"]).all()
    row = found[(found["name"] == "S") & (found["qid"] == "2") & (found["measure"] == "recip_rank")].iloc[0]
    assert [row["least"], row["value"], row["greatest"]] == [1 / 3, 1 / 2, 1.0]


def test_both():
    means, each = experiment([S, T], TOPICS, QRELS, MEASURES, ties=True, perquery="both")
    assert "recip_rank least" in means.columns and "least" in each.columns


@pytest.mark.parametrize(
    "options", [{"batch_size": 1}, {"plan": "tree", "verbose": False}, {"filter_by_topics": False}]
)
def test_other_ways_to_run_give_the_same_ties(options):
    found = experiment([S, T], TOPICS, QRELS, MEASURES, ties=True, **options)
    qrels = QRELS if "filter_by_topics" in options else QRELS[QRELS["qid"] != "7"]
    bounds = tie_bounds(S(TOPICS), qrels, MEASURES).means
    assert found["recip_rank least"][0] == bounds["least"][0]
    assert np.isclose(found["recip_rank"][0], bounds["value"][0])


@pytest.mark.parametrize(
    ("digits", "shown"), [(1, [0.6, 0.3, 0.8]), (2, [0.58, 0.31, 0.75]), ({"recip_rank": 2}, [0.58, 0.31, 0.75])]
)
def test_bounds_are_rounded_as_the_measures(digits, shown):
    found = experiment([S], TOPICS, QRELS, ["recip_rank"], ties=True, round=digits)
    assert found[["recip_rank", "recip_rank least", "recip_rank greatest"]].values.tolist() == [shown]


def test_names_can_be_read():
    pipeline = S >> Scale(2.0) % 2
    steps = Program("x = S\ntop(2, x)", COLLECTION)
    found = experiment([S, S, pipeline, steps, S(TOPICS), pt.apply.generic(lambda f: S(f))], TOPICS, QRELS, ["map"],
                       validate="ignore")  # fmt: skip
    assert found["name"].tolist()[:5] == ["S", "S (2)", "S >> Scale(2.0) >> RankCutoff(2)", "x = S; top(2, x)", "run 5"]
    assert "0x" not in found["name"][5]
    assert experiment([S, T], TOPICS, QRELS, ["map"], names=["s", "t"])["name"].tolist() == ["s", "t"]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_no_difference_is_never_significant(test):
    """Without a p-value of its own, a corrected one is NaN, and taken for significant."""
    systems = {"base": T, "same": T, "other": S}
    found = experiment(systems, TOPICS, QRELS, ["recip_rank"], baseline="base", test=test, correction="holm")
    found = found.set_index("name")
    assert found["recip_rank p-value"]["same"] == 1.0 and not found["recip_rank reject"]["same"]
    plain = pt.Experiment(
        {n: s >> StrictScores() for n, s in systems.items()}, TOPICS, QRELS, ["recip_rank"], baseline="base", test=test
    ).set_index("name")
    assert found["recip_rank p-value"]["other"] == plain["recip_rank p-value"]["other"]


def test_a_test_of_ones_own_is_used_as_it_is():
    found = experiment([T, S], TOPICS, QRELS, ["map"], baseline=0, test=lambda a, b: (0.0, 0.25))
    assert found["map p-value"][1] == 0.25


def test_saved_runs_are_strict_and_a_run_that_is_read_again_has_no_known_ties(tmp_path):
    options = {"save_dir": str(tmp_path), "names": ["s"]}
    first = experiment([S], TOPICS, QRELS, ["recip_rank"], **options)
    saved = pt.io.read_results(str(tmp_path / "s.res.gz"))
    assert saved.groupby("qid")["score"].apply(list).tolist() == [[4.0, 3.0, 2.0, 1.0]] * 3
    again = experiment([S], TOPICS, QRELS, ["recip_rank"], save_mode="reuse", **options)
    assert again["recip_rank"].tolist() == first["recip_rank"].tolist()
    with pytest.raises(AlgebraError) as caught:
        experiment([S], TOPICS, QRELS, ["recip_rank"], ties=True, save_mode="reuse", **options)
    assert caught.value.code == "bad_argument" and "'s'" in caught.value.message


def test_an_unfit_system_is_refused_by_default():
    with pytest.raises(ValueError, match="Validation"):
        experiment([Program("m >> S", COLLECTION), Scale(2.0)], TOPICS, QRELS, ["map"])


@pytest.mark.parametrize(
    ("systems", "options", "code"),
    [
        ([lambda frame: frame], {}, "bad_argument"),
        (S, {}, "bad_argument"),
        ([S, T], {"names": ["s"]}, "bad_argument"),
        ([S, T], {"names": ["s", "s"]}, "bad_argument"),
        ({"s": S}, {"baseline": "t"}, "bad_argument"),
        ([S, T], {"baseline": 0, "test": "sign"}, "bad_argument"),
        ([S], {"ties": True, "dataframe": False}, "bad_argument"),
        ([S], {"ties": True, "highlight": "bold"}, "bad_argument"),
        ([S], {"ties": True, "eval_metrics": [ir_measures.infAP]}, "unsupported"),
        ([S], {"qrels": QRELS.assign(label=-1)}, "bad_qrels"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(systems, options, code):
    arguments = {"topics": TOPICS, "qrels": QRELS, "eval_metrics": ["map"]} | options
    with pytest.raises(AlgebraError) as caught:
        experiment(systems, **arguments)
    assert caught.value.code == code
