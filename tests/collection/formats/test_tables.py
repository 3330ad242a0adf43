"""Frames, Arrow tables, Parquet files and Lance datasets: the same collection from each, and the same refusals."""

import datetime
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal

import lance
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyterrier_alg.algebra import AlgebraError, BindingError, DataError, MissingExtraError
from pyterrier_alg.collection import Collection, Column, Matrix, Run, Space, Vector
from pyterrier_alg.collection.encoders import SignedHashEncoder
from pyterrier_alg.collection.files import allocate
from pyterrier_alg.collection.formats import (
    from_arrow,
    from_corpus,
    from_frame,
    from_lance,
    from_parquet,
    to_arrow,
    to_frame,
    to_lance,
    to_parquet,
)
from pyterrier_alg.collection.formats._rows import MatrixRows

RECORDS = 9_001  # more than two batches


def through_arrow(table, folder, **options):
    return from_arrow(table, **options)


def through_parquet(table, folder, **options):
    pq.write_table(table, folder / "x.parquet", row_group_size=3_000)
    return from_parquet(folder / "x.parquet", **options)


def through_lance(table, folder, **options):
    lance.write_dataset(table, os.fspath(folder / "x.lance"), max_rows_per_file=5_000)
    return from_lance(folder / "x.lance", **options)


def through_frame(table, folder, **options):
    return from_frame(table.to_pandas(), **options)


ARROW_WAYS = [through_arrow, through_parquet, through_lance]
WAYS = [*ARROW_WAYS, through_frame]


def written_as_arrow(c, folder, **options):
    return from_arrow(to_arrow(c, **options))


def written_as_parquet(c, folder, **options):
    to_parquet(c, folder / "y.parquet", **options)
    return from_parquet(folder / "y.parquet")


def written_as_lance(c, folder, **options):
    to_lance(c, folder / "y.lance", **options)
    return from_lance(folder / "y.lance")


def written_as_frame(c, folder, **options):
    return from_frame(to_frame(c, **options), space=next(iter(c.operands.values())).space)


ROUND_TRIPS = [written_as_arrow, written_as_parquet, written_as_lance, written_as_frame]


def rich(scalar="float32", distance="cosine"):
    """A collection with every kind of operand that a table can hold, each without a value for some records."""
    docnos = [str(number) for number in range(RECORDS)]
    rows = np.random.default_rng(1).normal(size=(RECORDS, 4))
    table = pd.DataFrame({"docno": docnos, "doc_vec": list(rows)})
    c = from_frame(table, space=Space("things", 4, distance, scalar), normalise=True)
    # A record in three has no row.
    kept = [place for place in range(RECORDS) if place % 3]
    given = to_frame(c)
    given.loc[[place for place in range(RECORDS) if not place % 3], "doc_vec"] = None
    c = from_frame(given, space=Space("things", 4, distance, scalar))
    assert len(c.operands["E"].positions) == len(kept)
    return c.bind(
        weight={docno: float(docno) / 7 for docno in docnos[::2]},
        chosen=set(docnos[5:50]),
        lang=Column({docno: f"l{int(docno) % 5}é" for docno in docnos[1::2]}),
        published=Column({docno: datetime.date(1900 + int(docno) % 200, 2, 3) for docno in docnos[::5]}),
    )


@pytest.mark.parametrize("way", ROUND_TRIPS)
@pytest.mark.parametrize("scalar", ["float32", "float16"])
def test_what_is_written_is_read_back_as_it_was(tmp_path, way, scalar):
    c = rich(scalar)
    found = way(c, tmp_path)
    assert found == c
    assert found.docnos.tolist() == c.docnos.tolist()
    assert found.operands["E"].rows.dtype == np.dtype(scalar)


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_other_operands_are_left_out_unless_named(tmp_path, way):
    c = rich(distance="l2")
    frame = pd.DataFrame({"qid": ["1"], "docno": ["1"], "score": [1.0]})
    more = c.bind(alpha=0.5, v=Vector([1, 0, 0, 0], space=c.operands["E"].space), run=Run(frame))
    assert way(more, tmp_path) == c
    for name, code in (("alpha", "bad_operand"), ("run", "bad_operand"), ("other", "unknown_name")):
        with pytest.raises(AlgebraError) as raised:
            way(more, tmp_path, columns=[name])
        assert raised.value.code == code


