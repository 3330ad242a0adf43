"""What was probably meant where kinds, names or values do not fit, and the edit that says so."""

from __future__ import annotations

import calendar
import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from pyterrier_alg.algebra._lexing import blanked
from pyterrier_alg.algebra.errors import Fix, Span
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.kinds import Binding, Distance, Kind, Space, Type
from pyterrier_alg.algebra.operators import COMPARE, OPERATORS, Operator

#: How what stands somewhere is made into what is wanted there: a template, and the name that must be bound for an edit
#: (None where the template has one that only the author can replace).
_CONVERSIONS: Mapping[tuple[Kind, Kind], tuple[str, str | None]] = {
    (Kind.RELATION, Kind.MASK): ("support({0})", ""),
    (Kind.TEXT_COLUMN, Kind.MASK): ("support({0})", ""),
    (Kind.DATE_COLUMN, Kind.MASK): ("support({0})", ""),
    (Kind.MATRIX, Kind.RELATION): ("{0} @ query", "query"),
    (Kind.RETRIEVER, Kind.RELATION): ("{0}(query)", "query"),
    (Kind.RETRIEVER, Kind.MASK): ("support({0}(query))", "query"),
    (Kind.MASK, Kind.RELATION): ("{0} >> S", None),
    (Kind.DATE_COLUMN, Kind.RELATION): ("days_since({0}, now)", "now"),
}
#: What was probably left out between a name and a parenthesis.
_BETWEEN = {
    (Kind.RELATION, Kind.RELATION): "*",
    (Kind.NUMBER, Kind.RELATION): "*",
    (Kind.NUMBER, Kind.VECTOR): "*",
    (Kind.MASK, Kind.RELATION): ">>",
    (Kind.MATRIX, Kind.VECTOR): "@",
    (Kind.MATRIX, Kind.TEXT): "@",
}
_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "≥": "≤", "≤": "≥"}
#: Other names of options, as the literature has them.
_ALIASES = {"lambda": "relevance"}
#: A longer part of a program is not written out again.
_LONGEST = 2_000


