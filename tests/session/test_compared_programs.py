"""Two programs beside each other: every effect that is told is one that running shows."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_alg import Collection, Program, vaswani
from pyterrier_alg.algebra import AlgebraError, EvaluationError
from pyterrier_alg.collection import Topic
from pyterrier_alg.session.comparing import compare, rank_biased_overlap

DOCNOS = [f"d{i}" for i in range(12)]
CASES = Collection(DOCNOS).bind(
    S={docno: float((i * 7) % 12) for i, docno in enumerate(DOCNOS)},
    T={docno: float((i * 5) % 12) / 2 for i, docno in enumerate(DOCNOS)},
    A={docno: 1.0 for docno in DOCNOS[:5]},
    m={docno for i, docno in enumerate(DOCNOS) if i % 3},
    n={docno for i, docno in enumerate(DOCNOS) if i % 2},
    alpha=0.5,
)
PROGRAMS = [
    "top(4, S)",
    "top(6, S)",
    "top(4, m >> S)",
    "top(4, (m & n) >> (S + alpha * T))",
    "pool = m | n\ntop(5, pool >> (S - 0.25 T))",
    "top(5, minmax(S) + 0.5 * minmax(T))",
    "rrf(S, T, depth=5)",
    "a = S\nb = top(3, a + T)\nfill(0, b)",
    "top(3, A + T)",
]

rankings = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
persistence = st.sampled_from([0.1, 0.5, 0.8, 0.9, 0.98])


def by_summing(first, second, p, deep=4000):
    """The extrapolated overlap from its definition: agreement at every depth, assumed to go on, weighed and summed."""
    shorter, longer = sorted((first, second), key=len)
    s, depth = len(shorter), len(longer)
    at_s = len(set(longer[:s]) & set(shorter))
    total = 0.0
    for d in range(1, deep + 1):
        seen = min(d, depth)
        agreement = len(set(longer[:seen]) & set(shorter[:seen])) / seen
        if seen > s:
            agreement += at_s * (seen - s) / (s * seen)
        total += (1 - p) * p ** (d - 1) * agreement
    return total


@given(rankings, rankings, persistence)
def test_rank_biased_overlap_is_its_sum(first, second, p):
    found = rank_biased_overlap(first, second, p)
    assert found == rank_biased_overlap(second, first, p)
    assert 0 <= found <= 1
    if not first or not second:
        assert found == float(first == second)
    else:
        assert found == pytest.approx(by_summing(first, second, p), abs=1e-9)
    assert (found == 0) == (not set(first) & set(second) and bool(first or second))
    assert rank_biased_overlap(first, first, p) == 1


@pytest.mark.parametrize(
    ("first", "second", "p", "value"),
    [
        # By hand: A(1) = 0, A(2) = 1, and so on; 0.1 · (0 + 0.9 + …) + the rest.
        ("ab", "ba", 0.9, 0.9),
        # A(1) = 1, A(2) = 1/2 and on.
        ("ab", "ac", 0.5, 0.75),
        # The shorter one is a prefix: whatever was seen agreed.
        ("abcde", "ab", 0.9, 1.0),
        # X(1) = 0, and nothing of the shorter one is to come.
        ("bcda", "a", 0.5, 0.5**4 * 1 / 4 + 0.5**4 / 4),
    ],
)
def test_rank_biased_overlap_by_hand(first, second, p, value):
    assert rank_biased_overlap(list(first), list(second), p) == pytest.approx(value)


@pytest.mark.parametrize(("first", "p"), [(["a", "a"], 0.9), (["a"], 0.0), (["a"], 1.0), (["a"], 2)])
def test_what_has_no_overlap_is_refused(first, p):
    with pytest.raises(AlgebraError) as refused:
        rank_biased_overlap(first, ["b"], p)
    assert refused.value.code == "bad_argument"


@pytest.mark.parametrize(("one", "other"), list(product(PROGRAMS, PROGRAMS)))
def test_what_is_told_is_what_runs(one, other):
    first, second = Program(one, CASES), Program(other, CASES)
    found = compare(first, second)
    before, after = first.run(), second.run()
    ranks = [{docno: rank for rank, docno in enumerate(run.docnos.tolist())} for run in (before, after)]
    assert {move.docno for move in found.moves} == {*before.docnos, *after.docnos}
    for move in found.moves:
        assert (move.before, move.after) == tuple(side.get(move.docno) for side in ranks)
        assert move.scores == tuple(run.to_dict().get(move.docno) for run in (before, after))
        assert (move.sort == "same") == (move.before == move.after)
        there = [rank is not None for rank in move.ranks]
        crossings = [place for place in range(len(there) - 1) if there[place] != there[place + 1]]
        moved = [place for place in range(len(there) - 1) if move.ranks[place] != move.ranks[place + 1]]
        assert list(move.credited) == (crossings[-1:] if there[0] != there[-1] else moved)
    assert set(found.entered) == ranks[1].keys() - ranks[0].keys()
    assert set(found.left) == ranks[0].keys() - ranks[1].keys()
    assert found.overlap == rank_biased_overlap(before.docnos.tolist(), after.docnos.tolist())
    # From one program to the other, effect by effect.
    numbers = [number for effect in found.effects for number in effect.changes]
    assert numbers == [change.number for change in found.changes if not change.is_neutral]
    made: list[int] = []
    previous = before.docnos.tolist()
    for place, effect in enumerate(found.effects):
        made += effect.changes
        edits = [change.edit for change in found.changes if change.number in made]
        now = Program(found.difference.apply(edits), CASES).run().docnos.tolist()
        assert effect.entered == tuple(d for d in now if d not in previous)
        assert effect.left == tuple(d for d in previous if d not in now)
        for move in found.moves:
            assert move.ranks[place + 1] == (now.index(move.docno) if move.docno in now else None)
        previous = now
    assert previous == after.docnos.tolist()
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found) and found._repr_html_()


@pytest.mark.parametrize(("one", "other"), list(product(PROGRAMS[2:7], PROGRAMS[2:7])))
def test_each_change_is_also_made_alone_and_left_out_alone(one, other):
    first, second = Program(one, CASES), Program(other, CASES)
    found = compare(first, second)
    ends = [program.run().docnos.tolist() for program in (first, second)]

    def outcome(numbers):
        edits = [change.edit for change in found.changes if change.number in numbers]
        try:
            return Program(found.difference.apply(edits), CASES).run().docnos.tolist()
        except AlgebraError:
            return None

    effective = [number for effect in found.effects for number in effect.changes]
    for place, effect in enumerate(found.effects):
        alone = outcome(effect.changes)
        without = outcome([number for number in effective if number not in effect.changes])
        wanted = None if alone is None else (len({*alone} - {*ends[0]}), len({*ends[0]} - {*alone}))
        assert effect.alone == wanted
        wanted = None if without is None else (len({*ends[1]} - {*without}), len({*without} - {*ends[1]}))
        assert effect.without == wanted
        for move in found.of("entered"):
            assert (place in move.alone) == (alone is not None and move.docno in alone)
            assert (place in move.needed) == (without is not None and move.docno not in without)
        for move in found.of("left"):
            assert (place in move.alone) == (alone is not None and move.docno not in alone)
            assert (place in move.needed) == (without is not None and move.docno in without)


def test_a_record_is_credited_to_the_change_that_did_it():
    found = compare(Program("top(3, S)", CASES), Program("top(4, m >> S)", CASES))
    assert [str(change) for change in found.changes] == ["1. k 3 → 4 in top(3, S)", "2. mask m >> put before S"]
    by = {move.docno: (move.sort, move.credited, move.alone, move.needed) for move in found.moves}
    # S ranks d5, d10, d3, d8, d1, …; m drops d3, d0, d6 and d9.
    assert by["d8"] == ("entered", (0,), (0, 1), ())
    assert by["d1"] == ("entered", (1,), (), (0, 1))
    assert by["d3"] == ("left", (1,), (1,), (1,))
    assert by["d5"] == ("same", (), (), ())


def test_a_record_that_comes_leaves_and_comes_again_is_credited_to_the_last_coming():
    # A third record is let in; adding 4 T drives it out, taking 3 T away lets it in again.
    found = compare(Program("top(2, S)", CASES), Program("top(3, S - 3 T + 4 * T)", CASES))
    (d3,) = found.of("entered")
    assert (d3.docno, d3.ranks, d3.credited) == ("d3", (None, 2, None, 2), (2,))


def test_changes_that_only_run_together_are_one():
    found = compare(Program("a = S + 1\na", CASES), Program("a = m\na >> T", CASES))
    assert [change.number for change in found.changes] == [1, 2, 3]
    assert [effect.changes for effect in found.effects] == [(1,), (2, 3)]
    assert "with the next" in repr(found)
    # Without the first one, what is left adds 1 to a mask.
    assert found.effects[1].alone is None and found.effects[1].without == (0, 4)


def test_names_of_steps_have_no_effect():
    found = compare(Program("pool = m\ntop(3, pool >> S)", CASES), Program("rest = m\ntop(3, rest >> S)", CASES))
    assert len(found.changes) == 1 and found.changes[0].is_neutral and not found.effects
    assert found.overlap == 1 and {move.sort for move in found.moves} == {"same"}
    assert "only names" in repr(found)


def test_equal_programs_have_no_difference():
    found = compare(Program("top(3, S)", CASES), Program("top( 3, S )", CASES))
    assert not found.changes and not found.effects and found.overlap == 1
    assert "no difference" in repr(found)


@pytest.mark.parametrize(
    ("text", "other", "changes"),
    [
        ("top(3, S + alpha * T)", CASES.with_numbers(alpha=9), ["alpha 0.5 → 9.0, as bound"]),
        ("top(3, S)", CASES.with_numbers(alpha=9), []),
        ("top(3, m >> S)", CASES._with({**CASES.operands, "m": CASES.operands["n"]}), ["m is bound to another mask"]),
        ("top(3, S)", Collection(DOCNOS[:8]).bind(S=dict.fromkeys(DOCNOS[:8], 1.0)),
         ["collection of 12 records → of 8 records"]),
    ],
)  # fmt: skip
def test_what_is_bound_otherwise_is_a_change(text, other, changes):
    first, second = Program(text, CASES), Program(text, other)
    found = compare(first, second)
    assert [change.text for change in found.changes] == changes
    assert [len(effect.changes) for effect in found.effects] == [1] * len(changes)
    assert [move.docno for move in found.moves if move.after is not None] == second.run().docnos.tolist()


def test_a_bound_number_and_an_edit_are_told_apart():
    first = Program("top(3, S + alpha * T)", CASES)
    second = Program("top(3, m >> (S + alpha * T))", CASES.with_numbers(alpha=9))
    found = compare(first, second)
    assert [change.sort for change in found.changes] == ["mask_added", "operand_bound"]
    steps = [program.run().docnos.tolist() for program in (first, Program(second.formula, CASES), second)]
    for effect, before, after in zip(found.effects, steps, steps[1:], strict=False):
        assert effect.entered == tuple(d for d in after if d not in before)


def test_an_operand_that_the_second_collection_alone_has():
    second = Program("top(3, S + 2 * U)", CASES.bind(U={"d0": 10.0, "d6": 9.0, "d9": 1.0}))
    found = compare(Program("top(3, S)", CASES), second)
    assert [effect.changes for effect in found.effects] == [(1,)]
    assert found.entered == tuple(d for d in second.run().docnos if d not in ("d5", "d10", "d3"))


def test_the_engine_is_a_change_that_changes_nothing():
    programs = [Program("top(3, S + T)", CASES, engine=engine) for engine in ("vectorised", "sqlite")]
    found = compare(*programs)
    assert [change.text for change in found.changes] == ["engine vectorised → sqlite"]
    assert found.overlap == 1 and {move.sort for move in found.moves} == {"same"}


def test_results_are_compared_to_a_depth():
    found = compare(Program("S", CASES), Program("T", CASES), depth=2)
    assert {move.before for move in found.moves} <= {None, 0, 1}
    assert found.depth == 2 and len(found.moves) <= 4
    with pytest.raises(AlgebraError):
        compare(Program("S", CASES), Program("T", CASES), depth=0)


def test_where_a_program_fails_so_does_the_comparison():
    with pytest.raises(EvaluationError):
        compare(Program("top(3, S)", CASES), Program('top(3, ids("nobody") >> S)', CASES))


def test_pools_and_texts():
    topic = Topic("1", "x", input={"d1": 2.0, "d2": 1.0, "d3": 0.5})
    found = compare(Program("minmax(S) + input", CASES), Program("minmax(S) - input", CASES), topic)
    assert {move.docno for move in found.moves} == {"d1", "d2", "d3"}
    collection = vaswani(bm25="counts")
    first = Program('top(10, E @ query - 0.5 * (E @ "electron density"))', collection)
    second = Program('top(10, E @ query - 0.9 * (E @ "electron density"))', collection)
    found = compare(first, second, "wave guide design")
    assert len(found.entered) == len(found.left) > 0 and 0 < found.overlap < 1
    assert all(move.credited == (0,) for move in found.of("entered", "left"))


def test_anybodys_text_is_shown_and_not_obeyed():
    collection = Collection(["<i>", "b\x1b[2J"]).bind(S={"<i>": 1.0, "b\x1b[2J": 2.0})
    found = compare(Program("top(1, S)", collection), Program("top(1, -S)", collection))
    assert "&lt;i&gt;" in found._repr_html_() and "<i>" not in found._repr_html_()
    assert "\x1b" not in repr(found) + found._repr_html_()
