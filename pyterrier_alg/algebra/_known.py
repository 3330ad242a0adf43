"""What a check has found so far, and how it words faults of kinds and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyterrier_alg.algebra._fixing import Advice, Fixer, short
from pyterrier_alg.algebra.errors import Diagnostic, Fix, Span
from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Retrieve
from pyterrier_alg.algebra.kinds import Binding, Kind, Type
from pyterrier_alg.algebra.operators import LITERALS, Parameter

_LITERAL_NAMES = {
    "count": "digits, 1 or more",
    "count0": "digits, 0 or more (at most 15)",
    "string": "a text literal",
    "literal": "a text or number literal",
}


@dataclass
class Known:
    """The state of one check.

    Attributes:
        bindings: what the operands are.
        fixer: proposes edits of the program's text.
        step_names: of all steps, those still to come among them.
        faults: found so far.
        types: of every expression that has one.
        numbers: values of number expressions, where they are known.
        guessed: expressions with a type although something in them is at fault.
        texts: values of text expressions, where they are known.
        steps: those that were read, by name.
        unknown: names of operands and functions of the expression at hand that nothing has, by their nodes' identity.
        misfitting: kind faults of that expression still without advice: place in `faults`, operator, which operand.
    """

    bindings: Mapping[str, Binding]
    fixer: Fixer
    step_names: frozenset[str]
    faults: list[Diagnostic] = field(default_factory=list)
    types: dict[Expression, Type] = field(default_factory=dict)
    numbers: dict[Expression, float] = field(default_factory=dict)
    texts: dict[Expression, str] = field(default_factory=dict)
    guessed: set[Expression] = field(default_factory=set)
    steps: dict[str, Expression] = field(default_factory=dict)
    unknown: dict[int, Name | Retrieve] = field(default_factory=dict)
    misfitting: list[tuple[int, Apply, int]] = field(default_factory=list)

    def fault(
        self,
        code: str,
        message: str,
        span: Span | None,
        advice: Advice | str = "",
        *,
        fix: Fix | None = None,
        expected: Iterable[str] = (),
        found: str = "",
        candidates: Iterable[str] = (),
    ) -> None:
        """Keep a fault; what to do about it comes as advice, or as a hint and maybe an edit."""
        hint = advice if isinstance(advice, str) else advice.hint
        edit = fix if isinstance(advice, str) else advice.fix
        self.faults.append(Diagnostic(code, message, span, hint, tuple(expected), found, tuple(candidates), edit))

    def kind_fault(
        self, node: Expression, found: Type, wanted: Sequence[Kind], where: str, advice: Advice | None = None
    ) -> None:
        """Report what stands somewhere and is of another kind than is wanted there."""
        expected = " or ".join(dict.fromkeys(wanted))
        needs = "is a relation" if where == "a program's result" else f"needs a {expected}"
        advice = advice or self.fixer.converted(node, found, wanted)
        message = f"{short(node)} is a {found}, {where} {needs}"
        self.fault("kind", message, node.span, advice, expected=map(str, wanted), found=str(found))

    def misfit(self, argument: Expression, place: Parameter, function: str, quotable: bool = True) -> None:
        """Report an argument that does not fit its place; a bare word may have been meant as a text, if `quotable`."""
        if place.accepts not in LITERALS:
            found = self.types.get(argument) or Type(Kind.NUMBER)
            self.kind_fault(argument, found, place.kinds, function)
            return
        wanted = _LITERAL_NAMES[place.accepts]
        message = f"{place.name} of {function} is written as {wanted}, not {short(argument)}"
        advice = Advice()
        if place.accepts.startswith("count"):
            advice = self.fixer.digits(argument)
        elif isinstance(argument, Name) and id(argument) in self.unknown and quotable:
            advice = self.fixer.quoted(argument)
        # Whatever it may be a name of, a name is not what is wanted here.
        self.unknown.pop(id(argument), None)
        self.fault("bad_parameter", message, argument.span, advice)
