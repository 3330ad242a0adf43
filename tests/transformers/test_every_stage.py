"""What holds for every public transformer."""

import os
import pickle
from dataclasses import FrozenInstanceError

import pandas as pd
import pyterrier as pt
import pytest
from stages import EXAMPLES, INPUTS, RESULTS, TOPICS

from pyterrier_alg import transformers
from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.transformers.steps import STEPS

os.environ["PT_TEST_TRANSFORMER_REPORTS"] = "0"

for _name, (_make, _) in EXAMPLES.items():
    globals()[f"Test{_name}"] = pt.testing.transformer_test_class(_make)

each = pytest.mark.parametrize("name", EXAMPLES)


def _made(name):
    make, takes = EXAMPLES[name]
    return make(), INPUTS[takes]


def _plain(frame):
    """Without the column whose cells are not compared by content."""
    return frame.drop(columns=STEPS, errors="ignore")


def test_every_public_transformer_has_an_example():
    public = {n for n in transformers.__all__ if isinstance(getattr(transformers, n), type)}
    assert {n for n in public if issubclass(getattr(transformers, n), pt.Transformer)} == {*EXAMPLES, "Tunable"}


@each
def test_equal_by_value(name):
    one, other = EXAMPLES[name][0](), EXAMPLES[name][0]()
    assert one is not other and one == other and hash(one) == hash(other) and repr(one) == repr(other)
    assert name in repr(one) and "object at" not in repr(one) and len(repr(one)) < 200
    others = [make() for n, (make, _) in EXAMPLES.items() if n != name]
    assert one not in others


@each
def test_pickled(name):
    stage, frame = _made(name)
    again = pickle.loads(pickle.dumps(stage))
    assert again == stage
    pd.testing.assert_frame_equal(_plain(again(frame)), _plain(stage(frame)))


@each
def test_immutable(name):
    stage, _ = _made(name)
    if not isinstance(stage, pt.Compose):
        with pytest.raises(FrozenInstanceError):
            stage.anything = 1


@each
def test_input_untouched_and_deterministic(name):
    stage, frame = _made(name)
    before = frame.copy(deep=True)
    first = stage(frame)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(_plain(stage(frame)), _plain(first))
    assert len(first)


@each
def test_an_empty_frame_gives_the_same_columns_and_types(name):
    stage, frame = _made(name)
    full, empty, bare = stage(frame), stage(frame.iloc[:0]), stage(pd.DataFrame(columns=frame.columns))
    assert len(empty) == len(bare) == 0
    pd.testing.assert_series_equal(empty.dtypes, full.dtypes)
    assert list(bare.columns) == list(full.columns)
    if name in ("Remember", "Forget"):
        return  # They hand the frame on as it came.
    for column in {"qid", "query", "docno", "score", "rank"} & set(full.columns):
        assert bare[column].dtype == full[column].dtype


@each
def test_batches_equal_one_call(name):
    stage, frame = _made(name)
    batches = pd.concat(list(stage.transform_gen(frame, batch_size=1)), ignore_index=True)
    pd.testing.assert_frame_equal(_plain(batches), _plain(stage(frame)))


@each
def test_a_list_of_dicts(name):
    stage, frame = _made(name)
    rows = stage(frame.to_dict(orient="records"))
    assert [row["qid"] for row in rows] == stage(frame)["qid"].tolist()


@each
def test_query_columns_come_from_the_input(name):
    stage, frame = _made(name)
    wide = frame.assign(query_0=frame["qid"] + "!", qcount=frame["qid"].map({"1": 5, "2": 6}))
    found = stage(wide)
    assert found["query_0"].tolist() == (found["qid"] + "!").tolist()
    assert found["qcount"].dtype == "int64" and found["query"].isin(TOPICS["query"]).all()


@each
def test_rank_order_is_total(name):
    stage, frame = _made(name)
    found = stage(frame)
    if "rank" not in found.columns:
        return
    queries = list(dict.fromkeys(frame["qid"]))
    rows = list(zip(found["qid"], found["score"], found["docno"], found["rank"], strict=True))
    assert rows == sorted(rows, key=lambda row: (queries.index(row[0]), -row[1], row[2]))
    for qid in queries:
        ranks = found.loc[found["qid"] == qid, "rank"].tolist()
        assert ranks == list(range(len(ranks)))


@each
def test_compiled_equals_itself(name):
    stage, frame = _made(name)
    pd.testing.assert_frame_equal(_plain(stage.compile()(frame)), _plain(stage(frame)))


@each
@pytest.mark.parametrize("frame", [RESULTS.drop(columns="qid"), pd.DataFrame({"text": ["x"]})])
def test_an_unfit_frame_is_refused_with_what_is_missing(name, frame):
    with pytest.raises(pt.validate.InputValidationError) as caught:
        EXAMPLES[name][0]()(frame)
    assert any("qid" in mode.missing_columns for mode in caught.value.modes)


TAKES_RESULTS = [n for n, (_, takes) in EXAMPLES.items() if takes == "topics"]


@pytest.mark.parametrize("name", TAKES_RESULTS)
def test_over_results_only_the_records_that_came_in(name):
    found = EXAMPLES[name][0]()(RESULTS)
    came = set(zip(RESULTS["qid"], RESULTS["docno"], strict=True))
    rows = list(zip(found["qid"], found["docno"], strict=True))
    assert set(rows) <= came and len(set(rows)) == len(rows)
    titles = dict(zip(RESULTS["docno"], RESULTS["title"], strict=True))
    assert found["title"].tolist() == [titles[docno] for docno in found["docno"]]


@each
def test_columns_that_cannot_be_told_apart_are_refused(name):
    stage, frame = _made(name)
    for odd in (pd.concat([frame, frame[["query"]]], axis=1), frame.assign(extra=1).rename(columns={"extra": 3})):
        with pytest.raises(AlgebraError, match="bad_operand.*(more than one column 'query'|3)"):
            stage(odd)
