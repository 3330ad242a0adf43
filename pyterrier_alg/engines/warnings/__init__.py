"""Finding what a sound program does that its author may not have meant; the same whatever engine ran it."""

from pyterrier_alg.engines.warnings.finding import find_warnings

__all__ = ["find_warnings"]
