"""How an orientation looks: a table for a terminal, and one for a notebook."""

from __future__ import annotations

import html
import io
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_COLUMNS = ("name", "kind", "covers", "what it holds")


def as_text(facts: Mapping[str, Any], width: int | None = None) -> str:
    """Facts as plain text, no line wider than the terminal.

    Args:
        facts: of a collection or of one operand.
        width: columns; the terminal's, 60 to 120, where left out.
    """
    columns = width or min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
    out = io.StringIO()
    # No colours and no markup: names and values are anybody's text.
    console = Console(file=out, width=columns, color_system=None, highlight=False, markup=False, emoji=False)
    heading, rows, notes = _content(facts)
    console.print(Text(heading))
    if rows:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header="operand" not in facts)
        for column in _columns(facts):
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for note in notes:
        console.print(Text(note), overflow="fold")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def as_html(facts: Mapping[str, Any]) -> str:
    """Facts as a table for a notebook."""
    heading, rows, notes = _content(facts)
    cells = [f"<tr>{''.join(f'<th>{html.escape(column)}</th>' for column in _columns(facts))}</tr>"]
    cells += [f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    below = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    return f"<div><b>{html.escape(heading)}</b></div><table>{''.join(cells)}</table>{below}"


def _columns(facts: Mapping[str, Any]) -> tuple[str, ...]:
    return ("", "") if "operand" in facts else _COLUMNS


def _content(facts: Mapping[str, Any]) -> tuple[str, list[tuple[str, ...]], list[str]]:
    if "operand" in facts:
        operand = dict(facts["operand"])
        if "covers" in operand:
            operand["covers"] = f"{_covers(operand)} of the records"
            del operand["share"]
        given = {key.replace("_", " "): value for key, value in operand.items() if value not in (None, [])}
        rows: list[tuple[str, ...]] = [(key, _value(value)) for key, value in given.items()]
        return f"{_visible(operand['name'])} of {facts['records']:,} records", rows, []
    name = f" {_visible(facts['collection'])}" if facts["collection"] else ""
    rows = [(_visible(o["name"]), o["kind"], _covers(o), _holds(o)) for o in facts["operands"]]
    return f"Collection{name}: {facts['records']:,} records", rows, list(_notes(facts))


def _notes(facts: Mapping[str, Any]) -> Iterator[str]:
    listed: dict[str, int] = {}
    for operand in facts["operands"]:
        listed[operand["kind"]] = listed.get(operand["kind"], 0) + 1
    more = [f"{count - listed[kind]:,} {kind}" for kind, count in facts["counts"].items() if count > listed[kind]]
    if more:
        yield f"not listed: {', '.join(more)}; orient(name) tells of any"
    for space in facts["spaces"]:
        encoders = f"documents by {space['document_encoder'] or '?'}, queries by {space['query_encoder'] or '?'}"
        yield _visible(f"space {space['name']}: {space['dimensions']} dimensions, {space['distance']}, {encoders}")
    for title, key in (("runs as it stands", "examples"), ("runs over topics", "query_examples")):
        if facts[key]:
            yield f"{title}:"
            yield from (f"  {_visible(program)}" for program in facts[key])


def _covers(operand: Mapping[str, Any]) -> str:
    if "queries" in operand:
        return f"{operand['queries']:,} queries"
    return f"{operand['covers']:,} ({_percent(operand['share'])})" if "covers" in operand else ""


def _percent(share: float) -> str:
    """A share that says 0 % and 100 % only where it is none and all."""
    if 0 < share < 0.001 or 0.999 < share < 1:
        return "<0.1 %" if share < 0.5 else ">99.9 %"
    return f"{100 * share:.3g} %"


def _holds(operand: Mapping[str, Any]) -> str:
    said = []
    if operand["space"]:
        said.append(f"space {operand['space']}")
    if "query_encoder" in operand:
        said.append("takes texts" if operand["query_encoder"] else "takes vectors only")
    if "length" in operand:
        said.append(f"length {operand['length']:.4g}")
    if operand.get("range"):
        said.append(" to ".join(_short(bound) for bound in operand["range"]))
    if "distinct" in operand:
        some = ", ".join(_short(value) for value, _ in operand["values"][:4])
        said.append(f"{operand['distinct']:,} values: {some}" if some else "no values")
    if "identity" in operand:
        said.append(f"{operand['identity']}, depth {operand['default_depth']:,}")
    if "recorded_queries" in operand:
        said.append(f"{operand['recorded_queries']:,} recorded queries")
    if "value" in operand:
        said.append(_short(operand["value"], 60))
    return _visible("; ".join(said))


def _short(value: Any, longest: int = 24) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and all(isinstance(item, float) for item in value.values()):
        places = ", ".join(f"{100 * float(key):g}" for key in value)
        return f"{', '.join(_short(item) for item in value.values())}  (at {places} %)"
    if isinstance(value, Mapping):
        return _visible("\n".join(f"{key}: {_value(item)}" for key, item in value.items() if item not in (None, "")))
    if isinstance(value, Sequence) and not isinstance(value, str):
        pairs = [f"{_short(v[0], 40)} ({v[1]:,})" if isinstance(v, list) else _short(v, 120) for v in value]
        return _visible(("\n" if any(" " in pair for pair in pairs) else ", ").join(pairs))
    return _visible(f"{value:,}" if isinstance(value, int) else _short(value, 200))


def _visible(text: str) -> str:
    """Text without what a terminal would obey instead of showing."""
    return "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cs", "Cf") else "�" for c in text)
