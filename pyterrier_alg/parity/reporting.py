"""The report for people (a terminal, Markdown) and for programs (JSON)."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyterrier_alg.parity.comparing import DISAGREEMENT, ROUNDING, TIE, TOLERANCE, Comparison
from pyterrier_alg.parity.experiment import Case, Report
from pyterrier_alg.parity.programs import PROGRAMS

_PACKAGES = ("numpy", "pandas", "pyterrier", "apsw", "sqlite-vec", "duckdb")
_COLUMNS = ("implementations", "same sets", "largest difference", "equal ranks", "flips", "verdict")


@dataclass(frozen=True, slots=True)
class Row:
    """All topics of one program and one pair of implementations, summed up."""

    program: str
    first: str
    second: str
    topics: int
    same_sets: int
    largest_difference: float
    agreeing_ranks: int
    ranks: int
    flips: Counter[str]
    faults: int

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as tables show it, without the program."""
        sorts = [f"{self.flips[sort]} {sort}" for sort in (TIE, ROUNDING, DISAGREEMENT) if self.flips[sort]]
        return (
            f"{self.first} – {self.second}",
            f"{self.same_sets}/{self.topics}",
            f"{self.largest_difference:.1e}" if self.largest_difference else "0",
            f"{self.agreeing_ranks}/{self.ranks}",
            ", ".join(sorts) or "none",
            "holds" if not self.faults else f"FAILS ({self.faults})",
        )


def summarise(report: Report) -> list[Row]:
    """One row for each program and pair of implementations.

    Args:
        report: the experiment's.

    Returns:
        Rows, in the order of programs and implementations.
    """
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for case in report.cases:
        for comparison in case.comparisons:
            groups.setdefault((case.program.name, comparison.first, comparison.second), []).append(comparison)
    return [
        Row(
            *key,
            topics=len(group),
            same_sets=sum(c.same_sets for c in group),
            largest_difference=max(c.largest_difference for c in group),
            agreeing_ranks=sum(c.agreeing_ranks for c in group),
            ranks=sum(c.ranks for c in group),
            flips=Counter(flip.sort for c in group for flip in c.flips),
            faults=sum(bool(c.faults) for c in group),
        )
        for key, group in groups.items()
    ]


def to_rich(report: Report) -> RenderableType:
    """The report as a terminal shows it.

    Args:
        report: the experiment's.

    Returns:
        What `rich` prints.
    """
    parts: list[RenderableType] = [Text(line) for line in _heading(report)]
    rows = summarise(report)
    for program in PROGRAMS:
        table = Table()
        for column in _COLUMNS:
            table.add_column(column, justify="left" if column in ("implementations", "flips") else "right")
        for row in rows:
            if row.program == program.name:
                table.add_row(*row.cells, style="red" if row.faults else "")
        parts += [Text(f"\n{program.name}: {program.text}", style="bold"), table]
    for case in flipped(report):
        parts += [Text(f"\n{_case_title(case)}", style="bold"), _ranking(case)]
    parts += [Text(""), *(Text(line) for line in _closing(report))]
    return Group(*parts)


def _ranking(case: Case) -> Table:
    """The two orders of one case, side by side, with the flipped documents marked."""
    table = Table()
    table.add_column("rank", justify="right")
    names = case.raw_differs
    for name in names:
        for column in ("tie-safe", "raw", "raw score"):
            table.add_column(f"{name} {column}", justify="right")
    for rank in range(max(len(case.outcomes[name].raw) for name in names)):
        cells = [str(rank)]
        for name in names:
            outcome = case.outcomes[name]
            safe = outcome.order[rank] if rank < len(outcome.order) else ""
            docno, score = outcome.raw[rank] if rank < len(outcome.raw) else ("", float("nan"))
            cells += [safe, docno + (" ←" if docno != safe else ""), repr(score)]
        table.add_row(*cells)
    return table


def _case_title(case: Case) -> str:
    return f"{case.program.name}, topic {case.pair.first} against {case.pair.second}: raw order and tie-safe order"


def flipped(report: Report, most: int = 4) -> list[Case]:
    """The first cases in which some implementation's raw order is not its tie-safe order."""
    return [case for case in report.cases if case.raw_differs][:most]


def explain(case: Case) -> list[str]:
    """Why each implementation's raw order differs from the defined one, a line for each flip.

    Args:
        case: one whose raw order differs somewhere.

    Returns:
        Lines for people.
    """
    lines = []
    reference = next(name for name in case.outcomes if name not in case.raw_differs)
    for comparison in case.comparisons:
        names = (comparison.first, comparison.second)
        if reference not in names or not set(names) & set(case.raw_differs):
            continue
        other = names[1] if names[0] == reference else names[0]
        for flip in comparison.flips:
            scores = dict(case.outcomes[other].raw)
            own = " and ".join(repr(scores[d]) if d in scores else "no place" for d in (flip.above, flip.below))
            gap = "tie exactly (gap 0)" if flip.gap == 0 else f"lie {flip.gap:.2g} apart"
            lines.append(
                f"{case.program.name}, topic {case.pair.first}: {flip.above} and {flip.below} {gap} by definition; "
                f"{other} scores them {own}: {flip.sort}"
            )
    return lines


