"""Orientation: facts for programs, a table for people, and examples that run."""

import json
from datetime import date

import jsonschema
import numpy as np
import pandas as pd
import pytest

from pyterrier_alg.algebra import LIMITS, OPERATORS, BindingError, Distance, Space, check, parse
from pyterrier_alg.collection import Collection, Mask, Matrix, QueryVectors, Retriever, Run, Topic, Vector, vaswani
from pyterrier_alg.collection.lexical import RecordedRetriever
from pyterrier_alg.collection.orienting import BUDGET, orient_name, orient_schema
from pyterrier_alg.collection.showing import as_text
from pyterrier_alg.engines.engine import EVERYTHING
from pyterrier_alg.engines.registry import engine, engines
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.transformers import Program

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
    "E": {"kind": "matrix", "space": "text", "covers": 2, "share": 0.5, "shape": [2, 2], "query_encoder": "table"},
    "F": {"kind": "matrix", "space": "flat", "covers": 4, "share": 1.0, "shape": [4, 2], "query_encoder": None},
    "q1": {"kind": "vector", "space": "text", "shape": [2], "length": 5.0},
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
    "qv": {"kind": "vector", "space": "text", "shape": [1, 2], "queries": 1},
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


@pytest.mark.parametrize("collection", [small, vaswani, lambda: Collection(["d1", "d2"]).bind(w={"d1": 1e308}),
    lambda: Collection(["d1", "d2"]).bind(m={"d1"}), lambda: Collection(["d1", "d2"])],
    ids=["small", "vaswani", "a relation", "a mask", "nothing"])  # fmt: skip
def test_rerank_examples_re_rank(collection):
    c = collection()
    docnos = c.docnos[:2].tolist()
    topic = Topic("1", "wave guide", input={docnos[0]: 1.0, docnos[1]: 3.0})
    found = c.orient().to_dict()["rerank_examples"]
    assert len(found) == 1
    for program in found:
        assert "input" in program and set(Program(program, c).run(topic).to_dict()) <= set(docnos)


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
    assert details("pool")["some_qids"] == ["1", "2"] and details("pool")["scores"]["1"] == 5.0
    assert details("pool")["records_per_query"]["0.5"] == 1.0 and details("pool")["others"] == "no records"
    assert "scores" not in details("picked") and details("picked")["records_per_query"]["0"] == 1.0
    assert details("qv")["row_lengths"]["1"] == 5**0.5 and details("qv")["others"] == "an error"
    assert details("w")["distinct"] == 2
    with pytest.raises(KeyError, match="did you mean lang"):
        small().orient("lnag")


def size(answer):
    """Bytes of JSON."""
    return len(json.dumps(answer.to_dict(), ensure_ascii=False).encode())


def many(count):
    """A collection that binds as many operands of each of four kinds, and one of each other."""
    return small().bind(
        **{f"v{place}": float(place) for place in range(count)},
        **{f"relation number {place}": {"d1": place} for place in range(count)},
        **{f"c{place}": {"d1": f"a value of column {place}"} for place in range(count)},
        **{f"日本{place}": {"d1"} for place in range(count)},
    )


@pytest.mark.parametrize("count", [5, 30, 250])
@pytest.mark.parametrize("width", [60, 100, 120])
def test_it_stays_short_however_many_operands_are_bound(count, width):
    answer = many(count).orient()
    found, text = answer.to_dict(), as_text(answer.facts, width)
    assert size(answer) <= BUDGET and len(text) <= BUDGET
    assert sum(found["counts"].values()) == 17 + 4 * count
    assert {o["kind"] for o in found["operands"]} == set(found["counts"])
    names = [name for names in found["names"].values() for name in names]
    assert set(names).isdisjoint(o["name"] for o in found["operands"])
    for kind, listed in found["names"].items():
        assert {many(count).orient(name).to_dict()["operand"]["kind"] for name in listed} == {kind}
    if count > 5:
        left = found["counts"]["number"] - sum(o["kind"] == "number" for o in found["operands"])
        assert f"{left:,} number" in text.replace("\n", " ") and names


def test_names_that_are_too_long_to_list_take_no_room_from_the_others():
    c = Collection(DOCNOS).bind(**{"x" * 7000: {"d1": 1.0}, "S": {"d1": 1.0}, "y" * 6000: {"d1": 1.0}})
    found = c.orient().to_dict()
    assert [o["name"] for o in found["operands"]] == ["S"] and found["counts"] == {"relation": 3}
    assert found["examples"] and size(c.orient()) <= BUDGET


def test_spaces_with_both_encoders():
    spaces = [Space(f"space {place}", 2, document_encoder="d" * 300, query_encoder="q") for place in range(40)]
    c = Collection(DOCNOS, query_space=spaces[3])
    c = c.bind(**{f"q{place}": Vector([1, 0], space) for place, space in enumerate(spaces)})
    found = c.orient().to_dict()
    assert found["query_space"] == "space 3" and size(c.orient()) <= BUDGET
    assert found["spaces"][0]["document_encoder"] == "d" * 59 + "…" and found["spaces"][0]["query_encoder"] == "q"
    assert c.orient("q0").to_dict()["operand"]["space"]["document_encoder"] == "d" * 300


def test_vectors_of_topics_live_in_the_only_space_there_is():
    c = Collection(DOCNOS).bind(E=Matrix({"d1": [1, 0]}, SPACE))
    assert c.orient().to_dict()["query_space"] == c.query_space.name
    assert named(c, "query_vec")["reserved"]["space"] == "text"


