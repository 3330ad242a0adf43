"""Kinds, spaces and values, checked before anything runs; every fault of a formula is reported at once."""

from __future__ import annotations

import difflib
import math
import operator as arithmetic
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from pyterrier_alg.algebra.errors import Diagnostic, ProgramError, Span
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Distance, Kind, Space, Type
from pyterrier_alg.algebra.operators import (
    LITERALS,
    OPERATORS,
    RESERVED,
    RESERVED_OPERANDS,
    Operator,
    Parameter,
    Signature,
)

#: How what stands somewhere can be made into what is wanted there; {0} is its text.
_CONVERSIONS = {
    (Kind.RELATION, Kind.MASK): "support({0})",
    (Kind.TEXT_COLUMN, Kind.MASK): "support({0})",
    (Kind.DATE_COLUMN, Kind.MASK): "support({0})",
    (Kind.MATRIX, Kind.RELATION): "{0} @ query",
    (Kind.RETRIEVER, Kind.RELATION): "{0}(query)",
    (Kind.MASK, Kind.RELATION): "{0} >> S",
    (Kind.DATE_COLUMN, Kind.RELATION): 'days_since({0}, "2026-12-01")',
}
_NUMBERS: dict[str, Callable[..., float]] = {
    "+": arithmetic.add,
    "-": arithmetic.sub,
    "*": arithmetic.mul,
    "/": arithmetic.truediv,
    "neg": arithmetic.neg,
}
_LITERAL_NAMES = {
    "count": "digits, 1 or more",
    "count0": "digits, 0 or more (at most 15)",
    "string": "a text literal",
    "literal": "a text or number literal",
}


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
    checker = _Checker(bindings)
    for step in formula.steps:
        checker.step(*step, getattr(step, "span", None))
    checker.result(formula.result)
    if checker.faults:
        raise ProgramError(checker.faults, formula.source or formula.ascii)
    return Checked(checker.types, checker.numbers)


