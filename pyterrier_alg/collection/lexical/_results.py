"""What a search gives: docnos with scores, best first, in the algebra's total order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.collection.signed_hash import tokens

#: How many results a retriever gives where nothing else is said.
DEPTH = 1000


def bag(text: str) -> str:
    """A text's tokens in alphabetical order: the same for every text of the same words.

    Example:
        >>> bag("Wave GUIDES, wave")
        'guides wave wave'
    """
    return " ".join(sorted(tokens(text)))


def depth_of(value: object, what: str = "a default depth") -> int:
    """A depth as Python has numbers.

    Raises:
        BindingError: `bad_operand`, where it is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise BindingError("bad_operand", f"{what} is a whole number from 1, not {value!r}")
    return int(value)


def failed(identity: str, asked: str, error: Exception) -> AlgebraError:
    """The error for a search that raised another one."""
    shown = asked if len(asked) <= 60 else f"{asked[:57]}..."
    message = f"{identity} cannot search {shown!r}: {type(error).__name__}: {error}"
    return AlgebraError("failed_search", message)


def best_of_pairs(found: object, depth: int, identity: str) -> dict[str, float]:
    """The first results of a mapping docno to score, as `best`.

    Raises:
        AlgebraError: `bad_results`, as `best`; also for what is no mapping.
    """
    if not isinstance(found, Mapping):
        raise AlgebraError("bad_results", f"{identity} gave a {type(found).__name__}, not docnos with scores")
    return _ranked(list(found), list(found.values()), depth, identity)


def best(results: pd.DataFrame, depth: int, identity: str) -> dict[str, float]:
    """The first results of one query, by score descending, then docno by code point.

    Args:
        results: `docno` and `score`, in any order.
        depth: how many at most.
        identity: of the retriever; errors call it so.

    Raises:
        AlgebraError: `bad_results`, where a docno comes twice or is no string, or a score is NaN or no number.

    Example:
        >>> import pandas as pd
        >>> best(pd.DataFrame({"docno": ["b", "c", "a"], "score": [2, 3, 2]}), 2, "a retriever")
        {'c': 3.0, 'a': 2.0}
    """
    docnos, scores = _columns(results, ("docno", "score"), identity)
    return _ranked(docnos, scores, depth, identity)


def best_of_each(results: pd.DataFrame, qids: Sequence[str], depth: int, identity: str) -> list[dict[str, float]]:
    """The first results of each of several queries, as `best`.

    Args:
        results: `qid`, `docno` and `score`, in any order.
        qids: of the queries; one that has no row has no results.
        depth: how many at most for each.
        identity: of the retriever; errors call it so.

    Raises:
        AlgebraError: `bad_results`; also where a row belongs to none of the queries.
    """
    found: dict[Any, tuple[list[Any], list[Any]]] = {qid: ([], []) for qid in qids}
    for qid, docno, score in zip(*_columns(results, ("qid", "docno", "score"), identity), strict=True):
        if not isinstance(qid, str) or qid not in found:
            raise AlgebraError("bad_results", f"{identity} gave a row of qid {qid!r}, which was not asked for")
        found[qid][0].append(docno)
        found[qid][1].append(score)
    return [_ranked(*found[qid], depth, identity) for qid in qids]


def _columns(results: pd.DataFrame, wanted: Iterable[str], identity: str) -> list[list[Any]]:
    if not isinstance(results, pd.DataFrame):
        raise AlgebraError("bad_results", f"{identity} gave a {type(results).__name__}, not a frame of results")
    missing = [name for name in wanted if name not in results.columns]
    if missing:
        have = ", ".join(map(str, results.columns)) or "none"
        raise AlgebraError("bad_results", f"{identity} gave no column {', '.join(missing)}; its columns are {have}")
    columns = {name: results[name] for name in wanted}
    for name, column in columns.items():
        if not isinstance(column, pd.Series):
            raise AlgebraError("bad_results", f"{identity} gave more than one column {name}")
    return [column.tolist() for column in columns.values()]


def _ranked(docnos: Sequence[Any], given: Sequence[Any], depth: int, identity: str) -> dict[str, float]:
    if not all(isinstance(docno, str) for docno in docnos) or len(set(docnos)) < len(docnos):
        raise AlgebraError("bad_results", f"{identity} gave docnos that are no strings, or one of them twice")
    try:
        scores = [float(score) for score in given]
    except (OverflowError, TypeError, ValueError) as error:
        raise AlgebraError("bad_results", f"{identity} gave a score that is no number, or too large") from error
    if any(isinstance(score, str | bytes) for score in given):
        # Python reads numbers in texts; whoever compares scores does not.
        raise AlgebraError("bad_results", f"{identity} gave a score that is a text, and no number")
    if any(score != score for score in scores):
        raise AlgebraError("bad_results", f"{identity} gave a score that is NaN")
    return dict(sorted(zip(docnos, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))[:depth])
