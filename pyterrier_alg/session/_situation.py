"""A program and what one query sees of it: run as it is or edited, whole or at a single record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias, cast

import numpy as np

from pyterrier_alg.algebra.checking import check, suggest
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind, Type
from pyterrier_alg.algebra.restricting import restrict, with_parts
from pyterrier_alg.collection.operands import NumberOperand, Scope
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines._evaluation import Evaluation
from pyterrier_alg.engines._selection import Selector, _Scores
from pyterrier_alg.engines.registry import engine
from pyterrier_alg.engines.values import Plain
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.transformers.program import Program

#: Places of parts, the innermost first: as deep as a program may be, each shares its beginning with its neighbours.
Path: TypeAlias = "tuple[int, Path] | None"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands in a formula: the step (None for the result), and the places of parts below it."""

    step: str | None = None
    path: Path = None

    def part(self, index: int) -> Place:
        """The place of a part of what stands here."""
        return Place(self.step, (index, self.path))

    @property
    def parent(self) -> tuple[Place, int] | None:
        """The place of the expression around this one, and which of its parts this is; None for a whole line."""
        return None if self.path is None else (Place(self.step, self.path[1]), self.path[0])

    @property
    def indices(self) -> list[int]:
        """The places of parts, the outermost first."""
        found, path = [], self.path
        while path is not None:
            found.append(path[0])
            path = path[1]
        return found[::-1]


class Situation:
    """A formula over one query's scope, by the defined scores, whatever engine the program names.

    Attributes:
        formula: as written.
        scope: the operands.
        pool: the name of the mask of the records that came in; None where the program retrieves.
        meant: what is computed: the formula, over the pool where there is one.
    """

    def __init__(self, formula: Formula, scope: Scope, pool: str | None = None) -> None:
        """Keep the parts, and find what is meant.

        Raises:
            ProgramError: where the formula is not sound.
        """
        self.formula, self.scope, self.pool = formula, scope, pool
        self.meant = self.over_pool(formula)
        self.steps = dict(self.meant.steps)

    @classmethod
    def of(cls, program: object, topic: object) -> Situation:
        """What a program means for a query.

        Args:
            program: a `Program`.
            topic: a `Topic`, a text, or None.

        Raises:
            AlgebraError: `bad_argument`, where the one is no program or the other no query.
        """
        if not isinstance(program, Program):
            message = f"a {type(program).__name__} is no program"
            raise AlgebraError("bad_argument", message, "Program(text, collection)")
        if not isinstance(topic, Topic | str | None):
            message = f"a program runs for a topic or a text, not a {type(topic).__name__}"
            raise AlgebraError("bad_argument", message, 'Topic("1", "words")')
        asked = Topic("1", topic) if isinstance(topic, str) else topic
        pool = program._restricted[1] if asked is not None and asked.docnos is not None else None
        return cls(program.formula, program._scope(asked), pool)

    def over_pool(self, formula: Formula) -> Formula:
        """A formula as it is computed."""
        if self.pool is None:
            return formula
        bindings = {name: known for name, known in self.scope.bindings.items() if name != self.pool}
        return restrict(formula, Name(self.pool), check(formula, bindings).types)

    def run(self, formula: Formula | None = None) -> ScoredRelation:
        """The result of the formula, or of another one in its place."""
        return engine("vectorised").run(self.meant if formula is None else self.over_pool(formula), self.scope)

    def admits(self, formula: Formula, position: int, known: Mapping[Expression, Plain]) -> bool:
        """Whether the result of another formula has a record.

        Args:
            formula: sound, in the place of this one.
            position: the record's.
            known: values of expressions that are the same in both; they are not computed again.
        """
        meant = self.over_pool(formula)
        evaluation = Evaluation(meant, self.scope, selector())
        evaluation.known.update(known)
        try:
            positions = evaluation.relation(meant.result).positions
        except AlgebraError:
            return False
        return bool(np.isin(position, positions))

    def with_number(self, name: str, value: float) -> Situation:
        """The same with another value for a number."""
        operands = MappingProxyType({**self.scope.operands, name: NumberOperand(value)})
        return Situation(self.formula, replace(self.scope, operands=operands), self.pool)

    def position(self, docno: object) -> int:
        """Where a record stands.

        Raises:
            AlgebraError: `unknown_docno`, with docnos that are close; `bad_argument`.
        """
        if not isinstance(docno, str):
            message = f"a docno is a string, not a {type(docno).__name__}"
            raise AlgebraError("bad_argument", message, repr(str(docno)))
        found = self.scope.position(docno)
        if found is None:
            close = suggest(docno, self.scope.docnos.tolist())
            hint = (
                f"did you mean {', '.join(close)}?" if close else "docnos are those that the collection was made with"
            )
            raise AlgebraError("unknown_docno", f"the collection has no record {docno!r}", hint)
        return found

    @cached_property
    def types(self) -> Mapping[Expression, Type]:
        """The type of every expression of what is meant."""
        return check(self.meant, self.scope.bindings).types

    def kind(self, node: Expression) -> Kind | None:
        """The kind of an expression of what is meant; a count is a number."""
        found = self.types.get(node)
        return found.kind if found is not None else Kind.NUMBER if isinstance(node, Count) else None

    def named(self, node: Expression, place: Place) -> tuple[Expression, Place]:
        """The expression behind a name of a step, or of a step that names a step, and where it stands."""
        while isinstance(node, Name) and (name := node.name) in self.steps:
            node, place = self.steps[name], Place(name)
        return node, place

    def is_pool(self, node: Expression) -> bool:
        """Whether a node only says that its second part is one of the records that came in."""
        return self.pool is not None and isinstance(node, Apply) and node.arguments[:1] == (Name(self.pool),)

    def edited(self, place: Place, change: Callable[[Expression], Expression]) -> Formula:
        """The formula as written, with another expression at a place of what is meant.

        Args:
            place: in what is meant.
            change: given the expression as it was written there.
        """
        meant = self.steps[place.step] if place.step is not None else self.meant.result
        written = self._written(place.step)
        around: list[tuple[Expression, int]] = []
        for index in place.indices:
            if not self.is_pool(meant):
                around.append((written, index))
                written = written.parts[index]
            meant = meant.parts[index]
        made = change(written)
        for node, index in reversed(around):
            parts = list(node.parts)
            parts[index] = made
            made = with_parts(node, parts)
        steps = tuple((name, made if name == place.step else expression) for name, expression in self.formula.steps)
        # Without a source: places of the old text are no places of the new one.
        return Formula(steps, self.formula.result if place.step is not None else made)

    def _written(self, step: str | None) -> Expression:
        if step is None:
            return self.formula.result
        written = dict(self.formula.steps)
        if step not in written:
            raise LookupError(step)
        return written[step]

    def at(self, position: int) -> AtRecord:
        """The scores of one record."""
        return AtRecord(self, position)


