"""What an engine lacks is said before anything runs, with the engines that can."""

import numpy as np
import pytest

from pyterrier_alg.algebra import UnsupportedError, parse
from pyterrier_alg.collection.operands import RelationOperand, Scope
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.engine import EVERYTHING
from pyterrier_alg.engines.registry import able, engine, engines

SCOPE = Scope(np.array(["a", "b"], dtype=object), {"S": RelationOperand(np.array([0, 1]), np.array([1.0, 2.0]))})


class Narrow(DefinitionEngine):
    name = "narrow"
    capabilities = frozenset({"top", "+"})


def test_what_is_lacking_is_named_with_its_places_and_who_can():
    with pytest.raises(UnsupportedError) as caught:
        Narrow().run(parse("top(1, minmax(S) + exp(S))"), SCOPE)
    faults = caught.value.diagnostics
    assert [(d.code, d.message) for d in faults] == [
        ("unsupported", "the narrow engine cannot do minmax yet"),
        ("unsupported", "the narrow engine cannot do exp yet"),
    ]
    assert [caught.value.source[d.span.start : d.span.stop] for d in faults] == ["minmax(S)", "exp(S)"]
    others = ", ".join(able(["top", "+", "minmax", "exp"]))
    assert {d.hint for d in faults} == {f"engines that can run this program: {others}"}
    assert Narrow().run(parse("top(1, S + S)"), SCOPE).to_dict() == {"b": 4.0}


@pytest.mark.parametrize("key", sorted(EVERYTHING))
def test_the_engines_that_can_are_those_that_say_so(key):
    assert able([key]) == [name for name in engines() if key in engine(name).capabilities]
    assert {"vectorised", "pipeline", "definition"} <= set(able([key]))


def test_a_whole_program_is_for_those_who_can_do_all_of_it():
    assert able([]) == engines()
    assert able(EVERYTHING) == [name for name in engines() if engine(name).capabilities == EVERYTHING]
    assert able(["no such operator"]) == []