@pytest.mark.parametrize("way", [written_as_arrow, written_as_parquet, written_as_lance])
def test_one_of_several_matrices_is_named(tmp_path, way):
    space = Space("a", 2)
    c = Collection(["b", "a"]).bind(
        E=Matrix([[1, 0], [0, 1]], space=space), F=Matrix([[3, 4], [1, 0]], space=Space("b", 2, "l2"))
    )
    with pytest.raises(AlgebraError) as raised:
        way(c, tmp_path)
    assert raised.value.code == "bad_operand" and "E, F" in raised.value.message
    assert way(c, tmp_path, matrix="F", columns=[]) == Collection(["b", "a"]).bind(
        E=Matrix([[3, 4], [1, 0]], space=Space("b", 2, "l2"))
    )


def test_the_frame_that_is_written():
    c = Collection(["b", "a", "c"]).bind(
        E=Matrix([[0.6, 0.8], [1, 0]], space=Space("s", 2), docnos=["b", "c"]),
        year={"a": 1961.0},
        chosen={"b"},
        lang=Column({"b": "en", "a": "de", "c": "fr"}),
        published=Column({"c": datetime.date(1961, 2, 3)}),
    )
    found = to_frame(c)
    vectors = found.pop("doc_vec").tolist()
    assert [None if v is None else v.tolist() for v in vectors] == [np.float32([0.6, 0.8]).tolist(), None, [1, 0]]
    assert all(v is None or v.flags.writeable for v in vectors)
    expected = pd.DataFrame(
        {
            "docno": pd.Series(["b", "a", "c"], dtype="str"),
            "year": [np.nan, 1961.0, np.nan],
            "chosen": [True, False, False],
            "lang": pd.Series(["en", "de", "fr"], dtype="str"),
            "published": np.array(["NaT", "NaT", "1961-02-03"], dtype="datetime64[s]"),
        }
    )
    pd.testing.assert_frame_equal(found, expected)


