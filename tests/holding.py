"""Holding an engine to the definition, on one program."""

import math
import warnings

from every_engine import ENGINES
from hypothesis import HealthCheck, assume, note, settings
from programs import described

from pyterrier_alg.algebra import Apply, EvaluationError, ProgramError, UnsupportedError, check
from pyterrier_alg.algebra.expressions import walk

#: What may differ between engines, by a few units in the last place.
CURVED = {"exp", "log1p", "sigmoid", "softmax", "decay"}

#: How many programs each engine runs in the ordinary tests, and in the deep ones.
FEW, MANY = (
    settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    for examples in (50, 3000)
)


def outcome(engine, formula, scope):
    """What an engine gives, or the fault that it finds while running."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return engine.run(formula, scope)
    except UnsupportedError:
        assume(False)
    except EvaluationError as fault:
        return fault


def agree(defined, found, curved: bool) -> None:
    """Hold what an engine found to what the definition gives, as closely as the engine says that it can be held."""
    if isinstance(defined, EvaluationError) or isinstance(found, EvaluationError):
        assert isinstance(defined, EvaluationError) and isinstance(found, EvaluationError)
        assert found.code == defined.code
        assert found.diagnostics[0].span is not None
        return
    wanted, got = defined.to_dict(), found.to_dict()
    assert list(got.items()) == sorted(got.items(), key=lambda item: (-item[1], item[0]))
    if found.certified and not curved:
        assert list(got.items()) == list(wanted.items())
        assert found.error_bound == 0
        assert (found.gap_check is None) == (defined.gap_check is None)
        if found.gap_check is not None:
            assert found.gap_check.gap_at_cut == defined.gap_check.gap_at_cut
            assert found.gap_check.closest == defined.gap_check.closest
    elif found.certified:
        assert got.keys() == wanted.keys()
        assert all(math.isclose(got[d], wanted[d], rel_tol=1e-12, abs_tol=1e-300) for d in wanted)
    else:
        # Which records there are may hang on scores that are not the defined ones; the scores' bound never does.
        assert all(abs(got[d] - wanted[d]) <= found.error_bound for d in wanted.keys() & got.keys())


def is_curved(formula) -> bool:
    return any(isinstance(node, Apply) and node.operator in CURVED for node in walk(*formula.expressions))


def hold(name, formula, scope) -> None:
    """Hold an engine to the definition on one program."""
    try:
        check(formula, scope.bindings)
    except ProgramError as error:
        # A number that the program computes may turn out to be a divisor or a length.
        assert error.code in ("division_by_zero", "bad_parameter", "non_finite")
        return
    note(described(formula, scope))
    found = outcome(ENGINES[name], formula, scope)
    agree(outcome(ENGINES["definition"], formula, scope), found, is_curved(formula))
