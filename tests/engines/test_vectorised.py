"""The vectorised engine over small literal tables, and the faults that only data show."""

import math
import pickle
import warnings

import numpy as np
import pytest
from vectorised_tables import Encoder, Retriever, Tables, vector

from pyterrier_alg.algebra.errors import EvaluationError
from pyterrier_alg.algebra.expressions import Apply, Count, Name, Number
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Distance, Kind
from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.engine import EVERYTHING
from pyterrier_alg.engines.vectorised import VectorisedEngine, defined_scores, mask_positions

TABLES = Tables("abcdefgh")
E = TABLES.matrix({"a": [1, 0], "b": [0, 1], "c": [1, 1], "d": [-1, 2], "e": [2, 0]}, encoder=Encoder({"x": [1, 0]}))
L2 = TABLES.matrix({"a": [0, 0], "b": [3, 4], "c": [1, 0]}, Distance.L2, name="l2")
COSINE = TABLES.matrix({"a": [1, 0], "b": [3, 4]}, Distance.COSINE, name="cosine")
BM25 = Retriever({"d": 9.0, "a": 7.0, "b": 5.0})
SCOPE = TABLES.scope(
    E=E,
    L=L2,
    C=COSINE,
    q1=vector([1, 0], E),
    q2=vector([0, 2], E),
    far=vector([0, 0], L2),
    cos=vector([2, 0], COSINE),
    A=TABLES.relation({"a": 1, "b": 1, "c": 0.5}),
    B=TABLES.relation({"b": 2, "h": -1}),
    S=TABLES.relation({"a": 3, "b": 1, "c": 2, "d": 0}),
    N=TABLES.relation({"a": -0.4, "b": -0.1, "c": 0.2}),
    w=TABLES.relation({"a": 0.1, "b": 1, "c": 1}),
    empty=TABLES.relation({}),
    one=TABLES.relation({"a": 5}),
    flat=TABLES.relation({"a": 2, "b": 2}),
    loss=TABLES.relation({"a": -1, "b": -2}),
    big=TABLES.relation({"a": 1, "b": 1e308}),
    age=TABLES.relation({"a": -5, "b": 0, "c": 30}),
    m=TABLES.mask("abd"),
    n=TABLES.mask("dh"),
    lang=TABLES.column({"a": "en", "b": "de", "c": "en", "d": "fr"}),
    published=TABLES.column({"a": "2024-01-01", "b": "2023-12-31", "d": "2026-12-01"}, Kind.DATE_COLUMN),
    alpha=0.25,
    now="2026-12-01",
    query="x",
    bm25=BM25,
)
ENGINE = VectorisedEngine()


def run(text, scope=SCOPE, **options):
    return VectorisedEngine(**options).run(parse(text), scope)


