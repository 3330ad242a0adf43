"""What a program did: every expression with its records, scores and time, and what the engine did otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.operands import Scope
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.warnings.reading import Reading
from pyterrier_alg.session import _tree
from pyterrier_alg.session._layout import as_html, as_text, one_line, visible
from pyterrier_alg.session._nodes import COLUMNS, NUMERIC, Drop, Node, drawn, milliseconds, row
from pyterrier_alg.session._situation import Situation
from pyterrier_alg.session._watching import Action, Watched, shared
from pyterrier_alg.transformers.program import Program

#: How many rows of a tree are shown.
_ROWS = 60


@dataclass(frozen=True, repr=False)
class Explanation:
    """What a program did for one query.

    Attributes:
        program: its text.
        ran: what was computed: the same, or over the pool where records came in.
        engine: the one that the program names.
        seconds: what the vectorised engine took for the result.
        of: how many records the collection has.
        nodes: every expression that the result uses, parts before wholes; the last one is the result.
        actions: what the vectorised engine did otherwise than written.
    """

    program: str
    ran: str
    engine: str
    seconds: float
    of: int
    nodes: tuple[Node, ...]
    actions: tuple[Action, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values; a flat list of nodes, however deep the program is."""
        return {
            "program": self.program,
            "ran": self.ran,
            "engine": self.engine,
            "seconds": self.seconds,
            "of": self.of,
            "nodes": [node.to_dict() for node in self.nodes],
            "actions": [action.to_dict() for action in self.actions],
        }

    def __repr__(self) -> str:
        """The tree, a row each, the result first; sums are flat, and long ones cut."""
        lines = [self._heading, *as_text(COLUMNS, self._rows, numeric=NUMERIC), *self._notes]
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        return as_html(self._heading, COLUMNS, self._rows, self._notes)

    @property
    def _heading(self) -> str:
        return f"{one_line(self.ran)} over {self.of:,} records, {milliseconds(self.seconds)}"

    @property
    def _notes(self) -> list[str]:
        notes = [] if self.engine == "vectorised" else [_ELSEWHERE.format(self.engine)]
        kinds = Counter(action.kind for action in self.actions)
        told: Counter[str] = Counter()
        for action in self.actions:
            told[action.kind] += 1
            if told[action.kind] <= 3:
                notes.append(f"{action.kind}: {action.expression}: {action.before} → {action.after}")
            elif told[action.kind] == 4:
                notes.append(f"{action.kind}: … {kinds[action.kind] - 3:,} more")
        return notes

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for depth, node, sign in drawn(self.nodes):
            if len(rows) == _ROWS:
                rows.append((f"… {len(self.nodes):,} expressions in all", *[""] * (len(COLUMNS) - 1)))
                break
            rows.append(row(depth, node, sign))
        return rows


_ELSEWHERE = "times and actions are the vectorised engine's; what the {} engine does inside is not looked at"


def explain(program: Program, topic: Topic | str | None = None) -> Explanation:
    """Run a program, and tell what each of its expressions did.

    Records, scores and drops are the defined ones, and are computed for this whether the engine needed them or not;
    `seconds` and `actions` are what the vectorised engine took and did for the result.

    Args:
        program: any.
        topic: the query, as `Program.run` takes it.

    Raises:
        ProgramError: as `Program.run`.

    Example:
        >>> c = Collection(["d1", "d2", "d3"]).bind(S={"d1": 1.0, "d2": 3.0}, m={"d1", "d3"})
        >>> found = explain(Program("top(5, m >> S)", c))
        >>> [(node.text, node.records, [(d.reason, d.records) for d in node.drops]) for node in found.nodes[2:]]
        [('m >> S', 1, [('not in m', 1), ('S does not score them', 1)]), ('top(5, m >> S)', 1, [])]
    """
    situation = Situation.of(program, topic)
    return explanation(situation.meant, situation.scope, situation.formula, program.engine)


def explanation(
    formula: Formula, scope: Scope, written: Formula | None = None, engine: str = "vectorised"
) -> Explanation:
    """The same for a formula over a scope.

    Args:
        formula: what is computed.
        scope: the operands.
        written: what it was made of, where that is another one.
        engine: the one that the program names.
    """
    # Checks, and computes every expression whole.
    reading = Reading(formula, scope)
    watched = Watched(formula, scope)
    began = perf_counter()
    watched.relation(formula.result)
    seconds = perf_counter() - began
    names = {expression: name for name, expression in reversed(formula.steps)}
    order = [node for node in reading.order if not isinstance(node, Count)]
    ids = {node: number for number, node in enumerate(order)}
    nodes = tuple(_node(reading, node, ids, names, watched.seconds) for node in order)
    actions = [*watched.actions, *shared(order, _uses(reading, order)), *_unused(formula, order)]
    text = (written or formula).ascii
    return Explanation(text, formula.ascii, engine, seconds, len(scope.docnos), nodes, tuple(actions))


def _node(
    reading: Reading,
    node: Expression,
    ids: Mapping[Expression, int],
    names: Mapping[Expression, str],
    seconds: Mapping[Expression, float],
) -> Node:
    parts = _tree.below(reading, node)
    own = _tree.covered(reading, node)
    low_high = _tree.span(reading, node)
    value = reading.value(node) if reading.kind(node) in (Kind.NUMBER, Kind.TEXT) else None
    # Counts are parts of an expression, but of no node.
    places = [place for place, part in enumerate(node.parts) if not isinstance(part, Count)]
    drops = [Drop(places.index(place), why, lost) for place, why, lost in _tree.drops(reading, node) if lost]
    counts = [_tree.covered(reading, part) for part in parts]
    return Node(
        ids[node],
        shown(node),
        node.operator if isinstance(node, Apply) else "",
        str(reading.kind(node)),
        names.get(node, ""),
        tuple(ids[part] for part in parts),
        tuple(None if positions is None else len(positions) for positions in counts),
        None if own is None else len(own),
        None if low_high is None else low_high[0],
        None if low_high is None else low_high[1],
        cast("float | str | None", value),
        tuple(drops),
        _tree.missing(reading, node),
        seconds.get(node),
    )


def _uses(reading: Reading, order: list[Expression]) -> dict[Expression, int]:
    """How often each expression is written; a name of a step is written, the step is not for it."""
    counts: Counter[Expression] = Counter()
    for node in order:
        if not isinstance(node, Name):
            counts.update(node.parts)
    return dict.fromkeys(order, 0) | dict(counts)


def _unused(formula: Formula, order: list[Expression]) -> Iterator[Action]:
    used = {node.name for node in order if isinstance(node, Name)}
    for name, expression in formula.steps:
        if name not in used:
            yield Action("unused", name, shown(expression), "not computed")
