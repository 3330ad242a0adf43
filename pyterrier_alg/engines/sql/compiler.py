"""From a formula to a plan: each step and each selection is a common table expression, what is pointwise one join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from pyterrier_alg.algebra.checking import Checked
from pyterrier_alg.algebra.expressions import Apply, Count, Expression, Name, Number, Retrieve, fold, walk
from pyterrier_alg.algebra.formula import Formula
from pyterrier_alg.algebra.kinds import Kind, Space
from pyterrier_alg.algebra.operators import OPERATORS
from pyterrier_alg.engines.engine import RETRIEVE
from pyterrier_alg.engines.sql.dialects import Dialect
from pyterrier_alg.engines.sql.joins import COMPARISONS, JOINS
from pyterrier_alg.engines.sql.names import Names, parameter_name
from pyterrier_alg.engines.sql.plan import LIMIT, Cte, Plan, Recipe
from pyterrier_alg.engines.sql.selects import (
    SCORE,
    Select,
    Source,
)
from pyterrier_alg.engines.sql.windows import WINDOWS

#: What the SQL engines run; the rest is refused before running.
CAPABILITIES = (frozenset(OPERATORS) | {RETRIEVE}) - {"mmr"}

#: Deeper expressions and wider joins become steps of their own: SQLite stops at 1,000 and 64,
#: and what DuckDB takes to plan a sum grows with the third power of its length.
DEEPEST, WIDEST = 50, 16

_WORDS = {
    "@": "scan",
    "closeness": "closeness",
    "+": "sum",
    "-": "difference",
    "*": "product",
    "/": "quotient",
    "neg": "negative",
    ">>": "restrict",
    "&": "both",
    "|": "either",
    "~": "others",
    **dict.fromkeys((*COMPARISONS, "isin", "ids"), "filter"),
}
_COLUMNS = (Kind.TEXT_COLUMN, Kind.DATE_COLUMN)
RULES = {**JOINS, **WINDOWS}

_TABULAR = (Kind.RELATION, Kind.MASK, *_COLUMNS)


@dataclass(frozen=True)
class Layout:
    """Where a scope's operands are.

    Attributes:
        docs: the table of all records.
        tables: the table of each matrix, relation, mask and column that a formula names.
    """

    docs: str
    tables: Mapping[str, str]


def compile_formula(formula: Formula, checked: Checked, dialect: Dialect, layout: Layout) -> Plan:
    """Compile a sound formula.

    Args:
        formula: what is compiled, within `CAPABILITIES`.
        checked: what the checker found of it.
        dialect: whose SQL.
        layout: where its operands are.

    Returns:
        The plan.
    """
    return Compiler(formula, checked, dialect, layout).plan()


class Compiler:
    """The state of one compilation, which the rules read and add to."""

    def __init__(self, formula: Formula, checked: Checked, dialect: Dialect, layout: Layout) -> None:
        """Begin with nothing compiled."""
        self.formula, self.checked, self.dialect, self.layout = needed(formula), checked, dialect, layout
        self.steps = dict(self.formula.steps)
        self.names = Names([layout.docs, *layout.tables.values()])
        # A step keeps its name; whatever has none makes way.
        self.step_names = {name: self.names.take(name) for name in self.steps}
        self.parameter_names = Names([LIMIT])
        self.parameters: dict[Recipe, str] = {}
        self.ctes: list[Cte] = []
        self.selects: dict[Expression, Select] = {}
        self.written: dict[Select, Select] = {}
        self.scans: dict[Expression, str] = {}
        self.retrievals: dict[str, Retrieve] = {}
        self.uses = _uses(self.formula)
        self.count = 0

    def plan(self) -> Plan:
        """Compile the steps, then the result."""
        memo: dict[Expression, Select | None] = {}
        for name, expression in self.formula.steps:
            select = fold(expression, self.visit, memo)
            if select is not None and self.kind(expression) not in _COLUMNS:
                shared = self.uses[Name(name)] > 1
                memo[Name(name)] = self.seal(self.solid(select), name=self.step_names[name], fenced=shared)
            else:
                memo[Name(name)] = select
        result, k = self.formula.result, None
        while isinstance(result, Name) and result.name in self.steps:
            result = self.steps[result.name]
        if isinstance(result, Apply) and result.operator == "top":
            k = cast(Count, result.arguments[0]).value
            select = fold(result.arguments[1], self.visit, memo)
        else:
            select = fold(self.formula.result, self.visit, memo)
        self.selects = {node: s for node, s in memo.items() if s is not None}
        recipes = {name: recipe for recipe, name in self.parameters.items()}
        return Plan(
            self.dialect, self.ctes, cast(Select, select), k, recipes, self.scans, self.retrievals, self.selects
        )

    def kind(self, node: Expression) -> Kind:
        """What an expression is; literals without a type are numbers."""
        found = self.checked.types.get(node)
        return found.kind if found is not None else Kind.NUMBER

    def space(self, matrix: Expression) -> Space:
        """The space of a matrix expression."""
        return cast(Space, self.checked.types[matrix].space)

    def operand(self, expression: Expression) -> str:
        """The operand that a matrix, a column or a retriever expression names."""
        while isinstance(expression, Name) and expression.name in self.steps:
            expression = self.steps[expression.name]
        return cast(Name, expression).name

    # --- parameters

    def parameter(self, recipe: Recipe, wanted: str) -> exp.Placeholder:
        """The placeholder of a value; equal recipes share one."""
        if recipe not in self.parameters:
            self.parameters[recipe] = self.parameter_names.take(parameter_name(wanted))
        return exp.Placeholder(this=self.parameters[recipe])

    def number(self, expression: Expression) -> exp.Placeholder:
        """The placeholder of a number expression."""
        if isinstance(expression, Number):
            return self.literal(expression.value)
        wanted = expression.name if isinstance(expression, Name) else "number"
        return self.parameter(Recipe("number", expression), wanted)

    def literal(self, value: object) -> exp.Placeholder:
        """The placeholder of a value that the program's text has."""
        return self.parameter(Recipe("literal", value=value), "text" if isinstance(value, str) else "number")

    def vector(self, matrix: Expression, meaning: Expression) -> str:
        """The name of a vector's parameter; a text goes through the encoder of the matrix's space."""
        name = meaning.name if isinstance(meaning, Name) else "vector"
        if self.kind(meaning) is Kind.TEXT:
            name = name if isinstance(meaning, Name) else "text"
            meaning = Apply("encode", (matrix, meaning), span=meaning.span)
        return str(self.parameter(Recipe("vector", meaning, space=self.space(matrix)), name).this)

    # --- tables

    def seal(self, select: Select, word: str = "", *, name: str = "", fenced: bool = False) -> Select:
        """Make a step of its own of a select.

        Args:
            select: what it holds.
            word: what the step does, for a name.
            name: its name, where the program gives it one.
            fenced: whether the database is told to compute it by itself; always so once it is deep or wide.
        """
        fenced = fenced or select.depth > DEEPEST or select.width > WIDEST
        column = SCORE if select.score is not None else None
        source = self.write(select.query(), word, name=name, fenced=fenced, width=1 if fenced else select.width)
        return Select.of(source, column, 1 if fenced else select.depth + 1)

    def write(self, query: exp.Expr, word: str, *, name: str = "", fenced: bool = True, width: int = 1) -> Source:
        """Add a common table expression."""
        if not name:
            self.count += 1
            name = self.names.take(f"s{self.count}_{word}")
        self.ctes.append(Cte(name, query, fenced))
        return Source(name, width=width)

    def table(self, select: Select, word: str) -> Select:
        """The same as one table."""
        return select if select.is_table else self.seal(select, word)

    def solid(self, select: Select) -> Select:
        """The same, with a union written."""
        if not select.members:
            return select
        if select not in self.written:
            queries = [member.query() for member in select.members]
            union: exp.Expr = queries[0]
            for query in queries[1:]:
                union = exp.Union(this=union, expression=query, distinct=True)
            self.written[select] = Select.of(self.write(union, "either"), None)
        return self.written[select]

    @property
    def everything(self) -> Select:
        """All records of the collection."""
        return Select.of(Source(self.layout.docs, every=True), None)

    # --- nodes

    def visit(self, node: Expression, below: Sequence[Select | None]) -> Select | None:
        """A node's select, made a step of its own where it is used twice or large; None where it is no table."""
        if self.kind(node) not in _TABULAR:
            return None
        select = self.node(node, below)
        word = self.word(node)
        if select.members:
            return self.solid(select) if self.uses[node] > 1 else select
        if select.depth > DEEPEST or select.width > WIDEST or (self.uses[node] > 1 and not select.is_table):
            return self.seal(select, word, fenced=True)
        return select

    def word(self, node: Expression) -> str:
        """What a step that holds a node is called after."""
        key = node.operator if isinstance(node, Apply) else node.retriever if isinstance(node, Retrieve) else "operand"
        return _WORDS.get(key, key)

    def node(self, node: Expression, below: Sequence[Select | None]) -> Select:
        """A node's select as its rule gives it."""
        if isinstance(node, Name):
            return self.named(node)
        if isinstance(node, Retrieve):
            name = self.names.take(f"{node.retriever}_results")
            self.retrievals[name] = node
            return Select.of(Source(name))
        node = cast(Apply, node)
        parts = list(below[: len(node.arguments)])
        if node.operator != "|":
            parts = [self.solid(part) if part is not None else None for part in parts]
        return RULES[node.operator](self, node, parts)

    def named(self, node: Name) -> Select:
        """The table of an operand."""
        if node.name == "all":
            return self.everything
        column = {Kind.RELATION: SCORE, Kind.MASK: None}.get(self.kind(node), "value")
        return Select.of(Source(self.layout.tables[node.name]), column)


def needed(formula: Formula) -> Formula:
    """The formula without the steps that its result does not use."""
    steps = dict(formula.steps)
    found: set[str] = set()
    stack = [formula.result]
    while stack:
        for node in walk(stack.pop()):
            name = node.name if isinstance(node, Name) else node.retriever if isinstance(node, Retrieve) else ""
            if name in steps and name not in found:
                found.add(name)
                stack.append(steps[name])
    return Formula(
        tuple(step for step in formula.steps if step[0] in found), formula.result, formula.source or formula.ascii
    )


def _uses(formula: Formula) -> Counter[Expression]:
    """How often each expression is a part of a distinct other one."""
    uses: Counter[Expression] = Counter()
    seen: set[Expression] = set()
    for node in walk(*formula.expressions):
        if node not in seen:
            seen.add(node)
            uses.update(node.parts)
    uses.update(formula.expressions)
    return uses
