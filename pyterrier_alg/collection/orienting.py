"""Orientation: what a program may name in a collection, as facts for programs and a table for people."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.kinds import Kind, Space
from pyterrier_alg.collection.examples import example_programs, examples_of, query_programs
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
from pyterrier_alg.collection.parts import space_to_dict
from pyterrier_alg.collection.per_query import Bound, PerQuery
from pyterrier_alg.collection.records import Records
from pyterrier_alg.collection.rows import lengths
from pyterrier_alg.collection.showing import as_html, as_text

#: How many operands of one kind, values of a column and spaces the first answer lists.
FEW = 8

#: How many values, and records without one, the details of one operand list.
MORE = 20

#: How many characters of a value, a text or a recorded query are shown.
LONGEST = 60

_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, repr=False)
class Orientation:
    """What is bound, or one operand in detail: a table when printed, JSON-ready values from `to_dict`.

    Attributes:
        facts: the JSON-ready values.
    """

    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; their layout is stable."""
        return copy.deepcopy(dict(self.facts))

    def __repr__(self) -> str:
        """A table as wide as the terminal at most."""
        return as_text(self.facts)

    def _repr_html_(self) -> str:
        return as_html(self.facts)


def orient(name: str, records: Records, operands: Mapping[str, Bound], query_space: Space | None) -> Orientation:
    """A short answer about all operands.

    Args:
        name: of the collection.
        records: its records.
        operands: what is bound.
        query_space: the space of topics' vectors, where it was stated.

    Returns:
        Keys `collection`, `records`, `spaces`, `operands` (few of each kind), `counts` (of each kind, all of them),
        `examples` (programs that run without a query) and `query_examples` (that run over topics).
    """
    by_kind: dict[str, list[str]] = {}
    for operand_name, operand in operands.items():
        by_kind.setdefault(operand.binding.type.kind.value, []).append(operand_name)
    kinds = [kind.value for kind in _ORDER if kind.value in by_kind]
    listed = [operand_name for kind in kinds for operand_name in by_kind[kind][:FEW]]
    spaces = {space: None for o in operands.values() if (space := o.binding.type.space) is not None}
    if query_space is not None:
        spaces[query_space] = None
    return Orientation(
        {
            "collection": name,
            "records": len(records),
            "spaces": [space_to_dict(space) for space in list(spaces)[:FEW]],
            "query_space": query_space.name if query_space else None,
            "operands": [{"name": n, **_facts(operands[n], records)} for n in listed],
            "counts": {kind: len(by_kind[kind]) for kind in kinds},
            "examples": example_programs(operands, records),
            "query_examples": query_programs(operands),
        }
    )


def orient_operand(name: str, records: Records, operands: Mapping[str, Bound]) -> Orientation:
    """One operand in detail.

    Returns:
        The operand's facts, with its space, quantiles of scores or row lengths, the most frequent values, and a few of
        the records that it does not cover.
    """
    operand = operands[name]
    space = operand.binding.type.space
    facts = {"name": name, **_facts(operand, records), **_details(operand, records)}
    facts["space"] = space_to_dict(space) if space else None
    facts["examples"] = examples_of(name, operands, records)
    return Orientation({"operand": facts, "records": len(records)})


#: The order in which kinds are listed: what can be searched, then what narrows and weighs it.
_ORDER = (
    Kind.MATRIX,
    Kind.RETRIEVER,
    Kind.VECTOR,
    Kind.RELATION,
    Kind.MASK,
    Kind.TEXT_COLUMN,
    Kind.DATE_COLUMN,
    Kind.NUMBER,
    Kind.TEXT,
)


def _facts(operand: Bound, records: Records) -> dict[str, Any]:
    kind = operand.binding.type
    facts: dict[str, Any] = {"kind": kind.kind.value, "space": kind.space.name if kind.space else None}
    if isinstance(operand, PerQuery):
        return {**facts, "queries": len(operand.by_qid)}
    return {**facts, **_own_facts(operand, records)}


def _own_facts(operand: Operand, records: Records) -> dict[str, Any]:
    match operand:
        case NumberOperand(value=number):
            return {"value": number}
        case TextOperand(value=text):
            return {"value": _shortened(text)}
        case VectorOperand(values=values):
            return {"length": float(lengths(values[np.newaxis])[0])}
        case MatrixOperand(positions=positions, encoder=encoder):
            return {**_coverage(positions, records), "query_encoder": encoder.identity if encoder else None}
        case RelationOperand(positions=positions, scores=scores):
            return {**_coverage(positions, records), "range": _range(scores)}
        case MaskOperand(positions=positions):
            return _coverage(positions, records)
        case ColumnOperand(positions=positions, values=values):
            counts = Counter(values.tolist())
            facts = {**_coverage(positions, records), "distinct": len(counts), "values": _frequent(counts, FEW)}
            if operand.kind is Kind.DATE_COLUMN:
                facts["range"] = [min(counts), max(counts)] if counts else None
            return facts
        case RetrieverOperand(retriever=retriever):
            facts = {"identity": retriever.identity, "default_depth": retriever.default_depth}
            if isinstance(retriever, RecordedRetriever):
                facts["recorded_queries"] = len(retriever.results)
            return facts


def _details(operand: Bound, records: Records) -> dict[str, Any]:
    match operand:
        case MatrixOperand(positions=positions, rows=rows):
            return {"row_lengths": _quantiles(lengths(rows)), "without": _without(positions, records)}
        case RelationOperand(positions=positions, scores=scores):
            return {"scores": _quantiles(scores), "without": _without(positions, records)}
        case ColumnOperand(positions=positions, values=values):
            return {"values": _frequent(Counter(values.tolist()), MORE), "without": _without(positions, records)}
        case MaskOperand(positions=positions):
            return {"some": records.docnos[positions[:MORE]].tolist()}
        case RetrieverOperand(retriever=RecordedRetriever() as recorded):
            some = [_shortened(query) for query in list(recorded.results)[:FEW]]
            return {"some_queries": some, "recorded_depth": recorded.depth}
        case PerQuery():
            return {"some_qids": list(operand.by_qid)[:MORE]}
    return {}


def _coverage(positions: npt.NDArray[np.int64], records: Records) -> dict[str, Any]:
    return {"covers": len(positions), "share": len(positions) / len(records) if len(records) else 0.0}


def _range(scores: npt.NDArray[np.float64]) -> list[float] | None:
    return [float(scores.min()), float(scores.max())] if len(scores) else None


def _quantiles(values: npt.NDArray[np.float64]) -> dict[str, float] | None:
    if not len(values):
        return None
    # Values that occur: between two of them, huge ones would overflow.
    found = np.quantile(values, _QUANTILES, method="inverted_cdf").tolist()
    return {f"{share:g}": value for share, value in zip(_QUANTILES, found, strict=True)}


def _frequent(counts: Counter[str], most: int) -> list[list[Any]]:
    """The most frequent values with their counts, equal ones by code point."""
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [[_shortened(value), count] for value, count in frequent]


def _shortened(text: str) -> str:
    """A text as lists show it: they stay short even where values are whole documents."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _without(positions: npt.NDArray[np.int64], records: Records) -> Sequence[str]:
    """A few of the records that are not covered."""
    missing = np.ones(len(records), dtype=bool)
    missing[positions] = False
    some: list[str] = records.docnos[np.flatnonzero(missing)[:MORE]].tolist()
    return some
