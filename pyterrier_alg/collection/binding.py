"""Binding: from what people have (dicts, frames, arrays) to operands, or to an error that names what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import BindingError, ProgramError
from pyterrier_alg.algebra.expressions import check_name
from pyterrier_alg.algebra.kinds import Binding, Kind, Type
from pyterrier_alg.algebra.operators import RESERVED
from pyterrier_alg.collection.columns import bind_column, is_date, is_number, iso_day
from pyterrier_alg.collection.frames import frame_columns, grouped
from pyterrier_alg.collection.lexical import as_retriever
from pyterrier_alg.collection.operands import (
    MaskOperand,
    NumberOperand,
    Positions,
    RelationOperand,
    RetrieverOperand,
    Scores,
    TextOperand,
)
from pyterrier_alg.collection.per_query import Bound, PerQuery
from pyterrier_alg.collection.records import Records, frozen, is_text
from pyterrier_alg.collection.specs import Column, Mask, Matrix, QueryVectors, Relation, Retriever, Run, Vector
from pyterrier_alg.collection.vectors import bind_matrix, bind_query_vectors, bind_vector
from pyterrier_alg.relation import ScoredRelation

#: The reserved name that people bind themselves: the day that ages are counted to.
NOW = "now"

_WAYS = "numbers, texts, dicts docno to score, sets of docnos, frames, or Matrix, Vector, Column, … say what it is"


class UnknownNameError(BindingError, KeyError):
    """A name that the collection does not have."""


def unknown_name(name: object, names: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not bound, with those that are close to it."""
    close = suggest(str(name), names)
    hint = f"did you mean {', '.join(close)}?" if close else "orient() lists what is bound"
    return UnknownNameError("unknown_name", f"unknown operand {name!r}", hint)


def check_operand_name(name: object) -> None:
    """Refuse a name that no operand may have.

    Raises:
        BindingError: `bad_name`, `reserved_name`.
    """
    if not is_text(name):
        raise BindingError("bad_name", f"{name!r} cannot be an operand's name: a name is a string")
    try:
        check_name(str(name))
    except ProgramError as error:
        raise BindingError("bad_name", error.message) from None
    if name in RESERVED and name != NOW:
        raise BindingError("reserved_name", f"{name!r} is reserved", f"reserved names: {', '.join(sorted(RESERVED))}")


def bind_value(name: str, value: Any, records: Records) -> Bound:
    """The operand that a value makes.

    Args:
        name: what it is bound to; messages call it so.
        value: a specification (`Matrix`, `Vector`, …), or plain data whose kind shows.
        records: the collection's.

    Raises:
        BindingError: whatever is wrong with it; the code says what.
    """
    if name == NOW:
        return _now(value)
    for sort, binder in _BINDERS:
        if isinstance(value, sort):
            return binder(name, value, records)
    retriever = as_retriever(value)
    if retriever is not None:
        return RetrieverOperand(retriever)
    if isinstance(value, np.ndarray):
        message = f"{name} is an array of shape {value.shape}, which does not say its space or whose values it holds"
        raise BindingError("bad_operand", message, "Matrix(rows, space=…), Vector(values, space=…) or a dict by docno")
    raise BindingError("bad_operand", f"{name} is a {type(value).__name__}, which is no operand", _WAYS)


def scores_of(pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]], records: Records, operand: str) -> RelationOperand:
    """A relation from docnos with numbers.

    Raises:
        BindingError: `bad_operand`, `non_finite`, and what `Records.positions` raises.
    """
    items = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
    positions = records.positions([docno for docno, _ in items], operand)
    values = [finite_number(value, f"the score of {docno!r} in {operand}") for docno, value in items]
    return ordered(positions, np.array(values, dtype=np.float64))


def ordered(positions: Positions, scores: Scores) -> RelationOperand:
    """A relation whose positions ascend."""
    order = np.argsort(positions)
    return RelationOperand(frozen(positions[order]), frozen(scores[order]))


def mask_of(docnos: Iterable[Any], records: Records, operand: str) -> MaskOperand:
    """A mask from docnos."""
    return MaskOperand(frozen(np.sort(records.positions(docnos, operand))))


def finite_number(value: Any, what: str) -> float:
    """A value as a finite float64, 0 for -0.

    Raises:
        BindingError: `bad_operand` for what is no number, booleans included; `non_finite`.
    """
    if isinstance(value, bool | np.bool_) or not is_number(value):
        kind = "missing" if value is None or value is pd.NA else f"a {type(value).__name__}, not a number"
        hint = "Column(…) leaves records without a value out" if kind == "missing" else ""
        raise BindingError("bad_operand", f"{what} is {kind}", hint)
    try:
        number = float(value) + 0.0
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        hint = "Column(…) leaves records without a value out" if math.isnan(number) else ""
        raise BindingError("non_finite", f"{what} is {number}", hint)
    return number


