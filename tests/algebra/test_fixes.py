"""Edits that repair a program: each gives a text that reads, and the ones in the table the text that was meant."""

import pickle
from pathlib import Path

import pytest
from bound import BINDINGS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fuzz import TOKENS

from pyterrier_alg.algebra import Binding, Fix, Kind, Name, ProgramError, Span, Type, as_formula, check, parse
from pyterrier_alg.algebra.errors import edited
from pyterrier_alg.algebra.expressions import lift

HERE = Path(__file__).parent


def rows(name):
    for line in HERE.joinpath(name).read_text("utf-8").splitlines():
        line = line.replace(" ⏎ ", "\n").replace("␠", "\xa0")
        mark = next((mark for mark in ("  →  ", "  ⇢  ") if mark in line), None)
        if mark and not line.startswith("# "):
            yield (*line.split(mark), mark.strip())


FIXES = list(rows("fixes.txt"))
FAULTY = [
    row[0].replace("∅", "\u200b") for name in ("errors.txt", "sentences.txt", "examples.txt") for row in rows(name)
]


def fault(program, bindings=BINDINGS):
    """What is wrong with a program, if anything is."""
    try:
        check(as_formula(program), bindings)
    except ProgramError as error:
        return error
    return None


@pytest.mark.parametrize(("program", "mended", "mark"), FIXES, ids=lambda text: text[:50])
def test_the_edit_is_the_one_that_was_meant(program, mended, mark):
    error = fault(program)
    assert error is not None
    assert error.fix == (None if mended == "∅" else mended)
    if error.fix is not None:
        parse(error.fix)
        assert (fault(error.fix) is None) == (mark == "→")


@pytest.mark.parametrize("program", FAULTY)
def test_what_an_edit_leaves_reads(program):
    error = fault(program)
    if error is not None and error.fix is not None:
        parse(error.fix)
        assert error.fix != program


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*TOKENS, "q9", "lang", "published", "alpha", " and ", "&&", "“", "5.", "0.5S"]),
                max_size=14).map(" ".join))  # fmt: skip
def test_what_an_edit_leaves_reads_whatever_was_written(program):
    error = fault(program)
    if error is not None:
        for diagnostic in error.diagnostics:
            if diagnostic.fix is not None:
                parse(edited(program, [diagnostic.fix]))
        if error.fix is not None:
            parse(error.fix)


def test_edits_that_overlap_are_not_made_together():
    fixes = [Fix(Span(0, 5), "x"), Fix(Span(2, 3), "y"), Fix(Span(5, 5), "z"), Fix(Span(6, 7), "")]
    assert edited("abcdefg", fixes) == "xzf"
    assert edited("abc", [Fix(Span(1, 1), "1"), Fix(Span(1, 1), "2")]) == "a12bc"


def test_an_error_keeps_its_edits_when_it_is_pickled():
    error = fault("S >> T")
    assert pickle.loads(pickle.dumps(error)).fix == error.fix == "support(S) >> T"


def test_what_python_built_is_mended_in_its_canonical_text():
    assert fault(Name("s") >> Name("T")).fix is None
    assert fault(Name("S") >> Name("T")).fix == "support(S) >> T"
    formula = parse("S >> T")
    parts = type(formula)((), formula.result)
    with pytest.raises(ProgramError) as caught:
        check(parts, BINDINGS)
    assert caught.value.fix is None
    assert caught.value.diagnostics[0].hint == "maybe support(S)"


@pytest.mark.parametrize(
    ("program", "candidates", "expected"),
    [
        ("x9 >> S", ("all", "m", "n"), ("mask",)),
        ("E @ x9", ("now", "q1", "q2", "query"), ("text", "vector")),
        ("E @ (q1 - x9)", ("q1", "q2"), ("vector",)),
        ("E @ unit(x9)", ("q1", "q2"), ("vector",)),
        ("closeness(F, x9)", ("f", "now", "query"), ("text", "vector")),
        ("x9 @ p", (), ("matrix",)),
        ("x9 @ q1", ("E",), ("matrix",)),
        ("per(1, x9, S)", ("A", "S", "T", "group by", "lang", "published", "w", "year"),
         ("date column", "relation", "text column")),
        ("days_since(x9, now)", ("published",), ("date column",)),
        ("S / x9", ("alpha",), ("number",)),
        ("fill(x9, S)", ("alpha",), ("number",)),
        ("bm25(x9)", ("now", "query"), ("text",)),
        ("mmr(3, S, E, relevance=x9)", ("alpha",), ("number",)),
        ("E @ q3", ("q2", "q1"), ("text", "vector")),
        ("fill(x9 + 1, S)", ("alpha",), ("number",)),
        ("y = m\nY >> S", ("y",), ("mask",)),
        ("y = S\nY >> S", ("all", "m", "n"), ("mask",)),
        ("x9 = nosuch\nx9 >> S", tuple(sorted([*BINDINGS]))[:12], ()),
    ],
)  # fmt: skip
def test_candidates_are_of_a_fitting_kind_and_space(program, candidates, expected):
    first = next(d for d in fault(program).diagnostics if d.code == "unknown_name")
    assert first.candidates == candidates
    assert first.expected == expected


def test_vectors_of_the_right_space_are_suggested_for_one_of_another():
    first = fault("E @ p").diagnostics[0]
    assert (first.code, first.candidates) == ("space", ("q1", "q2"))
    assert (first.expected, first.found) == (("vector[words]",), "vector[others]")


@pytest.mark.parametrize("program", FAULTY)
def test_every_kind_fault_says_what_is_expected_and_what_is_found(program):
    error = fault(program)
    for diagnostic in error.diagnostics if error else ():
        assert diagnostic.code != "kind" or (diagnostic.expected and diagnostic.found)


@pytest.mark.parametrize("build", [lambda: bool(Name("S")), lambda: lift([1.0]), lambda: lift(True)])
def test_so_does_every_kind_fault_of_python(build):
    with pytest.raises(ProgramError) as caught:
        build()
    first = caught.value.diagnostics[0]
    assert first.expected and first.found


def test_both_faults_of_one_operator_are_found():
    codes = [d.code for d in fault("nosuch / 0").diagnostics]
    assert codes == ["unknown_name", "division_by_zero"]
    assert [d.code for d in fault('nosuch >= "2024" >> S').diagnostics] == ["unknown_name", "bad_parameter"]
    assert [d.code for d in fault("F @ nosuch").diagnostics] == ["space", "unknown_name"]
    assert [d.code for d in fault("(E @ nosuch) >> S").diagnostics] == ["kind", "unknown_name"]


def test_an_edit_that_needs_a_name_needs_it_bound():
    bare = {"E": BINDINGS["E"], "S": BINDINGS["S"], "bm25": BINDINGS["bm25"]}
    assert fault("E + S", bare).fix is None
    assert fault("bm25 + S", bare).fix is None
    assert fault("q1 + S", {**bare, "q1": BINDINGS["q1"]}).fix == "E @ q1 + S"
    two = {**bare, "q1": BINDINGS["q1"], "G": Binding(Type(Kind.MATRIX, BINDINGS["E"].type.space))}
    assert fault("q1 + S", two).fix is None


def test_a_long_text_that_does_not_read_is_not_read_again_and_again():
    assert fault("A – S" + " + S" * 10_000).fix is None
    assert fault(" – ".join("S" * 20)).fix is None
