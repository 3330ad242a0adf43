"""Negative controls: named faults, injected into one implementation, that the experiment must find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyterrier_alg.algebra import Formula, parse
from pyterrier_alg.parity.comparing import Outcome


@dataclass(frozen=True, slots=True)
class Fault:
    """A way in which an implementation can be wrong.

    Attributes:
        name: what the command line calls it.
        meaning: one line.
        in_program: what it makes of the formula before the implementation runs it.
        in_outcome: what it makes of the outcome.
    """

    name: str
    meaning: str
    in_program: Callable[[Formula], Formula] = lambda formula: formula
    in_outcome: Callable[[Outcome], Outcome] = lambda outcome: outcome


def _rewritten(old: str, new: str) -> Callable[[Formula], Formula]:
    """The formula with a piece of its canonical text exchanged, where it has that piece."""
    return lambda formula: parse(formula.ascii.replace(old, new))


def _score_off(outcome: Outcome) -> Outcome:
    """The first score moved by twice the tolerance; the order stays."""
    if not outcome.raw:
        return outcome
    (docno, score), *rest = outcome.raw
    return replace(outcome, raw=((docno, score + 2e-6), *rest))


def _swapped(outcome: Outcome) -> Outcome:
    """The neighbours with the widest gap exchanged, in both orders."""
    raw = list(outcome.raw)
    if len(raw) < 2:
        return outcome
    widest = max(range(len(raw) - 1), key=lambda i: raw[i][1] - raw[i + 1][1])
    raw[widest], raw[widest + 1] = raw[widest + 1], raw[widest]
    above, below = raw[widest + 1][0], raw[widest][0]
    exchanged = {above: below, below: above}
    return replace(outcome, raw=tuple(raw), order=tuple(exchanged.get(docno, docno) for docno in outcome.order))


#: Every fault by name.
FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        fault.name: fault
        for fault in (
            Fault("coefficient", "0.6 in the place of 0.5", in_program=_rewritten("0.5 *", "0.6 *")),
            Fault("mask", "the mask is not applied", in_program=_rewritten("m >> ", "")),
            Fault("weight", "the weight is missed", in_program=_rewritten("w * ", "")),
            Fault("score", "one score is off by 2e-6", in_outcome=_score_off),
            Fault("order", "two untied neighbours change places", in_outcome=_swapped),
        )
    }
)
