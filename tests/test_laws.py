"""The laws on every engine, and that each law finds an engine that breaks it."""

import math

import numpy as np
import pytest
from every_engine import ENGINES

from pyterrier_alg.algebra import Apply, Distance, Space, UnsupportedError, parse
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.collection import Collection, Mask, Matrix, Vector
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.laws import LAWS, Law, check_laws
from pyterrier_alg.relation import ScoredRelation


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_keeps_every_law(name):
    report = check_laws(ENGINES[name], examples=4)
    assert report.held, str(report)
    untried = {verdict.law.name for verdict in report.verdicts if not verdict.examples}
    assert untried == (set() if isinstance(ENGINES[name], VectorisedEngine) else {"folding"})


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_keeps_every_law_however_often_it_is_tried(name, seed):
    report = check_laws(ENGINES[name], examples=300, seed=seed)
    assert report.held, str(report)


class Faulty(Engine):
    """The definition, with results changed."""

    name = "faulty"

    def __init__(self, change, bound=0.0):
        self.change, self.bound, self.right, self.runs = change, bound, DefinitionEngine(), 0

    def evaluate(self, formula: Formula, scope: Scope) -> ScoredRelation:
        self.runs += 1
        found = self.right.evaluate(formula, scope)
        changed = self.change(self, formula, scope, found.to_dict())
        return ScoredRelation.of(changed, gap_check=found.gap_check, error_bound=self.bound, certified=not self.bound)


class Backwards(Faulty):
    """Gives the lowest score first."""

    name = "backwards"

    def evaluate(self, formula, scope):
        found = super().evaluate(formula, scope)
        return ScoredRelation.ordered(found.docnos[::-1].copy(), found.scores[::-1])


class Shuffling(Faulty):
    """Answers many queries in another order."""

    name = "shuffling"

    def run_all(self, formula, scopes):
        return super().run_all(formula, scopes)[::-1]


class Narrow(VectorisedEngine):
    """Rounds where it folds."""

    name = "narrow"

    def evaluate(self, formula, scope):
        found = super().evaluate(formula, scope)
        narrow = dict(zip(found.docnos.tolist(), np.float32(found.scores).tolist(), strict=True))
        return ScoredRelation.of(narrow, gap_check=found.gap_check) if self.fold_directions else found


def root(formula):
    return formula.result.operator if isinstance(formula.result, Apply) else ""


def each(change):
    """A fault in every score, from docno, score and scope."""
    return lambda engine, formula, scope, scores: {d: change(d, s, scope) for d, s in scores.items()}


def at(operator, change):
    """A fault in programs whose last operator is this one."""
    return lambda engine, formula, scope, scores: change(scores) if root(formula) == operator else scores


def fewer(scores):
    return dict(list(scores.items())[:-1])


