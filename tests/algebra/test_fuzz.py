"""Nothing that can be typed crashes the language, and size costs no more than size."""

import copy
import pickle
import time

import pytest
from bound import BINDINGS
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import Formula, Name, ProgramError, as_formula, check, parse

TOKENS = [
    "S", "m", "E", "q1", "top", "rrf", "bm25", "query", "k", "2", "0.5", ".5", "1e400", "-", "−", "~", "¬", "@", "*",
    "⊙", "/", "+", ">=", "≥", "<", "==", "≠", "&", "∧", "|", "∨", ">>", "|>", "▷", "(", ")", ",", "=", '"a"', "'b'",
    "`g b`", "#", "\n", " ", '"', "`", "\\", "é", "–", "\r", "\x00", "\ud800",
]  # fmt: skip


def read_and_check(text: str) -> None:
    try:
        formula = parse(text)
        assert isinstance(formula, Formula)
        assert parse(formula.ascii) == formula
        check(formula, BINDINGS)
    except ProgramError as error:
        assert error.diagnostics
        str(error).encode("utf-8")
        for fault in error.diagnostics:
            assert fault.span is None or 0 <= fault.span.start <= fault.span.stop <= len(text) + 1


@given(st.text(max_size=40))
def test_any_text(text):
    read_and_check(text)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join))
def test_any_tokens(text):
    read_and_check(text)


@given(st.binary(max_size=60))
def test_any_bytes(raw):
    read_and_check(raw.decode("latin-1"))
    read_and_check(raw.decode("utf-8", "surrogateescape"))


def code(text: str) -> str:
    with pytest.raises(ProgramError) as caught:
        check(parse(text), BINDINGS)
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S + " * 1_250_000 + "S", "limit"),
        ("(" * 10_001 + "S" + ")" * 10_001, "limit"),
        ("S" + " + S" * 60_000, "limit"),
        ("".join(f"x{i} = S\n" for i in range(10_001)) + "S", "limit"),
        ("9" * 400 + " * S", "bad_number"),
        ("9" * 100_000 + " * S", "bad_number"),
        ("1e400 S", "bad_number"),
        ("1e" + "9" * 5_000 + " S", "bad_number"),
        ("a" * 500_000, "unknown_name"),
        ("(" * 5_000 + "S", "syntax"),
        ("S" + ")" * 5_000, "syntax"),
        ("top(3, " * 5_000, "syntax"),
        ("S\ud800", "syntax"),
        ('E @ "\ud800"', "bad_text"),
        ("", "syntax"),
        ("\n\r\n\t\f ", "syntax"),
        ("\ufeffS", "lookalike"),
        ("S\v", "lookalike"),
        ("S\x85", "lookalike"),
        ("S\u2028T", "lookalike"),
    ],
    ids=lambda value: ascii(value[:12]),
)
def test_hostile_sizes_and_characters_are_coded_errors(text, expected):
    assert code(text) == expected


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("top(" + "9" * 5_000 + ", S)", "top(" + "9" * 5_000 + ", S)"),
        ("0" * 6_000 + "1 S", "1 * S"),
        ("0." + "1" * 6_000 + " S", "0.1111111111111111 * S"),
        ("1e-400 S", "0 * S"),
        ("(" * 10_000 + "S" + ")" * 10_000, "S"),
        ("-" * 3_000 + "S", "-" * 3_000 + "S"),
        ("-" * 3_000 + "2 * S", "-" * 3_000 + "2 * S"),
        ("¬" * 3_000 + "m ▷ S", "~" * 3_000 + "m >> S"),
        ("m |> " * 3_000 + "S", "m >> (" * 2_999 + "m >> S" + ")" * 2_999),
        ("x = S\r\nx\r\n", "x = S\nx"),
        ("x = S\rx\r", "x = S\nx"),
        ("\n\n# a\n x\t=\fS # b\n\n#\nx # c", "x = S\nx"),
        ("top(3, # the first\n S\r\n +\r T)", "top(3, S + T)"),
        ('E @ "# no comment" # one', 'E @ "# no comment"'),
        ("`# no comment` + S", "`# no comment` + S"),
        ("m|>S", "m >> S"),
    ],
    ids=lambda value: ascii(value[:12]),
)
def test_large_and_oddly_spaced_programs_read(text, canonical):
    formula = parse(text)
    assert formula.ascii == canonical
    assert parse(formula.unicode) == formula


@pytest.mark.parametrize("operator", ["+", "-", "*", "|", ">>"])
def test_a_sum_of_three_thousand_terms_is_an_ordinary_program(operator):
    terms = [f"S{i}" for i in range(3_000)]
    start = time.perf_counter()
    formula = parse(f" {operator} ".join(terms))
    again = parse(formula.unicode)
    assert again == formula
    assert hash(again) == hash(formula)
    assert pickle.loads(pickle.dumps(formula)) == formula == copy.deepcopy(formula)
    assert pickle.loads(pickle.dumps(formula.result)) == formula.result
    assert formula.digest == again.digest
    with pytest.raises(ProgramError) as caught:
        check(formula, {})
    assert sum(fault.code == "unknown_name" for fault in caught.value.diagnostics) == 3_000
    # Far above what it takes; a quadratic way would take minutes.
    assert time.perf_counter() - start < 5


def test_steps_that_use_the_one_before_twice_are_checked_once_each():
    lines = ["x0 = S", *(f"x{i} = x{i - 1} + x{i - 1}" for i in range(1, 501)), "x500"]
    formula = parse("\n".join(lines))
    assert len(check(formula, BINDINGS).types) == 2 * 500 + 2
    assert parse(formula.unicode) == formula


@pytest.mark.parametrize("doublings", [200, 20_000])
def test_a_python_tree_that_is_exponential_in_text_is_refused(doublings):
    x = Name("S")
    for _ in range(doublings):
        x = x + x
    assert x != x + x
    assert {x: 1}[x.arguments[0] + x.arguments[1]] == 1
    for use in (repr, str, as_formula, pickle.dumps):
        with pytest.raises(ProgramError) as caught:
            use(x)
        assert caught.value.code == "limit"


def test_deep_trees_die_quietly():
    x = Name("S")
    for _ in range(200_000):
        x = -x
    assert x.size == 200_001
    del x
