"""Algebraic retrieval for PyTerrier: a retrieval strategy is a program that is read, run, inspected and compared.

Example:
    >>> from pyterrier_alg import Program, vaswani
    >>> len(Program("top(10, w ⊙ (m ▷ ((E @ q1) − 0.5 (E @ q2))))", vaswani()).run())
    10

PyTerrier loads the package together with itself, as `pt.alg`: `pt.alg.Program`, `pt.alg.vaswani`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyterrier_alg._version import __version__

if TYPE_CHECKING:
    from pyterrier_alg.algebra import AlgebraError, Formula, ProgramError, Space, parse
    from pyterrier_alg.collection import Collection
    from pyterrier_alg.collection.indexer import AlgebraIndexer
    from pyterrier_alg.collection.vaswani import vaswani
    from pyterrier_alg.evaluation import experiment, tie_bounds
    from pyterrier_alg.relation import GapCheck, ScoredRelation
    from pyterrier_alg.session import Session
    from pyterrier_alg.transformers import Program

#: Where each public name lives: found when first asked for, so that importing the package costs next to nothing.
_HOMES = {
    "AlgebraError": "algebra",
    "AlgebraIndexer": "collection.indexer",
    "Collection": "collection",
    "Formula": "algebra",
    "GapCheck": "relation",
    "Program": "transformers",
    "ProgramError": "algebra",
    "ScoredRelation": "relation",
    "Session": "session",
    "Space": "algebra",
    "experiment": "evaluation",
    "parse": "algebra",
    "tie_bounds": "evaluation",
    "vaswani": "collection",
}

__all__ = [
    "AlgebraError",
    "AlgebraIndexer",
    "Collection",
    "Formula",
    "GapCheck",
    "Program",
    "ProgramError",
    "ScoredRelation",
    "Session",
    "Space",
    "__version__",
    "experiment",
    "parse",
    "tie_bounds",
    "vaswani",
]


#: Parts of the package that can be reached through it without importing them first: `pt.alg.laws`.
_PARTS = (
    "algebra",
    "collection",
    "datasets",
    "engines",
    "evaluation",
    "exact",
    "laws",
    "notation",
    "parity",
    "relation",
    "session",
    "testing",
    "transformers",
)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PARTS:
        return import_module(f"pyterrier_alg.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'pyterrier_alg' has no attribute {name!r}")
    return getattr(import_module(f"pyterrier_alg.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, *_PARTS]
