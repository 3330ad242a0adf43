"""Every engine against the definition, on generated programs over hostile collections."""

import pytest
from every_engine import ENGINES
from holding import FEW, MANY, hold
from hypothesis import given
from programs import programs

OTHERS = [name for name in ENGINES if name != "definition"]


@pytest.mark.parametrize("name", OTHERS)
@FEW
@given(case=programs())
def test_the_engine_agrees_with_the_definition(name, case):
    hold(name, *case)


@pytest.mark.deep
@pytest.mark.parametrize("name", OTHERS)
@MANY
@given(case=programs())
def test_the_engine_agrees_with_the_definition_on_thousands_of_programs(name, case):
    hold(name, *case)


@pytest.mark.deep
@pytest.mark.parametrize("name", OTHERS)
@MANY
@given(case=programs(excluded=("huge", "curved", "decay", "mmr"), depth=6))
def test_the_engine_agrees_with_the_definition_on_deeper_programs(name, case):
    hold(name, *case)
