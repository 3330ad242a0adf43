"""Explanations: records, scores and drops of every expression, and what the engine was seen to do."""

import json

import pytest
from holding import FEW
from hypothesis import assume, given, note
from programs import described, programs

from pyterrier_alg import Collection, Program, vaswani
from pyterrier_alg.algebra import AlgebraError, EvaluationError, ProgramError, Space, check, parse
from pyterrier_alg.algebra.meaning import steps
from pyterrier_alg.collection import Matrix, Topic, Vector
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.session.explaining import explain, explanation

DEFINITION = DefinitionEngine()


def named(formula, node_texts):
    """A formula whose every relation and mask is a step, so that the definition gives their values."""
    lines = [f"{name} = {expression!r}" for name, expression in formula.steps]
    return parse("\n".join([*lines, *(f"z{i} = {text}" for i, text in enumerate(node_texts)), repr(formula.result)]))


@FEW
@given(programs(excluded=("curved", "decay")))
def test_every_count_and_range_is_the_defined_one(drawn):
    formula, scope = drawn
    try:
        check(formula, scope.bindings)
        found = explanation(formula, scope)
    except (ProgramError, EvaluationError):
        assume(False)
    note(described(formula, scope))
    flowing = [node for node in found.nodes if node.kind in ("relation", "mask") and "…" not in node.text]
    flowing = [node for node in flowing if "a step of" not in node.text]
    values = steps(named(formula, [node.text for node in flowing]), DEFINITION.world(scope))
    for i, node in enumerate(flowing):
        value = values[f"z{i}"]
        assert node.records == len(value), node
        if node.kind == "relation" and value:
            assert (node.low, node.high) == (min(value.values()), max(value.values()))
        for part, count in zip(node.parts, node.records_in, strict=True):
            assert found.nodes[part].records == count and part < node.id
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found) and found._repr_html_()


@FEW
@given(programs())
def test_what_is_dropped_is_what_did_not_come_out(drawn):
    formula, scope = drawn
    try:
        check(formula, scope.bindings)
        found = explanation(formula, scope)
    except (ProgramError, EvaluationError):
        assume(False)
    note(described(formula, scope))
    for node in found.nodes:
        lost = {}
        for drop in node.drops:
            assert drop.records > 0
            lost[drop.part] = lost.get(drop.part, 0) + drop.records
        if node.kind == "relation" and node.operator in ("+", "-", "*", ">>"):
            for index, count in enumerate(node.records_in):
                if count is not None:
                    assert count - lost.get(index, 0) == node.records, node
        elif node.operator in ("top", "mmr", "per"):
            index = len(node.parts) - 1 if node.operator == "per" else 0
            assert node.records_in[index] - lost.get(index, 0) == node.records, node


SPACE = Space("plane", 2, "inner product")
C = Collection(["a", "b", "c", "d", "e"]).bind(
    S={"a": 5.0, "b": 4.0, "c": 3.0, "d": 1.0},
    T={"a": 1.0, "b": 2.0, "d": 9.0},
    m={"a", "c", "e"},
    lang={"a": "en", "b": "en", "c": "de"},
    E=Matrix({"a": [1.0, 2.0], "b": [1.0, 0.0], "c": [0.0, 1.0]}, SPACE),
    q1=Vector([1.0, 1.0], SPACE),
)

#: A program; of its last node the records in and out, and the drops: the part, how many, and words of the reason.
DROPS = [
    ("S + T", (4, 3), 3, [(0, 1, "does not score")]),
    ("m >> S", (3, 4), 2, [(1, 2, "not in m"), (0, 1, "S does not score")]),
    ("top(3, S)", (4,), 3, [(0, 1, "below the cut")]),
    ("top(9, S)", (4,), 4, []),
    ("per(1, lang, S)", (3, 4), 2, [(1, 1, "lang has no value"), (1, 1, "group's cut")]),
    ("mmr(2, S, E)", (4, 3), 2, [(0, 1, "no row"), (0, 1, "not chosen")]),
    ("rrf(S, T, depth=2)", (4, 3), 3, [(0, 2, "below depth 2 of S"), (1, 1, "below depth 2 of T")]),
    ("fill(0, T)", (None, 3), 5, []),
]


