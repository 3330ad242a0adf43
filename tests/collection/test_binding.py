"""What binding takes, what it refuses, and that a refusal names what is wrong."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_alg.algebra import BindingError, Kind
from pyterrier_alg.algebra.operators import RESERVED
from pyterrier_alg.collection import (
    Collection,
    Column,
    Distance,
    Mask,
    Matrix,
    QueryVectors,
    Relation,
    Retriever,
    Run,
    Space,
    Topic,
    Vector,
)
from pyterrier_alg.relation import ScoredRelation

#: Not in code-point order, on purpose: "a" < "b" < "c".
DOCNOS = ["b", "a", "c"]
COSINE = Space("text", 2)
FLAT = Space("flat", 2, Distance.L2)
INNER = Space("inner", 2, Distance.INNER_PRODUCT)
ROWS = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
NAN, INF = float("nan"), float("inf")
NOW = datetime(2024, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.fixture
def records():
    return Collection(DOCNOS)


def bound(value, qid=None, **more):
    scope = Collection(DOCNOS).bind(x=value, **more).at(None if qid is None else Topic(qid))
    scope.refuse_absent(["x"])
    return scope, scope.operands["x"]


def scores(value, qid=None):
    scope, operand = bound(value, qid)
    return dict(zip(scope.docnos[operand.positions].tolist(), operand.scores.tolist(), strict=True))


def eligible(value, qid=None):
    scope, operand = bound(value, qid)
    return scope.docnos[operand.positions].tolist()


def values(value):
    scope, operand = bound(value)
    return operand.kind, dict(zip(scope.docnos[operand.positions].tolist(), operand.values.tolist(), strict=True))


def test_records_stand_in_code_point_order_and_rows_follow_the_order_given():
    scope, matrix = bound(Matrix(ROWS, COSINE))
    assert scope.docnos.tolist() == ["a", "b", "c"] and matrix.positions.tolist() == [0, 1, 2]
    assert matrix.rows.dtype == np.float32
    assert matrix.rows.tolist() == np.array([[0, 1], [1, 0], [0.6, 0.8]], dtype=np.float32).tolist()


@given(st.permutations(["Z", "a", "\u00e9", "e\u0301", "\U0001f642", "\uffee", "日本", "d10", "d2"]))
def test_the_order_of_docnos_is_pythons_whatever_order_they_come_in(docnos):
    vectors = {docno: [float(place), 1.0] for place, docno in enumerate(docnos)}
    scope = Collection(docnos).bind(E=Matrix(list(vectors.values()), FLAT), S=dict.fromkeys(docnos, 1)).at()
    assert scope.docnos.tolist() == sorted(docnos)
    assert scope.operands["E"].rows.tolist() == [vectors[docno] for docno in sorted(docnos)]
    assert all(scope.docnos[scope.position(docno)] == docno for docno in docnos) and scope.position("") is None


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:2],
        np.array(ROWS[:2]),
        np.array(ROWS[:2], dtype=np.float16),
        np.array(ROWS[:2], dtype=int),
        [np.array(row) for row in ROWS[:2]],
        [tuple(row) for row in ROWS[:2]],
    ],
)
def test_rows_of_some_records(rows):
    _, matrix = bound(Matrix(rows, COSINE, docnos=["c", "a"]))
    assert matrix.positions.tolist() == [0, 2] and matrix.rows.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "rows",
    [
        {"c": [1, 0], "a": [0, 1]},
        pd.Series({"c": [1, 0], "a": [0, 1]}),
        pd.DataFrame({"docno": ["c", "a"], "doc_vec": [np.array([1.0, 0]), [0, 1]]}),
    ],
)
def test_rows_by_docno(rows):
    _, matrix = bound(Matrix(rows, COSINE))
    assert matrix.positions.tolist() == [0, 2] and matrix.rows.tolist() == [[0, 1], [1, 0]]


def test_what_is_bound_is_a_read_only_copy():
    rows, weights = np.array(ROWS), {"a": 1.0}
    scope = Collection(DOCNOS).bind(E=Matrix(rows, COSINE), v=Vector(rows[0], COSINE), w=weights).at()
    rows[:] = 7
    weights["a"] = 7.0
    assert scope.operands["E"].rows.max() == 1 and scope.operands["v"].values.tolist() == [1, 0]
    assert scope.operands["w"].scores.tolist() == [1]
    arrays = (scope.operands["E"].rows, scope.operands["v"].values, scope.operands["w"].scores, scope.docnos)
    assert not any(array.flags.writeable for array in arrays)


def test_normalising_and_leaving_zero_rows_out():
    _, matrix = bound(Matrix([[3, 4], [0, 0], [0, -2]], COSINE, normalise=True, drop_zero_rows=True))
    assert matrix.positions.tolist() == [1, 2]
    assert matrix.rows.tolist() == np.array([[0.6, 0.8], [0, -1]], dtype=np.float32).tolist()


def test_other_spaces_take_zero_rows_and_rows_of_any_length():
    rows = [[0.0, 0.0], [3.0, 4.0], [1e30, 0.0]]
    for space in (FLAT, INNER):
        assert bound(Matrix(rows, space))[1].rows.tolist() == np.array(rows, dtype=np.float32)[[1, 0, 2]].tolist()


def test_minus_zero_is_zero():
    assert not np.signbit(bound(Matrix([[-0.0, 1], [1, -0.0], [1, -0.0]], COSINE))[1].rows).any()
    assert not np.signbit(bound(Vector([-0.0, 1], COSINE))[1].values).any()
    assert str(scores({"a": -0.0})) == str({"a": 0.0}) and str(bound(-0.0)[1].value) == "0.0"
    run = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [-0.0]})
    assert str(scores(Run(run), "1")) == str({"a": 0.0})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"c": 1, "a": 0.5}, {"a": 0.5, "c": 1.0}),
        ({"c": np.float32(0.5), "a": np.int64(2)}, {"a": 2.0, "c": 0.5}),
        ({}, {}),
        (Relation({"a": 2**60}), {"a": float(2**60)}),
        (ScoredRelation.of({"c": 1.0, "a": 2.0}), {"a": 2.0, "c": 1.0}),
        (pd.DataFrame({"docno": ["c", "a"], "score": [1, 2]}), {"a": 2.0, "c": 1.0}),
        (pd.Series([1.5, 2.5], index=["c", "a"]), {"a": 2.5, "c": 1.5}),
        (pd.Series([1.5, None], index=["c", "a"]), {"c": 1.5}),
        (Column({"c": 1, "a": None, "b": NAN}), {"c": 1.0}),
        (Column(pd.Series([1, None, 3], index=DOCNOS, dtype="Int64")), {"b": 1.0, "c": 3.0}),
    ],
)
def test_relations(value, expected):
    assert scores(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"c", "a"}, ["a", "c"]),
        (frozenset(), []),
        (Mask(["c", "a"]), ["a", "c"]),
        (Mask(pd.Series(["c"])), ["c"]),
        (Mask(pd.DataFrame({"docno": ["c", "b"]})), ["b", "c"]),
        ({"a": True, "b": False, "c": np.True_}, ["a", "c"]),
        (pd.Series([True, None, False], index=DOCNOS, dtype="boolean"), ["b"]),
    ],
)
def test_masks(value, expected):
    assert eligible(value) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ({"b": "en", "a": ""}, Kind.TEXT_COLUMN, {"a": "", "b": "en"}),
        (Column({"b": "en", "a": None}), Kind.TEXT_COLUMN, {"b": "en"}),
        (pd.Series(["en", None], index=["b", "a"]), Kind.TEXT_COLUMN, {"b": "en"}),
        ({"b": date(2024, 2, 29)}, Kind.DATE_COLUMN, {"b": "2024-02-29"}),
        ({"b": datetime(2024, 1, 1, 23, 59)}, Kind.DATE_COLUMN, {"b": "2024-01-01"}),
        ({"b": NOW}, Kind.DATE_COLUMN, {"b": "2023-12-31"}),
        ({"b": NOW.astimezone(UTC), "a": np.datetime64("1965-07-01")}, Kind.DATE_COLUMN,
         {"a": "1965-07-01", "b": "2023-12-31"}),
        (pd.Series(pd.to_datetime(["2024-01-01T05:00", None]), index=["b", "a"]), Kind.DATE_COLUMN,
         {"b": "2024-01-01"}),
        (Column({"b": "2024-01-01", "a": "2024-01-01T00:30:00+02:00"}, dates=True), Kind.DATE_COLUMN,
         {"a": "2023-12-31", "b": "2024-01-01"}),
    ],
)  # fmt: skip
def test_columns(value, kind, expected):
    assert values(value) == (kind, expected)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (0.5, Kind.NUMBER, 0.5),
        (np.float32(0.5), Kind.NUMBER, 0.5),
        (np.int64(3), Kind.NUMBER, 3.0),
        ("some text", Kind.TEXT, "some text"),
    ],
)
def test_numbers_and_texts(value, kind, expected):
    binding = bound(value)[1].binding
    assert (binding.type.kind, binding.value, type(binding.value)) == (kind, expected, type(expected))


@pytest.mark.parametrize("value", ["2026-12-01", date(2026, 12, 1), datetime(2026, 12, 1, 5)])
def test_now_is_bound_as_a_day(records, value):
    assert records.bind(now=value).at().operands["now"].value == "2026-12-01"


RUN = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["c", "a", "a"], "score": [2.0, 1.0, 3.0], "rank": [0, 1, 0]})


@pytest.mark.parametrize("spec", [Run, Relation, lambda frame: frame])
def test_a_run_is_one_relation_a_query(spec):
    assert scores(spec(RUN), "1") == {"a": 1.0, "c": 2.0}
    assert scores(spec(RUN), "2") == {"a": 3.0}
    assert scores(spec(RUN), "3") == {}


def test_a_mask_a_query():
    pools = Mask(RUN[["qid", "docno"]])
    assert [eligible(pools, qid) for qid in "123"] == [["a", "c"], ["a"], []]


@pytest.mark.parametrize(
    "vectors",
    [{"1": [1, 0], "2": [3, 4]}, pd.DataFrame({"qid": ["1", "2"], "query_vec": [np.array([1, 0]), [3.0, 4.0]]})],
)
def test_a_vector_a_query(vectors):
    spec = QueryVectors(vectors, COSINE)
    assert bound(spec, "2")[1].values.tolist() == [3, 4]
    with pytest.raises(BindingError, match=r"x .*'9'") as caught:
        bound(spec, "9")
    assert caught.value.code == "no_query_vector"


# Each: what is bound as x, the code, and the words that name the offender.
REFUSED = [
    (np.timedelta64(1, "D"), "bad_operand", ["x", "timedelta64"]),
    ({"a": np.timedelta64(1, "D")}, "bad_operand", ["'a'", "timedelta64"]),
    (Column({"a": np.timedelta64(1, "D")}), "bad_operand", ["'a'", "timedelta64"]),
    (Column({"a": np.datetime64("12000-01-01")}), "bad_date", ["'a'", "12000"]),
    (Column({"a": np.datetime64(2**40, "D")}), "bad_date", ["'a'"]),
    (Column({"a": np.datetime64(-(2**60), "Y")}), "bad_date", ["'a'"]),
    ({"a": 1, "zz": 2}, "unknown_docno", ["x", "'zz'", "row 1"]),
    ({"zz"}, "unknown_docno", ["x", "'zz'"]),
    (Mask(["a", "c", "a"]), "duplicate_docno", ["x", "'a'", "rows 0, 2"]),
    (pd.DataFrame({"docno": ["a", "b", "a"], "score": [1, 2, 3]}), "duplicate_docno", ["'a'", "rows 0, 2"]),
    (pd.concat([RUN, RUN[:1]]), "duplicate_docno", ["x", "qid 1", "'c'"]),
    (Matrix(ROWS, COSINE, docnos=["a", "b", "a"]), "duplicate_docno", ["x", "'a'", "rows 0, 2"]),
    (Matrix(ROWS, COSINE, docnos=["a", "b", "zz"]), "unknown_docno", ["x", "'zz'", "row 2"]),
    ({1: 0.5}, "bad_docno", ["1", "int", "str(docno)"]),
    (Mask([1]), "bad_docno", ["1", "int", "astype(str)"]),
    (Mask("abc"), "bad_docno", ["'abc'", "list"]),
    (Matrix(ROWS, COSINE, docnos=[1, 2, 3]), "bad_docno", ["x", "row 0", "int"]),
    ({"a": NAN}, "non_finite", ["x", "'a'"]),
    ({"a": 1.0, "b": -INF}, "non_finite", ["x", "'b'"]),
    ({"a": 10**400}, "non_finite", ["x", "'a'"]),
    (Column({"a": 1.0, "b": INF}), "non_finite", ["x", "'b'"]),
    (pd.DataFrame({"docno": ["a"], "score": [None]}), "bad_operand", ["x", "'a'", "missing"]),
    (pd.DataFrame({"docno": ["a", "b"], "score": [1.0, NAN]}), "non_finite", ["x", "'b'"]),
    (RUN.assign(score=[1.0, NAN, 2.0]), "non_finite", ["x", "qid 1", "'a'"]),
    (Matrix([[1, 0], [0, NAN], [0, 1]], COSINE), "non_finite", ["x", "'a'", "row 1", "element 1"]),
    (Matrix([[1, 0], [0, 1], [INF, 1]], FLAT), "non_finite", ["x", "'c'", "row 2", "element 0"]),
    (Matrix([[1, 0], [0, 1], [0, 1e39]], FLAT), "non_finite", ["x", "'c'", "1e+39", "float32"]),
    (Matrix([[1, 0], [0, 0], [0, 1]], COSINE), "zero_row", ["x", "'a'", "drop_zero_rows=True"]),
    (Matrix([[1, 0], [0, 0], [0, 1]], COSINE, normalise=True), "zero_row", ["x", "'a'"]),
    (Matrix([[1, 0], [0, 1e-50], [0, 1]], COSINE), "zero_row", ["x", "'a'"]),
    (Matrix([[1, 0], [3, 4], [0, 1]], COSINE), "not_unit", ["x", "'a'", "length 5", "normalise=True"]),
    (Matrix([[1, 0], [0, 1.0001], [0, 1]], COSINE), "not_unit", ["x", "'a'"]),
    (Matrix(ROWS[:2], COSINE), "dimensions", ["x", "(2, 2)", "(3, 2)", "docnos="]),
    (Matrix([[1.0], [1.0], [1.0]], COSINE), "dimensions", ["x", "(3, 1)", "(3, 2)"]),
    (Matrix([[1, 0], [0, 1], [1]], COSINE), "ragged_rows", ["x", "row 2", "'c'"]),
    (Matrix([["a", "b"]] * 3, COSINE), "bad_operand", ["x"]),
    (Matrix(np.ones((3, 2), dtype=bool), COSINE), "bad_operand", ["x", "bool"]),
    (Matrix([[True, False]] * 3, COSINE), "bad_operand", ["x", "bool"]),
    (Matrix(None, COSINE), "bad_operand", ["x", "NoneType", "doc_vec"]),
    (Matrix(np.ma.masked_array(ROWS, mask=[[0, 1]] * 3), COSINE), "bad_operand", ["x", "masked"]),
    (Matrix([np.ma.masked_array([1, 0], mask=[0, 1])] * 3, COSINE), "bad_operand", ["x", "masked"]),
    (Matrix(pd.Series(ROWS), COSINE), "bad_docno", ["x", "row 0", "int"]),
    (Matrix(ROWS, COSINE, docnos=3), "bad_docno", ["x", "int"]),
    (Matrix(ROWS, "text"), "bad_operand", ["x", "Space"]),
    (Matrix(ROWS, COSINE, encoder=object()), "bad_operand", ["x", "encode"]),
    (Vector([1, 0, 0], COSINE), "dimensions", ["x", "(3,)", "(2,)"]),
    (Vector([[1, 0]], COSINE), "dimensions", ["x", "(1, 2)"]),
    (Vector([1, NAN], COSINE), "non_finite", ["x", "element 1"]),
    (Vector([1e39, 0], COSINE), "non_finite", ["x", "element 0"]),
    (Vector([1, True], COSINE), "bad_operand", ["x", "bool"]),
    (True, "bad_operand", ["x", "bool"]),
    (np.True_, "bad_operand", ["x", "bool"]),
    (NAN, "non_finite", ["x", "nan"]),
    (-INF, "non_finite", ["x"]),
    (Relation({"a": True}), "bad_operand", ["x", "'a'", "bool"]),
    (Relation({"a": "1"}), "bad_operand", ["x", "'a'", "str"]),
    (Relation([1, 2]), "bad_operand", ["x", "list"]),
    (Mask(3), "bad_operand", ["x", "int"]),
    (Mask({"a": 1}), "bad_operand", ["x"]),
    (Run({"a": 1}), "bad_operand", ["x", "dict"]),
    (Run(RUN[["qid", "docno"]]), "bad_operand", ["x", "score"]),
    (RUN.assign(qid=[1, 1, 2]), "bad_qid", ["x", "1", "astype(str)"]),
    (pd.DataFrame({"docno": ["a"]}), "bad_operand", ["x", "score"]),
    (pd.DataFrame([["a", 1, 2]], columns=["docno", "score", "score"]), "bad_operand", ["x", "more than one", "score"]),
    ({"a": "en", "b": 1}, "bad_operand", ["x", "'en'", "'b'"]),
    ({"a": "en", "b": date(2024, 1, 1)}, "bad_operand", ["x", "'a'", "'b'"]),
    (Column({"a": ["en"]}), "bad_operand", ["x", "'a'", "list"]),
    (Column({"a": "next week"}, dates=True), "bad_date", ["x", "'a'", "'next week'"]),
    (Column(["en"]), "bad_operand", ["x", "list"]),
    (QueryVectors({"1": [1, 0, 0]}, COSINE), "dimensions", ["x", "qid 1"]),
    (QueryVectors({"1": [1, NAN]}, COSINE), "non_finite", ["x", "qid 1"]),
    (QueryVectors([1], COSINE), "bad_operand", ["x", "list"]),
    (QueryVectors(pd.DataFrame({"qid": ["1", "1"], "query_vec": [[1, 0], [0, 1]]}), COSINE), "duplicate_qid",
     ["x", "'1'"]),
    (Retriever(object()), "bad_operand", ["x", "search"]),
    (np.ones(3), "bad_operand", ["x", "(3,)", "Vector("]),
    (None, "bad_operand", ["x", "NoneType"]),
    (object(), "bad_operand", ["x"]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "code", "told"), REFUSED, ids=range(len(REFUSED)))
def test_refused_by_name(records, value, code, told):
    with pytest.raises(BindingError) as caught:
        records.bind(good={"a": 1.0}, x=value)
    assert caught.value.code == code
    assert [word for word in told if word not in str(caught.value)] == []
    assert list(records.operands) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [(name, "reserved_name") for name in sorted(RESERVED - {"now"})]
    + [(name, "bad_name") for name in ("", "a`b", "a\nb", "a\rb", "\ud800")],
)
def test_names_that_no_operand_may_have(records, name, code):
    with pytest.raises(BindingError) as caught:
        records.bind(**{name: 0.5})
    assert caught.value.code == code
    if code == "reserved_name":
        assert repr(name) in caught.value.message and "query_vec" in caught.value.hint and "top" in caught.value.hint


def test_a_name_that_python_uses_itself(records):
    c = records.bind(**{"self": 0.5})
    assert c.operands["self"].value == 0.5 and c.with_numbers(**{"self": 0.7}).operands["self"].value == 0.7


@pytest.mark.parametrize("value", [0.5, "", "tomorrow", "2026-13-01", {"a": 1.0}, None])
def test_now_is_nothing_but_a_day(records, value):
    with pytest.raises(BindingError, match="now"):
        records.bind(now=value)


def test_a_name_is_bound_once(records):
    with pytest.raises(BindingError, match="'w'") as caught:
        records.bind(w=0.5).bind(w=0.7)
    assert caught.value.code == "duplicate_name"


@pytest.mark.parametrize(
    ("docnos", "code", "told"),
    [
        (["a", "b", "a", "a"], "duplicate_docno", ["'a'", "rows 0, 2, 3"]),
        ([1, 2], "bad_docno", ["1", "int", "str(docno)"]),
        (pd.Series([1, 2]), "bad_docno", ["int", "astype(str)"]),
        (["a", None], "bad_docno", ["None", "row 1"]),
        (["a", ""], "bad_docno", ["''", "row 1"]),
        (["a", "\udc00"], "bad_docno", ["row 1"]),
        (None, "bad_docno", ["NoneType"]),
        (pd.DataFrame({"docno": ["a"]}), "bad_docno", ["DataFrame", "frame['docno']"]),
    ],
)
def test_docnos_that_make_no_collection(docnos, code, told):
    with pytest.raises(BindingError) as caught:
        Collection(docnos)
    assert caught.value.code == code and [word for word in told if word not in str(caught.value)] == []


def test_an_encoder_must_be_that_of_the_space():
    class Encoder:
        identity = "one"

        def encode(self, text):
            return np.array([1, 0], dtype=np.float32)

    stated = Space("text", 2, query_encoder="two")
    with pytest.raises(BindingError, match="'two'.*'one'"):
        bound(Matrix(ROWS, stated, Encoder()))
    assert bound(Matrix(ROWS, COSINE, Encoder()))[1].encoder.identity == "one"


def test_long_lists_of_offenders_are_cut():
    with pytest.raises(BindingError) as caught:
        Collection(DOCNOS).bind(x={f"z{place}": 1.0 for place in range(1000)})
    assert "1,000 in all" in str(caught.value) and len(str(caught.value)) < 400


@given(st.lists(st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=2), min_size=3, max_size=3))
def test_normalised_rows_are_accepted_as_they_are(rows):
    first = bound(Matrix(rows, COSINE, normalise=True, drop_zero_rows=True))[1]
    docnos = [["a", "b", "c"][place] for place in first.positions]
    again = bound(Matrix(first.rows, COSINE, docnos=docnos))[1]
    assert again.rows.tobytes() == first.rows.tobytes()


def test_rows_that_float32_normalised_are_unit_and_half_precision_is_not():
    rows = np.random.default_rng(0).normal(size=(100, 768)).astype(np.float32)
    rows /= np.sqrt(np.square(rows).sum(axis=1, dtype=np.float32))[:, None]
    wide, docnos = Space("wide", 768), [f"{place:03}" for place in range(100)]
    assert Collection(docnos).bind(E=Matrix(rows, wide)).operands["E"].rows.tobytes() == rows.tobytes()
    with pytest.raises(BindingError, match="not_unit"):
        Collection(docnos).bind(E=Matrix(rows.astype(np.float16), wide))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("", 2), "name"),
        ((None, 2), "name"),
        (("text", 0), "0 dimensions"),
        (("text", -1), "-1 dimensions"),
        (("text", 2.0), "2.0 dimensions"),
        (("text", True), "True dimensions"),
        (("text", "2"), "'2' dimensions"),
        (("text", 2, "inner_product"), "inner product"),
        (("text", 2, None), "None"),
        (("text", 2, Distance.L2, None), "scalar"),
    ],
)
def test_what_is_no_space(arguments, told):
    with pytest.raises(BindingError) as caught:
        Space(*arguments)
    assert caught.value.code == "space" and told in str(caught.value)


def test_a_space_takes_the_name_of_its_distance():
    assert Space("flat", np.int64(2), "l2") == FLAT and Space("flat", 2, "l2").distance is Distance.L2


def test_spaces_of_one_name_are_one_space():
    c = Collection(DOCNOS).bind(E=Matrix(ROWS, Space("text", 2, query_encoder="one")))
    with pytest.raises(BindingError, match=r"q is .*'text'.* E: query_encoder 'two', not 'one'") as caught:
        c.bind(q=Vector([1, 0], Space("text", 2, query_encoder="two")))
    assert caught.value.code == "space"
    with pytest.raises(BindingError, match="the query space"):
        Collection(DOCNOS, query_space=COSINE).bind(q=Vector([1, 0, 0], Space("text", 3)))
