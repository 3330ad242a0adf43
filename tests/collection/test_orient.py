"""Orientation: facts for programs, a table for people, and examples that run."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

from pyterrier_alg.algebra import Distance, Space, check, parse
from pyterrier_alg.collection import Collection, Mask, Matrix, QueryVectors, Retriever, Run, Topic, Vector, vaswani
from pyterrier_alg.collection.lexical import RecordedRetriever
from pyterrier_alg.collection.showing import as_text
from pyterrier_alg.engines.vectorised import VectorisedEngine

SPACE, FLAT = Space("text", 2, document_encoder="a", query_encoder="table"), Space("flat", 2, Distance.L2)
DOCNOS = ["d1", "d2", "d3", "d4"]
RUN = pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d1"], "score": [2.0, 5.0]})


class Table:
    identity = "table"

    def encode(self, text):
        return np.float32([1, 0])


class Live:
    identity = "live one"
    default_depth = 7

    def search(self, text, depth):
        return {"d1": 1.0}


def small():
    return Collection(DOCNOS, name="small").bind(
        E=Matrix({"d1": [0, 1], "d2": [0.6, 0.8], "d3": [0, 0]}, SPACE, Table(), drop_zero_rows=True),
        F=Matrix([[3, 4], [0, 0], [1, 0], [0, 2]], FLAT),
        q1=Vector([3, 4], SPACE),
        q2=Vector([1, 0], SPACE),
        w={"d1": 0.5, "d4": 2.0},
        none={},
        m={"d1"},
        lang={"d1": "en", "d2": "de", "d3": "en"},
        published={"d1": date(2024, 1, 1), "d2": date(1965, 7, 1)},
        alpha=0.5,
        now="2026-12-01",
        pool=Run(RUN),
        picked=Mask(RUN[["qid", "docno"]]),
        qv=QueryVectors({"1": [1, 2]}, SPACE),
        bm25=RecordedRetriever("a table", {"wave": (("d1", 2.0), ("d2", 1.0))}),
        live=Retriever(Live()),
        **{"group by": {"d1": 1.0}},
    )


def facts(name):
    listed = {operand.pop("name"): operand for operand in small().orient().to_dict()["operands"]}
    return listed[name]


FACTS = {
    "E": {"kind": "matrix", "space": "text", "covers": 2, "share": 0.5, "query_encoder": "table"},
    "F": {"kind": "matrix", "space": "flat", "covers": 4, "share": 1.0, "query_encoder": None},
    "q1": {"kind": "vector", "space": "text", "length": 5.0},
    "w": {"kind": "relation", "space": None, "covers": 2, "share": 0.5, "range": [0.5, 2.0]},
    "none": {"kind": "relation", "space": None, "covers": 0, "share": 0.0, "range": None},
    "m": {"kind": "mask", "space": None, "covers": 1, "share": 0.25},
    "lang": {
        "kind": "text column",
        "space": None,
        "covers": 3,
        "share": 0.75,
        "distinct": 2,
        "values": [["en", 2], ["de", 1]],
    },
    "published": {
        "kind": "date column",
        "space": None,
        "covers": 2,
        "share": 0.5,
        "distinct": 2,
        "values": [["1965-07-01", 1], ["2024-01-01", 1]],
        "range": ["1965-07-01", "2024-01-01"],
    },
    "alpha": {"kind": "number", "space": None, "value": 0.5},
    "now": {"kind": "text", "space": None, "value": "2026-12-01"},
    "pool": {"kind": "relation", "space": None, "queries": 2},
    "qv": {"kind": "vector", "space": "text", "queries": 1},
    "bm25": {"kind": "retriever", "space": None, "identity": "a table", "default_depth": 1000, "recorded_queries": 1},
    "live": {"kind": "retriever", "space": None, "identity": "live one", "default_depth": 7},
}


@pytest.mark.parametrize("name", FACTS)
def test_facts_of_each_operand(name):
    assert facts(name) == FACTS[name]


def test_the_first_answer():
    found = small().orient().to_dict()
    assert (found["collection"], found["records"], found["query_space"]) == ("small", 4, None)
    assert [(space["name"], space["document_encoder"], space["query_encoder"]) for space in found["spaces"]] == [
        ("text", "a", "table"),
        ("flat", "", ""),
    ]
    assert sum(found["counts"].values()) == 17 and found["counts"]["matrix"] == 2
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    found["operands"].clear()
    assert small().orient().to_dict()["operands"]


@pytest.mark.parametrize("collection", [small, vaswani], ids=["small", "vaswani"])
def test_examples_run_as_they_stand(collection):
    c = collection()
    found = c.orient().to_dict()
    assert len(found["examples"]) >= 5
    for program in found["examples"]:
        assert repr(parse(program).result) == program
        assert len(VectorisedEngine().run(parse(program), c.at())) > 0, program
    for program in found["query_examples"]:
        check(parse(program), c.bindings(["qid", "query"]))


@pytest.mark.parametrize("name", [name for name in small().operands if name not in ("picked", "now", "qv")])
def test_examples_of_one_operand_name_it_and_run(name):
    c = small()
    found = c.orient(name).to_dict()["operand"]["examples"]
    assert found and all(name in program for program in found)
    for program in found:
        VectorisedEngine().run(parse(program), c.at(Topic("1", "wave")))


@pytest.mark.parametrize("c", [Collection([]), Collection(["a"]), Collection(["a"]).bind(alpha=1.0, lang={})])
def test_a_collection_with_nothing_to_score_has_no_examples_that_fail(c):
    for program in c.orient().to_dict()["examples"]:
        VectorisedEngine().run(parse(program), c.at())
    assert str(c.orient())


def test_details_of_one_operand():
    def details(name):
        return small().orient(name).to_dict()["operand"]

    assert details("E")["without"] == ["d3", "d4"] and details("E")["space"]["dimensions"] == 2
    quantiles = {"0": 0.0, "0.05": 0.0, "0.25": 0.0, "0.5": 1.0, "0.75": 2.0, "0.95": 5.0, "1": 5.0}
    assert details("F")["row_lengths"] == quantiles
    assert details("w")["scores"]["0.5"] == 0.5 and details("none")["scores"] is None
    assert details("lang")["without"] == ["d4"]
    assert details("m")["some"] == ["d1"]
    assert details("bm25")["some_queries"] == ["wave"]
    assert details("pool")["some_qids"] == ["1", "2"]
    with pytest.raises(KeyError, match="did you mean lang"):
        small().orient("lnag")


def test_it_stays_short_however_many_operands_are_bound():
    many = {f"v{place}": float(place) for place in range(2000)}
    c = small().bind(**many, **{f"r{place}": {"d1": place} for place in range(2000)})
    found, text = c.orient().to_dict(), str(c.orient())
    assert len(json.dumps(found)) < 8000 and len(text.splitlines()) < 80
    assert found["counts"]["number"] == 2001 and {"E", "lang", "m"} <= {o["name"] for o in found["operands"]}
    assert "1,993 number" in text and "orient(name)" in text


def test_long_texts_are_cut_and_are_no_examples():
    long = "x" * 10_000
    c = Collection(DOCNOS).bind(S={"d1": 1.0}, lang={docno: long for docno in DOCNOS}, note=long, t=RecordedRetriever(
        "a table", {long: (("d1", 1.0),)}))  # fmt: skip
    assert len(json.dumps(c.orient().to_dict())) < 2000
    for name in c.operands:
        assert len(json.dumps(c.orient(name).to_dict())) < 1000
    assert facts_of(c, "lang")["values"] == [["x" * 59 + "…", 4]]


def facts_of(c, name):
    return next(operand for operand in c.orient().to_dict()["operands"] if operand["name"] == name)


@pytest.mark.parametrize("scores", [{"d1": 1e308, "d2": -1e308}, {"d1": 5e-324}, {"d1": 0.0, "d2": 0.0}])
def test_examples_and_details_of_extreme_scores(scores):
    c = Collection(DOCNOS).bind(S=scores, T={"d1": 1.0}, alpha=1e308)
    assert json.dumps(c.orient("S").to_dict(), allow_nan=False)
    for program in c.orient().to_dict()["examples"]:
        VectorisedEngine().run(parse(program), c.at())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    c = small().bind(**{"a name that is longer than many a terminal is wide, " * 3: {"d1": 1.0}, "日本" * 40: 1.0})
    for facts_of in (c.orient().facts, *(c.orient(name).facts for name in c.operands)):
        for line in as_text(facts_of, width).splitlines():
            assert sum(2 if ord(character) > 0x2E80 else 1 for character in line) <= width


def test_the_table_says_what_matters():
    text = str(small().orient())
    assert text == repr(small().orient())
    said = [
        "small: 4 records", "2 (50 %)", "takes texts", "takes vectors only", "2 values: en, de", "0.5 to 2",
        "1965-07-01 to 2024-01-01", "live one, depth 7", "flat: 2 dimensions, l2", "top(10, E @ q1)",
    ]  # fmt: skip
    assert [word for word in said if word not in text] == []


HOSTILE = "<script>alert(1)</script>[bold]x\x1b[31m"


def test_names_and_values_are_shown_as_text_and_never_obeyed():
    c = Collection(DOCNOS, name=HOSTILE).bind(**{HOSTILE: {"d1": HOSTILE}})
    for orientation in (c.orient(), c.orient(HOSTILE)):
        page, text = orientation._repr_html_(), str(orientation)
        assert "<script>" not in page and "&lt;script&gt;" in page and "\x1b" not in page
        assert "[bold]x" in text.replace("\n", "") and "\x1b" not in text
    assert c._repr_html_() == c.orient()._repr_html_()
