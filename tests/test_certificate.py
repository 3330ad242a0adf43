"""What a selection says of its own order: gaps, ties, who would have come next, and how it was found."""

import numpy as np
import pytest

from pyterrier_alg.algebra import parse
from pyterrier_alg.collection import Topic, vaswani
from pyterrier_alg.engines.vectorised import VectorisedEngine, defined_scores
from pyterrier_alg.relation import CONTENDERS, GapCheck
from pyterrier_alg.transformers import engine, engines

CONTRAST = parse("top(10, (E @ q1) − 0.5 (E @ q2))")


@pytest.mark.parametrize(
    ("scores", "k", "ties", "verdict", "gap", "left"),
    [
        ([3.0, 2.0, 1.0], 2, 0, "separated", 1.0, ["c"]),
        ([3.0, 3.0, 1.0], 2, 1, "exact_tie", 2.0, ["c"]),
        ([3.0, 2.0, 2.0, 2.0], 2, 1, "exact_tie", 0.0, ["c", "d"]),
        ([3.0, 3.0 - 1e-7, 1.0], 1, 0, "near_tie", 3.0 - (3.0 - 1e-7), ["b", "c"]),
        ([3.0, 2.0], 2, 0, "separated", None, []),
        ([3.0, 2.0], 9, 0, "separated", None, []),
        ([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 1, 0, "separated", 1.0, ["b", "c", "d"]),
        ([], 3, 0, "separated", None, []),
    ],
)
def test_a_check_counts_ties_and_names_who_would_have_come_next(scores, k, ties, verdict, gap, left):
    docnos = np.array(list("abcdef")[: len(scores)], dtype=object)
    check = GapCheck.of(docnos, np.array(scores), k, certified=True)
    assert (check.ties, check.verdict, check.gap_at_cut) == (ties, verdict, gap)
    assert check.contenders == tuple((docno, scores[list(docnos).index(docno)]) for docno in left)


@pytest.mark.parametrize("name", [name for name in engines() if name not in ("sqlite", "duckdb")])
def test_every_certified_engine_gives_the_same_check(name):
    scope = vaswani().at(Topic("72", "x"))
    assert engine(name).run(CONTRAST, scope).gap_check == engine("definition").run(CONTRAST, scope).gap_check


def test_the_contenders_are_the_next_records_of_a_longer_selection():
    scope = vaswani().at()
    longer = list(VectorisedEngine().run(parse(f"top({10 + CONTENDERS}, (E @ q1) − 0.5 (E @ q2))"), scope))
    assert VectorisedEngine().run(CONTRAST, scope).gap_check.contenders == tuple(longer[10:])


@pytest.mark.parametrize("fold", [True, False])
def test_the_certificate_says_how_it_was_found(fold):
    check = VectorisedEngine(fold_directions=fold).run(CONTRAST, vaswani().at()).gap_check
    assert 10 + CONTENDERS <= check.candidates < 200
    assert 0 < check.scan_error < 1e-4
    assert check.certified and check.to_dict()["candidates"] == check.candidates


def test_the_stated_error_of_the_scan_is_no_smaller_than_the_real_one():
    scope = vaswani().at()
    check = VectorisedEngine().run(CONTRAST, scope).gap_check
    matrix, q1, q2 = (scope.operands[name] for name in ("E", "q1", "q2"))
    scanned = matrix.rows @ (q1.values - np.float32(0.5) * q2.values)
    defined = defined_scores(CONTRAST, CONTRAST.result.arguments[1], scope, matrix.positions)
    assert np.abs(scanned.astype(np.float64) - defined).max() <= check.scan_error


def test_a_small_pool_is_scored_as_defined_without_a_scan():
    check = VectorisedEngine().run(parse("top(10, m ▷ (E @ q1))"), vaswani().at()).gap_check
    assert (check.candidates, check.scan_error) == (52, None)
