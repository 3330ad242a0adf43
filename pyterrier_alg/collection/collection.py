"""A collection: records, and the operands that a program may name over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import BindingError, DataError
from pyterrier_alg.algebra.expressions import Name
from pyterrier_alg.algebra.kinds import Binding, Kind, Space, Type
from pyterrier_alg.algebra.operators import RESERVED_OPERANDS
from pyterrier_alg.collection import artifact
from pyterrier_alg.collection.binding import (
    bind_value,
    check_operand_name,
    finite_number,
    mask_of,
    scores_of,
    unknown_name,
)
from pyterrier_alg.collection.frames import frame_columns
from pyterrier_alg.collection.lexical import PyTerrierRetriever
from pyterrier_alg.collection.operands import (
    Encoder,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    Operand,
    RetrieverOperand,
    Scope,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.collection.orienting import Orientation, orient, orient_name
from pyterrier_alg.collection.parts import canonical, space_to_dict, take_apart
from pyterrier_alg.collection.per_query import Bound, PerQuery, freeze
from pyterrier_alg.collection.records import Records
from pyterrier_alg.collection.rows import as_vector
from pyterrier_alg.collection.specs import Column
from pyterrier_alg.collection.texts import TextLoader, VecLoader, text_loader
from pyterrier_alg.collection.topics import Topic, check_topic, read_topics

__all__ = ["Collection", "Topic"]


class Collection(pt.Artifact):
    """Records with named operands: an immutable value, equal by content.

    `bind` gives a new collection with more operands; a name is bound once. Arrays that come without docnos follow the
    order in which the collection got its docnos (`docnos`).

    Example:
        >>> c = Collection(["d1", "d2"]).bind(w={"d1": 0.5}, alpha=0.3)
        >>> c["alpha"] * c["w"]
        alpha * w
    """

    ARTIFACT_TYPE: ClassVar[str] = "retrieval_collection"
    ARTIFACT_FORMAT: ClassVar[str] = "alg"
    ARTIFACT_PACKAGE_HINT: ClassVar[str] = "pyterrier-alg"

    def __init__(
        self,
        docnos: Iterable[str] | str | Path,
        *,
        name: str = "",
        query_space: Space | None = None,
        encoders: Mapping[str, Encoder] | None = None,
    ) -> None:
        """A collection without operands, or a saved one.

        Args:
            docnos: the records' ids: unique strings, in the order that arrays bound without docnos will follow; or, as
                PyTerrier opens artifacts, the folder of a saved collection, which has its own name and query space.
            name: what people call it.
            query_space: where the vectors of topics live; the space of its matrices where they have only one.
            encoders: of a saved collection: by identity, for matrices whose query encoder is no `SignedHashEncoder`.

        Raises:
            BindingError: `bad_docno`, `duplicate_docno`; `encoder`, where one has another identity.
            DataError: `missing_data`, `corrupted_data`, `not_a_collection`, `unknown_version`.
        """
        given: object = encoders
        if given is not None and not isinstance(given, Mapping):
            message = f"encoders are given by identity, not as a {type(given).__name__}"
            raise BindingError("bad_operand", message, "encoders={encoder.identity: encoder}")
        if isinstance(docnos, str | Path):
            super().__init__(docnos)
            content = artifact.read(Path(docnos), _identity(), encoders or {})
        else:
            super().__init__(pt.Artifact.NO_PATH)
            content = artifact.Content(Records(docnos), {}, name, query_space)
        self._records = content.records
        self._operands: Mapping[str, Bound] = MappingProxyType(dict(content.operands))
        self._stated_query_space = content.query_space
        self._texts = content.texts
        self.name = content.name

    @property
    def docnos(self) -> npt.NDArray[np.object_]:
        """The records' ids in the order given; read-only."""
        return self._records.given

    @property
    def operands(self) -> Mapping[str, Bound]:
        """What is bound, by name, in the order of binding."""
        return self._operands

    def __len__(self) -> int:
        """How many records it has."""
        return len(self._records)

    def __contains__(self, name: object) -> bool:
        """Whether a name is bound."""
        return name in self._operands

    def __getitem__(self, name: str) -> Name:
        """A bound or reserved name as an expression.

        Raises:
            UnknownNameError: `unknown_name`, which is a KeyError too, with the names that are close.
        """
        if not isinstance(name, str) or (name not in self._operands and name not in RESERVED_OPERANDS):
            raise unknown_name(name, self._operands)
        return Name(name)

    def bind(self, /, **operands: Any) -> Collection:
        """A new collection with more operands.

        Args:
            **operands: by name. A dict of numbers or a frame `[docno, score]` is a relation, a frame
                `[qid, docno, score]` one relation a query, a set a mask, a dict or series of text, dates or booleans a
                column; a number, a text. `Matrix`, `Vector`, `Mask`, `Column`, `Run`, `QueryVectors`, `Retriever` say
                what data alone do not. `now` is a day, `"2026-12-01"`.

        Returns:
            The new collection; this one stays as it is.

        Raises:
            BindingError: `bad_name`, `reserved_name`, `duplicate_name`, `bad_operand`, `bad_docno`,
                `duplicate_docno`, `unknown_docno`, `non_finite`, `dimensions`, `ragged_rows`, `zero_row`, `not_unit`,
                `bad_date`, `bad_qid`, `duplicate_qid`, `encoder`, `space`. Nothing is bound then.
        """
        bound = dict(self._operands)
        for name, value in operands.items():
            check_operand_name(name)
            if name in bound:
                raise BindingError("duplicate_name", f"{name!r} is bound already", "operands are bound once: rename it")
            bound[name] = bind_value(name, value, self._records)
        self._refuse_second_spaces(bound)
        return self._with(bound)

    def with_numbers(self, /, **numbers: float) -> Collection:
        """A collection that has other values for some of its numbers, and is the same otherwise.

        Args:
            **numbers: by name, each of which is bound to a number.

        Returns:
            The new collection; this one stays as it is.

        Raises:
            UnknownNameError: `unknown_name`.
            BindingError: `bad_operand`, where the name is no number's, or the value is none; `non_finite`.

        Example:
            >>> c = Collection(["d1"]).bind(alpha=0.3)
            >>> c.with_numbers(alpha=0.5).operands["alpha"].value
            0.5
        """
        bound = dict(self._operands)
        for name, value in numbers.items():
            if name not in bound:
                raise unknown_name(name, bound)
            if not isinstance(bound[name], NumberOperand):
                raise BindingError("bad_operand", f"{name} is a {bound[name].binding.type}, not a number")
            bound[name] = NumberOperand(finite_number(value, name))
        return self._with(bound)

    def bind_columns(self, frame: pd.DataFrame, columns: Iterable[str] | None = None) -> Collection:
        """A new collection with every metadata column of a frame.

        Args:
            frame: has `docno`, once for each record; missing values are left out.
            columns: bind only these; all but `docno` where left out.

        Raises:
            BindingError: as `bind`.
        """
        (docnos,) = frame_columns(frame, ("docno",), "the frame")
        wanted = [column for column in frame.columns if column != "docno"] if columns is None else list(columns)
        frame_columns(frame, wanted, "the frame")
        self._records.positions(docnos, "the frame")
        for column in wanted:
            check_operand_name(column)
        return self.bind(**{column: Column(frame[column].set_axis(docnos)) for column in wanted})

    def at(self, topic: Topic | None = None) -> Scope:
        """What one query sees.

        Args:
            topic: the query; without one, `query`, `query_vec`, `input` and per-query operands are unbound.

        Returns:
            The scope, with the same object for each shared operand at every call. What the query lacks is absent, and
            an error only for those who name it: `no_query_vector` for a qid without its bound vector; `bad_operand`,
            `dimensions`, `non_finite` for a topic's own vector, and `query_space` where matrices of several spaces are
            bound.

        Raises:
            BindingError: `bad_operand`, `bad_qid`, `non_finite`, `unknown_docno`.
        """
        shared = self._shared
        if topic is None:
            return Scope(self._records.docnos, MappingProxyType(shared), shared=self._shared_names)
        qid = check_topic(topic)
        operands, absent = dict(shared), {}
        for name, bound in self._per_query.items():
            try:
                operands[name] = bound.of(name, qid)
            except BindingError as error:
                absent[name] = error
        for name, retriever in self._asking.items():
            operands[name] = RetrieverOperand(retriever.at(topic))
        if topic.query is not None:
            operands["query"] = TextOperand(topic.query)
        if topic.vector is not None:
            try:
                space = self.query_space
                if space is not None:
                    values = as_vector(topic.vector, space, f"query_vec (qid {qid})")
                    operands["query_vec"] = VectorOperand(values, space)
            except BindingError as error:
                absent["query_vec"] = error
        if topic.input is not None:
            operands["input"] = scores_of(topic.input, self._records, f"input (qid {qid})")
        return Scope(self._records.docnos, MappingProxyType(operands), qid, self._shared_names, absent)

    def mask(self, docnos: Iterable[str], what: str = "the mask") -> MaskOperand:
        """Some of the records as a mask.

        Args:
            docnos: each once.
            what: messages call it so.

        Raises:
            BindingError: `bad_docno`, `duplicate_docno`, `unknown_docno`.
        """
        return mask_of(docnos, self._records, what)

    def topics(self, frame: pd.DataFrame) -> list[Topic]:
        """The queries of a PyTerrier frame, in its order.

        Args:
            frame: topics (`qid`, and `query`, `query_vec` where it has them), or results (with `docno` too, and maybe
                `score`), of which a query's rows are its pool, and its `input` where they have scores.

        Raises:
            BindingError: `bad_operand`, `bad_qid`, `duplicate_qid`, `duplicate_docno`.
        """
        return read_topics(frame, self._records)

    def bindings(self, columns: Iterable[str] = ()) -> dict[str, Binding]:
        """What the checker knows of each name before any topic is seen.

        Args:
            columns: of the topics or results frame that the program will run over; none where it runs without queries.

        Raises:
            BindingError: `query_space`, as `at`.
        """
        given = set(columns)
        known = {name: operand.binding for name, operand in self._shared.items()}
        if "qid" in given:
            known |= {name: bound.binding for name, bound in self._per_query.items()}
        if "query" in given:
            known["query"] = Binding(Type(Kind.TEXT))
        if "query_vec" in given and self.query_space is not None:
            known["query_vec"] = Binding(Type(Kind.VECTOR, self.query_space))
        if {"docno", "score"} <= given:
            known["input"] = Binding(Type(Kind.RELATION))
        return known

    @property
    def query_space(self) -> Space | None:
        """Where topics' vectors live; None where nothing says, since there is no matrix.

        Raises:
            BindingError: `query_space`, where matrices of several spaces are bound and none of them was named.
        """
        if self._stated_query_space is not None:
            return self._stated_query_space
        spaces = {operand.space for operand in self._operands.values() if isinstance(operand, MatrixOperand)}
        if len(spaces) > 1:
            names = ", ".join(sorted(map(str, spaces)))
            message = f"a topic's vector could be of any of the spaces {names}"
            raise BindingError("query_space", message, "say which: Collection(docnos, query_space=…)")
        return next(iter(spaces), None)

    def orient(self, name: str | None = None) -> Orientation:
        """What a program may name here.

        Args:
            name: one operand in detail; or an operator, a function, a reserved name, a kind (`"relation"`), a pattern
                (`"r*"`). Without it, a short answer about all, however many are bound.

        Returns:
            A table when printed, `to_dict()` for programs.

        Raises:
            UnknownNameError: `unknown_name`.
        """
        if name is None:
            return orient(self.name, self._records, self._operands, self._stated_query_space)
        return orient_name(name, self._records, self._operands, self._stated_query_space)

    def save(self, path: str | Path, *, leave_out: Iterable[str] = ()) -> Collection:
        """Write it into a new folder: aside, then renamed, so that what is there is whole.

        Signed-hash encoders are saved by their parameters; of any other encoder the identity is, and
        `Collection.load(path, encoders={identity: encoder})` gives it back.

        Args:
            path: the folder, which must not exist yet.
            leave_out: operands that are not saved; live retrievers cannot be.

        Returns:
            The collection as saved, whose `path` is the folder.

        Raises:
            BindingError: `live_retriever`; `unknown_name`, for an operand to leave out.
            DataError: `path_exists`, `unwritable`.
        """
        if isinstance(leave_out, str):
            raise BindingError("bad_operand", f"leave_out is a list of names, not {leave_out!r}", f"[{leave_out!r}]")
        omitted = frozenset(leave_out)
        for name in omitted:
            if name not in self._operands:
                raise unknown_name(name, self._operands)
        folder = Path(path)
        content = artifact.Content(self._records, self._operands, self.name, self._stated_query_space, self._texts)
        written = artifact.write(folder, content, _identity(), omitted)
        saved = self._with(written.operands)
        saved.path, saved._texts = folder, written.texts
        return saved

    def verify(self) -> None:
        """Read every file of a saved collection and compare it with its checksum; opening skips those over 64 MiB.

        Raises:
            DataError: `missing_data`, `corrupted_data`, naming the file; `missing_data` for a collection in memory.
        """
        if self._in_memory:
            raise DataError("missing_data", "the collection is in memory, and has no files", "save(path) writes them")
        artifact.verify(Path(self.path), _identity())

    def text_loader(self, fields: str | Iterable[str] = "*", *, verbose: bool = False) -> TextLoader:
        """A transformer that adds stored texts by docno: those that the indexer kept.

        Args:
            fields: the texts; all of them for `"*"`.
            verbose: whether progress is shown.

        Raises:
            DataError: `missing_texts`.
            BindingError: `bad_operand`, for a text that is not stored.
        """
        return text_loader(self._records, self._texts, fields, verbose=verbose)

    def vec_loader(self, matrix: str = "E") -> VecLoader:
        """A transformer that adds the rows of a matrix by docno, as `doc_vec`.

        Args:
            matrix: its name.

        Raises:
            BindingError: `unknown_name`, `bad_operand`.
        """
        return VecLoader(self, matrix)

    @cached_property
    def digest(self) -> str:
        """Of records and operands, the same on every machine; encoders and live retrievers count by their identity.

        A PyTerrier retriever counts as itself: another one is the same only where it equals it.
        """
        space = self._stated_query_space
        digest = sha256(canonical([self._records.docnos.tolist(), space_to_dict(space) if space else None]))
        for name in sorted(self._operands):
            digest.update(canonical(name))
            digest.update(_digest(self._operands[name]))
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """The same records with the same operands; names of collections do not count."""
        return self is other or (isinstance(other, Collection) and self.digest == other.digest)

    def __hash__(self) -> int:
        """By content."""
        return hash(self.digest)

    def __copy__(self) -> Collection:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Collection:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # What is derived is derived again, and a read-only view of a dict cannot be pickled.
        derived = ("_shared", "_per_query", "_asking", "_shared_names")
        state = {key: value for key, value in self.__dict__.items() if key not in derived}
        return {**state, "_operands": dict(self._operands), "path": None if self._in_memory else self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.path = pt.Artifact.NO_PATH if state["path"] is None else state["path"]
        # Arrays come out of a pickle writable.
        self._operands = MappingProxyType({name: freeze(operand) for name, operand in state["_operands"].items()})

    def _repr_html_(self) -> str:
        return self.orient()._repr_html_()

    def __repr__(self) -> str:
        """Short: the name, the number of records, and the names of operands."""
        label = f" {self.name!r}" if self.name else ""
        names = ", ".join(self._operands) or "no operands"
        return f"<Collection{label}: {len(self):,} records; {names}>"

    def _with(self, operands: Mapping[str, Bound]) -> Collection:
        made: Collection = object.__new__(type(self))
        pt.Artifact.__init__(made, pt.Artifact.NO_PATH)
        made._records, made.name = self._records, self.name
        made._stated_query_space = self._stated_query_space
        made._texts = self._texts
        made._operands = MappingProxyType(dict(operands))
        return made

    @property
    def _in_memory(self) -> bool:
        return self.path is pt.Artifact.NO_PATH

    def _refuse_second_spaces(self, operands: Mapping[str, Bound]) -> None:
        """A space is a named identity: of two that share a name, messages could not tell which is meant."""
        stated = self._stated_query_space
        known: dict[str, tuple[str, Space]] = {stated.name: ("the query space", stated)} if stated else {}
        for name, operand in operands.items():
            space = operand.binding.type.space
            if space is None:
                continue
            first, other = known.setdefault(space.name, (name, space))
            if other != space:
                facts, others = space_to_dict(space), space_to_dict(other)
                differing = ", ".join(
                    f"{key} {facts[key]!r}, not {others[key]!r}" for key in facts if facts[key] != others[key]
                )
                message = f"{name} is in a space {space.name!r} that is not the one of {first}: {differing}"
                raise BindingError("space", message, "give the same Space, or another name to another one")

    @cached_property
    def _shared(self) -> dict[str, Operand]:
        """The operands that every query sees, with `all`."""
        shared = {name: bound for name, bound in self._operands.items() if not isinstance(bound, PerQuery)}
        return {**shared, "all": self._records.everything}

    @cached_property
    def _per_query(self) -> dict[str, PerQuery]:
        return {name: bound for name, bound in self._operands.items() if isinstance(bound, PerQuery)}

    @cached_property
    def _asking(self) -> dict[str, PyTerrierRetriever]:
        """Retrievers that may answer topics of one text differently: by qid, or by the topic's vector."""
        found = {name: o.retriever for name, o in self._operands.items() if isinstance(o, RetrieverOperand)}
        return {name: r for name, r in found.items() if isinstance(r, PyTerrierRetriever)}

    @cached_property
    def _shared_names(self) -> frozenset[str]:
        return frozenset(self._shared) - self._asking.keys()


#: What was computed of operands, which collections that come from one another share.
_DIGESTS: WeakKeyDictionary[Bound, bytes] = WeakKeyDictionary()


def _digest(operand: Bound) -> bytes:
    """The digest of an operand, computed once for each object."""
    found = _DIGESTS.get(operand)
    if found is None:
        found = _DIGESTS[operand] = take_apart(operand).digest
    return found


def _identity() -> dict[str, str]:
    """What tells PyTerrier which class opens the folder."""
    hint = Collection.ARTIFACT_PACKAGE_HINT
    return {"type": Collection.ARTIFACT_TYPE, "format": Collection.ARTIFACT_FORMAT, "package_hint": hint}
