"""The indexer: what it builds is what binding builds, whatever the order and the batches; what fails leaves nothing."""

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from every_engine import ENGINES
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError, BindingError, DataError, parse
from pyterrier_alg.collection import Collection, Column, Distance, Matrix, Space, Topic, Vector
from pyterrier_alg.collection.building import Build
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.collection.placing import new_folder
from pyterrier_alg.collection.scalars import plain_products
from pyterrier_alg.collection.signed_hash import SignedHashEncoder

ENCODER = SignedHashEncoder(8, seed=3)
DOCUMENTS = [
    {"docno": "d2", "text": "wave guide", "year": 1961, "lang": "en", "open": True, "day": "2024-02-29"},
    {"docno": "d10", "text": "magnetic core memory", "year": 1962, "lang": None, "open": False, "day": None},
    {"docno": "d1", "text": "valve", "year": 1963.5, "lang": "de", "open": True, "day": "2024-03-01T00:30:00+02:00"},
]


class Table:
    """An encoder of queries alone."""

    identity = "table"

    def encode(self, text):
        return np.array([len(text), 1], dtype=np.float32)


def index(tmp_path, documents, **options):
    return AlgebraIndexer(tmp_path / "c", **options).index(documents)


def test_a_corpus_becomes_a_collection(tmp_path):
    indexer = AlgebraIndexer(
        tmp_path / "c", encoder=ENCODER, columns=["year", "lang", "open", "day"], dates=["day"], name="mine"
    )
    assert not indexer.built()
    c = indexer.index(iter(DOCUMENTS))
    assert indexer.built() and c.path == tmp_path / "c" and c.name == "mine"
    assert c.docnos.tolist() == ["d2", "d10", "d1"]
    space = Space("text", 8, document_encoder=ENCODER.identity, query_encoder=ENCODER.identity)
    rows = {document["docno"]: ENCODER.encode(document["text"]) for document in DOCUMENTS}
    assert c == Collection(["d2", "d10", "d1"]).bind(
        E=Matrix(rows, space, ENCODER),
        year={"d2": 1961.0, "d10": 1962.0, "d1": 1963.5},
        lang={"d2": "en", "d1": "de"},
        open={"d2", "d1"},
        day=Column({"d2": date(2024, 2, 29), "d1": date(2024, 2, 29)}),
    )
    again = Collection.load(tmp_path / "c")
    assert again.digest == c.digest and again.operands["E"].encoder == ENCODER
    found = [ENGINES["vectorised"].run(parse("top(2, E @ query)"), x.at(Topic("1", "wave"))) for x in (c, again)]
    assert found[0] == found[1] and found[0].docnos[0] == "d2"


def test_the_files_are_those_that_saving_writes(tmp_path):
    built = index(tmp_path, DOCUMENTS, encoder=ENCODER, columns=["year", "lang"], texts=[])
    built.save(tmp_path / "saved")
    assert {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "saved").iterdir()
    }


def test_vectors_of_their_own(tmp_path):
    rows = {"b": [3.0, 4.0], "a": [1.0, -0.0], "c": [0.0, 0.0]}
    documents = [{"docno": docno, "doc_vec": np.array(row)} for docno, row in rows.items()]
    flat = Space("flat", 2, Distance.L2)
    c = index(tmp_path, documents, matrix="F", space="flat", distance="l2")
    assert c == Collection(rows).bind(F=Matrix(rows, flat))
    stored = AlgebraIndexer(tmp_path / "n", matrix="F", encoder=Table(), normalise=True)
    with pytest.warns(UserWarning, match="1 of 3 documents have a vector of zeros.*'c'"):
        c = stored.index(documents)
    unit = Space("text", 2, query_encoder="table")
    assert c == Collection(rows).bind(F=Matrix(rows, unit, Table(), normalise=True, drop_zero_rows=True))
    assert isinstance(c.operands["F"].encoder, Table)


def test_a_pyterrier_encoder_stands_before_it(tmp_path):
    class Encode(pt.Transformer):
        def transform(self, inp):
            return inp.assign(doc_vec=list(ENCODER.encode_documents(inp["text"].tolist())))

    pipeline = Encode() >> AlgebraIndexer(tmp_path / "c", columns=["lang"])
    c = pipeline.index(iter(DOCUMENTS), batch_size=2)
    rows = {document["docno"]: ENCODER.encode(document["text"]) for document in DOCUMENTS}
    assert c == Collection(rows).bind(E=Matrix(rows, Space("text", 8)), lang={"d2": "en", "d1": "de"})


