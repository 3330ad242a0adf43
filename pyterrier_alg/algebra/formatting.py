"""Files of programs: one canonical layout that keeps the comments, and a check of many files at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyterrier_alg.algebra._lexing import blanked
from pyterrier_alg.algebra.checking import check
from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding
from pyterrier_alg.algebra.reading import parse

#: What files of programs are called.
SUFFIX = ".alg"

#: Columns that a line takes at most, where brackets allow a break.
WIDTH = 100

#: How deep lines are broken: what stands deeper stays on one line.
_DEEPEST = 20

_BREAK = re.compile(r"\r\n|\r|\n")


def format_text(text: str, *, unicode: bool = False, width: int = WIDTH) -> str:
    r"""A program's text in its canonical layout, which reads to the same program; done twice it changes nothing.

    Each step stands on a line of its own in its canonical form; one that is too wide is broken inside its outermost
    brackets, an argument a line. Comments keep their words and their order: one on a line of its own stays above the
    step that follows, one behind a step stays behind it, and one inside a broken expression moves above its step.
    Between steps and comments at most one blank line is kept, none at the ends, and the last line ends in a line break.

    Args:
        text: a program in either notation.
        unicode: in the paper's signs; in ASCII otherwise.
        width: columns.

    Returns:
        The text.

    Raises:
        ProgramError: as `parse`.

    Example:
        >>> print(format_text("pool=support( S )   # candidates\n\n\n# push away\ntop(10,pool▷S−0.5 T)"), end="")
        pool = support(S)  # candidates
        <BLANKLINE>
        # push away
        top(10, pool >> (S - 0.5 * T))
    """
    formula = parse(text)
    lines = (formula.unicode if unicode else formula.ascii).split("\n")
    out: list[str] = []
    last = None
    for piece in _pieces(text):
        if last is not None and piece.first > last + 1:
            out.append("")
        last = piece.last
        if not piece.is_step:
            out += piece.inner
            continue
        behind = f"  {piece.behind}" if piece.behind else ""
        out += [*piece.inner, _broken(lines.pop(0), width) + behind]
    return "\n".join(out) + "\n"


@dataclass(frozen=True)
class FileCheck:
    """What was found in one file.

    Attributes:
        path: the file.
        formula: the program; None where it cannot be read.
        error: what is wrong: a `ProgramError` with every fault, or a `DataError` where the file cannot be read.
        formatted: whether the text is in its canonical layout, in either notation.
    """

    path: Path
    formula: Formula | None
    error: AlgebraError | None
    formatted: bool

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the program."""
        return self.error is None

    def __str__(self) -> str:
        """The path, and what is wrong, each fault with its line and a caret."""
        if self.error is not None:
            return f"{self.path}: {self.error}"
        return f"{self.path}: " + ("sound" if self.formatted else "sound, not in its canonical layout")


def check_files(
    paths: Iterable[str | Path], bindings: Mapping[str, Binding] | None = None, *, width: int = WIDTH
) -> list[FileCheck]:
    """Read files of programs, and check them against what their names are bound to.

    Args:
        paths: files, and folders, of which every `.alg` file is taken, those in folders below too.
        bindings: what is known of each name, as `Collection.bindings` gives it; without them files are only read.
        width: columns of the layout.

    Returns:
        A check a file, in the order of paths, the files of a folder by name; nothing is raised for what a file holds.
    """
    return [_check_file(path, bindings, width) for given in paths for path in _files(Path(given))]


def read_program(path: str | Path) -> str:
    """The text of a file.

    Raises:
        DataError: `missing_data`; `corrupted_data`, where it is no UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("corrupted_data", f"{path} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        # A path with a null character is a ValueError.
        reason = getattr(error, "strerror", None) or error
        raise DataError("missing_data", f"{path} cannot be read: {reason}") from None


def _files(path: Path) -> list[Path]:
    return sorted(found for found in path.rglob(f"*{SUFFIX}") if found.is_file()) if path.is_dir() else [path]


def _check_file(path: Path, bindings: Mapping[str, Binding] | None, width: int) -> FileCheck:
    formula = None
    try:
        text = read_program(path)
        formula = parse(text)
        formatted = text in (format_text(text, unicode=unicode, width=width) for unicode in (False, True))
        if bindings is not None:
            check(formula, bindings)
    except AlgebraError as error:
        return FileCheck(path, formula, error, formatted=formula is not None and formatted)
    return FileCheck(path, formula, None, formatted)


@dataclass(frozen=True)
class _Piece:
    """A comment on a line of its own, or a step.

    Attributes:
        first: its first line.
        last: its last line.
        is_step: whether it is a step, or the result.
        inner: the comments above it, or inside it.
        behind: the comment behind it.
    """

    first: int
    last: int
    is_step: bool
    inner: tuple[str, ...] = ()
    behind: str = ""


def _pieces(text: str) -> Iterator[_Piece]:
    """Steps and comments of a text that reads, in order."""
    first, last, depth, inner, behind = -1, 0, 0, list[str](), ""
    for line, (given, plain) in enumerate(zip(_BREAK.split(text), _BREAK.split(blanked(text)), strict=True)):
        # Hidden in the plain line are comments, as spaces, and the signs of texts and quoted names, as letters.
        start = next((i for i, sign in enumerate(given) if sign == "#" and plain[i] == " "), len(given))
        code, comment = plain[:start].strip(" \t\f"), given[start:].rstrip()
        if first < 0 and not code:
            if comment:
                yield _Piece(line, line, False, (comment,))
            continue
        if behind and (code or comment):
            inner.append(behind)
            behind = ""
        first, last, behind = (line if first < 0 else first), (line if code else last), comment or behind
        depth += code.count("(") - code.count(")")
        if not depth:
            yield _Piece(first, last, True, tuple(inner), behind)
            first, inner, behind = -1, [], ""


def _broken(line: str, width: int) -> str:
    """A canonical line; too wide, as several, broken at the arguments of its outermost widest brackets."""
    return "\n".join(_wrapped(line, 0, width))


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    wide = " " * indent + line
    if len(wide) <= width or indent >= 4 * _DEEPEST:
        return [wide]
    bounds = _outermost(line)
    if bounds is None:
        return [wide]
    start, commas, stop = bounds
    out = [" " * indent + line[: start + 1]]
    for left, right in zip([start, *commas], [*commas, stop], strict=True):
        end = "," if right != stop else ""
        part = _wrapped(line[left + 1 : right].strip(" "), indent + 4, width)
        out += [*part[:-1], part[-1] + end]
    return [*out, " " * indent + line[stop:]]


def _outermost(line: str) -> tuple[int, list[int], int] | None:
    """The widest brackets that stand in no others: where they open, their commas, where they close."""
    best: tuple[int, list[int], int] | None = None
    depth, start, commas = 0, 0, list[int]()
    for place, character in enumerate(blanked(line)):
        if character == "(":
            depth += 1
            if depth == 1:
                start, commas = place, []
        elif character == "," and depth == 1:
            commas.append(place)
        elif character == ")":
            depth -= 1
            if not depth and (best is None or place - start > best[2] - best[0]):
                best = start, commas, place
    return best
