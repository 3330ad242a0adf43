"""Bit for bit the definition: whatever the scan, the folding, the mask, the place of a row, or the threads."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vectorised_tables import Tables, wide

from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.vectorised import VectorisedEngine, defined_scores

FOLDED, UNFOLDED, DEFINITION = VectorisedEngine(), VectorisedEngine(fold_directions=False), DefinitionEngine()

SELECTIONS = [
    "top({k}, E @ q1)",
    "top({k}, -(E @ q1))",
    "top({k}, E @ q1 - 0.5 * (E @ q2))",
    "top({k}, E @ (q1 - 0.5 * q2))",
    "top({k}, w * (m >> (E @ q1 - 0.5 * (E @ q2))))",
    "top({k}, ~m >> (0.3 * (E @ q1) + (E @ q2) / 7 - 0.1 * (E @ q1)))",
    "top({k}, 0.1 * (E @ q1) + 0.2 * (E @ q1) - 0.3 * (E @ q1))",
    "top({k}, w * (E @ q1) - 0.5 * (E @ q2))",
    "top({k}, (E @ q1) * (E @ q2) + 1e-9)",
    "top({k}, abs(E @ q1 - (E @ q2)))",
    "top({k}, clip(-0.25, 0.25, E @ q1) + 0.001 * (E @ q2))",
    "top({k}, fill(0.1, m >> (E @ q1)) - fill(0, w) * (E @ q2))",
    "top({k}, sigmoid(E @ q1) - 0.5 * exp(E @ q2))",
    "top({k}, log1p(0.1 * sigmoid(E @ q1)))",
    "top({k}, decay(E @ q1, 3) + recip_decay(E @ q2, 5))",
    "push = E @ q1 - (E @ q2)\npool = support(top(20, push))\ntop({k}, pool >> (push + minmax(push) + w))",
    "rrf(E @ q1, w, m >> (E @ q2), depth={k})",
    "per({k}, ranks(top(30, E @ q1)), E @ q2)",
    "mmr({k}, top(30, E @ q1), E, relevance=0.6)",
    "top({k}, closeness(E, q1) + 0.1 * closeness(C, c1))",
    "top({k}, closeness(C, 0 * c1) + closeness(C, c1))",
    "top({k}, closeness(L, l1))",
    "top({k}, zscore(E @ q1) + 0.5 * softmax(E @ q2))",
]


@st.composite
def scopes(draw):
    """Rows with copies far apart, neighbours one last place away, and permuted copies, under awkward vectors."""
    dimensions = draw(st.sampled_from([3, 64, 256]))
    count = draw(st.sampled_from([67, 97, 130]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = random.standard_normal((count, dimensions)).astype(np.float32)
    if draw(st.booleans()):
        rows = np.round(rows * 2).astype(np.float32)
    if draw(st.booleans()):
        rows[:, 0] += np.float32(3.0)
    if draw(st.booleans()):
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) + np.float32(1e-6)
    # The last rows of a block and the odd ones behind it are what vector loops treat differently.
    for place in (0, 1, 7, 31, 64, count - 1):
        rows[place] = rows[5]
    near = rows[5].copy()
    near[dimensions // 2] = np.nextafter(near[dimensions // 2], np.float32(9))
    rows[11] = rows[count - 2] = near
    rows[23] = rows[5][::-1]
    q1, q2 = random.standard_normal((2, dimensions)).astype(np.float32)
    if draw(st.booleans()):
        q1 = rows[5].copy()
    tables = Tables([f"d{i:04d}" for i in range(count)])
    docnos = tables.docnos
    kept = docnos[random.random(count) < draw(st.sampled_from([0.05, 0.5, 1.0]))].tolist()
    weights = {docno: float(random.integers(0, 4)) / 3 for docno in docnos[random.random(count) < 0.9]}
    scale = float(draw(st.sampled_from([1e-3, 0.03])))
    return wide(rows * np.float32(scale), tables, q1=q1, q2=q2, m=tables.mask(kept), w=tables.relation(weights))


@pytest.mark.parametrize("template", SELECTIONS)
@settings(max_examples=8, deadline=None)
@given(scope=scopes(), k=st.sampled_from([1, 2, 7, 40]))
def test_records_scores_order_and_gaps_are_the_defined_ones(template, scope, k):
    formula = parse(template.format(k=k))
    expected = DEFINITION.run(formula, scope)
    for engine in (FOLDED, UNFOLDED):
        result = engine.run(formula, scope)
        assert result.docnos.tolist() == expected.docnos.tolist()
        assert result.scores.tobytes() == expected.scores.tobytes()
        assert result.gap_check == expected.gap_check


@settings(max_examples=20, deadline=None)
@given(scope=scopes())
def test_a_score_depends_on_no_mask_and_no_neighbour(scope):
    text = "E @ q1 - 0.5 * (E @ q2)"
    whole = FOLDED.run(parse(text), scope).to_dict()
    masked = FOLDED.run(parse(f"m >> ({text})"), scope).to_dict()
    assert masked == {docno: whole[docno] for docno in masked}
    formula = parse(text)
    backwards = np.arange(len(scope.docnos))[::-1]
    scores = defined_scores(formula, formula.result, scope, backwards)
    assert scores.tolist() == [whole[docno] for docno in scope.docnos[backwards]]
    assert len({whole[scope.docnos[place]] for place in (0, 1, 5, 7, 31, 64, len(scope.docnos) - 1)}) == 1


@pytest.mark.parametrize("factor", [1e-40, 1e-25, 1e-10, 1e10, 1e25, 1e37])
def test_scales_at_the_ends_of_float32_lose_no_record(factor):
    random = np.random.default_rng(4)
    rows = (random.standard_normal((200, 8)) * factor).astype(np.float32)
    tables = Tables([f"d{i:03d}" for i in range(200)])
    scope = wide(rows, tables, q1=random.standard_normal(8) / 3, q2=random.standard_normal(8) * 1e-30)
    for text in ("top(5, E @ q1)", "top(5, E @ q2)", "top(5, 1e-200 * (E @ q1) + 1e-230 * (E @ q2))"):
        expected = DEFINITION.run(parse(text), scope)
        for engine in (FOLDED, UNFOLDED):
            assert engine.run(parse(text), scope) == expected


def test_a_selection_scores_few_candidates_exactly():
    random = np.random.default_rng(0)
    rows = random.standard_normal((3000, 64)).astype(np.float32)
    tables = Tables([f"d{i:04d}" for i in range(3000)])
    scope = wide(rows, tables, q1=random.standard_normal(64), q2=random.standard_normal(64))
    (selection,) = FOLDED.selections(parse("top(10, E @ q1 - 0.5 * (E @ q2))"), scope).values()
    assert 11 <= selection.candidates <= 20


UNIT = [[0, 1, 3, 2], [0, 2, 3, 1], [-1, -1, 2, -1], [-3, 1, -2, 1]]


def test_rows_with_the_same_products_in_another_order_tie():
    r1, r2, q1, q2 = (np.array(v, dtype=np.float64) / math.sqrt(sum(x * x for x in v)) for v in UNIT)
    rows = np.array([r1, r2, *np.random.default_rng(1).uniform(-0.05, 0.05, (98, 4))], dtype=np.float32)
    tables = Tables([f"r{i:03d}" for i in range(1, 101)])
    for engine in (FOLDED, UNFOLDED):
        result = engine.run(parse("top(2, E @ q1 - 0.5 E @ q2)"), wide(rows, tables, q1=q1, q2=q2))
        assert list(result) == [("r001", 0.4065556138471558), ("r002", 0.4065556138471558)]
        assert result.gap_check.verdict == "exact_tie"


def test_shared_rows_come_lowest_docno_first():
    rows = np.tile(np.random.default_rng(2).standard_normal(48).astype(np.float32), (8 * 40, 1))
    rows[8 * 20 :] *= np.float32(-1)
    tables = Tables([f"d{i:03d}" for i in range(len(rows))])
    scope = wide(rows, tables, q1=rows[0] * 1.1, m=tables.mask([f"d{i:03d}" for i in range(3, 300, 2)]))
    result = FOLDED.run(parse("top(3, m >> (E @ q1))"), scope)
    assert result.docnos.tolist() == ["d003", "d005", "d007"]
    assert len(set(result.scores)) == 1 and result.gap_check.gap_at_cut == 0


def test_filter_before_and_after_the_cut_differ():
    rows = np.arange(100, dtype=np.float32)[:, None]
    tables = Tables([f"d{i:02d}" for i in range(100)])
    scope = wide(rows, tables, q1=np.float32([1]), m=tables.mask(["d00", "d01", "d02"]))
    assert FOLDED.run(parse("top(3, m >> (E @ q1))"), scope).docnos.tolist() == ["d02", "d01", "d00"]
    assert not len(FOLDED.run(parse("m >> top(3, E @ q1)"), scope))


def test_reciprocal_ranks_tie_under_every_permutation():
    tables = Tables("abcdefghi")
    order = {"S": "axbcdef", "T": "xagbcdh", "U": "bcdefga"}
    lists = {n: tables.relation({d: 9.0 - i for i, d in enumerate(o) if d != "x"}) for n, o in order.items()}
    scores = {
        str(names): FOLDED.run(parse(f"rrf({', '.join(names)})"), tables.scope(**lists))["a"]
        for names in (("S", "T", "U"), ("U", "T", "S"), ("T", "U", "S"), ("U", "S", "T"))
    }
    assert len(set(scores.values())) == 1
    fused = FOLDED.run(
        parse("top(1, rrf(A, B))"),
        tables.scope(A=tables.relation({"b": 1, "a": 2}), B=tables.relation({"d": 1, "c": 2})),
    )
    assert list(fused) == [("a", 1 / 61)] and fused.gap_check.closest[0].below == "c"


THREADS = """
import numpy as np
from vectorised_tables import Tables, wide
from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.engines.vectorised import VectorisedEngine
random = np.random.default_rng(3)
rows = random.standard_normal((6000, 128)).astype(np.float32)
rows[1::2] = rows[::2]
q1, q2 = random.standard_normal((2, 128))
scope = wide(rows, Tables([f"d{i:04d}" for i in range(6000)]), q1=q1, q2=q2)
for text in ("top(9, E @ q1 - 0.5 * (E @ q2))", "softmax(E @ q1)", "mmr(5, top(20, E @ q1), E)"):
    result = VectorisedEngine().run(parse(text), scope)
    print(hash(result.scores.tobytes()), result.docnos.tolist()[:20])
"""


def test_threads_change_nothing():
    here = Path(__file__).parent
    outputs = []
    for threads in "12":
        environment = {
            **os.environ,
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parent.parent)]),
        }
        command = [sys.executable, "-c", THREADS]
        outputs.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert outputs[0] == outputs[1] and outputs[0].count("\n") == 3
