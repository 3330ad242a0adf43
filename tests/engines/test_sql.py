"""Both SQL engines: literal results, faults, hostile names and the statements themselves."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from vectorised_tables import Encoder, Retriever, Tables, vector

from pyterrier_alg.algebra import Distance, EvaluationError, Kind, UnsupportedError, parse
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.sql.duckdb import DuckDbEngine
from pyterrier_alg.engines.sql.sqlite import SqliteEngine

HOSTILE = 'm"; DROP TABLE docs;--'
ENGINES = {"sqlite": SqliteEngine, "duckdb": DuckDbEngine}

TABLES = Tables(["a", "b", "c", "d", "é", "🙂"])
E = TABLES.matrix({"a": [1, 0], "b": [0.6, 0.8], "c": [-1, 0], "é": [1, 0]}, Distance.COSINE, Encoder({"east": [1, 0]}))
P = TABLES.matrix({"a": [2, 0], "b": [0, 3]}, name="products")
L = TABLES.matrix({"a": [0, 0], "b": [3, 4]}, Distance.L2, name="flat")
SCOPE = TABLES.scope(
    E=E, q=vector([1, 0], E), r=vector([0, 0.5], E), P=P, p=vector([3, 5], P), L=L, o=vector([0, 0], L),
    S=TABLES.relation({"a": 1, "b": 2, "c": -1, "🙂": 2}), T=TABLES.relation({"b": 0.5, "c": 4, "d": 0}),
    e=TABLES.relation({"a": 5, "d": 1}), zero=TABLES.relation({}), minus=TABLES.relation({"a": -1, "b": -2}),
    wide=TABLES.relation({"a": 1e160, "b": -1e160}), close=TABLES.relation({"a": 1e-200, "b": 2e-200}),
    both=TABLES.relation({"a": 1e308, "b": -1e308}),
    huge=TABLES.relation({"a": 1e308, "b": 1}), m=TABLES.mask(["a", "b", "d"]), none=TABLES.mask([]),
    **{HOSTILE: TABLES.mask(["b", "c"]), "sqlite_master": TABLES.relation({"a": 7}), "docs": TABLES.mask(["c", "d"])},
    lang=TABLES.column({"a": "en", "b": "x' OR 1=1 --", "c": "en", "🙂": "de"}),
    day=TABLES.column({"a": "2024-02-28", "b": "2024-03-01", "d": "1965-07-01"}, Kind.DATE_COLUMN),
    bm25=Retriever({"b": 3.0, "a": 2.0, "é": 1.0}), query="east", now="2024-03-02", half=0.5, k=2.0,
)  # fmt: skip

#: Programs and what they give, in rank order: scores that any database has exactly.
LITERAL = [
    ("S + T", {"c": 3.0, "b": 2.5}),
    ("S - half * T", {"b": 1.75, "c": -3.0}),
    ("-S / 2", {"c": 0.5, "a": -0.5, "b": -1.0, "🙂": -1.0}),
    ("T * S + k", {"b": 3.0, "c": -2.0}),
    ("m >> S + T", {"b": 2.5}),
    ("~m >> S", {"🙂": 2.0, "c": -1.0}),
    ("(m & ~docs | ids('🙂')) >> S", {"b": 2.0, "🙂": 2.0, "a": 1.0}),
    ("all >> T", {"c": 4.0, "b": 0.5, "d": 0.0}),
    ("none >> S", {}),
    ("zero + S", {}),
    ("minmax(zero)", {}),
    ("maxnorm(zero)", {}),
    ("top(3, none >> (E @ q))", {}),
    ("fill(0, T) - fill(1, S)", {"c": 5.0, "a": -1.0, "d": -1.0, "é": -1.0, "b": -1.5, "🙂": -2.0}),
    ("top(2, S)", {"b": 2.0, "🙂": 2.0}),
    ("top(2, top(3, S) * T)", {"b": 1.0}),
    ("top(99999999999999999999999, S)", {"b": 2.0, "🙂": 2.0, "a": 1.0, "c": -1.0}),
    ("per(1, lang, S)", {"b": 2.0, "🙂": 2.0, "a": 1.0}),
    ("per(1, S, fill(0, T))", {"c": 4.0, "b": 0.5, "a": 0.0}),
    ("ranks(S)", {"c": 4.0, "a": 3.0, "🙂": 2.0, "b": 1.0}),
    ("minmax(S)", {"b": 1.0, "🙂": 1.0, "a": 2 / 3, "c": 0.0}),
    ("minmax(S * 0)", {"a": 1.0, "b": 1.0, "c": 1.0, "🙂": 1.0}),
    ("zscore(S * 0 + 0.1)", {"a": 0.0, "b": 0.0, "c": 0.0, "🙂": 0.0}),
    ("maxnorm(T)", {"c": 1.0, "b": 0.125, "d": 0.0}),
    ("clip(0, 1.5, abs(S))", {"b": 1.5, "🙂": 1.5, "a": 1.0, "c": 1.0}),
    ("exp(S * 0) + log1p(T * 0)", {"b": 1.0, "c": 1.0}),
    ("sigmoid(S * 0)", {"a": 0.5, "b": 0.5, "c": 0.5, "🙂": 0.5}),
    ("S >= 2 >> S", {"b": 2.0, "🙂": 2.0}),
    ("isin(S, 1, -1) >> S", {"a": 1.0, "c": -1.0}),
    ("isin(lang, \"x' OR 1=1 --\", 'de') >> S", {"b": 2.0, "🙂": 2.0}),
    ("lang != 'en' >> S", {"b": 2.0, "🙂": 2.0}),
    ("support(day) >> S", {"b": 2.0, "a": 1.0}),
    ("day < '2024-03-01' >> fill(1, zero)", {"a": 1.0, "d": 1.0}),
    ("day >= now >> S", {}),
    ("days_since(day, now)", {"d": 21429.0, "a": 3.0, "b": 1.0}),
    ("decay(days_since(day, '2024-02-28') - 0, 1)", {"a": 1.0, "b": 1.0, "d": 0.0}),
    ("recip_decay(days_since(day, now), 3)", {"b": 0.75, "a": 0.5, "d": 1 / 7144}),
    ("rrf(S, T, k=1)", {"b": 1 / 2 + 1 / 3, "c": 1 / 5 + 1 / 2, "🙂": 1 / 3, "a": 1 / 4, "d": 1 / 4}),
    ("rrf(S, T, k=1, depth=1)", {"b": 0.5, "c": 0.5}),
    ("rrf(zero, S, k=1, depth=2)", {"b": 0.5, "🙂": 1 / 3}),
    ("rrf(S)", {"b": 1 / 61, "🙂": 1 / 62, "a": 1 / 63, "c": 1 / 64}),
    ("bm25(query)", {"b": 3.0, "a": 2.0}),
    ("bm25(query, 3) + bm25(query, 1)", {"b": 6.0}),
    (f"`{HOSTILE}` >> S", {"b": 2.0, "c": -1.0}),
    ("sqlite_master + S", {"a": 8.0}),
    ("docs >> T", {"c": 4.0, "d": 0.0}),
    ("e + S", {"a": 6.0}),
    ("E @ q", {"a": 1.0, "é": 1.0, "b": pytest.approx(0.6, abs=1e-6), "c": -1.0}),
    ("E @ (q - q)", {"a": 0.0, "b": 0.0, "c": 0.0, "é": 0.0}),
    ("closeness(E, q - q)", {"a": 0.0, "b": 0.0, "c": 0.0, "é": 0.0}),
    ("P @ p", {"b": 15.0, "a": 6.0}),
    ("closeness(P, p)", {"b": 15.0, "a": 6.0}),
    ("closeness(L, o)", {"a": 0.0, "b": -5.0}),
    ("P @ row(P, 'a') - P @ (2 * p)", {"a": -8.0, "b": -30.0}),
    ("P @ centroid(P, m)", {"b": 4.5, "a": 2.0}),
    ("closeness(E, r) * 0 + E @ query", {"a": 1.0, "é": 1.0, "b": pytest.approx(0.6, abs=1e-6), "c": -1.0}),
    ("pool = m\nonly = pool >> S\ndouble = only + only\ntop(1, double)", {"b": 4.0}),
    ("E2 = E\nx = lang\nisin(x, 'en') >> (E2 @ q)", {"a": 1.0, "c": -1.0}),
    ("s = S\nS2 = T\ns + S2 + (S2 >= 4 >> S2)", {"c": 7.0}),
]

#: Programs that fail on these data, and how.
FAULTS = [
    ("maxnorm(minus)", "nonpositive_maximum"),
    ("none >> maxnorm(minus)", "nonpositive_maximum"),
    ("huge * 10", "non_finite"),
    ("none >> (huge + huge)", "non_finite"),
    ("exp(1000 * S)", "non_finite"),
    ("top(1, log1p(minus))", "non_finite"),
    ("zscore(wide)", "non_finite"),
    ("zscore(close)", "non_finite"),
    ("none >> zscore(wide)", "non_finite"),
    ("fill(0, zscore(close))", "non_finite"),
    ("minmax(both)", "non_finite"),
    ("ids('nobody') >> S", "unknown_record"),
    ("P @ row(P, 'c')", "unknown_record"),
    ("P @ row(P, 'nobody')", "unknown_record"),
    ("P @ centroid(P, docs)", "empty_centroid"),
    ("E @ unit(q - q)", "zero_vector"),
    ("P @ query", "missing_encoder"),
]


#: Pitfalls of other systems: relations, a program, and what it gives.
PITFALLS = [
    ({"A": {"b": 1, "a": 1}, "B": {"d": 2, "c": 1}}, "top(4, rrf(A, B))",
     {"a": 1 / 61, "d": 1 / 61, "b": 1 / 62, "c": 1 / 62}),
    ({"A": {"a": 3, "b": 2, "c": 1}, "B": {"c": 3, "d": 2, "a": 1}}, "rrf(A, B, k=1, depth=3)",
     {"a": 3 / 4, "c": 3 / 4, "b": 1 / 3, "d": 1 / 3}),
    ({"A": {"a": 1, "b": 1, "c": 0.5}, "B": {"b": 2, "d": -1}}, "A - 0.5 B", {"b": 0.0}),
    ({"A": {"a": 1, "b": 1, "c": 0.5}, "B": {"b": 2, "d": -1}}, "A - 0.5 fill(0, B)", {"a": 1.0, "c": 0.5, "b": 0.0}),
    ({"A": {"a": 1, "b": 1, "c": 0.5}, "B": {"b": 2, "d": -1}}, "fill(0, A) - 0.5 fill(0, B)",
     {"a": 1.0, "c": 0.5, "d": 0.5, "b": 0.0, "é": 0.0, "🙂": 0.0}),
    ({"A": {"a": -0.4, "b": -0.1, "c": 0.2}, "B": {"a": 0.1, "b": 1, "c": 1}}, "A * B",
     {"c": 0.2, "a": -0.4 * 0.1, "b": -0.1}),
    ({"A": {"a": 3}, "B": {"a": 2}, "C": {"a": 1}}, "A - B - C", {"a": 0.0}),
    ({"A": {"a": 3}, "B": {"a": 2}, "C": {"a": 1}}, "A - (B - C)", {"a": 2.0}),
    ({"A": {"a": 3}, "B": {"a": 2}, "C": {"a": 1}}, "A / 2 * (B + C) - -(-C)", {"a": 3.5}),
    ({"A": {"a": 3}}, "-0.5 A + A - --A", {"a": -1.5}),
    ({"A": {"a": 2, "b": 2}}, "minmax(A) + zscore(A)", {"a": 1.0, "b": 1.0}),
    ({"A": {"a": 5}}, "minmax(A)", {"a": 1.0}),
    ({"A": {"a": 0.0}, "B": {"a": -1.0, "b": 0.0}}, "fill(0, A) * B", {"a": 0.0, "b": 0.0}),
]  # fmt: skip


@pytest.fixture(scope="module", params=ENGINES)
def make(request):
    return ENGINES[request.param]


@pytest.fixture(scope="module")
def engine(make):
    return make()


@pytest.mark.parametrize(("text", "expected"), LITERAL)
def test_results_are_those_of_the_table_in_rank_order(engine, text, expected):
    found = engine.run(parse(text), SCOPE)
    assert found.to_dict() == expected
    assert found.docnos.tolist() == list(expected)
    assert not found.certified


@pytest.mark.parametrize(("relations", "text", "expected"), PITFALLS)
def test_known_pitfalls(engine, relations, text, expected):
    scope = TABLES.scope(**{name: TABLES.relation(scores) for name, scores in relations.items()})
    found = engine.run(parse(text), scope)
    assert list(found) == list(expected.items())
    # Not -0, which prints and divides otherwise.
    assert not np.signbit(found.scores[found.scores == 0]).any()


@pytest.mark.parametrize(("text", "_"), LITERAL)
def test_an_exact_run_is_the_definition_wherever_it_says_so(make, text, _):
    found, defined = make(exact=True).run(parse(text), SCOPE), DefinitionEngine().run(parse(text), SCOPE)
    if found.certified:
        assert found == defined
        assert found.gap_check == defined.gap_check
    assert found.certified == ("zscore" not in text)


@pytest.mark.parametrize(("text", "code"), FAULTS)
def test_what_only_the_data_shows_is_an_error_with_its_code(engine, text, code):
    with pytest.raises(EvaluationError) as error:
        engine.run(parse(text), SCOPE)
    assert error.value.code == code
    with pytest.raises(EvaluationError):
        engine.raw_rows(parse(text), SCOPE)


def test_an_overflow_names_step_and_record(engine):
    with pytest.raises(EvaluationError, match=r"huge \* 10 is inf for 'a'"):
        engine.run(parse("huge * 10"), SCOPE)


def test_a_step_that_is_not_used_is_not_run(engine):
    assert engine.run(parse("x = maxnorm(minus)\ny = P @ row(P, 'c')\ne"), SCOPE).to_dict() == {"a": 5.0, "d": 1.0}


def test_mmr_is_refused_before_running(engine):
    with pytest.raises(UnsupportedError, match="cannot do mmr yet"):
        engine.run(parse("mmr(2, S, E)"), SCOPE)


def test_the_tables_are_intact_after_hostile_names_and_values(engine):
    first = engine.run(parse("all >> fill(0, S)"), SCOPE)
    for text, _ in LITERAL:
        if HOSTILE in text or "OR 1=1" in text:
            engine.run(parse(text), SCOPE)
    assert engine.run(parse("all >> fill(0, S)"), SCOPE) == first
    assert len(first) == 6


def test_values_are_bound_and_identifiers_quoted(engine):
    formula = parse(f'(isin(lang, "x\' OR 1=1 --") & `{HOSTILE}`) >> (S * half)')
    statement = engine.compile(formula, SCOPE)
    assert "OR 1=1" not in statement.sql
    assert '"m""; DROP TABLE docs;--"' in statement.sql
    assert sorted(map(str, statement.parameters.values())) == ["0.5", "x' OR 1=1 --"]


def test_a_statement_can_be_read_before_operands_are_there(engine):
    pushed = parse("push = E @ q - 0.5 * (E @ r)\ntop(10, m >> (S * push))")
    bound, unbound = engine.compile(pushed, SCOPE), engine.compile(pushed, SCOPE.bindings)
    assert bound.sql == unbound.sql
    assert 'WITH "push" AS' in bound.sql
    assert unbound.parameters["k"] == 10
    assert unbound.parameters["q"] is None and bound.parameters["q"] is not None


def test_sqlite_scores_as_the_paper_does():
    sql = SqliteEngine().compile(parse("top(10, E @ q)"), SCOPE).sql
    assert '1 - vec_distance_cosine("E"."vector", :q)' in sql
    assert sql.split()[-2:] == ["LIMIT", ":k"]


def test_raw_rows_are_ordered_by_score_alone(engine):
    statement = engine.raw_rows(parse("top(3, S)"), SCOPE)
    assert [score for _, score in statement] == [2.0, 2.0, 1.0]
    assert {docno for docno, _ in statement} == {"b", "🙂", "a"}
    assert engine.raw_rows(parse("e"), SCOPE) == [("a", 5.0), ("d", 1.0)]


def test_the_gap_check_says_what_stands_across_the_cut(engine):
    check = engine.run(parse("top(1, S)"), SCOPE).gap_check
    assert (check.gap_at_cut, check.verdict, check.certified) == (0.0, "exact_tie", False)
    assert engine.run(parse("top(4, S)"), SCOPE).gap_check.gap_at_cut is None
    assert engine.run(parse("first = top(1, S)\nfirst"), SCOPE).gap_check == check
    assert engine.run(parse("S"), SCOPE).gap_check is None


def test_eight_equal_records_come_in_the_order_of_their_docnos(make):
    tables = Tables([f"d{i}" for i in range(8)])
    matrix = tables.matrix({f"d{i}": np.float32([0.1, 0.7, 0.3]) for i in range(8)})
    scope = tables.scope(E=matrix, q=vector([0.3, 0.9, 0.2], matrix), m=tables.mask([f"d{i}" for i in range(8)]))
    for _ in range(3):
        assert make().run(parse("top(3, m >> (E @ q))"), scope).docnos.tolist() == ["d0", "d1", "d2"]


def test_an_exact_run_does_not_split_what_ties_in_another_order(make):
    def unit(row):
        return (np.array(row) / np.linalg.norm(row)).astype(np.float32)

    tables = Tables(["r1", "r2"])
    matrix = tables.matrix({"r1": unit([0, 1, 3, 2]), "r2": unit([0, 2, 3, 1])}, Distance.COSINE)
    q1, q2 = vector(unit([-1, -1, 2, -1]), matrix), vector(unit([-3, 1, -2, 1]), matrix)
    found = make(exact=True).run(parse("top(1, E @ q1 - 0.5 * (E @ q2))"), tables.scope(E=matrix, q1=q1, q2=q2))
    assert found.to_dict() == {"r1": 0.4065556138471558}
    assert found.certified and found.gap_check.verdict == "exact_tie"


def test_k_may_be_larger_than_the_collection(make):
    docnos = [f"{i:05}" for i in range(5000)]
    tables = Tables(docnos)
    rng = np.random.default_rng(0)
    matrix = tables.matrix({d: row for d, row in zip(docnos, rng.standard_normal((5000, 4)), strict=True)})
    scope = tables.scope(E=matrix, q=vector([1, 2, 3, 4], matrix))
    engine = make()
    assert [len(engine.run(parse(f"top({k}, E @ q)"), scope)) for k in (4500, 5000, 20000)] == [4500, 5000, 5000]
    assert len(engine.run(parse("rrf(E @ q, E @ q, depth=4600)"), scope)) == 4600


def test_an_engine_pickles_without_its_connection(make):
    engine = make(exact=True)
    before = engine.run(parse("top(2, E @ q)"), SCOPE)
    copy = pickle.loads(pickle.dumps(engine))
    assert copy.exact and copy.run(parse("top(2, E @ q)"), SCOPE) == before


def test_threads_may_share_an_engine(engine):
    formulas = [parse(text) for text, _ in LITERAL]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda formula: engine.run(formula, SCOPE), formulas * 2))
    assert [f.to_dict() for f in found] == [expected for _, expected in LITERAL] * 2


def test_an_engine_may_be_closed_and_used_again(make):
    engine = make()
    first = engine.run(parse("S"), SCOPE)
    engine.close()
    assert engine.run(parse("S"), SCOPE) == first


def test_two_collections_with_the_same_names_do_not_meet(engine):
    other = Tables(["a", "z"])
    scope = other.scope(S=other.relation({"z": 3, "a": 1}))
    assert engine.run(parse("fill(0, S)"), scope).to_dict() == {"z": 3.0, "a": 1.0}
    assert len(engine.run(parse("fill(0, S)"), SCOPE)) == 6
