"""Binding: from what people have (dicts, frames, arrays) to operands, or to an error that names what is wrong."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError, ProgramError
from pyterrier_alg.algebra.expressions import check_name
from pyterrier_alg.algebra.kinds import Binding, Kind, Space, Type
from pyterrier_alg.algebra.operators import RESERVED
from pyterrier_alg.collection.columns import bind_column, is_date, iso_day
from pyterrier_alg.collection.lexical import as_retriever
from pyterrier_alg.collection.operands import (
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    Positions,
    RelationOperand,
    RetrieverOperand,
    Scores,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.collection.per_query import Bound, PerQuery
from pyterrier_alg.collection.records import Records, frozen, is_text
from pyterrier_alg.collection.rows import as_rows, as_vector, in_space
from pyterrier_alg.collection.specs import Column, Mask, Matrix, QueryVectors, Relation, Retriever, Run, Vector
from pyterrier_alg.relation import ScoredRelation

#: The reserved name that people bind themselves: the day that ages are counted to.
NOW = "now"

_WAYS = "numbers, texts, dicts docno to score, sets of docnos, frames, or Matrix, Vector, Column, … say what it is"


class UnknownNameError(BindingError, KeyError):
    """A name that the collection does not have."""


def unknown_name(name: object, names: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not bound, with those that are close to it."""
    close = difflib.get_close_matches(str(name), list(names), n=3)
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
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
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


def frame_columns(frame: pd.DataFrame, wanted: Sequence[str], operand: str) -> list[list[Any]]:
    """The values of these columns of a frame.

    Raises:
        BindingError: `bad_operand`, naming the missing ones.
    """
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        have = ", ".join(map(str, frame.columns)) or "none"
        raise BindingError("bad_operand", f"{operand} has no column {', '.join(missing)}; its columns are {have}")
    return [frame[column].tolist() for column in wanted]


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


def bind_matrix(name: str, spec: Matrix, records: Records) -> MatrixOperand:
    """A matrix, its rows in position order."""
    _check_space(name, spec.space)
    _check_encoder(name, spec)
    rows, docnos = spec.rows, spec.docnos
    if isinstance(rows, pd.DataFrame):
        docnos, rows = frame_columns(rows, ("docno", "doc_vec"), name)
    elif isinstance(rows, Mapping):
        docnos, rows = list(rows), list(rows.values())
    positions = records.order if docnos is None else records.positions(docnos, name)
    names = records.docnos[positions].tolist()
    checked = as_rows(rows, spec.space, names, name)
    stored, kept = in_space(
        checked, spec.space, names, name, normalise=spec.normalise, drop_zero_rows=spec.drop_zero_rows
    )
    positions = positions[kept]
    order = np.argsort(positions)
    return MatrixOperand(frozen(positions[order]), frozen(stored[order]), spec.space, spec.encoder)


def _check_space(name: str, space: object) -> None:
    if not isinstance(space, Space):
        raise BindingError("bad_operand", f"the space of {name} is a {type(space).__name__}, not a Space")


def _check_encoder(name: str, spec: Matrix) -> None:
    if spec.encoder is None:
        return
    stated, identity = spec.space.query_encoder, getattr(spec.encoder, "identity", None)
    if not isinstance(identity, str) or not callable(getattr(spec.encoder, "encode", None)):
        message = f"the encoder of {name} is a {type(spec.encoder).__name__} without identity and encode(text)"
        raise BindingError("bad_operand", message)
    if stated and stated != identity:
        message = f"the space of {name} names the query encoder {stated!r}, the encoder given is {identity!r}"
        raise BindingError("encoder", message, "vectors of two encoders never meet: give the encoder of the space")


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


def _bind_vector(name: str, spec: Vector, records: Records) -> VectorOperand:
    _check_space(name, spec.space)
    return VectorOperand(as_vector(spec.values, spec.space, name), spec.space)


def _bind_query_vectors(name: str, spec: QueryVectors, records: Records) -> PerQuery:
    _check_space(name, spec.space)
    if isinstance(spec.vectors, pd.DataFrame):
        qids, vectors = frame_columns(spec.vectors, ("qid", "query_vec"), name)
    elif isinstance(spec.vectors, Mapping):
        qids, vectors = list(spec.vectors), list(spec.vectors.values())
    else:
        message = f"the vectors of {name} are a {type(spec.vectors).__name__}"
        raise BindingError("bad_operand", message, "a frame [qid, query_vec] or a dict qid to vector")
    groups = grouped(qids, vectors, name)
    twice = [qid for qid, found in groups.items() if len(found) > 1]
    if twice:
        raise BindingError("duplicate_qid", f"{name} has more than one vector for qid {twice[0]!r}")
    by_qid = {
        qid: VectorOperand(as_vector(found[0], spec.space, f"{name} (qid {qid})"), spec.space)
        for qid, found in groups.items()
    }
    return PerQuery(by_qid, Binding(Type(Kind.VECTOR, spec.space)))


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
    (Vector, _bind_vector),
    (Relation, _bind_relation),
    (Mask, _bind_mask),
    (Column, _bind_plain_column),
    (Run, _bind_run),
    (QueryVectors, _bind_query_vectors),
    (Retriever, _bind_retriever),
    ((bool, np.bool_, Real), _bind_number),
    (str, _bind_text),
    (pd.DataFrame, _bind_frame),
    (pd.Series, lambda name, value, records: bind_column(name, value, records)),
    (ScoredRelation, lambda name, value, records: _bind_relation(name, Relation(value), records)),
    (Mapping, _bind_mapping),
    (AbstractSet, lambda name, value, records: mask_of(value, records, name)),
)
