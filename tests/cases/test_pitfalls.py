"""The pitfalls in `pitfalls.txt` on every engine; texts that must arrive as they are; results without records."""

import math
import re
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from every_engine import ENGINES

from pyterrier_alg import Program
from pyterrier_alg.algebra import Distance, ProgramError, Space, parse
from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.collection import Collection, Column, Mask, Matrix, Retriever, Vector
from pyterrier_alg.collection.collection import Topic
from pyterrier_alg.evaluation import StrictScores, experiment, tie_bounds, write_run

CURVED = re.compile(r"\b(exp|log1p|sigmoid|softmax|decay)\(")


class Encoder:
    """Texts to vectors, from a table."""

    def __init__(self, table):
        self.table, self.identity = table, "table"

    def encode(self, text):
        return np.float32(self.table[text])


class Search:
    """The same ranking for every text, cut at a depth; it remembers the texts."""

    identity = "table"
    default_depth = 1000

    def __init__(self, scores):
        self.scores, self.texts = scores, []

    def search(self, text, depth):
        self.texts.append(text)
        return dict(sorted(self.scores.items(), key=lambda item: (-item[1], item[0]))[:depth])


def unit(values):
    return (np.array(values, dtype=np.float64) / math.sqrt(sum(x * x for x in values))).tolist()


def matrix(distance, default):
    def make(rows, space=default, dimensions=None, encoder=None, **settings):
        first = next(iter(rows.values()), ()) if isinstance(rows, dict) else ()
        made = Space(space, len(first) if dimensions is None else dimensions, distance)
        return Matrix(rows, space=made, encoder=Encoder(encoder) if encoder else None, **settings)

    return make


def search(scores):
    return Retriever(Search(scores))


def vector(values, space="words"):
    """Resolved when all matrices are known."""
    return lambda spaces: Vector(values, spaces[space])


NAMES = {
    "unit": unit, "inner": matrix(Distance.INNER_PRODUCT, "words"), "cosine": matrix(Distance.COSINE, "words"),
    "l2": matrix(Distance.L2, "flat"), "vector": vector, "search": search, "date": date, "pd": pd,
    "sums": lambda *terms: math.fsum(terms),
}  # fmt: skip


@dataclass
class Case:
    title: str
    bindings: dict = field(default_factory=dict)
    refused: str = ""
    programs: list = field(default_factory=list)

    def collection(self, turned=False):
        """The collection; `turned`, with all that is bound given in the opposite order."""
        bound = {name: eval(text, dict(NAMES)) for name, text in self.bindings.items()}
        docnos = bound.pop("docnos", None)
        if docnos is None:
            docnos = dict.fromkeys(d for value in bound.values() for d in keys(value))
        spaces = {value.space.name: value.space for value in bound.values() if isinstance(value, Matrix)}
        bound = {name: operand(value, spaces, turned) for name, value in bound.items()}
        if turned:
            docnos, bound = list(docnos)[::-1], dict(list(bound.items())[::-1])
        return Collection(docnos).bind(**bound)


def keys(value):
    value = value.rows if isinstance(value, Matrix) else value.source.scores if isinstance(value, Retriever) else value
    return list(value) if isinstance(value, dict | set) else []


def operand(value, spaces, turned):
    if callable(value):
        return value(spaces)
    if isinstance(value, Matrix) and isinstance(value.rows, dict):
        settings = {"normalise": value.normalise, "drop_zero_rows": value.drop_zero_rows}
        return Matrix(turn(value.rows, turned), space=value.space, encoder=value.encoder, **settings)
    if isinstance(value, set):
        return Mask(list(turn(dict.fromkeys(sorted(value, key=str)), turned)))
    if isinstance(value, dict) and any(isinstance(x, str | date) for x in value.values()):
        return Column(turn(value, turned))
    return turn(value, turned) if isinstance(value, dict) else value


def turn(table, turned):
    return dict(list(table.items())[:: -1 if turned else 1])


def read_cases():
    cases = []
    for line in Path(__file__).with_name("pitfalls.txt").read_text("utf-8").split("\n== ", 1)[1].splitlines():
        word, _, rest = line.partition(" ")
        if not cases or word == "==":
            cases.append(Case(line.removeprefix("== ")))
        elif word == ">":
            cases[-1].programs.append((rest.replace(" ⏎ ", "\n"), []))
        elif word == "refused":
            cases[-1].refused = rest
        elif cases[-1].programs and line:
            cases[-1].programs[-1][1].append((word, rest))
        elif line:
            name, _, text = line.partition(" = ")
            cases[-1].bindings[name.strip("`")] = text
    return cases


CASES = read_cases()
PROGRAMS = [case for case in CASES if case.programs]
REFUSED = [case for case in CASES if case.refused]
#: A case's collection is bound once, for all engines.
COLLECTIONS = {case.title: case.collection() for case in PROGRAMS}


def title(case):
    return case.title


def hold(word, rest, text, found):
    """Hold a result to one line of a case, as closely as the engine says that it can be held."""
    exact = found.certified or found.error_bound == 0
    match word:
        case "gives":
            wanted, got = eval(rest, dict(NAMES)), list(found)
            assert len(got) == len(wanted)
            if exact and not CURVED.search(text):
                assert got == list(wanted.items())
            elif "top(" not in text:
                assert found.to_dict() == pytest.approx(wanted, rel=1e-15, abs=found.error_bound)
            scores = [score for _, score in got]
            assert scores == pytest.approx(list(wanted.values()), rel=1e-15, abs=found.error_bound)
        case "order":
            if exact:
                assert found.docnos.tolist() == [d.replace("␠", " ") for d in rest.split()]
        case "count":
            assert len(found) == int(rest)
        case "verdict":
            if exact:
                assert found.gap_check.verdict == rest
        case "prints":
            assert parse(text).ascii == rest
            assert parse(rest) == parse(text)
        case "warns" | "calm":
            codes = {warning.code for warning in found.warnings}
            assert (rest in codes) == (word == "warns")
        case _:
            raise AssertionError(word)


