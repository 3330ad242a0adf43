"""Logs: what is written, read again, replayed and compared."""

import json

import numpy as np
import pandas as pd
import pytest

from pyterrier_alg.algebra import AlgebraError, DataError, Distance, Space
from pyterrier_alg.collection import Collection, Column, Mask, Matrix, Relation, Run, Topic, Vector
from pyterrier_alg.session import Log, Session, diff, replay
from pyterrier_alg.session.log import SMALL, operand_from_dict, operand_to_dict

SPACE = Space("words", 2)
SCORES = {"d1": 1.0, "d2": 2.0, "d3": 4.0}


def collection(**more):
    given = {"S": SCORES, "w": {"d1": 0.1 + 0.2}, "m": {"d1"}, "E": Matrix([[1, 0], [0, 1], [0.6, 0.8]], space=SPACE)}
    return Collection(["d1", "d2", "d3"], name="tiny").bind(**{**given, **more})


def busy(over=None):
    """A session that did a bit of everything."""
    session = Session(collection() if over is None else over)
    session.run("top(2, S)", name="pool")
    session.run("pool * w", topic=Topic("7", "a text"))
    session.bind(beta=0.5, when={"d1": "2024-01-01"})
    for failing in ("S +", "maxnorm(-S)", "nothing"):
        with pytest.raises(AlgebraError):
            session.run(failing)
    session.run("E @ query_vec", topic=Topic("8", vector=np.float32([0.6, 0.8])), engine="definition")
    session.run("input + S", topic=Topic("9", input={"d1": 0.1, "d2": 0.2}, pool=["d1", "d2"]))
    session.rebind(S={"d1": 9.0})
    with pytest.raises(AlgebraError, match="stale"):
        session.run("pool + 1")
    session.run("top(2, S)", name="pool", replace=True)
    session.rebind(w=session["r2"], beta=2.0)
    session.run("beta * w")
    session.forget("r4")
    session.run("S - 1")
    return session


def test_a_log_has_a_header_and_a_line_a_step():
    session = busy()
    lines = [json.loads(line) for line in session.log.to_jsonl().splitlines()]
    assert lines[0]["collection"] == {"name": "tiny", "records": 3, "digest": collection().digest}
    assert {"pyterrier-alg", "python", "numpy"} <= lines[0]["versions"].keys()
    assert [entry["step"] for entry in lines[1:]] == list(range(1, len(session.log) + 1))
    assert [entry["action"] for entry in lines[1:4]] == ["run", "run", "bind"]
    first = lines[1]
    assert (first["handle"], first["name"], first["program"], first["engine"]) == (
        "r1",
        "pool",
        "top(2, S)",
        "vectorised",
    )
    assert first["operands"] == dict(session["r1"].operands)
    assert first["result"]["address"] == session["r1"].address and first["result"]["digest"] == session["r1"].digest
    assert first["result"]["head"] == [["d3", 4.0], ["d2", 2.0]]
    assert [e["error"]["code"] for e in lines if "error" in e] == [
        "syntax",
        "nonpositive_maximum",
        "unknown_name",
        "stale",
    ]
    assert lines[2]["warnings"] == ["one_sided_records"]


def test_two_sessions_that_do_the_same_have_the_same_log():
    assert busy().log == busy().log
    assert busy().log.to_jsonl() == busy().log.to_jsonl()


def test_a_log_is_read_as_it_was_written(tmp_path):
    log = busy().log
    log.write(tmp_path / "log.jsonl")
    again = Log.read(tmp_path / "log.jsonl")
    assert again == log and hash(again) == hash(log) and len(again) == len(log)
    assert Log.parse(log.to_jsonl().replace("\n", "\r\n")) == log
    assert repr(again) == repr(log) and "nonpositive_maximum" in repr(log) and "rebind w, beta" in repr(log)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda lines: [], "corrupted_data"),
        (lambda lines: lines[1:], "corrupted_data"),
        (lambda lines: [lines[0], *lines[2:]], "corrupted_data"),
        (lambda lines: [*lines[:-1], lines[-1][:-5]], "corrupted_data"),
        (lambda lines: [lines[0].replace('"log": 1', '"log": 2'), *lines[1:]], "unknown_version"),
        (lambda lines: [lines[0], "[1]"], "corrupted_data"),
        (lambda lines: [lines[0], '{"step": 1, "action": "run"}'], "corrupted_data"),
        (lambda lines: [lines[0], '{"step": 1, "action": "delete", "operands": []}'], "corrupted_data"),
        (lambda lines: [lines[0], lines[1].replace("4.0", "NaN")], "corrupted_data"),
    ],
)  # fmt: skip
def test_damaged_logs_are_refused(damage, code):
    with pytest.raises(DataError) as error:
        Log.parse("\n".join(damage(busy().log.to_jsonl().splitlines())))
    assert error.value.code == code


