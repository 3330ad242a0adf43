"""Where the first records change as a coefficient does: exactly, held to brute force and to running the program."""

import json
import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pyterrier_alg import Collection, Program, vaswani
from pyterrier_alg.algebra import AlgebraError, EvaluationError, ProgramError
from pyterrier_alg.collection import Topic
from pyterrier_alg.session.sweeping import coefficients, sweep

MODERATE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

DOCNOS = ["d1", "d2", "d10", "é", "a b", "Z", "日本", "d3"]
SCORES = [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 0.1, 0.3, 0.1 + 0.2, 7.0, 1e-9, 1 / 3]


@st.composite
def collections(draw):
    docnos = draw(st.lists(st.sampled_from(DOCNOS), min_size=3, max_size=8, unique=True))

    def relation(share):
        chosen = [docno for docno in docnos if draw(st.sampled_from(share))]
        return {docno: draw(st.sampled_from(SCORES)) for docno in chosen}

    whole, some = [True], [True, True, True, False]
    alpha = draw(st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0, -0.5]))
    return Collection(docnos).bind(
        S=relation(whole),
        T=relation(whole),
        P=relation(some),
        m={d for d in docnos if draw(st.booleans())},
        alpha=alpha,
    )


@st.composite
def affine(draw, depth=3):
    """A relation that is affine in alpha."""
    leaf = draw(st.sampled_from(["S", "T", "P", "alpha * S", "alpha * T", "(1 - alpha) * P", "(S + T)"]))
    if depth < 1:
        return leaf
    below = draw(affine(depth - 1))
    return draw(
        st.sampled_from(
            [leaf, f"({below} + {leaf})", f"({leaf} - {below})", f"-({below})", f"(m >> {below})", f"({below} / 3)"]
            + [f"(0.7 * {below})", f"fill(0.1, {below})", f"fill(alpha, {below})", f"({below} + alpha)"]
            + [f"(alpha + {draw(affine(depth - 1))}) / -0.3"]
        )
    )


def true_line(program, docno):
    """The exact line of a record, from two values of alpha, in fractions all through."""

    def at(alpha):
        names = {name: operand for name, operand in program.collection.operands.items()}
        docnos = sorted(program.collection.docnos)

        def relation(name):
            operand = names[name]
            return {docnos[p]: Fraction(s) for p, s in zip(operand.positions, operand.scores.tolist(), strict=True)}

        return _value(program.formula.result, {"relation": relation, "docnos": docnos, "names": names, "alpha": alpha})

    zero, one = at(Fraction(0)), at(Fraction(1))
    return (zero[docno], one[docno] - zero[docno]) if docno in zero else None


def _value(node, world):
    if type(node).__name__ == "Number":
        return Fraction(node.value)
    if type(node).__name__ == "Name":
        if node.name == "alpha":
            return world["alpha"]
        if node.name == "m":
            return {world["docnos"][p] for p in world["names"]["m"].positions}
        return world["relation"](node.name)
    if node.operator == "top":
        return _value(node.arguments[1], world)
    below = [_value(part, world) for part in node.arguments]
    if node.operator == "fill":
        return {docno: below[1].get(docno, below[0]) for docno in world["docnos"]}
    if node.operator == ">>":
        return {docno: score for docno, score in below[1].items() if docno in below[0]}
    if repr(node) == "S + T":
        # What does not hang on the coefficient is a float64 score.
        return {d: Fraction(float(below[0][d]) + float(below[1][d])) for d in below[0]}
    signs = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y}
    compute = signs.get(node.operator, lambda x: -x)
    both = [side for side in below if isinstance(side, dict)]
    if not both:
        return compute(*below)
    shared = [docno for docno in both[0] if all(docno in side for side in both)]
    return {d: compute(*(side[d] if isinstance(side, dict) else side for side in below)) for d in shared}


def hangs(node):
    """Whether a node hangs on alpha."""
    return getattr(node, "name", "") == "alpha" or any(map(hangs, node.parts))