words = st.lists(st.sampled_from(["wave", "guide", "core", "?"]), max_size=4).map(" ".join)
meta = st.fixed_dictionaries({
    "text": st.none() | words,
    "title": words,
    "year": st.none() | st.integers(1900, 2000) | st.floats(-1e9, 1e9),
    "lang": st.none() | st.text("äb", max_size=2),
    "open": st.none() | st.booleans(),
    "day": st.none() | st.dates(),
})  # fmt: skip


@given(st.dictionaries(st.text("ab\n'é", min_size=1, max_size=3), meta, max_size=9), st.integers(1, 10))
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:.*documents:UserWarning", "ignore:no document has:UserWarning")
def test_any_corpus_is_what_binding_it_gives(corpus, batch_size):
    columns = {name: {docno: d[name] for docno, d in corpus.items()} for name in ("year", "lang", "open", "day")}
    texts = {docno: " ".join(filter(None, [d["title"], d["text"]])) for docno, d in corpus.items()}
    rows = dict(zip(texts, ENCODER.encode_documents(list(texts.values())), strict=True))
    space = Space("text", 8, document_encoder=ENCODER.identity, query_encoder=ENCODER.identity)
    expected = Collection(corpus).bind(
        E=Matrix(rows, space, ENCODER, drop_zero_rows=True),
        **{name: Column(values, dates=name == "day") for name, values in columns.items()},
    )
    with TemporaryDirectory() as folder:
        indexer = AlgebraIndexer(
            f"{folder}/c",
            encoder=ENCODER,
            text_attr=["title", "text"],
            columns=columns,
            dates=["day"],
            batch_size=batch_size,
        )
        c = indexer.index({"docno": docno, **document} for docno, document in corpus.items())
        assert c.docnos.tolist() == list(corpus) and c == expected
        frame = c.text_loader()(pd.DataFrame({"docno": list(corpus)}, dtype="str"))
        assert frame["title"].tolist() == [d["title"] for d in corpus.values()]
        assert frame["text"].tolist() == [d["text"] or "" for d in corpus.values()]


@pytest.mark.parametrize("order", ["ascending", "descending", "any"])
def test_rows_find_their_records_in_many_blocks(tmp_path, order):
    n, d = 40_000, 40
    rows = np.random.default_rng(5).standard_normal((n, d)).astype(np.float32)
    docnos = sorted(f"d{number}" for number in range(n))
    permutation = {
        "ascending": np.arange(n),
        "descending": np.arange(n)[::-1],
        "any": np.random.default_rng(6).permutation(n),
    }[order]
    documents = ({"docno": docnos[i], "doc_vec": rows[i]} for i in permutation.tolist())
    c = index(tmp_path, documents, distance="inner product", batch_size=1000)
    found = c.operands["E"]
    assert found.rows.nbytes > 1 << 22 and np.array_equal(found.rows, rows)
    assert found.positions.tolist() == list(range(n))
    assert c.docnos.tolist() == [docnos[i] for i in permutation]
    c.verify()


HALF_PROGRAMS = {
    Distance.COSINE: ["E @ v", "top(5, E @ v - 0.5 * (E @ row(E, 'd007')))", "closeness(E, v)", "w >= 3 >> (E @ v)"],
    Distance.INNER_PRODUCT: ["top(7, E @ v)", "top(3, closeness(E, v))", "E @ centroid(E, w >= 3)"],
    Distance.L2: ["closeness(E, v)", "top(5, closeness(E, v - 0.25 * row(E, 'd007')))"],
}
MMR = "mmr(7, w, E)"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("distance", Distance)
def test_half_precision_scores_as_the_same_values_in_single(tmp_path, engine, distance):
    n, d = 200, 24
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((n, d)).astype(np.float32)
    docnos = [f"d{number:03}" for number in range(n)]
    documents = [
        {"docno": docno, "doc_vec": row, "w": i % 7} for i, (docno, row) in enumerate(zip(docnos, rows, strict=True))
    ]
    options = {"distance": distance, "normalise": distance is Distance.COSINE, "columns": ["w"], "space": "s"}
    half = index(tmp_path, documents, scalar="float16", **options)
    stored = half.operands["E"].rows
    assert stored.dtype == np.float16 and half.operands["E"].space.scalar == "float16"
    assert np.load(tmp_path / "c" / "0000.rows.npy").dtype == np.float16
    half = half.bind(v=Vector(rng.standard_normal(d), half.operands["E"].space))
    single = half._with(dict(half.operands) | {"E": replace(half.operands["E"], rows=stored.astype(np.float32))})
    sql = engine.startswith(("sqlite", "duckdb"))
    for program in [*HALF_PROGRAMS[distance], *([] if sql or distance is Distance.L2 else [MMR])]:
        one, other = (ENGINES[engine].run(parse(program), c.at()) for c in (half, single))
        assert len(one) and one == other, program
    again = Collection.load(tmp_path / "c")
    assert again._with({**again.operands, "v": half.operands["v"]}) == half
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "0000.rows.npy").read_bytes() == (tmp_path / "c" / "0000.rows.npy").read_bytes()


