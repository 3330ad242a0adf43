"""What the fast scan promises: every defined score lies within the stated error, and the error is small."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorised_tables import Tables, wide

from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.engines._bounds import Unbounded
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._extent import reach
from pyterrier_alg.engines._selection import Selector, exactly

EXPRESSIONS = [
    "E @ q1",
    "E @ q1 - 0.5 * (E @ q2)",
    "-(0.1 * (E @ q1) + (E @ q2) / 3) / 7",
    "0.1 * (E @ q1) + 0.2 * (E @ q1) - 0.3 * (E @ q1)",
    "w * (E @ q1) - (E @ q2)",
    "(E @ q1) * (E @ q2)",
    "(E @ q1 + 100000) * w - 100000 * w",
    "abs(E @ q1) + clip(-1, 0.5, E @ q2)",
    "exp(0.1 * (E @ q1))",
    "sigmoid(5 * (E @ q1))",
    "log1p(0.1 * sigmoid(E @ q1))",
    "decay(E @ q1, 2) - recip_decay(E @ q2, 3)",
    "fill(2, m >> (E @ q1)) * fill(0, w)",
    "closeness(E, q1) - 0.5 * closeness(C, c1) + closeness(L, l1)",
    "m >> ((m >> (E @ q1)) + (E @ q2))",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    dimensions=st.sampled_from([1, 3, 64, 300]),
    scale=st.sampled_from([1e-6, 1.0, 3.0]),
    fold=st.booleans(),
)
def test_scores_lie_within_the_error_of_the_scan(text, seed, dimensions, scale, fold):
    random = np.random.default_rng(seed)
    rows = random.standard_normal((80, dimensions)) / np.sqrt(dimensions)
    tables = Tables([f"d{i:02d}" for i in range(80)])
    vectors = {name: random.standard_normal(dimensions) * scale for name in ("q1", "q2")}
    m, w = tables.mask(tables.docnos[::3]), tables.relation({d: random.random() for d in tables.docnos[5:]})
    scope = wide(rows.astype(np.float32), tables, m=m, w=w, **vectors)
    formula = parse(text)
    selector = Selector(fold)
    evaluation = Evaluation(formula, scope, selector)
    for node in evaluation.frontier(formula.result):
        evaluation.value(node)
    everywhere = np.arange(80, dtype=np.int64)
    rough, defined = (f(evaluation, formula.result, everywhere) for f in (selector.roughly, exactly))
    inside = slice(None) if defined.defined is None else defined.defined
    np.testing.assert_array_equal(rough.defined, defined.defined)
    errors = np.broadcast_to(rough.errors, everywhere.shape)[inside]
    distances = np.abs(rough.values - defined.values)[inside]
    assert (distances <= errors).all()
    # Rows far shorter than the longest have a cosine that the scan knows less well.
    assert np.median(errors) <= 1e-3 * max(1.0, scale**2, float(np.abs(defined.values).max()))


@pytest.mark.parametrize("text", ["1e160 * (E @ q1)", "exp(400 * (E @ q1))", "(1e90 * (E @ q1)) * (1e90 * (E @ q2))"])
def test_what_might_overflow_is_left_to_exact_arithmetic(text):
    tables = Tables("ab")
    scope = wide(np.float32([[1.0], [2.0]]), tables, q1=np.array([1.0]), q2=np.array([1.0]))
    formula = parse(text)
    selector = Selector(True)
    evaluation = Evaluation(formula, scope, selector)
    for node in evaluation.frontier(formula.result):
        evaluation.value(node)
    with pytest.raises(Unbounded):
        reach(evaluation, formula.result, selector.row_norm)