def constant_parts_are_plain(node):
    """Whether what does not hang on alpha is a leaf, or S + T: what the fractions above compute alike."""
    if not hangs(node):
        return node.size == 1 or repr(node) == "S + T"
    return all(constant_parts_are_plain(part) for part in node.parts if repr(part) not in ("1", "3"))


def ordered(lines, at, behind):
    def key(docno):
        a, b = lines[docno]
        return (-(a + at * b), -b, docno) if behind else (-(a + at * b), docno)

    return tuple(sorted(lines, key=key))


@given(collections(), affine(), st.integers(1, 4), st.sampled_from([None, (-1.0, 2.0), (0.25, 0.75), (-3.0, 0.1)]))
@MODERATE
def test_every_break_point_is_found_and_no_other(collection, relation, k, over):
    program = Program(f"top({k}, {relation})", collection)
    assume(hangs(program.formula.result) and constant_parts_are_plain(program.formula.result.arguments[1]))
    found = sweep(program, "alpha", over=over)
    assert found.is_exact and found.reason == ""
    lines = {d: line for d in collection.docnos if (line := true_line(program, d)) is not None}
    assert found.records == len(lines)
    low, high = map(Fraction, found.over)
    crossings = {(c - a) / (b - d) for (a, b), (c, d) in combinations(lines.values(), 2) if b != d}
    points = [low, *sorted(p for p in crossings if low < p < high), high]
    wanted = []
    for start, stop in pairwise(points):
        ranking = ordered(lines, (start + stop) / 2, False)[:k]
        if not wanted or wanted[-1][1] != ranking:
            wanted.append((start, ranking))
    assert [(interval.start, interval.ranking) for interval in found.intervals] == wanted
    assert [point.at for point in found.break_points] == [start for start, _ in wanted[1:]]
    for point in found.break_points:
        assert point.ranking == ordered(lines, point.at, False)[:k]
    for before, point, after in zip(found.intervals, found.break_points, found.intervals[1:], strict=False):
        assert before.stop == point.at == after.start
        assert set(point.entered) == set(after.ranking) - set(before.ranking)
        assert set(point.left) == set(before.ranking) - set(after.ranking)
        assert point.changes_set == (set(before.ranking) != set(after.ranking))


@given(collections(), affine(), st.integers(1, 4), st.sampled_from([None, (-1.0, 2.0), (0.25, 0.75)]), st.data())
@MODERATE
def test_what_runs_agrees_wherever_it_is_certain(collection, relation, k, over, data):
    program = Program(f"top({k}, {relation})", collection)
    assume(hangs(program.formula.result))
    found = sweep(program, "alpha", over=over)
    assert found.is_exact
    for interval in found.intervals:
        if interval.certain is None:
            continue
        first, last = interval.certain
        assert found.over[0] <= first <= last <= found.over[1]
        inside = data.draw(st.floats(first, last))
        for value in {first, last, inside, (first + last) / 2}:
            run = program.with_numbers(alpha=value).run()
            assert tuple(run.docnos) == interval.ranking == found.ranking(value)
    for point in found.break_points:
        if point.near is not None:
            # Rounding decides in a sliver, which is no wider than rounding is.
            assert point.near[0] <= point.at <= point.near[1]
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found) and found._repr_html_().count("<table>") == 1


def test_rounding_decides_in_a_sliver_and_intervals_are_otherwise_certain():
    collection = Collection(["a", "b", "c"]).bind(
        S={"a": 0.1, "b": 0.7, "c": 0.3}, T={"a": 0.9, "b": 0.2, "c": 0.30000000001}, alpha=0.4
    )
    found = sweep(Program("top(2, (1 - alpha) * S + alpha * T)", collection), "alpha")
    assert len(found) == 3
    for point in found.break_points:
        assert 0 <= point.near[1] - point.near[0] < 1e-4
        # The float64 values just beside the sliver give either order.
        assert found.ranking(point.near[0]) != found.ranking(point.near[1])
    widths = [point.near[1] - point.near[0] for point in found.break_points]
    assert min(widths) < 1e-14


