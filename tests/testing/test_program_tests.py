"""Program tests: the examples hold, whatever does not hold is said, and what makes no sense is refused by name."""

import json
import re
from pathlib import Path

import pytest

from pyterrier_alg.algebra import DataError
from pyterrier_alg.collection import Collection
from pyterrier_alg.engines.registry import engines
from pyterrier_alg.testing import SUFFIX, read_program_tests, run_program_test, run_program_tests
from pyterrier_alg.testing.running import engines_of

FOLDER = Path(__file__).parent

BOUND = """
[relations]
S = {a = 3.0, b = 2.0, c = 1.0}
T = {a = 1.0, b = 1.0, c = 1.0, d = 0.25}
[masks]
m = ["a", "c"]
[numbers]
alpha = 0.5
[spaces.s]
dimensions = 1
distance = "inner product"
[matrices.E]
space = "s"
rows = {a = [0.1], b = [0.2], c = [0.3], d = [0.3]}
[vectors.v]
space = "s"
values = [1.0]
"""


def run(tmp_path, body, bound=BOUND, **settings):
    path = tmp_path / f"case{SUFFIX}"
    path.write_text(f"{bound}\n[[test]]\nname = 'case'\n{body}", encoding="utf-8")
    return run_program_tests(path, **settings)


def test_the_examples_hold():
    report = run_program_tests(FOLDER)
    assert report.passed, str(report)
    assert len(report.outcomes) > 30 and {outcome.engine for outcome in report.outcomes} == set(engines())
    assert str(report) == f"{len(report.outcomes)} of {len(report.outcomes)} program tests hold"
    assert "S ⊙" not in report._repr_html_() and "holds" in report._repr_html_()


#: A test's body, and the fault that it must have; None where it holds.
FAULTS = [
    ("program = 'top(2, S)'\nexpect = {a = 3, b = 2.0}", None),
    ("program = 'top(2, S)'\nexpect = {a = 3.0, b = 2.0000001}", "1 score off, the most: b has 2.0, not 2.0000001"),
    ("program = 'top(2, S)'\ntolerance = 1e-6\nexpect = {a = 3.0, b = 2.0000001}", None),
    ("program = 'top(2, S)'\ntolerance = 1e-8\nexpect = {a = 3.0, b = 2.0000001}", "1 score off more than 1e-08"),
    ("program = 'S'\nexpect = {a = 3.0, b = 2.0}", "1 record not expected: c"),
    ("program = 'm >> S'\nexpect = {a = 3.0, b = 2.0, c = 1.0}", "1 record missing: b"),
    ("program = 'm >> S'\nexpect = {}", "2 records not expected: a, c"),
    ("program = 'top(3, T)'\norder = ['a', 'b', 'c']", None),
    ("program = 'top(3, T)'\norder = ['b', 'a', 'c']", "the order is another one"),
    ("program = 'S'\norder = ['a', 'b']", "1 record not expected: c"),
    ("program = 'top(2, S)'\norder = ['a', 'b', 'c']", "1 record missing: c"),
    ("program = 'S'\nfirst = ['a', 'b']", None),
    ("program = 'S'\nfirst = ['a', 'c']", "the order is another one"),
    ("program = 'S'\nfirst = ['b']", "the order is another one"),
    ("program = 'm >> S'\nfirst = ['b']", "the order is another one"),
    ("program = 'S'\ncount = 3", None),
    ("program = 'm >> S'\ncount = 3", "2 records, not 3"),
    ("program = 'm >> S'\nincludes = ['a', 'c']\nexcludes = ['b']", None),
    ("program = 'm >> S'\nincludes = ['a', 'b', 'd']", "2 records that must be there: b, d"),
    ("program = 'm >> S'\nexcludes = ['a', 'd']", "1 record that must not be there: a"),
    ("program = 'top(1, T)'\nverdict = 'exact_tie'", None),
    ("program = 'top(1, S)'\nverdict = 'exact_tie'", "the gap check says separated, not exact_tie"),
    ("program = 'S'\nverdict = 'separated'", "the gap check says nothing, since nothing is selected, not separated"),
    ("program = 'E @ v'\nengines = ['sqlite']\ncertified = true", "the result is not certified"),
    ("program = 'S'\ncertified = false", "the result is certified"),
    ("program = 'minmax(m >> T)'\nwarnings = ['constant_input']", None),
    ("program = 'minmax(m >> T)'\nwarnings = []", "it warns of constant_input: "),
    ("program = 'S'\nwarnings = ['constant_input', 'empty_mask']", "it does not warn of constant_input"),
    ("program = 'S * m'\nerror = 'kind'\nat = 'm'", None),
    ("program = 'S * m'\nerror = 'kind'\nat = 'S'", "kind marks 'm', not 'S'"),
    ("program = 'S * m'\nerror = 'unknown_name'", "it fails with kind, not with unknown_name"),
    ("program = 'S * m'\ncount = 1", "the program fails"),
    ("program = 'S'\nerror = 'kind'", "the program gives 3 records, and must fail with kind"),
    ("program = 'S + nothing * m'\nerror = 'unknown_name'\nat = 'nothing'", None),
    ("program = 'maxnorm(-S)'\nerror = 'nonpositive_maximum'", None),
    ("program = 'mmr(2, S, E)'\nerror = 'unsupported'\nengines = ['duckdb']", None),
    ("program = 'bm25(query)'\nquery = 'x'\nerror = 'unknown_name'", None),
    ("program = 'alpha * S'\nnumbers = {alpha = 2}\nexpect = {a = 6.0, b = 4.0, c = 2.0}", None),
    ("program = 'S'\nnumbers = {beta = 2}\nerror = 'unknown_name'", "numbers cannot be set so"),
    ("program = 'S'\nnumbers = {S = 2}\ncount = 3", "numbers cannot be set so"),
    ("program = 'input'\npool = ['a']\ninput = {a = 1.0, b = 2.0}\nfirst = ['a']\ncount = 1", None),
    ("program = 'E @ query_vec'\nvector = [2.0]\nfirst = ['c', 'd']\ntolerance = 1e-6", None),
]