def half_an_index(engine, formula, scope, scores):
    """A search that looks at one part of a large collection only."""
    seen = set(scope.docnos[: max(3, len(scope.docnos) // 2)].tolist())
    return {d: s for d, s in scores.items() if d in seen} if root(formula) == "top" else scores


def sloppy_directions(engine, formula, scope, scores):
    inner = formula.result.arguments[1] if root(formula) == "@" else None
    return {d: s * 1.00001 for d, s in scores.items()} if isinstance(inner, Apply) else scores


#: For each law an engine that breaks it, and how.
FAULTS = {
    "repeating": Faulty(lambda engine, formula, scope, scores: fewer(scores) if engine.runs % 3 == 0 else scores),
    "permuting": Faulty(each(lambda docno, score, scope: score + 1e-12 * (docno == scope.docnos[0]))),
    "scaling": Faulty(each(lambda docno, score, scope: round(score, 5))),
    "subtracting": Faulty(each(lambda docno, score, scope: score + 1e-15)),
    "masking": Faulty(at(">>", fewer)),
    "restricting": Faulty(at(">>", lambda scores: {d: s / len(scores) for d, s in scores.items()})),
    "weight one": Faulty(at("*", lambda scores: {d: math.nextafter(s, 9) for d, s in scores.items()})),
    "taking": Faulty(at("top", lambda scores: fewer(scores) if len(scores) > 2 else scores)),
    "splitting": Faulty(half_an_index),
    "twins": Faulty(each(lambda docno, score, scope: score + 1e-12 * scope.position(docno))),
    "batching": Shuffling(each(lambda docno, score, scope: score)),
    "renaming": Faulty(each(lambda docno, score, scope: score - 1e-12 * len(docno))),
    "folding": Narrow(),
    "directions": Faulty(sloppy_directions),
    "ordering": Faulty(at("ranks", lambda scores: {d: s - 1 for d, s in scores.items()})),
    "printing": Faulty(lambda engine, formula, scope, scores: fewer(scores) if "▷" in formula.source else scores),
}  # fmt: skip


def test_there_is_a_broken_engine_for_every_law():
    assert FAULTS.keys() == LAWS.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_engine_is_found(name):
    (verdict,) = check_laws(FAULTS[name], laws=[LAWS[name]], examples=40).verdicts
    assert not verdict.held
    shown = str(verdict)
    assert LAWS[name].statement in shown and "program: " in shown and "Collection([" in shown


def test_a_result_out_of_rank_order_breaks_every_law_that_runs_one():
    report = check_laws(Backwards(each(lambda docno, score, scope: score)), examples=20)
    assert {verdict.law.name for verdict in report.broken} == LAWS.keys() - {"folding"}
    assert "rank order" in str(report)


def test_a_counterexample_runs_and_is_small():
    report = check_laws(FAULTS["subtracting"], laws=[LAWS["subtracting"]])
    found = report.verdicts[0].counterexample
    names = {kind.__name__: kind for kind in (Collection, Distance, Mask, Matrix, Space, Vector)}
    exec(found.data.replace("Collection(", "bound = Collection("), names)
    scope = names["bound"].at()
    assert len(scope.docnos) == 1
    assert FAULTS["subtracting"].run(parse(found.programs[-1]), scope).scores.tolist() != [0.0]


def test_the_same_seed_finds_the_same():
    one, other = (check_laws(FAULTS["twins"], laws=[LAWS["twins"]], seed=5) for _ in range(2))
    assert one == other and one.to_dict() == other.to_dict()


def test_engines_that_do_not_certify_are_held_to_their_bounds():
    noise = each(lambda docno, score, scope: score + 1e-4 * ((len(docno) + len(scope.docnos)) % 2))
    laws = [law for law in LAWS.values() if law.name not in ("folding", "ordering", "renaming")]
    assert check_laws(Faulty(noise, bound=1e-4), laws=laws, examples=10).held
    assert not check_laws(Faulty(noise, bound=1e-5), laws=laws, examples=10).held


class Limited(DefinitionEngine):
    """Cannot mask."""

    name = "limited"
    capabilities = DefinitionEngine.capabilities - {">>"}


def test_what_an_engine_cannot_run_is_not_tried():
    report = check_laws(Limited(), laws=[LAWS["masking"], LAWS["twins"]], examples=5)
    masking, twins = report.verdicts
    assert report.held and masking.examples == 0 and masking.reason and 0 < twins.examples
    assert "no try masking" in str(report)


def test_an_error_breaks_a_law():
    def fail(engine, formula, scope, scores):
        raise ZeroDivisionError("inside")

    (verdict,) = check_laws(Faulty(fail), laws=[LAWS["twins"]]).verdicts
    assert "ZeroDivisionError: inside" in verdict.counterexample.message


def test_a_law_of_ones_own():
    def never(trial):
        trial.same(trial.run("S"), trial.run("S + 1"))

    mine = Law("never", "S + 1 is S.", never)
    assert [verdict.law for verdict in check_laws(DefinitionEngine(), laws=[mine], examples=20).broken] == [mine]
    with pytest.raises(UnsupportedError):
        Limited().run(parse("m >> S"), Collection(["a"]).bind(S={"a": 1.0}, m={"a"}).at())
