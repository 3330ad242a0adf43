"""Formulas put together from what two of them have in common and some of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyterrier_alg.algebra._aligning import Aligned, chosen
from pyterrier_alg.algebra._matching import operands, references, with_names
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.restricting import fresh


@dataclass(frozen=True)
class Laid:
    """A step of one side or of both, or the result, laid over each other."""

    token: str
    old_name: str | None
    new_name: str | None
    aligned: Aligned
    renaming: int = -1
    coming: int = -1
    going: int = -1


def assembled(lines: Sequence[Laid], choices: set[int]) -> Formula:
    """The formula that some choices give: with the steps that it needs, under names that no two share."""
    built = {line.token: chosen(line.aligned, choices) for line in lines}
    *steps, result = lines
    needed = references(built[result.token])
    kept: list[Laid] = []
    for line in reversed(steps):
        comes = line.coming < 0 or line.coming in choices
        if (comes and line.going not in choices) or line.token in needed:
            kept.append(line)
            needed |= references(built[line.token])
    names: dict[str, str] = {}
    taken = operands([built[line.token] for line in (*kept, result)])
    for line in reversed(kept):
        is_new = line.old_name is None or line.renaming in choices
        names[line.token] = fresh((line.new_name if is_new else line.old_name) or "", taken)
        taken.add(names[line.token])
    named = [(names[line.token], with_names(built[line.token], names)) for line in reversed(kept)]
    return Formula(tuple(named), with_names(built[result.token], names))
