"""A small collection, a frame and one of each public transformer, for every test of transformers."""

import pandas as pd
import pyterrier as pt

from pyterrier_alg.collection import Collection, Column, Distance, Matrix, Run, Space, Vector
from pyterrier_alg.transformers import (
    Abs,
    And,
    Bound,
    BoundMask,
    Clip,
    Closeness,
    Compare,
    DaysSince,
    Decay,
    Divide,
    Exp,
    Field,
    Fill,
    Forget,
    Ids,
    IsIn,
    Keep,
    Log1p,
    MaxNorm,
    MinMax,
    Minus,
    Mmr,
    Negate,
    Not,
    Or,
    Per,
    Plus,
    Program,
    Ranks,
    Recall,
    RecipDecay,
    Remember,
    Restrict,
    Retrieve,
    Rrf,
    Scale,
    Scan,
    Shift,
    Sigmoid,
    Softmax,
    SubtractFrom,
    Support,
    Times,
    Top,
    Where,
    ZScore,
)  # fmt: skip


class Table:
    """Texts to vectors, or to rankings."""

    identity = "table"
    default_depth = 2

    def encode(self, text):
        return {"wave guide": [1.0, 0.0], "valve": [0.0, 1.0]}[text]

    def search(self, text, depth):
        scores = {"wave guide": {"d2": 3.0, "d10": 2.0, "d1": 1.0}, "valve": {}}[text]
        return dict(list(scores.items())[:depth])

    def __eq__(self, other):
        return isinstance(other, Table)

    def __hash__(self):
        return 1


def collection():
    """Four records whose code-point order is d1, d10, d2, é; d2 has no row."""
    space, flat = Space("words", 2, Distance.INNER_PRODUCT), Space("flat", 2, Distance.L2)
    rows = {"d1": [1.0, 0.0], "d10": [0.5, 0.5], "é": [0.0, 2.0]}
    run = pd.DataFrame({"qid": ["1", "1"], "docno": ["d2", "d1"], "score": [2.0, 1.0]})
    return Collection(["d1", "d2", "d10", "é"], name="small", query_space=space).bind(
        E=Matrix(rows, space=space, encoder=Table()),
        F=Matrix(rows, space=flat),
        q1=Vector([1.0, 2.0], space=space),
        f1=Vector([1.0, 0.0], space=flat),
        w={"d1": 0.5, "d2": 1.0, "é": 1.0},
        m={"d2", "é"},
        lang=Column({"d1": "en", "d2": "en", "é": "de"}),
        published=Column({"d1": pd.Timestamp("2024-01-01"), "é": pd.Timestamp("2023-12-31")}),
        bm25=_retriever(),
        run=Run(run),
    )


def _retriever():
    from pyterrier_alg.collection import Retriever

    return Retriever(Table())


SMALL = collection()

TOPICS = pd.DataFrame({"qid": ["2", "1"], "query": ["valve", "wave guide"]})

RESULTS = pd.DataFrame(
    {
        "qid": ["1", "1", "2", "1"],
        "query": ["wave guide", "wave guide", "valve", "wave guide"],
        "docno": ["d2", "d1", "é", "d10"],
        "title": ["two", "one", "e", "ten"],
        "score": [1.0, 3.0, -2.0, 1.0],
        "rank": [7, 7, 7, 7],
    }
)


class Given(pt.Transformer):
    """Gives the rows of a table, for the queries that come in."""

    def __init__(self, rows):
        self.rows = rows

    def transform(self, inp):
        pt.validate.columns(inp, includes=["qid"], context=self)
        return self.rows[self.rows["qid"].isin(inp["qid"])].reset_index(drop=True)

    def __eq__(self, other):
        return isinstance(other, Given) and self.rows.equals(other.rows)

    def __hash__(self):
        return 1

    def __repr__(self):
        # Not the address: the names of tests come from it, and must be the same in every process.
        return f"Given({dict(zip(self.rows.get('docno', []), self.rows.get('score', []), strict=False))})"


def given(scores, qid="1", **more):
    """A transformer that gives these records."""
    columns = {"qid": [qid] * len(scores), "docno": list(scores), "score": list(map(float, scores.values())), **more}
    return Given(pd.DataFrame(columns).astype({"qid": "str", "docno": "str", "score": "float64"}))


