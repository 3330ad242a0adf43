"""SQLite with sqlite-vec, through apsw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt
import sqlite_vec

from pyterrier_alg.engines.sql.dialects import Sqlite
from pyterrier_alg.engines.sql.engine import SqlEngine
from pyterrier_alg.engines.sql.tables import Columns, Database, records

_TYPES = {"real": "REAL", "text": "TEXT", "integer": "INTEGER", "vector": "BLOB"}


class SqliteDatabase(Database):
    """One connection, in memory."""

    def __init__(self) -> None:
        """Connect, and load sqlite-vec."""
        self._connection = apsw.Connection(":memory:")
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.enable_load_extension(False)
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._connection.create_scalar_function(Sqlite.INNER_PRODUCT, _inner_product, 2, deterministic=True)  # type: ignore[arg-type]

    def rows(self, sql: str, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """What a statement gives."""
        return list(self._connection.execute(sql, dict(parameters)))

    def create(self, name: str, docnos: npt.NDArray[np.object_], columns: Columns, *, temporary: bool) -> None:
        """Make a table with docno as its key."""
        table = quoted(name)
        sorts = [f"{quoted(column)} {_TYPES[sort]}" for column, sort, _ in columns]
        # Rows of vectors are long: keys beside them would make a search by docno read them all.
        rowid = "" if any(sort == "vector" for _, sort, _ in columns) else " WITHOUT ROWID"
        definition = ", ".join(['"docno" TEXT PRIMARY KEY', *sorts])
        values = [
            [row.tobytes() for row in array.astype(np.float32, copy=False)] if sort == "vector" else array.tolist()
            for _, sort, array in columns
        ]
        with self._connection:
            self._connection.execute(f"CREATE {'TEMP ' if temporary else ''}TABLE {table} ({definition}){rowid}")
            places = ", ".join("?" * (1 + len(columns)))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", records(docnos, values))

    def drop(self, name: str) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


class SqliteEngine(SqlEngine):
    """Runs programs as SQLite statements, scored by sqlite-vec.

    `E @ v` in a cosine space is `(1 - vec_distance_cosine(row, v)) * |v|`, measured in float32, as far from the defined
    score as `error_bound` says. sqlite-vec has no inner product: in a space of that distance the score comes from a
    float64 function of ours that the connection knows as `inner_product`.

    Example:
        >>> SqliteEngine().run(parse("top(10, E @ q1 - 0.5 (E @ q2))"), vaswani.at())  # doctest: +SKIP
    """

    name = "sqlite"
    dialect = Sqlite()

    def connect(self) -> Database:
        """A new database."""
        return SqliteDatabase()


def quoted(name: str) -> str:
    """An identifier, quoted."""
    return '"' + name.replace('"', '""') + '"'


def _inner_product(row: bytes, vector: bytes) -> float:
    # A sum, not a dot product: BLAS may add up by the row's place in memory, and equal rows must score equally.
    return float((np.frombuffer(row, np.float32) * np.frombuffer(vector, np.float64)).sum())
