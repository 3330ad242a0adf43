"""Sessions: programs are run, looked at, revised, logged and replayed; every result is an operand of the next one.

`explain`, `why`, `why_not`, `compare` and `sweep` are functions of programs; a `Session` has them as methods, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyterrier_alg.session.inspecting import Inspection, inspect
from pyterrier_alg.session.log import Log
from pyterrier_alg.session.replaying import LogDifference, Replay, diff, replay
from pyterrier_alg.session.result import Result, StaleResultError
from pyterrier_alg.session.session import Session
from pyterrier_alg.session.steps import Eligible
from pyterrier_alg.session.tables import from_arrow, from_frame, join, register_duckdb, register_sqlite, to_arrow

if TYPE_CHECKING:
    from pyterrier_alg.session.absence import Absence, why_not
    from pyterrier_alg.session.comparing import Comparison, compare
    from pyterrier_alg.session.explaining import Explanation, explain
    from pyterrier_alg.session.ledger import Ledger, why
    from pyterrier_alg.session.sweeping import Sweep, sweep

#: Loaded when first asked for: running programs needs none of them.
_HOMES = {
    "Absence": "absence",
    "Comparison": "comparing",
    "Explanation": "explaining",
    "Ledger": "ledger",
    "Sweep": "sweeping",
    "compare": "comparing",
    "explain": "explaining",
    "sweep": "sweeping",
    "why": "ledger",
    "why_not": "absence",
}

__all__ = [
    "Absence",
    "Comparison",
    "Eligible",
    "Explanation",
    "Inspection",
    "Ledger",
    "Log",
    "LogDifference",
    "Replay",
    "Result",
    "Session",
    "StaleResultError",
    "Sweep",
    "compare",
    "diff",
    "explain",
    "from_arrow",
    "from_frame",
    "inspect",
    "join",
    "register_duckdb",
    "register_sqlite",
    "replay",
    "sweep",
    "to_arrow",
    "why",
    "why_not",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pyterrier_alg.session' has no attribute {name!r}")
    return getattr(import_module(f"pyterrier_alg.session.{_HOMES[name]}"), name)