def suggest(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """The candidates that a name was likely meant to be, the likeliest first.

    Args:
        name: as written.
        candidates: what there is.

    Returns:
        At most three.

    Example:
        >>> suggest("q3", ["q1", "q2", "pool"])
        ('q2', 'q1')
    """
    names = list(candidates)
    lowered = {n.lower(): n for n in names}
    if name.lower() in lowered:
        return (lowered[name.lower()],)
    return tuple(difflib.get_close_matches(name, names, n=3, cutoff=0.5))


def is_sure(name: str, close: Sequence[str]) -> bool:
    """Whether the first suggestion is close enough, and closer than the second, to be written down for the author.

    Example:
        >>> is_sure("minmaks", ["minmax", "ranks"]), is_sure("q3", ["q2", "q1"])
        (True, False)
    """
    likeness = [difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio() for other in [*close[:2], ""]]
    return likeness[0] >= 0.6 and likeness[0] - likeness[1] >= 0.2


def is_day(text: str) -> bool:
    """Whether a text is a calendar day as the notation writes it: `YYYY-MM-DD`."""
    if len(text) != 10 or not text.isascii() or text[4] != "-" or text[7] != "-":
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a fault: a hint for people, and an edit where one repairs it."""

    hint: str = ""
    fix: Fix | None = None


class Fixer:
    """Makes edits in one program's text; without a text, hints only."""

    def __init__(self, source: str, bindings: Mapping[str, Binding]) -> None:
        """Keep what edits are made of.

        Args:
            source: the text that the expressions' places refer to; empty where there is none.
            bindings: what is bound, for templates that need a name.
        """
        self._source, self._bindings = source, bindings

    def edit(self, span: Span | None, replacement: str) -> Fix | None:
        """What is at a place, replaced."""
        return Fix(span, replacement) if self._source and span is not None else None

    def written(self, node: Expression) -> str:
        """An expression as its author wrote it, without parentheses around the whole; empty where that is not known."""
        text = self._slice(node.span)
        while text.startswith("(") and _closes_last(text):
            text = text[1:-1].strip()
        return text

    def _slice(self, span: Span | None) -> str:
        if span is None or span.stop - span.start > _LONGEST:
            return ""
        return self._source[span.start : span.stop]

    def converted(self, node: Expression, found: Type, wanted: Sequence[Kind]) -> Advice:
        """What stands somewhere, made into one of the kinds that are wanted there."""
        text = self.written(node) or short(node)
        literal = self._literal(node, wanted, text)
        if literal is not None:
            return literal
        for kind in wanted:
            template, needed = _CONVERSIONS.get((found.kind, kind), ("", ""))
            sure = needed is not None and (not needed or needed in self._bindings)
            if template == "{0} @ query" and found.space is not None and found.space.distance is Distance.L2:
                template = "closeness({0}, query)"
            if kind is Kind.RELATION and found.kind in (Kind.VECTOR, Kind.TEXT):
                matrices = [name for name, space in self._matrices() if found.space in (None, space)]
                template, sure = self._scan(matrices[0]) if matrices else "", len(matrices) == 1
            if template:
                compound = isinstance(node, Apply) and not OPERATORS[node.operator].is_function
                inner = f"({text})" if compound and "({0}" not in template else text
                edit = self.edit(node.span, template.format(inner)) if sure and self.written(node) else None
                return Advice(f"maybe {template.format(inner)}", edit)
        return Advice()

    def _matrices(self) -> list[tuple[str, Space | None]]:
        return [(name, b.type.space) for name, b in self._bindings.items() if b.type.kind is Kind.MATRIX]

    def _scan(self, matrix: str) -> str:
        space, name = self._bindings[matrix].type.space, repr(Name(matrix)).replace("{", "{{").replace("}", "}}")
        l2 = space is not None and space.distance is Distance.L2
        return f"closeness({name}, {{0}})" if l2 else f"{name} @ {{0}}"

    def _literal(self, node: Expression, wanted: Sequence[Kind], text: str) -> Advice | None:
        """A number that should be a text, or a text that should be a number."""
        if isinstance(node, Number) and Kind.TEXT in wanted and Kind.VECTOR not in wanted:
            return Advice(f'maybe "{text}"', self.edit(node.span, f'"{text}"'))
        if isinstance(node, Text) and Kind.NUMBER in wanted and re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", node.value):
            return Advice(f"maybe {node.value}", self.edit(node.span, node.value))
        return None

    def exchanged(self, node: Apply, first: int = 0) -> Advice:
        """Two neighbouring arguments, each in the other's place; a comparison is turned around."""
        left, right = node.arguments[first : first + 2]
        texts = self._slice(left.span), self._slice(right.span)
        if left.span is None or right.span is None or not all(texts) or left.span.start > right.span.start:
            return Advice("exchange them")
        between = self._slice(Span(left.span.stop, right.span.start))
        if OPERATORS[node.operator].precedence == COMPARE:
            between = f" {_TURNED[between.strip()]} " if between.strip() in _TURNED else ""
        # A number on the right may belong to what stands directly behind it.
        behind = re.compile(r"[ \t\f]*[\w`(]").match(self._source, right.span.stop)
        clean = between.strip() and not behind and not any(mark in between for mark in "#()")
        text = f"{texts[1]}{between}{texts[0]}"
        hint = "exchange them" if OPERATORS[node.operator].is_function else f"maybe {text}"
        return Advice(hint, self.edit(left.span.to(right.span), text) if clean else None)

    def regrouped(self, node: Apply) -> Fix | None:
        """`m >> S >= 2` as Python groups it: `(m >> S) >= 2`."""
        right = node.arguments[1]
        if not isinstance(right, Apply) or OPERATORS[right.operator].precedence != COMPARE:
            return None
        whole, left, compared = right.span, node.arguments[0].span, right.arguments[0].span
        if whole is None or left is None or compared is None or whole.start != compared.start:
            return None
        inner, rest = self._slice(left.to(compared)), self._slice(Span(compared.stop, whole.stop))
        return self.edit(left.to(whole), f"({inner}){rest}") if inner and rest else None

    def tightened(self, node: Apply, left: Apply, mask: Expression) -> Advice | None:
        """`w * m >> S` as `w * (m >> S)`, unless the author has set parentheses around the left side."""
        whole, first, inner = left.span, left.arguments[0].span, mask.span
        if node.span is None or whole is None or first is None or inner is None or whole.start != first.start:
            return None
        right = node.arguments[1].span
        before, after = self._slice(Span(first.start, inner.start)), self._slice(inner.to(right)) if right else ""
        if not before or not after or right is None:
            return None
        return Advice(f"▷ binds loosest: {before}({after})", self.edit(inner.to(right), f"({after})"))

    def digits(self, node: Expression) -> Advice:
        """A count that is written with a point, an exponent, quotes or parentheses."""
        digits = node.value if isinstance(node, Text) else repr(node) if isinstance(node, Number) else ""
        if not re.fullmatch(r"0*[1-9][0-9]*", digits):
            return Advice()
        return Advice(f"bare: {digits}, without a point, an exponent or parentheses", self.edit(node.span, digits))

    def quoted(self, node: Name) -> Advice:
        """A bare word where a text literal is wanted."""
        text = json.dumps(node.name, ensure_ascii=False)
        return Advice(f"a text stands in quotes: {text}", self.edit(node.span, text))

    def day(self, node: Expression, operator: str) -> Advice:
        """A year, a month or another way to write a day, as the day that the comparison means."""
        text = node.value if isinstance(node, Text) else repr(node) if isinstance(node, Number) else ""
        meant = _meant_day(text.strip(), operator)
        if not meant:
            return Advice('a day is written "YYYY-MM-DD"')
        return Advice(f'a day is written "YYYY-MM-DD": "{meant}"', self.edit(node.span, f'"{meant}"'))

    def renamed(self, node: Expression, name: str, other: str) -> Fix | None:
        """The name that a node begins with, replaced."""
        if node.span is None:
            return None
        start = node.span.start
        written = next((t for t in (name, f"`{name}`") if self._source.startswith(t, start)), "")
        return self.edit(Span(start, start + len(written)), repr(Name(other))) if written else None

    def option(self, value: Expression, name: str, other: str) -> Fix | None:
        """The name before an option's value, replaced; with nothing, the value goes by its position."""
        if value.span is None:
            return None
        near = max(0, value.span.start - 200)
        written = re.search(rf"`?{re.escape(name)}`?(\s*=\s*)\Z", self._source[near : value.span.start])
        if written is None:
            return None
        start = near + written.start()
        stop = near + written.start(1) if other else value.span.start
        return self.edit(Span(start, stop), other)

    def called(self, node: Retrieve, found: Type, below: Type | None) -> Fix | None:
        """`w(m >> S)`: the operator that was left out."""
        between = _BETWEEN.get((found.kind, below.kind)) if below is not None else None
        if between is None or node.span is None or len(node.arguments) != 1 or node.options:
            return None
        opening = self._source.find("(", node.span.start + len(node.retriever))
        name = self._source[node.span.start : opening].rstrip()
        if name.strip("`") != node.retriever:
            return None
        return self.edit(Span(node.span.start + len(name), opening), f" {between} ")

    def empty_call(self, node: Retrieve) -> Fix | None:
        """`bm25()`: the query is what is searched for."""
        inside = None if node.span is None or node.options else Span(node.span.stop - 1, node.span.stop - 1)
        return self.edit(inside, "query")

    def call(self, node: Apply, operator: Operator) -> Fix | None:
        """A call whose arguments are one too many for an option, or were given by name, as the table wants it."""
        for signature in operator.signatures:
            names = [parameter.name for parameter in signature.parameters]
            given = {key: value for key, value in node.options if key in names}
            if given and len(given) + len(node.arguments) == len(names):
                rest = iter(node.arguments)
                texts = [self.written(given[name] if name in given else next(rest)) for name in names]
                texts += [f"{key}={self.written(value)}" for key, value in node.options if key not in names]
                return self.edit(node.span, f"{operator.key}({', '.join(texts)})") if all(texts) else None
            last = node.arguments[-1] if node.arguments else None
            if last is not None and last.span and len(operator.options) == 1 and not node.options:
                if len(node.arguments) == len(names) + 1 and isinstance(last, Number | Count | Name):
                    return self.edit(Span(last.span.start, last.span.start), f"{operator.options[0].name}=")
        return None


def option_named(key: str, known: Iterable[str]) -> tuple[str, ...]:
    """The options that a name may have been meant to be."""
    names = list(known)
    return (_ALIASES[key],) if _ALIASES.get(key) in names else suggest(key, names)


def short(node: Expression, most: int = 40) -> str:
    """A node's text, cut for a one-line message."""
    text = repr(node) if node.size <= 200 else "this expression"
    return text if len(text) <= most else text[: most - 1] + "…"


def _closes_last(text: str) -> bool:
    """Whether the first parenthesis is closed by the last character."""
    depth = 0
    for i, character in enumerate(blanked(text)):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if not depth:
            return i == len(text) - 1
    return False


def _meant_day(text: str, operator: str) -> str:
    last = operator in (">", "<=")
    if period := re.fullmatch(r"(\d{4})(?:[-/](\d{1,2}))?", text):
        if OPERATORS[operator].precedence != COMPARE:
            return ""
        month = int(period[2] or (12 if last else 1))
        if not 1 <= month <= 12 or not int(period[1]):
            return ""
        day = calendar.monthrange(int(period[1]), month)[1] if last else 1
        return f"{period[1]}-{month:02}-{day:02}"
    whole = re.fullmatch(r"(\d{4})([-/.]?)(\d{1,2})\2(\d{1,2})(?:[T ].*)?", text)
    if whole is None or (not whole[2] and len(whole[3] + whole[4]) != 4):
        return ""
    meant = f"{whole[1]}-{int(whole[3]):02}-{int(whole[4]):02}"
    return meant if is_day(meant) else ""
