"""Numbers as tables and JSON have them."""

from __future__ import annotations

import sys
from fractions import Fraction

#: Of an exact fraction with longer numbers, only the nearest float64 is written out.
LONGEST_EXACT = 8_000


def figure(value: float | Fraction | None, digits: int = 6) -> str:
    """A number to so many digits; empty for none.

    Example:
        >>> figure(Fraction(1, 3)), figure(None)
        ('0.333333', '')
    """
    return "" if value is None else f"{nearest(value):.{digits}g}"


def nearest(value: float | Fraction) -> float:
    """The nearest float64; the largest where a fraction is larger than that.

    Example:
        >>> nearest(Fraction(1, 3)), nearest(Fraction(-(10**400)))
        (0.3333333333333333, -1.7976931348623157e+308)
    """
    try:
        return float(value) + 0.0
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def exact(value: Fraction) -> str | None:
    """A fraction as `numerator/denominator`; None where that is too long to be read.

    Example:
        >>> exact(Fraction(0.5))
        '1/2'
    """
    longest = max(value.numerator.bit_length(), value.denominator.bit_length())
    return f"{value.numerator}/{value.denominator}" if longest <= LONGEST_EXACT else None


def records(count: int) -> str:
    """How many records.

    Example:
        >>> records(1), records(2000)
        ('1 record', '2,000 records')
    """
    return f"{count:,} record{'' if count == 1 else 's'}"
