"""Operands that an operator can do nothing sensible with: equal scores, negative scores, unknown words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyterrier_alg.algebra.expressions import Apply, Expression
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.warnings import ProgramWarning
from pyterrier_alg.engines._relations import joined
from pyterrier_alg.engines.demand import shown
from pyterrier_alg.engines.warnings.reading import Reading, figure, records, warning


def constant_input(reading: Reading) -> Iterator[ProgramWarning]:
    """`minmax`, `zscore` and `maxnorm` of records that all have one score, or of one record."""
    for node in reading.applied("minmax", "zscore", "maxnorm"):
        argument = node.arguments[0]
        scores = reading.relation(argument).scores
        if not len(scores) or scores.min() != scores.max():
            continue
        count, score, becomes = len(scores), float(scores[0]), float(reading.relation(node).scores[0])
        have = (
            f"all {records(count, shown(argument))} have" if count > 1 else f"the one record of {shown(argument)} has"
        )
        message = f"{have} the score {figure(score)}: {node.operator} makes {'each' if count > 1 else 'it'} "
        yield warning(
            "constant_input", message + figure(becomes), node,
            f"rescale a relation whose scores differ, or leave {node.operator} out: {shown(argument)}",
            operand=shown(argument), records=count, score=score, becomes=becomes,
        )  # fmt: skip


def negative_under_weight(reading: Reading) -> Iterator[ProgramWarning]:
    """A weight from 0 to 1 that lifts a negative score above a greater one, which a higher weight left where it was.

    A weight below one brings a negative score nearer to zero, so it rewards where it is meant to punish. Where the
    negative records keep their order among each other, the ranking is the one that was meant, and nothing is said.
    """
    for node in reading.applied("*"):
        left, right = node.arguments
        if not (reading.is_relation(left) and reading.is_relation(right)):
            continue
        for weight, scoring in ((left, right), (right, left)):
            found = _lifted(reading, node, weight, scoring)
            if found is not None:
                yield found
                break


def _lifted(reading: Reading, node: Apply, weight: Expression, scoring: Expression) -> ProgramWarning | None:
    positions, weights, scores = joined(reading.relation(weight), reading.relation(scoring))
    if not len(weights) or weights.min() < 0 or weights.max() > 1:
        return None
    negative = np.flatnonzero(scores < 0)
    order = negative[np.argsort(-scores[negative], kind="stable")]
    products = weights[order] * scores[order]
    # The least product of those with a strictly greater score; infinite for the first.
    starts = np.searchsorted(-scores[order], -scores[order], side="left")
    least = np.minimum.accumulate(np.r_[np.inf, products])[starts]
    overtaking = order[products > least]
    if not len(overtaking):
        return None
    worst = overtaking[int(np.argmin(scores[overtaking]))]
    docno, before, after = str(reading.scope.docnos[positions[worst]]), float(scores[worst]), float(weights[worst])
    message = (
        f"{shown(weight)} is at most 1 and raises negative scores of {shown(scoring)}: {docno!r} from "
        f"{figure(before)} to {figure(before * after)}, above a record with a greater score"
    )
    rescaled = Apply("minmax", (scoring,))
    arguments = (weight, rescaled) if node.arguments[0] == weight else (rescaled, weight)
    return warning(
        "negative_under_weight", message, node, f"make the scores positive first: {shown(Apply('*', arguments), 100)}",
        weight=shown(weight), relation=shown(scoring), negative=len(negative), overtaking=len(overtaking),
        docno=docno, score=before, product=before * after,
    )  # fmt: skip


def text_ignored(reading: Reading) -> Iterator[ProgramWarning]:
    """Words of a text that the encoder says it does not know; not every encoder can say."""
    told: set[tuple[int, str]] = set()
    for node in reading.applied("@", "closeness", "encode"):
        matrix, text = node.arguments
        if reading.kind(text) is not Kind.TEXT:
            continue
        operand, words = reading.matrix(matrix), str(reading.value(text))
        unknown = getattr(operand.encoder, "unknown", None)
        if unknown is None or (id(operand), words) in told:
            continue
        told.add((id(operand), words))
        tokens = list(dict.fromkeys(unknown(words)))
        if tokens:
            named = ", ".join(repr(token) for token in tokens[:5]) + (", …" if len(tokens) > 5 else "")
            message = f"the query encoder of {operand.space.name} does not know {named} and leaves it out"
            yield warning(
                "text_ignored", message, text, "use words that it knows, or search for these with a retriever",
                matrix=shown(matrix), space=operand.space.name, text=words, tokens=tokens,
            )  # fmt: skip
