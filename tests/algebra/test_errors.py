"""Every fault that can be found before running: its code, its place, its hint, and all of them at once."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bound import BINDINGS

from pyterrier_alg import notation
from pyterrier_alg.algebra import Apply, Formula, Limits, Name, Number, ProgramError, as_formula, check, parse
from pyterrier_alg.algebra.expressions import lift

ROWS = [
    line.replace(" ⏎ ", "\n").replace("␠", "\xa0").replace("∅", "\u200b").split("  →  ")
    for line in Path(__file__).with_name("errors.txt").read_text("utf-8").splitlines()
    if "  →  " in line
]


def faults(program) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        check(as_formula(program), BINDINGS)
    return caught.value


@pytest.mark.parametrize(("source", "expected"), ROWS)
def test_each_fault_has_its_code_its_place_and_its_hint(source, expected):
    wanted, _, hint = expected.partition(" ⇒ ")
    error = faults(source)
    found = [f"{d.code} ‹{source[d.span.start : d.span.stop]}›" for d in error.diagnostics]
    assert "; ".join(found) == wanted
    assert hint in error.hint
    assert error.code == error.diagnostics[0].code
    starts = [d.span.start for d in error.diagnostics]
    assert starts == sorted(starts)
    assert all(message.count("\n") == 0 for message in (d.message for d in error.diagnostics))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_place_is_marked_below_its_line():
    assert str(faults("pool = m\ntop(3, E @ q3)")) == (
        "unknown_name: unknown operand 'q3'\n"
        "  line 2: top(3, E @ q3)\n"
        "                     ^^\n"
        "  hint: did you mean q2, q1?"
    )


@pytest.mark.parametrize("before", ["`日本` + ", "`e\u0301` + ", "`🙂` + ", '0 * (E @ "ｆ") + '])
def test_wide_and_combining_characters_keep_the_mark_in_its_column(before):
    error = faults(before + "zz")
    _, line, mark, *_ = error.diagnostics[-1].render(error.source).split("\n")
    columns = sum(2 if c in "日本🙂ｆ" else 0 if c == "\u0301" else 1 for c in line[: line.index("zz")])
    assert mark.index("^") == columns


def test_a_long_line_is_cut_around_the_place():
    error = faults(" + ".join(["S"] * 500 + ["zz"] + ["S"] * 500))
    shown = str(error).split("\n")[1]
    assert len(shown) < 140
    assert shown.strip()[0] == shown[-1] == "…"


def test_what_a_terminal_would_obey_is_not_shown():
    for source in ("\x1b[31mS", "S + \ud800", "S\x00"):
        text = str(faults(source))
        assert not set("\x1b\x00\ud800") & set(text)
        text.encode("utf-8")


def test_many_faults_are_all_kept_and_the_first_shown():
    error = faults(" + ".join(f"z{i}z" for i in range(1000)))
    assert len(error.diagnostics) == 1000
    assert str(error).endswith("… and 980 more")
    assert str(error).count("unknown_name") == 20


def test_kind_faults_say_what_is_expected_and_found():
    fault = faults("S >> T").diagnostics[0]
    assert (fault.expected, fault.found) == (("mask",), "relation")
    assert fault.message == "S is a relation, ▷ needs a mask"
    assert faults("E @ q9").diagnostics[0].candidates == ("q2", "q1")


def test_limits_are_errors_and_can_be_set():
    for program, limits in [
        ("S + S", Limits(characters=4)),
        ("((S))", Limits(nesting=1)),
        ("S + S", Limits(nodes=2)),
        ("x = S\ny = S\nx", Limits(steps=1)),
    ]:
        with pytest.raises(ProgramError) as caught:
            parse(program, limits)
        assert caught.value.code == "limit"
    assert parse("S + S", Limits(characters=5, nodes=3, nesting=0, steps=0)) == parse("S + S")


S, T, E, m, q, year = map(Name, ("S", "T", "E", "m", "q1", "year"))


@pytest.mark.parametrize(
    "build",
    [
        lambda: bool(S),
        lambda: S and T,
        lambda: not S,
        lambda: 1960 <= year <= 1970,
        lambda: year > 1 and m,
        lambda: [1 for _ in range(1) if S],
        lambda: S + True,
        lambda: np.True_ * S,
        lambda: np.array([1.0, 2.0]) * S,
        lambda: S * np.array(1.0),
        lambda: np.arange(3) @ E,
        lambda: E @ [1.0],
        lambda: pd.Series([1.0, 2.0]) * S,
        lambda: S + pd.DataFrame({"a": [1]}),
        lambda: S + None,
        lambda: 2j * S,
        lambda: notation.top(True, S),
        lambda: notation.fill({}, S),
    ],
)
def test_what_builds_no_program_in_python_is_a_kind_error(build):
    with pytest.raises(ProgramError) as caught:
        build()
    assert caught.value.code == "kind"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("inf"), 10**400])
def test_numbers_that_are_not_finite_are_refused(value):
    for build in (lambda: value * S, lambda: S + value, lambda: S >= value, lambda: lift(value)):
        with pytest.raises(ProgramError) as caught:
            build()
        assert caught.value.code == "bad_number"


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: np.float64(0.5) * S, "0.5 * S"),
        (lambda: S / np.float32(0.5), "S / 0.5"),
        (lambda: np.int64(2) + S, "2 + S"),
        (lambda: np.float64(2) <= S, "S >= 2"),
        (lambda: np.float32(0.1) * S, f"{float(np.float32(0.1))!r} * S"),
        (lambda: notation.top(np.int32(3), S), "top(3, S)"),
        (lambda: notation.top(10**5000, S), f"top({'1' + '0' * 5000}, S)"),
        (lambda: 1960 <= year, "year >= 1960"),
        (lambda: 0.5 - S, "0.5 - S"),
        (lambda: m & ~m | m >> S, "m & ~m | (m >> S)"),
        (lambda: "a" > S, 'S < "a"'),
        (lambda: E @ "text", 'E @ "text"'),
        (lambda: Name("bm25")("q", 3), 'bm25("q", 3)'),
        (lambda: Name("bm25")("q", depth=3), 'bm25("q", 3)'),
        (lambda: notation.rrf(S, T, depth=5, k=60), "rrf(S, T, depth=5)"),
        (lambda: notation.all >> S, "all >> S"),
    ],
)
def test_python_builds_what_the_text_says(build, text):
    assert repr(build()) == text
    assert parse(text).result == build() or text == "m & ~m | (m >> S)"


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (0.5 * E @ q, "kind"),
        (year > 1 & m, "kind"),
        (notation.top(2.5, S), "bad_parameter"),
        (notation.top(-1, S), "bad_parameter"),
        (notation.top(0, S), "bad_parameter"),
        (notation.top("10", S), "bad_parameter"),
        (notation.top(S), "bad_argument"),
        (notation.rrf(S, kk=1), "bad_argument"),
        (S / 0, "division_by_zero"),
        (Apply("top", (Number(10.5), S)), "bad_parameter"),
        (Number(0.5), "kind"),
        (Formula((("x", S), ("x", T)), Name("x")), "duplicate_name"),
        (Formula((("top", S),), S), "reserved_name"),
    ],
    ids=str,
)
def test_faults_of_what_python_built_are_shown_in_its_canonical_text(program, code):
    error = faults(program)
    assert error.code == code
    assert error.source == (program if isinstance(program, Formula) else as_formula(program)).ascii
    assert all(d.span for d in error.diagnostics)


def test_what_only_python_can_group_is_the_same_program_in_both():
    built = m >> S >= 2
    assert parse(repr(built)).result == built
    assert repr(built) == "(m >> S) >= 2"


def test_a_whole_float_does_not_pass_for_a_count():
    with pytest.raises(ProgramError) as caught:
        notation.top(10.0, S)
    assert caught.value.code == "bad_parameter"


@pytest.mark.parametrize("name", ["", "a`b", "a` + `b", "a\nb", "a\rb"])
def test_names_that_no_text_can_hold_are_refused(name):
    for build in (lambda: Name(name), lambda: Formula(((name, S),), S)):
        with pytest.raises(ProgramError) as caught:
            build()
        assert caught.value.code == "syntax"


def test_other_python_mistakes():
    with pytest.raises(TypeError):
        list(S)
    with pytest.raises(TypeError):
        parse(b"S")
    with pytest.raises(AttributeError, match="nosuch"):
        notation.nosuch  # noqa: B018
    assert set(dir(notation)) == set(notation.__all__)
    assert notation.top.__doc__.startswith("top(k, S): the first k of S in rank order.")
