"""Edits of the mask that leaves a record out: another number or day, one more value, a clause or all of it dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number, Text
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.operators import COMPARE, OPERATORS
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.session._floats import at_ordinal, ordinal
from pyterrier_alg.session._reasons import Obstacle
from pyterrier_alg.session._trying import Edit, Trials

#: What holds exactly where another comparison does not.
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


class MaskTrials(Trials):
    """Tries edits of masks."""

    def _masks(self, obstacle: Obstacle) -> Iterator[Edit]:
        clause, place = obstacle.node, obstacle.place
        yield from self._threshold(obstacle)
        own = obstacle.score
        if isinstance(clause, Apply) and clause.operator in ("isin", "ids") and obstacle.wanted:
            more = Text(self.docno) if clause.operator == "ids" else _literal(own)
            if more is not None:
                formula = self.situation.edited(place, lambda w: Apply(w.operator, (*w.arguments, more)))  # type: ignore[attr-defined]
                yield from self._whole("value", f"{more!r} too in {shown(clause, 40)}", formula)
        around = place.parent
        while around is not None:
            parent, index = around
            node = self._node(parent)
            if isinstance(node, Apply) and node.operator in ("&", "|") and not self.situation.is_pool(node):
                formula = self.situation.edited(parent, lambda written, i=index: written.parts[1 - i])  # type: ignore[misc]
                yield from self._whole("clause", f"{shown(node.parts[index], 40)} dropped", formula)
                break
            if parent == obstacle.mask:
                break
            around = parent.parent
        if obstacle.mask is not None:
            restriction = self._node(obstacle.mask)
            formula = self.situation.edited(obstacle.mask, lambda written: written.parts[1])
            yield from self._whole("mask", f"{shown(restriction.parts[0], 40)} dropped", formula)

    def _threshold(self, obstacle: Obstacle) -> Iterator[Edit]:
        """A comparison's number or day moved to where the record satisfies it."""
        clause, place, own = obstacle.node, obstacle.place, obstacle.score
        if not isinstance(clause, Apply) or OPERATORS[clause.operator].precedence != COMPARE or own is None:
            return
        limit = clause.arguments[1]
        operator = clause.operator if obstacle.wanted else _OPPOSITE[clause.operator]
        value = self.at.evaluation.value(limit)
        name = limit.name if isinstance(limit, Name) and limit.name not in self.situation.steps else None
        if isinstance(own, float) and isinstance(value, float) and (name or isinstance(limit, Number)):
            moved = ordinal(own) - (operator == ">") + (operator == "<")

            def made(number: float) -> tuple[Formula, Mapping[str, float]]:
                if name is not None:
                    return self.situation.formula, {name: number}
                return self.situation.edited(place.part(1), lambda _: Number(number)), {}

            def change(number: float) -> str:
                if name is None:
                    return f"{shown(clause.arguments[0], 40)} {clause.operator} {number!r} instead of {value!r}"
                return f"{name} {'at least' if number > value else 'at most'} {number!r} instead of {value!r}"

            if math.isfinite(at_ordinal(moved)):
                yield from self._number("threshold", change, value, (ordinal(value), moved), at_ordinal, made)
        elif isinstance(own, str) and isinstance(value, str) and isinstance(limit, Text):
            day = date.fromisoformat(own).toordinal() - (operator == ">") + (operator == "<")

            def dated(text: str) -> tuple[Formula, Mapping[str, float]]:
                return self.situation.edited(place.part(1), lambda _: Text(text)), {}

            if not date.min.toordinal() <= day <= date.max.toordinal():
                return
            yield from self._number(
                "threshold",
                lambda text: f"{shown(clause.arguments[0], 40)} {clause.operator} {text} instead of {value}",
                value,
                (date.fromisoformat(value).toordinal(), day),
                lambda ordinal_day: date.fromordinal(ordinal_day).isoformat(),
                dated,
            )


def _literal(value: float | str | None) -> Expression | None:
    return None if value is None else Text(value) if isinstance(value, str) else Number(value)
