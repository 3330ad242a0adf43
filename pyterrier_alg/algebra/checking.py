"""Kinds, spaces and values, checked before anything runs; every fault of a formula is reported at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyterrier_alg.algebra._expecting import A_RELATION, ANYTHING, Expectation, expectations, fits
from pyterrier_alg.algebra._fixing import Advice, Fixer, is_day, option_named, short, suggest
from pyterrier_alg.algebra._known import Known
from pyterrier_alg.algebra._names import report_unknown
from pyterrier_alg.algebra._values import check_rule, compute
from pyterrier_alg.algebra.errors import ProgramError, Span
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Kind, Space, Type
from pyterrier_alg.algebra.operators import (
    COMPARE,
    LITERALS,
    OPERATORS,
    RESERVED,
    Operator,
    Parameter,
)

__all__ = ["Checked", "check", "is_day", "suggest"]

#: Operators whose operands mean something else in each other's place.
_ORDERED = ("/", "-")


@dataclass(frozen=True)
class Checked:
    """What is known of a sound formula before it runs.

    Attributes:
        types: the type of every expression in it, literals and counts left out.
        numbers: the value of every number expression whose parts are known.
    """

    types: Mapping[Expression, Type]
    numbers: Mapping[Expression, float]


def check(formula: Formula, bindings: Mapping[str, Binding]) -> Checked:
    """Check a formula against what its names are bound to.

    Args:
        formula: as read; one that Python built is checked in its canonical text.
        bindings: the type of each operand.

    Returns:
        Types and known numbers.

    Raises:
        ProgramError: every fault that can be found before running: `unknown_name`, `reserved_name`, `duplicate_name`,
            `kind`, `space`, `bad_argument`, `bad_parameter`, `division_by_zero`, `bad_number`, `non_finite`.
    """
    checker = _Checker(bindings, Fixer(formula.source, bindings), frozenset(name for name, _ in formula.steps))
    for step in formula.steps:
        checker.step(*step, getattr(step, "span", None))
    checker.result(formula.result)
    if checker.faults:
        # Without a text, places are those of the texts that the parts were read from.
        faults = checker.faults if formula.source else [replace(f, span=None) for f in checker.faults]
        raise ProgramError(faults, formula.source or formula.ascii)
    return Checked(checker.types, checker.numbers)


class _Checker(Known):
    def step(self, name: str, expression: Expression, span: Span | None) -> None:
        self.expression(expression, ANYTHING)
        if name in RESERVED:
            self.fault("reserved_name", f"{name!r} is a word of the language; a step cannot have it", span)
        elif name in self.steps or name in self.bindings:
            what = "an earlier step" if name in self.steps else "an operand"
            self.fault("duplicate_name", f"{name!r} is {what} already; steps shadow nothing", span)
        self.steps[name] = expression

    def result(self, expression: Expression) -> None:
        self.expression(expression, A_RELATION)
        found = self.types.get(expression)
        if isinstance(expression, Count):
            found = Type(Kind.NUMBER)
        if found is not None and found.kind is not Kind.RELATION:
            self.kind_fault(expression, found, (Kind.RELATION,), "a program's result")

    def expression(self, root: Expression, expected: Expectation) -> None:
        """Find the type of every node, parts first; what has none because of a fault below raises no second one."""
        for node in walk(root):
            match node:
                case Number(value=value):
                    self.types[node], self.numbers[node] = Type(Kind.NUMBER), value
                    if not math.isfinite(value):
                        self.fault("bad_number", "a number must be finite", node.span)
                case Text(value=text):
                    self.types[node], self.texts[node] = Type(Kind.TEXT), text
                case Name():
                    self.name(node)
                case Retrieve():
                    self.retrieve(node)
                case Apply():
                    self.apply(node, node is root and expected is A_RELATION)
        if self.unknown or self.misfitting:
            # Only now is known what stands beside and around them.
            places = expectations(root, expected, self.types)
            for unknown in self.unknown.values():
                report_unknown(self, unknown, places.get(id(unknown), ANYTHING))
            for index, node, argument in self.misfitting:
                self.convert(index, node, argument, places.get(id(node), ANYTHING))
            self.unknown.clear()
            self.misfitting.clear()

    def convert(self, index: int, node: Apply, argument: int, place: Expectation) -> None:
        """Advise on a kind fault: only what makes the whole into something that fits around it."""
        fault, found = self.faults[index], node.arguments[argument]
        signatures = OPERATORS[node.operator].signatures
        # What can only give one kind is at fault for that elsewhere.
        fixed = len({signature.result for signature in signatures}) == 1
        ways = [s.spread(len(node.arguments)) or () for s in signatures if fixed or s.result in place.kinds]
        kinds = {kind for places in ways for parameter in places[argument : argument + 1] for kind in parameter.kinds}
        wanted = [kind for kind in map(Kind, fault.expected) if kind in kinds]
        if not fault.hint:
            advice = self.fixer.converted(found, self.types.get(found) or Type(Kind.NUMBER), wanted)
            # What is itself not in order is not to be wrapped in something else.
            fix = None if found in self.guessed else advice.fix
            self.faults[index] = replace(fault, hint=advice.hint, fix=fix)

    def name(self, node: Name) -> None:
        binding = self.bindings.get(node.name)
        if node.name in self.steps:
            source = self.steps[node.name]
            for known in (self.types, self.numbers, self.texts):
                if source in known:
                    known[node] = known[source]  # type: ignore[assignment]
        elif binding is None:
            self.unknown[id(node)] = node
        else:
            self.types[node] = binding.type
            if isinstance(binding.value, float):
                self.numbers[node] = binding.value
            elif isinstance(binding.value, str):
                self.texts[node] = binding.value

    def retrieve(self, node: Retrieve) -> None:
        name = node.retriever
        binding = self.bindings.get(name)
        found = binding.type if binding else self.types.get(self.steps.get(name, node))
        if binding is None and name not in self.steps:
            self.unknown[id(node)] = node
            return
        if found is not None and found.kind is not Kind.RETRIEVER:
            below = self.types.get(node.arguments[0]) if node.arguments else None
            self.fault(
                "kind", f"{short(Name(name))} is a {found}, only a retriever is called", node.span,
                fix=self.fixer.called(node, found, below), expected=(Kind.RETRIEVER,), found=str(found),
            )  # fmt: skip
            return
        self.types[node] = Type(Kind.RELATION)
        for key, value in node.options:
            fix = self.fixer.option(value, key, "") if key == "depth" and len(node.arguments) == 1 else None
            message = f"{name} has no parameter {key!r} given by name"
            self.fault("bad_argument", message, value.span or node.span, f"write {name}(text, depth)", fix=fix)
        if not 1 <= len(node.arguments) <= 2:
            message = f"{name} takes a text and maybe a depth, not {len(node.arguments)} arguments"
            fix = self.fixer.empty_call(node) if not node.arguments and "query" in self.bindings else None
            self.fault("bad_argument", message, node.span, f"write {name}(query, 100)", fix=fix)
            return
        places = (Parameter("text", "text"), Parameter("depth", "count"))
        for argument, place in zip(node.arguments, places, strict=False):
            if not fits(argument, place, self.types):
                self.misfit(argument, place, name)

    def apply(self, node: Apply, is_result: bool) -> None:
        operator = OPERATORS[node.operator]
        before = len(self.faults)
        fitting = self.signature(node, operator, is_result)
        if node.operator == ">>":
            self.loosest(node)
        if not self.options(node, operator) or fitting is None:
            return
        kinds, places = fitting
        spaces = self.spaces(node)
        if len(spaces) > 1:
            self.two_spaces(node, spaces)
            return
        if len(kinds) == 1:
            (kind,) = kinds
            self.types[node] = Type(kind, spaces[0] if spaces and kind is Kind.VECTOR else None)
            if any(a in self.guessed or not (a in self.types or isinstance(a, Count)) for a in node.arguments):
                self.guessed.add(node)
        for rule in operator.rules:
            check_rule(self, rule, node, places)
        if kinds == {Kind.NUMBER} and len(self.faults) == before:
            compute(self, node)

    def two_spaces(self, node: Apply, spaces: Sequence[Space]) -> None:
        matrix = next((t.space for a in node.arguments if (t := self.types.get(a)) and t.kind is Kind.MATRIX), None)
        wanted = Type(Kind.VECTOR, matrix or spaces[0])
        names = [name for name, b in self.bindings.items() if b.type == wanted]
        hint = f"vectors of {wanted.space}: {', '.join(names)}" if names else ""
        message = f"vectors of two spaces never meet: {' and '.join(map(str, spaces))}"
        odd = next(str(Type(Kind.VECTOR, space)) for space in spaces if space != wanted.space)
        self.fault("space", message, node.span, hint, expected=(str(wanted),), found=odd, candidates=names)

    def signature(
        self, node: Apply, operator: Operator, is_result: bool
    ) -> tuple[set[Kind], tuple[Parameter, ...]] | None:
        """The kinds that may come out and the parameters, or None with a fault reported."""
        spread = [(s, places) for s in operator.signatures if (places := s.spread(len(node.arguments))) is not None]
        if not spread:
            count = len(node.arguments)
            message = f"{node.operator} is given {count} argument{'' if count == 1 else 's'}"
            advice = Advice(f"write {operator.usage}", self.fixer.call(node, operator))
            self.fault("bad_argument", message, node.span, advice)
            return None
        rows = [[fits(a, p, self.types) for a, p in zip(node.arguments, places, strict=True)] for _, places in spread]
        fitting = [i for i, row in enumerate(rows) if all(row)]
        if fitting:
            first, places = spread[fitting[0]]
            unsure = any(
                p.accepts not in LITERALS and not isinstance(a, Count) and a not in self.types
                for a, p in zip(node.arguments, places, strict=True)
            )
            return ({spread[i][0].result for i in fitting} if unsure else {first.result}), places
        self.misfits(node, [places for _, places in spread], rows, is_result)
        return None

    def misfits(
        self, node: Apply, spread: Sequence[Sequence[Parameter]], rows: Sequence[Sequence[bool]], is_result: bool
    ) -> None:
        """Report the arguments that do not fit, by the signature that most of them fit."""
        operator = OPERATORS[node.operator]
        best = max(range(len(spread)), key=lambda i: sum(rows[i]))
        if len(node.arguments) == 2 and not operator.is_function and not any(map(any, rows)):
            best = 0
        ways = [places for places, row in zip(spread, rows, strict=True) if sum(row) == sum(rows[best])]
        numeric = self.types.get(node.arguments[0]) == Type(Kind.RELATION)
        first = len(self.faults)
        for i, (argument, place) in enumerate(zip(node.arguments, spread[best], strict=True)):
            if rows[best][i]:
                continue
            if place.accepts in LITERALS:
                self.misfit(argument, place, node.operator, quotable=i == 0 or not numeric)
            else:
                kinds = dict.fromkeys(kind for places in ways for kind in places[i].kinds)
                found = self.types.get(argument) or Type(Kind.NUMBER)
                wanted = [kind for kind in kinds if kind is not found.kind]
                where = operator.unicode or operator.key
                self.misfitting.append((len(self.faults), node, i))
                self.kind_fault(argument, found, wanted, where, self.dated(node, argument, found) or Advice())
        advice = self.arrangement(node, operator, is_result)
        if advice is not None and advice.fix is not None:
            # One edit repairs all of them.
            while self.misfitting and self.misfitting[-1][0] >= first:
                self.misfitting.pop()
            self.faults[first:] = [replace(fault, hint="", fix=None) for fault in self.faults[first:]]
            self.faults[first] = replace(self.faults[first], hint=advice.hint, fix=advice.fix)

    def arrangement(self, node: Apply, operator: Operator, is_result: bool) -> Advice | None:
        """Arguments that would fit the other way round, or grouped as Python groups them."""
        if len(node.arguments) != 2:
            return None
        if node.operator == ">>" and not is_result and (fix := self.fixer.regrouped(node)):
            return Advice("comparisons bind tighter than ▷: parentheses around it", fix)
        turned = tuple(Count(repr(a)) if _is_digits(a) else a for a in reversed(node.arguments))
        for signature in operator.signatures if node.operator not in _ORDERED else ():
            places = signature.spread(2) or ()
            # Only what is known to fit there: a name that nothing has fits everywhere.
            known = all(a in self.types or isinstance(a, Count) for a in turned)
            if places and known and all(fits(a, p, self.types) for a, p in zip(turned, places, strict=True)):
                return self.fixer.exchanged(node)
        return None

    def loosest(self, node: Apply) -> None:
        """`w * m >> S` was meant as `w * (m >> S)`: advise on the fault that the mask was found to be."""
        left = node.arguments[0]
        if not isinstance(left, Apply) or left.operator not in ("*", "+", "-") or len(left.arguments) != 2:
            return
        mask = left.arguments[1]
        if mask in self.types and self.types[mask].kind is Kind.MASK:
            advice = self.fixer.tightened(node, left, mask)
            for index in range(len(self.faults) - 1, -1, -1):
                if advice is not None and self.faults[index].span == mask.span:
                    self.faults[index] = replace(self.faults[index], hint=advice.hint, fix=advice.fix)
                    return

    def dated(self, node: Apply, argument: Expression, found: Type) -> Advice | None:
        """`published >= 2024`: the day that is meant, written as one."""
        other = node.arguments[-1]
        compared = OPERATORS[node.operator].precedence == COMPARE and isinstance(other, Number)
        return self.fixer.day(other, node.operator) if compared and found.kind is Kind.DATE_COLUMN else None

    def options(self, node: Apply, operator: Operator) -> bool:
        known = {option.name: option for option in operator.options}
        sound, seen = True, set()
        for key, value in node.options:
            option = known.get(key)
            if option is None or key in seen:
                message = f"{node.operator} is given {key!r} twice" if key in seen else f"{node.operator} has no {key}="
                close = () if key in seen else option_named(key, known)
                hint = f"did you mean {close[0]}=?" if close else f"write {operator.usage}"
                fix = self.fixer.option(value, key, close[0]) if len(close) == 1 else None
                self.fault("bad_argument", message, value.span or node.span, hint, fix=fix, candidates=close)
                sound = False
            elif not fits(value, Parameter(key, option.accepts), self.types):
                self.misfit(value, Parameter(key, option.accepts), node.operator)
                sound = False
            seen.add(key)
        return sound

    def spaces(self, node: Apply) -> list[Space]:
        found = (self.types.get(argument) for argument in node.arguments)
        return list(dict.fromkeys(t.space for t in found if t is not None and t.space is not None))


def _is_digits(node: Expression) -> bool:
    """Whether a number would have been read as a count where one is wanted."""
    return isinstance(node, Number) and node.value >= 1 and repr(node).isdigit()
