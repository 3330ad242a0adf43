"""Operands taken apart into what files hold, texts and arrays, and put together again; digests are made of the same."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.kinds import Binding, Distance, Kind, Space, Type
from pyterrier_alg.collection.files import CHECKED, stored
from pyterrier_alg.collection.lexical import CountsRetriever, PyTerrierRetriever, RecordedRetriever, token_of
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    Encoder,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    Operand,
    RelationOperand,
    RetrieverOperand,
    Retrieving,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.collection.per_query import Bound, PerQuery
from pyterrier_alg.collection.records import frozen, is_text, texts
from pyterrier_alg.collection.saved_encoders import encoder_from_dict, encoder_to_dict
from pyterrier_alg.collection.scalars import HALF
from pyterrier_alg.collection.signed_hash import tokens

#: What arrays hold.
_TYPES = {
    **dict.fromkeys(("positions", "offsets", "terms", "counts"), np.int64),
    "scores": np.float64,
    **dict.fromkeys(("rows", "values"), np.float32),
}

#: The sort of a retriever that no file can hold.
LIVE = "live"


@dataclass(frozen=True)
class Parts:
    """An operand as data.

    Attributes:
        header: what JSON holds, with the sort of the operand.
        arrays: by name: float16 or float32 rows, float32, float64 or int64.
        texts: by name: lists of strings.
    """

    header: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def digest(self) -> bytes:
        """Of all content, the same on every machine."""
        encoder = self.header.get("encoder")
        # Of an encoder the identity counts, whatever else a file holds of it.
        digest = sha256(canonical({**self.header, "encoder": encoder["identity"]} if encoder else self.header))
        for name, array in self.arrays.items():
            digest.update(canonical([name, *array.shape]))
            digest.update(stored(array).reshape(-1).data)
        for name, values in self.texts.items():
            digest.update(canonical([name, *values]))
        return digest.digest()


def canonical(value: Any) -> bytes:
    """JSON bytes that are the same for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def take_apart(operand: Bound) -> Parts:
    """An operand as data."""
    match operand:
        case NumberOperand(value=number):
            return Parts({"sort": "number", "value": number})
        case TextOperand(value=text):
            return Parts({"sort": "text", "value": text})
        case VectorOperand(values=values, space=space):
            return Parts({"sort": "vector", "space": space_to_dict(space)}, {"values": values})
        case MatrixOperand(positions=positions, rows=rows, space=space, encoder=encoder):
            header = {"sort": "matrix", "space": space_to_dict(space), "encoder": encoder_to_dict(encoder)}
            return Parts(header, {"positions": positions, "rows": rows})
        case RelationOperand(positions=positions, scores=scores):
            return Parts({"sort": "relation"}, {"positions": positions, "scores": scores})
        case MaskOperand(positions=positions):
            return Parts({"sort": "mask"}, {"positions": positions})
        case ColumnOperand(positions=positions, values=values, kind=kind):
            header = {"sort": "column", "kind": kind.value}
            return Parts(header, {"positions": positions}, {"values": values.tolist()})
        case RetrieverOperand(retriever=RecordedRetriever() as recorded):
            return _recorded_parts(recorded)
        case RetrieverOperand(retriever=CountsRetriever() as counted) if counted.tokenise is tokens:
            return _counts_parts(counted)
        case RetrieverOperand(retriever=retriever):
            return _live_parts(retriever)
        case PerQuery():
            return _per_query_parts(operand)


def put_together(parts: Parts, docnos: npt.NDArray[np.object_], encoders: Mapping[str, Encoder]) -> Bound:
    """An operand from its data.

    Args:
        parts: as `take_apart` gave them.
        docnos: of the collection, in code-point order.
        encoders: by identity, for matrices whose encoder is not stored.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: where the data are no operand of such a collection.
    """
    halves = parts.header["sort"] == "matrix" and parts.header["space"]["scalar"] == HALF
    for name, array in parts.arrays.items():
        fits = array.dtype == _TYPES[name] or (array.dtype == np.float16 and name == "rows" and halves)
        # What is too large to be read at every opening was finite when it was written.
        if not fits or (array.dtype.kind == "f" and array.nbytes <= CHECKED and not np.isfinite(array).all()):
            raise ValueError(f"{name} of type {array.dtype}, or not finite")
    for values in parts.texts.values():
        # Half of a surrogate pair has no UTF-8; joined by a line, two of them make no character either.
        "\n".join(values).encode("utf-8")
    operand = _SORTS[parts.header["sort"]](parts, encoders)
    for member in operand.by_qid.values() if isinstance(operand, PerQuery) else (operand,):
        _refuse_misfits(member, len(docnos))
    return operand


