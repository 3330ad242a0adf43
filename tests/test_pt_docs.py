"""The pages for PyTerrier's documentation: their examples, drawings, links and lists, read without Sphinx."""

import ast
import doctest
import importlib
import inspect
import re
import socket
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pyterrier as pt
import pytest

import pyterrier_alg
from pyterrier_alg import notation
from pyterrier_alg.algebra import OPERATORS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "pyterrier_alg" / "pt_docs"
PAGES = sorted(path.stem for path in FOLDER.glob("*.rst"))
README = (ROOT / "README.md").read_text("utf-8")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

#: What PyTerrier's site understands, as far as the pages need it: directives, and the options of each.
DIRECTIVES = {
    "autoclass": {"members"},
    "data": set(),
    "autofunction": set(),
    "code-block": {"caption"},
    "how-to": set(),
    "list-table": {"header-rows", "widths"},
    "related": set(),
    "schematic": {"input_columns", "show_code"},
    "toctree": {"maxdepth"},
}
ROLES = {"class", "doc", "func", "ref"}
#: How a block says that it is not run, and then why.
NOT_RUN = "Not run here: "


@dataclass(frozen=True)
class Directive:
    """One directive of a page, with what stands below it."""

    name: str
    argument: str
    options: dict
    body: str
    line: int


def _text(page):
    return (FOLDER / f"{page}.rst").read_text("utf-8")


def _directives(page):
    """Every directive of a page, those in the bodies of others too."""
    lines, found = _text(page).split("\n"), []
    for place, line in enumerate(lines):
        start = re.match(r"( *)\.\. ([\w-]+)::(?: (.*))?$", line)
        if start is None:
            continue
        below = []
        for inner in lines[place + 1 :]:
            if inner.strip() and len(inner) - len(inner.lstrip()) <= len(start[1]):
                break
            below.append(inner)
        below = textwrap.dedent("\n".join(below)).split("\n")
        options = {}
        while below and (option := re.match(r":([\w-]+):(?: (.*))?$", below[0])):
            options[option[1]] = option[2] or ""
            below.pop(0)
        assert not below or not below[0].strip(), f"{page}.rst:{place + 1}: no empty line before the body of {start[2]}"
        found.append(Directive(start[2], start[3] or "", options, "\n".join(below).strip("\n"), place + 1))
    return found


def _of(page, *names):
    return [directive for directive in _directives(page) if directive.name in names]


def _python(page):
    """The blocks that are run."""
    blocks = [d for d in _of(page, "code-block") if d.argument == "python"]
    return [block for block in blocks if not block.options.get("caption", "").startswith(NOT_RUN)]


def test_the_pages_are_there():
    assert {"index", "how-to", "schematics", "api", "notation"} == set(PAGES)


@pytest.mark.parametrize("page", [page for page in PAGES if _python(page)])
def test_the_examples_of_a_page(page):
    names, runner = {}, doctest.DocTestRunner(optionflags=OPTIONS)
    for block in _python(page):
        assert block.body.startswith(">>> "), f"{page}.rst:{block.line} shows no prompt, and would not be run"
        test = doctest.DocTestParser().get_doctest(block.body, names, page, f"{page}.rst", block.line)
        # A page's blocks share their names.
        test.globs = names
        runner.run(test, clear_globs=False)
    assert runner.tries and runner.failures == 0


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_says_why_and_names_what_there_is(page):
    for block in _of(page, "code-block"):
        if not block.options.get("caption", "").startswith(NOT_RUN):
            assert block.argument in ("python", "console"), block
            continue
        assert len(block.options["caption"]) > len(NOT_RUN) + 10
        for node in ast.walk(ast.parse(block.body)):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), block


SCHEMATICS = [(page, directive) for page in PAGES for directive in _of(page, "schematic")]


def _evaluated(code):
    """The value of the last line, as the directive finds it: names that the code sets are no globals."""
    *body, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    names, known = {"pt": pt}, {}
    exec(compile(ast.Module(body, []), "<schematic>", "exec"), names, known)
    return eval(compile(ast.Expression(last.value), "<schematic>", "eval"), names, known)


