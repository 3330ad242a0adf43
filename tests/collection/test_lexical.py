"""Retrievers: recorded runs, PyTerrier's, and Terrier itself."""

import gc
import os
import pickle
import shutil
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg import Program
from pyterrier_alg.algebra import AlgebraError, BindingError, EvaluationError, MissingExtraError, parse
from pyterrier_alg.collection import Collection, Retriever, Topic, vaswani
from pyterrier_alg.collection.lexical import PisaRetriever, PyTerrierRetriever, RecordedRetriever, TerrierRetriever, bag
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.engines.registry import engines
from pyterrier_alg.engines.vectorised import VectorisedEngine

TOPICS = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["Wave guides", "valve", "nothing"]})
RUN = pd.DataFrame({"qid": ["1"] * 3 + ["2"], "docno": ["b", "c", "a", "a"], "score": [2.0, 3.0, 2.0, 1.0]})

TEXTS = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets")) / "vaswani"
needs_texts = pytest.mark.skipif(
    not (TEXTS / "docs.txt").is_file(), reason="Vaswani's texts are not here: IR_DATASETS_HOME has no vaswani/docs.txt"
)
needs_terrier = pytest.mark.skipif(
    not TerrierRetriever.installed(), reason="Terrier needs Java and pip install 'pyterrier-alg[terrier]'"
)
needs_pisa = pytest.mark.skipif(not PisaRetriever.installed(), reason="PISA needs pip install 'pyterrier-alg[pisa]'")
PROVIDERS = [pytest.param(TerrierRetriever, marks=needs_terrier), pytest.param(PisaRetriever, marks=needs_pisa)]


@pytest.fixture
def recorded():
    return RecordedRetriever.of(TOPICS, RUN, identity="test", depth=3, hint="ask elsewhere")


def run(program, retriever, topic=None):
    c = Collection(["a", "b", "c"]).bind(bm25=retriever)
    return list(VectorisedEngine().run(parse(program), c.at(topic)))


@pytest.mark.parametrize("text", ["Wave guides", "wave guides", "GUIDES (wave)!\n", "guides wave"])
def test_a_recorded_query_is_found_by_its_words(recorded, text):
    assert list(recorded.search(text, 3).items()) == [("c", 3.0), ("a", 2.0), ("b", 2.0)]


@pytest.mark.parametrize(
    ("text", "depth", "expected"),
    [("wave guides", 1, {"c": 3.0}), ("valve", 100, {"a": 1.0}), ("nothing", 5, {}), ("", 5, {}), (" ?! ", 5, {})],
)
def test_depths_and_texts_without_results(recorded, text, depth, expected):
    assert recorded.search(text, depth) == expected


@pytest.mark.parametrize(
    ("text", "depth", "code"),
    [
        ("wave", 3, "unrecorded_query"),
        ("wave wave guides", 3, "unrecorded_query"),
        ("wave guides", 4, "unrecorded_depth"),
    ],
)
def test_what_was_not_recorded(recorded, text, depth, code):
    with pytest.raises(AlgebraError) as caught:
        recorded.search(text, depth)
    assert caught.value.code == code and caught.value.hint == "ask elsewhere"


def test_recorded_results_pickle_and_are_equal_by_content(recorded):
    again = pickle.loads(pickle.dumps(recorded))
    assert again == recorded and again.search("valve", 1) == {"a": 1.0}


def test_in_a_program(recorded):
    assert run("top(2, bm25(query))", recorded, Topic("1", "wave guides")) == [("c", 3.0), ("a", 2.0)]
    assert run('bm25("valve")', Retriever(recorded)) == [("a", 1.0)]


class Results(pt.Transformer):
    """Gives the same results to every query."""

    def __init__(self, frame):
        self.frame = frame

    def transform(self, topics):
        self.asked = topics["query"].tolist()
        return self.frame


FOUND = pd.DataFrame({"qid": "1", "docno": ["b", "c", "a"], "score": [2.0, 3.0, 2.0], "rank": [1, 0, 2]})


def test_any_pyterrier_retriever():
    source = Results(FOUND)
    assert run('bm25("Wave (guides)")', source) == [("c", 3.0), ("a", 2.0), ("b", 2.0)]
    assert source.asked == ["Wave (guides)"]
    assert run('bm25("x", 2)', source) == [("c", 3.0), ("a", 2.0)]
    assert run('bm25("x")', Retriever(source, default_depth=1)) == [("c", 3.0)]
    assert run('bm25("x")', Results(FOUND[:0])) == []