def suggest(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """The candidates that a name was likely meant to be, the likeliest first.

    Args:
        name: as written.
        candidates: what there is.

    Returns:
        At most three.

    Example:
        >>> suggest("q3", ["q1", "q2", "pool"])
        ('q2', 'q1')
    """
    names = list(candidates)
    lowered = {n.lower(): n for n in names}
    if name.lower() in lowered:
        return (lowered[name.lower()],)
    return tuple(difflib.get_close_matches(name, names, n=3, cutoff=0.5))


def is_day(text: str) -> bool:
    """Whether a text is a calendar day as the notation writes it: `YYYY-MM-DD`."""
    if len(text) != 10 or not text.isascii() or text[4] != "-" or text[7] != "-":
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass
class _Checker:
    bindings: Mapping[str, Binding]
    faults: list[Diagnostic] = field(default_factory=list)
    types: dict[Expression, Type] = field(default_factory=dict)
    numbers: dict[Expression, float] = field(default_factory=dict)
    texts: dict[Expression, str] = field(default_factory=dict)
    steps: dict[str, Expression] = field(default_factory=dict)

    def step(self, name: str, expression: Expression, span: Span | None) -> None:
        self.expression(expression)
        if name in RESERVED:
            self.fault("reserved_name", f"{name!r} is a word of the language; a step cannot have it", span)
        elif name in self.steps or name in self.bindings:
            what = "an earlier step" if name in self.steps else "an operand"
            self.fault("duplicate_name", f"{name!r} is {what} already; steps shadow nothing", span)
        self.steps[name] = expression

    def result(self, expression: Expression) -> None:
        self.expression(expression)
        found = self.types.get(expression)
        if isinstance(expression, Count | Number | Text) and found is None:
            found = Type(Kind.TEXT if isinstance(expression, Text) else Kind.NUMBER)
        if found is not None and found.kind is not Kind.RELATION:
            self.kind_fault(expression, found, (Kind.RELATION,), "a program's result")

    def fault(self, code: str, message: str, span: Span | None, hint: str = "", **more: tuple[str, ...] | str) -> None:
        self.faults.append(Diagnostic(code, message, span, hint, **more))  # type: ignore[arg-type]

    def expression(self, root: Expression) -> None:
        """Find the type of every node, parts first; a node with a fault below it has none and raises no second one."""
        for node in walk(root):
            match node:
                case Number(value=value):
                    self.types[node], self.numbers[node] = Type(Kind.NUMBER), value
                    if not math.isfinite(value):
                        self.fault("bad_number", "a number must be finite", node.span)
                case Text(value=text):
                    self.types[node], self.texts[node] = Type(Kind.TEXT), text
                case Name(name=name):
                    self.name(node, name)
                case Retrieve():
                    self.retrieve(node)
                case Apply():
                    self.apply(node)

    def name(self, node: Expression, name: str) -> None:
        if name in self.steps:
            source: Expression | None = self.steps[name]
            binding = None
        else:
            source, binding = None, self.bindings.get(name)
            if binding is None:
                self.unknown(node, name)
                return
        if binding is not None:
            self.types[node] = binding.type
            if isinstance(binding.value, float):
                self.numbers[node] = binding.value
            elif isinstance(binding.value, str):
                self.texts[node] = binding.value
        elif source is not None:
            for known in (self.types, self.numbers, self.texts):
                if source in known:
                    known[node] = known[source]  # type: ignore[assignment]

    def unknown(self, node: Expression, name: str) -> None:
        if name in OPERATORS:
            self.fault(
                "unknown_name", f"{name!r} is a function, not an operand", node.span, f"write {OPERATORS[name].usage}"
            )
            return
        if name in RESERVED_OPERANDS:
            hints = {"query": "run the program for a query", "query_vec": "give the topics a query_vec column"}
            hint = hints.get(name, f"bind {name}")
            self.fault("unknown_name", f"{name!r} is not bound here", node.span, hint)
            return
        self.unknown_name(name, [*self.bindings, *self.steps], node.span)

    def unknown_name(self, name: str, names: Sequence[str], span: Span | None, what: str = "operand") -> None:
        close = suggest(name, names)
        hint = f"did you mean {', '.join(close)}?" if close else f"bound are {', '.join(sorted(names)[:12]) or 'none'}"
        self.fault("unknown_name", f"unknown {what} {name!r}", span, hint, candidates=close)

    def retrieve(self, node: Retrieve) -> None:
        binding = self.bindings.get(node.retriever)
        found = binding.type if binding else self.types.get(self.steps.get(node.retriever, Name(node.retriever)))
        if binding is None and node.retriever not in self.steps:
            functions = [key for key, entry in OPERATORS.items() if entry.is_function]
            retrievers = [name for name, b in self.bindings.items() if b.type.kind is Kind.RETRIEVER]
            self.unknown_name(node.retriever, functions + retrievers, node.span, "function or retriever")
            return
        if found is not None and found.kind is not Kind.RETRIEVER:
            self.fault(
                "kind", f"{_short(Name(node.retriever))} is a {found}, only a retriever is called", node.span,
                expected=(Kind.RETRIEVER,), found=str(found),
            )  # fmt: skip
            return
        for key, value in node.options:
            message = f"{node.retriever} has no parameter {key!r} given by name"
            self.fault("bad_argument", message, value.span or node.span, f"write {node.retriever}(text, depth)")
        if not 1 <= len(node.arguments) <= 2:
            message = f"{node.retriever} takes a text and maybe a depth, not {len(node.arguments)} arguments"
            self.fault("bad_argument", message, node.span, f"write {node.retriever}(query, 100)")
            return
        self.types[node] = Type(Kind.RELATION)
        places = (Parameter("text", "text"), Parameter("depth", "count"))
        for argument, place in zip(node.arguments, places, strict=False):
            if not self.fits(argument, place):
                self.misfit(argument, place, node.retriever)

    def fits(self, argument: Expression, place: Parameter) -> bool:
        """Whether an argument may stand there; one with a fault of its own may."""
        if place.accepts in LITERALS:
            if place.accepts.startswith("count"):
                # A count that may be 0 is computed with, so it must be one that a float64 holds exactly.
                exact = isinstance(argument, Count) and len(argument.digits) <= 15
                return exact if place.accepts == "count0" else isinstance(argument, Count) and argument.digits != "0"
            return isinstance(argument, Text) or (place.accepts == "literal" and isinstance(argument, Number))
        if isinstance(argument, Count):
            return Kind.NUMBER in place.kinds
        found = self.types.get(argument)
        return found is None or found.kind in place.kinds

    def misfit(self, argument: Expression, place: Parameter, function: str) -> None:
        if place.accepts in LITERALS:
            message = (
                f"{place.name} of {function} is written as {_LITERAL_NAMES[place.accepts]}, not {_short(argument)}"
            )
            as_digits = place.accepts.startswith("count") and isinstance(argument, Number) and repr(argument).isdigit()
            hint = f"bare: {argument!r}, without a point, an exponent or parentheses" if as_digits else ""
            self.fault("bad_parameter", message, argument.span, hint)
            return
        found = self.types.get(argument) or Type(Kind.NUMBER)
        self.kind_fault(argument, found, place.kinds, function)

    def kind_fault(self, node: Expression, found: Type, wanted: Sequence[Kind], where: str) -> None:
        expected = " or ".join(dict.fromkeys(wanted))
        needs = "is a relation" if where == "a program's result" else f"needs a {expected}"
        subject = f"{where} {needs}"
        conversions = [_CONVERSIONS[found.kind, kind] for kind in wanted if (found.kind, kind) in _CONVERSIONS]
        text = _short(node)
        wrapped = f"({text})" if isinstance(node, Apply) and not OPERATORS[node.operator].is_function else text
        hint = f"maybe {conversions[0].format(text if '({0})' in conversions[0] else wrapped)}" if conversions else ""
        self.fault(
            "kind",
            f"{text} is a {found}, {subject}",
            node.span,
            hint,
            expected=tuple(map(str, wanted)),
            found=str(found),
        )

    def apply(self, node: Apply) -> None:
        operator = OPERATORS[node.operator]
        fitting = self.signature(node, operator)
        sound = self.options(node, operator)
        if fitting is None:
            return
        signature, places = fitting
        spaces = self.spaces(node)
        if len(spaces) > 1:
            names = " and ".join(str(space) for space in spaces)
            self.fault("space", f"vectors of two spaces never meet: {names}", node.span)
            return
        if not sound:
            return
        self.types[node] = Type(signature.result, spaces[0] if spaces and signature.result is Kind.VECTOR else None)
        before = len(self.faults)
        for rule in operator.rules:
            self.rule(rule, node, places)
        if signature.result is Kind.NUMBER and len(self.faults) == before:
            self.number(node)

    def signature(self, node: Apply, operator: Operator) -> tuple[Signature, tuple[Parameter, ...]] | None:
        """The signature that fits, or None with a fault reported (or one below that explains it)."""
        spread = [(s, places) for s in operator.signatures if (places := s.spread(len(node.arguments))) is not None]
        if not spread:
            count = len(node.arguments)
            message = f"{node.operator} is given {count} argument{'' if count == 1 else 's'}"
            self.fault("bad_argument", message, node.span, f"write {operator.usage}")
            return None
        for signature, places in spread:
            if all(map(self.fits, node.arguments, places)):
                unsure = any(
                    p.accepts not in LITERALS and not isinstance(a, Count) and a not in self.types
                    for a, p in zip(node.arguments, places, strict=True)
                )
                return None if unsure and len(spread) > 1 else (signature, places)
        fits = [[self.fits(a, p) for a, p in zip(node.arguments, places, strict=True)] for _, places in spread]
        best = max(range(len(spread)), key=lambda i: sum(fits[i]))
        if len(node.arguments) == 2 and not operator.is_function and not any(map(any, fits)):
            best = 0
        for i, (argument, place) in enumerate(zip(node.arguments, spread[best][1], strict=True)):
            if not fits[best][i]:
                if place.accepts in LITERALS:
                    self.misfit(argument, place, node.operator)
                    continue
                ways = [places for (_, places), row in zip(spread, fits, strict=True) if sum(row) == sum(fits[best])]
                kinds = dict.fromkeys(kind for places in ways for kind in places[i].kinds)
                found = self.types.get(argument) or Type(Kind.NUMBER)
                where = operator.unicode or operator.key
                self.kind_fault(argument, found, [kind for kind in kinds if kind is not found.kind], where)
        return None

    def options(self, node: Apply, operator: Operator) -> bool:
        known = {option.name: option for option in operator.options}
        sound, seen = True, set()
        for key, value in node.options:
            option = known.get(key)
            if option is None or key in seen:
                message = f"{node.operator} is given {key!r} twice" if key in seen else f"{node.operator} has no {key}="
                close = () if key in seen else suggest(key, known)
                hint = f"did you mean {close[0]}=?" if close else f"write {operator.usage}"
                self.fault("bad_argument", message, value.span or node.span, hint, candidates=close)
                sound = False
            elif not self.fits(value, Parameter(key, option.accepts)):
                self.misfit(value, Parameter(key, option.accepts), node.operator)
                sound = False
            seen.add(key)
        return sound

    def spaces(self, node: Apply) -> list[Space]:
        found = (self.types.get(argument) for argument in node.arguments)
        return list(dict.fromkeys(t.space for t in found if t is not None and t.space is not None))

    def number(self, node: Apply) -> None:
        if all(a in self.numbers or isinstance(a, Count) for a in node.arguments):
            values = [self.numbers.get(a, 0.0) if not isinstance(a, Count) else float(a.digits) for a in node.arguments]
            value = _NUMBERS[node.operator](*values) + 0.0
            if not math.isfinite(value):
                self.fault("non_finite", f"{_short(node)} is {value}", node.span)
            else:
                self.numbers[node] = value

    def rule(self, rule: str, node: Apply, places: Sequence[Parameter]) -> None:
        """One of the table's value rules: its name, then the parameters that it is about."""
        name, *about = rule.split()
        arguments = [a for a, place in zip(node.arguments, places, strict=True) if place.name in about]
        arguments += [value for key, value in node.options if key in about]
        if name == "nonzero":
            arguments = [node.arguments[int(about[0])]]
        values = [self.numbers.get(argument) for argument in arguments]
        if name == "nonzero" and values[0] == 0:
            self.fault("division_by_zero", "division by zero", arguments[0].span or node.span)
        elif name == "no_l2":
            space = self.types[arguments[0]].space if arguments[0] in self.types else None
            if space is not None and space.distance is Distance.L2:
                hint = f"write closeness({_short(arguments[0])}, {_short(node.arguments[1])})"
                self.fault("space", f"{space} is an l2 space, @ is an inner product", node.span, hint)
        elif name == "positive" and values[0] is not None and values[0] <= 0:
            self.fault("bad_parameter", f"{about[0]} of {node.operator} must be positive", arguments[0].span)
        elif name == "share" and values and values[0] is not None and not 0 <= values[0] <= 1:
            self.fault("bad_parameter", f"{about[0]} of {node.operator} lies between 0 and 1", arguments[0].span)
        elif name == "ordered" and None not in values and values[0] > values[1]:  # type: ignore[operator]
            span = arguments[0].span
            self.fault("bad_parameter", f"{about[0]} must not be larger than {about[1]}", span, "exchange them")
        elif name == "date":
            for argument in arguments:
                self.day(argument, argument.span)
        elif name == "members":
            self.members(node)

    def day(self, argument: Expression, span: Span | None) -> None:
        text = self.texts.get(argument)
        if text is not None and not is_day(text):
            self.fault("bad_parameter", f"{text[:40]!r} is no calendar day", span, 'a day is written "YYYY-MM-DD"')

    def members(self, node: Apply) -> None:
        """The literals of `isin` are of the sort that the column or relation holds."""
        found = self.types.get(node.arguments[0])
        if found is None:
            return
        for literal in node.arguments[1:]:
            wanted = Kind.NUMBER if found.kind is Kind.RELATION else Kind.TEXT
            if self.types[literal].kind is not wanted:
                self.kind_fault(literal, self.types[literal], (wanted,), f"isin on a {found}")
            elif found.kind is Kind.DATE_COLUMN:
                self.day(literal, literal.span)


def _short(node: Expression, most: int = 40) -> str:
    """A node's text, cut for a one-line message."""
    text = repr(node) if node.size <= 200 else "this expression"
    return text if len(text) <= most else text[: most - 1] + "…"
