"""The operator table: the one place that says what the algebra has.

The reader, the checker, the printer, `orient` and the reference pages are drawn from it; each engine adds one function
for each entry that it can run. A signature is written as its users would say it: `"k:count S:relation -> relation"`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from pyterrier_alg.algebra.expressions import Count, Expression, Number
from pyterrier_alg.algebra.kinds import Kind

#: What a parameter may be beside an expression of some kind: digits from 1, digits, a text literal, a literal.
LITERALS = ("count", "count0", "string", "literal")

_KINDS: dict[str, tuple[Kind, ...]] = {
    **{kind.value: (kind,) for kind in Kind},
    "column": (Kind.TEXT_COLUMN, Kind.DATE_COLUMN),
    "text_column": (Kind.TEXT_COLUMN,),
    "date_column": (Kind.DATE_COLUMN,),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One place of a signature.

    Attributes:
        name: as the reference writes it.
        accepts: a word: a kind, `column` (text or date), or one of `LITERALS`.
        many: whether it repeats (once or more).
    """

    name: str
    accepts: str
    many: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that fit; none for a literal."""
        return _KINDS.get(self.accepts, ())


@dataclass(frozen=True, slots=True)
class Signature:
    """One way to apply an operator: its parameters and the kind that comes out."""

    parameters: tuple[Parameter, ...]
    result: Kind

    @classmethod
    def read(cls, text: str) -> Signature:
        """Read `"k:count S:relation… -> relation"`."""
        left, right = text.split(" -> ")
        parameters = []
        for word in left.split():
            name, accepts = word.split(":")
            parameters.append(Parameter(name, accepts.rstrip("…"), accepts.endswith("…")))
        return cls(tuple(parameters), Kind(right))

    def spread(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameter of each of `count` arguments, or None where the number does not fit."""
        fixed = self.parameters
        if not fixed or not fixed[-1].many:
            return fixed if count == len(fixed) else None
        return (*fixed[:-1], *[fixed[-1]] * (count - len(fixed) + 1)) if count >= len(fixed) else None


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter that is given by name only, with its default."""

    name: str
    accepts: str
    default: Expression


@dataclass(frozen=True)
class Operator:
    """One entry of the table.

    Attributes:
        key: its name in `Apply.operator`: the ASCII symbol, or the function's name.
        signatures: the ways to apply it; the first that fits counts.
        meaning: one sentence.
        example: a program that runs over the names of the contract's examples.
        options: what is given by name.
        unicode: the symbol that the paper's notation uses; empty for functions.
        ascii: the symbol of the canonical ASCII form.
        precedence: how tightly it binds in text, larger is tighter; 0 for functions.
        rules: value rules that the checker knows by name, as `"rule parameter"`.
    """

    key: str
    signatures: tuple[Signature, ...]
    meaning: str
    example: str
    options: tuple[Option, ...] = ()
    unicode: str = ""
    ascii: str = ""
    precedence: int = 0
    rules: tuple[str, ...] = ()

    @property
    def is_function(self) -> bool:
        """Whether it is written as a call."""
        return not self.ascii

    @cached_property
    def usage(self) -> str:
        """How it is written, with its parameters' names: `rrf(S, T, …, k=60, depth=100)`."""
        first = self.signatures[0].parameters
        if not self.is_function:
            names = [p.name for p in first]
            return f" {self.unicode} ".join(names) if len(names) == 2 else self.unicode + names[0]
        names = [f"{p.name}, …" if p.many else p.name for p in first]
        return f"{self.key}({', '.join(names + [f'{o.name}={o.default!r}' for o in self.options])})"


#: How tightly the groups of infix operators bind in text.
RESTRICT, OR, AND, COMPARE, ADD, MULTIPLY, UNARY, SCAN = range(1, 9)

_ARITHMETIC = (
    "S:relation T:relation -> relation",
    "S:relation c:number -> relation",
    "c:number S:relation -> relation",
    "c:number d:number -> number",
)
_COMPARISON = ("S:relation c:number -> mask", "x:date_column day:text -> mask")
_RESCALE = ("S:relation -> relation",)