class Failing(pt.Transformer):
    """Has a query language, and a mistake in it."""

    def transform(self, topics):
        raise SyntaxError(f"cannot read {topics['query'].iloc[0]}")

    def __repr__(self):
        return "Failing()"


def test_a_retriever_that_fails_is_named():
    with pytest.raises(AlgebraError, match=r"Failing\(\) cannot search 'x\(': SyntaxError: cannot read x\(") as caught:
        run('bm25("x(")', Failing())
    assert caught.value.code == "failed_search" and isinstance(caught.value, EvaluationError)


def test_a_docno_that_the_collection_lacks_is_named():
    with pytest.raises(EvaluationError, match="'foreign'") as caught:
        run('bm25("x")', Results(pd.DataFrame({"docno": ["foreign"], "score": [1.0]})))
    assert caught.value.code == "unknown_record"


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"docno": ["a", "a"], "score": [1.0, 2.0]}),
        pd.DataFrame({"docno": [1], "score": [1.0]}),
        pd.DataFrame({"docno": ["a"], "score": [float("nan")]}),
        pd.DataFrame({"docno": ["a"], "score": ["much"]}),
        pd.DataFrame({"docno": ["a"], "score": [None]}),
        pd.DataFrame({"docno": ["a"]}),
        pd.DataFrame({"qid": ["1"], "query": ["x"]}),
        [{"docno": "a", "score": 1.0}],
        pd.DataFrame({"docno": ["a"], "score": pd.Series([10**400], dtype=object)}),
        pd.DataFrame({"docno": ["a"], "score": ["1.5"]}),
        pd.DataFrame([["a", 1.0, 2.0]], columns=["docno", "score", "score"]),
    ],
)
def test_results_that_are_no_relation(frame):
    with pytest.raises(AlgebraError) as caught:
        run('bm25("x")', Results(frame))
    assert caught.value.code == "bad_results"


class Own:
    """An object that searches, and is no transformer."""

    def __init__(self, found, identity="an own one", default_depth=10):
        self.found, self.identity, self.default_depth = found, identity, default_depth

    def search(self, text, depth):
        return self.found(text) if callable(self.found) else self.found


class OwnOfMany(Own):
    """The same, for many texts."""

    def search_all(self, texts, depth):
        return [self.search(text, depth) for text in texts]


def fails(text):
    raise OSError(f"no {text}")


@pytest.mark.parametrize("name", engines())
@pytest.mark.parametrize(
    ("found", "code"),
    [
        (None, "bad_results"),
        ([("a", 1.0)], "bad_results"),
        ({1: 1.0}, "bad_results"),
        ({"a": "1"}, "bad_results"),
        ({"a": None}, "bad_results"),
        ({"a": float("nan")}, "bad_results"),
        ({"a": 10**400}, "bad_results"),
        (fails, "failed_search"),
        ({"foreign": 1.0}, "unknown_record"),
        ({"a": float("inf")}, "non_finite"),
    ],
)
def test_what_an_own_retriever_gives_is_checked_for_every_engine(name, found, code):
    c = Collection(["a", "b", "c"]).bind(bm25=Own(found))
    with pytest.raises(AlgebraError) as caught:
        Program("top(2, bm25(query))", c, engine=name).run(Topic("1", "wave"))
    assert caught.value.code == code


@pytest.mark.parametrize("kind", [Own, OwnOfMany])
def test_an_own_retriever_gives_its_best_to_the_depth(kind):
    c = Collection(["a", "b", "c"]).bind(bm25=kind({"a": 1, "b": 3.0, "c": 2.0}, default_depth=2))
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["wave", "guide"]})
    found = Program("bm25(query)", c)(topics)
    assert found["docno"].tolist() == ["b", "c"] * 2 and found["score"].tolist() == [3.0, 2.0] * 2


def test_many_texts_by_an_own_retriever_are_as_many_answers():
    class Wrong(OwnOfMany):
        def search_all(self, texts, depth):
            return self.found(texts)

    for answer, code in ((lambda texts: [{}], "bad_results"), (lambda texts: 1 / 0, "failed_search")):
        retriever = Collection(["a"]).bind(bm25=Wrong(answer)).at().operands["bm25"].retriever
        with pytest.raises(AlgebraError) as caught:
            retriever.search_all(["x", "y"], 3)
        assert caught.value.code == code


