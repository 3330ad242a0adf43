"""The laws, each one small function over a trial, whose docstring states it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pyterrier_alg.algebra.reading import parse
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.laws._cases import DOCNOS, Elements, draw_mask, draw_relation
from pyterrier_alg.laws._trials import Broken, Inapplicable, Trial
from pyterrier_alg.relation import ScoredRelation


@dataclass(frozen=True)
class Law:
    """What must hold of every engine.

    Attributes:
        name: a word or two.
        statement: the law, in a sentence.
        trial: tries it once; returns where it holds, raises where it does not.
    """

    name: str
    statement: str
    trial: Callable[[Trial], None]


_TABLE: dict[str, Law] = {}


def _law(name: str) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    def enter(trial: Callable[[Trial], None]) -> Callable[[Trial], None]:
        _TABLE[name] = Law(name, inspect.getdoc(trial) or "", trial)
        return trial

    return enter


def _scaled(found: ScoredRelation, factor: float) -> ScoredRelation:
    scores = {docno: score * factor for docno, score in found}
    return ScoredRelation.of(scores, error_bound=found.error_bound * factor, certified=found.certified)


def _length(elements: Elements) -> float:
    """Of the vector as it is bound."""
    return math.hypot(*np.array(elements, dtype=np.float32).tolist())


@_law("repeating")
def _repeating(t: Trial) -> None:
    """The same program over the same records gives the same result, each time."""
    program = f"top({t.random.randint(1, 4)}, {draw_relation(t.random, 3)})"
    t.same(t.run(program), t.run(program), cut=True)


@_law("permuting")
def _permuting(t: Trial) -> None:
    """Where a record stands among the others changes no score: names dealt out anew carry their scores along."""
    program = draw_relation(t.random, 3)
    dealt = dict(zip(t.case.docnos, t.random.sample(t.case.docnos, len(t.case.docnos)), strict=True))
    whole = t.run(program)
    wanted = ScoredRelation.of({dealt[d]: s for d, s in whole}, error_bound=whole.error_bound)
    t.same(wanted, t.run(program, t.case.renamed(dealt)))


@_law("scaling")
def _scaling(t: Trial) -> None:
    """A vector or a relation times a positive power of two has exactly the scores times it, in the same order."""
    factor = 2.0 ** t.random.choice((-20, -3, -1, 1, 4, 30))
    case = t.case.with_vector("v", tuple(float(np.float32(x)) * factor for x in t.case.vectors["q1"]))
    t.same(_scaled(t.run("E @ q1"), factor), t.run("E @ v", case))
    program = draw_relation(t.random, 2)
    t.same(_scaled(t.run(program), factor), t.run(f"{factor!r} * {program}"))


@_law("subtracting")
def _subtracting(t: Trial) -> None:
    """S − S is 0 for every record that S scores, and for no other."""
    program = draw_relation(t.random, 2)
    whole = t.run(program)
    zero = ScoredRelation.of(dict.fromkeys(whole.docnos.tolist(), 0.0))
    t.same(zero, t.run(f"{program} - {program}"))


@_law("masking")
def _masking(t: Trial) -> None:
    """A mask distributes over +: m ▷ (S + T) is (m ▷ S) + (m ▷ T)."""
    m, s, u = draw_mask(t.random, 1), draw_relation(t.random, 2), draw_relation(t.random, 2)
    t.same(t.run(f"{m} >> ({s} + {u})"), t.run(f"({m} >> {s}) + ({m} >> {u})"))


@_law("restricting")
def _restricting(t: Trial) -> None:
    """A mask leaves out records and changes no score: m ▷ S has the scores of S, for the records of both."""
    m, s = draw_mask(t.random, 1), draw_relation(t.random, 2)
    members = t.run(f"{m} >> fill(0, S)")
    whole = t.run(s)
    wanted = {docno: score for docno, score in whole if docno in members.to_dict()}
    t.same(ScoredRelation.of(wanted, error_bound=whole.error_bound), t.run(f"{m} >> {s}"))


@_law("weight one")
def _weight_one(t: Trial) -> None:
    """Weight 1 is the identity, as a number and as a relation: 1 · S and one ⊙ S are S."""
    program = draw_relation(t.random, 2)
    case = t.case.with_relation("one", dict.fromkeys(t.case.docnos, 1.0))
    whole = t.run(program)
    t.same(whole, t.run(f"1 * {program}"))
    t.same(whole, t.run(f"one * {program}", case))


@_law("taking")
def _taking(t: Trial) -> None:
    """top(k, S) is the first k of S in rank order, and all of S where k is larger."""
    k, program = t.random.randint(1, 6), draw_relation(t.random, 3)
    whole = t.run(program)
    first = {docno: score for docno, score in list(whole)[:k]}
    t.same(ScoredRelation.of(first, error_bound=whole.error_bound), t.run(f"top({k}, {program})"), cut=True)
    t.same(whole, t.run(f"top({len(whole) + 1}, {program})"))


@_law("splitting")
def _splitting(t: Trial) -> None:
    """The first k of two parts of the records, merged, hold the first k of the whole, score by score."""
    k = t.random.randint(1, 5)
    program = f"top({k}, {draw_relation(t.random, 3)})"
    left = {docno for docno in t.case.docnos if t.random.random() < 0.5}
    parts = [t.run(program, t.case.only(some)) for some in (left, set(t.case.docnos) - left)]
    pooled = sorted((pair for part in parts for pair in part), key=lambda pair: (-pair[1], pair[0]))
    bound = max(part.error_bound for part in parts)
    t.same(ScoredRelation.of(dict(pooled[:k]), error_bound=bound), t.run(program, t.case), cut=True)


@_law("twins")
def _twins(t: Trial) -> None:
    """Records with equal rows and equal scores tie, wherever they stand."""
    program = draw_relation(t.random, 3)
    free = [docno for docno in DOCNOS if docno not in t.case.docnos] or ["zz"]
    twins = dict(zip(t.random.sample(t.case.docnos, min(len(free), len(t.case.docnos))), free, strict=False))
    found = t.run(program, t.case.with_twins(twins))
    scores = found.to_dict()
    for docno, twin in twins.items():
        if (docno in scores) != (twin in scores):
            raise Broken(f"of {docno!r} and {twin!r}, which are alike, only one is scored")
        apart = abs(scores.get(docno, 0.0) - scores.get(twin, 0.0))
        if not apart <= 2 * found.error_bound:
            raise Broken(f"{docno!r} and {twin!r} are alike, and score {scores[docno]!r} and {scores[twin]!r}")


@_law("batching")
def _batching(t: Trial) -> None:
    """Many queries at once give what each gives alone."""
    formula = parse(f"top(3, {draw_relation(t.random, 2, ('E @ query_vec', 'S', 'E @ q1'))})")
    collection = t.case.collection()
    others = [tuple(t.random.gauss(0, 1) for _ in t.case.vectors["q1"]) for _ in range(3)]
    vectors = [t.case.vectors["q1"], *others, t.case.vectors["q1"], t.case.vectors["q2"]]
    topics = [Topic(str(i), vector=np.array(v, dtype=np.float32)) for i, v in enumerate(vectors)]
    t.programs[formula.source] = None
    together = t.engine.run_all(formula, [collection.at(topic) for topic in topics])
    if len(together) != len(topics):
        raise Broken(f"{len(topics)} queries at once give {len(together)} results")
    for topic, found in zip(topics, together, strict=True):
        t.in_rank_order(found)
        t.same(t.engine.run(formula, collection.at(topic)), found, cut=True)


@_law("renaming")
def _renaming(t: Trial) -> None:
    """Other docnos in the same order rename the result and change nothing else, ties and ranks included."""
    a, b = draw_relation(t.random, 2, ("S", "T")), draw_relation(t.random, 2)
    k = t.random.randint(1, 6)
    # Ranks of approximate scores may turn round, so only a cut stands on those.
    program = t.random.choice((f"top({k}, {b})", f"top({k}, rrf({a}, T))", f"ranks({a})", f"top({k}, {a})"))
    ordered = sorted(t.case.docnos)
    fresh = sorted(t.random.sample([*DOCNOS, *(f"x{i:03d}" for i in range(20))], len(ordered)))
    names = dict(zip(ordered, fresh, strict=True))
    whole = t.run(program)
    wanted = ScoredRelation.of({names[d]: s for d, s in whole}, error_bound=whole.error_bound)
    t.same(wanted, t.run(program, t.case.renamed(names)), cut=True)


@_law("folding")
def _folding(t: Trial) -> None:
    """A plan that folds directions into one gives bit for bit what one does that scans each."""
    if not hasattr(t.engine, "fold_directions"):
        raise Inapplicable("the engine has no choice `fold_directions`")
    make: Callable[..., Engine] = type(t.engine)
    c = t.random.choice(("0.5", "0.1", "3", "0.7"))
    program = f"top({t.random.randint(1, 5)}, {draw_mask(t.random, 1)} >> (E @ q1 - {c} * (E @ q2)))"
    folded, unfolded = (t.run(program, engine=make(fold_directions=fold)) for fold in (True, False))
    if list(folded) != list(unfolded) or folded.gap_check != unfolded.gap_check:
        raise Broken(f"folded {folded.to_dict()}, unfolded {unfolded.to_dict()}")


@_law("directions")
def _directions(t: Trial) -> None:
    """E @ a − c (E @ b) and E @ (a − c b) differ by no more than the roundings of the second's vector."""
    c = t.random.choice((0.5, 0.1, 3.0, 0.7))
    apart = t.run(f"E @ q1 - {c!r} * (E @ q2)")
    folded = t.run(f"E @ (q1 - {c!r} * q2)")
    a, b = (_length(t.case.vectors[name]) for name in ("q1", "q2"))
    longest = max((_length(row) for row in t.case.rows.values()), default=0.0)
    # c b and then a − c b are rounded to float32, each element by 2^-24 of itself, or by half the smallest float32;
    # the four float64 roundings (two scans, a product, a difference) by 2^-53 of at most |a| + |c b| times the row.
    vector = 2.0**-24 * (c * b + (a + c * b) * (1 + 2.0**-23)) + 2.0**-149 * math.sqrt(len(t.case.vectors["q1"]))
    t.same(apart, folded, slack=longest * (vector + 2.0**-50 * (a + c * b)))


@_law("ordering")
def _ordering(t: Trial) -> None:
    """A relation of ranks counts 1, 2, 3, … down the rank order of the relation."""
    program = draw_relation(t.random, 2, ("S", "T"))
    whole, ranks = t.run(program), t.run(f"ranks({program})").to_dict()
    wanted = {docno: float(i) for i, docno in enumerate(whole.docnos.tolist(), 1)}
    if ranks != wanted:
        raise Broken(f"ranks {ranks}, not {wanted}")
    if any(above < below for above, below in pairwise(whole.scores.tolist())):
        raise Broken(f"the scores {whole.scores.tolist()} do not fall")


@_law("printing")
def _printing(t: Trial) -> None:
    """What is printed reads back as the same program, in ASCII and in symbols, and gives the same result."""
    formula = parse(f"pool = {draw_mask(t.random, 1)}\ntop(3, pool >> {draw_relation(t.random, 3)})")
    for text in (formula.ascii, formula.unicode):
        if parse(text) != formula:
            raise Broken(f"{text!r} reads as {parse(text).ascii!r}")
        t.same(t.run(formula), t.run(text), cut=True)
