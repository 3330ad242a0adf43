"""Pieces of the pipelines that formulas compile to."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, ProgramError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.engines.demand import fault, shown


@dataclass(frozen=True)
class Part:
    """A piece of pipeline: stages in order, and how many operators stand inside each other in it."""

    stages: tuple[pt.Transformer, ...]
    depth: int = 0

    def then(self, stage: pt.Transformer) -> Part:
        """With one more stage behind."""
        return Part((*self.stages, stage), self.depth)

    @property
    def transformer(self) -> pt.Transformer:
        """As one transformer."""
        return self.stages[0] if len(self.stages) == 1 else pt.Compose(*self.stages)


class Placed(pt.Transformer):
    """A stage that says where in the program it stands, when something goes wrong in it."""

    def __init__(self, stage: pt.Transformer, node: Expression, formula: Formula) -> None:
        """Keep the stage, and the place that it was compiled from."""
        self.stage, self.node, self.formula = stage, node, formula

    def __repr__(self) -> str:
        return repr(self.stage)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Run the stage.

        Raises:
            EvaluationError: what the stage raises, with its place.
        """
        try:
            found: pd.DataFrame = self.stage.transform(inp)
            return found
        except ProgramError:
            raise
        except AlgebraError as error:
            raise fault(
                error.code, f"{shown(self.node)}: {error.message}", self.node, self.formula, error.hint
            ) from error
