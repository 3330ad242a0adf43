"""What differs between the databases: how a row meets a vector, how a value is bound, and a few limits and names.

A new database is one more class here, a connection, and nothing in the compiler.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from sqlglot import exp

from pyterrier_alg import exact
from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.operands import Rows

#: Norms that a float32 distance can square without harm; longer and shorter vectors are scaled by a power of two.
_SQUARABLE = (2.0**-40, 2.0**40)


class Dialect(ABC):
    """One database's SQL.

    Attributes:
        name: as sqlglot calls it.
        largest: the function of two numbers that gives the larger one.
        smallest: the same for the smaller one.
        total: the most exact sum that it has.
        nulls_first: where it puts NULLs in ascending order unless told.
        most_uses: beyond so many uses of tables, written out, a step becomes a temporary table.
        deepest_nest: and beyond so many steps, one within the other.
    """

    name: str
    largest: str
    smallest: str
    total: str
    nulls_first: bool
    most_uses: int
    deepest_nest: int

    @abstractmethod
    def product(self, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        """`E @ v` of one row.

        Args:
            row: the column that holds it.
            vector: the parameter's name.
            space: of both; not l2.
        """

    @abstractmethod
    def closeness(self, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        """Likeness of one row and a vector by the space's own distance, larger is closer."""

    @abstractmethod
    def vector_parameters(self, vector: str, values: Rows, space: Space) -> Mapping[str, object]:
        """What is bound for a vector: float32 values, under the parameter's name and names derived from it."""

    @abstractmethod
    def product_bound(self, space: Space, row_norm: float, row_norm_error: float, values: Rows) -> float:
        """How far `product` may be from the defined score.

        Args:
            space: of both.
            row_norm: the largest norm of a row.
            row_norm_error: how far a row's norm may be from 1, in a cosine space.
            values: the vector, float32.
        """

    @abstractmethod
    def closeness_bound(self, space: Space, row_norm: float, row_norm_error: float, values: Rows) -> float:
        """How far `closeness` may be from the defined score; arguments as for `product_bound`."""

    def text(self, tree: exp.Expr) -> str:
        """A statement as text: identifiers quoted, functions as they were written."""
        for key in tree.find_all(exp.Ordered):
            # What is ordered upwards is docnos, of which none is NULL: nothing need be said of NULLs.
            key.set("nulls_first", not key.args.get("desc") and self.nulls_first)
        return tree.sql(self.name, identify=True, pretty=True, normalize_functions=False)


