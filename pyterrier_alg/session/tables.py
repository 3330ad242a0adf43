"""Scored relations as tables: frames and Arrow both ways, joins with metadata, programs inside SQL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.binding import finite_number, unknown_name
from pyterrier_alg.collection.frames import frame_columns
from pyterrier_alg.collection.operands import ColumnOperand, MaskOperand, RelationOperand
from pyterrier_alg.collection.records import plain_docnos
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session._sqlite import AlgebraModule, Run

if TYPE_CHECKING:
    import apsw
    import duckdb
    import pyarrow as pa

__all__ = ["FUNCTION", "from_arrow", "from_frame", "join", "register_duckdb", "register_sqlite", "to_arrow"]

#: What the table-valued function is called.
FUNCTION = "algebra"

_OWN = ("qid", "query", "docno", "score", "rank")


def from_frame(frame: pd.DataFrame) -> ScoredRelation:
    """A relation from a frame: `docno`, each once, and `score`; the order of the rows does not count.

    Raises:
        BindingError: `bad_operand`, for missing columns; `bad_docno`, `duplicate_docno`, `non_finite`.

    Example:
        >>> from_frame(pd.DataFrame({"docno": ["d1", "d2"], "score": [1.0, 2.0]})).to_dict()
        {'d2': 2.0, 'd1': 1.0}
    """
    docnos, scores = frame_columns(frame, ("docno", "score"), "the frame")
    names = plain_docnos(docnos, "the frame")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        message = f"the frame has the docno {twice!r} more than once"
        raise BindingError("duplicate_docno", message, "of several queries, take the rows of one qid")
    pairs = zip(names, scores, strict=True)
    return ScoredRelation.of({d: finite_number(score, f"the score of {d!r} in the frame") for d, score in pairs})


def to_arrow(relation: ScoredRelation) -> pa.Table:
    """An Arrow table in rank order: `docno` (string), `score` (float64), `rank` (int64, from 0).

    Example:
        >>> to_arrow(ScoredRelation.of({"d1": 1.0})).to_pydict()
        {'docno': ['d1'], 'score': [1.0], 'rank': [0]}
    """
    import pyarrow as pa

    return pa.table(
        {
            "docno": pa.array(relation.docnos.tolist(), pa.string()),
            "score": pa.array(relation.scores, pa.float64()),
            "rank": pa.array(np.arange(len(relation)), pa.int64()),
        }
    )


def from_arrow(table: pa.Table) -> ScoredRelation:
    """A relation from an Arrow table: `docno`, each once, and `score`; the order of the rows does not count.

    Raises:
        BindingError: as `from_frame`.

    Example:
        >>> from_arrow(to_arrow(ScoredRelation.of({"d1": 1.0}))).to_dict()
        {'d1': 1.0}
    """
    missing = [name for name in ("docno", "score") if name not in table.column_names]
    if missing:
        raise BindingError("bad_operand", f"the table has no column {', '.join(missing)}", "docno, score")
    return from_frame(pd.DataFrame({name: table.column(name).to_pylist() for name in ("docno", "score")}))


def join(
    relation: ScoredRelation, collection: Collection, columns: Iterable[str] | str, *, topic: Topic | None = None
) -> pd.DataFrame:
    """A relation with the metadata of its records.

    Args:
        relation: of records of the collection.
        collection: has the metadata.
        columns: names of columns, relations and masks, or of texts that the collection stores; of two that are called
            alike, the operand.
        topic: the query that the relation is of: its qid and text come first.

    Returns:
        In rank order `[qid, query,] docno, score, rank`, then for each text column text (missing without a value), for
        each date column datetime64 (NaT without), for each relation float64 (NaN without a score), for each mask bool,
        for each stored text text (empty without).

    Raises:
        BindingError: `unknown_name`; `bad_operand`, for an operand that has no one value a record; `duplicate_name`,
            for one that is called as a column of the result is; `unknown_docno`.

    Example:
        >>> c = Collection(["d1", "d2"]).bind(year={"d1": 1961.0}, m={"d2"})
        >>> join(ScoredRelation.of({"d1": 1.0, "d2": 2.0}), c, ["year", "m"])
          docno  score  rank    year      m
        0    d2    2.0     0     NaN   True
        1    d1    1.0     1  1961.0  False
    """
    frame = relation.to_frame() if topic is None else relation.to_frame(topic.qid, topic.query)
    scope = collection.at(topic)
    positions = _positions(relation, collection)
    for name in [columns] if isinstance(columns, str) else columns:
        if name in frame.columns or name in _OWN:
            message = f"{name!r} is a column of the result already"
            raise BindingError("duplicate_name", message, "name each column once, and none docno, score or rank")
        operand = scope.operands.get(name) if name in collection else None
        if operand is not None:
            frame[name] = _metadata(name, operand, positions)
        elif name in collection:
            raise BindingError("bad_operand", f"{name} differs from query to query", "run the program for a query")
        else:
            frame[name] = _stored(name, frame, collection)
    return frame


def register_duckdb(connection: duckdb.DuckDBPyConnection, name: str, relation: ScoredRelation) -> None:
    """Make a relation a table of a DuckDB connection: `SELECT … FROM r1 JOIN docs USING (docno) ORDER BY rank`.

    Args:
        connection: to register it with.
        name: of the table; one that was registered before is replaced.
        relation: in rank order `docno`, `score`, `rank`.
    """
    connection.register(name, to_arrow(relation))


def register_sqlite(connection: apsw.Connection, run: Run, *, name: str = FUNCTION) -> None:
    """Make programs tables of a SQLite connection, as a table-valued function.

    `SELECT d.title, a.score FROM algebra('top(10, …)') a JOIN docs d USING (docno) ORDER BY a.rank` runs the program
    and joins its result; the program may come from a table as well: `FROM programs p, algebra(p.text) a`. A second
    argument is the query's text: `algebra('top(10, E @ query)', 'wave guide')`. Columns are `docno`, `score` and
    `rank`, from 0. What is wrong with a program is raised as itself, not as an error of SQLite's.

    Args:
        connection: of apsw, to register it with; as long as it is open it holds `run`.
        run: from a program's text and a query's text, or None, to a relation.
        name: of the function.

    Raises:
        AlgebraError: `bad_argument`, where a statement gives the function no text.

    Example:
        >>> import apsw
        >>> c = Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 2.0})
        >>> connection = apsw.Connection(":memory:")
        >>> register_sqlite(connection, lambda program, query: Program(program, c).run(query))
        >>> connection.execute("SELECT docno, score FROM algebra('2 S') ORDER BY rank").fetchall()
        [('d2', 4.0), ('d1', 2.0)]
    """
    connection.create_module(
        name,
        AlgebraModule(run, name),  # type: ignore[arg-type]
        use_bestindex_object=True,
        eponymous=True,
        eponymous_only=True,
        read_only=True,
    )


def _positions(relation: ScoredRelation, collection: Collection) -> Any:
    docnos = relation.docnos.tolist()
    # Checks that they are the collection's, and gives their positions in ascending order.
    ascending = collection.mask(docnos, "the relation").positions
    order = np.empty(len(docnos), dtype=np.int64)
    order[sorted(range(len(docnos)), key=docnos.__getitem__)] = ascending
    return order


def _metadata(name: str, operand: object, positions: Any) -> Any:
    if not isinstance(operand, RelationOperand | MaskOperand | ColumnOperand):
        kind = getattr(getattr(operand, "binding", None), "type", type(operand).__name__)
        message = f"{name} is a {kind}, which has no one value a record"
        raise BindingError("bad_operand", message, "columns, relations and masks can be joined")
    known = operand.positions
    places = np.minimum(np.searchsorted(known, positions), max(len(known) - 1, 0))
    there = known[places] == positions if len(known) else np.zeros(len(positions), dtype=bool)
    if isinstance(operand, MaskOperand):
        return there
    if isinstance(operand, RelationOperand):
        scores = np.full(len(positions), np.nan)
        scores[there] = operand.scores[places[there]]
        return scores
    values = [operand.values[place] if here else None for place, here in zip(places, there, strict=True)]
    if operand.kind is Kind.DATE_COLUMN:
        return pd.Series(np.array(["NaT" if day is None else day for day in values], dtype="datetime64[s]"))
    return pd.Series(values, dtype="object" if None in values else "str")


def _stored(name: str, frame: pd.DataFrame, collection: Collection) -> Any:
    try:
        loader = collection.text_loader(name)
    except AlgebraError:
        raise unknown_name(name, collection.operands) from None
    return loader(frame[["docno"]])[name].array