def test_plain_products_of_halves_are_those_of_singles():
    rng = np.random.default_rng(8)
    halves, vector = rng.standard_normal((30_000, 70)).astype(np.float16), rng.standard_normal(70).astype(np.float32)
    assert halves.size > 1 << 20
    assert np.array_equal(plain_products(halves, vector), plain_products(halves.astype(np.float32), vector))
    assert plain_products(halves[:0], vector).shape == (0,)


def test_half_precision_is_rounded_to_nearest(tmp_path):
    rows = {"a": [0.1, 2049.0], "b": [-1e-9, 65519.0]}
    documents = [{"docno": docno, "doc_vec": row} for docno, row in rows.items()]
    found = index(tmp_path, documents, scalar="float16", distance="l2").operands["E"].rows
    assert found.tolist() == [[0.0999755859375, 2048.0], [0.0, 65504.0]] and not np.signbit(found).any()
    with pytest.raises(BindingError, match=r"float16.*'c'.*65520") as caught:
        AlgebraIndexer(tmp_path / "d", scalar="float16", distance="l2").index([{"docno": "c", "doc_vec": [65520.0]}])
    assert caught.value.code == "non_finite"


def test_what_has_no_vector_is_counted(tmp_path):
    documents = [
        {"docno": "a", "text": "wave"}, {"docno": "b", "text": None}, {"docno": "c", "text": " "},
        {"docno": "d", "text": "?!"},
    ]  # fmt: skip
    with pytest.warns(UserWarning) as caught:
        c = index(tmp_path, documents, encoder=ENCODER)
    texts = [str(warning.message) for warning in caught]
    assert [text.split(" documents ")[1].split(" and have")[0] for text in texts] == [
        "have no text", "have a vector of zeros"
    ]  # fmt: skip
    assert "2 of 4" in texts[0] and "'b', 'c'" in texts[0] and "'d'" in texts[1]
    assert c.docnos.tolist() == ["a", "b", "c", "d"] and c.operands["E"].positions.tolist() == [0]


def test_vectors_that_some_documents_lack(tmp_path):
    documents = [{"docno": "a", "doc_vec": None}, {"docno": "b"}, {"docno": "c", "doc_vec": [1.0, 2.0]}]
    with pytest.warns(UserWarning, match="2 of 3 documents bring no vector.*'a', 'b'"):
        c = index(tmp_path, documents, distance="l2", batch_size=1)
    assert c.operands["E"].positions.tolist() == [2] and c.operands["E"].rows.tolist() == [[1.0, 2.0]]
    # Nor do they have a text, and no file is made for none.
    assert not (tmp_path / "c" / "texts.arrow").exists()
    with pytest.raises(DataError, match="stores no texts"):
        c.text_loader()


@pytest.mark.parametrize("batch_size", [1, 2])
def test_a_corpus_of_which_nothing_is_left(tmp_path, batch_size):
    with pytest.warns(UserWarning, match="2 of 2 documents have a vector of zeros"):
        c = index(
            tmp_path,
            [{"docno": "a", "text": "?"}, {"docno": "b", "text": "!"}],
            encoder=ENCODER,
            batch_size=batch_size,
        )
    assert c.docnos.tolist() == ["a", "b"] and c.operands["E"].rows.shape == (0, 8)


def test_a_column_that_no_document_has(tmp_path):
    with pytest.warns(UserWarning, match="'langg'"):
        index(tmp_path, DOCUMENTS, encoder=ENCODER, columns=["langg"])


