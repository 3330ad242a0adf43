"""A mask written in the notation, as one stage."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.transformers.compiling import compile_mask
from pyterrier_alg.transformers.sources import Source, as_expression, columns_needed
from pyterrier_alg.transformers.stage import Stage


@dataclass(frozen=True, repr=False)
class Where(Stage):
    """The records that a mask of the notation makes eligible, without scores; over results, those that came in.

    Args:
        collection: has the operands.
        mask: notation or an expression, of kind mask.

    Raises:
        ProgramError: when it is made, for all that is wrong with the mask.

    Example:
        >>> Restrict(Where(vaswani, "(length >= 40) & m"), bm25)  # doctest: +SKIP
    """

    collection: Source
    mask: str | Expression

    def __post_init__(self) -> None:
        """Read and check the mask."""
        super().__post_init__()
        object.__setattr__(self, "mask", as_expression(self.mask))
        self.compile()

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Select."""
        needed = columns_needed(as_expression(self.mask))
        with pt.validate.any(inp, context=self) as v:
            v.query_frame(needed, mode="retrieve")
            v.result_frame(needed, mode="rerank")
        found: pd.DataFrame = self.compile().transform(inp)
        return found

    def compile(self) -> pt.Transformer:
        """The stages that it stands for."""
        return compile_mask(as_expression(self.mask), self.collection)
