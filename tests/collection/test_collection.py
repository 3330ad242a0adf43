"""What a collection hands out: names, scopes, topics, bindings."""

import copy
import pickle
import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

from pyterrier_alg.algebra import BindingError, Kind, Name, parse
from pyterrier_alg.collection import Collection, Distance, Mask, Matrix, QueryVectors, Run, Space, Topic, Vector
from pyterrier_alg.engines.vectorised import VectorisedEngine

TEXT, OTHER = Space("text", 2), Space("other", 2, Distance.L2)
RUN = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "b"], "score": [2.0, 1.0, 3.0]})


def make(**more):
    return Collection(["b", "a"], name="two").bind(
        E=Matrix([[1, 0], [0, 1]], TEXT),
        q1=Vector([1, 0], TEXT),
        w={"a": 0.5},
        m={"a"},
        alpha=0.5,
        lang={"a": "en"},
        published={"a": date(2024, 1, 1)},
        pool=Run(RUN),
        judged=Mask(RUN[["qid", "docno"]]),
        **more,
    )


def run(program, collection, topic=None):
    return VectorisedEngine().run(parse(program), collection.at(topic)).to_dict()


def code(caught):
    return caught.value.code


def test_binding_makes_a_new_collection():
    first = Collection(["a"])
    second = first.bind(w={"a": 1.0})
    assert list(first.operands) == [] and list(second.operands) == ["w"] and "w" not in first and "w" in second
    assert list(second.bind(**{"group by": {"a": 1.0}}).operands) == ["w", "group by"]
    with pytest.raises(TypeError):
        second.operands["w"] = 1


def test_other_numbers_make_another_collection():
    c = make()
    other = c.with_numbers(alpha=2)
    assert run("alpha * w", other) == {"a": 1.0} and run("alpha * w", c) == {"a": 0.25}
    assert other != c and other.with_numbers(alpha=0.5) == c and other.operands["E"] is c.operands["E"]
    assert c.with_numbers() == c and list(other.operands) == list(c.operands)
    for given, expected in (({"alhpa": 1}, "unknown_name"), ({"w": 1}, "bad_operand"), ({"alpha": "1"}, "bad_operand"),
                            ({"alpha": float("nan")}, "non_finite")):  # fmt: skip
        with pytest.raises(BindingError) as caught:
            c.with_numbers(**given)
        assert code(caught) == expected


def test_a_name_is_an_expression():
    c = make(**{"group by": {"a": 1.0}})
    program = c["alpha"] * c["group by"] + c["w"]
    assert repr(program) == "alpha * `group by` + w" and c["query"] == Name("query")


@pytest.mark.parametrize(
    ("name", "hint"), [("W", "mean w"), ("poool", "mean pool"), ("publish", "mean published"), ("zz", "orient")]
)
def test_an_unknown_name_suggests(name, hint):
    with pytest.raises(KeyError, match=hint) as caught:
        make()[name]
    assert code(caught) == "unknown_name" and repr(name) in str(caught.value)


def test_a_scope_without_a_query():
    scope = make().at()
    assert scope.qid == "" and set(scope.operands) == {
        "E", "q1", "w", "m", "alpha", "lang", "published", "all"
    } == scope.shared  # fmt: skip
    assert scope.operands["all"].positions.tolist() == [0, 1]


def test_a_scope_of_a_query():
    c = make(now="2026-12-01")
    scope = c.at(Topic("1", "wave guides", vector=[3, 4], input={"b": -0.0}))
    per_query = {"pool", "judged", "query", "query_vec", "input"}
    assert set(scope.operands) - scope.shared == per_query and scope.qid == "1"
    assert scope.operands["query"].value == "wave guides" and scope.operands["now"].value == "2026-12-01"
    assert scope.operands["query_vec"].values.tolist() == [3, 4] and scope.operands["query_vec"].space == TEXT
    assert scope.operands["input"].positions.tolist() == [1] and not np.signbit(scope.operands["input"].scores[0])
    assert run("fill(0, input) + pool", c, Topic("1", input={"b": 5.0})) == {"b": 6.0, "a": 2.0}


