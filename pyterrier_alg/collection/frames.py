"""Frames as PyTerrier has them: their columns, and their rows by qid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.collection.records import is_text


def frame_columns(frame: pd.DataFrame, wanted: Sequence[str], operand: str) -> list[list[Any]]:
    """The values of these columns of a frame.

    Raises:
        BindingError: `bad_operand`, naming the missing ones, and those that stand there twice.
    """
    if not isinstance(frame, pd.DataFrame):
        raise BindingError("bad_operand", f"{operand}: a frame is needed, this is a {type(frame).__name__}")
    if frame.columns.nlevels > 1:
        message = f"the columns of {operand} have names of {frame.columns.nlevels} levels"
        raise BindingError("bad_operand", message, "give each column one name")
    counts = Counter(frame.columns)
    missing = [column for column in wanted if column not in counts]
    if missing:
        have = ", ".join(map(str, frame.columns)) or "none"
        absent = ", ".join(map(str, missing))
        raise BindingError("bad_operand", f"{operand} has no column {absent}; its columns are {have}")
    twice = [column for column in wanted if counts[column] > 1]
    if twice:
        raise BindingError("bad_operand", f"{operand} has more than one column {twice[0]}")
    return [frame[column].tolist() for column in wanted]


def names_of(given: object, what: str) -> tuple[str, ...]:
    """Names as a caller lists them, each once.

    Args:
        given: an iterable of strings.
        what: what messages call it.

    Raises:
        BindingError: `bad_operand`, where it is none.

    Example:
        >>> names_of(["year", "lang", "year"], "columns")
        ('year', 'lang')
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BindingError("bad_operand", f"{what} is {given!r}", f'a list of names is meant: {what}=["…"]')
    names = list(given)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise BindingError("bad_operand", f"{what} names {strange[0]!r}, a {type(strange[0]).__name__}, not a string")
    return tuple(dict.fromkeys(names))


def check_qid(qid: object, operand: str) -> str:
    """A qid as PyTerrier has them.

    Raises:
        BindingError: `bad_qid`.
    """
    if not is_text(qid):
        message = f"{operand} has the qid {qid!r}, a {type(qid).__name__}"
        raise BindingError("bad_qid", message, "qids are strings: frame.assign(qid=frame['qid'].astype(str))")
    return str(qid)


def grouped(qids: Sequence[object], rows: Sequence[Any], operand: str) -> dict[str, list[Any]]:
    """Rows by qid, in the order in which the qids first occur."""
    groups: dict[str, list[Any]] = {}
    for qid, row in zip(qids, rows, strict=True):
        groups.setdefault(check_qid(qid, operand), []).append(row)
    return groups
