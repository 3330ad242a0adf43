"""The pytest plugin: files of program tests are collected, run, selected and shown as tests are."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGIN = "pyterrier_alg.testing.plugin"

PASSING = """
[relations]
S = {a = 3.0, b = 2.0}
[[test]]
name = "both"
program = "S"
count = 2
engines = ["vectorised", "definition"]
"""

FAILING = """
[[test]]
name = "the other one"
program = "top(1, S)"
expect = {b = 2.0}
"""


def run(folder, *arguments):
    """What pytest makes of a folder, in a process of its own."""
    installed = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *([] if installed else ["-p", PLUGIN]), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def write(folder, name, text):
    (folder / f"{name}.alg.toml").write_text(text, encoding="utf-8")


def test_what_holds_passes_and_what_does_not_is_shown(tmp_path):
    write(tmp_path, "mine", PASSING + FAILING)
    write(tmp_path, "wrong", "[[test]]\nname = 3")
    write(tmp_path, "unbound", PASSING.replace("3.0", "nan"))
    (tmp_path / "other.toml").write_text("[[test]]", encoding="utf-8")
    status, shown = run(tmp_path, "-v", "--continue-on-collection-errors")
    assert status == 1, shown
    assert "mine.alg.toml::both[definition] PASSED" in shown and "mine.alg.toml::both[vectorised] PASSED" in shown
    assert "mine.alg.toml::the other one[vectorised] FAILED" in shown
    assert "mine.alg.toml:10: the other one (vectorised): does not hold" in shown
    assert "0     b         2.0  a      3.0  not expected" in shown and "gap check: separated" in shown
    assert "bad_program_tests" in shown and "name is a text, not 3" in shown
    assert "non_finite" in shown
    assert "Traceback" not in shown and "3 failed, 2 passed, 1 error" in shown


def test_tests_are_selected_by_their_names(tmp_path):
    write(tmp_path, "mine", PASSING + FAILING)
    status, shown = run(tmp_path, "-k", "both and definition")
    assert status == 0 and "1 passed, 2 deselected" in shown, shown


def test_a_conftest_names_collections(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "from pyterrier_alg.collection import Collection\n"
        "def pytest_alg_collections(config):\n"
        "    return {'mine': lambda: Collection(['a']).bind(S={'a': 1.0})}\n",
        encoding="utf-8",
    )
    use = "[collection]\nuse = 'mine'\n[[test]]\nname = 'x'\nprogram = 'S'\nexpect = {a = 1.0}\n"
    write(tmp_path, "mine", use)
    status, shown = run(tmp_path)
    assert status == 0 and "1 passed" in shown, shown


@pytest.mark.parametrize("module", [PLUGIN, "pyterrier_alg.testing"])
def test_it_costs_nothing_where_there_are_no_such_files(module):
    code = f"import sys, {module}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert not {"pyterrier", "numpy", "pandas", "lark", "rich"} & set(done.stdout.split())
