"""Which measures have exact bounds over the orders of ties, and which order of tied records is best for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import AlgebraError

#: An `ir_measures.Measure`, or a name that PyTerrier takes for one: `"map"`, `"ndcg_cut_10"`.
MeasureLike: TypeAlias = Any

#: The measures of ir_measures that `tie_bounds` knows, and why putting the better of two neighbours first never lowers
#: them: what makes one better, whatever the cut-off, `rel`, `judged_only` or recall level.
SUPPORTED: Mapping[str, str] = {
    "P": "relevant first",
    "R": "relevant first",
    "RR": "relevant first",
    "AP": "relevant first",
    "Rprec": "relevant first",
    "Success": "relevant first",
    "IPrec": "relevant first",
    "Bpref": "relevant first",
    "nDCG": "larger gain first",
    "ERR": "larger grade first",
    "Judged": "judged first",
    "SetP": "order-free",
    "SetR": "order-free",
    "SetF": "order-free",
    "SetAP": "order-free",
}

#: By what tied records are ordered: their grades, whether they are judged, or gains (pairs of grade and gain).
Key: TypeAlias = str | tuple[tuple[int, int], ...]


def named_measures(measures: Iterable[MeasureLike]) -> dict[str, Any]:
    """The measures by the names that PyTerrier's experiments show.

    Args:
        measures: measures of ir_measures, or trec_eval's names.

    Raises:
        AlgebraError: `bad_argument` for what is none, or where there is none at all.

    Example:
        >>> named_measures(["map", "ndcg_cut_10"])
        {'map': AP, 'ndcg_cut_10': nDCG@10}
    """
    import ir_measures

    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise AlgebraError("bad_argument", f"measures are a list, not a {type(measures).__name__}", '["map"]')
    found: dict[str, Any] = {}
    for measure in measures:
        if isinstance(measure, str):
            try:
                several = ir_measures.parse_trec_measure(measure)
            except (ValueError, KeyError) as error:
                hint = "names are trec_eval's, as in PyTerrier; others are ir_measures' objects, such as nDCG @ 10"
                raise AlgebraError("bad_argument", f"no measure is called {measure!r}", hint) from error
            found |= {measure: several[0]} if len(several) == 1 else {str(m): m for m in several}
        elif isinstance(measure, ir_measures.Measure):
            found[str(measure)] = measure
        else:
            raise AlgebraError("bad_argument", f"a measure is one of ir_measures, not a {type(measure).__name__}")
    if not found:
        raise AlgebraError("bad_argument", "no measure is named", '["map"]')
    return found


def refuse_unsupported(measure: Any) -> None:
    """Refuse a measure whose best order of ties is not known.

    Raises:
        AlgebraError: `unsupported`, naming the measures that are supported; `bad_parameter`.
    """
    if measure.NAME not in SUPPORTED:
        message = f"no bounds over the orders of ties are known for {measure}"
        raise AlgebraError("unsupported", message, f"known are {', '.join(SUPPORTED)}, with any parameters")
    try:
        measure.validate_params()
    except AssertionError as error:
        raise AlgebraError("bad_parameter", f"{measure}: {error}") from error
    refuse_bad_cutoff(measure)
    recall = measure.params.get("recall")
    if recall is not None and not 0 <= recall <= 1:
        raise AlgebraError("bad_parameter", f"{measure}: a recall level is from 0 to 1, not {recall!r}")
    if "rel" in measure.SUPPORTED_PARAMS and measure["rel"] < 1:
        raise AlgebraError("bad_parameter", f"{measure}: rel is 1 or more; below it trec_eval mixes up the unjudged")
    gains = _gains(measure)
    if any(gain < 0 for gain in gains.values()):
        raise AlgebraError("bad_parameter", f"{measure}: trec_eval has no gains below 0")


def refuse_bad_cutoff(measure: Any) -> None:
    """Refuse a cut-off below 1, on which trec_eval ends the process.

    Raises:
        AlgebraError: `bad_parameter`.
    """
    cutoff = measure.params.get("cutoff")
    if cutoff is not None and (isinstance(cutoff, bool) or not isinstance(cutoff, int) or cutoff < 1):
        raise AlgebraError("bad_parameter", f"{measure}: a cut-off is a whole number, 1 or more, not {cutoff!r}")


def order_key(measure: Any) -> Key:
    """By what tied records are ordered for a measure.

    One order by grade serves all thresholds at once, since grade ≥ rel can only become true as grades rise.
    """
    if measure.NAME == "Judged":
        return "judged"
    gains = _gains(measure)
    return tuple(sorted(gains.items())) if gains else "grade"


def worth(key: Key, grades: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How good each record is for the measures of one key; the unjudged have the grade NaN.

    An unjudged record counts as much as one of grade 0 or less where thresholds are 1 or more and gains not negative,
    so it stands below 0 and above the negative grades.
    """
    judged = ~np.isnan(grades)
    if key == "judged":
        return judged.astype(np.float64)
    if key == "grade":
        return np.where(judged, grades, -0.5)
    gains = dict(key) if isinstance(key, tuple) else {}
    return np.array([0.0 if np.isnan(g) else max(float(gains.get(int(g), int(g))), 0.0) for g in grades.tolist()])


def _gains(measure: Any) -> dict[int, int]:
    given = measure.params.get("gains")
    return dict(given) if given else {}