def test_files_that_are_not_there_are_named(tmp_path):
    with pytest.raises(DataError, match="missing_data"):
        Log.read(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="unwritable"):
        busy().log.write(tmp_path / "none" / "log.jsonl")


def test_a_replay_does_everything_again():
    session = busy()
    for log in (session.log, session.log.to_jsonl()):
        found = replay(log, collection())
        assert found.is_same and (found.steps, found.of) == (len(session.log), len(session.log))
        assert found.notes == () and found.session.log == session.log
        assert found.session.results == session.results


def edited(log, step, change):
    lines = log.to_jsonl().splitlines()
    entry = json.loads(lines[step])
    change(entry)
    lines[step] = json.dumps(entry)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("change", "aspect", "told"),
    [
        (lambda e: e.update(program="top(1, S)"), "result", "2 records"),
        (lambda e: e.update(program="top(2,S)"), "program", "top(2,S)"),
        (lambda e: e.update(program="nothing"), "error", "unknown_name"),
        (lambda e: e["operands"].update(S="00"), "operand", "S"),
        (lambda e: e["result"].update(digest="00", head=[["d3", 4.5], ["d2", 2.0]]), "result", "d3 4.5"),
        (lambda e: e["result"].update(digest="00"), "result", "below"),
        (lambda e: e.update(warnings=["empty_mask"]), "warnings", "empty_mask"),
        (lambda e: e.update(handle="r9"), "handle", "r9"),
        (lambda e: e.update(error={"code": "kind", "message": ""}, result=None), "error", "kind"),
    ],
)  # fmt: skip
def test_a_replay_names_the_first_step_that_differs_and_how(change, aspect, told):
    session = Session(collection())
    session.run("S")
    session.run("top(2, S)")
    session.run("r2 + 1")
    found = replay(edited(session.log, 2, change), collection())
    assert not found.is_same and (found.steps, found.step, found.of) == (1, 2, 3)
    assert found.difference.aspect == aspect and told in found.difference.message
    assert json.loads(json.dumps(found.to_dict()))["difference"]["aspect"] == aspect
    assert f"step 2 of 3 differs: {aspect}" in repr(found)


@pytest.mark.parametrize(
    ("other", "step", "aspect"),
    [
        ({"w": {"d1": 0.3}}, 2, "operand"),
        ({"S": {"d1": 1.0}}, 1, "operand"),
        ({"m": {"d2"}}, None, None),
        ({"r1": 1.0}, 1, "handle"),
        ({"pool": 1.0}, 1, "error"),
    ],
)
def test_a_replay_over_another_collection_differs_where_its_operands_do(other, step, aspect):
    session = Session(collection())
    session.run("top(2, S)", name="pool")
    session.run("S * w")
    found = replay(session.log, collection(**other))
    assert found.step == step and (found.difference and found.difference.aspect) == aspect
    assert found.notes == ("the collection is another one than the log's",)


def test_versions_are_noted_and_no_difference():
    log = busy().log
    other = Log({**log.header, "versions": {**log.header["versions"], "numpy": "1.0"}}, log.entries)
    found = replay(other, collection())
    assert found.is_same and len(found.notes) == 1 and "1.0" in found.notes[0]


