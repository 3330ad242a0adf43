"""The pipeline engine: held to the definition, bit for bit, and what its pipelines look like."""

import inspect
import sys

import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given, settings
from programs import described, programs
from vectorised_tables import Retriever, Tables

from pyterrier_alg.algebra import EvaluationError, Formula, Name, ProgramError, parse
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.engine import EVERYTHING
from pyterrier_alg.transformers import PipelineEngine, compile_formula
from pyterrier_alg.transformers.sources import OneScope

ENGINE, DEFINITION = PipelineEngine(), DefinitionEngine()
TABLES = Tables(["d1", "d2", "d3"])
SCOPE = TABLES.scope(
    S=TABLES.relation({"d1": 1.0, "d2": 0.1}),
    T=TABLES.relation({"d2": 0.2, "d3": 3.0}),
    w=TABLES.relation({"d1": 0.5, "d2": 0.3, "d3": 0.0}),
    m=TABLES.mask(["d1", "d2"]),
    E=TABLES.matrix({"d1": [1.0, 2.0], "d3": [0.5, 0.0]}),
    lang=TABLES.column({"d1": "en", "d3": "de"}),
    bm25=Retriever({"d1": 3.0, "d2": 2.0, "d3": 1.0}),
    alpha=0.5,
    t="a",
)


def outcome(engine, formula, scope):
    """Bits and gap check, or the code of the error."""
    try:
        found = engine.run(formula, scope)
    except ProgramError as error:
        return error.code
    return [(docno, score.hex()) for docno, score in found], found.gap_check


@settings(max_examples=150, deadline=None)
@given(programs())
def test_equals_the_definition(drawn):
    formula, scope = drawn
    assert outcome(ENGINE, formula, scope) == outcome(DEFINITION, formula, scope), described(formula, scope)


