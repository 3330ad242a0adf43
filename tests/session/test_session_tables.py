"""Scored relations as tables: frames, Arrow, joins with metadata, programs inside SQL."""

import apsw
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite

from pyterrier_alg.algebra import AlgebraError, BindingError, EvaluationError, ProgramError, UnsupportedError
from pyterrier_alg.collection import AlgebraIndexer, Collection, Column, Run, Topic
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session import (
    Session,
    StaleResultError,
    from_arrow,
    from_frame,
    join,
    register_duckdb,
    register_sqlite,
    to_arrow,
)
from pyterrier_alg.transformers import Program

docnos = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
relations = st.dictionaries(docnos, finite, max_size=8).map(ScoredRelation.of)

SCORES = {"d1": 1.0, "d2": 2.0, "d3": 4.0, "d4": 4.0}
TITLES = [("d1", "one"), ("d2", "two"), ("d3", "three"), ("d5", "five")]


def collection():
    return Collection(["d1", "d2", "d3", "d4"]).bind(
        S=SCORES,
        w={"d1": 5.0, "d2": 0.5, "d3": 0.1},
        m={"d1", "d4"},
        lang={"d1": "en", "d2": ""},
        published=Column({"d3": "2024-02-29"}, dates=True),
        alpha=0.5,
        run=Run(pd.DataFrame({"qid": ["1"], "docno": ["d1"], "score": [7.0]})),
        text=Column(dict.fromkeys(SCORES, "x")),
    )


def sqlite(source=None):
    connection = (Session(collection()) if source is None else source).sqlite()
    connection.execute(
        "CREATE TABLE docs(docno TEXT, title TEXT); CREATE TABLE programs(id INTEGER, text TEXT, q TEXT)"
    )
    connection.executemany("INSERT INTO docs VALUES (?, ?)", TITLES)
    return connection


@given(relations)
def test_frames_and_arrow_both_ways(relation):
    assert from_frame(relation.to_frame().iloc[::-1]) == relation
    table = to_arrow(relation)
    assert table.schema == pa.schema([("docno", pa.string()), ("score", pa.float64()), ("rank", pa.int64())])
    assert from_arrow(table) == relation
    assert from_arrow(table.take(pa.array(reversed(range(len(relation))), pa.int64()))) == relation


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"docno": ["a", "a"], "score": [1.0, 1.0]}, "duplicate_docno"),
        ({"docno": ["a"], "score": [float("nan")]}, "non_finite"),
        ({"docno": ["a"], "score": [None]}, "bad_operand"),
        ({"docno": [1], "score": [1.0]}, "bad_docno"),
        ({"docno": ["a"]}, "bad_operand"),
    ],
)
def test_what_is_no_relation_is_refused(columns, code):
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    for read in (lambda: from_frame(frame), lambda: from_arrow(pa.table(columns))):
        with pytest.raises(BindingError) as error:
            read()
        # Arrow's null is pandas' NaN.
        assert error.value.code in (code, "non_finite" if code == "bad_operand" else code)


def test_a_join_has_metadata_in_rank_order():
    relation = ScoredRelation.of({"d3": 1.0, "d1": 3.0, "d4": 2.0})
    found = join(relation, collection(), ["lang", "published", "w", "m"])
    wanted = pd.DataFrame(
        {
            "docno": pd.Series(["d1", "d4", "d3"], dtype="str"),
            "score": [3.0, 2.0, 1.0],
            "rank": np.arange(3, dtype=np.int64),
            "lang": pd.Series(["en", None, None], dtype=object),
            "published": pd.Series(np.array(["NaT", "NaT", "2024-02-29"], dtype="datetime64[s]")),
            "w": [5.0, np.nan, 0.1],
            "m": [True, True, False],
        }
    )
    pd.testing.assert_frame_equal(found, wanted)


def test_a_join_of_a_query_has_its_columns_and_its_operands():
    found = join(ScoredRelation.of({"d1": 1.0}), collection(), "run", topic=Topic("1", "words"))
    assert found.columns.tolist() == ["qid", "query", "docno", "score", "rank", "run"]
    assert found.iloc[0].tolist() == ["1", "words", "d1", 1.0, 0, 7.0]


def test_a_join_of_nothing_has_the_same_columns_and_types():
    some = join(ScoredRelation.of(SCORES), collection(), ["text", "published", "w", "m"])
    none = join(ScoredRelation.of({}), collection(), ["text", "published", "w", "m"])
    assert none.dtypes.tolist() == some.dtypes.tolist() and none.columns.tolist() == some.columns.tolist()


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (["nothing"], "unknown_name"),
        (["alpha"], "bad_operand"),
        (["run"], "bad_operand"),
        (["w", "w"], "duplicate_name"),
        (["score"], "duplicate_name"),
    ],
)
def test_what_cannot_be_joined_is_refused(columns, code):
    with pytest.raises(BindingError) as error:
        join(ScoredRelation.of({"d1": 1.0}), collection(), columns)
    assert error.value.code == code
    with pytest.raises(BindingError, match="unknown_docno"):
        join(ScoredRelation.of({"d9": 1.0}), collection(), "w")


