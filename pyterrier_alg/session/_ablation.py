"""What becomes of one program on the way to another: changes made one after the other, each alone, and all but each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyterrier_alg.algebra.differences import Difference, Edit, differences
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.formula import operand_names
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.operands import NumberOperand
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session.addressing import operand_digest, records_digest
from pyterrier_alg.transformers import Program


@dataclass(frozen=True)
class Change:
    """One thing that tells two programs apart: an edit of the formula, or what stands around it.

    Attributes:
        number: from 1: the formula's edits, then operands that are bound otherwise, then the collection and the engine.
        sort: the edit's, or `operand_bound`, `collection`, `engine`.
        text: one line.
        edit: of the formula; None for the others.
        name: the operand that is bound otherwise; empty for the others.
    """

    number: int
    sort: str
    text: str
    edit: Edit | None = None
    name: str = ""

    @property
    def is_neutral(self) -> bool:
        """Whether it only names steps, and cannot change a score."""
        return self.edit is not None and self.edit.is_neutral

    def __str__(self) -> str:
        """The text, numbered."""
        return f"{self.number}. {self.text}"


class Ablation:
    """Two programs, and all that lies between them, run for one topic.

    Attributes:
        difference: of the formulas.
        changes: all that tells the programs apart.
    """

    def __init__(self, first: Program, second: Program, topic: Topic | str | None) -> None:
        """Find the changes; nothing is run yet."""
        self.first, self.second, self.topic = first, second, topic
        self.difference: Difference = differences(first.formula, second.formula)
        found: list[tuple[str, str, Edit | None, str]] = [(e.sort, str(e), e, "") for e in self.difference]
        found += _around(first, second)
        self.changes = tuple(Change(number, *facts) for number, facts in enumerate(found, start=1))
        self._known: dict[frozenset[int], ScoredRelation | AlgebraError] = {}

    @property
    def effective(self) -> tuple[int, ...]:
        """The numbers of the changes that are not only names."""
        return tuple(change.number for change in self.changes if not change.is_neutral)

    def run(self, made: Iterable[int]) -> ScoredRelation:
        """The first program with some of the effective changes made, run; the second one for all.

        Args:
            made: numbers of changes.

        Raises:
            AlgebraError: where that is no sound program, or cannot run.
        """
        chosen = frozenset(made)
        if chosen not in self._known:
            try:
                self._known[chosen] = self.program(chosen).run(self.topic)
            except AlgebraError as error:
                self._known[chosen] = error
        found = self._known[chosen]
        if isinstance(found, AlgebraError):
            raise found
        return found

    def program(self, chosen: frozenset[int]) -> Program:
        """The first program with some of the effective changes made; the second one for all."""
        if not chosen:
            return self.first
        if chosen.issuperset(self.effective):
            return self.second
        made = [change for change in self.changes if change.number in chosen]
        formula = self.difference.apply(change.edit for change in made if change.edit is not None)
        sorts = {change.sort for change in made}
        collection = self._collection({change.name for change in made if change.name}, "collection" in sorts)
        return Program(formula, collection, engine=(self.second if "engine" in sorts else self.first).engine)

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The effective changes in order, those together that only run together on the way."""
        groups: list[tuple[int, ...]] = []
        waiting: list[int] = []
        done: list[int] = []
        for number in self.effective:
            waiting.append(number)
            done.append(number)
            try:
                self.run(done)
            except AlgebraError:
                continue
            groups.append(tuple(waiting))
            waiting = []
        # The second program itself was asked last: where it cannot run, nothing can be compared.
        return tuple(groups)

    def _collection(self, rebound: set[str], whole: bool) -> Collection:
        """The first collection, with some operands of the second, or the second one."""
        old, new = self.first.collection, self.second.collection
        if any(change.sort == "collection" for change in self.changes):
            return new if whole else old
        extra = [name for name in operand_names(self.second.formula) if name not in old and name in new]
        if not rebound and not extra:
            return old
        return old._with({**old.operands, **{name: new.operands[name] for name in (*extra, *sorted(rebound))}})


def _around(first: Program, second: Program) -> list[tuple[str, str, Edit | None, str]]:
    """How two programs differ beside their formulas, as far as these ask."""
    found: list[tuple[str, str, Edit | None, str]] = []
    old, new = first.collection, second.collection
    if records_digest(old) != records_digest(new) or old._stated_query_space != new._stated_query_space:
        found.append(("collection", f"collection {_called(old)} → {_called(new)}", None, ""))
    else:
        names = dict.fromkeys([*operand_names(first.formula), *operand_names(second.formula)])
        found += [
            _rebound(name, old, new) for name in names if name in old and name in new and _differs(name, old, new)
        ]
    if first.engine != second.engine:
        found.append(("engine", f"engine {first.engine} → {second.engine}", None, ""))
    return found


def _differs(name: str, old: Collection, new: Collection) -> bool:
    one, other = old.operands[name], new.operands[name]
    return one is not other and operand_digest(one) != operand_digest(other)


def _rebound(name: str, old: Collection, new: Collection) -> tuple[str, str, Edit | None, str]:
    one, other = old.operands[name], new.operands[name]
    if isinstance(one, NumberOperand) and isinstance(other, NumberOperand):
        text = f"{name} {one.value!r} → {other.value!r}, as bound"
    else:
        text = f"{name} is bound to another {other.binding.type}"
    return "operand_bound", text, None, name


def _called(collection: Collection) -> str:
    return collection.name or f"of {len(collection):,} records"
