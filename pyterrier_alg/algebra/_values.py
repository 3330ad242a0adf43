"""Values, as far as they are known before running: numbers are computed, and the table's rules are asked."""

from __future__ import annotations

import math
import operator as arithmetic
from collections.abc import Callable, Sequence
from dataclasses import replace

from pyterrier_alg.algebra._fixing import Advice, is_day, short
from pyterrier_alg.algebra._known import Known
from pyterrier_alg.algebra.expressions import Apply, Count, Expression
from pyterrier_alg.algebra.kinds import Distance, Kind
from pyterrier_alg.algebra.operators import Parameter

_NUMBERS: dict[str, Callable[..., float]] = {
    "+": arithmetic.add,
    "-": arithmetic.sub,
    "*": arithmetic.mul,
    "/": arithmetic.truediv,
    "neg": arithmetic.neg,
}


def compute(known: Known, node: Apply) -> None:
    """Keep the value of a number expression whose parts are known."""
    if all(a in known.numbers or isinstance(a, Count) for a in node.arguments):
        values = [known.numbers.get(a, 0.0) if not isinstance(a, Count) else float(a.digits) for a in node.arguments]
        value = _NUMBERS[node.operator](*values) + 0.0
        if not math.isfinite(value):
            known.fault("non_finite", f"{short(node)} is {value}", node.span)
        else:
            known.numbers[node] = value


def check_rule(known: Known, rule: str, node: Apply, places: Sequence[Parameter]) -> None:
    """One of the table's value rules: its name, then the parameters that it is about."""
    name, *about = rule.split()
    arguments = [a for a, place in zip(node.arguments, places, strict=True) if place.name in about]
    arguments += [value for key, value in node.options if key in about]
    if name == "nonzero":
        arguments = [node.arguments[int(about[0])]]
    values = [known.numbers.get(argument) for argument in arguments]
    if name == "nonzero" and values[0] == 0:
        known.fault("division_by_zero", "division by zero", arguments[0].span or node.span)
    elif name == "no_l2":
        space = known.types[arguments[0]].space if arguments[0] in known.types else None
        if space is not None and space.distance is Distance.L2:
            texts = [known.fixer.written(a) or short(a) for a in node.arguments]
            call = f"closeness({', '.join(texts)})"
            advice = Advice(f"write {call}", known.fixer.edit(node.span, call))
            known.fault("space", f"{space} is an l2 space, @ is an inner product", node.span, advice)
    elif name == "positive" and values[0] is not None and values[0] <= 0:
        known.fault("bad_parameter", f"{about[0]} of {node.operator} must be positive", arguments[0].span)
    elif name == "share" and values and values[0] is not None and not 0 <= values[0] <= 1:
        known.fault("bad_parameter", f"{about[0]} of {node.operator} lies between 0 and 1", arguments[0].span)
    elif name == "ordered" and None not in values and values[0] > values[1]:  # type: ignore[operator]
        advice = replace(known.fixer.exchanged(node), hint="exchange them")
        message = f"{about[0]} must not be larger than {about[1]}"
        known.fault("bad_parameter", message, arguments[0].span, advice)
    elif name == "date":
        for argument in arguments:
            _day(known, argument, node.operator)
    elif name == "members":
        _members(known, node)


def _day(known: Known, argument: Expression, operator: str) -> None:
    text = known.texts.get(argument)
    if text is not None and not is_day(text):
        message = f"{text[:40]!r} is no calendar day"
        known.fault("bad_parameter", message, argument.span, known.fixer.day(argument, operator))


def _members(known: Known, node: Apply) -> None:
    """The literals of `isin` are of the sort that the column or relation holds."""
    found = known.types.get(node.arguments[0])
    if found is None:
        return
    for literal in node.arguments[1:]:
        wanted = Kind.NUMBER if found.kind is Kind.RELATION else Kind.TEXT
        if known.types[literal].kind is not wanted:
            known.kind_fault(literal, known.types[literal], (wanted,), f"isin on a {found}")
        elif found.kind is Kind.DATE_COLUMN:
            _day(known, literal, node.operator)
