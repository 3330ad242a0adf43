"""Scored relations: what a program gives, in rank order, with the gap check of its last selection.

Rank order is total: score descending, then docno ascending by code point. No tolerance enters it; closeness is only
reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyterrier_alg.algebra.errors import BindingError
from pyterrier_alg.algebra.warnings import ProgramWarning

#: How many records beyond its cut a selection names.
CONTENDERS = 3

#: Two scores closer than this are reported as near, unless told otherwise.
NEAR = 1e-6


def rank_order(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """The order of records that stand in code-point order of their docnos: by score descending, ties as they stand.

    Args:
        scores: finite, one a record.

    Returns:
        Indices, the first-ranked first.

    Example:
        >>> rank_order(np.array([1.0, 2.0, 1.0])).tolist()
        [1, 0, 2]
    """
    return np.argsort(-scores, kind="stable")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours in rank order and the difference of their scores.

    Attributes:
        above: docno of the first.
        below: docno of the second.
        gap: the score of `above` minus that of `below`, 0 or more.
        at_cut: whether the selection ends between them.
    """

    above: str
    below: str
    gap: float
    at_cut: bool = False


@dataclass(frozen=True, slots=True)
class GapCheck:
    """What a selection says of its own order.

    Attributes:
        k: how many were asked for.
        gap_at_cut: the last score taken minus the first one left; None where nothing was left.
        closest: the closest neighbours up to and across the cut, the closest first.
        certified: whether records, scores and order are the defined ones, none outside can have entered.
        near: the gap up to which neighbours count as near.
        ties: how many neighbours up to and across the cut have equal scores.
        contenders: docnos and scores of the first `CONTENDERS` records left, those that would have come next.
        candidates: how many records were given their defined scores to make this selection; None where all were.
        scan_error: how far the scan that found them may have been off, at most; None where there was no such scan.
    """

    k: int
    gap_at_cut: float | None
    closest: tuple[Pair, ...]
    certified: bool
    near: float = NEAR
    ties: int = 0
    contenders: tuple[tuple[str, float], ...] = ()
    # How a selection was found is no part of what it says.
    candidates: int | None = field(default=None, compare=False, repr=False)
    scan_error: float | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        docnos: npt.NDArray[np.object_],
        scores: npt.NDArray[np.float64],
        k: int,
        *,
        certified: bool,
        near: float = NEAR,
        most: int = 3,
    ) -> GapCheck:
        """Check a ranking that holds what was taken and the first `CONTENDERS` records left, where there are as many.

        Args:
            docnos: in rank order.
            scores: theirs.
            k: where the selection ends.
            certified: what the engine can say of it.
            near: the gap up to which neighbours count as near.
            most: how many of the closest pairs to keep.

        Returns:
            The check.

        Example:
            >>> docnos = np.array(["a", "b", "c"], dtype=object)
            >>> GapCheck.of(docnos, np.array([2.0, 1.0, 1.0]), 2, certified=True).verdict
            'exact_tie'
        """
        seen = scores[: k + 1] if k < len(scores) else scores
        with np.errstate(over="ignore"):
            # A gap wider than float64 is said to be as wide as float64 goes.
            gaps = np.minimum(seen[:-1] - seen[1:], np.finfo(np.float64).max)
        order = np.argsort(gaps, kind="stable")[:most]
        pairs = tuple(Pair(str(docnos[i]), str(docnos[i + 1]), float(gaps[i]), int(i) == k - 1) for i in order)
        left = slice(k, k + CONTENDERS)
        contenders = tuple(zip(map(str, docnos[left]), scores[left].tolist(), strict=True))
        at_cut = float(gaps[k - 1]) if k < len(scores) else None
        return cls(k, at_cut, pairs, certified, near, int(np.count_nonzero(gaps == 0)), contenders)

    @property
    def smallest(self) -> float:
        """The smallest gap between neighbours; infinite where there are none."""
        return self.closest[0].gap if self.closest else math.inf

    @property
    def verdict(self) -> str:
        """`exact_tie` (gap 0), `near_tie` (at most `near`) or `separated`."""
        return "exact_tie" if self.smallest == 0 else "near_tie" if self.smallest <= self.near else "separated"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "k": self.k,
            "verdict": self.verdict,
            "certified": self.certified,
            "gap_at_cut": self.gap_at_cut,
            "near": self.near,
            "ties": self.ties,
            "contenders": [{"docno": docno, "score": score} for docno, score in self.contenders],
            "candidates": self.candidates,
            "scan_error": self.scan_error,
            "closest": [{"above": p.above, "below": p.below, "gap": p.gap, "at_cut": p.at_cut} for p in self.closest],
        }


