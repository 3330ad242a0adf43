"""The least and the greatest value of a measure over all orders of tied records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.evaluation._orders import COLUMNS, Judged, evaluations
from pyterrier_alg.evaluation.measures import MeasureLike, named_measures, order_key, refuse_unsupported


@dataclass(frozen=True, eq=False)
class TieBounds:
    """What a run's measures can be, over all orders of the records that tie.

    Attributes:
        per_query: one row a judged query and measure: `qid`, `measure`, `least`, `value`, `evaluated`, `greatest`,
            `tied` (how many of the query's records share their score with another). `value` is for our rank order;
            `evaluated` is what ir_measures says of the scores as they are, with its own order of ties.
        precision: at which scores tie.
    """

    per_query: pd.DataFrame = field(repr=False)
    precision: Literal["float64", "float32"] = "float64"

    @property
    def means(self) -> pd.DataFrame:
        """Over all judged queries: `measure`, the means of `least`, `value`, `evaluated` and `greatest`, and `open`.

        `open` counts the queries whose least and greatest value differ. Ties of different queries are broken
        independently of each other, so the mean's bounds are the means of the bounds.
        """
        groups = self.per_query.assign(open=self.per_query["least"] < self.per_query["greatest"])
        grouped = groups.groupby("measure", sort=False)
        means = grouped[list(COLUMNS)].mean()
        return means.assign(open=grouped["open"].sum().astype("int64")).reset_index()

    def compare(self, other: TieBounds) -> pd.DataFrame:
        """How this run's means stand to another's, whatever the order of ties in either.

        Args:
            other: of the same queries and measures.

        Returns:
            One row a measure: `measure`, `least`, `value`, `greatest` (of the difference, this minus the other), and
            `verdict`: `above` or `below` where that holds in every order, `equal` where there is never a difference,
            else `open`. It is about ties only: a difference may hold in every order and still be chance.

        Raises:
            AlgebraError: `bad_argument`.
        """
        if not isinstance(other, TieBounds):
            raise AlgebraError("bad_argument", f"bounds are compared with bounds, not with a {type(other).__name__}")
        keys = ["qid", "measure"]
        if set(map(tuple, self.per_query[keys].to_numpy())) != set(map(tuple, other.per_query[keys].to_numpy())):
            raise AlgebraError("bad_argument", "the two have other queries or measures", "use the same qrels for both")
        mine, theirs = self.means, other.means.set_index("measure").loc[self.means["measure"]].reset_index()
        least, greatest = mine["least"] - theirs["greatest"], mine["greatest"] - theirs["least"]
        verdict = np.select(
            [least > 0, greatest < 0, (least == 0) & (greatest == 0)], ["above", "below", "equal"], "open"
        )
        value = mine["value"] - theirs["value"]
        columns = {"measure": mine["measure"], "least": least, "value": value, "greatest": greatest}
        return pd.DataFrame(columns).assign(verdict=verdict)

    def __repr__(self) -> str:
        """The means, and how many records tie."""
        tied = self.per_query.drop_duplicates("qid")["tied"]
        what = "scores" if self.precision == "float64" else "float32 scores"
        head = f"TieBounds: {len(tied):,} queries, {int((tied > 0).sum()):,} of them with equal {what}"
        rows: list[tuple[str, ...]] = [("measure", *COLUMNS, "open")]
        for row in self.means.itertuples(index=False):
            rows.append((str(row[0]), *(f"{value:.4f}" for value in row[1:5]), str(row[5])))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([head, *lines])


def tie_bounds(
    run: pd.DataFrame,
    qrels: pd.DataFrame,
    measures: Iterable[MeasureLike],
    *,
    precision: Literal["float64", "float32"] = "float64",
) -> TieBounds:
    """The least and the greatest value that each measure can take over all orders of a run's tied records.

    All measures in `SUPPORTED` never fall when, of two neighbours, the better one goes first. So the best order of a
    group of ties is the best records first, the worst is the reverse; ir_measures evaluates both. The means of a run
    that has no ties, and of one that the ties do not touch, have least = greatest.

    Queries that are judged and absent from the run count with 0, those of the run that are not judged are left out, as
    in ir_measures. Labels below 1 are not relevant, and gain nothing. The orders are those of the records that are in
    the run: where it was cut within a tie, what is missing stays missing.

    Args:
        run: results: `qid`, `docno`, `score`.
        qrels: `qid`, `docno`, `label` (whole numbers).
        measures: measures of ir_measures, or trec_eval's names, of those in `SUPPORTED`.
        precision: records tie where their scores are equal as `"float64"`, or as `"float32"`: trec_eval reads scores
            so, and breaks many more ties than there are. `evaluated` may lie outside the bounds at float64.

    Returns:
        Bounds for each query and measure; its print shows the means.

    Raises:
        AlgebraError: `unsupported`, naming the supported measures, or what ir_measures lacks for one; `bad_parameter`,
            `bad_argument`; `kind`, `non_finite`, `duplicate_docno`, `bad_qid`, `bad_docno`, `bad_operand` for the run
            or the qrels; `bad_qrels`, where there are none, labels that are no whole numbers, or a query whose labels
            are all below 0, on which trec_eval may never end.

    Example:
        >>> run = pd.DataFrame({"qid": ["1"] * 3, "docno": ["a", "b", "c"], "score": [2.0, 1.0, 1.0]})
        >>> qrels = pd.DataFrame({"qid": ["1"], "docno": ["c"], "label": [1]})
        >>> tie_bounds(run, qrels, ["recip_rank", "P_1"])
        TieBounds: 1 queries, 1 of them with equal scores
        measure      least   value  evaluated  greatest  open
        recip_rank  0.3333  0.3333     0.5000    0.5000     1
        P_1         0.0000  0.0000     0.0000    0.0000     0
    """
    if precision not in ("float64", "float32"):
        raise AlgebraError("bad_argument", f"precision is 'float64' or 'float32', not {precision!r}")
    named = named_measures(measures)
    for measure in named.values():
        refuse_unsupported(measure)
    judged = Judged.of(run, qrels, precision)
    values: dict[tuple[str, str], dict[str, float]] = {}
    for key in dict.fromkeys(map(order_key, named.values())):
        mine = [measure for measure in named.values() if order_key(measure) == key]
        for column, found in evaluations(mine, judged, key).items():
            for (qid, measure), value in found.items():
                values.setdefault((qid, str(measure)), {})[column] = value
    rows = [
        {"qid": qid, "measure": name, **values[qid, str(measure)], "tied": tied}
        for qid, tied in judged.tied().items()
        for name, measure in named.items()
    ]
    return TieBounds(pd.DataFrame(rows, columns=["qid", "measure", *COLUMNS, "tied"]), precision)
