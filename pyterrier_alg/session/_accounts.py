"""How one record came by its score: what adds up, what it was rescaled by, exactly.

Sums, differences, negation, scaling by numbers, and products are taken apart as far as the tree is affine in its terms;
where two relations are multiplied, the one that is the longer sum is taken apart and the other is a factor. All else is
a term, with an account of its own. Contributions are fractions, exact; what rounding added is a line of its own, which
is bounded by what float64 may round at each operation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from pyterrier_alg.algebra.expressions import Apply, Expression
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.engines.demand import demand
from pyterrier_alg.session._rules import Rule, rule_of
from pyterrier_alg.session._situation import AtRecord, Place

#: Float64 rounds an operation by at most this share of its result, and by this much where it underflows.
_UNIT, _TINY = Fraction(1, 2**53), Fraction(1, 2**1075)

#: What leaves a record's score as it is, and the place of the relation among the parts.
PASSING = {">>": 1, "top": 1, "per": 2}

#: Factors of a term, the last met first.
_Factors: TypeAlias = "tuple[Expression, bool, _Factors] | None"


@dataclass(frozen=True)
class Term:
    """One line of an account, as it is found.

    Attributes:
        node: the term.
        place: where it stands.
        value: its own score, or number.
        weight: what it is multiplied by, the sign included; None where it does not simply add.
        factors: what the weight is made of: an expression, and whether it divides.
        summand: what to take out of the program to be without it; None where nothing would be left.
        note: how it came by its value, where that is not its own score.
    """

    node: Expression
    place: Place
    value: float
    weight: Fraction | None
    factors: tuple[tuple[Expression, bool], ...] = ()
    summand: Place | None = None
    note: str = ""

    @property
    def contribution(self) -> Fraction | None:
        """The value times the weight, exactly."""
        return None if self.weight is None else self.weight * Fraction(self.value)


@dataclass
class Reckoning:
    """One expression's account, as it is found.

    Attributes:
        node: whose value it is.
        place: where that stands.
        value: its value.
        rule: how it comes from the terms, where they are not simply added.
        terms: the lines.
        bound: how large the rounding may be; None where the terms do not add up.
    """

    node: Expression
    place: Place
    value: float
    terms: list[Term] = field(default_factory=list)
    rule: Rule | None = None
    bound: Fraction | None = None


class Accountant:
    """Takes a program's result apart for one record that it scores."""

    def __init__(self, at: AtRecord) -> None:
        """Begin with nothing known."""
        self.at, self.situation = at, at.situation
        self._lengths: dict[Expression, int] = {}
        self._errors: dict[Expression, Fraction] = {}

    def reckonings(self) -> list[Reckoning]:
        """The result's account, then those of its terms and factors, each expression once."""
        first = self.passed(self.situation.meant.result, Place())
        found: dict[Expression, Reckoning] = {}
        waiting = deque([first])
        while waiting:
            node, place = self.passed(*waiting.popleft())
            if node in found:
                continue
            account = self._account(node, place)
            # What only has a value, and no more to be said of it, needs no account but the result's own.
            if account.terms or account.rule is not None or not found:
                found[node] = account
            for term in account.terms:
                waiting.append((term.node, term.place))
                waiting.extend((factor, Place()) for factor, _ in term.factors if self._is_relation(factor))
        return list(found.values())

    def passed(self, node: Expression, place: Place) -> tuple[Expression, Place]:
        """The expression that has the same score for this record: behind names of steps, masks and selections."""
        while True:
            node, place = self.situation.named(node, place)
            if isinstance(node, Apply) and node.operator in PASSING:
                index = PASSING[node.operator]
                node, place = node.parts[index], place.part(index)
            elif isinstance(node, Apply) and node.operator == "fill" and self._is_relation(node):
                index = 0 if self.at.score(node.arguments[1]) is None else 1
                node, place = node.parts[index], place.part(index)
            else:
                return node, place

    def _account(self, node: Expression, place: Place) -> Reckoning:
        value = self.at.score(node) if self._is_scored(node) else None
        if value is None:
            return Reckoning(node, place, 0.0)
        account = Reckoning(node, place, value)
        if self._is_affine(node):
            account.terms = list(self._terms(node, place))
            account.bound = self._error(node)
            return account
        account.rule = rule = rule_of(node, place, self.at)
        if rule is not None:
            account.bound = rule.bound
            account.terms = [Term(p.node, p.place, p.value, p.weight, (), p.summand, p.note) for p in rule.parts]
        return account

    def _terms(self, root: Expression, place: Place) -> Iterator[Term]:
        """What is added up, in the order of the text."""
        stack: list[tuple[Expression, Place, Fraction, _Factors, Place | None]] = [
            (root, place, Fraction(1), None, None)
        ]
        while stack:
            node, place, weight, factors, summand = stack.pop()
            node, place = self.passed(node, place)
            if not self._is_affine(node):
                value = self.at.score(node)
                yield Term(node, place, 0.0 if value is None else value, weight, _listed(factors), summand)
                continue
            parts = node.parts
            match node.operator:  # type: ignore[attr-defined]
                case "+" | "-" as sign:
                    right = weight if sign == "+" else -weight
                    stack.append((parts[1], place.part(1), right, factors, place.part(1)))
                    stack.append((parts[0], place.part(0), weight, factors, place.part(0)))
                case "neg":
                    stack.append((parts[0], place.part(0), -weight, factors, summand))
                case operator:
                    inner = self._inner(node)
                    factor = parts[1 - inner]
                    by = Fraction(self._value(factor))
                    scaled = weight / by if operator == "/" else weight * by
                    linked = (factor, operator == "/", factors)
                    stack.append((parts[inner], place.part(inner), scaled, linked, summand))

    def _inner(self, node: Expression) -> int:
        """Which part of a product or a quotient is taken apart: not a number; of two relations the longer sum."""
        left, right = (self._is_relation(part) for part in node.parts)
        if not right:
            return 0
        return 0 if left and self._length(node.parts[0]) > self._length(node.parts[1]) else 1

    def _is_affine(self, node: Expression) -> bool:
        if not isinstance(node, Apply) or not self._is_relation(node):
            return False
        return node.operator in ("+", "-", "neg", "*", "/")

    def _is_relation(self, node: Expression) -> bool:
        return self.situation.kind(node) is Kind.RELATION

    def _is_scored(self, node: Expression) -> bool:
        return self.situation.kind(node) in (Kind.RELATION, Kind.NUMBER)

    def _value(self, node: Expression) -> float:
        value = self.at.score(node)
        return 0.0 if value is None else value

    def _below(self, node: Expression) -> Sequence[Expression]:
        """The relations inside an affine node, each behind what passes it on."""
        if not self._is_affine(node):
            return ()
        return [self.passed(part, Place())[0] for part in node.parts if self._is_relation(part)]

    def _length(self, node: Expression) -> int:
        """How many terms an expression comes apart into."""

        def visit(inner: Expression) -> int:
            below = [self._lengths[part] for part in self._below(inner)]
            both = isinstance(inner, Apply) and inner.operator in ("+", "-")
            return 1 if not below else sum(below) + (len(below) == 1) if both else max(below)

        return demand(self.passed(node, Place())[0], self._below, visit, self._lengths)

    def _error(self, node: Expression) -> Fraction:
        """How far an affine expression's score may be from what its terms add up to."""
        return demand(node, self._below, self._visit_error, self._errors)

    def _visit_error(self, node: Expression) -> Fraction:
        if not self._is_affine(node):
            return Fraction(0)
        rounding = _UNIT * abs(Fraction(self._value(node))) + _TINY
        below = [self._errors[part] for part in self._below(node)]
        match node.operator:  # type: ignore[attr-defined]
            case "neg":
                return below[0]
            case "*" | "/" as operator:
                inner = self._inner(node)
                by = abs(Fraction(self._value(node.parts[1 - inner])))
                error = self._errors[self.passed(node.parts[inner], Place())[0]]
                return (error / by if operator == "/" else error * by) + rounding
        return sum(below, rounding)


def _listed(factors: _Factors) -> tuple[tuple[Expression, bool], ...]:
    found = []
    while factors is not None:
        node, divides, factors = factors
        found.append((node, divides))
    return tuple(reversed(found))