@pytest.mark.parametrize(("identity", "depth"), [({1}, 10), (None, 10), ("x", "deep"), ("x", 0), ("x", True)])
def test_own_retrievers_that_do_not_say_what_they_are(identity, depth):
    with pytest.raises(BindingError) as caught:
        Collection(["a"]).bind(bm25=Own({}, identity, depth))
    assert caught.value.code == "bad_operand"


def first(frame):
    return FOUND.assign(score=1.0)


def second(frame):
    return FOUND.assign(score=2.0)


@dataclass
class Unhashable(pt.Transformer):
    """A value that has no hash, and whose parts cannot be compared."""

    frame: pd.DataFrame

    def transform(self, topics):
        return self.frame


def test_retrievers_of_one_name_are_not_one_retriever():
    f, g = pt.apply.generic(first), pt.apply.generic(second)
    assert repr(f) == repr(g)
    c = Collection(["a", "b", "c"])
    for options in ({}, {"identity": "mine"}):
        bound = c.bind(r=Retriever(f, **options))
        assert bound != c.bind(r=Retriever(g, **options))
        assert bound != c.bind(r=Retriever(pt.apply.generic(first), **options))
        assert bound == c.bind(r=Retriever(f, **options)) and hash(bound) == hash(c.bind(r=Retriever(f, **options)))
    # Orient says what people call them.
    assert c.bind(r=f).orient("r").to_dict() == c.bind(r=g).orient("r").to_dict()
    for pipeline in (lambda t: t % 2, lambda t: t >> pt.Transformer.identity()):
        assert c.bind(r=pipeline(f)) != c.bind(r=pipeline(g))
        same = pipeline(f)
        assert c.bind(r=same) == c.bind(r=same)
    one, other = Unhashable(FOUND), Unhashable(FOUND)
    assert c.bind(r=one) == c.bind(r=one) != c.bind(r=other)


def test_equal_transformers_are_one_retriever_and_copies_stay_what_they_are():
    c = Collection(["a", "b", "c"])
    program = Program("top(2, w)", c.bind(w={"a": 1.0}))
    same = Program("top(2, w)", c.bind(w={"a": 1.0}))
    assert c.bind(r=program) == c.bind(r=same) != c.bind(r=Program("top(1, w)", c.bind(w={"a": 1.0})))
    bound = c.bind(r=Results(FOUND))
    copy = pickle.loads(pickle.dumps(bound))
    assert copy == bound and pickle.loads(pickle.dumps(copy)) == bound
    retriever = bound.at().operands["r"].retriever
    assert replace(retriever, transformer=Results(FOUND)).token != retriever.token
    assert replace(retriever, default_depth=3).token == retriever.token


def test_pipelines_of_one_name_are_not_fused_into_one():
    c = Collection(["a", "b", "c"])
    topics = pd.DataFrame({"qid": ["1"], "query": ["x"]})
    parts = [Program("r(query)", c.bind(r=pt.apply.generic(f))) for f in (first, second)]
    together = parts[0] + parts[1]
    for pipeline in (together, together.compile()):
        assert pipeline(topics)["score"].tolist() == [3.0] * 3


def test_rows_whose_qid_is_no_string():
    frame = pd.DataFrame({"qid": [["1"]], "docno": ["a"], "score": [1.0]})
    with pytest.raises(AlgebraError) as caught:
        PyTerrierRetriever(Results(frame), "test").search_all(["x", "y"], 3)
    assert caught.value.code == "bad_results"


