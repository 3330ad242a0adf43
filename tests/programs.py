"""Well-kinded programs over small hostile collections: ties on purpose, missing values, empty masks, few numbers.

`programs()` draws a formula and a scope that it can run over; some of them fail while running, as they should.
"""

import numpy as np
from hypothesis import strategies as st

from pyterrier_alg.algebra import Distance, Formula, Kind, Space, parse
from pyterrier_alg.algebra.printing import number_text
from pyterrier_alg.collection.operands import (
    ColumnOperand,
    MaskOperand,
    MatrixOperand,
    NumberOperand,
    RelationOperand,
    RetrieverOperand,
    Scope,
    TextOperand,
    VectorOperand,
)

DOCNOS = ["d1", "d2", "d10", "a b", 'q"uote', "it's", "é", "e\u0301", "🙂", "\uffee", "日本", "Z", "%", "\\", "a;--"]
ELEMENTS = [-1.0, -0.5, 0.0, 0.5, 1.0, 0.1, 3.0]
SCORES = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 0.1, 0.3, 0.1 + 0.2, 1e-9, 7.0]
NUMBERS = [0.0, 1.0, 2.0, 0.5, -1.0, -0.5, 0.1, 3.0, 100.0]
TEXTS = ["wave guide", "é", 'it\'s "so"', ""]
LANGUAGES = ["en", "de", "", "é", "e\u0301", "it's"]
DAYS = ["2024-01-01", "2024-02-29", "2023-12-31", "1965-07-01"]


class TableEncoder:
    """Texts to vectors whose elements are from the few that rows have; to nothing, the empty one on a line."""

    identity = "table"

    def __init__(self, space: Space):
        self.space = space

    def encode(self, text):
        count = self.space.dimensions
        if not text and count == 1:
            return np.zeros(1, dtype=np.float32)
        values = [ELEMENTS[(len(text) * 3 + i * 5 + sum(map(ord, text))) % len(ELEMENTS)] for i in range(count)]
        return in_space(values if any(values) else [1.0] * count, self.space)


class TableRetriever:
    """A ranking of some records, which a longer text rotates."""

    identity = "table"
    default_depth = 3

    def __init__(self, scores):
        self.scores = scores

    def search(self, text, depth):
        names = list(self.scores)
        turned = {names[(i + len(text)) % len(names)]: s for i, s in enumerate(self.scores.values())}
        return dict(sorted(turned.items(), key=lambda item: (-item[1], item[0]))[:depth])


def in_space(values, space: Space):
    """float32, and unit where the space's distance is the cosine."""
    array = np.array(values, dtype=np.float64)
    if space.distance is Distance.COSINE:
        array = array / np.sqrt((array * array).sum())
    return array.astype(np.float32)


