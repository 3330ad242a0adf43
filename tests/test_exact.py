"""The arithmetic against its definition in plain Python, bit for bit."""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyterrier_alg import exact
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.exact import _products, _slices, _sums

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = 2.0**-149

ANY = st.floats(width=32, allow_nan=False, allow_infinity=False)
# Few bits and few exponents: such sums cancel, tie, and fall halfway between floats.
COARSE = st.builds(lambda k, e: math.ldexp(k, e), st.integers(-3, 3), st.sampled_from([-60, -30, -27, -26, 0, 1, 26]))
NARROW = st.integers(-20, 20).map(float)
EDGE = st.sampled_from([0.0, -0.0, SMALLEST, -SMALLEST, 2.0**-126, 1.0, -1.0, 1e38, -1e38, LARGEST, -LARGEST])


def defined(rows, vectors):
    sums = [[math.fsum(a * b for a, b in zip(row, v, strict=True)) + 0.0 for v in vectors] for row in rows]
    return np.array(sums, dtype=np.float64).reshape(len(rows), len(vectors))


def assert_same_bits(got, expected):
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.tobytes() == expected.tobytes()


def check_products(rows, vectors):
    expected = defined(rows.tolist(), vectors.tolist())
    assert_same_bits(exact.inner_products(rows, vectors), expected)
    for j, vector in enumerate(vectors):
        assert_same_bits(exact.inner_products(rows, vector), np.ascontiguousarray(expected[:, j]))


@st.composite
def rows_and_vectors(draw):
    n, m, d = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 12))
    elements = draw(st.sampled_from([ANY, COARSE, NARROW, EDGE, st.one_of(ANY, COARSE, EDGE)]))
    return draw(hnp.arrays(np.float32, (n, d), elements=elements)), draw(
        hnp.arrays(np.float32, (m, d), elements=elements)
    )


@settings(max_examples=400, deadline=None)
@given(rows_and_vectors())
def test_inner_products_are_fsum_of_the_products(case):
    check_products(*case)


@settings(max_examples=100, deadline=None)
@given(rows_and_vectors(), st.randoms(use_true_random=False))
def test_products_that_cancel_exactly_leave_the_rest(case, random):
    # Each row meets its own negative, so that only what is appended remains, at any magnitude, in any order.
    rows, vectors = case
    small_rows, small_vectors = rows * np.float32(2.0**-40), vectors * np.float32(2.0**-30)
    rows = np.concatenate([rows, -rows, small_rows], axis=1)
    vectors = np.concatenate([vectors, vectors, small_vectors], axis=1)
    order = list(range(rows.shape[1]))
    random.shuffle(order)
    check_products(rows[:, order], vectors[:, order])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("odd", [0.0, 2.0**-52], ids=["even", "odd"])
@pytest.mark.parametrize("push", [0.0, SMALLEST**2, -(SMALLEST**2), 2.0**-120, -(2.0**-120)])
@pytest.mark.parametrize("spread", [0, 5, 300], ids=["alone", "few", "many"])
def test_sums_halfway_between_floats_round_to_even(sign, odd, push, spread):
    # 1 (+ an ulp) + half an ulp, and a push off the middle that may be as small as a product of float32 can be.
    factors = [(1.0, 1.0), (2.0**-26, odd * 2.0**26), (2.0**-26, 2.0**-27)]
    factors.append((math.copysign(math.sqrt(abs(push)), push), math.sqrt(abs(push))))
    factors += [(k + 1.0, 3.0) for k in range(spread)] + [(-k - 1.0, 3.0) for k in range(spread)]
    np.random.default_rng(spread).shuffle(factors)
    row, vector = np.array(factors, np.float32).T
    halfway = 1.0 + odd + 2.0**-53
    expected = 1.0 + 2.0**-52 if push > 0 and not odd else 1.0 if not odd else 1.0 + odd * (1 if push < 0 else 2)
    assert halfway == (1.0 if not odd else 1.0 + 2 * odd)
    assert exact.inner_products(np.float32(sign) * row[np.newaxis], vector).tolist() == [sign * expected]
    check_products(np.float32(sign) * row[np.newaxis], vector[np.newaxis])


