"""Two rankings side by side: what was expected, what was found, and how far each record moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyterrier_alg.relation import ScoredRelation

#: How many ranks are shown at most.
_ROWS = 20


def expected_ranking(expected: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """The expected docnos in rank order, with their scores where they are said.

    Example:
        >>> expected_ranking({"expect": {"a": 1.0, "b": 2.0}})
        [('b', 2.0), ('a', 1.0)]
    """
    scores: Mapping[str, float] = expected.get("expect", {})
    order: Sequence[str] | None = expected.get("order", None if "expect" in expected else expected.get("first"))
    if order is None:
        ranked = sorted(scores.items(), key=lambda record: (-record[1], record[0]))
        return [(docno, float(score)) for docno, score in ranked]
    return [(docno, float(scores[docno]) if docno in scores else None) for docno in order]


def difference(expected: Mapping[str, Any], found: ScoredRelation, allowed: float) -> list[str]:
    """Both rankings as a table, and the records that are missing.

    Args:
        expected: `expect`, `order` or `first`; where none of these is said, only what was found is shown.
        found: what came out.
        allowed: how far scores may lie from the expected ones.
    """
    wanted, got = expected_ranking(expected), list(found)
    places = {docno: place for place, (docno, _) in enumerate(wanted)}
    scores = dict(wanted)
    rows = [("rank", "expected", "", "found", "", "")]
    few = min(max(len(wanted), len(got)), _ROWS)
    for rank in range(few):
        left = _cells(wanted[rank]) if rank < len(wanted) else ("", "")
        right = _cells(got[rank]) if rank < len(got) else ("", "")
        note = _note(got[rank], rank, places, scores, allowed) if wanted and rank < len(got) else ""
        rows.append((str(rank), *left, *right, note))
    shown_columns = (0, 1, 2, 3, 4, 5) if wanted else (0, 3, 4)
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ["  ".join(row[column].ljust(widths[column]) for column in shown_columns).rstrip() for row in rows]
    if max(len(wanted), len(got)) > few:
        lines.append(f"… to rank {max(len(wanted), len(got)) - 1:,}")
    if not wanted and not got:
        lines = ["no record was found"]
    partial = "first" in expected and "expect" not in expected and "order" not in expected
    missing = [docno for docno, _ in wanted if docno not in found]
    if missing and not partial:
        lines.append(f"missing: {few_of(missing)}")
    return lines


def gap_line(found: ScoredRelation) -> list[str]:
    """What the selection says of its own order, in a line; none where nothing was cut."""
    check = found.gap_check
    if check is None:
        return []
    cut = "nothing beyond the cut" if check.gap_at_cut is None else f"gap at the cut {check.gap_at_cut:.3g}"
    beyond = ", ".join(f"{shown(docno)} {score!r}" for docno, score in check.contenders)
    certified = "certified" if check.certified else "not certified"
    return [f"gap check: {check.verdict}, {cut}, {certified}" + (f"; beyond it {beyond}" if beyond else "")]


def shown(text: str) -> str:
    r"""A text as a terminal can show it.

    Example:
        >>> shown("d1"), shown("a\nb")
        ('d1', "'a\\nb'")
    """
    return text if text.isprintable() else ascii(text)


def few_of(docnos: Sequence[str], most: int = 10) -> str:
    """The first few of many."""
    few = ", ".join(map(shown, docnos[:most]))
    return f"{few}, … ({len(docnos):,} in all)" if len(docnos) > most else few


def _cells(record: tuple[str, float | None]) -> tuple[str, str]:
    docno, score = record
    return shown(docno), "" if score is None else repr(score)


def _note(
    record: tuple[str, float],
    rank: int,
    places: Mapping[str, int],
    scores: Mapping[str, float | None],
    allowed: float,
) -> str:
    """What is off with a record that was found."""
    docno, score = record
    if docno not in places:
        return "not expected"
    said = []
    if places[docno] != rank:
        move = places[docno] - rank
        said.append(f"expected at {places[docno]}, {'up' if move > 0 else 'down'} {abs(move)}")
    wanted = scores[docno]
    if wanted is not None and abs(score - wanted) > allowed:
        said.append(f"score off by {score - wanted:+.3g}")
    return "; ".join(said)
