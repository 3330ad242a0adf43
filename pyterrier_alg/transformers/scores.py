"""Stages that give each record a new score from its own: one float64 operation after the other, 0 for -0."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.engines.arithmetic import pointwise
from pyterrier_alg.transformers.frames import Places, Rows, Scores, Topics, refuse_non_finite, results
from pyterrier_alg.transformers.stage import Stage, finite, positive


class Rescoring(Stage):
    """The base of stages that change scores and nothing else; records are ranked anew."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Score the records of a results frame anew.

        Raises:
            AlgebraError: `non_finite`, naming the record.
        """
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        topics, rows = Topics.of(inp), Rows.of(inp, "the input")
        codes = topics.codes(rows.qids, self)
        with np.errstate(all="ignore"):
            scores = self.rescore(rows, codes) + 0.0
        return results(topics, codes, replace(rows, scores=refuse_non_finite(scores, rows.qids, rows.docnos, self)))

    @abstractmethod
    def rescore(self, rows: Rows, codes: Places) -> Scores:
        """The new scores; `codes` tells the query of each row."""


class _Pointwise(Rescoring):
    """Each score by itself."""

    def rescore(self, rows: Rows, codes: Places) -> Scores:
        return self.compute(rows.scores)

    @abstractmethod
    def compute(self, scores: Scores) -> Scores:
        """The new scores; what leaves float64 may come out infinite or NaN."""


@dataclass(frozen=True, repr=False)
class Scale(_Pointwise):
    """Each score times c.

    Unlike PyTerrier's `* c`, ranks are always made anew, so that c = 0 leaves all records tied.

    Args:
        c: a finite number.
    """

    c: float
    _sign = "×"

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "c", finite(self.c, "c"))

    def compute(self, scores: Scores) -> Scores:
        """S · c."""
        return scores * self.c


@dataclass(frozen=True, repr=False)
class Divide(_Pointwise):
    """Each score divided by c.

    Args:
        c: a finite number other than 0.
    """

    c: float
    _sign = "÷"

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "c", finite(self.c, "c"))
        if self.c == 0:
            raise AlgebraError("division_by_zero", "division by zero")

    def compute(self, scores: Scores) -> Scores:
        """S / c."""
        return scores / self.c


@dataclass(frozen=True, repr=False)
class Shift(_Pointwise):
    """Each score plus c.

    Args:
        c: a finite number.
    """

    c: float
    _sign = "+"

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "c", finite(self.c, "c"))

    def compute(self, scores: Scores) -> Scores:
        """S + c."""
        return scores + self.c


@dataclass(frozen=True, repr=False)
class SubtractFrom(_Pointwise):
    """c minus each score.

    Args:
        c: a finite number.
    """

    c: float

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "c", finite(self.c, "c"))

    def compute(self, scores: Scores) -> Scores:
        """C − S."""
        return self.c - scores


@dataclass(frozen=True, repr=False)
class Negate(_Pointwise):
    """Each score with the other sign, so that the last record comes first."""

    def compute(self, scores: Scores) -> Scores:
        """−S."""
        return -scores


@dataclass(frozen=True, repr=False)
class Abs(_Pointwise):
    """Each score's absolute value."""

    def compute(self, scores: Scores) -> Scores:
        """|S|."""
        return np.abs(scores)


@dataclass(frozen=True, repr=False)
class Clip(_Pointwise):
    """Each score, held between two numbers.

    Args:
        lo: the least.
        hi: the greatest; not below `lo`.
    """

    lo: float
    hi: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        object.__setattr__(self, "lo", finite(self.lo, "lo"))
        object.__setattr__(self, "hi", finite(self.hi, "hi"))
        if self.lo > self.hi:
            raise AlgebraError("bad_parameter", f"lo is at most hi, not {self.lo!r} and {self.hi!r}")

    def compute(self, scores: Scores) -> Scores:
        """min(max(S, lo), hi)."""
        return pointwise("clip", [self.lo, self.hi, scores])


@dataclass(frozen=True, repr=False)
class Exp(_Pointwise):
    """e to the power of each score."""

    def compute(self, scores: Scores) -> Scores:
        """e^S."""
        return pointwise("exp", [scores])


@dataclass(frozen=True, repr=False)
class Log1p(_Pointwise):
    """log(1 + S), natural; a score of −1 or less is an error."""

    def compute(self, scores: Scores) -> Scores:
        """log(1 + S)."""
        return pointwise("log1p", [scores])


@dataclass(frozen=True, repr=False)
class Sigmoid(_Pointwise):
    """1 / (1 + e^−S)."""

    def compute(self, scores: Scores) -> Scores:
        """The logistic function."""
        return pointwise("sigmoid", [scores])


@dataclass(frozen=True, repr=False)
class Decay(_Pointwise):
    """2 to the power −age / half-life, of scores that are ages; a negative age counts as 0.

    Args:
        half_life: above 0, in the unit of the ages.
    """

    half_life: float

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "half_life", positive(self.half_life, "half_life"))

    def compute(self, scores: Scores) -> Scores:
        """2^(−age / half-life)."""
        return pointwise("decay", [scores, self.half_life])


@dataclass(frozen=True, repr=False)
class RecipDecay(_Pointwise):
    """1 / (1 + age / scale), of scores that are ages; a negative age counts as 0.

    Args:
        scale: above 0, in the unit of the ages.
    """

    scale: float

    def __post_init__(self) -> None:
        """Check the number."""
        super().__post_init__()
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def compute(self, scores: Scores) -> Scores:
        """1 / (1 + age / scale)."""
        return pointwise("recip_decay", [scores, self.scale])
