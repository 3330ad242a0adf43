"""A program as the rules look at it: the expressions that its result uses, their kinds, values and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pyterrier_alg.algebra.checking import check
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection.operands import MatrixOperand, Positions, RelationOperand, Scope
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._selection import Selector
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.values import Plain

_COMPUTED = (Kind.NUMBER, Kind.TEXT, Kind.RELATION, Kind.MASK)


class Reading:
    """Every expression that a formula's result uses, with its value.

    Attributes:
        scope: the operands.
        steps: the formula's, by name.
        result: the formula's.
        order: the distinct expressions, parts and steps before what uses them; each as it first stands in the text.
    """

    def __init__(self, formula: Formula, scope: Scope) -> None:
        """Compute everything.

        Raises:
            ProgramError: where the formula is not sound.
            EvaluationError: where it fails while running.
        """
        self.scope, self.steps, self.result = scope, dict(formula.steps), formula.result
        self._types = check(formula, scope.bindings).types
        self.order = self._ordered()
        self._evaluation = Evaluation(formula, scope, Selector(fold_directions=True))
        # First as the engine does, for the same fault where there is one.
        self._evaluation.value(formula.result)
        for node in self.order:
            if self.kind(node) in _COMPUTED:
                self._evaluation.value(node)

    def kind(self, node: Expression) -> Kind | None:
        """The kind of an expression; a count is a number."""
        found = self._types.get(node)
        return found.kind if found is not None else Kind.NUMBER if isinstance(node, Count) else None

    def is_relation(self, node: Expression) -> bool:
        """Whether an expression is a relation."""
        return self.kind(node) is Kind.RELATION

    def value(self, node: Expression) -> Plain:
        """The value of any expression."""
        return self._evaluation.value(node)

    def relation(self, node: Expression) -> RelationOperand:
        """The value of a relation expression."""
        return self._evaluation.relation(node)

    def mask(self, node: Expression) -> Positions:
        """The records of a mask expression, ascending."""
        return self._evaluation.mask(node)

    def number(self, node: Expression) -> float:
        """The value of a number expression."""
        return cast(float, self.value(node))

    def matrix(self, node: Expression) -> MatrixOperand:
        """The value of a matrix expression."""
        return cast(MatrixOperand, self.value(node))

    def meant(self, node: Expression) -> Expression:
        """The expression behind a name of a step."""
        return self._evaluation.meant(node)

    def below(self, node: Expression) -> Sequence[Expression]:
        """What an expression directly uses: its parts, or the step that it names."""
        if isinstance(node, Name):
            return (self.steps[node.name],) if node.name in self.steps else ()
        return node.parts

    def applied(self, *operators: str) -> Iterator[Apply]:
        """The applications of these operators, parts first."""
        return (node for node in self.order if isinstance(node, Apply) and node.operator in operators)

    def docnos(self, positions: Positions, most: int = 3) -> list[str]:
        """The first few docnos of some records."""
        return [str(docno) for docno in self.scope.docnos[positions[:most]]]

    def _ordered(self) -> tuple[Expression, ...]:
        found: dict[Expression, None] = {}
        stack = [self.result]
        while stack:
            node = stack[-1]
            missing = [part for part in self.below(node) if part not in found] if node not in found else []
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            found[node] = None
        used = [step for name, step in self.steps.items() if Name(name) in found]
        first: dict[Expression, Expression] = {}
        for node in walk(*used, self.result):
            known = first.setdefault(node, node)
            if node.span and known.span and node.span.start < known.span.start:
                first[node] = node
        return tuple(first[node] for node in found)


def product_with_number(reading: Reading, node: Expression) -> tuple[Expression, Expression, float] | None:
    """The number, the other operand and the factor of a scaling `c * x`, `x * c`, `x / c`; None for other nodes."""
    if not isinstance(node, Apply) or node.operator not in ("*", "/"):
        return None
    left, right = node.arguments
    kinds = [reading.kind(left), reading.kind(right)]
    if kinds.count(Kind.NUMBER) != 1:
        return None
    number, other = (left, right) if kinds[0] is Kind.NUMBER else (right, left)
    value = reading.number(number)
    return number, other, 1.0 / value if node.operator == "/" else value


def warning(code: str, message: str, node: Expression, hint: str, **details: Any) -> ProgramWarning:
    """A warning about an expression, whose text is among the details."""
    return ProgramWarning(code, message, node.span, hint, {"expression": shown(node), **details})


def records(count: int, of: str = "") -> str:
    """`1 record`, `2 records`, `1,000 records of S`."""
    return f"{count:,} record{'' if count == 1 else 's'}{f' of {of}' if of else ''}"


def figure(value: float) -> str:
    """A number as messages have it: three digits."""
    return f"{value:.3g}"
