"""What a formula means: its steps in order, then its result, each operator as `definitions` defines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyterrier_alg.algebra.definitions import (
    MEANINGS,
    Column,
    Fault,
    Mask,
    Matrix,
    Records,
    Relation,
    Retriever,
    Value,
    Vector,
    finite,
    ranked,
    retrieve,
)
from pyterrier_alg.algebra.errors import AlgebraError, Diagnostic, EvaluationError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text, fold, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.operators import OPERATORS

__all__ = [
    "Column", "Mask", "Matrix", "Relation", "Retriever", "Value", "Vector", "World", "evaluate", "ranked", "steps",
]  # fmt: skip


@dataclass(frozen=True)
class World:
    """All that a formula may name.

    Attributes:
        records: the collection's docnos.
        operands: by name, `query`, `query_vec`, `now`, `all` and `input` among them where they are bound.
    """

    records: Records
    operands: Mapping[str, Value]


def evaluate(formula: Formula, world: World) -> Relation:
    """The relation that a formula means. A step that the result does not use is not computed and cannot fail.

    Args:
        formula: sound for the world.
        world: the records and operands.

    Returns:
        Docno to score, in rank order.

    Raises:
        EvaluationError: `non_finite`, `unknown_record`, `empty_centroid`, `zero_vector`, `nonpositive_maximum`, or
            what an encoder or a retriever says.

    Example:
        >>> evaluate(parse("m >> S + 1"), World(("a", "b"), {"S": {"a": 1.0, "b": 2.0}, "m": frozenset("b")}))
        {'b': 3.0}
    """
    used = _names(formula.result)
    for name, expression in reversed(formula.steps):
        used |= _names(expression) if name in used else set()
    needed = [step for step in formula.steps if step[0] in used]
    *_, (_, result) = _values(formula, [*needed, ("", formula.result)], world)
    return dict(ranked(result))


def steps(formula: Formula, world: World) -> dict[str, Value]:
    """The value of every step of a formula, by name; arguments and errors are those of `evaluate`."""
    return dict(_values(formula, formula.steps, world))


def _names(expression: Expression) -> set[str]:
    nodes = list(walk(expression))
    return {n.name for n in nodes if isinstance(n, Name)} | {n.retriever for n in nodes if isinstance(n, Retrieve)}


def _values(formula: Formula, named: Sequence[tuple[str, Expression]], world: World) -> list[tuple[str, Any]]:
    known: dict[str, Value] = dict(world.operands)
    memo: dict[Expression, Value] = {}
    for name, expression in named:
        known[name] = fold(expression, _visitor(formula, world.records, known), memo)
    return [(name, known[name]) for name, _ in named]


def _visitor(
    formula: Formula, records: Records, known: Mapping[str, Value]
) -> Callable[[Expression, Sequence[Any]], Value]:
    """What one node means, given what its parts mean; a fault names the node and its place."""

    def visit(node: Expression, below: Sequence[Any]) -> Value:
        try:
            return finite(_value(node, below, records, known))
        except (Fault, AlgebraError) as fault:
            blamed = node.parts[fault.argument] if isinstance(fault, Fault) and fault.argument is not None else node
            diagnostic = Diagnostic(fault.code, f"{_shown(node)}: {fault.message}", blamed.span, fault.hint)
            cause = fault if isinstance(fault, AlgebraError) else None
            raise EvaluationError([diagnostic], formula.source or formula.ascii) from cause

    return visit


def _value(node: Expression, below: Sequence[Any], records: Records, known: Mapping[str, Value]) -> Value:
    match node:
        case Number(value=literal) | Text(value=literal):
            return literal
        case Count():
            return node.value
        case Name(name=name):
            return known[name]
        case Retrieve(retriever=name):
            search: Any = known[name]
            return retrieve(records, search, *below)
        case Apply(operator=key, arguments=arguments, options=options):
            given = {option.name: _value(option.default, (), records, known) for option in OPERATORS[key].options}
            given |= zip(dict(options), below[len(arguments) :], strict=True)
            return MEANINGS[key](records, *below[: len(arguments)], **given)
    raise TypeError(f"{type(node).__name__} is no expression of the algebra")


def _shown(node: Expression, most: int = 60) -> str:
    text = repr(node) if node.size <= 200 else f"a step of {node.size} parts"
    return text if len(text) <= most else text[: most - 1] + "…"
