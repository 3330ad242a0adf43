"""What agreement means: sets, scores and order, each by itself."""

import pytest

from pyterrier_alg.parity.comparing import Outcome, classify, compare, flips

DEFINED = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0 - 1e-8, "e": 1.0}


def outcome(name, ranking, bound=0.0, order=None, scores=DEFINED):
    return Outcome(name, tuple((d, scores[d]) for d in ranking), tuple(order or ranking), bound, True)


@pytest.mark.parametrize(
    ("gap", "bounds", "sort"),
    [
        (0.0, 0.0, "tie"),
        (0.0, 1e-5, "tie"),
        (1e-8, 1e-8, "rounding"),
        (1.1e-8, 1e-8, "disagreement"),
        (5e-324, 0.0, "disagreement"),
    ],
)
def test_a_flip_is_classed_by_its_defined_gap(gap, bounds, sort):
    assert classify(gap, bounds) == sort


@pytest.mark.parametrize(
    ("first", "second", "bounds", "found"),
    [
        ("abc", "abc", 0.0, []),
        ("abc", "acb", 0.0, [("b", "c", "tie")]),
        ("abd", "adb", 0.0, [("b", "d", "disagreement")]),
        ("abd", "adb", 2e-8, [("b", "d", "rounding")]),
        ("abe", "eba", 1e-5, [("a", "b", "disagreement"), ("a", "e", "disagreement"), ("b", "e", "disagreement")]),
        # Across the cut: one ranking took b, the other took c in its place.
        ("ab", "ac", 0.0, [("b", "c", "tie")]),
        ("ab", "ae", 0.0, [("b", "e", "disagreement")]),
        ("ab", "a", 0.0, []),
        ("", "", 0.0, []),
    ],
)
def test_flips_are_the_pairs_that_two_rankings_order_differently(first, second, bounds, found):
    assert [(f.above, f.below, f.sort) for f in flips(first, second, DEFINED, bounds)] == found


def test_a_document_that_is_not_scored_at_all_is_a_disagreement():
    (flip,) = flips(["a"], ["x"], DEFINED, 1.0)
    assert (flip.gap, flip.sort) == (float("inf"), "disagreement")


def test_equal_outcomes_have_no_fault():
    found = compare(outcome("x", "abc"), outcome("y", "abc"), DEFINED)
    assert found.faults == ()
    assert (found.same_sets, found.same_order, found.largest_difference) == (True, True, 0.0)
    assert (found.agreeing_ranks, found.ranks) == (3, 3)


def test_a_raw_order_may_flip_a_tie_where_the_tie_safe_order_does_not():
    found = compare(outcome("x", "abc"), outcome("y", "acb", order="abc"), DEFINED)
    assert [flip.sort for flip in found.flips] == ["tie"]
    assert found.faults == ()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (outcome("y", "abd"), ["different document sets", "different tie-safe order", "order disagreement"]),
        (outcome("y", "acb"), ["different tie-safe order"]),
        (outcome("y", "abc", scores=DEFINED | {"b": 2.0 + 1.1e-6}), ["scores differ by 1.10e-06"]),
        (outcome("y", "ab"), ["different document sets", "different tie-safe order"]),
    ],
)
def test_each_way_to_disagree_is_named(second, words):
    faults = compare(outcome("x", "abc"), second, DEFINED).faults
    assert len(faults) == len(words)
    assert all(fault.startswith(word) for fault, word in zip(faults, words, strict=True))


def test_the_tolerance_itself_is_not_within_it():
    exact = {"a": 0.0}
    near = {"a": 1e-6}
    assert compare(outcome("x", "a", scores=exact), outcome("y", "a", scores=near), exact).faults
