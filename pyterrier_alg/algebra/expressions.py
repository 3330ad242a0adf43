"""Expressions: immutable trees, equal by content, that Python's operators build and the reader reads.

Every node knows a digest of its own content, made from those of its parts when it is built. Equality, hashing and
sharing therefore cost the same for a sum of three thousand terms as for a name, and nothing here recurses: a program as
deep as its limits allow can be compared, printed, checked and run.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as _replace
from decimal import Decimal
from hashlib import blake2b
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from pyterrier_alg.algebra.errors import Diagnostic, ProgramError, Span

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """The base of all nodes, and the Python surface: `w * (m >> (E @ q1 - 0.5 * (E @ q2)))` builds a tree.

    `==` compares programs; the other comparisons build masks. An expression has no truth value.
    """

    # NumPy leaves the operator to us, so that `np.float64(2) * S` is an expression and an array is an error.
    __array_ufunc__: ClassVar[None] = None
    # The same for pandas, whose frames and series are arrays too.
    __pandas_priority__: ClassVar[int] = 10_000

    span: Span | None = field(default=None, kw_only=True)
    digest: bytes = field(init=False)
    size: int = field(init=False, default=1)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions directly below this one."""
        return ()

    def at(self, span: Span | None) -> Self:
        """The same expression, said to stand at another place of a text."""
        return _replace(self, span=span)

    def _seal(self, *content: bytes) -> None:
        digest = blake2b(type(self).__name__.encode(), digest_size=16)
        for piece in content:
            digest.update(len(piece).to_bytes(8, "little"))
            digest.update(piece)
        object.__setattr__(self, "digest", digest.digest())
        object.__setattr__(self, "size", 1 + sum(part.size for part in self.parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        from pyterrier_alg.algebra.printing import to_ascii

        return to_ascii(self)

    def __str__(self) -> str:
        from pyterrier_alg.algebra.printing import to_unicode

        return to_unicode(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # As text: pickle itself recurses, and a long sum is deep.
        from pyterrier_alg.algebra.reading import read_expression

        return read_expression, (repr(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __bool__(self) -> NoReturn:
        raise refusal(
            "an expression has no truth value: and, or, not and chained comparisons do not build programs",
            "write &, |, ~ with parentheses; (1960 <= year) & (year <= 1970)",
            expected=("truth value",),
            found="expression",
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("an expression is not iterable")

    def __matmul__(self, other: object) -> Apply:
        return Apply("@", (self, lift(other)))

    def __rmatmul__(self, other: object) -> Apply:
        return Apply("@", (lift(other), self))

    def __mul__(self, other: object) -> Apply:
        return Apply("*", (self, lift(other)))

    def __rmul__(self, other: object) -> Apply:
        return Apply("*", (lift(other), self))

    def __truediv__(self, other: object) -> Apply:
        return Apply("/", (self, lift(other)))

    def __rtruediv__(self, other: object) -> Apply:
        return Apply("/", (lift(other), self))

    def __add__(self, other: object) -> Apply:
        return Apply("+", (self, lift(other)))

    def __radd__(self, other: object) -> Apply:
        return Apply("+", (lift(other), self))

    def __sub__(self, other: object) -> Apply:
        return Apply("-", (self, lift(other)))

    def __rsub__(self, other: object) -> Apply:
        return Apply("-", (lift(other), self))

    def __neg__(self) -> Apply:
        return Apply("neg", (self,))

    def __invert__(self) -> Apply:
        return Apply("~", (self,))

    def __and__(self, other: object) -> Apply:
        return Apply("&", (self, lift(other)))

    def __rand__(self, other: object) -> Apply:
        return Apply("&", (lift(other), self))

    def __or__(self, other: object) -> Apply:
        return Apply("|", (self, lift(other)))

    def __ror__(self, other: object) -> Apply:
        return Apply("|", (lift(other), self))

    def __rshift__(self, other: object) -> Apply:
        return Apply(">>", (self, lift(other)))

    def __rrshift__(self, other: object) -> Apply:
        return Apply(">>", (lift(other), self))

    def __ge__(self, other: object) -> Apply:
        return Apply(">=", (self, lift(other)))

    def __gt__(self, other: object) -> Apply:
        return Apply(">", (self, lift(other)))

    def __le__(self, other: object) -> Apply:
        return Apply("<=", (self, lift(other)))

    def __lt__(self, other: object) -> Apply:
        return Apply("<", (self, lift(other)))


@dataclass(frozen=True, eq=False, repr=False)
class Number(Expression):
    """A finite float64 literal; −0 is 0.

    Example:
        >>> Number(0.5)
        0.5
    """

    value: float

    def __post_init__(self) -> None:
        """Normalise, so that equal numbers are equal nodes."""
        object.__setattr__(self, "value", float(self.value) + 0.0)
        self._seal(self.value.hex().encode())


@dataclass(frozen=True, eq=False, repr=False)
class Count(Expression):
    """Literal digits of any length, where the notation wants a k, an n or a depth.

    Example:
        >>> Count("0052")
        52
    """

    digits: str

    #: Larger than any collection: what a longer count means to an engine.
    LARGEST: ClassVar[int] = 2**62

    def __post_init__(self) -> None:
        """Drop leading zeros, so that equal counts are equal nodes."""
        object.__setattr__(self, "digits", self.digits.lstrip("0") or "0")
        self._seal(self.digits.encode())

    @property
    def value(self) -> int:
        """The count as an integer, or `LARGEST` where it is larger than that."""
        return min(int(self.digits), self.LARGEST) if len(self.digits) < 20 else self.LARGEST


@dataclass(frozen=True, eq=False, repr=False)
class Text(Expression):
    """A text literal, kept as it is, character for character."""

    value: str

    def __post_init__(self) -> None:
        """Seal the content."""
        self._seal(self.value.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, eq=False, repr=False)
class Name(Expression):
    """A name of an operand, a step, or one of the reserved operands (`query`, `query_vec`, `now`, `all`, `input`)."""

    name: str

    def __post_init__(self) -> None:
        """Refuse what cannot be written, and seal the content."""
        check_name(self.name)
        self._seal(self.name.encode("utf-8", "surrogatepass"))

    def __call__(self, text: object, depth: object = None) -> Retrieve:
        """Call a retriever: `bm25(query, 52)`.

        Args:
            text: what to search for, a text.
            depth: how many results at most, a whole number; the retriever's own default where it is left out.

        Returns:
            The expression `name(text)` or `name(text, depth)`.
        """
        return Retrieve(self.name, (lift(text),) if depth is None else (lift(text), count(depth)))


@dataclass(frozen=True, eq=False, repr=False)
class Apply(Expression):
    """An operator or a function of the algebra's table, applied.

    Attributes:
        operator: its key in `operators.OPERATORS`: `"@"`, `"neg"`, `"top"`, …
        arguments: in the order of the notation.
        options: what is given by name; defaults are left out, and the order is the table's.
    """

    operator: str
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()

    def __post_init__(self) -> None:
        """Seal the content."""
        named = [piece for key, value in self.options for piece in (key.encode(), value.digest)]
        count = str(len(self.arguments)).encode()
        self._seal(self.operator.encode(), count, *(a.digest for a in self.arguments), *named)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Arguments, then the values of options."""
        return (*self.arguments, *(value for _, value in self.options))

    def option(self, name: str) -> Expression | None:
        """The value given by that name, if any."""
        return dict(self.options).get(name)


@dataclass(frozen=True, eq=False, repr=False)
class Retrieve(Expression):
    """A retriever called by its name: `bm25(query, 52)`.

    Attributes:
        retriever: the operand's name.
        arguments: a text, then maybe a depth.
        options: always empty in a sound program; a call may be misspelt with them.
    """

    retriever: str
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be written, and seal the content."""
        check_name(self.retriever)
        named = [piece for key, value in self.options for piece in (key.encode(), value.digest)]
        self._seal(
            self.retriever.encode("utf-8", "surrogatepass"),
            str(len(self.arguments)).encode(),
            *(a.digest for a in self.arguments),
            *named,
        )

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Arguments, then the values of options."""
        return (*self.arguments, *(value for _, value in self.options))


def _is_number(value: Any, sort: type) -> bool:
    """Whether a value is a number of that sort, NumPy's among them; Python counts a bool as an integer, we do not."""
    return isinstance(value, sort) and not isinstance(value, bool)


def lift(value: Any) -> Expression:
    """A Python value as an expression.

    Args:
        value: an expression, a number (NumPy scalars too) or a string.

    Returns:
        The expression.

    Raises:
        ProgramError: `kind` for anything else (booleans and arrays included), `bad_number` for what is not finite,
            `bad_text` for what is no text.

    Example:
        >>> lift(0.5)
        0.5
    """
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        if any(0xD800 <= ord(character) <= 0xDFFF for character in value):
            raise ProgramError([Diagnostic("bad_text", "half of a surrogate pair is no character")], "")
        return Text(str(value))
    if _is_number(value, numbers.Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ProgramError([Diagnostic("bad_number", "a number must be finite and within float64")], "")
        return Number(number)
    sort = type(value).__name__
    hint = "bind it in a collection and use its name"
    if isinstance(value, bool):
        hint = "on objects == compares programs: to compare scores write isin(w, 0.5)"
    raise refusal(f"a {sort} is not an operand", hint, expected=("expression", "number", "text"), found=sort)


def count(value: Any) -> Expression:
    """A Python integer as literal digits; anything else is lifted, for the checker to refuse it with its place.

    Args:
        value: what was given where the notation wants a k, an n or a depth.

    Returns:
        The expression.

    Raises:
        ProgramError: as `lift`, and `bad_parameter` for a float like 10.0, whose print would pass for digits.
    """
    if _is_number(value, numbers.Integral) and value >= 0:
        # Through Decimal: Python refuses to print integers of more than 4,300 digits, the notation does not.
        return Count(format(Decimal(int(value)), "f"))
    lifted = lift(value)
    if isinstance(lifted, Number) and repr(lifted).isdigit():
        raise ProgramError([Diagnostic("bad_parameter", f"a count is a whole number, not {lifted.value!r}")], "")
    return lifted


def check_name(name: str) -> None:
    """Refuse a name that no text can hold, and that could therefore be read back as something else.

    Args:
        name: of an operand, a step or a retriever.

    Raises:
        ProgramError: `syntax`, where it is empty or has a backtick or a line break.
    """
    if not name or any(character in "`\r\n" for character in name):
        message = f"{name[:40]!r} cannot be a name: one character or more, no backtick, no line break"
        raise ProgramError([Diagnostic("syntax", message)], "")


def refusal(message: str, hint: str, *, expected: tuple[str, ...], found: str) -> ProgramError:
    """The error of a Python value or a use that builds no program."""
    return ProgramError([Diagnostic("kind", message, hint=hint, expected=expected, found=found)], "")


def walk(*roots: Expression) -> Iterator[Expression]:
    """Every distinct node below and including the roots, parts before wholes, without recursion."""
    done: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in done:
            done.add(id(node))
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(node.parts))


def fold(
    root: Expression,
    visit: Callable[[Expression, Sequence[Value]], Value],
    memo: dict[Expression, Value] | None = None,
) -> Value:
    """Compute a value bottom-up: `visit(node, values of its parts)`, once for each distinct content, without recursion.

    Args:
        root: where to begin.
        visit: given a node and its parts' values, in the order of `node.parts`.
        memo: values already known; new ones are added. Equal expressions share one.

    Returns:
        The value of the root.

    Example:
        >>> fold(Name("a") + Name("b"), lambda node, below: 1 + sum(below))
        3
    """
    known = {} if memo is None else memo
    stack = [root]
    while stack:
        node = stack[-1]
        missing = [part for part in node.parts if part not in known] if node not in known else []
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if node not in known:
            known[node] = visit(node, [known[part] for part in node.parts])
    return known[root]
