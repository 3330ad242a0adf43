"""One edit for a text that does not read: rules that know what was probably meant, and a second reading that proves it.

A rule looks at a fault's place and proposes an edit. The edits are made one after the other, each where the reader
stops next; only where the text then reads are they offered, as one edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pyterrier_alg.algebra._lexing import blanked, meant_by
from pyterrier_alg.algebra.errors import Diagnostic, Fix, Span, edited
from pyterrier_alg.algebra.operators import OPERATORS

#: Longer texts are not read again and again; nor is a text with more faults than this.
_LONGEST, _MOST_EDITS = 10_000, 8

_COMPARISON = re.compile(r"[<>=!]=|[<>≥≤≠]")
_LITERAL = re.compile(r"""\s*(?:["'].*|[-−]?\s*[\d.][\w.]*)\s*\Z""", re.DOTALL)
_OPERATORS = "+*@&|>▷⊙∧∨≥≤≠<=/-−"
#: What other languages write, with the notation's own.
_RESPELT = {"&&": "&", "||": "|", "=>": ">=", "=<": "<=", "<>": "!=", "> >": ">>", ":=": "=", "!": "~"}
_WORDS = {"and": "&", "or": "|"}
_QUOTES = "“”„‟«»″＂‘’‚‛′´＇"


def mended(fault: Diagnostic, text: str, next_fault: Callable[[str], Diagnostic | None]) -> Diagnostic:
    """A reading fault with the edit after which the text reads, where there is one.

    Args:
        fault: where reading stopped.
        text: what was read.
        next_fault: reads a text; where that stops, or None.

    Returns:
        The fault, with its `fix` where one is known, and what that does as its hint where it has none.
    """
    current, at, hint = text, fault, fault.hint
    for _ in range(_MOST_EDITS if len(text) <= _LONGEST else 0):
        edit = _proposed(at, current)
        if edit is None:
            return fault
        hint = hint or _said(edit, current)
        current = edited(current, [edit])
        after = next_fault(current)
        if after is None:
            return replace(fault, fix=_difference(text, current), hint=hint)
        at = after
    return fault


def _said(edit: Fix, text: str) -> str:
    """What an edit does, in words."""
    old, new = text[edit.span.start : edit.span.stop], edit.replacement
    if old.isspace():
        return "join the lines"
    if not new.strip():
        return f"remove {old.strip()}"
    return f"write {new.strip()} instead of {old.strip()}" if old else f"put in {new.strip()}"


def _difference(before: str, after: str) -> Fix:
    """The shortest single edit that makes one text of the other."""
    shared = min(len(before), len(after))
    start = next((i for i in range(shared) if before[i] != after[i]), shared)
    back = next((i for i in range(shared - start) if before[-1 - i] != after[-1 - i]), shared - start)
    return Fix(Span(start, len(before) - back), after[start : len(after) - back])


def _proposed(fault: Diagnostic, text: str) -> Fix | None:
    if fault.span is None:
        return None
    place = Place(text, fault.span)
    edits = (rule(place) for rule in _RULES.get(fault.code, ()))
    return next((edit for edit in edits if edit is not None), None)


class Place:
    """A fault's place in a text, and the text with its literals and comments blanked out.

    Attributes:
        text: the whole text.
        start: where the fault begins.
        stop: where it ends, within the text.
        bare: as long as the text, with `x` for every character of a literal or of a quoted name, spaces for comments.
    """

    def __init__(self, text: str, span: Span) -> None:
        """Blank the literals out."""
        self.text, self.start, self.stop = text, min(span.start, len(text)), min(span.stop, len(text))
        self.bare = blanked(text)

    @property
    def word(self) -> str:
        """What is marked."""
        return self.text[self.start : self.stop]

    @property
    def before(self) -> str:
        """What stands before it, literals blanked out, without blanks at its end."""
        return self.bare[: self.start].rstrip()

    def becomes(self, replacement: str) -> Fix:
        """What is marked, replaced."""
        return Fix(Span(self.start, self.stop), replacement)

    def calls(self) -> Iterator[tuple[str, int]]:
        """The name of the innermost call that the place is in, and how many arguments stand in it by position."""
        opening = _unclosed(self.bare[: self.start])
        if not opening:
            return
        name = re.search(r"([A-Za-z_]\w*)\s*\Z", self.bare[: opening[-1]])
        if name is not None:
            inner = self.bare[opening[-1] + 1 : _closing(self.bare, opening[-1])]
            while (flat := re.sub(r"\([^()]*\)", "", inner)) != inner:
                inner = flat
            yield name[1], sum(not re.match(r"\s*\w+\s*=(?!=)", part) for part in inner.split(","))


def _unclosed(bare: str) -> list[int]:
    """Where the parentheses stand that are open at the end."""
    opening: list[int] = []
    for match in re.finditer(r"[()]", bare):
        if match[0] == "(":
            opening.append(match.start())
        elif opening:
            opening.pop()
    return opening


def _closing(bare: str, opening: int) -> int:
    depth = 0
    for match in re.finditer(r"[()]", bare[opening:]):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return opening + match.start()
    return len(bare)


def _respelt(place: Place) -> Fix | None:
    """`m && n` is `m & n`."""
    for wrong, right in _RESPELT.items():
        found = place.text.find(wrong, max(0, place.start - len(wrong)), place.start + len(wrong))
        if found >= 0:
            return Fix(Span(found, found + len(wrong)), right)
    return None


def _word(place: Place) -> Fix | None:
    """`m and n` is `m & n`; `not m` is `~m` where nothing that binds more loosely in Python follows."""
    if place.word.lower() in _WORDS:
        return place.becomes(_WORDS[place.word.lower()])
    negation = re.search(r"\b[nN](?:ot|OT)\s+\Z", place.bare[: place.start])
    alone = re.match(r"\s*(?:[&|)∧∨▷]|>>|(?:and|or|AND|OR)\b|\Z)", place.bare[place.stop :])
    if negation and (alone or place.word == "("):
        return Fix(Span(negation.start(), place.start), "~")
    return None


def _operator(place: Place) -> Fix | None:
    """`alpha S` is `alpha * S`, `E "a"` is `E @ "a"`; inside a call only where the commas cannot be what is missing."""
    text = place.word[:1] in ('"', "'")
    if not place.before or not re.match(r"[\w)]", place.before[-1]) or not re.match(r"[A-Za-z_`('\"]", place.word):
        return None
    if re.search(r"\b(?:not|and|or)\Z", place.before, re.IGNORECASE):
        return None
    if re.search(r"/\s*[\d.][\w.]*\Z", place.before) or (text and not re.search(r"[A-Za-z_]\w*\Z", place.before)):
        return None
    if scaled := re.search(r"@\s*([\d.][\w.]*)\Z", place.before):
        alone = re.fullmatch(r"[A-Za-z_]\w*", place.word) and not place.bare.startswith("(", place.stop)
        return Fix(Span(scaled.start(1), place.stop), f"({scaled[1]} {place.word})") if alone else None
    for name, count in place.calls():
        takes = [signature.spread for signature in OPERATORS[name].signatures] if name in OPERATORS else []
        if any(spread(count + 1) for spread in takes) or not any(spread(count) for spread in takes):
            return None
    return Fix(Span(place.start, place.start), "@ " if text else "* ")


def _close(place: Place) -> Fix | None:
    """`top(3, S` is `top(3, S)`."""
    end = len(place.text.rstrip())
    missing = len(_unclosed(place.bare))
    if place.start < end or not missing or not re.search(r"[\w)]\Z", place.bare[:end]):
        return None
    return Fix(Span(end, end), ")" * missing)


def _stray(place: Place) -> Fix | None:
    """`S)` is `S`."""
    closed = place.word == ")" and not _unclosed(place.bare[: place.start])
    return place.becomes("") if closed and not place.bare[place.stop :].strip(") \t\r\n") else None


def _comma(place: Place) -> Fix | None:
    """`top(3, S,)` is `top(3, S)`, `top(3,, S)` is `top(3, S)`."""
    if not place.before.endswith(",") or place.word not in (")", ","):
        return None
    return Fix(Span(len(place.before) - 1, place.start), "") if place.word == ")" else place.becomes("")


def _joined(place: Place) -> Fix | None:
    """An operator at either side of a line break joins the lines."""
    line_break = re.search(r"\s*\Z", place.bare[: place.start])
    start = line_break.start() if line_break else place.start
    blank = re.compile(r"\s*").match(place.bare, start)
    stop = blank.end() if blank else start
    gap = place.text[start:stop]
    sides = place.bare[max(0, start - 1) : start], place.bare[stop : stop + 1]
    fits = any(side and side in _OPERATORS for side in sides) and all(sides)
    return Fix(Span(start, stop), " ") if fits and gap.isspace() and ("\n" in gap or "\r" in gap) else None


def _quoted_name(place: Place) -> Fix | None:
    """`é + S` is written with backticks."""
    letters = place.word.replace("_", "")
    return place.becomes(f"`{place.word}`") if letters.isalnum() and not letters.isascii() else None


def _number(place: Place) -> Fix | None:
    """`0.5S` is `0.5 S`, `5.` is `5`, `1_000` is `1000`."""
    if re.fullmatch(r"\d{1,3}(?:_\d{3})+", place.word):
        return place.becomes(place.word.replace("_", ""))
    if re.fullmatch(r"\d+\.", place.word):
        return place.becomes(place.word[:-1])
    parts = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)((?![eE]\d*\Z|0?[xXbBoO]\d|_)[A-Za-z_][A-Za-z0-9_]*)", place.word)
    return place.becomes(f"{parts[1]} {parts[2]}") if parts else None