def test_a_query_without_rows_has_an_empty_relation_and_mask():
    assert run("pool", make(), Topic("1")) == {"a": 2.0, "b": 1.0}
    assert run("pool", make(), Topic("9")) == {} == run("judged >> w", make(), Topic("9"))


def test_every_scope_hands_out_the_same_objects():
    c = make(qv=QueryVectors({"1": [1, 0], "2": [0, 1]}, TEXT))
    first, again, other = c.at(Topic("1", "x")), c.at(Topic("1", "y")), c.at(Topic("2", "x"))
    without, more = c.at(), c.bind(beta=1.0).at(Topic("1", "x"))
    for name in first.shared:
        assert first.operands[name] is again.operands[name] is other.operands[name] is without.operands[name]
        assert first.operands[name] is more.operands[name]
    for name in ("pool", "judged", "qv"):
        assert first.operands[name] is again.operands[name] is not other.operands[name]
    assert first.docnos is other.docnos


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (Topic("1", pool="abc"), "bad_operand"),
        (Topic("1", pool=5), "bad_operand"),
        (Topic("1", input={"zz": 1.0}), "unknown_docno"),
        (Topic("1", input={"a": float("inf")}), "non_finite"),
        (Topic(1), "bad_qid"),
        (Topic("1", 5), "bad_operand"),
        (Topic("1", "\ud800"), "bad_operand"),
        (Topic("1", input=[("a", 1.0)]), "bad_operand"),
        ("1", "bad_operand"),
    ],
)
def test_topics_that_no_scope_is_made_of(topic, expected):
    with pytest.raises(BindingError) as caught:
        make().at(topic)
    assert code(caught) == expected and ("1" in str(caught.value))


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (Topic("1", vector=[1, 0, 0]), "dimensions"),
        (Topic("1", vector=[1, float("nan")]), "non_finite"),
        (Topic("9"), "no_query_vector"),
    ],
)
def test_what_a_query_lacks_is_an_error_for_those_who_name_it(topic, expected):
    c = make(qv=QueryVectors({"1": [1, 0]}, TEXT))
    name = "qv" if topic.vector is None else "query_vec"
    scope = c.at(topic)
    assert name not in scope.operands and run("w", c, topic) == {"a": 0.5}
    with pytest.raises(BindingError) as caught:
        run(f"E @ {name}", c, topic)
    assert code(caught) == expected and topic.qid in str(caught.value)
    assert pickle.loads(pickle.dumps(scope)).absent.keys() == {*scope.absent}


def test_the_space_of_query_vectors():
    two = make(F=Matrix([[1, 0], [0, 1]], OTHER))
    assert two.at(Topic("1", "text only")).operands["query"].value == "text only"
    scope = two.at(Topic("1", vector=[1, 0]))
    with pytest.raises(BindingError, match=r"text.*|other.*") as caught:
        scope.refuse_absent(["query_vec"])
    assert code(caught) == "query_space" and "query_space=" in caught.value.hint
    stated = Collection(["a"], query_space=OTHER).bind(E=Matrix([[1, 0]], TEXT))
    assert stated.at(Topic("1", vector=[1, 0])).operands["query_vec"].space == OTHER
    assert stated.bindings(["qid", "query_vec"])["query_vec"].type.space == OTHER


def test_a_query_vector_that_nothing_could_meet_is_unbound():
    c = Collection(["a"]).bind(w={"a": 1.0})
    assert "query_vec" not in c.at(Topic("1", vector=[1, 0])).operands
    assert "query_vec" not in c.bindings(["qid", "query_vec"])