def test_an_empty_corpus(tmp_path):
    c = index(tmp_path, [], encoder=ENCODER, columns=["year"])
    assert len(c) == 0 and c.operands["E"].rows.shape == (0, 8)
    assert c.text_loader()(pd.DataFrame({"docno": []}, dtype="str")).columns.tolist() == ["docno", "text"]
    with pytest.raises(BindingError, match="dimensions") as caught:
        AlgebraIndexer(tmp_path / "d").index([])
    assert caught.value.code == "dimensions" and not (tmp_path / "d").exists()


VEC = {"docno": "v", "doc_vec": [1.0, 0.0]}
REFUSED = {
    "no docno": ([{"text": "x"}], {"encoder": ENCODER}, "bad_docno", "document 0 has no docno"),
    "number": ([VEC, {"docno": 5, "doc_vec": [1, 0]}], {}, "bad_docno", "document 1 has the docno 5"),
    "empty": ([{"docno": "", "text": "x"}], {"encoder": ENCODER}, "bad_docno", "document 0"),
    "twice": ([VEC, VEC], {}, "duplicate_docno", "document 1 has the docno 'v' of document 0"),
    "twice, far apart": (
        [{"docno": str(i % 900), "text": "x"} for i in range(1000)], {"encoder": ENCODER, "batch_size": 7},
        "duplicate_docno", "document 900 has the docno '0' of document 0",
    ),
    "no dict": (["text"], {"encoder": ENCODER}, "bad_operand", "document 0 is a str"),
    "no field": ([{"docno": "a", "body": "x"}], {"encoder": ENCODER}, "bad_operand", "'a'.*'text'.*'body'"),
    "text of numbers": ([{"docno": "a", "text": 5}], {"encoder": ENCODER}, "bad_operand", "'text' of 'a' is a int"),
    "no encoder": ([{"docno": "a", "text": "x"}], {}, "encoder", "'a'.*doc_vec"),
    "queries only": ([{"docno": "a", "text": "x"}], {"encoder": Table()}, "encoder", "'a'.*doc_vec"),
    "mixed": ([{"docno": "a", "text": "x"}, VEC], {"encoder": ENCODER}, "bad_operand", "'v' brings a vector"),
    "ragged": ([VEC, {"docno": "w", "doc_vec": [1.0]}], {}, "ragged_rows", "'w'"),
    "other dimensions": ([VEC, {"docno": "w", "doc_vec": [1.0]}], {"batch_size": 1}, "dimensions", "documents 1"),
    "not those of the encoder": ([VEC], {"encoder": ENCODER}, "dimensions", "'v' has 2 dimensions.*has 8"),
    "jagged vector": ([{"docno": "w", "doc_vec": [[1.0], [0.0, 1.0]]}], {}, "ragged_rows", "'w'"),
    "a duration": ([{**VEC, "x": np.timedelta64(1, "D")}], {"columns": ["x"]}, "bad_operand", "'v'.*timedelta64"),
    "no vector": ([{"docno": "w", "doc_vec": 5.0}], {}, "dimensions", "'w'"),
    "not finite": ([{"docno": "w", "doc_vec": [1.0, np.inf]}], {}, "non_finite", "'w'"),
    "not unit": ([{"docno": "w", "doc_vec": [3.0, 4.0]}], {}, "not_unit", "'w'"),
    "column of two kinds": (
        [{**VEC, "x": "a"}, {"docno": "w", "doc_vec": [0.0, 1.0], "x": 5}], {"columns": ["x"]}, "bad_operand", "'w'",
    ),
    "column of two kinds, far apart": (
        [{**VEC, "x": "a"}, {"docno": "w", "doc_vec": [0.0, 1.0], "x": 5}], {"columns": ["x"], "batch_size": 1},
        "bad_operand", "text column \\('v'\\) and a relation \\('w'\\)",
    ),
    "no date": ([{**VEC, "x": "2024"}], {"columns": ["x"], "dates": ["x"]}, "bad_date", "'v'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_nothing(tmp_path, case):
    documents, options, code, message = REFUSED[case]
    with pytest.raises(BindingError, match=message) as caught:
        index(tmp_path, documents, **options)
    assert caught.value.code == code and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "error", "code"),
    [
        ({"text_attr": []}, AlgebraError, "bad_parameter"),
        ({"texts": ["docno"]}, AlgebraError, "bad_parameter"),
        ({"columns": "lang"}, AlgebraError, "bad_parameter"),
        ({"columns": ["a", "a"]}, AlgebraError, "bad_parameter"),
        ({"columns": ["E"]}, BindingError, "duplicate_name"),
        ({"columns": ["query"]}, BindingError, "reserved_name"),
        ({"matrix": "a`b"}, BindingError, "bad_name"),
        ({"dates": ["day"]}, AlgebraError, "bad_parameter"),
        ({"scalar": "int8"}, AlgebraError, "bad_parameter"),
        ({"name": {5}}, AlgebraError, "bad_parameter"),
        ({"name": 5}, AlgebraError, "bad_parameter"),
        ({"batch_size": 0}, AlgebraError, "bad_parameter"),
        ({"distance": "hamming"}, BindingError, "space"),
        ({"space": ""}, BindingError, "space"),
        ({"encoder": pt.Transformer.identity()}, AlgebraError, "bad_argument"),
        ({"encoder": "hash"}, AlgebraError, "bad_argument"),
        ({"encoder": SignedHashEncoder}, AlgebraError, "bad_argument"),
    ],
)
def test_parameters_that_no_build_could_use(tmp_path, options, error, code):
    with pytest.raises(error) as caught:
        AlgebraIndexer(tmp_path / "c", **options)
    assert caught.value.code == code


