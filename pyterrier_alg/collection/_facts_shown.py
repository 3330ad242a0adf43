"""Single facts as people read them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any


def percent(share: float) -> str:
    """A share that says 0 % and 100 % only where it is none and all.

    Example:
        >>> percent(1e-9), percent(0.5), percent(1.0)
        ('<0.1 %', '50 %', '100 %')
    """
    if 0 < share < 0.001 or 0.999 < share < 1:
        return "<0.1 %" if share < 0.5 else ">99.9 %"
    return f"{100 * share:.3g} %"


def holds(operand: Mapping[str, Any]) -> str:
    """What an operand of a list holds, in a line."""
    said = []
    if operand["space"]:
        said.append(f"space {operand['space']}")
    if "query_encoder" in operand:
        said.append("takes texts" if operand["query_encoder"] else "takes vectors only")
    if "length" in operand:
        said.append(f"length {operand['length']:.4g}")
    if operand.get("range"):
        said.append(" to ".join(short(bound) for bound in operand["range"]))
    if "distinct" in operand:
        some = ", ".join(short(value) for value, _ in operand["values"][:4])
        said.append(f"{operand['distinct']:,} values: {some}" if some else "no values")
    if "identity" in operand:
        said.append(f"{operand['identity']}, depth {operand['default_depth']:,}")
    if "recorded_queries" in operand:
        said.append(
            f"{operand['recorded_queries']:,} recorded {'query' if operand['recorded_queries'] == 1 else 'queries'}"
        )
    if "value" in operand:
        said.append(short(operand["value"], 60))
    return visible("; ".join(said))


def short(value: Any, longest: int = 24) -> str:
    """A value in few characters."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def value_text(value: Any) -> str:
    """A fact of any shape: quantiles with their places, pairs with their counts, lists, parts of a space."""
    if isinstance(value, Mapping) and all(isinstance(item, float) for item in value.values()):
        places = ", ".join(f"{100 * float(key):g}" for key in value)
        return f"{', '.join(short(item) for item in value.values())}  (at {places} %)"
    if isinstance(value, Mapping):
        return visible("\n".join(f"{key}: {value_text(item)}" for key, item in value.items() if item not in (None, "")))
    if isinstance(value, Sequence) and not isinstance(value, str):
        pairs = [f"{short(v[0], 40)} ({v[1]:,})" if isinstance(v, list) else short(v, 120) for v in value]
        return visible(("\n" if any(" " in pair for pair in pairs) else ", ").join(pairs))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(f"{value:,}" if isinstance(value, int) else short(value, 200))


def visible(text: str) -> str:
    """Text without what a terminal would obey instead of showing."""
    return "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cs", "Cf") else "�" for c in text)
