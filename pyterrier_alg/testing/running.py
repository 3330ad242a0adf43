"""Running program tests: each on its engines, each expectation by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError, DataError, ProgramError, UnsupportedError
from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.collection import Collection
from pyterrier_alg.engines.registry import engine, engines
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.testing._difference import few_of, shown
from pyterrier_alg.testing.files import ENGINE, SUFFIX, ProgramTest, ProgramTestFile, read_program_tests
from pyterrier_alg.testing.outcomes import Outcome, Report
from pyterrier_alg.transformers import Program


def run_program_tests(
    paths: str | Path | Iterable[str | Path],
    collections: Mapping[str, Collection | Callable[[], Collection]] | None = None,
) -> Report:
    """Run every test of files, or of folders.

    Args:
        paths: files, and folders, of which every `.alg.toml` file is taken, those in folders below too.
        collections: by name, what files may `use` beside `vaswani`: collections, or functions that make them.

    Returns:
        The report: a table of failures when printed; a file that cannot be read, or whose operands cannot be bound, is
        a failure in it.

    Raises:
        DataError: `missing_data`, where a path does not exist.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> text = '''
        ... [relations]
        ... S = {d1 = 3.0, d2 = 1.0}
        ... [[test]]
        ... name = "the best one"
        ... program = "top(1, S)"
        ... expect = {d2 = 1.0}
        ... '''
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "best.alg.toml")
        ...     _ = path.write_text(text)
        ...     report = run_program_tests(path)
        >>> print(str(report).split("best.alg.toml")[-1])
        :4: the best one (vectorised): does not hold
            top(1, S)
          - 1 record not expected: d1
          - 1 record missing: d2
          rank  expected       found
          0     d2        1.0  d1     3.0  not expected
          missing: d2
          gap check: separated, gap at the cut 2, certified; beyond it d2 1.0
        0 of 1 program test holds
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = [file for path in given for file in _files(Path(path))]
    return Report(tuple(outcome for file in files for outcome in _run_file(file, collections)))


def run_program_test(file: ProgramTestFile, test: ProgramTest, engine_name: str = ENGINE) -> Outcome:
    """Run one test on one engine.

    Args:
        file: has what is bound.
        test: one of its tests.
        engine_name: one of `engines_of(test)`.

    Raises:
        BindingError, DataError: where what the file binds cannot be bound.
    """
    collection = file.collection
    found, error, allowed = None, None, test.tolerance
    try:
        collection = collection.with_numbers(**test.numbers)
    except AlgebraError as fault:
        faults, error = ["numbers cannot be set so"], fault
    else:
        try:
            found = Program(test.program, collection, engine=engine_name).run(test.topic)
            allowed = max(test.tolerance, _bound(found, test.tolerance))
            faults = list(_faults(test.expected, found, allowed))
        except AlgebraError as fault:
            faults, error = _error_faults(test.expected, fault), fault
    return Outcome(
        path=file.path,
        line=test.line,
        name=test.name,
        engine=engine_name,
        program=test.program,
        faults=tuple(faults),
        expected=test.expected,
        found=found,
        error=str(error) if error is not None else "",
        allowed=allowed,
    )


def engines_of(test: ProgramTest) -> list[str]:
    """The engines that a test runs on: those it names, or of all those that can.

    Example:
        >>> engines_of(ProgramTest("", "top(10, mmr(10, S, E))", 1, None, {}, engines=("all",)))
        ['vectorised', 'pipeline', 'definition']
    """
    if "all" not in test.engines:
        return list(test.engines)
    try:
        formula = parse(test.program)
    except ProgramError:
        return [ENGINE]
    return [name for name in engines() if _can(name, formula)]


def _can(name: str, formula: Any) -> bool:
    try:
        engine(name).require(formula)
    except UnsupportedError:
        return False
    return True


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(found for found in path.rglob(f"*{SUFFIX}") if found.is_file())
    if not path.exists():
        raise DataError("missing_data", f"{path} does not exist", f"a file {SUFFIX[1:]}, or a folder of such files")
    return [path]


def _run_file(path: Path, collections: Mapping[str, Any] | None) -> Iterator[Outcome]:
    try:
        file = read_program_tests(path, collections)
        # What cannot be bound is one failure, not one a test.
        _ = file.collection
    except AlgebraError as error:
        yield Outcome(path, 1, "the file", "", "", ("it cannot be used",), error=str(error))
        return
    for test in file.tests:
        yield from (run_program_test(file, test, name) for name in engines_of(test))


def _bound(found: ScoredRelation, otherwise: float) -> float:
    """How far a score may lie from the defined one, as the engine states it; this much where it cannot say."""
    return found.error_bound if math.isfinite(found.error_bound) else otherwise


