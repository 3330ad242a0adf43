"""Sessions: results as operands, content addresses, what is stale and what is not."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from holding import FEW
from hypothesis import given
from programs import programs

from pyterrier_alg.algebra import AlgebraError, BindingError, EvaluationError, ProgramError, Space
from pyterrier_alg.algebra.meaning import steps as defined_steps
from pyterrier_alg.collection import Collection, Matrix, QueryVectors, Run, Topic, UnknownNameError
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session import Eligible, Session, StaleResultError
from pyterrier_alg.session.addressing import relation_digest
from pyterrier_alg.session.steps import Steps
from pyterrier_alg.transformers import Program

SPACE = Space("words", 2)
SCORES = {"d1": 1.0, "d2": 2.0, "d3": 4.0, "d4": 4.0}


def collection(**more):
    given = {
        "S": SCORES,
        "w": {"d1": 5.0, "d2": 0.5, "d3": 0.1},
        "m": {"d1", "d2"},
        "lang": {"d1": "en", "d2": "de"},
        "alpha": 0.5,
        "E": Matrix([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], space=SPACE),
        "run": Run(pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d2"], "score": [1.0, 3.0]})),
    }
    return Collection(["d1", "d2", "d3", "d4"], name="tiny").bind(**{**given, **more})


class Counting:
    """A live retriever that answers as it is told to."""

    identity = "counting"
    default_depth = 2

    def __init__(self):
        self.scores, self.calls = {"d1": 1.0}, 0

    def search(self, text, depth):
        self.calls += 1
        return self.scores


def test_a_result_is_what_the_program_gives_and_says_what_it_was_made_of():
    result = Session(collection()).run("top(2,  alpha*S)", name="pool")
    assert (result.handle, result.name, result.formula.ascii) == ("r1", "pool", "top(2, alpha * S)")
    assert list(result.relation) == [("d3", 2.0), ("d4", 2.0)]
    assert result.gap_check.verdict == "exact_tie"
    assert [name for name, _ in result.operands] == ["alpha", "S"]
    assert result.digest == relation_digest(result.relation)
    assert result.seconds > 0


def test_results_are_operands_of_later_programs():
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    assert session.run("r1 + pool").relation.to_dict() == {"d3": 8.0, "d4": 8.0}
    assert session.run("r2 - S").relation.to_dict() == {"d3": 4.0, "d4": 4.0}
    assert list(session.results) == ["r1", "r2", "r3"]
    assert session.names == {"pool": "r1"}
    assert "pool" in session.collection and "r3" in session.collection
    assert session.orient("r1").to_dict()["operand"]["covers"] == 2


def test_a_result_bound_by_the_session_is_what_binding_it_by_hand_makes():
    session = Session(collection())
    result = session.run("S - 3")
    by_hand = collection(r1=result.relation)
    assert session.collection.digest == by_hand.digest


def test_the_same_program_over_the_same_operands_is_the_same_result():
    session = Session(collection())
    first, again = session.run("top(2, S)"), session.run("top( 2,S )", name="pool")
    assert (first.handle, again.handle, len(session)) == ("r1", "r1", 1)
    assert (first.name, again.name, session["pool"].handle) == (None, "pool", "r1")
    assert session.run("top(3, S)").handle == "r2"


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ({"w": {"d1": 7.0}}, True),
        ({"S": {**SCORES, "d1": 0.0}}, False),
        ({"S": dict(reversed(SCORES.items()))}, True),
    ],
    ids=["an operand that it does not name", "an operand", "the order of binding"],
)
def test_equal_is_what_has_the_same_content_address(change, equal):
    one, other = (Session(c).run("top(2, S)") for c in (collection(), collection(**change)))
    assert (one == other) is equal
    assert (hash(one) == hash(other)) is equal
    assert (one.address == other.address) is equal


def test_other_programs_records_and_queries_have_other_addresses():
    session = Session(collection())
    bigger = Session(Collection(["d1", "d2", "d3", "d4", "d5"]).bind(S=SCORES))
    results = [session.run("top(2, S)"), session.run("top(3, S)"), bigger.run("top(2, S)")]
    results += [session.run("run", topic=Topic(qid)) for qid in ("1", "2", "3")]
    assert len({result.address for result in results}) == len(results)


def test_a_program_without_a_query_is_equal_for_all_of_them_and_keeps_its_qid():
    session = Session(collection())
    one, other = session.run("S", topic=Topic("1", "a")), session.run("S", topic=Topic("2", "b"))
    assert one == other and one.handle != other.handle
    assert other.to_frame()["qid"].unique().tolist() == ["2"]


def test_engines_that_certify_share_an_address_and_others_do_not():
    session = Session(collection())
    program = "top(2, E @ row(E, 'd3'))"
    exact, other = (session.run(program, engine=engine) for engine in ("vectorised", "definition"))
    raw = session.run(program, engine="sqlite")
    assert exact == other and exact.handle != other.handle
    assert not raw.relation.certified and raw != exact


def test_a_live_retriever_is_asked_again_and_its_answer_is_part_of_the_address():
    retriever = Counting()
    session = Session(collection(live=retriever), warnings=False)
    first = session.run("live('a')")
    assert session.run("live('a')") == first and retriever.calls == 2 and len(session) == 1
    retriever.scores = {"d2": 1.0}
    assert session.run("live('a')") != first and len(session) == 2


def test_what_is_bound_again_makes_results_of_it_stale():
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    session.run("pool * w")
    session.run("w")
    session.rebind(S={"d1": 9.0})
    assert session.stale("r1") == session.stale("pool") == session.stale("r2") == ("S",)
    assert session.stale("r3") == ()
    for program in ("pool", "r1", "r2 + S", "minmax(r1)"):
        with pytest.raises(StaleResultError) as error:
            session.run(program)
        assert error.value.code == "stale" and error.value.changed == ("S",)
    assert session.run("r3 + S").relation.to_dict() == {"d1": 14.0}
    for refused in (
        lambda: session.inspect("r2"),
        lambda: session.join("pool", "lang"),
        lambda: session.join("r3", "r1"),
    ):
        with pytest.raises(StaleResultError):
            refused()


def test_a_stale_result_stays_what_it_was():
    session = Session(collection())
    result = session.run("pool = m >> S\ntop(1, pool)")
    session.rebind(S={"d1": 9.0})
    assert result.relation.to_dict() == {"d2": 2.0}
    assert result.steps["pool"].to_dict() == {"d2": 2.0, "d1": 1.0}
    assert session.inspect(result).count == 1
    assert session.run(result).relation.to_dict() == {"d1": 9.0}


def test_binding_the_same_content_makes_nothing_stale_and_the_old_content_heals():
    session = Session(collection())
    session.run("top(2, S)")
    session.rebind(S=dict(reversed(SCORES.items())))
    assert session.stale("r1") == ()
    session.rebind(S={"d1": 9.0})
    assert session.stale("r1") == ("S",)
    session.rebind(S=SCORES)
    assert session.stale("r1") == () and session.run("r1").relation.to_dict() == {"d3": 4.0, "d4": 4.0}


def test_per_query_operands_are_stale_for_the_queries_that_changed():
    session = Session(collection())
    session.run("run", topic=Topic("1"))
    session.run("run", topic=Topic("2"))
    session.rebind(run=Run(pd.DataFrame({"qid": ["1", "2"], "docno": ["d1", "d2"], "score": [1.0, 4.0]})))
    assert session.stale("r1") == () and session.stale("r2") == ("run",)


def test_a_name_can_be_given_to_another_result():
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    session.run("pool * 2")
    with pytest.raises(BindingError, match="duplicate_name"):
        session.run("top(1, S)", name="pool")
    assert session.names == {"pool": "r1"} and "r3" not in session
    session.run("top(3, S)", name="pool", replace=True)
    assert session.names == {"pool": "r3"}
    assert session.stale("r2") == ("pool",) and session.stale("r1") == ()
    session.run("top(2, S)", name="pool", replace=True)
    assert session.stale("r2") == ()


@pytest.mark.parametrize("program", ["pool + 1", "r2 + 1"])
def test_a_result_cannot_take_the_name_of_what_it_is_made_of(program):
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    session.run("pool * 2")
    with pytest.raises(BindingError, match="made of 'pool'"):
        session.run(program, name="pool", replace=True)
    assert session.names == {"pool": "r1"} and len(session) == 2


def test_names_and_handles_never_collide():
    session = Session(collection(r2=SCORES))
    for name in ("S", "query", "top", ""):
        with pytest.raises(BindingError):
            session.run("S", name=name)
    assert [session.run(f"{k} * S").handle for k in (1, 2)] == ["r1", "r3"]
    for refused in ("r1", "x"):
        with pytest.raises(BindingError):
            session.rebind(**{refused: 1.0})
    with pytest.raises(BindingError, match="it is a result"):
        session.bind(r1=1.0)
    with pytest.raises(ProgramError, match="duplicate_name"):
        session.run("r1 = 2 * S\nr1 + 1")
    assert isinstance(session.collection["r2"] + 1, object)


def test_results_and_values_can_be_bound():
    session = Session(collection())
    result = session.run("top(2, S)", name="pool")
    session.bind(kept=result, beta=2.0)
    assert session.run("beta * kept").relation.to_dict() == {"d3": 8.0, "d4": 8.0}
    session.rebind(pool={"d1": 1.0})
    assert session.names == {} and session.run("pool").relation.to_dict() == {"d1": 1.0}
    before = session.collection
    with pytest.raises(BindingError, match="duplicate_name"):
        session.bind(beta=3.0)
    with pytest.raises(BindingError, match="unknown_docno"):
        session.rebind(beta={"d9": 1.0})
    assert session.collection == before


def test_what_is_forgotten_makes_results_of_it_stale_and_frees_no_handle():
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    session.run("pool * 2")
    session.forget("pool")
    assert "r1" not in session and "pool" not in session and session.stale("r2") == ("pool",)
    with pytest.raises(ProgramError, match="unknown_name"):
        session.run("r1")
    with pytest.raises(UnknownNameError):
        session.forget("r1")
    assert session.run("top(2, S)").handle == "r3"


def test_steps_are_there_with_their_values_named_and_not():
    session = Session(collection())
    result = session.run("pool = m & (S >= 2)\nhalf = alpha * 1\ntop(5, pool >> half * S)")
    steps = {repr(step.expression): step for step in result.steps}
    assert list(steps) == [
        "m",
        "S",
        "S >= 2",
        "m & (S >= 2)",
        "half * S",
        "pool >> (half * S)",
        repr(result.formula.result),
    ]
    assert steps["m & (S >= 2)"].name == "pool" and steps["S"].name is None
    assert result.steps["pool"] == Eligible(("d2",), 4)
    assert result.steps["pool >> (half * S)"].to_dict() == {"d2": 1.0}
    assert result.steps["half"] == 0.5 and result.steps["S"] == ScoredRelation.of(SCORES)
    for missing in ("nothing", "w"):
        with pytest.raises(UnknownNameError, match="no step"):
            result.steps[missing]
    with pytest.raises(UnknownNameError, match="bound, not computed"):
        session.run("E @ row(E, 'd1')").steps["E"]


@FEW
@given(programs())
def test_steps_are_the_defined_ones(drawn):
    formula, scope = drawn
    try:
        result = DefinitionEngine().run(formula, scope)
        steps = Steps(formula, scope)
        named = defined_steps(formula, DefinitionEngine().world(scope))
    except ProgramError:
        return
    assert steps.value(formula.result) == result or _close(steps.value(formula.result), result.to_dict())
    for step in steps:
        if step.name is None:
            continue
        found, wanted = steps[step.name], named[step.name]
        if isinstance(found, Eligible):
            assert set(found) == wanted and list(found) == sorted(found)
        else:
            assert _close(found, wanted)


def _close(found, wanted):
    return found.to_dict().keys() == dict(wanted).keys() and all(
        np.isclose(found[d], wanted[d], rtol=1e-12, atol=0) for d in wanted
    )


def test_each_step_that_runs_has_its_time():
    result = Session(collection()).run("top(2, minmax(m >> S) + w)")
    timed = [repr(time.expression) for time in result.times]
    assert timed[-1] == "top(2, minmax(m >> S) + w)" and "minmax(m >> S)" in timed and len(set(timed)) == len(timed)
    assert all(time.seconds >= 0 for time in result.times)


def test_a_pool_is_reranked_and_its_steps_see_the_pool():
    topic = Topic("1", input={"d1": 3.0, "d3": 1.0})
    session = Session(collection())
    result = session.run("top(2, minmax(S) + input)", topic=topic)
    assert result.relation == Program("top(2, minmax(S) + input)", collection()).run(topic)
    (rescaled,) = [s for s in result.steps if getattr(s.expression, "operator", "") == "minmax"]
    assert result.steps.value(rescaled.expression).to_dict() == {"d3": 1.0, "d1": 0.0}
    bare = session.run("S", topic=Topic("1", pool=(d for d in ["d1", "d2"])))
    assert bare.relation.to_dict() == {"d2": 2.0, "d1": 1.0}
    assert bare != session.run("S", topic=Topic("1", pool=["d1"])) != session.run("S")


def test_a_query_vector_and_a_text_reach_the_program():
    session = Session(collection(v=QueryVectors({"1": [1.0, 0.0]}, SPACE)))
    asked = session.run("E @ query_vec", topic=Topic("1", vector=np.float32([0, 1])))
    assert asked.relation["d2"] == 1.0 and session.run("E @ v", topic=Topic("1")).relation["d1"] == 1.0
    with pytest.raises(BindingError, match="no_query_vector"):
        session.run("E @ v", topic=Topic("2"))
    with pytest.raises(AlgebraError, match="bad_argument"):
        session.run("S", topic=3)
    with pytest.raises(AlgebraError, match="bad_argument"):
        Session("no collection")
    with pytest.raises(AlgebraError, match="unknown_engine"):
        session.run("S", engine="fast")


def test_warnings_are_looked_for_and_shown():
    result = Session(collection()).run("S + w")
    assert [w.code for w in result.warnings] == ["one_sided_records"]
    assert "one_sided_records" in repr(result) and "one_sided_records" in result._repr_html_()
    lazy = Session(collection(), warnings=False).run("S + w")
    assert "one_sided_records" not in repr(lazy) and lazy.warnings == result.warnings


def test_what_fails_changes_nothing_but_the_log():
    session = Session(collection())
    with pytest.raises(EvaluationError):
        session.run("maxnorm(-S)", name="bad")
    assert len(session) == 0 and "bad" not in session
    assert session.run("S").handle == "r1"


def test_everything_is_json_that_is_the_same_again():
    texts = []
    for _ in range(2):
        session = Session(collection())
        result = session.run("top(2, S + w)", name="pool", topic=Topic("1", "words"))
        values = [result.to_dict(), session.to_dict(), result.steps.to_dict(), result.inspect().to_dict()]
        texts.append(json.dumps([*values, session.log.to_dict()], allow_nan=False))
    assert texts[0] == texts[1]
    assert [record["docno"] for record in result.to_dict(rows=1)["records"]] == ["d1"]


def test_what_is_shown_is_escaped_and_obeyed_by_no_terminal():
    docnos = ["<b>", "\x1b[2J"]
    session = Session(Collection(docnos, name="<i>").bind(S={"<b>": 1.0, "\x1b[2J": 1.0}, m=set(docnos)))
    result = session.run("isin(S, 1) >> (S + 0)", topic=Topic("<u>"))
    for value in (result, session, session.log, result.steps, result.inspect(), session.inspect("m")):
        shown = value._repr_html_()
        assert "<b>1" not in shown and "<td><b>" not in shown and "<i>" not in shown and "<u>" not in shown
        assert "\x1b" not in shown and "\x1b" not in repr(value)
    assert "&lt;b&gt;" in result._repr_html_() and "=" in repr(result)


def test_values_survive_pickling():
    session = Session(collection())
    result = session.run("top(2, S)", name="pool", topic="words")
    again = pickle.loads(pickle.dumps(result))
    assert again == result and again.relation == result.relation and again.steps["S"] == result.steps["S"]
    with pytest.raises(StaleResultError) as error:
        session.rebind(S={"d1": 1.0})
        session.run("r1")
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.handle, again.changed, str(again)) == ("r1", ("S",), str(error.value))


def test_a_collection_without_records():
    session = Session(Collection([]).bind(S={}, m=set()))
    result = session.run("top(2, m >> S)", name="pool")
    assert len(result) == 0 and session.run("pool + S").relation.to_dict() == {}
    assert session.inspect("pool").coverage is None and len(session.join("pool", ["S", "m"])) == 0
    assert repr(result) and repr(session) and result._repr_html_()


def test_a_session_explains_by_program_handle_and_result():
    session = Session(collection())
    result = session.run("top(2, S + input)", name="pool", topic=Topic("1", input=SCORES))
    for asked in ("r1", "pool", result):
        assert session.explain(asked).to_dict()
        assert session.why(asked, "d3").to_dict()["score"] == 8.0
        assert session.why_not(asked, "d1").to_dict()
    session.rebind(S={"d1": 9.0})
    with pytest.raises(StaleResultError):
        session.explain("pool")
    assert session.why(result, "d3").to_dict()["score"] == 8.0


def test_a_session_sweeps():
    session = Session(collection())
    session.run("top(2, alpha * S + w)")
    assert session.sweep("r1", "alpha").to_dict() == session.sweep("top(2, alpha * S + w)", "alpha").to_dict()


def test_a_session_compares():
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    session.run("top(2, alpha * S + w)")
    assert session.compare("pool", "r2").to_dict()
    assert session.compare(session["r1"], "top(2, pool)").to_dict()
    session.rebind(S={"d1": 9.0})
    with pytest.raises(StaleResultError):
        session.compare(session["r1"], "w")


def test_many_results_over_each_other():
    session = Session(collection(), warnings=False)
    session.run("S")
    for number in range(1, 300):
        session.run(f"r{number} + 1")
    assert session["r300"].relation["d1"] == 300.0
    session.rebind(S={"d1": 0.0})
    assert session.stale("r300") == ("S",)
