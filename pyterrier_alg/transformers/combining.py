"""Operators over transformers: like PyTerrier's own they give the same input to each operand and combine what it gives.

A number where both sides have none is never invented: sums and products are defined where all sides score. Other
document columns come from the first operand that has them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg import exact
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.transformers.frames import Rows, Scores, Topics, mask, named, refuse_non_finite, results
from pyterrier_alg.transformers.selecting import first_of
from pyterrier_alg.transformers.sources import Source
from pyterrier_alg.transformers.stage import Stage, count, finite


class Operator(Stage):
    """The base of operators."""

    @property
    def operands(self) -> tuple[pt.Transformer, ...]:
        """The transformers that it combines."""
        found: list[pt.Transformer] = []
        for value in self._settings():
            found += [v for v in (value if isinstance(value, tuple) else (value,)) if _is_operand(v)]
        return tuple(found)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Combine what the operands give for the input, which each of them validates."""
        if "qid" not in inp.columns:
            with pt.validate.any(inp, context=self) as v:
                for columns in self.transform_inputs():
                    v.columns(includes=columns)
        return self.combine(inp, Topics.of(inp))

    @abstractmethod
    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Combine what the operands give for an input that is valid."""

    def compile(self) -> Self:
        """The same, with each operand compiled."""
        made = object.__new__(type(self))
        for name, value in self.__dict__.items():
            new = tuple(map(_compiled, value)) if isinstance(value, tuple) else _compiled(value)
            object.__setattr__(made, name, new)
        return made

    def transform_inputs(self) -> list[list[str]]:
        """The columns that all operands can do with, the operands' own preference first."""
        found: list[list[str]] = [[]]
        for operand in dict.fromkeys(self.operands):
            accepted = pt.inspect.transformer_inputs(operand)
            joined = [list(dict.fromkeys([*mine, *theirs])) for mine in found for theirs in accepted]
            found = [columns for i, columns in enumerate(joined) if set(columns) not in map(set, joined[:i])]
        fit = [c for c in found if all(_accepts(operand, c) for operand in dict.fromkeys(self.operands))]
        return fit or found

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """Operands side by side, each with the same input."""
        return {**super().schematic(input_columns=input_columns), "inner_pipelines_mode": "linked"}

    def _rows(self, operand: pt.Transformer, inp: pd.DataFrame, *, scored: bool = True) -> Rows:
        """What an operand gives. It gets a copy: not every transformer leaves its input alone."""
        return Rows.of(operand.transform(inp.copy()), operand, scored=scored)


@dataclass(frozen=True, repr=False, init=False)
class _Joined(Operator):
    """Operands combined from the left, on the records that all of them score."""

    transformers: tuple[pt.Transformer, ...]

    def __init__(self, *transformers: pt.Transformer) -> None:
        """Keep the operands.

        Args:
            *transformers: one or more, each of which gives scores.
        """
        object.__setattr__(self, "transformers", _given(self, transformers))

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        rows = self._rows(self.transformers[0], inp)
        for operand in self.transformers[1:]:
            other = self._rows(operand, inp)
            rows = self._join(rows, other)
        return results(topics, topics.codes(rows.qids, self), rows)

    def _join(self, rows: Rows, other: Rows) -> Rows:
        places = other.find(rows.keys)
        both = places >= 0
        left, right = rows if both.all() else rows.take(both), other.scores[places[both]]
        with np.errstate(all="ignore"):
            scores = self.compute(left.scores, right) + 0.0
        refuse_non_finite(scores, left.qids, left.docnos, self)
        new = [column for column in other.extras.columns if column not in left.extras.columns]
        extras = left.extras
        if new:
            found = other.extras[new].iloc[places[both]].reset_index(drop=True)
            extras = pd.concat([extras, found], axis=1)
        return replace(left, scores=scores, extras=extras)

    @abstractmethod
    def compute(self, left: Scores, right: Scores) -> Scores:
        """Combine scores of the same records."""


@dataclass(frozen=True, repr=False, init=False)
class Plus(_Joined):
    """The sum, where all operands score: `S + T + …`, from the left, one float64 addition after the other.

    PyTerrier's own `+` takes 0 for a record that a side does not score.

    Example:
        >>> Plus(Scan(c, "E", "query"), Bound(c, "w") >> Scale(0.5))  # doctest: +SKIP
    """

    def compute(self, left: Scores, right: Scores) -> Scores:
        """S + T."""
        return left + right