def test_a_collection_without_records():
    c = Collection([]).bind(E=Matrix(np.empty((0, 3)), space=Space("s", 3)), w={})
    assert to_frame(c).columns.tolist() == ["docno", "doc_vec", "w"]
    assert from_arrow(to_arrow(c)) == c
    assert from_frame(to_frame(c), space=Space("s", 3)) == c


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", [None, "rows"])
def test_tables_of_others(tmp_path, way, file):
    rows = np.random.default_rng(2).normal(size=(RECORDS, 3))
    docnos = [f"d{number}" for number in range(RECORDS)]
    vectors = [None if place % 4 == 1 else row.tolist() for place, row in enumerate(rows)]
    day = datetime.datetime(2024, 1, 1, 0, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    table = pa.table(
        {
            "year": pa.array([None if place % 2 else place for place in range(RECORDS)], pa.int32()),
            "doc_vec": pa.array(vectors, pa.list_(pa.float64())),
            "docno": docnos,
            "good": [place % 3 == 0 for place in range(RECORDS)],
            "when": pa.array([day] * RECORDS, pa.timestamp("ms", tz="UTC")),
            "said": [f"19{place % 90 + 10}-01-01" for place in range(RECORDS)],
            "lang": pa.array([None if place % 5 else f"l{place % 7}" for place in range(RECORDS)]),
        }
    )
    options = {"normalise": True, "matrix": "M", "space": "theirs", "dates": ["said"], "name": "theirs"}
    found = way(table, tmp_path, rows_file=None if file is None else tmp_path / file, **options)
    kept = [place for place in range(RECORDS) if place % 4 != 1]
    expected = Collection(docnos).bind(
        M=Matrix(rows[kept], space=Space("theirs", 3), docnos=[docnos[place] for place in kept], normalise=True),
        year={docno: float(place) for place, docno in enumerate(docnos) if place % 2 == 0},
        good=set(docnos[::3]),
        when=Column(dict.fromkeys(docnos, datetime.date(2023, 12, 31))),
        said=Column({docno: f"19{place % 90 + 10}-01-01" for place, docno in enumerate(docnos)}, dates=True),
        lang=Column({docno: f"l{place % 7}" for place, docno in enumerate(docnos) if not place % 5}),
    )
    assert found == expected
    assert found.name == "theirs"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.list_(pa.float32(), 2), [[0.6, 0.8], None, [1, 0]]),
        (pa.list_(pa.float32()), [[0.6, 0.8], None, [1, 0]]),
        (pa.large_list(pa.float64()), [[0.6, 0.8], None, [1, 0]]),
        (pa.list_(pa.float16()), [[0, 1], None, [1, 0]]),
        (pa.list_(pa.int8()), [[0, 1], None, [1, 0]]),
    ],
    ids=str,
)
def test_vectors_of_every_type(kind, values):
    table = pa.table({"docno": ["b", "a", "c"], "doc_vec": pa.array(values, kind)})
    # A slice's buffers begin before its values.
    for part in (table, table.slice(1), table.slice(2)):
        docnos, vectors = part["docno"].to_pylist(), part["doc_vec"].to_pylist()
        there = [docno for docno, vector in zip(docnos, vectors, strict=True) if vector is not None]
        rows = np.array([vector for vector in vectors if vector is not None])
        assert from_arrow(part) == Collection(docnos).bind(E=Matrix(rows, space=Space("text", 2), docnos=there))


