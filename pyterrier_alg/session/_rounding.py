"""Values in float64 with a bound on their error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyterrier_alg.collection.operands import Scores

#: Half a unit in the last place; what makes bounds hold that are themselves rounded; what underflow may lose.
UNIT, SLACK, TINY = 2.0**-53, 1.0 + 2.0**-40, 1e-310


@dataclass(frozen=True, eq=False)
class Bounded:
    """Values in float64, each within an error of the exact one."""

    values: Scores
    errors: Scores

    def __add__(self, other: Bounded) -> Bounded:
        return _bounded(self.values + other.values, self.errors + other.errors)

    def __sub__(self, other: Bounded) -> Bounded:
        return _bounded(self.values - other.values, self.errors + other.errors)

    def __neg__(self) -> Bounded:
        return Bounded(-self.values, self.errors)

    def __mul__(self, other: Bounded) -> Bounded:
        errors = np.abs(self.values) * other.errors + np.abs(other.values) * self.errors + self.errors * other.errors
        return _bounded(self.values * other.values, errors)

    def __truediv__(self, other: Bounded) -> Bounded:
        return _bounded(self.values / other.values, self.errors / np.abs(other.values))

    def __getitem__(self, places: Any) -> Bounded:
        return Bounded(self.values[places], self.errors[places])


def _bounded(values: Scores, errors: Scores) -> Bounded:
    return Bounded(values, (errors + UNIT * np.abs(values)) * SLACK + TINY)
