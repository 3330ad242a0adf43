"""Example programs over the operands that a collection really has; those without a query run as they stand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.lexical import RecordedRetriever
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    RelationOperand,
    RetrieverOperand,
    Scores,
    VectorOperand,
)
from pyterrier_alg.collection.per_query import Bound, PerQuery
from pyterrier_alg.collection.records import Records

#: The longest value or recorded query that an example shows.
_LONGEST = 80


def example_programs(operands: Mapping[str, Bound], records: Records, most: int = 6) -> list[str]:
    """Programs that run on this collection without a query.

    Args:
        operands: what is bound.
        records: its records.
        most: how many programs at most.

    Returns:
        Their canonical ASCII.
    """
    found = dict.fromkeys(repr(_top(e)) for e in _shared_expressions(operands, records))
    return list(found)[:most]


def query_programs(operands: Mapping[str, Bound]) -> list[str]:
    """Programs that run over topics: at most one a sort of operand."""
    found: dict[str, str] = {}
    for name, operand in operands.items():
        match operand:
            case MatrixOperand(encoder=encoder) if encoder is not None:
                found.setdefault("text", repr(_top(_scan(name, operand, Name("query")))))
            case RetrieverOperand():
                found.setdefault("retriever", repr(_top(Retrieve(name, (Name("query"),)))))
            case PerQuery() if operand.binding.type.kind is Kind.RELATION:
                found.setdefault("run", repr(_top(Name(name))))
    return list(found.values())


def rerank_programs(operands: Mapping[str, Bound]) -> list[str]:
    """Programs that run over results, whose scores are `input`: one, with something of the collection if it has any."""
    came = Name("input")
    for name, operand in operands.items():
        if isinstance(operand, MatrixOperand) and operand.encoder is not None:
            likeness = _scan(name, operand, Name("query"))
            return [repr(_top(Apply("minmax", (came,)) + Number(0.5) * Apply("minmax", (likeness,))))]
    for name, operand in operands.items():
        if isinstance(operand, RelationOperand):
            return [repr(_top(Apply("fill", (Number(0), Name(name))) + Apply("minmax", (came,))))]
    for name, operand in operands.items():
        if isinstance(operand, MaskOperand):
            return [repr(_top(Name(name) >> came))]
    return [repr(_top(Apply("minmax", (came,))))]


def examples_of(name: str, operands: Mapping[str, Bound], records: Records) -> list[str]:
    """Programs that name one operand, without a query or with one."""
    alone = {name: operands[name]}
    scoring = [n for n, operand in operands.items() if isinstance(operand, RelationOperand | MatrixOperand)]
    partners = {n: operands[n] for n in scoring[:1]}
    programs = example_programs(alone, records) + query_programs(alone)
    return programs or [p for p in example_programs({**alone, **partners}, records, 99) if repr(Name(name)) in p]


def _shared_expressions(operands: Mapping[str, Bound], records: Records) -> Iterator[Expression]:
    """Scans first, then what narrows, groups and weighs the first scoring."""
    scorings: list[Expression] = []
    for name, operand in operands.items():
        if isinstance(operand, MatrixOperand) and len(operand.positions):
            vectors = [n for n, o in operands.items() if isinstance(o, VectorOperand) and o.space == operand.space]
            docno = records.docnos[operand.positions[0]]
            likeness = _scan(name, operand, Name(vectors[0]) if vectors else _row(name, docno))
            scorings.append(likeness)
            yield likeness
            if len(vectors) > 1:
                yield likeness - Number(0.5) * _scan(name, operand, Name(vectors[1]))
    scorings += [Name(name) for name, operand in operands.items() if isinstance(operand, RelationOperand)]
    for name, operand in operands.items():
        if isinstance(operand, RetrieverOperand) and isinstance(operand.retriever, RecordedRetriever):
            short = [query for query in operand.retriever.results if len(query) <= _LONGEST]
            yield from (Retrieve(name, (Text(query),)) for query in short[:1])
    if not scorings:
        return
    first = scorings[0]
    for name, operand in operands.items():
        match operand:
            case MaskOperand():
                yield Name(name) >> first
            case ColumnOperand(values=values, kind=Kind.TEXT_COLUMN):
                short = [value for value in values if len(value) <= _LONGEST]
                yield from (Apply("isin", (Name(name), Text(value))) >> first for value in short[:1])
            case ColumnOperand(values=values) if len(values):
                yield (Name(name) >= Text(min(values))) >> first
            # A larger one could take the largest scores out of range.
            case NumberOperand(value=value) if abs(value) <= 1:
                yield Name(name) * first
            case RelationOperand(scores=scores) if first != Name(name) and len(scores):
                # Two digits: a bound that a person could have written.
                yield (Name(name) >= Number(_middle(scores))) >> first
    yield from (Name(n) for n, operand in operands.items() if isinstance(operand, RelationOperand))


def _scan(name: str, operand: MatrixOperand, target: Expression) -> Apply:
    return Apply("closeness", (Name(name), target)) if operand.is_l2 else Name(name) @ target


def _row(name: str, docno: str) -> Apply:
    return Apply("row", (Name(name), Text(docno)))


def _top(scoring: Expression) -> Apply:
    return Apply("top", (Count("10"), scoring))


def _middle(scores: Scores) -> float:
    """About the median, in few digits."""
    median = float(np.quantile(scores, 0.5, method="inverted_cdf"))
    short = float(f"{median:.2g}")
    return short if math.isfinite(short) else median
