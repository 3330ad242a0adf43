"""The reference pages: written from the operator table, the engines' capabilities and the gallery of errors.

    python experiments/write_docs.py            # writes docs/errors.md, docs/operators.md, docs/engines.md
    python experiments/write_docs.py --check    # compares them with what would be written

Every message that a page shows is one that the package gave while the page was made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gallery import BINDINGS, MEANINGS, PROGRAMS, Example, collection, refused

from pyterrier_alg.algebra import OPERATORS, Operator, ProgramError, parse
from pyterrier_alg.algebra.operators import (
    ADD,
    AND,
    COMPARE,
    MULTIPLY,
    OR,
    RESERVED_OPERANDS,
    RESTRICT,
    SCAN,
    UNARY,
    Parameter,
)
from pyterrier_alg.collection import Topic
from pyterrier_alg.engines.engine import RETRIEVE
from pyterrier_alg.engines.registry import engine, engines

DOCS = Path(__file__).parents[1] / "docs"

_GROUPS = {
    SCAN: "the inner product",
    UNARY: "negation, complement",
    MULTIPLY: "products and quotients",
    ADD: "sums and differences",
    COMPARE: "comparisons",
    AND: "both",
    OR: "either",
    RESTRICT: "restriction",
}
_WORDS = {"count": "digits from 1", "count0": "digits", "string": "a text literal", "literal": "a literal"}

_ERRORS = """# Errors

Each error has a stable code, a one-line message, the place in the program, and a hint where one is
likely. All faults that can be found before running are found before running, and all at once; after a
text that cannot be read, only where reading stopped. In Python:

```python
>>> from pyterrier_alg import Program, ProgramError, vaswani
>>> try:
...     Program("top(10.0, M ▷ E @ Q1)", vaswani())
... except ProgramError as error:
...     for fault in error.diagnostics:
...         print(fault.code, fault.span, [str(kind) for kind in fault.expected], fault.candidates)
...     print(error.fix)
{}
```

`error.fix` is the program with every fault mended that one edit repairs (`fault.fix` is that edit), or
None. It always reads; faults without an edit remain in it, and so does one whose edit overlaps another.
Only names whose kind and space fit a place are suggested there, and an edit is given only where one is
clearly meant. All programs here run over the collection in `experiments/gallery.py`, for the query
`wave guide`.

## Programs"""

_OPERATORS = """# Operators and functions

Everything that the language has, from the table in `pyterrier_alg/algebra/operators.py`. Each example is
a whole program. Where a parameter may be of several kinds, each way to apply the operator has a line of
its own.

Reserved, beside the names of functions: {}.

## Operators, tightest first"""

_FUNCTIONS = """
`+ − ⊙ / @ ∧ ∨` group to the left, `▷` to the right, comparisons not at all. Only a number literal may
stand directly before a name, a call or `(`, as a factor: `0.5 S`; not after `/`. `x == c` and `x != c`
are read as `isin(x, c)` and `support(x) & ~isin(x, c)`.

## Functions

Parameters written with `=` are given by name only, after the others, and have the default shown."""

_RETRIEVERS = """
### A retriever by its name: `bm25(text)`, `bm25(text, depth)`

Its own results for the text, at its stated default depth or this one.

```text
bm25(query, 52)
```"""

_ENGINES = """# Engines

A program means the same on every engine (`Program(…, engine="sqlite")`, `--engine sqlite`). What an
engine cannot run it refuses before running, with the error `unsupported`, which names those that can.

| engine | how it computes | certified |
|---|---|---|"""


def errors_page() -> str:
    """Every code, with an example, the message it gives, and the edit that repairs it where one does."""
    lines = [_ERRORS.format("\n".join(_error_attributes()))]
    examples = [*PROGRAMS, *_unsupported()]
    for code, meaning in MEANINGS.items():
        lines += ["", f"### `{code}`", "", meaning]
        for example in examples:
            if example.code == code:
                lines += ["", *_shown(example)]
    lines += [
        "",
        "## Collections and engines",
        "",
        "What Python raises where operands are bound, or an engine is named:",
    ]
    for code, snippet in BINDINGS:
        error = refused(snippet)
        _hold(error.code == code, f"{snippet} is {error.code}, not {code}")
        lines += ["", f"`{snippet}`", "", "```text", str(error), "```"]
    return "\n".join(lines) + "\n"


def _error_attributes() -> list[str]:
    from pyterrier_alg import Program, vaswani

    try:
        Program("top(10.0, M ▷ E @ Q1)", vaswani())
    except ProgramError as error:
        found = [f"{f.code} {f.span} {list(map(str, f.expected))} {f.candidates}" for f in error.diagnostics]
        return [*found, str(error.fix)]
    raise AssertionError("nothing is wrong with the page's first example")


