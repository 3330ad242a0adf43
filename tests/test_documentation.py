"""Documentation that runs: docstrings, the README's blocks, notebooks and scripts of experiments."""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from pyterrier_alg import algebra, collection, notation, transformers

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "pyterrier_alg").rglob("*.py")
)


def _names():
    """What examples may use without importing it: the language and the collection, and numpy as np."""
    names = {"np": np}
    for module in (algebra, collection, transformers):
        names |= {name: getattr(module, name) for name in module.__all__}
    return names | {"notation": notation}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    globs = {**_names(), **vars(module)}
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner(optionflags=OPTIONS)
    for test in finder.find(module, name, globs=globs):
        runner.run(test)
    assert runner.failures == 0


def test_the_readmes_python():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test)
    assert runner.failures == 0


def _console_blocks():
    return [tuple(block.split("\n", 1)) for block in re.findall(r"```console\n\$ (.*?)```", README, re.DOTALL)]


@pytest.mark.parametrize(("command", "shown"), _console_blocks(), ids=lambda text: text[:40])
def test_the_readmes_commands(command, shown, tmp_path):
    program, *arguments = shlex.split(command)
    assert program == "pyterrier-alg"
    code = "from pyterrier_alg.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        timeout=300,
    )
    assert (done.stdout + done.stderr).split() == shown.split()


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run_and_show_what_they_were_saved_with(path, monkeypatch):
    # Tables are as wide as the terminal; the notebooks were saved with this one.
    monkeypatch.setenv("COLUMNS", "100")
    notebook = nbformat.read(path, as_version=4)
    saved = [_texts(cell) for cell in notebook.cells if cell.cell_type == "code"]
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}})
    client.execute()
    assert [_texts(cell) for cell in notebook.cells if cell.cell_type == "code"] == saved


def _texts(cell):
    """A cell's textual output, as far as it is the same on every machine."""
    texts = []
    for output in cell.outputs:
        data = output.get("data", {})
        texts.append(output.get("text") or data.get("text/plain", ""))
    return "".join(texts)


def test_the_recorded_experiment_is_what_the_experiment_finds():
    done = subprocess.run(
        [sys.executable, "experiments/parity.py", "--check"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
