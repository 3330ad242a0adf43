"""From what the parser has matched to expressions: one callback a rule of the grammar."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from lark import Token, Transformer, v_args

from pyterrier_alg.algebra._lexing import FaultError, token_span
from pyterrier_alg.algebra.errors import Span
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.operators import OPERATORS, infix

_SPELLINGS = {"|>": ">>"}
_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}


class _Juxtaposed:
    """A number literal and what stands directly behind it, until it is known what stands before."""

    def __init__(self, number: Expression, scan: Expression) -> None:
        self.number, self.scan = number, scan

    @property
    def span(self) -> Span | None:
        return _cover(self.number, self.scan)


def _cover(*parts: Any) -> Span | None:
    """The span from the first part to the last."""
    spans = [token_span(part) if isinstance(part, Token) else part.span for part in parts]
    return spans[0].to(spans[-1]) if spans[0] and spans[-1] else None


def _plain(part: Any) -> Expression:
    """An operand where the notation wants no literal count: digits are a number there."""
    if isinstance(part, _Juxtaposed):
        return Apply("*", (_plain(part.number), part.scan), span=part.span)
    if isinstance(part, Count):
        # `Count` drops leading zeros and is any length; as a number it must be within float64.
        return Number(_float(part.digits, part.span or Span(0, 0)), span=part.span)
    node: Expression = part
    return node


def _counted(part: Any) -> Expression:
    """An operand where the notation wants a literal count: digits stay digits."""
    return part if isinstance(part, Count) else _plain(part)


def _float(text: str, span: Span) -> float:
    value = float(text)
    if math.isinf(value):
        raise FaultError("bad_number", "the number is larger than float64 can hold", span)
    return value


@v_args(inline=True)
class Builder(Transformer[Token, Any]):
    """One callback a rule of the grammar; parts come in the order of the text."""

    def start(self, *parts: Any) -> tuple[tuple[tuple[str, Expression], ...], Expression]:
        return tuple(parts[:-1]), _plain(parts[-1])

    def step(self, name: Name, _: Token, expression: Any) -> tuple[str, Expression]:
        return _Step((name.name, _plain(expression)), name.span)

    def infix(self, left: Any, operator: Token, right: Any) -> Expression:
        entry = infix(_SPELLINGS.get(str(operator), str(operator)))
        key = entry.key if entry else str(operator)
        if isinstance(right, _Juxtaposed):
            # `A * 2 S` groups to the left, as `A * 2 * S` does.
            inner = Apply(key, (_plain(left), _plain(right.number)), span=_cover(left, right.number))
            if key == "*":
                return Apply("*", (inner, right.scan), span=_cover(left, right.scan))
        return Apply(key, (_plain(left), _plain(right)), span=_cover(left, right))

    def juxtaposed(self, number: Expression, scan: Expression) -> _Juxtaposed:
        return _Juxtaposed(number, scan)

    def prefix(self, operator: Token, operand: Any) -> Expression:
        key = "neg" if operator.type == "MINUS" else "~"
        return Apply(key, (_plain(operand),), span=_cover(operator, operand))

    def compare(self, left: Any, operator: Token, right: Any) -> Expression:
        entry = infix(str(operator))
        key = entry.key if entry else str(operator).replace("≠", "!=")
        sides = (_plain(left), _plain(right))
        if isinstance(sides[0], Number | Text) and not isinstance(sides[1], Number | Text):
            sides, key = (sides[1], sides[0]), _TURNED[key]
        span = _cover(left, right)
        if key not in ("==", "!="):
            return Apply(key, sides, span=span)
        equal = Apply("isin", sides, span=span)
        if key == "==":
            return equal
        known = Apply("support", sides[:1], span=sides[0].span)
        return Apply("&", (known, Apply("~", (equal,), span=span)), span=span)

    def chained(self, *parts: Any) -> Expression:
        span = _cover(parts[0], parts[-1]) or Span(0, 0)
        hint = "write two comparisons: (1960 <= year) & (year <= 1970)"
        raise FaultError("chained_comparison", "comparisons do not chain", span, hint)

    def operand(self, name: Name) -> Name:
        return name

    def call(self, name: Name, _: Token, arguments: Any, close: Token) -> Expression:
        given, options = arguments or ((), ())
        span = _cover(name, close)
        operator = OPERATORS.get(name.name)
        if operator is None or not operator.is_function:
            placed = tuple(_counted(part) if i == 1 else _plain(part) for i, part in enumerate(given))
            return Retrieve(name.name, placed, tuple((key, _plain(value)) for key, value in options), span=span)
        places = next((s for s in (signature.spread(len(given)) for signature in operator.signatures) if s), ())
        wants = [place.accepts for place in places] or [""] * len(given)
        placed = tuple(
            _counted(part) if want.startswith("count") else _plain(part)
            for part, want in zip(given, wants, strict=True)
        )
        return make_call(name.name, placed, options, span)

    def parenthesised(self, opening: Token, inner: Any, close: Token) -> Expression:
        return _plain(inner).at(_cover(opening, close))

    def arguments(self, *parts: Any) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
        kept = [part for part in parts if not isinstance(part, Token)]
        return tuple(p for p in kept if not isinstance(p, tuple)), tuple(p for p in kept if isinstance(p, tuple))

    def option(self, name: Name, _: Token, value: Any) -> tuple[str, Any]:
        return name.name, value

    def number(self, token: Token) -> Expression:
        text, span = str(token), token_span(token)
        return Count(text, span=span) if text.isdigit() else Number(_float(text, span), span=span)

    def signed(self, minus: Token, token: Token) -> Expression:
        return Number(-_float(str(token), token_span(token)), span=_cover(minus, token))

    def text(self, token: Token) -> Text:
        return Text(_unquote(str(token), token_span(token)), span=token_span(token))

    def name(self, token: Token) -> Name:
        return Name(str(token).strip("`"), span=token_span(token))


class _Step(tuple[str, Expression]):
    """A step that knows where its name stands."""

    span: Span | None

    def __new__(cls, pair: tuple[str, Expression], span: Span | None) -> _Step:
        step = super().__new__(cls, pair)
        step.span = span
        return step


def make_call(
    function: str,
    arguments: tuple[Expression, ...],
    options: tuple[tuple[str, Any], ...],
    span: Span | None = None,
) -> Apply:
    """A function applied: options in the table's order, those equal to their default left out.

    Args:
        function: a key of the operator table.
        arguments: in the notation's order.
        options: as given, names that the function does not know among them (the checker refuses those).
        span: its place in a text.

    Returns:
        The expression.
    """
    known = {option.name: option for option in OPERATORS[function].options}
    kept: list[tuple[str, Expression]] = []
    for key, value in options:
        option = known.get(key)
        fits = option is not None and option.accepts.startswith("count")
        plain = _counted(value) if fits else _plain(value)
        # What is given twice stays for the checker to refuse, a default among it too.
        if option is None or plain != option.default or sum(key == name for name, _ in options) > 1:
            kept.append((key, plain))
    order = list(known)
    kept.sort(key=lambda pair: order.index(pair[0]) if pair[0] in known else len(order))
    return Apply(function, arguments, tuple(kept), span=span)


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def _unquote(literal: str, span: Span) -> str:
    """The characters of a text literal: JSON's escapes, and an escaped single quote."""

    def replacement(match: re.Match[str]) -> str:
        body = match.group(1)
        if body == "'":
            return "'"
        if body in '"\\/bfnrt' or (body.startswith("u") and len(body) == 5):
            return match.group(0)
        place = Span(span.start + 1 + match.start(), span.start + 1 + match.end())
        raise FaultError("bad_text", f"{match.group(0)!r} is no escape", place, r"\" \\ \/ \b \f \n \r \t \uXXXX \'")

    inner = _ESCAPE.sub(replacement, literal[1:-1])
    quoted = re.sub(r'(\\.)|(")', lambda m: m.group(1) or '\\"', inner, flags=re.DOTALL)
    value = str(json.loads(f'"{quoted}"', strict=False))
    if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise FaultError("bad_text", "half of a surrogate pair is no character", span)
    return value