def test_what_is_too_large_for_the_log_is_given_or_missed():
    docnos = [f"d{i}" for i in range(SMALL + 1)]
    large = {docno: float(i) for i, docno in enumerate(docnos)}
    session = Session(Collection(docnos))
    session.bind(L=large)
    session.run("top(1, L)")
    session.rebind(L={**large, "d0": 1e9})
    session.run("top(1, L)")
    assert len(session.log.to_jsonl()) < 10_000
    missed = replay(session.log, Collection(docnos))
    assert (missed.step, missed.difference.aspect) == (1, "missing") and "L" in missed.difference.message
    assert replay(session.log, Collection(docnos), operands=[{"L": large}, {"L": {**large, "d0": 1e9}}]).is_same
    wrong = replay(session.log, Collection(docnos), operands={"L": large})
    assert (wrong.step, wrong.difference.aspect) == (3, "operand")


OPERANDS = {
    "number": 0.1 + 0.2,
    "text": 'it\'s "é" 🙂\u2028',
    "relation": Relation({"d1": 5e-324, "d3": -1.7976931348623157e308}),
    "empty relation": Relation({}),
    "mask": Mask({"d2"}),
    "empty mask": Mask(()),
    "text column": Column({"d1": "é\n", "d2": ""}),
    "date column": Column({"d1": "2024-02-29"}, dates=True),
    "empty column": Column({}),
    "empty dates": Column({}, dates=True),
    "vector": Vector([0.1, -3e38], Space("flat", 2, Distance.L2)),
}


@pytest.mark.parametrize("value", OPERANDS.values(), ids=OPERANDS)
def test_small_operands_are_in_the_log_as_they_are(value):
    bound = collection(x=value)
    facts = json.loads(json.dumps(operand_to_dict(bound.operands["x"], bound.at())))
    assert collection(x=operand_from_dict(facts)) == bound


@pytest.mark.parametrize(
    "value",
    [
        Matrix([[1, 0], [0, 1], [0.6, 0.8]], space=SPACE),
        Run(pd.DataFrame({"qid": ["1"], "docno": ["d1"], "score": [1.0]})),
    ],
)
def test_other_operands_are_not(value):
    bound = collection(x=value)
    assert operand_to_dict(bound.operands["x"], bound.at()) is None


def test_scores_that_a_program_does_not_look_at_may_be_anything():
    session = Session(collection())
    session.run("S", topic=Topic("1", input={"d1": float("nan"), "d2": float("inf")}))
    with pytest.raises(AlgebraError, match="non_finite"):
        session.run("S + input", topic=Topic("1", input={"d1": float("nan")}))
    assert replay(Log.parse(session.log.to_jsonl()), collection()).is_same


def test_equal_logs_have_no_difference():
    found = diff(busy().log, busy().log.to_jsonl())
    assert found.is_same and found.first is None and len(found.rows) == len(busy().log)
    assert repr(found).startswith("the logs are the same")


def test_a_step_more_shifts_the_others():
    one, other = Session(collection()), Session(collection())
    for program in ("top(2, S)", "S * w", "m >> S"):
        one.run(program)
    for program in ("top(2, S)", "S + 1", "S * w", "m >> S"):
        other.run(program)
    found = diff(one.log, other.log)
    assert [(a, b) for a, b, _ in found.rows] == [(1, 1), (None, 2), (2, 3), (3, 4)]
    assert [d.aspect if d else None for _, _, d in found.rows] == [None, "action", "handle", "handle"]
    assert [(a, b) for a, b, _ in diff(other.log, one.log).rows] == [(1, 1), (2, None), (3, 2), (4, 3)]


def test_a_revised_step_stands_beside_what_it_was():
    one, other = Session(collection()), Session(collection(w={"d1": 7.0}))
    for program in ("top(2, S)", "S * w"):
        one.run(program)
    for program in ("top(1, S)", "S * w"):
        other.run(program)
    found = diff(one.log, other.log)
    assert [(a, b, d.aspect) for a, b, d in found.rows] == [(1, 1, "program"), (2, 2, "operand")]
    assert "top(2, S)" in found.first[2].message and "top(1, S)" in found.first[2].message
    assert found.notes and json.dumps(found.to_dict()) and "top(1, S)" in repr(found) and found._repr_html_()
