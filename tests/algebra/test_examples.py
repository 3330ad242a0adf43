"""The contract's examples and sentences as tables, and what holds of every canonical text in them."""

from pathlib import Path

import pytest
from bound import BINDINGS, OPERANDS

from pyterrier_alg import notation
from pyterrier_alg.algebra import OPERATORS, Expression, ProgramError, check, parse
from pyterrier_alg.algebra.operators import RESERVED_OPERANDS

TABLE = [
    tuple(side.strip().replace(" ⏎ ", "\n") for side in line.split("  →  "))
    for name in ("examples.txt", "sentences.txt")
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()
    if "  →  " in line
]
CODES = {
    "syntax", "bad_number", "bad_text", "lookalike", "chained_comparison", "unknown_name", "reserved_name",
    "duplicate_name", "kind", "space", "bad_argument", "bad_parameter", "division_by_zero", "limit",
}  # fmt: skip
SOUND = [row for row in TABLE if row[1] not in CODES]
FAULTY = [row for row in TABLE if row[1] in CODES]
PYTHON_NAMES = {
    **OPERANDS,
    **{key: getattr(notation, key) for key, entry in OPERATORS.items() if entry.is_function},
    **{name: getattr(notation, name) for name in RESERVED_OPERANDS},
}


def python(text: str) -> Expression:
    """The tree that Python builds of a canonical ASCII text."""
    return eval(text, {"__builtins__": {}}, dict(PYTHON_NAMES))


@pytest.mark.parametrize(("written", "canonical"), SOUND)
def test_sound_examples_read_check_and_print(written, canonical):
    formula = parse(written)
    check(formula, BINDINGS)
    assert formula.ascii == canonical
    assert parse(formula.ascii) == formula == parse(formula.unicode)
    assert parse(formula.unicode).unicode == formula.unicode
    assert {parse(formula.unicode).digest, parse(formula.ascii).digest} == {formula.digest}
    if not formula.steps and "`" not in canonical:
        assert python(canonical) == formula.result


@pytest.mark.parametrize(("written", "code"), FAULTY)
def test_faulty_examples_are_refused_with_their_code(written, code):
    with pytest.raises(ProgramError) as caught:
        check(parse(written), BINDINGS)
    assert caught.value.code == code
    assert {fault.code for fault in caught.value.diagnostics} == {code}


@pytest.mark.parametrize("key", OPERATORS)
def test_the_operator_tables_own_examples_are_sound_canonical_and_python(key):
    example = OPERATORS[key].example
    formula = parse(example)
    check(formula, BINDINGS)
    assert formula.ascii == example
    assert python(example) == formula.result


def test_the_unicode_form_is_the_papers():
    formula = parse("top(10, w * (m >> (E @ q1 - 0.5 * (E @ q2))))")
    assert str(formula) == "top(10, w ⊙ (m ▷ (E @ q1 − 0.5 (E @ q2))))"
    assert str(parse("m & ~n | n >> -0.5 S")) == "(m ∧ ¬n ∨ n) ▷ (−0.5 S)"
    assert str(parse("(year >= 2) & (year != 3) >> S")) == "((year ≥ 2) ∧ (support(year) ∧ ¬isin(year, 3))) ▷ S"
