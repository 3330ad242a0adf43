"""The notation in Python: every function of the algebra, and the reserved operands, as objects that build expressions.

    from pyterrier_alg.notation import query, rrf, top
    top(10, m >> (E @ query - 0.5 * (E @ q2)))

The functions come from the operator table, so this module has whatever the language has. `all` here is a mask.
"""

from __future__ import annotations

from collections.abc import Callable

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, count, lift
from pyterrier_alg.algebra.operators import OPERATORS, RESERVED_OPERANDS
from pyterrier_alg.algebra.reading import make_call

__all__ = sorted([key for key, entry in OPERATORS.items() if entry.is_function] + list(RESERVED_OPERANDS))


def _function(key: str) -> Callable[..., Apply]:
    operator = OPERATORS[key]

    def build(*arguments: object, **options: object) -> Apply:
        spread = next((p for s in operator.signatures if (p := s.spread(len(arguments)))), ())
        wants = [place.accepts for place in spread] or [""] * len(arguments)
        given = tuple(_place(value, want) for value, want in zip(arguments, wants, strict=True))
        accepts = {option.name: option.accepts for option in operator.options}
        return make_call(key, given, tuple((k, _place(v, accepts.get(k, ""))) for k, v in options.items()))

    build.__name__ = build.__qualname__ = key
    build.__doc__ = f"{operator.usage}: {operator.meaning}.\n\nExample:\n    {operator.example}"
    return build


def _place(value: object, accepts: str) -> Expression:
    return count(value) if accepts.startswith("count") else lift(value)


def __getattr__(name: str) -> Callable[..., Apply] | Name:
    if name in RESERVED_OPERANDS:
        return Name(name)
    if name in OPERATORS and OPERATORS[name].is_function:
        return _function(name)
    raise AttributeError(f"the notation has no {name!r}")


def __dir__() -> list[str]:
    return __all__