@dataclass(frozen=True, repr=False, init=False)
class Minus(_Joined):
    """The difference, where all operands score: `S − T − …`, from the left."""

    def compute(self, left: Scores, right: Scores) -> Scores:
        """S − T."""
        return left - right


@dataclass(frozen=True, repr=False, init=False)
class Times(_Joined):
    """The product, where all operands score: `S ⊙ T ⊙ …`, from the left."""

    def compute(self, left: Scores, right: Scores) -> Scores:
        """S · T."""
        return left * right


@dataclass(frozen=True, repr=False)
class Restrict(Operator):
    """The scores of one transformer, for the records that another makes eligible: `m ▷ S`.

    Args:
        eligible: gives records; scores that it may have are not looked at.
        scored: gives scores.
    """

    eligible: pt.Transformer
    scored: pt.Transformer

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Keep the eligible records."""
        allowed = self._rows(self.eligible, inp, scored=False)
        rows = self._rows(self.scored, inp)
        kept = rows.take(allowed.find(rows.keys) >= 0)
        return results(topics, topics.codes(kept.qids, self), kept)


@dataclass(frozen=True, repr=False)
class Per(Operator):
    """At most the first n records, in rank order, of each group that shares a value; those without one are dropped.

    Args:
        n: 1 or more.
        groups: gives each record's value.
        scored: gives scores.
        column: of what `groups` gives, the one that holds the value.

    Example:
        >>> Per(1, Field(c, "lang"), bm25, column="value")  # doctest: +SKIP
    """

    n: int
    groups: pt.Transformer
    scored: pt.Transformer
    column: str = field(default="score", kw_only=True)

    def __post_init__(self) -> None:
        """Check the number."""
        object.__setattr__(self, "n", count(self.n, "n"))

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Select in each group."""
        frame = self.groups.transform(inp.copy())
        if self.column not in frame.columns:
            raise AlgebraError("kind", f"{named(self.groups)} gives no column {self.column!r} to group by")
        scored = self.column == "score"
        groups = Rows.of(frame, self.groups, scored=scored)
        values: list[Any] = groups.scores.tolist() if scored else frame[self.column].tolist()
        known = {key: v for key, v in zip(groups.keys, values, strict=True) if isinstance(v, str) or v == v}
        rows = self._rows(self.scored, inp)
        rows = rows.take(np.fromiter((key in known for key in rows.keys), bool, len(rows.qids)))
        shared: dict[tuple[str, Any], int] = {}
        codes = [shared.setdefault((key[0], known[key]), len(shared)) for key in rows.keys]
        kept = rows.take(first_of(rows, np.array(codes, dtype=np.intp), self.n))
        return results(topics, topics.codes(kept.qids, self), kept)