def test_tensors_are_vectors():
    storage = pa.array([[0.6, 0.8], [1, 0]], pa.list_(pa.float32(), 2))
    tensors = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [2]), storage)
    table = pa.table({"docno": ["b", "a"], "doc_vec": tensors})
    assert from_arrow(table) == Collection(["b", "a"]).bind(E=Matrix([[0.6, 0.8], [1, 0]], space=Space("text", 2)))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([Decimal("1.5"), None], pa.decimal128(8, 2)), "relation"),
        (pa.array(["x", None]).dictionary_encode(), "text column"),
        (pa.array(["x", None], pa.large_string()), "text column"),
        (pa.array([None, None], pa.float32()), "relation"),
        (pa.array([None, None], pa.bool_()), "mask"),
        (pa.array([None, None], pa.date32()), "date column"),
        (pa.array([None, None], pa.string()), "text column"),
        (pa.array([None, None]), "text column"),
        (pa.array([datetime.date(1999, 1, 2), None]), "date column"),
        (pa.array([1, None], pa.timestamp("ns")), "date column"),
        (pa.array([float("nan"), 1.0]), "relation"),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_columns_are_of_the_kind_that_their_type_says(values, kind):
    c = from_arrow(pa.table({"docno": ["b", "a"], "x": values}), vector=None)
    assert c.operands["x"].binding.type.kind == kind
    assert len(c.operands["x"].positions) == 2 - values.null_count - sum(v != v for v in values.to_pylist())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("columns", "options", "code", "named"),
    [
        ({"doc_vec": [[1.0, 0.0]] * 2}, {}, "bad_operand", "docno"),
        ({"docno": ["a", "b"]}, {}, "bad_operand", "doc_vec"),
        ({"docno": ["a", "b"], "vec": [[1.0]] * 2}, {"vector": "vectors"}, "bad_operand", "vectors"),
        ({"docno": ["a", "b"]}, {"vector": None, "columns": ["year"]}, "bad_operand", "year"),
        ({"docno": ["a", "b"]}, {"vector": None, "dates": ["year"]}, "bad_operand", "year"),
        ({"docno": ["a", "a"]}, {"vector": None}, "duplicate_docno", "'a' in rows 0, 1"),
        ({"docno": [1, 2]}, {"vector": None}, "bad_docno", "1"),
        ({"docno": ["a", None]}, {"vector": None}, "bad_docno", "row 1"),
        ({"docno": ["a", "b"], "query": ["x", "y"]}, {"vector": None}, "reserved_name", "query"),
        ({"docno": ["a", "b"], "doc_vec": [[1.0, 0.0], [1.0]]}, {}, "ragged_rows", "doc_vec|E"),
        ({"docno": ["a", "b"], "doc_vec": [None, [1.0, float("nan")]]}, {}, "non_finite", "'b'"),
        ({"docno": ["a", "b"], "doc_vec": [[0.6, 0.8], [2.0, 0.0]]}, {}, "not_unit", "'b'"),
        ({"docno": ["a", "b"], "doc_vec": [[0.6, 0.8], [0.0, 0.0]]}, {}, "zero_row", "'b'"),
        ({"docno": ["a", "b"], "doc_vec": [[1.0, 0.0]] * 2}, {"space": Space("s", 3)}, "dimensions", "3"),
        ({"docno": ["a", "b"], "doc_vec": [["x"], ["y"]]}, {}, "bad_operand|ragged_rows", "doc_vec|E"),
        ({"docno": ["a", "b"], "x": [1.0, float("inf")]}, {"vector": None}, "non_finite", "'b'"),
        ({"docno": ["a", "b"], "x": ["1961", "May"]}, {"vector": None, "dates": ["x"]}, "bad_date", "x"),
        ({"docno": ["a", "b"], "x": [[1], [2]]}, {"vector": None}, "bad_operand", "x"),
        ({"docno": ["a", "b"], "x": [1, 2]}, {"vector": None, "columns": [3]}, "bad_operand", "3, a int"),
        ({"docno": ["a", "b"], "x": [1, 2]}, {"vector": None, "columns": "x"}, "bad_operand", "'x'"),
        ({"docno": ["a", "b"], "x": [1, 2]}, {"vector": None, "dates": [("x",)]}, "bad_operand", "('x',), a tuple"),
        ({"docno": ["a", "b"], "doc_vec": [[1.0, 0.0]] * 2}, {"matrix": 3}, "bad_name", "3"),
        ({"docno": ["a", "b"], "doc_vec": [[1.0, 0.0]] * 2}, {"vector": 3}, "bad_operand", "no column 3"),
        (
            {"docno": ["a", "b"], "doc_vec": [[[1.0], [1.0, 0.0]]] * 2},
            {},
            "bad_operand|ragged_rows",
            "doc_vec|vector|E",
        ),
    ],
)
def test_tables_that_are_refused(tmp_path, way, columns, options, code, named):
    with pytest.raises(AlgebraError) as raised:
        way(pa.table(columns), tmp_path, rows_file=tmp_path / "rows", **options)
    assert raised.value.code in code.split("|")
    assert any(name in raised.value.message for name in named.split("|"))
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize("way", ARROW_WAYS)
def test_missing_elements_are_refused(tmp_path, way):
    table = pa.table({"docno": ["a"], "doc_vec": pa.array([[1.0, None]])})
    with pytest.raises(AlgebraError) as raised:
        way(table, tmp_path)
    assert raised.value.code == "non_finite"


@pytest.mark.parametrize("way", WAYS)
def test_a_table_whose_vectors_are_all_missing_needs_its_space(tmp_path, way):
    table = pa.table({"docno": ["a", "b"], "doc_vec": pa.array([None, None], pa.list_(pa.float32()))})
    found = way(table, tmp_path, space=Space("s", 3))
    assert found == Collection(["a", "b"]).bind(E=Matrix(np.empty((0, 3)), space=Space("s", 3), docnos=[]))
    with pytest.raises(AlgebraError) as raised:
        from_arrow(table)
    assert raised.value.code == "dimensions"


