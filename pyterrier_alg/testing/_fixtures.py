"""From what a file of program tests binds to a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection import Collection, Column, Mask, Matrix, QueryVectors, Retriever, Run, Vector, vaswani
from pyterrier_alg.collection.encoders import SignedHashEncoder
from pyterrier_alg.collection.lexical import RecordedRetriever
from pyterrier_alg.collection.operands import Encoder, Rows
from pyterrier_alg.testing._shape import COLLECTION, MATRIX, QUERY_VECTORS, SPACE, VECTOR_OPERAND, bad, check_shape

_VASWANI = ("dimensions", "bm25", "q1", "q2")


@dataclass(frozen=True)
class TableEncoder:
    """Texts to vectors, as a file lists them.

    Attributes:
        identity: what the space calls its query encoder.
        texts: each text's vector.
    """

    identity: str
    texts: Mapping[str, tuple[float, ...]]

    def encode(self, text: str) -> Rows:
        """The listed vector.

        Raises:
            AlgebraError: `unlisted_text`.
        """
        if text not in self.texts:
            close = suggest(text, self.texts)
            hint = f"did you mean {close[0]!r}?" if close else "list it in the matrix's texts"
            raise AlgebraError("unlisted_text", f"the file lists no vector for the text {text!r}", hint)
        return np.array(self.texts[text], dtype=np.float32)


def collection_of(
    bound: Mapping[str, Any], path: Path, collections: Mapping[str, Collection | Callable[[], Collection]]
) -> Collection:
    """The collection that a file's programs run over.

    Args:
        bound: the file's tables, without its tests.
        path: the file.
        collections: what it may `use`.

    Raises:
        BindingError: as `Collection.bind`.
        DataError: `bad_program_tests`; as `Collection.load`.
    """
    settings = bound.get("collection", {})
    check_shape(settings, COLLECTION, f"{path}, collection")
    start = _started(settings, path, collections)
    spaces = {} if start is None else _spaces(start)
    for name, table in bound.get("spaces", {}).items():
        check_shape(table, SPACE, f"{path}, spaces.{name}")
        if "dimensions" not in table:
            raise bad(f"{path}, spaces.{name}", "a space has dimensions")
        spaces[name] = Space(name, **table)
    operands = _operands(bound, spaces, path)
    if start is None:
        docnos = settings.get("docnos") or list(dict.fromkeys(_docnos(bound)))
        start = Collection(docnos, name=settings.get("name", path.name.split(".")[0]))
    return start.bind(**operands)


def vaswani_topic(qid: str) -> str:
    """The text of a topic of Vaswani.

    Raises:
        AlgebraError: `unknown_topic`.
    """
    from pyterrier_alg.collection.vaswani_data import load_vaswani

    topics = load_vaswani().topics()
    texts = dict(zip(topics["qid"].tolist(), topics["query"].tolist(), strict=True))
    if qid not in texts:
        raise AlgebraError("unknown_topic", f"Vaswani has no topic {qid!r}", "its topics are '1' to '93'")
    return str(texts[qid])


def _started(
    settings: Mapping[str, Any], path: Path, collections: Mapping[str, Collection | Callable[[], Collection]]
) -> Collection | None:
    """The collection that the file adds to; None where it makes its own."""
    where = f"{path}, collection"
    named = [key for key in ("use", "path") if key in settings]
    if not named:
        wrong = [key for key in _VASWANI if key in settings]
        if wrong:
            raise bad(where, f"{wrong[0]} is a setting of Vaswani", 'use = "vaswani"')
        return None
    if len(named) > 1 or "docnos" in settings:
        raise bad(where, "it is made of docnos, or begins with one that is used or saved: only one of these")
    if "path" in settings:
        saved: Collection = Collection.load(path.parent / settings["path"])
        return saved
    name = settings["use"]
    if name in collections:
        known = collections[name]
        made = known if isinstance(known, Collection) else known()
        if not isinstance(made, Collection):
            raise bad(where, f"{name!r} is a {type(made).__name__}, not a collection")
        return made
    if name != "vaswani":
        known_names = ", ".join(sorted({"vaswani", *collections}))
        raise bad(where, f"there is no collection {name!r} to use", f"there are {known_names}")
    return vaswani(**{key: settings[key] for key in _VASWANI if key in settings})


def _spaces(collection: Collection) -> dict[str, Space]:
    spaces = [operand.binding.type.space for operand in collection.operands.values()]
    return {space.name: space for space in spaces if space is not None}


def _operands(bound: Mapping[str, Any], spaces: Mapping[str, Space], path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    sections: Mapping[str, Callable[[str, Any], Any]] = {
        "numbers": lambda name, value: value,
        "texts": lambda name, value: value,
        "relations": lambda name, value: value,
        "masks": lambda name, value: _mask(value),
        "columns": lambda name, value: Column(value),
        "vectors": lambda name, value: _vector(name, value, spaces, path),
        "matrices": lambda name, value: _matrix(name, value, spaces, path),
        "query_vectors": lambda name, value: _query_vectors(name, value, spaces, path),
        "runs": lambda name, value: _run(value),
        "retrievers": lambda name, value: _retriever(name, value),
    }
    for section, made in sections.items():
        for name, value in bound.get(section, {}).items():
            if name in found:
                raise bad(str(path), f"{name!r} is bound twice, again in [{section}]")
            found[name] = made(name, value)
    return found


def _space_of(table: Mapping[str, Any], spaces: Mapping[str, Space], where: str) -> Space:
    if "space" not in table:
        raise bad(where, "it says no space")
    if table["space"] not in spaces:
        close = ", ".join(suggest(table["space"], spaces)) or ", ".join(spaces)
        hint = f"did you mean {close}?" if close else "[spaces.NAME] makes one"
        raise bad(where, f"there is no space {table['space']!r}", hint)
    return spaces[table["space"]]


def _vector(name: str, table: Mapping[str, Any], spaces: Mapping[str, Space], path: Path) -> Vector:
    where = f"{path}, vectors.{name}"
    check_shape(table, VECTOR_OPERAND, where)
    return Vector(table.get("values", []), _space_of(table, spaces, where))


def _query_vectors(name: str, table: Mapping[str, Any], spaces: Mapping[str, Space], path: Path) -> QueryVectors:
    where = f"{path}, query_vectors.{name}"
    check_shape(table, QUERY_VECTORS, where)
    return QueryVectors(table.get("values", {}), _space_of(table, spaces, where))


def _matrix(name: str, table: Mapping[str, Any], spaces: Mapping[str, Space], path: Path) -> Matrix:
    where = f"{path}, matrices.{name}"
    check_shape(table, MATRIX, where)
    space = _space_of(table, spaces, where)
    encoder: Encoder | None = None
    if table.get("encoder", "signed-hash") != "signed-hash":
        raise bad(where, f"there is no encoder {table['encoder']!r}", 'encoder = "signed-hash", or texts = {…}')
    if "encoder" in table and "texts" in table:
        raise bad(where, "texts become vectors by an encoder, or as texts lists them: only one of these")
    if "encoder" in table:
        encoder = SignedHashEncoder(space.dimensions)
    elif "texts" in table:
        listed = {text: tuple(map(float, values)) for text, values in table["texts"].items()}
        wrong = next((text for text, values in listed.items() if len(values) != space.dimensions), None)
        if wrong is not None:
            raise bad(where, f"the vector of the text {wrong!r} has not the {space.dimensions} dimensions of its space")
        encoder = TableEncoder(space.query_encoder or "table", listed)
    if ("rows" in table) == ("documents" in table):
        raise bad(where, "it has rows, or documents that an encoder makes rows of")
    if "documents" in table and encoder is None:
        raise bad(where, "documents become rows by an encoder", 'encoder = "signed-hash", or texts = {…}')
    rows: Mapping[str, Any] = table.get("rows", {})
    if "documents" in table and encoder is not None:
        rows = {docno: encoder.encode(text) for docno, text in table["documents"].items()}
    settings = {key: table[key] for key in ("normalise", "drop_zero_rows") if key in table}
    return Matrix(rows, space, encoder, **settings)


def _mask(value: list[str] | dict[str, list[str]]) -> Mask:
    if isinstance(value, list):
        return Mask(value)
    pairs = [(qid, docno) for qid, docnos in value.items() for docno in docnos]
    return Mask(pd.DataFrame(pairs, columns=["qid", "docno"]))


def _run(by_qid: Mapping[str, Mapping[str, float]]) -> Run:
    rows = [(qid, docno, float(score)) for qid, scores in by_qid.items() for docno, score in scores.items()]
    return Run(pd.DataFrame(rows, columns=["qid", "docno", "score"]))


def _retriever(name: str, by_query: Mapping[str, Mapping[str, float]]) -> Retriever:
    topics = pd.DataFrame({"qid": [str(place) for place in range(len(by_query))], "query": list(by_query)})
    rows = [(str(i), *pair) for i, scores in enumerate(by_query.values()) for pair in scores.items()]
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    hint = f"list it in [retrievers.{name}]"
    return Retriever(RecordedRetriever.of(topics, run, identity=f"{name}, as the file lists it", hint=hint))


def _docnos(bound: Mapping[str, Any]) -> list[str]:
    """The docnos that operands have, in the order of the file's sections."""
    found: list[str] = []
    for section in ("relations", "columns"):
        found += [docno for values in bound.get(section, {}).values() for docno in values]
    for mask in bound.get("masks", {}).values():
        found += mask if isinstance(mask, list) else [docno for docnos in mask.values() for docno in docnos]
    for matrix in bound.get("matrices", {}).values():
        found += [*matrix.get("rows", {}), *matrix.get("documents", {})]
    for section in ("runs", "retrievers"):
        for tables in bound.get(section, {}).values():
            found += [docno for scores in tables.values() for docno in scores]
    return found
