"""What can be asked of a session: nothing here is kept, bound or logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.algebra.expressions import Expression
from pyterrier_alg.algebra.formula import Formula, operand_names
from pyterrier_alg.algebra.operators import RESERVED_OPERANDS
from pyterrier_alg.algebra.reading import as_formula
from pyterrier_alg.collection import Collection, Topic
from pyterrier_alg.collection.orienting import Orientation
from pyterrier_alg.collection.topics import check_topic
from pyterrier_alg.engines.registry import check_engine
from pyterrier_alg.relation import ScoredRelation
from pyterrier_alg.session._kept import Kept
from pyterrier_alg.session._layout import as_html, as_text, one_line
from pyterrier_alg.session.inspecting import Inspection, inspect
from pyterrier_alg.session.result import Result, StaleResultError
from pyterrier_alg.session.steps import Eligible, Steps, checked_as_any
from pyterrier_alg.session.tables import FUNCTION, join, register_duckdb, register_sqlite
from pyterrier_alg.transformers import Program

if TYPE_CHECKING:
    import apsw
    import duckdb

    from pyterrier_alg.session.absence import Absence
    from pyterrier_alg.session.comparing import Comparison
    from pyterrier_alg.session.explaining import Explanation
    from pyterrier_alg.session.ledger import Ledger
    from pyterrier_alg.session.sweeping import Sweep

#: What a session takes for a program: text, a formula, an expression, a `Program`, or a result or its handle's text.
Written: TypeAlias = "str | Formula | Expression | Program | Result"

#: The qid of a query that is given as a text.
_QID = "1"

#: Names that no one binds, or only some do.
_GIVEN = frozenset(RESERVED_OPERANDS)


class Surface:
    """A collection and the results over it, as they are looked at.

    Attributes:
        engine: which runs programs, unless another one is said.
    """

    def __init__(self, collection: Collection, engine: str) -> None:
        """Begin with no results.

        Raises:
            AlgebraError: `bad_argument`, `unknown_engine`.
        """
        given: object = collection
        if not isinstance(given, Collection):
            raise AlgebraError("bad_argument", f"a session is over a Collection, not a {type(given).__name__}")
        self.engine = check_engine(engine)
        self._bound = collection
        self._kept = Kept()
        self._whole: tuple[int, Collection] | None = None

    @property
    def collection(self) -> Collection:
        """What a program may name now: what is bound, and every result under its handle and its name."""
        # The same operand at each call, so that engines know it again.
        if self._whole is None or self._whole[0] != self._kept.changes:
            results = {name: result.operand for name, result in self._kept.by_name().items()}
            self._whole = self._kept.changes, self._bound._with({**self._bound.operands, **results})
        return self._whole[1]

    @property
    def results(self) -> Mapping[str, Result]:
        """By handle, in the order in which they were made."""
        return dict(self._kept.results)

    @property
    def names(self) -> Mapping[str, str]:
        """The handle that each name stands for."""
        return dict(self._kept.names)

    def orient(self, name: str | None = None) -> Orientation:
        """What a program may name, results among them; as `Collection.orient`."""
        return self.collection.orient(name)

    def program(self, program: Written, engine: str | None = None) -> Program:
        """A program over what is bound now.

        Args:
            program: text, a formula or an expression; or a `Program` or a result, of which formula and engine count.
            engine: one of `engines()`; the program's own, or the session's, where left out.

        Raises:
            ProgramError: everything that can be found wrong before running, at once.
            StaleResultError: where it names a stale result.
            AlgebraError: `unknown_engine`.
        """
        made = program.program if isinstance(program, Result) else program
        formula = made.formula if isinstance(made, Program) else as_formula(made)
        own = made.engine if isinstance(made, Program) else self.engine
        names = operand_names(formula)
        self._refuse_stale(names)
        # Steps must not be called as results are: the checker sees it where it sees the results.
        written = {*names, *(name for name, _ in formula.steps)}
        known = not any(name in self for name in written) and all(name in self._bound for name in {*names} - _GIVEN)
        return Program(formula, self._bound if known else self.collection, engine=own if engine is None else engine)

    def stale(self, result: Result | str) -> tuple[str, ...]:
        """The names that a result was made of, itself or through other results, and that stand for something else now.

        Raises:
            UnknownNameError: `unknown_name`.
        """
        found = self[result] if isinstance(result, str) else result
        # Where nothing was bound again nothing is stale.
        return self._kept.changed(found, self.collection) if self._kept.is_rebound else ()

    def inspect(
        self,
        what: Written | ScoredRelation | Eligible,
        topic: Topic | str | None = None,
        *,
        rows: int = 5,
        bins: int = 10,
    ) -> Inspection:
        """Look at a relation or a mask: count, coverage, quantiles, histogram, ties, head and tail.

        Args:
            what: a result, or the handle, name or text of one; any operand that is a relation or a mask, by name; any
                program, whose result may be a mask here; or a value. Nothing is kept or logged.
            topic: the query, for a program.
            rows: how many records of each end are told.
            bins: how many ranges the scores are counted in.

        Raises:
            ProgramError, EvaluationError, BindingError: as `run`.
        """
        size = len(self._bound)
        if isinstance(what, ScoredRelation | Eligible):
            return inspect(what, size, rows=rows, bins=bins)
        if isinstance(what, Result):
            return what.inspect(rows=rows, bins=bins)
        formula = what.formula if isinstance(what, Program) else as_formula(what)
        self._refuse_stale(operand_names(formula))
        scope = self.collection.at(plain_topic(topic))
        label = formula.ascii
        if label in self._kept:
            return self[label].inspect(rows=rows, bins=bins)
        scope.refuse_absent(operand_names(formula))
        checked, _ = checked_as_any(formula, scope.bindings)
        value = Steps(formula, scope, checked).value(formula.result)
        if not isinstance(value, ScoredRelation | Eligible):
            raise AlgebraError("kind", f"{label} is neither a relation nor a mask")
        return inspect(value, size, label=formula.unicode, rows=rows, bins=bins)

    def join(self, result: Result | ScoredRelation | str, columns: Iterable[str] | str) -> pd.DataFrame:
        """A result with metadata of its records.

        Args:
            result: a result, or its handle or name; or a relation.
            columns: names of columns, relations and masks, other results among them, or of texts that are stored.

        Raises:
            BindingError: as `session.tables.join`; `unknown_name`, `stale`.
        """
        found = self._fresh(result) if isinstance(result, str) else result
        names = [columns] if isinstance(columns, str) else list(columns)
        self._refuse_stale(names)
        if isinstance(found, ScoredRelation):
            return join(found, self.collection, names)
        return join(found.relation, self.collection, names, topic=found.topic)

    def explain(self, program: Written, topic: Topic | str | None = None, **options: Any) -> Explanation:
        """The tree of a program with what flows in and out of every step; as `session.explain`, whose options it takes.

        Args:
            program: as for `run`; or a result or its handle, which is explained for the topic that it ran for.
            topic: the query.
            **options: of the function.
        """
        from pyterrier_alg.session.explaining import explain

        return explain(*self._asked(program, topic), **options)

    def why(self, program: Written, docno: str, topic: Topic | str | None = None, **options: Any) -> Ledger:
        """What a record's score is made of; as `session.why`, whose options it takes."""
        from pyterrier_alg.session.ledger import why

        asked, query = self._asked(program, topic)
        return why(asked, docno, query, **options)

    def why_not(self, program: Written, docno: str, topic: Topic | str | None = None, **options: Any) -> Absence:
        """Why a record is absent, and what would admit it; as `session.why_not`, whose options it takes."""
        from pyterrier_alg.session.absence import why_not

        asked, query = self._asked(program, topic)
        return why_not(asked, docno, query, **options)

    def compare(self, first: Written, second: Written, topic: Topic | str | None = None, **options: Any) -> Comparison:
        """How two programs differ, and to what effect; as `session.compare`, whose options it takes.

        Where a result is compared and no topic is given, both run for its topic.
        """
        from pyterrier_alg.session.comparing import compare

        (p1, t1), (p2, t2) = (self._asked(program, topic, shared=True) for program in (first, second))
        return compare(p1, p2, t1 if t1 is not None else t2, **options)

    def sweep(self, program: Written, coefficient: Any, topic: Topic | str | None = None, **options: Any) -> Sweep:
        """Where the first records change as a coefficient does; as `session.sweep`, whose options it takes."""
        from pyterrier_alg.session.sweeping import sweep

        asked, query = self._asked(program, topic)
        return sweep(asked, coefficient, query, **options)

    def sqlite(self, connection: apsw.Connection | None = None, *, name: str = FUNCTION) -> apsw.Connection:
        """A SQLite connection in which programs of this session are tables: `SELECT … FROM algebra('top(10, r1)')`.

        Args:
            connection: one that there is; a new one in memory where left out.
            name: of the function.

        Returns:
            The connection. What is run there is neither kept nor logged.
        """
        import apsw

        made = apsw.Connection(":memory:") if connection is None else connection
        register_sqlite(made, self._relation, name=name)
        return made

    def duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection in which the results so far are tables, by handle and name; stale ones are not.

        Args:
            connection: one that there is; a new one in memory where left out.
        """
        import duckdb

        offline: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        made = duckdb.connect(":memory:", config=offline) if connection is None else connection
        for name, result in self._kept.by_name().items():
            if not self.stale(result):
                register_duckdb(made, name, result.relation)
        return made

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values, without the results' records."""
        results = [
            {
                "handle": handle,
                "names": [name for name, other in self._kept.names.items() if other == handle],
                "program": result.formula.ascii,
                "address": result.address,
                "count": len(result),
                "stale": list(self.stale(result)),
            }
            for handle, result in self._kept.results.items()
        ]
        return {"collection": self._bound.name, "records": len(self._bound), "engine": self.engine, "results": results}

    def __getitem__(self, name: str) -> Result:
        """A result, stale or not, by its handle or name.

        Raises:
            UnknownNameError: `unknown_name`.
        """
        return self._kept[name]

    def __contains__(self, name: object) -> bool:
        """Whether a result has this handle or name."""
        return name in self._kept

    def __len__(self) -> int:
        """How many results it has."""
        return len(self._kept.results)

    def __bool__(self) -> bool:
        """A session is one without results, too."""
        return True

    def __repr__(self) -> str:
        """The results, a line each."""
        heading = f"Session over {self._bound!r}"
        return "\n".join([heading, *(f"  {line}" for line in as_text(_COLUMNS, self._rows(), numeric=("records",)))])

    def _repr_html_(self) -> str:
        return as_html(f"Session over {self._bound.name or 'a collection'}", _COLUMNS, self._rows())

    def _rows(self) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for facts, result in zip(self.to_dict()["results"], self._kept.results.values(), strict=True):
            called = " ".join([facts["handle"], *facts["names"]])
            stale = f"stale: {', '.join(facts['stale'])}" if facts["stale"] else ""
            rows.append((called, one_line(result.formula.unicode), f"{facts['count']:,}", stale))
        return rows

    def _fresh(self, name: str) -> Result:
        """A result that is not stale."""
        self._refuse_stale([name])
        return self[name]

    def _refuse_stale(self, names: Iterable[str]) -> None:
        for name in names if self._kept.is_rebound else ():
            changed = self.stale(name) if name in self else ()
            if changed:
                result = self[name]
                hint = f"run it again: run(session[{name!r}]), which is {one_line(result.formula.ascii)}"
                raise StaleResultError(name, changed, hint)

    def _asked(self, program: Written, topic: Topic | str | None, *, shared: bool = False) -> tuple[Program, Any]:
        """A program and its topic, over its own collection, or over one that other programs share."""
        if isinstance(program, str) and program in self:
            program = self._fresh(program)
        if isinstance(program, Result):
            topic = program.topic if topic is None else topic
            if not shared:
                return program.program, topic
            if self.stale(program):
                raise StaleResultError(program.handle, self.stale(program), "run its program again")
        asked = self.program(program)
        return Program(asked.formula, self.collection, engine=asked.engine) if shared else asked, topic

    def _relation(self, program: str, query: str | None) -> ScoredRelation:
        return self.program(program).run(query)


_COLUMNS = ("result", "program", "records", "")


def plain_topic(topic: object) -> Topic | None:
    """A topic that can be looked at more than once."""
    if topic is None:
        return None
    if isinstance(topic, str):
        topic = Topic(_QID, topic)
    if not isinstance(topic, Topic):
        message = f"a program runs for a topic or a text, not a {type(topic).__name__}"
        raise AlgebraError("bad_argument", message, 'Topic("1", "words")')
    check_topic(topic)
    pool = None if topic.pool is None else tuple(topic.pool)
    return Topic(topic.qid, topic.query, topic.vector, topic.input, pool)
