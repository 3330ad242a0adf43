"""How one logged step differs from another: the first thing that does, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyterrier_alg.session._layout import one_line
from pyterrier_alg.session.log import outcome


@dataclass(frozen=True, slots=True)
class StepDifference:
    """How one step differs from another.

    Attributes:
        aspect: the first of these that differs: `action`, `program`, `engine`, `topic`, `operand`, `error`, `result`,
            `handle`, `warnings`; `missing`, where the step could not be done again.
        message: one line that names both sides.
    """

    aspect: str
    message: str


def difference(old: Mapping[str, Any], new: Mapping[str, Any], names: tuple[str, str]) -> StepDifference | None:
    """How two steps differ first; None where they do not.

    Args:
        old: a step of a log.
        new: another.
        names: what messages call the two sides.
    """
    for found in _differences(old, new, names):
        return found
    return None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], names: tuple[str, str]) -> Iterator[StepDifference]:
    def both(aspect: str, a: object, b: object) -> StepDifference:
        first, second = (f"{name} {one_line(str(value))}".strip() for name, value in zip(names, (a, b), strict=True))
        return StepDifference(aspect, f"{first}, {second}")

    if old["action"] != new["action"]:
        yield both("action", old["action"], new["action"])
    if old["action"] != "run":
        yield from _operand_differences(old, new)
        return
    for aspect in ("program", "engine"):
        if old[aspect] != new[aspect]:
            yield both(aspect, old[aspect], new[aspect])
    if old["topic"] != new["topic"]:
        queries = [topic and (topic["qid"], topic["query"]) for topic in (old["topic"], new["topic"])]
        yield both("topic", *queries)
    # A run that failed early did not come to see its operands.
    yield from _operand_differences(old, new)
    errors = [(entry.get("error") or {}).get("code") for entry in (old, new)]
    if errors[0] != errors[1]:
        yield both("error", errors[0] or outcome(old), errors[1] or outcome(new))
    if old.get("result") and new.get("result"):
        if old["result"]["digest"] != new["result"]["digest"]:
            yield _result_difference(old["result"], new["result"], names)
        if old["result"]["address"] != new["result"]["address"]:
            yield both("result", old["result"]["address"], new["result"]["address"])
    for aspect in ("handle", "name"):
        if old.get(aspect) != new.get(aspect):
            yield both("handle", old.get(aspect), new.get(aspect))
    warnings = old.get("warnings"), new.get("warnings")
    if None not in warnings and warnings[0] != warnings[1]:
        yield both("warnings", *(", ".join(codes or ()) or "none" for codes in warnings))


def _operand_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[StepDifference]:
    a, b = old["operands"], new["operands"]
    if old["action"] == "forget":
        if list(a) != list(b):
            yield StepDifference("operand", f"{', '.join(a)}, then {', '.join(b)}")
        return
    names = {**a, **b} if old["action"] != "run" else [name for name in a if name in b]
    changed = [name for name in names if _digest(a.get(name)) != _digest(b.get(name))]
    if changed:
        what = "is another operand" if len(changed) == 1 else "are other operands"
        yield StepDifference("operand", f"{', '.join(changed)} {what}")


def _digest(operand: Any) -> Any:
    return operand["digest"] if isinstance(operand, Mapping) else operand


def _result_difference(old: Mapping[str, Any], new: Mapping[str, Any], names: tuple[str, str]) -> StepDifference:
    """What shows in the first records, or in how many there are."""
    sides = [f"{name} " if name else "" for name in names]
    for rank, (a, b) in enumerate(zip(old["head"], new["head"], strict=False)):
        if list(a) != list(b):
            message = f"rank {rank}: {sides[0]}{a[0]} {a[1]!r}, {sides[1]}{b[0]} {b[1]!r}"
            return StepDifference("result", message)
    if old["count"] != new["count"]:
        return StepDifference("result", f"{sides[0]}{old['count']:,} records, {sides[1]}{new['count']:,}")
    return StepDifference("result", f"a record below rank {len(old['head']) - 1} differs")


def notes_of(old: Mapping[str, Any], new: Mapping[str, Any], whose: str) -> Iterator[str]:
    if old.get("collection", {}).get("digest") != new.get("collection", {}).get("digest"):
        yield f"the collection is another one than {whose}"
    a, b = old.get("versions", {}), new.get("versions", {})
    for name in sorted({**a, **b}):
        if a.get(name) != b.get(name):
            yield f"{name} {b.get(name)}, not {a.get(name)}"
