"""Tests of programs: small files that bind what a program may name, and say what it must give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyterrier_alg.testing.files import SUFFIX, ProgramTest, ProgramTestFile, read_program_tests
    from pyterrier_alg.testing.outcomes import Outcome, Report
    from pyterrier_alg.testing.running import run_program_test, run_program_tests

# pytest loads the plugin of this folder in every run, so that nothing heavy may come with it.
_HOMES = {
    "SUFFIX": "files",
    "Outcome": "outcomes",
    "ProgramTest": "files",
    "ProgramTestFile": "files",
    "Report": "outcomes",
    "read_program_tests": "files",
    "run_program_test": "running",
    "run_program_tests": "running",
}

__all__ = [
    "SUFFIX",
    "Outcome",
    "ProgramTest",
    "ProgramTestFile",
    "Report",
    "read_program_tests",
    "run_program_test",
    "run_program_tests",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'pyterrier_alg.testing' has no attribute {name!r}")
    return getattr(import_module(f"pyterrier_alg.testing.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
