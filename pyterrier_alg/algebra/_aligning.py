"""Two expressions laid over each other: what stands in both, and the places where one or the other has to be chosen.

An alignment is a tree in which every difference is a choice of its own, so that any set of choices gives an expression:
none of them the old one, all of them the new one. The cheapest alignment is looked for, where larger differences cost
more; of expressions too large for that, a good one is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from pyterrier_alg.algebra._likeness import (
    alike,
    called,
    keeps,
    labels,
    likeness,
    matched,
    replacing,
    sort_of,
    surplus,
)
from pyterrier_alg.algebra.expressions import Apply, Expression, Retrieve

#: Up to this product of two sizes, every way to align is looked at.
_SEARCHED = 10_000

#: What a step's name is worth to whoever aligns: the digest of what it stands for, for steps that one side alone has.
Meanings: TypeAlias = Mapping[Expression, Expression]


@dataclass(frozen=True, eq=False)
class Either:
    """A place where one expression stands in the old formula and another in the new one."""

    old: Expression
    new: Expression
    choice: int


@dataclass(frozen=True, eq=False)
class Around:
    """An operator that one side alone has around a part that both have."""

    whole: Expression
    kept: int
    inner: Aligned
    choice: int
    added: bool


@dataclass(frozen=True, eq=False)
class Slot:
    """An argument or an option of an operator that both sides have; one side may lack it."""

    part: Aligned
    in_old: bool = True
    in_new: bool = True
    choice: int = -1
    option: str = ""


@dataclass(frozen=True, eq=False)
class Together:
    """An operator that both sides have, maybe by another name, over aligned parts."""

    old: Apply | Retrieve
    new: Apply | Retrieve
    slots: tuple[Slot, ...]
    choice: int = -1


Aligned: TypeAlias = Expression | Either | Around | Together

#: Says that there is a choice: its sort, what it is about, and gets its number.
Announce: TypeAlias = Callable[..., int]

_Steps: TypeAlias = Generator[Any, Any, Any]


def unwound(start: _Steps) -> Any:
    """The value of a generator that yields the generators whose values it needs: recursion, however deep."""
    stack, value = [start], None
    while stack:
        try:
            wanted = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(wanted)
            value = None
    return value


def chosen(aligned: Aligned, choices: Collection[int]) -> Expression:
    """The expression that some choices give.

    Args:
        aligned: two expressions.
        choices: the numbers of those places where the new side is taken.
    """
    return cast(Expression, unwound(_chosen(aligned, choices)))


def _chosen(aligned: Aligned, choices: Collection[int]) -> _Steps:
    match aligned:
        case Either():
            return aligned.new if aligned.choice in choices else aligned.old
        case Around():
            inner = yield _chosen(aligned.inner, choices)
            there = (aligned.choice in choices) == aligned.added
            return with_part(aligned.whole, aligned.kept, inner) if there else inner
        case Together():
            template = aligned.new if aligned.choice in choices else aligned.old
            arguments, options = [], []
            for slot in aligned.slots:
                if slot.in_new if slot.choice in choices else slot.in_old:
                    part = yield _chosen(slot.part, choices)
                    if slot.option:
                        options.append((slot.option, part))
                    else:
                        arguments.append(part)
            return replace(template, arguments=tuple(arguments), options=tuple(options))
    return aligned


def with_part(whole: Expression, place: int, part: Expression) -> Expression:
    """A node with another part in one place."""
    node = cast(Apply, whole)
    parts = [*node.parts]
    parts[place] = part
    count = len(node.arguments)
    named = zip([key for key, _ in node.options], parts[count:], strict=True)
    return replace(node, arguments=tuple(parts[:count]), options=tuple(named))


class Aligner:
    """Finds alignments, each pair of expressions once."""

    def __init__(self, meanings: Meanings, announce: Announce) -> None:
        """Begin.

        Args:
            meanings: for names of steps that one side alone has, what they stand for there.
            announce: called once for each choice, in the order of the text.
        """
        self.meanings, self.announce = meanings, announce
        self.plans: dict[tuple[bytes, bytes], tuple[float, str, int]] = {}

    def cost(self, old: Expression, new: Expression) -> float:
        """How much two expressions differ; 0 where they are equal."""
        return cast(float, unwound(self._cost(old, new)))

    def align(self, old: Expression, new: Expression) -> Aligned:
        """Lay two expressions over each other."""
        self.cost(old, new)
        return cast(Aligned, unwound(self._aligned(old, new, None, "")))

    def _cost(self, old: Expression, new: Expression) -> _Steps:
        if old == new:
            return 0.0
        key = (old.digest, new.digest)
        if key not in self.plans:
            best = (replacing(old, new), "either", 0)
            if self._names_the_other(old, new):
                best = (0.25, "named", 0)
            for way, place in self._ways(old, new):
                total = yield self._cost_of(way, place, old, new)
                if total < best[0]:
                    best = (total, way, place)
            self.plans[key] = best
        return self.plans[key][0]

    def _cost_of(self, way: str, place: int, old: Expression, new: Expression) -> _Steps:
        if way == "dropped":
            kept = old.parts[place]
            return surplus(old, kept) + (yield self._cost(kept, new))
        if way == "added":
            kept = new.parts[place]
            return surplus(new, kept) + (yield self._cost(old, kept))
        total = 0.0 if called(old) == called(new) else 1.0
        for left, right, _ in matched(old, new):
            if left is not None and right is not None:
                total += yield self._cost(left, right)
            else:
                total += 1.0 + 0.4 * cast(Expression, right if left is None else left).size
        return total

    def _names_the_other(self, old: Expression, new: Expression) -> bool:
        """Whether one side gives a name to what the other writes out."""
        return self.meanings.get(old, old) == self.meanings.get(new, new)

    def _ways(self, old: Expression, new: Expression) -> Iterator[tuple[str, int]]:
        """How two expressions may be laid over each other, the likeliest first."""
        ways = [("together", 0)] if alike(old, new) else []
        ways += [("dropped", place) for place in keeps(old)]
        ways += [("added", place) for place in keeps(new)]
        if old.size * new.size <= _SEARCHED:
            yield from ways
            return
        # A long sum of which one term is dropped or added: the next term shows it.
        yield from sorted(ways, key=lambda way: -likeness(*_beneath(way[0], way[1], old, new)))[:1]

    def _aligned(self, old: Expression, new: Expression, around: Expression | None, name: str) -> _Steps:
        if old == new:
            return old
        _, way, place = self.plans[old.digest, new.digest]
        if way == "named":
            return Either(old, new, self.announce("named", old, new))
        if way == "either":
            return Either(old, new, self.announce(sort_of(old, new), old, new, around, name))
        if way == "dropped":
            choice = self.announce("dropped", old, None, old.parts[place], place=place)
            inner = yield self._aligned(old.parts[place], new, around, name)
            return Around(old, place, inner, choice, added=False)
        if way == "added":
            choice = self.announce("added", None, new, old, place=place)
            inner = yield self._aligned(old, new.parts[place], around, name)
            return Around(new, place, inner, choice, added=True)
        choice = -1 if called(old) == called(new) else self.announce("operator", old, new, old)
        slots, known = [], labels(old)
        for left, right, option in matched(old, new):
            label = option or known.get(id(left), "depth" if isinstance(old, Retrieve) else "")
            if left is not None and right is not None:
                slots.append(Slot((yield self._aligned(left, right, old, label)), option=option))
            else:
                number = self.announce("argument", left, right, old, label)
                one = cast(Expression, right if left is None else left)
                slots.append(Slot(one, left is not None, right is not None, number, option))
        return Together(cast(Apply, old), cast(Apply, new), tuple(slots), choice)


def _beneath(way: str, place: int, old: Expression, new: Expression) -> tuple[Expression, Expression]:
    """What is left to be laid over each other, one of the ways."""
    if way == "dropped":
        return old.parts[place], new
    return (old, new.parts[place]) if way == "added" else (old, new)