@pytest.mark.parametrize(("body", "fault"), FAULTS)
def test_what_holds_and_what_does_not(tmp_path, body, fault):
    (outcome,) = run(tmp_path, body).outcomes
    if fault is None:
        assert outcome.passed, str(outcome)
    else:
        assert not outcome.passed and any(found.startswith(fault) for found in outcome.faults), outcome.faults


def test_a_failure_shows_both_rankings_side_by_side(tmp_path):
    report = run(tmp_path, "program = '''\nx = 2 S\ntop(3, m >> x + T)'''\nexpect = {c = 9.0, b = 7.0, a = 7.0}")
    shown = str(report).replace(str(tmp_path), "")
    assert shown == (
        f"/case{SUFFIX}:19: case (vectorised): does not hold\n"
        "    x = 2 S\n"
        "    top(3, m >> x + T)\n"
        "  - 1 record missing: b\n"
        "  - 1 score off, the most: c has 3.0, not 9.0\n"
        "  rank  expected       found\n"
        "  0     c         9.0  a      7.0  expected at 1, up 1\n"
        "  1     a         7.0  c      3.0  expected at 0, down 1; score off by -6\n"
        "  2     b         7.0\n"
        "  missing: b\n"
        "  gap check: separated, nothing beyond the cut, certified\n"
        "0 of 1 program test holds"
    )


def test_long_rankings_are_cut_and_what_lies_beyond_the_cut_is_said(tmp_path):
    scores = ", ".join(f"d{place:03} = {place}" for place in range(100))
    text = str(run(tmp_path, "program = 'top(50, L)'\ncount = 3", f"[relations]\nL = {{{scores}}}"))
    assert len(text.splitlines()) < 30 and "… to rank 49" in text
    assert "gap at the cut 1, certified; beyond it d049 49.0, d048 48.0" in text


