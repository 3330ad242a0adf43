"""The command line: `pyterrier-alg parity | orient | run`.

Exit status: 0 done, 1 refused or failed (a program, its data, a check that does not hold), 2 a command line that makes
no sense. Faults are shown with the place in the program marked, never as a traceback.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pyterrier_alg._version import __version__
from pyterrier_alg.algebra.errors import AlgebraError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyterrier_alg.algebra.errors import Span
    from pyterrier_alg.algebra.warnings import ProgramWarning
    from pyterrier_alg.collection import Collection, Topic
    from pyterrier_alg.relation import ScoredRelation
    from pyterrier_alg.transformers import Program

app = typer.Typer(
    name="pyterrier-alg",
    help="Algebraic retrieval for PyTerrier: programs that are read, run, inspected and compared.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


#: The qid of a query that was typed, which no topic has.
_TYPED = "query"


class Shape(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    run = "run"


def main() -> None:
    """Run the command line; what the package refuses ends in its message and exit status 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The notation has signs that not every terminal has.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except AlgebraError as error:
        _errors().print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader of our output has seen enough, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def _errors() -> Console:
    return Console(stderr=True)


def _output() -> Console:
    # A table is read as a whole: where the output is no terminal it is not folded at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=140)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pyterrier-alg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def parity(
    q1: Annotated[str, typer.Option(help="Topic whose vector is q1, and whose BM25 run is the pool.")] = "",
    q2: Annotated[str, typer.Option(help="Topic whose vector is q2.")] = "",
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All 93 topics, each against the next.")] = False,
    dimensions: Annotated[int, typer.Option(min=1, help="Of the signed-hash vectors.")] = 256,
    implementation: Annotated[
        list[str] | None, typer.Option(help="Take only these; may be given several times.")
    ] = None,
    fault: Annotated[
        str | None,
        typer.Option("--break", metavar="NAME", help="Inject a fault: coefficient, mask, weight, score, order."),
    ] = None,
    faulty: Annotated[str, typer.Option("--break-in", metavar="NAME", help="The implementation that gets it.")] = "sql",
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as Markdown.")] = None,
) -> None:
    """Run the paper's three programs by every implementation, over all of Vaswani, and compare.

    Exit status 0 only where every check holds: the same documents, scores within 1e-6, no order disagreement.
    """
    from pyterrier_alg.parity import DEMONSTRATION, all_pairs, run_parity, to_dict, to_markdown, to_rich, topic_pair

    if all_topics and (q1 or q2):
        raise typer.BadParameter("--all-topics takes every topic; leave --q1 and --q2 out")
    pairs = all_pairs() if all_topics else [topic_pair(q1 or DEMONSTRATION, q2 or None)]
    with _progress() as say:
        report = run_parity(
            pairs, dimensions=dimensions, implementations=implementation, fault=fault, faulty=faulty, progress=say
        )
    if json_file is not None:
        _write(json_file, json.dumps(to_dict(report), indent=1, ensure_ascii=False) + "\n")
    if markdown is not None:
        _write(markdown, to_markdown(report))
    _output().print(to_rich(report))
    if not report.holds:
        raise typer.Exit(1)


