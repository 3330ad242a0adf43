"""What a file of program tests may hold: its keys, each with the values that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeAlias

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import DataError

#: A rule: what it wants, in words, and whether a value fits.
Rule: TypeAlias = tuple[str, Callable[[Any], bool]]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _scores(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_number, value.values()))


def _vector(value: Any) -> bool:
    return isinstance(value, list) and all(map(_number, value))


def _table_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


TEXT: Rule = ("a text", lambda value: isinstance(value, str))
NUMBER: Rule = ("a number", _number)
COUNT: Rule = ("a whole number, 0 or more", lambda value: type(value) is int and value >= 0)
FLAG: Rule = ("true or false", lambda value: isinstance(value, bool))
TEXTS: Rule = ("a list of texts", _texts)
SCORES: Rule = ("a table of numbers by docno", _scores)
VECTOR: Rule = ("a list of numbers", _vector)
VECTORS: Rule = ("a table of lists of numbers", _table_of(_vector))
TABLE: Rule = ("a table", lambda value: isinstance(value, dict))
NUMBERS: Rule = ("a table of numbers by name", _scores)
TEXTS_BY_NAME: Rule = ("a table of texts", _table_of(lambda value: isinstance(value, str)))
TABLES: Rule = ("a table of tables", _table_of(lambda value: isinstance(value, dict)))
SCORES_BY_NAME: Rule = ("a table of tables of numbers", _table_of(_scores))
VALUES: Rule = (
    "a table of tables of texts, dates, numbers, or true and false",
    _table_of(_table_of(lambda value: isinstance(value, str | int | float | date))),
)
MASKS: Rule = (
    "a table of lists of docnos, or of tables of such lists by qid",
    _table_of(lambda value: _texts(value) or (isinstance(value, dict) and all(map(_texts, value.values())))),
)
RUNS: Rule = ("a table by name, of tables by qid, of numbers by docno", _table_of(_table_of(_scores)))
RETRIEVERS: Rule = ("a table by name, of tables by query, of numbers by docno", _table_of(_table_of(_scores)))
TESTS: Rule = ("tables: [[test]]", lambda value: isinstance(value, list) and all(isinstance(t, dict) for t in value))

FILE: Mapping[str, Rule] = {
    "collection": TABLE,
    "spaces": TABLES,
    "numbers": NUMBERS,
    "texts": TEXTS_BY_NAME,
    "relations": SCORES_BY_NAME,
    "masks": MASKS,
    "columns": VALUES,
    "vectors": TABLES,
    "matrices": TABLES,
    "runs": RUNS,
    "query_vectors": TABLES,
    "retrievers": RETRIEVERS,
    "engines": TEXTS,
    "tolerance": NUMBER,
    "test": TESTS,
}

COLLECTION: Mapping[str, Rule] = {
    "docnos": TEXTS,
    "name": TEXT,
    "use": TEXT,
    "path": TEXT,
    "dimensions": COUNT,
    "bm25": TEXT,
    "q1": TEXT,
    "q2": TEXT,
}

SPACE: Mapping[str, Rule] = {
    "dimensions": COUNT,
    "distance": TEXT,
    "scalar": TEXT,
    "document_encoder": TEXT,
    "query_encoder": TEXT,
}

VECTOR_OPERAND: Mapping[str, Rule] = {"space": TEXT, "values": VECTOR}

QUERY_VECTORS: Mapping[str, Rule] = {"space": TEXT, "values": VECTORS}

MATRIX: Mapping[str, Rule] = {
    "space": TEXT,
    "rows": VECTORS,
    "documents": TEXTS_BY_NAME,
    "encoder": TEXT,
    "texts": VECTORS,
    "normalise": FLAG,
    "drop_zero_rows": FLAG,
}

#: What a test says of the result; at least one of these.
EXPECTATIONS: Mapping[str, Rule] = {
    "expect": SCORES,
    "order": TEXTS,
    "first": TEXTS,
    "count": COUNT,
    "includes": TEXTS,
    "excludes": TEXTS,
    "verdict": TEXT,
    "certified": FLAG,
    "warnings": TEXTS,
    "error": TEXT,
    "at": TEXT,
}

TEST: Mapping[str, Rule] = {
    "name": TEXT,
    "program": TEXT,
    "file": TEXT,
    "topic": TEXT,
    "qid": TEXT,
    "query": TEXT,
    "vector": VECTOR,
    "input": SCORES,
    "pool": TEXTS,
    "numbers": NUMBERS,
    "engines": TEXTS,
    "tolerance": NUMBER,
    **EXPECTATIONS,
}


def bad(where: str, message: str, hint: str = "") -> DataError:
    """The error for a file that cannot be meant so."""
    return DataError("bad_program_tests", f"{where}: {message}", hint)


def check_shape(table: Mapping[str, Any], rules: Mapping[str, Rule], where: str) -> None:
    """Refuse unknown keys, and values that do not fit.

    Raises:
        DataError: `bad_program_tests`, naming the key and what it may be.
    """
    for key, value in table.items():
        if key not in rules:
            close = suggest(key, rules)
            hint = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(rules)}"
            raise bad(where, f"unknown key {key!r}", hint)
        words, fits = rules[key]
        if not fits(value):
            raise bad(where, f"{key} is {words}, not {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