@pytest.mark.parametrize("depth", [0, -1, True, 2.5])
def test_a_default_depth_is_a_count(depth):
    with pytest.raises(BindingError, match=repr(depth)):
        Collection(["a"]).bind(bm25=Retriever(Results(FOUND), default_depth=depth))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"run": RUN.assign(qid=[1, 1, 1, 2])}, "bad_qid"),
        ({"run": RUN.drop(columns="score")}, "bad_operand"),
        ({"run": RUN.assign(docno=["b", "c", "a", 5])}, "bad_docno"),
        ({"run": RUN.assign(docno=["b", "b", "a", "a"])}, "duplicate_docno"),
        ({"run": RUN.assign(score=[1.0, float("nan"), 1.0, 1.0])}, "bad_operand"),
        ({"run": RUN.assign(score=[1.0, float("-inf"), 1.0, 1.0])}, "bad_operand"),
        ({"run": RUN.assign(score=["1", "2", "3", "4"])}, "bad_operand"),
        ({"run": list(RUN)}, "bad_operand"),
        ({"topics": TOPICS.assign(qid=[1, 2, 3])}, "bad_qid"),
        ({"topics": TOPICS.assign(qid=["1", "2", "1"])}, "duplicate_qid"),
        ({"topics": TOPICS.assign(query=["x", None, "y"])}, "bad_operand"),
        ({"topics": TOPICS.assign(query=["x y", "Y, x", "z"])}, "bad_operand"),
        ({"topics": TOPICS.assign(query=["x", "?!", "z"])}, "bad_operand"),
        ({"identity": "\ud800"}, "bad_operand"),
        ({"identity": 5}, "bad_operand"),
        ({"depth": 0}, "bad_operand"),
        ({"depth": 2.5}, "bad_operand"),
    ],
)
def test_runs_that_cannot_be_recorded(changes, code):
    given = {"topics": TOPICS, "run": RUN, "identity": "test", "depth": 3, **changes}
    with pytest.raises(BindingError) as caught:
        RecordedRetriever.of(given.pop("topics"), given.pop("run"), **given)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "results",
    [{"a": (("half \ud800", 1.0),)}, {"a": (("", 1.0),)}, {"a": (("x", float("inf")),)}, {"a": (("x", "1"),)}, {5: ()}],
)
def test_results_that_no_file_could_hold(results):
    with pytest.raises(BindingError) as caught:
        RecordedRetriever("test", results)
    assert caught.value.code in ("bad_docno", "bad_operand")


def test_topics_of_the_same_words_and_results_are_recorded_once():
    topics = pd.DataFrame({"qid": ["1", "2", "3", "4"], "query": ["x y", "Y, x", "?", ""]})
    run = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "a"], "score": [1.0, 1.0]})
    found = RecordedRetriever.of(topics, run, identity="test")
    assert found.search("y x", 5) == {"a": 1.0} and found.search("!", 5) == {}


SCRIPTS = ["日本", "中国", "wave 日本", "wave 中国", "café", "cafe", "कि", "का", "Größe der Welle"]


def test_queries_of_every_script_are_found_by_their_words(tmp_path):
    qids = [str(place) for place in range(len(SCRIPTS))]
    topics = pd.DataFrame({"qid": qids, "query": SCRIPTS})
    run = pd.DataFrame({"qid": qids, "docno": [f"d{qid}" for qid in qids], "score": 1.0})
    recorded = RecordedRetriever.of(topics, run, identity="test")
    c = Collection([f"d{qid}" for qid in qids]).bind(r=recorded)
    saved = Collection(c.save(tmp_path / "c").path).at().operands["r"].retriever
    for retriever in (recorded, saved):
        for qid, query in zip(qids, SCRIPTS, strict=True):
            for text in (query, f"«{query.title()}»!", " ".join(reversed(query.split()))):
                assert retriever.search(text, 5) == {f"d{qid}": 1.0}, text
        for text in ("日", "wave", "Welle", "wave 日本 日本"):
            with pytest.raises(AlgebraError) as caught:
                retriever.search(text, 5)
            assert caught.value.code == "unrecorded_query"


def test_its_name_for_people():
    c = Collection(["a"]).bind(x=Retriever(Results(FOUND), identity="mine"))
    assert c.at().operands["x"].retriever.identity == "mine"


def test_words():
    assert bag("Wave GUIDES, wave") == "guides wave wave" and bag("...") == ""


FIVE = {
    "a": "wave guides and wave guides",
    "b": "a wave",
    "c": "valve amplifiers",
    "d": "",
    "long é name" * 40: "guides",
}


def documents(texts):
    return partial(list, [{"docno": docno, "text": text} for docno, text in reversed(texts.items())])


@pytest.fixture(scope="module", params=PROVIDERS)
def five(request):
    return request.param("five texts", documents(FIVE), list(FIVE))


@pytest.mark.parametrize(
    ("retriever", "module", "extra"),
    [(TerrierRetriever, "jnius", "terrier"), (PisaRetriever, "pyterrier_pisa", "pisa")],
)
def test_a_missing_extra_is_named(retriever, module, extra, monkeypatch):
    # As where it is not installed.
    monkeypatch.setitem(sys.modules, module, None)
    assert not retriever.installed()
    with pytest.raises(MissingExtraError, match=rf"pyterrier-alg\[{extra}\]"):
        retriever("some texts", list, ["a"]).search("wave", 5)


