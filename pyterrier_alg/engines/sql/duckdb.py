"""DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd

from pyterrier_alg.engines.sql.dialects import DuckDb
from pyterrier_alg.engines.sql.engine import SqlEngine
from pyterrier_alg.engines.sql.sqlite import quoted
from pyterrier_alg.engines.sql.tables import Columns, Database

_TYPES = {"real": "DOUBLE", "text": "VARCHAR", "integer": "BIGINT"}


class DuckDbDatabase(Database):
    """One connection, in memory, that fetches nothing from anywhere."""

    def __init__(self) -> None:
        """Connect."""
        self._connection = duckdb.connect(
            ":memory:", config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        )

    def rows(self, sql: str, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """What a statement gives."""
        # No parameters at all is another thing to DuckDB than none bound.
        return self._connection.execute(sql, dict(parameters) or None).fetchall()

    def create(self, name: str, docnos: npt.NDArray[np.object_], columns: Columns, *, temporary: bool) -> None:
        """Make a table."""
        frame = pd.DataFrame({"docno": pd.Series(docnos, dtype=object)})
        casts = ['CAST("docno" AS VARCHAR) AS "docno"']
        for column, sort, values in columns:
            is_vector = sort == "vector"
            frame[column] = pd.Series(list(values), dtype=object) if is_vector else values
            kind = f"FLOAT[{values.shape[1]}]" if is_vector else _TYPES[sort]
            casts.append(f"CAST({quoted(column)} AS {kind}) AS {quoted(column)}")
        self._connection.register("incoming rows", frame)
        kind = "TEMP TABLE" if temporary else "TABLE"
        self._connection.execute(f'CREATE {kind} {quoted(name)} AS SELECT {", ".join(casts)} FROM "incoming rows"')
        self._connection.unregister("incoming rows")

    def drop(self, name: str) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


class DuckDbEngine(SqlEngine):
    """Runs programs as DuckDB statements; rows and vectors meet in float64.

    Example:
        >>> DuckDbEngine().run(parse("top(10, E @ q1 - 0.5 (E @ q2))"), vaswani.at())  # doctest: +SKIP
    """

    name = "duckdb"
    dialect = DuckDb()

    def connect(self) -> Database:
        """A new database."""
        return DuckDbDatabase()
