"""Warnings: what a sound program does that its author may not have meant, as values beside its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pyterrier_alg.algebra.errors import Diagnostic, Span

#: Every code, with what it says.
WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        "constant_input": "minmax, zscore or maxnorm of a relation whose scores are all equal",
        "cut_before_mask": "a mask around a selection: the selection has taken its records before the mask is asked",
        "empty_mask": "a mask, or a comparison in one, that lets no record through",
        "inert_coefficient": "a coefficient that cannot change the ranking, whatever its value, or that is 0",
        "negative_under_weight": "a weight below one raises a negative score above a better one",
        "one_sided_records": "records that one operand of +, − or ⊙ scores and the other does not: they are dropped",
        "scale_mismatch": "a sum in which one operand's scores range so much wider that it decides the order",
        "text_ignored": "words of a text that the query encoder does not know",
    }
)


@dataclass(frozen=True, slots=True)
class ProgramWarning:
    """One thing that a program does and that may not be meant.

    Attributes:
        code: stable, one of `WARNINGS`.
        message: one line that names the operands and the numbers.
        span: the place in the program's text, where there is one.
        hint: the edit that would help.
        details: what the message says, for programs: texts, numbers, lists of them; ready for JSON.

    Example:
        >>> print(ProgramWarning("empty_mask", "m has no record", Span(0, 1)).render("m >> S"))
        empty_mask: m has no record
          m >> S
          ^
    """

    code: str
    message: str
    span: Span | None = None
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def render(self, source: str) -> str:
        """The message with the line of the program that it is about, and the place marked below it."""
        return Diagnostic(self.code, self.message, self.span, self.hint).render(source)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; the span as its two character offsets, `stop` exclusive."""
        return {
            "code": self.code,
            "message": self.message,
            "span": [self.span.start, self.span.stop] if self.span else None,
            "hint": self.hint,
            "details": dict(self.details),
        }
