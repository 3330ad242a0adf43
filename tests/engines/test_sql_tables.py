"""What the SQL engines keep in their databases, and programs that are larger than a database likes."""

import gc
import re
from dataclasses import replace

import numpy as np
import pytest
from vectorised_tables import Retriever, Tables

from pyterrier_alg.algebra import parse
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.sql.duckdb import DuckDbDatabase, DuckDbEngine
from pyterrier_alg.engines.sql.names import Names, parameter_name
from pyterrier_alg.engines.sql.sqlite import SqliteDatabase, SqliteEngine

DATABASES = {"sqlite": (SqliteEngine, SqliteDatabase), "duckdb": (DuckDbEngine, DuckDbDatabase)}
TABLES = Tables(["a", "b", "c", "d", "e", "f"])
SCOPE = TABLES.scope(
    S=TABLES.relation({"a": 0.5, "b": 0.25, "c": 0.125, "d": 0.75}), T=TABLES.relation({"a": 1, "d": -1, "f": 0.3}),
    m=TABLES.mask(["a", "b", "d"]), bm25=Retriever({"a": 2.0}), query="x",
    **{f"R{i}": TABLES.relation({"a": i, "b": -i, "d": 1 / (i + 1)}) for i in range(70)},
)  # fmt: skip

#: Programs beyond SQLite's depth of 1,000, 64 tables of a join, 500 members of a union, and its copies of steps.
LARGE = {
    "flat sum": " + ".join(["S"] * 3000),
    "nested to the right": "S - (" * 300 + "T" + ")" * 300,
    "many relations": " + ".join(f"R{i}" for i in range(70)),
    "many unions": f"({' | '.join(f'(S >= {i} / 600)' for i in range(600))}) >> T",
    "unions beyond one statement": f"({' | '.join(['m'] * 1400)}) >> T",
    "many intersections": f"({' & '.join(f'(S >= {-i})' for i in range(600))}) >> T",
    "many listed": f"ids({', '.join(repr(d) for d in 'abcd' * 300)}) >> S",
    "fusion of many": f"rrf({', '.join(f'R{i} * S' for i in range(70))}, {', '.join(f'S - R{i}' for i in range(70))})",
    "nested rescaling": "minmax(" * 60 + "S" + ")" * 60,
    "nested filling": "fill(0, " * 60 + "S" + ")" * 60,
    "nested selection": "top(3, " * 60 + "S" + ")" * 60,
    "nested complement": "~" * 101 + "m >> S",
    "steps that use the one before twice": "\n".join(
        ["s0 = S", *(f"s{i} = minmax(s{i - 1}) - fill(0, s{i - 1}) * 0.5" for i in range(1, 120)), "s119"]
    ),
    "the same node twice": "\n".join(["s0 = S", *(f"s{i} = s{i - 1} - 0.5 * s{i - 1}" for i in range(1, 500)), "s499"]),
}


@pytest.fixture(scope="module", params=DATABASES)
def engine(request):
    return DATABASES[request.param][0]()


@pytest.fixture
def watched(request, monkeypatch):
    """Made and dropped tables of a database class."""
    _, database = DATABASES[request.param]
    made, dropped = [], []
    create, drop = database.create, database.drop

    def watch_create(self, name, docnos, columns, *, temporary):
        made.append((name, temporary))
        create(self, name, docnos, columns, temporary=temporary)

    def watch_drop(self, name):
        dropped.append(name)
        drop(self, name)

    monkeypatch.setattr(database, "create", watch_create)
    monkeypatch.setattr(database, "drop", watch_drop)
    return DATABASES[request.param][0](), made, dropped


@pytest.mark.parametrize("name", LARGE)
def test_large_programs_run_as_defined(engine, name):
    formula = parse(LARGE[name])
    found, defined = engine.run(formula, SCOPE), DefinitionEngine().run(formula, SCOPE)
    assert found.docnos.tolist() == defined.docnos.tolist()
    assert np.abs(found.scores - defined.scores).max(initial=0.0) <= found.error_bound