def _error_faults(expected: Mapping[str, Any], error: AlgebraError) -> list[str]:
    """What does not hold of a program that failed."""
    wanted = expected.get("error")
    if wanted is None:
        return ["the program fails"]
    diagnostics = error.diagnostics if isinstance(error, ProgramError) else ()
    codes = [diagnostic.code for diagnostic in diagnostics] or [error.code]
    if wanted not in codes:
        return [f"it fails with {', '.join(dict.fromkeys(codes))}, not with {wanted}"]
    if "at" in expected:
        source = error.source if isinstance(error, ProgramError) else ""
        places = [source[d.span.start : d.span.stop] for d in diagnostics if d.code == wanted and d.span is not None]
        if expected["at"] not in places:
            marked = ", ".join(map(repr, places)) or "nothing"
            return [f"{wanted} marks {marked}, not {expected['at']!r}"]
    return []


def _faults(expected: Mapping[str, Any], found: ScoredRelation, allowed: float) -> Iterator[str]:
    """What does not hold of a result, a line each."""
    if "error" in expected:
        yield f"the program gives {_records(len(found))}, and must fail with {expected['error']}"
        return
    if "expect" in expected:
        yield from _score_faults(expected["expect"], found, allowed)
    if "order" in expected:
        yield from _set_faults(expected["order"], found)
    if "count" in expected and len(found) != expected["count"]:
        yield f"{_records(len(found))}, not {expected['count']:,}"
    if not _order_holds(expected, found, 2 * _bound(found, allowed)):
        yield "the order is another one"
    missing = [docno for docno in expected.get("includes", []) if docno not in found]
    if missing:
        yield f"{_records(len(missing))} that must be there: {few_of(missing)}"
    wrong = [docno for docno in expected.get("excludes", []) if docno in found]
    if wrong:
        yield f"{_records(len(wrong))} that must not be there: {few_of(wrong)}"
    verdict = None if found.gap_check is None else found.gap_check.verdict
    if "verdict" in expected and verdict != expected["verdict"]:
        yield f"the gap check says {verdict or 'nothing, since nothing is selected'}, not {expected['verdict']}"
    if "certified" in expected and found.certified != expected["certified"]:
        yield f"the result is {'certified' if found.certified else 'not certified'}"
    if "warnings" in expected:
        yield from _warning_faults(expected["warnings"], found)


def _score_faults(expect: Mapping[str, float], found: ScoredRelation, allowed: float) -> Iterator[str]:
    yield from _set_faults(expect, found)
    off = [(docno, score) for docno, score in found if docno in expect and not abs(score - expect[docno]) <= allowed]
    if off:
        worst, score = max(off, key=lambda pair: abs(pair[1] - expect[pair[0]]))
        within = f" more than {allowed:.3g}" if allowed else ""
        said = f"{shown(worst)} has {score!r}, not {float(expect[worst])!r}"
        yield f"{len(off):,} score{'s' if len(off) > 1 else ''} off{within}, the most: {said}"


def _set_faults(expected: Iterable[str], found: ScoredRelation) -> Iterator[str]:
    wanted = dict.fromkeys(expected)
    more = [docno for docno, _ in found if docno not in wanted]
    if more:
        yield f"{_records(len(more))} not expected: {few_of(more)}"
    missing = [docno for docno in wanted if docno not in found]
    if missing:
        yield f"{_records(len(missing))} missing: {few_of(missing)}"


def _order_holds(expected: Mapping[str, Any], found: ScoredRelation, unsure: float) -> bool:
    """Whether the expected docnos that were found stand as they should, and the first of all where these should."""
    got, scores = found.docnos.tolist(), found.to_dict()
    first = expected.get("first", [])
    if not all(docno in scores for docno in first):
        return False
    order = [docno for docno in expected.get("order", []) if docno in scores]
    same = [docno for docno in got if docno in set(order)], first + [docno for docno in got if docno not in set(first)]
    pairs = [(order, same[0]), (same[1], got)]
    # Every order of records whose scores are nearer than the engine is sure of is as good.
    return all(left == right or (unsure > 0 and _could_be(left, scores, unsure)) for left, right in pairs)


def _could_be(docnos: Iterable[str], scores: Mapping[str, float], unsure: float) -> bool:
    """Whether no record stands behind one that it beats by more than this."""
    lowest = math.inf
    for docno in docnos:
        if scores[docno] > lowest + unsure:
            return False
        lowest = min(lowest, scores[docno])
    return True


def _warning_faults(wanted: Iterable[str], found: ScoredRelation) -> Iterator[str]:
    given = {warning.code: warning for warning in found.warnings}
    for code, warning in given.items():
        if code not in wanted:
            yield f"it warns of {code}: {warning.message}"
    for code in wanted:
        if code not in given:
            yield f"it does not warn of {code}"


def _records(count: int) -> str:
    return f"{count:,} record{'' if count == 1 else 's'}"
