"""Ledgers: what adds up to a score, exactly; what a score was rescaled by; ranks without a term."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from holding import FEW, MANY
from hypothesis import assume, given, note
from programs import described, programs

from pyterrier_alg import Collection, Program, vaswani
from pyterrier_alg.algebra import AlgebraError, EvaluationError, Formula, ProgramError, Space, check
from pyterrier_alg.algebra.meaning import evaluate
from pyterrier_alg.collection import Matrix, Topic, Vector
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.session._accounts import Accountant
from pyterrier_alg.session._situation import Situation
from pyterrier_alg.session.ledger import ledger, why

DEFINITION = DefinitionEngine()


def ran(formula, scope):
    """A situation and the result, for programs that run at all and leave something."""
    try:
        check(formula, scope.bindings)
        situation = Situation(formula, scope)
        result = situation.run()
    except (ProgramError, EvaluationError):
        assume(False)
    assume(len(result))
    return situation, result


@FEW
@given(programs())
def test_contributions_add_up_to_every_score_of_every_program(drawn):
    hold_sums(*drawn)


@pytest.mark.deep
@MANY
@given(programs())
def test_contributions_add_up_in_many_programs(drawn):
    hold_sums(*drawn)


def hold_sums(formula, scope):
    situation, result = ran(formula, scope)
    note(described(formula, scope))
    for rank, (docno, score) in enumerate(result):
        found = ledger(situation, docno, 0)
        assert (found.score, found.rank, found.of) == (score, rank, len(result))
        assert found.accounts[0].value == score
        for account in found.accounts:
            if account.rounding is not None:
                total = sum((entry.weight * Fraction(entry.value) for entry in account.entries), account.rounding)
                assert total == Fraction(account.value)
                assert abs(account.rounding) <= account.bound
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["score"] == score
        assert repr(found) and found._repr_html_()


@FEW
@given(programs(excluded=("curved", "decay")))
def test_every_value_in_a_ledger_is_the_defined_one(drawn):
    formula, scope = drawn
    situation, result = ran(formula, scope)
    note(described(formula, scope))
    world = DEFINITION.world(scope)
    for docno in result.docnos.tolist():
        accountant = Accountant(situation.at(scope.position(docno)))
        for account in accountant.reckonings():
            nodes = [(account.node, account.value)]
            nodes += [] if account.rule is not None else [(term.node, term.value) for term in account.terms]
            for node, value in nodes:
                if situation.kind(node) == "relation":
                    defined = evaluate(Formula(formula.steps, node), world)
                    assert defined[docno] == value, (node, docno)


def replayed(account):
    """An account's value by its rule, in plain arithmetic."""
    q = dict(account.quantities)
    x = account.entries[0].value if account.entries else None
    formulas = {
        "(x − min) / (max − min)": lambda: (x - q["min"]) / (q["max"] - q["min"]),
        "1, as all are equal": lambda: 1.0,
        "x / max": lambda: x / q["max"],
        "(x − mean) / deviation": lambda: (x - q["mean"]) / q["deviation"],
        "0, as all are equal": lambda: 0.0,
        "exp(x − max) / sum": lambda: math.exp(x - q["max"]) / q["sum"],
        "1 / (1 + exp(−x))": lambda: 1 / (1 + math.exp(-x)),
        "log(1 + x)": lambda: math.log1p(x),
        "exp(x)": lambda: math.exp(x),
        "|x|": lambda: abs(x),
        "min(max(x, lo), hi)": lambda: min(max(x, q["lo"]), q["hi"]),
        "2^(−max(x, 0) / half_life)": lambda: 2 ** (-max(x, 0) / q["half_life"]),
        "1 / (1 + max(x, 0) / scale)": lambda: 1 / (1 + max(x, 0) / q["scale"]),
        "relevance · x − (1 − relevance) · likeness": lambda: q["relevance"] * x - (1 - q["relevance"]) * q["likeness"],
        "inner product / (row length · direction length)": lambda: (
            q["inner product"] / (q["row length"] * q["direction length"]) if q["direction length"] else 0.0
        ),
        "the sum of 1 / (k + rank), rank from 1": lambda: math.fsum(e.value for e in account.entries),
        "days from day to reference": lambda: float(
            (np.datetime64(q["reference"], "D") - np.datetime64(q["day"], "D")).astype(int)
        ),
    }
    return formulas[account.rule]() if account.rule in formulas else None


