"""Execution parity: the same programs by every implementation, and how far they agree."""

from pyterrier_alg.parity.comparing import TOLERANCE, Comparison, Flip, Outcome, classify, compare, flips
from pyterrier_alg.parity.experiment import Case, Report, run_parity
from pyterrier_alg.parity.faults import FAULTS, Fault
from pyterrier_alg.parity.implementations import IMPLEMENTATIONS, Implementation, register
from pyterrier_alg.parity.programs import PROGRAMS, ParityProgram
from pyterrier_alg.parity.reporting import to_dict, to_markdown, to_rich
from pyterrier_alg.parity.topics import DEMONSTRATION, TopicPair, all_pairs, topic_pair

__all__ = [
    "DEMONSTRATION",
    "FAULTS",
    "IMPLEMENTATIONS",
    "PROGRAMS",
    "TOLERANCE",
    "Case",
    "Comparison",
    "Fault",
    "Flip",
    "Implementation",
    "Outcome",
    "ParityProgram",
    "Report",
    "TopicPair",
    "all_pairs",
    "classify",
    "compare",
    "flips",
    "register",
    "run_parity",
    "to_dict",
    "to_markdown",
    "to_rich",
    "topic_pair",
]