def selector() -> Selector:
    """The vectorised engine's, which has measured the matrices."""
    return cast(VectorisedEngine, engine("vectorised"))._selector


class AtRecord:
    """The defined score that each relation expression of a program gives one record.

    Attributes:
        evaluation: has the value of every expression that is needed whole.
    """

    def __init__(self, situation: Situation, position: int) -> None:
        """Begin with nothing known."""
        self.situation, self.position = situation, position
        self.evaluation = Evaluation(situation.meant, situation.scope, selector())
        self._scores = _Scores(self.evaluation, np.array([position], dtype=np.int64), None)
        self._found: dict[Expression, float | None] = {}

    def score(self, node: Expression) -> float | None:
        """Its score by a relation expression, or None where that does not score it; of a number its value."""
        if node not in self._found:
            if self.situation.kind(node) is Kind.NUMBER:
                self._found[node] = self.number(node)
            else:
                for needed in self.evaluation.frontier(node) if node not in self._scores.memo else ():
                    self.evaluation.value(needed)
                bounds = self._scores.of(node)
                defined = bounds.defined is None or bool(bounds.defined[0])
                self._found[node] = float(bounds.values[0]) if defined else None
        return self._found[node]

    def number(self, node: Expression) -> float:
        """The value of a number expression."""
        return cast(float, self.evaluation.value(node))

    def within(self, mask: Expression) -> bool:
        """Whether it is in a mask."""
        positions = self.evaluation.mask(mask)
        place = int(np.searchsorted(positions, self.position))
        return place < len(positions) and int(positions[place]) == self.position
