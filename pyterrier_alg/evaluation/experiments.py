"""PyTerrier's experiment over systems whose order does not hang on ties, and what ties could make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.evaluation._orders import plain_qrels
from pyterrier_alg.evaluation.measures import MeasureLike, named_measures, refuse_bad_cutoff, refuse_unsupported
from pyterrier_alg.evaluation.strict import StrictScores
from pyterrier_alg.evaluation.ties import TieBounds, tie_bounds
from pyterrier_alg.transformers.program import Program
from pyterrier_alg.transformers.stage import Stage

#: Mean response time, which PyTerrier's experiment measures itself.
_TIME = "mrt"


def experiment(
    retr_systems: Sequence[Any] | Mapping[str, Any],
    topics: pd.DataFrame,
    qrels: pd.DataFrame,
    eval_metrics: Iterable[MeasureLike],
    names: Sequence[str] | None = None,
    *,
    ties: bool = False,
    stand_ins: bool = True,
    perquery: bool | Literal["both"] = False,
    validate: Literal["error", "warn", "ignore"] = "error",
    **options: Any,
) -> Any:
    """`pt.Experiment`, where each system is evaluated in its own rank order, and ties can be looked at.

    Evaluation orders equal scores by docno, each measure in its own way, and takes scores that are equal as float32
    for equal. Here `StrictScores` stands behind each system, so that records are evaluated in rank order: score
    descending, then docno by code point. Two more things differ: the measures' columns stand in the order given, and
    a system whose values are the baseline's for every query has the p-value 1, where the tests give none, which a
    correction for several tests would take for significant.

    Args:
        retr_systems: transformers and results frames, in a list or by name.
        topics: `qid`, `query`.
        qrels: `qid`, `docno`, `label`.
        eval_metrics: measures of ir_measures, or trec_eval's names; `"mrt"`.
        names: one a system. Otherwise a program is called by its formula, a pipeline by its stages, a frame by its
            place; none by an address, and no two alike.
        ties: for columns with the least and the greatest value over all orders of exact ties, beside each measure's.
        stand_ins: whether `StrictScores` is put behind the systems; without it PyTerrier evaluates them as they are.
        perquery: as in `pt.Experiment`.
        validate: as in `pt.Experiment`, where a system that gives no results is only warned of by default.
        **options: all others of `pt.Experiment`: `baseline`, `test`, `correction`, `round`, `batch_size`, `plan`, …

    Returns:
        What `pt.Experiment` returns. With `ties` its frame has `map least` and `map greatest` beside `map`, or `least`
        and `greatest` beside `value` where it has one row a query.

    Raises:
        AlgebraError: `bad_argument`; `bad_qrels` for judgements that trec_eval cannot count; `bad_parameter` for a
            cut-off below 1, on which it ends the process; with `ties`, all that `tie_bounds` raises.

    Example:
        >>> run = pd.DataFrame({"qid": ["1"] * 2, "docno": ["b", "a"], "score": [1.0, 1.0], "rank": [0, 1]})
        >>> qrels = pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})
        >>> experiment([run], pt.new.queries(["x"]), qrels, ["map"], ties=True)
            name  map  map least  map greatest
        0  run 1  1.0        0.5           1.0
    """
    eval_metrics = list(eval_metrics)
    systems, names, options = _named(retr_systems, names, options)
    measures = [measure for measure in eval_metrics if measure != _TIME]
    qrels = plain_qrels(qrels)
    for measure in named_measures(measures).values() if measures else ():
        refuse_bad_cutoff(measure)
    if ties:
        _refuse_what_has_no_room_for_ties(measures, options)
    prepared, kept = [], []
    for system in systems:
        keeper = _Keeper()
        prepared.append(_prepared(system, stand_ins, keeper if ties else None))
        kept.append(keeper)
    if isinstance(options.get("test", "t"), str):
        options = options | {"test": _test(options.get("test", "t"))}
    found = pt.Experiment(
        prepared, topics, qrels, eval_metrics, names=names, perquery=perquery, validate=validate, **options
    )
    if not perquery and isinstance(found, pd.DataFrame):
        found = _in_order(found, list(named_measures(measures)) if measures else [])
    if not ties:
        return found
    if options.get("filter_by_topics", True):
        qrels = qrels[qrels["qid"].isin(topics["qid"])]
    bounds = {name: tie_bounds(keeper.run(name), qrels, measures) for name, keeper in zip(names, kept, strict=True)}
    digits = options.get("round")
    if perquery == "both":
        means, each = found
        return type(found)(_beside_means(means, bounds, digits), _beside_values(each, bounds, digits))
    return _beside_values(found, bounds, digits) if perquery else _beside_means(found, bounds, digits)


def readable_name(system: Any) -> str:
    """What an experiment calls a system: a program by its formula, a pipeline by its stages.

    Example:
        >>> readable_name(StrictScores() >> pt.RankCutoff(10))
        'StrictScores() >> RankCutoff(10)'
    """
    if isinstance(system, Program):
        return "; ".join(system.formula.unicode.splitlines())
    if isinstance(system, pt.Compose):
        return " >> ".join(map(readable_name, pt.inspect.subtransformers(system)["transformers"]))
    text = " ".join(str(system).split())
    return type(system).__name__ if re.search(r"\bat 0x[0-9a-fA-F]+", text) else text


@dataclass(frozen=True, eq=False, repr=False)
class _Keeper(Stage):
    """Hands results on, and keeps them; equal to itself only, since each keeps its own."""

    frames: list[pd.DataFrame] = field(default_factory=list)
    _sign = "Keep"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Keep them."""
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        self.frames.append(inp)
        return inp

    def __repr__(self) -> str:
        return "Keep()"

    def run(self, name: str) -> pd.DataFrame:
        """All results that passed, with their true scores."""
        # The empty ones are those of PyTerrier's inspection.
        frames = [frame for frame in self.frames if len(frame)]
        if not frames:
            message = f"{name!r} gave no results in this experiment, so its ties are not known"
            raise AlgebraError("bad_argument", message, 'a run that is read from save_dir: save_mode="overwrite"')
        return pd.concat([frame[["qid", "docno", "score"]] for frame in frames], ignore_index=True)


