"""What an operand or a step may be, and the semantic spaces that vectors live in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral

from pyterrier_alg.algebra.errors import BindingError


class Kind(StrEnum):
    """The kinds. A column holds text or calendar days; numeric columns are relations, boolean ones masks."""

    NUMBER = "number"
    TEXT = "text"
    VECTOR = "vector"
    MATRIX = "matrix"
    RELATION = "relation"
    MASK = "mask"
    TEXT_COLUMN = "text column"
    DATE_COLUMN = "date column"
    RETRIEVER = "retriever"


class Distance(StrEnum):
    """How a space measures likeness."""

    COSINE = "cosine"
    INNER_PRODUCT = "inner product"
    L2 = "l2"


@dataclass(frozen=True, slots=True)
class Space:
    """A semantic space: a named identity. Vectors of two spaces never meet, whatever their dimensions.

    Attributes:
        name: what people call it.
        dimensions: the length of its vectors.
        distance: cosine (rows are stored unit), inner product, or l2; its name will do.
        scalar: the type that its vectors are stored in.
        document_encoder: the identity of what made the rows; opaque.
        query_encoder: the identity of what makes query vectors; opaque.
    """

    name: str
    dimensions: int
    distance: Distance = Distance.COSINE
    scalar: str = "float32"
    document_encoder: str = ""
    query_encoder: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no space: everything later relies on it.

        Raises:
            BindingError: `space`.
        """
        for part in ("name", "scalar", "document_encoder", "query_encoder"):
            if not isinstance(getattr(self, part), str):
                raise BindingError("space", f"the {part} of a space is a text, not {getattr(self, part)!r}")
        if not self.name:
            raise BindingError("space", "a space has a name: it is what tells two of them apart")
        dimensions: object = self.dimensions
        if isinstance(dimensions, bool) or not isinstance(dimensions, Integral) or dimensions < 1:
            message = f"the space {self.name} cannot have {dimensions!r} dimensions"
            raise BindingError("space", message, "a whole number above 0")
        object.__setattr__(self, "dimensions", int(dimensions))
        try:
            object.__setattr__(self, "distance", Distance(self.distance))
        except ValueError:
            message = f"the space {self.name} has no distance {self.distance!r}"
            raise BindingError("space", message, f"there are {', '.join(map(repr, map(str, Distance)))}") from None

    def __str__(self) -> str:
        """The short form that messages use."""
        return f"{self.name}[{self.dimensions}, {self.distance}]"


@dataclass(frozen=True, slots=True)
class Type:
    """The kind of an expression, with its space where it is a vector or a matrix."""

    kind: Kind
    space: Space | None = None

    def __str__(self) -> str:
        """As messages name it: `relation`, `vector[text]`."""
        return f"{self.kind}[{self.space.name}]" if self.space else str(self.kind)


@dataclass(frozen=True, slots=True)
class Binding:
    """What the checker knows of a bound name.

    Attributes:
        type: its kind and space.
        value: of a number or a text that is known before running; None otherwise.
    """

    type: Type
    value: float | str | None = None