RESULTS = {
    "E @ q1": {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    "E @ q1 - 0.5 (E @ q2)": {"e": 2, "a": 1, "c": 0, "b": -1, "d": -3},
    "E @ (q1 - 0.5 q2)": {"e": 2, "a": 1, "c": 0, "b": -1, "d": -3},
    "E @ (q1 - q1)": {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0},
    'E @ "x"': {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    "E @ query": {"e": 2, "a": 1, "c": 1, "b": 0, "d": -1},
    'E @ row(E, "b")': {"d": 2, "b": 1, "c": 1, "a": 0, "e": 0},
    "E @ centroid(E, m | n)": {"c": 1, "b": 1, "d": 2, "a": 0, "e": 0},
    "E @ unit(q2)": {"d": 2, "b": 1, "c": 1, "a": 0, "e": 0},
    "-A": {"c": -0.5, "a": -1, "b": -1},
    "A - A": {"a": 0, "b": 0, "c": 0},
    "--A": {"a": 1, "b": 1, "c": 0.5},
    "A - A - A": {"c": -0.5, "a": -1, "b": -1},
    "A - 0.5 B": {"b": 0},
    "A - 0.5 fill(0, B)": {"a": 1, "c": 0.5, "b": 0},
    "fill(0, A) - 0.5 fill(0, B)": {"a": 1, "c": 0.5, "h": 0.5, "b": 0, "d": 0, "e": 0, "f": 0, "g": 0},
    "(support(A) | support(B)) >> (fill(0, A) + fill(0, B))": {"b": 3, "a": 1, "c": 0.5, "h": -1},
    "N * w": {"c": 0.2, "a": -0.4 * 0.1, "b": -0.1},
    "S / 2 + 1": {"a": 2.5, "c": 2, "b": 1.5, "d": 1},
    "(1 - alpha) * S + alpha * S": {"a": 3, "c": 2, "b": 1, "d": 0},
    "m >> S": {"a": 3, "b": 1, "d": 0},
    "~m >> S": {"c": 2},
    "m & n >> S": {"d": 0},
    "m | n >> S": {"a": 3, "b": 1, "d": 0},
    "all >> one": {"a": 5},
    "S >= 2 >> S": {"a": 3, "c": 2},
    "S > 2 >> S": {"a": 3},
    "S <= 1 >> S": {"b": 1, "d": 0},
    "S < 1 >> S": {"d": 0},
    'published >= "2024-01-01" >> S': {"a": 3, "d": 0},
    'published < "2024-01-01" >> S': {"b": 1},
    'support(lang) & ~isin(lang, "en") >> S': {"b": 1, "d": 0},
    'isin(lang, "en", "fr") >> S': {"a": 3, "c": 2, "d": 0},
    'isin(published, "2026-12-01") >> S': {"d": 0},
    "isin(S, 3, 0) >> S": {"a": 3, "d": 0},
    'ids("c", "a", "c") >> S': {"a": 3, "c": 2},
    "top(2, S)": {"a": 3, "c": 2},
    "top(100, S)": {"a": 3, "c": 2, "b": 1, "d": 0},
    "top(1000000000000000000000000000000, S)": {"a": 3, "c": 2, "b": 1, "d": 0},
    "top(1, m >> (E @ q1))": {"a": 1},
    "m >> top(1, E @ q1)": {},
    "top(1, A)": {"a": 1},
    "top(2, empty)": {},
    "per(1, lang, S)": {"a": 3, "b": 1, "d": 0},
    "per(1, A, S)": {"a": 3, "c": 2},
    "per(2, lang, S)": {"a": 3, "c": 2, "b": 1, "d": 0},
    "minmax(S)": {"a": 1, "c": 2 / 3, "b": 1 / 3, "d": 0},
    "minmax(flat)": {"a": 1, "b": 1},
    "minmax(one)": {"a": 1},
    "minmax(empty)": {},
    "maxnorm(S)": {"a": 1, "c": 2 / 3, "b": 1 / 3, "d": 0},
    "maxnorm(empty)": {},
    "zscore(flat)": {"a": 0, "b": 0},
    "zscore(top(2, S))": {"a": 1, "c": -1},
    "softmax(flat)": {"a": 0.5, "b": 0.5},
    "sigmoid(A - A)": {"a": 0.5, "b": 0.5, "c": 0.5},
    "exp(A - A)": {"a": 1, "b": 1, "c": 1},
    "log1p(A - A)": {"a": 0, "b": 0, "c": 0},
    "abs(B)": {"b": 2, "h": 1},
    "clip(1, 2, S)": {"a": 2, "c": 2, "b": 1, "d": 1},
    "ranks(A)": {"c": 3, "b": 2, "a": 1},
    "rrf(A, B)": {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "h": 1 / 62, "c": 1 / 63},
    "rrf(A, B, k=1, depth=1)": {"a": 0.5, "b": 0.5},
    "rrf(empty, A, k=0)": {"a": 1, "b": 0.5, "c": 1 / 3},
    "decay(age, 30)": {"a": 1, "b": 1, "c": 0.5},
    "recip_decay(age, 30)": {"a": 1, "b": 1, "c": 0.5},
    "days_since(published, now)": {"b": 1066, "a": 1065, "d": 0},
    "closeness(L, far)": {"a": 0, "c": -1, "b": -5},
    "closeness(C, cos)": {"a": 1, "b": 6.0 / 10.0},
    "closeness(C, 0 * cos)": {"a": 0, "b": 0},
    "closeness(E, q2)": {"d": 4, "b": 2, "c": 2, "a": 0, "e": 0},
    "bm25(query)": {"d": 9, "a": 7},
    'bm25("x", 3)': {"d": 9, "a": 7, "b": 5},
    "F = E\npool = support(bm25(query))\nc = alpha * 2\ntop(5, pool >> (c * (F @ q1)))": {"a": 0.5, "d": -0.5},
    "mmr(2, S, E, relevance=1)": {"a": 3, "c": 2},
    "mmr(9, S, E, relevance=0.5)": {"a": 1.5, "b": 0.5, "c": 0.5, "d": -1},
}


FAULTS = {
    "top(1, big * 10)": ("non_finite", "big * 10", "'b'"),
    'top(1, ids("a") >> (big * 1e10))': ("non_finite", "(big * 1e10)", "'b'"),
    'rrf(ids("a") >> (1e10 * big), A)': ("non_finite", "(1e10 * big)", "'b'"),
    "log1p(loss)": ("non_finite", "log1p(loss)", "'a'"),
    "top(1, log1p(loss))": ("non_finite", "log1p(loss)", "'a'"),
    "exp(big)": ("non_finite", "exp(big)", "'b'"),
    "maxnorm(loss)": ("nonpositive_maximum", "maxnorm(loss)", ""),
    'ids("nosuch") >> A': ("unknown_record", '"nosuch"', "'nosuch'"),
    'E @ row(E, "nosuch")': ("unknown_record", '"nosuch"', "'nosuch'"),
    'E @ row(E, "h")': ("unknown_record", '"h"', "'h'"),
    "E @ centroid(E, support(empty))": ("empty_centroid", "centroid(E, support(empty))", ""),
    'E @ centroid(E, ids("h"))': ("empty_centroid", 'centroid(E, ids("h"))', ""),
    "E @ unit(q1 - q1)": ("zero_vector", "unit(q1 - q1)", ""),
    "top(3, E @ unit(0 * q1))": ("zero_vector", "unit(0 * q1)", ""),
    'C @ "x"': ("missing_encoder", 'C @ "x"', ""),
    'C @ encode(C, "x")': ("missing_encoder", 'encode(C, "x")', ""),
    "E @ (1e300 * q1)": ("non_finite", "(1e300 * q1)", ""),
}


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("text", RESULTS)
def test_gives_what_the_table_says_in_rank_order(text, fold):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(text, fold_directions=fold)
    expected = sorted(RESULTS[text].items(), key=lambda item: (-item[1], item[0]))
    assert list(result) == [(docno, float(score)) for docno, score in expected]
    assert result.certified and result.error_bound == 0


@pytest.mark.parametrize("text", RESULTS)
def test_gives_what_the_definition_gives(text):
    result, defined = run(text), DefinitionEngine().run(parse(text), SCOPE)
    assert result == defined and result.gap_check == defined.gap_check


@pytest.mark.parametrize("text", FAULTS)
def test_fails_as_the_definition_does(text):
    with pytest.raises(EvaluationError) as caught:
        DefinitionEngine().run(parse(text), SCOPE)
    assert caught.value.code == FAULTS[text][0]


def test_gives_no_negative_zero():
    for text in ("A - A", "0 * B", "-(A - A)", "E @ q1", "clip(-1, 0, B) * 0", "E @ (0 * q1)"):
        assert not np.signbit(run(text).scores[run(text).scores == 0]).any(), text


@pytest.mark.parametrize("text", FAULTS)
def test_names_step_place_and_record_of_a_fault(text):
    code, place, record = FAULTS[text]
    with warnings.catch_warnings(), pytest.raises(EvaluationError) as caught:
        warnings.simplefilter("error")
        run(text)
    fault = caught.value.diagnostics[0]
    assert fault.code == code
    assert caught.value.source == text
    assert parse(text).source[fault.span.start : fault.span.stop] == place
    assert record in fault.message


def test_a_step_that_the_result_does_not_use_is_not_computed():
    BM25.asked.clear()
    assert run('faulty = ids("nosuch")\nasks = bm25(query)\ntop(1, S)').to_dict() == {"a": 3}
    assert not BM25.asked


def test_a_retriever_is_asked_once_for_equal_calls():
    BM25.asked.clear()
    run("rrf(bm25(query), bm25(query), bm25(query, 1))")
    assert sorted(BM25.asked) == [("x", 1), ("x", 2)]


def test_the_gap_check_is_that_of_the_outermost_top():
    tie = run("top(1, A)").gap_check
    assert (tie.verdict, tie.gap_at_cut, tie.certified) == ("exact_tie", 0.0, True)
    assert [(p.above, p.below, p.at_cut) for p in tie.closest] == [("a", "b", True)]
    assert run("best = top(1, S)\nsame = best\nsame").gap_check.gap_at_cut == 1.0
    assert run("top(4, S)").gap_check.gap_at_cut is None
    assert run("top(1, E @ q1)").gap_check.gap_at_cut == 1.0
    assert run("2 * top(1, S)").gap_check is None
    assert run("S").gap_check is None


def test_long_and_deep_programs_stay_linear():
    total = Name("A")
    for _ in range(3000):
        total = total + Name("A")
    result = ENGINE.run(Formula((), Apply("top", (Count("2"), total))), SCOPE)
    assert list(result) == [("a", 3001.0), ("b", 3001.0)]
    scans = Name("E") @ Name("q1")
    for _ in range(3000):
        scans = scans + Name("E") @ Name("q1")
    assert list(ENGINE.run(Formula((), Apply("top", (Count("1"), scans))), SCOPE)) == [("e", 6002.0)]
    steps = [("s0", Name("E") @ Name("q1"))]
    for i in range(1, 501):
        steps.append((f"s{i}", Name(f"s{i - 1}") * Number(0.5) + Name(f"s{i - 1}") * Number(0.5)))
    formula = Formula(tuple(steps), Apply("top", (Count("1"), Name("s500"))))
    assert list(ENGINE.run(formula, SCOPE)) == [("e", 2.0)]


def test_defined_scores_are_nan_outside_the_domain_and_follow_steps():
    formula = parse("push = E @ q1\npool = top(2, push)\nfill(0, m >> push) + minmax(S)")
    positions = np.array([5, 3, 0, 2, 4])
    scores = {name: defined_scores(formula, expression, SCOPE, positions) for name, expression in formula.steps}
    np.testing.assert_array_equal(scores["push"], [math.nan, -1, 1, 1, 2])
    np.testing.assert_array_equal(scores["pool"], [math.nan, math.nan, 1, math.nan, 2])
    result = defined_scores(formula, formula.result, SCOPE, positions)
    np.testing.assert_array_equal(result, [math.nan, -1, 2, 2 / 3, math.nan])
    assert not len(defined_scores(formula, formula.result, SCOPE, positions[:0]))


def test_mask_positions_follow_steps():
    formula = parse("pool = ~support(top(2, E @ q1))\npool >> S")
    assert mask_positions(formula, Name("pool"), SCOPE).tolist() == [1, 2, 3, 5, 6, 7]


def test_run_all_computes_once_what_does_not_differ():
    scopes = [TABLES.scope(bm25=BM25, S=SCOPE.operands["S"], query=text) for text in ("x", "y")]
    scopes = [type(s)(s.docnos, {**scopes[0].operands, "query": s.operands["query"]}, s.qid, s.shared) for s in scopes]
    BM25.asked.clear()
    results = ENGINE.run_all(parse('bm25("fixed") + S'), scopes)
    assert BM25.asked == [("fixed", 2)] and results[0] == results[1] and len(results) == 2
    BM25.asked.clear()
    ENGINE.run_all(parse("bm25(query)"), scopes)
    assert BM25.asked == [("x", 2), ("y", 2)]


def test_an_empty_matrix_and_an_empty_collection_score_nothing():
    nothing = TABLES.matrix({})
    scope = TABLES.scope(E=nothing, q=vector([1, 0], nothing))
    assert run("top(3, E @ q)", scope).to_dict() == {}
    assert run("top(1, fill(0, E @ q))", scope).to_dict() == {"a": 0}
    bare = Tables([])
    assert run("top(3, fill(1, S))", bare.scope(S=bare.relation({}))).to_dict() == {}


def test_it_can_do_everything():
    assert ENGINE.capabilities == EVERYTHING and ENGINE.certifies


def test_pickled_without_what_it_measured():
    engine = VectorisedEngine(fold_directions=False)
    before = engine.run(parse("top(2, E @ q1)"), SCOPE)
    copy = pickle.loads(pickle.dumps(engine))
    assert copy.run(parse("top(2, E @ q1)"), SCOPE) == before and copy.fold_directions is False
