"""The numbers of a program that can be turned: those that its collection binds, and the literals that it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number
from pyterrier_alg.algebra.formula import Formula, operand_names
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.algebra.printing import number_text
from pyterrier_alg.algebra.restricting import fresh, with_parts
from pyterrier_alg.collection.operands import NumberOperand
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.transformers import Program

#: Where a node stands below another one: the place of a part, then the place that this one stands in.
_Path: TypeAlias = "tuple[int, _Path] | None"


@dataclass(frozen=True)
class Coefficient:
    """A number of a program that can be turned.

    Attributes:
        label: what to call it by: its name, or the literal's text, with `#2` behind the second of several such.
        value: what it is now.
        within: what the literal stands in; empty for a bound number, which may stand in several places.
        step: the step that the literal is in; empty for the result.
        is_bound: whether its collection binds it.
    """

    label: str
    value: float
    within: str = ""
    step: str = ""
    is_bound: bool = False
    _line: int = field(default=0, repr=False)
    _path: _Path = field(default=None, repr=False)

    def __str__(self) -> str:
        """The label and where it stands."""
        return f"{self.label} in {self.within}" if self.within else self.label

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        facts = {"label": self.label, "value": self.value, "bound": self.is_bound}
        return {**facts, "within": self.within, "step": self.step}


def coefficients(program: Program) -> tuple[Coefficient, ...]:
    """The numbers of a program that can be turned, bound ones first, literals in the order of the text.

    Args:
        program: any. Counts (a k, a depth) and members of `isin` are no coefficients.

    Example:
        >>> from pyterrier_alg import Program, vaswani
        >>> program = Program("top(10, alpha * (E @ query) + 0.5 * bm25(query))", vaswani().bind(alpha=0.3))
        >>> [str(coefficient) for coefficient in coefficients(program)]
        ['alpha', '0.5 in 0.5 * bm25(query)']
    """
    bound = program.collection.operands
    named = [
        Coefficient(name, operand.value, is_bound=True)
        for name in operand_names(program.formula)
        if isinstance(operand := bound.get(name), NumberOperand)
    ]
    written = list(_literals(program.formula))
    texts = [number_text(literal.value) for literal, *_ in written]
    counted: dict[str, int] = {}
    for text, (literal, parent, line, path) in zip(texts, written, strict=True):
        counted[text] = counted.get(text, 0) + 1
        label = text if texts.count(text) == 1 else f"{text}#{counted[text]}"
        step = program.formula.steps[line][0] if line < len(program.formula.steps) else ""
        named.append(Coefficient(label, literal.value, shown(parent), step, False, line, path))
    return tuple(named)


def coefficient_of(program: Program, wanted: Coefficient | str | float) -> Coefficient:
    """The coefficient that is meant.

    Args:
        program: any.
        wanted: a bound number's name, a literal or its text, with `#2` behind where it is the second of several.

    Raises:
        AlgebraError: `unknown_name`, with the coefficients that there are; `bad_argument`, where a literal stands in
            more than one place.
    """
    known = coefficients(program)
    if isinstance(wanted, Coefficient) and wanted in known:
        return wanted
    given: object = wanted
    numeric = isinstance(given, int | float) and not isinstance(given, bool)
    label = number_text(float(given)) if numeric else str(given)  # type: ignore[arg-type]
    found = [c for c in known if label in (c.label, c.label.split("#")[0])]
    exact = [c for c in found if c.label == label]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        places = "; ".join(map(str, found[:8]))
        raise AlgebraError("bad_argument", f"{label} stands in {len(found)} places", f"say which: {places}")
    there = "; ".join(map(str, known[:8])) or "none: it has no number"
    raise AlgebraError("unknown_name", f"the program has no coefficient {label!r}", f"it has {there}")


def turnable(program: Program, coefficient: Coefficient) -> tuple[Program, str]:
    """The same program with a bound number in the coefficient's place, and that number's name."""
    if coefficient.is_bound:
        return program, coefficient.label
    formula = program.formula
    steps = {name for name, _ in formula.steps}
    name = fresh("coefficient", {*steps, *operand_names(formula), *program.collection.operands})
    lines = [*(expression for _, expression in formula.steps), formula.result]
    lines[coefficient._line] = _replaced(lines[coefficient._line], coefficient._path, Name(name))
    named = tuple((step, line) for (step, _), line in zip(formula.steps, lines[:-1], strict=True))
    collection = program.collection.bind(**{name: coefficient.value})
    return Program(Formula(named, lines[-1]), collection, engine=program.engine), name


def _literals(formula: Formula) -> Iterator[tuple[Number, Expression, int, _Path]]:
    """Every number literal, what it stands in, its line and its place there, in the order of the text."""
    for line, root in enumerate(formula.expressions):
        stack: list[tuple[Expression, Expression, _Path]] = [(root, root, None)]
        while stack:
            node, parent, path = stack.pop()
            if isinstance(node, Number):
                yield node, parent, line, path
            below = [(part, node, (place, path)) for place, part in enumerate(node.parts) if _is_number(node, place)]
            stack += reversed(below)


def _is_number(node: Expression, place: int) -> bool:
    """Whether a part may be an expression, and is no member that is written out."""
    if not isinstance(node, Apply) or place >= len(node.arguments):
        return True
    places = OPERATORS[node.operator].signatures[0].spread(len(node.arguments))
    return not places or places[place].accepts not in ("literal", "string")


def _replaced(root: Expression, path: _Path, by: Expression) -> Expression:
    """An expression with another one in a place."""
    places: list[int] = []
    while path is not None:
        place, path = path
        places.append(place)
    above = [root]
    for place in reversed(places):
        above.append(above[-1].parts[place])
    made = by
    for node, place in zip(reversed(above[:-1]), places, strict=True):
        made = with_parts(node, _with(node.parts, place, made))
    return made


def _with(parts: Sequence[Expression], place: int, part: Expression) -> list[Expression]:
    return [part if i == place else old for i, old in enumerate(parts)]
