"""One trial of one law: runs programs, holds results against each other, and remembers what it ran."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.reading import as_formula
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.laws._cases import Case, draw_case
from pyterrier_alg.relation import ScoredRelation


class Broken(Exception):  # noqa: N818 - a finding, no error
    """The law does not hold here; the message says what differs."""


class Inapplicable(Exception):  # noqa: N818 - a finding, no error
    """The law says nothing of this engine; the message says why."""


@dataclass
class Trial:
    """What a law works with.

    Attributes:
        engine: what is tried.
        random: draws what the law needs; the same seed draws the same.
        case: a small collection.
        programs: the texts that were run so far.
        cases: the collections that they were run over, other than `case`.
    """

    engine: Engine
    random: Random
    case: Case
    programs: dict[str, None] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    @classmethod
    def of(cls, engine: Engine, seed: str, size: int, without: Iterable[str] = ()) -> Trial:
        """A trial over at most `size` records; its collection is the seed's, without some records."""
        case = draw_case(Random(f"{seed} case"), size)
        dropped = set(without)
        return cls(engine, Random(seed), case.only([docno for docno in case.docnos if docno not in dropped]))

    def run(self, program: str | Formula, case: Case | None = None, engine: Engine | None = None) -> ScoredRelation:
        """Run a program over the trial's collection, or over another one.

        Raises:
            Broken: where the engine gives no result in rank order.
        """
        formula = as_formula(program)
        self.programs[formula.source or formula.ascii] = None
        if case is not None and case not in self.cases:
            self.cases.append(case)
        found = (engine or self.engine).run(formula, (case or self.case).collection().at())
        self.in_rank_order(found)
        return found

    def in_rank_order(self, found: ScoredRelation) -> None:
        """Refuse a result that does not stand by score descending, then docno.

        Raises:
            Broken: see above.
        """
        given = list(found)
        if given != sorted(given, key=lambda pair: (-pair[1], pair[0])):
            raise Broken(f"the result is not in rank order: {_list(found)}")

    def same(self, wanted: ScoredRelation, found: ScoredRelation, *, cut: bool = False, slack: float = 0.0) -> None:
        """Hold two results to be the same: bit for bit, or within what the two state their errors to be.

        Args:
            wanted: one.
            found: the other.
            cut: whether the programs end in a selection, so that errors may change who is in.
            slack: how far the two may lie apart by the law itself.

        Raises:
            Broken: where they are not.
        """
        allowed = wanted.error_bound + found.error_bound + slack
        if allowed == 0.0:
            if list(wanted) != list(found):
                raise Broken(f"{_list(found)}, not {_list(wanted)}")
            return
        one, other = wanted.to_dict(), found.to_dict()
        if len(one) != len(other) or not (cut or one.keys() == other.keys()):
            raise Broken(f"the records are {list(other)}, not {list(one)}")
        pairs = [(one[docno], other[docno], docno) for docno in one if docno in other]
        # The i-th largest of some scores moves no further than the scores do.
        pairs += [(a, b, f"rank {i}") for i, (a, b) in enumerate(zip(one.values(), other.values(), strict=True))]
        for a, b, where in pairs:
            if not abs(a - b) <= allowed:
                raise Broken(f"{where}: {b!r} is {abs(a - b):.3g} from {a!r}, which is more than {allowed:.3g}")


@dataclass(frozen=True)
class Counterexample:
    """Where a law does not hold.

    Attributes:
        programs: what was run.
        data: Python that binds the collections that it was run over.
        message: what differs.
        seed: draws it again.
    """

    programs: tuple[str, ...]
    data: str
    message: str
    seed: str

    def __str__(self) -> str:
        """All of it, to be pasted into a session."""
        return "\n".join([f"{self.message}", *(f"program: {program}" for program in self.programs), self.data])


def counterexample(trial: Trial, seed: str, fault: Exception) -> Counterexample:
    """What a failed trial shows."""
    programs = tuple(trial.programs)
    shown = dict.fromkeys(case.shown(programs) for case in trial.cases or [trial.case])
    message = str(fault) if isinstance(fault, Broken) else f"{type(fault).__name__}: {fault}"
    if isinstance(fault, AlgebraError):
        message = f"an error: {fault.code}: {fault.message}"
    return Counterexample(programs, "\n".join(shown), message, seed)


def _list(found: ScoredRelation) -> str:
    return "[" + ", ".join(f"{docno!r}: {score!r}" for docno, score in found) + "]"
