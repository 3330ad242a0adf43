"""Run files that every reader orders as we do."""

import gzip

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError
from pyterrier_alg.evaluation import StrictScores, read_run, run_lines, write_run

RUN = pd.DataFrame(
    {
        "qid": ["q2", "q2", "q2", "q1", "q1"],
        "query": ["x", "x", "x", "y", "y"],
        "docno": ["d2", "d10", "d1", "b", "a"],
        "score": [0.1, 0.1, 0.30000000000000004, 2.0, 1.0],
        "rank": [9, 9, 9, 9, 9],
    }
)


@pytest.mark.parametrize(
    ("scores", "lines", "changed"),
    [
        (
            "auto",
            ["q2 d1 0 0.30000000000000004", "q2 d10 1 0.1", "q2 d2 2 0.09999999403953552", "q1 b 0 2.0", "q1 a 1 1.0"],
            ("q2",),
        ),
        ("stand-in", ["q2 d1 0 3.0", "q2 d10 1 2.0", "q2 d2 2 1.0", "q1 b 0 2.0", "q1 a 1 1.0"], ("q2", "q1")),
    ],
)
def test_the_lines(tmp_path, scores, lines, changed):
    before = RUN.copy(deep=True)
    written = write_run(RUN, tmp_path / "a.run", "ours", scores=scores)
    text = (tmp_path / "a.run").read_text("utf-8")
    wanted = ["{} Q0 {} {} {} ours".format(*line.split()) for line in lines]
    assert text == "\n".join(wanted) + "\n"
    assert (written.queries, written.records, written.changed) == (2, 5, changed)
    pd.testing.assert_frame_equal(RUN, before)


def test_true_scores_are_written_with_every_bit_where_they_are_safe(tmp_path):
    run = RUN.assign(score=[0.1, 0.2, 0.1 + 0.2, 1e-300 + 1, -1 / 3])
    assert write_run(run, tmp_path / "a.run", scores="true").changed == ()
    found = read_run(tmp_path / "a.run")
    assert sorted(found["score"]) == sorted(run["score"])


@pytest.mark.parametrize("scores", [[1.0, 1.0], [1.0, 1.0 + 1e-9], [1e300, 2e300], [0.0, 1e-60]])
def test_scores_that_float32_does_not_keep_apart_are_not_safe(tmp_path, scores):
    run = pd.DataFrame({"qid": "1", "docno": ["a", "b"], "score": scores})
    assert write_run(run, tmp_path / "a.run").changed == ("1",)
    with pytest.raises(AlgebraError) as caught:
        write_run(run, tmp_path / "b.run", scores="true")
    assert caught.value.code == "unsafe_scores" and not (tmp_path / "b.run").exists()


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_what_pyterrier_and_ir_measures_read_is_what_we_read(tmp_path, name):
    path = tmp_path / name
    write_run(RUN, path)
    ours = read_run(path)
    theirs = pt.io.read_results(str(path))
    pd.testing.assert_frame_equal(theirs[["qid", "docno", "score", "rank"]], ours)
    lines = [(line.query_id, line.doc_id, line.score) for line in ir_measures.read_trec_run(str(path))]
    assert lines == list(zip(ours["qid"], ours["docno"], ours["score"], strict=True))
    assert (gzip.open if name.endswith("gz") else open)(path, "rb").read().endswith(b"\n")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=4).filter(
    lambda text: text.split() == [text]
)
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 0.1 + 1e-17, 1.0]), st.floats(allow_nan=False, allow_infinity=False)
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.tuples(WORDS, WORDS), SCORES, min_size=1, max_size=8), st.sampled_from(["auto", "stand-in"]))
def test_any_reader_that_sorts_by_score_gets_our_order(tmp_path_factory, scores, form):
    run = pd.DataFrame([(q, d, s) for (q, d), s in scores.items()], columns=["qid", "docno", "score"])
    path = tmp_path_factory.mktemp("runs") / "x.run"
    write_run(run, path, scores=form)
    found, wanted = read_run(path), StrictScores()(run)
    assert found[["qid", "docno"]].values.tolist() == wanted[["qid", "docno"]].values.tolist()
    for _, group in found.groupby("qid"):
        single = group["score"].to_numpy().astype(np.float32)
        assert (single[:-1] > single[1:]).all()
    again = path.with_suffix(".again")
    write_run(found, again, scores="true")
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "name", "code"),
    [
        ({"docno": ["a b", "c", "d", "e", "f"]}, "x", "bad_docno"),
        ({"docno": ["a\u2003b", "c", "d", "e", "f"]}, "x", "bad_docno"),
        ({"docno": ["", "c", "d", "e", "f"]}, "x", "bad_docno"),
        ({"qid": ["q 2", "q 2", "q 2", "1", "1"]}, "x", "bad_qid"),
        ({"score": [1.0, 2.0, np.inf, 1.0, 2.0]}, "x", "non_finite"),
        ({"docno": ["a", "a", "b", "c", "d"]}, "x", "duplicate_docno"),
        ({}, "two words", "bad_name"),
        ({}, "", "bad_name"),
    ],
)
def test_what_a_run_file_cannot_hold_is_refused_and_what_was_there_stays(tmp_path, change, name, code):
    path = tmp_path / "a.run"
    path.write_text("before")
    with pytest.raises(AlgebraError) as caught:
        write_run(RUN.assign(**change), path, name)
    assert caught.value.code == code
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_an_empty_run_is_an_empty_file(tmp_path):
    written = write_run(RUN.iloc[:0], tmp_path / "a.run")
    assert (written.queries, written.records) == (0, 0) and (tmp_path / "a.run").read_bytes() == b""
    found = read_run(tmp_path / "a.run")
    pd.testing.assert_series_equal(found.dtypes, read_run(_written(tmp_path, RUN)).dtypes)


