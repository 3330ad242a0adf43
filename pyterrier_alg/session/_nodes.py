"""The expressions of an explained program, and how they are drawn: a row each, sums flat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyterrier_alg.session._figures import figure
from pyterrier_alg.session._layout import one_line

#: How many terms of one sum are shown.
_TERMS = 12

#: How far rows are set in, at most.
_DEEPEST = 20

#: The columns of a drawn tree, and which of them stand to the right.
COLUMNS = ("expression", "kind", "in", "out", "scores", "dropped", "time")
NUMERIC = ("in", "out", "time")


@dataclass(frozen=True)
class Drop:
    """Records that an expression's part has and the expression has not.

    Attributes:
        part: the part's number among the node's parts.
        reason: why.
        records: how many.
    """

    part: int
    reason: str
    records: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"part": self.part, "reason": self.reason, "records": self.records}


@dataclass(frozen=True)
class Node:
    """One expression of a program, written once however often it is used.

    Attributes:
        id: its place in `Explanation.nodes`.
        text: the expression, cut to one line.
        operator: a key of the operator table; empty for names, literals and retrievers.
        kind: of its value.
        step: the name that the program gives it; empty where it has none.
        parts: the ids of its parts; of a name, the step's.
        records_in: of each of these, how many records it has something for; None for numbers, texts and vectors.
        records: how many it has something for; None likewise.
        low: the least score, of a relation.
        high: the greatest score.
        value: of a number or a text.
        drops: the records of its parts that it has not.
        without_row: how many records of the collection a scan's matrix has no row of.
        seconds: what the vectorised engine took for it, without its parts; None where it did not compute it by itself,
            but inside a selection or not at all.
    """

    id: int
    text: str
    operator: str
    kind: str
    step: str
    parts: tuple[int, ...]
    records_in: tuple[int | None, ...]
    records: int | None
    low: float | None = None
    high: float | None = None
    value: float | str | None = None
    drops: tuple[Drop, ...] = ()
    without_row: int = 0
    seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "id": self.id,
            "text": self.text,
            "operator": self.operator or None,
            "kind": self.kind,
            "step": self.step or None,
            "parts": list(self.parts),
            "records_in": list(self.records_in),
            "records": self.records,
            "range": None if self.low is None else [self.low, self.high],
            "value": self.value,
            "drops": [drop.to_dict() for drop in self.drops],
            "without_row": self.without_row,
            "seconds": self.seconds,
        }


def drawn(nodes: tuple[Node, ...]) -> Iterator[tuple[int, Node | str, str]]:
    """Rows from the result down: a depth, a node or a note, and its sign in a sum."""
    drawn: set[int] = set()
    stack: list[tuple[int, Node | str, str]] = [(0, nodes[-1], "")]
    while stack:
        depth, node, sign = stack.pop()
        yield depth, node, sign
        if isinstance(node, str) or node.id in drawn:
            continue
        drawn.add(node.id)
        below = _terms(nodes, node)
        if len(below) > _TERMS:
            cut = f"… {len(below) - _TERMS:,} more terms"
            below = [*below[: _TERMS - 3], (cut, ""), *below[-3:]]
        stack.extend((depth + 1, part, mark) for part, mark in reversed(below))


def _terms(nodes: tuple[Node, ...], node: Node) -> list[tuple[Node | str, str]]:
    """The parts of a node; of a sum all its terms, however it was grouped to the left."""
    if node.operator not in ("+", "-") or node.kind != "relation":
        return [(nodes[part], "") for part in node.parts if _is_drawn(nodes[part])]
    found: list[tuple[Node | str, str]] = []
    inner = node
    while inner.operator in ("+", "-") and (inner is node or not inner.step):
        left, right = inner.parts
        found.append((nodes[right], "+ " if inner.operator == "+" else "− "))
        inner = nodes[left]
    return [(inner, ""), *reversed(found)]


def _is_drawn(node: Node) -> bool:
    """Whether a node has a row of its own: numbers and texts are read in what they are part of."""
    return node.kind not in ("number", "text", "retriever") or bool(node.step)


def row(depth: int, node: Node | str, sign: str) -> tuple[str, ...]:
    indent = "  " * min(depth, _DEEPEST)
    if isinstance(node, str):
        return (f"{indent}{node}", *[""] * (len(COLUMNS) - 1))
    name = f"{node.step} = " if node.step else ""
    scores = "" if node.low is None else f"{figure(node.low, 4)} … {figure(node.high, 4)}"
    dropped = [f"{drop.records:,} {drop.reason}" for drop in node.drops]
    if node.without_row:
        dropped.append(f"{node.without_row:,} without a row")
    entered = ", ".join(f"{count:,}" for count in node.records_in if count is not None)
    return (
        f"{indent}{sign}{one_line(name + node.text, 56)}",
        node.kind,
        entered,
        "" if node.records is None else f"{node.records:,}",
        scores,
        "; ".join(dropped),
        "" if node.seconds is None else milliseconds(node.seconds),
    )


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
