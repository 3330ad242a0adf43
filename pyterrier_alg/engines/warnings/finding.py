"""All warnings of one program over one scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pyterrier_alg.algebra.errors import EvaluationError
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.engines.warnings.domains import one_sided_records
from pyterrier_alg.engines.warnings.inputs import constant_input, negative_under_weight, text_ignored
from pyterrier_alg.engines.warnings.masks import cut_before_mask, empty_mask
from pyterrier_alg.engines.warnings.reading import Reading
from pyterrier_alg.engines.warnings.sums import inert_coefficient, scale_mismatch

_RULES: Sequence[Callable[[Reading], Iterator[ProgramWarning]]] = (
    constant_input,
    cut_before_mask,
    empty_mask,
    inert_coefficient,
    negative_under_weight,
    one_sided_records,
    scale_mismatch,
    text_ignored,
)


def find_warnings(formula: Formula, scope: Scope) -> tuple[ProgramWarning, ...]:
    """Look for everything that a program does and that may not be meant.

    Every relation and mask of the program is computed for it, exactly and for all records, so this costs more than
    running the program; a result asks for it when its `warnings` are first looked at.

    Args:
        formula: sound over this scope.
        scope: the operands.

    Returns:
        The warnings in the order of the text, one for each distinct expression; steps that the result does not use
        have none, and neither has a program that fails while running.

    Raises:
        ProgramError: where the formula is not sound.

    Example:
        >>> import numpy as np
        >>> from pyterrier_alg.algebra import parse
        >>> from pyterrier_alg.collection.operands import RelationOperand
        >>> S = RelationOperand(np.array([0, 1]), np.array([2.0, 2.0]))
        >>> scope = Scope(np.array(["d1", "d2"], dtype=object), {"S": S})
        >>> [warning.message for warning in find_warnings(parse("minmax(S)"), scope)]
        ['all 2 records of S have the score 2: minmax makes each 1']
    """
    try:
        reading = Reading(formula, scope)
    except EvaluationError:
        return ()
    # Widths of scores near the ends of float64 overflow; a comparison with infinity is then the right one.
    with np.errstate(all="ignore"):
        found = [warning for rule in _RULES for warning in rule(reading)]
    return tuple(sorted(found, key=lambda w: (w.span.start, w.span.stop) if w.span else (-1, -1)))
