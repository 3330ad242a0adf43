"""Comparing two programs: what is different in them, and what each difference does to the results."""

from __future__ import annotations

from collections.abc import Sequence

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection import Topic
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session._ablation import Ablation, Change
from pyterrier_alg.session._compared import Comparison, Effect, Move
from pyterrier_alg.session.overlap import rank_biased_overlap
from pyterrier_alg.transformers import Program

__all__ = ["Change", "Comparison", "Effect", "Move", "compare", "rank_biased_overlap"]

#: How many ranks are compared, and up to how many groups of changes each is also made alone and left out alone.
DEPTH, ALONE = 1_000, 24


def compare(
    first: Program, second: Program, topic: Topic | str | None = None, *, p: float = 0.9, depth: int = DEPTH
) -> Comparison:
    """What is different in two programs, and what each difference does to the results.

    Every change is made by running the program with it: after those before it (which is what records are credited by),
    alone, and the second program without it. Changes between which the program is unsound, or fails, count as one.

    Args:
        first: a program.
        second: another one; over another collection, or on another engine, where that is to be compared.
        topic: the query, or its text; None where the programs need no query.
        p: persistence of the rank-biased overlap.
        depth: how many ranks are compared.

    Raises:
        ProgramError: as running either program does.
        AlgebraError: `bad_argument`, for a p or a depth that is none.

    Example:
        >>> from pyterrier_alg import Collection, Program
        >>> c = Collection(["d1", "d2", "d3"]).bind(S={"d1": 3, "d2": 2, "d3": 1}, m={"d2", "d3"})
        >>> found = compare(Program("top(2, S)", c), Program("top(2, m >> S)", c))
        >>> found.entered, found.left, [str(change) for change in found.changes]
        (('d3',), ('d1',), ['1. mask m >> put before S'])
    """
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise AlgebraError("bad_argument", f"a depth is a whole number from 1, not {depth!r}")
    rank_biased_overlap((), (), p)
    ablation = Ablation(first, second, topic)
    before, after = ablation.run(()), ablation.run(ablation.effective)
    groups = ablation.groups()
    way = [_ranking(before, depth)]
    for place in range(len(groups)):
        way.append(_ranking(ablation.run(sum(groups[: place + 1], ())), depth))
    alone: list[_Ranking | None] = [None] * len(groups)
    without: list[_Ranking | None] = [None] * len(groups)
    if len(groups) <= ALONE:
        for place, group in enumerate(groups):
            alone[place] = _tried(ablation, group, depth)
            without[place] = _tried(ablation, [n for n in ablation.effective if n not in group], depth)
    effects = tuple(
        Effect(
            group,
            *_gone(way[place + 1], way[place]),
            sum(way[place][d] != rank for d, rank in way[place + 1].items() if d in way[place]),
            rank_biased_overlap(list(way[place]), list(way[place + 1]), p),
            _counts(alone[place], way[0]),
            _counts(without[place], way[-1], back=True),
        )
        for place, group in enumerate(groups)
    )
    scores = before.to_dict(), after.to_dict()
    docnos = [*way[-1], *(docno for docno in way[0] if docno not in way[-1])]
    moves = tuple(_move(docno, way, alone, without, scores) for docno in docnos)
    overlap = rank_biased_overlap(list(way[0]), list(way[-1]), p)
    return Comparison(first, second, ablation.difference, ablation.changes, effects, moves, overlap, p, depth)


#: Docno to rank, in rank order.
_Ranking = dict[str, int]


def _ranking(relation: ScoredRelation, depth: int) -> _Ranking:
    return {str(docno): rank for rank, docno in enumerate(relation.docnos[:depth].tolist())}


def _tried(ablation: Ablation, changes: Sequence[int], depth: int) -> _Ranking | None:
    try:
        return _ranking(ablation.run(changes), depth)
    except AlgebraError:
        return None


def _gone(new: _Ranking, old: _Ranking) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Who came in and who left."""
    return tuple(d for d in new if d not in old), tuple(d for d in old if d not in new)


def _counts(there: _Ranking | None, end: _Ranking, *, back: bool = False) -> tuple[int, int] | None:
    if there is None:
        return None
    entered, left = _gone(end, there) if back else _gone(there, end)
    return len(entered), len(left)


def _move(
    docno: str,
    way: Sequence[_Ranking],
    alone: Sequence[_Ranking | None],
    without: Sequence[_Ranking | None],
    scores: tuple[dict[str, float], dict[str, float]],
) -> Move:
    """What became of a record, and by which effects."""
    ranks = tuple(ranking.get(docno) for ranking in way)
    ends = ranks[0], ranks[-1]
    changed = tuple(place for place in range(len(ranks) - 1) if ranks[place] != ranks[place + 1])
    is_there = ranks[-1] is not None
    before, after = (side.get(docno) if rank is not None else None for side, rank in zip(scores, ends, strict=True))
    if (ends[0] is None) == (ends[1] is None):
        return Move(docno, ranks, (before, after), changed)
    crossed = tuple(place for place in changed if (ranks[place] is None) != (ranks[place + 1] is None))
    enough = tuple(i for i, ranking in enumerate(alone) if ranking is not None and (docno in ranking) == is_there)
    needed = tuple(i for i, ranking in enumerate(without) if ranking is not None and (docno in ranking) != is_there)
    return Move(docno, ranks, (before, after), crossed[-1:], enough, needed)