def test_results_are_no_documents():
    with pytest.raises(AlgebraError) as raised:
        from_frame(pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [1.0]}), vector=None)
    assert "Run(frame)" in raised.value.hint


def test_a_frame_stays_as_it_is():
    frame = pd.DataFrame({"docno": ["b", "a"], "doc_vec": [np.array([3.0, 4.0]), np.array([1.0, 0.0])], "x": [1, 2]})
    before = frame.map(str)
    from_frame(frame, normalise=True)
    pd.testing.assert_frame_equal(frame.map(str), before)


def test_the_space_that_was_written_down_gives_way_to_one_that_is_stated():
    c = rich()
    table = to_arrow(c)
    assert from_arrow(table).operands["E"].space == Space("things", 4)
    assert from_arrow(table, distance="l2").operands["E"].space == Space("text", 4, "l2")
    encoder = SignedHashEncoder(4)
    assert from_arrow(table, encoder=encoder, space="new").operands["E"].space.query_encoder == encoder.identity


def test_a_folder_of_parquet_files_is_read_by_name(tmp_path):
    for number, docnos in (("2", ["a", "b"]), ("1", ["d", "c"])):
        pq.write_table(pa.table({"docno": docnos, "x": [1.0, 2.0]}), tmp_path / f"{number}.parquet")
    assert from_parquet(tmp_path, vector=None).docnos.tolist() == ["d", "c", "a", "b"]
    pq.write_table(pa.table({"docno": ["e"], "y": [1.0]}), tmp_path / "3.parquet")
    with pytest.raises(AlgebraError) as raised:
        from_parquet(tmp_path, vector=None)
    assert raised.value.code == "bad_operand" and "3.parquet" in raised.value.message


def test_an_earlier_version_of_a_dataset(tmp_path):
    path = os.fspath(tmp_path / "x.lance")
    lance.write_dataset(pa.table({"docno": ["a"]}), path)
    lance.write_dataset(pa.table({"docno": ["b"]}), path, mode="append")
    assert from_lance(path, vector=None).docnos.tolist() == ["a", "b"]
    assert from_lance(path, vector=None, version=1).docnos.tolist() == ["a"]


@pytest.mark.parametrize(("write", "read"), [(to_parquet, from_parquet), (to_lance, from_lance)])
def test_files_that_are_not_there_not_readable_or_there_already(tmp_path, write, read):
    for path, code in ((tmp_path / "none", "missing_data"), (tmp_path, "missing_data|corrupted_data")):
        with pytest.raises(AlgebraError) as raised:
            read(path)
        assert raised.value.code in code.split("|")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(AlgebraError) as raised:
        write(Collection(["a"]).bind(w={"a": 1.0}), taken)
    assert raised.value.code == "path_exists" and taken.read_text() == "mine"
    with pytest.raises(AlgebraError) as raised:
        read(taken, vector=None)
    assert raised.value.code in ("missing_data", "corrupted_data")
    assert os.listdir(tmp_path) == ["taken"]


def test_a_column_called_as_the_docnos():
    c = Collection(["a"]).bind(docno={"a": 1.0})
    with pytest.raises(AlgebraError) as raised:
        to_frame(c)
    assert raised.value.code == "duplicate_name"
    assert to_frame(c, columns=[]).columns.tolist() == ["docno"]


def test_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lance", None)
    for call in (lambda: from_lance(tmp_path), lambda: to_lance(Collection(["a"]), tmp_path / "x")):
        with pytest.raises(MissingExtraError) as raised:
            call()
        assert "pyterrier-alg[lance]" in raised.value.hint


