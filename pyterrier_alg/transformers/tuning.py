"""A program whose coefficients can be set from outside, as PyTerrier's grid search does."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.checking import suggest
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.formula import operand_names
from pyterrier_alg.collection.operands import NumberOperand
from pyterrier_alg.transformers.program import Program


class Tunable(pt.Transformer):
    """A program with its named coefficients as parameters, which `pt.GridScan` and `pt.GridSearch` set.

    Programs are values and are never changed. This is the one object that is: it holds a program, and runs it with the
    numbers that it was set to. It equals nothing but itself, since grid search tells transformers apart by equality.

    Example:
        >>> from pyterrier_alg import Program, vaswani
        >>> c = vaswani().bind(alpha=0.5)
        >>> tunable = Tunable(Program("top(100, E @ query - alpha * (E @ q2))", c))
        >>> tunable.set_parameter("alpha", 0.25)
        >>> tunable
        Tunable(Program('top(100, E @ query - alpha * (E @ q2))', vaswani), alpha=0.25)
        >>> pt.GridScan(tunable, {tunable: {"alpha": [0, 0.5, 1]}}, topics, qrels, ["map"])  # doctest: +SKIP
    """

    def __init__(self, program: Program) -> None:
        """Begin with the numbers that the program's collection binds.

        Args:
            program: names numbers of its collection, which become parameters.

        Raises:
            AlgebraError: `bad_argument`, where it is no program, or names no number.
        """
        if not isinstance(program, Program):
            raise AlgebraError(
                "bad_argument", f"a program has coefficients to tune, a {type(program).__name__} has not"
            )
        self.program = program
        operands = program.collection.operands
        named = [name for name in operand_names(program.formula) if isinstance(operands.get(name), NumberOperand)]
        if not named:
            message = f"{program.formula.ascii} names no number that is bound"
            raise AlgebraError("bad_argument", message, "bind one, collection.bind(alpha=0.5), and use its name")
        self._names = named

    @property
    def coefficients(self) -> dict[str, float]:
        """The parameters' names and present values."""
        operands = self.program.collection.operands
        found = {name: operands[name] for name in self._names}
        return {name: number.value for name, number in found.items() if isinstance(number, NumberOperand)}

    def get_parameter(self, name: str) -> float:
        """The value of a coefficient.

        Raises:
            AlgebraError: `unknown_name`.
        """
        known = self.coefficients
        if name not in known:
            close = ", ".join(suggest(name, known) or known)
            raise AlgebraError("unknown_name", f"the program has no coefficient {name!r}", f"it has {close}")
        return known[name]

    def set_parameter(self, name: str, value: float) -> None:
        """Set a coefficient.

        Raises:
            AlgebraError: `unknown_name`; `bad_operand` or `non_finite`, where the value is no finite number;
                `division_by_zero` or `bad_parameter`, where the program cannot have it.
        """
        self.get_parameter(name)
        self.program = self.program.with_numbers(**{name: value})

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Run the program with the coefficients as they are."""
        return self.program.transform(inp)

    def transform_inputs(self) -> list[list[str]]:
        """Those of the program."""
        found: list[list[str]] = pt.inspect.transformer_inputs(self.program)
        return found

    def schematic(self, *, input_columns: list[str] | None = None) -> dict[str, Any]:
        """How PyTerrier draws it."""
        drawn = self.program.schematic(input_columns=input_columns)
        return {**drawn, "label": "Tunable", "settings": {**drawn["settings"], **self.coefficients}}

    def __repr__(self) -> str:
        numbers = "".join(f", {name}={value!r}" for name, value in self.coefficients.items())
        return f"Tunable({self.program!r}{numbers})"

    def __eq__(self, other: object) -> bool:
        """Itself only."""
        return self is other

    def __hash__(self) -> int:
        """By identity."""
        return id(self)