def _bind_relation(name: str, spec: Relation, records: Records) -> Bound:
    scores = spec.scores
    if isinstance(scores, pd.DataFrame):
        if "qid" in scores.columns:
            return _bind_run(name, Run(scores), records)
        return scores_of(zip(*frame_columns(scores, ("docno", "score"), name), strict=True), records, name)
    if isinstance(scores, pd.Series):
        return scores_of(zip(scores.index.tolist(), scores.tolist(), strict=True), records, name)
    if isinstance(scores, Mapping | ScoredRelation):
        return scores_of(scores if isinstance(scores, Mapping) else list(scores), records, name)
    message = f"the scores of {name} are a {type(scores).__name__}"
    raise BindingError("bad_operand", message, "a dict docno to score, a frame [docno, score], or a series by docno")


def _bind_mask(name: str, spec: Mask, records: Records) -> Bound:
    if not isinstance(spec.docnos, pd.DataFrame):
        if not isinstance(spec.docnos, Iterable):
            raise BindingError("bad_operand", f"the docnos of {name} are a {type(spec.docnos).__name__}")
        if isinstance(spec.docnos, Mapping):
            return bind_column(name, spec.docnos, records, expected=Kind.MASK)
        return mask_of(spec.docnos, records, name)
    if "qid" not in spec.docnos.columns:
        return mask_of(frame_columns(spec.docnos, ("docno",), name)[0], records, name)
    qids, docnos = frame_columns(spec.docnos, ("qid", "docno"), name)
    groups = grouped(qids, docnos, name)
    masks = {qid: mask_of(found, records, f"{name} (qid {qid})") for qid, found in groups.items()}
    return PerQuery(masks, Binding(Type(Kind.MASK)), mask_of((), records, name))


def _bind_run(name: str, spec: Run, records: Records) -> PerQuery:
    if not isinstance(spec.frame, pd.DataFrame):
        raise BindingError("bad_operand", f"the run {name} is a {type(spec.frame).__name__}, not a frame")
    qids, docnos, scores = frame_columns(spec.frame, ("qid", "docno", "score"), name)
    groups = grouped(qids, list(zip(docnos, scores, strict=True)), name)
    relations = {qid: scores_of(pairs, records, f"{name} (qid {qid})") for qid, pairs in groups.items()}
    return PerQuery(relations, Binding(Type(Kind.RELATION)), scores_of({}, records, name))


def _bind_plain_column(name: str, spec: Column, records: Records) -> Bound:
    return bind_column(name, spec.values, records, dates=spec.dates)


def _bind_retriever(name: str, spec: Retriever, records: Records) -> RetrieverOperand:
    retriever = as_retriever(spec.source, spec.default_depth, spec.identity)
    if retriever is None:
        message = f"{name} is a {type(spec.source).__name__}, which cannot search"
        raise BindingError("bad_operand", message, "a PyTerrier retriever, or an object with search(text, depth)")
    return RetrieverOperand(retriever)


def _bind_number(name: str, value: Any, records: Records) -> NumberOperand:
    return NumberOperand(finite_number(value, name))


def _bind_text(name: str, value: str, records: Records) -> TextOperand:
    if not is_text(value):
        raise BindingError("bad_operand", f"{name} is no valid text: half of a surrogate pair is no character")
    return TextOperand(str(value))


def _bind_mapping(name: str, value: Mapping[Any, Any], records: Records) -> Bound:
    # A column where the values say so; everything else is meant as scores, where a missing value is an error.
    said = [found for found in value.values() if isinstance(found, str | bool | np.bool_) or is_date(found)]
    return bind_column(name, value, records) if said else scores_of(value, records, name)


def _bind_frame(name: str, value: pd.DataFrame, records: Records) -> Bound:
    return _bind_relation(name, Relation(value), records)


def _now(value: Any) -> TextOperand:
    day = iso_day(value, "now") if is_date(value) else value
    if not isinstance(day, str):
        raise BindingError("bad_operand", "now is a day", 'bind it as "2026-12-01"; it is never the clock')
    return TextOperand(iso_day(day, "now", text=True))


_Binder: TypeAlias = Callable[[str, Any, Records], Bound]

#: What a value is, in the order in which it is asked.
_BINDERS: tuple[tuple[type | tuple[type, ...], _Binder], ...] = (
    (Matrix, bind_matrix),
    (Vector, bind_vector),
    (Relation, _bind_relation),
    (Mask, _bind_mask),
    (Column, _bind_plain_column),
    (Run, _bind_run),
    (QueryVectors, bind_query_vectors),
    (Retriever, _bind_retriever),
    ((bool, np.bool_, Real), _bind_number),
    (str, _bind_text),
    (pd.DataFrame, _bind_frame),
    (pd.Series, lambda name, value, records: bind_column(name, value, records)),
    (ScoredRelation, lambda name, value, records: _bind_relation(name, Relation(value), records)),
    (Mapping, _bind_mapping),
    (AbstractSet, lambda name, value, records: mask_of(value, records, name)),
)