def _prepared(system: Any, stand_ins: bool, keeper: _Keeper | None) -> Any:
    """A system with what stands behind it."""
    if isinstance(system, pd.DataFrame):
        if keeper is not None:
            keeper.transform(system)
        return StrictScores()(system) if stand_ins else system
    if not isinstance(system, pt.Transformer):
        message = f"a system is a transformer or a results frame, not a {type(system).__name__}"
        raise AlgebraError("bad_argument", message)
    if keeper is not None:
        system = system >> keeper
    return system >> StrictScores() if stand_ins else system


def _named(
    systems: Sequence[Any] | Mapping[str, Any], names: Sequence[str] | None, options: dict[str, Any]
) -> tuple[list[Any], list[str], dict[str, Any]]:
    """The systems in a list, their names, and the baseline by its place."""
    if isinstance(systems, Mapping):
        given, systems = list(systems), list(systems.values())
        if isinstance(options.get("baseline"), str):
            if options["baseline"] not in given:
                raise AlgebraError("bad_argument", f"no system is called {options['baseline']!r}", ", ".join(given))
            options = options | {"baseline": given.index(options["baseline"])}
        return systems, given, options
    if not isinstance(systems, Sequence) or isinstance(systems, str):
        raise AlgebraError("bad_argument", f"systems are a list or a dict, not a {type(systems).__name__}")
    if names is not None:
        if len(names) != len(systems) or len(set(names)) < len(names):
            raise AlgebraError("bad_argument", f"{len(systems)} systems have as many names, all of them different")
        return list(systems), list(names), options
    found: list[str] = []
    for place, system in enumerate(systems, 1):
        name = f"run {place}" if isinstance(system, pd.DataFrame) else readable_name(system)
        found.append(name if name not in found else f"{name} ({place})")
    return list(systems), found, options


def _test(name: str) -> Callable[[Any, Any], tuple[float, float]]:
    """A paired test that has a p-value for no difference at all."""
    from scipy import stats  # type: ignore[import-untyped]

    tests = {"t": stats.ttest_rel, "wilcoxon": stats.wilcoxon}
    if name not in tests:
        raise AlgebraError("bad_argument", f"test is 't', 'wilcoxon' or a function, not {name!r}")

    def paired(first: Any, second: Any) -> tuple[float, float]:
        if np.array_equal(first, second):
            return 0.0, 1.0
        statistic, p = tests[name](first, second)[:2]
        return float(statistic), float(p)

    return paired


def _in_order(found: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    """The means of the measures first, in the order in which they were asked for; then what PyTerrier adds to each."""
    order = ["name", *measures]
    order += [c for c in found.columns if c not in order and not any(c.startswith(f"{m} ") for m in measures)]
    beside = [c for m in measures for c in found.columns if c.startswith(f"{m} ") and c not in order]
    return found[[*order, *dict.fromkeys(beside)]]


def _refuse_what_has_no_room_for_ties(measures: list[MeasureLike], options: Mapping[str, Any]) -> None:
    """Refuse before anything runs.

    Raises:
        AlgebraError: `bad_argument`, `unsupported`.
    """
    for measure in named_measures(measures).values():
        refuse_unsupported(measure)
    for option, fits in (("dataframe", True), ("highlight", None)):
        if options.get(option, fits) != fits:
            raise AlgebraError("bad_argument", f"ties are columns of a plain frame: leave {option} out")


def _beside_means(found: pd.DataFrame, bounds: Mapping[str, TieBounds], digits: Any) -> pd.DataFrame:
    means = {name: of.means.set_index("measure") for name, of in bounds.items()}
    found = found.copy()
    for measure in next(iter(means.values())).index:
        for which in ("greatest", "least"):
            values = [_rounded(float(means[name].loc[measure, which]), measure, digits) for name in found["name"]]
            found.insert(list(found.columns).index(measure) + 1, f"{measure} {which}", values)
    return found


def _beside_values(found: pd.DataFrame, bounds: Mapping[str, TieBounds], digits: Any) -> pd.DataFrame:
    tables = [of.per_query[["qid", "measure", "least", "greatest"]].assign(name=name) for name, of in bounds.items()]
    table = pd.concat(tables, ignore_index=True)
    for which in ("least", "greatest"):
        pairs = zip(table[which].tolist(), table["measure"].tolist(), strict=True)
        table[which] = [_rounded(value, measure, digits) for value, measure in pairs]
    return found.merge(table, on=["name", "qid", "measure"], how="left")


def _rounded(value: float, measure: str, digits: Any) -> float:
    places = digits.get(measure) if isinstance(digits, Mapping) else digits
    return value if places is None else round(value, places)