def test_a_report_for_programs_and_for_notebooks(tmp_path):
    report = run(tmp_path, "program = '<b> * S'\ncount = 3\n[[test]]\nname = '<i>'\nprogram='top(1, S)'\ncount = 2")
    data = report.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert (data["passed"], data["count"], data["failures"]) == (False, 2, 2)
    assert data["outcomes"][1]["found"] == [{"docno": "a", "score": 3.0}]
    assert data["outcomes"][0]["error"].startswith("syntax") and data["outcomes"][0]["found"] is None
    page = report._repr_html_()
    assert "<i>" not in page and "&lt;i&gt;" in page and page.count("does not hold") >= 4


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_an_engine_that_states_a_bound_is_allowed_that_and_no_more(tmp_path, engine):
    body = f"engines = ['{engine}']\nprogram = 'top(10, E @ v)'\n"
    # Elements are float32: the scores are what these are, and c and d tie.
    exact = run(tmp_path, "program = 'top(10, E @ v)'\ncount = 4").outcomes[0].found.to_dict()
    listed = ", ".join(f"{docno} = {score!r}" for docno, score in exact.items())
    assert run(tmp_path, body + f"expect = {{{listed}}}").passed
    for order, holds in ((["c", "d", "b", "a"], True), (["d", "c", "b", "a"], True), (["c", "b", "d", "a"], False)):
        assert run(tmp_path, body + f"order = {order}").passed == holds
        assert run(tmp_path, body + f"first = {order[:2]}").passed == holds
    wrong = {**exact, "a": exact["a"] + 1e-3}
    listed = ", ".join(f"{docno} = {score!r}" for docno, score in wrong.items())
    assert not run(tmp_path, body + f"expect = {{{listed}}}").passed


def test_all_engines_are_those_that_can(tmp_path):
    for program, expected in (("S", engines()), ("mmr(2, S, E)", ["vectorised", "pipeline", "definition"])):
        report = run(tmp_path, f"program = '{program}'\nengines = ['all']\nincludes = ['a']")
        assert [outcome.engine for outcome in report.outcomes] == expected and report.passed
    report = run(tmp_path, "program = 'top('\nengines = ['all']\nerror = 'syntax'")
    assert len(report.outcomes) == 1 and report.passed