@pytest.mark.parametrize(
    ("page", "directive"), SCHEMATICS, ids=[f"{page}-{directive.line}" for page, directive in SCHEMATICS]
)
def test_drawings(page, directive, monkeypatch):
    asked = []

    def refuse(*arguments, **options):
        asked.append(arguments)
        raise OSError("nothing outside this process")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    pipeline = _evaluated(directive.body)
    assert isinstance(pipeline, pt.Transformer)
    columns = directive.options.get("input_columns")
    given = {} if columns is None else {"input_columns": [name.strip() for name in columns.split(",")]}
    drawing = pt.schematic.transformer_schematic(pipeline, **given)
    boxes = list(_boxes(drawing))
    assert boxes and all(box["output_columns"] and box["help_url"] is None for box in boxes)
    html = pt.schematic.draw(pipeline, **given)
    assert all(box["label"] in html for box in boxes)
    assert not asked


def _boxes(drawing):
    """Every transformer in a drawing."""
    if drawing["type"] == "transformer":
        yield drawing
    for inner in [*drawing.get("transformers", ()), *(drawing.get("inner_pipelines") or ())]:
        yield from _boxes(inner)


def test_there_are_drawings_of_retrievers_and_of_re_rankers():
    assert len(SCHEMATICS) >= 5 and any("input_columns" in directive.options for _, directive in SCHEMATICS)


def test_the_readme_is_the_index_in_short():
    index = _text("index")
    sentence = README.split("\n\n")[1]
    assert sentence == index.split("\n\n")[1] and sentence.endswith(".") and sentence.count(". ") == 0
    readme = re.findall(r"```python\n(.*?)\n```", README, re.DOTALL)
    assert readme == [block.body for block in _python("index")]
    assert "arXiv:2609.19482" in README and "arXiv:2609.19482" in index


def test_the_readmes_links():
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", README) if not link.startswith("https://")]
    assert links
    for link in links:
        assert (ROOT / link).is_file(), link


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_written_as_the_site_reads_it(page):
    """What goes wrong in reStructuredText unseen: underlines, options, roles, literals, tables, tabs."""
    text = _text(page)
    lines = text.split("\n")
    assert text.endswith("\n") and "\t" not in text and all(line == line.rstrip() for line in lines)
    titles = _titles(lines)
    assert titles[0][1] == "=" and [mark for _, mark in titles].count("=") == 1
    marks = ["=", "-", "^"]
    for (_, before), (title, mark) in zip(titles, titles[1:], strict=False):
        assert marks.index(mark) <= marks.index(before) + 1, title
    for directive in _directives(page):
        assert directive.name in DIRECTIVES and set(directive.options) <= DIRECTIVES[directive.name], directive
        if directive.name == "list-table":
            _check_table(directive)
        if directive.name in ("how-to", "related", "autoclass", "autofunction", "data"):
            assert directive.argument
    for paragraph in _prose(page):
        rest = re.sub(r"``(?! )[^`]+(?<! )``", "", paragraph)
        for role in re.findall(r":([\w-]+):`[^`]+`", rest):
            assert role in ROLES, role
        rest = re.sub(r":[\w-]+:`[^`]+`", "", rest)
        rest = re.sub(r"`[^`<]+ <https://[^>` ]+>`__", "", rest)
        assert "`" not in rest and "|" not in rest, paragraph
        assert len(re.findall(r"\*", re.sub(r"\*[^*\s][^*]*\*", "", rest))) == 0, paragraph
        assert not re.search(r"\w_(?!\w)", rest), paragraph


def _titles(lines):
    found = []
    for title, line in zip(lines, lines[1:], strict=False):
        if re.fullmatch(r"([=^-])\1{2,}", line) and title and not title.startswith(" "):
            assert len(line) == len(title), title
            found.append((title, line[0]))
    return found


def _check_table(table):
    rows = re.split(r"^\* ", table.body, flags=re.MULTILINE)[1:]
    assert len({len(re.findall(r"^(?:- |  - )", row, re.MULTILINE)) for row in rows}) == 1, table


def _prose(page):
    """The paragraphs and cells, without the bodies of code and drawings, and without directives' own lines."""
    lines, kept = _text(page).split("\n"), []
    skip = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if skip is not None and (not line.strip() or indent > skip):
            continue
        skip = None
        if re.match(r" *\.\. (code-block|schematic|toctree|related|auto\w+|data)::", line):
            skip = indent
        elif re.match(r" *(\.\. |:[\w-]+:( |$))", line) or re.fullmatch(r"([=^-])\1{2,}", line):
            kept.append("")
        elif re.match(r" *(\* )?- ", line):
            kept += ["", line.strip().removeprefix("* ").removeprefix("- ")]
        else:
            kept.append(line.strip())
    return [paragraph for paragraph in "\n".join(kept).split("\n\n") if paragraph.strip()]


