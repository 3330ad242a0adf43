"""`.flex` artifacts: mapped where they can be, copied in docno order where not, and readable to pyterrier_dr."""

import json
import os
import sys
import tempfile
from pathlib import Path

import npids
import numpy as np
import pytest
from every_engine import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError, MissingExtraError, parse
from pyterrier_alg.collection import Collection, Matrix, Space
from pyterrier_alg.collection.encoders import SignedHashEncoder
from pyterrier_alg.collection.formats import from_flex, to_flex

SORTED = [f"d{number:05}" for number in range(300)]
UNSORTED = [str(number) for number in range(300)]


def unit_rows(records, dimensions=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(records, dimensions))
    return (rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float32)


def flex(path, docnos, rows):
    """An artifact as FlexIndex writes it: vector by vector, docno by docno."""
    path.mkdir()
    with (path / "vecs.f4").open("wb") as out, npids.Lookup.builder(path / "docnos.npids") as lookup:
        for docno, row in zip(docnos, rows, strict=True):
            out.write(row.tobytes())
            lookup.add(docno)
    meta = {"type": "dense_index", "format": "flex", "vec_size": rows.shape[1], "doc_count": len(docnos)}
    (path / "pt_meta.json").write_text(json.dumps(meta))
    return path


def bound(docnos, rows, **options):
    space = options.pop("space", Space("text", rows.shape[1]))
    return Collection(docnos).bind(E=Matrix(rows, space=space, **options))


def mapped_file(collection):
    """The file that a matrix is mapped from, None where it is in memory."""
    base = collection.operands["E"].rows
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    return None if base is None else Path(base.filename)


def test_docnos_in_order_are_mapped_from_the_artifact_itself(tmp_path):
    rows = unit_rows(300)
    path = flex(tmp_path / "x.flex", SORTED, rows)
    found = from_flex(path)
    assert found == bound(SORTED, rows)
    assert mapped_file(found) == path / "vecs.f4"
    assert not found.operands["E"].rows.flags.writeable


@pytest.mark.parametrize("file", [None, "rows"])
def test_docnos_out_of_order_are_copied_in_order(tmp_path, file):
    rows = unit_rows(300)
    path = flex(tmp_path / "x.flex", UNSORTED, rows)
    found = from_flex(path, rows_file=None if file is None else tmp_path / file)
    assert found == bound(UNSORTED, rows)
    assert found.docnos.tolist() == UNSORTED
    assert mapped_file(found) == (None if file is None else tmp_path / file)
    assert not found.operands["E"].rows.flags.writeable


@pytest.mark.parametrize("name", ENGINES)
def test_engines_score_mapped_rows_as_they_score_rows_in_memory(tmp_path, name):
    rows = unit_rows(300, 16)
    encoder = SignedHashEncoder(16)
    found = from_flex(flex(tmp_path / "x.flex", SORTED, rows), encoder=encoder)
    space = Space("text", 16, query_encoder=encoder.identity)
    program = parse('top(10, (E @ "wave guide") - 0.5 (E @ "valve"))')
    in_memory = bound(SORTED, rows, space=space, encoder=encoder)
    assert ENGINES[name].run(program, found.at()).to_dict() == ENGINES[name].run(program, in_memory.at()).to_dict()


def some_zero(rows):
    rows = rows.copy()
    rows[::7] = 0
    return rows


