"""The smallest change that makes something true, among the values that there are: numbers, counts, days."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def ordinal(value: float) -> int:
    """The place of a float64 among all of them: neighbours are one apart.

    Example:
        >>> ordinal(float(np.nextafter(1.0, 2.0))) - ordinal(1.0), ordinal(0.0), ordinal(-5e-324)
        (1, 0, -1)
    """
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits) if bits >= 0 else -(int(bits) & 0x7FFFFFFFFFFFFFFF)


def at_ordinal(place: int) -> float:
    """The float64 at a place.

    Example:
        >>> at_ordinal(ordinal(-0.1)), at_ordinal(0)
        (-0.1, 0.0)
    """
    (value,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return -value if place < 0 else float(value)


def first_true(no: int, yes: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Neighbours of which one does not hold and the next, towards what does, does.

    Args:
        no: a place where it does not hold.
        yes: a place where it does.
        holds: says whether it does.

    Returns:
        Both places, one apart.

    Example:
        >>> first_true(0, 1000, lambda place: place >= 337)
        (336, 337)
    """
    step = 1 if yes > no else -1
    # Most often the place before already does not.
    if not holds(yes - step):
        return yes - step, yes
    yes -= step
    while abs(yes - no) > 1:
        middle = (no + yes) // 2
        no, yes = (no, middle) if holds(middle) else (middle, yes)
    return no, yes
