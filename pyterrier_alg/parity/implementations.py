"""The implementations that take part in the experiment: a list that grows by registering one more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from pyterrier_alg.algebra import BindingError, Formula
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.engines.sql.engine import SqlEngine
from pyterrier_alg.parity.comparing import Outcome


@dataclass(frozen=True)
class Implementation:
    """One way to run the programs.

    Attributes:
        name: as tables and the command line call it.
        title: what it is, in a line.
        run: one formula for all queries, to an outcome each.
    """

    name: str
    title: str
    run: Callable[[Formula, Sequence[Scope]], list[Outcome]]


def from_certified_engine(name: str, title: str, make: Callable[[], Engine]) -> Implementation:
    """An implementation whose scores and order are the defined ones, so that its own order is the tie-safe one.

    Args:
        name: as tables call it.
        title: what it is.
        make: makes the engine, when it is first used.

    Returns:
        The implementation.
    """
    engine = cache(make)

    def run(formula: Formula, scopes: Sequence[Scope]) -> list[Outcome]:
        return [
            Outcome(name, tuple(found), tuple(found.docnos.tolist()), found.error_bound, found.certified)
            for found in engine().run_all(formula, scopes)
        ]

    return Implementation(name, title, run)


def from_sql_engine(name: str, title: str, make: Callable[[bool], SqlEngine]) -> Implementation:
    """An implementation with scores and a raw order of its own, beside the tie-safe order of its candidates.

    Args:
        name: as tables call it.
        title: what it is.
        make: makes the engine, told whether to give its candidates their defined scores.

    Returns:
        The implementation.
    """
    engine = cache(make)

    def run(formula: Formula, scopes: Sequence[Scope]) -> list[Outcome]:
        outcomes = []
        for scope in scopes:
            rows = tuple(engine(False).raw_rows(formula, scope))
            bound = engine(False).run(formula, scope).error_bound
            safe = engine(True).run(formula, scope)
            outcomes.append(Outcome(name, rows, tuple(safe.docnos.tolist()), bound, safe.certified))
        return outcomes

    return Implementation(name, title, run)


_REGISTERED: dict[str, Implementation] = {}

#: Those that take part, by name.
IMPLEMENTATIONS: Mapping[str, Implementation] = MappingProxyType(_REGISTERED)


def register(implementation: Implementation) -> Implementation:
    """Let an implementation take part.

    Args:
        implementation: its `run` states, in each outcome, how far its scores may lie from the defined ones.

    Returns:
        The same implementation.

    Raises:
        BindingError: `duplicate_name`.
    """
    if implementation.name in _REGISTERED:
        raise BindingError("duplicate_name", f"an implementation {implementation.name!r} takes part already")
    _REGISTERED[implementation.name] = implementation
    return implementation


def _definition() -> Engine:
    from pyterrier_alg.engines.definition import DefinitionEngine

    return DefinitionEngine()


def _vectorised() -> Engine:
    from pyterrier_alg.engines.vectorised import VectorisedEngine

    return VectorisedEngine()


def _pipeline() -> Engine:
    from pyterrier_alg.transformers import PipelineEngine

    return PipelineEngine()


def _sqlite(exact: bool) -> SqlEngine:
    from pyterrier_alg.engines.sql.sqlite import SqliteEngine

    return SqliteEngine(exact)


def _duckdb(exact: bool) -> SqlEngine:
    from pyterrier_alg.engines.sql.duckdb import DuckDbEngine

    return DuckDbEngine(exact)


register(from_certified_engine("definition", "the definition, in plain Python", _definition))
register(from_certified_engine("algebra", "the vectorised engine", _vectorised))
register(from_certified_engine("pyterrier", "a pipeline of PyTerrier transformers", _pipeline))
register(from_sql_engine("sql", "SQL: one statement in SQLite, vec_distance_cosine of sqlite-vec", _sqlite))
register(from_sql_engine("duckdb", "SQL: one statement in DuckDB, array_inner_product in float64", _duckdb))