def _labels(page):
    return re.findall(r"^ *\.\. _([^:]+(?::[^:\s]+)*):$", _text(page), re.MULTILINE)


def _object(path):
    """What a dotted name stands for; its module is the longest part that can be imported."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


DOCUMENTED = {d.argument: d.name for d in _of("api", "autoclass", "autofunction", "data")}


def test_links_lead_somewhere():
    labels = [label for page in PAGES for label in _labels(page)]
    assert len(labels) == len(set(labels)) and all(label.startswith("pyterrier_alg:") for label in labels)
    for page in PAGES:
        for role, target in re.findall(r":(\w+):`([^`]+)`", "\n".join(_prose(page))):
            explicit = re.fullmatch(r"[^<]+<([^>]+)>", target.replace("\n", " "))
            target = (explicit[1] if explicit else target).removeprefix("~")
            if role == "doc":
                assert target in PAGES, f"{page}: {target}"
            elif role == "ref":
                assert explicit and target in labels, f"{page}: {target}"
            else:
                assert DOCUMENTED.get(target) == {"class": "autoclass", "func": "autofunction"}[role], target
        for directive in _of(page, "related"):
            assert directive.argument in DOCUMENTED, f"{page}: {directive.argument}"


def test_every_page_is_in_the_index():
    (toctree,) = _of("index", "toctree")
    assert {*toctree.body.split(), "index"} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_ends_with_its_limits(page):
    lines = _text(page).split("\n")
    last = _titles(lines)[-1][0]
    assert last == "Limits" and re.search(r"\nLimits\n-{6}\n\n(- .+\n(  .+\n)*)+\Z", _text(page))


PUBLIC = (
    "pyterrier_alg",
    "pyterrier_alg.algebra",
    "pyterrier_alg.collection",
    "pyterrier_alg.collection.encoders",
    "pyterrier_alg.collection.formats",
    "pyterrier_alg.collection.lexical",
    "pyterrier_alg.datasets",
    "pyterrier_alg.evaluation",
    "pyterrier_alg.laws",
    "pyterrier_alg.session",
    "pyterrier_alg.testing",
    "pyterrier_alg.transformers",
)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    there = [_object(path) for path in DOCUMENTED]
    names = [name for name in importlib.import_module(module).__all__ if not name.startswith("__")]
    missing = [name for name in names if not any(_object(f"{module}.{name}") is found for found in there)]
    assert not missing


def test_the_reference_has_public_names_only_and_each_once():
    assert len(_of("api", "autoclass", "autofunction", "data")) == len(DOCUMENTED)
    kinds = {}
    for path, directive in DOCUMENTED.items():
        module, _, name = path.rpartition(".")
        assert module in PUBLIC and name in importlib.import_module(module).__all__, path
        value = _object(path)
        is_data = not callable(value)
        assert directive == ("autoclass" if inspect.isclass(value) else "data" if is_data else "autofunction"), path
        assert is_data or kinds.setdefault(id(value), path) == path, f"{path} is {kinds[id(value)]}"


def test_the_members_that_the_reference_names_are_there_and_say_what_they_are():
    for directive in _of("api", "autoclass"):
        value = _object(directive.argument)
        assert inspect.getdoc(value), directive.argument
        for name in filter(None, directive.options.get("members", "").split(", ")):
            assert inspect.getdoc(getattr(value, name)), f"{directive.argument}.{name}"


def test_the_notation_is_the_operator_table():
    rows = []
    for table in _of("notation", "list-table"):
        _, _, *below = re.split(r"^\* ", table.body, flags=re.MULTILINE)
        rows += [tuple(re.findall(r"^(?:- |  - )(.*)$", row, re.MULTILINE)) for row in below]
    entries = sorted(OPERATORS.values(), key=lambda entry: entry.is_function)
    expected = [(f"``{entry.usage}``", f"``{entry.example}``", entry.meaning) for entry in entries]
    assert [(*row[:2], row[2].replace("``", "`")) for row in rows] == expected
    assert all(name in _text("notation") for name in notation.__all__)


def test_the_pages_say_what_the_package_is_called():
    assert _text("index").startswith(f"{pyterrier_alg.__name__}\n=")
