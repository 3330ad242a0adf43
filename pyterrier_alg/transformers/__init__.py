"""The operators as PyTerrier transformers, the pipelines that formulas compile to, and programs."""

from pyterrier_alg.engines.registry import engine, engines
from pyterrier_alg.transformers.combining import Fill, Minus, Per, Plus, Restrict, Rrf, Times
from pyterrier_alg.transformers.compiling import compile_formula
from pyterrier_alg.transformers.keeping import Keep
from pyterrier_alg.transformers.leaves import Bound, BoundMask, Closeness, Field, Ids, Retrieve, Scan
from pyterrier_alg.transformers.masks import Compare, DaysSince, IsIn, Support
from pyterrier_alg.transformers.pipeline import PipelineEngine
from pyterrier_alg.transformers.program import Program
from pyterrier_alg.transformers.rescaling import MaxNorm, MinMax, Ranks, Softmax, ZScore
from pyterrier_alg.transformers.scores import (
    Abs,
    Clip,
    Decay,
    Divide,
    Exp,
    Log1p,
    Negate,
    RecipDecay,
    Scale,
    Shift,
    Sigmoid,
    SubtractFrom,
)
from pyterrier_alg.transformers.selecting import Mmr, Top
from pyterrier_alg.transformers.sets import And, Not, Or
from pyterrier_alg.transformers.steps import Forget, Recall, Remember
from pyterrier_alg.transformers.tuning import Tunable
from pyterrier_alg.transformers.where import Where

__all__ = [
    "Abs",
    "And",
    "Bound",
    "BoundMask",
    "Clip",
    "Closeness",
    "Compare",
    "DaysSince",
    "Decay",
    "Divide",
    "Exp",
    "Field",
    "Fill",
    "Forget",
    "Ids",
    "IsIn",
    "Keep",
    "Log1p",
    "MaxNorm",
    "MinMax",
    "Minus",
    "Mmr",
    "Negate",
    "Not",
    "Or",
    "Per",
    "PipelineEngine",
    "Plus",
    "Program",
    "Ranks",
    "Recall",
    "RecipDecay",
    "Remember",
    "Restrict",
    "Retrieve",
    "Rrf",
    "Scale",
    "Scan",
    "Shift",
    "Sigmoid",
    "Softmax",
    "SubtractFrom",
    "Support",
    "Times",
    "Top",
    "Tunable",
    "Where",
    "ZScore",
    "compile_formula",
    "engine",
    "engines",
]
