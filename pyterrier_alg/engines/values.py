"""What a formula computes with besides relations and masks, alike for every engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import add, mul, sub, truediv
from typing import TypeAlias, cast

import numpy as np

from pyterrier_alg import exact
from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import AlgebraError, EvaluationError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Text
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection.operands import (
    MatrixOperand,
    NumberOperand,
    Operand,
    Positions,
    Rows,
    Scope,
    TextOperand,
    VectorOperand,
)
from pyterrier_alg.engines.demand import demand, fault, shown

#: A number, a text, or an operand as it is bound; a vector is a `VectorOperand`, wherever it came from.
Plain: TypeAlias = float | str | Operand

#: From a mask expression to the records in it.
MaskPositions: TypeAlias = Callable[[Expression], Positions]

_NUMBERS: Mapping[str, Callable[[float, float], float]] = {"+": add, "-": sub, "*": mul, "/": truediv}


def vector_value(
    expression: Expression, scope: Scope, formula: Formula, mask_positions: MaskPositions | None = None
) -> Rows:
    """The value of a vector expression.

    Args:
        expression: of kind vector in the formula.
        scope: the operands.
        formula: whose steps names refer to, and whose text errors show.
        mask_positions: gives the records of a centroid's mask, ascending; by default the vectorised engine does.

    Returns:
        float32, shape (dimensions,). Each operator computes in float64 and rounds to float32.

    Raises:
        EvaluationError: `unknown_record`, `empty_centroid`, `zero_vector`, `non_finite`, `missing_encoder`.

    Example:
        >>> from pyterrier_alg.algebra import Space, parse
        >>> q = VectorOperand(np.float32([1, 2]), Space("words", 2))
        >>> scope = Scope(np.array([], dtype=object), {"q": q})
        >>> vector_value(Name("q") - 0.5 * Name("q"), scope, parse("E @ q"))
        array([0.5, 1. ], dtype=float32)
    """
    found = _value(expression, scope, formula, mask_positions)
    if not isinstance(found, VectorOperand):
        raise AlgebraError("kind", f"{shown(expression)} is no vector, which is needed here")
    return found.values


def matrix_value(expression: Expression, scope: Scope, formula: Formula) -> MatrixOperand:
    """The operand behind a matrix expression: a name, or a step that names one."""
    return cast(MatrixOperand, _value(expression, scope, formula, None))


def number_value(expression: Expression, scope: Scope, formula: Formula) -> float:
    """The value of a number expression: one float64 operation after the other, 0 for -0.

    Raises:
        EvaluationError: `division_by_zero`, `non_finite`.
    """
    return cast(float, _value(expression, scope, formula, None))


def text_value(expression: Expression, scope: Scope, formula: Formula) -> str:
    """The value of a text expression: a literal, a bound text, or a step that is one."""
    return cast(str, _value(expression, scope, formula, None))


def plain_operand(name: str, scope: Scope) -> Plain:
    """What a name that is no step stands for.

    Raises:
        AlgebraError: `unknown_name`, where the formula was not checked against this scope.
    """
    operand = scope.operands.get(name)
    if operand is None:
        scope.refuse_absent([name])
        close = suggest(name, scope.operands)
        hint = f"did you mean {', '.join(close)}?" if close else ""
        raise AlgebraError("unknown_name", f"unknown operand {name!r}", hint)
    return operand.value if isinstance(operand, NumberOperand | TextOperand) else operand


def plain_apply(
    node: Expression, arguments: Sequence[object], scope: Scope, formula: Formula, mask: Callable[[], Positions]
) -> Plain | None:
    """The value of a literal or of an operator that gives a number or a vector.

    Args:
        node: the literal or the application.
        arguments: the values of its arguments; a centroid's mask is not looked at.
        scope: the operands.
        formula: whose text errors show.
        mask: gives the records of the second argument, for a centroid.

    Returns:
        The value, or None where the operator gives a relation or a mask.
    """
    match node:
        case Number(value=value):
            return value
        case Count(digits=digits):
            return float(digits)
        case Text(value=text):
            return text
        case Apply():
            result = _apply(node, arguments, scope, formula, mask)
            if isinstance(result, VectorOperand) and not np.isfinite(result.values).all():
                raise fault("non_finite", f"{shown(node)} leaves the range of float32", node, formula)
            return result
    return None


def encoded(node: Expression, matrix: MatrixOperand, text: str, formula: Formula) -> VectorOperand:
    """A text through the query encoder of a matrix's space.

    Raises:
        EvaluationError: `missing_encoder`; `zero_vector`, where nothing of the text is left (in an l2 space that is a
            point like any other); `space`, `non_finite`, or what the encoder says.
    """
    encoder = matrix.encoder
    if encoder is None:
        message = f"the space {matrix.space.name} has no query encoder here, {shown(node)} needs one"
        raise fault("missing_encoder", message, node, formula, "bind the matrix with an encoder, or use a vector")
    values = np.asarray(_blamed(lambda: encoder.encode(text), node, formula), dtype=np.float32)
    if values.shape != (matrix.space.dimensions,):
        message = f"the encoder of {matrix.space} gave an array of shape {values.shape}"
        raise fault("space", message, node, formula)
    if not np.isfinite(values).all():
        raise fault("non_finite", f"the encoder of {matrix.space} gave a vector that is not finite", node, formula)
    if not matrix.is_l2 and not values.any():
        raise fault("zero_vector", f"the text {text!r} has no direction in {matrix.space}", node, formula)
    return VectorOperand(values + np.float32(0), matrix.space)


def _value(expression: Expression, scope: Scope, formula: Formula, mask_positions: MaskPositions | None) -> Plain:
    steps = dict(formula.steps)
    memo: dict[Expression, Plain | None] = {}

    def positions(node: Expression) -> Positions:
        if mask_positions is not None:
            return mask_positions(node)
        from pyterrier_alg.engines.vectorised import mask_positions as vectorised_positions

        return vectorised_positions(formula, node, scope)

    def needs(node: Expression) -> Sequence[Expression]:
        if isinstance(node, Name) and node.name in steps:
            return (steps[node.name],)
        if isinstance(node, Apply) and node.operator == "centroid":
            return node.arguments[:1]
        return node.parts

    def visit(node: Expression) -> Plain | None:
        if isinstance(node, Name):
            return memo[steps[node.name]] if node.name in steps else plain_operand(node.name, scope)
        arguments = [memo.get(part) for part in node.parts]
        return plain_apply(node, arguments, scope, formula, lambda: positions(node.parts[1]))

    value = demand(expression, needs, visit, memo)
    if value is None:
        raise TypeError(f"{shown(expression)} is a relation or a mask")
    return value


def _apply(
    node: Apply, arguments: Sequence[object], scope: Scope, formula: Formula, mask: Callable[[], Positions]
) -> Plain | None:
    match node.operator, arguments:
        case "neg", [float() as c]:
            return -c + 0.0
        case "+" | "-" | "*" | "/", [float() as c, float() as d]:
            return _number(node, c, d, formula)
        case "neg", [VectorOperand(values=v, space=space)]:
            return VectorOperand(exact.negate(v), space)
        case "*", [float() as c, VectorOperand(values=v, space=space)]:
            return VectorOperand(exact.scale(c, v), space)
        case "+", [VectorOperand(values=u, space=space), VectorOperand(values=v)]:
            return VectorOperand(exact.add(u, v), space)
        case "-", [VectorOperand(values=u, space=space), VectorOperand(values=v)]:
            return VectorOperand(exact.subtract(u, v), space)
        case "unit", [VectorOperand(values=v, space=space)]:
            return VectorOperand(_blamed(lambda: exact.unit(v), node, formula), space)
        case "encode", [MatrixOperand() as matrix, str() as text]:
            return encoded(node, matrix, text, formula)
        case "row", [MatrixOperand() as matrix, str() as docno]:
            return VectorOperand(_row(node, matrix, docno, scope, formula), matrix.space)
        case "centroid", [MatrixOperand() as matrix, *_]:
            covered = np.isin(matrix.positions, mask(), assume_unique=True)
            return VectorOperand(_blamed(lambda: exact.mean(matrix.rows[covered]), node, formula), matrix.space)
    return None


def _number(node: Apply, c: float, d: float, formula: Formula) -> float:
    if node.operator == "/" and d == 0:
        raise fault("division_by_zero", "division by zero", node.arguments[1], formula)
    value = _NUMBERS[node.operator](c, d) + 0.0
    if not math.isfinite(value):
        raise fault("non_finite", f"{shown(node)} is {value}", node, formula)
    return value


def _row(node: Apply, matrix: MatrixOperand, docno: str, scope: Scope, formula: Formula) -> Rows:
    position = scope.position(docno)
    if position is None:
        raise fault("unknown_record", f"the collection has no record {docno!r}", node.arguments[1], formula)
    place = int(np.searchsorted(matrix.positions, position))
    if place == len(matrix.positions) or matrix.positions[place] != position:
        message = f"{shown(node.arguments[0])} has no row for {docno!r}"
        raise fault("unknown_record", message, node.arguments[1], formula)
    return np.array(matrix.rows[place], dtype=np.float32)


def _blamed(compute: Callable[[], Rows], node: Expression, formula: Formula) -> Rows:
    """What `compute` gives; its complaint becomes one about a place of the program."""
    try:
        return compute()
    except EvaluationError:
        raise
    except AlgebraError as error:
        raise fault(error.code, f"{shown(node)}: {error.message}", node, formula, error.hint) from error
