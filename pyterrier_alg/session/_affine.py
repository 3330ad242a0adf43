"""Scores as straight lines: a + c b for each record, where a coefficient c stands in an affine place.

What does not hang on the coefficient is computed as defined, once, and is exact from there on. What does is added,
scaled and restricted: in float64 with a bound on the error, for all records, and in fractions for those that matter.
A third bound says how far the defined float64 score may lie from the line, at any float64 value of c in the range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection.operands import Positions, RelationOperand, Scope, Scores
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._selection import Selector
from pyterrier_alg.engines.demand import demand, shown
from pyterrier_alg.session._rounding import SLACK, TINY, UNIT, Bounded

#: Scores beyond this may leave float64 when they are added.
_LARGEST = 1e300


class NotAffineError(Exception):
    """A program whose scores are no straight lines in a coefficient."""

    def __init__(self, node: Expression, why: str) -> None:
        """Name the step."""
        super().__init__(f"{shown(node)} {why}")


@dataclass(frozen=True, eq=False)
class Line:
    """A number (no positions, arrays of length 1) or a relation, as a + c b.

    Attributes:
        positions: of the records, ascending.
        a: `Bounded`, or an object array of fractions.
        b: the same.
        rounding: how far the defined float64 value may lie from the line.
        is_constant: whether it does not hang on c; its values are then the defined ones.
    """

    positions: Positions | None
    a: Any
    b: Any
    rounding: Scores
    is_constant: bool

    def at(self, places: Any) -> Line:
        """The same at some of the places."""
        rounding = np.broadcast_to(self.rounding, self.size)
        positions = None if self.positions is None else self.positions[places]
        return Line(positions, self.a[places], self.b[places], rounding[places], self.is_constant)

    @property
    def size(self) -> int:
        """How many values."""
        return 1 if self.positions is None else len(self.positions)


class Affine:
    """The scores of a relation expression as lines.

    Attributes:
        domain: positions of the records that it scores, ascending.
        leaves: the constant relations that the scores are made of, and whom `fill` did not have to give a score.
    """

    def __init__(
        self, formula: Formula, expression: Expression, scope: Scope, name: str, over: tuple[float, float]
    ) -> None:
        """Compute what does not hang on the coefficient.

        Args:
            formula: sound; names refer to its steps.
            expression: of kind relation.
            scope: the operands.
            name: of the coefficient, a bound number.
            over: the least and the greatest value that it takes.

        Raises:
            NotAffineError: naming the step that is not affine.
            EvaluationError: as running the formula does.
        """
        self.expression, self.scope, self.name = expression, scope, name
        self.steps = dict(formula.steps)
        self.largest = max(map(abs, over))
        self.evaluation = Evaluation(formula, scope, Selector(fold_directions=True))
        self.dependent = dependent(formula, name)
        self.leaves: list[RelationOperand] = []
        work = _Work(self, _approximate, None)
        self.lines = work.line()
        self.domain = cast(Positions, self.lines.positions)
        with np.errstate(all="ignore"):
            reach = work.size(self.lines) + self.lines.rounding
        if not bool(np.all(reach <= _LARGEST)):
            raise NotAffineError(expression, "may leave float64 within the range")

    def exact(self, positions: Positions) -> tuple[list[Fraction], list[Fraction]]:
        """The exact lines of some records, which are in the domain and ascend."""
        line = _Work(self, _exactly, positions).line()
        return list(line.a), list(line.b)

    def sources(self) -> Scores:
        """What each record's score is made of: one row a record of the domain, NaN where a leaf lacks it.

        Equal rows have equal defined scores, whatever the coefficient is.
        """
        columns = np.full((len(self.domain), len(self.leaves)), np.nan)
        for column, leaf in enumerate(self.leaves):
            _, mine, its = np.intersect1d(self.domain, leaf.positions, assume_unique=True, return_indices=True)
            columns[mine, column] = leaf.scores[its]
        return columns


def dependent(formula: Formula, name: str) -> set[Expression]:
    """The expressions of a formula that hang on an operand, through steps too."""
    found: set[Expression] = set()
    steps: set[str] = {name}
    for step, expression in (*formula.steps, ("", formula.result)):
        for node in walk(expression):
            named = isinstance(node, Name) and node.name in steps
            if named or any(part in found for part in node.parts):
                found.add(node)
        if expression in found and step:
            steps.add(step)
    return found


def _approximate(values: Scores) -> Bounded:
    return Bounded(values, np.zeros(len(values)))


def _exactly(values: Scores) -> npt.NDArray[np.object_]:
    out = np.empty(len(values), dtype=object)
    out[:] = [Fraction(value) for value in values.tolist()]
    return out


def _size(values: Any) -> Scores:
    """The absolute value, from above."""
    if isinstance(values, Bounded):
        return np.abs(values.values) + values.errors
    return np.zeros(len(values))


class _Work:
    """One pass over an expression: in float64 with bounds, or in fractions, maybe at some records only."""

    def __init__(self, affine: Affine, number: Callable[[Scores], Any], only: Positions | None) -> None:
        self.affine, self.number, self.only = affine, number, only
        self.known: dict[Expression, Line] = {}

    def line(self) -> Line:
        with np.errstate(all="ignore"):
            return demand(self.affine.expression, self.needs, self.visit, self.known)

    def needs(self, node: Expression) -> Sequence[Expression]:
        """What has to be a line before this can be one."""
        if node not in self.affine.dependent:
            return ()
        if isinstance(node, Name):
            return () if node.name == self.affine.name else (self.affine.steps[node.name],)
        if isinstance(node, Apply) and node.operator in ("neg", "+", "-", "*", "/", "fill"):
            return node.arguments
        if isinstance(node, Apply) and node.operator == ">>":
            if node.arguments[0] in self.affine.dependent:
                raise NotAffineError(node.arguments[0], "lets other records through as the coefficient changes")
            return node.arguments[1:]
        if isinstance(node, Apply) and node.operator in ("@", "closeness"):
            why = "scores along one vector, whose elements are rounded: scale and add scores, not vectors"
            raise NotAffineError(node, why)
        raise NotAffineError(node, "is not affine in the coefficient")

    def visit(self, node: Expression) -> Line:
        if node not in self.affine.dependent:
            return self.leaf(node)
        if isinstance(node, Name):
            return self.known[self.affine.steps[node.name]] if node.name != self.affine.name else self.coefficient()
        operator, below = cast(Apply, node).operator, [self.known.get(part) for part in cast(Apply, node).arguments]
        if operator == ">>":
            mask = self.affine.evaluation.mask(node.parts[0])
            line = cast(Line, below[1])
            return line.at(np.isin(cast(Positions, line.positions), mask, assume_unique=True))
        if operator == "neg":
            (line,) = cast(list[Line], below)
            return replace(line, a=-line.a, b=-line.b)
        if operator == "fill":
            return self.filled(*cast(list[Line], below))
        x, y = _aligned(*cast(list[Line], below))
        if operator in "+-":
            return self.added(x, y, operator)
        if operator == "*" and y.is_constant:
            return self.scaled(x, y, operator)
        if operator == "*" and x.is_constant:
            return self.scaled(y, x, operator)
        if operator == "/" and y.is_constant:
            return self.scaled(x, y, operator)
        raise NotAffineError(node, "is not affine in the coefficient, which stands in it more than once or below /")

    def leaf(self, node: Expression) -> Line:
        """What does not hang on the coefficient: its defined values, and exact ones from here on."""
        value = self.affine.evaluation.value(node)
        if isinstance(value, float):
            return Line(None, self.number(np.array([value])), self.number(np.zeros(1)), np.zeros(1), True)
        relation = cast(RelationOperand, value)
        if self.only is None:
            self.affine.leaves.append(relation)
        else:
            there = np.isin(relation.positions, self.only, assume_unique=True)
            relation = RelationOperand(relation.positions[there], relation.scores[there])
        none = np.zeros(len(relation.positions))
        return Line(relation.positions, self.number(relation.scores), self.number(none), none, True)

    def coefficient(self) -> Line:
        return Line(None, self.number(np.zeros(1)), self.number(np.ones(1)), np.zeros(1), False)

    def added(self, x: Line, y: Line, operator: str) -> Line:
        a, b = (x.a + y.a, x.b + y.b) if operator == "+" else (x.a - y.a, x.b - y.b)
        made = x.rounding + y.rounding
        rounding = (made + UNIT * (self.size(x) + self.size(y) + made)) * SLACK + TINY
        return Line(_positions(x, y), a, b, rounding, x.is_constant and y.is_constant)

    def scaled(self, x: Line, by: Line, operator: str) -> Line:
        """A line times a constant, or over one; where it is a number that is 0, `check` has refused it."""
        a, b = (x.a * by.a, x.b * by.a) if operator == "*" else (x.a / by.a, x.b / by.a)
        factor = _size(by.a) if operator == "*" else 1.0 / _size(by.a)
        rounding = (x.rounding + UNIT * (self.size(x) + x.rounding)) * factor * SLACK + TINY
        return Line(_positions(x, by), a, b, rounding, x.is_constant)

    def filled(self, c: Line, s: Line) -> Line:
        """A number for every record that a relation does not score."""
        everything = np.arange(len(self.affine.scope.docnos), dtype=np.int64) if self.only is None else self.only
        positions = cast(Positions, s.positions)
        places = np.searchsorted(everything, positions)
        if self.only is None:
            # Whether a record was scored or filled in tells its score apart, too.
            self.affine.leaves.append(RelationOperand(positions, np.zeros(len(positions))))

        def over(one: Any, many: Any) -> Any:
            if isinstance(one, Bounded):
                return Bounded(over(one.values, many.values), over(one.errors, many.errors))
            whole = np.full(len(everything), one[0], dtype=one.dtype)
            whole[places] = many
            return whole

        rounding = over(c.rounding, np.broadcast_to(s.rounding, len(places)))
        return Line(everything, over(c.a, s.a), over(c.b, s.b), rounding, False)

    def size(self, line: Line) -> Scores:
        """How large a line may be anywhere in the range."""
        return (_size(line.a) + self.affine.largest * _size(line.b)) * SLACK


def _aligned(x: Line, y: Line) -> tuple[Line, Line]:
    """Two lines at the records that both have; a number meets every record."""
    if x.positions is None or y.positions is None or np.array_equal(x.positions, y.positions):
        return x, y
    _, i, j = np.intersect1d(x.positions, y.positions, assume_unique=True, return_indices=True)
    return x.at(i), y.at(j)


def _positions(x: Line, y: Line) -> Positions | None:
    return y.positions if x.positions is None else x.positions
