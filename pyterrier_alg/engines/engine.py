"""What an engine is: one way to compute what a formula means over a scope."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial

from pyterrier_alg.algebra.checking import check
from pyterrier_alg.algebra.errors import Diagnostic, UnsupportedError
from pyterrier_alg.algebra.expressions import Apply, Expression, Retrieve, walk
from pyterrier_alg.algebra.formula import Formula, operand_names
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.algebra.reading import as_formula
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.relation import ScoredRelation

#: What `capabilities` says of calling a retriever, which is no entry of the operator table.
RETRIEVE = "retrieve"

#: All that there is to be able to do.
EVERYTHING = frozenset(OPERATORS) | {RETRIEVE}


def requirement(node: Expression) -> str | None:
    """What an engine must be able to do for this node alone: a key of the operator table, `retrieve`, or nothing."""
    return node.operator if isinstance(node, Apply) else RETRIEVE if isinstance(node, Retrieve) else None


class Engine(ABC):
    """One way to compute formulas. Engines never read text and never print.

    Attributes:
        name: as people choose it: `vectorised`, `pipeline`, `sqlite`, `duckdb`.
        capabilities: operator keys that it runs (and `retrieve`).
        certifies: whether its records, scores and order are the defined ones.
    """

    name: str
    capabilities: frozenset[str] = EVERYTHING
    certifies: bool = True

    def run(self, formula: Formula | Expression | str, scope: Scope) -> ScoredRelation:
        """Check the formula against the scope, then compute it.

        Args:
            formula: what to run; text is read first.
            scope: the operands.

        Returns:
            The result, in rank order, with the gap check of its last selection; its warnings are found when asked for.

        Raises:
            ProgramError: everything that can be found wrong before running, at once.
            UnsupportedError: where this engine lacks an operator of the formula.
            BindingError: where the query lacks an operand that the formula names.
            EvaluationError: what only the data shows: `non_finite`, `unknown_record`, …
        """
        formula = as_formula(formula)
        if scope.absent:
            scope.refuse_absent(operand_names(formula))
        check(formula, scope.bindings)
        self.require(formula)
        return self.evaluate(formula, scope).with_warnings(partial(_warnings, formula, scope))

    def require(self, formula: Formula) -> None:
        """Refuse, before running, a formula with an operator that this engine lacks."""
        needed = {node: requirement(node) for node in walk(*formula.expressions)}
        lacking = [(node, key) for node, key in needed.items() if key is not None and key not in self.capabilities]
        if not lacking:
            return
        # Loaded when there is need: it knows every engine, and each of them knows this module.
        from pyterrier_alg.engines.registry import able

        others = able(key for key in needed.values() if key is not None)
        hint = f"engines that can run this program: {', '.join(others)}" if others else "no engine here can"
        message = f"the {self.name} engine cannot do"
        faults = [Diagnostic("unsupported", f"{message} {key} yet", node.span, hint) for node, key in lacking]
        raise UnsupportedError(faults, formula.source or formula.ascii)

    @abstractmethod
    def evaluate(self, formula: Formula, scope: Scope) -> ScoredRelation:
        """Compute a formula that is known to be sound and within this engine's reach."""

    def run_all(self, formula: Formula, scopes: Iterable[Scope]) -> list[ScoredRelation]:
        """Run one formula for many queries; an engine that can share work between them overrides this."""
        return [self.run(formula, scope) for scope in scopes]


def _warnings(formula: Formula, scope: Scope) -> tuple[ProgramWarning, ...]:
    # Loaded by those who look at warnings: the vectorised engine's parts are needed for them.
    from pyterrier_alg.engines.warnings import find_warnings

    return find_warnings(formula, scope)
