"""Content addresses: what tells results apart is what they were made of, not when or where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from weakref import WeakKeyDictionary

import numpy as np

from pyterrier_alg.algebra.formula import Formula, operand_names
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.operands import RelationOperand, RetrieverOperand, Scope
from pyterrier_alg.collection.parts import LIVE, canonical, take_apart
from pyterrier_alg.collection.per_query import Bound
from pyterrier_alg.collection.records import frozen
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.transformers import Program

#: The tie policy that every address holds.
TIES = "score descending, docno ascending by code point"

#: What the records that came in are called among a result's operands; no operand can have this name.
CAME_IN = "`input docnos`"

#: By operand, its digest and whether it is a live retriever.
_KNOWN: WeakKeyDictionary[Bound, tuple[str, bool]] = WeakKeyDictionary()


def operand_digest(operand: Bound) -> str:
    """SHA-256 of an operand's content, in hexadecimal, computed once for each object.

    Of encoders and of live retrievers the identity counts. Records count by their place in the collection.

    Example:
        >>> c = Collection(["d1"]).bind(S={"d1": 1.0}, T={"d1": 1.0}, U={"d1": 2.0})
        >>> s, t, u = map(operand_digest, c.operands.values())
        >>> s == t, s == u
        (True, False)
    """
    return _known(operand)[0]


def relation_digest(relation: ScoredRelation) -> str:
    """SHA-256 of docnos and scores in rank order, in hexadecimal: the same on every machine."""
    digest = sha256(canonical(relation.docnos.tolist()))
    digest.update(np.ascontiguousarray(relation.scores, dtype="<f8").data)
    return digest.hexdigest()


def as_operand(relation: ScoredRelation, collection: Collection) -> RelationOperand:
    """A relation as an operand of a collection that has its records.

    Raises:
        BindingError: `unknown_docno`.
    """
    docnos = relation.docnos.tolist()
    positions = collection.mask(docnos, "the relation").positions
    order = np.array(sorted(range(len(docnos)), key=docnos.__getitem__), dtype=np.int64)
    return RelationOperand(positions, frozen(relation.scores[order]))


def records_digest(collection: Collection) -> str:
    """SHA-256 of a collection's docnos in code-point order, in hexadecimal."""
    return sha256(canonical(collection.at().docnos.tolist())).hexdigest()


@dataclass(frozen=True, eq=False)
class Seen:
    """What a program saw when it ran for one topic.

    Attributes:
        formula: as it ran: over a pool, where records came in.
        scope: the operands.
        operands: the digest of each that the program names, in the order of their first use.
        is_live: whether one of them is a retriever whose results its digest does not tell.
    """

    formula: Formula
    scope: Scope
    operands: Mapping[str, str]
    is_live: bool


def seen(program: Program, topic: Topic | None) -> Seen:
    """What a program sees of its collection for one topic.

    Args:
        program: any.
        topic: the query; None where the program runs without one.

    Raises:
        BindingError: as `Collection.at`, `Collection.mask`; why an operand that the program names is absent.
    """
    names = operand_names(program.formula)
    reranks = topic is not None and topic.docnos is not None
    if topic is not None and reranks and "input" not in names:
        # Scores that the program does not look at may be anything.
        topic = Topic(topic.qid, topic.query, topic.vector, pool=topic.docnos)
    scope = program.collection.at(topic)
    scope.refuse_absent(names)
    formula = program.formula
    digests = {name: _digest_at(name, scope, topic) for name in names if name in scope.operands}
    if topic is not None and reranks:
        formula = program.over_pool()
        pool = program.collection.mask(topic.docnos or (), f"the pool (qid {topic.qid})")
        digests[CAME_IN] = operand_digest(pool)
        # The one name of the restricted formula that the collection does not have is the pool's.
        added = [name for name in operand_names(formula) if name not in scope.operands and name not in names]
        scope = replace(scope, operands={**scope.operands, **dict.fromkeys(added, pool)})
    live = any(_is_live(scope, name) for name in names)
    return Seen(formula, scope, digests, live)


def address(formula: Formula, operands: Mapping[str, str], records: str, *own: str) -> str:
    """The content address of a result.

    Args:
        formula: what ran; its canonical text counts.
        operands: the digest of each operand that it names.
        records: the digest of the collection's docnos.
        *own: what else tells the result apart, where its program and operands do not determine it.

    Returns:
        SHA-256 in hexadecimal.
    """
    return sha256(canonical([formula.digest, sorted(operands.items()), records, TIES, *own])).hexdigest()


def digests_at(collection: Collection, topic: Topic | None, names: Iterable[str]) -> dict[str, str]:
    """The digests of those names that one topic sees an operand of."""
    scope = collection.at(topic)
    return {name: _digest_at(name, scope, topic) for name in names if name in scope.operands}


def _digest_at(name: str, scope: Scope, topic: Topic | None) -> str:
    digest = operand_digest(scope.operands[name])
    if topic is None or not _is_live(scope, name):
        return digest
    # A live retriever may answer by qid or by vector.
    vector = None if topic.vector is None else np.asarray(topic.vector, dtype=np.float32).tolist()
    return sha256(canonical([digest, topic.qid, topic.query, vector])).hexdigest()


def _is_live(scope: Scope, name: str) -> bool:
    operand = scope.operands.get(name)
    return isinstance(operand, RetrieverOperand) and _known(operand)[1]


def _known(operand: Bound) -> tuple[str, bool]:
    found = _KNOWN.get(operand)
    if found is None:
        parts = take_apart(operand)
        found = _KNOWN[operand] = parts.digest.hex(), parts.header["sort"] == LIVE
    return found
