"""Bounds, before the fact, on what a fast scan may be wrong by: enough to certify its candidates."""

from __future__ import annotations

import math


def float32_scan_bound(d: int, row_norm: float, vector_norm: float) -> float:
    """How far a float32 inner product of d terms may be from the defined score, whatever adds it up.

    In any order of addition, with fused multiply-adds or without, |fl(x·y) - x·y| <= γ_d |x|·|y| (Higham, 2nd ed., eq.
    3.5 and what follows it), γ_d = d u / (1 - d u), u = 2^-24, and |x|·|y| <= ‖x‖ ‖y‖ (Cauchy-Schwarz). To this comes
    underflow, taken at its worst, flushed to zero: 2^-126 for each of fewer than 2 d operations, and elements below
    2^-126 read as 0, which change the product by at most 2^-126 √d (‖x‖ + ‖y‖). The defined score itself is within
    2^-53 ‖x‖ ‖y‖ of x·y.

    Args:
        d: number of dimensions.
        row_norm: the row's norm, or the largest of several rows, as `norm` gives it.
        vector_norm: the vector's norm, as `norm` gives it.

    Returns:
        The bound; inf where the products might overflow, or where d is too large for γ_d to mean anything.

    >>> f"{float32_scan_bound(256, 1.0, 1.0):.3g}"
    '1.53e-05'
    """
    product = row_norm * vector_norm
    gamma = _gamma(d, 2.0**-24)
    flushed = 2.0**-126 * (2 * d + math.sqrt(d) * (row_norm + vector_norm))
    bound = _widened((gamma + 2.0**-53) * product + flushed * (1.0 + gamma))
    # Partial sums are at most (1 + γ) ‖x‖ ‖y‖ in size, a single product no more.
    return bound if product * (1.0 + gamma) + bound < 2.0**127 else math.inf


def float64_scan_bound(d: int, row_norm: float, vector_norm: float) -> float:
    """How far a float64 inner product of float32 elements may be from the defined score, whatever adds it up.

    As `float32_scan_bound`, with u = 2^-53. The products are exact, so d - 1 additions round: γ_(d-1), and u for the
    defined score's own rounding, together at most γ_d. Products are multiples of 2^-298: nothing underflows or
    overflows.

    >>> f"{float64_scan_bound(256, 1.0, 1.0):.3g}"
    '2.84e-14'
    """
    return _widened(_gamma(d, 2.0**-53) * row_norm * vector_norm)


def cosine_distance_bound(d: int, vector_norm: float = 1.0, row_norm_error: float = 2.0**-23) -> float:
    """How far 1 - D may be from x·v / ‖v‖, for D = 1 - dot / (√xx √vv) computed in float32 all through, or better.

    With u = 2^-24: dot = x·v + ε ‖x‖ ‖v‖, |ε| <= γ_d, while xx and vv are sums of squares, so each is its true value
    times (1 + θ), |θ| <= γ_d. Two roots, their product and the division round once each, so the quotient is
    (c + ε)(1 + η), c the true cosine and 1 + |η| <= 1 / ((1 - γ_d)(1 - u)^4). The last subtraction rounds by at most
    u (1 + |quotient|). Together

        |1 - D - c| <= γ_d (1 + |η|) + |η| + u (1 + (1 + γ_d)(1 + |η|)),

    and 2^-52 more for 1 - D in float64. Underflow, flushed to zero as in `float32_scan_bound`, adds less than
    4 (d + √d) 2^-126 / min(1/2, ‖v‖, ‖v‖²) to ε and to each θ, for rows of norm 3/4 to 5/4. And
    x·v / ‖v‖ = c ‖x‖ is within `row_norm_error` of c.

    Args:
        d: number of dimensions.
        vector_norm: the vector's norm; any that float32 can square.
        row_norm_error: how far the rows' norms are from 1. The default holds for what `unit` gives: each element is
            rounded by at most 2^-24 of itself (and 2^-150), and so is the norm.

    Returns:
        The bound; inf where the vector is too short or too long for its squares in float32. Multiplied by ‖v‖ it bounds
        the distance of (1 - D) ‖v‖ from the defined inner product, apart from that product's own rounding to float64.

    >>> f"{cosine_distance_bound(256):.3g}"
    '3.1e-05'
    """
    u = 2.0**-24
    smallest = min(vector_norm, vector_norm * vector_norm, 0.5)
    if not 2.0**-60 <= vector_norm <= 2.0**60 or row_norm_error > 0.25:
        return math.inf
    gamma = _gamma(d, u) + 4.0 * (d + math.sqrt(d)) * 2.0**-126 / smallest
    if not gamma < 0.5:
        return math.inf
    growth = 1.0 / ((1.0 - gamma) * (1.0 - u) ** 4)
    computed = gamma * growth + (growth - 1.0) + u * (1.0 + (1.0 + gamma) * growth)
    return _widened(computed + 2.0**-52 + row_norm_error)


def _gamma(n: int, u: float) -> float:
    """Higham's γ_n = n u / (1 - n u); inf from n u = 1/2 on, where it has stopped to be of use."""
    return n * u / (1.0 - n * u) if n * u < 0.5 else math.inf


def _widened(bound: float) -> float:
    """A bound, made larger by more than the roundings in computing it and in the norms that it was given."""
    return bound * (1.0 + 2.0**-46)