def test_stored_texts_are_joined_by_name(tmp_path):
    rows = [
        {"docno": "d1", "title": "One", "year": 1961, "doc_vec": [1.0]},
        {"docno": "d2", "title": "Two", "year": 1962, "doc_vec": [1.0]},
    ]
    stored = AlgebraIndexer(tmp_path / "c", texts=["title"], columns=["year"]).index(rows)
    session = Session(stored)
    session.run("year - 1960")
    assert session.join("r1", ["title", "year"])[["docno", "title", "year"]].values.tolist() == [
        ["d2", "Two", 1962.0],
        ["d1", "One", 1961.0],
    ]


def test_a_session_joins_results_with_results():
    session = Session(collection())
    session.run("top(3, S)", name="pool")
    session.run("w * 2")
    assert session.join("pool", ["r2", "m"]).drop(columns="rank").values.tolist() == [
        ["d3", 4.0, 0.2, False],
        ["d4", 4.0, pytest.approx(np.nan, nan_ok=True), True],
        ["d2", 2.0, 1.0, False],
    ]
    assert session["pool"].join("m")["m"].tolist() == session.join(session["r1"].relation, "m")["m"].tolist()


def test_a_program_is_a_table_in_sqlite():
    connection = sqlite()
    rows = connection.execute(
        "SELECT d.title, a.score FROM algebra('top(10, S)') a JOIN docs d USING (docno) ORDER BY rank"
    )
    assert rows.fetchall() == [("three", 4.0), ("two", 2.0), ("one", 1.0)]
    rows = connection.execute(
        "SELECT d.title, a.rank FROM docs d LEFT JOIN algebra('top(1, S)') a USING (docno) ORDER BY 1"
    )
    assert rows.fetchall() == [("five", None), ("one", None), ("three", 0), ("two", None)]
    assert connection.execute("SELECT * FROM algebra(?)", ("top(2, S)",)).fetchall() == [("d3", 4.0, 0), ("d4", 4.0, 1)]
    assert connection.execute("SELECT docno FROM algebra('S') WHERE score < 2 OR docno = 'd4'").fetchall() == [
        ("d4",),
        ("d1",),
    ]
    assert connection.execute("SELECT count(*), min(rank) FROM algebra('m >> w')").fetchall() == [(1, 0)]
    assert connection.execute("SELECT * FROM algebra('top(1, S) - S >= 0 >> S') LIMIT 1").fetchall() == [("d3", 4.0, 0)]


def test_two_programs_are_joined():
    rows = sqlite().execute(
        "SELECT docno, a.score * b.score FROM algebra('S') a JOIN algebra('w') b USING (docno) ORDER BY 1"
    )
    assert rows.fetchall() == [("d1", 5.0), ("d2", 1.0), ("d3", 0.4)]
    nested = "SELECT docno FROM algebra('S') WHERE docno NOT IN (SELECT docno FROM algebra('w'))"
    assert sqlite().execute(nested).fetchall() == [("d4",)]


def test_programs_come_from_a_table():
    connection = sqlite()
    connection.executemany("INSERT INTO programs VALUES (?, ?, ?)", [(1, "top(1, S)", None), (2, "w", None)])
    query = "SELECT p.id, a.docno, a.program FROM {} ORDER BY p.id, a.rank"
    wanted = [(1, "d3", "top(1, S)"), (2, "d1", "w"), (2, "d2", "w"), (2, "d3", "w")]
    found = connection.execute("SELECT docno FROM algebra WHERE program IN (SELECT text FROM programs) ORDER BY 1")
    assert found.fetchall() == [("d1",), ("d2",), ("d3",), ("d3",)]
    for tables in (
        "programs p, algebra(p.text) a",
        "algebra(p.text) a, programs p",
        "programs p JOIN algebra a ON a.program = p.text",
    ):
        assert connection.execute(query.format(tables)).fetchall() == wanted, tables