def _text(place: Place) -> Fix | None:
    r"""`"abc` and `"abc'` are `"abc"`; `\x41` is `\u0041`."""
    if place.word[:2] == "\\x":
        digits = re.compile(r"[0-9a-fA-F]{2}").match(place.text, place.stop)
        return Fix(Span(place.start, place.stop + 2), f"\\u00{digits[0]}") if digits else None
    body = re.fullmatch(r"""(["'])([^"'()\[\],#\\]+?)["']?\s*""", place.word)
    return place.becomes(body[1] + body[2] + body[1]) if body else None


def _lookalike(place: Place) -> Fix | None:
    """What the character stands for; a text in typographic quotes as a whole."""
    quoted = re.compile(f"[{_QUOTES}]([^{_QUOTES}\r\n]*)[{_QUOTES}\"']").match(place.text, place.start)
    if quoted:
        return Fix(Span(*quoted.span()), json.dumps(quoted[1], ensure_ascii=False))
    return place.becomes(meant_by(place.word))


def _chain(place: Place) -> Fix | None:
    """`1960 <= year <= 1970` is `(1960 <= year) & (year <= 1970)`, where no two literals would be compared."""
    bare, depth, cuts = place.bare[place.start : place.stop], 0, []
    for match in re.finditer(rf"[()]|>>|\|>|{_COMPARISON.pattern}", bare):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth and _COMPARISON.fullmatch(match[0]):
            cuts.append(match.span())
    edges = [0, *(edge for cut in cuts for edge in cut), len(bare)]
    parts = [place.word[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True)]
    signs = [place.word[a:b] for a, b in cuts]
    pairs = list(zip(parts, signs, parts[1:], strict=False))
    if any(_LITERAL.match(left) and _LITERAL.match(right) for left, _, right in pairs):
        return None
    return place.becomes(" & ".join(f"({left} {sign} {right})" for left, sign, right in pairs))


_RULES: Mapping[str, tuple[Callable[[Place], Fix | None], ...]] = {
    "syntax": (_respelt, _word, _operator, _close, _stray, _comma, _joined, _quoted_name),
    "bad_number": (_number,),
    "bad_text": (_text,),
    "lookalike": (_lookalike,),
    "chained_comparison": (_chain,),
}
