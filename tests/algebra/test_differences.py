"""What tells two formulas apart: read by people, and made one by one."""

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import programs

from pyterrier_alg.algebra import AlgebraError, Count, Formula, Name, Number, Text, parse
from pyterrier_alg.algebra.differences import SORTS, differences
from pyterrier_alg.algebra.expressions import Apply, walk

MODERATE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

#: Two programs, and the edits between them as they are told.
TOLD = [
    ("top(10, S)", "top(10, S)", []),
    ("top(10, S)", "top(20, S)", ["k 10 → 20 in top(10, S)"]),
    ("0.5 S", "0.7 S", ["coefficient 0.5 → 0.7 in 0.5 * S"]),
    ("0.5 S", "alpha * S", ["coefficient 0.5 → alpha in 0.5 * S"]),
    ("E @ q1 - 0.5 E @ q2", "E @ q1", ["term - 0.5 * (E @ q2) dropped from E @ q1"]),
    ("E @ q1 - 0.5 E @ q2", "E @ q1 - 0.5 E @ q3", ["q2 → q3 in E @ q2"]),
    ("S + T + A", "S + A", ["term + T dropped from S"]),
    ("S + T", "S - T", ["+ → - in S + T"]),
    ("S + T", "T + S", ["operands of S + T in the other order"]),
    ("m >> S", "S", ["mask m >> dropped before S"]),
    ("m >> S", "n >> S", ["m → n in m >> S"]),
    ("m >> S", "(m & ~n) >> S", ["clause & ~n added to m"]),
    ("(m | n) >> S", "n >> S", ["clause m | dropped from n"]),
    ("(year >= 1965) >> S", "(year > 1965) >> S", [">= → > in year >= 1965"]),
    ("S", "w * S", ["factor w * put on S"]),
    ("minmax(S) + T", "S + T", ["minmax(…) dropped around S"]),
    ("minmax(S) + T", "zscore(S) + T", ["minmax → zscore in minmax(S)"]),
    ("rrf(S, T)", "rrf(S, T, A, k=10)", ["A added to rrf(S, T)", "k 60 (default) → 10 in rrf(S, T)"]),
    ("rrf(S, T, depth=50)", "rrf(T)",
     ["S dropped from rrf(S, T, depth=50)", "depth 50 → 100 (default) in rrf(S, T, depth=50)"]),
    ("bm25(query)", "pisa(query, 52)", ["bm25 → pisa in bm25(query)", "depth its own (default) → 52 in bm25(query)"]),
    ('E @ "a"', 'E @ "b"', ['text "a" → "b" in E @ "a"']),
    ('isin(lang, "en", "de") >> S', 'isin(lang, "de") >> S', ['"en" dropped from isin(lang, "en", "de")']),
    ("pool = m\npool >> S", "rest = m\nrest >> S", ["step pool renamed rest"]),
    ("support(S) >> T", "pool = support(S)\npool >> T", ["step pool = support(S)"]),
    ("pool = support(S)\npool >> T", "support(S) >> T", ["step pool removed"]),
    ("a = 0.5 S\na + T", "b = 0.7 S\nb + T", ["step a renamed b", "coefficient 0.5 → 0.7 in 0.5 * S (step a)"]),
    ("r = bm25\nr(query)", "bm25(query)", ["step r removed", "r → bm25 in r(query)"]),
    ("S", "E @ q1", ["S replaced by E @ q1"]),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "told"), TOLD)
def test_edits_are_told_in_words(before, after, told):
    found = differences(parse(before), parse(after))
    assert [str(edit) for edit in found] == told
    assert bool(found) == bool(told) and len(found) == len(told)
    assert [edit.number for edit in found] == list(range(1, len(told) + 1))
    assert repr(found).count("\n") == max(len(told) - 1, 0)
    assert {edit.sort for edit in found} <= set(SORTS)


@pytest.mark.parametrize(("before", "after"), [case[:2] for case in TOLD])
def test_all_edits_are_the_way_from_one_to_the_other_and_back(before, after):
    for old, new in ((parse(before), parse(after)), (parse(after), parse(before))):
        found = differences(old, new)
        assert found.apply([]) == old
        assert found.apply(found) == new
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("before", "after", "each"),
    [
        ("top(10, S - 0.5 T)", "top(5, m >> (S - T))",
         ["top(5, S - 0.5 T)", "top(10, m >> (S - 0.5 T))", "top(10, S - T)"]),
        ("a = m\na >> S", "b = m & n\nb >> 2 S",
         ["b = m\nb >> S", "a = m & n\na >> S", "a = m\na >> 2 S"]),
        ("a = S\na + T", "b = S + T\nfill(0, b)",
         ["b = S\nb + T", "a = S + T\na + T", "a = S\na", "a = S\nfill(0, a) + T"]),
        # A step that one edit needs comes along, and one that is still needed stays.
        ("S + T", "pool = support(A)\n(pool >> S) + (pool >> T)",
         ["pool = support(A)\nS + T", "pool = support(A)\n(pool >> S) + T", "pool = support(A)\nS + (pool >> T)"]),
        ("pool = m\n(pool >> S) + (pool >> T)", "S + T",
         ["pool = m\n(pool >> S) + (pool >> T)", "pool = m\nS + (pool >> T)", "pool = m\n(pool >> S) + T"]),
        # Two steps of one name that are not one.
        ("a = S\nb = T\na + b", "b = T\na = A\na + b",
         ["a = S\nb = T\na + b", "a = S\nb = T\n`a'` = A\na + b", "a = S\nb = T\n`a'` = A\n`a'` + b"]),
    ],
)  # fmt: skip
def test_each_edit_can_be_made_by_itself(before, after, each):
    found = differences(parse(before), parse(after))
    made = [found.apply([edit]) for edit in found]
    assert sorted(formula.ascii for formula in made) == sorted(parse(text).ascii for text in each)
    for formula in made:
        assert parse(formula.ascii) == formula
        assert len({name for name, _ in formula.steps}) == len(formula.steps)


