"""What all stages are: PyTerrier transformers that are frozen values, and that can be drawn without a network."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula


class Stage(pt.Transformer):
    """The base of all stages; a subclass is a frozen dataclass, so that equal stages are equal by value and hash so.

    PyTerrier shares work between pipelines whose leading stages are equal, and pickles pipelines to run them elsewhere.
    """

    #: How a drawing names the stage, where that is not its class.
    _sign = ""

    def __post_init__(self) -> None:
        """Refuse what is no collection, transformer or name where one is wanted, before anything runs.

        Raises:
            AlgebraError: `bad_argument`.
        """
        for field in fields(self):
            fits, wanted = _WANTED.get(str(field.type), (_anything, ""))
            value = getattr(self, field.name)
            if not fits(value):
                found = f"{field.name} of {type(self).__name__} is {wanted}, not a {type(value).__name__}"
                names = ", ".join(f.name for f in fields(self))
                raise AlgebraError("bad_argument", found, f"write {type(self).__name__}({names})")

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """How PyTerrier draws it; the link is stated, since PyTerrier would look for one on the web."""
        sign = self._sign or type(self).__name__
        shown = [value for value in self._settings() if isinstance(value, int | float | str)]
        labels = [f"{sign} {value}" for value in shown if not isinstance(value, bool)]
        label = labels[0] if len(labels) == 1 and len(labels[0]) <= 20 else sign
        return {"label": label, "help_url": None}

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """What PyTerrier puts in the place of `self % k`: a program that selects, where this is a retriever of ours."""
        from pyterrier_alg.transformers.fusing import cut

        return cut(self, k)

    def fuse_right(self, right: pt.Transformer) -> pt.Transformer | None:
        """What PyTerrier puts in the place of `self >> right`: a program, where both mean one."""
        from pyterrier_alg.transformers.fusing import fuse

        return fuse(self, right)

    def _settings(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]

    def __repr__(self) -> str:
        """As one writes it, with the collection's name in the place of the collection."""
        given = [(field.name, getattr(self, field.name), field) for field in fields(self)]
        parts = [
            f"{name}={_shown(value)}" if field.kw_only else _shown(value)
            for name, value, field in given
            if not (field.kw_only and value == field.default)
        ]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __str__(self) -> str:
        return repr(self)


def is_operand(value: object) -> bool:
    """Whether a value is a transformer; a collection is an artifact, which PyTerrier counts among them."""
    return isinstance(value, pt.Transformer) and not isinstance(value, pt.Artifact)


def _is_collection(value: object) -> bool:
    return all(callable(getattr(value, name, None)) for name in ("at", "bindings", "topics"))


def _anything(value: object) -> bool:
    return True


#: What a field of some type takes, and what messages call that.
_WANTED: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "Source": (_is_collection, "a collection"),
    "Collection": (_is_collection, "a collection"),
    "pt.Transformer": (is_operand, "a transformer"),
    "str": (lambda value: isinstance(value, str), "a name"),
    "str | Expression": (lambda value: isinstance(value, str | Expression), "notation or an expression"),
}


def _shown(value: Any) -> str:
    if isinstance(value, Expression | Formula):
        return repr(repr(value))
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    name = getattr(value, "name", None)
    return name if not isinstance(value, pt.Transformer) and isinstance(name, str) and name else repr(value)


def finite(value: object, what: str) -> float:
    """A parameter as a float, 0 for -0.

    Raises:
        AlgebraError: `bad_parameter`, where it is no finite number.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise AlgebraError("bad_parameter", f"{what} is a finite number, not {value!r}")
    return float(value) + 0.0


def positive(value: object, what: str) -> float:
    """A parameter as a float above 0.

    Raises:
        AlgebraError: `bad_parameter`.
    """
    number = finite(value, what)
    if number <= 0:
        raise AlgebraError("bad_parameter", f"{what} is a number above 0, not {value!r}")
    return number


def count(value: object, what: str, least: int = 1) -> int:
    """A parameter as a whole number.

    Raises:
        AlgebraError: `bad_parameter`, where it is none or too small.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise AlgebraError("bad_parameter", f"{what} is a whole number, {least} or more, not {value!r}")
    return int(value)