@pytest.mark.parametrize("d", [1, 2, 3, 63, 64, 65, 256, 384, 1000, 5000])
@pytest.mark.parametrize("kind", ["normal", "unit", "counts", "positive", "wide", "subnormal", "largest", "sparse"])
def test_shapes_and_magnitudes(d, kind):
    random = np.random.default_rng(d)
    n, m = 7, 4
    values = {
        "normal": lambda size: random.standard_normal(size),
        "unit": lambda size: (x := random.standard_normal(size)) / np.linalg.norm(x, axis=1, keepdims=True),
        "counts": lambda size: random.integers(-3, 4, size) / np.sqrt(random.integers(1, 50, (size[0], 1))),
        "positive": lambda size: random.random(size) + 0.5,
        "wide": lambda size: random.standard_normal(size) * 2.0 ** random.integers(-140, 120, size),
        "subnormal": lambda size: random.integers(-9, 10, size) * SMALLEST,
        "largest": lambda size: np.full(size, LARGEST),
        "sparse": lambda size: random.standard_normal(size) * (random.random(size) < 0.1) * 2.0**-130,
    }[kind]
    check_products(values((n, d)).astype(np.float32), values((m, d)).astype(np.float32))


def test_a_float32_element_that_two_slices_cannot_hold_is_still_counted():
    rows = np.array([[1, 2.0**-60 * 3, -1], [2.0**60, 5, -(2.0**60)], [1, 2.0**-140, 0]], np.float32)
    vectors = np.array([[1, 1, 1], [1, 2.0**-60, 1], [2.0**100, 2.0**-100, 2.0**100]], np.float32)
    check_products(rows, vectors)
    assert exact.inner_products(rows, vectors[0]).tolist() == [3 * 2.0**-60, 5.0, 1.0]


def test_empty_shapes():
    rows = np.zeros((3, 4), np.float32)
    assert_same_bits(exact.inner_products(rows[:, :0], rows[0, :0]), np.zeros(3))
    assert_same_bits(exact.inner_products(rows[:0], rows[0]), np.zeros(0))
    assert_same_bits(exact.inner_products(rows, rows[:0]), np.zeros((3, 0)))
    assert_same_bits(exact.inner_products(rows[:, :0], rows[:2, :0]), np.zeros((3, 2)))
    assert_same_bits(exact.squared_distances(rows[:, :0], rows[0, :0]), np.zeros(3))
    assert_same_bits(exact.squared_distances(rows[:0], rows[0]), np.zeros(0))
    assert_same_bits(exact.row_sums(np.zeros((2, 0))), np.zeros(2))
    assert_same_bits(exact.row_sums(np.zeros((0, 50))), np.zeros(0))
    assert exact.total([]) == 0.0


def test_no_negative_zero_comes_out():
    rows = np.array([[-0.0, 0.0], [-0.0, -0.0], [-1.0, 1.0]], np.float32)
    vectors = np.array([[1, 1], [-1, -1]], np.float32)
    assert not np.signbit(exact.inner_products(rows, vectors)).any()
    assert not np.signbit(exact.row_sums(np.full((2, 3), -0.0))).any()
    assert not np.signbit(exact.row_sums(np.full((2, 64), -0.0))).any()
    assert math.copysign(1.0, exact.total([-0.0])) == 1.0


@pytest.fixture(scope="module")
def matrix():
    random = np.random.default_rng(5)
    rows = random.standard_normal((3000, 100)).astype(np.float32)
    # Elements that leave remainders, in some rows and one vector, and the same row at awkward positions.
    rows[::97, 3] *= np.float32(1e-9)
    rows[[0, 1, 13, 1000, 1023, 1024, 2998, 2999]] = rows[5]
    vectors = random.standard_normal((9, 100)).astype(np.float32)
    vectors[4, 50] = 1e-12
    return rows, vectors, exact.inner_products(rows, vectors)


def test_many_blocks_agree_with_the_definition(matrix):
    rows, vectors, scores = matrix
    assert len(rows) > _slices.BLOCK // sum(vectors.shape)
    assert_same_bits(scores, defined(rows.tolist(), vectors.tolist()))
    assert len({scores[i].tobytes() for i in (0, 1, 5, 13, 1000, 1023, 1024, 2998, 2999)}) == 1


