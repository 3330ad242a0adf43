"""Between frames and the algebra: topics, results and masks read with care, and written in one order.

A frame that a stage gives has the query columns (`qid`, `query`, others as they came), `docno`, the other document
columns, and, unless it is a mask, `score` and `rank`. Queries stand in the order of the input, records in rank order
(those of a mask by docno).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError

Scores: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]

_TEXTS = ("qid", "query", "docno")


@dataclass(frozen=True, eq=False)
class Topics:
    """The queries of a frame.

    Attributes:
        frame: the query columns, one row a query, in order of appearance.
        places: of each qid, its row.
    """

    frame: pd.DataFrame
    places: dict[str, int]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Topics:
        """The queries of a topics frame or a results frame.

        Of several rows of a results frame the first that has a value counts: operators of PyTerrier leave query
        columns empty on some.

        Raises:
            AlgebraError: `bad_qid`; `duplicate_qid` for a topics frame that has a qid twice; `bad_operand` for columns
                that share a name, or whose name is no string.
        """
        refuse_columns(frame, "the input")
        qids = _strings(frame, "qid")
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(qid, len(places)) for qid in qids), np.intp, len(qids))
        if "docno" not in frame.columns and len(places) < len(qids):
            twice = next(qid for row, qid in enumerate(qids) if codes[row] != row)
            raise AlgebraError("duplicate_qid", f"the topics have the qid {twice!r} more than once")
        columns = {}
        for name in query_columns(frame):
            first = np.zeros(len(places), dtype=np.intp)
            for rows in (np.arange(len(codes)), np.flatnonzero(frame[name].notna().to_numpy())):
                first[codes[rows[::-1]]] = rows[::-1]
            columns[name] = _as_text(name, frame[name].iloc[first].reset_index(drop=True))
        return cls(pd.DataFrame(columns), places)

    def codes(self, qids: Sequence[str], who: object) -> Places:
        """The row of each qid.

        Raises:
            AlgebraError: `unknown_topic`, for a query that did not come in.
        """
        try:
            return np.fromiter((self.places[qid] for qid in qids), np.intp, len(qids))
        except KeyError as error:
            raise AlgebraError(
                "unknown_topic", f"{named(who)} gave rows for a qid that did not come in: {error}"
            ) from None


@dataclass(frozen=True, eq=False)
class Rows:
    """The records of a results or mask frame.

    Attributes:
        qids: one a row.
        docnos: one a row.
        scores: finite, 0 for -0; empty where the frame is read as a mask.
        extras: the other document columns.
    """

    qids: list[str]
    docnos: list[str]
    scores: Scores
    extras: pd.DataFrame

    @classmethod
    def of(cls, frame: pd.DataFrame, who: object, *, scored: bool = True) -> Rows:
        """Read a frame.

        Args:
            frame: has `qid` and `docno`, and `score` where it is to be scored.
            who: what messages say gave it.
            scored: whether its scores matter.

        Raises:
            AlgebraError: `kind` where columns lack, `bad_qid`, `bad_docno`, `bad_operand`, `non_finite`,
                `duplicate_docno`.
        """
        refuse_columns(frame, who)
        missing = [c for c in ("qid", "docno", *(["score"] if scored else [])) if c not in frame.columns]
        if missing:
            hint = "a mask has no scores" if missing == ["score"] else "a results frame is wanted"
            raise AlgebraError("kind", f"{named(who)} gives no column {missing[0]!r}, which is needed here", hint)
        qids, docnos = _strings(frame, "qid"), _strings(frame, "docno")
        if len(set(zip(qids, docnos, strict=True))) < len(qids):
            _refuse_duplicate(qids, docnos, who)
        scores = np.empty(0)
        if scored:
            try:
                scores = frame["score"].to_numpy(dtype=np.float64, na_value=np.nan) + 0.0
            except (TypeError, ValueError):
                raise AlgebraError("bad_operand", f"the scores of {named(who)} are not all numbers") from None
            refuse_non_finite(scores, qids, docnos, who)
        left = set(query_columns(frame)) | {"docno", "score", "rank"}
        extras = frame[[name for name in frame.columns if name not in left]].reset_index(drop=True)
        return cls(qids, docnos, scores, extras)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Qid and docno of each row."""
        return list(zip(self.qids, self.docnos, strict=True))

    def find(self, keys: Sequence[tuple[str, str]]) -> Places:
        """The row of each key, -1 where there is none."""
        rows = dict(zip(self.keys, range(len(self.qids)), strict=True))
        return np.fromiter((rows.get(key, -1) for key in keys), np.intp, len(keys))

    def take(self, rows: npt.NDArray[Any]) -> Rows:
        """Some of the rows; -1 stands for none."""
        indices = (np.flatnonzero(rows) if rows.dtype == bool else rows).tolist()
        scores = self.scores[indices] if len(self.scores) else self.scores
        extras = self.extras.iloc[indices].reset_index(drop=True)
        return Rows([self.qids[i] for i in indices], [self.docnos[i] for i in indices], scores, extras)


def refuse_columns(frame: pd.DataFrame, who: object) -> None:
    """Refuse a frame whose columns cannot be told apart by name.

    Raises:
        AlgebraError: `bad_operand`.
    """
    if frame.columns.is_unique and all(isinstance(name, str) for name in frame.columns):
        return
    odd = next((name for name in frame.columns if not isinstance(name, str)), None)
    if odd is not None:
        raise AlgebraError("bad_operand", f"{named(who)} has a column {odd!r}, whose name is no string")
    twice = frame.columns[frame.columns.duplicated()][0]
    raise AlgebraError("bad_operand", f"{named(who)} has more than one column {twice!r}")


