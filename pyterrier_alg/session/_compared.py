"""What a comparison found, as values that people read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyterrier_alg.algebra.differences import Difference
from pyterrier_alg.session._ablation import Change
from pyterrier_alg.session._layout import as_html, as_text, one_line
from pyterrier_alg.transformers import Program

_SHOWN = 20

ATTRIBUTION = (
    "cumulative: changes are made one after the other, in the order listed, and a record's coming, leaving or moving "
    "is credited to the change after which it was seen; 'alone' is the change made to the first program by itself, "
    "'without' the second program with the change taken back"
)


@dataclass(frozen=True)
class Move:
    """What became of one record.

    Attributes:
        docno: the record.
        ranks: its rank, from 0, in the first program, after each group of changes, and so in the second one at the end;
            None where it is not among the results.
        scores: its scores in the two programs; None where it is not among the results.
        credited: places of the effects that changed its rank; for one that came in or left, the one that did so last.
        alone: places of the effects that, made by themselves, bring it in, or make it leave; empty for one that stays.
        needed: places of the effects without which it would not have come in, or not have left.
    """

    docno: str
    ranks: tuple[int | None, ...]
    scores: tuple[float | None, float | None]
    credited: tuple[int, ...]
    alone: tuple[int, ...] = ()
    needed: tuple[int, ...] = ()

    @property
    def before(self) -> int | None:
        """Its rank in the first program."""
        return self.ranks[0]

    @property
    def after(self) -> int | None:
        """Its rank in the second one."""
        return self.ranks[-1]

    @property
    def sort(self) -> str:
        """`entered`, `left`, `up`, `down` or `same`."""
        if self.before is None or self.after is None:
            return "entered" if self.before is None else "left"
        return "same" if self.before == self.after else "up" if self.after < self.before else "down"

    @property
    def score_change(self) -> float | None:
        """The second score minus the first; None where it lacks one."""
        before, after = self.scores
        return None if before is None or after is None else after - before

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        facts = {"docno": self.docno, "sort": self.sort, "ranks": list(self.ranks), "scores": list(self.scores)}
        places = {"credited": list(self.credited), "alone": list(self.alone), "needed": list(self.needed)}
        return {**facts, "score_change": self.score_change, **places}


@dataclass(frozen=True)
class Effect:
    """What a group of changes does; mostly a group is one change.

    Attributes:
        changes: their numbers; several where the program between them is unsound or cannot run.
        entered: docnos that come in where the group is made after those before it, in their new order.
        left: docnos that leave.
        moved: how many records stay and have another rank.
        overlap: rank-biased overlap of the results before and after.
        alone: how many come in and leave where only this group is made; None where that cannot run or was not tried.
        without: how many of the second program's records are missing, and how many others are there, where only this
            group is taken back; None likewise.
    """

    changes: tuple[int, ...]
    entered: tuple[str, ...]
    left: tuple[str, ...]
    moved: int
    overlap: float
    alone: tuple[int, int] | None = None
    without: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        pairs = {name: None if pair is None else list(pair) for name, pair in self._pairs()}
        facts = {"changes": list(self.changes), "entered": list(self.entered), "left": list(self.left)}
        return {**facts, "moved": self.moved, "overlap": self.overlap, **pairs}

    def _pairs(self) -> tuple[tuple[str, tuple[int, int] | None], ...]:
        return ("alone", self.alone), ("without", self.without)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two programs beside each other: their differences, and what these do.

    Attributes:
        first: a program.
        second: another one.
        difference: of their formulas.
        changes: that, and what else tells the programs apart: operands bound otherwise, collection, engine.
        effects: of the changes, in order; those that only name steps have none.
        moves: each record of either result, in the second one's order; then those that left, in the first one's.
        overlap: rank-biased overlap of the results, extrapolated, with `p`.
        p: its persistence.
        depth: how many ranks were compared at most.
    """

    first: Program
    second: Program
    difference: Difference
    changes: tuple[Change, ...]
    effects: tuple[Effect, ...]
    moves: tuple[Move, ...]
    overlap: float
    p: float
    depth: int

    #: How effects are attributed to changes.
    attribution = ATTRIBUTION

    def of(self, *sorts: str) -> tuple[Move, ...]:
        """The records of some sorts: `entered`, `left`, `up`, `down`, `same`."""
        return tuple(move for move in self.moves if move.sort in sorts)

    @property
    def entered(self) -> tuple[str, ...]:
        """Docnos that only the second program has, in its order."""
        return tuple(move.docno for move in self.of("entered"))

    @property
    def left(self) -> tuple[str, ...]:
        """Docnos that only the first program has, in its order."""
        return tuple(move.docno for move in self.of("left"))

    def __repr__(self) -> str:
        """Changes, their effects, the records that moved, and how alike the rankings are."""
        effects = as_text(_EFFECTS, self._effect_rows(), numeric=_EFFECTS[1:])
        moves = as_text(_MOVES, self._move_rows(), numeric=_MOVES[2:4])
        tables = [*(f"  {line}" for line in effects), "", *(f"  {line}" for line in moves)]
        return "\n".join([*self._heading(), *(tables if self.changes else []), *self._notes()])

    def _repr_html_(self) -> str:
        title, *programs = self._heading()
        effects = as_html(title, _EFFECTS, self._effect_rows(), programs)
        return effects + as_html("Records", _MOVES, self._move_rows(), self._notes())

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        changes = [
            {"number": c.number, "sort": c.sort, "text": c.text, "edit": None if c.edit is None else c.edit.to_dict()}
            for c in self.changes
        ]
        return {
            "first": self.first.formula.ascii,
            "second": self.second.formula.ascii,
            "changes": changes,
            "attribution": self.attribution,
            "effects": [effect.to_dict() for effect in self.effects],
            "moves": [move.to_dict() for move in self.moves],
            "entered": list(self.entered),
            "left": list(self.left),
            "rbo": {"value": self.overlap, "p": self.p, "form": "extrapolated"},
            "depth": self.depth,
        }

    def _heading(self) -> list[str]:
        count = len(self.changes)
        title = f"Comparison: {count} difference{'' if count == 1 else 's'}" if count else "Comparison: no difference"
        programs = (("first ", self.first), ("second", self.second))
        return [title, *(f"  {name}  {one_line(program.formula.unicode)}" for name, program in programs)]

    def _effect_rows(self) -> Iterator[tuple[object, ...]]:
        numbers = {number: effect for effect in self.effects for number in effect.changes[-1:]}
        for change in self.changes:
            effect = numbers.get(change.number)
            if effect is None:
                told = "only names" if change.is_neutral else "with the next"
                yield (change, told, "", "", "", "", "")
            else:
                pairs = ("–" if pair is None else f"+{pair[0]} −{pair[1]}" for _, pair in effect._pairs())
                counts = (f"+{len(effect.entered)}", f"−{len(effect.left)}", effect.moved, f"{effect.overlap:.3f}")
                yield (change, *counts, *pairs)

    def _move_rows(self) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for move in self.of("entered", "left", "up", "down")[:_SHOWN]:
            ranks, scores = (" → ".join(map(_shown, pair)) for pair in ((move.before, move.after), move.scores))
            by = ", ".join("+".join(map(str, self.effects[place].changes)) for place in move.credited)
            rows.append((_MARKS[move.sort], move.docno, ranks, scores, by))
        return rows

    def _notes(self) -> Iterator[str]:
        changed = len(self.of("entered", "left", "up", "down"))
        if changed > _SHOWN:
            yield f"… {changed - _SHOWN:,} more records"
        counts = {sort: len(self.of(sort)) for sort in ("entered", "left", "up", "down", "same")}
        told = f"{counts['entered']:,} came in, {counts['left']:,} left, {counts['up'] + counts['down']:,} moved"
        yield f"{told}, {counts['same']:,} stayed; RBO {self.overlap:.4f} (extrapolated, p {self.p:g})"
        if self.effects:
            yield f"attribution {self.attribution}"


_EFFECTS = ("change", "in", "out", "moved", "RBO", "alone", "without")
_MOVES = ("", "docno", "rank", "score", "by")
_MARKS = {"entered": "+", "left": "−", "up": "↑", "down": "↓", "same": "="}


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"
