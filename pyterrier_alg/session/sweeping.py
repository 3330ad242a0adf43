"""Sweeping: where the first records change as one coefficient does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from pyterrier_alg.algebra.checking import check
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection import Topic
from pyterrier_alg.collection.operands import NumberOperand, Scope
from pyterrier_alg.engines.registry import engine
from pyterrier_alg.session._affine import Affine, NotAffineError
from pyterrier_alg.session._coefficients import Coefficient, coefficient_of, coefficients, turnable
from pyterrier_alg.session._kinetic import Event, Lines
from pyterrier_alg.session._swept import BreakPoint, Interval, Sweep
from pyterrier_alg.session.addressing import seen
from pyterrier_alg.transformers import Program

__all__ = ["BreakPoint", "Coefficient", "Interval", "Sweep", "coefficients", "sweep"]

#: How many records are watched where the program selects none, the most break-points, the points of a grid.
WATCHED, MOST, POINTS = 10, 5_000, 21


def sweep(
    program: Program,
    coefficient: Coefficient | str | float,
    topic: Topic | str | None = None,
    *,
    over: tuple[float, float] | None = None,
    k: int | None = None,
    grid: int | Sequence[float] | None = None,
) -> Sweep:
    """Where the first k records change as one coefficient does.

    Where scores are affine in the coefficient, each record's is a line a + c b, and the first k change where lines
    cross: these break-points are found exactly, in fractions, and between two of them nothing changes. What runs is
    float64: each interval says between which values the defined scores have its order for certain; what is left around
    a break-point is decided by rounding. Elsewhere the program is run at the points of a grid, which may miss changes,
    and which says so.

    Args:
        program: any.
        coefficient: one of `coefficients(program)`; the name of a bound number; a literal or its text, `"0.5#2"` for
            the second of several.
        topic: the query, or its text; None where the program needs no query.
        over: the range; by default 0 to 1 for a value in it, and otherwise 0 to twice the value.
        k: how many records are watched; by default, and at most, those that the program's outermost `top` selects, or
            10 where there is none.
        grid: points, or how many, to run the program at whatever it is; the exact way where left out and possible.

    Raises:
        AlgebraError: `unknown_name`, with the coefficients that there are; `bad_argument`, for a literal that stands in
            several places, an empty range or a k below 1; `limit`, for more than 5,000 break-points.
        ProgramError: as running the program does; on a grid it is told of the points where it is raised.

    Example:
        >>> from pyterrier_alg import Collection, Program
        >>> c = Collection(["d1", "d2", "d3"]).bind(S={"d1": 4, "d2": 3, "d3": 0}, T={"d1": 0, "d2": 2, "d3": 3})
        >>> found = sweep(Program("top(1, S + alpha * T)", c.bind(alpha=0.3)), "alpha", over=(0, 4))
        >>> [(str(point.at), point.entered, point.left) for point in found.break_points]
        [('1/2', ('d2',), ('d1',)), ('3', ('d3',), ('d2',))]
    """
    wanted = coefficient_of(program, coefficient)
    turned, name = turnable(program, wanted)
    saw = seen(turned, Topic("1", topic) if isinstance(topic, str) else topic)
    check(saw.formula, saw.scope.bindings)
    low, high = _range(wanted.value, over)
    inner, watched = _selected(saw.formula, k)
    head = Sweep(program.formula, wanted, (low, high), watched, True, "", (), ())
    if grid is not None:
        return _on_grid(turned, saw.formula, saw.scope, name, replace(head, reason="a grid was asked for"), grid)
    try:
        affine = Affine(saw.formula, inner, saw.scope, name, (low, high))
    except NotAffineError as reason:
        return _on_grid(turned, saw.formula, saw.scope, name, replace(head, reason=str(reason)), POINTS)
    return _exactly(affine, saw.scope, head)


def _range(value: float, over: tuple[float, float] | None) -> tuple[float, float]:
    if over is None:
        return (0.0, 1.0) if 0 <= value <= 1 else (min(0.0, 2 * value), max(0.0, 2 * value))
    low, high = (float(end) + 0.0 for end in over)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise AlgebraError("bad_argument", f"a range is two finite numbers that ascend, not {over!r}", "over=(0, 1)")
    return low, high


def _selected(formula: Formula, k: int | None) -> tuple[Expression, int]:
    """The relation below the outermost selections, and how many of its first records are watched."""
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise AlgebraError("bad_argument", f"k is a whole number from 1, not {k!r}")
    steps, inner, selected = dict(formula.steps), formula.result, k
    while True:
        if isinstance(inner, Name) and inner.name in steps:
            inner = steps[inner.name]
        elif isinstance(inner, Apply) and inner.operator == "top" and isinstance(inner.arguments[0], Count):
            size = inner.arguments[0].value
            selected, inner = size if selected is None else min(size, selected), inner.arguments[1]
        else:
            return inner, WATCHED if selected is None else selected


def _exactly(affine: Affine, scope: Scope, head: Sweep) -> Sweep:
    """Follow the lines through the range."""
    (low, high), docnos = head.over, scope.docnos
    lines = Lines(affine, head.k)

    def named(places: Sequence[int]) -> tuple[str, ...]:
        return tuple(str(docnos[affine.domain[lines.kept[place]]]) for place in places)

    events: list[Event] = []
    for event in lines.follow(low, high):
        if not events or event.after != events[-1].after:
            events.append(event)
        if len(events) > MOST + 1:
            hint = f"narrow the range, over=({low!r}, {float(event.at)!r}), or watch fewer records, k=10"
            raise AlgebraError("limit", f"the first {head.k} change more than {MOST:,} times", hint)
    ends = [event.at for event in events[1:]]
    intervals = []
    for event, stop in zip(events, [*ends, None], strict=True):
        certain = lines.certain(event.after, low, high)
        start = None if event is events[0] else event.at
        intervals.append(
            Interval(named(event.after), low if start is None else start, high if stop is None else stop, certain)
        )
    points = [
        BreakPoint.between(before, after, event.at, named(event.there))
        for (before, after), event in zip(pairwise(intervals), events[1:], strict=True)
    ]
    return replace(head, intervals=tuple(intervals), break_points=tuple(points), records=len(affine.domain))


def _on_grid(
    program: Program, formula: Formula, scope: Scope, name: str, head: Sweep, grid: int | Sequence[float]
) -> Sweep:
    """Run the program at each point of a grid."""
    values = _points(head, grid)
    runner = engine(program.engine)
    intervals: list[Interval] = []
    for value in values:
        ranking: tuple[str, ...] = ()
        error = ""
        try:
            operands = {**scope.operands, name: NumberOperand(value)}
            found = runner.run(formula, replace(scope, operands=operands, shared=scope.shared - {name}))
            ranking = tuple(map(str, found.docnos[: head.k]))
        except AlgebraError as fault:
            error = f"{fault.code}: {fault.message}"
        if intervals and (intervals[-1].ranking, intervals[-1].error) == (ranking, error):
            intervals[-1] = replace(intervals[-1], stop=value)
        else:
            intervals.append(Interval(ranking, value, value, None, error))
    points = tuple(BreakPoint.between(before, after) for before, after in pairwise(intervals))
    over = (values[0], values[-1])
    return replace(
        head, over=over, is_exact=False, intervals=tuple(intervals), break_points=points, points=tuple(values)
    )


def _points(head: Sweep, grid: int | Sequence[float]) -> list[float]:
    """The points of a grid, ascending; evenly spread ones as they are written in decimals, and the present value."""
    if not isinstance(grid, int):
        given = sorted({float(point) + 0.0 for point in grid})
        if not given or not all(map(math.isfinite, given)):
            raise AlgebraError("bad_argument", "a grid is one finite number or more", "grid=[0, 0.5, 1]")
        return given
    if isinstance(grid, bool) or grid < 2:
        raise AlgebraError("bad_argument", f"a grid has two points or more, not {grid!r}", "grid=21")
    low, high = (Decimal(repr(end)) for end in head.over)
    spread = {float(low + (high - low) * place / (grid - 1)) for place in range(grid)}
    return sorted(spread | ({head.value} if head.over[0] <= head.value <= head.over[1] else set()))
