"""Absence: the first reason, and edits of which each admits the record and its neighbour does not."""

import json
from dataclasses import replace
from datetime import date
from functools import cache

import numpy as np
import pytest
from holding import FEW, MANY
from hypothesis import assume, given, note
from programs import described, programs

from pyterrier_alg import Program, parse, vaswani
from pyterrier_alg.algebra import AlgebraError, Count, EvaluationError, Number, ProgramError, Space, Text, check
from pyterrier_alg.algebra.expressions import Apply, Expression, Retrieve
from pyterrier_alg.algebra.restricting import with_parts
from pyterrier_alg.collection import Collection, Column, Matrix, Retriever, Topic
from pyterrier_alg.collection.operands import NumberOperand
from pyterrier_alg.session._floats import ordinal
from pyterrier_alg.session._situation import Situation
from pyterrier_alg.session.absence import absence, why_not


def ran(formula, scope):
    try:
        check(formula, scope.bindings)
        situation = Situation(formula, scope)
        return situation, situation.run()
    except (ProgramError, EvaluationError):
        assume(False)


def literals(edit, value):
    """An edited program's text with another value in the place of the edit's own; None where that is not one place."""
    formula = parse(edit.program)
    sorts = {float: lambda v: Number(v), int: lambda v: Count(str(v)), str: lambda v: Text(v)}
    mine = sorts[type(value)]
    found = []

    def visit(node: Expression) -> Expression:
        if node == mine(edit.after):
            found.append(node)
            return mine(value)
        return with_parts(node, [visit(part) for part in node.parts]) if isinstance(node, Apply | Retrieve) else node

    lines = [f"{name} = {visit(expression)!r}" for name, expression in formula.steps]
    text = "\n".join([*lines, repr(visit(formula.result))])
    return text if len(found) == 1 else None


def run_edited(scope, text, numbers):
    """A program's result as the reader of an edit would have it: from its text and the values of its numbers."""
    operands = {**scope.operands, **{name: NumberOperand(value) for name, value in numbers.items()}}
    try:
        return Situation(parse(text), replace(scope, operands=operands)).run()
    except (ProgramError, EvaluationError):
        return {}


def place_of(value):
    """Where a number, a count or a day stands among its like."""
    if isinstance(value, str):
        return date.fromisoformat(value).toordinal()
    return ordinal(value) if isinstance(value, float) else value


@FEW
@given(programs())
def test_every_edit_admits_the_record_and_the_next_smaller_one_does_not(drawn):
    hold_edits(*drawn)


@pytest.mark.deep
@MANY
@given(programs())
def test_every_edit_of_many_programs(drawn):
    hold_edits(*drawn)


def hold_edits(formula, scope):
    situation, result = ran(formula, scope)
    absent = [docno for docno in scope.docnos.tolist() if docno not in result]
    assume(absent)
    note(described(formula, scope))
    for docno in absent:
        found = absence(situation, docno)
        assert found.tried >= len(found.edits)
        for edit in found.edits:
            assert run_edited(scope, edit.program, edit.numbers).docnos.tolist()[edit.rank] == docno, edit
            if edit.not_yet is None:
                continue
            assert abs(place_of(edit.after) - place_of(edit.not_yet)) == 1
            text = edit.program if edit.numbers else literals(edit, edit.not_yet)
            if text is not None:
                numbers = dict.fromkeys(edit.numbers, edit.not_yet)
                assert docno not in run_edited(scope, text, numbers), edit
        sizes = [edit.size for edit in found.edits]
        assert sizes == sorted(sizes)
        json.dumps(found.to_dict(), allow_nan=False)
        assert repr(found) and found._repr_html_()


