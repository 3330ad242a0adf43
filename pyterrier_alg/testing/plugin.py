"""pytest runs files of program tests, `*.alg.toml`, as it runs modules of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyterrier_alg.testing import Outcome, ProgramTest
    from pyterrier_alg.testing import ProgramTestFile as ReadFile

# Known here so that pytest loads nothing of the package until there is such a file.
_SUFFIX = ".alg.toml"


class Hooks:
    """What a `conftest.py` may define."""

    @pytest.hookspec(firstresult=True)
    def pytest_alg_collections(self, config: pytest.Config) -> Mapping[str, Any] | None:
        """Collections that files may `use`, by name, or functions that make them."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let `conftest.py` name collections."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files of program tests."""
    if not file_path.name.endswith(_SUFFIX):
        return None
    collected: pytest.Collector = ProgramTestFile.from_parent(parent, path=file_path)
    return collected


class ProgramTestFile(pytest.File):
    """A file of program tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Its tests, one an engine."""
        from pyterrier_alg.algebra.errors import AlgebraError
        from pyterrier_alg.testing.files import read_program_tests
        from pyterrier_alg.testing.running import engines_of

        try:
            file = read_program_tests(self.path, self.config.hook.pytest_alg_collections(config=self.config) or {})
        except AlgebraError as error:
            raise self.CollectError(str(error)) from None
        for test in file.tests:
            for engine in engines_of(test):
                yield ProgramTestItem.from_parent(
                    self, name=f"{test.name}[{engine}]", file=file, test=test, engine=engine
                )


class ProgramTestFailure(Exception):  # noqa: N818 - pytest calls it so too
    """A program test that does not hold."""

    def __init__(self, outcome: Outcome) -> None:
        """Keep what came of it."""
        super().__init__(outcome)
        self.outcome = outcome


class ProgramTestItem(pytest.Item):
    """One test on one engine."""

    def __init__(self, *, file: ReadFile, test: ProgramTest, engine: str, **settings: Any) -> None:
        """Keep what is run."""
        super().__init__(**settings)
        self.file, self.test, self.engine = file, test, engine

    def runtest(self) -> None:
        """Run it.

        Raises:
            ProgramTestFailure: where it does not hold.
        """
        from pyterrier_alg.testing.running import run_program_test

        outcome = run_program_test(self.file, self.test, self.engine)
        if not outcome.passed:
            raise ProgramTestFailure(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """The outcome as people read it; what cannot be bound as its message; anything else as pytest shows it."""
        from pyterrier_alg.algebra.errors import AlgebraError

        if isinstance(excinfo.value, ProgramTestFailure):
            return str(excinfo.value.outcome)
        if isinstance(excinfo.value, AlgebraError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands."""
        return self.path, self.test.line - 1, self.name
