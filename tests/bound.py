"""The names that the contract's example table binds, for every test of the language."""

from pyterrier_alg.algebra import Binding, Distance, Kind, Name, Space, Type

SPACE = Space("words", 4)
OTHER = Space("others", 4)
FLAT = Space("flat", 4, Distance.L2)

BINDINGS = {
    **{name: Binding(Type(Kind.RELATION)) for name in ("S", "T", "A", "w", "year", "group by")},
    "E": Binding(Type(Kind.MATRIX, SPACE)),
    "q1": Binding(Type(Kind.VECTOR, SPACE)),
    "q2": Binding(Type(Kind.VECTOR, SPACE)),
    "p": Binding(Type(Kind.VECTOR, OTHER)),
    "F": Binding(Type(Kind.MATRIX, FLAT)),
    "f": Binding(Type(Kind.VECTOR, FLAT)),
    "m": Binding(Type(Kind.MASK)),
    "n": Binding(Type(Kind.MASK)),
    "all": Binding(Type(Kind.MASK)),
    "alpha": Binding(Type(Kind.NUMBER), 0.5),
    "lang": Binding(Type(Kind.TEXT_COLUMN)),
    "published": Binding(Type(Kind.DATE_COLUMN)),
    "bm25": Binding(Type(Kind.RETRIEVER)),
    "query": Binding(Type(Kind.TEXT)),
    "now": Binding(Type(Kind.TEXT), "2026-12-01"),
}

#: The same names as Python objects.
OPERANDS = {name: Name(name) for name in BINDINGS if name.isidentifier()}