@app.command()
def orient(
    name: Annotated[str | None, typer.Argument(help="One operand, in detail.")] = None,
    collection: Annotated[Path | None, typer.Option(help="A saved collection; Vaswani where left out.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show what a program may name: operands, their kinds, spaces and coverage."""
    orientation = _collection(collection).orient(name) if name else _collection(collection).orient()
    if as_json:
        typer.echo(_json(orientation.to_dict()))
    else:
        typer.echo(str(orientation))


@app.command()
def run(
    program: Annotated[str, typer.Argument(help="The program; @FILE reads it from a file, - from standard input.")],
    collection: Annotated[Path | None, typer.Option(help="A saved collection; Vaswani where left out.")] = None,
    query: Annotated[str | None, typer.Option(help="The text that `query` is bound to.")] = None,
    topic: Annotated[str | None, typer.Option(help="A topic of Vaswani, by its qid, as the query.")] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="Every topic of Vaswani.")] = False,
    came: Annotated[
        Path | None,
        typer.Option("--input", help="A TREC run that the program re-ranks: each qid's records are its pool."),
    ] = None,
    engine: Annotated[str, typer.Option(help="vectorised, pipeline, sqlite, duckdb or definition.")] = "vectorised",
    shape: Annotated[Shape, typer.Option("--format", help="table, json, or run (a TREC run).")] = Shape.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="How many rows a table shows at most; 0 for all.")] = 100,
) -> None:
    """Run a program and print its result in rank order; its warnings are shown below, on standard error."""
    from pyterrier_alg.transformers import Program

    if sum((query is not None, topic is not None, all_topics)) > 1:
        raise typer.BadParameter("give one of --query, --topic and --all-topics")
    if collection is not None and (topic is not None or all_topics):
        raise typer.BadParameter("--topic and --all-topics are Vaswani's; with --collection give --query")
    if came is not None and query is not None:
        raise typer.BadParameter("the queries of --input are those of its qids; --query has none")
    if shape is Shape.run and not as_json and topic is None and not all_topics and came is None:
        raise typer.BadParameter("the lines of a TREC run need a qid: give --topic or --all-topics, or --format json")
    topics = _topics(query, topic, all_topics) if came is None else _pools(came, collection is None, topic)
    retrieval = Program(_program_text(program), _collection(collection), engine=engine)
    results = [(chosen, retrieval.run(chosen)) for chosen in topics]
    if as_json or shape is Shape.json:
        typer.echo(_json(_as_json(retrieval, results)))
    elif shape is Shape.run:
        _print_run(results)
    else:
        typer.echo(str(retrieval.formula))
        for chosen, relation in results:
            _output().print(*_table(chosen, relation, limit), sep="\n")
    if not (as_json or shape is Shape.json):
        _warn(retrieval, results)


def _warn(retrieval: Program, results: Sequence[tuple[Topic | None, ScoredRelation]]) -> None:
    """What the program may not have meant, on standard error; of several topics, each place for the first one."""
    sys.stdout.flush()
    first: dict[tuple[str, Span | None], ProgramWarning] = {}
    topics: Counter[tuple[str, Span | None]] = Counter()
    for _, relation in results:
        for warning in relation.warnings:
            first.setdefault((warning.code, warning.span), warning)
            topics[warning.code, warning.span] += 1
    source = retrieval.formula.source or retrieval.formula.ascii
    for key, warning in first.items():
        more = f"\n  in {topics[key]} of {len(results)} topics, here for the first" if len(results) > 1 else ""
        text = f"warning: {warning.render(source)}{more}"
        _errors().print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _write(path: Path, text: str) -> None:
    """Write aside, then rename: a file that is there is whole, and nothing else is left."""
    aside = path.parent / f".pyterrier-alg.{os.getpid()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except (OSError, ValueError) as error:
        # A path with a null character is a ValueError.
        reason = getattr(error, "strerror", None) or error
        raise AlgebraError("unwritable", f"{path} cannot be written: {reason}") from None
    finally:
        with suppress(OSError, ValueError):
            aside.unlink()


def _json(value: object) -> str:
    """JSON that the terminal's encoding can hold, or else pure ASCII."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(value, indent=1, ensure_ascii=plain, allow_nan=False)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line that tells what is being done, on a terminal only."""
    console = _errors()
    if not console.is_terminal:
        yield lambda done: None
        return
    with console.status("running the programs …") as status:
        yield lambda done: status.update(f"done: {done}")


def _collection(path: Path | None) -> Collection:
    from pyterrier_alg.collection import Collection, vaswani

    return vaswani() if path is None else Collection.load(path)


def _program_text(argument: str) -> str:
    if argument == "-":
        return sys.stdin.read()
    if not argument.startswith("@"):
        if argument.endswith(".alg"):
            raise AlgebraError("syntax", f"{argument!r} is no program", f"to read it from a file write @{argument}")
        return argument
    path = Path(argument[1:])
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise AlgebraError("unreadable", f"{path} cannot be read: {reason}") from None


def _topics(query: str | None, topic: str | None, all_topics: bool) -> list[Topic | None]:
    """The queries that the options ask for; None is a run without a query."""
    from pyterrier_alg.collection import Topic
    from pyterrier_alg.collection.vaswani_data import load_vaswani

    if query is not None:
        return [Topic(_TYPED, query)]
    if topic is None and not all_topics:
        return [None]
    frame = load_vaswani().topics()
    chosen = [Topic(qid, text) for qid, text in zip(frame["qid"], frame["query"], strict=True)]
    if not all_topics:
        chosen = [one for one in chosen if one.qid == topic]
    if not chosen:
        raise AlgebraError("unknown_topic", f"Vaswani has no topic {topic!r}", "its topics are 1 to 93")
    return list(chosen)