#: What a file holds, and words of the message that refuses it.
REFUSED = [
    ("[[test]\nname", "no TOML"),
    ("", "it has no test"),
    ("[relation]\nS = {a = 1}\n[[test]]\nname='x'\nprogram='S'\ncount=1", "did you mean relations"),
    (
        "[relations]\nS = {a = 'x'}\n[[test]]\nname='x'\nprogram='S'\ncount=1",
        "relations is a table of tables of numbers",
    ),
    ("test = 3", "test is tables: [[test]]"),
    ("[[test]]\nprogram='S'\ncount=1", "a test has a name"),
    ("[[test]]\nname='x'\nprogram='S'", "nothing is expected"),
    ("[[test]]\nname='x'\ncount=1", "a program, or a file"),
    ("[[test]]\nname='x'\nprogram='S'\nfile='x.alg'\ncount=1", "a program, or a file"),
    ("[[test]]\nname='x'\nfile='absent.alg'\ncount=1", "absent.alg cannot be read"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=-1", "count is a whole number"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=true", "count is a whole number"),
    ("[[test]]\nname='x'\nprogram='S'\ncont=1", "did you mean count?"),
    ("[[test]]\nname='x'\nprogram='S'\nerror='kind'\ncount=1", "nothing else to expect"),
    ("[[test]]\nname='x'\nprogram='S'\nat='S'", "at is the place of an error"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=1\nengines=['sqllite']", "did you mean sqlite?"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=1\nengines=[]", "engines are one or more"),
    ("[[test]]\nname='x'\nprogram='S'\nwarnings=['empty']", "did you mean empty_mask?"),
    ("[[test]]\nname='x'\nprogram='S'\nverdict='tie'", "there is no 'tie'"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=1\ntolerance=-1.0", "tolerance is 0 or more"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=1\ntopic='94'", "its topics are '1' to '93'"),
    ("[[test]]\nname='x'\nprogram='S'\ncount=1\ntopic='9'\nquery='x'", "brings its own qid and query"),
    (
        "[[test]]\nname='x'\nprogram='S'\ncount=1\n[[test]]\nname='x'\nprogram='S'\ncount=1",
        "two tests have the name 'x'",
    ),
]
#: The same for what it binds, which a test follows.
UNBOUND = [
    ("[collection]\nuse = 'mine'", "there is no collection 'mine'"),
    ("[collection]\nuse = 'vaswani'\npath = 'x'", "only one of these"),
    ("[collection]\ndimensions = 8", "dimensions is a setting of Vaswani"),
    ("[collection]\npath = 'absent'", "missing_data"),
    ("[collection]\ndocnos = ['a']\n[relations]\nS = {b = 1}", "unknown_docno"),
    ("[relations]\nS = {a = inf}", "non_finite"),
    ("[relations]\nquery = {a = 1}", "reserved_name"),
    ("[relations]\nS = {a = 1}\n[masks]\nS = ['a']", "'S' is bound twice"),
    ("[matrices.E]\nrows = {a = [1.0]}", "it says no space"),
    ("[spaces.words]\ndimensions = 1\n[matrices.E]\nspace = 'wrods'\nrows = {a = [1.0]}", "did you mean words?"),
    ("[spaces.s]\ndistance = 'l2'", "a space has dimensions"),
    ("[spaces.s]\ndimensions = 1\ndistance = 'l3'", "no distance 'l3'"),
    ("[spaces.s]\ndimensions = 1\n[matrices.E]\nspace = 's'", "it has rows, or documents"),
    ("[spaces.s]\ndimensions = 1\n[matrices.E]\nspace = 's'\ndocuments = {a = 'x'}", "documents become rows"),
    ("[spaces.s]\ndimensions = 1\n[matrices.E]\nspace = 's'\nencoder = 'bert'\nrows = {a = [1.0]}", "encoder 'bert'"),
    ("[spaces.s]\ndimensions = 2\n[matrices.E]\nspace = 's'\ntexts = {x = [1.0]}\nrows = {a = [0, 1]}", "2 dimensions"),
    ("[spaces.s]\ndimensions = 1\n[matrices.E]\nspace = 's'\nrow = {a = [1.0]}", "did you mean rows?"),
    ("[spaces.s]\ndimensions = 2\n[matrices.E]\nspace = 's'\nrows = {a = [1.0]}", "dimensions"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_a_file_that_makes_no_sense_is_refused_with_the_place(tmp_path, text, words):
    path = tmp_path / f"case{SUFFIX}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        read_program_tests(path)
    assert str(tmp_path) in str(caught.value)
    report = run_program_tests(tmp_path)
    assert not report.passed and words in str(report) and len(report.outcomes) == 1


@pytest.mark.parametrize(("bound", "words"), UNBOUND)
def test_what_cannot_be_bound_is_one_failure(tmp_path, bound, words):
    report = run(tmp_path, "program = 'S'\ncount = 1\n[[test]]\nname = 'other'\nprogram = 'S'\ncount = 1", bound)
    assert len(report.outcomes) == 1 and not report.passed and words in str(report)


def test_collections_of_ones_own_and_saved_ones(tmp_path):
    mine = Collection(["a", "b"], name="mine").bind(S={"a": 1.0, "b": 2.0})
    body, asked = "program = 'top(1, S + T)'\nfirst = ['a']", []
    bound = "[collection]\nuse = 'mine'\n[relations]\nT = {a = 5, b = 1}"
    assert run(tmp_path, body, bound, collections={"mine": mine}).passed
    assert run(tmp_path, body, bound, collections={"mine": lambda: asked.append(1) or mine}).passed and asked == [1]
    assert not run(tmp_path, body, bound, collections={"mine": lambda: 3}).passed
    mine.save(tmp_path / "saved")
    assert run(tmp_path, body, bound.replace("use = 'mine'", "path = 'saved'")).passed


def test_files_and_folders(tmp_path):
    (tmp_path / "b").mkdir()
    for name in (f"z{SUFFIX}", f"b/a{SUFFIX}", "other.toml"):
        (tmp_path / name).write_text(f"{BOUND}\n[[test]]\nname = '{name}'\nprogram = 'S'\ncount = 3", encoding="utf-8")
    assert [outcome.name for outcome in run_program_tests(tmp_path).outcomes] == [f"b/a{SUFFIX}", f"z{SUFFIX}"]
    assert len(run_program_tests([tmp_path / f"z{SUFFIX}", tmp_path / "b"]).outcomes) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert not run_program_tests(empty).passed and "no program tests" in str(run_program_tests(empty))
    with pytest.raises(DataError, match="missing_data"):
        run_program_tests(tmp_path / "absent")


def test_places_of_tests(tmp_path):
    file = read_program_tests(FOLDER / f"strategy{SUFFIX}")
    lines = file.path.read_text("utf-8").splitlines()
    assert all(lines[test.line - 1] == "[[test]]" and test.name in lines[test.line] for test in file.tests)
    inline = tmp_path / f"inline{SUFFIX}"
    inline.write_text('test = [{name = "x", program = "S", count = 1}]\n[relations]\nS = {a = 1}', encoding="utf-8")
    (test,) = read_program_tests(inline).tests
    assert test.line == 1 and engines_of(test) == ["vectorised"]
    assert run_program_test(read_program_tests(inline), test).passed