def test_the_second_argument_is_the_query():
    class Length:
        identity, default_depth = "length", 5

        def search(self, text, depth):
            return {f"d{len(text)}": 1.0}

    connection = sqlite(Session(collection().bind(long=Length())))
    assert connection.execute("SELECT docno, query FROM algebra('long(query)', 'abc')").fetchall() == [("d3", "abc")]
    connection.executemany("INSERT INTO programs VALUES (1, 'long(query)', ?)", [("a",), ("ab",)])
    rows = connection.execute("SELECT q, docno FROM programs, algebra(text, q) ORDER BY 1")
    assert rows.fetchall() == [("a", "d1"), ("ab", "d2")]
    assert connection.execute("SELECT q, docno FROM programs, algebra('long(query)') WHERE query = q").fetchall()


@pytest.mark.parametrize(
    ("sql", "error", "code"),
    [
        ("SELECT * FROM algebra('top(3, Q)')", ProgramError, "unknown_name"),
        ("SELECT * FROM algebra('S +')", ProgramError, "syntax"),
        ("SELECT * FROM algebra('maxnorm(-S)')", EvaluationError, "nonpositive_maximum"),
        ("SELECT * FROM algebra('top(1, S)') a, algebra('m') b", ProgramError, "kind"),
        ("SELECT * FROM algebra", AlgebraError, "bad_argument"),
        ("SELECT * FROM algebra(3)", AlgebraError, "bad_argument"),
        ("SELECT * FROM algebra(NULL)", AlgebraError, "bad_argument"),
        ("SELECT * FROM algebra('S', 3)", AlgebraError, "bad_argument"),
    ],
)
def test_errors_come_out_as_themselves(sql, error, code):
    connection = sqlite()
    with pytest.raises(error) as found:
        connection.execute(sql).fetchall()
    assert found.value.code == code
    assert len(connection.execute("SELECT * FROM algebra('S')").fetchall()) == 4


def test_sql_sees_the_session_as_it_is_and_leaves_it_alone():
    session = Session(collection())
    connection = sqlite(session)
    session.run("top(2, S)", name="pool")
    assert connection.execute("SELECT docno FROM algebra('pool * 2')").fetchall() == [("d3",), ("d4",)]
    session.rebind(S={"d1": 1.0})
    with pytest.raises(StaleResultError):
        connection.execute("SELECT * FROM algebra('pool')").fetchall()
    assert connection.execute("SELECT docno FROM algebra('S')").fetchall() == [("d1",)]
    assert len(session) == 1 and len(session.log) == 2


def test_any_runner_and_name_will_do_and_the_table_cannot_be_written():
    connection = apsw.Connection(":memory:")
    register_sqlite(
        connection, lambda text, query: Program(text, collection(), engine="definition").run(query), name="alg"
    )
    assert connection.execute("SELECT docno FROM alg('top(1, S)')").fetchall() == [("d3",)]
    with pytest.raises(apsw.Error):
        connection.execute("INSERT INTO alg VALUES ('d1', 1, 1)")
    register_sqlite(
        connection, lambda text, query: Program(text, collection(), engine="pipeline").run(query), name="two"
    )
    assert connection.execute("SELECT docno FROM two('top(1, S)') JOIN alg('S') USING (docno)").fetchall() == [("d3",)]


def test_an_engine_that_cannot_says_so_through_sql(monkeypatch):
    from pyterrier_alg.engines.registry import engine

    monkeypatch.setattr(engine("duckdb"), "capabilities", frozenset({"top"}))
    with pytest.raises(UnsupportedError):
        Session(collection(), engine="duckdb").sqlite().execute("SELECT * FROM algebra('2 * S')").fetchall()


def test_results_are_tables_in_duckdb():
    session = Session(collection())
    session.run("top(3, S)", name="pool")
    session.run("w")
    connection = session.duckdb()
    connection.execute("CREATE TABLE docs(docno VARCHAR, title VARCHAR)")
    connection.executemany("INSERT INTO docs VALUES (?, ?)", TITLES)
    rows = connection.execute(
        "SELECT title, p.score FROM pool p JOIN docs USING (docno) JOIN r2 USING (docno) ORDER BY p.rank"
    )
    assert rows.fetchall() == [("three", 4.0), ("two", 2.0)]
    assert from_frame(connection.execute("SELECT * FROM r1").df()) == session["r1"].relation
    assert (
        from_arrow(connection.sql("SELECT docno, score FROM r2 ORDER BY docno").to_arrow_table())
        == session["r2"].relation
    )
    session.rebind(S={"d1": 1.0})
    with pytest.raises(duckdb.CatalogException):
        session.duckdb().execute("SELECT * FROM pool")


def test_a_relation_registered_again_replaces_the_first():
    connection = duckdb.connect(":memory:")
    for score in (1.0, 2.0):
        register_duckdb(connection, "a table", ScoredRelation.of({"d1": score}))
    assert connection.execute('SELECT * FROM "a table"').fetchall() == [("d1", 2.0, 0)]