def _pools(path: Path, vaswani: bool, wanted: str | None) -> list[Topic | None]:
    """The queries of a run file, each with its records as what came in; of Vaswani's topics, with their text."""
    from pyterrier_alg.collection import Topic
    from pyterrier_alg.evaluation import read_run

    run = read_run(path)
    if wanted is not None:
        run = run[run["qid"] == wanted]
        if run.empty:
            raise AlgebraError("unknown_topic", f"{path} has no results for the topic {wanted!r}")
    texts = {topic.qid: topic.query for topic in _topics(None, None, True) if topic} if vaswani else {}
    found: list[Topic | None] = []
    for qid, rows in run.groupby("qid", sort=False):
        if vaswani and qid not in texts:
            raise AlgebraError(
                "unknown_topic", f"Vaswani has no topic {qid!r}, which {path} has", "its topics are 1 to 93"
            )
        pool = dict(zip(rows["docno"].tolist(), rows["score"].tolist(), strict=True))
        found.append(Topic(str(qid), texts.get(str(qid)), input=pool))
    return found


def _as_json(retrieval: Program, results: Sequence[tuple[Topic | None, ScoredRelation]]) -> dict[str, Any]:
    return {
        "program": retrieval.formula.ascii,
        "digest": retrieval.formula.digest,
        "engine": retrieval.engine,
        "results": [
            {
                "qid": topic.qid if topic else None,
                "query": topic.query if topic else None,
                "certified": relation.certified,
                "error_bound": relation.error_bound if math.isfinite(relation.error_bound) else None,
                "gap_check": relation.gap_check.to_dict() if relation.gap_check else None,
                "warnings": [warning.to_dict() for warning in relation.warnings],
                "records": [
                    {"docno": docno, "score": score, "rank": rank} for rank, (docno, score) in enumerate(relation)
                ],
            }
            for topic, relation in results
        ],
    }


def _print_run(results: Sequence[tuple[Topic | None, ScoredRelation]]) -> None:
    """A TREC run that every reader orders as we do; on standard error, for how many topics it needed other scores."""
    import pandas as pd

    from pyterrier_alg.evaluation import run_lines

    rows = [(topic.qid if topic else _TYPED, *pair) for topic, relation in results for pair in relation]
    lines, changed = run_lines(pd.DataFrame(rows, columns=["qid", "docno", "score"]))
    for line in lines:
        typer.echo(line)
    if changed:
        sys.stdout.flush()
        text = (
            f"note: of {len(changed)} of {len(results)} topics some scores are lowered in the last digits that float32 "
            "has, so that no reader takes them for tied; --format json has the true ones"
        )
        _errors().print(text, markup=False, highlight=False, soft_wrap=True)


def _table(topic: Topic | None, relation: ScoredRelation, limit: int) -> list[RenderableType]:
    """The records in rank order, with ties marked, and what the selection says of its order."""
    from rich.table import Table
    from rich.text import Text

    lines: list[RenderableType] = [f"topic {topic.qid}"] if topic and topic.qid != _TYPED else []
    table = Table()
    for column in ("rank", "docno", "score", "tie"):
        table.add_column(column, justify="left" if column == "docno" else "right")
    rows = list(relation)
    shown = rows if limit == 0 else rows[:limit]
    for rank, (docno, score) in enumerate(shown):
        tied = rank > 0 and rows[rank - 1][1] == score
        table.add_row(str(rank), Text(docno), repr(score), "=" if tied else "")
    lines.append(table)
    if len(shown) < len(rows):
        lines.append(f"{len(rows) - len(shown):,} more records; --limit 0 shows all")
    if not rows:
        lines.append("no record: a mask that lets none through, a query without matches, or no record in common")
    if relation.gap_check is not None:
        check = relation.gap_check
        cut = "nothing beyond the cut" if check.gap_at_cut is None else f"gap at the cut {check.gap_at_cut:.3g}"
        lines.append(f"{check.verdict}; {cut}; {'certified' if check.certified else 'not certified'}")
    return lines
