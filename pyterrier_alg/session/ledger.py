"""Why a record has its score: every term's contribution, exactly, and its rank without each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.session._ablating import Without, ablated
from pyterrier_alg.session._accounts import Accountant, Reckoning
from pyterrier_alg.session._figures import exact, figure, nearest
from pyterrier_alg.session._layout import as_html, as_text, one_line, visible
from pyterrier_alg.session._rules import Quantity
from pyterrier_alg.session._situation import Place, Situation
from pyterrier_alg.transformers.program import Program

#: How many terms, those of greatest contribution, the program is run without.
ABLATIONS = 16

#: How many accounts, and terms of each, are shown.
_ACCOUNTS, _TERMS = 12, 20


@dataclass(frozen=True)
class Entry:
    """One term of an account.

    Attributes:
        term: its text.
        value: the record's score by it, or its number.
        weight: what it is multiplied by, exactly, the sign included; None where the account's rule does not add.
        factors: what the weight is made of besides signs: texts and values, of which those that begin with `1 /`
            are reciprocals.
        account: the number of the account that says how the value came about; None where it is bound.
        note: how it came by its value, where that is not its own score.
        without: the program without it; None where it was not run.
    """

    term: str
    value: float
    weight: Fraction | None = None
    factors: tuple[tuple[str, float], ...] = ()
    account: int | None = None
    note: str = ""
    without: Without | None = None

    @property
    def contribution(self) -> Fraction | None:
        """Value times weight, exactly; None where the account's rule does not add."""
        return None if self.weight is None else self.weight * Fraction(self.value)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values: floats are the nearest ones, `exact` is the contribution as `numerator/denominator`."""
        contribution = self.contribution
        return {
            "term": self.term,
            "value": self.value,
            "weight": None if self.weight is None else nearest(self.weight),
            "factors": [{"factor": factor, "value": value} for factor, value in self.factors],
            "contribution": None if contribution is None else nearest(contribution),
            "exact": None if contribution is None else exact(contribution),
            "account": self.account,
            "note": self.note or None,
            "without": None if self.without is None else self.without.to_dict(),
        }


@dataclass(frozen=True)
class Account:
    """How one expression's value for the record came about.

    Attributes:
        expression: its text.
        value: a float64.
        entries: the terms.
        rounding: the value minus what the entries add up to, exactly; None where the rule is not that they add up.
        bound: how large the rounding can be at most; None with `rounding`.
        rule: how the value comes from quantities and from x, the value of the first entry; empty for a plain sum.
        quantities: by name; what all records share, like a minimum, and what is this record's own, like a rank.
    """

    expression: str
    value: float
    entries: tuple[Entry, ...] = ()
    rounding: Fraction | None = None
    bound: Fraction | None = None
    rule: str = ""
    quantities: tuple[tuple[str, Quantity], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "expression": self.expression,
            "value": self.value,
            "rule": self.rule or None,
            "quantities": dict(self.quantities),
            "entries": [entry.to_dict() for entry in self.entries],
            "rounding": None if self.rounding is None else nearest(self.rounding),
            "rounding_exact": None if self.rounding is None else exact(self.rounding),
        }


@dataclass(frozen=True, repr=False)
class Ledger:
    """Why a record has its score and its rank.

    Attributes:
        docno: the record.
        program: its text.
        score: the defined one.
        rank: in the result, from 0.
        of: how many records the result has.
        accounts: the result's first, then those of its terms and factors, each expression once.
    """

    docno: str
    program: str
    score: float
    rank: int
    of: int
    accounts: tuple[Account, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The terms of the result."""
        return self.accounts[0].entries

    @property
    def rounding(self) -> Fraction | None:
        """What the terms' exact contributions lack of the score."""
        return self.accounts[0].rounding

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "docno": self.docno,
            "program": self.program,
            "score": self.score,
            "rank": self.rank,
            "of": self.of,
            "accounts": [account.to_dict() for account in self.accounts],
        }

    def __repr__(self) -> str:
        """The accounts, one table each; the longest are cut."""
        lines = [self._heading]
        for number, account in enumerate(self.accounts[:_ACCOUNTS]):
            lines += ["", f"[{number}] {_title(account)}"]
            if account.entries:
                columns, rows, notes = _table(account)
                lines += [f"  {line}" for line in as_text(columns, rows, numeric=_NUMERIC)] + [f"  {n}" for n in notes]
        return visible("\n".join([*lines, *self._more]))

    def _repr_html_(self) -> str:
        parts = [as_html(self._heading, (), ())]
        for number, account in enumerate(self.accounts[:_ACCOUNTS]):
            columns, rows, notes = _table(account) if account.entries else ((), [], [])
            parts.append(as_html(f"[{number}] {_title(account)}", columns, rows, notes))
        return "".join([*parts, *(as_html(line, (), ()) for line in self._more)])

    @property
    def _heading(self) -> str:
        return f"{self.docno}: score {self.score!r}, rank {self.rank:,} of {self.of:,} in {one_line(self.program)}"

    @property
    def _more(self) -> list[str]:
        more = len(self.accounts) - _ACCOUNTS
        return [f"… {more:,} more accounts"] if more > 0 else []


