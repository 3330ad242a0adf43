"""Docnos on disk: `docnos.json` in the order given, and `order.npy` with the place of each by code point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.collection.files import write_array, write_bytes
from pyterrier_alg.collection.records import Records, texts

DOCNOS = "docnos.json"
ORDER = "order.npy"


def write_records(folder: Path, records: Records) -> dict[str, dict[str, Any]]:
    """Write both files; their facts by name."""
    docnos = json.dumps(records.given.tolist(), separators=(",", ":")).encode()
    return {DOCNOS: write_bytes(folder / DOCNOS, docnos), ORDER: write_array(folder / ORDER, records.order)}


def read_records(docnos: Any, order: npt.NDArray[Any]) -> Records:
    """Records from what the two files hold.

    They are not sorted and compared again, which would take seconds for a million: it is enough that they ascend.

    Args:
        docnos: what `docnos.json` holds.
        order: what `order.npy` holds.

    Raises:
        ValueError: where they are no records.
    """
    if not isinstance(docnos, list) or not set(map(type, docnos)) <= {str} or not all(docnos):
        raise ValueError("docnos that are no texts")
    # Half of a surrogate pair is no character, and has no UTF-8; the docno after it must not complete it.
    "\n".join(docnos).encode("utf-8")
    if order.dtype != np.int64 or order.shape != (len(docnos),) or (len(order) and not 0 <= order.min()):
        raise ValueError("an order of other docnos")
    given = texts(docnos)
    ascending = np.empty(len(docnos), dtype=object)
    try:
        ascending[order] = given
    except IndexError:
        raise ValueError("an order of other docnos") from None
    if any(docno is None for docno in (ascending[:1].tolist() + ascending[-1:].tolist())):
        raise ValueError("an order that leaves places out")
    try:
        ascend = bool((ascending[1:] > ascending[:-1]).all())
    except TypeError:
        ascend = False
    if not ascend:
        raise ValueError("docnos that do not ascend in their order, or stand twice")
    return Records.ordered(given, ascending, order)


def rows_of(records: Records) -> npt.NDArray[np.int64]:
    """For each position, the row in the order given."""
    rows = np.empty(len(records), dtype=np.int64)
    rows[records.order] = np.arange(len(records), dtype=np.int64)
    return rows
