"""What came of program tests: one by one, and all together."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.testing._difference import difference, gap_line, shown


@dataclass(frozen=True)
class Outcome:
    """What came of one test on one engine.

    Attributes:
        path: the file.
        line: where the test stands in it.
        name: of the test.
        engine: that ran it.
        program: its text.
        faults: what does not hold, a line each; none where the test passed.
        expected: what had to come out, by key.
        found: what came out; None where the program failed.
        error: how it failed; empty where it gave a result.
        allowed: how far scores were allowed to lie from the expected ones.
    """

    path: Path
    line: int
    name: str
    engine: str
    program: str
    faults: tuple[str, ...]
    expected: Mapping[str, Any] = field(default_factory=dict)
    found: ScoredRelation | None = None
    error: str = ""
    allowed: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return not self.faults

    def __str__(self) -> str:
        """Where it stands and whether it holds; where it does not, the program, the faults, and both rankings."""
        head = f"{self.path}:{self.line}: {shown(self.name)} ({self.engine})"
        if self.passed:
            return f"{head}: holds"
        lines = [f"{head}: does not hold", *(f"    {line}" for line in self.program.strip().split("\n"))]
        lines += [f"  - {fault}" for fault in self.faults]
        if self.error:
            lines += [f"  {line}" for line in self.error.split("\n")]
        if self.found is not None:
            lines += [f"  {line}" for line in difference(self.expected, self.found, self.allowed)]
            lines += [f"  {line}" for line in gap_line(self.found)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        found = self.found
        return {
            "file": str(self.path),
            "line": self.line,
            "name": self.name,
            "engine": self.engine,
            "program": self.program,
            "passed": self.passed,
            "faults": list(self.faults),
            "error": self.error or None,
            "allowed": self.allowed if math.isfinite(self.allowed) else None,
            "found": None if found is None else [{"docno": docno, "score": score} for docno, score in found],
            "gap_check": None if found is None or found.gap_check is None else found.gap_check.to_dict(),
            "warnings": [] if found is None else [warning.to_dict() for warning in found.warnings],
        }


@dataclass(frozen=True, repr=False)
class Report:
    """What came of all tests of one or more files.

    Attributes:
        outcomes: one a test and engine, in the order of the files.
    """

    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether there are tests, and all of them hold."""
        return bool(self.outcomes) and not self.failures

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """Those that do not hold."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    def __repr__(self) -> str:
        """Every failure in full, and how many tests hold."""
        return "\n".join([*map(str, self.failures), self._summary])

    def _repr_html_(self) -> str:
        cells = [
            (f"{o.path.name}:{o.line}", shown(o.name), o.engine, "holds" if o.passed else "does not hold")
            for o in self.outcomes
        ]
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
        head = "".join(f'<th scope="col">{column}</th>' for column in ("where", "test", "engine", ""))
        faults = "".join(f"<pre>{html.escape(str(outcome))}</pre>" for outcome in self.failures)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<div><b>{self._summary}</b></div>{table}{faults}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "passed": self.passed,
            "count": len(self.outcomes),
            "failures": len(self.failures),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }

    @property
    def _summary(self) -> str:
        count, holding = len(self.outcomes), len(self.outcomes) - len(self.failures)
        if not count:
            return "no program tests"
        return f"{holding:,} of {count:,} program test{'' if count == 1 else 's'} hold{'s' if count == 1 else ''}"
