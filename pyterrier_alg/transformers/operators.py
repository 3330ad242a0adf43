"""What operators over transformers share: like PyTerrier's own they give the same input to each operand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.transformers.frames import Rows, Topics
from pyterrier_alg.transformers.sources import Source
from pyterrier_alg.transformers.stage import Stage, is_operand


class Operator(Stage):
    """The base of operators."""

    @property
    def operands(self) -> tuple[pt.Transformer, ...]:
        """The transformers that it combines."""
        found: list[pt.Transformer] = []
        for value in self._settings():
            found += [v for v in (value if isinstance(value, tuple) else (value,)) if is_operand(v)]
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

    def compile(self) -> pt.Transformer:
        """The program that it means, where it means one; else the same with each operand compiled."""
        from pyterrier_alg.transformers.meaning import as_program

        return as_program(self) or self._with_compiled()

    def _with_compiled(self) -> Self:
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


def union(rows: Rows, other: Rows) -> Rows:
    """The rows of both, those of the first where both have them, without scores."""
    new = other.take(rows.find(other.keys) < 0)
    common = [column for column in rows.extras.columns if column in other.extras.columns]
    parts = [part.extras[common] for part in (rows, new) if len(part.qids)] or [rows.extras[common]]
    extras = pd.concat(parts, ignore_index=True)
    return Rows(rows.qids + new.qids, rows.docnos + new.docnos, np.empty(0), extras)


def everything(collection: Source, inp: pd.DataFrame, topics: Topics) -> Rows:
    """Every record that there is for each query."""
    if "docno" in inp.columns:
        return Rows.of(inp, "the input", scored=False)
    docnos: list[str] = collection.at().docnos.tolist()
    qids = [qid for qid in topics.places for _ in docnos]
    return Rows(qids, docnos * len(topics.places), np.empty(0), pd.DataFrame(index=range(len(qids))))


def operands_given(operator: Operator, transformers: Sequence[object]) -> tuple[pt.Transformer, ...]:
    """The operands of an operator that takes any number of them.

    Raises:
        AlgebraError: `bad_argument`, where there is none, or something that is no transformer.
    """
    if not transformers or not all(map(is_operand, transformers)):
        name = type(operator).__name__
        raise AlgebraError("bad_argument", f"{name} takes one transformer or more, and nothing else")
    return tuple(transformers)


def _compiled(value: Any) -> Any:
    return value.compile() if is_operand(value) else value


def _accepts(operand: pt.Transformer, columns: list[str]) -> bool:
    return pt.inspect.transformer_outputs(operand, columns, strict=False) is not None