def _heading(report: Report) -> list[str]:
    topics = list(dict.fromkeys((case.pair.first, case.pair.second) for case in report.cases))
    which = f"q1 = topic {topics[0][0]}, q2 = topic {topics[0][1]}" if len(topics) == 1 else f"{len(topics)} topics"
    lines = [f"Parity on Vaswani: 11,429 documents, signed-hash vectors of {report.dimensions} dimensions, {which}"]
    lines += [f"  {i.name:<11} {i.title}" for i in report.implementations]
    if report.fault:
        fault, where = report.fault
        lines.append(f"NEGATIVE CONTROL: fault '{fault.name}' in {where}: {fault.meaning}")
    return lines


def _closing(report: Report) -> list[str]:
    lines = [line for case in flipped(report) for line in explain(case)]
    ties = [case for case in report.cases if case.check.verdict == "exact_tie"]
    at_cut = [case for case in ties if case.check.gap_at_cut == 0]
    lines.append(
        f"{len(ties)} of {len(report.cases)} selections have an exact tie up to their cut, {len(at_cut)} across it; "
        "equal scores stand in docno order"
    )
    if report.holds:
        lines.append(f"every check holds: same sets, scores within {TOLERANCE:g}, no order disagreement")
    else:
        lines += [f"FAILS: {failure}" for failure in report.failures[:20]]
        lines += [f"… {len(report.failures) - 20} more failures"] if len(report.failures) > 20 else []
        if report.fault:
            lines.append(f"the injected fault '{report.fault[0].name}' in {report.fault[1]} was found")
    return lines


def to_dict(report: Report, *, every_outcome: bool = True) -> dict[str, Any]:
    """The report as JSON-ready values, without a clock in it.

    Args:
        report: the experiment's.
        every_outcome: whether to give the rankings of every case, or only of those whose raw order is not tie-safe.

    Returns:
        Settings, versions, summary, every case with both orders and scores, failures.
    """
    return {
        "experiment": "parity",
        "collection": "vaswani",
        "dimensions": report.dimensions,
        "tolerance": TOLERANCE,
        "fault": {"name": report.fault[0].name, "implementation": report.fault[1]} if report.fault else None,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "implementations": [{"name": i.name, "title": i.title} for i in report.implementations],
        "programs": [{"name": p.name, "text": p.text, "digest": p.formula.digest} for p in PROGRAMS],
        "holds": report.holds,
        "failures": list(report.failures),
        "summary": [_row_dict(row) for row in summarise(report)],
        "cases": [_case_dict(case, every_outcome or bool(case.raw_differs)) for case in report.cases],
    }


def _row_dict(row: Row) -> dict[str, Any]:
    return {
        "program": row.program,
        "first": row.first,
        "second": row.second,
        "topics": row.topics,
        "same_sets": row.same_sets,
        "largest_difference": row.largest_difference,
        "agreeing_ranks": row.agreeing_ranks,
        "ranks": row.ranks,
        "flips": {sort: row.flips[sort] for sort in (TIE, ROUNDING, DISAGREEMENT)},
        "faults": row.faults,
    }


def _case_dict(case: Case, outcomes: bool) -> dict[str, Any]:
    return {
        "program": case.program.name,
        "q1": case.pair.first,
        "q2": case.pair.second,
        "gap_check": case.check.to_dict(),
        "outcomes": {
            name: {
                "order": list(outcome.order),
                "raw": [[docno, score] for docno, score in outcome.raw],
                "error_bound": outcome.bound,
                "certified": outcome.certified,
            }
            for name, outcome in case.outcomes.items()
            if outcomes
        },
        "flips": [
            {"first": c.first, "second": c.second, "above": f.above, "below": f.below, "gap": f.gap, "sort": f.sort}
            for c in case.comparisons
            for f in c.flips
        ],
    }


def to_markdown(report: Report) -> str:
    """The report as Markdown.

    Args:
        report: the experiment's.

    Returns:
        The text, ending in a line break.
    """
    first, *rest = _heading(report)
    lines = ["# Parity", "", first, "", *(f"- {line.strip()}" for line in rest)]
    rows = summarise(report)
    for program in PROGRAMS:
        lines += ["", f"## {program.name}", "", f"    {program.text}", ""]
        lines += _markdown_table(_COLUMNS, [row.cells for row in rows if row.program == program.name])
    for case in flipped(report):
        table = _ranking(case)
        cells = list(zip(*(column.cells for column in table.columns), strict=True))
        headers = [str(column.header) for column in table.columns]
        lines += ["", f"## {_case_title(case)}", "", *_markdown_table(headers, cells)]
    lines += ["", *(f"- {line}" for line in _closing(report))]
    return "\n".join(lines) + "\n"


def _markdown_table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = ["| " + " | ".join(headers) + " |", "|" + " --- |" * len(headers)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
