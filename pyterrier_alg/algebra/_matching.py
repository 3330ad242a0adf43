"""The steps of two formulas beside each other, whatever they are called."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from pyterrier_alg.algebra._aligning import Aligner
from pyterrier_alg.algebra._likeness import replacing
from pyterrier_alg.algebra.expressions import Apply, Expression, Name, Retrieve, fold, walk
from pyterrier_alg.algebra.formula import Formula

#: Up to this many pairs, every pair of steps is looked at; up to the other, also for likeness.
_PAIRS, _ALIKE = 250_000, 400


class StepName(Name):
    """A step, told apart from operands and from steps of the other side that have its name."""


class StepCall(Retrieve):
    """A call of a retriever that a step names."""


@dataclass(frozen=True, eq=False)
class Line:
    """A step of one side or of both, or the result, whose names are None.

    Attributes:
        token: stands for it in other expressions.
        old_name: its name in the old formula, where it has it.
        new_name: its name in the new one.
        old: its old expression, with tokens for steps.
        new: its new one.
    """

    token: StepName
    old_name: str | None
    new_name: str | None
    old: Expression | None
    new: Expression | None


@dataclass(frozen=True, eq=False)
class Matched:
    """The lines of two formulas: in an order in which each refers to earlier ones, from whichever side it is.

    Attributes:
        lines: the result is the last.
        meanings: what the tokens of steps that one side alone has stand for.
        old_names: token to name.
        new_names: token to name.
    """

    lines: tuple[Line, ...]
    meanings: Mapping[Expression, Expression]
    old_names: Mapping[str, str]
    new_names: Mapping[str, str]


def matched_steps(before: Formula, after: Formula) -> Matched:
    """Lay the steps of two formulas beside each other."""
    pairs = _pairs(before, after)
    places: list[tuple[int | None, int | None]] = []
    i = j = 0
    for pair in (*pairs, (len(before.steps), len(after.steps))):
        places += [(place, None) for place in range(i, pair[0])]
        places += [(None, place) for place in range(j, pair[1])]
        places += [pair] if pair in pairs else []
        i, j = pair[0] + 1, pair[1] + 1
    old_tokens: dict[str, str] = {}
    new_tokens: dict[str, str] = {}
    lines: list[Line] = []
    meanings: dict[Expression, Expression] = {}
    for number, (left, right) in enumerate(places):
        token = StepName(str(number))
        old_name, old = before.steps[left] if left is not None else (None, None)
        new_name, new = after.steps[right] if right is not None else (None, None)
        old = None if old is None else with_steps(old, old_tokens)
        new = None if new is None else with_steps(new, new_tokens)
        lines.append(Line(token, old_name, new_name, old, new))
        alone = new if old is None else old if new is None else None
        if alone is not None:
            meanings[token] = fold(alone, lambda node, below: meanings.get(node, with_parts(node, below)))
        if old_name is not None:
            old_tokens[old_name] = token.name
        if new_name is not None:
            new_tokens[new_name] = token.name
    result = with_steps(before.result, old_tokens), with_steps(after.result, new_tokens)
    lines.append(Line(StepName("result"), None, None, *result))
    names = [{token: name for name, token in tokens.items()} for tokens in (old_tokens, new_tokens)]
    return Matched(tuple(lines), meanings, *names)


def with_parts(node: Expression, parts: Sequence[Expression]) -> Expression:
    """A node with other parts in the places of its own."""
    if not isinstance(node, Apply | Retrieve) or all(a is b for a, b in zip(parts, node.parts, strict=True)):
        return node
    count = len(node.arguments)
    options = tuple((key, value) for (key, _), value in zip(node.options, parts[count:], strict=True))
    return replace(node, arguments=tuple(parts[:count]), options=options)


def with_steps(expression: Expression, tokens: Mapping[str, str]) -> Expression:
    """An expression whose names of steps are tokens."""

    def visit(node: Expression, below: Sequence[Expression]) -> Expression:
        if isinstance(node, Name):
            return StepName(tokens[node.name], span=node.span) if node.name in tokens else node
        rebuilt = with_parts(node, below)
        if isinstance(rebuilt, Retrieve) and rebuilt.retriever in tokens:
            return StepCall(tokens[rebuilt.retriever], rebuilt.arguments, rebuilt.options, span=rebuilt.span)
        return rebuilt

    return fold(expression, visit)


def with_names(expression: Expression, names: Mapping[str, str]) -> Expression:
    """An expression whose tokens are names of steps again."""

    def visit(node: Expression, below: Sequence[Expression]) -> Expression:
        if isinstance(node, StepName):
            return Name(names[node.name], span=node.span)
        rebuilt = with_parts(node, below)
        if isinstance(rebuilt, StepCall):
            return Retrieve(names[rebuilt.retriever], rebuilt.arguments, rebuilt.options, span=rebuilt.span)
        return rebuilt

    return fold(expression, visit)


def references(expression: Expression) -> set[str]:
    """The tokens in an expression."""
    nodes = list(walk(expression))
    called = {node.retriever for node in nodes if isinstance(node, StepCall)}
    return called | {node.name for node in nodes if isinstance(node, StepName)}


def operands(expressions: Collection[Expression]) -> set[str]:
    """The names in expressions that are no tokens."""
    nodes = list(walk(*expressions))
    called = {node.retriever for node in nodes if isinstance(node, Retrieve) and not isinstance(node, StepCall)}
    return called | {node.name for node in nodes if isinstance(node, Name) and not isinstance(node, StepName)}


def _pairs(before: Formula, after: Formula) -> list[tuple[int, int]]:
    """The steps that are one on both sides, ascending on both."""
    old, new = before.steps, after.steps
    if len(old) * len(new) > _PAIRS:
        names = [name for name, _ in old], [name for name, _ in new]
        blocks = SequenceMatcher(None, *names, autojunk=False).get_matching_blocks()
        return [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]
    contents = _contents(old), _contents(new)
    aligner = Aligner({}, lambda *_, **__: 0)

    def worth(i: int, j: int) -> int:
        same = (4 if old[i][0] == new[j][0] else 0) + (3 if contents[0][i] == contents[1][j] else 0)
        if same or len(old) * len(new) > _ALIKE:
            return same
        return 1 if aligner.cost(old[i][1], new[j][1]) <= 0.5 * replacing(old[i][1], new[j][1]) else 0

    # The pairs of greatest worth together that cross nowhere; of equal ones those that stand first.
    best = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], worth(i, j) + best[i + 1][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        here = worth(i, j)
        if here and here + best[i + 1][j + 1] == best[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] == best[i][j]:
            i += 1
        else:
            j += 1
    return pairs


def _contents(steps: Sequence[tuple[str, Expression]]) -> list[bytes]:
    """A digest of what each step stands for, whatever it and those below it are called."""
    found: list[bytes] = []
    known: dict[str, str] = {}
    for name, expression in steps:
        found.append(with_steps(expression, known).digest)
        known[name] = found[-1].hex()
    return found
