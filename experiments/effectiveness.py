"""What programs find on Vaswani, with what ties could make of it, and what chance could.

    python experiments/effectiveness.py            # writes effectiveness.json and docs/effectiveness.md
    python experiments/effectiveness.py --check    # runs everything again and compares with what is recorded

BM25 by Terrier and by PISA take part where their software and Vaswani's texts are on this machine; where they are not,
writing keeps what is recorded of them, and checking leaves it out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import pyterrier as pt

from pyterrier_alg import AlgebraError, Program, vaswani
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.evaluation import experiment

HERE = Path(__file__).parent
RECORD = HERE / "effectiveness.json"
PAGE = HERE.parent / "docs" / "effectiveness.md"

BASELINE = "BM25, recorded"
MEASURES = (ir_measures.nDCG @ 10, ir_measures.P @ 10, ir_measures.RR @ 10, ir_measures.AP @ 100, ir_measures.R @ 100)
#: Results are cut here, those of all systems.
DEPTH = 100
#: Recorded numbers have this many digits behind the point, and agree to within one of the last.
DIGITS = 6

_BM25 = "top(100, bm25(query))"
_DENSE = "top(100, E @ query)"
_RERANKER = "top(100, minmax(input) + 0.5 (E @ query))"

#: Name, program, and what it is, in words. The coefficients were not tuned: each is the first that was written down.
PROGRAMS: Mapping[str, tuple[str, str]] = {
    BASELINE: (_BM25, "What Terrier gave, looked up."),
    "BM25 over counts": (_BM25, "Computed from the shipped counts of terms, without stemming or stop words."),
    "dense": (_DENSE, "Cosine of signed-hash vectors of raw counts: no training, no weighting of terms."),
    "contrastive": (
        "top(100, (E @ query) − 0.5 (E @ centroid(E, all)))",
        "Favours the query, suppresses what all documents have in common.",
    ),
    "pool re-ranking": (
        "top(100, support(bm25(query, 100)) ▷ (E @ query))",
        "BM25's pool in the order of the vectors.",
    ),
    "re-ranker": (
        f"bm25 % 100 >> {_RERANKER}",
        "A program behind a first stage: BM25's own scores count, the vectors correct them.",
    ),
    "full composition": (
        "pool = bm25(query, 100)\n"
        "top(100, maxnorm(pool) ⊙ (support(pool) ▷ ((E @ query) − 0.5 (E @ centroid(E, all)))))",
        "The contrast within BM25's pool, weighted by its scores.",
    ),
    "hybrid by RRF": ("top(100, rrf(bm25(query), E @ query))", "Reciprocal rank fusion of both, k = 60."),
}

#: Name, and what `vaswani(bm25=…)` calls it.
LIVE: Mapping[str, str] = {"BM25, Terrier": "terrier", "BM25, PISA": "pisa"}

_INTRODUCTION = """# Effectiveness

{topics} topics of Vaswani, {judgements:,} judgements, results cut at {depth}; written by
`python experiments/effectiveness.py`.

**This is no claim of better search.** Vaswani is small and old. The vectors here hash words and know no
meaning, no coefficient was tuned, and BM25 alone is better than most of what follows. What the page shows is
that programs can be evaluated, and how far the numbers can be trusted: what the order of ties could have made of
them, and what chance could.

## Systems

| system | program | |
|---|---|---|"""

_MEANS = """
## Means

Each system is evaluated in its own rank order: score descending, then docno by code point. In brackets is the
least and the greatest value over all orders of exactly tied documents, where they differ in the digits shown; `*`
where the difference to *{baseline}* is significant (paired t-test, Holm's correction over the systems of the
table, 0.05)."""

_DIFFERENCES = """
## Against {baseline}

*Better* and *worse* count topics. *Whatever the order of ties* tells whether the difference of the means keeps its
sign in every order of the ties of both: `above` or `below` where it does, `equal` where there is never a
difference, `open` where it hangs on ties. Each system's ties are ordered by themselves, so one that finds what the
baseline finds is `open` too.

