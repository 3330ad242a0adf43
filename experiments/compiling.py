"""What compiling saves: pipelines of stages as written, and as the one program that PyTerrier's compile makes of them.

    OPENBLAS_NUM_THREADS=1 python experiments/compiling.py [--topics 10]

Both run in turn over the same topics, so that whatever else the machine does meets both; printed are the medians in
milliseconds a topic and their ratio. The two frames are compared first and must be equal, bit for bit.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import pandas as pd
import pyterrier as pt

from pyterrier_alg import vaswani
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.transformers import Keep, MinMax, Minus, Plus, Retrieve, Rrf, Scale, Scan, Where


def pipelines() -> dict[str, pt.Transformer]:
    """By what each does."""
    c = vaswani()
    near, far, bm25 = Scan(c, "E", "query"), Scan(c, "E", "q2"), Retrieve(c, "bm25", "query")
    return {
        "one scan, cut": near % 10,
        "two directions, cut": Minus(near, far >> Scale(0.5)) % 10,
        "filter after retrieval, cut": near >> Keep(Where(c, "length >= 40")) % 10,
        "hybrid by RRF, cut": Rrf(near, bm25, depth=100) % 10,
        "re-ranked pool, cut": bm25 % 100 >> Plus(bm25 >> MinMax(), near >> Scale(0.5)) % 10,
    }


def milliseconds(pipeline: pt.Transformer, topics: pd.DataFrame) -> float:
    """How long one run takes, a topic."""
    start = time.perf_counter()
    pipeline(topics)
    return (time.perf_counter() - start) * 1e3 / len(topics)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=10, help="how many of the 93")
    parser.add_argument("--runs", type=int, default=7, help="of each pipeline")
    asked = parser.parse_args()
    topics = load_vaswani().topics().head(asked.topics)
    print(f"{'milliseconds a topic':<30}{'as written':>12}{'compiled':>10}{'ratio':>8}")
    for name, pipeline in pipelines().items():
        compiled = pipeline.compile()
        pd.testing.assert_frame_equal(compiled(topics), pipeline(topics), check_exact=True)
        times = [(milliseconds(pipeline, topics), milliseconds(compiled, topics)) for _ in range(asked.runs)]
        written, fused = (median(column) for column in zip(*times, strict=True))
        ratio = median(one / other for one, other in times)
        print(f"{name:<30}{written:>12.2f}{fused:>10.2f}{ratio:>7.1f}×", flush=True)


if __name__ == "__main__":
    main()