@dataclass(frozen=True, repr=False)
class Fill(Operator):
    """The scores of a transformer, and c for every other record: of the collection, or of the results that came in.

    Args:
        collection: the records.
        c: a finite number.
        scored: gives scores, maybe none for some query.
    """

    collection: Source
    c: float
    scored: pt.Transformer

    def __post_init__(self) -> None:
        """Check the number."""
        object.__setattr__(self, "c", finite(self.c, "c"))

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Score every record."""
        rows = self._rows(self.scored, inp)
        every = _everything(self.collection, inp, topics)
        places = rows.find(every.keys)
        scores = np.full(len(places), self.c)
        scores[places >= 0] = rows.scores[places[places >= 0]]
        return results(topics, topics.codes(every.qids, self), replace(every, scores=scores))


@dataclass(frozen=True, repr=False)
class Not(Operator):
    """The records that a mask lacks: of the collection, or of the results that came in.

    Args:
        collection: the records.
        eligible: gives records.
    """

    collection: Source
    eligible: pt.Transformer

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """The complement."""
        rows = self._rows(self.eligible, inp, scored=False)
        every = _everything(self.collection, inp, topics)
        kept = every.take(rows.find(every.keys) < 0)
        return mask(topics, topics.codes(kept.qids, self), kept)


@dataclass(frozen=True, repr=False, init=False)
class _Masks(Operator):
    """Several masks."""

    transformers: tuple[pt.Transformer, ...]

    def __init__(self, *transformers: pt.Transformer) -> None:
        """Keep the operands.

        Args:
            *transformers: one or more, each of which gives records; scores are not looked at.
        """
        object.__setattr__(self, "transformers", _given(self, transformers))

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        rows = self._rows(self.transformers[0], inp, scored=False)
        for operand in self.transformers[1:]:
            rows = self.join(rows, self._rows(operand, inp, scored=False))
        return mask(topics, topics.codes(rows.qids, self), rows)

    @abstractmethod
    def join(self, rows: Rows, other: Rows) -> Rows:
        """Two masks to one."""


@dataclass(frozen=True, repr=False, init=False)
class And(_Masks):
    """The records that all operands give, as a mask."""

    def join(self, rows: Rows, other: Rows) -> Rows:
        """The intersection."""
        return rows.take(other.find(rows.keys) >= 0)


@dataclass(frozen=True, repr=False, init=False)
class Or(_Masks):
    """The records that any operand gives, as a mask; document columns that not all operands have are dropped."""

    def join(self, rows: Rows, other: Rows) -> Rows:
        """The union."""
        return _union(rows, other)


@dataclass(frozen=True, repr=False, init=False)
class Rrf(Operator):
    """Reciprocal rank fusion: the sum of 1 / (k + rank), rank from 1, over the union of the first records of each.

    The sum is exact and rounded once, so that the order of operands does not matter. Document columns that not all
    operands have are dropped.
    """

    transformers: tuple[pt.Transformer, ...]
    k: float = field(default=60, kw_only=True)
    depth: int = field(default=100, kw_only=True)

    def __init__(self, *transformers: pt.Transformer, k: float = 60, depth: int = 100) -> None:
        """Keep the operands.

        Args:
            *transformers: one or more, each of which gives scores.
            k: 0 or more.
            depth: how many records of each count, 1 or more.
        """
        object.__setattr__(self, "transformers", _given(self, transformers))
        object.__setattr__(self, "k", finite(k, "k"))
        object.__setattr__(self, "depth", count(depth, "depth"))
        if self.k < 0:
            raise AlgebraError("bad_parameter", f"k is 0 or more, not {k!r}")

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Fuse."""
        firsts = []
        for operand in self.transformers:
            rows = self._rows(operand, inp)
            first = rows.take(first_of(rows, topics.codes(rows.qids, operand), self.depth))
            firsts.append(first)
        union = firsts[0]
        for first in firsts[1:]:
            union = _union(union, first)
        terms = np.zeros((len(union.qids), len(firsts)))
        for column, first in enumerate(firsts):
            codes = topics.codes(first.qids, self)
            # Rows come query by query, each in rank order.
            ranks = np.arange(len(codes)) - np.searchsorted(codes, codes) + 1
            places = first.find(union.keys)
            found = places >= 0
            terms[found, column] = 1.0 / (self.k + ranks[places[found]])
        rows = replace(union, scores=exact.row_sums(terms))
        return results(topics, topics.codes(rows.qids, self), rows)


def _union(rows: Rows, other: Rows) -> Rows:
    """The rows of both, those of the first where both have them, without scores."""
    new = other.take(rows.find(other.keys) < 0)
    common = [column for column in rows.extras.columns if column in other.extras.columns]
    parts = [part.extras[common] for part in (rows, new) if len(part.qids)] or [rows.extras[common]]
    extras = pd.concat(parts, ignore_index=True)
    return Rows(rows.qids + new.qids, rows.docnos + new.docnos, np.empty(0), extras)


def _everything(collection: Source, inp: pd.DataFrame, topics: Topics) -> Rows:
    """Every record that there is for each query."""
    if "docno" in inp.columns:
        return Rows.of(inp, "the input", scored=False)
    docnos: list[str] = collection.at().docnos.tolist()
    qids = [qid for qid in topics.places for _ in docnos]
    return Rows(qids, docnos * len(topics.places), np.empty(0), pd.DataFrame(index=range(len(qids))))


def _given(operator: Operator, transformers: Sequence[object]) -> tuple[pt.Transformer, ...]:
    if not transformers or not all(map(_is_operand, transformers)):
        name = type(operator).__name__
        raise AlgebraError("bad_argument", f"{name} takes one transformer or more, and nothing else")
    return tuple(transformers)


def _is_operand(value: object) -> bool:
    return isinstance(value, pt.Transformer) and not isinstance(value, pt.Artifact)


def _compiled(value: Any) -> Any:
    return value.compile() if _is_operand(value) else value


def _accepts(operand: pt.Transformer, columns: list[str]) -> bool:
    return pt.inspect.transformer_outputs(operand, columns, strict=False) is not None
