"""Inspection: counts, quantiles, histograms, ties, head and tail, against plain Python."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError, ProgramError
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session import Eligible, Session, inspect
from pyterrier_alg.session.inspecting import QUANTILES, Bin, histogram

HUGE = 1.7976931348623157e308
scores = st.one_of(
    st.sampled_from([0.0, 1.0, 1.0, 2.0, -1.0, 5e-324, HUGE, -HUGE, 0.1, 0.1 + 0.2, 0.3]),
    st.floats(allow_nan=False, allow_infinity=False),
)
relations = st.lists(scores, max_size=40).map(
    lambda found: ScoredRelation.of({f"d{i}": s for i, s in enumerate(found)})
)


@given(relations, st.integers(1, 12), st.integers(0, 6))
def test_an_inspection_counts_what_is_there(relation, bins, rows):
    found = inspect(relation, 100, bins=bins, rows=rows)
    values = sorted(relation.to_dict().values())
    assert (found.count, found.coverage) == (len(values), len(values) / 100)
    # Quantiles: the smallest score that at least this share of them does not exceed.
    wanted = [(q, values[max(0, math.ceil(round(q * len(values), 9)) - 1)]) for q in QUANTILES] if values else []
    assert list(found.quantiles) == wanted
    shared = [n for n in Counter(values).values() if n > 1]
    assert (found.ties.groups, found.ties.records, found.ties.largest) == (
        len(shared),
        sum(shared),
        max(shared, default=0),
    )
    pairs = [(rank, docno, score) for rank, (docno, score) in enumerate(relation)]
    head, tail = [[(r.rank, r.docno, r.score) for r in part] for part in (found.head, found.tail)]
    assert head == pairs[:rows] and tail == (pairs[rows:][-rows:] if rows else [])
    json.dumps(found.to_dict(), allow_nan=False)
    assert repr(found) and found._repr_html_()


@given(relations, st.integers(1, 12))
def test_each_score_is_in_one_bin_of_the_histogram(relation, bins):
    found = histogram(relation.scores, bins)
    values = relation.scores.tolist()
    assert len(found) <= bins and sum(b.count for b in found) == len(values)
    for place, b in enumerate(found):
        last = place == len(found) - 1
        assert b.count == sum(b.low <= v < b.high or (last and v == b.high) for v in values)
        assert last or b.high == found[place + 1].low
    if values:
        assert (found[0].low, found[-1].high) == (min(values), max(values))


def test_bins_have_equal_width():
    found = histogram(np.array([0.0, 1.0, 2.0, 8.0]), 4)
    assert found == (Bin(0.0, 2.0, 2), Bin(2.0, 4.0, 1), Bin(4.0, 6.0, 0), Bin(6.0, 8.0, 1))
    assert histogram(np.array([3.0, 3.0]), 4) == (Bin(3.0, 3.0, 2),)
    assert [b.count for b in histogram(np.array([-HUGE, 0.0, HUGE]), 2)] == [1, 2]


def test_what_a_mask_is_shown_as():
    found = inspect(Eligible(tuple(f"d{i}" for i in range(9)), 10), rows=2, label="m")
    assert (found.kind, found.count, found.of, found.coverage) == ("mask", 9, 10, 0.9)
    assert found.head == ("d0", "d1") and found.tail == ("d7", "d8")
    assert found.quantiles == () and found.ties is None and found.to_dict()["quantiles"] is None
    assert inspect(Eligible(("d0",), 10), rows=0).head == inspect(Eligible(("d0",), 10), rows=0).tail == ()


def test_what_a_relation_is_shown_as():
    relation = ScoredRelation.of({f"d{i}": float(i) for i in range(9)})
    shown = repr(inspect(relation, 10, rows=2, bins=2, label="top(9, S)"))
    assert shown.startswith("top(9, S): relation, 9 of 10 records, 90 %\n")
    assert "ties" not in shown and "… 5 more" in shown and shown.endswith("8  d0     0.0")
    assert repr(inspect(ScoredRelation.of({}))) == "relation, 0 records"


def test_what_was_not_certified_says_so():
    relation = ScoredRelation.of({"a": 1.0}, certified=False, error_bound=math.inf)
    assert "not certified" in repr(inspect(relation)) and inspect(relation).to_dict()["error_bound"] is None


@pytest.mark.parametrize("options", [{"rows": -1}, {"rows": 1.5}, {"bins": 0}, {"bins": True}])
def test_impossible_sizes_are_refused(options):
    with pytest.raises(AlgebraError, match="bad_argument"):
        inspect(ScoredRelation.of({}), **options)
    with pytest.raises(AlgebraError, match="bad_argument"):
        inspect({"d1": 1.0})


SESSION = Session(Collection(["a", "b", "c"]).bind(S={"a": 1.0, "b": 2.0}, m={"a"}, lang={"a": "en"}, alpha=0.5))


@pytest.mark.parametrize(
    ("what", "kind", "count"),
    [
        ("S", "relation", 2),
        ("2 S", "relation", 2),
        ("top(1, S)", "relation", 1),
        ("m", "mask", 1),
        ("~m", "mask", 2),
        ("S >= 2 | m", "mask", 2),
        ("support(lang)", "mask", 1),
        ("p = ~m\np & all", "mask", 2),
        (SESSION.collection["S"] + 1, "relation", 2),
        (~SESSION.collection["m"], "mask", 2),
        (ScoredRelation.of({"a": 1.0}), "relation", 1),
        (Eligible(("a",), 3), "mask", 1),
    ],
    ids=repr,
)
def test_a_session_looks_at_whatever_a_program_may_write(what, kind, count):
    found = SESSION.inspect(what)
    assert (found.kind, found.count, found.of) == (kind, count, 3)
    assert len(SESSION) == 0 and len(SESSION.log) == 0


@pytest.mark.parametrize("what", ["alpha", "lang", "nothing", "S >", "'text'"])
def test_a_session_refuses_what_is_neither_a_relation_nor_a_mask(what):
    with pytest.raises(ProgramError):
        SESSION.inspect(what)


def test_a_mask_of_a_query():
    found = SESSION.inspect("support(input) & m", Topic("1", input={"a": 1.0, "b": 1.0}))
    assert (found.kind, found.head) == ("mask", ("a",))
