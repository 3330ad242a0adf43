"""One hierarchy of errors: each has a stable code, says what is wrong, where, and how to mend it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a program's text: character offsets, `stop` exclusive."""

    start: int
    stop: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.stop, other.stop))


@dataclass(frozen=True, slots=True)
class Fix:
    """One edit that repairs a fault.

    Attributes:
        span: what is replaced; empty where something is put in.
        replacement: what stands there afterwards.
    """

    span: Span
    replacement: str


def edited(source: str, fixes: Iterable[Fix]) -> str:
    """A text with edits made in it; of two that overlap, the first.

    Args:
        source: the text that the fixes' spans refer to.
        fixes: in any order; of those at one place, the first given counts.

    Returns:
        The new text.

    Example:
        >>> edited("0.5S + t", [Fix(Span(7, 8), "T"), Fix(Span(0, 4), "0.5 S")])
        '0.5 S + T'
    """
    pieces, done = [], 0
    for fix in sorted(fixes, key=lambda fix: (fix.span.start, fix.span.stop)):
        if fix.span.start >= done:
            pieces += [source[done : fix.span.start], fix.replacement]
            done = fix.span.stop
    return "".join([*pieces, source[done:]])


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault in one program.

    Attributes:
        code: stable, one of the codes that the algebra's contract lists.
        message: one line.
        span: the place in the text, where there is one.
        hint: how to mend it, where that is likely.
        expected: the kinds that would fit here.
        found: the kind that stands here.
        candidates: names that fit here, the likeliest first.
        fix: the edit that repairs it, where one edit does.
    """

    code: str
    message: str
    span: Span | None = None
    hint: str = ""
    expected: tuple[str, ...] = ()
    found: str = ""
    candidates: tuple[str, ...] = ()
    fix: Fix | None = None

    def render(self, source: str) -> str:
        """The message with the line of the program that it is about, and the place marked below it."""
        lines = [f"{self.code}: {self.message}"]
        if self.span is not None:
            lines += _marked(source, self.span)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


#: What a terminal would obey, or could not write, instead of showing it.
_HIDDEN = ("Cc", "Cs")


def _marked(source: str, span: Span, context: int = 60) -> list[str]:
    """The line around a span, cut to a readable width, and a line of carets below the span."""
    start = source.rfind("\n", 0, span.start) + 1
    stop = source.find("\n", span.start)
    stop = len(source) if stop < 0 else stop
    number = source.count("\n", 0, span.start) + 1
    left, right = max(start, span.start - context), min(stop, max(span.stop, span.start + 1) + context)
    shown = "".join(
        " " if c.isspace() else c if unicodedata.category(c) not in _HIDDEN else "�" for c in source[left:right]
    )
    before = ("…" if left > start else "") + shown[: span.start - left]
    marked = shown[span.start - left : min(span.stop, right) - left]
    after = shown[min(span.stop, right) - left :] + ("…" if right < stop else "")
    prefix = f"  line {number}: " if "\n" in source.strip("\n") else "  "
    return [prefix + before + marked + after, " " * (len(prefix) + _width(before)) + "^" * max(1, _width(marked))]


def _width(text: str) -> int:
    """Columns that a terminal uses: marks and joiners take none, wide characters two."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


class AlgebraError(Exception):
    """The base of every error of this package.

    Attributes:
        code: stable, for programs and agents to act on.
        message: one line, for people.
        hint: how to mend it; empty where nothing likely is known.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        """Keep the three parts; they are also the exception's arguments, so that it pickles."""
        super().__init__(code, message, hint)
        self.code, self.message, self.hint = code, message, hint

    def __str__(self) -> str:
        """Code and message, and the hint on a line of its own."""
        return f"{self.code}: {self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")


class ProgramError(AlgebraError):
    """One or more faults in a program, all that could be found at once, each with its place.

    Attributes:
        diagnostics: the faults in the order of the text, at least one; `code`, `message` and `hint` are the first's.
        source: the program's text.
    """

    #: How many faults the text form shows; `diagnostics` has all.
    SHOWN: ClassVar[int] = 20

    def __init__(self, diagnostics: Iterable[Diagnostic], source: str) -> None:
        """Order the faults by place."""
        ordered = sorted(diagnostics, key=lambda d: (d.span.start, d.span.stop) if d.span else (-1, -1))
        self.diagnostics, self.source = tuple(ordered), source
        first = self.diagnostics[0]
        super().__init__(first.code, first.message, first.hint)
        self.args = (self.diagnostics, source)

    @property
    def fix(self) -> str | None:
        """The program's text with every fix made that does not overlap an earlier one; None where there is none.

        It always reads. Faults without a fix remain in it.
        """
        fixes = [diagnostic.fix for diagnostic in self.diagnostics if diagnostic.fix is not None]
        return edited(self.source, fixes) if fixes else None

    def __str__(self) -> str:
        """The first faults, each with its line and a caret, and how many more there are."""
        shown = [d.render(self.source) for d in self.diagnostics[: self.SHOWN]]
        more = len(self.diagnostics) - len(shown)
        return "\n".join(shown + ([f"… and {more:,} more"] if more > 0 else []))


class EvaluationError(ProgramError):
    """A fault that only the data shows while a program runs: a step that is not finite, an unknown record."""


class UnsupportedError(ProgramError):
    """A sound program that one engine cannot run; raised before running, naming what it lacks."""


class BindingError(AlgebraError):
    """An operand that a collection refuses: duplicate or foreign docnos, NaN, zero rows, reserved names."""


class DataError(AlgebraError):
    """Files of data that are missing, truncated or changed."""


class MissingExtraError(AlgebraError):
    """An optional part of the package that is not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        """Name the extra and the command that installs it."""
        super().__init__(
            "missing_extra", f"{needed_for} needs the extra '{extra}'", f"pip install 'pyterrier-alg[{extra}]'"
        )
        self.args = (extra, needed_for)