@pytest.mark.parametrize(("text", "entered", "out", "drops"), DROPS, ids=lambda value: str(value)[:30])
def test_records_in_and_out(text, entered, out, drops):
    node = explain(Program(text, C)).nodes[-1]
    assert (node.records_in, node.records) == (entered, out)
    assert len(node.drops) == len(drops)
    for drop, (part, count, words) in zip(node.drops, drops, strict=True):
        assert (drop.part, drop.records) == (part, count) and words in drop.reason


def test_a_scan_says_how_many_records_have_no_row():
    assert explain(Program("E @ q1", C)).nodes[-1].without_row == 2


def actions(text, collection, topic=None):
    return {action.kind: dict(action.details) for action in explain(Program(text, collection), topic).actions}


def test_what_the_engine_did_on_vaswani():
    c = vaswani()
    folded = actions("top(10, E @ q1 - 0.5 * (E @ q2))", c)
    formula = Program("top(10, E @ q1 - 0.5 * (E @ q2))", c).formula
    (selection,) = VectorisedEngine().selections(formula, c.at()).values()
    assert folded["folded"] == {"scans": 2, "records": 11429}
    assert folded["candidates"]["candidates"] == selection.candidates < 100
    assert folded["candidates"]["scan_error"] == selection.scan_error > 0
    few = actions("top(10, w * (m >> (E @ q1 - 0.5 * (E @ q2))))", c)
    assert few == {"few": {"k": 10, "candidates": 52}}
    masked = actions("minmax(m >> (E @ q1))", c)
    assert masked == {"masked": {"rows": 52, "of": 11429}}
    single = actions("top(10, (length >= 50) >> (E @ q1))", c)
    assert set(single) == {"candidates"} and single["candidates"]["records"] == 3639
    # Two matrices, or what is no linear combination, cannot be one direction.
    assert "folded" not in actions("top(10, (E @ q1) * (E @ q2))", c)
    assert "folded" not in actions("top(10, abs(E @ q1) + (E @ q2))", c)


def test_what_is_written_twice_is_computed_once_and_what_is_unused_is_not():
    found = explain(Program("x = S + T\ny = minmax(S)\ntop(2, minmax(T) + minmax(T))", C))
    told = {(action.kind, action.expression) for action in found.actions}
    assert {("shared", "minmax(T)"), ("unused", "x"), ("unused", "y")} <= told
    assert not any("S" in node.text for node in found.nodes)


def test_times_are_those_of_what_the_engine_computed():
    found = explain(Program("top(2, minmax(S) + T)", C))
    seconds = {node.text: node.seconds for node in found.nodes}
    assert seconds["minmax(S)"] > 0 and seconds["top(2, minmax(S) + T)"] > 0
    # Inside the selection, for its candidates only.
    assert seconds["minmax(S) + T"] is None
    assert sum(value for value in seconds.values() if value) <= found.seconds


def test_over_a_pool_and_by_another_engine():
    topic = Topic("1", input={"a": 1.0, "b": 2.0})
    program = Program("top(5, minmax(input) + S)", C, engine="definition")
    found = explain(program, topic)
    assert found.nodes[-1].records == 2 and found.engine == "definition"
    assert "definition engine does inside is not looked at" in repr(found)
    assert found.program == "top(5, minmax(input) + S)" and "input docnos" in found.ran


def test_sums_are_drawn_flat_and_long_ones_cut():
    lines = repr(explain(Program("S + T - S + fill(0, T)", C))).splitlines()
    terms = [line for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert [line.split("  ")[1] for line in terms] == ["S", "+ T", "− S", "+ fill(0, T)"]
    wide = explain(Program(" + ".join(f"0.{i % 9 + 1} * S" for i in range(2000)), C))
    assert "1,988 more terms" in repr(wide) and len(repr(wide).splitlines()) < 70
    assert len(wide.nodes) > 2000
    deep = explain(Program("abs(" * 2000 + "S" + ")" * 2000, C))
    assert len(deep.nodes) == 2001 and len(repr(deep)) < 20_000 and len(deep._repr_html_()) < 40_000
    json.dumps([wide.to_dict(), deep.to_dict()], allow_nan=False)


def test_faults_are_the_programs_own():
    with pytest.raises(AlgebraError) as error:
        explain(Program("exp(1000 * S)", C))
    assert error.value.code == "non_finite"
    with pytest.raises(AlgebraError) as error:
        explain("S")
    assert error.value.code == "bad_argument"
