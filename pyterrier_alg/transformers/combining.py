"""Operators that combine the scores of transformers.

A score is never invented: sums and products are defined where all sides score. Other document columns come from the
first operand that has them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg import exact
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.transformers.frames import Rows, Scores, Topics, named, refuse_non_finite, results
from pyterrier_alg.transformers.operators import Operator, everything, operands_given, union
from pyterrier_alg.transformers.selecting import first_of
from pyterrier_alg.transformers.sources import Source
from pyterrier_alg.transformers.stage import count, finite


@dataclass(frozen=True, repr=False, init=False)
class _Joined(Operator):
    """Operands combined from the left, on the records that all of them score."""

    transformers: tuple[pt.Transformer, ...]

    def __init__(self, *transformers: pt.Transformer) -> None:
        """Keep the operands.

        Args:
            *transformers: one or more, each of which gives scores.
        """
        object.__setattr__(self, "transformers", operands_given(self, transformers))

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
        super().__post_init__()
        object.__setattr__(self, "n", count(self.n, "n"))

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Select in each group."""
        frame = self.groups.transform(inp.copy())
        if self.column not in frame.columns:
            raise AlgebraError("kind", f"{named(self.groups)} gives no column {self.column!r} to group by")
        scored = self.column == "score"
        groups = Rows.of(frame, self.groups, scored=scored)
        values: list[Any] = groups.scores.tolist() if scored else frame[self.column].tolist()
        known = {key: v for key, v in zip(groups.keys, values, strict=True) if not is_missing(v)}
        odd = next((v for v in known.values() if not isinstance(v, Hashable)), None)
        if odd is not None:
            raise AlgebraError("bad_operand", f"the column {self.column!r} holds {odd!r}, which makes no group")
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
        super().__post_init__()
        object.__setattr__(self, "c", finite(self.c, "c"))

    def combine(self, inp: pd.DataFrame, topics: Topics) -> pd.DataFrame:
        """Score every record."""
        rows = self._rows(self.scored, inp)
        every = everything(self.collection, inp, topics)
        places = rows.find(every.keys)
        scores = np.full(len(places), self.c)
        scores[places >= 0] = rows.scores[places[places >= 0]]
        return results(topics, topics.codes(every.qids, self), replace(every, scores=scores))


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
        object.__setattr__(self, "transformers", operands_given(self, transformers))
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
        every = firsts[0]
        for first in firsts[1:]:
            every = union(every, first)
        terms = np.zeros((len(every.qids), len(firsts)))
        for column, first in enumerate(firsts):
            codes = topics.codes(first.qids, self)
            # Rows come query by query, each in rank order.
            ranks = np.arange(len(codes)) - np.searchsorted(codes, codes) + 1
            places = first.find(every.keys)
            found = places >= 0
            terms[found, column] = 1.0 / (self.k + ranks[places[found]])
        rows = replace(every, scores=exact.row_sums(terms))
        return results(topics, topics.codes(rows.qids, self), rows)
