"""The first reason that a program leaves a record out, from the result down, and where each edit could begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Retrieve
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.operands import ColumnOperand, MatrixOperand, RelationOperand, RetrieverOperand
from pyterrier_alg.engines._relations import maximal_marginal_relevance
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.relation import rank_order
from pyterrier_alg.session._figures import figure, records
from pyterrier_alg.session._rules import literal, rank_in
from pyterrier_alg.session._situation import AtRecord, Place

#: How many records `mmr` is let to choose to see when it would choose this one.
_CHOICES = 200


@dataclass(frozen=True)
class Reason:
    """Why a record is absent.

    Attributes:
        code: `not_in_pool`, `not_in_mask`, `no_score`, `no_vector`, `no_value`, `not_retrieved`, `below_depth`,
            `below_cut`, `below_group_cut`, `not_chosen`.
        message: one line.
        expression: the text of what leaves it out.
        details: the figures in the message, by name.
    """

    code: str
    message: str
    expression: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "code": self.code,
            "message": self.message,
            "expression": self.expression,
            "details": dict(self.details),
        }


@dataclass(frozen=True)
class Obstacle:
    """What an edit could begin with.

    Attributes:
        node: the expression that leaves the record out.
        place: where it stands.
        needed: the count from which it would not, where it has one.
        score: the value that the record has in a comparison, or in a column; None where it has none.
        wanted: whether a mask should hold the record, or should not.
        mask: the place of the restriction that a mask belongs to.
    """

    node: Expression
    place: Place
    needed: int | None = None
    score: float | str | None = None
    wanted: bool = True
    mask: Place | None = None


@dataclass
class Trace:
    """The way from the result to the first reason.

    Attributes:
        reason: the first one.
        obstacle: what gave it.
        joins: operands on the way that do not score the record, where the other side of a sum or product may.
    """

    reason: Reason
    obstacle: Obstacle | None = None
    joins: list[tuple[Apply, Place, int]] = field(default_factory=list)


class Tracer:
    """Finds out why a program leaves one record out."""

    def __init__(self, at: AtRecord) -> None:
        """Begin at the result."""
        self.at, self.situation = at, at.situation
        self.joins: list[tuple[Apply, Place, int]] = []

    def trace(self) -> Trace:
        """The first reason."""
        pool = self.situation.pool
        if pool is not None and not self.at.within(Name(pool)):
            return Trace(Reason("not_in_pool", "it is not among the records that came in", "input"))
        node, place = self.situation.meant.result, Place()
        while True:
            node, place = self.situation.named(node, place)
            found = self._look(node, place)
            if isinstance(found, Trace):
                found.joins = self.joins
                return found
            node, place = node.parts[found], place.part(found)

    def _look(self, node: Expression, place: Place) -> Trace | int:
        """The reason, where this expression is it, or which of its parts has the reason."""
        if isinstance(node, Retrieve):
            return self._retrieve(node, place)
        if isinstance(node, Name):
            return self._stop("no_score", f"{shown(node)} does not score it", node, place)
        if not isinstance(node, Apply):
            raise TypeError(f"{shown(node)} is no relation")
        match node.operator:
            case ">>":
                return 1 if self.at.within(node.arguments[0]) else self._mask(node, place)
            case "top":
                return 1 if self._misses(node.arguments[1]) else self._top(node, place)
            case "per":
                return 2 if self._misses(node.arguments[2]) else self._per(node, place)
            case "mmr":
                return 1 if self._misses(node.arguments[1]) else self._mmr(node, place)
            case "rrf":
                return self._rrf(node, place)
            case "@" | "closeness":
                message = f"{shown(node.arguments[0])} has no row for it"
                return self._stop("no_vector", message, node, place)
            case "days_since":
                return self._stop("no_value", f"{shown(node.arguments[0])} has no value for it", node, place)
        missing = next(i for i, part in enumerate(node.parts) if self._is_relation(part) and self._misses(part))
        if sum(map(self._is_relation, node.parts)) > 1:
            self.joins.append((node, place, missing))
        return missing

    def _is_relation(self, node: Expression) -> bool:
        return self.situation.kind(node) is Kind.RELATION

    def _misses(self, node: Expression) -> bool:
        return self.at.score(node) is None

    def _stop(self, code: str, message: str, node: Expression, place: Place, **details: Any) -> Trace:
        needed = details.pop("needed", None)
        return Trace(Reason(code, message, shown(node), details), Obstacle(node, place, needed))

    def _docno(self, position: int) -> str:
        return str(self.situation.scope.docnos[position])

    def _top(self, node: Apply, place: Place) -> Trace:
        whole, k = self.at.evaluation.relation(node.arguments[1]), cast(Count, node.arguments[0]).value
        return self._cut("below_cut", f"top({k:,}, …)", whole, k, node, place)

    def _cut(
        self, code: str, what: str, among: RelationOperand, k: int, node: Expression, place: Place, **more: Any
    ) -> Trace:
        order = rank_order(among.scores)
        rank = cast(int, rank_in(among, self.at.position))
        last = order[k - 1]
        score = float(among.scores[order[rank - 1]])
        gap = float(among.scores[last]) - score
        last_docno = self._docno(int(among.positions[last]))
        beaten = f"beaten at the cut by {last_docno!r} by {figure(gap)}" if gap else f"ties with {last_docno!r} there"
        message = f"rank {rank - 1:,} of {records(len(order))}, {what} takes {k:,}: {beaten}"
        details = {"rank": rank - 1, "of": len(order), "k": k, "score": score, "last": last_docno}
        details |= {"last_score": float(among.scores[last]), "gap": gap if np.isfinite(gap) else None, **more}
        return self._stop(code, message, node, place, needed=rank, **details)

    def _per(self, node: Apply, place: Place) -> Trace:
        groups = cast(RelationOperand | ColumnOperand, self.at.evaluation.value(node.arguments[1]))
        values = groups.values if isinstance(groups, ColumnOperand) else groups.scores
        own = self._value_in(groups)
        if own is None:
            return self._stop("no_value", f"{shown(node.arguments[1])} has no value for it", node.arguments[1], place)
        whole, n = self.at.evaluation.relation(node.arguments[2]), cast(Count, node.arguments[0]).value
        same = np.isin(whole.positions, groups.positions[values == own], assume_unique=True)
        group = RelationOperand(whole.positions[same], whole.scores[same])
        what = f"per({n:,}, {shown(node.arguments[1], 20)}, …) of {own!r}"
        return self._cut("below_group_cut", what, group, n, node, place, group=own)

    def _mmr(self, node: Apply, place: Place) -> Trace:
        matrix = cast(MatrixOperand, self.at.evaluation.value(node.arguments[2]))
        if self._value_in(matrix) is None:
            return self._stop("no_vector", f"{shown(node.arguments[2])} has no row for it", node, place)
        whole, k = self.at.evaluation.relation(node.arguments[1]), cast(Count, node.arguments[0]).value
        relevance = cast(float, self.at.evaluation.value(literal(node, "relevance")))
        most = min(len(whole.positions), k + _CHOICES)
        chosen = maximal_marginal_relevance(most, whole, matrix, relevance)
        turn = rank_in(chosen, self.at.position)
        when = f"it would be choice {turn:,}" if turn else f"it is not among the first {most:,} choices"
        message = f"mmr chooses {k:,} of {records(len(whole.positions))}: {when}"
        return self._stop("not_chosen", message, node, place, needed=turn, k=k, choice=turn)

    def _rrf(self, node: Apply, place: Place) -> Trace | int:
        depth = cast(Count, literal(node, "depth")).value
        ranks = [rank_in(self.at.evaluation.relation(part), self.at.position) for part in node.arguments]
        best = min((rank for rank in ranks if rank is not None), default=None)
        if best is None:
            return 0
        said = ", ".join(
            f"{shown(part, 30)} {'does not score it' if rank is None else f'has it at rank {rank - 1:,}'}"
            for part, rank in zip(node.arguments[:4], ranks, strict=False)
        )
        message = f"below depth {depth:,} of every ranking: {said}{', …' if len(ranks) > 4 else ''}"
        return self._stop("below_depth", message, node, place, needed=best, depth=depth, rank=best - 1)

    def _retrieve(self, node: Retrieve, place: Place) -> Trace:
        name = cast(Name, self.at.evaluation.meant(Name(node.retriever)))
        retriever = cast(RetrieverOperand, self.situation.scope.operands[name.name]).retriever
        text = cast(str, self.at.evaluation.value(node.arguments[0]))
        depth = cast(Count, node.arguments[1]).value if len(node.arguments) > 1 else retriever.default_depth
        docno = self._docno(self.at.position)
        # First as deep as a recorded retriever goes.
        deeper: list[str] = []
        for deep in (max(depth, retriever.default_depth), len(self.situation.scope.docnos)):
            if docno in deeper or deep <= len(deeper):
                break
            try:
                deeper = list(retriever.search(text, deep))
            except AlgebraError as error:
                message = f"{node.retriever} does not give it; {error.message}"
                return self._stop("not_retrieved", message, node, place, depth=depth)
        if docno not in deeper:
            message = f"{node.retriever} does not give it at any depth"
            return self._stop("not_retrieved", message, node, place, depth=depth)
        rank = deeper.index(docno)
        message = f"{node.retriever} gives it at rank {rank:,}, which is below depth {depth:,}"
        return self._stop("below_depth", message, node, place, needed=rank + 1, depth=depth, rank=rank)

    def _mask(self, node: Apply, place: Place) -> Trace:
        clause, where, wanted = self._clause(node.arguments[0], place.part(0))
        score, message = self._answer(clause, wanted)
        details = {"mask": shown(node.arguments[0]), "value": score, "negated": not wanted}
        reason = Reason("not_in_mask", message, shown(clause), details)
        return Trace(reason, Obstacle(clause, where, None, score, wanted, place))

    def _clause(self, mask: Expression, place: Place) -> tuple[Expression, Place, bool]:
        """The smallest part of a mask that is to blame, and whether it should hold the record."""
        wanted = True
        while True:
            mask, place = self.situation.named(mask, place)
            operator = mask.operator if isinstance(mask, Apply) else ""
            if operator == "~":
                mask, place, wanted = mask.parts[0], place.part(0), not wanted
                continue
            # Of a conjunction one part is enough to leave a record out; of a disjunction it takes both.
            if operator != ("&" if wanted else "|"):
                return mask, place, wanted
            blamed = next(i for i, part in enumerate(mask.parts) if self.at.within(part) != wanted)
            mask, place = mask.parts[blamed], place.part(blamed)

    def _answer(self, clause: Expression, wanted: bool) -> tuple[float | str | None, str]:
        """The record's value in a clause, and what the clause says of it."""
        text = shown(clause)
        if not isinstance(clause, Apply) or clause.operator in ("&", "|", "ids"):
            return None, f"it is not in {text}" if wanted else f"it is in {text}, which is negated"
        of = clause.arguments[0]
        value = self.at.evaluation.value(of)
        own = self._value_in(value) if isinstance(value, RelationOperand | ColumnOperand) else None
        if own is None:
            return None, f"{shown(of)} has no value for it, {text} needs one"
        if clause.operator == "support":
            return own, f"{shown(of)} has a value for it, {text} is negated"
        is_so = "is not" if wanted else "is, and that is negated"
        said = repr(own) if isinstance(own, str) else figure(own, 17)
        return own, f"{shown(of)} is {said}: {text} {is_so} so"

    def _value_in(self, operand: RelationOperand | ColumnOperand | MatrixOperand) -> float | str | None:
        """The record's value in an operand; of a matrix, whether it has a row; None where it has none."""
        place = int(np.searchsorted(operand.positions, self.at.position))
        if place == len(operand.positions) or operand.positions[place] != self.at.position:
            return None
        if isinstance(operand, RelationOperand):
            return float(operand.scores[place])
        return str(operand.values[place]) if isinstance(operand, ColumnOperand) else 1.0
