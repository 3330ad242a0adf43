"""TREC run files that every reader orders as we do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.evaluation.strict import strict_scores
from pyterrier_alg.transformers.frames import Places, Rows, Scores, Topics, by_query, rank_order, results

ScoreForm = Literal["auto", "true", "stand-in"]


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """What `write_run` wrote.

    Attributes:
        path: the file.
        queries: how many it has.
        records: how many lines.
        changed: the qids that have scores which are not the true ones, in the order of the file.
    """

    path: Path
    queries: int
    records: int
    changed: tuple[str, ...]

    def __repr__(self) -> str:
        some = "true scores" + (f", some lowered for {len(self.changed):,}" if self.changed else "")
        return f"<run {self.path.name}: {self.records:,} records of {self.queries:,} queries, {some}>"


def write_run(
    run: pd.DataFrame, path: Path | str, name: str = "pyterrier_alg", *, scores: ScoreForm = "auto"
) -> WrittenRun:
    """Write a results frame as a TREC run file, so that a reader who sorts by score gets our rank order.

    Each line is `qid Q0 docno rank score name`: queries as they come, records by score descending, then docno by code
    point, ranks from 0. The scores of a query are *safe* where they still decrease strictly when they are read as
    float32, as trec_eval does; then no reader has a tie to break. Scores are written with the digits that give the same
    float64 back. The file is written beside its place and renamed, so that a run that is not complete is never there.

    Args:
        run: `qid`, `docno`, `score`.
        path: ends in `.gz` where it is to be compressed; a file that is there is replaced.
        name: of the run, its last column.
        scores: `"auto"` writes true scores, but for one that is not below the score before it as float32, which is
            lowered to the next float32 below that; `"true"` refuses a run that is not safe; `"stand-in"` writes n for
            the first of a query's n records, 1 for the last, as `auto` does for scores beyond float32.

    Returns:
        How much was written, and which queries have scores that are not the true ones.

    Raises:
        AlgebraError: `bad_name`, `bad_qid`, `bad_docno` for what is empty or has white space, which the format cannot
            hold; `unsafe_scores`; `bad_argument`; as for a stage: `kind`, `non_finite`, `duplicate_docno`.
        DataError: `unwritable`.

    Example:
        >>> run = pd.DataFrame({"qid": ["1", "1"], "docno": ["b", "a"], "score": [0.5, 0.5]})
        >>> write_run(run, "/tmp/tied.run")  # doctest: +SKIP
        <run tied.run: 2 records of 1 queries, true scores, some lowered for 1>
    """
    lines, changed = run_lines(run, name, scores=scores)
    try:
        with pt.io.finalized_autoopen(os.path.abspath(path), "b") as stream:
            stream.writelines(f"{line}\n".encode() for line in lines)
    except OSError as error:
        raise DataError("unwritable", f"cannot write {path}: {error.strerror or error}") from error
    return WrittenRun(Path(path), run["qid"].nunique(), len(lines), changed)


def run_lines(
    run: pd.DataFrame, name: str = "pyterrier_alg", *, scores: ScoreForm = "auto"
) -> tuple[list[str], tuple[str, ...]]:
    """The lines that `write_run` writes, and the qids that have scores which are not the true ones.

    Args:
        run: as `write_run`.
        name: as `write_run`.
        scores: as `write_run`.

    Raises:
        AlgebraError: as `write_run`.

    Example:
        >>> run = pd.DataFrame({"qid": ["1", "1"], "docno": ["b", "a"], "score": [0.5, 0.5]})
        >>> run_lines(run, "tied")
        (['1 Q0 a 0 0.5 tied', '1 Q0 b 1 0.4999999701976776 tied'], ('1',))
    """
    if scores not in get_args(ScoreForm):
        raise AlgebraError("bad_argument", f"scores is 'auto', 'true' or 'stand-in', not {scores!r}")
    given: object = run
    if not isinstance(given, pd.DataFrame):
        raise AlgebraError(
            "bad_argument", f"the run is a frame, not a {type(given).__name__}", "write_run(program(topics), …)"
        )
    topics, rows = Topics.of(run), Rows.of(run, "the run")
    _refuse_what_a_line_cannot_hold([name], "bad_name", "the name of the run")
    _refuse_what_a_line_cannot_hold(list(topics.places), "bad_qid", "a qid")
    _refuse_what_a_line_cannot_hold(rows.docnos, "bad_docno", "a docno")
    codes = topics.codes(rows.qids, "the run")
    order = rank_order(codes, rows.scores, rows.docnos)
    written, changed = _written_scores(rows, codes, order, scores)
    lines = [
        # Not NumPy's repr, which names its type.
        f"{rows.qids[row]} Q0 {rows.docnos[row]} {rank} {float(written[row])!r} {name}"
        for mine in by_query(codes[order])
        for rank, row in enumerate(order[mine].tolist())
    ]
    return lines, changed


def read_run(path: Path | str) -> pd.DataFrame:
    """A TREC run file as a results frame, every qid and docno as it is written.

    The ranks of the file are not looked at, as in evaluation. `pt.io.read_results` reads the files of `write_run` too,
    except that it takes docnos such as `NA` for missing values, and quotes for quotes.

    Args:
        path: the file; compressed where it ends in `.gz`.

    Returns:
        `qid`, `docno` (str), `score` (float64), `rank` (int64) from 0: queries in the file's order, records by score
        descending, then docno.

    Raises:
        DataError: `missing_data`; `corrupted_data` for a file that is no run.
        AlgebraError: `non_finite`, `duplicate_docno`.
    """
    import ir_measures

    try:
        with pt.io.autoopen(str(path), "rt", encoding="utf-8") as stream:
            lines = list(ir_measures.read_trec_run(stream))
    except OSError as error:
        raise DataError("missing_data", f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise DataError("corrupted_data", f"{path} is no TREC run: {error}") from error
    frame = pd.DataFrame(
        {
            "qid": pd.Series([line.query_id for line in lines], dtype="str"),
            "docno": pd.Series([line.doc_id for line in lines], dtype="str"),
            "score": np.array([line.score for line in lines], dtype=np.float64),
        }
    )
    topics, rows = Topics.of(frame), Rows.of(frame, str(path))
    return results(topics, topics.codes(rows.qids, str(path)), rows)


def _written_scores(rows: Rows, codes: Places, order: Places, form: str) -> tuple[Scores, tuple[str, ...]]:
    """The score that each row is written with, and the qids that have scores which are not the true ones."""
    stand_ins = strict_scores(codes, rows.scores, rows.docnos)
    written, changed = rows.scores.copy(), []
    with np.errstate(over="ignore"):
        single = rows.scores.astype(np.float32)
    for mine in by_query(codes[order]):
        own = order[mine]
        safe = bool((single[own][:-1] > single[own][1:]).all() and np.isfinite(single[own]).all())
        if form == "true" and not safe:
            message = f"the scores of qid {rows.qids[own[0]]!r} do not decrease strictly as float32"
            raise AlgebraError("unsafe_scores", message, 'scores="auto" lowers those that would tie')
        if form == "stand-in":
            written[own] = stand_ins[own]
        elif not safe:
            lowered = _lowered(rows.scores[own], single[own])
            written[own] = stand_ins[own] if lowered is None else lowered
        if form == "stand-in" or not safe:
            changed.append(rows.qids[own[0]])
    return written, tuple(changed)


def _lowered(scores: Scores, single: npt.NDArray[np.float32]) -> Scores | None:
    """Scores in rank order, each below the one before as float32, if need be by the least step; None beyond float32."""
    if not np.isfinite(single).all():
        return None
    lowered = scores.copy()
    for place in range(1, len(single)):
        if not single[place] < single[place - 1]:
            single[place] = np.nextafter(single[place - 1], np.float32(-np.inf), dtype=np.float32)
            lowered[place] = float(single[place])
    return lowered if np.isfinite(lowered).all() else None


def _refuse_what_a_line_cannot_hold(texts: list[str], code: str, what: str) -> None:
    for text in texts:
        if not isinstance(text, str) or text.split() != [text]:
            raise AlgebraError(code, f"{what} is one word in a run file, not {text!r}")
