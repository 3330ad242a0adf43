"""A scope's operands as tables: shared ones are loaded once, those of one query for one run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, TypeAlias
from weakref import ref

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.expressions import Name, Retrieve, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    Operand,
    RelationOperand,
    Scope,
)
from pyterrier_alg.engines.sql.compiler import Layout
from pyterrier_alg.engines.sql.names import Names

#: The operands that become tables.
TABULAR = (MatrixOperand, RelationOperand, MaskOperand, ColumnOperand)

_EPOCH = date(1970, 1, 1).toordinal()

#: A table's columns beside docno: name, sort (`real`, `text`, `integer`, `vector`) and values.
Columns: TypeAlias = Sequence[tuple[str, str, npt.NDArray[Any]]]
Content: TypeAlias = tuple[npt.NDArray[np.object_], Columns]


class Database(ABC):
    """A connection as the engine uses it."""

    @abstractmethod
    def rows(self, sql: str, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """What a statement gives."""

    @abstractmethod
    def create(self, name: str, docnos: npt.NDArray[np.object_], columns: Columns, *, temporary: bool) -> None:
        """Make a table of records; each docno once."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a table."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


class Tables:
    """Which operand is in which table of one database."""

    def __init__(self, database: Database) -> None:
        """Begin with an empty database."""
        self._database = database
        self._names = Names()
        self._loaded: dict[int, tuple[ref[Any], str]] = {}
        self._temporary: list[str] = []

    def layout(self, formula: Formula, scope: Scope) -> Layout:
        """Load what a formula names and is not there yet.

        Args:
            formula: whose operands are loaded.
            scope: what binds them.

        Returns:
            Where everything is.
        """
        self._forget()
        docs = self._shared(scope.docnos, "docs", lambda: (scope.docnos, ()))
        tables = {}
        for name in tabular_names(formula, scope.operands):
            operand = scope.operands[name]
            if name in scope.shared:
                tables[name] = self._shared(operand, name, partial(_content, operand, scope))
            else:
                tables[name] = self._names.take(name)
                self.temporary(tables[name], *_content(operand, scope))
        return Layout(docs, tables)

    def temporary(self, name: str, docnos: npt.NDArray[np.object_], columns: Columns) -> None:
        """Make a table for this run only, under a name that nothing else has."""
        self.remember(name)
        self._database.create(name, docnos, columns, temporary=True)

    def remember(self, name: str) -> None:
        """Have a table removed at the end of this run."""
        self._temporary.append(name)

    def end_run(self) -> None:
        """Remove what was made for this run only."""
        for name in self._temporary:
            self._database.drop(name)
            self._names.give_back(name)
        self._temporary.clear()

    def _shared(self, owner: object, wanted: str, content: Callable[[], Content]) -> str:
        known = self._loaded.get(id(owner))
        if known is not None and known[0]() is owner:
            return known[1]
        name = self._names.take(wanted)
        self._database.create(name, *content(), temporary=False)
        self._loaded[id(owner)] = (ref(owner), name)
        return name

    def _forget(self) -> None:
        """Remove the tables of operands that nobody has any more."""
        for key, (operand, name) in list(self._loaded.items()):
            if operand() is None:
                self._database.drop(name)
                self._names.give_back(name)
                del self._loaded[key]


def tabular_names(formula: Formula, operands: Mapping[str, Operand]) -> list[str]:
    """The operands of a formula that become tables, in the order of their use."""
    steps = dict(formula.steps)
    names = dict.fromkeys(
        node.name for node in walk(*formula.expressions) if isinstance(node, Name) and node.name not in steps
    )
    return [name for name in names if name != "all" and isinstance(operands[name], TABULAR)]


def retrievals(formula: Formula) -> list[Retrieve]:
    """The distinct searches of a formula."""
    return list(dict.fromkeys(node for node in walk(*formula.expressions) if isinstance(node, Retrieve)))


def _content(operand: Operand, scope: Scope) -> Content:
    match operand:
        case MatrixOperand(positions=positions, rows=rows):
            return scope.docnos[positions], (("vector", "vector", rows),)
        case RelationOperand(positions=positions, scores=scores):
            return scope.docnos[positions], (("score", "real", scores),)
        case MaskOperand(positions=positions):
            return scope.docnos[positions], ()
        case ColumnOperand(positions=positions, values=values, kind=kind):
            columns: list[tuple[str, str, npt.NDArray[Any]]] = [("value", "text", values)]
            if kind is Kind.DATE_COLUMN:
                columns.append(("day", "integer", np.array([day_number(v) for v in values], dtype=np.int64)))
            return scope.docnos[positions], columns
    raise TypeError(f"a {type(operand).__name__} is no table")


def day_number(day: str) -> int:
    """A calendar day, `YYYY-MM-DD`, as days since 1970."""
    return date.fromisoformat(day).toordinal() - _EPOCH


def records(docnos: npt.NDArray[np.object_], columns: Iterable[Sequence[object]]) -> Iterable[tuple[object, ...]]:
    """Rows of a table from its columns."""
    return zip(docnos.tolist(), *columns, strict=True)