def _shown(example: Example) -> list[str]:
    error = example.error()
    _hold(error.code == example.code, f"{example.program!r} is {error.code}, not {example.code}")
    lines = [example.note, ""] if example.note else []
    lines += ["```text", example.program, "```", "", "```text", str(error), "```"]
    fix = error.fix if isinstance(error, ProgramError) else None
    if fix is not None:
        parse(fix)
        lines += ["", "Fixed:", "", "```text", fix, "```"]
    return lines


def _unsupported() -> list[Example]:
    """One program that an engine lacks an operator for, if there is such an engine."""
    for name in engines():
        for key, operator in OPERATORS.items():
            if key not in engine(name).capabilities:
                return [Example("unsupported", operator.example, f"On the {name} engine.", engine=name)]
    return []


def operators_page() -> str:
    """The operator table, as it stands."""
    infix = [o for o in OPERATORS.values() if not o.is_function]
    lines = [_OPERATORS.format(", ".join(f"`{name}`" for name in RESERVED_OPERANDS))]
    for precedence, group in _GROUPS.items():
        lines += ["", f"### {group[0].upper()}{group[1:]}", ""]
        lines += ["| notation | ASCII | kinds | meaning | example |", "|---|---|---|---|---|"]
        lines += [_operator_row(o) for o in infix if o.precedence == precedence]
    lines.append(_FUNCTIONS)
    for operator in OPERATORS.values():
        if operator.is_function:
            lines += ["", f"### `{operator.usage}`", "", f"{operator.meaning[0].upper()}{operator.meaning[1:]}.", ""]
            lines += [f"- {_kinds(operator, i)}" for i in range(len(operator.signatures))]
            lines += [f"- `{option.name}`: {_accepts(option.accepts)}" for option in operator.options]
            lines += ["", "```text", operator.example, "```"]
    lines.append(_RETRIEVERS)
    return "\n".join(lines) + "\n"


def _operator_row(operator: Operator) -> str:
    names = [parameter.name for parameter in operator.signatures[0].parameters]
    ascii_form = f" {operator.ascii} ".join(names) if len(names) == 2 else operator.ascii + names[0]
    kinds = "<br>".join(_kinds(operator, i) for i in range(len(operator.signatures)))
    cells = [f"`{operator.usage}`", f"`{ascii_form}`", kinds, operator.meaning, f"`{operator.example}`"]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _kinds(operator: Operator, signature: int) -> str:
    chosen = operator.signatures[signature]
    return f"{', '.join(map(_parameter, chosen.parameters))} → {chosen.result}"


def _parameter(parameter: Parameter) -> str:
    return f"{parameter.name}: {_accepts(parameter.accepts)}{', …' if parameter.many else ''}"


def _accepts(word: str) -> str:
    return _WORDS.get(word, word.replace("_", " "))


def engines_page() -> str:
    """Which engine runs what, by their own capabilities, and what a refusal looks like."""
    names = engines()
    lines = [_ENGINES]
    for name in names:
        summary = (type(engine(name)).__doc__ or "").split("\n")[0].rstrip(".")
        certified = "yes" if engine(name).certifies else "only with `exact=True`, where its bound allows it"
        lines.append(f"| `{name}` | {summary} | {certified} |")
    lines += [
        "",
        "*Certified*: records, scores and order are the defined ones. An engine that is not states its bound.",
        "",
    ]
    lines += [f"| operator | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for key in [*OPERATORS, RETRIEVE]:
        label = OPERATORS[key].usage if key in OPERATORS else "bm25(text, depth)"
        marks = ["yes" if key in engine(name).capabilities else "—" for name in names]
        lines.append(f"| `{label.replace('|', chr(92) + '|')}` | {' | '.join(marks)} |")
    lines += ["", "## Refusals", ""]
    refusals = [(name, key) for name in names for key in OPERATORS if key not in engine(name).capabilities]
    if not refusals:
        lines.append("None: every engine runs everything.")
    for name, key in refusals:
        lines += [f"`{OPERATORS[key].example}` on `{name}`:", "", "```text", _refusal(name, key), "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _refusal(name: str, key: str) -> str:
    try:
        engine(name).run(parse(OPERATORS[key].example), collection().at(Topic("1", "wave guide")))
    except ProgramError as error:
        return str(error)
    raise AssertionError(f"{name} ran {key}")


def _hold(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


PAGES: Mapping[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "operators.md": operators_page,
    "engines.md": engines_page,
}


def differing(pages: Iterable[str] = PAGES) -> list[str]:
    """The pages on disk that are not what would be written."""
    return [p for p in pages if not (DOCS / p).is_file() or (DOCS / p).read_text("utf-8") != PAGES[p]()]


def main() -> int:
    """Write or compare; 0 where the pages are, or were, as they should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    if parser.parse_args().check:
        stale = differing()
        print(f"not as generated: {', '.join(stale)}" if stale else "as generated")
        return 1 if stale else 0
    DOCS.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
