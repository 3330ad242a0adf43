"""Engines by name, imported when first asked for: a database's library is loaded by those who use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import cast

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.engines.engine import Engine

_HOMES: Mapping[str, str] = MappingProxyType(
    {
        "vectorised": "pyterrier_alg.engines.vectorised:VectorisedEngine",
        "pipeline": "pyterrier_alg.transformers.pipeline:PipelineEngine",
        "sqlite": "pyterrier_alg.engines.sql.sqlite:SqliteEngine",
        "duckdb": "pyterrier_alg.engines.sql.duckdb:DuckDbEngine",
        "definition": "pyterrier_alg.engines.definition:DefinitionEngine",
    }
)


def engines() -> list[str]:
    """The names of the engines that a program can run on.

    Example:
        >>> engines()
        ['vectorised', 'pipeline', 'sqlite', 'duckdb', 'definition']
    """
    return list(_HOMES)


def check_engine(name: object) -> str:
    """The name of an engine that there is.

    Raises:
        AlgebraError: `unknown_engine`.
    """
    if not isinstance(name, str) or name not in _HOMES:
        close = suggest(str(name), _HOMES) or tuple(_HOMES)
        raise AlgebraError("unknown_engine", f"there is no engine {name!r}", f"did you mean {', '.join(close)}?")
    return name


@cache
def engine(name: str) -> Engine:
    """The engine of this name, the same one at every call.

    Raises:
        AlgebraError: `unknown_engine`.
    """
    module, made = _HOMES[check_engine(name)].split(":")
    return cast(Engine, getattr(import_module(module), made)())


def able(requirements: Iterable[str]) -> list[str]:
    """The names of the engines that can do all of these, by their capabilities.

    Args:
        requirements: keys of the operator table, and `retrieve` for calling a retriever.

    Example:
        >>> "vectorised" in able(["mmr", "rrf"])
        True
    """
    wanted = frozenset(requirements)
    return [name for name in _HOMES if wanted <= engine(name).capabilities]
