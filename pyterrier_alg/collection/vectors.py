"""Binding of matrices and vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Binding, Kind, Space, Type
from pyterrier_alg.collection.frames import frame_columns, grouped
from pyterrier_alg.collection.operands import MatrixOperand, VectorOperand
from pyterrier_alg.collection.per_query import PerQuery
from pyterrier_alg.collection.records import Records, frozen
from pyterrier_alg.collection.rows import as_rows, as_vector, in_space
from pyterrier_alg.collection.scalars import as_scalar
from pyterrier_alg.collection.specs import Matrix, QueryVectors, Vector


def bind_matrix(name: str, spec: Matrix, records: Records) -> MatrixOperand:
    """A matrix, its rows in position order."""
    _check_space(name, spec.space)
    _check_encoder(name, spec)
    rows, docnos = spec.rows, spec.docnos
    if isinstance(rows, pd.DataFrame):
        docnos, rows = frame_columns(rows, ("docno", "doc_vec"), name)
    elif isinstance(rows, pd.Series):
        docnos, rows = rows.index.tolist(), rows.tolist()
    elif isinstance(rows, Mapping):
        docnos, rows = list(rows), list(rows.values())
    positions = records.order if docnos is None else records.positions(docnos, name)
    names = records.docnos[positions].tolist()
    checked = as_rows(rows, spec.space, names, name)
    stored, kept = in_space(
        checked, spec.space, names, name, normalise=spec.normalise, drop_zero_rows=spec.drop_zero_rows
    )
    stored = as_scalar(stored, spec.space, [n for n, k in zip(names, kept, strict=True) if k], name)
    positions = positions[kept]
    order = np.argsort(positions)
    return MatrixOperand(frozen(positions[order]), frozen(stored[order]), spec.space, spec.encoder)


def bind_vector(name: str, spec: Vector, records: Records) -> VectorOperand:
    """One vector of a space."""
    _check_space(name, spec.space)
    return VectorOperand(as_vector(spec.values, spec.space, name), spec.space)


def bind_query_vectors(name: str, spec: QueryVectors, records: Records) -> PerQuery:
    """One vector a query."""
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
