"""Queries: one a row of a topics frame, or one a qid of a results frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.collection.frames import check_qid, frame_columns, grouped
from pyterrier_alg.collection.operands import Rows
from pyterrier_alg.collection.records import Records, is_text


@dataclass(frozen=True, eq=False)
class Topic:
    """One query, as a topics or results frame has it.

    Attributes:
        qid: its id.
        query: its text, which programs name `query`; None where there is none.
        vector: which programs name `query_vec`.
        input: docno to score, the relation that came in; which programs name `input`.
        pool: the docnos that came in, which a program re-ranks; None for those of `input`, or where none came in.
    """

    qid: str
    query: str | None = None
    vector: Rows | None = None
    input: Mapping[str, float] | None = None
    pool: Iterable[str] | None = None

    def __post_init__(self) -> None:
        """Read the pool once: it may be an iterator. What is no pool is refused where it is used."""
        if isinstance(self.pool, Iterable) and not isinstance(self.pool, str):
            object.__setattr__(self, "pool", tuple(self.pool))

    @property
    def docnos(self) -> list[str] | None:
        """The docnos that came in; None where the query came alone."""
        given = self.input if self.pool is None else self.pool
        return None if given is None else list(given)


def check_topic(topic: object) -> str:
    """The qid of a topic that people may have made by hand.

    Raises:
        BindingError: `bad_operand`, `bad_qid`.
    """
    if not isinstance(topic, Topic):
        message = f"a query is a Topic, not a {type(topic).__name__}"
        raise BindingError("bad_operand", message, 'Topic("1", "words")')
    qid = check_qid(topic.qid, "the topic")
    if topic.query is not None:
        _checked_query(topic.query, qid)
    given: object = topic.input
    if given is not None and not isinstance(given, Mapping):
        raise BindingError("bad_operand", f"the input of qid {qid!r} is a {type(given).__name__}", "a dict of scores")
    pool: object = topic.pool
    if pool is not None and (isinstance(pool, str) or not isinstance(pool, Iterable)):
        raise BindingError("bad_operand", f"the pool of qid {qid!r} is a {type(pool).__name__}", "a list of docnos")
    return qid


def read_topics(frame: pd.DataFrame, records: Records) -> list[Topic]:
    """The queries of a frame, in its order.

    Args:
        frame: topics (`qid`, and `query`, `query_vec` where it has them), or results (with `docno` too, and maybe
            `score`).
        records: the collection's, to which results must belong.

    Raises:
        BindingError: `bad_operand`, `bad_qid`, `duplicate_qid`, `duplicate_docno`, `unknown_docno`.
    """
    (qids,) = frame_columns(frame, ("qid",), "the topics")
    groups = grouped(qids, range(len(qids)), "the topics")
    results = "docno" in frame.columns
    if not results and len(groups) < len(qids):
        twice = next(qid for qid, rows in groups.items() if len(rows) > 1)
        raise BindingError("duplicate_qid", f"the topics have the qid {twice!r} more than once")
    names = [name for name in ("query", "query_vec", "docno", "score") if name in frame.columns]
    columns = dict(zip(names, frame_columns(frame, names, "the topics"), strict=True))
    return [_topic(qid, rows, columns, records if results else None) for qid, rows in groups.items()]


def _topic(qid: str, rows: Sequence[int], columns: Mapping[str, Sequence[Any]], records: Records | None) -> Topic:
    def first(name: str) -> Any:
        # Operators of PyTerrier leave query columns empty on rows that only their right side has.
        values: list[Any] = [columns[name][row] for row in rows] if name in columns else []
        return next((value for value in values if not is_missing(value)), None)

    query = first("query")
    if query is not None:
        query = _checked_query(query, qid)
    if records is None:
        return Topic(qid, query, first("query_vec"))
    docnos = [columns["docno"][row] for row in rows]
    records.positions(docnos, f"input (qid {qid})")
    scored = "score" in columns
    scores = dict(zip(docnos, (columns["score"][row] for row in rows), strict=True)) if scored else None
    return Topic(qid, query, first("query_vec"), scores, docnos)


def _checked_query(query: object, qid: str) -> str:
    if not is_text(query):
        what = "no valid text" if isinstance(query, str) else f"a {type(query).__name__}, not a text"
        raise BindingError("bad_operand", f"the query of qid {qid!r} is {what}")
    return str(query)