@FEW
@given(programs())
def test_rules_give_the_values_that_they_explain(drawn):
    formula, scope = drawn
    situation, result = ran(formula, scope)
    note(described(formula, scope))
    for docno in result.docnos.tolist():
        for account in ledger(situation, docno, 0).accounts:
            try:
                value = replayed(account)
            except OverflowError:
                value = None
            assert value is None or value == pytest.approx(account.value, rel=1e-15, abs=1e-300), account


SPACE = Space("plane", 2, "inner product")
C = Collection(["a", "b", "c", "d"]).bind(
    S={"a": 5.0, "b": 4.0, "c": 3.0, "d": 1.0},
    T={"a": 1.0, "b": 2.0, "d": 9.0},
    w={"a": 0.5, "b": 0.25},
    alpha=0.25,
    m={"a", "b", "c"},
    E=Matrix({"a": [1.0, 2.0], "b": [1.0, 0.0], "c": [0.0, 1.0]}, SPACE),
    q1=Vector([1.0, 1.0], SPACE),
    q2=Vector([0.0, 4.0], SPACE),
)

#: A program and a record: the terms of the first account, with value, weight and, where it was run, the rank without.
TERMS = [
    ("top(3, S + T)", "b", [("S", 4.0, 1.0, (1, True)), ("T", 2.0, 1.0, (1, True))]),
    ("S - 0.5 * T", "d", [("S", 1.0, 1.0, (2, True)), ("T", 9.0, -0.5, (3, True))]),
    ("top(1, S + T)", "d", [("S", 1.0, 1.0, (0, True)), ("T", 9.0, 1.0, (3, False))]),
    ("-(S - T) / 2", "a", [("S", 5.0, -0.5, (2, True)), ("T", 1.0, 0.5, (3, True))]),
    ("w * (m >> (S - alpha * T))", "a", [("S", 5.0, 0.5, (0, True)), ("T", 1.0, -0.125, (0, True))]),
    ("(S + T) * w", "b", [("S", 4.0, 0.25, (1, True)), ("T", 2.0, 0.25, (1, True))]),
    ("2 * S", "a", [("S", 5.0, 2.0, None)]),
    ("S + 1", "c", [("S", 3.0, 1.0, "kind"), ("1", 1.0, 1.0, (2, True))]),
    ("S + fill(7, T)", "c", [("S", 3.0, 1.0, (1, True)), ("7", 7.0, 1.0, (2, True))]),
    ("x = S + T\nminmax(x) + x", "a",
     [("minmax(x)", 0.0, 1.0, (1, True)), ("S", 5.0, 1.0, (2, True)), ("T", 1.0, 1.0, (0, True))]),
    ("E @ (q1 - 0.5 * q2)", "a", [("q1", 3.0, 1.0, (2, True)), ("q2", 8.0, -0.5, (0, True))]),
    ("rrf(S, T, k=1)", "b", [("S", 1 / 3, 1.0, (1, True)), ("T", 1 / 3, 1.0, (1, True))]),
    ("rrf(S, T, k=1)", "c", [("S", 0.25, 1.0, (None, False)), ("T", 0.0, 1.0, (2, True))]),
    ("S", "a", []),
    ("top(1, minmax(S + T))", "d", [("S + T", 10.0, None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "docno", "terms"), TERMS, ids=lambda value: str(value)[:40])
def test_terms_and_ranks_without_them(text, docno, terms):
    found = why(Program(text, C), docno)
    got = []
    for entry in found.entries:
        without = entry.without
        said = None if without is None else without.fault or (without.rank, without.is_kept)
        got.append((entry.term, entry.value, None if entry.weight is None else float(entry.weight), said))
    assert got == terms


def test_ranks_without_a_term_are_found_below_what_rescales():
    found = why(Program("top(1, minmax(S + T))", C), "d")
    account = found.accounts[found.entries[0].account]
    assert [(e.term, str(e.without)) for e in account.entries] == [("S", "0"), ("T", "3, cut")]


def test_weights_say_what_they_are_made_of():
    (first, second) = why(Program("w * (S - alpha * T / 4)", C), "b").entries
    assert first.factors == (("w", 0.25),)
    assert second.factors == (("w", 0.25), ("1 / 4", 4.0), ("alpha", 0.25))
    assert second.weight == Fraction(-1, 64) and second.contribution == Fraction(-1, 32)


def test_rescalings_show_their_own_numbers():
    found = why(Program("0.5 * minmax(S) + rrf(S, T)", C), "c")
    accounts = {account.expression: account for account in found.accounts}
    assert dict(accounts["minmax(S)"].quantities) == {"min": 1.0, "max": 5.0, "records": 4}
    ranked = accounts["rrf(S, T)"]
    assert dict(ranked.quantities) == {"k": 60.0, "depth": 100}
    assert [entry.note for entry in ranked.entries] == ["rank 3", "not scored"]


def test_rounding_is_a_line_of_its_own():
    c = Collection(["a"]).bind(S={"a": 0.1}, T={"a": 0.2})
    found = why(Program("S + T", c), "a")
    assert found.rounding == Fraction(0.1 + 0.2) - Fraction(0.1) - Fraction(0.2) != 0
    assert found.to_dict()["accounts"][0]["rounding"] == pytest.approx(2.0**-55)


def test_on_vaswani_every_score_adds_up_and_every_ablation_is_what_the_program_without_the_term_gives():
    collection = vaswani().bind(alpha=0.3)
    parts = ["(1 - alpha) * minmax(bm25(query, 52))", "alpha * minmax(support(bm25(query, 52)) >> (E @ query))"]
    query = "MEASUREMENT OF DIELECTRIC CONSTANT OF LIQUIDS BY THE USE OF MICROWAVE TECHNIQUES"
    program = Program(f"top(10, {' + '.join(parts)})", collection)
    alone = [Program(f"top(10, {part})", collection).run(query) for part in parts]
    for rank, (docno, score) in enumerate(program.run(query)):
        found = why(program, docno, query)
        assert (found.score, found.rank, found.of) == (score, rank, 10)
        assert sum((e.contribution for e in found.entries), found.rounding) == Fraction(score)
        for entry, other in zip(found.entries, reversed(alone), strict=True):
            assert entry.without.is_kept == (docno in other)
            if docno in other:
                assert other.docnos[entry.without.rank] == docno


def test_over_a_pool():
    topic = Topic("1", input={"a": 1.0, "c": 4.0})
    found = why(Program("minmax(S) + 0.5 * input", C), "c", topic)
    assert (found.score, found.rank, found.of) == (2.0, 0, 2)
    assert [(e.term, e.value) for e in found.entries][1] == ("input", 4.0)
    assert [str(e.without) for e in found.entries] == ["0", "1"]


@pytest.mark.parametrize(
    ("docno", "code", "hint"),
    [("c", "absent_record", "why_not"), ("A", "unknown_docno", "did you mean a"), (1, "bad_argument", "'1'")],
)
def test_records_that_cannot_be_asked_for(docno, code, hint):
    with pytest.raises(AlgebraError) as error:
        why(Program("top(2, S)", C), docno)
    assert error.value.code == code and hint in error.value.hint


def test_only_so_many_terms_are_left_out():
    program = Program(" + ".join(f"{i + 1} * S" for i in range(9)), C)
    found = why(program, "a", ablations=3)
    assert [entry.without is not None for entry in found.entries] == [False] * 6 + [True] * 3
    assert all(entry.without is None for entry in why(program, "a", ablations=0).entries)


def test_deep_programs():
    wide = why(Program(" + ".join(f"0.{i % 9 + 1} * T" for i in range(2000)), C), "a", ablations=1)
    assert len(wide.entries) == 2000 and abs(wide.rounding) <= wide.accounts[0].bound
    assert len(repr(wide).splitlines()) < 40 and len(wide._repr_html_()) < 20_000
    deep = why(Program("minmax(" * 1000 + "S" + ")" * 1000, C), "b", ablations=0)
    assert len(deep.accounts) == 1000 and len(repr(deep)) < 10_000
    horner = why(Program("0.5 * (T + " * 500 + "S" + ")" * 500, C), "a", ablations=0)
    assert sum((e.contribution for e in horner.entries), horner.rounding) == Fraction(horner.score)
    json.dumps([wide.to_dict(), deep.to_dict(), horner.to_dict()], allow_nan=False)


def test_hostile_names_are_shown_and_not_obeyed():
    c = Collection(["<b>\x1b[2J"]).bind(S={"<b>\x1b[2J": 1.0})
    found = why(Program("S + 1", c), "<b>\x1b[2J")
    assert "\x1b" not in repr(found)
    assert "&lt;b&gt;" in found._repr_html_() and "\x1b" not in found._repr_html_()