@pytest.mark.parametrize("corpus", ["text", {"docno": "a"}, 5])
def test_what_is_no_corpus(tmp_path, corpus):
    with pytest.raises(AlgebraError) as caught:
        index(tmp_path, corpus, encoder=ENCODER)
    assert caught.value.code == "bad_argument" and list(tmp_path.iterdir()) == []


def broken(error):
    yield from DOCUMENTS
    raise error


@pytest.mark.parametrize("error", [OSError(5, "the disk of the corpus"), ValueError("bad line"), KeyboardInterrupt()])
def test_a_corpus_that_breaks_off(tmp_path, error):
    indexer = AlgebraIndexer(tmp_path / "c", encoder=ENCODER, batch_size=2)
    with pytest.raises(type(error)) as caught:
        indexer.index(broken(error))
    assert caught.value is error and not indexer.built() and list(tmp_path.iterdir()) == []


KILLED = """
import sys, time
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
def documents():
    for number in range(5000):
        yield {"docno": str(number), "text": f"word {number}"}
    print("halfway", flush=True)
    time.sleep(60)
AlgebraIndexer(sys.argv[1], encoder=SignedHashEncoder(8)).index(documents())
"""


def test_a_build_that_is_killed(tmp_path):
    path = tmp_path / "c"
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout.readline() == b"halfway\n"
        process.send_signal(signal.SIGKILL)
    indexer = AlgebraIndexer(path, encoder=ENCODER)
    assert not indexer.built() and not path.exists()
    (left,) = tmp_path.iterdir()
    with pytest.raises(ValueError, match="No implementation"):
        pt.Artifact.load(str(left))
    with pytest.raises(DataError):
        Collection.load(left)
    with pytest.warns(UserWarning, match=left.name):
        indexer.index(DOCUMENTS)
    assert indexer.built()


