"""The stated bounds of the SQL engines: they hold, follow dimension and norms, and end where nothing can be said."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorised_tables import Tables, wide

from pyterrier_alg.algebra import parse
from pyterrier_alg.engines.sql.duckdb import DuckDbEngine
from pyterrier_alg.engines.sql.sqlite import SqliteEngine
from pyterrier_alg.engines.vectorised import VectorisedEngine

ENGINES = {"sqlite": SqliteEngine(), "duckdb": DuckDbEngine()}
EXACT = {"sqlite": SqliteEngine(exact=True), "duckdb": DuckDbEngine(exact=True)}

PROGRAMS = [
    "E @ q1", "C @ c1", "closeness(C, c1)", "closeness(L, l1)", "C @ c1 - 0.5 * (C @ (100 * c1))", "w * (C @ c1) / 3",
    "(C @ c1) * (C @ c1) + w", "fill(0.5, m >> (C @ c1))", "abs(-(C @ c1)) * 7 - clip(-0.1, 0.1, C @ c1)",
    "exp(C @ c1)", "sigmoid(5 * (C @ c1))", "log1p(abs(C @ c1))", "decay(abs(C @ c1), 0.1)", "recip_decay(C @ c1, 0.2)",
    "C @ (1e30 * c1)", "C @ (1e-30 * c1)", "E @ (1e30 * q1)", "rrf(w, w, w, w)", "softmax(w)", "exp(w) * (E @ q1)",
]  # fmt: skip


def collection(seed: int, records: int, dimensions: int, common: float = 0.0):
    """Unit rows with a common direction, in the three spaces."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((records, dimensions)) + common
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    query = rng.standard_normal(dimensions) + common
    docnos = [f"{i:04}" for i in range(records)]
    tables = Tables(docnos)
    w = tables.relation(dict(zip(docnos, rng.random(records), strict=True)))
    return wide(rows, tables, q1=query / np.linalg.norm(query), w=w, m=tables.mask(docnos[::2]))


SCOPES = [collection(0, 200, 16), collection(1, 100, 384, common=2.0), collection(2, 30, 1)]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("text", PROGRAMS)
def test_scores_lie_within_the_stated_bound(name, text):
    for scope in SCOPES:
        found, defined = ENGINES[name].run(parse(text), scope), VectorisedEngine().run(parse(text), scope)
        assert found.to_dict().keys() == defined.to_dict().keys()
        assert math.isfinite(found.error_bound)
        errors = [abs(found[docno] - score) for docno, score in defined]
        assert max(errors) <= found.error_bound


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("text", PROGRAMS)
def test_candidates_within_the_bound_give_the_defined_result(name, text):
    for scope in SCOPES:
        for k in (1, 10, 150):
            formula = parse(f"top({k}, {text})")
            found, defined = EXACT[name].run(formula, scope), VectorisedEngine().run(formula, scope)
            assert found.certified
            assert found == defined
            assert found.gap_check == defined.gap_check


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), copies=st.integers(2, 30), k=st.integers(1, 40))
def test_crowds_of_near_ties_are_told_apart(name, seed, copies, k):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((8, 12)).astype(np.float32)
    # Permuted pairs of equal elements tie in real arithmetic, and differ in float32's.
    rows = np.concatenate([rows[:, rng.permutation(12)] for _ in range(copies)])
    rows /= np.float32(np.sqrt((rows[:8].astype(np.float64) ** 2).sum()))
    tables = Tables([f"{i:04}" for i in range(len(rows))])
    scope = wide(rows, tables, q1=np.full(12, 0.3))
    formula = parse(f"top({k}, 0.3 * (E @ q1) - closeness(L, l1))")
    found, defined = EXACT[name].run(formula, scope), VectorisedEngine().run(formula, scope)
    assert found.certified and found == defined


def test_a_bound_follows_dimension_and_norms():
    def bound(text, scope):
        return SqliteEngine().run(parse(text), scope).error_bound

    small, large = SCOPES[0], SCOPES[1]
    assert 10 * bound("C @ c1", small) < bound("C @ c1", large) < 1e-3
    assert bound("C @ (100 * c1)", small) == pytest.approx(100 * bound("C @ c1", small), rel=0.01)
    assert bound("C @ (c1 - c1)", small) == 0.0
    assert ENGINES["duckdb"].run(parse("C @ c1"), large).error_bound < 1e-12


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "text", ["w + 1", "minmax(w) * w", "top(3, w) * w", "ranks(w) / 3", "rrf(w, 2 * w)", "per(1, w, w)"]
)
def test_arithmetic_on_what_is_defined_adds_no_error(name, text):
    assert ENGINES[name].run(parse(text), SCOPES[0]).error_bound == 0.0
    assert EXACT[name].run(parse(text), SCOPES[0]).certified


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "text",
    ["minmax(E @ q1)", "ranks(E @ q1)", "rrf(w, E @ q1)", "fill(0, top(3, E @ q1))", "zscore(w)", "softmax(E @ q1)"],
)
def test_no_bound_is_stated_where_none_is_known(name, text):
    for engines in (ENGINES, EXACT):
        found = engines[name].run(parse(text), SCOPES[0])
        assert found.error_bound == math.inf
        assert not found.certified


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("text", ["top(3, top(20, E @ q1))", "((E @ q1) >= 0) >> w", "per(1, w, E @ q1)"])
def test_records_that_hang_on_approximate_scores_are_not_certified(name, text):
    found = EXACT[name].run(parse(text), SCOPES[0])
    assert not found.certified
    assert math.isfinite(found.error_bound)
