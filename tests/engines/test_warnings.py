"""Warnings: which programs have them, where and with what numbers; which have none; the same beside every engine."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from programs import described, programs
from vectorised_tables import Encoder, Retriever, Tables

from pyterrier_alg import Program, ScoredRelation, vaswani
from pyterrier_alg.algebra import WARNINGS, Kind, ProgramError, ProgramWarning, Span, parse
from pyterrier_alg.collection import Collection, Column, Run, Topic
from pyterrier_alg.engines import warnings
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.registry import engine, engines
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.engines.warnings import find_warnings
from pyterrier_alg.parity.programs import PROGRAMS


class Reader(Encoder):
    """Knows the words of its table, and says which of a text it does not."""

    def encode(self, text):
        return np.float32(sum(np.array(self.table.get(word, [0, 0])) for word in text.split()))

    def unknown(self, text):
        return [word for word in text.split() if word not in self.table]


DOCNOS = [f"d{i}" for i in range(1, 8)]
TABLES = Tables(DOCNOS)
E = TABLES.matrix(
    {d: [float(i), 1.0 - i] for i, d in enumerate(DOCNOS)}, encoder=Reader({"wave": [1.0, 0.0], "guide": [0.0, 1.0]})
)
SCOPE = TABLES.scope(
    A=TABLES.relation({"d1": 1.0, "d2": 1.0, "d3": 0.5}),
    B=TABLES.relation({"d2": 2.0, "d7": -1.0}),
    S=TABLES.relation({d: float(i) for i, d in enumerate(DOCNOS)}),
    T=TABLES.relation({d: float(i % 3) for i, d in enumerate(DOCNOS)}),
    wide=TABLES.relation({d: 100.0 * i for i, d in enumerate(DOCNOS)}),
    huge=TABLES.relation({d: 1e308 if i else -1e308 for i, d in enumerate(DOCNOS)}),
    two=TABLES.relation({"d1": 2.0, "d2": 2.0}),
    one=TABLES.relation({"d1": 5.0}),
    none=TABLES.relation({}),
    half=TABLES.relation(dict.fromkeys(DOCNOS, 0.5)),
    share=TABLES.relation({d: i / 6 for i, d in enumerate(DOCNOS)}),
    N=TABLES.relation({"d1": -0.4, "d2": -0.1, "d3": 0.2}),
    w=TABLES.relation({"d1": 0.1, "d2": 1.0, "d3": 1.0}),
    m=TABLES.mask(["d1", "d2", "d3"]),
    far=TABLES.mask(["d7"]),
    nobody=TABLES.mask([]),
    E=E,
    lang=TABLES.column({"d1": "en", "d2": "de", "d3": "en"}),
    published=TABLES.column({"d1": "2024-01-01", "d2": "2024-02-01"}, Kind.DATE_COLUMN),
    bm25=Retriever({"d1": 3.0, "d2": 2.0, "d4": 1.0}),
    alpha=0.25,
    nought=0.0,
    query="wave guide",
    odd="wave flux wave flux",
)


def found(text, scope=SCOPE):
    return find_warnings(parse(text), scope)


# The program, with what is marked between ⟦ ⟧; the code; some of the details.
FOUND = [
    # A mask after the cut, whatever stands between.
    ("⟦m >> top(3, S)⟧", "cut_before_mask", {"mask": "m", "cut": "top(3, S)", "taken": 3, "kept": 0}),
    ("⟦m >> top(7, S)⟧", "cut_before_mask", {"taken": 7, "kept": 3}),
    ("best = top(3, S)\n⟦m >> (2 * best + T)⟧", "cut_before_mask", {"cut": "top(3, S)"}),
    ("best = top(3, S)\nagain = best\nlate = ⟦m >> -again⟧\ntop(2, late)", "cut_before_mask", {"kept": 0}),
    ("⟦m >> minmax(per(1, lang, S))⟧", "cut_before_mask", {"cut": "per(1, lang, S)", "taken": 2, "kept": 2}),
    ("⟦m >> mmr(2, S, E)⟧", "cut_before_mask", {"cut": "mmr(2, S, E)", "taken": 2}),
    ("(m | far) >> (⟦m >> top(7, S)⟧)", "cut_before_mask", {"mask": "m"}),
    # Rescaling of equal scores.
    ("⟦minmax(two)⟧", "constant_input", {"records": 2, "score": 2.0, "becomes": 1.0, "operand": "two"}),
    ("⟦minmax(one)⟧", "constant_input", {"records": 1, "score": 5.0, "becomes": 1.0}),
    ("x = two\n⟦zscore(x)⟧", "constant_input", {"becomes": 0.0, "operand": "x"}),
    ("⟦maxnorm(m >> half)⟧", "constant_input", {"records": 3, "becomes": 1.0}),
    # Scales of sums: of operands and of terms.
    ("⟦S + wide⟧", "scale_mismatch", {"wide": "wide", "wide_range": [0.0, 600.0], "narrow": "S", "ratio": 100.0}),
    ("top(2, ⟦T - 0.15 * wide⟧)", "scale_mismatch", {"wide": "-0.15 * wide", "wide_range": [-90.0, 0.0]}),
    ("boost = 0.15 * share\n⟦rrf(S, T) + boost⟧", "scale_mismatch",
     {"wide": "0.15 * share", "wide_range": [0.0, 0.15], "narrow": "rrf(S, T)"}),
    ("minmax(⟦2 * (T + 1) + (m >> wide)⟧)", "scale_mismatch", {"wide": "wide", "narrow": "2 * T"}),
    ("⟦huge - S⟧", "scale_mismatch", {"wide_range": [-1e308, 1e308], "ratio": sys.float_info.max}),
    ("⟦wide + S⟧", "scale_mismatch", {"wide_range": [0.0, 600.0], "narrow_range": [0.0, 6.0]}),
    # A weight that rewards.
    ("⟦w * N⟧", "negative_under_weight", {"weight": "w", "relation": "N", "negative": 2, "overtaking": 1,
                                          "docno": "d1", "score": -0.4, "product": -0.4 * 0.1}),
    ("x = N\ntop(3, ⟦x * (m >> w)⟧)", "negative_under_weight", {"weight": "m >> w", "relation": "x"}),
    # Dropped records.
    ("⟦A - 0.5 * B⟧", "one_sided_records",
     {"left": "A", "right": "0.5 * B", "kept": 1, "dropped_by_left": 1, "dropped_by_right": 2,
      "examples": ["d7", "d1", "d3"]}),
    ("top(2, ⟦A * (E @ query)⟧)", "one_sided_records", {"kept": 3, "dropped_by_left": 4, "dropped_by_right": 0}),
    ("⟦bm25(query) + E @ query⟧", "one_sided_records", {"kept": 2, "dropped_by_left": 5}),
    ("⟦w * (S - half)⟧", "one_sided_records", {"dropped_by_left": 4}),
    ("(m | far) >> (⟦w * S⟧)", "one_sided_records", {"dropped_by_left": 1, "examples": ["d7"]}),
    ("⟦(m >> S) - (far >> S)⟧", "one_sided_records", {"kept": 0, "dropped_by_left": 1, "dropped_by_right": 3}),
    ("⟦none + T⟧", "one_sided_records", {"kept": 0, "dropped_by_left": 7}),
    ("x = 2 * A\nminmax(⟦x * S⟧)", "one_sided_records", {"left": "x", "dropped_by_left": 4, "dropped_by_right": 0}),
    # Coefficients.
    ("S + ⟦0⟧ * T", "inert_coefficient", {"coefficient": "0", "reason": "zero", "operand": "T"}),
    ("⟦nought⟧ * S + T", "inert_coefficient", {"coefficient": "nought", "value": 0.0}),
    ("S * (⟦alpha - 0.25⟧) + T", "inert_coefficient", {"coefficient": "alpha - 0.25"}),
    ("E @ (encode(E, query) - ⟦0⟧ * row(E, 'd1'))", "inert_coefficient", {"reason": "zero"}),
    ("S - ⟦alpha⟧ * half", "inert_coefficient", {"coefficient": "alpha", "reason": "constant", "score": 0.125}),
    ("x = half / ⟦2⟧\ntop(3, m >> (S + (T + x)))", "inert_coefficient", {"reason": "constant"}),
    ("rrf(S, ⟦alpha⟧ * T)", "inert_coefficient", {"coefficient": "alpha", "operand": "T", "reason": "rescaled"}),
    ("minmax(top(3, m >> -(⟦2⟧ * S))) + S", "inert_coefficient", {"reason": "rescaled"}),
    ("support(S / ⟦2⟧) >> T", "inert_coefficient", {"reason": "rescaled"}),
    # Masks that let nothing through, and which part is to blame.
    ("⟦nobody⟧ >> S", "empty_mask", {"mask": "nobody", "records": 0}),
    ("(⟦S >= 30⟧) >> T", "empty_mask", {"mask": "S >= 30"}),
    ("p = m & (⟦S > 6⟧)\np >> T", "empty_mask", {"mask": "S > 6"}),
    ("⟦m & far⟧ >> T", "empty_mask", {"mask": "m & far"}),
    ("(⟦isin(lang, 'fr')⟧ | m) >> S", "empty_mask", {"mask": 'isin(lang, "fr")'}),
    ("(⟦published < '2024-01-01'⟧) >> S", "empty_mask", {"mask": 'published < "2024-01-01"'}),
    ("⟦~all⟧ >> S", "empty_mask", {"mask": "~all"}),
    ("⟦support(none)⟧ >> S", "empty_mask", {"mask": "support(none)"}),
    ("⟦far⟧ >> A", "empty_mask", {"mask": "far", "records": 1, "relation": "A"}),
    # Words that are not known.
    ("E @ ⟦odd⟧", "text_ignored", {"tokens": ["flux"], "space": "space", "matrix": "E"}),
    ("closeness(E, ⟦'guide flux hum'⟧)", "text_ignored", {"tokens": ["flux", "hum"]}),
    ("x = encode(E, ⟦odd⟧)\nE @ x + E @ odd", "text_ignored", {"text": "wave flux wave flux"}),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "code", "details"), FOUND)
def test_one_warning_with_its_place_and_its_numbers(marked, code, details):
    text = marked.replace("⟦", "").replace("⟧", "")
    scope = TABLES.scope(**{**SCOPE.operands, "all": TABLES.mask(DOCNOS)})
    (warning,) = find_warnings(parse(text), scope)
    assert warning.code == code
    assert text[warning.span.start : warning.span.stop].strip("()") == marked[
        marked.index("⟦") + 1 : marked.index("⟧")
    ].strip("()")
    assert {key: warning.details[key] for key in details} == details
    assert "\n" not in warning.message and "\n" not in warning.hint and warning.hint
    assert json.loads(json.dumps(warning.to_dict())) == warning.to_dict()


def test_every_code_is_in_the_list_and_found():
    assert {code for _, code, _ in FOUND} == set(WARNINGS)


NONE = [
    *(program.text.replace("q1", "row(E, 'd1')").replace("q2", "row(E, 'd2')") for program in PROGRAMS),
    "top(3, m >> S)",
    "support(top(3, S)) >> T",
    "m >> fill(0, top(3, S))",
    "unused = m >> top(3, S)\nlost = A - 0.5 * B\nS",
    # Equal scores of nothing; scores that differ.
    "minmax(none)",
    "softmax(two)",
    # Written to be so: a share, a coefficient that evens scales out, or more than that.
    "0.95 * S + 0.05 * T",
    "S + 0.01 * wide",
    "S + 0.001 * wide",
    "S + T + S + T + S + T + S + T + S + T + S + T",
    # Order among the negative is as it was, or the weight is none.
    "w * (N + 0.3)",
    "w * (m >> fill(-0.2, none))",
    "2 * w * N",
    "N * (m >> (S + 0.5))",
    # Masks, selections and fill say what is to go; so does a mask around; a boost says nothing of what is found.
    "w * (m >> (E @ query))",
    "m >> (w * (E @ query))",
    "w * top(3, m >> (E @ query))",
    "half * bm25(query)",
    "bm25(query) + 0.1 * half * S",
    "A - 0.5 * fill(0, B)",
    "(support(A) | support(B)) >> (fill(0, A) - 0.5 * fill(0, B))",
    "A * (support(A) >> (E @ query))",
    "pool = support(bm25(query))\nminmax(bm25(query)) * (pool >> (E @ query - 0.5 * (E @ 'wave')))",
    # Coefficients that count: scores are compared, multiplied, cut by value, or shown.
    "0.5 * S",
    "top(3, 0.5 * S)",
    "T * (S + alpha * half)",
    "((S + alpha * half) >= 3) >> T",
    "minmax(-1 * S)",
    "rrf(S + 2 * T, T)",
    "clip(0, 1, 2 * S)",
    "mmr(2, 2 * S, E)",
    # Masks: of nothing, negated, or in which something is left.
    "m >> none",
    "~(S >= 30) >> T",
    "~nobody >> T",
    "(m | nobody) >> T",
    "isin(lang, 'fr', 'en') >> S",
    # Words that are known.
    "E @ query",
]


@pytest.mark.parametrize("text", NONE)
def test_no_warning(text):
    assert found(text) == ()


def test_several_warnings_stand_in_the_order_of_the_text():
    warnings = found("late = m >> top(7, S)\nminmax(two) + (late + 0 * A)")
    assert [(w.code, w.span.start) for w in warnings] == [
        ("cut_before_mask", 7),
        ("constant_input", 22),
        ("one_sided_records", 22),
        ("inert_coefficient", 44),
    ]


def test_an_expression_that_stands_twice_is_warned_of_once_where_it_stands_first():
    (warning,) = found("minmax(two) + minmax(two)")
    assert warning.span == Span(0, 11)
    # Not where a step that nothing uses has it.
    (warning,) = found("unused = minmax(two)\n2 + minmax(two)")
    assert warning.span.start == 25


def test_a_program_that_fails_has_none():
    assert found("maxnorm(-S) + minmax(two)") == ()
    with pytest.raises(ProgramError):
        found("nosuch + minmax(two)")


def test_a_program_that_python_built_has_warnings_without_a_place():
    formula = parse("minmax(two)")
    built = type(formula)((), formula.result.at(None))
    (warning,) = find_warnings(built, SCOPE)
    assert warning.span is None
    assert warning.render(built.ascii).startswith("constant_input: all 2 records of two")


def test_what_a_person_sees():
    text = "x = 2 * S\ntop(3, m >> top(2, x))"
    (warning,) = found(text)
    assert warning.render(text).splitlines() == [
        "cut_before_mask: top(2, x) takes its records before m is asked, which lets 0 of 2 through",
        "  line 2: top(3, m >> top(2, x))",
        "                 ^^^^^^^^^^^^^^",
        "  hint: restrict first: top(2, m >> x)",
    ]


HINTS = [
    ("A - 0.5 * B", "to keep them, (support(A) | support(0.5 * B)) >> (fill(0, A) - fill(0, 0.5 * B))"),
    ("A * S", "to keep them, fill(1, A) * S"),
    ("S + A", "to keep them, S + fill(0, A)"),
    ("m >> (2 * top(3, S))", "restrict first: top(3, m >> S) for top(3, S)"),
    ("w * N", "make the scores positive first: w * minmax(N)"),
    ("(S >= 30) >> T", "maybe S >= 3"),
    ("isin(lang, 'fr') >> S", 'maybe isin(lang, "en")'),
    ("S + wide", "bring both to one scale first: minmax(wide) and minmax(S)"),
]


@pytest.mark.parametrize(("text", "start"), HINTS)
def test_hints_are_edits(text, start):
    (warning,) = found(text)
    assert warning.hint.startswith(start)


@pytest.mark.parametrize("text", ["A - 0.5 * B", "S + A", "A * S"])
def test_the_edits_that_a_dropped_record_is_offered_end_the_warning(text):
    (warning,) = found(text)
    keep, drop = warning.hint.removeprefix("to keep them, ").split("; to say that they are to go, ")
    assert found(keep) == ()
    assert len(VectorisedEngine().run(parse(keep), SCOPE)) > warning.details["kept"]
    new, old = drop.split(" for ")
    if warning.details["dropped_by_left"] == 0 or warning.details["dropped_by_right"] == 0:
        assert found(text.replace(old, f"({new})")) == ()


@pytest.mark.parametrize("text", [program.text for program in PROGRAMS])
def test_the_paper_s_programs_have_none(text):
    assert Program(text, vaswani()).run().warnings == ()


def test_the_programs_that_orient_suggests_have_none():
    collection, topic = vaswani(), Topic("1", load_topic("1"))
    texts = [text for name in ("E", "bm25", "q1", "w", "m", "length") for text in _examples(collection, name)]
    assert len(texts) >= 6
    assert {text: found(text, collection.at(topic)) for text in texts} == dict.fromkeys(texts, ())


def load_topic(qid):
    from pyterrier_alg.collection.vaswani_data import load_vaswani

    topics = load_vaswani().topics()
    return topics["query"][topics["qid"] == qid].item()


def _examples(collection, name):
    return collection.orient(name).to_dict()["operand"]["examples"]


def test_what_differs_from_query_to_query_is_a_search():
    collection = Collection(DOCNOS).bind(
        weight={d: 1.0 + i for i, d in enumerate(DOCNOS)},
        pool=_run({"1": {"d1": 1.0, "d2": 2.0}}),
        few={"d1": 1.0},
        lang=Column({"d1": "en"}),
    )
    scope = collection.at(Topic("1", "wave"))
    assert found("weight * pool", scope) == ()
    (warning,) = found("few * pool", scope)
    assert warning.details["dropped_by_left"] == 1


def _run(scores):
    rows = [(qid, docno, score) for qid, found in scores.items() for docno, score in found.items()]
    return Run(pd.DataFrame(rows, columns=["qid", "docno", "score"]))


@pytest.mark.parametrize("name", engines())
def test_every_engine_has_the_same_beside_its_result(name):
    text = "late = m >> top(3, S)\nminmax(two) + (late + 2) + minmax(S + wide)"
    expected = find_warnings(parse(text), SCOPE)
    assert {w.code for w in expected} >= {"cut_before_mask", "constant_input", "scale_mismatch"}
    assert engine(name).run(parse(text), SCOPE).warnings == expected
    assert [r.warnings for r in engine(name).run_all(parse(text), [SCOPE, SCOPE])] == [expected, expected]


def counted(monkeypatch):
    """How often warnings were looked for."""
    calls = []
    real = warnings.find_warnings

    def counting(formula, scope):
        calls.append(formula)
        return real(formula, scope)

    monkeypatch.setattr(warnings, "find_warnings", counting)
    return calls


def test_nothing_is_looked_for_until_it_is_asked_for_and_then_once(monkeypatch):
    calls = counted(monkeypatch)
    retriever = Retriever({"d1": 3.0})
    scope = TABLES.scope(**{**SCOPE.operands, "bm25": retriever})
    relation = VectorisedEngine().run(parse("minmax(bm25(query))"), scope)
    assert (repr(relation), hash(relation), relation == relation, len(relation.to_frame())) and not calls
    assert len(retriever.asked) == 1
    assert relation.warnings is relation.warnings
    assert len(calls) == 1 and len(relation.warnings) == 1


def test_a_transformer_collects_nothing_and_prints_nothing(monkeypatch, capfd):
    calls = counted(monkeypatch)
    frame = Program("m >> top(3, E @ q1)", vaswani())(topics_frame())
    assert len(frame) and not calls
    assert capfd.readouterr() == ("", "")


def topics_frame():
    return pd.DataFrame({"qid": ["1"], "query": [load_topic("1")]})


def test_warnings_are_no_part_of_a_relation_s_content():
    run = VectorisedEngine().run(parse("minmax(two)"), SCOPE)
    plain = ScoredRelation.of({"d1": 1.0, "d2": 1.0})
    assert plain.warnings == ()
    assert run == plain and hash(run) == hash(plain) and repr(run) == repr(plain)


@pytest.mark.parametrize("asked_before", [True, False])
@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_copies_carry_what_was_found_and_not_the_collection(copied, asked_before):
    run = VectorisedEngine().run(parse("minmax(two)"), SCOPE)
    assert not asked_before or run.warnings
    other = copied(run)
    assert other == run and other.warnings == run.warnings and len(other.warnings) == 1
    assert len(pickle.dumps(other)) < 3000


def test_a_warning_is_a_value():
    first, second = found("minmax(two)")[0], found("minmax(two)")[0]
    assert first == second and hash(first) == hash(second)
    assert first != ProgramWarning(first.code, first.message, first.span, first.hint)
    assert pickle.loads(pickle.dumps(first)) == first


def test_large_programs_stay_linear_and_do_not_recurse():
    flat = " + ".join(f"{i % 7 + 1} * S" if i % 2 else "(m >> T)" for i in range(3000))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        assert found(flat) == ()
        assert found("s0 = S\n" + "\n".join(f"s{i + 1} = s{i} + s{i}" for i in range(300)) + "\ns300") == ()
        assert [w.code for w in found("m >> " + "-(" * 300 + "top(2, S)" + ")" * 300)] == ["cut_before_mask"]
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.filterwarnings("error")
@settings(max_examples=200, deadline=None)
@given(programs())
def test_programs_that_run_can_be_looked_at_and_give_the_same(drawn):
    formula, scope = drawn
    engine = VectorisedEngine()
    try:
        before = engine.run(formula, scope)
    except ProgramError:
        assert find_warnings(formula, scope) == ()
        return
    found = before.warnings
    assert engine.run(formula, scope) == before, described(formula, scope)
    assert DefinitionEngine().run(formula, scope).warnings == found
    for warning in found:
        assert warning.code in WARNINGS
        assert "\n" not in warning.message
        assert json.dumps(warning.to_dict(), allow_nan=False)
        assert warning.render(formula.source).startswith(f"{warning.code}: ")
    assert len({(w.code, w.details["expression"], w.span) for w in found}) == len(found)


def command(*arguments):
    root = Path(__file__).parents[2]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-c", "from pyterrier_alg.cli import main; main()", "run", *arguments],
        capture_output=True, text=True, encoding="utf-8", timeout=300,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip


def test_the_command_line_shows_them_below_the_table():
    done = command("m >> top(3, E @ q1)")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: cut_before_mask: top(3, E @ q1) takes its records before m is asked, which lets 2 of 3 through",
        "  m >> top(3, E @ q1)",
        "  ^^^^^^^^^^^^^^^^^^^",
        "  hint: restrict first: top(3, m >> (E @ q1))",
    ]
    assert "warning" not in done.stdout
    quiet = command("top(3, m >> (E @ q1))")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_the_command_line_has_them_in_json_and_on_stderr_beside_a_run():
    done = command("m >> top(3, E @ q1)", "--json")
    (warning,) = json.loads(done.stdout)["results"][0]["warnings"]
    assert (warning["code"], warning["span"], warning["details"]["kept"], done.stderr) == (
        "cut_before_mask", [0, 19], 2, ""
    )  # fmt: skip
    done = command("minmax(top(1, bm25(query)))", "--all-topics", "--format", "run")
    assert len(done.stdout.splitlines()) == 93
    assert done.stderr.count("constant_input") == 1
    assert "in 93 of 93 topics, here for the first" in done.stderr