def why(program: Program, docno: str, topic: Topic | str | None = None, *, ablations: int = ABLATIONS) -> Ledger:
    """How a record of a program's result came by its score and rank.

    Contributions add up to the score exactly: they are fractions, and what float64 arithmetic rounded is a line of its
    own. Scores are the defined ones, whichever engine the program names. A term is taken out of the program as it is
    written: records that only that term did not score come in.

    Args:
        program: what was run.
        docno: a record of its result.
        topic: the query, as `Program.run` takes it.
        ablations: how many terms, those of greatest contribution, the program is run without, at most.

    Raises:
        AlgebraError: `unknown_docno`, for what is no record; `absent_record`, for one that is not in the result, of
            which `why_not` tells more; `bad_argument`.
        ProgramError: as `Program.run`.

    Example:
        >>> c = Collection(["d1", "d2"]).bind(S={"d1": 1.0, "d2": 3.0}, T={"d1": 4.0, "d2": 1.0})
        >>> why(Program("top(1, S + 0.5 T)", c), "d2")
        d2: score 3.5, rank 0 of 1 in top(1, S + 0.5 * T)
        <BLANKLINE>
        [0] S + 0.5 * T = 3.5
          term  value  weight  contribution  rank without
          S         3       1             3        1, cut
          T         1     0.5           0.5             0
          rounding 0
    """
    return ledger(Situation.of(program, topic), docno, ablations)


def ledger(situation: Situation, docno: str, ablations: int = ABLATIONS) -> Ledger:
    """The same for a formula over a scope."""
    position = situation.position(docno)
    result = situation.run()
    if docno not in result:
        message = f"{docno!r} is not among the {len(result):,} records of the result"
        raise AlgebraError("absent_record", message, f"why_not(program, {docno!r}) says why, and what would admit it")
    accountant = Accountant(situation.at(position))
    found = accountant.reckonings()
    numbers = {account.node: number for number, account in enumerate(found)}
    withouts = ablated(situation, docno, found, ablations)
    accounts = tuple(_written(account, numbers, withouts, accountant) for account in found)
    rank = result.docnos.tolist().index(docno)
    return Ledger(docno, situation.formula.ascii, float(result.scores[rank]), rank, len(result), accounts)


def _written(
    account: Reckoning, numbers: Mapping[Expression, int], withouts: Mapping[Place, Without], accountant: Accountant
) -> Account:
    def number(node: Expression) -> int | None:
        return numbers.get(accountant.passed(node, Place())[0])

    entries = []
    for term in account.terms:
        factors = tuple(
            (f"1 / {shown(node)}" if divides else shown(node), accountant.at.score(node) or 0.0)
            for node, divides in term.factors
        )
        without = withouts.get(term.summand) if term.summand is not None else None
        entries.append(Entry(shown(term.node), term.value, term.weight, factors, number(term.node), term.note, without))
    rounding = None
    if account.bound is not None:
        contributions = [entry.contribution for entry in entries if entry.contribution is not None]
        rounding = Fraction(account.value) - sum(contributions, Fraction(0))
    text, quantities = (account.rule.text, account.rule.quantities) if account.rule is not None else ("", ())
    return Account(shown(account.node), account.value, tuple(entries), rounding, account.bound, text, tuple(quantities))


_NUMERIC = ("value", "weight", "contribution", "rank without")


def _title(account: Account) -> str:
    rule = f" = {account.rule}" if account.rule else ""
    named = ", ".join(f"{name} {_short(value)}" for name, value in account.quantities)
    return f"{account.expression}{rule} = {account.value!r}" + (f"  ({named})" if named else "")


def _table(account: Account) -> tuple[tuple[str, ...], list[tuple[str, ...]], list[str]]:
    """Columns that have something in them, rows, and notes."""
    entries = sorted(account.entries, key=lambda entry: -abs(entry.contribution or Fraction(0)))
    shown_ones = account.entries if len(entries) <= _TERMS else entries[:_TERMS]
    columns = {"term": [entry.term for entry in shown_ones], "value": [figure(entry.value) for entry in shown_ones]}
    columns["weight"] = [figure(entry.weight) for entry in shown_ones]
    columns["of"] = [_factors(entry) for entry in shown_ones]
    columns["contribution"] = [figure(entry.contribution) for entry in shown_ones]
    columns["by"] = [entry.note for entry in shown_ones]
    columns["rank without"] = ["" if entry.without is None else str(entry.without) for entry in shown_ones]
    columns["account"] = ["" if entry.account is None else f"[{entry.account}]" for entry in shown_ones]
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    notes = []
    if len(entries) > _TERMS:
        rest = sum((entry.contribution or Fraction(0) for entry in entries[_TERMS:]), Fraction(0))
        notes.append(f"… {len(entries) - _TERMS:,} more terms, together {figure(rest)}")
    if account.rounding is not None:
        notes.append(f"rounding {figure(account.rounding, 3)}")
    return tuple(kept), list(zip(*kept.values(), strict=True)), notes


def _factors(entry: Entry) -> str:
    """What a weight is made of, where it is not a number that stands there."""
    named = [f"{factor} = {figure(value)}" for factor, value in entry.factors if not _is_figure(factor)]
    return " · ".join(named[:4]) + (" …" if len(named) > 4 else "")


def _is_figure(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(value: Quantity) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else figure(value)
