"""Metadata columns: text, calendar days, numbers and booleans, with missing values left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.operands import ColumnOperand, MaskOperand, Operand, Positions, RelationOperand
from pyterrier_alg.collection.records import Records, frozen, is_text, texts


def bind_column(
    name: str, values: Any, records: Records, *, dates: bool = False, expected: Kind | None = None
) -> Operand:
    """The operand that a column's values make: a column, a relation of numbers, or a mask of booleans.

    Args:
        name: what messages call it.
        values: a mapping docno to value, or a series indexed by docno.
        records: the collection's.
        dates: whether texts are dates.
        expected: refuse any other kind.

    Raises:
        BindingError: `bad_operand` for values of several kinds or of none, `non_finite`, `bad_date`, and what
            `Records.positions` raises.
    """
    if isinstance(values, pd.Series):
        docnos, found = values.index.tolist(), values.tolist()
    elif isinstance(values, Mapping):
        docnos, found = list(values), list(values.values())
    else:
        message = f"the column {name} is a {type(values).__name__}"
        raise BindingError("bad_operand", message, "a dict docno to value, or a series indexed by docno")
    positions = records.positions(docnos, name)
    there = [place for place, value in enumerate(found) if not is_missing(value)]
    order = np.array(sorted(there, key=positions.__getitem__), dtype=np.int64)
    present = [found[place] for place in order]
    kind = _kind([(docnos[place], found[place]) for place in there], name) if there else _empty_kind(values)
    if kind is Kind.TEXT_COLUMN and dates:
        kind = Kind.DATE_COLUMN
    if expected is not None and kind is not expected:
        raise BindingError("bad_operand", f"{name} has values of a {kind}, not of a {expected}")
    labels = [f"the value of {docnos[place]!r} in {name}" for place in order]
    return _operand(kind, frozen(positions[order]), present, labels, dates)


def is_missing(value: Any) -> bool:
    """Whether a column has no value here: None, NaN, NaT, NA."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_number(value: Any) -> bool:
    """Whether a value is a number; NumPy counts durations among them, which have no value without a unit."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def is_date(value: Any) -> bool:
    """Whether a value is a date or a date-time."""
    return isinstance(value, date | np.datetime64)


def iso_day(value: Any, what: str, *, text: bool = False) -> str:
    """The calendar day of a date, or the UTC day of a date-time, as `YYYY-MM-DD`.

    Args:
        value: a date, a date-time, or a text.
        what: what messages call it.
        text: whether a text is read as one, as ISO 8601 writes it.

    Raises:
        BindingError: `bad_date`.

    Example:
        >>> iso_day("2024-01-01T00:30:00+02:00", "published", text=True)
        '2023-12-31'
    """
    try:
        moment = _parsed(value) if text and isinstance(value, str) else value
        if isinstance(moment, np.datetime64):
            # Coarser units overflow nowhere.
            if not MINYEAR <= int(moment.astype("datetime64[Y]").astype(np.int64)) + 1970 <= MAXYEAR:
                raise ValueError
            moment = moment.astype("datetime64[D]").item()
        if isinstance(moment, datetime):
            moment = moment.astimezone(UTC).date() if moment.tzinfo is not None else moment.date()
        if isinstance(moment, date):
            return moment.isoformat()
    except (ValueError, OverflowError):
        pass
    raise BindingError("bad_date", f"{what} is {value!r}, no day of the calendar", "dates are written 2026-12-01")


def _parsed(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        return datetime.fromisoformat(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


#: What tells the kind of a column, in the order in which it is asked: a bool is a number to Python.
_KINDS: tuple[tuple[Kind, Callable[[Any], bool]], ...] = (
    (Kind.MASK, _is_bool),
    (Kind.RELATION, is_number),
    (Kind.TEXT_COLUMN, is_text),
    (Kind.DATE_COLUMN, is_date),
)


def _kind(values: list[tuple[Any, Any]], name: str) -> Kind:
    first_docno, first = values[0]
    kind = _kind_of(first_docno, first, name)
    for docno, value in values:
        if type(value) is not type(first) and _kind_of(docno, value, name) is not kind:
            message = f"the column {name} mixes {first!r} (of {first_docno!r}) and {value!r} (of {docno!r})"
            raise BindingError("bad_operand", message, "a column holds text, dates, numbers or booleans")
    if kind is Kind.TEXT_COLUMN:
        for docno, value in values:
            _kind_of(docno, value, name)
    return kind


def _kind_of(docno: object, value: Any, name: str) -> Kind:
    for kind, fits in _KINDS:
        if fits(value):
            return kind
    message = f"the value of {docno!r} in {name} is a {type(value).__name__}, or no valid text"
    raise BindingError("bad_operand", message, "a column holds text, dates, numbers or booleans")


def _empty_kind(values: Any) -> Kind:
    """What a column without any value is, as far as its type tells."""
    dtype = getattr(values, "dtype", None)
    if dtype is None:
        return Kind.TEXT_COLUMN
    if pd.api.types.is_bool_dtype(dtype):
        return Kind.MASK
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Kind.DATE_COLUMN
    return Kind.RELATION if pd.api.types.is_numeric_dtype(dtype) else Kind.TEXT_COLUMN


def _operand(kind: Kind, positions: Positions, values: list[Any], labels: list[str], dates: bool) -> Operand:
    if kind is Kind.MASK:
        return MaskOperand(frozen(positions[np.array(values, dtype=bool)]))
    if kind is Kind.RELATION:
        scores = np.array([_finite(v, label) for v, label in zip(values, labels, strict=True)], dtype=np.float64)
        return RelationOperand(positions, frozen(scores))
    if kind is Kind.DATE_COLUMN:
        days = [iso_day(value, label, text=dates) for value, label in zip(values, labels, strict=True)]
        return ColumnOperand(positions, texts(days), kind)
    return ColumnOperand(positions, texts([str(value) for value in values]), kind)


def _finite(value: Any, what: str) -> float:
    try:
        number = float(value) + 0.0
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise BindingError("non_finite", f"{what} is {number}")
    return number
