"""Documents as indexers get them, checked: dicts with `docno`, texts, metadata, and maybe a vector of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.columns import bind_column, is_missing
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    Operand,
    RelationOperand,
)
from pyterrier_alg.collection.records import Records, frozen, is_text, texts

VECTOR = "doc_vec"


class Docnos:
    """The docnos of a corpus, in the order of arrival: all are in memory, since a second one must be noticed."""

    def __init__(self) -> None:
        """None yet."""
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def add(self, document: Any) -> str:
        """The docno of the next document.

        Raises:
            BindingError: `bad_operand` for what is no document, `bad_docno`, `duplicate_docno`.
        """
        place = len(self._places)
        if not isinstance(document, Mapping):
            message = f"document {place:,} is a {type(document).__name__}"
            raise BindingError("bad_operand", message, "a corpus is an iterable of dicts {'docno': …, 'text': …}")
        docno = document.get("docno")
        if not is_text(docno) or not docno:
            what = f"has the docno {docno!r}" if "docno" in document else "has no docno"
            message = f"document {place:,} {what}, which is no text that names it"
            raise BindingError("bad_docno", message, "docnos are strings, not empty: convert them with str(…)")
        docno = str(docno)
        first = self._places.setdefault(docno, place)
        if first != place:
            message = f"document {place:,} has the docno {docno!r} of document {first:,}"
            raise BindingError("duplicate_docno", message, "a record has one row and one value: drop or merge one")
        return docno

    def records(self) -> Records:
        """As a collection has them."""
        return Records(self._places)


def text_of(document: Mapping[str, Any], name: str, docno: str) -> str | None:
    """One text of a document; None where it has none.

    Raises:
        BindingError: `bad_operand`, where it is no text.
    """
    value = document.get(name)
    if is_missing(value):
        return None
    # Most texts are ASCII, which one look tells.
    if not isinstance(value, str) or not (value.isascii() or is_text(value)):
        message = f"the field {name!r} of {docno!r} is a {type(value).__name__}, or no valid text"
        raise BindingError("bad_operand", message, "texts are strings, or None where a document has none")
    return str(value)


def text_to_encode(document: Mapping[str, Any], names: Sequence[str], docno: str) -> str:
    """The texts of some fields, with a space between them; empty where there is nothing.

    Raises:
        BindingError: `bad_operand`, where a text is none, or where the document has none of these fields.
    """
    if not any(name in document for name in names):
        have = ", ".join(map(repr, document)) or "none"
        message = f"the document {docno!r} has no field {' or '.join(map(repr, names))}; its fields are {have}"
        raise BindingError("bad_operand", message, "text_attr= names the fields that are encoded")
    found = [text_of(document, name, docno) for name in names]
    return " ".join(text for text in found if text)


@dataclass
class ColumnBuilder:
    """A metadata column as it comes, a batch at a time, so that a value of another kind is noticed early.

    Attributes:
        name: of the operand that it becomes.
        dates: whether texts are dates.
    """

    name: str
    dates: bool
    kind: Kind | None = None
    _first: str = ""
    _places: list[Any] = field(default_factory=list)
    _values: list[Any] = field(default_factory=list)

    def append(self, start: int, docnos: Sequence[str], values: Sequence[Any]) -> None:
        """The values of the documents that arrived from `start` on; missing ones among them.

        Raises:
            BindingError: `bad_operand` for values of several kinds, `bad_date`, `non_finite`.
        """
        there = [place for place, value in enumerate(values) if not is_missing(value)]
        if not there:
            return
        found = {docnos[place]: values[place] for place in there}
        records = Records(found)
        operand = bind_column(self.name, found, records, dates=self.dates)
        kind = operand.binding.type.kind
        if self.kind is None:
            self.kind, self._first = kind, docnos[there[0]]
        elif kind is not self.kind:
            message = f"{self.name} is a {self.kind} ({self._first!r}) and a {kind} ({docnos[there[0]]!r})"
            raise BindingError("bad_operand", message, "a column holds text, dates, numbers or booleans")
        arrival = np.empty(len(there), dtype=np.int64)
        arrival[records.order] = np.array(there, dtype=np.int64) + start
        if isinstance(operand, RelationOperand | MaskOperand | ColumnOperand):
            self._places.append(arrival[operand.positions])
        if isinstance(operand, RelationOperand):
            self._values.append(operand.scores)
        elif isinstance(operand, ColumnOperand):
            self._values.append(operand.values)

    def operand(self, records: Records) -> Operand:
        """The operand of the whole corpus."""
        positions = records.order[np.concatenate([np.empty(0, np.int64), *self._places])]
        order = np.argsort(positions)
        positions = frozen(positions[order])
        if self.kind is Kind.MASK:
            return MaskOperand(positions)
        if self.kind is Kind.RELATION:
            return RelationOperand(positions, frozen(np.concatenate(self._values)[order]))
        values = np.concatenate([np.empty(0, object), *self._values])[order]
        kind = Kind.DATE_COLUMN if self.dates or self.kind is Kind.DATE_COLUMN else Kind.TEXT_COLUMN
        return ColumnOperand(positions, texts(values.tolist()), kind)
