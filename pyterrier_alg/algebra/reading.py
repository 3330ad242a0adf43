"""From text to formulas. The parser is table-driven and keeps its own stack, so depth of nesting costs nothing."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken, v_args

from pyterrier_alg.algebra.errors import Diagnostic, ProgramError, Span
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.limits import LIMITS, Limits
from pyterrier_alg.algebra.operators import OPERATORS, infix

_SPELLINGS = {"|>": ">>"}
_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}
_WORDS = {"and": "∧ or &", "or": "∨ or |", "not": "¬ or ~"}
#: Characters that look like the notation's and are not, with what was probably meant.
_LOOKALIKES = {
    **dict.fromkeys("–—‐‑‒―﹣－˗", "-"),
    **dict.fromkeys("×∗⋅·•∙⊗⨀◦∘", "⊙ or *"),
    **dict.fromkeys("“”„‟«»″＂", '"'),
    **dict.fromkeys("‘’‚‛′´＇", "'"),
    **dict.fromkeys("▶►▸▹⊳⊵⟩›≫»", "▷ or >>"),
    **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("⩾≧", "≥"),
    **dict.fromkeys("⩽≦", "≤"),
    **dict.fromkeys("∼˜", "~"),
    **dict.fromkeys("∪⋁", "∨ or |"),
    **dict.fromkeys("∩⋀", "∧ or &"),
}


def parse(text: str, limits: Limits = LIMITS) -> Formula:
    """Read a program.

    Args:
        text: Unicode or ASCII notation, or both; steps a line each, the result on the last.
        limits: how large it may be.

    Returns:
        The formula, whose expressions know their places in the text.

    Raises:
        ProgramError: `syntax`, `bad_number`, `bad_text`, `lookalike`, `chained_comparison`, `limit`; the first only.

    Example:
        >>> str(parse("top(10, m >> 0.5 * (E @ q1))"))
        'top(10, m ▷ (0.5 (E @ q1)))'
    """
    if not isinstance(text, str):
        raise TypeError(f"a program is a text, not a {type(text).__name__}")
    return _parse(text, limits)


def read_expression(text: str) -> Expression:
    """Read one expression, without steps.

    Args:
        text: the notation.

    Returns:
        The expression.

    Raises:
        ProgramError: as `parse`, and `syntax` where there are steps.
    """
    formula = parse(text)
    if formula.steps:
        raise ProgramError([Diagnostic("syntax", "one expression is wanted here, without steps")], text)
    return formula.result


def as_formula(program: str | Expression | Formula) -> Formula:
    """A program in any of its forms, as a formula whose faults can be shown in a text.

    Args:
        program: text, an expression that Python built, or a formula.

    Returns:
        The formula; what Python built is given its canonical text.

    Raises:
        ProgramError: as `parse`.
    """
    if isinstance(program, Expression):
        return parse(repr(program))
    if isinstance(program, Formula):
        return program if program.source else parse(program.ascii)
    return parse(program)


@lru_cache(maxsize=512)
def _parse(text: str, limits: Limits) -> Formula:
    if len(text) > limits.characters:
        message = f"the program has {len(text):,} characters; the limit is {limits.characters:,}"
        raise ProgramError([Diagnostic("limit", message)], text)
    try:
        # The builder's `start` makes the pair; the library's types know only trees.
        steps, result = cast("tuple[tuple[tuple[str, Expression], ...], Expression]", _parser(limits).parse(text))
    except _FaultError as fault:
        raise ProgramError([fault.diagnostic], text) from None
    except UnexpectedInput as unexpected:
        raise ProgramError([_syntax(unexpected, text)], text) from None
    nodes = sum(expression.size for _, expression in steps) + result.size
    if nodes > limits.nodes:
        message = f"the program has {nodes:,} operators and operands; the limit is {limits.nodes:,}"
        raise ProgramError([Diagnostic("limit", message)], text)
    if len(steps) > limits.steps:
        message = f"the program has {len(steps):,} steps; the limit is {limits.steps:,}"
        raise ProgramError([Diagnostic("limit", message)], text)
    return Formula(steps, result, text)


class _FaultError(Exception):
    """A fault found while reading, before there is a text to show it in."""

    def __init__(self, code: str, message: str, span: Span, hint: str = "") -> None:
        super().__init__(code)
        self.diagnostic = Diagnostic(code, message, span, hint)


def _span(token: Token) -> Span:
    start = token.start_pos or 0
    return Span(start, token.end_pos if token.end_pos is not None else start + len(token))


class _Lines:
    """Between lexer and parser: refuses unreadable tokens, keeps only the line breaks that end a step."""

    always_accept = ("BAD_NUMBER", "BAD_TEXT", "BAD_NAME", "UNREADABLE", "_LINE_BREAK")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth, begun, pending = 0, False, None
        for token in stream:
            if token.type == "_LINE_BREAK":
                pending = token if begun and not depth else pending
                continue
            self._refuse(token)
            if pending is not None:
                yield pending
                pending = None
            depth += {"OPEN": 1, "CLOSE": -1}.get(token.type, 0)
            if depth > self.limits.nesting:
                raise _FaultError("limit", f"parentheses nest deeper than {self.limits.nesting:,}", _span(token))
            # A stray closing parenthesis is the parser's to refuse; the lines after it still end.
            depth, begun = max(depth, 0), True
            yield token

    @staticmethod
    def _refuse(token: Token) -> None:
        text, span = str(token), _span(token)
        if token.type == "BAD_NUMBER":
            hint = "digits, or digits around a point, with an exponent if wanted; a space before a name: 0.5 S"
            raise _FaultError("bad_number", f"{text[:40]!r} is not a number", span, hint)
        if token.type == "BAD_TEXT":
            raise _FaultError("bad_text", "the text does not end on its line", span, f"close it with {text[0]}")
        if token.type == "BAD_NAME":
            hint = f"such a name stands in backticks: `{text[:40]}`"
            raise _FaultError("syntax", f"{text[:40]!r} is no plain name", span, hint)
        if token.type != "UNREADABLE":
            return
        meant = _LOOKALIKES.get(text) or ("a plain space" if text.isspace() else "")
        folded = unicodedata.normalize("NFKC", text)
        if not meant and folded != text and folded.isascii() and not folded.isalnum():
            meant = folded
        name = unicodedata.name(text, f"U+{ord(text):04X}")
        if meant or unicodedata.category(text) in ("Cf", "Zs", "Cc"):
            hint = f"write {meant}" if meant else "remove it"
            raise _FaultError("lookalike", f"{name} is not part of the notation", span, hint)
        hint = "a name with other characters stands in backticks" if text.isalnum() or text == "`" else ""
        raise _FaultError("syntax", f"{text!r} ({name}) is not part of the notation", span, hint)


@lru_cache(maxsize=4)
def _parser(limits: Limits) -> Lark:
    grammar = files("pyterrier_alg.algebra").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar, parser="lalr", lexer="basic", postlex=_Lines(limits), transformer=_Builder(), maybe_placeholders=True
    )


class _Juxtaposed:
    """A number literal and what stands directly behind it, until it is known what stands before."""

    def __init__(self, number: Expression, scan: Expression) -> None:
        self.number, self.scan = number, scan

    @property
    def span(self) -> Span | None:
        return _cover(self.number, self.scan)


def _cover(*parts: Any) -> Span | None:
    """The span from the first part to the last."""
    spans = [_span(part) if isinstance(part, Token) else part.span for part in parts]
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
        raise _FaultError("bad_number", "the number is larger than float64 can hold", span)
    return value


@v_args(inline=True)
class _Builder(Transformer[Token, Any]):
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
        raise _FaultError("chained_comparison", "comparisons do not chain", span, hint)

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
        text, span = str(token), _span(token)
        return Count(text, span=span) if text.isdigit() else Number(_float(text, span), span=span)

    def signed(self, minus: Token, token: Token) -> Expression:
        return Number(-_float(str(token), _span(token)), span=_cover(minus, token))

    def text(self, token: Token) -> Text:
        return Text(_unquote(str(token), _span(token)), span=_span(token))

    def name(self, token: Token) -> Name:
        return Name(str(token).strip("`"), span=_span(token))


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
        raise _FaultError("bad_text", f"{match.group(0)!r} is no escape", place, r"\" \\ \/ \b \f \n \r \t \uXXXX \'")

    inner = _ESCAPE.sub(replacement, literal[1:-1])
    quoted = re.sub(r'(\\.)|(")', lambda m: m.group(1) or '\\"', inner, flags=re.DOTALL)
    value = str(json.loads(f'"{quoted}"', strict=False))
    if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise _FaultError("bad_text", "half of a surrogate pair is no character", span)
    return value


def _syntax(unexpected: UnexpectedInput, text: str) -> Diagnostic:
    """What the parser met and what would have fitted, in the reader's words."""
    if not isinstance(unexpected, UnexpectedToken):
        place = unexpected.pos_in_stream or 0
        return Diagnostic("syntax", "this cannot be read", Span(place, place + 1))
    token, wanted = unexpected.token, set(unexpected.accepts or unexpected.expected)
    after_operand = "PLUS" in wanted or "CLOSE" in wanted
    if token.type == "$END":
        span = Span(len(text.rstrip()), len(text.rstrip()) + 1)
        if not re.sub(r"#[^\r\n]*", "", text).strip():
            return Diagnostic(
                "syntax", "the program is empty", span, "a program ends in an expression: top(10, E @ q1)"
            )
        if wanted == {"_LINE_BREAK"} or ("_LINE_BREAK" in wanted and "CLOSE" not in wanted):
            return Diagnostic("syntax", "the last line is the result: an expression, not a step", span)
        message = "a parenthesis is not closed" if "CLOSE" in wanted else "an operand is missing at the end"
        return Diagnostic("syntax", message, span)
    span = _span(token)
    if wanted and wanted <= {"EQUALS", "NAME", "QUOTED_NAME"}:
        return Diagnostic("syntax", "what is given by name comes after the other arguments", span)
    if token.type in ("NAME", "QUOTED_NAME", "OPEN", "NUMBER", "TEXT") and after_operand:
        hint = "only a number literal may stand directly before a name, a call or '(', and not after '/': write *"
        words = [str(token), *re.findall(r"(\w+)\s*\Z", text[: span.start])]
        hint = next((f"write {_WORDS[word]}" for word in words if word in _WORDS), hint)
        return Diagnostic("syntax", f"an operator is missing before {str(token)[:40]!r}", span, hint)
    if token.type == "_LINE_BREAK":
        message, hint = "an operand is missing before the line break", "an expression of several lines: in parentheses"
        if after_operand:
            message = "only the last line is an expression without a name"
            hint = "name every line but the last: pool = …; an expression of several lines stands in parentheses"
        return Diagnostic("syntax", message, Span(span.start, span.start), hint)
    if token.type == "COMMA" or (token.type == "EQUALS" and "COMMA" not in wanted):
        return Diagnostic("syntax", f"{str(token)!r} does not fit here", span)
    if token.type == "CLOSE" and not after_operand:
        return Diagnostic("syntax", "an operand is missing before ')'", span)
    return Diagnostic(
        "syntax", f"{str(token)[:40]!r} does not fit here" + ("" if after_operand else "; an operand is wanted"), span
    )
