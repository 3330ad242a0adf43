"""Programs of any size, on every engine: what the definition gives, or a typed error; no engine recurses or hangs."""

import sys
from functools import cache

import pytest
from every_engine import ENGINES
from vectorised_tables import Tables, vector

from pyterrier_alg.algebra import AlgebraError, parse

TABLES = Tables(["a", "b", "c", "d"])
E = TABLES.matrix({"a": [1, 0.1], "b": [0.3, 1], "c": [-1, 0.7]})
SCOPE = TABLES.scope(
    S=TABLES.relation({"a": 0.1, "b": 0.2, "d": -0.3}), T=TABLES.relation({"a": 1 / 3, "b": -0.7, "c": 2}),
    m=TABLES.mask(["a", "b"]), n=TABLES.mask(["b", "c", "d"]), E=E, q=vector([0.3, 0.7], E),
)  # fmt: skip


def doubling(step, count):
    """Steps, each of which uses the one before twice."""
    return "\n".join(["s0 = S", *(f"s{i} = {step.format(f's{i - 1}')}" for i in range(1, count)), f"s{count - 1}"])


SIZES = {
    "3,000-term sum": " + ".join(["S"] * 3000),
    "3,000-term sum of three": " + ".join(["S", "T", "0.1 S"] * 1000),
    "3,000 terms, plus and minus": "S" + " - T + S" * 1500,
    "1,000 scans": " + ".join(["E @ q"] * 1000),
    "3,000 factors": " * ".join(["0.999 S"] + ["1.001"] * 3000),
    "3,000 minuses": "-" * 3000 + "S",
    "3,001 minuses": "-" * 3001 + "S",
    "3,000 complements": "~" * 3000 + "m >> S",
    "3,000 masks met": " & ".join(["m"] * 3000) + " >> S",
    "3,000 masks joined": " | ".join(["m", "n", "m"] * 1000) + " >> S",
    "500 steps used twice, halved": doubling("0.5 {0} + 0.5 {0}", 500),
    "500 steps used twice, taken away": doubling("{0} - 0.5 {0}", 500),
    "500 steps used twice, rescaled": doubling("minmax({0}) - 0.25 * {0}", 500),
    "500 masks used twice": "m0 = m\n" + "".join(f"m{i} = m{i - 1} & m{i - 1}\n" for i in range(1, 500)) + "m499 >> S",
    "10,000 parentheses": "(" * 10_000 + "S" + ")" * 10_000,
    "100 masks inside each other": "m >> (" * 100 + "S" + ")" * 100,
    "300 sums to the right": "S + (" * 300 + "S" + ")" * 300,
    "300 functions inside each other": "abs(" * 300 + "S" + ")" * 300,
    "fusion of 300": f"rrf({', '.join(['S', 'T', 'E @ q'] * 100)})",
    "3,000 ids": "ids(" + "'a', 'b', 'd', " * 1000 + "'b') >> S",
    "3,000 values": f"isin(S, {', '.join(['0.1', '0.2'] * 1500)}) >> S",
    "1,000 steps that nothing uses": "".join(f"s{i} = S + {i}\n" for i in range(1000)) + "S",
}

#: Beyond the language's limits.
BEYOND = {
    "10,001 parentheses": "(" * 10_001 + "S" + ")" * 10_001,
    "a sum of 60,000": " + ".join(["S"] * 60_000),
    "five million characters": "S" + " " * 5_000_000,
    "10,001 steps": "".join(f"s{i} = S\n" for i in range(10_001)) + "S",
}


#: Those that the ordinary tests run.
CORE = ("3,000-term sum", "3,000 minuses", "500 steps used twice, taken away", "10,000 parentheses")
ALL = [pytest.param(size, marks=() if size in CORE else pytest.mark.deep) for size in SIZES]


@cache
def defined(size):
    return ENGINES["definition"].run(parse(SIZES[size]), SCOPE)


@pytest.mark.parametrize("size", ALL)
@pytest.mark.parametrize("name", ENGINES)
def test_large_programs_mean_what_small_ones_do(name, size):
    limit = sys.getrecursionlimit()
    found = ENGINES[name].run(parse(SIZES[size]), SCOPE)
    assert sys.getrecursionlimit() == limit
    wanted = defined(size)
    if found.certified:
        assert found == wanted
    else:
        assert found.to_dict().keys() == wanted.to_dict().keys()
        assert all(abs(found[docno] - score) <= found.error_bound for docno, score in wanted)


@pytest.mark.parametrize("size", BEYOND)
def test_what_is_larger_than_that_is_a_typed_error(size):
    with pytest.raises(AlgebraError) as caught:
        parse(BEYOND[size])
    assert caught.value.code == "limit"
