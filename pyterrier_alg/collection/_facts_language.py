"""The language on half a page, drawn from the operator table; one operator, one reserved name, in detail."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from pyterrier_alg.algebra.kinds import Kind, Space
from pyterrier_alg.algebra.limits import LIMITS
from pyterrier_alg.algebra.operators import OPERATORS, RESERVED_OPERANDS, Operator
from pyterrier_alg.collection._facts import shortened
from pyterrier_alg.collection._facts_engines import able
from pyterrier_alg.collection.per_query import Bound

_RULES = (
    "steps (pool = support(bm25(query))), one a line; the last line is an expression, a relation: docno to score",
    "S, T relation; m, n mask; E matrix; v vector or text; c number; x column; group column or relation",
    "a retriever is called: bm25(query) or bm25(query, depth)",
    "0.5 S is 0.5 * S; x == c and x != c compare with a literal; texts stand in quotes, days are texts",
    "names of other signs than letters, digits and _ stand in backticks; # begins a comment",
    "+, -, * keep the records that both sides score; fill(c, S) gives the others c",
    "rank order: score descending, then docno ascending by code point; top cuts after what stands inside it",
)


def grammar() -> dict[str, Any]:
    """The notation in short.

    Returns:
        `operators`, one string a level, the tightest first; `signs`, what the paper writes for ASCII; `functions`, with
        their parameters and defaults; `rules`, a sentence each.

    Example:
        >>> grammar()["operators"][:3]
        ['E @ v', '-S, ~m', 'S * T, S / c']
    """
    infix = sorted((o for o in OPERATORS.values() if not o.is_function), key=lambda o: -o.precedence)
    levels = [", ".join(map(ascii_usage, level)) for _, level in groupby(infix, key=lambda o: o.precedence)]
    signs = {o.ascii: o.unicode for o in infix if o.unicode != o.ascii}
    functions = [operator.usage for operator in OPERATORS.values() if operator.is_function]
    return {"operators": levels, "signs": signs, "functions": functions, "rules": list(_RULES)}


def ascii_usage(operator: Operator) -> str:
    """How an operator is written in ASCII, with its parameters' names.

    Example:
        >>> ascii_usage(OPERATORS[">>"])
        'm >> S'
    """
    if operator.is_function:
        return operator.usage
    names = [parameter.name for parameter in operator.signatures[0].parameters]
    return f" {operator.ascii} ".join(names) if len(names) == 2 else operator.ascii + names[0]


def limits() -> dict[str, int]:
    """How large a program may be, by what is counted."""
    return {name: getattr(LIMITS, name) for name in ("characters", "nesting", "nodes", "steps")}


def operator_named(name: str) -> Operator | None:
    """The operator or function of this key or sign, of either notation.

    Example:
        >>> operator_named("▷").key, operator_named("rrf").key, operator_named("S")
        ('>>', 'rrf', None)
    """
    found = OPERATORS.get(name)
    return found or next((o for o in OPERATORS.values() if name and name in (o.unicode, o.ascii)), None)


def operator_facts(operator: Operator) -> dict[str, Any]:
    """One operator in detail; its example is over the names that the reference binds, not a collection's."""
    signatures = [
        f"{', '.join(f'{p.name}: {p.accepts}' + (', …' if p.many else '') for p in signature.parameters)}"
        f" -> {signature.result.value}"
        for signature in operator.signatures
    ]
    return {
        "name": operator.key,
        "usage": ascii_usage(operator),
        "sign": operator.unicode or None,
        "meaning": operator.meaning,
        "signatures": signatures,
        "options": {option.name: repr(option.default) for option in operator.options},
        "example": operator.example,
        "engines": able(operator.key),
    }


_MEANINGS = {
    "query": (Kind.TEXT, "the topic's text"),
    "query_vec": (Kind.VECTOR, "the topic's vector"),
    "now": (Kind.TEXT, "the day that ages count to, where it is bound"),
    "all": (Kind.MASK, "every record"),
    "input": (Kind.RELATION, "over results, their scores; each relation and mask then has these records only"),
}


def reserved(operands: Mapping[str, Bound], query_space: Space | None) -> list[dict[str, Any]]:
    """The reserved names: what each is, and what must be there for a program to name it.

    Args:
        operands: what is bound.
        query_space: where vectors of topics live; None where nothing says.
    """
    known = []
    for name in RESERVED_OPERANDS:
        kind, meaning = _MEANINGS[name]
        facts: dict[str, Any] = {"name": name, "kind": kind.value, "is": meaning}
        if name == "query_vec":
            facts["space"] = shortened(query_space.name) if query_space else None
        if name == "now":
            facts["bound"] = "now" in operands
        known.append(facts)
    return known