PROGRAMS = [
    "1 + S - 2 * w + T - 1 + w",
    "2 - S - w",
    "2 * S * 3 * w * alpha",
    "S - w - w",
    "w + (S - (w * (S + w)))",
    "a = S\nb = a + a\nb * b - a",
    "p = m & support(w)\nq = p | support(T)\nq >> (E @ centroid(E, p))",
    "E @ (centroid(E, m & support(w)) - centroid(E, support(S)))",
    "p = m & support(w)\n(m & support(w)) >> (E @ centroid(E, m & support(w)))",
    "u = unit(row(E, 'd1'))\nv = u + u\nE @ (v - u) + E @ v",
    "c = alpha * 2\nclip(-c, c, S) + c * w",
    "x = E\ny = lang\nz = bm25\nt2 = 'de'\nper(1, y, closeness(x, row(x, 'd1'))) + z(t2, 3)",
    "k = top(2, w)\nk",
    "x = top(1, w)\ny = x\ny",
    "rrf(S, T, bm25(t), k=0, depth=2)",
    "mmr(2, w, E)",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_equals_the_definition_for(text):
    formula = parse(text)
    found = outcome(ENGINE, formula, SCOPE)
    assert found == outcome(DEFINITION, formula, SCOPE) and not isinstance(found, str)


PIPELINES = [
    ("top(2, m >> (S - alpha * T))",
     "(Restrict(BoundMask(scope, 'm'), Minus(Bound(scope, 'S'), (Bound(scope, 'T') >> Scale(0.5)))) >> Top(2))"),
    ("S + T + w", "Plus(Bound(scope, 'S'), Bound(scope, 'T'), Bound(scope, 'w'))"),
    ("S - T + w", "Plus(Bound(scope, 'S'), (Bound(scope, 'T') >> Negate()), Bound(scope, 'w'))"),
    ("isin(lang, 'en') >> (1 - S)",
     "Restrict((Field(scope, 'lang') >> IsIn('en', column='value')), (Bound(scope, 'S') >> SubtractFrom(1.0)))"),
    ("p = support(bm25(t, 2))\np >> w",
     "(Remember('p', (Retrieve(scope, 'bm25', 't', depth=2) >> Support())) >> "
     "Restrict(Recall('p', scored=False), Bound(scope, 'w')) >> Forget())"),
    ("minmax(bm25(t)) + bm25(t)",
     "(Remember('part 1', Retrieve(scope, 'bm25', 't')) >> Plus((Recall('part 1') >> MinMax()), Recall('part 1')) >> "
     "Forget())"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PIPELINES)
def test_pipelines(text, expected):
    assert repr(compile_formula(parse(text), OneScope(SCOPE))) == expected


def test_what_is_written_twice_is_computed_once():
    retriever = Retriever({"d1": 3.0, "d2": 2.0})
    scope = TABLES.scope(bm25=retriever, t="a")
    ENGINE.run(parse("pool = support(bm25(t, 2))\npool >> minmax(bm25(t, 2)) + bm25(t, 2) * bm25(t, 2)"), scope)
    assert retriever.asked == [("a", 2)]


def test_a_pipeline_can_be_inspected_and_drawn():
    pipeline = compile_formula(parse("p = m & support(w)\ntop(1, p >> (S + 1))"), OneScope(SCOPE))
    assert pt.inspect.transformer_inputs(pipeline)[0] == ["qid"]
    assert pt.inspect.transformer_outputs(pipeline, ["qid", "query"]) == ["qid", "query", "docno", "score", "rank"]
    assert all(label in pt.schematic.draw(pipeline) for label in ("Remember p", "Recall p", "+ 1.0", "Top 1"))


def test_nothing_recurses():
    limit = sys.getrecursionlimit()
    depth = len(inspect.stack(0))
    sys.setrecursionlimit(depth + 320)
    try:
        for formula in (
            parse(" + ".join(["w"] * 400)),
            parse(" - 1 + ".join(["w"] * 100)),
            parse("m >> (" * 100 + "w" + ")" * 100),
            parse("(m & (" * 100 + "m" + "))" * 100 + " >> w"),
            parse("abs(" * 400 + "w" + ")" * 400),
            parse("(" * 100 + "w" + " + 1) * w" * 100),
            parse("s0 = w\n" + "".join(f"s{i + 1} = s{i} * s{i}\n" for i in range(100)) + "s100"),
        ):
            assert ENGINE.run(formula, SCOPE) == DEFINITION.run(formula, SCOPE)
    finally:
        sys.setrecursionlimit(limit)


def test_shared_parts_that_python_built_stay_linear():
    expression = Name("w")
    for _ in range(60):
        expression = expression * 0.5 + expression * 0.5
    formula = Formula((), expression, "w")
    assert ENGINE.evaluate(formula, SCOPE).to_dict() == {"d1": 0.5, "d2": 0.3, "d3": 0.0}


def test_faults_show_the_program():
    with pytest.raises(EvaluationError) as caught:
        ENGINE.run(parse("S + maxnorm(w - 2)"), SCOPE)
    assert caught.value.code == "nonpositive_maximum" and caught.value.source == "S + maxnorm(w - 2)"
    with pytest.raises(EvaluationError) as caught:
        ENGINE.run(parse("1e308 * w + (1e308 * w + 1e308 * w) * 1e9"), SCOPE)
    assert "object at" not in str(caught.value) and "'d1' (qid '1')" in str(caught.value) and "^" in str(caught.value)
    with pytest.raises(EvaluationError, match="row") as caught:
        ENGINE.run(parse("S + E @ row(E, 'd2')"), SCOPE)
    assert caught.value.diagnostics[0].span is not None


def test_it_can_do_everything():
    assert ENGINE.capabilities == EVERYTHING


def test_many_topics_in_one_call():
    frame = pd.DataFrame({"qid": ["b", "a"]})
    found = compile_formula(parse("top(1, S)"), OneScope(SCOPE))(frame)
    assert found[["qid", "docno"]].to_numpy().tolist() == [["b", "d1"], ["a", "d1"]]