@dataclass(frozen=True, eq=False, repr=False)
class ScoredRelation:
    """A finite partial function docno → score, in rank order; equal by content, bit for bit.

    Warnings are about the program that gave it and no part of its content.

    Attributes:
        docnos: an object array of str, in rank order.
        scores: float64, in the same order; read-only.
        gap_check: of the selection that gave this relation; None where it was not cut.
        error_bound: how far a score may lie from the defined one; 0 where it is the defined one.
        certified: whether records, scores and order are the defined ones.

    Example:
        >>> ScoredRelation.of({"d1": 0.5, "d2": 1.0}).to_dict()
        {'d2': 1.0, 'd1': 0.5}
    """

    docnos: npt.NDArray[np.object_]
    scores: npt.NDArray[np.float64]
    gap_check: GapCheck | None = None
    error_bound: float = 0.0
    certified: bool = True
    _find_warnings: Callable[[], tuple[ProgramWarning, ...]] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        self.docnos.setflags(write=False)
        self.scores.setflags(write=False)

    @classmethod
    def of(
        cls,
        scores: Mapping[str, float],
        *,
        gap_check: GapCheck | None = None,
        error_bound: float = 0.0,
        certified: bool = True,
    ) -> ScoredRelation:
        """Put a mapping into rank order.

        Args:
            scores: docno to score.
            gap_check: of the selection that gave it.
            error_bound: how far a score may lie from the defined one.
            certified: whether this is what the definition gives.

        Returns:
            The relation.

        Raises:
            BindingError: `non_finite`, naming the first docno whose score is NaN or infinite.
        """
        for docno, score in scores.items():
            if not math.isfinite(score):
                raise BindingError("non_finite", f"the score of {docno!r} is {score}")
        ordered = sorted(
            ((str(docno), float(score) + 0.0) for docno, score in scores.items()), key=lambda r: (-r[1], r[0])
        )
        return cls.ordered(
            [docno for docno, _ in ordered],
            np.array([score for _, score in ordered], dtype=np.float64),
            gap_check=gap_check,
            error_bound=error_bound,
            certified=certified,
        )

    @classmethod
    def ordered(
        cls,
        docnos: npt.NDArray[np.object_] | list[str],
        scores: npt.NDArray[np.float64],
        *,
        gap_check: GapCheck | None = None,
        error_bound: float = 0.0,
        certified: bool = True,
    ) -> ScoredRelation:
        """Take records that stand in rank order already."""
        names = np.empty(len(docnos), dtype=object)
        names[:] = docnos
        return cls(names, np.array(scores, dtype=np.float64), gap_check, error_bound, certified)

    @cached_property
    def warnings(self) -> tuple[ProgramWarning, ...]:
        """What the program that gave this may not have meant, in the order of its text; found when first asked for."""
        return () if self._find_warnings is None else self._find_warnings()

    def with_warnings(self, find: Callable[[], tuple[ProgramWarning, ...]]) -> Self:
        """The same relation, whose warnings are what this finds, once, when they are first asked for."""
        return replace(self, _find_warnings=find)

    def __getstate__(self) -> dict[str, Any]:
        # What finds the warnings holds the whole collection; what it finds is small.
        return {**self.__dict__, "warnings": self.warnings, "_find_warnings": None}

    def __len__(self) -> int:
        """How many records it scores."""
        return len(self.scores)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Docnos with their scores, in rank order."""
        return zip(self.docnos.tolist(), self.scores.tolist(), strict=True)

    def __contains__(self, docno: object) -> bool:
        """Whether it scores this record."""
        return docno in self.docnos

    def __getitem__(self, docno: str) -> float:
        """A record's score.

        Raises:
            KeyError: where it has none.
        """
        places = np.flatnonzero(self.docnos == docno)
        if not len(places):
            raise KeyError(docno)
        return float(self.scores[places[0]])

    def __eq__(self, other: object) -> bool:
        """The same records with the same scores."""
        return (
            isinstance(other, ScoredRelation)
            and bool(np.array_equal(self.scores, other.scores))
            and bool(np.array_equal(self.docnos, other.docnos))
        )

    def __hash__(self) -> int:
        """By content."""
        return hash((tuple(self.docnos.tolist()), self.scores.tobytes()))

    def to_dict(self) -> dict[str, float]:
        """Docno to score, in rank order."""
        return dict(self)

    def to_frame(self, qid: str | None = None, query: str | None = None) -> pd.DataFrame:
        """As a frame in rank order.

        Args:
            qid: the query's id; without one the frame has no query columns.
            query: its text.

        Returns:
            Columns `[qid, query,] docno, score, rank`, ranks from 0, as PyTerrier has them.
        """
        columns: dict[str, Any] = {
            "docno": pd.Series(self.docnos.tolist(), dtype="str"),
            "score": self.scores.copy(),
            "rank": np.arange(len(self), dtype=np.int64),
        }
        frame = pd.DataFrame(columns)
        if query is not None:
            frame.insert(0, "query", pd.Series([query] * len(self), dtype="str"))
        if qid is not None:
            frame.insert(0, "qid", pd.Series([qid] * len(self), dtype="str"))
        return frame

    def __repr__(self) -> str:
        """The first ten records, ranks from 0, with their scores; equal neighbours are marked `=`."""
        shown = min(len(self), 10)
        width = max([len(str(d)) for d in self.docnos[:shown]], default=0)
        lines = [f"ScoredRelation of {len(self)} record{'' if len(self) == 1 else 's'}"]
        for i in range(shown):
            tied = "=" if i and self.scores[i] == self.scores[i - 1] else " "
            lines.append(f"  {i:>3}{tied} {self.docnos[i]!s:<{width}}  {float(self.scores[i])!r}")
        if len(self) > shown:
            lines.append(f"  … {len(self) - shown} more")
        if self.gap_check is not None:
            check = self.gap_check
            cut = "nothing beyond the cut" if check.gap_at_cut is None else f"gap at the cut {check.gap_at_cut:.3g}"
            lines.append(f"  {check.verdict}, {cut}, {'certified' if check.certified else 'not certified'}")
        return "\n".join(lines)
