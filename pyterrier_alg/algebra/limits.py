"""Limits on what is read: explicit, so that no program ends in a crash."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a program may be; beyond these the error is `limit`.

    Attributes:
        characters: of its text.
        nesting: of parentheses.
        nodes: of all its expressions, written out.
        steps: named ones.
    """

    characters: int = 1_000_000
    nesting: int = 10_000
    nodes: int = 100_000
    steps: int = 10_000


#: What applies unless a caller says otherwise.
LIMITS = Limits()