def test_bindings_before_any_topic():
    c = make(qv=QueryVectors({"1": [1, 0]}, TEXT))
    known = c.bindings(["qid", "query"])
    assert {name: str(known[name].type) for name in ("E", "pool", "judged", "qv", "query", "all", "published")} == {
        "E": "matrix[text]", "pool": "relation", "judged": "mask", "qv": "vector[text]", "query": "text", "all": "mask",
        "published": "date column",
    }  # fmt: skip
    assert known["query"].value is None and known["alpha"].value == 0.5
    assert not {"query_vec", "input"} & set(known)
    assert {"query_vec", "input"} <= set(c.bindings(["qid", "query", "query_vec", "docno", "score", "rank"]))
    assert not {"query", "pool", "qv", "judged"} & set(c.bindings())


@pytest.mark.parametrize("columns", [["qid", "query"], ["qid", "query", "query_vec"], []])
def test_bindings_are_those_of_the_scopes(columns):
    c = make()
    topic = Topic("1", "x" if "query" in columns else None, [1, 0] if "query_vec" in columns else None)
    scope = c.at(topic if columns else None)
    expected = {name: binding.type for name, binding in scope.bindings.items()}
    assert {name: binding.type for name, binding in c.bindings(columns).items()} == expected


def test_topics_of_a_frame():
    frame = pd.DataFrame({"qid": ["2", "1"], "query": ["b", "a"], "query_vec": [np.array([1, 0]), None], "extra": 1})
    first, second = make().topics(frame)
    assert (first.qid, first.query, first.vector.tolist(), first.input) == ("2", "b", [1, 0], None)
    assert (second.qid, second.query, second.vector, second.input) == ("1", "a", None, None)
    assert make().topics(frame[:0]) == []


def test_topics_of_results_have_an_input():
    frame = RUN.assign(query=["x", None, "y"], rank=[0, 1, 0])[::-1]
    first, second = make().topics(frame)
    assert (first.qid, first.query, first.input) == ("2", "y", {"b": 3.0})
    assert (second.qid, second.query, second.input) == ("1", "x", {"a": 2.0, "b": 1.0})


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ([{"qid": "1", "query": "a"}], "bad_operand"),
        (pd.DataFrame([["1", "2", "a"]], columns=["qid", "qid", "query"]), "bad_operand"),
        (pd.DataFrame({"query": ["a"]}), "bad_operand"),
        (pd.DataFrame({"qid": [1], "query": ["a"]}), "bad_qid"),
        (pd.DataFrame({"qid": ["1", "1"], "query": ["a", "b"]}), "duplicate_qid"),
        (pd.DataFrame({"qid": ["1"], "query": [3]}), "bad_operand"),
        (pd.concat([RUN, RUN[:1]]), "duplicate_docno"),
        (RUN.assign(docno="zz"), "unknown_docno"),
    ],
)
def test_frames_that_hold_no_topics(frame, expected):
    with pytest.raises(BindingError) as caught:
        make().topics(frame)
    assert code(caught) == expected


def test_metadata_columns_of_a_frame():
    frame = pd.DataFrame({
        "docno": ["a", "b"],
        "year": [1965.0, None],
        "lang": ["en", None],
        "open": [True, False],
        "published": pd.to_datetime(["2024-01-01T23:00", None]),
        "group by": [1, 2],
    })  # fmt: skip
    c = Collection(["b", "a"]).bind_columns(frame)
    kinds = {name: str(c.at().bindings[name].type) for name in c.operands}
    assert kinds == {
        "year": "relation", "lang": "text column", "open": "mask", "published": "date column", "group by": "relation"
    }  # fmt: skip
    assert run("year", c) == {"a": 1965.0} and run("`group by`", c) == {"b": 2.0, "a": 1.0}
    assert run('(open & (published >= "2024-01-01")) >> `group by`', c) == {"a": 1.0}
    assert run('isin(lang, "en") >> year', c) == {"a": 1965.0}
    assert list(Collection(["b", "a"]).bind_columns(frame, ["year"]).operands) == ["year"]