MEASURED = """
import resource, sys
import numpy as np
import pyarrow.parquet
from pyterrier_alg.collection.indexer import AlgebraIndexer
folder, dimensions = sys.argv[1], int(sys.argv[2])
def documents():
    for number in np.random.default_rng(0).permutation(30_000).tolist():
        yield {"docno": str(number), "doc_vec": np.full(dimensions, number, dtype=np.float32)}
AlgebraIndexer(folder, distance="l2", texts=[]).index(documents())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_matrix(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", MEASURED, tmp_path / str(d), str(d)], env=environment))
        for d in (8, 1024)
    ]
    matrix = (tmp_path / "1024" / "0000.rows.npy").stat().st_size / 1024
    # Kilobytes, of which the matrix has 120,000. A few batches of its rows are in memory.
    assert matrix > 110_000 and peaks[1] - peaks[0] < 40_000


def test_what_stands_there_is_refused_or_replaced(tmp_path):
    first = index(tmp_path, DOCUMENTS, encoder=ENCODER)
    before = {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()}
    with pytest.raises(DataError) as caught:
        index(tmp_path, DOCUMENTS[:1], encoder=ENCODER)
    assert caught.value.code == "path_exists"
    # A build that fails leaves what was there as it was.
    with pytest.raises(BindingError):
        index(tmp_path, [DOCUMENTS[0]] * 2, encoder=ENCODER, overwrite=True)
    assert {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()} == before
    second = index(tmp_path, DOCUMENTS[:1], encoder=ENCODER, overwrite=True)
    assert len(second) == 1 and Collection.load(tmp_path / "c") == second
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    # What was opened before stays readable.
    assert first.operands["E"].rows.shape == (3, 8) and first.operands["E"].rows.any()


def test_what_a_link_names_is_replaced(tmp_path):
    index(tmp_path, DOCUMENTS, encoder=ENCODER)
    (tmp_path / "link").symlink_to(tmp_path / "c")
    for documents in (DOCUMENTS[:1], DOCUMENTS[:2]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            AlgebraIndexer(tmp_path / "link", encoder=ENCODER, overwrite=True).index(documents)
        assert len(Collection(tmp_path / "c")) == len(documents)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "link"] and (tmp_path / "link").is_symlink()


@pytest.mark.filterwarnings("ignore")
def test_of_several_that_replace_a_folder_at_once_one_stays(tmp_path):
    index(tmp_path, DOCUMENTS, encoder=ENCODER)

    def replace_it(turn):
        for _ in range(5):
            indexer = AlgebraIndexer(tmp_path / "c", encoder=ENCODER, overwrite=True, name=str(turn))
            with new_folder(tmp_path / "c", replacing=True) as aside, Build(indexer, aside) as build:
                build.add(DOCUMENTS[: 1 + turn % 3])
                build.finish()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(replace_it, range(4)))
    found = Collection(tmp_path / "c")
    found.verify()
    assert len(found) == 1 + int(found.name) % 3 and [p.name for p in tmp_path.iterdir()] == ["c"]


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_a_build_on_a_full_disk_closes_its_files(tmp_path):
    documents = [{"docno": str(n), "doc_vec": [n, 1.0], "text": "word " * 20} for n in range(3000)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(DataError, match=r"texts\.arrow") as caught:
            index(tmp_path, documents, distance="l2", texts=["text"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.code == "unwritable" and list(tmp_path.iterdir()) == []
    del caught
    gc.collect()


def test_only_a_collection_is_overwritten(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.tex").write_text("…")
    with pytest.raises(DataError) as caught:
        index(tmp_path, DOCUMENTS, encoder=ENCODER, overwrite=True)
    assert caught.value.code == "path_exists" and (tmp_path / "c" / "thesis.tex").exists()
    (tmp_path / "file").write_text("…")
    with pytest.raises(DataError):
        AlgebraIndexer(tmp_path / "file", encoder=ENCODER, overwrite=True).index(DOCUMENTS)
    (tmp_path / "c" / "thesis.tex").unlink()
    assert len(index(tmp_path, DOCUMENTS, encoder=ENCODER, overwrite=True)) == 3


def test_an_indexer_is_a_value(tmp_path):
    make = lambda **options: AlgebraIndexer("c", encoder=ENCODER, columns=["year"], **options)  # noqa: E731
    assert make() == make() and hash(make()) == hash(make()) and make() != make(batch_size=3)
    assert pickle.loads(pickle.dumps(make())) == make()
    assert repr(make()) == "AlgebraIndexer('c', encoder=SignedHashEncoder(dimensions=8, seed=3), columns=('year',))"
    assert pt.inspect.indexer_inputs(make()) == [["docno", "text"], ["docno", "doc_vec"]]
    assert pt.inspect.indexer_inputs(AlgebraIndexer("c", encoder=Table())) == [["docno", "doc_vec"]]
    assert "AlgebraIndexer" in pt.schematic.draw(make())


def test_progress_is_shown_when_asked(tmp_path, capsys):
    index(tmp_path, DOCUMENTS, encoder=ENCODER)
    assert capsys.readouterr().err == ""
    AlgebraIndexer(tmp_path / "loud", encoder=ENCODER, verbose=True).index(DOCUMENTS)
    shown = capsys.readouterr()
    assert "indexing loud" in shown.err + shown.out


@pytest.mark.parametrize("path", [None, 5])
def test_a_path_that_is_none(path):
    with pytest.raises(AlgebraError) as caught:
        AlgebraIndexer(path)
    assert caught.value.code == "bad_parameter"