def test_the_language_is_told_as_it_is():
    found = small().orient().to_dict()
    assert found["limits"] == {name: getattr(LIMITS, name) for name in ("characters", "nesting", "nodes", "steps")}
    said = ", ".join(found["grammar"]["operators"] + found["grammar"]["functions"])
    for key, operator in OPERATORS.items():
        assert (f"{key}(" if operator.is_function else operator.ascii) in said
        assert operator.unicode in ("", operator.ascii, found["grammar"]["signs"].get(operator.ascii))
    assert {known["name"] for known in found["reserved"]} == {"query", "query_vec", "now", "all", "input"}
    assert [k["bound"] for k in found["reserved"] if k["name"] == "now"] == [True]


def test_the_levels_of_the_operators_are_those_of_the_reader():
    """Of two levels the first binds tighter, which the printer shows by leaving the parentheses of the other order."""
    levels = small().orient().to_dict()["grammar"]["operators"]
    places = {key: place for place, level in enumerate(levels) for key in OPERATORS if f" {key} " in level}
    precedences = [OPERATORS[key].precedence for key in sorted(places, key=places.__getitem__)]
    assert precedences == sorted(precedences, reverse=True) and len(places) > 10


def test_the_engines_are_told_as_they_are():
    found = small().orient().to_dict()["engines"]
    assert list(found) == engines()
    for name, facts in found.items():
        assert set(facts["cannot"]) == EVERYTHING - engine(name).capabilities, name
        assert facts["certified"] == engine(name).certifies, name


def named(c, name):
    return orient_name(name, c._records, c.operands).to_dict()


def test_an_operator_by_its_name_or_sign():
    c = small()
    for key, operator in OPERATORS.items():
        found = named(c, key)["operator"]
        assert (found["name"], found["meaning"], found["example"]) == (key, operator.meaning, operator.example)
        assert found["engines"] == [name for name in engines() if key in engine(name).capabilities]
    assert named(c, "▷") == named(c, ">>") and named(c, "⊙")["operator"]["usage"] == "S * T"
    assert named(c, "rrf")["operator"]["options"] == {"k": "60", "depth": "100"}
    assert named(c, "rrf")["operator"]["signatures"] == ["S: relation, … -> relation"]


def test_a_name_of_the_collection_comes_before_a_sign_a_kind_and_a_pattern():
    c = Collection(DOCNOS).bind(**{"relation": {"d1": 1.0}, "r*": 1.0, "+": 2.0, "rest": 3.0})
    assert [named(c, name)["operand"]["kind"] for name in ("relation", "r*", "+")] == ["relation", "number", "number"]


def test_operands_of_a_kind_or_a_pattern():
    c = many(250)
    found = named(c, "relation")
    assert found["count"] == 254 and found["operands"][0]["name"] == "w"
    assert len(found["operands"]) + len(found["names"]) + found["left"] == 254
    found = named(c, "relation number 24?")
    assert [o["name"] for o in found["operands"]] == [f"relation number {place}" for place in range(240, 250)]
    assert (found["count"], found["left"], found["names"]) == (10, 0, [])
    assert named(c, "nothing*")["count"] == 0
    for pattern in ("relation", "*", "日本*"):
        answer = orient_name(pattern, c._records, c.operands)
        assert size(answer) <= BUDGET and len(str(answer)) <= BUDGET and answer._repr_html_()
    for name in ("lnag", 3, None, "mask "):
        with pytest.raises(BindingError, match="unknown_name"):
            named(c, name)


def answers():
    for c in (small(), many(30), vaswani(), Collection([]), Collection(["a"], name="x" * 5000)):
        yield c.orient()
        yield from (c.orient(name) for name in list(c.operands)[:40])
        yield from (orient_name(name, c._records, c.operands) for name in ("mmr", "&", "input", "query_vec", "*"))


def test_every_answer_is_as_the_schema_says():
    jsonschema.Draft202012Validator.check_schema(orient_schema())
    validator = jsonschema.Draft202012Validator(orient_schema())
    for answer in answers():
        validator.validate(answer.to_dict())
        assert not validator.is_valid({**answer.to_dict(), "more": 1})


def test_the_schema_refuses_what_is_no_answer():
    validator = jsonschema.Draft202012Validator(orient_schema())
    answer = small().orient().to_dict()
    for key in answer:
        assert not validator.is_valid({k: v for k, v in answer.items() if k != key}), key
    for place in range(len(answer["operands"])):
        for key in ("kind", "space"):
            broken = json.loads(json.dumps(answer))
            broken["operands"][place][key] = 7
            assert not validator.is_valid(broken)


def test_long_texts_are_cut_and_are_no_examples():
    long = "x" * 10_000
    c = Collection(DOCNOS).bind(S={"d1": 1.0}, lang={docno: long for docno in DOCNOS}, note=long, t=RecordedRetriever(
        "a table", {long: (("d1", 1.0),)}))  # fmt: skip
    assert size(c.orient()) < 4000
    for name in c.operands:
        assert len(json.dumps(c.orient(name).to_dict())) < 1000
    assert facts_of(c, "lang")["values"] == [["x" * 39 + "…", 4]]


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
        "top(10, minmax(input)", "rrf(S, …, k=60, depth=100)", "sqlite (not mmr), not certified", "1 query",
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


def test_a_notebook_has_the_language_folded_and_nothing_is_shown_twice(capsys, monkeypatch):
    page = small().orient()._repr_html_()
    assert page.index("<table>") < page.index("<details>") < page.index("rrf(S")
    assert page.count("<details>") == page.count("</details>") == 1 and "<code>top(10, E @ q1)</code>" in page
    # In a notebook, too, a printed form is made and not displayed.
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert "rrf(S" in repr(small().orient())
    assert capsys.readouterr() == ("", "")
