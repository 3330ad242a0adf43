"""Rank-biased overlap: how alike two rankings are, where the first ranks count most."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyterrier_alg.algebra.errors import AlgebraError


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], p: float = 0.9) -> float:
    """Rank-biased overlap, extrapolated (Webber, Moffat and Zobel, TOIS 28(4), 2010, equation 32).

    With X(d) the overlap of the first d of both, s and l the lengths of the shorter and the longer ranking, it is

        (1 − p)/p · (Σ_{d=1..l} X(d)/d · p^d + Σ_{d=s+1..l} X(s)(d − s)/(s d) · p^d) + ((X(l) − X(s))/l + X(s)/s) · p^l

    The agreement that was seen is taken to go on: in the shorter ranking from its end up to the longer one's at the
    rate X(s)/s, and below both as it is at depth l. Rankings are total orders here, so that no tie has to be treated.

    Args:
        first: docnos in rank order, each once.
        second: the same.
        p: persistence, above 0 and below 1; the first 10 ranks have 86 % of the weight at 0.9.

    Returns:
        0 for disjoint rankings to 1 for equal ones; 1 for two empty ones, 0 where only one is empty.

    Raises:
        AlgebraError: `bad_argument`, for another p, or a docno that stands twice.

    Example:
        >>> rank_biased_overlap(["a", "b", "c"], ["b", "a", "c"])
        0.9
        >>> rank_biased_overlap(["a", "b"], ["a", "c"], p=0.5)
        0.75
    """
    if not 0 < p < 1:
        raise AlgebraError("bad_argument", f"p is above 0 and below 1, not {p!r}")
    for ranking in (first, second):
        if len(set(ranking)) < len(ranking):
            raise AlgebraError("bad_argument", "a ranking has a docno twice")
    if list(first) == list(second):
        return 1.0
    shorter, longer = sorted((first, second), key=len)
    s, depth = len(shorter), len(longer)
    if not s:
        return 0.0
    overlap, at_s = 0, 0
    seen: set[str] = set()
    terms = []
    for d in range(1, depth + 1):
        for docno in {longer[d - 1], *shorter[d - 1 : d]}:
            # Whoever is met the second time is in both.
            overlap += docno in seen or (d <= s and longer[d - 1] == shorter[d - 1])
            seen.add(docno)
        at_s = overlap if d == s else at_s
        beyond = at_s * (d - s) / (s * d) if d > s else 0.0
        terms.append((overlap / d + beyond) * p**d)
    tail = ((overlap - at_s) / depth + at_s / s) * p**depth
    return min(1.0, math.fsum([(1 - p) / p * math.fsum(terms), tail]))