def test_the_sliver_is_told_where_the_float_order_differs_from_the_real_one():
    # In real arithmetic a is above b everywhere below 1; 3 alpha rounds, so that some float64 values say otherwise.
    rng = np.random.default_rng(5)
    values = rng.random((40, 2))
    docnos = [f"d{i:02}" for i in range(40)]
    s, t = (dict(zip(docnos, values[:, i].tolist(), strict=True)) for i in (0, 1))
    collection = Collection(docnos).bind(S=s, T=t, alpha=0.5)
    program = Program("top(5, S - alpha * T)", collection)
    found = sweep(program, "alpha")
    disagreeing = 0
    for before, point in zip(found.intervals, found.break_points, strict=False):
        value = float(point.at)
        for _ in range(8):
            run = tuple(program.with_numbers(alpha=value).run().docnos)
            real = (
                before.ranking
                if Fraction(value) < point.at
                else found.intervals[found.break_points.index(point) + 1].ranking
            )
            disagreeing += run != real
            assert run == real or point.near[0] < value < point.near[1]
            value = math.nextafter(value, 0)
    assert len(found) > 5


def test_records_that_are_scored_alike_stay_in_the_order_of_docnos_for_certain():
    docnos = [f"d{i:03}" for i in range(300)]
    collection = Collection(docnos).bind(
        S={docno: 1.0 if i % 3 else 0.1 for i, docno in enumerate(docnos)},
        T={docno: 0.1 if i % 3 else 0.3 for i, docno in enumerate(docnos)},
        alpha=2.0,
    )
    found = sweep(Program("top(4, S + alpha * T)", collection), "alpha", over=(0, 10))
    assert [float(point.at) for point in found.break_points] == [pytest.approx(4.5)]
    assert [interval.ranking[0] for interval in found.intervals] == ["d001", "d000"]
    assert all(interval.certain is not None for interval in found.intervals)
    assert found.here is found.intervals[0] and found.same_set == (0.0, found.break_points[0].at)


def test_records_of_one_score_are_told_apart_by_a_mask_below_fill():
    found = sweep(Program("top(1, fill(0.1, m >> -(alpha * A)))", CASES.bind(A={"b": -1.0, "c": -1.0})), "alpha")
    assert [(float(interval.start), interval.ranking) for interval in found.intervals] == [(0, ("a",)), (0.1, ("b",))]


def test_all_lines_through_one_point():
    docnos = [f"d{i:03}" for i in range(500)]
    scores = {docno: float((i * 37) % 500) for i, docno in enumerate(docnos)}
    collection = Collection(docnos).bind(S=scores, alpha=1.0)
    found = sweep(Program("top(3, alpha * S)", collection), "alpha", over=(-1, 1))
    (point,) = found.break_points
    assert point.at == 0 and point.ranking == ("d000", "d001", "d002")
    best = sorted(scores, key=scores.get)
    assert found.intervals[0].ranking == tuple(best[:3]) and found.intervals[1].ranking == tuple(best[:-4:-1])
    # At a value where all are equal nothing but the docno decides, and it is no interval's.
    assert found.interval(0.0) is None and found.ranking(0.0) is None


CASES = Collection(["a", "b", "c"]).bind(
    S={"a": 3.0, "b": 2.0, "c": 1.0}, T={"a": 0.0, "b": 2.0, "c": 3.5}, m={"a", "b"}, alpha=0.5, beta=2.0
)


