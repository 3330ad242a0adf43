"""What a stage takes its operands from: a collection, or one scope for every query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Expression, Name, walk
from pyterrier_alg.algebra.kinds import Binding
from pyterrier_alg.algebra.reading import read_expression
from pyterrier_alg.collection.operands import Operand, Positions, Scope
from pyterrier_alg.collection.topics import Topic

Kind = TypeVar("Kind", bound=Operand)


class Source(Protocol):
    """What a collection offers to stages."""

    @property
    def name(self) -> str:
        """What people call it."""

    def topics(self, frame: pd.DataFrame) -> list[Topic]:
        """The queries of a frame."""

    def at(self, topic: Topic | None = None) -> Scope:
        """What one query sees."""

    def bindings(self, columns: Iterable[str] = ()) -> Mapping[str, Binding]:
        """What the checker knows of each name, for queries with these columns."""


@dataclass(frozen=True, eq=False)
class OneScope:
    """A source that gives every query the same scope."""

    scope: Scope
    name: str = "scope"

    def topics(self, frame: pd.DataFrame) -> list[Topic]:
        """The queries of a frame, by qid alone."""
        return [Topic(qid) for qid in frame["qid"].tolist()]

    def at(self, topic: Topic | None = None) -> Scope:
        """The scope."""
        return self.scope

    def bindings(self, columns: Iterable[str] = ()) -> Mapping[str, Binding]:
        """Those of the scope."""
        return self.scope.bindings


def as_expression(value: str | Expression) -> Expression:
    """Notation or an expression, as an expression.

    Raises:
        ProgramError: as `parse`, and `syntax` where there are steps.
    """
    return value if isinstance(value, Expression) else read_expression(value)


def columns_needed(*expressions: Expression) -> list[str]:
    """The columns that a topics frame must have for these expressions, beside `qid`."""
    names = {node.name for node in walk(*expressions) if isinstance(node, Name)}
    return [column for column in ("query", "query_vec") if column in names]


def positions_of(scope: Scope, docnos: list[str], qid: str) -> Positions:
    """Where records stand in a scope.

    Raises:
        AlgebraError: `unknown_record`, naming the first that the collection does not have.
    """
    wanted = np.empty(len(docnos), dtype=object)
    wanted[:] = docnos
    places = np.searchsorted(scope.docnos, wanted).astype(np.int64)
    for docno, place in zip(docnos, places.tolist(), strict=True):
        if place == len(scope.docnos) or scope.docnos[place] != docno:
            raise AlgebraError("unknown_record", f"the collection has no record {docno!r} (qid {qid!r})")
    return places


def operand(scope: Scope, name: str, kind: type[Kind]) -> Kind:
    """The operand of a kind that a query sees by a name.

    Raises:
        AlgebraError: `unknown_name`, `kind`.
    """
    found = scope.operands.get(name)
    if found is None:
        scope.refuse_absent([name])
        close = suggest(name, scope.operands)
        raise AlgebraError(
            "unknown_name", f"unknown operand {name!r}", f"did you mean {', '.join(close)}?" if close else ""
        )
    if not isinstance(found, kind):
        wanted = kind.__name__.removesuffix("Operand").lower()
        raise AlgebraError("kind", f"{name} is a {found.binding.type}, a {wanted} is needed here")
    return found