@pytest.mark.parametrize(
    "layout",
    [
        lambda a, path: np.asfortranarray(a),
        lambda a, path: np.repeat(np.repeat(a, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda a, path: a[::-1, ::-1].copy()[::-1, ::-1],
        lambda a, path: a.astype(">f4"),
        lambda a, path: np.frombuffer(b"\0\0\0" + a.tobytes(), np.uint8)[3:].view("<f4").reshape(a.shape),
        lambda a, path: mapped(a, path),
    ],
    ids=["fortran", "strided", "reversed", "big-endian", "misaligned", "memory-mapped"],
)
def test_memory_layout_changes_nothing(matrix, layout, tmp_path):
    rows, vectors, scores = matrix
    assert_same_bits(exact.inner_products(layout(rows, tmp_path / "rows"), layout(vectors, tmp_path / "v")), scores)
    assert_same_bits(
        exact.squared_distances(layout(rows, tmp_path / "rows"), vectors[0]), exact.squared_distances(rows, vectors[0])
    )
    assert_same_bits(exact.mean(layout(rows, tmp_path / "rows")), exact.mean(rows))


def mapped(array, path):
    array.tofile(path)
    return np.memmap(path, np.float32, "r", shape=array.shape)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_position_and_batch_change_nothing(matrix, data):
    rows, vectors, scores = matrix
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=40))
    some = data.draw(st.lists(st.integers(0, len(vectors) - 1), min_size=1, max_size=4))
    start = data.draw(st.integers(0, len(rows)))
    assert_same_bits(exact.inner_products(rows[chosen], vectors[some]), scores[chosen][:, some])
    got = exact.inner_products(rows[start:], vectors[some[0]])
    assert_same_bits(got, np.ascontiguousarray(scores[start:, some[0]]))


def test_block_sizes_and_threads_change_nothing(matrix, monkeypatch):
    rows, vectors, scores = matrix
    distances = exact.squared_distances(rows, vectors[0])
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: exact.inner_products(rows, vectors), range(8)):
            assert_same_bits(got, scores)
    monkeypatch.setattr(_products, "BLOCK", 1)
    monkeypatch.setattr(_products, "_VECTORS", 2)
    monkeypatch.setattr(_sums, "BLOCK", 1)
    assert_same_bits(exact.inner_products(rows[:300], vectors), scores[:300])
    assert_same_bits(exact.squared_distances(rows[:300], vectors[0]), distances[:300])


def test_rows_with_the_same_products_in_another_order_tie():
    random = np.random.default_rng(11)
    row, vector = random.standard_normal((2, 256)).astype(np.float32)
    # Shuffled within the places where the vector has equal elements, so that every row has the same 256 products.
    vector = np.repeat(vector[:4], 64)
    rows = np.array([np.concatenate([random.permutation(part) for part in np.split(row, 4)]) for _ in range(200)])
    assert len(set(exact.inner_products(rows, vector).tolist())) == 1
    tied = exact.inner_products(np.array([[0, 1, 3, 2], [0, 2, 3, 1]], np.float32), np.array([0, 2, 5, 2], np.float32))
    assert tied.tolist() == [21.0, 21.0]


def test_few_products_of_ordinary_rows_need_the_slow_way(matrix, monkeypatch):
    rows, vectors, scores = matrix
    calls = []
    monkeypatch.setattr(_products, "fsum", lambda values: calls.append(1) or _slices.fsum(values))
    assert_same_bits(exact.inner_products(rows, vectors), scores)
    assert len(calls) < scores.size / 1000


@pytest.mark.parametrize(
    ("rows", "vectors", "error"),
    [
        (np.zeros((2, 3)), np.zeros(3, np.float32), TypeError),
        (np.zeros((2, 3), np.float32), np.zeros(3), TypeError),
        (np.zeros((2, 3), np.float32), np.zeros(4, np.float32), ValueError),
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), ValueError),
        (np.zeros(3, np.float32), np.zeros(3, np.float32), ValueError),
    ],
)
def test_what_does_not_fit_is_refused(rows, vectors, error):
    with pytest.raises(error):
        exact.inner_products(rows, vectors)
    with pytest.raises(error):
        exact.squared_distances(rows, vectors)


