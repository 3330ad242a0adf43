"""What exact scores cost: medians for exact inner products, beside the plain float32 product of the same arrays.

    OPENBLAS_NUM_THREADS=1 python experiments/exact_kernel.py

Rows are seeded: `dense` ones normally distributed, `counts` ones like signed hashes of short texts (few small whole
numbers, then unit), whose sums tie and fall halfway between floats far more often.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from pyterrier_alg import exact
from pyterrier_alg.exact._slices import Singles


def milliseconds(call: Callable[[], object], repeats: int = 9) -> float:
    """The median time of a call, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def unit_rows(kind: str, count: int, dimensions: int) -> Singles:
    """Seeded float32 rows of norm about 1."""
    random = np.random.default_rng(7)
    values = random.standard_normal((count, dimensions))
    if kind == "counts":
        values = np.rint(values * 0.6)
        values[:, 0] += ~values.any(axis=1)
    rows: Singles = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    return rows


def main() -> None:
    """Print one line for each kind and shape."""
    print(f"{'milliseconds':24}{'float32':>9}{'one':>9}{'93':>9}{'93 fl32':>9}{'l2':>9}{'mean':>9}")
    for kind in ("dense", "counts"):
        for count, dimensions in ((64, 256), (11_429, 256), (11_429, 768), (240_000, 128)):
            rows, vectors = unit_rows(kind, count, dimensions), unit_rows(kind, 93, dimensions)
            one = vectors[0]
            times = [
                milliseconds(partial(np.matmul, rows, one)),
                milliseconds(partial(exact.inner_products, rows, one)),
                milliseconds(partial(exact.inner_products, rows, vectors), 3),
                milliseconds(partial(np.matmul, rows, vectors.T), 3),
                milliseconds(partial(exact.squared_distances, rows, one), 3),
                milliseconds(partial(exact.mean, rows), 3),
            ]
            print(f"{kind:7}{count:9,} × {dimensions:<5}" + "".join(f"{t:9.2f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
