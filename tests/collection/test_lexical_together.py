"""PyTerrier retrievers as operands: topics reach them whole, and many of them by one call."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg import Program
from pyterrier_alg.algebra import AlgebraError, parse
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.lexical import (
    CountsRetriever,
    PyTerrierRetriever,
    RecordedRetriever,
    TopicRetriever,
    search_together,
)
from pyterrier_alg.collection.operands import RetrieverOperand
from pyterrier_alg.engines.registry import engine, engines

DOCNOS = ["a", "b", "c"]


class Recording(pt.Transformer):
    """Scores documents by the lengths of query, qid and vector, and remembers the frames that it got."""

    def __init__(self):
        self.frames = []

    def transform(self, topics):
        self.frames.append(topics.copy())
        rows = []
        for row in topics.to_dict("records"):
            vector = row.get("query_vec")
            base = len(row["query"]) + 100 * len(row["qid"]) + (0 if vector is None else 10_000 * float(vector[0]))
            rows += [(row["qid"], docno, base + place) for place, docno in enumerate(DOCNOS)]
        return pd.DataFrame(rows, columns=["qid", "docno", "score"])


def topics(vectors=False):
    texts = [("1", "wave"), ("22", "wave guides"), ("333", ""), ("q4", "wave")]
    return [Topic(qid, text, np.array([n, 0.0]) if vectors else None) for n, (qid, text) in enumerate(texts)]


def scopes_of(source, queries, bind_topics):
    c = Collection(DOCNOS).bind(bm25=source)
    scopes = []
    for topic in queries:
        scope = c.at(topic)
        retriever = scope.operands["bm25"].retriever
        plain = retriever.retriever if isinstance(retriever, TopicRetriever) else retriever
        bound = RetrieverOperand(plain.at(topic) if bind_topics else plain)
        scopes.append(replace(scope, operands={**scope.operands, "bm25": bound}))
    return scopes


def as_lists(found):
    return [list(one.items()) for one in found]


def test_many_texts_are_one_call_and_what_each_is():
    source = Recording()
    retriever = PyTerrierRetriever(source, "test")
    texts = ["wave", "", "wave", "guides (of)"]
    expected = [list(retriever.search(text, 2).items()) for text in texts]
    assert as_lists(retriever.search_all(texts, 2)) == expected
    assert [frame["query"].tolist() for frame in source.frames] == [["wave"], [""], ["wave"], ["guides (of)"], texts]
    assert retriever.search_all([], 2) == []


@pytest.mark.parametrize("vectors", [False, True])
def test_topics_reach_the_transformer_with_their_qids_and_vectors(vectors):
    source = Recording()
    found = PyTerrierRetriever(source, "test").search_topics(topics(vectors), 1)
    (frame,) = source.frames
    assert frame["qid"].tolist() == ["1", "22", "333", "q4"]
    assert ("query_vec" in frame.columns) is vectors
    scores = [score for one in found for score in one.values()]
    assert scores == [106 + 0, 213 + 10_000 * vectors, 302 + 20_000 * vectors, 206 + 30_000 * vectors]


def test_topics_of_which_some_have_a_vector():
    source = Recording()
    mixed = [Topic("1", "x"), Topic("2", "y", np.array([5.0])), Topic("3", "z")]
    found = PyTerrierRetriever(source, "test").search_topics(mixed, 1)
    assert [list(one.values()) for one in found] == [[103.0], [50_103.0], [103.0]]
    assert sorted(frame["qid"].tolist() for frame in source.frames) == [["1", "3"], ["2"]]


def test_one_topics_own_text_brings_its_qid_and_other_text_does_not():
    run = pd.DataFrame({"qid": ["7", "8"], "docno": ["a", "b"], "score": [1.0, 2.0], "rank": [0, 0]})
    by_qid = PyTerrierRetriever(pt.Transformer.from_df(run), "a run by qid")
    at = by_qid.at(Topic("8", "wave"))
    assert at.search("wave", 9) == {"b": 2.0} and at.search("other", 9) == {}
    assert (at.identity, at.default_depth) == ("a run by qid", 1000)


@pytest.mark.parametrize(("chunk", "sizes"), [(1, [1, 1, 1, 1]), (2, [2, 2]), (3, [3, 1]), (128, [4])])
@pytest.mark.parametrize("bind_topics", [False, True])
@pytest.mark.parametrize(
    "program", ["bm25(query)", "top(2, bm25(query, 2)) + bm25(query)", 'bm25("other") + bm25(query, 1)']
)
def test_a_program_over_many_topics_asks_for_a_chunk_at_a_time(program, bind_topics, chunk, sizes):
    source, formula = Recording(), parse(program)
    scopes = scopes_of(source, topics(True), bind_topics)
    for name in engines():
        runner = engine(name)
        expected = [list(runner.run(formula, scope)) for scope in scopes]
        source.frames.clear()
        together = search_together(formula, scopes, chunk)
        assert source.frames == []
        assert [list(runner.run(formula, scope)) for scope in together] == expected
        calls = formula.ascii.count("query")
        assert sum(len(frame) > 1 for frame in source.frames) == calls * sum(size > 1 for size in sizes)
        # What was taken is not kept: it is asked for anew.
        assert [list(runner.run(formula, scope)) for scope in together] == expected
        source.frames.clear()


def test_what_cannot_be_shared_is_left_as_it_is():
    formula = parse("bm25(query)")
    recorded = RecordedRetriever("recorded", {"wave": (("a", 1.0),)})
    for source, queries in [(recorded, topics()), (CountsRetriever.of("n", []), topics()), (Recording(), topics()[:1])]:
        scopes = scopes_of(source, queries, False)
        assert [s.operands for s in search_together(formula, scopes)] == [s.operands for s in scopes]
    scopes = scopes_of(Recording(), topics(), False)
    assert search_together(parse('bm25("wave")'), scopes) == scopes and search_together(formula, []) == []


class Picky(pt.Transformer):
    """Refuses one query."""

    def transform(self, topics):
        if "bad" in topics["query"].tolist():
            raise ValueError("bad query")
        return topics[["qid"]].assign(docno="a", score=1.0)


def test_an_error_is_that_of_its_own_topic():
    formula = parse("top(1, bm25(query))")
    scopes = scopes_of(Picky(), [Topic("1", "good"), Topic("2", "bad"), Topic("3", "fine")], True)
    one, bad, three = search_together(formula, scopes)
    runner = engine("vectorised")
    assert list(runner.run(formula, one)) == list(runner.run(formula, three)) == [("a", 1.0)]
    with pytest.raises(AlgebraError, match="cannot search 'bad'") as caught:
        runner.run(formula, bad)
    assert caught.value.code == "failed_search"


def test_rows_of_a_query_that_was_not_asked_for():
    foreign = pd.DataFrame({"qid": ["9"], "docno": ["a"], "score": [1.0]})
    retriever = PyTerrierRetriever(pt.apply.generic(lambda frame: foreign), "test")
    with pytest.raises(AlgebraError, match="'9'") as caught:
        retriever.search_all(["x", "y"], 5)
    assert caught.value.code == "bad_results"


def test_scopes_with_shared_searches_pickle():
    counted = PyTerrierRetriever(
        pt.Transformer.from_df(pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [2.0]})), "t"
    )
    formula = parse("bm25(query)")
    scopes = search_together(formula, scopes_of(counted, topics(), True))
    again = pickle.loads(pickle.dumps(scopes[0]))
    assert (
        list(engine("vectorised").run(formula, again))
        == list(engine("vectorised").run(formula, scopes[0]))
        == [("a", 2.0)]
    )


class Dense(pt.Transformer):
    """An index of vectors: scores by the inner product with `query_vec`."""

    def __init__(self, rows):
        self.rows, self.calls = rows, 0

    def transform(self, topics):
        pt.validate.query_frame(topics, extra_columns=["query_vec"], context=self)
        self.calls += 1
        found = [
            (qid, d, float(v @ r))
            for qid, v in zip(topics["qid"], topics["query_vec"], strict=True)
            for d, r in self.rows.items()
        ]
        return pd.DataFrame(found, columns=["qid", "docno", "score"])


@pytest.mark.parametrize("name", engines())
def test_a_program_over_an_indexed_dense_retriever_and_a_run(name):
    rows = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0]), "c": np.array([1.0, 1.0])}
    dense = Dense(rows)
    run = pt.Transformer.from_df(
        pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "b"], "score": [0.5, 7.0], "rank": [0, 0]})
    )
    c = Collection(DOCNOS).bind(dense=dense, earlier=run)
    program = Program("top(2, dense(query) + fill(0, earlier(query)))", c, engine=name)
    vectors = [np.array([1.0, 0.0]), np.array([2.0, 1.0])]
    frame = pd.DataFrame({"qid": ["1", "2"], "query": ["same words"] * 2, "query_vec": vectors})
    found = program.transform(frame)
    assert found[["qid", "docno", "score"]].values.tolist() == [
        ["1", "a", 1.5], ["1", "c", 1.0], ["2", "b", 8.0], ["2", "c", 3.0]
    ]  # fmt: skip
    # Of all topics at once.
    assert dense.calls == 1
    alone = [program.run(Topic(qid, "same words", vector)).to_dict() for qid, vector in zip("12", vectors, strict=True)]
    assert alone == [{"a": 1.5, "c": 1.0}, {"b": 8.0, "c": 3.0}]


def test_a_topic_without_the_vector_that_a_retriever_needs():
    c = Collection(DOCNOS).bind(dense=Dense({}))
    with pytest.raises(AlgebraError, match="query_vec") as caught:
        Program("dense(query)", c).transform(pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]}))
    assert caught.value.code == "failed_search"


def test_a_run_by_qid_has_nothing_for_a_text_that_is_no_topic():
    run = pd.DataFrame({"qid": ["1", "2"], "query": ["wave", "valve"], "docno": ["a", "b"], "score": [1.0, 2.0]})
    c = Collection(DOCNOS).bind(bm25=pt.Transformer.from_df(run))
    assert Program('bm25("zebra")', c).run().to_dict() == {}
    assert Program("bm25(query)", c).run("wave").to_dict() == {}
    found = Program('fill(0, bm25(query)) + fill(0, bm25("zebra"))', c)(run[["qid", "query"]])
    assert found[found["score"] > 0][["qid", "docno", "score"]].to_numpy().tolist() == [
        ["1", "a", 1.0],
        ["2", "b", 2.0],
    ]
