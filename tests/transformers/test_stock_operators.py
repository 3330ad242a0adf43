"""PyTerrier's own operators over our stages, and between ours and others."""

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from stages import RESULTS, SMALL, TOPICS, given

from pyterrier_alg import Program, vaswani
from pyterrier_alg.collection import QueryVectors
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.transformers import Bound, BoundMask, Keep, Minus, Plus, Scan, Support, Top

W, E = Program("w", SMALL), Scan(SMALL, "E")
STOCK = given({"d10": 5.0, "d2": 1.0}, query=["wave guide"] * 2)
ONE = TOPICS[TOPICS["qid"] == "1"]


def rows(frame):
    columns = [name for name in ("docno", "score") if name in frame.columns]
    return list(frame[columns].itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        (W + E, [("d1", 1.5), ("d10", 0.5), ("d2", 1.0), ("é", 1.0)]),
        (W + STOCK, [("d1", 0.5), ("d10", 5.0), ("d2", 2.0), ("é", 1.0)]),
        (2 * W % 2, [("d2", 2.0), ("é", 2.0)]),
        (W * np.float64(-1), [("d2", -1.0), ("é", -1.0), ("d1", -0.5)]),
        (W | STOCK, [("d1",), ("d10",), ("d2",), ("é",)]),
        (W & STOCK, [("d2",)]),
        ((W % 1) ^ STOCK, [("d2", 1.0), ("d10", 0.9999)]),
        (STOCK >> W, [("d2", 1.0)]),
        (STOCK >> E % 5, [("d10", 0.5)]),
        (STOCK >> Program("input - w", SMALL), [("d2", 0.0)]),
        (W >> pt.apply.doc_score(lambda row: row["score"] + 1) >> Top(1), [("d2", 2.0)]),
        (Plus(STOCK, W) >> Keep(BoundMask(SMALL, "m")), [("d2", 2.0)]),
        (Minus(W, STOCK), [("d2", 0.0)]),
    ],
    ids=range(13),
)
def test_operators(pipeline, expected):
    assert rows(pipeline(ONE)) == expected
    assert rows(pipeline.compile()(ONE)) == expected


def test_feature_union_re_ranks():
    found = (W >> (E ** Bound(SMALL, "run")))(ONE)
    features = dict(zip(found["docno"], (list(f) for f in found["features"]), strict=True))
    assert features == {"d2": [0.0, 2.0], "é": [0.0, 0.0], "d1": [1.0, 1.0]}


def test_a_union_has_no_scores_and_is_a_pool():
    pool = W | STOCK
    found = (pool >> Program("fill(0, run) + 1", SMALL))(ONE)
    assert rows(found) == [("d2", 3.0), ("d1", 2.0), ("d10", 1.0), ("é", 1.0)]
    assert rows((pool >> Support())(ONE)) == [("d1",), ("d10",), ("d2",), ("é",)]


def test_rows_that_lost_their_query_columns_find_them_again():
    # In a stock sum the query is missing where only the right side has the record.
    summed = (STOCK + W)(ONE)
    assert summed["query"].isna().any()
    found = (STOCK + W >> Program("top(9, fill(0, E @ query))", SMALL))(ONE)
    assert found["query"].tolist() == ["wave guide"] * 4 and found["docno"].tolist() == ["d1", "d10", "d2", "é"]


def test_stale_ranks_do_not_matter_to_ours():
    # A filter leaves ranks 1, 2: PyTerrier's cut then keeps one record, ours two.
    filtered = W >> pt.apply.generic(lambda frame: frame[frame["docno"] != "d2"])
    assert len((filtered % 2)(ONE)) == 1
    assert (
        rows((filtered >> Top(2))(ONE))
        == rows((filtered >> Program("top(2, input)", SMALL))(ONE))
        == [
            ("é", 1.0),
            ("d1", 0.5),
        ]
    )


def test_the_sum_of_truncated_lists_is_not_the_sum_of_the_scores():
    """Suppressing the next topic's direction: PyTerrier's sum rewards what the negative list lacks, for all topics."""
    topics = load_vaswani().topics()
    encode = vaswani().operands["E"].encoder.encode
    others = {qid: encode(text) for qid, text in zip(topics["qid"], np.roll(topics["query"], -1), strict=True)}
    c = vaswani().bind(other=QueryVectors(others, vaswani().operands["E"].space))
    exact = Program("top(10, E @ query - 0.5 (E @ other))", c)(topics)
    lists = Program("top(1000, E @ query)", c) + Program("top(1000, E @ other)", c) * -0.5
    stock = (lists >> Top(10))(topics)
    same = [set(e["docno"]) == set(stock.loc[stock["qid"] == qid, "docno"]) for qid, e in exact.groupby("qid")]
    assert (sum(same), len(same)) == (0, 93)
    ours = Minus(Scan(c, "E", "query"), Scan(c, "E", "other") * 0.5) % 10
    pd.testing.assert_frame_equal(
        ours(topics.head(3)), exact[exact["qid"].isin(topics["qid"].head(3))], check_exact=True
    )


def test_extra_columns_come_along():
    found = (Program("w", SMALL) >> Program("top(2, input + w)", SMALL))(RESULTS.assign(query_0="before"))
    assert found["title"].tolist() == ["two", "one", "e"] and set(found["query_0"]) == {"before"}