@given(programs(), programs(), st.data())
@MODERATE
def test_any_two_programs(first, second, data):
    old, new = first[0], second[0]
    found = differences(old, new)
    assert bool(found) == (old != new)
    assert found.apply([]) == old
    assert found.apply(found) == new
    some = data.draw(st.lists(st.sampled_from(found.edits), unique=True)) if found else []
    mixed = found.apply(some)
    assert mixed == found.apply(reversed(some))
    assert parse(mixed.ascii) == mixed
    # Cumulatively, from one to the other.
    way = [found.apply(found.edits[:count]) for count in range(len(found) + 1)]
    assert way[0] == old and way[-1] == new
    json.dumps(found.to_dict(), allow_nan=False)


def _mutated(formula: Formula, chance: random.Random) -> tuple[Formula, int]:
    """A program in which a few leaves are other ones, and how many."""
    text, changed = formula.ascii, 0
    leaves = [node for node in walk(*formula.expressions) if isinstance(node, Number | Count | Text)]
    for leaf in chance.sample(leaves, min(2, len(leaves))):
        other = {Number: "0.875", Count: "77", Text: '"another"'}[type(leaf)]
        places = [i for i in range(len(text)) if text.startswith(repr(leaf), i)]
        sound = [i for i in places if not (text[i - 1 : i] + text[i + len(repr(leaf)) :][:1]).strip("(), ")]
        if sound:
            place = chance.choice(sound)
            text, changed = text[:place] + other + text[place + len(repr(leaf)) :], changed + 1
    return parse(text), changed


@given(programs(), st.randoms(use_true_random=False))
@MODERATE
def test_as_many_edits_as_leaves_were_changed(drawn, chance):
    old = drawn[0]
    new, changed = _mutated(old, chance)
    found = differences(old, new)
    assert len(found) <= changed
    assert found.apply(found) == new
    assert all(edit.sort in ("coefficient", "count", "text", "replaced", "operand") for edit in found)


def test_an_edit_of_another_difference_is_refused():
    one, other = differences(parse("S"), parse("2 S")), differences(parse("S"), parse("3 S"))
    with pytest.raises(AlgebraError) as refused:
        one.apply(other.edits)
    assert refused.value.code == "bad_argument"


def test_a_difference_is_a_value_and_shows_anybodys_text_safely():
    one, again = (differences(parse("S"), parse('E @ "<b>"')) for _ in range(2))
    assert one == again and hash(one) == hash(again)
    assert "&lt;b&gt;" in one._repr_html_() and "<b>" not in one._repr_html_()
    assert differences(parse("S"), parse("S"))._repr_html_() == "<div>no difference</div>"


def test_neutral_edits_change_no_score():
    found = differences(parse("support(S) >> 2 T"), parse("pool = support(S)\npool >> 3 T"))
    assert [edit.is_neutral for edit in found] == [True, False]


def test_long_programs_are_compared_quickly_and_deep_ones_at_all():
    chance = random.Random(7)
    terms = [f"{chance.randrange(1, 9999) / 10000} * S{i % 50}" for i in range(1500)]
    changed = [term for i, term in enumerate(terms) if i not in (300, 900)]
    changed.insert(700, "(m >> T)")
    found = differences(parse(" + ".join(terms)), parse(" + ".join(changed)))
    assert sorted(edit.sort for edit in found) == ["term_added", "term_dropped", "term_dropped"]
    assert found.apply(found) == parse(" + ".join(changed))
    deep = Name("S"), Name("T")
    for _ in range(2000):
        deep = tuple(Apply("abs", (one,)) for one in deep)
    found = differences(Formula((), deep[0]), Formula((), deep[1]))
    assert [(edit.old, edit.new) for edit in found] == [("S", "T")]
    members = [f'"d{i}"' for i in range(3000)]
    found = differences(*(parse(f"ids({', '.join(some)}) >> S") for some in (members, members[:1000] + members[1010:])))
    assert [edit.old for edit in found] == members[1000:1010]
