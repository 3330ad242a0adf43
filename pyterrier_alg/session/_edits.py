"""Single edits of a program that could admit a record, each tried by running it.

An edit of a number is made as small as it can be: the value is found whose neighbour, the one nearer to what the
program has, does not admit the record. Both are run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, fold, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.values import Plain
from pyterrier_alg.session._breakpoints import Coefficient, Crossing, Slopes
from pyterrier_alg.session._floats import at_ordinal, ordinal
from pyterrier_alg.session._mask_edits import MaskTrials
from pyterrier_alg.session._reasons import Obstacle, Trace
from pyterrier_alg.session._rules import literal
from pyterrier_alg.session._situation import AtRecord
from pyterrier_alg.session._trying import Edit

#: How many operands that do not score the record are filled, of the outermost and of the innermost.
_JOINS = 4


class Editor(MaskTrials):
    """Tries every edit that a reason suggests."""

    def edits(self, trace: Trace) -> list[Edit]:
        """The edits that admit the record: numbers by how little they change, then the others as they are met."""
        found = list(self._tried(trace))
        return sorted(found, key=lambda edit: edit.size)

    def _tried(self, trace: Trace) -> Iterator[Edit]:
        obstacle = trace.obstacle
        if obstacle is not None:
            if trace.reason.code == "not_in_mask":
                yield from self._masks(obstacle)
            elif obstacle.needed is not None:
                yield from self._counts(obstacle)
            if trace.reason.code == "below_cut":
                yield from self._coefficients(obstacle)
        joins = trace.joins if len(trace.joins) <= 2 * _JOINS else [*trace.joins[:_JOINS], *trace.joins[-_JOINS:]]
        for node, place, index in joins:
            filled = Number(1.0 if node.operator == "*" else 0.0)
            side = shown(node.arguments[index], 40)
            yield from self._whole(
                "fill",
                f"fill({filled!r}, …) around {side}",
                self.situation.edited(place.part(index), lambda part, c=filled: Apply("fill", (c, part))),  # type: ignore[misc]
            )

    def _counts(self, obstacle: Obstacle) -> Iterator[Edit]:
        node, place, needed = obstacle.node, obstacle.place, obstacle.needed or 0
        before = _count_of(node, self.at)
        if before is None:
            return
        name = {"per": "n", "rrf": "depth"}.get(node.operator if isinstance(node, Apply) else "rrf", "k")

        def made(count: int) -> tuple[Formula, Mapping[str, float]]:
            return self.situation.edited(place, lambda written: _with_count(written, count)), {}

        yield from self._number(
            "count",
            lambda count: f"{name} at least {count:,} instead of {before:,} in {shown(node, 40)}",
            before,
            (before, needed),
            int,
            made,
        )

    def _coefficients(self, obstacle: Obstacle) -> Iterator[Edit]:
        node, place = obstacle.node, obstacle.place
        slopes = Slopes(self.at, node.parts[1], place.part(1))
        for coefficient, crossings in slopes.crossings(node.parts[0].value):  # type: ignore[attr-defined]
            for crossing in crossings:
                yield from self._coefficient(coefficient, crossing)

    def _coefficient(self, coefficient: Coefficient, crossing: Crossing) -> Iterator[Edit]:
        before = coefficient.value

        def made(value: float) -> tuple[Formula, Mapping[str, float]]:
            if coefficient.name is not None:
                return self.situation.formula, {coefficient.name: value}
            return self.situation.edited(coefficient.place, lambda written: _scaled(written, value, coefficient)), {}

        known = self._untouched(coefficient)

        def holds(value: float) -> bool:
            formula, numbers = made(value)
            return self._with(numbers).admits(formula, self.at.position, known)

        # The crossing was found with rounding; a little to both sides of it is where to look first.
        inside = before + crossing.inside
        slack = 2.0**-36 * max(abs(before), abs(crossing.near), 1e-300)
        close = before + crossing.near + math.copysign(slack, crossing.near)
        if not (math.isfinite(inside) and math.isfinite(close)):
            return
        yes = close if holds(close) else inside
        outside = before + crossing.near - math.copysign(slack, crossing.near)
        is_between = min(before, yes) <= outside <= max(before, yes)
        no = outside if is_between and not holds(outside) else before
        bound = "at least" if yes > before else "at most"

        def change(value: float) -> str:
            if not coefficient.is_written:
                return f"coefficient of {coefficient.text} {bound} {value!r} instead of 1"
            if coefficient.name is not None:
                return f"{coefficient.name} {bound} {value!r} instead of {before!r}"
            return f"{coefficient.text} {bound} {value!r} in {coefficient.around}"

        yield from self._number("coefficient", change, before, (ordinal(no), ordinal(yes)), at_ordinal, made, holds)

    def _untouched(self, coefficient: Coefficient) -> dict[Expression, Plain]:
        """What is known of expressions that another value of a coefficient does not change.

        An expression is known by its content: of a literal, only the names of steps that it is in can mean another
        thing in the edited program.
        """
        changed = {coefficient.name, coefficient.place.step} - {None}
        for name, expression in self.situation.meant.steps:
            if any(isinstance(node, Name) and node.name in changed for node in walk(expression)):
                changed.add(name)

        def touches(node: Expression, below: Sequence[bool]) -> bool:
            return any(below) or (isinstance(node, Name | Retrieve) and _named(node) in changed)

        memo: dict[Expression, bool] = {}
        known = self.at.evaluation.known
        return {node: value for node, value in known.items() if not fold(node, touches, memo)}


def _named(node: Name | Retrieve) -> str:
    return node.name if isinstance(node, Name) else node.retriever


def _count_of(node: Expression, at: AtRecord) -> int | None:
    """The count that cuts: of `top`, `per` and `mmr`, the depth of `rrf` and of a retriever."""
    given: Expression | None = None
    if isinstance(node, Retrieve):
        if len(node.arguments) == 1:
            return len(at.evaluation.relation(node).positions)
        given = node.arguments[1]
    elif isinstance(node, Apply):
        given = literal(node, "depth") if node.operator == "rrf" else node.arguments[0]
    return given.value if isinstance(given, Count) else None


def _with_count(node: Expression, count: int) -> Expression:
    digits = Count(str(count))
    if isinstance(node, Retrieve):
        return Retrieve(node.retriever, (node.arguments[0], digits))
    if not isinstance(node, Apply):
        return node
    if node.operator == "rrf":
        options = {**dict(node.options), "depth": digits}
        return Apply("rrf", node.arguments, tuple((key, options[key]) for key in ("k", "depth") if key in options))
    return Apply(node.operator, (digits, *node.arguments[1:]), node.options)


def _scaled(written: Expression, value: float, coefficient: Coefficient) -> Expression:
    return Number(value) if coefficient.is_written else Apply("*", (Number(value), written))
