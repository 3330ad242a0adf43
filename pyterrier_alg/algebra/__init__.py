"""The language: kinds, expressions, reading, printing, checking, and what every operator means."""

from pyterrier_alg.algebra.checking import Checked, check
from pyterrier_alg.algebra.errors import (
    AlgebraError,
    BindingError,
    DataError,
    Diagnostic,
    EvaluationError,
    Fix,
    MissingExtraError,
    ProgramError,
    Span,
    UnsupportedError,
)
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Binding, Distance, Kind, Space, Type
from pyterrier_alg.algebra.limits import LIMITS, Limits
from pyterrier_alg.algebra.operators import OPERATORS, Operator
from pyterrier_alg.algebra.reading import as_formula, parse
from pyterrier_alg.algebra.warnings import WARNINGS, ProgramWarning

__all__ = [
    "LIMITS",
    "OPERATORS",
    "WARNINGS",
    "AlgebraError",
    "Apply",
    "Binding",
    "BindingError",
    "Checked",
    "Count",
    "DataError",
    "Diagnostic",
    "Distance",
    "EvaluationError",
    "Expression",
    "Fix",
    "Formula",
    "Kind",
    "Limits",
    "MissingExtraError",
    "Name",
    "Number",
    "Operator",
    "ProgramError",
    "ProgramWarning",
    "Retrieve",
    "Space",
    "Span",
    "Text",
    "Type",
    "UnsupportedError",
    "as_formula",
    "check",
    "parse",
]
