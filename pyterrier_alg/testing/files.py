r"""Files of program tests: what is bound, then tests, in TOML.

A file, `*.alg.toml`, says once what programs may name, and then any number of tests:

    [relations]
    S = {d1 = 3.0, d2 = 1.0, d3 = 2.0}

    [masks]
    fresh = ["d1", "d2"]

    [[test]]
    name = "only what is fresh"
    program = "top(10, fresh >> S)"
    expect = {d1 = 3.0, d2 = 1.0}

**What is bound.** `[numbers]`, `[texts]`, `[relations]`, `[masks]` (a list of docnos, or a table of such lists by
qid), `[columns]` (texts, TOML's dates, numbers, booleans by docno), `[spaces.NAME]` (`dimensions`, `distance`, …),
`[vectors.NAME]` (`space`, `values`), `[matrices.NAME]` (`space`; `rows` by docno, or `documents`, texts by docno that
the encoder makes rows of; `encoder = "signed-hash"`, or `texts`, what each query text becomes), `[query_vectors.NAME]`
(`space`, `values` by qid), `[runs.NAME]` (by qid, then docno), `[retrievers.NAME]` (what each query finds).

Docnos are those that the operands have, unless `[collection]` lists them as `docnos`. `use = "vaswani"` there (with
`dimensions`, `bm25`, `q1`, `q2` if wanted), or `path`, the folder of a saved collection beside the file, begin with
what these bind.

**A test** has a `name` and a `program` (or `file`, an `.alg` file beside it); what the query is: `query`, `qid`,
`vector`, `input`, `pool`, or `topic`, the qid of a topic of Vaswani; `numbers` that the collection binds, with other
values; `engines` (`["all"]` are those that can run it; the vectorised one where left out). Then what must come out, one
or more of: `expect`, records with their scores, all of them; `order`, docnos in rank order, all of them; `first`, those
at the top; `count`; `includes`, `excludes`; `verdict` of the gap check; `certified`; `warnings`, their codes, all of
them; or `error`, a code, and `at`, the place that the error marks.

**Scores** are compared exactly, or within `tolerance` where one is given (of the test or, before all tests, of the
file). An engine that states an error bound is allowed that, in its scores and where it orders records.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.algebra.formatting import read_program
from pyterrier_alg.algebra.warnings import WARNINGS
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.engines.registry import engines
from pyterrier_alg.testing._fixtures import collection_of, vaswani_topic
from pyterrier_alg.testing._shape import EXPECTATIONS, FILE, TEST, bad, check_shape

#: What files of program tests are called.
SUFFIX = ".alg.toml"

#: What runs a test that names no engine.
ENGINE = "vectorised"

#: What a gap check may say.
VERDICTS = ("exact_tie", "near_tie", "separated")


@dataclass(frozen=True)
class ProgramTest:
    """One test.

    Attributes:
        name: what it shows.
        program: its text.
        line: where it stands in its file, from 1.
        topic: the query; None for none.
        expected: by key (`expect`, `order`, …), what must come out.
        numbers: other values of numbers that are bound.
        engines: that run it; `all` for those that can.
        tolerance: how far a score may lie from the expected one.
    """

    name: str
    program: str
    line: int
    topic: Topic | None
    expected: Mapping[str, Any]
    numbers: Mapping[str, float] = field(default_factory=dict)
    engines: tuple[str, ...] = (ENGINE,)
    tolerance: float = 0.0


@dataclass(frozen=True)
class ProgramTestFile:
    """A file that was read.

    Attributes:
        path: the file.
        tests: in the order of the file.
        bound: what it binds, as TOML has it.
        collections: those that it may `use`, by name, or what makes them.
    """

    path: Path
    tests: tuple[ProgramTest, ...]
    bound: Mapping[str, Any] = field(repr=False)
    collections: Mapping[str, Collection | Callable[[], Collection]] = field(default_factory=dict, repr=False)

    @cached_property
    def collection(self) -> Collection:
        """What its programs run over; made once.

        Raises:
            BindingError: for what cannot be bound; its message names the file.
            DataError: `bad_program_tests`, and where a saved collection cannot be read.
        """
        try:
            return collection_of(self.bound, self.path, self.collections)
        except BindingError as error:
            raise BindingError(error.code, f"{self.path}: {error.message}", error.hint) from None


def read_program_tests(
    path: str | Path, collections: Mapping[str, Collection | Callable[[], Collection]] | None = None
) -> ProgramTestFile:
    """Read a file of program tests.

    Args:
        path: the file.
        collections: by name, what it may `use` beside `vaswani`: collections, or functions that make them.

    Returns:
        The file; its collection is made when it is first asked for.

    Raises:
        DataError: `missing_data`, `corrupted_data`; `bad_program_tests`, where it is no TOML or its keys or values make
            no sense, with the place.
    """
    path = Path(path)
    text = read_program(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise bad(str(path), f"no TOML: {error}") from None
    check_shape(content, FILE, str(path))
    places = [text.count("\n", 0, found.start()) + 1 for found in re.finditer(r"^[ \t]*\[\[\s*test\s*\]\]", text, re.M)]
    given = content.pop("test", [])
    if not given:
        raise bad(str(path), "it has no test", "[[test]] begins one")
    defaults: dict[str, Any] = {key: content.pop(key) for key in ("engines", "tolerance") if key in content}
    if len(places) != len(given):
        # Written as a list of inline tables.
        places = [1] * len(given)
    tests = tuple(_test({**defaults, **table}, line, path) for table, line in zip(given, places, strict=True))
    names = [test.name for test in tests]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise bad(str(path), f"two tests have the name {twice!r}")
    return ProgramTestFile(path, tests, content, dict(collections or {}))


def _test(table: Mapping[str, Any], line: int, path: Path) -> ProgramTest:
    where = f"{path}, line {line}"
    check_shape(table, TEST, where)
    if not table.get("name", "").strip():
        raise bad(where, "a test has a name")
    where = f"{where}, {table['name']!r}"
    expected = {key: table[key] for key in EXPECTATIONS if key in table}
    if not expected:
        raise bad(where, "nothing is expected", f"say what must come out: {', '.join(EXPECTATIONS)}")
    if "error" in expected and expected.keys() - {"error", "at"}:
        raise bad(where, "a program that must fail gives nothing else to expect")
    if "at" in expected and "error" not in expected:
        raise bad(where, "at is the place of an error: say which")
    if table.get("tolerance", 0.0) < 0:
        raise bad(where, "tolerance is 0 or more")
    if ("program" in table) == ("file" in table):
        raise bad(where, "a test has a program, or a file that holds one")
    if not table.get("engines", [ENGINE]):
        raise bad(where, "engines are one or more, or left out")
    for key, known in (("engines", [*engines(), "all"]), ("warnings", WARNINGS)):
        _refuse_unknown(table.get(key, []), known, key, where)
    _refuse_unknown([table["verdict"]] if "verdict" in table else [], VERDICTS, "verdict", where)
    program = table["program"] if "program" in table else read_program(path.parent / table["file"])
    return ProgramTest(
        name=table["name"],
        program=program,
        line=line,
        topic=_topic(table, where),
        expected=expected,
        numbers=table.get("numbers", {}),
        engines=tuple(table.get("engines", [ENGINE])),
        tolerance=float(table.get("tolerance", 0.0)),
    )


def _refuse_unknown(given: Iterable[str], known: Iterable[str], key: str, where: str) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            close = ", ".join(suggest(name, names))
            raise bad(where, f"{key}: there is no {name!r}", f"did you mean {close}?" if close else ", ".join(names))


def _topic(table: Mapping[str, Any], where: str) -> Topic | None:
    own = [key for key in ("qid", "query", "vector", "input", "pool") if key in table]
    if "topic" not in table:
        given = [table.get(key) for key in ("query", "vector", "input", "pool")]
        return Topic(table.get("qid", "1"), *given) if own else None
    if {"qid", "query"} & set(own):
        raise bad(where, "a topic of Vaswani brings its own qid and query")
    try:
        query = vaswani_topic(table["topic"])
    except AlgebraError as error:
        raise bad(where, error.message, error.hint) from None
    return Topic(table["topic"], query, table.get("vector"), table.get("input"), table.get("pool"))
