"""Why a record is absent from a result, and the smallest single edits of the program that admit it, each one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.session._edits import Editor
from pyterrier_alg.session._layout import as_html, as_text, one_line, visible
from pyterrier_alg.session._reasons import Reason, Tracer
from pyterrier_alg.session._situation import Situation
from pyterrier_alg.session._trying import Edit
from pyterrier_alg.transformers.program import Program

#: How many edits are shown.
_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Absence:
    """Why a record is absent.

    Attributes:
        docno: the record.
        program: its text.
        reason: the first one, from the result down.
        edits: single edits that admit it, verified by running them: those of numbers first, by how little they change
            relatively, then the others. Empty where none of those tried does.
        tried: how many were.
    """

    docno: str
    program: str
    reason: Reason
    edits: tuple[Edit, ...] = ()
    tried: int = 0

    @property
    def edit(self) -> Edit | None:
        """The smallest edit that admits it; None where none of those tried does."""
        return self.edits[0] if self.edits else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "docno": self.docno,
            "program": self.program,
            "reason": self.reason.to_dict(),
            "edits": [edit.to_dict() for edit in self.edits],
            "tried": self.tried,
        }

    def __repr__(self) -> str:
        """The reason, and the edits, a line each."""
        lines = [self._heading, f"  {one_line(self.reason.message, 200)}", *(f"  {note}" for note in self._notes)]
        lines += [f"    {line}" for line in as_text(_COLUMNS, self._rows, numeric=("rank then",))]
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        return as_html(self._heading, _COLUMNS if self.edits else (), self._rows, [self.reason.message, *self._notes])

    @property
    def _heading(self) -> str:
        return f"{self.docno} is absent from {one_line(self.program)}: {self.reason.code} at {self.reason.expression}"

    @property
    def _notes(self) -> list[str]:
        if not self.tried:
            return ["no edit of the program admits it"]
        if not self.edits:
            return [f"no single edit of the {self.tried:,} tried admits it"]
        return [f"single edits that admit it, {len(self.edits):,} of {self.tried:,} tried, each one run:"]

    @property
    def _rows(self) -> list[tuple[str, str]]:
        return [(edit.change, f"{edit.rank:,}") for edit in self.edits[:_SHOWN]]


_COLUMNS = ("edit", "rank then")


def why_not(program: Program, docno: str, topic: Topic | str | None = None) -> Absence:
    """Why a record of the collection is absent from a program's result, and what would admit it.

    The edits tried are: a larger k, n or depth; another value for a coefficient in an affine place below the cut (at
    most 24 of them, those in directions too), where a term without one has the coefficient 1; another number or day in
    the comparison that leaves the record out; one more value in `isin` or `ids`; the clause, or the whole mask,
    dropped; `fill` around the operand of a sum (0) or product (1) that does not score it. A changed number is the first
    float64, count or day that admits the record: with its neighbour, nearer to what the program has, it is still
    absent. Where a coefficient admits it in several intervals, the nearest above and below are looked at. Scores are
    the defined ones, whichever engine the program names.

    Args:
        program: what was run.
        docno: a record that is not in its result.
        topic: the query, as `Program.run` takes it.

    Raises:
        AlgebraError: `unknown_docno`, for what is no record; `present_record`, for one that is in the result, of which
            `why` tells more; `bad_argument`.
        ProgramError: as `Program.run`.

    Example:
        >>> c = Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 3.0}, T={"d1": 4.0, "d2": 1.0})
        >>> why_not(Program("top(1, S + 0.5 T)", c), "d1")
        d1 is absent from top(1, S + 0.5 * T): below_cut at top(1, S + 0.5 * T)
          rank 1 of 2 records, top(1, …) takes 1: beaten at the cut by 'd2' by 0.5
          single edits that admit it, 3 of 3 tried, each one run:
            edit                                              rank then
            coefficient of S at most 0.75 instead of 1                0
            0.5 at least 0.6666666666666666 in 0.5 * T                0
            k at least 2 instead of 1 in top(1, S + 0.5 * T)          1
    """
    return absence(Situation.of(program, topic), docno)


def absence(situation: Situation, docno: str) -> Absence:
    """The same for a formula over a scope."""
    position = situation.position(docno)
    if docno in situation.run():
        message = f"{docno!r} is in the result"
        raise AlgebraError("present_record", message, f"why(program, {docno!r}) says how it came by its score")
    at = situation.at(position)
    trace = Tracer(at).trace()
    editor = Editor(situation, docno, at)
    edits = tuple(editor.edits(trace))
    return Absence(docno, situation.formula.ascii, trace.reason, edits, editor.tried)
