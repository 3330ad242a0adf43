"""One formula over one scope: every value that a selection does not shortcut, exactly as defined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from pyterrier_alg import exact
from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Retrieve
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    Positions,
    RelationOperand,
    RetrieverOperand,
    Scope,
    Scores,
    VectorOperand,
)
from pyterrier_alg.engines import _relations as relations
from pyterrier_alg.engines import arithmetic
from pyterrier_alg.engines.arithmetic import POINTWISE
from pyterrier_alg.engines.demand import demand, fault, shown
from pyterrier_alg.engines.values import Plain, encoded, plain_apply, plain_operand

if TYPE_CHECKING:
    from pyterrier_alg.engines._selection import Selection

#: Operators that ask for the first records of their relations only.
SELECTING = frozenset({"top", "rrf"})

#: Rescalings over a relation's own domain; `maxnorm` has an error of its own.
_RESCALINGS: dict[str, Callable[[Scores], Scores]] = {
    "minmax": arithmetic.minmax,
    "zscore": arithmetic.zscore,
    "softmax": arithmetic.softmax,
    "ranks": relations.ranks,
}


class Evaluation:
    """The values of a formula's expressions over a scope, each computed once.

    Attributes:
        formula: what is computed.
        scope: the operands.
        steps: the formula's, by name.
        known: values so far.
        selections: what each `top` found, by its expression.
    """

    def __init__(
        self, formula: Formula, scope: Scope, select: Callable[[Evaluation, int, Expression], Selection]
    ) -> None:
        """Begin with nothing known.

        Args:
            formula: sound, and fit for the scope.
            scope: the operands.
            select: finds the first k records of a relation expression whose `frontier` is known.
        """
        self.formula, self.scope, self.steps = formula, scope, dict(formula.steps)
        self.known: dict[Expression, Plain] = {}
        self.selections: dict[Expression, Selection] = {}
        self._select = select

    def value(self, expression: Expression) -> Plain:
        """The value of an expression: a number, a text, or an operand that holds what it computes to."""
        with np.errstate(all="ignore"):
            return demand(expression, self._needs, self._visit, self.known)

    def relation(self, expression: Expression) -> RelationOperand:
        """The value of a relation expression."""
        return cast(RelationOperand, self.value(expression))

    def mask(self, expression: Expression) -> Positions:
        """The records of a mask expression, ascending."""
        return cast(MaskOperand, self.value(expression)).positions

    def meant(self, expression: Expression) -> Expression:
        """The expression behind a name of a step, or of a step that names a step."""
        while isinstance(expression, Name) and expression.name in self.steps:
            expression = self.steps[expression.name]
        return expression

    def inside(self, node: Expression) -> Sequence[Expression] | None:
        """The parts that a pointwise node takes its scores from; None for a node that is taken whole.

        Scores of a pointwise node at some records need its parts' scores at those records only. An operator between
        numbers looks the same and may be treated so, too.
        """
        if node in self.known:
            return None
        if isinstance(node, Name):
            return (self.steps[node.name],) if node.name in self.steps else None
        if isinstance(node, Apply):
            if node.operator == ">>":
                return node.arguments[1:]
            if node.operator in POINTWISE or node.operator == "fill":
                return node.arguments
        return None

    def frontier(self, *roots: Expression) -> list[Expression]:
        """What must be known before the roots' scores at single records: all but scans and pointwise nodes."""
        found: dict[Expression, None] = {}
        seen: set[Expression] = set()
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            inner = self.inside(node)
            if inner is not None:
                stack.extend(inner)
                if isinstance(node, Apply) and node.operator == ">>":
                    found[node.arguments[0]] = None
            elif self.is_scan(node) and node not in self.known:
                found.update(dict.fromkeys(node.parts))
            else:
                found[node] = None
        return list(found)

    def is_scan(self, node: Expression) -> bool:
        """Whether a node scores each row of a matrix by itself."""
        return isinstance(node, Apply) and node.operator in ("@", "closeness")

    def scan(self, node: Expression) -> tuple[MatrixOperand, VectorOperand]:
        """The matrix and the vector of a scan whose parts are known; a text goes through the query encoder."""
        matrix, vector = (self.known[part] for part in node.parts)
        if isinstance(vector, str):
            vector = encoded(node, cast(MatrixOperand, matrix), vector, self.formula)
        return cast(MatrixOperand, matrix), cast(VectorOperand, vector)

    def scanned(self, node: Expression, places: Positions | slice = slice(None)) -> Scores:
        """The defined scores of a scan for some rows of its matrix."""
        matrix, vector = self.scan(node)
        if cast(Apply, node).operator == "closeness":
            return relations.closeness(matrix, places, vector.values)
        return exact.inner_products(matrix.rows[places], vector.values)

    def finite(self, node: Expression, positions: Positions, scores: Scores) -> Scores:
        """The scores, or an error that names the step and the first record whose score is not finite."""
        sound = np.isfinite(scores)
        if not sound.all():
            place = int(np.argmin(sound))
            message = f"{shown(node)} is {float(scores[place])} for {self.scope.docnos[positions[place]]!r}"
            raise fault("non_finite", message, node, self.formula)
        return scores

    def _needs(self, node: Expression) -> Sequence[Expression]:
        if isinstance(node, Name):
            return (self.steps[node.name],) if node.name in self.steps else ()
        if isinstance(node, Apply) and node.operator in SELECTING:
            return self.frontier(*(a for a in node.arguments if not isinstance(a, Count)))
        if (scan := self._masked_scan(node)) is not None:
            return (node.parts[0], *scan.parts)
        return node.parts

    def _visit(self, node: Expression) -> Plain:
        if isinstance(node, Name):
            step = self.steps.get(node.name)
            return self.known[step] if step is not None else plain_operand(node.name, self.scope)
        if isinstance(node, Retrieve):
            return self._retrieve(node)
        if (scan := self._masked_scan(node)) is not None:
            matrix, _ = self.scan(scan)
            places = relations.among(self.mask(node.parts[0]), matrix.positions)
            return RelationOperand(matrix.positions[places], self.scanned(scan, places))
        arguments = [self.known.get(part) for part in node.parts]
        plain = plain_apply(node, arguments, self.scope, self.formula, lambda: self.mask(node.parts[1]))
        if plain is not None:
            return plain
        value = self._apply(cast(Apply, node), arguments)
        if isinstance(value, RelationOperand):
            self.finite(node, value.positions, value.scores)
        return value

    def _masked_scan(self, node: Expression) -> Expression | None:
        """The scan that a node restricts, where it is not known: it scores the rows that the mask lets through only."""
        if isinstance(node, Apply) and node.operator == ">>":
            scored = self.meant(node.arguments[1])
            if self.is_scan(scored) and scored not in self.known:
                return scored
        return None

    def _retrieve(self, node: Retrieve) -> RelationOperand:
        name = self.meant(Name(node.retriever))
        retriever = cast(RetrieverOperand, self.scope.operands[cast(Name, name).name]).retriever
        depth = cast(Count, node.arguments[1]).value if len(node.arguments) > 1 else retriever.default_depth
        try:
            found = retriever.search(cast(str, self.known[node.arguments[0]]), depth)
        except AlgebraError as error:
            raise fault(error.code, f"{shown(node)}: {error.message}", node, self.formula, error.hint) from error
        positions = np.empty(len(found), dtype=np.int64)
        for place, docno in enumerate(found):
            position = self.scope.position(docno)
            if position is None:
                message = f"{node.retriever} gave {docno!r}, which the collection does not have"
                raise fault("unknown_record", message, node, self.formula)
            positions[place] = position
        scores = np.fromiter(found.values(), np.float64, len(found)) + 0.0
        order = np.argsort(positions)
        return RelationOperand(positions[order], self.finite(node, positions[order], scores[order]))

    def _apply(self, node: Apply, arguments: Sequence[object]) -> Plain:
        operator = node.operator
        size = len(self.scope.docnos)
        match operator, arguments:
            case "@" | "closeness", _:
                matrix, _ = self.scan(node)
                return RelationOperand(matrix.positions, self.scanned(node))
            case "top", _:
                selection = self._select(self, cast(Count, node.arguments[0]).value, node.arguments[1])
                self.selections[node] = selection
                return selection.relation
            case "rrf", _:
                return self._rrf(node)
            case ">>", [MaskOperand(positions=positions), RelationOperand() as s]:
                return relations.restricted(positions, s)
            case "fill", [float() as c, RelationOperand() as s]:
                return relations.filled(c, s, size)
            case "support", [RelationOperand(positions=positions) | ColumnOperand(positions=positions)]:
                return MaskOperand(positions)
            case "~", [MaskOperand(positions=positions)]:
                return MaskOperand(np.delete(np.arange(size, dtype=np.int64), positions))
            case "&", [MaskOperand(positions=m), MaskOperand(positions=n)]:
                return MaskOperand(relations.intersection(m, n))
            case "|", [MaskOperand(positions=m), MaskOperand(positions=n)]:
                return MaskOperand(np.union1d(m, n))
            case ">=" | ">" | "<=" | "<", [RelationOperand() | ColumnOperand() as x, float() | str() as than]:
                return relations.compared(operator, x, than)
            case "isin", [RelationOperand() | ColumnOperand() as x, *wanted]:
                return relations.members(x, cast(Sequence[str], wanted))
            case "ids", _:
                return self._ids(node, cast(Sequence[str], arguments))
            case "per", [_, ColumnOperand() | RelationOperand() as groups, RelationOperand() as s]:
                return relations.first_of_each(cast(Count, node.arguments[0]).value, groups, s)
            case "mmr", [_, RelationOperand() as s, MatrixOperand() as matrix, *_]:
                k, relevance = cast(Count, node.arguments[0]).value, cast(float, self._option(node, "relevance"))
                return relations.maximal_marginal_relevance(k, s, matrix, relevance)
            case "days_since", [ColumnOperand() as column, str() as reference]:
                return relations.days_since(column, reference)
            case "maxnorm", [RelationOperand() as s]:
                return self._maxnorm(node, s)
        if operator in _RESCALINGS:
            s = cast(RelationOperand, arguments[0])
            return RelationOperand(s.positions, _RESCALINGS[operator](s.scores) + 0.0 if len(s.scores) else s.scores)
        if operator == "/" and arguments[1] == 0.0:
            raise fault("division_by_zero", "division by zero", node.arguments[1], self.formula)
        return relations.combined(operator, cast(Sequence[RelationOperand | float], arguments))

    def _rrf(self, node: Apply) -> RelationOperand:
        depth = cast(Count, self._literal(node, "depth")).value
        rankings = [self._select(self, depth, argument).positions[:depth] for argument in node.arguments]
        return relations.reciprocal_rank_fusion(rankings, cast(float, self._option(node, "k")))

    def _ids(self, node: Apply, docnos: Sequence[str]) -> MaskOperand:
        positions = []
        for docno, argument in zip(docnos, node.arguments, strict=True):
            position = self.scope.position(docno)
            if position is None:
                raise fault("unknown_record", f"the collection has no record {docno!r}", argument, self.formula)
            positions.append(position)
        return MaskOperand(np.unique(np.array(positions, dtype=np.int64)))

    def _maxnorm(self, node: Apply, s: RelationOperand) -> RelationOperand:
        if not len(s.scores):
            return s
        largest = float(s.scores.max())
        if largest <= 0:
            message = f"the largest score in {shown(node)} is {largest!r}, maxnorm needs a positive one"
            raise fault("nonpositive_maximum", message, node, self.formula)
        return RelationOperand(s.positions, s.scores / largest + 0.0)

    def _literal(self, node: Apply, name: str) -> Expression:
        """What is given by this name, or its default."""
        defaults = {option.name: option.default for option in OPERATORS[node.operator].options}
        return dict(node.options).get(name, defaults[name])

    def _option(self, node: Apply, name: str) -> Plain:
        return self.value(self._literal(node, name))