def dates(column="value"):
    return DaysSince("2024-03-01", column=column)


#: One of each, and what it takes: topics, results, or results with the document column `value`.
EXAMPLES = {
    "Scan": (lambda: Scan(SMALL, "E", "query"), "topics"),
    "Closeness": (lambda: Closeness(SMALL, "F", "f1"), "topics"),
    "Bound": (lambda: Bound(SMALL, "w"), "topics"),
    "BoundMask": (lambda: BoundMask(SMALL, "m"), "topics"),
    "Ids": (lambda: Ids(SMALL, "d1", "é"), "topics"),
    "Field": (lambda: Field(SMALL, "lang"), "topics"),
    "Retrieve": (lambda: Retrieve(SMALL, "bm25", "query", depth=2), "topics"),
    "Where": (lambda: Where(SMALL, "(w < 1) & ~m"), "topics"),
    "Plus": (lambda: Plus(Bound(SMALL, "w"), Scan(SMALL, "E")), "topics"),
    "Minus": (lambda: Minus(Bound(SMALL, "w"), Scan(SMALL, "E")), "topics"),
    "Times": (lambda: Times(Bound(SMALL, "w"), Scan(SMALL, "E")), "topics"),
    "Restrict": (lambda: Restrict(BoundMask(SMALL, "m"), Bound(SMALL, "w")), "topics"),
    "Per": (lambda: Per(1, Field(SMALL, "lang"), Bound(SMALL, "w"), column="value"), "topics"),
    "Fill": (lambda: Fill(SMALL, 0.5, Bound(SMALL, "run")), "topics"),
    "Not": (lambda: Not(SMALL, BoundMask(SMALL, "m")), "topics"),
    "And": (lambda: And(BoundMask(SMALL, "m"), Bound(SMALL, "w")), "topics"),
    "Or": (lambda: Or(BoundMask(SMALL, "m"), Bound(SMALL, "run")), "topics"),
    "Rrf": (lambda: Rrf(Bound(SMALL, "w"), Bound(SMALL, "run"), k=1, depth=2), "topics"),
    "Remember": (lambda: Remember("s", Bound(SMALL, "w")), "topics"),
    "Recall": (lambda: Remember("s", Bound(SMALL, "w")) >> Recall("s"), "topics"),
    "Forget": (lambda: Remember("s", Bound(SMALL, "w")) >> Forget(), "topics"),
    "Program": (lambda: Program("top(2, E @ query)", SMALL), "topics"),
    "Scale": (lambda: Scale(-2.0), "results"),
    "Divide": (lambda: Divide(4), "results"),
    "Shift": (lambda: Shift(0.5), "results"),
    "SubtractFrom": (lambda: SubtractFrom(1), "results"),
    "Negate": (Negate, "results"),
    "Abs": (Abs, "results"),
    "Clip": (lambda: Clip(0, 2), "results"),
    "Exp": (Exp, "results"),
    "Log1p": (lambda: Abs() >> Log1p(), "results"),
    "Sigmoid": (Sigmoid, "results"),
    "Decay": (lambda: Decay(2), "results"),
    "RecipDecay": (lambda: RecipDecay(2), "results"),
    "MinMax": (MinMax, "results"),
    "MaxNorm": (lambda: Abs() >> MaxNorm(), "results"),
    "ZScore": (ZScore, "results"),
    "Softmax": (Softmax, "results"),
    "Ranks": (Ranks, "results"),
    "Top": (lambda: Top(1), "results"),
    "Mmr": (lambda: Mmr(SMALL, "E", 2, relevance=0.5), "results"),
    "Keep": (lambda: Keep(Where(SMALL, "w < 1 | m")), "results"),
    "Support": (Support, "results"),
    "Compare": (lambda: Compare(">=", 1), "results"),
    "IsIn": (lambda: IsIn(1, 3.0), "results"),
    "DaysSince": (dates, "values"),
}

INPUTS = {
    "topics": TOPICS,
    "results": RESULTS,
    "values": RESULTS.assign(value=["2024-02-29", "2024-03-01", "2024-03-31", None]),
}