@pytest.mark.parametrize("watched", DATABASES, indirect=True)
def test_shared_operands_are_loaded_once(watched):
    engine, made, dropped = watched
    for _ in range(3):
        engine.run(parse("m >> S + 1"), SCOPE)
    assert sorted(made) == [("S", False), ("docs", False), ("m", False)]
    assert not dropped


@pytest.mark.parametrize("watched", DATABASES, indirect=True)
def test_what_belongs_to_one_query_is_there_for_one_run(watched):
    engine, made, dropped = watched
    for value in (1.0, 2.0):
        scope = replace(SCOPE, operands=SCOPE.operands | {"input": TABLES.relation({"b": value})})
        assert engine.run(parse("input + S"), scope).to_dict() == {"b": value + 0.25}
        assert engine.run(parse("bm25(query) + S"), scope).to_dict() == {"a": 2.5}
    assert [name for name, temporary in made if temporary] == ["input", "bm25_results"] * 2
    assert dropped == ["input", "bm25_results"] * 2


@pytest.mark.parametrize("watched", DATABASES, indirect=True)
def test_operands_that_nobody_has_any_more_are_removed(watched):
    engine, _, dropped = watched
    scope = replace(SCOPE, operands={"S": TABLES.relation({"a": 1})}, shared=frozenset({"S"}))
    engine.run(parse("S"), scope)
    del scope
    gc.collect()
    assert engine.run(parse("S"), SCOPE).to_dict() == SCOPE_S
    assert dropped == ["S"]


SCOPE_S = {"d": 0.75, "a": 0.5, "b": 0.25, "c": 0.125}


@pytest.mark.parametrize("watched", DATABASES, indirect=True)
def test_a_failed_run_leaves_nothing_behind(watched):
    engine, made, dropped = watched
    scope = replace(SCOPE, operands=SCOPE.operands | {"input": TABLES.relation({"b": -1.0})})
    with pytest.raises(Exception, match="nonpositive_maximum"):
        engine.run(parse("maxnorm(input)"), scope)
    assert dropped == ["input"]
    assert engine.run(parse("input"), scope).to_dict() == {"b": -1.0}


def test_one_program_is_one_statement_until_it_is_too_deep_for_the_database(engine):
    ordinary = "pool = support(T)\npush = S - 0.5 * T\ntop(2, minmax(push) * (pool >> push) + fill(0, T))"
    assert engine.compile(parse(ordinary), SCOPE).preparations == ()
    deep = engine.compile(parse(LARGE["steps that use the one before twice"]), SCOPE)
    assert deep.preparations
    assert str(deep).count("CREATE TEMP TABLE") == len(deep.preparations)


def test_no_statement_holds_more_steps_than_a_database_nests(engine):
    statement = engine.compile(parse(LARGE["fusion of many"]), SCOPE)
    texts = [statement.sql, *(part.sql for _, part in statement.preparations)]
    assert 1 < max(len(re.findall(r" AS (?:MATERIALIZED )?\(\n", text)) for text in texts) <= 101


def test_each_thing_has_a_name_that_databases_tell_apart():
    names = Names()
    wanted = ["E", "e", "", "sqlite_x", "a\x00b", "a?", "x" * 200, "x" * 201]
    taken = [names.take(name) for name in wanted]
    assert taken[:6] == ["E", "e_2", "operand", "operand_sqlite_x", "a_b", "a_"]
    assert len({name.casefold() for name in taken}) == len(wanted)


@pytest.mark.parametrize(
    ("wanted", "name"), [("q1", "q1"), ("group by", "group_by"), ("1", "p_1"), ("é", "p"), ("", "p"), ("a__b", "a_b")]
)
def test_parameters_have_names_of_plain_letters(wanted, name):
    assert parameter_name(wanted) == name