@pytest.mark.parametrize(
    ("text", "wanted", "labels"),
    [
        ("top(1, S + alpha * T)", "alpha", ["alpha"]),
        ("top(1, S + 0.5 T)", "0.5", ["0.5"]),
        ("top(1, S + 0.5 T)", 0.5, ["0.5"]),
        ("top(1, 0.5 S + 0.5 T)", "0.5#2", ["0.5#1", "0.5#2"]),
        ("x = 0.5 T\ntop(1, S + x)", "0.5", ["0.5"]),
        ("isin(S, 0.5, 3, 2, 1) >> (beta * S + -1 * T)", "-1", ["beta", "-1"]),
        ("top(2, clip(0, 1, S) + 0.25 T)", "0.25", ["0", "1", "0.25"]),
    ],
)
def test_coefficients_are_named_or_pointed_at(text, wanted, labels):
    program = Program(text, CASES)
    assert [coefficient.label for coefficient in coefficients(program)] == labels
    found = sweep(program, wanted)
    assert found.is_exact and found.coefficient.label == str(wanted)
    assert sweep(program, found.coefficient) == found
    # The present value, with the literal where it is, gives what the program gives.
    if found.ranking(found.value) is not None:
        assert found.ranking(found.value) == tuple(program.run().docnos[: found.k])
    assert found.formula == program.formula


@pytest.mark.parametrize(
    ("text", "wanted", "reason"),
    [
        ("top(2, minmax(alpha * S) + T)", "alpha", "minmax(alpha * S) is not affine"),
        ("top(2, alpha * (alpha * S + T))", "alpha", "more than once"),
        ("top(2, (S >= alpha) >> T)", "alpha", "lets other records through"),
        ("top(2, S + top(1, alpha * T))", "alpha", "top(1, alpha * T) is not affine"),
        ("top(2, clip(alpha, 3, S))", "alpha", "is not affine"),
        ("top(2, 1e300 * S * (1e8 * alpha - 1e8))", "alpha", "leave float64"),
    ],
)
def test_other_programs_are_run_on_a_grid_and_say_so(text, wanted, reason):
    program = Program(text, CASES)
    found = sweep(program, wanted)
    assert not found.is_exact and reason in found.reason
    assert len(found.points) == 21 and found.value in found.points
    for value in found.points:
        try:
            ran = tuple(program.with_numbers(**{wanted: value}).run().docnos)
        except AlgebraError as error:
            assert error.code in found.interval(value).error
        else:
            assert found.ranking(value) == ran[: found.k]
    assert "may be missed" in repr(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["method"] == "grid"


def test_a_grid_tells_between_which_points_something_changes():
    program = Program("top(1, S + alpha * T)", CASES)
    exact, grid = sweep(program, "alpha"), sweep(program, "alpha", grid=[0, 0.25, 0.5, 0.75, 1])
    assert exact.is_exact and not grid.is_exact and grid.reason == "a grid was asked for"
    (point,) = grid.break_points
    assert point.at is None and point.near == (0.5, 0.75)
    assert exact.here is None and "0.5, is a break-point" in repr(exact)
    # Both changes lie between two points of the grid, which sees one.
    assert [float(point.at) for point in exact.break_points] == [0.5, pytest.approx(2 / 3)]
    assert [interval.ranking for interval in exact.intervals] == [("a",), ("b",), ("c",)]
    assert [interval.ranking for interval in grid.intervals] == [("a",), ("c",)]
    assert grid.ranking(0.1) is None and grid.ranking(0.25) == ("a",)
    faulty = sweep(Program("top(1, S / alpha)", CASES), "alpha", grid=[0, 1])
    assert "division_by_zero" in faulty.intervals[0].error and not faulty.intervals[1].error
    assert len(sweep(program, "alpha", grid=5).points) == 5


def test_the_range_holds_the_present_value():
    def over(value):
        return sweep(Program("S + alpha * T", CASES.with_numbers(alpha=value)), "alpha").over

    assert [over(value) for value in (0.3, 0.0, 1.0, 2.0, -0.5)] == [(0, 1), (0, 1), (0, 1), (0, 4), (-1, 0)]
    assert sweep(Program("S + alpha * T", CASES), "alpha", over=(2, 3)).here is None


@pytest.mark.parametrize(
    ("text", "options", "k"),
    [
        ("S + alpha * T", {}, 10),
        ("S + alpha * T", {"k": 2}, 2),
        ("top(2, S + alpha * T)", {"k": 5}, 2),
        ("top(2, S + alpha * T)", {"k": 1}, 1),
        ("x = top(3, S + alpha * T)\ny = x\ntop(2, y)", {}, 2),
    ],
)
def test_how_many_records_are_watched(text, options, k):
    found = sweep(Program(text, CASES), "alpha", **options)
    assert found.k == k and found.is_exact
    assert all(len(interval.ranking) == min(k, 3) for interval in found.intervals)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ({"coefficient": "gamma"}, "unknown_name", "alpha; 0.5#1 in 0.5 * S"),
        ({"coefficient": "0.5"}, "bad_argument", "0.5#2 in 0.5 * T"),
        ({"coefficient": "S"}, "unknown_name", "alpha"),
        ({"over": (1, 1)}, "bad_argument", "over="),
        ({"over": (0, math.inf)}, "bad_argument", "over="),
        ({"k": 0}, "bad_argument", "k is"),
        ({"grid": 1}, "bad_argument", "grid=21"),
        ({"grid": []}, "bad_argument", "grid=["),
        ({"grid": [math.nan]}, "bad_argument", "grid=["),
    ],
)
def test_what_cannot_be_swept_is_refused(options, code, said):
    program = Program("top(2, 0.5 S + 0.5 T + alpha)", CASES)
    with pytest.raises(AlgebraError) as refused:
        sweep(program, **{"coefficient": "alpha", **options})
    assert refused.value.code == code and said in str(refused.value)


