"""Coefficients in affine places below a selection: at which of their values would a record be among the first k?

A coefficient inside a direction counts too, as inner products are linear in it.

With one coefficient c changed by δ, each record's score moves by its own slope times δ, in real arithmetic. A record is
overtaken where two such lines cross. The crossings are found here, to within rounding; which float64 value is the first
that admits the record is for those who run the program to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.operands import MatrixOperand, Positions, RelationOperand, VectorOperand
from pyterrier_alg.engines._relations import find
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.session._situation import AtRecord, Place

#: How many coefficients are looked at, the outermost first.
MOST = 24

_Slopes: TypeAlias = "npt.NDArray[np.float64] | float"
_Trail: TypeAlias = "tuple[Apply, int, _Trail] | None"


@dataclass(frozen=True)
class Coefficient:
    """A number in an affine place.

    Attributes:
        text: as the program has it; of one that is not written, the term that it would multiply.
        value: what it is.
        name: of a bound number; None for a literal.
        place: of a literal, or of the term before which one would be written.
        is_written: whether it is; a term without one has the coefficient 1.
        around: the text of what a literal stands in.
    """

    text: str
    value: float
    name: str | None
    place: Place
    is_written: bool = True
    around: str = ""


@dataclass(frozen=True)
class Crossing:
    """An interval of changes of a coefficient in which the record is among the first k.

    Attributes:
        near: the smallest change in size.
        inside: a change well inside.
    """

    near: float
    inside: float


class Slopes:
    """What each coefficient below a selection does to the scores of what is selected from."""

    def __init__(self, at: AtRecord, relation: Expression, place: Place) -> None:
        """Look at a relation that the record has a score of.

        Args:
            at: the record.
            relation: what is selected from.
            place: where that stands.
        """
        self.at, self.situation = at, at.situation
        self.relation, self.place = relation, place
        whole = at.evaluation.relation(relation)
        self.positions: Positions = whole.positions
        self.scores = whole.scores
        self.own = int(np.searchsorted(whole.positions, at.position))

    def crossings(self, k: int) -> Iterator[tuple[Coefficient, list[Crossing]]]:
        """The coefficients that have any, each with the nearest interval upwards and downwards."""
        for coefficient, slopes in self._slopes():
            found = [c for sign in (1.0, -1.0) if (c := self._crossing(slopes, k, sign)) is not None]
            if found:
                yield coefficient, found

    def _crossing(self, slopes: npt.NDArray[np.float64], k: int, sign: float) -> Crossing | None:
        """The nearest interval of changes in one direction in which fewer than k records are above this one."""
        with np.errstate(all="ignore"):
            gaps = self.scores - self.scores[self.own]
            gains = sign * (slopes[self.own] - slopes)
            when = gaps / gains
        later = np.arange(len(gaps)) > self.own
        above = (gaps > 0) | ((gaps == 0) & ((gains < 0) | ((gains == 0) & ~later)))
        above[self.own] = False
        crosses = np.isfinite(when) & (when >= 0) & (gains != 0) & np.where(above, gains > 0, gains < 0)
        crosses[self.own] = False
        order = np.argsort(when[crosses], kind="stable")
        at, change = when[crosses][order], np.where(above[crosses][order], -1, 1)
        counts = np.count_nonzero(above) + np.cumsum(change)
        few = np.flatnonzero(counts < k)
        if not len(few):
            return None
        first = int(few[0])
        beyond = np.flatnonzero(counts[first:] >= k)
        near = float(at[first])
        far = float(at[first + int(beyond[0])]) if len(beyond) else 2.0 * near + 1.0
        return Crossing(sign * near, sign * (near + (far - near) / 2))

    def _slopes(self) -> Iterator[tuple[Coefficient, npt.NDArray[np.float64]]]:
        found: dict[Coefficient, list[_Slopes]] = {}
        bent: set[Coefficient] = set()
        turns: dict[tuple[Coefficient, Place], set[int]] = {}
        for coefficient, node, trail, places in self._occurrences():
            if coefficient not in found and len(found) == MOST:
                continue
            with np.errstate(all="ignore"):
                slope = self._slope(coefficient, node, trail)
            if slope is None:
                bent.add(coefficient)
                continue
            found.setdefault(coefficient, []).append(slope)
            for place, index in places:
                turns.setdefault((coefficient, place), set()).add(index)
        # On both sides of a product it is squared.
        bent |= {coefficient for (coefficient, _), sides in turns.items() if len(sides) > 1}
        for coefficient, slopes in found.items():
            if coefficient not in bent:
                with np.errstate(all="ignore"):
                    whole = np.zeros(len(self.positions)) + sum(slopes)
                yield coefficient, whole

    def _occurrences(
        self,
    ) -> Iterator[tuple[Coefficient, Expression, _Trail, list[tuple[Place, int]]]]:
        """Coefficients, written or not, on every way from the relation down, with what is around them."""
        stack: list[tuple[Expression, Place, _Trail, tuple[tuple[Place, int], ...]]] = [
            (self.relation, self.place, None, ())
        ]
        seen = 0
        while stack and seen < 50 * MOST:
            seen += 1
            node, place, trail, products = stack.pop()
            node, place = self.situation.named(node, place)
            if isinstance(node, Number | Count):
                around = "" if trail is None else shown(trail[0], 40)
                yield Coefficient(repr(node), float(node.value), None, place, True, around), node, trail, list(products)
            elif isinstance(node, Name) and self.situation.kind(node) is Kind.NUMBER:
                yield Coefficient(node.name, self.at.number(node), node.name, Place()), node, trail, list(products)
            elif isinstance(node, Apply) and node.operator in _AFFINE:
                for index in reversed(_AFFINE[node.operator]):
                    if index < len(node.parts):
                        met = (*products, (place, index)) if node.operator == "*" else products
                        stack.append((node.parts[index], place.part(index), (node, index, trail), met))
                # A scan is affine in its vector, and a term itself.
                if node.operator != "@":
                    continue
            if self._is_bare(node, trail):
                yield Coefficient(shown(node), 1.0, None, place, False), node, trail, list(products)

    def _is_bare(self, node: Expression, trail: _Trail) -> bool:
        """Whether a term of a sum stands there without a coefficient."""
        is_term = trail is not None and trail[0].operator in ("+", "-")
        return is_term and self.situation.kind(node) in (Kind.RELATION, Kind.VECTOR)

    def _slope(self, coefficient: Coefficient, node: Expression, trail: _Trail) -> _Slopes | None:
        """The change of the relation's scores with the coefficient; None where it is no affine one."""
        slope: _Slopes = 1.0 if coefficient.is_written else self._values(node)
        while trail is not None:
            around, index, trail = trail
            others = [part for i, part in enumerate(around.parts) if i != index]
            match around.operator, index:
                case "neg", _:
                    slope = -slope
                case "-", 1:
                    slope = -slope
                case "*", _:
                    slope = slope * self._values(others[0])
                case "/", 0:
                    slope = slope / cast(float, self._values(others[0]))
                case "/", _:
                    return None
                case "@", _:
                    slope = self._along(around, slope)
                case "fill", _:
                    scored = self.at.evaluation.relation(around.parts[1]).positions
                    there = np.isin(self.positions, scored, assume_unique=True)
                    slope = np.where(there if index == 1 else ~there, slope, 0.0)
        return slope

    def _along(self, scan: Apply, vector: _Slopes) -> _Slopes:
        """The inner products of the rows of the records that are selected from; 0 where there is none."""
        matrix = cast(MatrixOperand, self.at.evaluation.value(scan.parts[0]))
        places, there = find(self.positions, matrix.positions)
        if not len(matrix.positions):
            return 0.0
        products: npt.NDArray[np.float64] = matrix.rows[places].astype(np.float64) @ vector
        return products if there is None else np.where(there, products, 0.0)

    def _values(self, node: Expression) -> _Slopes:
        """A number, a vector, or a relation's scores for the records that are selected from; 0 where it has none."""
        value = self.at.evaluation.value(node)
        if isinstance(value, VectorOperand):
            return value.values.astype(np.float64)
        if not isinstance(value, RelationOperand):
            return cast(float, value)
        if not len(value.positions):
            return 0.0
        places, there = find(self.positions, value.positions)
        scores = value.scores[places]
        return scores if there is None else np.where(there, scores, 0.0)


#: Operators that are affine in these parts, one at a time.
_AFFINE = {"+": (0, 1), "-": (0, 1), "neg": (0,), "*": (0, 1), "/": (0, 1), ">>": (1,), "fill": (0, 1), "@": (1,)}
