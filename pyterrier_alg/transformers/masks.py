"""Stages that make masks: the eligible records of each query, without scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from operator import ge, gt, le, lt
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.checking import is_day
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.columns import is_missing
from pyterrier_alg.transformers.frames import Rows, Topics, mask, results
from pyterrier_alg.transformers.stage import Stage, finite

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}


@dataclass(frozen=True, repr=False)
class Support(Stage):
    """The records that came in, as a mask: scores and ranks are dropped."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Drop the scores."""
        pt.validate.result_frame(inp, context=self)
        topics, rows = Topics.of(inp), Rows.of(inp, "the input", scored=False)
        return mask(topics, topics.codes(rows.qids, self), rows)


@dataclass(frozen=True, repr=False)
class Compare(Stage):
    """The records whose score compares so with a number, as a mask.

    Args:
        comparison: `">="`, `">"`, `"<="` or `"<"`.
        than: a number; a day, `"2026-12-01"`, where the column holds days.
        column: what is compared, a document column; a missing value never compares.

    Example:
        >>> bm25 >> Compare(">=", 2.0)  # doctest: +SKIP
    """

    comparison: str
    than: float | str
    column: str = field(default="score", kw_only=True)

    def __post_init__(self) -> None:
        """Check what was given."""
        super().__post_init__()
        if self.comparison not in _COMPARISONS:
            raise AlgebraError("bad_parameter", f"a comparison is one of {', '.join(_COMPARISONS)}")
        if isinstance(self.than, str):
            if not is_day(self.than):
                raise AlgebraError("bad_parameter", f"a day is written YYYY-MM-DD, not {self.than!r}")
        else:
            object.__setattr__(self, "than", finite(self.than, "than"))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Select."""
        holds = _COMPARISONS[self.comparison]

        def compares(value: Any) -> bool:
            return not is_missing(value) and holds(self._comparable(value), self.than)

        return _where(self, inp, self.column, compares)

    def _comparable(self, value: Any) -> Any:
        fits = isinstance(value, str) if isinstance(self.than, str) else isinstance(value, int | float)
        if not fits:
            message = f"the column {self.column!r} holds {value!r}, which does not compare with {self.than!r}"
            raise AlgebraError("bad_operand", message, "numbers compare with numbers, days written as texts with days")
        return value


@dataclass(frozen=True, repr=False, init=False)
class IsIn(Stage):
    """The records whose score, or the value of another document column, is one of those listed, as a mask."""

    values: tuple[float | str, ...]
    column: str = field(default="score", kw_only=True)

    def __init__(self, *values: float | str, column: str = "score") -> None:
        """List the values.

        Args:
            *values: numbers or texts, one or more.
            column: what is looked at.
        """
        if not values:
            raise AlgebraError("bad_argument", "IsIn needs one value or more")
        listed = tuple(v if isinstance(v, str) else finite(v, "a value") for v in values)
        object.__setattr__(self, "values", listed)
        object.__setattr__(self, "column", column)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Select."""
        wanted = frozenset(self.values)
        return _where(self, inp, self.column, lambda value: isinstance(value, str | float | int) and value in wanted)


@dataclass(frozen=True, repr=False)
class DaysSince(Stage):
    """Whole days from the day in a document column to a reference, as scores: ages. Records without a day are dropped.

    Args:
        reference: a day, `"2026-12-01"`.
        column: holds days in that form; it is dropped.

    Example:
        >>> Field(c, "published") >> DaysSince("2026-12-01") >> Decay(30)  # doctest: +SKIP
    """

    reference: str
    column: str = field(default="value", kw_only=True)

    def __post_init__(self) -> None:
        """Check the day."""
        super().__post_init__()
        if not is_day(self.reference):
            raise AlgebraError("bad_parameter", f"a day is written YYYY-MM-DD, not {self.reference!r}")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Compute ages."""
        pt.validate.result_frame(inp, extra_columns=[self.column], context=self)
        topics = Topics.of(inp)
        dated = inp[inp[self.column].notna()]
        rows = Rows.of(dated.drop(columns=self.column), "the input", scored=False)
        reference = date.fromisoformat(self.reference)
        days: list[Any] = dated[self.column].tolist()
        for day, docno in zip(days, rows.docnos, strict=True):
            if not isinstance(day, str) or not is_day(day):
                message = f"the column {self.column!r} holds {day!r} for {docno!r}, which is no day"
                raise AlgebraError("bad_date", message, 'days are texts, "2026-12-01"')
        ages = [float((reference - date.fromisoformat(day)).days) for day in days]
        aged = Rows(rows.qids, rows.docnos, np.array(ages, dtype=np.float64), rows.extras)
        return results(topics, topics.codes(rows.qids, self), aged)


def _where(stage: Stage, inp: pd.DataFrame, column: str, holds: Callable[[Any], bool]) -> pd.DataFrame:
    """The mask of the rows whose column holds what is wanted."""
    pt.validate.result_frame(inp, extra_columns=[column], context=stage)
    topics = Topics.of(inp)
    rows = Rows.of(inp, "the input", scored=column == "score")
    values: list[Any] = rows.scores.tolist() if column == "score" else inp[column].tolist()
    kept = rows.take(np.fromiter(map(holds, values), bool, len(values)))
    return mask(topics, topics.codes(kept.qids, stage), kept)