def _refuse_misfits(operand: Operand, records: int) -> None:
    """Refuse what no binding makes: engines rely on positions that ascend, and on as many values as there are."""
    match operand:
        case VectorOperand(values=values, space=space):
            fits = values.shape == (space.dimensions,)
        case MatrixOperand(positions=positions, rows=rows, space=space):
            fits = rows.shape == (len(positions), space.dimensions)
        case RelationOperand(positions=positions, scores=values) | ColumnOperand(positions=positions, values=values):
            fits = values.shape == positions.shape
        case _:
            fits = True
    if not fits:
        raise ValueError("values of another shape than the operand's")
    if isinstance(operand, MatrixOperand | RelationOperand | MaskOperand | ColumnOperand):
        positions = operand.positions
        ascend = positions.ndim == 1 and bool((np.diff(positions) > 0).all())
        if not ascend or (len(positions) and not 0 <= positions[0] <= positions[-1] < records):
            raise ValueError("positions that do not ascend, or lie outside the collection")


def space_to_dict(space: Space) -> dict[str, Any]:
    """As JSON-ready values."""
    return {
        "name": space.name,
        "dimensions": space.dimensions,
        "distance": space.distance.value,
        "scalar": space.scalar,
        "document_encoder": space.document_encoder,
        "query_encoder": space.query_encoder,
    }


def space_from_dict(values: Mapping[str, Any]) -> Space:
    """The space that `space_to_dict` was given."""
    return Space(**{**values, "distance": Distance(values["distance"])})


def _live_parts(retriever: Retrieving) -> Parts:
    """Of a retriever that no file can hold: what tells it from others."""
    header = {"sort": LIVE, "identity": retriever.identity, "default_depth": int(retriever.default_depth)}
    match retriever:
        case PyTerrierRetriever(token=token):
            return Parts({**header, "token": token})
        case CountsRetriever() as counted:
            # Counted by a tokeniser that has no name.
            parts = _counts_parts(counted)
            return Parts({**parts.header, **header, "token": token_of(counted.tokenise)}, parts.arrays, parts.texts)
    return Parts(header)


def _counts_parts(counted: CountsRetriever) -> Parts:
    header = {
        "sort": "counts",
        "name": counted.name,
        "k1": float(counted.k1),
        "b": float(counted.b),
        "default_depth": counted.default_depth,
    }
    arrays = {name: np.asarray(getattr(counted, name), dtype=np.int64) for name in ("offsets", "terms", "counts")}
    return Parts(header, arrays, {"docnos": list(counted.docnos), "vocabulary": list(counted.vocabulary)})


def _counts(parts: Parts, encoders: Mapping[str, Encoder]) -> RetrieverOperand:
    header = {name: value for name, value in parts.header.items() if name != "sort"}
    try:
        given: dict[str, Any] = {**header, **parts.texts, **parts.arrays}
        return RetrieverOperand(CountsRetriever(**given))
    except AlgebraError as error:
        raise ValueError(error.message) from error


def _recorded_parts(recorded: RecordedRetriever) -> Parts:
    pairs = [pair for found in recorded.results.values() for pair in found]
    header = {
        "sort": "recorded",
        "identity": recorded.identity,
        "depth": recorded.depth,
        "default_depth": recorded.default_depth,
        "hint": recorded.hint,
    }
    arrays = {
        "offsets": _offsets([len(found) for found in recorded.results.values()]),
        "scores": np.array([score for _, score in pairs], dtype=np.float64),
    }
    return Parts(header, arrays, {"queries": list(recorded.results), "docnos": [docno for docno, _ in pairs]})


def _recorded(parts: Parts, encoders: Mapping[str, Encoder]) -> RetrieverOperand:
    pairs = list(zip(parts.texts["docnos"], parts.arrays["scores"].tolist(), strict=True))
    results = {query: tuple(pairs[part]) for query, part in zip(parts.texts["queries"], _slices(parts), strict=True)}
    header = {name: value for name, value in parts.header.items() if name != "sort"}
    return RetrieverOperand(RecordedRetriever(results=results, **header))


