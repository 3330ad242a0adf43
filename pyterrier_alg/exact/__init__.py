"""The arithmetic that the algebra defines, over whole arrays at a time.

Elements of rows and vectors are float32 values; a sum is exact and rounded to float64 once, as by `math.fsum`; -0 is 0.
Every function returns, bit for bit, what that definition in plain Python returns, whatever the row's position, the
memory order, the batch and the threads. How, and why it is right, is told and proved in `_slices.py`.
"""

from pyterrier_alg.exact._bounds import cosine_distance_bound, float32_scan_bound, float64_scan_bound
from pyterrier_alg.exact._products import inner_products
from pyterrier_alg.exact._sums import row_sums, squared_distances, total
from pyterrier_alg.exact._vectors import add, mean, negate, norm, scale, subtract, unit

__all__ = [
    "add",
    "cosine_distance_bound",
    "float32_scan_bound",
    "float64_scan_bound",
    "inner_products",
    "mean",
    "negate",
    "norm",
    "row_sums",
    "scale",
    "squared_distances",
    "subtract",
    "total",
    "unit",
]
