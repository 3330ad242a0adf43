"""Programs over a pool: what they mean, against the same program in a world that has no other records."""

from dataclasses import replace

import numpy as np
import pytest
from bound import BINDINGS
from every_engine import ENGINES
from holding import FEW, hold
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from programs import described, programs

from pyterrier_alg.algebra import Apply, EvaluationError, Name, ProgramError, check, parse
from pyterrier_alg.algebra.expressions import walk
from pyterrier_alg.algebra.meaning import Column, Matrix, World, evaluate
from pyterrier_alg.algebra.restricting import restrict
from pyterrier_alg.collection.operands import MaskOperand, RelationOperand

#: The program, and what it is over a pool.
TABLE = [
    ("top(3, E @ query)", "top(3, pool >> (E @ query))"),
    ("minmax(S) + 0.5 T", "minmax(pool >> S) + 0.5 * (pool >> T)"),
    ("input", "input"),
    ("fill(0, S)", "pool >> fill(0, pool >> S)"),
    ("~m >> input", "(pool & ~(pool & m)) >> input"),
    ("(year >= 1965 | lang == 'en') >> input", "((pool >> year) >= 1965 | (pool & isin(lang, \"en\"))) >> input"),
    ("support(lang) & support(S) >> input", "((pool & support(lang)) & support(pool >> S)) >> input"),
    ("bm25(query, 5)", "pool >> bm25(query, 5)"),
    ("per(1, lang, closeness(F, f))", "per(1, lang, pool >> closeness(F, f))"),
    ("recip_decay(days_since(published, now), 30)", "recip_decay(pool >> days_since(published, now), 30)"),
    ("mmr(5, S, E, relevance=alpha)", "mmr(5, pool >> S, E, relevance=alpha)"),
    ("E @ centroid(E, m & n)", "pool >> (E @ centroid(E, m & n))"),
    ("x = m\ny = x\nx >> (E @ centroid(E, y))",
     "`x of all records` = m\nx = pool & m\n`y of all records` = `x of all records`\ny = x\n"
     "x >> (pool >> (E @ centroid(E, `y of all records`)))"),
    ("v = unit(q1 - q2)\nf1 = S > 1\nw2 = centroid(E, f1)\nE @ (v + w2)",
     "v = unit(q1 - q2)\n`f1 of all records` = S > 1\nf1 = (pool >> S) > 1\nw2 = centroid(E, `f1 of all records`)\n"
     "pool >> (E @ (v + w2))"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_written_out(text, expected):
    bindings = {**BINDINGS, "input": BINDINGS["S"]}
    formula = parse(text)
    found = restrict(formula, Name("pool"), check(formula, bindings).types)
    assert found == parse(expected)
    check(found, {**bindings, "pool": BINDINGS["m"]})


@st.composite
def pools(draw):
    """A program, and a scope in which `input` is of the pool's records."""
    formula, scope = draw(programs())
    kept = draw(st.lists(st.booleans(), min_size=len(scope.docnos), max_size=len(scope.docnos)))
    pool = np.flatnonzero(np.array(kept, dtype=bool)).astype(np.int64)
    came = scope.operands["input"]
    inside = np.isin(came.positions, pool)
    more = {"the pool": MaskOperand(pool), "input": RelationOperand(came.positions[inside], came.scores[inside])}
    scope = replace(scope, operands={**scope.operands, **more})
    try:
        types = check(formula, scope.bindings).types
    except ProgramError:
        assume(False)
    return formula, restrict(formula, Name("the pool"), types), scope


#: What looks at records beyond the pool, as it should.
BEYOND = ("row", "centroid", "ids")


def within(value, pool):
    """An operand of the small world."""
    if isinstance(value, dict):
        return {docno: score for docno, score in value.items() if docno in pool}
    if isinstance(value, frozenset):
        return value & pool
    if isinstance(value, Column):
        return Column({docno: x for docno, x in value.values.items() if docno in pool})
    if isinstance(value, Matrix):
        return replace(value, rows={docno: row for docno, row in value.rows.items() if docno in pool})
    return (lambda *a: within(value(*a), pool)) if callable(value) else value


def outcome(formula, world):
    try:
        return list(evaluate(formula, world).items())
    except EvaluationError as error:
        return error.code


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(case=pools())
def test_over_a_pool_is_over_a_world_without_other_records(case):
    formula, restricted, scope = case
    assume(not any(isinstance(n, Apply) and n.operator in BEYOND for n in walk(*formula.expressions)))
    note(described(restricted, scope))
    world = ENGINES["definition"].world(scope)
    pool = world.operands["the pool"]
    small = World(tuple(r for r in world.records if r in pool), {n: within(v, pool) for n, v in world.operands.items()})
    assert outcome(restricted, world) == outcome(formula, small)


@pytest.mark.parametrize("name", ["vectorised", "pipeline", "sqlite, exact", "duckdb"])
@FEW
@given(case=pools())
def test_every_engine_runs_it_alike(name, case):
    _, restricted, scope = case
    hold(name, restricted, scope)
