"""Programmatic Embedding Modulation: the page's own programs, against their formulas in NumPy and plain Python."""

import math
import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from pyterrier_alg.algebra import UnsupportedError, parse
from pyterrier_alg.collection import Collection, Matrix, Space, Topic, Vector
from pyterrier_alg.engines.registry import engine, engines

PAGE = (Path(__file__).parents[1] / "docs" / "modulation.md").read_text("utf-8")
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```text\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))

DOCNOS = [f"d{i}" for i in range(12)]
TEXTS = {"amplifier noise": 1, "valve design": 2, "wave guide": 3}
DIMENSIONS = 8
S, ALPHA = 0.5, 0.3
LEXICAL = {f"d{i}": 12.0 - i for i in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7)}
DAYS = {f"d{i}": date(2026, 12 - i, 1 + 2 * i) for i in range(10)} | {"d10": date(2027, 5, 1)}
NOW = date(2026, 12, 1)


def unit(vector):
    return np.asarray(vector, np.float64) / math.sqrt(float(np.sum(np.square(np.asarray(vector, np.float64)))))


def positive(seed, count=1):
    """Unit float32 vectors without a negative element: their likeness is never negative."""
    rows = np.random.default_rng(seed).uniform(0, 1, (count, DIMENSIONS)) ** 3
    return np.array([unit(row) for row in rows], np.float32)


class Encoder:
    identity = "three texts"

    def encode(self, text):
        return positive(100 + TEXTS[text])[0]


class Lexical:
    identity = "recorded"
    default_depth = 5

    def search(self, text, depth):
        return dict(sorted(LEXICAL.items(), key=lambda pair: -pair[1])[:depth])


ROWS = positive(7, len(DOCNOS))
SIGNED = np.array([unit(row) for row in np.random.default_rng(11).normal(size=ROWS.shape)], np.float32)
Q, X = positive(8)[0], positive(9)[0]
MASKED = ["d2", "d5", "d7"]


def collection(rows):
    space = Space("words", DIMENSIONS)
    return Collection(DOCNOS).bind(
        E=Matrix(rows, space, Encoder()), q=Vector(Q, space), x=Vector(X, space), m=set(MASKED), published=DAYS,
        now=NOW.isoformat(), bm25=Lexical(), s=S, alpha=ALPHA,
    )  # fmt: skip


class Formulas:
    """What the page says, over one matrix; in float64, from what is bound."""

    def __init__(self, rows):
        self.rows = {docno: row.astype(np.float64) for docno, row in zip(DOCNOS, rows, strict=True)}
        self.q, self.x = Q.astype(np.float64), X.astype(np.float64)
        self.centre = sum(self.rows[docno] for docno in MASKED) / len(MASKED)
        start, end = (Encoder().encode(text).astype(np.float64) for text in ("valve design", "amplifier noise"))
        self.way = unit(end - start)

    def along(self, vector):
        return {docno: float(row @ vector) for docno, row in self.rows.items()}

    def ages(self):
        return {docno: max(0, (NOW - day).days) for docno, day in DAYS.items()}

    def blend(self, target):
        return unit((1 - ALPHA) * self.q + ALPHA * target)

    def similarity(self):
        return self.along(self.q)

    def suppression(self):
        toward, away = self.along(self.q), self.along(self.x)
        return {docno: toward[docno] - S * away[docno] for docno in DOCNOS}

    def centroid(self):
        return self.along(unit(self.centre))

    def centroid_blend(self):
        return self.along(self.blend(self.centre))

    def trajectory(self):
        return self.along(self.way)

    def trajectory_blend(self):
        return self.along(self.blend(self.way))

    def hyperbolic_decay(self):
        similar = self.similarity()
        return {docno: similar[docno] / (1 + age / 30) for docno, age in self.ages().items()}

    def half_life_decay(self):
        similar = self.similarity()
        return {docno: similar[docno] * 0.5 ** (age / 30) for docno, age in self.ages().items()}

    def candidate_pool(self):
        similar = self.similarity()
        best = sorted(LEXICAL, key=lambda docno: -LEXICAL[docno])[:4]
        return {docno: similar[docno] for docno in best}

    def diversity(self):
        return self.marginal(5, self.similarity(), 0.7)

    def marginal(self, count, relevance, share, floor=None):
        """The runtime's choice; with a floor of 0 for the largest likeness, the algebra's."""
        chosen = {}
        while len(chosen) < count:
            values = {}
            for docno in relevance.keys() - chosen.keys():
                likeness = [float(self.rows[docno] @ self.rows[other]) for other in chosen]
                largest = max(likeness, default=0.0)
                values[docno] = share * relevance[docno] - (1 - share) * max(
                    largest, largest if floor is None else floor
                )
            best = min(values, key=lambda docno: (-values[docno], docno))
            chosen[best] = values[best]
        return chosen

    def composition(self, floor=None):
        pool = sorted(LEXICAL, key=lambda docno: -LEXICAL[docno])[:9]
        toward, away, ages = self.along(self.blend(self.centre)), self.along(self.x), self.ages()
        modulated = {d: 0.5 ** (ages[d] / 30) * (toward[d] - S * away[d]) for d in pool if d in ages}
        return self.marginal(4, modulated, 0.6, floor)


def run(name, program, rows):
    scope = collection(rows).at(Topic("1", "wave guide"))
    formula = parse(program)
    return engine(name).run(formula, scope)


def close(found, expected):
    return found.keys() == expected.keys() and all(abs(found[d] - expected[d]) < 1e-6 for d in expected)


def test_the_page_has_every_modulation():
    assert {name.lower().replace(" ", "_").replace("-", "_") for name in PROGRAMS} == {
        name for name in vars(Formulas) if name not in ("along", "ages", "blend", "marginal") and name[0] != "_"
    }
    assert all(len(parse(program).steps) == 0 for name, program in PROGRAMS.items() if name != "Composition")


@pytest.mark.parametrize("title", PROGRAMS)
@pytest.mark.parametrize("name", engines())
def test_the_program_is_its_formula(name, title):
    expected = getattr(Formulas(ROWS), title.lower().replace(" ", "_").replace("-", "_"))()
    try:
        found = run(name, PROGRAMS[title], ROWS)
    except UnsupportedError:
        assert "mmr" not in engine(name).capabilities
        assert "mmr" in PROGRAMS[title]
        return
    assert close(found.to_dict(), expected)
    gaps = np.diff(sorted(expected.values()))
    assert gaps.min() > 1e-6, "the formula's own order must be beyond rounding"
    assert list(found.docnos) == sorted(expected, key=lambda docno: -expected[docno])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("name", engines())
def test_a_share_of_0_is_the_query_and_of_1_the_target(name, share):
    formulas = Formulas(SIGNED)
    target = unit((1 - share) * formulas.q + share * formulas.centre)
    program = PROGRAMS["Centroid blend"].replace("alpha", repr(share))
    assert close(run(name, program, SIGNED).to_dict(), formulas.along(target))


@pytest.mark.parametrize("title", [t for t in PROGRAMS if t not in ("Diversity", "Composition")])
def test_so_it_is_where_similarities_are_negative(title):
    formulas = Formulas(SIGNED)
    expected = getattr(formulas, title.lower().replace(" ", "_").replace("-", "_"))()
    assert min(expected.values()) < 0
    assert close(run("vectorised", PROGRAMS[title], SIGNED).to_dict(), expected)


def test_a_negative_likeness_to_those_chosen_earns_nothing():
    formulas = Formulas(SIGNED)
    program = PROGRAMS["Diversity"].replace("E)", "E, relevance=0.1)")
    found = run("vectorised", program, SIGNED).to_dict()
    assert close(found, formulas.marginal(5, formulas.similarity(), 0.1, floor=0.0))
    assert not close(found, formulas.marginal(5, formulas.similarity(), 0.1))
    assert close(run("definition", PROGRAMS["Composition"], SIGNED).to_dict(), formulas.composition(floor=0.0))


@pytest.mark.parametrize("name", engines())
def test_a_direction_before_the_search_is_the_same_within_rounding(name):
    after, before = run(name, PROGRAMS["Suppression"], ROWS), run(name, "E @ (q - s * x)", ROWS)
    assert close(after.to_dict(), before.to_dict())
    assert close(run(name, "E @ query", ROWS).to_dict(), run(name, "E @ encode(E, query)", ROWS).to_dict())


def test_a_record_without_a_day_is_dropped_or_kept():
    assert "d11" not in run("vectorised", PROGRAMS["Half-life decay"], ROWS).to_dict()
    kept = run("vectorised", "fill(1, decay(days_since(published, now), 30)) * (E @ q)", ROWS).to_dict()
    assert kept["d11"] == pytest.approx(Formulas(ROWS).similarity()["d11"])