class Sqlite(Dialect):
    """SQLite with sqlite-vec, which measures in float32 and has distances only, no inner product."""

    name, largest, smallest, total, nulls_first = "sqlite", "max", "min", "sum", True
    # It writes a common table expression out again at each use.
    most_uses, deepest_nest = 32, 64

    #: The function of ours that a connection registers for spaces with inner product.
    INNER_PRODUCT = "inner_product"

    def product(self, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        """`(1 - vec_distance_cosine(row, :v)) * |v|`; in a space of inner products a function of ours, in float64."""
        if space.distance is not Distance.COSINE:
            return call(self.INNER_PRODUCT, row, exp.Placeholder(this=vector))
        norm = norm_of(vector)
        cosine = self._cosine(row, vector)
        return self._unless_zero(norm, exp.Mul(this=exp.paren(cosine), expression=exp.Placeholder(this=norm)))

    def closeness(self, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        """`1 - vec_distance_cosine(row, :v)`, `-vec_distance_L2(row, :v)`, or the inner product."""
        if space.distance is Distance.COSINE:
            return self._unless_zero(norm_of(vector), self._cosine(row, vector))
        if space.distance is Distance.L2:
            return exp.Neg(this=call("vec_distance_L2", row, exp.Placeholder(this=vector)))
        return self.product(row, vector, space)

    def _cosine(self, row: exp.Expr, vector: str) -> exp.Expr:
        distance = call("vec_distance_cosine", row, exp.Placeholder(this=vector))
        return exp.Sub(this=whole(1), expression=distance)

    def _unless_zero(self, norm: str, score: exp.Expr) -> exp.Expr:
        # sqlite-vec gives NULL for a zero vector; the algebra gives 0.
        is_zero = exp.EQ(this=exp.Placeholder(this=norm), expression=whole(0))
        return exp.Case(ifs=[exp.If(this=is_zero, true=real(0))], default=score)

    def vector_parameters(self, vector: str, values: Rows, space: Space) -> Mapping[str, object]:
        """The values as a blob; in a cosine space also the norm, in float64."""
        if space.distance is Distance.COSINE:
            return {vector: _squarable(values).tobytes(), norm_of(vector): exact.norm(values)}
        if space.distance is Distance.L2:
            return {vector: values.astype(np.float32).tobytes()}
        return {vector: values.astype(np.float64).tobytes()}

    def product_bound(self, space: Space, row_norm: float, row_norm_error: float, values: Rows) -> float:
        """In a cosine space that of a float32 distance, times the vector's norm; otherwise that of a float64 sum."""
        if space.distance is not Distance.COSINE:
            return exact.float64_scan_bound(space.dimensions, row_norm, exact.norm(values))
        norm = exact.norm(values)
        cosine = self._cosine_bound(space, row_norm_error, values)
        return norm * (cosine * (1.0 + 2.0**-50) + 2.0**-51) if norm else 0.0

    def closeness_bound(self, space: Space, row_norm: float, row_norm_error: float, values: Rows) -> float:
        """That of a float32 cosine or Euclidean distance."""
        if space.distance is Distance.L2:
            return _l2_bound(space.dimensions, row_norm + exact.norm(values), 2.0**-24)
        if space.distance is not Distance.COSINE:
            return self.product_bound(space, row_norm, row_norm_error, values)
        # The cosine itself, whatever the row's norm.
        return self._cosine_bound(space, 0.0, values)

    def _cosine_bound(self, space: Space, row_norm_error: float, values: Rows) -> float:
        norm = exact.norm(_squarable(values))
        return exact.cosine_distance_bound(space.dimensions, norm, row_norm_error) + 2.0**-51 if norm else 0.0


class DuckDb(Dialect):
    """DuckDB, which measures in float64 where it is asked to."""

    name, largest, smallest, total, nulls_first = "duckdb", "greatest", "least", "fsum", False
    # It shares what is materialized, but plans a nest in time that grows with the third power of its depth,
    # and nests all steps of a statement in one another, 1,000 at most.
    most_uses, deepest_nest = 100, 16

    def product(self, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        """`array_inner_product` over doubles."""
        return self._measure("array_inner_product", row, vector, space)

    def closeness(self, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        """`array_cosine_similarity`, `-array_distance`, or the inner product, over doubles."""
        if space.distance is Distance.L2:
            return exp.Neg(this=self._measure("array_distance", row, vector, space))
        if space.distance is Distance.INNER_PRODUCT:
            return self.product(row, vector, space)
        similarity = self._measure("array_cosine_similarity", row, vector, space)
        # DuckDB gives NaN for a zero vector; the algebra gives 0.
        is_zero = exp.EQ(this=exp.Placeholder(this=norm_of(vector)), expression=whole(0))
        return exp.Case(ifs=[exp.If(this=is_zero, true=real(0))], default=similarity)

    def _measure(self, function: str, row: exp.Expr, vector: str, space: Space) -> exp.Expr:
        doubles = exp.DataType.build(f"DOUBLE[{space.dimensions}]", dialect=self.name)
        return call(function, exp.cast(row, doubles.copy()), exp.cast(exp.Placeholder(this=vector), doubles))

    def vector_parameters(self, vector: str, values: Rows, space: Space) -> Mapping[str, object]:
        """The values as a list of doubles, and the norm."""
        return {vector: values.astype(np.float64).tolist(), norm_of(vector): exact.norm(values)}

    def product_bound(self, space: Space, row_norm: float, row_norm_error: float, values: Rows) -> float:
        """That of a float64 sum."""
        return exact.float64_scan_bound(space.dimensions, row_norm, exact.norm(values))

    def closeness_bound(self, space: Space, row_norm: float, row_norm_error: float, values: Rows) -> float:
        """That of float64 sums, roots and quotients."""
        if space.distance is Distance.L2:
            return _l2_bound(space.dimensions, row_norm + exact.norm(values), 2.0**-53)
        if space.distance is Distance.INNER_PRODUCT:
            return self.product_bound(space, row_norm, row_norm_error, values)
        # Three sums of d terms, two roots, a product and a quotient: each of them off by less than d + 2 units of 1.
        return (3 * space.dimensions + 16) * 2.0**-52


def norm_of(vector: str) -> str:
    """The parameter of a vector's norm; no other parameter has two underscores in a row."""
    return f"{vector}__norm"


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function that only the database knows."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def whole(value: int) -> exp.Expr:
    """A small whole number, written out."""
    return exp.Literal.number(value)


def real(value: int) -> exp.Expr:
    """A small whole number as a float, written out."""
    return exp.Literal.number(f"{value}.0")


def _squarable(values: Rows) -> Rows:
    """The vector, scaled by a power of two where float32 could not square its norm: a cosine is the same for both."""
    norm = exact.norm(values)
    if norm == 0 or _SQUARABLE[0] <= norm <= _SQUARABLE[1]:
        return values.astype(np.float32)
    return np.ldexp(values.astype(np.float64), -math.frexp(norm)[1]).astype(np.float32)


def _l2_bound(dimensions: int, longest: float, unit: float) -> float:
    """How far a Euclidean distance of at most `longest` may be off: d + 4 roundings, and underflow of squares."""
    relative = (dimensions + 4) * unit
    if relative >= 0.5 or (unit > 2.0**-53 and longest > 2.0**60):
        return math.inf
    flushed = math.sqrt(dimensions) * 2.0**-62 if unit > 2.0**-53 else 0.0
    return 2 * relative * longest + flushed
