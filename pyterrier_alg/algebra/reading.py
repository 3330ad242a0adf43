"""From text to formulas. The parser is table-driven and keeps its own stack, so depth of nesting costs nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias, cast

from lark import Lark, UnexpectedInput, UnexpectedToken

from pyterrier_alg.algebra._building import Builder, make_call
from pyterrier_alg.algebra._lexing import FaultError, Lines, token_span
from pyterrier_alg.algebra._mending import mended
from pyterrier_alg.algebra.errors import Diagnostic, ProgramError, Span
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.limits import LIMITS, Limits

__all__ = ["as_formula", "make_call", "parse", "read_expression"]

_WORDS = {"and": "∧ or &", "or": "∨ or |", "not": "¬ or ~"}


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
    read = _read(text, limits)
    if isinstance(read, Diagnostic):
        raise ProgramError([mended(read, text, lambda other: _fault(other, limits))], text)
    steps, result = read
    nodes = sum(expression.size for _, expression in steps) + result.size
    if nodes > limits.nodes:
        message = f"the program has {nodes:,} operators and operands; the limit is {limits.nodes:,}"
        raise ProgramError([Diagnostic("limit", message)], text)
    if len(steps) > limits.steps:
        message = f"the program has {len(steps):,} steps; the limit is {limits.steps:,}"
        raise ProgramError([Diagnostic("limit", message)], text)
    return Formula(steps, result, text)


_Lines: TypeAlias = "tuple[tuple[tuple[str, Expression], ...], Expression]"


def _read(text: str, limits: Limits) -> _Lines | Diagnostic:
    """Steps and result, or where reading stops."""
    try:
        # The builder's `start` makes the pair; the library's types know only trees.
        return cast(_Lines, _parser(limits).parse(text))
    except FaultError as fault:
        return fault.diagnostic
    except UnexpectedInput as unexpected:
        return _syntax(unexpected, text)


def _fault(text: str, limits: Limits) -> Diagnostic | None:
    read = _read(text, limits)
    return read if isinstance(read, Diagnostic) else None


@lru_cache(maxsize=4)
def _parser(limits: Limits) -> Lark:
    grammar = files("pyterrier_alg.algebra").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar, parser="lalr", lexer="basic", postlex=Lines(limits), transformer=Builder(), maybe_placeholders=True
    )


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
    span = token_span(token)
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