@pytest.mark.parametrize(
    ("frame", "expected", "told"),
    [
        (None, "bad_operand", "frame"),
        (pd.DataFrame([["a", 1, 2]], columns=["docno", "year", "year"]), "bad_operand", "year"),
        (pd.DataFrame({"year": [1]}), "bad_operand", "docno"),
        (pd.DataFrame({"docno": ["a", "a"], "year": [1, 2]}), "duplicate_docno", "'a'"),
        (pd.DataFrame({"docno": ["zz"], "year": [1]}), "unknown_docno", "'zz'"),
        (pd.DataFrame({"docno": ["a"], "query": ["x"]}), "reserved_name", "'query'"),
        (pd.DataFrame({"docno": ["a"], 0: ["x"]}), "bad_name", "0"),
        (pd.DataFrame({"docno": ["a"], "year": [float("inf")]}), "non_finite", "year"),
    ],
)
def test_frames_whose_columns_are_refused(frame, expected, told):
    with pytest.raises(BindingError, match=told) as caught:
        Collection(["b", "a"]).bind_columns(frame)
    assert code(caught) == expected


def test_an_empty_collection():
    empty = Collection([]).bind(E=Matrix(np.empty((0, 2)), TEXT), w={}, q1=Vector([1, 0], TEXT))
    assert len(empty) == 0 and run("top(3, E @ q1)", empty) == {} == run("fill(1, w)", empty)


def test_equal_by_content():
    assert make() == make() and hash(make()) == hash(make())
    different = [
        Collection(["b", "a"]),
        Collection(["b", "a", "c"]),
        Collection(["b", "a"], query_space=TEXT),
        make(beta=1.0),
        make(beta=2.0),
        make(now="2026-12-01"),
    ]
    assert len({make(), *different}) == 1 + len(different) and make() != "two"
    assert Collection(["b", "a"]) == Collection(["a", "b"], name="other"), "neither order nor name is content"
    one = Collection(["a"])
    assert one.bind(w={"a": 1.0}) != one.bind(w={"a": 2.0}) != one.bind(w=2.0)
    assert one.bind(v=Vector([1, 0], TEXT)) != one.bind(v=Vector([1, 0], OTHER))


def test_pickled():
    c = make(qv=QueryVectors({"1": [1, 0]}, TEXT))
    c.at(Topic("1"))
    again = pickle.loads(pickle.dumps(c))
    assert again == c and hash(again) == hash(c) and list(again.operands) == list(c.operands)
    assert run("pool", again, Topic("1")) == run("pool", c, Topic("1")) and not again.docnos.flags.writeable
    scope = pickle.loads(pickle.dumps(c.at(Topic("1"))))
    assert (scope.qid, scope.shared, list(scope.operands)) == ("1", c.at().shared, list(c.at(Topic("1")).operands))


def test_copies_are_itself():
    c = make()
    assert copy.copy(c) is c and copy.deepcopy({"c": c})["c"] is c


@pytest.mark.parametrize("docnos", [("b", "a"), np.array(["b", "a"]), pd.Series(["b", "a"]), iter(["b", "a"])])
def test_docnos_keep_the_order_given_outside(docnos):
    c = Collection(docnos)
    assert c.docnos.tolist() == ["b", "a"] and {type(docno) for docno in c.docnos} == {str} and len(c) == 2
    assert c.at().docnos.tolist() == ["a", "b"]


def test_its_print_is_short_and_it_is_an_artifact_in_memory():
    c = make()
    assert isinstance(c, pt.Artifact) and c.path == pt.Artifact.NO_PATH
    assert repr(c) == "<Collection 'two': 2 records; E, q1, w, m, alpha, lang, published, pool, judged>"
    assert Kind.MATRIX is c.at().operands["E"].binding.type.kind


def test_importing_and_binding_start_no_java():
    script = (
        "import pyterrier as pt; from pyterrier_alg.collection import vaswani; vaswani().at(); "
        "raise SystemExit(pt.java.started())"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_is_no_list_of_names_is_not_taken_for_one(tmp_path):
    with pytest.raises(BindingError, match=r"\['w'\]"):
        make().save(tmp_path / "c", leave_out="w")
    with pytest.raises(BindingError, match="identity"):
        Collection(["a"], encoders=[object()])