SPACE = Space("plane", 2, "inner product")
C = Collection(["a", "b", "c", "d", "e"]).bind(
    S={"a": 5.0, "b": 4.0, "c": 3.0, "d": 1.0},
    T={"a": 1.0, "b": 2.0, "d": 9.0},
    year={"a": 1960.0, "b": 1970.0, "c": 1965.0},
    alpha=0.5,
    least=1968.0,
    m={"a", "b"},
    n={"b", "c"},
    lang=Column({"a": "en", "b": "de", "c": "fr"}),
    published=Column({"a": date(2024, 1, 1), "b": date(2023, 5, 5)}),
    E=Matrix({"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 1.0]}, SPACE),
    bm25=Retriever(
        type(
            "Found",
            (),
            {
                "identity": "three",
                "default_depth": 1,
                "search": lambda self, text, depth: dict([("c", 3.0), ("a", 2.0), ("b", 1.0)][:depth]),
            },
        )()
    ),
)

#: A program, a record; the reason's code and where it is found; the edits that admit it, as kind and program or value.
CASES = [
    ("top(2, S)", "c", "below_cut", "top(2, S)", [("count", 3)]),
    ("S", "e", "no_score", "S", []),
    ("S + T", "c", "no_score", "T", [("fill", "S + fill(0, T)")]),
    ("S * T", "c", "no_score", "T", [("fill", "S * fill(1, T)")]),
    ("m >> S", "c", "not_in_mask", "m", [("mask", "S")]),
    ("(m & n) >> S", "c", "not_in_mask", "m", [("clause", "n >> S"), ("mask", "S")]),
    ("(m & n) >> S", "d", "not_in_mask", "m", [("mask", "S")]),
    ("(m | n) >> S", "d", "not_in_mask", "m | n", [("mask", "S")]),
    ("~m >> S", "a", "not_in_mask", "m", [("mask", "S")]),
    ("(~m & all) >> S", "a", "not_in_mask", "m", [("clause", "all >> S"), ("mask", "S")]),
    ("~(m | n) >> S", "a", "not_in_mask", "m", [("clause", "~n >> S"), ("mask", "S")]),
    ("~(m & all) >> S", "a", "not_in_mask", "m & all", [("mask", "S")]),
    ("(year >= 1966) >> S", "c", "not_in_mask", "year >= 1966", [("threshold", 1965.0), ("mask", "S")]),
    ("(year > 1965) >> S", "c", "not_in_mask", "year > 1965",
     [("threshold", float(np.nextafter(1965.0, 0))), ("mask", "S")]),
    ("(year <= 1960) >> S", "c", "not_in_mask", "year <= 1960", [("threshold", 1965.0), ("mask", "S")]),
    ("(year < 1965) >> S", "c", "not_in_mask", "year < 1965",
     [("threshold", float(np.nextafter(1965.0, 3000))), ("mask", "S")]),
    ("~(year < 1966) >> S", "c", "not_in_mask", "year < 1966", [("threshold", 1965.0), ("mask", "S")]),
    ("(year >= least) >> S", "c", "not_in_mask", "year >= least", [("threshold", 1965.0), ("mask", "S")]),
    ("(year >= 1900) >> S", "d", "not_in_mask", "year >= 1900", [("mask", "S")]),
    ('(published >= "2024-01-01") >> S', "b", "not_in_mask", 'published >= "2024-01-01"',
     [("threshold", "2023-05-05"), ("mask", "S")]),
    ('(published < "2023-05-05") >> S', "b", "not_in_mask", 'published < "2023-05-05"',
     [("threshold", "2023-05-06"), ("mask", "S")]),
    ('isin(lang, "en") >> S', "b", "not_in_mask", 'isin(lang, "en")',
     [("value", 'isin(lang, "en", "de") >> S'), ("mask", "S")]),
    ('isin(S, 5) >> S', "b", "not_in_mask", "isin(S, 5)", [("value", "isin(S, 5, 4) >> S"), ("mask", "S")]),
    ('ids("a") >> S', "b", "not_in_mask", 'ids("a")', [("value", 'ids("a", "b") >> S'), ("mask", "S")]),
    ('~isin(lang, "en") >> S', "a", "not_in_mask", 'isin(lang, "en")', [("mask", "S")]),
    ("support(T) >> S", "c", "not_in_mask", "support(T)", [("mask", "S")]),
    ("pool = m & n\ntop(3, pool >> S)", "c", "not_in_mask", "m",
     [("clause", "pool = n\ntop(3, pool >> S)"), ("mask", "pool = m & n\ntop(3, S)")]),
    ("E @ row(E, \"a\")", "d", "no_vector", 'E @ row(E, "a")', []),
    ("days_since(published, \"2024-02-01\")", "c", "no_value", 'days_since(published, "2024-02-01")', []),
    ("per(1, lang, S)", "d", "no_value", "lang", []),
    ("per(1, fill(0, T) * 0, S)", "b", "below_group_cut", "per(1, fill(0, T) * 0, S)",
     [("count", 2)]),
    ("mmr(1, S, E)", "d", "no_vector", "mmr(1, S, E)", []),
    ("mmr(1, S, E)", "c", "not_chosen", "mmr(1, S, E)", [("count", 3)]),
    ("bm25(\"x\")", "a", "below_depth", 'bm25("x")', [("count", 2)]),
    ("bm25(\"x\", 2)", "b", "below_depth", 'bm25("x", 2)', [("count", 3)]),
    ("bm25(\"x\")", "e", "not_retrieved", 'bm25("x")', []),
    ("rrf(S, T, depth=1)", "b", "below_depth", "rrf(S, T, depth=1)", [("count", 2)]),
    ("rrf(S, T)", "e", "no_score", "S", []),
    ("m >> top(1, S)", "b", "below_cut", "top(1, S)", [("count", 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "docno", "code", "at", "edits"), CASES, ids=lambda value: str(value)[:40])
def test_reasons_and_edits(text, docno, code, at, edits):
    found = why_not(Program(text, C), docno)
    assert (found.reason.code, found.reason.expression) == (code, at)
    assert [(e.kind, e.program if e.after is None else e.after) for e in found.edits] == edits
    assert found.edit == (found.edits[0] if edits else None)
    assert ("no single edit" in repr(found) or "no edit" in repr(found)) == (not edits)
    for edit in found.edits:
        numbers = dict(edit.numbers)
        assert docno in Program(edit.program, C.with_numbers(**numbers)).run()


@cache
def on_vaswani():
    return vaswani().bind(alpha=0.25)


def among(text, docno, collection=None):
    return docno in Program(text, collection or on_vaswani()).run()


@pytest.mark.parametrize(
    ("text", "place", "moved"),
    [
        ("top(10, E @ q1 - 0.5 * (E @ q2))", 11, 2),
        ("top(10, E @ q1 - 0.5 * (E @ q2))", 12, 0),
        ("top(10, w * (m >> (E @ q1 - 0.5 * (E @ q2))))", 36, 1),
        ("top(10, (1 - alpha) * (E @ q1) + alpha * (E @ q2))", 11, 2),
        ("x = alpha * (E @ q2)\ntop(5, x + (E @ q1) / 2)", 6, None),
        ("top(10, E @ (q1 - 0.5 * q2))", 11, 2),
        ("v = q1 - alpha * q2\ntop(10, 2 * (E @ v))", 14, None),
        ("top(10, minmax(E @ q1) + fill(0.25, m >> (E @ q2)))", 11, 1),
    ],
)
def test_break_points_are_exact(text, place, moved):
    program = Program(text, on_vaswani())
    whole = Program(text.replace("top(10", "top(50").replace("top(5,", "top(50,"), on_vaswani()).run()
    docno = whole.docnos[place]
    found = why_not(program, docno)
    assert found.reason.code == "below_cut" and found.reason.details["rank"] == place
    edits = [edit for edit in found.edits if edit.kind == "coefficient"]
    assert moved is None or len(edits) == moved

    def has(edit, value):
        if edit.numbers:
            numbers = dict.fromkeys(edit.numbers, value)
            return among(text, docno, on_vaswani().with_numbers(**numbers))
        return among(literals(edit, value), docno)

    for edit in edits:
        assert has(edit, edit.after) and not has(edit, edit.not_yet)
        assert edit.not_yet == np.nextafter(edit.after, edit.before)
        # Nothing nearer to what the program has would do.
        between = np.linspace(edit.before, edit.not_yet, 9)[:-1].tolist()
        assert not any(has(edit, value) for value in between)


@pytest.mark.parametrize("place", [11, 12, 14])
def test_where_no_value_of_a_coefficient_is_found_there_is_none(place):
    text = "top(10, one * (E @ q1) - half * (E @ q2))"
    collection = on_vaswani().bind(one=1.0, half=0.5)
    docno = Program(text.replace("10", "50"), collection).run().docnos[place]
    found = {name for edit in why_not(Program(text, collection), docno).edits for name in edit.numbers}
    for name in {"one", "half"} - found:
        for value in np.linspace(-8, 8, 65).tolist():
            assert not among(text, docno, collection.with_numbers(**{name: value}))


def test_the_k_is_the_smallest():
    program = Program("top(10, E @ q1 - 0.5 * (E @ q2))", on_vaswani())
    whole = Program("E @ q1 - 0.5 * (E @ q2)", on_vaswani()).run()
    for rank in (10, 37, 11428):
        found = why_not(program, whole.docnos[rank])
        edit = next(edit for edit in found.edits if edit.kind == "count")
        assert (edit.before, edit.after, edit.not_yet, edit.rank) == (10, rank + 1, rank, rank)
        assert found.reason.details["gap"] == whole.scores[9] - whole.scores[rank]


def test_a_tie_at_the_cut_is_said_to_be_one():
    found = why_not(Program("top(1, 0 * S)", C), "b")
    assert found.reason.details["gap"] == 0 and "ties with 'a'" in found.reason.message


def test_over_a_pool():
    topic = Topic("1", "x", input={"a": 1.0, "b": 3.0, "c": 2.0, "d": 0.5})
    program = Program("top(2, m >> (input + S))", C)
    outside = why_not(program, "e", topic)
    assert (outside.reason.code, outside.edits, outside.tried) == ("not_in_pool", (), 0)
    masked = why_not(program, "c", topic)
    assert (masked.reason.code, masked.reason.expression) == ("not_in_mask", "m")
    assert [(edit.kind, edit.program) for edit in masked.edits] == []
    cut = why_not(Program("x = input\ntop(1, (m & all) >> (x + 0.1 * S))", C), "a", topic)
    assert {edit.kind for edit in cut.edits} == {"count", "coefficient"}
    for edit in cut.edits:
        assert "a" in Program(edit.program, C).run(topic)
    clause = why_not(Program("(m & all) >> input", C), "c", topic)
    assert [edit.program for edit in clause.edits] == ["all >> input", "input"]


@pytest.mark.parametrize(
    ("docno", "code"), [("a", "present_record"), ("aa", "unknown_docno"), (3, "bad_argument"), ("", "unknown_docno")]
)
def test_records_that_cannot_be_asked_for(docno, code):
    with pytest.raises(AlgebraError) as error:
        why_not(Program("S", C), docno)
    assert error.value.code == code and error.value.hint


@pytest.mark.parametrize("arguments", [("top(1, S)", "a"), (Program("S", C), "e", 3)])
def test_what_is_no_program_or_no_query(arguments):
    with pytest.raises(AlgebraError) as error:
        why_not(*arguments)
    assert error.value.code == "bad_argument"


def test_deep_programs():
    terms = " + ".join(f"0.{i % 9 + 1} * S" for i in range(2000))
    found = why_not(Program(f"top(1, {terms})", C), "b")
    assert found.reason.code == "below_cut" and found.edit.kind == "count"
    assert len(repr(found)) < 3000
    nested = why_not(Program("S + (" * 500 + "T" + ")" * 500, C), "c")
    assert nested.reason.code == "no_score" and nested.edits
