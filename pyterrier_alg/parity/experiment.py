"""The experiment: programs × topics × implementations, each pair of implementations compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

from pyterrier_alg.algebra import BindingError, Formula
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.engines.definition import DefinitionEngine, outermost_selection
from pyterrier_alg.parity.comparing import Comparison, Outcome, compare
from pyterrier_alg.parity.faults import FAULTS, Fault
from pyterrier_alg.parity.implementations import IMPLEMENTATIONS, Implementation
from pyterrier_alg.parity.programs import PROGRAMS, ParityProgram
from pyterrier_alg.parity.topics import TopicPair, parity_scopes
from pyterrier_alg.relation import GapCheck


@dataclass(frozen=True)
class Case:
    """One program for one pair of topics, by every implementation.

    Attributes:
        program: which.
        pair: the topics whose vectors are q1 and q2.
        outcomes: by implementation name.
        comparisons: of each pair of implementations.
        check: the gap check of the definition's selection.
    """

    program: ParityProgram
    pair: TopicPair
    outcomes: Mapping[str, Outcome]
    comparisons: tuple[Comparison, ...]
    check: GapCheck

    @property
    def raw_differs(self) -> tuple[str, ...]:
        """The implementations whose own order is not the tie-safe one."""
        return tuple(name for name, outcome in self.outcomes.items() if outcome.raw_order != outcome.order)


@dataclass(frozen=True)
class Report:
    """What the experiment found.

    Attributes:
        cases: programs in the order of the paper, topics in the order of the collection.
        implementations: those that took part.
        dimensions: of the signed-hash vectors.
        fault: the injected fault and the implementation that has it, or None.
    """

    cases: tuple[Case, ...]
    implementations: tuple[Implementation, ...]
    dimensions: int
    fault: tuple[Fault, str] | None = None

    @cached_property
    def failures(self) -> tuple[str, ...]:
        """Every check that does not hold, naming program, topic and implementations."""
        found = []
        for case in self.cases:
            place = f"{case.program.name}, topic {case.pair.first}"
            for name, outcome in case.outcomes.items():
                if not outcome.certified:
                    found.append(f"{place}: {name} does not certify its tie-safe order")
            for comparison in case.comparisons:
                found += [
                    f"{place}: {comparison.first} and {comparison.second}: {fault}" for fault in comparison.faults
                ]
        return tuple(found)

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return not self.failures


def run_parity(
    pairs: Sequence[TopicPair],
    *,
    dimensions: int = 256,
    implementations: Sequence[str] | None = None,
    fault: str | None = None,
    faulty: str = "sql",
    progress: Callable[[str], None] = lambda done: None,
) -> Report:
    """Run the three programs for each pair of topics by each implementation, and compare.

    Args:
        pairs: topics; q1 is the first's vector, q2 the second's, m and w come from the first's recorded BM25 run.
        dimensions: of the signed-hash vectors.
        implementations: names of those that take part; all that are registered where left out.
        fault: a name in `FAULTS` to inject, as a negative control.
        faulty: the implementation that gets it.
        progress: called with a line after each implementation of each program.

    Returns:
        The report.

    Raises:
        BindingError: `unknown_implementation` or `unknown_fault`, listing those that there are; `bad_parameter`, where
            only one takes part.
    """
    chosen = _chosen(implementations)
    injected = _fault(fault, faulty, chosen)
    if len(chosen) < 2:
        message = f"{chosen[0].name} alone has nothing to be compared with"
        raise BindingError("bad_parameter", message, "take two implementations or more")
    scopes = parity_scopes(pairs, dimensions)
    cases: list[Case] = []
    for program in PROGRAMS:
        by_name: dict[str, list[Outcome]] = {}
        for implementation in chosen:
            here = injected[0] if injected and injected[1] == implementation.name else None
            by_name[implementation.name] = _outcomes(implementation, program.formula, scopes, here)
            progress(f"{program.name}: {implementation.title}")
        cases += _cases(program, pairs, scopes, by_name)
    return Report(tuple(cases), tuple(chosen), dimensions, injected)


def _chosen(names: Sequence[str] | None) -> list[Implementation]:
    unknown = [name for name in names or () if name not in IMPLEMENTATIONS]
    if unknown:
        known = ", ".join(IMPLEMENTATIONS)
        raise BindingError("unknown_implementation", f"there is no implementation {unknown[0]!r}", f"there are {known}")
    return [IMPLEMENTATIONS[name] for name in dict.fromkeys(names or IMPLEMENTATIONS)]


def _fault(name: str | None, faulty: str, chosen: Sequence[Implementation]) -> tuple[Fault, str] | None:
    if name is None:
        return None
    if name not in FAULTS:
        raise BindingError("unknown_fault", f"there is no fault {name!r}", f"there are {', '.join(FAULTS)}")
    if faulty not in [implementation.name for implementation in chosen]:
        raise BindingError("unknown_implementation", f"{faulty!r}, which is to get the fault, does not take part")
    return FAULTS[name], faulty


def _outcomes(
    implementation: Implementation, formula: Formula, scopes: Sequence[Scope], fault: Fault | None
) -> list[Outcome]:
    outcomes = implementation.run(fault.in_program(formula) if fault else formula, scopes)
    return [fault.in_outcome(outcome) for outcome in outcomes] if fault else outcomes


def _cases(
    program: ParityProgram,
    pairs: Sequence[TopicPair],
    scopes: Sequence[Scope],
    by_name: Mapping[str, list[Outcome]],
) -> Iterator[Case]:
    k, uncut = _before_the_cut(program.formula)
    for i, (pair, scope) in enumerate(zip(pairs, scopes, strict=True)):
        # Flips may reach across the cut, so the gaps need the defined scores of what was left out, too.
        whole = _definition().run(uncut, scope)
        outcomes = {name: found[i] for name, found in by_name.items()}
        defined = whole.to_dict()
        comparisons = tuple(compare(a, b, defined) for a, b in combinations(outcomes.values(), 2))
        check = GapCheck.of(whole.docnos, whole.scores, k, certified=True)
        yield Case(program, pair, outcomes, comparisons, check)


@cache
def _definition() -> DefinitionEngine:
    return DefinitionEngine()


def _before_the_cut(formula: Formula) -> tuple[int, Formula]:
    """Where a program's selection ends, and the program without it."""
    selection = outermost_selection(formula)
    if selection is None:
        raise BindingError("bad_program", "a program of the experiment ends in a selection: top(k, …)")
    k, relation = selection
    return k, Formula(formula.steps, relation, formula.source)