@st.composite
def scopes(draw) -> Scope:
    """A collection of 0 to 9 records with every sort of operand."""
    fewest = draw(st.sampled_from([5, 5, 5, 0]))
    names = sorted(draw(st.lists(st.sampled_from(DOCNOS), min_size=fewest, max_size=9, unique=True)))
    docnos = np.empty(len(names), dtype=object)
    docnos[:] = names

    def some():
        share = draw(st.sampled_from([[True, True, True, False], [True], [True, False], [False]]))
        chosen = draw(st.lists(st.sampled_from(share), min_size=len(names), max_size=len(names)))
        return np.flatnonzero(np.array(chosen, dtype=bool)).astype(np.int64)

    def relation(pool=SCORES):
        positions = some()
        scores = [draw(st.sampled_from(pool)) for _ in positions]
        return RelationOperand(positions, np.array(scores, dtype=np.float64))

    def column(pool, kind):
        positions = some()
        values = np.empty(len(positions), dtype=object)
        values[:] = [draw(st.sampled_from(pool)) for _ in positions]
        return ColumnOperand(positions, values, kind)

    dimensions = draw(st.integers(1, 4))
    elements = st.lists(st.sampled_from(ELEMENTS), min_size=dimensions, max_size=dimensions)
    bases = draw(st.lists(elements.filter(any), min_size=1, max_size=3))
    operands = {}
    for name, distance in (("E", Distance.INNER_PRODUCT), ("C", Distance.COSINE), ("F", Distance.L2)):
        space = Space(f"{name} space", dimensions, distance)
        positions = some()
        # Few bases, permuted: identical rows, and rows with the same products in another order.
        rows = [in_space(draw(st.permutations(draw(st.sampled_from(bases)))), space) for _ in positions]
        matrix = np.array(rows, dtype=np.float32).reshape(-1, dimensions)
        operands[name] = MatrixOperand(positions, matrix, space, TableEncoder(space))
        for suffix in "12":
            values = draw(elements.filter(any) if distance is Distance.COSINE else elements)
            operands[f"{name.lower()}{suffix}"] = VectorOperand(in_space(values, space), space)
    operands |= {name: relation() for name in ("S", "T", "input", "group by")}
    operands["huge"] = relation([1e308, -1e308, 1.0])
    operands |= {"m": MaskOperand(some()), "n": MaskOperand(some())}
    operands["all"] = MaskOperand(np.arange(len(names), dtype=np.int64))
    operands |= {"lang": column(LANGUAGES, Kind.TEXT_COLUMN), "published": column(DAYS, Kind.DATE_COLUMN)}
    operands |= {"alpha": NumberOperand(draw(st.sampled_from(NUMBERS))), "beta": NumberOperand(0.25)}
    operands |= {"query": TextOperand(draw(st.sampled_from(TEXTS))), "now": TextOperand("2024-06-01")}
    ranking = relation(SCORES)
    found = {names[p]: float(s) for p, s in zip(ranking.positions, ranking.scores, strict=True)}
    operands["bm25"] = RetrieverOperand(TableRetriever(found))
    return Scope(docnos, operands, qid="1")


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Writer:
    """Writes expressions of one kind at a time, over the operands of a scope and the steps so far."""

    def __init__(self, draw, scope: Scope, excluded=frozenset()):
        self.draw, self.scope, self.excluded = draw, scope, excluded
        self.steps = {"relation": [], "mask": [], "number": [], "vector": []}

    def one(self, *choices):
        return self.draw(st.sampled_from(choices))

    def write(self, kind: str, depth: int) -> str:
        if self.steps[kind] and self.one(True, False):
            return self.one(*self.steps[kind])
        return getattr(self, kind)(depth)

    def count(self) -> str:
        return self.one("1", "2", "3", "5", "100", "9" * 25)

    def docno(self) -> str:
        known = [str(d) for d in self.scope.docnos]
        return quoted(self.one(*known, *known, "no such record"))

    def number(self, depth: int) -> str:
        leaves = [number_text(self.one(*NUMBERS)), "alpha", "beta"]
        if depth < 1 or self.one(True, True, False):
            return self.one(*leaves)
        return f"({self.write('number', depth - 1)} {self.one('+', '-', '*')} {self.write('number', depth - 1)})"

    def text(self) -> str:
        return self.one("query", *map(quoted, TEXTS))

    def vector(self, depth: int, space: str = "E") -> str:
        leaf = self.one(space.lower() + "1", space.lower() + "2", f"encode({space}, {self.text()})")
        if depth < 1:
            return leaf
        form = self.one("leaf", "leaf", "row", "centroid", "unit", "sum", "scaled", "negated")
        if form == "leaf":
            return leaf
        if form == "row":
            return f"row({space}, {self.docno()})"
        if form == "centroid":
            return f"centroid({space}, {self.write('mask', depth - 1)})"
        below = self.vector(depth - 1, space)
        if form == "unit":
            return f"unit({below})"
        if form == "scaled":
            return f"({self.write('number', 0)} * {below})" if below[0] != "-" else f"-{below}"
        return f"-{below}" if form == "negated" else f"({below} {self.one('+', '-')} {self.vector(depth - 1, space)})"

    def mask(self, depth: int) -> str:
        if depth < 1:
            return self.one("m", "n", "all")
        form = self.one("compare", "compare", "date", "isin", "isin", "ids", "support", "not", "and", "or", "leaf")
        compare = self.one(">=", ">", "<=", "<")
        match form:
            case "compare":
                return f"({self.write('relation', depth - 1)} {compare} {self.write('number', depth - 1)})"
            case "date":
                return f"(published {compare} {self.one('now', *map(quoted, DAYS))})"
            case "isin":
                column, pool = self.one(("lang", LANGUAGES), ("published", DAYS))
                values = ", ".join(quoted(self.one(*pool)) for _ in range(self.one(1, 2)))
                return self.one(
                    f"isin({column}, {values})", f'(lang != {quoted(self.one(*LANGUAGES))})',
                    f"isin({self.write('relation', depth - 1)}, {number_text(self.one(*SCORES))}, 1)",
                )  # fmt: skip
            case "ids":
                return f"ids({self.docno()}, {self.docno()})"
            case "support":
                return f"support({self.one('lang', 'published', self.write('relation', depth - 1))})"
            case "not":
                return f"~{self.write('mask', depth - 1)}"
            case "leaf":
                return self.one("m", "n", "all")
        return f"({self.write('mask', depth - 1)} {'&' if form == 'and' else '|'} {self.write('mask', depth - 1)})"

    def relation(self, depth: int) -> str:
        leaf = self.one("S", "T", "input", "`group by`", "E @ e1", "C @ c1", f"bm25({self.text()})", "scan", "scan")
        if leaf == "scan":
            space = self.one("E", "C")
            leaf = f"({space} @ {self.one(self.vector(depth - 1, space), self.text())})"
        if depth < 1:
            return leaf
        below = lambda: self.write("relation", depth - 1)  # noqa: E731
        number = lambda: self.write("number", depth - 1)  # noqa: E731
        mask = lambda: self.write("mask", depth - 1)  # noqa: E731
        forms = {
            "leaf": lambda: leaf,
            "huge": lambda: f"(huge {self.one('+', '*')} {below()})",
            "pointwise": lambda: f"({below()} {self.one('+', '-', '*')} {below()})",
            "scaled": lambda: f"({number()} {self.one('+', '-', '*')} {below()})",
            "shifted": lambda: f"({below()} {self.one('+', '-', '*')} {number()})",
            "divided": lambda: f"({below()} / {self.one('2', '-0.5', 'beta', '3')})",
            "neg": lambda: f"-({below()})",
            "restricted": lambda: f"({mask()} >> {below()})",
            "top": lambda: f"top({self.count()}, {below()})",
            "per": lambda: f"per({self.one('1', '2')}, {self.one('lang', 'published', 'S', below())}, {below()})",
            "fill": lambda: f"fill({number()}, {below()})",
            "rescaled": lambda: f"{self.one('minmax', 'zscore', 'abs', 'ranks', 'maxnorm')}({below()})",
            "curved": lambda: f"{self.one('softmax', 'sigmoid', 'log1p', 'exp')}({below()})",
            "clip": lambda: f"clip({self.one('-1', '0', '-0.5')}, {self.one('0', '1', 'beta')}, {below()})",
            "rrf": lambda: f"rrf({below()}, {below()}{self.one('', ', k=0', ', k=1, depth=2', ', depth=1')})",
            "mmr": lambda: f"mmr({self.count()}, {below()}, {self.one('E', 'C')}, "
            f"relevance={self.one('0.5', '0', '1', '0.7', 'beta')})",
            "decay": lambda: f"decay({below()}, {self.one('1', '30', 'beta')})",
            "recip_decay": lambda: f"recip_decay({below()}, {self.one('1', '30', 'beta')})",
            "days_since": lambda: f"days_since(published, {self.one('now', *map(quoted, DAYS))})",
            "closeness": lambda: (
                lambda space: f"closeness({space}, {self.one(self.vector(depth - 1, space), self.text())})"
            )(self.one("E", "C", "F")),
            "retrieved": lambda: f"bm25({self.text()}, {self.count()})",
        }  # fmt: skip
        return forms[self.one(*(form for form in forms if form not in self.excluded))]()


