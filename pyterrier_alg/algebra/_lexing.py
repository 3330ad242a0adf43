"""Between the characters and the parser: refuses what cannot be read, keeps only the line breaks that end a step."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from lark import Token

from pyterrier_alg.algebra.errors import Diagnostic, Span
from pyterrier_alg.algebra.limits import Limits

#: Characters that look like the notation's and are not, with what was probably meant.
LOOKALIKES = {
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


class FaultError(Exception):
    """A fault found while reading, before there is a text to show it in."""

    def __init__(self, code: str, message: str, span: Span, hint: str = "") -> None:
        super().__init__(code)
        self.diagnostic = Diagnostic(code, message, span, hint)


def token_span(token: Token) -> Span:
    start = token.start_pos or 0
    return Span(start, token.end_pos if token.end_pos is not None else start + len(token))


_HIDDEN = re.compile(
    r'(?P<text>"(?:[^"\\\r\n]|\\.)*"|\'(?:[^\'\\\r\n]|\\.)*\'|`[^`\r\n]*`)|(?P<comment>#[^\r\n]*)', re.DOTALL
)


def blanked(text: str) -> str:
    """A program's text with `x` for every character of a literal or quoted name and spaces for comments, as long.

    Example:
        >>> blanked('E @ "a(" # b')
        'E @ xxxx    '
    """
    return _HIDDEN.sub(lambda m: (" " if m["comment"] else "x") * len(m[0]), text)


def meant_by(character: str) -> str:
    """What the notation has for a lookalike, in ASCII where there is a choice; nothing where it only stands for none.

    Example:
        >>> meant_by("–"), meant_by("⋁"), meant_by("\u200b")
        ('-', '|', '')
    """
    meant = LOOKALIKES.get(character, "")
    return meant.split(" or ")[-1] or (" " if character.isspace() else _folded(character))


def _folded(character: str) -> str:
    """What a full-width or small form stands for, if that is a sign of ASCII."""
    folded = unicodedata.normalize("NFKC", character)
    return folded if folded != character and folded.isascii() and not folded.isalnum() else ""


class Lines:
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
                raise FaultError("limit", f"parentheses nest deeper than {self.limits.nesting:,}", token_span(token))
            # A stray closing parenthesis is the parser's to refuse; the lines after it still end.
            depth, begun = max(depth, 0), True
            yield token

    @staticmethod
    def _refuse(token: Token) -> None:
        text, span = str(token), token_span(token)
        if token.type == "BAD_NUMBER":
            hint = "digits, or digits around a point, with an exponent if wanted; a space before a name: 0.5 S"
            raise FaultError("bad_number", f"{text[:40]!r} is not a number", span, hint)
        if token.type == "BAD_TEXT":
            raise FaultError("bad_text", "the text does not end on its line", span, f"close it with {text[0]}")
        if token.type == "BAD_NAME":
            hint = f"such a name stands in backticks: `{text[:40]}`"
            raise FaultError("syntax", f"{text[:40]!r} is no plain name", span, hint)
        if token.type != "UNREADABLE":
            return
        meant = LOOKALIKES.get(text) or ("a plain space" if text.isspace() else _folded(text))
        name = unicodedata.name(text, f"U+{ord(text):04X}")
        if meant or unicodedata.category(text) in ("Cf", "Zs", "Cc"):
            hint = f"write {meant}" if meant else "remove it"
            raise FaultError("lookalike", f"{name} is not part of the notation", span, hint)
        hint = "a name with other characters stands in backticks" if text.isalnum() or text == "`" else ""
        raise FaultError("syntax", f"{text!r} ({name}) is not part of the notation", span, hint)
