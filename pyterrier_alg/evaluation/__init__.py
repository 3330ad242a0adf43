"""Evaluation that does not hang on ties: stand-in scores, run files, bounds over the orders of ties, experiments."""

from pyterrier_alg.evaluation.experiments import experiment
from pyterrier_alg.evaluation.measures import SUPPORTED
from pyterrier_alg.evaluation.runs import WrittenRun, read_run, run_lines, write_run
from pyterrier_alg.evaluation.strict import TRUE_SCORE, StrictScores
from pyterrier_alg.evaluation.ties import TieBounds, tie_bounds

__all__ = [
    "SUPPORTED",
    "TRUE_SCORE",
    "StrictScores",
    "TieBounds",
    "WrittenRun",
    "experiment",
    "read_run",
    "run_lines",
    "tie_bounds",
    "write_run",
]