| system | measure | difference | better | worse | p, corrected | whatever the order of ties |
|---|---|---|---|---|---|---|"""

_AS_SCORED = """
## Without stand-in scores

PyTerrier hands scores to evaluation, which breaks ties by docno in the measure's own way, and reads scores as
float32 for some. So the same results get other values when they are evaluated as they are; here the systems and
measures for which that is so.

| system | measure | in rank order | as they are |
|---|---|---|---|"""

_LIMITS = """
## Limits

One collection, short topics of which only the words are known, one encoder without training, one depth. Tie bounds
say nothing about chance, p-values nothing about ties; the bounds are over the orders of the results that there
are, and a tie that the cut at 100 went through is not undone. Terrier's and PISA's rows were made where both were
installed."""


def systems(names: Sequence[str] = tuple(PROGRAMS)) -> dict[str, pt.Transformer]:
    """The systems that need nothing but the package."""
    recorded, counts = vaswani(), vaswani(bm25="counts")
    made: dict[str, pt.Transformer] = {}
    for name in names:
        collection = counts if name == "BM25 over counts" else recorded
        if name == "re-ranker":
            made[name] = Program(_BM25, collection) >> Program(_RERANKER, collection)
        else:
            made[name] = Program(PROGRAMS[name][0], collection)
    return made


def live_systems() -> dict[str, pt.Transformer]:
    """The systems that this machine is ready for."""
    made: dict[str, pt.Transformer] = {}
    home = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets"))
    if not (home / "vaswani" / "docs.txt").is_file():
        print(f"nothing is searched live: {home} does not have Vaswani's texts", file=sys.stderr)
        return made
    topic = load_vaswani().topics().head(1)
    for name, provider in LIVE.items():
        if provider == "pisa" and find_spec("pyterrier_pisa") is None:
            continue
        program = Program(_BM25, vaswani(bm25=provider))  # type: ignore[arg-type]
        try:
            program(topic)
        except AlgebraError as error:
            print(f"without {name}: {error.message}", file=sys.stderr)
            continue
        made[name] = program
    return made


def evaluate(these: Mapping[str, pt.Transformer]) -> dict[str, Any]:
    """The results of systems, of which the baseline is one.

    Args:
        these: by name.

    Returns:
        By system and measure, rounded.
    """
    data = load_vaswani()
    topics, qrels = data.topics(), data.qrels()
    # Each runs once: its results are evaluated twice.
    runs = {name: system(topics) for name, system in these.items()}
    found = experiment(runs, topics, qrels, MEASURES, ties=True, baseline=BASELINE, correction="holm")
    plain = experiment(runs, topics, qrels, MEASURES, stand_ins=False).set_index("name")
    base = found.set_index("name").loc[BASELINE]
    results: dict[str, Any] = {}
    for _, row in found.iterrows():
        results[row["name"]] = {
            str(measure): _result(row, base, str(measure))
            | {"as_scored": _number(plain.loc[row["name"], str(measure)])}
            for measure in MEASURES
        }
    return results


def _result(row: pd.Series[Any], base: pd.Series[Any], measure: str) -> dict[str, Any]:
    least, greatest = f"{measure} least", f"{measure} greatest"
    result: dict[str, Any] = {
        "least": _number(row[least]),
        "value": _number(row[measure]),
        "greatest": _number(row[greatest]),
    }
    if row["name"] == BASELINE:
        return result
    low, high = row[least] - base[greatest], row[greatest] - base[least]
    order = "above" if low > 0 else "below" if high < 0 else "equal" if low == high == 0 else "open"
    return result | {
        "better": int(row[f"{measure} +"]),
        "worse": int(row[f"{measure} -"]),
        "p": _number(row[f"{measure} p-value corrected"]),
        "significant": bool(row[f"{measure} reject"]),
        "whatever_the_order": order,
    }


def _number(value: float) -> float:
    return round(float(value), DIGITS)


def record() -> dict[str, Any]:
    """Run everything that can be run here."""
    data = load_vaswani()
    live = live_systems()
    found = evaluate(systems())
    return {
        "topics": len(data.topics()),
        "judgements": len(data.qrels()),
        "depth": DEPTH,
        "baseline": BASELINE,
        "results": found,
        "live": {n: r for n, r in evaluate(systems([BASELINE]) | live).items() if n != BASELINE} if live else {},
    }


def differences(first: Any, second: Any, place: str = "") -> list[str]:
    """Where two records differ by more than the last digit.

    A system that only one of the two has among the live ones is no difference.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [key for key in {**first, **second} if place != "/live" or (key in first and key in second)]
        return [d for key in keys for d in differences(first.get(key), second.get(key), f"{place}/{key}")]
    if isinstance(first, float) and isinstance(second, float):
        return (
            [] if math.isclose(first, second, rel_tol=0, abs_tol=1.5 * 10**-DIGITS) else [f"{place}: {first} {second}"]
        )
    return [] if first == second else [f"{place}: {first} {second}"]


