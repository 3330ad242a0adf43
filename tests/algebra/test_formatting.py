"""The canonical layout of files of programs: the same program, every comment, and nothing to do the second time."""

import re
from collections import Counter

import pytest
from bound import BINDINGS
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import programs

from pyterrier_alg.algebra import ProgramError, parse
from pyterrier_alg.algebra.formatting import check_files, format_text

CASES = [
    ("S", "S\n"),
    ("\n\n  top( 10,S )\r\n\r\n", "top(10, S)\n"),
    ("m ▷ 0.5 S − T", "m >> (0.5 * S - T)\n"),
    ("a=m\rb = n\na&b>>S", "a = m\nb = n\n(a & b) >> S\n"),
    ("# one\nS # two  \n# three", "# one\nS  # two\n# three\n"),
    ("# one\n\n\n\n#two\n\nx = m #\n\n\n\nx >> S\n\n", "# one\n\n#two\n\nx = m  #\n\nx >> S\n"),
    ("top(10, # ten\n  # of these\n  S)", "# ten\n# of these\ntop(10, S)\n"),
    ("top(10, # ten\n\n  S) # last", "# ten\ntop(10, S)  # last\n"),
    ("top(10, S # inside\n\n) \n\n# foot", "# inside\ntop(10, S)\n\n# foot\n"),
    ("bm25('# no \"comment\"') # one", 'bm25("# no \\"comment\\"")  # one\n'),
    ("`a # b` >> S # it's \"quoted", "`a # b` >> S  # it's \"quoted\n"),
    ("(S\n+\nT)", "S + T\n"),
    ("((S)) # ))(", "S  # ))(\n"),
]


@pytest.mark.parametrize(("text", "formatted"), CASES)
def test_what_becomes_of_a_text(text, formatted):
    assert format_text(text) == formatted


def test_in_the_papers_signs():
    assert format_text("m >> 0.5 * S - T # a", unicode=True) == "m ▷ (0.5 S − T)  # a\n"


WIDE = """\
pool = support(bm25(query, 52))
top(
    10,
    minmax(bm25(query, 52)) * (
        pool >> (E @ "wave guide, design" - 0.5 * (E @ "valve (amplifier)"))
    )
)
"""


def test_lines_that_are_too_wide_are_broken_inside_brackets():
    flat = parse(WIDE).ascii
    assert format_text(flat, width=80) == WIDE and format_text(WIDE, width=80) == WIDE
    assert format_text(WIDE, width=1000) == flat + "\n"
    # Where no bracket allows a break, the line stays.
    assert format_text(" + ".join(["S"] * 60)) == " + ".join(["S"] * 60) + "\n"


def test_long_and_deep_programs_are_laid_out_too():
    deep = "abs(" * 1000 + "S" + ")" * 1000
    long = "top(10, " + " + ".join(["abs(S)"] * 1_000) + ")"
    for text in (deep, long):
        found = format_text(text)
        assert parse(found) == parse(text) and format_text(found) == found


def test_what_does_not_read_is_refused():
    with pytest.raises(ProgramError, match="syntax"):
        format_text("top(10, # not closed")


COMMENTS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8).map(lambda t: f"#{t}"), max_size=6
)


@settings(deadline=None, max_examples=60)
@given(programs(), COMMENTS, st.randoms(use_true_random=False), st.booleans(), st.sampled_from([1, 20, 100]))
def test_any_program_with_any_comments(program, comments, random, unicode, width):
    formula = program[0]
    text = formula.unicode if random.random() < 0.5 else formula.ascii
    # Comments where a line may end: between steps, behind them, and inside brackets.
    for comment in comments:
        lines = text.split("\n")
        place = random.randrange(len(lines))
        spots = [
            m.end() for m in re.finditer(r"\((?=[A-Za-z(])|, (?=[A-Za-z(])", lines[place]) if "#" not in lines[place]
        ]
        spots = [] if '"' in lines[place] or "`" in lines[place] else spots
        how = random.randrange(3)
        if how == 0 and spots:
            spot = random.choice(spots)
            lines[place] = f"{lines[place][:spot]}{comment}\n\n{lines[place][spot:]}"
        elif how == 1 and "#" not in lines[place]:
            lines[place] += f" {comment}"
        else:
            lines.insert(place, random.choice(["", "\n\n"]) + comment)
        text = "\n".join(lines)
    found = format_text(text, unicode=unicode, width=width)
    assert parse(found) == formula
    assert format_text(found, unicode=unicode, width=width) == found
    assert "\n\n\n" not in found and found.endswith("\n") and not found.startswith("\n")
    kept = Counter(comment.rstrip() for comment in comments)
    assert sum(kept.values()) == len(comments)
    assert all(found.count(comment) >= count for comment, count in kept.items())


def test_files(tmp_path):
    (tmp_path / "deeper").mkdir()
    good = tmp_path / "deeper" / "good.alg"
    good.write_text("top(10, m >> S)\n", encoding="utf-8")
    paper = tmp_path / "paper.alg"
    paper.write_text("\ufefftop(10, m ▷ S)\n", encoding="utf-8")
    loose = tmp_path / "loose.alg"
    loose.write_text("top( 10, S )", encoding="utf-8")
    wrong = tmp_path / "wrong.alg"
    wrong.write_text("m ⊙ S\n", encoding="utf-8")
    broken = tmp_path / "broken.alg"
    broken.write_text("top(10", encoding="utf-8")
    (tmp_path / "other.txt").write_text("no program", encoding="utf-8")
    binary = tmp_path / "binary.alg"
    binary.write_bytes(b"\xff\xfe\x00")
    found = {check.path: check for check in check_files([tmp_path, tmp_path / "absent.alg"], BINDINGS)}
    codes = {path.name: check.error.code if check.error else None for path, check in found.items()}
    assert codes == {
        "binary.alg": "corrupted_data", "broken.alg": "syntax", "good.alg": None, "loose.alg": None, "paper.alg": None,
        "wrong.alg": "kind", "absent.alg": "missing_data",
    }  # fmt: skip
    assert {path.name for path, check in found.items() if check.formatted} == {"good.alg", "paper.alg", "wrong.alg"}
    assert found[wrong].formula is not None and found[broken].formula is None
    assert "^" in str(found[wrong]) and str(found[good]).endswith("sound") and "layout" in str(found[loose])
    # Without bindings, files are only read.
    assert [check.sound for check in check_files([wrong, broken])] == [True, False]
