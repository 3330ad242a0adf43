"""Programs as a table-valued function of SQLite: an apsw virtual table whose hidden columns are its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.relation import ScoredRelation

if TYPE_CHECKING:
    import apsw

#: From a program's text and a query's text, or None, to a relation.
Run: TypeAlias = Callable[[str, "str | None"], ScoredRelation]

#: The table's columns; the hidden ones are the function's arguments.
_SCHEMA = "CREATE TABLE x(docno TEXT, score REAL, rank INTEGER, program HIDDEN, query HIDDEN)"
_PROGRAM, _QUERY = 3, 4


class AlgebraModule:
    """The table-valued function."""

    def __init__(self, run: Run, name: str) -> None:
        self._run, self._name = run, name

    def Connect(self, connection: apsw.Connection, *arguments: str) -> tuple[str, _Table]:  # noqa: N802
        return _SCHEMA, _Table(self._run, self._name)

    Create = Connect


class _Table:
    def __init__(self, run: Run, name: str) -> None:
        self._run, self._name = run, name

    def BestIndexObject(self, index: apsw.IndexInfo) -> bool:  # noqa: N802
        import apsw

        given: dict[int, int] = {}
        for place in range(index.nConstraint):
            column = index.get_aConstraint_iColumn(place)
            if column not in (_PROGRAM, _QUERY) or index.get_aConstraint_op(place) != apsw.SQLITE_INDEX_CONSTRAINT_EQ:
                continue
            if not index.get_aConstraint_usable(place):
                # The argument comes from a table that is not read yet in this plan.
                return False
            given.setdefault(column, place)
        if _PROGRAM not in given:
            raise AlgebraError("bad_argument", f"{self._name} runs a program", f"{self._name}('top(10, …)')")
        for argument, column in enumerate(sorted(given), 1):
            index.set_aConstraintUsage_argvIndex(given[column], argument)
            index.set_aConstraintUsage_omit(given[column], True)
        index.idxNum = len(given)
        # Running a program is never cheap: other tables are looked at first where they can be.
        index.estimatedCost = 1_000_000.0
        index.estimatedRows = 100
        return True

    def Open(self) -> _Cursor:  # noqa: N802
        return _Cursor(self._run, self._name)

    def Disconnect(self) -> None:  # noqa: N802
        pass

    Destroy = Disconnect


class _Cursor:
    def __init__(self, run: Run, name: str) -> None:
        self._run, self._name = run, name
        self._rows: Iterator[tuple[str, float]] = iter(())
        self._row: tuple[str, float] | None = None
        self._rank = -1
        self._arguments: Sequence[object] = ()

    def Filter(self, number: int, text: str | None, arguments: Sequence[object]) -> None:  # noqa: N802
        program, query = arguments[0], arguments[1] if len(arguments) > 1 else None
        if not isinstance(program, str) or not isinstance(query, str | None):
            message = f"{self._name} takes a program's text and a query's, not {program!r:.60} and {query!r:.60}"
            raise AlgebraError("bad_argument", message)
        self._arguments = program, query
        self._rows, self._rank = iter(self._run(program, query)), -1
        self.Next()

    def Eof(self) -> bool:  # noqa: N802
        return self._row is None

    def Column(self, number: int) -> Any:  # noqa: N802
        if self._row is None or number < 0:
            return self._rank
        if number >= _PROGRAM:
            return self._arguments[number - _PROGRAM]
        return (*self._row, self._rank)[number]

    def Rowid(self) -> int:  # noqa: N802
        return self._rank

    def Next(self) -> None:  # noqa: N802
        self._row, self._rank = next(self._rows, None), self._rank + 1

    def Close(self) -> None:  # noqa: N802
        self._rows, self._row = iter(()), None
