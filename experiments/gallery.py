"""One example of every error, over one small collection: what the page of errors shows, and what the tests run.

A program's entry is a code, a program, and where the code alone does not say enough, what is to be known about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from pyterrier_alg.algebra import AlgebraError, Formula, Limits, check, parse
from pyterrier_alg.collection import Collection, Column, Distance, Matrix, QueryVectors, Run, Space, Topic, Vector
from pyterrier_alg.collection.lexical import RecordedRetriever
from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.engines.registry import engine

TEXTS = {
    "d1": "wave guide design",
    "d2": "wave guide theory",
    "d3": "valve amplifier",
    "d4": "amplifier noise",
    "d5": "noise theory",
}


@dataclass(frozen=True)
class Example:
    """A faulty program.

    Attributes:
        code: of its first fault.
        program: its text.
        note: what is to be known about it.
        engine: that is asked to run it, where reading and checking find nothing.
        limits: that it is read under.
    """

    code: str
    program: str
    note: str = ""
    engine: str = "vectorised"
    limits: Limits = Limits()

    def error(self) -> AlgebraError:
        """What happens: reading, checking, running for the query `wave guide`, whichever stops first."""
        try:
            formula = parse(self.program, self.limits)
            self._run(formula)
        except AlgebraError as error:
            return error
        raise AssertionError(f"nothing is wrong with {self.program!r}")

    def _run(self, formula: Formula) -> None:
        scope = collection().at(Topic("1", "wave guide"))
        check(formula, scope.bindings)
        engine(self.engine).run(formula, scope)


#: What each code of a program means.
MEANINGS: Mapping[str, str] = {
    "syntax": "The text cannot be read.",
    "bad_number": "A number that the notation does not have, or that float64 cannot hold.",
    "bad_text": "A text literal that does not end, or an escape that there is not.",
    "lookalike": "A character that looks like one of the notation's and is another.",
    "chained_comparison": "Comparisons do not chain: `a <= x <= b` would be a comparison of a mask.",
    "unknown_name": "A name that nothing bound and no step has. Suggested are names whose kind and space fit there.",
    "reserved_name": "A step or an operand with a word of the language as its name.",
    "duplicate_name": "A step with the name of an operand or of another step: nothing is shadowed.",
    "kind": "Something of another kind than its place wants.",
    "space": "Vectors of two spaces, or an inner product in a space whose distance is l2.",
    "bad_argument": "Too many arguments, too few, or one by a name that there is not.",
    "bad_parameter": "A value that its place does not allow.",
    "division_by_zero": "A number that is known to be 0 as a divisor.",
    "limit": "A program larger than the limits (`Limits`), or one that takes longer.",
    "non_finite": "A step gives infinity or no number; the message names the step and the record.",
    "unknown_record": "`ids` or `row` with a docno that the collection, or the matrix, does not have.",
    "empty_centroid": "The centroid of no record: an empty mask, or one whose records the matrix does not cover.",
    "zero_vector": "`unit` of a vector without a direction, or a text that encodes to one.",
    "nonpositive_maximum": "`maxnorm` divides by the largest score, which must be positive.",
    "unsupported": "A sound program with an operator that the chosen engine lacks; found before anything runs.",
}

PROGRAMS = (
    Example("syntax", "top(10, alpha S)", "Only a number literal stands directly before a factor."),
    Example("syntax", "top(3, m >> (S + T"),
    Example("syntax", "m && n >> S"),
    Example("syntax", "not m >> S"),
    Example("syntax", "S +\nT", "A line break ends a step, except inside parentheses."),
    Example("syntax", "1 / 2 S", "Two readings, so no fix: `1 / 2 * S` and `1 / (2 * S)`."),
    Example("bad_number", "0.5S"),
    Example("bad_text", 'E @ "wave guide'),
    Example("lookalike", "S – 0.5 T"),
    Example("lookalike", "E @ “wave guide”"),
    Example("chained_comparison", "1960 <= year <= 1970 >> S"),
    Example("unknown_name", "mm >> S", "The place wants a mask, so masks are suggested."),
    Example("unknown_name", "E @ q3", "Two vectors are as likely, so there is no fix."),
    Example("unknown_name", "bm52(query)"),
    Example("unknown_name", "nosuch / 0 + top(2.5, S)", "All faults of a program are reported at once."),
    Example("reserved_name", "top = m\ntop >> S"),
    Example("duplicate_name", "pool = m\npool = n\npool >> S"),
    Example("kind", "S >> T"),
    Example("kind", "top(10, E)"),
    Example("kind", "E @ q1 - 0.5 q2"),
    Example("kind", "alpha <= S >> T"),
    Example("kind", 'lang >= "en" >> S', "Texts have no order."),
    Example("kind", "w ⊙ m ▷ S"),
    Example("space", "E @ p"),
    Example("space", "F @ f"),
    Example("bad_argument", "rrf(S, T, dept=50)"),
    Example("bad_argument", "mmr(10, S, E, 0.7)"),
    Example("bad_parameter", "top(10.0, S)"),
    Example("bad_parameter", 'published > "2024" >> S'),
    Example("bad_parameter", "lang == en >> S"),
    Example("bad_parameter", "mmr(10, S, E, relevance=2)"),
    Example("division_by_zero", "S / (alpha - 0.5)"),
    Example("limit", "((S + T))", "Read under `Limits(nesting=1)`.", limits=Limits(nesting=1)),
    Example("non_finite", "exp(1000 * S)"),
    Example("unknown_record", 'ids("d1", "d99") >> S'),
    Example("unknown_record", 'E @ row(E, "d5")'),
    Example("empty_centroid", "E @ centroid(E, m & ~m)"),
    Example("zero_vector", "E @ unit(q1 - q1)"),
    Example("zero_vector", 'E @ "…"'),
    Example("nonpositive_maximum", "maxnorm(-S)"),
)

#: Python that a collection refuses, by code; `c` is the collection of the programs above.
BINDINGS = (
    ("bad_docno", "Collection([1, 2])"),
    ("duplicate_docno", 'Collection(["a", "a", "b"])'),
    ("bad_name", "c.bind(**{'a`b': 1.0})"),
    ("reserved_name", "c.bind(query=0.5)"),
    ("duplicate_name", 'c.bind(S={"d1": 1.0})'),
    ("bad_operand", "c.bind(x=object())"),
    ("unknown_docno", 'c.bind(x={"d99": 1.0})'),
    ("non_finite", 'c.bind(x={"d1": float("nan")})'),
    ("bad_date", 'c.bind(x=Column({"d1": "2024"}, dates=True))'),
    ("dimensions", "c.bind(x=Vector([1.0, 2.0], space=E))"),
    ("ragged_rows", 'c.bind(x=Matrix({"d1": [1.0], "d2": [1.0, 2.0]}, space=Space("own", 2)))'),
    ("zero_row", 'c.bind(x=Matrix({"d1": [0.0, 0.0]}, space=Space("own", 2)))'),
    ("not_unit", 'c.bind(x=Matrix({"d1": [3.0, 4.0]}, space=Space("own", 2)))'),
    ("space", 'c.bind(x=Vector([1.0, 2.0], space=Space("words", 2)))'),
    ("bad_qid", 'c.bind(x=Run(pd.DataFrame({"qid": [1], "docno": ["d1"], "score": [1.0]})))'),
    ("duplicate_docno", 'c.bind(x=pd.DataFrame({"docno": ["d1", "d1"], "score": [1.0, 2.0]}))'),
    ("duplicate_qid", 'c.topics(pd.DataFrame({"qid": ["1", "1"], "query": ["a", "b"]}))'),
    ("no_query_vector", 'Program("E @ qv", c.bind(qv=QueryVectors({"2": np.eye(8)[0]}, space=E))).run(Topic("1"))'),
    ("query_space", 'Program("E @ query_vec", c)'),
    ("missing_encoder", 'Program("G @ query", c.bind(G=Matrix({"d1": [1.0]}, space=Space("own", 1)))).run("a")'),
    ("unrecorded_query", 'Program("bm25(query)", c).run("microphone")'),
    ("unknown_engine", 'Program("S", c, engine="sqlight")'),
)  # fmt: skip


def collection() -> Collection:
    """The operands of the language's own examples, over five records."""
    encoder = SignedHashEncoder(8)
    space = Space("words", 8, query_encoder=encoder.identity)
    flat = Space("flat", 2, Distance.L2)
    topics = pd.DataFrame({"qid": ["1"], "query": ["wave guide"]})
    found = pd.DataFrame({"qid": ["1"] * 3, "docno": ["d1", "d2", "d5"], "score": [3.0, 2.0, 0.5]})
    return Collection(list(TEXTS), name="example").bind(
        S={"d1": 2.0, "d2": 1.0, "d3": 0.5, "d4": 0.25},
        T={"d2": 1.0, "d3": 3.0, "d5": 2.0},
        A={"d1": 1.0, "d4": -1.0},
        w={"d1": 0.5, "d2": 1.0, "d3": 0.75},
        year={"d1": 1958.0, "d2": 1965.0, "d3": 1968.0, "d4": 1971.0},
        E=Matrix({docno: encoder.encode(TEXTS[docno]) for docno in ("d1", "d2", "d3", "d4")}, space, encoder),
        F=Matrix({"d1": [0.0, 1.0], "d2": [2.0, 0.0], "d3": [1.0, 1.0]}, flat),
        q1=Vector(encoder.encode("wave guide"), space),
        q2=Vector(encoder.encode("amplifier"), space),
        p=Vector([1.0, 0.0], Space("pictures", 2)),
        f=Vector([1.0, 0.5], flat),
        m={"d1", "d2", "d4"},
        n={"d2", "d3"},
        alpha=0.5,
        lang={"d1": "en", "d2": "de", "d3": "en"},
        published={"d1": date(2024, 1, 1), "d2": date(2024, 6, 30), "d3": date(2023, 12, 31)},
        bm25=RecordedRetriever.of(topics, found, identity="recorded example"),
        now="2026-12-01",
        **{"group by": {"d1": 1.0, "d2": 1.0, "d3": 2.0}},
    )


def refused(snippet: str) -> AlgebraError:
    """What a line of `BINDINGS` raises."""
    from pyterrier_alg import Program

    names: dict[str, Any] = {
        "Collection": Collection, "Column": Column, "Matrix": Matrix, "Program": Program, "QueryVectors": QueryVectors,
        "Run": Run, "SignedHashEncoder": SignedHashEncoder, "Space": Space, "Topic": Topic, "Vector": Vector,
        "c": collection(), "E": collection().operands["E"].binding.type.space, "np": np, "pd": pd,
    }  # fmt: skip
    try:
        # A constant of this module, never a text from elsewhere.
        eval(snippet, names)
    except AlgebraError as error:
        return error
    raise AssertionError(f"nothing is wrong with {snippet}")
