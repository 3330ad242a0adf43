"""Several stages as one program: what PyTerrier asks for when it compiles a pipeline.

A program finds the first records of a sum of scans by one scan, where stages make each scan whole; the frame that comes
out is the same.
"""

from __future__ import annotations

import pyterrier as pt

from pyterrier_alg.algebra.expressions import Apply, Count
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.engines.registry import engine
from pyterrier_alg.transformers.meaning import as_program
from pyterrier_alg.transformers.program import Program
from pyterrier_alg.transformers.selecting import Top
from pyterrier_alg.transformers.stage import Stage


def fuse(left: pt.Transformer, right: pt.Transformer) -> Program | None:
    """The program that is `left >> right`, where there is one.

    Example:
        >>> from pyterrier_alg import vaswani
        >>> fuse(Scan(vaswani(), "E") >> Scale(2), Top(3))
        Program('top(3, 2 * (E @ query))', vaswani)
    """
    if isinstance(right, Top):
        return cut(left, right.k)
    return as_program(pt.Compose(left, right)) if isinstance(right, Stage) else None


def cut(stage: pt.Transformer, k: int) -> Program | None:
    """The program that gives the first k of what a stage gives, where there is one.

    Args:
        stage: a retriever or a program.
        k: how many to keep.

    Returns:
        The program itself where it gives no more than k.
    """
    whole = stage if isinstance(stage, Program) else as_program(stage)
    if whole is None or k < 1 or not engine(whole.engine).certifies:
        return None
    formula = whole.formula
    result = formula.result
    if isinstance(result, Apply) and result.operator == "top" and isinstance(result.arguments[0], Count):
        if result.arguments[0].value <= k:
            return whole
        result = result.arguments[1]
    selected = Apply("top", (Count(str(int(k))), result))
    return Program(Formula(formula.steps, selected), whole.collection, engine=whole.engine)