def _per_query_parts(operand: PerQuery) -> Parts:
    kind, members = operand.binding.type, list(operand.by_qid.values())
    header: dict[str, Any] = {"sort": "per query", "kind": kind.kind.value, "space": None}
    qids = {"qids": list(operand.by_qid)}
    if kind.space is not None:
        header["space"] = space_to_dict(kind.space)
        vectors = [member.values for member in members if isinstance(member, VectorOperand)]
        rows = np.stack(vectors) if vectors else np.empty((0, kind.space.dimensions), np.float32)
        return Parts(header, {"rows": rows}, qids)
    sets = [member for member in members if not isinstance(member, VectorOperand)]
    arrays: dict[str, npt.NDArray[Any]] = {
        "offsets": _offsets([len(member.positions) for member in sets]),
        "positions": np.concatenate([np.empty(0, np.int64), *(member.positions for member in sets)]),
    }
    if kind.kind is Kind.RELATION:
        scores = [member.scores for member in members if isinstance(member, RelationOperand)]
        arrays["scores"] = np.concatenate([np.empty(0), *scores])
    return Parts(header, arrays, qids)


def _per_query(parts: Parts, encoders: Mapping[str, Encoder]) -> PerQuery:
    kind, qids, arrays = Kind(parts.header["kind"]), parts.texts["qids"], parts.arrays
    if kind is Kind.VECTOR:
        space = space_from_dict(parts.header["space"])
        vectors = {qid: VectorOperand(row, space) for qid, row in zip(qids, arrays["rows"], strict=True)}
        return PerQuery(vectors, Binding(Type(kind, space)))
    slices = dict(zip(qids, _slices(parts), strict=True))
    none = frozen(np.empty(0, np.int64))
    if kind is Kind.MASK:
        masks = {qid: MaskOperand(arrays["positions"][part]) for qid, part in slices.items()}
        return PerQuery(masks, Binding(Type(kind)), MaskOperand(none))
    relations = {
        qid: RelationOperand(arrays["positions"][part], arrays["scores"][part]) for qid, part in slices.items()
    }
    return PerQuery(relations, Binding(Type(kind)), RelationOperand(none, frozen(np.empty(0))))


def _offsets(sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _slices(parts: Parts) -> list[slice]:
    bounds = parts.arrays["offsets"].tolist()
    return [slice(start, stop) for start, stop in zip(bounds[:-1], bounds[1:], strict=True)]


def _number(parts: Parts, encoders: Mapping[str, Encoder]) -> NumberOperand:
    number = float(parts.header["value"])
    if not math.isfinite(number):
        raise ValueError(f"the number {number}")
    return NumberOperand(number)


def _text(parts: Parts, encoders: Mapping[str, Encoder]) -> TextOperand:
    text = parts.header["value"]
    if not is_text(text):
        raise ValueError(f"{text!r} for a text")
    return TextOperand(text)


def _matrix(parts: Parts, encoders: Mapping[str, Encoder]) -> MatrixOperand:
    space, encoder = space_from_dict(parts.header["space"]), encoder_from_dict(parts.header["encoder"], encoders)
    return MatrixOperand(parts.arrays["positions"], parts.arrays["rows"], space, encoder)


def _vector(parts: Parts, encoders: Mapping[str, Encoder]) -> VectorOperand:
    return VectorOperand(parts.arrays["values"], space_from_dict(parts.header["space"]))


def _column(parts: Parts, encoders: Mapping[str, Encoder]) -> ColumnOperand:
    return ColumnOperand(parts.arrays["positions"], texts(parts.texts["values"]), Kind(parts.header["kind"]))


_SORTS: dict[str, Callable[[Parts, Mapping[str, Encoder]], Bound]] = {
    "number": _number,
    "text": _text,
    "vector": _vector,
    "matrix": _matrix,
    "relation": lambda parts, encoders: RelationOperand(parts.arrays["positions"], parts.arrays["scores"]),
    "mask": lambda parts, encoders: MaskOperand(parts.arrays["positions"]),
    "column": _column,
    "recorded": _recorded,
    "counts": _counts,
    "per query": _per_query,
}