def query_columns(frame: pd.DataFrame) -> list[str]:
    """The query columns in a fixed order: `qid`, `query`, then as the frame has them.

    Without documents every column is about the query; with them PyTerrier tells by the name.
    """
    found = set(pt.model.query_columns(frame) if "docno" in frame.columns else frame.columns)
    return [c for c in ("qid", "query") if c in found] + [
        c for c in frame.columns if c in found and c not in ("qid", "query")
    ]


def named(who: object) -> str:
    """A stage, or what else gave a frame, as messages name it: in one readable line."""
    text = who if isinstance(who, str) else repr(who)
    return text if len(text) <= 60 else text[:59] + "…"


def refuse_non_finite(scores: Scores, qids: Sequence[str], docnos: Sequence[str], who: object) -> Scores:
    """The scores, or an error that names the first record whose score is NaN or infinite.

    Raises:
        AlgebraError: `non_finite`.
    """
    sound = np.isfinite(scores)
    if not sound.all():
        row = int(np.argmin(sound))
        message = f"{named(who)} is {float(scores[row])} for {docnos[row]!r} (qid {qids[row]!r})"
        raise AlgebraError("non_finite", message)
    return scores


def by_query(codes: Places) -> list[Places]:
    """The rows of each query that has some, in order of codes."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []


def rank_order(codes: Places, scores: Scores, docnos: Sequence[str]) -> Places:
    """Rows by query, then score descending, then docno by code point.

    Args:
        codes: the query of each row.
        scores: finite.
        docnos: one a row.

    Returns:
        Indices of rows.
    """
    order = np.lexsort((-scores, codes))
    # Docnos are compared only where scores are equal: few comparisons of strings, mostly none.
    tied = (np.diff(codes[order]) == 0) & (scores[order[1:]] == scores[order[:-1]])
    edges = np.flatnonzero(np.diff(np.r_[False, tied, False].astype(np.int8)))
    for start, stop in edges.reshape(-1, 2).tolist():
        order[start : stop + 1] = sorted(order[start : stop + 1].tolist(), key=docnos.__getitem__)
    return order


def results(topics: Topics, codes: Places, rows: Rows) -> pd.DataFrame:
    """A results frame, ranked anew.

    Args:
        topics: whose query columns the rows get.
        codes: the topic of each row.
        rows: docnos, scores and other document columns; their qids are not looked at.
    """
    order = rank_order(codes, rows.scores, rows.docnos)
    sorted_codes = codes[order]
    starts = np.searchsorted(sorted_codes, sorted_codes)
    scored = {"score": rows.scores[order], "rank": (np.arange(len(order)) - starts).astype(np.int64)}
    return _frame(topics, codes, rows, order, scored)


def of_records(
    topics: Topics, qids: list[str], docnos: list[str], scores: Scores | None, wanted: Rows | None, who: object
) -> pd.DataFrame:
    """A results frame, or a mask where there are no scores, of records that came from no other frame.

    Args:
        topics: the queries.
        qids: one a record.
        docnos: one a record.
        scores: one a record, or None.
        wanted: the records that came in, whose document columns are carried; the others are left out.
        who: what messages say gave it.
    """
    rows = Rows(qids, docnos, np.empty(0) if scores is None else scores, pd.DataFrame(index=range(len(qids))))
    if wanted is not None:
        places = wanted.find(rows.keys)
        rows = replace(rows.take(places >= 0), extras=wanted.take(places[places >= 0]).extras)
    frame = mask if scores is None else results
    return frame(topics, topics.codes(rows.qids, who), rows)


def mask(topics: Topics, codes: Places, rows: Rows) -> pd.DataFrame:
    """A frame of eligible records, without scores, by query and docno."""
    order = rank_order(codes, np.zeros(len(codes)), rows.docnos)
    return _frame(topics, codes, rows, order, {})


def _frame(topics: Topics, codes: Places, rows: Rows, order: Places, scored: dict[str, Any]) -> pd.DataFrame:
    taken = topics.frame.iloc[codes[order]].reset_index(drop=True)
    # What PyTerrier will not take for a query column behind this stage stands behind the docno from the start.
    about = set(pt.model.query_columns(taken))
    columns: dict[str, Any] = {name: taken[name] for name in taken.columns if name in about}
    columns["docno"] = pd.Series([rows.docnos[i] for i in order.tolist()], dtype="str")
    columns |= {name: taken[name] for name in taken.columns if name not in {*columns, "score", "rank"}}
    extras = rows.extras.iloc[order].reset_index(drop=True)
    columns |= {name: extras[name] for name in extras.columns if name not in columns}
    return pd.DataFrame({**columns, **scored})


def _strings(frame: pd.DataFrame, name: str) -> list[str]:
    values: list[Any] = frame[name].tolist()
    for row, value in enumerate(values):
        if not isinstance(value, str):
            hint = f"ids are strings: frame[{name!r}].astype(str)"
            raise AlgebraError(f"bad_{name}", f"{name} {value!r} (row {row}) is no string", hint)
    return values


def _as_text(name: str, column: pd.Series[Any]) -> pd.Series[Any]:
    """A text column in the type that pandas gives text, also where an empty frame was built from names alone."""
    objects = name in _TEXTS and column.dtype == object
    return column.astype("str") if objects and all(isinstance(value, str) for value in column) else column


def _refuse_duplicate(qids: list[str], docnos: list[str], who: object) -> None:
    seen: set[tuple[str, str]] = set()
    for key in zip(qids, docnos, strict=True):
        if key in seen:
            raise AlgebraError("duplicate_docno", f"{named(who)} has {key[1]!r} more than once for qid {key[0]!r}")
        seen.add(key)
