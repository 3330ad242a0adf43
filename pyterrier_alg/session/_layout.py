"""Tables for terminals and notebooks, of anybody's text: nothing in it is obeyed."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

#: How many characters of a cell, and of a program in a heading, a terminal is shown.
LONGEST = 72


def visible(text: str) -> str:
    r"""Text without what a terminal would obey instead of showing.

    Example:
        >>> visible("a\x1b[2Jb")
        'a�[2Jb'
    """
    return "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cs", "Cf") else "�" for c in text)


def one_line(text: str, longest: int = LONGEST) -> str:
    r"""A text on one line, cut to a readable length.

    Example:
        >>> one_line("pool = m\ntop(10, pool >> S)", 20)
        'pool = m ⏎ top(10, …'
    """
    line = visible(text.replace("\n", " ⏎ "))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def as_text(columns: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Iterable[str] = ()) -> list[str]:
    """Rows below a heading, each column as wide as its widest cell.

    Args:
        columns: the heading.
        rows: cells.
        numeric: the columns whose cells stand to the right.

    Returns:
        Lines; without rows none.
    """
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    if not cells:
        return []
    right = {place for place, name in enumerate(columns) if name in set(numeric)}
    table = [list(columns), *cells] if any(columns) else cells
    widths = [max(cell_len(row[place]) for row in table) for place in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        padded = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - cell_len(cell))
            padded.append(gap + cell if place in right else cell + gap)
        return "  ".join(padded).rstrip()

    return [line(row) for row in table]


def as_html(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]], notes: Iterable[str] = ()) -> str:
    """The same for a notebook; without colours of its own, so that it reads in light and dark.

    Args:
        heading: stands above, in bold.
        columns: the table's heading.
        rows: cells.
        notes: lines below.
    """

    def cells(tag: str, row: Sequence[object]) -> str:
        return "".join(f"<{tag}>{html.escape(visible(str(cell)))}</{tag}>" for cell in row)

    head = f"<tr>{cells('th', columns)}</tr>" if any(columns) else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    table = f"<table>{head}{body}</table>" if body else ""
    below = "".join(f'<div style="white-space: pre-wrap">{html.escape(visible(note))}</div>' for note in notes)
    return f"<div><b>{html.escape(visible(heading))}</b></div>{table}{below}"
