"""A record's score is the same bits wherever it stands, whoever stands beside it, however many ask, on any machine."""

import math
import os
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from every_engine import ENGINES

from pyterrier_alg.algebra import Distance, Space, parse
from pyterrier_alg.collection import Collection, Mask, Matrix, Topic, Vector
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.exact._slices import BLOCK

DIMENSIONS = [64, 128, 256, 384]
COUNT = 16_500
#: The first and the last, both sides of every power of two that a loop or a tile may end at, and of the exact kernel's
#: blocks for one vector and for two.
EDGES = [8, 32, 64, 128, 256, 1024, 4096, 8192, 16384, *(BLOCK // (d + v) for d in DIMENSIONS for v in (1, 2))]
PLACES = sorted({0, 1, COUNT - 1} | {edge - side for edge in EDGES for side in (0, 1)})
DOCNOS = [f"d{i:05d}" for i in range(COUNT)]
PLANTED = [DOCNOS[place] for place in PLACES]
SCORE = "E @ q1 - 0.5 * (E @ q2)"

EXACT = [name for name, engine in ENGINES.items() if engine.certifies or "exact" in name]
FOLDED, UNFOLDED = VectorisedEngine(), VectorisedEngine(fold_directions=False)


@cache
def collection(dimensions, count=COUNT):
    """Many rows, one of which stands in many places."""
    random = np.random.default_rng(dimensions)
    rows = random.standard_normal((count, dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    places = [place for place in PLACES if place < count] + [count - 1]
    rows[places] = rows[5]
    # One that is better than all by one last place, and one that is worse.
    q1, q2 = (2 * rows[5] + 0.1 * random.standard_normal(dimensions).astype(np.float32)), rows[9]
    rows[count // 2] = np.where(np.arange(dimensions) == 3, np.nextafter(rows[5], np.sign(q1) * np.float32(2)), rows[5])
    space = Space(f"{dimensions} dimensions", dimensions, Distance.INNER_PRODUCT)
    docnos = DOCNOS[:count]
    return Collection(docnos).bind(
        E=Matrix(rows, space=space),
        q1=Vector(q1, space),
        q2=Vector(q2, space),
        planted=Mask([docnos[place] for place in dict.fromkeys(places)]),
        odd=Mask(docnos[1::2]),
        few=Mask(docnos[-3:]),
        tail=Mask(docnos[61:]),
    )


def topics(dimensions, count):
    vectors = np.random.default_rng(7).standard_normal((count, dimensions)).astype(np.float32)
    return [Topic(str(i), vector=vector) for i, vector in enumerate(vectors)]


@cache
def whole(dimensions):
    return FOLDED.run(parse(SCORE), collection(dimensions).at()).to_dict()


def defined(dimensions, docno):
    operands = collection(dimensions).at().operands
    row = operands["E"].rows[int(docno[1:])].tolist()
    one, other = (
        math.fsum(x * y for x, y in zip(row, operands[name].values.tolist(), strict=True)) for name in ("q1", "q2")
    )
    return one - 0.5 * other


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_one_row_has_one_score_wherever_it_stands(dimensions):
    scores = {whole(dimensions)[docno].hex() for docno in PLANTED}
    assert scores == {defined(dimensions, DOCNOS[5]).hex()}
    assert whole(dimensions)[DOCNOS[COUNT // 2]] == defined(dimensions, DOCNOS[COUNT // 2])


@pytest.mark.parametrize("engine", [FOLDED, UNFOLDED], ids=["folded", "unfolded"])
@pytest.mark.parametrize("mask", ["planted", "odd", "few", "tail", "planted & odd", "~planted", "few | ids('d00064')"])
@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_a_mask_a_selection_and_a_plan_change_no_bit(dimensions, mask, engine):
    scope = collection(dimensions).at()
    inside = engine.run(parse(f"({mask}) >> fill(0, {SCORE})"), scope).to_dict()
    assert all(score.hex() == whole(dimensions)[docno].hex() for docno, score in inside.items())
    ranked = sorted(inside.items(), key=lambda pair: (-pair[1], pair[0]))
    for k in (1, 5, 25):
        assert list(engine.run(parse(f"top({k}, ({mask}) >> ({SCORE}))"), scope)) == ranked[:k]


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_equal_rows_tie_in_a_selection_and_stand_by_docno(dimensions):
    found = FOLDED.run(parse(f"top(10, planted >> ({SCORE}))"), collection(dimensions).at())
    assert found.docnos.tolist() == sorted(PLANTED)[:10]
    assert found.gap_check.verdict == "exact_tie" and found.gap_check.gap_at_cut == 0.0


@pytest.mark.parametrize("program", ["E @ query_vec", f"{SCORE} + E @ query_vec", "top(9, E @ query_vec - 0.5 E @ q1)"])
@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_one_query_alone_and_ninety_three_at_once(dimensions, program):
    formula, c = parse(program), collection(dimensions, 600)
    scopes = [c.at(topic) for topic in topics(dimensions, 93)]
    together = FOLDED.run_all(formula, scopes)
    for i in (0, 1, 46, 91, 92):
        alone = VectorisedEngine().run_all(formula, scopes[i : i + 1])[0]
        assert alone.scores.tobytes() == together[i].scores.tobytes()
        assert alone.docnos.tolist() == together[i].docnos.tolist()
        assert alone.gap_check == together[i].gap_check


@pytest.mark.parametrize("dimensions", DIMENSIONS)
@pytest.mark.parametrize("name", EXACT)
def test_every_certified_engine_gives_these_bits(name, dimensions):
    c = collection(dimensions, 300)
    scopes = [c.at(topic) for topic in topics(dimensions, 3)]
    for program in (f"top(20, {SCORE})", "top(7, tail >> (E @ query_vec - 0.5 E @ q1))", f"planted >> ({SCORE})"):
        wanted = [FOLDED.run(parse(program), scope) for scope in scopes]
        found = ENGINES[name].run_all(parse(program), scopes)
        assert all(one.certified for one in found)
        assert [one.scores.tobytes() for one in found] == [one.scores.tobytes() for one in wanted]
        assert [one.docnos.tolist() for one in found] == [one.docnos.tolist() for one in wanted]


def evidence():
    """A digest of scores, order and gaps at every number of dimensions, by the vectorised engine."""
    digest = sha256()
    for dimensions in DIMENSIONS:
        scopes = [collection(dimensions).at(topic) for topic in topics(dimensions, 3)]
        results = FOLDED.run_all(parse(f"top(30, odd >> ({SCORE} + E @ query_vec))"), scopes)
        texts = (SCORE, "softmax(E @ q1)", "mmr(5, top(50, E @ q1), E)")
        results += [FOLDED.run(parse(text), scopes[0]) for text in texts]
        for found in results:
            digest.update(found.scores.tobytes())
            digest.update(repr((found.docnos.tolist(), found.gap_check)).encode())
    return digest.hexdigest()


def test_threads_and_hash_seeds_change_no_bit():
    here = Path(__file__).parent
    found = set()
    for threads, seed in (("1", "0"), ("8", "1")):
        environment = {
            **os.environ,
            **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads),
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(map(str, (here, here.parent, here.parent.parent))),
        }
        command = [sys.executable, "-c", "import test_certified_bits as t; print(t.evidence())"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout.strip())
    assert found == {evidence()}
