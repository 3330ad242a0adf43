"""A formula: what is written. Named steps, and an expression that is its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from pyterrier_alg.algebra.expressions import Expression, Name, Retrieve, check_name, walk


@dataclass(frozen=True, eq=False, repr=False)
class Formula:
    """Steps and a result, as one immutable value; equal formulas have equal canonical text.

    Attributes:
        steps: names and expressions, in order; a step may use those before it.
        result: the last line.
        source: the text that was read, which places in messages refer to; the canonical text where Python built it.

    Example:
        >>> parse("top(10, m ▷ 0.5 S)")
        top(10, m >> (0.5 * S))
    """

    steps: tuple[tuple[str, Expression], ...]
    result: Expression
    source: str = field(default="")

    def __post_init__(self) -> None:
        """Refuse steps whose names cannot be written."""
        for name, _ in self.steps:
            check_name(name)

    @cached_property
    def ascii(self) -> str:
        """The canonical ASCII form: also Python, where the names are Python names and there are no steps."""
        from pyterrier_alg.algebra.printing import formula_to_ascii

        return formula_to_ascii(self)

    @cached_property
    def unicode(self) -> str:
        """The canonical form in the paper's symbols."""
        from pyterrier_alg.algebra.printing import formula_to_unicode

        return formula_to_unicode(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical ASCII form, in hexadecimal: the same on every machine and in every version."""
        return sha256(self.ascii.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def expressions(self) -> Iterable[Expression]:
        """Every step's expression, then the result."""
        return (*(expression for _, expression in self.steps), self.result)

    def __eq__(self, other: object) -> bool:
        """Equal by content, wherever it was written and however it was spaced."""
        return isinstance(other, Formula) and (self.steps, self.result) == (other.steps, other.result)

    def __hash__(self) -> int:
        """By content."""
        return hash((self.steps, self.result))

    def __repr__(self) -> str:
        """The canonical ASCII form."""
        return self.ascii

    def __str__(self) -> str:
        """The canonical form in the paper's symbols."""
        return self.unicode

    def __reduce__(self) -> tuple[Any, ...]:
        """As text: pickle itself recurses, and a long sum is deep."""
        return _read_again, (self.source, self.ascii)


def _read_again(source: str, ascii_form: str) -> Formula:
    """A formula from its text; from its canonical form where it is not what the text says, but was made of that."""
    from pyterrier_alg.algebra.reading import parse

    formula = parse(source or ascii_form)
    return formula if formula.ascii == ascii_form else parse(ascii_form)


def operand_names(formula: Formula) -> list[str]:
    """The names in a formula that are not those of its steps, retrievers among them, in the order of their first use.

    Example:
        >>> operand_names(parse("top(10, support(bm25(query)) >> S)"))
        ['query', 'bm25', 'S']
    """
    steps = {name for name, _ in formula.steps}
    named = (
        n.name if isinstance(n, Name) else n.retriever
        for n in walk(*formula.expressions)
        if isinstance(n, Name | Retrieve)
    )
    return [name for name in dict.fromkeys(named) if name not in steps]