def test_values_that_are_not_finite_spoil_only_their_own_scores():
    rows = np.array([[np.inf, 1], [np.nan, 1], [3, 4], [np.inf, -np.inf]], np.float32)
    got = exact.inner_products(rows, np.array([[1, 1], [np.inf, 1], [0.5, 1]], np.float32))
    np.testing.assert_array_equal(
        got, [[np.inf, np.inf, np.inf], [np.nan] * 3, [7, np.inf, 5.5], [np.nan, np.nan, np.nan]]
    )


DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.builds(math.ldexp, st.integers(-5, 5).map(float), st.sampled_from([-1074, -1000, -120, -53, -52, 0, 53, 900])),
    st.integers(1, 200).map(lambda k: 1 / k),
)


def fsum_or_inf(values):
    try:
        return math.fsum(values) + 0.0
    except OverflowError:
        return math.inf


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=DOUBLES), st.booleans())
def test_row_sums_are_fsum(values, wide):
    if wide:
        values = np.concatenate([values, -values[:, ::-1] * 0.5, values * 2.0**-60], axis=1)
    assert_same_bits(exact.row_sums(values), [fsum_or_inf(row) for row in values.tolist()])
    assert_same_bits(exact.row_sums(np.asfortranarray(values)), [fsum_or_inf(row) for row in values.tolist()])
    assert [exact.total(row) for row in values] == [fsum_or_inf(row) for row in values.tolist()]


@pytest.mark.parametrize("order", range(8))
def test_sums_halfway_but_for_a_term_lost_in_the_remainders(order):
    # 2^60 + half an ulp + 2^-110, with a pair of terms between that cancel but swallow the last in most orders.
    terms = np.array([2.0**60, 2.0**36, 2.0**7, 2.0**-45, -(2.0**-45), 2.0**-110, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    values = np.random.default_rng(order).permuted(np.tile(terms, (50, 1)), axis=1)
    above, below = 2.0**60 + 2.0**36 + 2.0**8, 2.0**60 + 2.0**36
    assert exact.row_sums(values).tolist() == [above] * 50
    assert exact.row_sums(values - 2 * values * (values == 2.0**-110)).tolist() == [below] * 50
    columns = values.T.astype(np.float32)
    # 2^60 + 2^36 is halfway between two float32, so a float64 sum that is one unit off shows here.
    assert exact.mean(columns).tolist() == [2.0**56 + 2.0**33] * 50
    assert exact.inner_products(columns.T, np.ones(16, np.float32)).tolist() == [above] * 50


@pytest.mark.parametrize("count", [17, 100, 1000, 1025])
def test_sums_of_terms_of_one_size_and_sign_are_exact(count):
    values = 1.0 - np.random.default_rng(count).random((60, count)) * 2.0**-10
    assert_same_bits(exact.row_sums(values), [math.fsum(row) for row in values.tolist()])
    assert_same_bits(exact.row_sums(-values), [-math.fsum(row) for row in values.tolist()])


@pytest.mark.parametrize("width", [3, 8, 100, 1000])
@pytest.mark.parametrize("magnitude", [1e-320, 1e-290, 1.0, 1e290, 1e300])
def test_row_sums_of_many_terms(width, magnitude):
    random = np.random.default_rng(width)
    values = random.standard_normal((200, width)) * magnitude
    values[::3] *= 2.0 ** random.integers(-70, 1, (67, width))
    values[::5, 0] = -values[::5, 1:].sum(axis=1)
    assert_same_bits(exact.row_sums(values), [fsum_or_inf(row) for row in values.tolist()])


def test_sums_that_overflow_are_infinite_and_silent():
    huge = np.full((2, 20), 1.7e308)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert exact.row_sums(huge).tolist() == [math.inf, math.inf]
        assert exact.row_sums(huge[:, :2]).tolist() == [math.inf, math.inf]
        assert exact.total(huge[0]) == math.inf
        assert exact.total([1.0, math.inf]) == math.inf
        assert math.isnan(exact.total([math.inf, -math.inf]))


def defined_distances(rows, vector):
    return [math.fsum((a - b) * (a - b) for a, b in zip(row, vector, strict=True)) for row in rows]


@settings(max_examples=200, deadline=None)
@given(rows_and_vectors())
def test_squared_distances_are_fsum_of_the_squares(case):
    rows, vectors = case
    for vector in vectors:
        expected = np.array(defined_distances(rows.tolist(), vector.tolist()))
        assert_same_bits(exact.squared_distances(rows, vector), expected)


@pytest.mark.parametrize("d", [1, 100, 768])
def test_squared_distances_over_many_blocks(d):
    random = np.random.default_rng(d)
    rows = random.standard_normal((1500, d)).astype(np.float32)
    rows[::50] *= 2.0 ** random.integers(-100, 60, (30, d)).astype(np.float32)
    vector = rows[7]
    got = exact.squared_distances(rows, vector)
    assert_same_bits(got, np.array(defined_distances(rows.tolist(), vector.tolist())))
    assert got[7] == 0.0


@settings(max_examples=150, deadline=None)
@given(rows_and_vectors(), st.floats(-1e300, 1e300))
def test_vector_operators_round_once_from_float64(case, c):
    rows, vectors = case
    u, v = rows[0], vectors[0]

    def narrow(values):
        with np.errstate(all="ignore"):
            return np.array([np.float32(x) + np.float32(0) for x in values], np.float32)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pairs = list(zip(u.tolist(), v.tolist(), strict=True))
        assert_same_bits(exact.add(u, v), narrow([a + b for a, b in pairs]))
        assert_same_bits(exact.subtract(u, v), narrow([a - b for a, b in pairs]))
        assert_same_bits(exact.scale(c, v), narrow([c * b for _, b in pairs]))
        assert_same_bits(exact.negate(v), narrow([-b for _, b in pairs]))
        length = math.sqrt(math.fsum(b * b for _, b in pairs))
        assert exact.norm(v) == length
        if length:
            assert_same_bits(exact.unit(v), narrow([b / length for _, b in pairs]))
        means = [math.fsum(column) / len(rows) for column in rows.T.tolist()]
        assert_same_bits(exact.mean(rows), narrow(means))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 1500])
