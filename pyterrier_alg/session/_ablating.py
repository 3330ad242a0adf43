"""A program without one of its terms, run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Expression
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.engines.definition import outermost_selection
from pyterrier_alg.session._accounts import Reckoning, Term
from pyterrier_alg.session._situation import Place, Situation


@dataclass(frozen=True)
class Without:
    """The program without one term, run.

    Attributes:
        rank: the record's rank from 0 then, also below the program's last cut; None where it has none.
        is_kept: whether it is in the result.
        fault: the code of the error that the program ends in; empty where it runs.
    """

    rank: int | None
    is_kept: bool
    fault: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"rank": self.rank, "is_kept": self.is_kept, "fault": self.fault or None}

    def __str__(self) -> str:
        """In few words."""
        if self.fault:
            return f"{self.fault} error"
        if self.rank is None:
            return "absent"
        return f"{self.rank:,}" if self.is_kept else f"{self.rank:,}, cut"


def ablated(situation: Situation, docno: str, found: Sequence[Reckoning], most: int) -> dict[Place, Without]:
    """The program without each term of the first account that has some to be left out, by the term's place."""
    terms = next(filter(None, ([term for term in account.terms if term.summand] for account in found)), [])
    terms.sort(key=lambda term: -abs(term.contribution or Fraction(0)))
    return {term.summand: _without(situation, docno, term) for term in terms[:most] if term.summand is not None}


def _without(situation: Situation, docno: str, term: Term) -> Without:
    place = term.summand
    around = None if place is None else place.parent
    if around is None:
        return Without(None, False)
    parent, index = around
    try:
        formula = situation.edited(parent, lambda written: _left(written, index))
        result = situation.run(formula)
        if docno in result:
            return Without(result.docnos.tolist().index(docno), True)
        cut = outermost_selection(formula)
        whole = result if cut is None else situation.run(Formula(formula.steps, cut[1]))
        return Without(whole.docnos.tolist().index(docno) if docno in whole else None, False)
    except AlgebraError as error:
        return Without(None, False, error.code)


def _left(node: Expression, index: int) -> Expression:
    """An expression without one of its parts."""
    if not isinstance(node, Apply):
        return node
    others = tuple(part for place, part in enumerate(node.arguments) if place != index)
    if node.operator in ("+", "-"):
        return Apply("neg", others) if node.operator == "-" and index == 0 else others[0]
    return Apply(node.operator, others, node.options)
