"""Computing what is asked for, and what that asks for, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import TypeVar

from pyterrier_alg.algebra.errors import Diagnostic, EvaluationError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula

Value = TypeVar("Value")


def demand(
    root: Expression,
    needs: Callable[[Expression], Iterable[Expression]],
    visit: Callable[[Expression], Value],
    memo: MutableMapping[Expression, Value],
) -> Value:
    """Compute a value after those that it needs, each distinct expression once.

    Unlike `fold`, this lets a name need the step behind it, and an operator need less than its parts: a selection finds
    its records without the scores of all the others.

    Args:
        root: what to compute.
        needs: the expressions whose values must be known before.
        visit: computes one value; the memo holds all that it needs.
        memo: values already known; new ones are added.

    Returns:
        The value of the root.

    Example:
        >>> from pyterrier_alg.algebra import Name
        >>> memo = {Name("a"): 3}
        >>> demand(Name("a") + Name("a"), lambda node: node.parts, lambda node: sum(memo[p] for p in node.parts), memo)
        6
    """
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [other for other in needs(node) if other not in memo] if node not in memo else []
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if node not in memo:
            memo[node] = visit(node)
    return memo[root]


def fault(code: str, message: str, node: Expression, formula: Formula, hint: str = "") -> EvaluationError:
    """The error of a fault that only the data show, with its place in the program."""
    return EvaluationError([Diagnostic(code, message, node.span, hint)], formula.source or formula.ascii)


def shown(node: Expression, most: int = 60) -> str:
    """A step as messages name it: its text, cut to one readable line."""
    text = repr(node) if node.size <= 200 else f"a step of {node.size} parts"
    return text if len(text) <= most else text[: most - 1] + "…"