@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_python_uses_itself_and_one_that_comes_twice(tmp_path, way):
    table = pa.table({"docno": ["a", "b"], "self": [1.0, 2.0], "doc_vec": [[1.0, 0.0]] * 2})
    found = way(table, tmp_path, matrix="operands", columns=["self", "self"])
    space = Space("text", 2)
    expected = Collection(["a", "b"]).bind(self={"a": 1.0, "b": 2.0}, operands=Matrix([[1, 0]] * 2, space))
    assert found == expected and from_corpus([{"docno": "a", "self": 1}]) == Collection(["a"]).bind(self={"a": 1.0})


@pytest.mark.parametrize("name", [1, ("x", "y"), float("nan"), None])
def test_columns_whose_names_are_no_strings(name):
    frame = pd.DataFrame([["a", 2.0]], columns=pd.Index(["docno", name], dtype="object", tupleize_cols=False))
    c = Collection(["a"])
    for read in (
        lambda: from_frame(frame, vector=None),
        lambda: c.bind_columns(frame),
        lambda: from_corpus([{"docno": "a", name: 2.0}]),
    ):
        with pytest.raises(BindingError) as raised:
            read()
        assert raised.value.code == "bad_name"
    with pytest.raises(BindingError) as raised:
        c.bind_columns(frame[["docno"]], [name])
    assert raised.value.code == "bad_operand"


def test_columns_of_several_levels_are_refused():
    frame = pd.DataFrame([["a", 1]], columns=pd.MultiIndex.from_tuples([("docno", ""), ("x", "y")]))
    for read in (lambda: from_frame(frame, vector=None), lambda: Collection(["a"]).bind_columns(frame)):
        with pytest.raises(BindingError, match="2 levels") as raised:
            read()
        assert raised.value.code == "bad_operand"


@pytest.mark.parametrize("way", [through_frame, through_arrow])
def test_the_time_does_not_grow_with_the_square_of_the_columns(tmp_path, way):
    table = pa.table({"docno": ["a", "b"], **{f"x{n}": [n, n] for n in range(1000)}})
    start = time.process_time()
    assert len(way(table, tmp_path, vector=None).operands) == 1000
    # A look at every column for each of them took 37 seconds.
    assert time.process_time() - start < 8


LAST, DAY = datetime.date(9999, 12, 31), 24 * 60 * 60


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([0, None, 2_932_896, -719_162], pa.date32()), ["1970-01-01", "9999-12-31", "0001-01-01"]),
        (pa.array([-1, None], pa.timestamp("s", "America/New_York")), ["1969-12-31"]),
        # Arrow counts in UTC: no zone need be known.
        (pa.array([DAY - 1, DAY], pa.timestamp("s", "Nowhere/City")), ["1970-01-01", "1970-01-02"]),
        (pa.array([-1, None, 86_400_000_000_001], pa.timestamp("ns")), ["1969-12-31", "1970-01-02"]),
        (pa.array([DAY * 1000], pa.int64()).cast(pa.date64()), ["1970-01-02"]),
        (pa.array([-62_135_596_800, 253_402_300_799], pa.timestamp("s", "UTC")), ["0001-01-01", "9999-12-31"]),
        (pa.array([LAST, None, LAST]).dictionary_encode(), ["9999-12-31"] * 2),
    ],
)
def test_days_of_every_type(values, expected):
    docnos = [str(number) for number in range(len(values))]
    column = from_arrow(pa.table({"docno": docnos, "day": values}), vector=None).operands["day"]
    assert column.values.tolist() == expected
    assert column.positions.tolist() == [n for n, there in enumerate(values.is_valid().to_pylist()) if there]