def test_the_mean_over_many_blocks(n):
    random = np.random.default_rng(n)
    rows = random.standard_normal((n, 130)).astype(np.float32)
    rows[:, 0] = np.float32(1e30) * np.sign(rows[:, 1])
    rows[:, 2] *= 2.0 ** random.integers(-120, 100, n).astype(np.float32)
    rows[-1, 3] = SMALLEST
    expected = [np.float32(math.fsum(column) / n) for column in rows.T.tolist()]
    assert_same_bits(exact.mean(rows), np.array(expected, np.float32))


def test_the_mean_of_rows_that_cancel():
    random = np.random.default_rng(3)
    rows = (random.standard_normal((400, 60)) * 2.0 ** random.integers(-60, 90, (400, 60))).astype(np.float32)
    rows = random.permuted(np.concatenate([rows, -rows, rows[:7] * np.float32(2.0**-50)]), axis=0)
    expected = [np.float32(math.fsum(column) / len(rows)) for column in rows.T.tolist()]
    assert_same_bits(exact.mean(rows), np.array(expected, np.float32))


def test_operators_without_a_result():
    with pytest.raises(AlgebraError, match="zero_vector"):
        exact.unit(np.zeros(3, np.float32))
    with pytest.raises(AlgebraError, match="empty_centroid"):
        exact.mean(np.zeros((0, 3), np.float32))


