"""Records that are dropped because one operand of a binary operator does not score them.

An inner join is how the algebra says "only these", so most records that are dropped are meant to be. One counts only
where all of this holds:

- an operand truly scores it: not by `fill`, which says that the other side is to decide;
- the other operand would not score it even without the masks and selections that are written inside it;
- a mask around the operator would have let it through;
- where one side searches (a scan, a retriever, `rrf`, `mmr`, what differs from query to query) and the other does not,
  the side that searches is the one that loses it: a weight or a boost for all records says nothing of what is found.

Where an operator leaves nothing at all of two operands that score something, every record counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Number, Retrieve
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.collection.operands import Positions
from pyterrier_alg.engines._relations import intersection, same
from pyterrier_alg.engines.arithmetic import POINTWISE
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.warnings.masks import CUTS, RESCALINGS
from pyterrier_alg.engines.warnings.reading import Reading, records, warning

_SEARCHES = frozenset({"@", "closeness", "rrf", "mmr"})
_NONE: Positions = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Domain:
    """Of a relation expression.

    Attributes:
        scored: its records but for those that `fill` gave a score.
        unselected: the records that it would score without the masks and selections written in it.
        searches: whether a search is in it.
    """

    scored: Positions
    unselected: Positions
    searches: bool


def one_sided_records(reading: Reading) -> Iterator[ProgramWarning]:
    """Records that one operand of `+`, `-` or `*` scores and the other does not; see the module for which count."""
    joins = [node for node in reading.applied("+", "-", "*") if all(map(reading.is_relation, node.arguments))]
    if all(_agree(reading, node) for node in joins):
        return
    domains, eligible = _domains(reading), _eligible(reading)
    for node in joins:
        if _agree(reading, node):
            continue
        left, right = node.arguments
        lost = [
            _lost(domains[a], domains[b], eligible[node]) if domains[a].searches or not domains[b].searches else _NONE
            for a, b in ((left, right), (right, left))
        ]
        wholes = [reading.relation(operand).positions for operand in node.arguments]
        if not len(reading.relation(node).positions) and all(map(len, wholes)):
            lost = wholes
        if any(map(len, lost)):
            yield _dropped(reading, node, lost)


def _agree(reading: Reading, node: Apply) -> bool:
    left, right = (reading.relation(operand).positions for operand in node.arguments)
    return same(left, right)


def _lost(of: _Domain, other: _Domain, eligible: Positions | None) -> Positions:
    lost = np.setdiff1d(of.scored, other.unselected, assume_unique=True)
    return lost if eligible is None else intersection(lost, eligible)


def _domains(reading: Reading) -> dict[Expression, _Domain]:
    """Of every relation expression."""
    found: dict[Expression, _Domain] = {}
    for node in reading.order:
        if reading.is_relation(node):
            found[node] = _domain(reading, node, [found[part] for part in reading.below(node) if part in found])
    return found


def _domain(reading: Reading, node: Expression, below: Sequence[_Domain]) -> _Domain:
    own = reading.relation(node).positions
    operator = node.operator if isinstance(node, Apply) else ""
    searches = any(domain.searches for domain in below) or operator in _SEARCHES or isinstance(node, Retrieve)
    if isinstance(node, Name) and not below:
        shared = reading.scope.shared
        searches = node.name == "input" or bool(shared and node.name not in shared)
    if operator == "fill":
        return _Domain(_NONE, own, searches)
    if operator in CUTS:
        return _Domain(own, below[-1].unselected, searches)
    if isinstance(node, Name) and below:
        return below[0]
    if operator == ">>":
        return _Domain(intersection(below[0].scored, own), below[0].unselected, searches)
    if operator in RESCALINGS or (operator in POINTWISE and len(below) == 1):
        return _Domain(below[0].scored, below[0].unselected, searches)
    if operator in POINTWISE:
        left, right = below
        scored = left.scored if same(left.scored, right.scored) else np.union1d(left.scored, right.scored)
        return _Domain(intersection(scored, own), intersection(left.unselected, right.unselected), searches)
    return _Domain(own, own, searches)


def _eligible(reading: Reading) -> dict[Expression, Positions | None]:
    """The records that the masks around each relation expression let through; None where that is all."""
    found: dict[Expression, Positions | None] = {reading.result: None}

    def met(part: Expression, positions: Positions | None) -> None:
        if part not in found:
            found[part] = positions
            return
        known = found[part]
        found[part] = None if known is None or positions is None else np.union1d(known, positions)

    for node in reversed(reading.order):
        around = found.get(node)
        if isinstance(node, Apply) and node.operator == ">>":
            mask = reading.mask(node.arguments[0])
            met(node.arguments[1], mask if around is None else intersection(mask, around))
            continue
        passes = isinstance(node, Name) or (isinstance(node, Apply) and node.operator in POINTWISE)
        for part in reading.below(node):
            if reading.is_relation(part):
                met(part, around if passes else None)
    return found


def _dropped(reading: Reading, node: Apply, lost: Sequence[Positions]) -> ProgramWarning:
    left, right = map(shown, node.arguments)
    kept = len(reading.relation(node).positions)
    said = []
    for positions, scoring, lacking in ((lost[0], left, right), (lost[1], right, left)):
        if len(positions):
            some = ", ".join(map(repr, reading.docnos(positions))) + (", …" if len(positions) > 3 else "")
            said.append(f"{records(len(positions))} ({some}) that {scoring} scores and {lacking} does not")
    return warning(
        "one_sided_records", f"{node.operator} keeps {records(kept)} and drops {' and '.join(said)}", node,
        _kept(node, [bool(len(positions)) for positions in lost]),
        left=left, right=right, kept=kept, dropped_by_left=len(lost[1]), dropped_by_right=len(lost[0]),
        examples=reading.docnos(lost[1]) + reading.docnos(lost[0]),
    )  # fmt: skip


def _kept(node: Apply, one_sided: Sequence[bool]) -> str:
    """How to keep what is dropped, and how to say that it is to be dropped."""
    neutral = Number(1.0 if node.operator == "*" else 0.0)
    left, right = node.arguments
    filled = [Apply("fill", (neutral, operand)) for operand in (left, right)]
    if all(one_sided):
        either = Apply("|", (Apply("support", (left,)), Apply("support", (right,))))
        edit: Expression = Apply(">>", (either, Apply(node.operator, tuple(filled))))
    else:
        edit = Apply(node.operator, (left, filled[1]) if one_sided[0] else (filled[0], right))
    lacking, losing = (left, right) if one_sided[1] else (right, left)
    return (
        f"to keep them, {shown(edit, 100)}; to say that they are to go, "
        f"{shown(Apply('>>', (Apply('support', (lacking,)), losing)), 60)} for {shown(losing)}"
    )
