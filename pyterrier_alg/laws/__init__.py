"""Laws that every engine keeps, which anyone can try on a new one.

Each law holds by the algebra's definition, whatever the data: an engine that breaks one is wrong, and the
counterexample is a program and data small enough to read. An engine whose scores are not the defined ones is held to
the laws within the error bounds that its results state.

    >>> from pyterrier_alg.engines.vectorised import VectorisedEngine
    >>> print(check_laws(VectorisedEngine(), examples=2))
    vectorised keeps all 16 laws (2 examples each, seed 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pyterrier_alg.algebra.errors import UnsupportedError
from pyterrier_alg.engines.engine import Engine
from pyterrier_alg.laws._laws import _TABLE, Law
from pyterrier_alg.laws._trials import Counterexample, Inapplicable, Trial, counterexample

__all__ = ["LAWS", "Counterexample", "Law", "LawReport", "Verdict", "check_laws"]

#: The laws, by name.
LAWS: Mapping[str, Law] = MappingProxyType(_TABLE)


@dataclass(frozen=True)
class Verdict:
    """What became of one law.

    Attributes:
        law: which.
        examples: how many trials were run, until one failed.
        counterexample: where it does not hold; None where it held in every trial.
        reason: why there was no trial; empty where there was one.
    """

    law: Law
    examples: int
    counterexample: Counterexample | None = None
    reason: str = ""

    @property
    def held(self) -> bool:
        """Whether no trial failed."""
        return self.counterexample is None

    def __str__(self) -> str:
        """A line, and the counterexample below it."""
        if self.counterexample is not None:
            shown = "\n".join("    " + line for line in str(self.counterexample).split("\n"))
            return f"BROKEN {self.law.name}: {self.law.statement}\n{shown}"
        return f"held   {self.law.name}" if self.examples else f"no try {self.law.name}: {self.reason}"


@dataclass(frozen=True)
class LawReport:
    """What became of the laws on one engine.

    Attributes:
        engine: its name.
        verdicts: one a law.
        examples: how many trials were asked for.
        seed: of the draws.
    """

    engine: str
    verdicts: tuple[Verdict, ...]
    examples: int
    seed: int

    @property
    def held(self) -> bool:
        """Whether no law is broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The laws that do not hold."""
        return tuple(verdict for verdict in self.verdicts if not verdict.held)

    def __str__(self) -> str:
        """One line where all holds; else every broken law with its counterexample, and what was not tried."""
        tried = [verdict for verdict in self.verdicts if verdict.examples]
        asked = f"({self.examples} examples each, seed {self.seed})"
        every = "all " if len(tried) == len(self.verdicts) else ""
        head = f"{self.engine} keeps {every}{len(tried) - len(self.broken)} laws {asked}"
        if self.broken:
            head = f"{self.engine} breaks {len(self.broken)} of {len(tried)} laws {asked}"
        return "\n".join([head, *(str(v) for v in self.verdicts if not (v.held and v.examples))])

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        laws = [
            {
                "name": verdict.law.name,
                "statement": verdict.law.statement,
                "held": verdict.held,
                "examples": verdict.examples,
                "counterexample": None if verdict.counterexample is None else vars(verdict.counterexample),
            }
            for verdict in self.verdicts
        ]
        return {"engine": self.engine, "seed": self.seed, "held": self.held, "laws": laws}


def check_laws(engine: Engine, *, seed: int = 0, examples: int = 30, laws: Iterable[Law] | None = None) -> LawReport:
    """Try laws on an engine.

    Args:
        engine: what is tried.
        seed: of the draws; the same seed tries the same programs over the same collections.
        examples: how many trials each law gets, over collections that grow from 1 record to 12.
        laws: which; all of `LAWS` where left out. A law of your own is a `Law` with a function over a trial.

    Returns:
        What held, and where what did not is broken. An error of the engine breaks the law that met it; a program that
        it says it cannot run (`UnsupportedError`) counts as no trial.

    Example:
        >>> from pyterrier_alg.engines.definition import DefinitionEngine
        >>> check_laws(DefinitionEngine(), examples=1, laws=[LAWS["twins"]]).held
        True
    """
    chosen = tuple(LAWS.values() if laws is None else laws)
    return LawReport(engine.name, tuple(_verdict(engine, law, seed, examples) for law in chosen), examples, seed)


def _verdict(engine: Engine, law: Law, seed: int, examples: int) -> Verdict:
    tried, reason = 0, "the engine can run none of the programs that were drawn"
    for i in range(examples):
        drawn, size = f"{seed} {law.name} {i}", 1 + i * 12 // examples
        try:
            failed = _failure(engine, law, drawn, size, ())
        except UnsupportedError:
            continue
        except Inapplicable as why:
            reason = str(why)
            continue
        tried += 1
        if failed is not None:
            return Verdict(law, tried, _smaller(engine, law, drawn, size, failed))
    return Verdict(law, tried, reason="" if tried else reason)


def _failure(engine: Engine, law: Law, seed: str, size: int, without: Iterable[str]) -> Counterexample | None:
    trial = Trial.of(engine, seed, size, without)
    try:
        law.trial(trial)
    except (UnsupportedError, Inapplicable):
        raise
    except Exception as fault:  # noqa: BLE001 - whatever an engine raises on a sound program is a finding
        return counterexample(trial, seed, fault)
    return None


def _smaller(engine: Engine, law: Law, seed: str, size: int, failed: Counterexample) -> Counterexample:
    """The same failure, or another of the same draw, with as few records as leaving out one after the other reaches."""
    without: tuple[str, ...] = ()
    for docno in Trial.of(engine, seed, size).case.docnos:
        try:
            smaller = _failure(engine, law, seed, size, (*without, docno))
        except (UnsupportedError, Inapplicable):
            continue
        if smaller is not None:
            without, failed = (*without, docno), smaller
    return failed
