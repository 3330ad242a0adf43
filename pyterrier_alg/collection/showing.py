"""How an orientation looks: a table for a terminal, and one for a notebook."""

from __future__ import annotations

import html
import io
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pyterrier_alg.collection._facts_shown import holds, percent, value_text, visible

_COLUMNS = ("name", "kind", "covers", "what it holds")


@dataclass(frozen=True)
class _Page:
    """What is shown, in order; a notebook folds the last part away."""

    heading: str
    columns: tuple[str, ...] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folded: list[str] = field(default_factory=list)


def as_text(facts: Mapping[str, Any], width: int | None = None) -> str:
    """Facts as plain text, no line wider than the terminal.

    Args:
        facts: of a collection, of a name, or of a list of operands.
        width: columns; the terminal's, 60 to 120, where left out.
    """
    columns = width or min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
    out = io.StringIO()
    # No colours and no markup: names and values are anybody's text. In a notebook too the text goes nowhere but here.
    console = Console(
        file=out, width=columns, color_system=None, highlight=False, markup=False, emoji=False, force_jupyter=False
    )
    page = _page(facts)
    console.print(Text(page.heading))
    if page.rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(page.columns))
        for column in page.columns:
            table.add_column(column, overflow="fold")
        for row in page.rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for note in (*page.notes, *page.folded):
        console.print(Padding(Text(note.lstrip(), overflow="fold"), (0, 0, 0, len(note) - len(note.lstrip()))))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def as_html(facts: Mapping[str, Any]) -> str:
    """Facts as a table for a notebook, in the notebook's own colours; the language can be unfolded."""
    page = _page(facts)
    cells = []
    if any(page.columns):
        head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in page.columns)
        cells.append(f"<thead><tr>{head}</tr></thead>")
    for first, *others in page.rows:
        rest = "".join(f"<td>{_lines(cell)}</td>" for cell in others)
        cells.append(f'<tr><th scope="row">{html.escape(first)}</th>{rest}</tr>')
    below = "".join(f"<div>{_indented(note)}</div>" for note in page.notes)
    folded = "".join(f"<div>{_indented(note)}</div>" for note in page.folded)
    more = f"<details><summary>notation, limits, engines</summary>{folded}</details>" if folded else ""
    return f"<div><b>{html.escape(page.heading)}</b></div><table>{''.join(cells)}</table>{below}{more}"


def _lines(cell: str) -> str:
    return html.escape(cell).replace("\n", "<br>")


def _indented(note: str) -> str:
    """What is indented in text are programs and notation."""
    return f"<code>{html.escape(note[2:])}</code>" if note.startswith("  ") else html.escape(note)


def _page(facts: Mapping[str, Any]) -> _Page:
    if "collection" not in facts:
        show = _operand if "operand" in facts else _list if "matching" in facts else _name
        return show(facts)
    name = f" {visible(facts['collection'])}" if facts["collection"] else ""
    heading = f"Collection{name}: {facts['records']:,} records"
    return _Page(heading, _COLUMNS, _rows(facts), list(_notes(facts)), list(_language(facts)))


def _operand(facts: Mapping[str, Any]) -> _Page:
    operand = dict(facts["operand"])
    if "covers" in operand:
        operand["covers"] = f"{_covers(operand)} of the records"
        del operand["share"]
    return _Page(f"{visible(operand['name'])} of {facts['records']:,} records", ("", ""), _given(operand))


def _name(facts: Mapping[str, Any]) -> _Page:
    (found,) = facts.values()
    return _Page(visible(found["name"]), ("", ""), _given(found))


def _list(facts: Mapping[str, Any]) -> _Page:
    heading = f"{visible(facts['matching'])}: {facts['count']:,} operands of {facts['records']:,} records"
    notes = [f"others: {visible(', '.join(facts['names']))}"] if facts["names"] else []
    if facts["left"]:
        notes.append(f"{facts['left']:,} more: a longer pattern tells of fewer")
    return _Page(heading, _COLUMNS, _rows(facts), notes)


def _given(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    given = {key.replace("_", " "): value for key, value in found.items() if value not in (None, [], {})}
    return [(key, value_text(value)) for key, value in given.items()]


def _rows(facts: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(visible(o["name"]), o["kind"], _covers(o), holds(o)) for o in facts["operands"]]


def _notes(facts: Mapping[str, Any]) -> Iterator[str]:
    listed: dict[str, int] = {}
    for operand in facts["operands"]:
        listed[operand["kind"]] = listed.get(operand["kind"], 0) + 1
    counts = {kind: count - listed.get(kind, 0) for kind, count in facts["counts"].items()}
    more = [f"{count:,} {kind}" for kind, count in counts.items() if count]
    if more:
        some = [name for names in facts["names"].values() for name in names]
        said = f" ({visible(', '.join(some))}, …)" if some else ""
        yield f"not listed: {', '.join(more)}{said}; orient(name) tells of any, of a kind, or of all like name*"
    for space in facts["spaces"]:
        encoders = f"documents by {space['document_encoder'] or '?'}, queries by {space['query_encoder'] or '?'}"
        yield visible(f"space {space['name']}: {space['dimensions']} dimensions, {space['distance']}, {encoders}")
    titles = ("runs as it stands", "examples"), ("runs over topics", "query_examples")
    for title, key in (*titles, ("re-ranks results, whose scores are input", "rerank_examples")):
        if facts[key]:
            yield f"{title}:"
            yield from (f"  {visible(program)}" for program in facts[key])


def _language(facts: Mapping[str, Any]) -> Iterator[str]:
    """The rest of the first answer: the reserved names, the notation, limits, engines."""
    yield "names with a meaning already:"
    for known in facts["reserved"]:
        space = f" of space {visible(known['space'])}" if known.get("space") else ""
        yield f"  {known['name']}: {known['kind']}{space}, {known['is']}"
    grammar = facts["grammar"]
    yield "notation, the tightest first:"
    yield f"  {'; '.join(grammar['operators'])}"
    signs = ", ".join(f"{sign} for {plain}" for plain, sign in grammar["signs"].items())
    yield f"  the paper's signs are read too: {signs}"
    yield f"  {', '.join(grammar['functions'])}"
    yield from (f"  {rule}" for rule in grammar["rules"])
    most = facts["limits"]
    yield (
        f"a program has at most {most['characters']:,} characters, {most['steps']:,} steps, {most['nodes']:,} "
        f"operators and operands, and parentheses {most['nesting']:,} deep"
    )
    yield "engines: " + "; ".join(
        name
        + (f" (not {', '.join(engine['cannot'])})" if engine["cannot"] else "")
        + ("" if engine["certified"] else ", not certified")
        for name, engine in facts["engines"].items()
    )


def _covers(operand: Mapping[str, Any]) -> str:
    if "queries" in operand:
        return f"{operand['queries']:,} {'query' if operand['queries'] == 1 else 'queries'}"
    return f"{operand['covers']:,} ({percent(operand['share'])})" if "covers" in operand else ""
