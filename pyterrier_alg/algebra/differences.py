"""What tells two formulas apart, as edits that people can read and that can be made one by one."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from pyterrier_alg.algebra._aligning import Aligner, with_part
from pyterrier_alg.algebra._assembling import Laid, assembled
from pyterrier_alg.algebra._matching import Line, matched_steps, with_names
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number, Retrieve
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.algebra.printing import to_ascii

#: Every sort of edit, and how it is told: with the old and the new text, and what stands around them.
SORTS = {
    "coefficient": "{name} {old} → {new} in {within}",
    "count": "{name} {old} → {new} in {within}",
    "text": "text {old} → {new} in {within}",
    "operand": "{old} → {new} in {within}",
    "operator": "{old} → {new} in {within}",
    "reordered": "operands of {old} in the other order",
    "replaced": "{old} replaced by {new}",
    "mask_added": "mask {new} put before {within}",
    "mask_dropped": "mask {old} dropped before {within}",
    "clause_added": "clause {new} added to {within}",
    "clause_dropped": "clause {old} dropped from {within}",
    "term_added": "term {new} added to {within}",
    "term_dropped": "term {old} dropped from {within}",
    "factor_added": "factor {new} put on {within}",
    "factor_dropped": "factor {old} dropped from {within}",
    "function_added": "{new} put around {within}",
    "function_dropped": "{old} dropped around {within}",
    "argument_added": "{new} added to {within}",
    "argument_dropped": "{old} dropped from {within}",
    "step_added": "step {new}",
    "step_removed": "step {old} removed",
    "step_renamed": "step {old} renamed {new}",
}

#: Those that change what is named, and nothing that is computed.
NEUTRAL = frozenset({"step_added", "step_removed", "step_renamed"})

#: How many characters of a text a line shows, and from how many parts an expression around an edit is not written out.
_LONGEST, _LARGE = 48, 200


@dataclass(frozen=True)
class Edit:
    """One thing that is different.

    Attributes:
        number: its place among the edits of a difference, from 1.
        sort: one of `SORTS`.
        old: what stood there, as text; `…` stands for what stays. Empty where something was added.
        new: what stands there now; empty where something was dropped.
        within: what it stands in, or what it is put around, in the old formula.
        name: what the operator calls the place: `k`, `depth`, `relevance`; empty where it has no name.
        step: the step that it is in, by its old name where it has one; empty for the result.
    """

    number: int
    sort: str
    old: str
    new: str
    within: str = ""
    name: str = ""
    step: str = ""

    @property
    def is_neutral(self) -> bool:
        """Whether it only names, and cannot change a score."""
        return self.sort in NEUTRAL

    def __str__(self) -> str:
        """One line; long texts are cut."""
        texts = [self.old, self.new] if self.sort.startswith("function") else [_beside(self.old), _beside(self.new)]
        old, new, within = map(_cut, (*texts, self.within))
        told = SORTS[self.sort].format(name=self.name or "coefficient", old=old, new=new, within=within)
        told = told.removesuffix(" in ")
        return f"{told} (step {self.step})" if self.step and not self.is_neutral else told

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "number": self.number,
            "sort": self.sort,
            "old": self.old,
            "new": self.new,
            "within": self.within,
            "name": self.name,
            "step": self.step,
            "neutral": self.is_neutral,
            "text": str(self),
        }


@dataclass(frozen=True, repr=False)
class Difference:
    """What tells two formulas apart.

    Attributes:
        before: the old formula.
        after: the new one.
        edits: in the order of the text; none where the formulas are equal.
    """

    before: Formula
    after: Formula
    edits: tuple[Edit, ...]
    _lines: tuple[Laid, ...] = field(compare=False)

    def apply(self, edits: Iterable[Edit]) -> Formula:
        """The old formula with some of the edits made.

        Names of steps follow what is made: a step that an edit needs comes along, and one that is still needed stays.
        The formula may not be sound where edits only make sense together.

        Args:
            edits: some of this difference's, in any order.

        Returns:
            The old formula for none of them, the new one for all.

        Raises:
            AlgebraError: `bad_argument`, for an edit of another difference.

        Example:
            >>> difference = differences(parse("top(10, S - 0.5 T)"), parse("top(5, m >> (S - T))"))
            >>> difference.apply(difference.edits[:1])
            top(5, S - 0.5 * T)
        """
        made = list(edits)
        for edit in made:
            if edit not in self.edits:
                raise AlgebraError("bad_argument", f"{edit!s} is no edit of this difference")
        formula = assembled(self._lines, {edit.number for edit in made})
        known = [given for given in (self.before, self.after) if given == formula]
        return known[0] if known else formula

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __repr__(self) -> str:
        """One line an edit."""
        return "\n".join(f"{edit.number}. {edit}" for edit in self.edits) or "no difference"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(str(edit))}</li>" for edit in self.edits)
        return f"<ol>{lines}</ol>" if lines else "<div>no difference</div>"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        texts = {"before": self.before.ascii, "after": self.after.ascii}
        return {**texts, "edits": [edit.to_dict() for edit in self.edits]}


def differences(before: Formula, after: Formula) -> Difference:
    """What tells two formulas apart: coefficients, counts, operands, masks, clauses, terms, functions and steps.

    Steps are matched by their names and by what they compute, in their order; the expressions of matched steps, and
    the results, are laid over each other so that as little as possible is different.

    Args:
        before: sound.
        after: sound.

    Returns:
        The edits, each of which can be made by itself.

    Example:
        >>> differences(parse("top(10, S - 0.5 T)"), parse("top(5, m >> (S - T))"))
        1. k 10 → 5 in top(10, S - 0.5 * T)
        2. mask m >> put before S - 0.5 * T
        3. factor 0.5 * dropped from T
    """
    return _Writer(before, after).difference()


class _Writer:
    """Writes the edits down while expressions are aligned."""

    def __init__(self, before: Formula, after: Formula) -> None:
        self.before, self.after = before, after
        self.matched = matched_steps(before, after)
        self.aligner = Aligner(self.matched.meanings, self.announce)
        self.presence: dict[Expression, int] = {}
        self.edits: list[Edit] = []
        self.step = ""

    def difference(self) -> Difference:
        lines = tuple(map(self.line, self.matched.lines))
        return Difference(self.before, self.after, tuple(self.edits), lines)

    def line(self, line: Line) -> Laid:
        """One step or the result, with the edits that are in it."""
        token, old_name, new_name = line.token.name, line.old_name, line.new_name
        self.step = (new_name if old_name is None else old_name) or ""
        if line.old is not None and line.new is not None:
            renaming = self.write("step_renamed", self.step, new_name or "") if old_name != new_name else -1
            return Laid(token, old_name, new_name, self.aligner.align(line.old, line.new), renaming)
        if line.new is not None:
            text = f"{Name(self.step)!r} = {self.shown(line.new, True)}"
            coming = self.presence[line.token] = self.write("step_added", "", text)
            return Laid(token, old_name, new_name, line.new, coming=coming)
        going = self.presence[line.token] = self.write("step_removed", repr(Name(self.step)), "")
        return Laid(token, old_name, new_name, cast(Expression, line.old), going=going)

    def announce(
        self,
        sort: str,
        old: Expression | None,
        new: Expression | None,
        around: Expression | None = None,
        name: str = "",
        place: int = 0,
    ) -> int:
        """Write an edit down, and give its number."""
        if sort == "named":
            # Writing out and naming are one with the step that comes or goes.
            return next(self.presence[node] for node in (old, new) if node in self.presence)
        within = self.around(around)
        if sort in ("added", "dropped"):
            whole = cast(Apply, new if sort == "added" else old)
            template = self.shown(with_part(whole, place, Name("…")), sort == "added").replace("`…`", "…")
            texts = ("", template) if sort == "added" else (template, "")
            return self.write(f"{_group(whole)}_{sort}", *texts, within)
        if sort == "argument":
            return self.argument(old, new, cast(Expression, around), name)
        if sort == "operator":
            return self.write(sort, self.symbol(old, False), self.symbol(new, True), within)
        return self.write(sort, self.shown(old, False), self.shown(new, True), within, name)

    def argument(self, old: Expression | None, new: Expression | None, around: Expression, name: str) -> int:
        """Write down an argument that one side lacks; an option has its default there."""
        texts = self.shown(old, False), self.shown(new, True)
        within = self.around(around)
        known = OPERATORS[around.operator].options if isinstance(around, Apply) else ()
        default = next((repr(option.default) for option in known if option.name == name), None)
        if default is None and isinstance(around, Retrieve):
            default = "its own"
        if default is None:
            return self.write("argument_added" if old is None else "argument_dropped", *texts, within, name)
        sort = "coefficient" if isinstance(new if old is None else old, Number) else "count"
        return self.write(sort, texts[0] or f"{default} (default)", texts[1] or f"{default} (default)", within, name)

    def write(self, sort: str, old: str, new: str, within: str = "", name: str = "") -> int:
        number = len(self.edits) + 1
        self.edits.append(Edit(number, sort, old, new, within, name, self.step))
        return number

    def shown(self, expression: Expression | None, is_new: bool) -> str:
        """An expression as its side writes it."""
        if expression is None:
            return ""
        both = (self.matched.old_names, self.matched.new_names)
        mine, other = both[::-1] if is_new else both
        return to_ascii(with_names(expression, {**other, **mine}))

    def around(self, expression: Expression | None) -> str:
        """What an edit stands in, of which every edit in it would tell again: a large one is not written out."""
        if expression is not None and expression.size > _LARGE:
            return f"an expression of {expression.size:,} parts"
        return self.shown(expression, False)

    def symbol(self, node: Expression | None, is_new: bool) -> str:
        """An operator, a function or a retriever, as its side writes it."""
        if isinstance(node, Apply):
            return OPERATORS[node.operator].ascii or node.operator
        called = cast(Retrieve, node)
        return self.shown(type(called)(called.retriever, ()), is_new).removesuffix("()")


def _group(whole: Apply) -> str:
    """What an operator makes of what is put beside its operand."""
    return {">>": "mask", "&": "clause", "|": "clause", "+": "term", "-": "term", "*": "factor", "/": "factor"}.get(
        whole.operator, "function"
    )


def _beside(text: str) -> str:
    """What is put beside an operand, without the sign that stands for the operand."""
    return text.removeprefix("… ").removesuffix(" …")


def _cut(text: str) -> str:
    line = text.replace("\n", " ⏎ ")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