def test_overflow_of_float32_is_infinite_and_silent():
    large = np.array([LARGEST, -LARGEST, 0], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert exact.add(large, large).tolist() == [math.inf, -math.inf, 0]
        assert exact.scale(1e300, large).tolist() == [math.inf, -math.inf, 0]
        assert exact.unit(large).tolist() == [float(np.float32(0.5**0.5)), -float(np.float32(0.5**0.5)), 0]


def scans(rows, vector):
    """float32 inner products by several orders of addition."""
    products = rows * vector
    yield rows @ vector
    yield np.einsum("ij,j->i", rows, vector)
    yield products.sum(axis=1)
    yield np.cumsum(products, axis=1, dtype=rows.dtype)[:, -1]
    yield np.cumsum(np.sort(products, axis=1)[:, ::-1], axis=1, dtype=rows.dtype)[:, -1]


def shapes_of_data(d):
    random = np.random.default_rng(d)
    gaussian = random.standard_normal((200, d))
    yield "random", gaussian, random.standard_normal(d)
    yield "common direction", gaussian * 0.1 + 1.0, random.standard_normal(d) * 0.1 + 1.0
    yield "one sign", np.abs(gaussian), np.abs(random.standard_normal(d))
    # Each addition to 1 is a little above half an ulp: all roundings go the same way.
    drifting = np.full((1, d), (0.5 + 2.0**-10) * 2.0**-23)
    drifting[0, 0] = 1.0
    yield "drifting", drifting, np.ones(d)
    yield "subnormal", gaussian * 1e-39, random.standard_normal(d)
    yield "underflowing", gaussian * 1e-25, random.standard_normal(d) * 1e-20


@pytest.mark.parametrize("d", [1, 2, 16, 256, 1536])
def test_scan_errors_stay_below_their_bounds(d):
    for name, rows, vector in shapes_of_data(d):
        rows, vector = rows.astype(np.float32), vector.astype(np.float32)
        scores = exact.inner_products(rows, vector)
        norms = [exact.norm(row) for row in rows]
        bounds32 = np.array([exact.float32_scan_bound(d, length, exact.norm(vector)) for length in norms])
        bounds64 = np.array([exact.float64_scan_bound(d, length, exact.norm(vector)) for length in norms])
        for scan in scans(rows, vector):
            assert (np.abs(scan.astype(np.float64) - scores) <= bounds32).all(), name
        for scan in scans(rows.astype(np.float64), vector.astype(np.float64)):
            assert (np.abs(scan - scores) <= bounds64).all(), name


def test_the_float32_bound_is_nearly_reached():
    # Sequentially, the drifting row is off by nearly u for each addition, while its γ_d ‖x‖ ‖y‖ pays √d for the norms.
    d = 256
    row = np.full((1, d), (0.5 + 2.0**-10) * 2.0**-23, np.float32)
    row[0, 0] = 1.0
    vector = np.ones(d, np.float32)
    error = abs(float(np.cumsum(row, axis=1, dtype=np.float32)[0, -1]) - exact.inner_products(row, vector)[0])
    bound = exact.float32_scan_bound(d, exact.norm(row[0]), exact.norm(vector))
    assert bound / (1.1 * math.sqrt(d)) < error <= bound


@pytest.mark.parametrize("d", [1, 2, 16, 256, 1536])
@pytest.mark.parametrize("magnitude", [1e-15, 1.0, 3e5])
def test_cosine_errors_stay_below_their_bound(d, magnitude):
    for name, rows, vector in shapes_of_data(d):
        if name in ("subnormal", "underflowing"):
            continue
        rows = np.array([exact.unit(row) for row in rows.astype(np.float32)])
        assert all(abs(exact.norm(row) - 1.0) <= 2.0**-23 for row in rows)
        vector = exact.scale(magnitude, vector.astype(np.float32))
        length = exact.norm(vector)
        bound = exact.cosine_distance_bound(d, length)
        defined_cosines = exact.inner_products(rows, vector) / length
        squares = [next(scans(row[np.newaxis], row))[0] for row in rows]
        for dot, vv in zip(scans(rows, vector), scans(vector[np.newaxis], vector), strict=True):
            distance = np.float32(1) - dot / (np.sqrt(np.array(squares, np.float32)) * np.sqrt(vv))
            assert distance.dtype == np.float32
            assert (np.abs((1.0 - distance.astype(np.float64)) - defined_cosines) <= bound).all(), name


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (exact.float32_scan_bound(256, 1e20, 1e20), math.inf),
        (exact.float32_scan_bound(2**24, 1.0, 1.0), math.inf),
        (exact.float32_scan_bound(2**24, 0.0, 1.0), math.inf),
        (exact.float64_scan_bound(256, 0.0, 1.0), 0.0),
        (exact.cosine_distance_bound(256, 1e-30), math.inf),
        (exact.cosine_distance_bound(256, 1e30), math.inf),
        (exact.cosine_distance_bound(2**24), math.inf),
    ],
)
def test_bounds_where_a_scan_may_mean_nothing(bound, expected):
    assert bound == expected


@pytest.mark.parametrize("bound", [exact.float32_scan_bound, exact.float64_scan_bound])
def test_bounds_grow_with_dimension_and_norms(bound):
    assert bound(64, 1.0, 1.0) < bound(128, 1.0, 1.0) < bound(128, 2.0, 1.0) < bound(128, 2.0, 3.0)
    assert exact.cosine_distance_bound(64) < exact.cosine_distance_bound(128)
