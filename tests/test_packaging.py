"""What is installed: every module, every datum, every entry point."""

import ast
import configparser
import importlib
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import pyterrier_alg

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
    "engines",
    "transformers",
    "laws",
    "parity",
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


@pytest.mark.parametrize("group", ["console_scripts", "pyterrier.artifact"])
def test_entry_points_are_installed_and_load(group):
    text = _settings()["options.entry_points"][group]
    wanted = dict(map(str.strip, line.split("=")) for line in text.strip().splitlines())
    ours = {e.name: e for e in entry_points(group=group) if e.value.startswith("pyterrier_alg")}
    assert {name: entry.value for name, entry in ours.items()} == wanted
    for entry in ours.values():
        assert callable(entry.load())


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


def test_importing_needs_no_java_and_no_network():
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise OSError('network')\n"
        "socket.socket.connect = refuse\n"
        "import pyterrier_alg\n"
        "from pyterrier_alg import Program, vaswani\n"
        "assert 'jnius' not in sys.modules and 'duckdb' not in sys.modules and 'apsw' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_version_is_said_once():
    assert pyterrier_alg.__version__ == importlib.import_module("pyterrier_alg._version").__version__
