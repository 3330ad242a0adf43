"""What each engine can and cannot do, as orientation tells it: known without loading a single engine.

Engines stand above collections and load databases; here is what they say of themselves, which a test holds to them.
"""

from __future__ import annotations

from typing import Any

#: By name, in the order of `engines()`: whether results are the defined ones, and the operators that it lacks.
ENGINES: dict[str, dict[str, Any]] = {
    "vectorised": {"certified": True, "cannot": []},
    "pipeline": {"certified": True, "cannot": []},
    "sqlite": {"certified": False, "cannot": ["mmr"]},
    "duckdb": {"certified": False, "cannot": ["mmr"]},
    "definition": {"certified": True, "cannot": []},
}


def engine_facts() -> dict[str, dict[str, Any]]:
    """What each engine can and cannot do.

    Returns:
        By name: `certified`, whether its records, scores and order are the defined ones (one that is not states its
        error bound with each result), and `cannot`, the keys of the operators that it lacks.

    Example:
        >>> engine_facts()["sqlite"]
        {'certified': False, 'cannot': ['mmr']}
    """
    return {name: {**facts, "cannot": list(facts["cannot"])} for name, facts in ENGINES.items()}


def able(key: str) -> list[str]:
    """The engines that can do this, by its key in the operator table."""
    return [name for name, facts in ENGINES.items() if key not in facts["cannot"]]