def page(recorded: Mapping[str, Any]) -> str:
    """The record as a page.

    Args:
        recorded: what `record` gives.
    """
    results, live, baseline = recorded["results"], recorded["live"], recorded["baseline"]
    lines = [_INTRODUCTION.format(**recorded)]
    for name, (program, words) in PROGRAMS.items():
        lines.append(f"| {name} | {'<br>'.join(f'`{line}`' for line in program.splitlines())} | {words} |")
    for name, provider in LIVE.items():
        lines.append(f'| {name} | `{_BM25}` | Searched live, over `vaswani(bm25="{provider}")`. |')
    lines.append(_MEANS.format(baseline=baseline))
    lines += _means(results)
    if live:
        lines += ["", "Searched live, with tests of their own:"]
        lines += _means(live)
    lines.append(_DIFFERENCES.format(baseline=baseline))
    everything = results | live
    for name, measures in everything.items():
        for measure, result in measures.items():
            if name != baseline:
                lines.append(_difference(name, measure, result, results[baseline][measure]["value"]))
    lines.append(_AS_SCORED)
    for name, measures in everything.items():
        for measure, result in measures.items():
            ours, theirs = f"{result['value']:.4f}", f"{result['as_scored']:.4f}"
            if ours != theirs:
                lines.append(f"| {name} | {measure} | {ours} | {theirs} |")
    lines.append(_LIMITS)
    return "\n".join(lines) + "\n"


def _means(results: Mapping[str, Any]) -> list[str]:
    measures = list(map(str, MEASURES))
    lines = ["", f"| system | {' | '.join(measures)} |", f"|---|{'---|' * len(measures)}"]
    for name, found in results.items():
        lines.append(f"| {name} | {' | '.join(_mean(found[measure]) for measure in measures)} |")
    return lines


def _mean(result: Mapping[str, Any]) -> str:
    least, value, greatest = (f"{result[which]:.4f}" for which in ("least", "value", "greatest"))
    bounds = "" if least == greatest else f" [{least}, {greatest}]"
    return value + ("*" if result.get("significant") else "") + bounds


def _difference(name: str, measure: str, result: Mapping[str, Any], base: float) -> str:
    p = "< 0.0001" if result["p"] < 1e-4 else f"{result['p']:.4f}"
    difference = f"{result['value'] - base:+.4f}".replace("-", "−")
    cells = [name, measure, difference, result["better"], result["worse"], p, result["whatever_the_order"]]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Run, and record or compare; 0 where it is as recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    checking = parser.parse_args().check
    found = record()
    recorded = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {"live": {}}
    if checking:
        differing = differences(recorded, found)
        if not PAGE.is_file() or PAGE.read_text("utf-8") != page(recorded):
            differing.append(f"{PAGE.name} is not what would be written")
        print("\n".join(differing) or "as recorded")
        return 1 if differing else 0
    found["live"] = {name: found["live"].get(name, recorded["live"].get(name)) for name in LIVE}
    found["live"] = {name: results for name, results in found["live"].items() if results}
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
