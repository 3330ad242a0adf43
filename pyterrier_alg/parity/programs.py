"""The three programs of the Algebraic Retrieval paper, and the operands that they run over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyterrier_alg.algebra import Formula, parse


@dataclass(frozen=True, slots=True)
class ParityProgram:
    """One program of the experiment.

    Attributes:
        name: what the paper calls it.
        text: in the paper's notation.
    """

    name: str
    text: str

    @property
    def formula(self) -> Formula:
        """The program as read."""
        return parse(self.text)


#: Coefficient, pool depth and k are the paper's; hash, dimensions and directions are our own choice.
PROGRAMS: Sequence[ParityProgram] = (
    ParityProgram("contrastive", "top(10, (E @ q1) − 0.5 (E @ q2))"),
    ParityProgram("pool re-ranking", "top(10, m ▷ (E @ q1))"),
    ParityProgram("full composition", "top(10, w ⊙ (m ▷ ((E @ q1) − 0.5 (E @ q2))))"),
)