def _operator(
    key: str,
    signatures: Iterable[str] | str,
    meaning: str,
    example: str,
    *,
    options: tuple[Option, ...] = (),
    symbol: str = "",
    ascii_symbol: str = "",
    precedence: int = 0,
    rules: tuple[str, ...] = (),
) -> Operator:
    texts = (signatures,) if isinstance(signatures, str) else tuple(signatures)
    ascii_form = ascii_symbol or (key if precedence else "")
    return Operator(
        key,
        tuple(map(Signature.read, texts)),
        meaning,
        example,
        options,
        symbol or ascii_form,
        ascii_form,
        precedence,
        rules,
    )


# fmt: off
_TABLE = (
    _operator(
        "@", ("E:matrix v:vector -> relation", "E:matrix v:text -> relation"),
        "inner product of each row with v; a text goes through the space's query encoder first", "E @ q1",
        precedence=SCAN, rules=("no_l2 E",),
    ),
    _operator(
        "neg", ("S:relation -> relation", "v:vector -> vector", "c:number -> number"), "negation", "-S",
        symbol="−", ascii_symbol="-", precedence=UNARY,
    ),
    _operator("~", "m:mask -> mask", "the records that are not in m", "~m >> S", symbol="¬", precedence=UNARY),
    _operator(
        "*", (*_ARITHMETIC, "c:number v:vector -> vector"), "scaling, or the pointwise product where both sides score",
        "w * S", symbol="⊙", precedence=MULTIPLY,
    ),
    _operator(
        "/", ("S:relation c:number -> relation", "c:number d:number -> number"), "division by a number other than 0",
        "S / 2", precedence=MULTIPLY, rules=("nonzero 1",),
    ),
    _operator(
        "+", (*_ARITHMETIC, "u:vector v:vector -> vector"), "pointwise sum where both sides score", "S + T",
        precedence=ADD,
    ),
    _operator(
        "-", (*_ARITHMETIC, "u:vector v:vector -> vector"), "pointwise difference where both sides score", "S - T",
        symbol="−", precedence=ADD,
    ),
    _operator(
        ">=", _COMPARISON, "the records with at least this value", "(year >= 1965) >> S", symbol="≥",
        precedence=COMPARE,
        rules=("date day",),
    ),
    _operator(">", _COMPARISON, "the records with more", "(S > 0.5) >> T", precedence=COMPARE, rules=("date day",)),
    _operator(
        "<=", _COMPARISON, "the records with at most this value", "(year <= 1965) >> S", symbol="≤", precedence=COMPARE,
        rules=("date day",),
    ),
    _operator(
        "<", _COMPARISON, "the records with less",
        '(published < "2024-01-01") >> S', precedence=COMPARE, rules=("date day",)
    ),
    _operator("&", "m:mask n:mask -> mask", "the records in both", "(m & n) >> S", symbol="∧", precedence=AND),
    _operator("|", "m:mask n:mask -> mask", "the records in either", "(m | n) >> S", symbol="∨", precedence=OR),
    _operator(
        ">>", "m:mask S:relation -> relation", "S restricted to the records in m", "m >> S", symbol="▷",
        precedence=RESTRICT
    ),
    _operator("top", "k:count S:relation -> relation", "the first k of S in rank order", "top(10, S)"),
    _operator(
        "per",
        ("n:count group:column S:relation -> relation", "n:count group:relation S:relation -> relation"),
        "at most the first n of each group of records that share a value; a record without one is dropped",
        "per(1, lang, S)",
    ),
    _operator("fill", "c:number S:relation -> relation", "S, and c for every other record of the collection",
        "fill(0, S)"),
    _operator(
        "support", ("S:relation -> mask",
        "x:column -> mask"), "the records that S scores, or that have a value in a column",
        "support(S) >> T",
    ),
    _operator("ids", "id:string… -> mask", "the listed records", 'ids("d1", "d2") >> S'),
    _operator(
        "isin", ("x:column value:literal… -> mask", "x:relation value:literal… -> mask"),
        "the records whose value equals one of the literals", 'isin(lang, "en", "de") >> S', rules=("members value",),
    ),
    _operator("minmax", _RESCALE, "(S − min) / (max − min) over S's own domain; 1 where all are equal", "minmax(S)"),
    _operator("maxnorm", _RESCALE, "S / max; the maximum must be positive", "maxnorm(w)"),
    _operator("zscore", _RESCALE, "(S − mean) / population deviation; 0 where all are equal", "zscore(S)"),
    _operator("softmax", _RESCALE, "exp(S − max) over the sum of these", "softmax(S)"),
    _operator("sigmoid", _RESCALE, "1 / (1 + exp(−S))", "sigmoid(S)"),
    _operator("log1p", _RESCALE, "log(1 + S)", "log1p(w)"),
    _operator("exp", _RESCALE, "e to the power S", "exp(S)"),
    _operator("abs", _RESCALE, "the absolute value", "abs(S)"),
    _operator(
        "clip", "lo:number hi:number S:relation -> relation", "S, held between lo and hi", "clip(0, 1, S)",
        rules=("ordered lo hi",)
    ),
    _operator("ranks", _RESCALE, "1, 2, 3, … in rank order", "ranks(S)"),
    _operator(
        "rrf", "S:relation… -> relation",
        "reciprocal rank fusion: the sum of 1 / (k + rank) over the union of the first `depth` of each", "rrf(S, T)",
        options=(Option("k", "count0", Count("60")), Option("depth", "count", Count("100"))),
    ),
    _operator(
        "mmr", "k:count S:relation E:matrix -> relation",
        "maximal marginal relevance: k times the record of greatest "
        "relevance·S − (1 − relevance)·max(0, likeness to those chosen)",
        "mmr(10, S, E)", options=(Option("relevance", "number", Number(0.7)),), rules=("share relevance",),
    ),
    _operator(
        "decay", "age:relation half_life:number -> relation",
        "2 to the power −age / half_life; a negative age counts as 0",
        'decay(days_since(published, "2026-12-01"), 30)', rules=("positive half_life",),
    ),
    _operator(
        "recip_decay", "age:relation scale:number -> relation", "1 / (1 + age / scale); a negative age counts as 0",
        'recip_decay(days_since(published, "2026-12-01"), 30)', rules=("positive scale",),
    ),
    _operator(
        "days_since", "x:date_column reference:text -> relation", "whole days from the column's day to the reference",
        'days_since(published, "2026-12-01")', rules=("date reference",),
    ),
    _operator(
        "closeness", ("E:matrix v:vector -> relation", "E:matrix v:text -> relation"),
        "likeness by the space's own distance, larger is closer", "closeness(E, q1)",
    ),
    _operator("row", "E:matrix id:string -> vector", "the vector of one record", 'E @ row(E, "d1")'),
    _operator("encode", "E:matrix t:text -> vector", "the text through the query encoder of E's space",
        'E @ encode(E, "b")'),
    _operator(
        "centroid", "E:matrix m:mask -> vector", "the mean over m's records that E covers", "E @ unit(centroid(E, m))"
    ),
    _operator("unit", "v:vector -> vector", "v at length 1", "E @ unit(q1 - q2)"),
)
# fmt: on

#: Every operator and function, by key.
OPERATORS = MappingProxyType({operator.key: operator for operator in _TABLE})

#: Names that no operand and no step may have.
RESERVED_OPERANDS = ("query", "query_vec", "now", "all", "input")
RESERVED = frozenset({o.key for o in _TABLE if o.is_function} | set(RESERVED_OPERANDS))


def infix(symbol: str) -> Operator | None:
    """The binary operator that is written so, in either notation."""
    return next((o for o in _TABLE if o.precedence and o.key != "neg" and symbol in (o.key, o.unicode)), None)
