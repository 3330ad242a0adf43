"""Operands that differ from query to query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.kinds import Binding
from pyterrier_alg.collection.operands import MaskOperand, Operand, RelationOperand, VectorOperand


@dataclass(frozen=True, eq=False)
class PerQuery:
    """One operand a query.

    Attributes:
        by_qid: relations, masks or vectors, all of one kind and space.
        binding: what the checker knows of each of them.
        missing: what a query has that is not there; None where that is an error.
    """

    by_qid: Mapping[str, RelationOperand | MaskOperand | VectorOperand]
    binding: Binding
    missing: RelationOperand | MaskOperand | None = None

    def of(self, name: str, qid: str) -> Operand:
        """The operand that a query sees.

        Raises:
            BindingError: `no_query_vector`.
        """
        found = self.by_qid.get(qid, self.missing)
        if found is None:
            raise BindingError(
                "no_query_vector",
                f"{name} has no vector for qid {qid!r}",
                "bind vectors for every topic that the program runs over",
            )
        return found


#: What a collection keeps by name: an operand, or one for each query.
Bound: TypeAlias = Operand | PerQuery


def freeze(operand: Bound) -> Bound:
    """The same operand, its arrays read-only."""
    for member in operand.by_qid.values() if isinstance(operand, PerQuery) else (operand,):
        for value in vars(member).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
    return operand
