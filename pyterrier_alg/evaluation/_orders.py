"""A run with its judgements, in the orders of its tied records that bounds come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.evaluation.measures import Key, worth
from pyterrier_alg.evaluation.strict import strict_scores
from pyterrier_alg.transformers.frames import Places, Rows, Scores, Topics

#: The orders that a run is evaluated in: worst, ours, that of the evaluation itself, best.
COLUMNS = ("least", "value", "evaluated", "greatest")


@dataclass(frozen=True, eq=False)
class Judged:
    """The records of a run's judged queries.

    Attributes:
        labels: by qid, then docno.
        numbers: of each docno digits, which sort as the docnos do. Some of the programs behind ir_measures read files,
            with white space between the fields, and digits for a qid.
        codes: of each row, the place of its qid among the judged ones.
        rows: as the run has them.
        tying: the scores by which records tie.
        grades: of each row; NaN where it is not judged.
    """

    labels: Mapping[str, Mapping[str, int]]
    numbers: Mapping[str, str]
    codes: Places
    rows: Rows
    tying: Scores
    grades: npt.NDArray[np.float64]

    @classmethod
    def of(cls, run: pd.DataFrame, qrels: pd.DataFrame, precision: str) -> Judged:
        """Read both frames.

        Args:
            run: `qid`, `docno`, `score`.
            qrels: `qid`, `docno`, `label`.
            precision: `"float64"` or `"float32"`, at which scores tie.

        Raises:
            AlgebraError: as `tie_bounds`.
        """
        labels = labels_of(qrels)
        _refuse_no_frame(run, "the run")
        Topics.of(run)
        rows = Rows.of(run, "the run")
        places = {qid: place for place, qid in enumerate(labels)}
        rows = rows.take(np.array([qid in places for qid in rows.qids], dtype=bool))
        docnos = sorted({*rows.docnos, *(docno for judged in labels.values() for docno in judged)})
        width = len(str(len(docnos)))
        tying = rows.scores
        if precision == "float32":
            with np.errstate(over="ignore"):
                tying = tying.astype(np.float32).astype(np.float64)
        return cls(
            labels,
            {docno: str(place).zfill(width) for place, docno in enumerate(docnos)},
            np.array([places[qid] for qid in rows.qids], dtype=np.intp),
            rows,
            tying,
            np.array([labels[qid].get(docno, np.nan) for qid, docno in rows.keys], dtype=np.float64),
        )

    def tied(self) -> dict[str, int]:
        """Of each judged query, how many of its records share their score with another."""
        frame = pd.DataFrame({"code": self.codes, "score": self.tying})
        counts = np.bincount(self.codes[frame.duplicated(keep=False).to_numpy()], minlength=len(self.labels))
        return dict(zip(self.labels, counts.tolist(), strict=True))

    def ordered_by(self, values: npt.NDArray[np.float64]) -> Scores:
        """Strict scores for the order in which tied records stand by these values, larger first."""
        order = np.lexsort((-values, -self.tying))
        places = np.empty(len(order))
        places[order] = np.arange(len(order), 0, -1)
        return strict_scores(self.codes, places, self.rows.docnos)

    def run(self, scores: Scores) -> dict[str, dict[str, float]]:
        """As ir_measures takes it, under digits for qids and docnos."""
        found: dict[str, dict[str, float]] = {}
        for code, docno, score in zip(self.codes.tolist(), self.rows.docnos, scores.tolist(), strict=True):
            found.setdefault(str(code), {})[self.numbers[docno]] = score
        return found

    def qrels(self) -> dict[str, dict[str, int]]:
        """As ir_measures takes them, under the same digits."""
        return {
            str(code): {self.numbers[docno]: label for docno, label in judged.items()}
            for code, judged in enumerate(self.labels.values())
        }


def evaluations(measures: list[Any], judged: Judged, key: Key) -> dict[str, dict[tuple[str, Any], float]]:
    """The values of measures that share the best and the worst order of ties.

    Args:
        measures: of ir_measures.
        judged: the run.
        key: of these measures.

    Returns:
        By column, then by qid and measure.

    Raises:
        AlgebraError: `unsupported`, where no program that ir_measures finds here computes a measure.
    """
    import ir_measures

    value = worth(key, judged.grades)
    orders = {
        "least": judged.ordered_by(-value),
        "value": strict_scores(judged.codes, judged.rows.scores, judged.rows.docnos),
        "evaluated": judged.rows.scores,
        "greatest": judged.ordered_by(value),
    }
    try:
        evaluator = ir_measures.evaluator(measures, judged.qrels())
        found = {column: list(evaluator.iter_calc(judged.run(scores))) for column, scores in orders.items()}
    except (ValueError, RuntimeError, CalledProcessError) as error:
        message = f"ir_measures cannot compute {', '.join(map(str, measures))} here: {error}"
        raise AlgebraError("unsupported", message) from error
    qids = list(judged.labels)
    return {
        column: {(qids[int(metric.query_id)], metric.measure): float(metric.value) for metric in metrics}
        for column, metrics in found.items()
    }


#: trec_eval counts a query's labels in an array as long as the largest of them.
_LARGEST = 2**16


def labels_of(qrels: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Labels by qid and docno, in the order of the frame.

    trec_eval counts a query's labels in an array as long as the largest label plus one, and does not check that this
    is something: where all are negative its nDCG never ends, or ends the process.

    Args:
        qrels: `qid`, `docno`, `label`.

    Raises:
        AlgebraError: `bad_argument`, `kind`, `bad_qid`, `bad_docno`, `duplicate_docno`, `non_finite`; `bad_qrels`,
            naming the first query or document whose labels cannot be counted.
    """
    _refuse_no_frame(qrels, "the qrels")
    missing = [name for name in ("qid", "docno", "label") if name not in qrels.columns]
    if missing:
        raise AlgebraError("kind", f"the qrels have no column {missing[0]!r}", "qrels are qid, docno, label")
    rows = Rows.of(qrels[["qid", "docno"]].assign(score=qrels["label"]), "the qrels")
    if not len(rows.qids):
        raise AlgebraError("bad_qrels", "the qrels are empty: no query is judged")
    judged: dict[str, dict[str, int]] = {}
    for qid, docno, label in zip(rows.qids, rows.docnos, rows.scores.tolist(), strict=True):
        if not label.is_integer() or abs(label) > _LARGEST:
            wanted = f"labels are whole numbers, at most {_LARGEST:,}"
            raise AlgebraError("bad_qrels", f"{wanted}; that of {docno!r} (qid {qid!r}) is {label!r}")
        judged.setdefault(qid, {})[docno] = int(label)
    for qid, labels in judged.items():
        if max(labels.values()) < 0:
            message = f"all labels of qid {qid!r} are below 0, on which trec_eval's nDCG never ends"
            raise AlgebraError("bad_qrels", message, "leave the query's judgements out, or make one of the labels 0")
    return judged


def plain_qrels(qrels: pd.DataFrame) -> pd.DataFrame:
    """The same judgements in the types that evaluation takes: `qid`, `docno`, `label` as int64.

    Raises:
        AlgebraError: as `labels_of`.
    """
    rows = [(qid, docno, label) for qid, judged in labels_of(qrels).items() for docno, label in judged.items()]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "label"])
    return frame.astype({"qid": "str", "docno": "str", "label": "int64"})


def _refuse_no_frame(frame: object, what: str) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise AlgebraError("bad_argument", f"{what} is a frame, not a {type(frame).__name__}")
