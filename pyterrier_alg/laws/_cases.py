"""Small random collections in plain values, and programs over them: what laws are tried on, and what they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Collection as Group
from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias

from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.specs import Matrix, Vector

Scored: TypeAlias = Mapping[str, float]
Elements: TypeAlias = tuple[float, ...]

#: Names that databases, formats and sorting stumble over, in code-point order.
DOCNOS = ("%", "10", "9", "Z", "\\", "a b", "a;--", "d1", "d10", "d2", "it's", 'q"uote', "é", "日本", "\uffee", "🙂")

_SCORES = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 0.1, 0.3, 0.1 + 0.2, 1e-9, 7.0)
_NUMBERS = ("2", "0.5", "0.1", "3", "-1", "0.7")


@dataclass(frozen=True)
class Case:
    """A small collection.

    Attributes:
        docnos: its records.
        rows: of the matrix `E`, by docno, not for every record; elements that binding rounds to float32.
        vectors: of the same space, by name.
        relations: by name.
        masks: by name.
    """

    docnos: tuple[str, ...]
    rows: Mapping[str, Elements]
    vectors: Mapping[str, Elements]
    relations: Mapping[str, Scored]
    masks: Mapping[str, frozenset[str]]

    @property
    def space(self) -> Space:
        """Where the rows live: an inner-product space, so that any row and any vector will do."""
        return Space("laws", len(self.vectors["q1"]), Distance.INNER_PRODUCT)

    def collection(self) -> Collection:
        """The collection with its operands."""
        return Collection(self.docnos).bind(
            E=Matrix(self.rows, space=self.space),
            **{name: Vector(values, self.space) for name, values in self.vectors.items()},
            **dict(self.relations),
            **{name: set(docnos) for name, docnos in self.masks.items()},
        )

    def renamed(self, names: Mapping[str, str]) -> Case:
        """The same records under other names.

        Args:
            names: the new docno of each.
        """
        return Case(
            tuple(names[docno] for docno in self.docnos),
            {names[docno]: row for docno, row in self.rows.items()},
            self.vectors,
            {name: {names[d]: score for d, score in scores.items()} for name, scores in self.relations.items()},
            {name: frozenset(names[d] for d in docnos) for name, docnos in self.masks.items()},
        )

    def only(self, docnos: Group[str]) -> Case:
        """Some of the records, with what belongs to them."""
        kept = frozenset(docnos)
        return Case(
            tuple(docno for docno in self.docnos if docno in kept),
            {docno: row for docno, row in self.rows.items() if docno in kept},
            self.vectors,
            {name: {d: s for d, s in scores.items() if d in kept} for name, scores in self.relations.items()},
            {name: docnos & kept for name, docnos in self.masks.items()},
        )

    def with_twins(self, twins: Mapping[str, str]) -> Case:
        """With a second record for some, that has the same row, the same scores and is in the same masks.

        Args:
            twins: the docno of the second record of each.
        """
        second = self.only(twins).renamed(twins)
        return Case(
            self.docnos + second.docnos,
            {**self.rows, **second.rows},
            self.vectors,
            {name: {**scores, **second.relations[name]} for name, scores in self.relations.items()},
            {name: docnos | second.masks[name] for name, docnos in self.masks.items()},
        )

    def with_relation(self, name: str, scores: Scored) -> Case:
        """With one more relation."""
        return replace(self, relations={**self.relations, name: scores})

    def with_vector(self, name: str, values: Elements) -> Case:
        """With one more vector, or another one by that name."""
        return replace(self, vectors={**self.vectors, name: values})

    def shown(self, programs: Group[str]) -> str:
        """As Python that binds it, without what none of these programs names."""
        named = [name for name in (*self.relations, *self.masks, *self.vectors, "E") if _names(name, programs)]
        lines = []
        if {"E", *self.vectors} & set(named):
            lines.append(f"space = Space('laws', {self.space.dimensions}, Distance.INNER_PRODUCT)")
        bound = ["E=Matrix(" + repr(dict(self.rows)) + ", space=space)"] if "E" in named else []
        bound += [f"{name}=Vector({self.vectors[name]!r}, space)" for name in self.vectors if name in named]
        bound += [f"{name}={dict(self.relations[name])!r}" for name in self.relations if name in named]
        bound += [f"{name}=Mask({sorted(self.masks[name])!r})" for name in self.masks if name in named]
        inner = ",\n    ".join(bound)
        return "\n".join([*lines, f"Collection({list(self.docnos)!r}).bind(\n    {inner},\n)"])


def _names(name: str, programs: Group[str]) -> bool:
    words = "".join(c if c.isalnum() or c == "_" else " " for program in programs for c in program).split()
    return name in words


def draw_case(random: Random, most: int) -> Case:
    """A collection of at most so many records: few different rows and scores, so that ties come by themselves."""
    docnos = tuple(random.sample(DOCNOS, random.randint(1, min(most, len(DOCNOS)))))
    dimensions = random.choice((1, 2, 3, 8, 33))

    def some() -> list[str]:
        share = random.choice((1.0, 0.8, 0.8, 0.4))
        return [docno for docno in docnos if random.random() < share]

    def elements() -> Elements:
        coarse = random.random() < 0.3
        drawn = (random.choice((-1.0, 0.0, 0.5, 1.0)) if coarse else random.gauss(0, 1) for _ in range(dimensions))
        return tuple(round(element, 2) for element in drawn)

    bases = [elements() for _ in range(random.randint(1, 4))]
    rows = {}
    for docno in some():
        # The same products in another order tie, too, where the vector's elements are equal.
        row = list(random.choice(bases))
        if random.random() < 0.2:
            random.shuffle(row)
        rows[docno] = tuple(row)
    relations = {name: {docno: random.choice(_SCORES) for docno in some()} for name in ("S", "T")}
    masks = {name: frozenset(some()) for name in ("m", "n")}
    return Case(docnos, rows, {"q1": elements(), "q2": elements()}, relations, masks)


def draw_relation(random: Random, depth: int, leaves: tuple[str, ...] = ("S", "T", "E @ q1", "E @ q2")) -> str:
    """A program that gives each record a score from what that record alone has: no cut, no ranks, no extremes."""
    leaf = f"({random.choice(leaves)})"
    if depth < 1 or random.random() < 0.2:
        return leaf

    def below() -> str:
        return draw_relation(random, depth - 1, leaves)

    number = random.choice(_NUMBERS)
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"({below()} + {below()})",
        lambda: f"({below()} - {below()})",
        lambda: f"({below()} - {number} * {below()})",
        lambda: f"({below()} * {below()})",
        lambda: f"({number} * {below()})",
        lambda: f"({below()} + {number})",
        lambda: f"({draw_mask(random, 1)} >> {below()})",
        lambda: f"fill({number}, {below()})",
        lambda: f"(-{below()})",
        lambda: f"abs({below()})",
        lambda: f"clip(-1, 1, {below()})",
    )
    return random.choice(forms)()


def draw_mask(random: Random, depth: int) -> str:
    """A mask whose records hang on nothing that an engine computes approximately."""
    if depth < 1:
        return random.choice(("m", "n", "support(S)", "(T >= 0.5)"))
    one, other = draw_mask(random, depth - 1), draw_mask(random, depth - 1)
    return random.choice((one, f"(~{one})", f"({one} & {other})", f"({one} | {other})"))
