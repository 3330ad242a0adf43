"""The steps of a program, named and unnamed, with their values as people look at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.checking import Checked, check
from pyterrier_alg.algebra.errors import ProgramError
from pyterrier_alg.algebra.expressions import Apply, Expression, Name, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Kind, Type
from pyterrier_alg.algebra.printing import to_unicode
from pyterrier_alg.algebra.restricting import fresh
from pyterrier_alg.collection import UnknownNameError
from pyterrier_alg.collection.operands import (
    MaskOperand,
    RelationOperand,
    Scope,
    VectorOperand,
)
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._selection import Selector
from pyterrier_alg.engines.values import Plain
from pyterrier_alg.relation import ScoredRelation, rank_order
from pyterrier_alg.session._layout import as_html, as_text, one_line

#: Kinds of steps that scores and records flow through.
FLOWING = (Kind.RELATION, Kind.MASK)

_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Eligible:
    """A mask as a value: the records in it, in code-point order.

    Attributes:
        docnos: theirs.
        of: how many records the collection has.

    Example:
        >>> Eligible(("d1", "d3"), 4)
        Eligible: 2 of 4 records
          d1, d3
    """

    docnos: tuple[str, ...]
    of: int

    def __len__(self) -> int:
        """How many records are in it."""
        return len(self.docnos)

    def __iter__(self) -> Iterator[str]:
        """The docnos."""
        return iter(self.docnos)

    def __contains__(self, docno: object) -> bool:
        """Whether a record is in it."""
        return docno in self.docnos

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"kind": Kind.MASK.value, "of": self.of, "docnos": list(self.docnos)}

    def __repr__(self) -> str:
        """How many, and the first few."""
        some = ", ".join(map(one_line, self.docnos[:_SHOWN]))
        more = f", … {len(self) - _SHOWN:,} more" if len(self) > _SHOWN else ""
        return f"Eligible: {len(self):,} of {self.of:,} records" + (f"\n  {some}{more}" if some else "")

    def _repr_html_(self) -> str:
        heading, *notes = repr(self).split("\n")
        return as_html(heading, (), (), notes)


#: What a step is to those who look at it.
StepValue: TypeAlias = "ScoredRelation | Eligible | float | str | npt.NDArray[np.float32]"


@dataclass(frozen=True)
class Step:
    """One relation or mask of a program.

    Attributes:
        name: as the program calls it; None for a part that has no name.
        expression: what it is.
        kind: a relation or a mask.
    """

    name: str | None
    expression: Expression
    kind: Kind

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"name": self.name, "expression": repr(self.expression), "kind": self.kind.value}


@dataclass(frozen=True)
class StepTime:
    """How long one step took by itself, without those that it uses.

    Attributes:
        expression: the step.
        seconds: by the wall clock.
    """

    expression: Expression
    seconds: float


class Steps:
    r"""The relations and masks of a formula over a scope: each computed when first asked for, exactly as defined.

    They are the defined ones, whichever engine ran the program.

    Example:
        >>> c = Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 2.0}, m={"d1"})
        >>> steps = Steps(parse("pool = m & all\ntop(5, pool >> S)"), c.at())
        >>> [repr(step.expression) for step in steps]
        ['m', 'all', 'm & all', 'S', 'pool >> S', 'top(5, pool >> S)']
        >>> steps["pool"]
        Eligible: 1 of 2 records
          d1
        >>> steps["pool >> S"].to_dict()
        {'d1': 1.0}
    """

    def __init__(self, formula: Formula, scope: Scope, checked: Checked | None = None) -> None:
        """Begin with nothing computed.

        Args:
            formula: sound over the scope.
            scope: the operands.
            checked: what is known of the formula; it is checked where this is None.
        """
        self._formula, self._scope = formula, scope
        self._types = (checked or check(formula, scope.bindings)).types
        self._evaluation = Evaluation(formula, scope, Selector(fold_directions=True))
        self._steps = tuple(self._found())

    def __iter__(self) -> Iterator[Step]:
        """Every distinct relation and mask, parts before what uses them; a named one once, under its name."""
        return iter(self._steps)

    def __len__(self) -> int:
        """How many distinct relations and masks there are."""
        return len(self._steps)

    def __getitem__(self, step: str | Expression) -> StepValue:
        """The value of a step, of any kind that has one.

        Args:
            step: its name, its text, or the expression itself.

        Raises:
            UnknownNameError: `unknown_name`, where the program has no such step, or it is a matrix, a column or a
                retriever, which are bound and not computed.
            EvaluationError: what only the data show.
        """
        return self.value(self._expression(step))

    def value(self, expression: Expression) -> StepValue:
        """The value of an expression of the formula."""
        return shown_value(self._evaluation.value(expression), self._scope)

    def times(self) -> tuple[StepTime, ...]:
        """Run the formula once more, and say how long each step took by itself, in the order of computation.

        What a selection only looks at for its candidates counts as the selection's time. The vectorised engine is
        timed, whichever engine ran the program.
        """
        timed = _Timed(self._formula, self._scope)
        timed.value(self._formula.result)
        flowing = [StepTime(n, s) for n, s in timed.seconds.items() if n in self._types]
        return tuple(time for time in flowing if self._types[time.expression].kind in FLOWING)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values, without the steps' records."""
        return {"steps": [step.to_dict() for step in self]}

    def __repr__(self) -> str:
        """The steps, a line each; nothing is computed."""
        rows = [(step.name or "", step.kind, to_unicode(step.expression)) for step in self]
        return "\n".join(as_text(("name", "kind", "step"), rows))

    def _repr_html_(self) -> str:
        rows = [(step.name or "", step.kind, one_line(to_unicode(step.expression))) for step in self]
        return as_html("Steps", ("name", "kind", "step"), rows)

    def _found(self) -> Iterator[Step]:
        names = {expression: name for name, expression in reversed(self._formula.steps)}
        named = {name for name, _ in self._formula.steps}
        for node in dict.fromkeys(walk(*self._formula.expressions)):
            kind = self._types[node].kind if node in self._types else None
            if kind in FLOWING and not (isinstance(node, Name) and node.name in named):
                yield Step(names.get(node), node, self._types[node].kind)

    def _expression(self, step: str | Expression) -> Expression:
        if isinstance(step, Expression):
            return step
        found = dict(self._formula.steps).get(step)
        if found is not None:
            return found
        for node in walk(*self._formula.expressions):
            if step in (repr(node), to_unicode(node)):
                return node
        few = ", ".join(repr(other.expression) for other in self._steps[-5:])
        raise UnknownNameError("unknown_name", f"the program has no step {step!r}", f"it has {few}")