def test_faults_of_the_program_are_its_own():
    with pytest.raises(ProgramError):
        sweep(Program("top(2, alpha * (E @ query))", vaswani().bind(alpha=1)), "alpha")
    with pytest.raises(EvaluationError):
        sweep(Program('top(2, alpha * S + (ids("zz") >> T))', CASES), "alpha")


def test_too_many_changes_are_refused_with_a_narrower_range():
    docnos = [f"d{i:04}" for i in range(120)]
    rng = np.random.default_rng(3)
    s, t = (dict(zip(docnos, rng.random(120).tolist(), strict=True)) for _ in range(2))
    program = Program("S - alpha * T", Collection(docnos).bind(S=s, T=t, alpha=0.5))
    with pytest.raises(AlgebraError) as refused:
        sweep(program, "alpha", over=(-1000, 1000), k=120)
    assert refused.value.code == "limit" and "over=(" in refused.value.hint


def test_a_pool_is_swept_as_it_is_re_ranked():
    program = Program("top(2, minmax(S) + alpha * minmax(input))", CASES)
    topic = Topic("1", "x", input={"a": 1.0, "b": 5.0})
    found = sweep(program, "alpha", topic)
    assert found.is_exact and found.records == 2
    for interval in found.intervals:
        value = sum(interval.certain) / 2
        assert tuple(program.with_numbers(alpha=value).run(topic).docnos) == interval.ranking


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("top(10, (1 - alpha) * minmax(E @ query) + alpha * minmax(bm25(query, 100)))", "alpha"),
        ('top(10, (E @ query) - 0.5 * (E @ "electron density"))', "0.5"),
    ],
)
def test_vaswani_is_swept_exactly(text, wanted):
    collection = vaswani(bm25="counts").bind(alpha=0.5)
    program = Program(text, collection)
    found = sweep(program, wanted, "wave guide design")
    assert found.is_exact and len(found) > 5
    assert found.ranking(found.value) == tuple(program.run("wave guide design").docnos)
    for place in (0, len(found) // 2, len(found)):
        first, last = found.intervals[place].certain
        for value in (first, last):
            if wanted == "alpha":
                again = program.with_numbers(alpha=value)
            else:
                again = Program(text.replace("0.5", repr(value)), collection)
            assert tuple(again.run("wave guide design").docnos) == found.intervals[place].ranking