@pytest.mark.parametrize("case", PROGRAMS, ids=title)
@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_does_what_the_case_says(name, case):
    scope = COLLECTIONS[case.title].at()
    for text, lines in case.programs:
        fault = next((rest for word, rest in lines if word == "error"), None)
        if fault is not None:
            code, _, place = fault.partition(" ")
            with pytest.raises(ProgramError) as caught:
                ENGINES[name].run(parse(text), scope)
            first = caught.value.diagnostics[0]
            assert first.code == code
            # A stage of a pipeline knows where it stands, not where its parts do.
            assert place.strip("‹›") in text[first.span.start : first.span.stop]
            continue
        found = ENGINES[name].run(parse(text), scope)
        assert list(found) == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        for word, rest in lines:
            hold(word, rest, text, found)


@pytest.mark.parametrize("case", [case for case in PROGRAMS if "P08" not in case.title], ids=title)
def test_the_order_of_binding_changes_nothing(case):
    assert case.collection(turned=True) == COLLECTIONS[case.title]


@pytest.mark.parametrize("case", REFUSED, ids=title)
def test_what_cannot_be_meant_is_refused_when_it_is_bound(case):
    code, _, words = case.refused.partition(" ")
    with pytest.raises(BindingError) as caught:
        case.collection()
    assert caught.value.code == code
    assert words in str(caught.value)


def test_every_pitfall_of_the_algebra_has_a_case():
    assert {case.title[:3] for case in CASES} == {f"P{i:02d}" for i in range(1, 22)}


TEXTS = [
    "recent changes: top(10) suppress:x − @ 'quoted' ⊙",
    'm"; DROP TABLE docs;--',
    "back\\slash \\n \\u0041 ` # no comment",
    "e\u0301 é 🙂 \u200b \ufeff line\nbreak\ttab\x00nul",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ENGINES)
def test_a_text_arrives_as_it_is(name, text):
    found = Search({"a": 1.0})
    c = Collection(["a"]).bind(bm25=Retriever(found), t=text)
    quoted = Program(parse("bm25(t)").result, c).formula
    literal = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
    literal = literal.replace("\x00", "\\u0000")
    for program in (quoted, parse(f"bm25({literal})"), parse(parse(f"bm25({literal})").ascii), parse("bm25(query)")):
        found.texts.clear()
        ENGINES[name].run(program, c.at(Topic("1", text)))
        assert found.texts == [text]


#: Programs that find nothing.
NOTHING = ["m >> S", "top(3, bm25(query))", 'ids("a") >> (m >> S)', "rrf(bm25(query), m >> S)", "minmax(m >> S)"]


@pytest.mark.parametrize("engine", ["vectorised", "pipeline", "sqlite", "duckdb"])
def test_results_without_records_have_their_usual_columns(engine):
    c = Collection(["a", "b"]).bind(S={"a": 1.0, "b": 2.0}, m=Mask(set()), bm25=Retriever(Search({})))
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]})
    usual = Program("S", c, engine=engine)(topics)
    for text in NOTHING:
        found = Program(text, c, engine=engine)(topics)
        assert len(found) == 0
        assert found.dtypes.to_dict() == usual.dtypes.to_dict()
        assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]


@pytest.mark.parametrize("engine", ["vectorised", "pipeline", "sqlite", "duckdb"])
@pytest.mark.parametrize(("relevant", "expected"), [("a", 1.0), ("b", 0.0)])
def test_p02_what_is_measured_is_the_ranking_that_was_returned(engine, relevant, expected, tmp_path):
    c = Collection(["a", "b", "c"]).bind(S={"b": 1, "a": 1, "c": 0.5})
    topics = pd.DataFrame({"qid": ["1"], "query": ["x"]})
    qrels = pd.DataFrame({"qid": ["1"] * 2, "docno": ["a", "b"], "label": [int(relevant == d) for d in "ab"]})
    program = Program("top(2, S)", c, engine=engine)
    returned = program(topics)
    # People see the scores as they are.
    assert list(zip(returned["docno"], returned["score"], strict=True)) == [("a", 1.0), ("b", 1.0)]
    assert experiment([program], topics, qrels, ["P_1"])["P_1"].tolist() == [expected]
    pipeline = pt.Experiment([program >> StrictScores()], topics, qrels, ["P_1"], names=["p"], validate="error")
    assert pipeline["P_1"].tolist() == [expected]
    # As it is, evaluation takes tied docnos in descending order, whatever the ranks say.
    assert pt.Experiment([program], topics, qrels, ["P_1"], names=["p"])["P_1"].tolist() == [1 - expected]
    write_run(returned, tmp_path / "run.txt")
    written = ir_measures.calc_aggregate(
        [ir_measures.P @ 1],
        qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"}),
        ir_measures.read_trec_run(str(tmp_path / "run.txt")),
    )
    assert list(written.values()) == [expected]
    bounds = tie_bounds(returned, qrels, ["P_1"]).means
    assert bounds[["least", "greatest"]].to_numpy().tolist() == [[0.0, 1.0]]
