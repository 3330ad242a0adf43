"""A collection's records: unique docnos, in the order given and in the code-point order that ties are broken in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.collection.operands import MaskOperand, Positions

_AS_TEXT = "docnos are strings: convert them yourself, for instance with str(docno) or frame['docno'].astype(str)"


def shown(names: Sequence[object], most: int = 5) -> str:
    """The first few of many, as messages list them.

    Example:
        >>> shown(["a", "b", "c"], most=2)
        "'a', 'b', … (3 in all)"
    """
    few = ", ".join(map(repr, names[:most]))
    return f"{few}, … ({len(names):,} in all)" if len(names) > most else few


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, read-only."""
    array.setflags(write=False)
    return array


def texts(values: Sequence[str]) -> npt.NDArray[np.object_]:
    """An object array of these strings; NumPy's own string arrays would cut and pad them."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return frozen(array)


def is_text(value: object) -> bool:
    """Whether a value is a string that every file and database can hold: half of a surrogate pair is no character."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any(0xD800 <= ord(character) <= 0xDFFF for character in value)


def texts_to_encode(given: object) -> list[str]:
    """What an encoder of documents is given, however often it can be gone through.

    Raises:
        BindingError: `bad_operand`, naming the first that is no text; also for a single text.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        message = f"the texts to encode are a {type(given).__name__}"
        raise BindingError("bad_operand", message, "give a list of texts")
    found = list(given)
    for place, text in enumerate(found):
        if not is_text(text):
            message = f"text {place:,} is a {type(text).__name__}, or no valid text: {text!r}"
            raise BindingError("bad_operand", message, "an encoder takes strings")
    return [str(text) for text in found]


class Records:
    """The ids of a collection's records.

    Attributes:
        given: docnos in the order in which the collection got them, which arrays without docnos of their own follow.
        docnos: in code-point order; a position is an index into these.
        order: the position of each docno of `given`.
    """

    def __init__(self, docnos: Iterable[object]) -> None:
        """Sort and check.

        Raises:
            BindingError: `bad_docno`, `duplicate_docno`.
        """
        names = plain_docnos(docnos, "the collection")
        _refuse_duplicates(names, "the collection")
        ascending = sorted(range(len(names)), key=names.__getitem__)
        self.given = texts(names)
        self.docnos = texts([names[i] for i in ascending])
        self.order: Positions = np.empty(len(names), dtype=np.int64)
        self.order[ascending] = np.arange(len(names), dtype=np.int64)
        frozen(self.order)

    @classmethod
    def ordered(cls, given: npt.NDArray[np.object_], docnos: npt.NDArray[np.object_], order: Positions) -> Records:
        """Records whose order is known: nothing is checked."""
        made = object.__new__(cls)
        made.given, made.docnos, made.order = given, frozen(docnos), order
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.given.tolist(),)

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.docnos)

    @cached_property
    def everything(self) -> MaskOperand:
        """The mask `all`."""
        return MaskOperand(frozen(np.arange(len(self), dtype=np.int64)))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {docno: place for place, docno in enumerate(self.docnos.tolist())}

    def positions(self, docnos: Iterable[object], operand: str) -> Positions:
        """The position of each docno, in the order given.

        Args:
            docnos: unique ids of this collection.
            operand: what messages call the place where they stand.

        Raises:
            BindingError: `bad_docno`, `duplicate_docno`, `unknown_docno`.
        """
        names = plain_docnos(docnos, operand)
        found = [self._places.get(name, -1) for name in names]
        foreign = [name for name, place in zip(names, found, strict=True) if place < 0]
        if foreign:
            few = [f"{name!r} (row {names.index(name)})" for name in foreign[:5]]
            more = f", … ({len(foreign):,} in all)" if len(foreign) > 5 else ""
            raise BindingError(
                "unknown_docno",
                f"{operand} names records that the collection does not have: {', '.join(few)}{more}",
                "leave them out, or make a collection that has them",
            )
        if len(set(names)) < len(names):
            _refuse_duplicates(names, operand)
        return np.array(found, dtype=np.int64)


def plain_docnos(docnos: Iterable[object], operand: str) -> list[str]:
    """Ids as plain strings.

    Raises:
        BindingError: `bad_docno`, naming the first that is no string or is empty.
    """
    if isinstance(docnos, str):
        raise BindingError("bad_docno", f"{operand} got the single text {docnos!r}", "give a list of docnos")
    if isinstance(docnos, pd.DataFrame) or not isinstance(docnos, Iterable):
        message = f"the docnos of {operand} are a {type(docnos).__name__}"
        raise BindingError("bad_docno", message, "give a list of docnos; of a frame, frame['docno']")
    values = docnos.tolist() if isinstance(docnos, np.ndarray | pd.Series | pd.Index) else list(docnos)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            message = f"docno {value!r} of {operand} (row {row}) is a {type(value).__name__}, not a string"
            raise BindingError("bad_docno", message, _AS_TEXT)
        if not value or not is_text(value):
            raise BindingError("bad_docno", f"docno {value!r} of {operand} (row {row}) is empty or no valid text")
    return [str(value) for value in values]


def _refuse_duplicates(names: Sequence[str], operand: str) -> None:
    """Name the first docnos that stand twice, with the rows where they do."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    twice = [(name, where) for name, where in rows.items() if len(where) > 1]
    if twice:
        few = [f"{name!r} in rows {', '.join(map(str, where[:4]))}" for name, where in twice[:5]]
        more = f", … ({len(twice):,} in all)" if len(twice) > 5 else ""
        raise BindingError(
            "duplicate_docno",
            f"{operand} has docnos more than once: {'; '.join(few)}{more}",
            "a record has one row and one value: drop or merge the others",
        )