@pytest.mark.parametrize("way", ARROW_WAYS)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([10_000_000], pa.date32()),
        pa.array([2**31 - 1], pa.date32()),
        pa.array([-719_163], pa.date32()),
        pa.array([10**12], pa.timestamp("s", "UTC")),
        pa.array([2**62], pa.timestamp("s")),
        pa.array([-62_135_596_801], pa.timestamp("s", "America/New_York")),
    ],
)
def test_days_that_no_calendar_has(tmp_path, way, values):
    if way is through_parquet and pa.types.is_timestamp(values.type):
        # Parquet counts no whole seconds.
        way = through_arrow
    with pytest.raises(BindingError, match="the value of 'a' in day") as raised:
        way(pa.table({"docno": ["a"], "day": values}), tmp_path, vector=None)
    assert raised.value.code == "bad_date"


@pytest.mark.parametrize(("column", "code"), [("docno", "bad_docno"), ("x", "bad_operand")])
def test_texts_that_are_no_utf_8(column, code):
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.int32([0, 1]).tobytes()), pa.py_buffer(b"\xff")]
    )
    with pytest.raises(BindingError, match="UTF-8") as raised:
        from_arrow(pa.table({"docno": ["a"], **{column: broken}}), vector=None)
    assert raised.value.code == code


@pytest.mark.parametrize("write", [to_parquet, to_lance])
@pytest.mark.parametrize("path", ["", "a\0b", "file/below"])
def test_places_that_nothing_can_be_written_to(tmp_path, monkeypatch, write, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(AlgebraError) as raised:
        write(Collection(["a"]).bind(w={"a": 1.0}), path)
    assert raised.value.code in ("unwritable", "path_exists") and os.listdir(tmp_path) == ["file"]


def test_a_name_that_lance_would_cut(tmp_path):
    c = Collection(["a"]).bind(**{"x\0y": {"a": 1.0}, "z": {"a": 2.0}})
    with pytest.raises(BindingError) as raised:
        to_lance(c, tmp_path / "x")
    assert raised.value.code == "bad_name" and not (tmp_path / "x").exists()
    to_lance(c, tmp_path / "x", columns=["z"])
    assert from_lance(tmp_path / "x", vector=None) == Collection(["a"]).bind(z={"a": 2.0})


@pytest.mark.filterwarnings("ignore:unfinished")
@pytest.mark.parametrize(("write", "read"), [(to_parquet, from_parquet), (to_lance, from_lance)])
def test_of_several_writers_to_one_place_one_writes_it(tmp_path, write, read):
    docnos = [str(number) for number in range(3_000)]
    collections = [Collection(docnos).bind(w={docno: float(n) for docno in docnos}) for n in range(4)]

    def attempt(c):
        try:
            write(c, tmp_path / "x")
        except AlgebraError as error:
            return error.code
        return ""

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(attempt, collections))
    assert sorted(said) == ["", *["path_exists"] * 3] and os.listdir(tmp_path) == ["x"]
    assert read(tmp_path / "x", vector=None) == collections[said.index("")]


def test_the_room_for_rows_is_taken_before_they_are_written(tmp_path):
    rows = MatrixRows(1_000, Space("s", 256), tmp_path / "rows")
    found = (tmp_path / "rows").stat()
    # Without it the process would be killed where the disk turns out to be full.
    assert found.st_size == 1_000 * 256 * 4 and found.st_blocks * 512 >= found.st_size
    rows.discard()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("reserving", [True, False])
def test_a_file_that_has_no_room_is_not_begun(tmp_path, monkeypatch, reserving):
    if not reserving:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    allocate(tmp_path / "fits", 5_000_000)
    assert (tmp_path / "fits").read_bytes() == bytes(5_000_000)
    with limited(6_000_000), pytest.raises(DataError) as raised:
        allocate(tmp_path / "large", 7_000_000)
    assert raised.value.code == "unwritable"
    with pytest.raises(DataError) as raised:
        allocate(tmp_path / "fits", 10)
    assert raised.value.code == "unwritable" and os.listdir(tmp_path) == ["fits"]
    assert (tmp_path / "fits").stat().st_size == 5_000_000


@contextmanager
def limited(size):
    """No file may become longer than this, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