@pytest.mark.parametrize("retriever", PROVIDERS)
@pytest.mark.parametrize(
    ("corpus", "told"),
    [
        (lambda: 1 / 0, "division by zero"),
        (lambda: [{"docno": "a"}], "'text'"),
        (lambda: [{"docno": "a", "text": "wave"}], "not those"),
        (lambda: [{"docno": docno, "text": "wave"} for docno in "aab"], "not those"),
        (lambda: [{"docno": docno, "text": "wave"} for docno in "abc"], "not those"),
        (lambda: [{"docno": "a", "text": "wave"}, {"docno": "b", "text": None}], "the text of 'b' is a NoneType"),
    ],
)
def test_missing_texts_are_named(retriever, corpus, told):
    with pytest.raises(AlgebraError, match=told) as caught:
        retriever("some texts", corpus, ["a", "b"]).search("wave", 5)
    assert caught.value.code == "missing_texts" and "some texts" in str(caught.value)


def test_texts_of_any_docno_are_found_in_rank_order(five):
    found = five.search('Guides (of) the WAVE: guides^2 +valve "x', 10)
    assert set(found) == set(FIVE) - {"d"}
    assert list(found.items()) == sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    assert list(five.search("wave guides", 1)) == ["a"]


@pytest.mark.parametrize("retriever", PROVIDERS)
@pytest.mark.parametrize("texts", [["the of and", "a b c"], ["the", ""], ["", "?!"]])
def test_texts_of_which_no_term_is_left(retriever, texts):
    found = retriever("few words", documents(dict(zip("ab", texts, strict=True))), ["a", "b"])
    for text in ("wave", "the", "the of a", ""):
        assert found.search(text, 5) == {}
    assert pickle.loads(pickle.dumps(retriever("none", list, []))).search("wave", 5) == {}


@pytest.mark.parametrize("retriever", PROVIDERS)
def test_an_index_goes_with_its_retriever(retriever, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = retriever("five texts", documents(FIVE), list(FIVE))
    assert found.search("wave", 5)
    assert len(list(tmp_path.glob("pyterrier-alg-*"))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del found
        gc.collect()
    assert list(tmp_path.glob("pyterrier-alg-*")) == []


@pytest.mark.parametrize("plain", ["wave", "wave guides", "valve"])
@pytest.mark.parametrize(
    "noise",
    [
        "{}?!",
        '"{}',
        "+({})",
        "{} \x00",
        "é {} ✓",
        "{}\ud800",
        "\n{}\r\t",
        "{} :",
        "#({}",
        "{} )^",
        "<{}>",
        "~{} *",
        "{} and the",
    ],
)
def test_what_is_no_word_is_no_query_language(five, plain, noise):
    assert five.search(noise.format(plain), 9) == five.search(plain, 9) != {}


@pytest.mark.parametrize("text", ["", " ", "\n", "?!", '"', "\x00", "\ud800", "ψ 日本", "unheard", "the of and"])
def test_nothing_is_found_for_what_no_text_has(five, text):
    assert five.search(text, 5) == {}


def test_long_texts(five):
    assert set(five.search("wave " * 20_000, 5)) == {"a", "b"}
    assert five.search("x" * 100_000, 5) == {}
    assert set(five.search(" ".join(f"w{i}" for i in range(1_000)) + " valve", 5)) == {"c"}


def test_neither_the_order_of_words_nor_the_process_matters(five):
    expected = list(five.search("guides valve wave", 9).items())
    assert list(five.search("wave guides valve", 9).items()) == expected and len(expected) == 4
    assert list(pickle.loads(pickle.dumps(five)).search("valve wave guides", 9).items()) == expected


@pytest.mark.parametrize("retriever", PROVIDERS)
def test_texts_of_whatever_characters(retriever):
    texts = {
        "nul": "wave\x00guides",
        "half": "\ud800 wave",
        "lines": "wave\r\n\x85\u2028guides\t",
        "marked": "<b>wave</b> &lt;",
        "quoted": '{"text": "wave"}',
        "long": "x" * 100_000 + " wave",
        "foreign": "ψ 日本 café",
        "empty": "",
    }
    live = retriever("texts", documents(texts), list(texts))
    assert set(live.search("wave", 99)) == set(texts) - {"foreign", "empty"}
    assert set(live.search("guides", 99)) == {"nul", "lines"}


def test_many_queries_are_what_each_is(five):
    texts = ["wave", "", "valve guides", "wave", "unheard", "?wave!"]
    for depth in (1, 2, 100):
        one_by_one = [list(five.search(text, depth).items()) for text in texts]
        assert [list(found.items()) for found in five.search_all(texts, depth)] == one_by_one
    assert five.search_all([], 3) == []


@pytest.mark.parametrize("retriever", PROVIDERS)
@pytest.mark.parametrize("texts", [{}, {"a": ""}, {"a": "?", "b": " "}])
def test_texts_without_words(retriever, texts):
    assert retriever("nothing", documents(texts), list(texts)).search("wave", 5) == {}


@pytest.mark.parametrize("retriever", PROVIDERS)
def test_a_live_operand_in_a_program(retriever):
    texts = dict(list(FIVE.items())[:3])
    live = retriever("three texts", documents(texts), list(texts))
    assert [docno for docno, _ in run("top(2, bm25(query))", live, Topic("1", "wave (guides)"))] == ["a", "b"]
    assert repr(live) == f"<{retriever.__name__}: {live.identity}>" and "three texts" in live.identity
    orientation = Collection(list(texts)).bind(bm25=live).orient("bm25")
    assert live.identity in str(orientation)


@needs_pisa
def test_an_index_of_pisas_own_as_an_operand(tmp_path):
    from pyterrier_pisa import PisaIndex

    index = PisaIndex(str(tmp_path / "index"), text_field="text").index(documents(SHORT)())
    check_an_own_index(index.bm25(), list(SHORT))


@needs_terrier
def test_an_index_of_terriers_own_as_an_operand(tmp_path):
    index = pt.IterDictIndexer(str(tmp_path / "index"), meta={"docno": 20}).index(documents(SHORT)())
    check_an_own_index(pt.rewrite.tokenise() >> pt.terrier.Retriever(index, wmodel="BM25"), list(SHORT))


SHORT = {"d1": "wave guides and wave guides", "d2": "a wave", "d3": "valve amplifiers"}


def check_an_own_index(retriever, docnos):
    topics = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["wave (guides)", "valve!", "unheard"]})
    program = Program("top(1, bm25(query))", Collection(docnos).bind(bm25=retriever))
    assert program.transform(topics)[["qid", "docno"]].values.tolist() == [["1", "d1"], ["2", "d3"]]
    lacking = Program("top(1, bm25(query))", Collection(["d1", "d2"]).bind(bm25=retriever))
    with pytest.raises(EvaluationError, match="'d3', which the collection does not have"):
        lacking.transform(topics)


