"""Programs as transformers."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from programs import described, programs
from stages import RESULTS, SMALL, TOPICS

from pyterrier_alg.algebra import AlgebraError, EvaluationError, Name, ProgramError, UnsupportedError, check, parse
from pyterrier_alg.algebra.formula import operand_names
from pyterrier_alg.algebra.restricting import restrict
from pyterrier_alg.collection import QueryVectors, vaswani
from pyterrier_alg.collection.operands import MaskOperand
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines import registry
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.transformers import Bound, Program, compile_formula, engine, engines
from pyterrier_alg.transformers.sources import OneScope


@pytest.mark.parametrize("name", engines())
def test_every_engine_gives_the_same_frame(name):
    expected = pd.DataFrame(
        {
            "qid": ["2", "2", "1", "1"],
            "query": ["valve", "valve", "wave guide", "wave guide"],
            "docno": ["é", "d10", "d1", "d10"],
            "score": [2.0, 0.5, 1.0, 0.5],
            "rank": [0, 1, 0, 1],
        }
    )
    pd.testing.assert_frame_equal(Program("top(2, E @ query)", SMALL, engine=name)(TOPICS), expected)


def test_text_expression_and_formula_are_one_program():
    text = "top(2, m  ▷ 0.5 (E @ query))"
    expression = parse(text).result
    programs = [Program(p, SMALL) for p in (text, expression, parse(text), parse(text).ascii)]
    assert len(set(programs)) == 1 and all(p == programs[0] for p in programs)
    assert repr(programs[0]) == "Program('top(2, m >> (0.5 * (E @ query)))', small)"
    assert (
        programs[0]
        != Program(text, SMALL, engine="pipeline")
        != Program(text, SMALL.bind(extra=1.0), engine="pipeline")
    )
    assert pickle.loads(pickle.dumps(programs[1])) == programs[0]


def test_all_faults_at_once_and_before_any_topic():
    with pytest.raises(ProgramError) as caught:
        Program("top(2, m + nosuch * E)", SMALL)
    assert len(caught.value.diagnostics) >= 2
    with pytest.raises(AlgebraError, match="did you mean vectorised"):
        Program("w", SMALL, engine="vectorized")


def test_one_query_by_its_text_or_as_a_topic():
    program = Program("top(1, E @ query)", SMALL)
    assert program.run("valve").to_dict() == {"é": 2.0}
    assert program.run(Topic("7", "wave guide")).to_dict() == {"d1": 1.0}
    assert program.run("valve").gap_check.gap_at_cut == 1.5
    assert Program("top(1, E @ q1)", SMALL).run().to_dict() == {"é": 4.0}
    with pytest.raises(ProgramError, match="query"):
        program.run()


def test_query_vectors():
    program = Program("E @ query_vec", SMALL)
    topics = pd.DataFrame({"qid": ["1"], "query_vec": [np.array([0.0, 1.0])]})
    assert program(topics)["docno"].tolist() == ["é", "d10", "d1"]
    with pytest.raises(pt.validate.InputValidationError) as caught:
        program(TOPICS)
    assert caught.value.modes[0].missing_columns == ["query_vec"]


@pytest.mark.parametrize("name", engines())
def test_over_results_it_re_ranks_them(name):
    expected = pd.DataFrame(
        {
            "qid": ["1", "1", "2"],
            "query": ["wave guide", "wave guide", "valve"],
            "docno": ["d1", "d10", "é"],
            "title": ["one", "ten", "e"],
            "score": [1.5, 0.25, 2.0],
            "rank": [0, 1, 0],
        }
    )
    # Of query 1 the pool is d1, d2, d10, of which d2 has no row; of query 2 it is one record, the largest of its pool.
    program = Program("0.5 (E @ query) + minmax(input)", SMALL, engine=name)
    pd.testing.assert_frame_equal(program(RESULTS), expected)
    assert program(RESULTS.sample(frac=1, random_state=1))["docno"].tolist() in (["d1", "d10", "é"], ["é", "d1", "d10"])


def test_a_pool_needs_no_scores_where_the_program_does_not_name_them():
    expected = Program("top(1, minmax(E @ query))", SMALL)(RESULTS)
    assert expected["docno"].tolist() == ["d1", "é"] and expected["score"].tolist() == [1.0, 1.0]
    for frame in (RESULTS.drop(columns=["score", "rank"]), RESULTS.assign(score=np.nan), RESULTS.assign(score="high")):
        pd.testing.assert_frame_equal(Program("top(1, minmax(E @ query))", SMALL)(frame), expected)
    with pytest.raises(AlgebraError, match="non_finite"):
        Program("input", SMALL)(RESULTS.assign(score=np.nan))
    with pytest.raises(AlgebraError, match="unknown_docno.*nobody"):
        Program("E @ query", SMALL)(RESULTS.assign(docno=["nobody", "d1", "é", "d10"]))
    with pytest.raises(AlgebraError, match="duplicate_docno"):
        Program("E @ query", SMALL)(RESULTS.assign(docno="d1"))


def test_a_program_that_names_its_input_needs_results():
    program = Program("top(2, minmax(input) + 0.5 (E @ query))", SMALL)
    with pytest.raises(pt.validate.InputValidationError) as caught:
        program(TOPICS)
    assert caught.value.modes[0].missing_columns == ["docno", "score"]
    assert pt.inspect.transformer_inputs(program) == [["qid", "docno", "query", "score"]]
    assert "Program" in pt.schematic.draw(Bound(SMALL, "w") >> program)


def test_one_pool_by_hand():
    program = Program("top(2, minmax(input) + 0.5 (E @ query))", SMALL)
    assert program.run(Topic("1", "valve", input={"d1": 3.0, "é": 1.0})).to_dict() == {"d1": 1.0, "é": 1.0}
    assert Program("w", SMALL).run(Topic("1", pool=["é", "d10"])).to_dict() == {"é": 1.0}
    assert Program("w", SMALL).run(Topic("1", pool=[])).to_dict() == {}
    assert repr(program.over_pool()) == ("top(2, minmax(input) + 0.5 * (`input docnos` >> (E @ query)))")
    assert pickle.loads(pickle.dumps(program.over_pool())) == program.over_pool()
    taken = Program("`input docnos` >> w", SMALL.bind(**{"input docnos": {"d1"}}))
    assert taken.run(Topic("1", pool=["d1", "d2"])).to_dict() == {"d1": 0.5}


def test_vectors_see_the_whole_collection():
    # The centroid is of d1 and é, wherever the program runs: a score does not hang on the pool.
    program = Program("E @ centroid(E, support(lang) & (~ids('d10')))", SMALL)
    whole = dict(zip(*program(TOPICS)[["docno", "score"]].to_dict("list").values(), strict=True))
    found = program(RESULTS)
    assert found["docno"].tolist() == ["d10", "d1", "é"] and found["score"].tolist() == [
        whole[d] for d in found["docno"]
    ]


def test_scores_do_not_depend_on_the_pool():
    topics = pd.DataFrame({"qid": ["1"], "query": ["wave guide"]})
    program = Program("(E @ query) * log1p(length)", vaswani())
    whole = program(topics)
    pool = whole.sample(200, random_state=3)[["qid", "query", "docno"]]
    kept = whole[whole["docno"].isin(pool["docno"])]
    assert program(pool)[["docno", "score"]].to_numpy().tolist() == kept[["docno", "score"]].to_numpy().tolist()


def test_columns_of_topics_that_it_does_not_name_may_be_anything():
    two = SMALL.bind(qv=QueryVectors({"1": [1.0, 0.0]}, E))
    odd = TOPICS.assign(query_vec=[np.ones(5), None])
    pd.testing.assert_frame_equal(Program("E @ query", two)(odd)[["docno", "score"]],
                                  Program("E @ query", SMALL)(TOPICS)[["docno", "score"]])  # fmt: skip
    with pytest.raises(AlgebraError, match="no_query_vector.*'2'"):
        Program("E @ qv", two)(TOPICS)
    assert Program("E @ qv", two)(TOPICS.iloc[1:])["docno"].tolist() == ["d1", "d10", "é"]


def test_a_query_may_have_no_results():
    assert Program("bm25(query)", SMALL)(TOPICS)["qid"].tolist() == ["1", "1"]
    assert Program("run", SMALL)(TOPICS[["qid"]])["docno"].tolist() == ["d2", "d1"]


E = SMALL.operands["E"].space


class Counting(Engine):
    """Counts what it is asked to run."""

    name = "counting"

    def __init__(self):
        self.count = 0

    def evaluate(self, formula, scope):
        self.count += 1
        return engine("vectorised").evaluate(formula, scope)


@pytest.mark.parametrize(
    ("text", "times"), [("top(1, w + E @ q1)", 1), ("E @ query", 2), ("w + run", 2), ("bm25('valve')", 1)]
)
def test_what_no_query_changes_is_run_once(text, times, monkeypatch):
    counting = Counting()
    monkeypatch.setattr("pyterrier_alg.transformers.program.engine", lambda name: counting)
    found = Program(text, SMALL)(TOPICS)
    assert counting.count == times and set(found["qid"]) <= {"1", "2"}


def test_cut_by_pyterrier_equals_top():
    pd.testing.assert_frame_equal(
        (Program("E @ query", SMALL) % 2)(TOPICS), Program("top(2, E @ query)", SMALL)(TOPICS)
    )
    pd.testing.assert_frame_equal(
        (Program("E @ query", SMALL) % 2).compile()(TOPICS), Program("top(2, E @ query)", SMALL)(TOPICS)
    )


def test_faults_of_the_data_are_told_with_their_place():
    with pytest.raises(EvaluationError, match="nonpositive_maximum") as caught:
        Program("w + maxnorm(w - 2)", SMALL)(TOPICS)
    assert "^" in str(caught.value)


def test_drawn_with_its_text():
    drawing = pt.schematic.transformer_schematic(Program("top(2, 0.5 (E @ query))", SMALL))
    assert drawing["settings"]["formula"] == "top(2, 0.5 (E @ query))" and drawing["input_columns"] == ["qid", "query"]
    assert "Program" in pt.schematic.draw(Program("w", SMALL))


def test_an_experiment_over_vaswani():
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["wave guide", "valve amplifier"]})
    collection = vaswani()
    programs = [Program("top(10, E @ query)", collection), Program("top(10, E @ query - 0.5 * (E @ q2))", collection)]
    qrels = programs[0](topics).assign(label=1)[["qid", "docno", "label"]]
    found = pt.Experiment(programs, topics, qrels, ["P_10", "recip_rank"], names=["a", "b"], validate="error")
    assert found.iloc[0].tolist() == ["a", 1.0, 1.0] and 0 < found.loc[1, "P_10"] < 1


def test_engines_are_made_once_by_name():
    assert engine("sqlite") is engine("sqlite") and engine("pipeline").name == "pipeline"
    assert [engine(name).name for name in engines()] == list(registry._HOMES)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(case=programs(excluded=("curved", "decay")), seed=st.integers(0, 5))
def test_a_compiled_pipeline_re_ranks_as_the_program_does(case, seed):
    formula, scope = case
    assume("input" not in operand_names(formula))
    pool = [docno for i, docno in enumerate(scope.docnos.tolist()) if (i * 7 + seed) % 3]
    assume(pool)  # A frame without rows has no query to run for.
    frame = pd.DataFrame({"qid": ["1"] * len(pool), "query": scope.operands["query"].value, "docno": pool})
    frame = frame.astype({"qid": "str", "query": "str", "docno": "str"})
    mask = MaskOperand(np.array([scope.position(docno) for docno in pool], dtype=np.int64))
    scope = replace(scope, operands={**scope.operands, "the pool": mask})
    try:
        over_pool = restrict(formula, Name("the pool"), check(formula, scope.bindings).types)
        pipeline = compile_formula(formula, OneScope(scope))
    except ProgramError:
        assume(False)
    except UnsupportedError:
        assume(False)
    note(described(over_pool, scope))

    def outcome(run):
        try:
            return run()
        except AlgebraError as error:
            return error.code

    expected = outcome(lambda: engine("definition").run(over_pool, scope).to_dict())
    found = outcome(lambda: dict(zip(*pipeline(frame)[["docno", "score"]].to_dict("list").values(), strict=True)))
    assert found == expected


def test_a_pool_may_be_an_iterator():
    topic = Topic("1", pool=(docno for docno in ("é", "d1")))
    for _ in range(2):
        assert Program("w", SMALL).run(topic).to_dict() == {"é": 1.0, "d1": 0.5}


def test_a_pool_beside_an_input_is_the_pool_of_both():
    topic = Topic("1", input={"d1": 1.0, "d2": 3.0}, pool=["d2", "é"])
    assert Program("input", SMALL).run(topic).to_dict() == {"d2": 3.0}
    assert Program("fill(0, input)", SMALL).run(topic).to_dict() == {"d2": 3.0, "é": 0.0}


def test_what_fails_says_for_which_query():
    topics = pd.DataFrame({"qid": ["1", "x9", "3"], "query": ["wave guide", "?", "valve amplifier"]})
    with pytest.raises(EvaluationError, match=r"zero_vector: .*\(qid 'x9'\)"):
        Program("E @ query", vaswani())(topics)
