"""Stand-in scores: evaluation takes records in our rank order, and people see the true scores."""

import os
import pickle

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.evaluation import StrictScores

os.environ["PT_TEST_TRANSFORMER_REPORTS"] = "0"

RESULTS = pd.DataFrame(
    {
        "qid": ["2", "1", "1", "1"],
        "query": ["valve", "wave", "wave", "wave"],
        "docno": ["é", "d2", "d10", "d1"],
        "title": ["e", "two", "ten", "one"],
        "score": [-1.0, 0.5, 0.5, 0.75],
        "rank": [0, 0, 1, 2],
        "query_0": ["v", "w", "w", "w"],
    }
)


class TestByScore:
    @pt.testing.transformer_test_class
    def test_strict_scores():
        return StrictScores()


class TestByRank:
    @pt.testing.transformer_test_class
    def test_strict_scores_by_rank():
        return StrictScores(by="rank")


def test_the_whole_frame_by_score():
    expected = pd.DataFrame(
        {
            "qid": ["2", "1", "1", "1"],
            "query": ["valve", "wave", "wave", "wave"],
            "query_0": ["v", "w", "w", "w"],
            "docno": ["é", "d1", "d10", "d2"],
            "title": ["e", "one", "ten", "two"],
            "true_score": [-1.0, 0.75, 0.5, 0.5],
            "score": [1.0, 3.0, 2.0, 1.0],
            "rank": [0, 0, 1, 2],
        }
    )
    before = RESULTS.copy(deep=True)
    pd.testing.assert_frame_equal(StrictScores()(RESULTS), expected)
    pd.testing.assert_frame_equal(RESULTS, before)


@pytest.mark.parametrize(
    ("ranks", "order"),
    [([0, 1, 2], ["d2", "d10", "d1"]), ([7, 9, 3], ["d1", "d2", "d10"]), ([4, 4, 4], ["d1", "d10", "d2"])],
)
def test_by_rank_it_is_the_frames_order_and_equal_ranks_are_ordered_by_score(ranks, order):
    found = StrictScores(by="rank")(RESULTS.iloc[1:].assign(rank=ranks))
    assert found["docno"].tolist() == order
    assert found["score"].tolist() == [3.0, 2.0, 1.0] and found["rank"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("by", ["score", "rank"])
def test_an_empty_frame_gives_the_same_columns_and_types(by):
    stage = StrictScores(by=by)
    full, empty = stage(RESULTS), stage(RESULTS.iloc[:0])
    pd.testing.assert_series_equal(empty.dtypes, full.dtypes)
    bare = stage(pd.DataFrame(columns=RESULTS.columns))
    assert list(bare.columns) == list(full.columns)
    for column in ("qid", "docno", "true_score", "score", "rank"):
        assert bare[column].dtype == full[column].dtype


def test_a_value():
    assert repr(StrictScores()) == "StrictScores()" and repr(StrictScores(by="rank")) == "StrictScores(by='rank')"
    assert StrictScores() == StrictScores() != StrictScores(by="rank")
    assert len({StrictScores(), StrictScores(), StrictScores(by="rank")}) == 2
    assert pickle.loads(pickle.dumps(StrictScores(by="rank"))) == StrictScores(by="rank")


def test_batches_equal_one_call_and_a_cut_behind_it_equals_itself_compiled():
    batches = pd.concat(list(StrictScores().transform_gen(RESULTS, batch_size=1)), ignore_index=True)
    pd.testing.assert_frame_equal(batches, StrictScores()(RESULTS))
    cut = StrictScores() % 2
    pd.testing.assert_frame_equal(cut.compile()(RESULTS), cut(RESULTS))


@pytest.mark.parametrize(
    ("frame", "by", "code"),
    [
        (RESULTS.assign(score=[1.0, np.nan, 2.0, 3.0]), "score", "non_finite"),
        (RESULTS.assign(rank=[0.0, np.nan, 2.0, 3.0]), "rank", "non_finite"),
        (RESULTS.assign(rank=["0", "a", "2", "3"]), "rank", "bad_operand"),
        (RESULTS.assign(docno=["a", "b", "b", "c"]), "score", "duplicate_docno"),
        (RESULTS.assign(qid=[2, 1, 1, 1]), "score", "bad_qid"),
    ],
)
def test_what_has_no_order_is_refused(frame, by, code):
    with pytest.raises(AlgebraError) as caught:
        StrictScores(by=by)(frame)
    assert caught.value.code == code


def test_another_order_is_refused_when_it_is_made():
    with pytest.raises(AlgebraError) as caught:
        StrictScores(by="docno")
    assert caught.value.code == "bad_argument"


@pytest.mark.parametrize(("by", "missing"), [("score", "score"), ("rank", "rank")])
def test_a_missing_column_is_named(by, missing):
    with pytest.raises(pt.validate.InputValidationError) as caught:
        StrictScores(by=by)(RESULTS.drop(columns=missing))
    assert missing in caught.value.modes[0].missing_columns


def _first_found(run, docno):
    """The place at which each measure of a reciprocal rank sees a document."""
    qrels = pd.DataFrame({"query_id": ["1"], "doc_id": [docno], "relevance": [1]})
    found = ir_measures.iter_calc([ir_measures.RR, ir_measures.RR @ 1000], qrels, pt.model.to_ir_measures(run))
    return {str(metric.measure): round(1 / metric.value) - 1 for metric in found}


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text("abé1", min_size=1, max_size=3),
        st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 1e300, 2e300, -5e-324]),
        min_size=1,
    )
)
def test_every_kind_of_measure_sees_our_rank_order(scores):
    run = pd.DataFrame({"qid": "1", "docno": list(scores), "score": list(scores.values())})
    strict = StrictScores()(run)
    assert strict["docno"].tolist() == sorted(scores, key=lambda docno: (-scores[docno], docno))
    for rank, docno in enumerate(strict["docno"]):
        assert _first_found(strict, docno) == {"RR": rank, "RR@1000": rank}


def test_without_it_measures_disagree_and_trec_eval_reads_float32():
    tied = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [1.0, 1.0]})
    assert _first_found(tied, "a") == {"RR": 1, "RR@1000": 0}
    # Different as float64, equal as float32: whoever comes first, trec_eval takes b.
    close = tied.assign(score=[1.0 + 1e-9, 1.0])
    assert _first_found(close, "a") == {"RR": 1, "RR@1000": 0}
    assert _first_found(StrictScores()(close), "a") == {"RR": 0, "RR@1000": 0}
