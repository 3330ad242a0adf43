"""Canonical text: one form in the paper's symbols, one in ASCII that is also Python. Each reads back to an equal tree.

Parentheses are set where either the notation or Python needs them, and around a compound right side of ▷, so that both
read the same tree. Nothing recurses: the text is emitted from an explicit stack.
"""

from __future__ import annotations

import json
import re

from pyterrier_alg.algebra.errors import Diagnostic, ProgramError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.limits import LIMITS
from pyterrier_alg.algebra.operators import ADD, AND, COMPARE, MULTIPLY, OPERATORS, OR, RESTRICT, SCAN, UNARY

#: How tightly Python binds what the notation writes, larger is tighter.
_PYTHON = {COMPARE: 1, OR: 2, AND: 3, RESTRICT: 4, ADD: 5, MULTIPLY: 6, SCAN: 6, UNARY: 7}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def to_ascii(expression: Expression) -> str:
    """The canonical ASCII form of an expression.

    Args:
        expression: any.

    Returns:
        Text that reads back to an equal expression.

    Example:
        >>> to_ascii(0.5 * (Name("E") @ Name("q")))
        '0.5 * (E @ q)'
    """
    return _emit(expression, unicode=False)


def to_unicode(expression: Expression) -> str:
    """The canonical form in the paper's symbols; number literals stand directly before their factor.

    Args:
        expression: any.

    Returns:
        Text that reads back to an equal expression.

    Example:
        >>> to_unicode(Name("m") >> 0.5 * Name("S"))
        'm ▷ (0.5 S)'
    """
    return _emit(expression, unicode=True)


def formula_to_ascii(formula: Formula) -> str:
    """Steps and result, a line each, in ASCII."""
    return "\n".join([f"{_name(name)} = {to_ascii(e)}" for name, e in formula.steps] + [to_ascii(formula.result)])


def formula_to_unicode(formula: Formula) -> str:
    """Steps and result, a line each, in the paper's symbols."""
    return "\n".join([f"{_name(name)} = {to_unicode(e)}" for name, e in formula.steps] + [to_unicode(formula.result)])


def number_text(value: float) -> str:
    """The shortest text that reads back to this float64; whole numbers below 1e16 in digits.

    Args:
        value: finite.

    Returns:
        The text, with an ASCII minus.

    Example:
        >>> number_text(52.0), number_text(0.1), number_text(1e16)
        ('52', '0.1', '1e+16')
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(value)


def _name(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else f"`{name}`"


def _emit(root: Expression, *, unicode: bool) -> str:
    if root.size > LIMITS.nodes:
        # Not how many: a shared part counts each time, and Python prints no number of 5,000 digits.
        message = f"the program, written out, has more than {LIMITS.nodes:,} operators and operands"
        raise ProgramError([Diagnostic("limit", message)], "")
    out: list[str] = []
    stack: list[str | Expression] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack.extend(reversed(_pieces(item, unicode)))
    return "".join(out)


def _pieces(node: Expression, unicode: bool) -> list[str | Expression]:
    """The text of one node, with its parts still to be emitted."""
    match node:
        case Number(value=value):
            text = number_text(value)
            return [text.replace("-", "−", 1) if unicode and value < 0 else text]
        case Count(digits=digits):
            return [digits]
        case Text(value=value):
            return [json.dumps(value, ensure_ascii=False)]
        case Name(name=name):
            return [_name(name)]
        case Retrieve(retriever=name, arguments=arguments, options=options):
            return [_name(name), "(", *_call(arguments, options), ")"]
        case Apply(operator=key, arguments=arguments, options=options):
            operator = OPERATORS[key]
            if operator.is_function:
                return [key, "(", *_call(arguments, options), ")"]
            symbol = operator.unicode if unicode else operator.ascii
            if len(arguments) == 1:
                return [symbol, *_side(node, arguments[0], "only")]
            if unicode and key == "*" and isinstance(arguments[0], Number) and _stands_behind_a_number(arguments[1]):
                return [arguments[0], " ", *_side(node, arguments[1], "right")]
            return [*_side(node, arguments[0], "left"), f" {symbol} ", *_side(node, arguments[1], "right")]
    raise TypeError(f"{type(node).__name__} has no text")


def _call(arguments: tuple[Expression, ...], options: tuple[tuple[str, Expression], ...]) -> list[str | Expression]:
    pieces: list[str | Expression] = []
    for argument in arguments:
        pieces += [", ", argument]
    for key, value in options:
        pieces += [", ", f"{_name(key)}=", value]
    return pieces[1:]


def _precedence(node: Expression) -> int:
    return OPERATORS[node.operator].precedence if isinstance(node, Apply) else 0


def _stands_behind_a_number(node: Expression) -> bool:
    """Whether `0.5 node` can be written: as a factor it is a name, a call, or in parentheses."""
    return isinstance(node, Name | Retrieve) or (isinstance(node, Apply) and _precedence(node) != UNARY)


def _side(parent: Apply, child: Expression, side: str) -> list[str | Expression]:
    return ["(", child, ")"] if _needs_parentheses(parent, child, side) else [child]


def _needs_parentheses(parent: Apply, child: Expression, side: str) -> bool:
    inner, outer = _precedence(child), _precedence(parent)
    if not inner:
        # Negation of a literal is not a negative literal.
        return parent.operator == "neg" and isinstance(child, Number) and child.value >= 0
    if inner == UNARY:
        # Behind an operator or another prefix it cannot be misread; before @ the notation would take it last.
        return outer == SCAN and side == "left"
    if outer == RESTRICT and side == "right":
        return True
    same_in_text = inner == outer and (side != "left" or outer in (RESTRICT, COMPARE))
    same_in_python = _PYTHON[inner] == _PYTHON[outer] and (side != "left" or outer == COMPARE)
    return inner < outer or _PYTHON[inner] < _PYTHON[outer] or same_in_text or same_in_python
