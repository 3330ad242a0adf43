"""The implementations that take part in the experiment: a list that grows by registering one more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyterrier_alg.algebra import Formula
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.parity.comparing import Outcome


@dataclass(frozen=True)
class Implementation:
    """One way to run the programs.

    Attributes:
        name: as tables and the command line call it.
        title: what it is, in a line.
        run: all queries of one formula, to an outcome each.
    """

    name: str
    title: str
    run: Callable[[Formula, Sequence[Scope]], list[Outcome]]


def certified(name: str, title: str, engine: Callable[[], Engine]) -> Implementation:
    """An implementation whose scores and order are the defined ones, so that its own order is the tie-safe one.

    Args:
        name: as tables call it.
        title: what it is.
        engine: makes the engine, once.

    Returns:
        The implementation.
    """

    def run(formula: Formula, scopes: Sequence[Scope]) -> list[Outcome]:
        return [
            Outcome(name, tuple(found), tuple(found.docnos.tolist()), found.error_bound, found.certified)
            for found in engine().run_all(formula, scopes)
        ]

    return Implementation(name, title, run)


def approximate(name: str, title: str, own: Callable[[], SqlEngine], exact: Callable[[], Engine]) -> Implementation:
    """An implementation with a raw order of its own beside the tie-safe one.

    Args:
        name: as tables call it.
        title: what it is.
        own: makes the engine that answers with its own arithmetic.
        exact: makes the same engine, told to give its candidates their defined scores.

    Returns:
        The implementation.
    """

    def run(formula: Formula, scopes: Sequence[Scope]) -> list[Outcome]:
        raw, safe = own(), exact()
        outcomes = []
        for scope in scopes:
            stated, ordered = raw.run(formula, scope), safe.run(formula, scope)
            rows = tuple(raw.raw_rows(formula, scope))
            outcomes.append(Outcome(name, rows, tuple(ordered.docnos.tolist()), stated.error_bound, ordered.certified))
        return outcomes

    return Implementation(name, title, run)
