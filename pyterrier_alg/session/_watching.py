"""The vectorised engine at work, watched: what it computed, for how long, and what it did otherwise than written.

Nothing is inferred from the program: what is told here was seen while the engine ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from pyterrier_alg.algebra.expressions import Apply, Expression
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection.operands import MatrixOperand, Positions, Scope
from pyterrier_alg.engines._bounds import Bounds, Direction
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._relations import intersection
from pyterrier_alg.engines._selection import Selection, Selector, _Scores
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.values import Plain
from pyterrier_alg.session._figures import figure, records
from pyterrier_alg.session._situation import selector


@dataclass(frozen=True)
class Action:
    """One thing that the engine did otherwise than the program is written, with the same result.

    Attributes:
        kind: `candidates` (a scan in float32 found those that could be among the first k, and only they were given
            their defined scores), `few` (so few records were left that all were given them at once), `whole` (no bound
            could be had, so that everything was), `folded` (several directions scanned as one), `masked` (a scan of
            only those rows that a mask lets through), `shared` (computed once, though written more than once), `unused`
            (a step that the result does not use).
        expression: the text of what it was done for.
        before: as written.
        after: as done.
        details: the figures, by name.
    """

    kind: str
    expression: str
    before: str
    after: str
    details: tuple[tuple[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "kind": self.kind,
            "expression": self.expression,
            "before": self.before,
            "after": self.after,
            "details": dict(self.details),
        }


class Watched(Evaluation):
    """An evaluation that takes the time of each expression by itself, and notes what was done for it."""

    def __init__(self, formula: Formula, scope: Scope) -> None:
        """Nothing is computed yet."""
        self.actions: list[Action] = []
        self.seconds: dict[Expression, float] = {}
        self._inner: list[float] = [0.0]
        super().__init__(formula, scope, _WatchedSelector(self.actions))

    def _visit(self, node: Expression) -> Plain:
        restricted = self._masked_scan(node)
        began = perf_counter()
        self._inner.append(0.0)
        value = super()._visit(node)
        took = perf_counter() - began
        # What was computed inside has its own time.
        self.seconds[node] = max(0.0, took - self._inner.pop())
        self._inner[-1] += took
        if restricted is not None:
            matrix, _ = self.scan(restricted)
            self._note_masked(node, restricted, matrix)
        return value

    def _note_masked(self, node: Expression, scan: Expression, matrix: MatrixOperand) -> None:
        mask = self.mask(node.parts[0])
        rows = len(intersection(mask, matrix.positions))
        if rows < len(matrix.positions):
            before = f"{shown(scan, 40)}: {len(matrix.positions):,} rows, then {shown(node.parts[0], 40)}"
            details = (("rows", rows), ("of", len(matrix.positions)))
            self.actions.append(Action("masked", shown(node), before, f"the mask first: {rows:,} rows scored", details))


class _WatchedSelector(Selector):
    """Selects as the engine does, and notes how."""

    def __init__(self, actions: list[Action]) -> None:
        super().__init__(fold_directions=True)
        # What the engine has measured of matrices, it has measured here.
        known = selector()
        self._norms, self._lengths = known._norms, known._lengths
        self._actions = actions
        self._scanned: list[_Scan] = []

    def __call__(self, evaluation: Evaluation, k: int, expression: Expression) -> Selection:
        self._scanned = []
        selection = super().__call__(evaluation, k, expression)
        scans = [scan for scan in self._scanned if len(scan.nodes) > 1]
        what = shown(expression)
        details: tuple[tuple[str, Any], ...] = (("k", k), ("candidates", selection.candidates))
        if selection.scan_error is not None and self._scanned:
            eligible = self._scanned[0].records
            after = f"a float32 scan of {records(eligible)}, off by at most {figure(selection.scan_error, 2)}; "
            after += f"defined scores for {selection.candidates:,}"
            kind, details = "candidates", (*details, ("records", eligible), ("scan_error", selection.scan_error))
        elif selection.scan_error is not None:
            after = f"scores as they are; {selection.candidates:,} looked at for the first {k:,}"
            kind = "candidates"
        elif expression in evaluation.known:
            kind = "whole"
            after = f"defined scores for all {selection.candidates:,}: they were needed whole, or no bound could be had"
        else:
            kind = "few"
            after = f"masks and joins first: defined scores for {records(selection.candidates)}, no scan"
        self._actions.append(Action(kind, what, f"all scores, then the first {k:,}", after, details))
        for scan in scans:
            before = f"{len(scan.nodes):,} scans: {', '.join(shown(node, 30) for node in scan.nodes[:3])}"
            before += ", …" if len(scan.nodes) > 3 else ""
            after = "one scan along their combined direction, to find candidates"
            self._actions.append(
                Action("folded", what, before, after, (("scans", len(scan.nodes)), ("records", scan.records)))
            )
        return selection

    def roughly(self, evaluation: Evaluation, expression: Expression, positions: Positions) -> Bounds:
        watched = _WatchedScores(evaluation, positions, self)
        found = watched.of(expression)
        self._scanned = watched.scanned
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Selector, (True,)


@dataclass(frozen=True)
class _Scan:
    nodes: tuple[Expression, ...]
    records: int


class _WatchedScores(_Scores):
    """Follows which scans became one direction."""

    def __init__(self, evaluation: Evaluation, positions: Positions, selector: Selector) -> None:
        super().__init__(evaluation, positions, selector)
        self.scanned: list[_Scan] = []
        # By identity, with the direction kept alive beside it.
        self._origins: dict[int, tuple[Direction, tuple[Expression, ...]]] = {}

    def _visit(self, node: Expression) -> Bounds | Direction | float:
        found = super()._visit(node)
        if isinstance(found, Direction) and id(found) not in self._origins:
            if isinstance(node, Apply) and not self.evaluation.is_scan(node):
                parts = self.evaluation.inside(node) or ()
                below = [self._origin(self.memo[part]) for part in parts]
                self._origins[id(found)] = found, tuple(dict.fromkeys(n for nodes in below for n in nodes))
            else:
                self._origins[id(found)] = found, (node,)
        return found

    def _origin(self, value: Bounds | Direction | float) -> tuple[Expression, ...]:
        return self._origins[id(value)][1] if id(value) in self._origins else ()

    def _settled(self, scores: Bounds | Direction | float) -> Bounds:
        if isinstance(scores, Direction):
            self.scanned.append(_Scan(self._origin(scores), len(self.positions)))
        return super()._settled(scores)


def shared(order: Sequence[Expression], uses: dict[Expression, int]) -> list[Action]:
    """What is written more than once and was computed once; operands and literals are not counted."""
    return [
        Action("shared", shown(node), f"written {uses[node]:,} times", "computed once", (("uses", uses[node]),))
        for node in order
        if isinstance(node, Apply) and uses[node] > 1
    ]