@needs_pisa
@pytest.mark.parametrize("threads", [1, 2])
def test_pisa_cuts_ties_by_docno(threads):
    texts = {f"d{i}": "wave" if i % 2 else "wave and more of it" for i in range(300)}
    retriever = PisaRetriever("ties", documents(texts), list(texts), threads=threads)
    everything = list(retriever.search("wave", 300).items())
    assert [docno for docno, _ in everything[:150]] == sorted(docno for docno in texts if int(docno[1:]) % 2)
    for depth in (1, 2, 30, 149, 150, 151, 299):
        assert list(retriever.search("wave", depth).items()) == everything[:depth]


@pytest.fixture
def texts_home(tmp_path, monkeypatch):
    # A copy, since ir_datasets writes beside the texts.
    home = tmp_path / "vaswani"
    home.mkdir()
    for name in ("docs.txt", "queries.txt", "qrels.txt"):
        shutil.copyfile(TEXTS / name, home / name)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))


@needs_terrier
@needs_texts
def test_live_vaswani_is_what_was_recorded(texts_home):
    data, live = load_vaswani(), vaswani(bm25="terrier").at().operands["bm25"].retriever
    topics = data.topics().set_index("qid")["query"]
    qids = ["1", "47", "93"]
    for qid, found in zip(qids, live.search_all([topics[qid] for qid in qids], 1000), strict=True):
        expected = data.run(qid)
        assert list(found.items()) == list(zip(expected["docno"], expected["score"], strict=True))
    assert len(live.search("wave guide design", 7)) == 7


@needs_pisa
@needs_texts
def test_pisa_over_vaswani_is_a_total_order_at_any_depth(texts_home):
    data = load_vaswani()
    live = vaswani(bm25="pisa").at().operands["bm25"].retriever
    topics = data.topics()["query"].tolist()[:20]
    deep, *shallow = (live.search_all(topics, depth) for depth in (1000, 10, 333))
    for whole, *parts in zip(deep, *shallow, strict=True):
        order = list(whole.items())
        assert order == sorted(order, key=lambda pair: (-pair[1], pair[0])) and len(order) > 500
        assert all(list(part.items()) == order[: len(part)] for part in parts)
