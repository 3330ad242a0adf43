"""The algebra of masks over transformers: and, or, not."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import pandas as pd
import pyterrier as pt

from pyterrier_alg.transformers.frames import Rows, Topics, mask
from pyterrier_alg.transformers.operators import Operator, everything, operands_given, union
from pyterrier_alg.transformers.sources import Source


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
        every = everything(self.collection, inp, topics)
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
        object.__setattr__(self, "transformers", operands_given(self, transformers))

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
        return union(rows, other)