def checked_as_any(formula: Formula, bindings: Mapping[str, Binding]) -> tuple[Checked, Kind]:
    """Check a formula whose result may be a mask as well as a relation.

    Raises:
        ProgramError: of a formula whose result is neither, that it is no relation.
    """
    try:
        return check(formula, bindings), Kind.RELATION
    except ProgramError as error:
        scored = fresh("S", {*bindings, *(name for name, _ in formula.steps)})
        around = Formula(formula.steps, Apply(">>", (formula.result, Name(scored))), formula.source)
        try:
            return check(around, {**bindings, scored: Binding(Type(Kind.RELATION))}), Kind.MASK
        except ProgramError:
            raise error from None


def shown_value(value: Plain, scope: Scope) -> StepValue:
    """A value as people look at it: docnos instead of positions, relations in rank order."""
    match value:
        case RelationOperand(positions=positions, scores=scores):
            order = rank_order(scores)
            return ScoredRelation.ordered(scope.docnos[positions[order]], scores[order])
        case MaskOperand(positions=positions):
            return Eligible(tuple(scope.docnos[positions].tolist()), len(scope.docnos))
        case VectorOperand(values=values):
            return values
        case float() | str():
            return value
    message = f"a {value.binding.type} is bound, not computed"
    raise UnknownNameError("unknown_name", message, "orient(name) tells of it")


class _Timed(Evaluation):
    """An evaluation that takes the time of each visit."""

    def __init__(self, formula: Formula, scope: Scope) -> None:
        super().__init__(formula, scope, Selector(fold_directions=True))
        self.seconds: dict[Expression, float] = {}

    def _visit(self, node: Expression) -> Plain:
        began = perf_counter()
        value = super()._visit(node)
        self.seconds[node] = perf_counter() - began
        return value