@st.composite
def programs(draw, excluded: tuple[str, ...] = (), depth: int = 3) -> tuple[Formula, Scope]:
    """A program and a scope.

    Args:
        draw: given by hypothesis.
        excluded: forms of relations to leave out: `curved`, `decay`, `huge`, ….
        depth: how deep expressions nest.
    """
    scope = draw(scopes())
    writer = _Writer(draw, scope, frozenset(excluded))
    lines = []
    for i in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(["relation", "mask", "number", "vector"]))
        lines.append(f"step{i} = {writer.write(kind, depth - 1)}")
        writer.steps[kind].append(f"step{i}")
    lines.append(writer.write("relation", depth))
    kept = lines[-1:]
    # Whether a step that nothing uses may fail is each engine's own.
    for line in reversed(lines[:-1]):
        kept = [line, *kept] if any(line.split(" = ")[0] in later for later in kept) else kept
    return parse("\n".join(kept)), scope


def described(formula: Formula, scope: Scope) -> str:
    """A program and the operands that it names, for people who look at a disagreement."""
    lines = [formula.ascii, f"docnos = {scope.docnos.tolist()}"]
    for name, operand in scope.operands.items():
        if name in formula.ascii:
            parts = (
                f"{key}={value.tolist() if isinstance(value, np.ndarray) else value}"
                for key, value in vars(operand).items()
            )
            lines.append(f"{name}: {', '.join(parts)}")
    return "\n".join(lines)