def _written(folder, run):
    return write_run(run, folder / "b.run").path


def test_docnos_that_look_like_missing_values_are_read_as_they_are(tmp_path):
    run = pd.DataFrame({"qid": "nan", "docno": ["NA", '"x', "1.0"], "score": [3.0, 2.0, 1.0]})
    found = read_run(_written(tmp_path, run))
    assert found["docno"].tolist() == ["NA", '"x', "1.0"] and set(found["qid"]) == {"nan"}


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"1 Q0 d1 0 1.0\n", "corrupted_data"), (b"1 Q0 d 0 x r\n", "corrupted_data"), (b"\xff\xfe", "corrupted_data")],
)
def test_what_is_no_run_is_refused(tmp_path, content, code):
    (tmp_path / "a.run").write_bytes(content)
    with pytest.raises(AlgebraError) as caught:
        read_run(tmp_path / "a.run")
    assert caught.value.code == code and "a.run" in caught.value.message


def test_a_file_that_is_not_there_and_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(AlgebraError) as caught:
        read_run(tmp_path / "nosuch.run")
    assert caught.value.code == "missing_data"
    with pytest.raises(AlgebraError) as caught:
        write_run(RUN, tmp_path / "nosuch" / "a.run")
    assert caught.value.code == "unwritable"
    with pytest.raises(AlgebraError) as caught:
        write_run(RUN, tmp_path / "a.run", scores="any")
    assert caught.value.code == "bad_argument"


def test_a_run_with_ties_is_re_ranked_by_what_it_was():
    run = pd.DataFrame({"qid": "1", "docno": list("abcd"), "score": [3.0, 2.0, 2.0, 1.0]})
    lines, changed = run_lines(run)
    assert changed == ("1",) and [float(line.split()[4]) for line in lines] == pytest.approx(run["score"], rel=1e-6)
    assert [float(line.split()[4]) for line in run_lines(run.assign(score=[1e300, 1e300, 0, 0]))[0]] == [4, 3, 2, 1]
    with pytest.raises(AlgebraError, match="bad_argument.*StrictScores"):
        write_run(StrictScores(), "nowhere.run")
