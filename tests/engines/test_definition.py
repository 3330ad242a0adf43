"""The definition as an engine: scopes become plain worlds, and a last selection carries its gap check."""

import pickle

import numpy as np
import pytest
from vectorised_tables import Encoder, Retriever, Tables, vector

from pyterrier_alg.algebra.errors import EvaluationError, ProgramError
from pyterrier_alg.algebra.kinds import Distance, Kind
from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.engine import EVERYTHING

TABLES = Tables(["10", "9", "a", "b"])
E = TABLES.matrix({"9": [1, 0], "a": [0.1, 2], "b": [0.1, 2]}, Distance.COSINE, Encoder({"x": [1 / 3, 0]}))
BM25 = Retriever({"b": 9.0, "a": 7.0, "9": 5.0})
SCOPE = TABLES.scope(
    E=E,
    q=vector([1, 1], E),
    S=TABLES.relation({"10": -0.0, "9": 1.5, "b": 1.5}),
    m=TABLES.mask(["10", "a", "b"]),
    lang=TABLES.column({"9": "en", "a": "de"}),
    published=TABLES.column({"9": "2024-01-01", "a": "2026-11-30"}, Kind.DATE_COLUMN),
    bm25=BM25,
    alpha=0.5,
    query="x",
    now="2026-12-01",
)
ENGINE = DefinitionEngine()
TENTH, THIRD = float(np.float32(0.1)), float(np.float32(1 / 3))


def run(text, scope=SCOPE):
    return ENGINE.run(parse(text), scope)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E @ q", {"a": 2 + TENTH, "b": 2 + TENTH, "9": 1}),
        ("E @ query", {"9": THIRD, "a": THIRD * TENTH, "b": THIRD * TENTH}),
        ("all >> S", {"9": 1.5, "b": 1.5, "10": 0}),
        ("m >> S", {"b": 1.5, "10": 0}),
        ("fill(alpha, S)", {"9": 1.5, "b": 1.5, "a": 0.5, "10": 0}),
        ('isin(lang, "en") >> S', {"9": 1.5}),
        ("days_since(published, now)", {"9": 1065, "a": 1}),
        ("bm25(query)", {"b": 9, "a": 7}),
        ("bm25(query, 1)", {"b": 9}),
    ],
)
def test_every_sort_of_operand_becomes_what_it_is(text, expected):
    result = run(text)
    assert list(result) == [(docno, float(score)) for docno, score in expected.items()]
    assert result.certified and result.error_bound == 0 and result.gap_check is None
    assert not np.signbit(result.scores).any()


def test_the_gap_check_is_that_of_the_outermost_top():
    tie = run("top(1, E @ q)")
    assert list(tie) == [("a", 2 + TENTH)]
    assert (tie.gap_check.verdict, tie.gap_check.gap_at_cut, tie.gap_check.certified) == ("exact_tie", 0.0, True)
    assert [(p.above, p.below, p.at_cut) for p in tie.gap_check.closest] == [("a", "b", True)]
    assert run("best = top(2, S)\nsame = best\nsame").gap_check.gap_at_cut == 1.5
    assert run(f"top({'9' * 30}, S)").gap_check.gap_at_cut is None
    assert run("2 * top(1, S)").gap_check is None


def test_steps_are_in_plain_python():
    formula = parse("pool = support(S) & m\npush = 2 * (pool >> S)\npush")
    assert ENGINE.steps(formula, SCOPE) == {"pool": frozenset({"10", "b"}), "push": {"10": 0.0, "b": 3.0}}


def test_matrices_are_converted_once_and_never_mixed_up():
    engine = DefinitionEngine(remember=1)
    other = TABLES.scope(E=TABLES.matrix({"9": [0, 1]}, Distance.COSINE), q=SCOPE.operands["q"])
    same_names = TABLES.scope(E=SCOPE.operands["E"], q=SCOPE.operands["q"])
    assert engine.world(SCOPE).operands["E"] is engine.world(same_names).operands["E"]
    for scope, top in ((SCOPE, "a"), (other, "9"), (SCOPE, "a")):
        assert engine.run(parse("E @ q"), scope).docnos[0] == top
    copy = pickle.loads(pickle.dumps(engine))
    assert list(copy.run(parse("E @ q"), other)) == [("9", 1.0)]


def test_it_checks_before_it_runs_and_places_what_only_data_show():
    with pytest.raises(ProgramError, match="unknown_name"):
        run("nosuch + S")
    with pytest.raises(EvaluationError) as caught:
        run("log1p(-S)")
    assert caught.value.code == "non_finite" and "'9'" in caught.value.message
    assert ENGINE.capabilities == EVERYTHING and ENGINE.certifies
