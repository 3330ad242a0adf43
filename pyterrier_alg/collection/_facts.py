"""Facts about one operand: a few for lists, all of them by name. JSON-ready, and finite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.lexical import RecordedRetriever
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    Operand,
    RelationOperand,
    RetrieverOperand,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.collection.per_query import Bound, PerQuery
from pyterrier_alg.collection.records import Records
from pyterrier_alg.collection.rows import lengths

#: How many values of a column a list and the details show.
FEW, MORE = 5, 20

#: How many characters of a text are shown: a value in a list, anything in details.
SHORT, LONG = 40, 60

_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def facts(operand: Bound, records: Records) -> dict[str, Any]:
    """What a list says of an operand: kind, space, shape, coverage, range, values.

    Args:
        operand: bound.
        records: the collection's.

    Returns:
        `kind` and `space` always (the space's name; None for what has none), then what its kind has. `share` of the
        records is the coverage of a relation, matrix or column, and the selectivity of a mask.
    """
    kind = operand.binding.type
    found: dict[str, Any] = {"kind": kind.kind.value, "space": shortened(kind.space.name) if kind.space else None}
    if isinstance(operand, PerQuery):
        shape = {"shape": [len(operand.by_qid), kind.space.dimensions]} if kind.space else {}
        return {**found, **shape, "queries": len(operand.by_qid)}
    return {**found, **_own(operand, records)}


def details(operand: Bound, records: Records) -> dict[str, Any]:
    """What only the details of an operand say: quantiles, values, and which records it lacks."""
    match operand:
        case MatrixOperand(positions=positions, rows=rows):
            return {"row_lengths": quantiles(lengths(rows)), "without": _without(positions, records)}
        case RelationOperand(positions=positions, scores=scores):
            distinct = len(np.unique(scores))
            return {"scores": quantiles(scores), "distinct": distinct, "without": _without(positions, records)}
        case ColumnOperand(positions=positions, values=values):
            return {"values": _frequent(Counter(values.tolist()), MORE, LONG), "without": _without(positions, records)}
        case MaskOperand(positions=positions):
            return {"some": records.docnos[positions[:MORE]].tolist()}
        case RetrieverOperand(retriever=RecordedRetriever() as recorded):
            some = [shortened(query) for query in list(recorded.results)[:FEW]]
            return {"some_queries": some, "recorded_depth": recorded.depth}
        case PerQuery():
            return _over_queries(operand)
    return {}


def quantiles(values: npt.NDArray[np.float64]) -> dict[str, float] | None:
    """Quantiles by share, from the least (`"0"`) to the greatest (`"1"`); None of nothing.

    Example:
        >>> quantiles(np.array([1.0, 2.0, 4.0]))["0.5"]
        2.0
    """
    if not len(values):
        return None
    # Values that occur: between two of them, huge ones would overflow.
    found = np.quantile(values, _QUANTILES, method="inverted_cdf").tolist()
    return {f"{share:g}": value for share, value in zip(_QUANTILES, found, strict=True)}


def shortened(text: str, longest: int = LONG) -> str:
    """A text as lists show it: they stay short even where values are whole documents.

    Example:
        >>> shortened("wave guides", 5)
        'wave…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _own(operand: Operand, records: Records) -> dict[str, Any]:
    match operand:
        case NumberOperand(value=number):
            return {"value": number}
        case TextOperand(value=text):
            return {"value": shortened(text)}
        case VectorOperand(values=values):
            return {"shape": list(values.shape), "length": float(lengths(values[np.newaxis])[0])}
        case MatrixOperand(positions=positions, rows=rows, encoder=encoder):
            identity = shortened(encoder.identity) if encoder else None
            return {**_coverage(positions, records), "shape": list(rows.shape), "query_encoder": identity}
        case RelationOperand(positions=positions, scores=scores):
            return {**_coverage(positions, records), "range": _range(scores)}
        case MaskOperand(positions=positions):
            return _coverage(positions, records)
        case ColumnOperand(positions=positions, values=values):
            counts = Counter(values.tolist())
            said = {**_coverage(positions, records), "distinct": len(counts), "values": _frequent(counts, FEW, SHORT)}
            if operand.kind is Kind.DATE_COLUMN:
                said["range"] = [min(counts), max(counts)] if counts else None
            return said
        case RetrieverOperand(retriever=retriever):
            said = {"identity": shortened(retriever.identity), "default_depth": retriever.default_depth}
            if isinstance(retriever, RecordedRetriever):
                said["recorded_queries"] = len(retriever.results)
            return said


def _over_queries(operand: PerQuery) -> dict[str, Any]:
    """What the queries have, and what one that is not among them has."""
    said: dict[str, Any] = {"some_qids": list(operand.by_qid)[:MORE]}
    members = list(operand.by_qid.values())
    vectors = [member.values for member in members if isinstance(member, VectorOperand)]
    if operand.missing is None:
        return {**said, "row_lengths": quantiles(lengths(np.stack(vectors))) if vectors else None, "others": "an error"}
    sizes = np.array([len(member.positions) for member in members if not isinstance(member, VectorOperand)], np.float64)
    said["records_per_query"] = quantiles(sizes)
    scores = [member.scores for member in members if isinstance(member, RelationOperand)]
    if scores:
        said["scores"] = quantiles(np.concatenate(scores))
    return {**said, "others": "no records"}


def _coverage(positions: npt.NDArray[np.int64], records: Records) -> dict[str, Any]:
    return {"covers": len(positions), "share": len(positions) / len(records) if len(records) else 0.0}


def _range(scores: npt.NDArray[np.float64]) -> list[float] | None:
    return [float(scores.min()), float(scores.max())] if len(scores) else None


def _frequent(counts: Counter[str], most: int, longest: int) -> list[list[Any]]:
    """The most frequent values with their counts, equal ones by code point."""
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [[shortened(value, longest), count] for value, count in frequent]


def _without(positions: npt.NDArray[np.int64], records: Records) -> Sequence[str]:
    """A few of the records that are not covered."""
    missing = np.ones(len(records), dtype=bool)
    missing[positions] = False
    some: list[str] = records.docnos[np.flatnonzero(missing)[:MORE]].tolist()
    return some