def some_minus_zero(rows):
    rows = np.zeros_like(rows)
    rows[:, 2] = 1
    rows[250, 5] = -0.0
    return rows


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda rows: rows * np.float32(3), {"normalise": True}),
        (some_zero, {"drop_zero_rows": True}),
        (some_minus_zero, {}),
    ],
    ids=["normalised", "zero rows", "minus zeros"],
)
@pytest.mark.parametrize("docnos", [SORTED, UNSORTED], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("file", [None, "rows"])
def test_rows_that_may_not_stay_as_they_are(tmp_path, change, options, docnos, file):
    rows = change(unit_rows(300))
    path = flex(tmp_path / "x.flex", docnos, rows)
    found = from_flex(path, rows_file=None if file is None else tmp_path / file, **options)
    assert found == bound(docnos, rows, **options)
    stored = found.operands["E"].rows
    assert not np.signbit(stored[stored == 0]).any()
    assert mapped_file(found) == (None if file is None else tmp_path / file)


def test_other_distances_take_rows_as_they_are(tmp_path):
    rows = unit_rows(300) * np.float32(2)
    path = flex(tmp_path / "x.flex", SORTED, rows)
    with pytest.raises(AlgebraError) as raised:
        from_flex(path)
    assert raised.value.code == "not_unit" and "normalise=True" in raised.value.hint
    for distance in ("inner product", "l2"):
        assert from_flex(path, distance=distance).operands["E"].space == Space("text", 8, distance)


@pytest.mark.parametrize("docnos", [SORTED, UNSORTED], ids=["sorted", "unsorted"])
def test_writing_gives_what_pyterrier_dr_reads(tmp_path, docnos):
    rows = unit_rows(300)
    to_flex(bound(docnos, rows), tmp_path / "x.flex")
    meta = json.loads((tmp_path / "x.flex" / "pt_meta.json").read_text())
    assert meta == {
        "type": "dense_index",
        "format": "flex",
        "package_hint": "pyterrier-dr",
        "vec_size": 8,
        "doc_count": 300,
    }
    vectors = np.memmap(tmp_path / "x.flex" / "vecs.f4", mode="r", dtype=np.float32, shape=(300, 8))
    lookup = npids.Lookup(tmp_path / "x.flex" / "docnos.npids")
    for docno, row in zip(docnos, rows, strict=True):
        place = lookup.inv[docno]
        assert lookup.fwd[place] == docno
        assert np.array_equal(vectors[place], row)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.flex"]


def test_records_without_a_row_are_left_out_and_what_is_read_back_is_mapped(tmp_path):
    rows = unit_rows(200)
    c = Collection(UNSORTED).bind(E=Matrix(rows, space=Space("text", 8), docnos=UNSORTED[100:]), w={"7": 1.0})
    to_flex(c, tmp_path / "x.flex")
    found = from_flex(tmp_path / "x.flex")
    assert mapped_file(found) == tmp_path / "x.flex" / "vecs.f4"
    assert dict(zip(found.docnos.tolist(), found.operands["E"].rows.tolist(), strict=True)) == dict(
        zip(UNSORTED[100:], rows.tolist(), strict=True)
    )


docno_texts = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    st.from_regex(r"\A[aD0]?[0-9]{1,9}\Z"),
    st.uuids().map(str),
)


