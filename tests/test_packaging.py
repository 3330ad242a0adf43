"""What is installed: every module, every datum, every entry point."""

import ast
import configparser
import importlib
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from inspect import ismodule
from pathlib import Path

import pyterrier as pt
import pytest

import pyterrier_alg
from pyterrier_alg import Program
from pyterrier_alg.datasets import VaswaniDataset

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pyterrier_alg"

#: The rooms, lowest first: a room imports from those above it in this list, and from itself.
ROOMS = (
    "_version",
    "algebra",
    "notation",
    "exact",
    "relation",
    "collection",
    "datasets",
    "engines",
    "transformers",
    "evaluation",
    "session",
    "laws",
    "parity",
    "testing",
    "cli",
    "__main__",
)


def _settings():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return settings


def test_every_folder_with_modules_is_a_listed_package():
    listed = set(_settings()["options"]["packages"].split())
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("*.py")}
    assert listed == found | {"pyterrier_alg.data"}


def _stated(group):
    """What setup.cfg registers in a group: name to object."""
    lines = _settings()["options.entry_points"][group].strip().splitlines()
    return dict(map(str.strip, line.split("=")) for line in lines)


GROUPS = list(_settings()["options.entry_points"])


@pytest.mark.parametrize("group", GROUPS)
def test_entry_points_are_installed(group):
    ours = {e.name: e.value for e in entry_points(group=group) if e.value.startswith("pyterrier_alg")}
    assert ours == _stated(group)


@pytest.mark.parametrize("group", GROUPS)
def test_entry_points_load(group):
    for name, value in _stated(group).items():
        loaded = EntryPoint(name, value, group).load()
        assert ismodule(loaded) if group in ("pyterrier.modules", "pytest11") else callable(loaded), name


def test_pyterrier_finds_what_is_registered():
    assert isinstance(pt.get_dataset("alg:vaswani"), VaswaniDataset)
    assert "alg:vaswani" in set(pt.datasets.list_datasets()["dataset"])
    with pytest.raises(KeyError, match="alg:nothing"):
        pt.get_dataset("alg:nothing")
    assert pt.alg is pyterrier_alg and pt.alg.Program is Program and pt.alg.laws.__name__ == "pyterrier_alg.laws"


@pytest.mark.parametrize(
    "statement", ["import pyterrier", "import pyterrier_alg, pyterrier", "import pyterrier_alg.collection"]
)
def test_it_loads_with_pyterrier_in_any_order(statement):
    assert _python(f"{statement}\nimport pyterrier as pt\nprint(pt.alg.vaswani(bm25='counts'))").startswith(
        "<Collection"
    )


def test_loading_it_with_pyterrier_loads_nothing_more():
    code = "import sys, pyterrier\nprint(*sorted(name for name in sys.modules if name.startswith('pyterrier_alg')))"
    assert _python(code).split() in ([], ["pyterrier_alg", "pyterrier_alg._version"])
    code = "import sys, pyterrier_alg\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    assert not {"pyterrier", "numpy", "pandas", "lark"} & set(_python(code).split())


def _python(code, **environment):
    """What a Python of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pyterrier_alg"):
            deeper = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from deeper if node.module == "pyterrier_alg" else [node.module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("pyterrier_alg."))


MODULES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_point_one_way(path):
    here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for module in _imports(path):
        assert ROOMS.index(_room(module)) <= ROOMS.index(here), f"{here} imports {module}"


def test_the_language_needs_only_its_parser():
    allowed = set(sys.stdlib_module_names) | {"lark", "pyterrier_alg"}
    for path in (PACKAGE / "algebra").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, path


def test_every_public_name_is_there():
    for path in PACKAGE.rglob("__init__.py"):
        module = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module.__name__}.{name}"


#: Whatever would open a connection, start Java or read the texts is refused.
_ALONE = """
import socket, subprocess, sys
def refuse(*a, **k): raise OSError("nothing outside this process")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = subprocess.Popen = refuse
sys.modules["jnius"] = None
import pyterrier_alg, pyterrier as pt
from pyterrier_alg import Program, vaswani
"""


@pytest.mark.parametrize(
    "code",
    [
        "assert not {'duckdb', 'apsw', 'sqlglot', 'pyterrier_pisa'} & set(sys.modules)",
        "for bm25 in ('recorded', 'live', 'terrier', 'pisa', 'counts'):\n"
        "    c = vaswani(bm25=bm25)\n"
        "    program = Program('top(10, bm25(query) + (E @ query))', c)\n"
        "    assert all(map(repr, (c, program, c.orient(), c.orient('bm25'), c.at().operands['bm25'].retriever)))\n"
        "    assert str(program) and 'Program' in pt.schematic.draw(program)",
        "from pyterrier_alg.datasets import VaswaniDataset\n"
        "dataset = VaswaniDataset()\n"
        "assert repr(dataset) and len(dataset.get_topics()) == 93 and len(dataset.get_qrels()) == 2083",
        "assert len(Program('top(10, bm25(query))', vaswani(bm25='counts')).run('wave guides')) == 10",
    ],
    ids=["import", "shown and drawn", "dataset", "search"],
)
def test_there_is_no_network_and_no_java(code, tmp_path):
    _python(_ALONE + code, IR_DATASETS_HOME=str(tmp_path))


def test_the_version_is_said_once():
    assert pyterrier_alg.__version__ == importlib.import_module("pyterrier_alg._version").__version__