@settings(max_examples=60, deadline=None)
@given(docnos=st.lists(docno_texts, min_size=1, max_size=9, unique=True))
def test_docnos_are_kept_or_refused(docnos):
    c = bound(docnos, np.ones((len(docnos), 1), np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.flex"
        try:
            to_flex(c, path)
        except AlgebraError as error:
            assert error.code == "bad_docno"
            assert os.listdir(folder) == []
            return
        assert from_flex(path) == Collection(sorted(docnos)).bind(
            E=Matrix(np.ones((len(docnos), 1)), space=Space("text", 1))
        )


def test_many_docnos_in_several_forms(tmp_path):
    docnos = [*(f"D{n:04}" for n in range(700)), *map(str, range(0, 3000, 7)), *(f"msmarco_{n}" for n in range(400))]
    rows = unit_rows(len(docnos), 2)
    to_flex(bound(docnos, rows), tmp_path / "x.flex")
    assert from_flex(tmp_path / "x.flex") == bound(docnos, rows)


def meta_with(**changes):
    def damage(path):
        meta = json.loads((path / "pt_meta.json").read_text())
        (path / "pt_meta.json").write_text(json.dumps({**meta, **changes}))

    return damage


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda path: (path / "pt_meta.json").unlink(), "missing_data"),
        (lambda path: (path / "vecs.f4").unlink(), "missing_data"),
        (lambda path: (path / "docnos.npids").unlink(), "missing_data"),
        (lambda path: (path / "pt_meta.json").write_text("{"), "corrupted_data"),
        (lambda path: (path / "pt_meta.json").write_text("[" * 100_000), "corrupted_data"),
        (lambda path: (path / "pt_meta.json").write_text("[]"), "not_a_collection"),
        (meta_with(format="seq"), "not_a_collection"),
        (meta_with(doc_count=299), "corrupted_data"),
        (meta_with(vec_size=None), "corrupted_data"),
        (meta_with(doc_count=600, vec_size=4), "corrupted_data"),
        (lambda path: (path / "docnos.npids").write_bytes(b"NPID"), "corrupted_data"),
        (lambda path: os.truncate(path / "vecs.f4", 100), "corrupted_data"),
    ],
)
def test_damaged_artifacts_are_refused(tmp_path, damage, code):
    path = flex(tmp_path / "x.flex", SORTED, unit_rows(300))
    damage(path)
    with pytest.raises(AlgebraError) as raised:
        from_flex(path)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("docnos", "rows", "code", "named"),
    [
        (["a", "b", "a"], unit_rows(3), "duplicate_docno", "'a' in rows 0, 2"),
        (["a", "b", "c"], np.float32([[1, 0], [0, np.nan], [0, 1]]), "non_finite", "'b'"),
        (["c", "b", "a"], np.float32([[1, 0], [0, np.inf], [0, 1]]), "non_finite", "'b'"),
        (["a", "b", "c"], np.float32([[1, 0], [0, 0], [0, 1]]), "zero_row", "'b'"),
        (["c", "b", "a"], np.float32([[1, 0], [0, 2], [0, 1]]), "not_unit", "'b'"),
    ],
)
def test_contents_that_no_collection_holds(tmp_path, docnos, rows, code, named):
    path = flex(tmp_path / "x.flex", docnos, rows)
    with pytest.raises(AlgebraError) as raised:
        from_flex(path, rows_file=tmp_path / "rows")
    assert raised.value.code == code and named in raised.value.message
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"space": Space("s", 9)}, "dimensions"),
        ({"space": Space("s", 8), "distance": "l2"}, "space"),
        ({"distance": "manhattan"}, "space"),
        ({"matrix": "query"}, "reserved_name"),
        ({"encoder": SignedHashEncoder(8), "space": Space("s", 8, query_encoder="another")}, "encoder"),
        ({"rows_file": "taken"}, "path_exists"),
    ],
)
def test_wishes_that_cannot_be_met(tmp_path, options, code, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("mine")
    path = flex(tmp_path / "x.flex", UNSORTED, unit_rows(300))
    with pytest.raises(AlgebraError) as raised:
        from_flex(path, **options)
    assert raised.value.code == code
    assert Path("taken").read_text() == "mine"


@pytest.mark.parametrize(
    ("collection", "matrix", "code"),
    [
        (Collection(["a"]), None, "bad_operand"),
        (Collection(["a"]).bind(w={"a": 1.0}), "w", "bad_operand"),
        (Collection(["a"]), "F", "unknown_name"),
        (Collection(["a"]).bind(E=Matrix(np.empty((0, 2)), space=Space("s", 2), docnos=[])), None, "bad_operand"),
        (bound(["a\0", "b"], unit_rows(2)), None, "bad_docno"),
    ],
)
def test_what_cannot_be_written(tmp_path, collection, matrix, code):
    with pytest.raises(AlgebraError) as raised:
        to_flex(collection, tmp_path / "x.flex", matrix=matrix)
    assert raised.value.code == code
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_there_is_not_written_to(tmp_path):
    (tmp_path / "x.flex").mkdir()
    with pytest.raises(AlgebraError) as raised:
        to_flex(bound(["a", "b"], unit_rows(2)), tmp_path / "x.flex")
    assert raised.value.code == "path_exists"


def test_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "npids", None)
    for call in (lambda: from_flex(tmp_path), lambda: to_flex(bound(["a", "b"], unit_rows(2)), tmp_path / "x")):
        with pytest.raises(MissingExtraError) as raised:
            call()
        assert "pyterrier-alg[flex]" in raised.value.hint
