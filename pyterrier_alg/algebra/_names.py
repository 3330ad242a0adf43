"""Names that nothing has, and those that were likely meant: of a kind and a space that fit in their place."""

from __future__ import annotations

from pyterrier_alg.algebra._expecting import ANYTHING, Expectation
from pyterrier_alg.algebra._fixing import Advice, is_sure, suggest
from pyterrier_alg.algebra._known import Known
from pyterrier_alg.algebra.expressions import Name, Retrieve
from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.algebra.operators import OPERATORS, RESERVED_OPERANDS

#: Later unknown names of a program get no suggestions: a text that is no program at all has thousands.
_ADVISED = 200
#: How many names a message lists.
_MOST = 12


def report_unknown(known: Known, node: Name | Retrieve, place: Expectation) -> None:
    """Report a name that nothing has, with those that would fit in its place."""
    name = node.name if isinstance(node, Name) else node.retriever
    what = "operand" if isinstance(node, Name) else "function or retriever"
    if isinstance(node, Name) and _is_reserved(known, node):
        return
    fitting, others = _candidates(known, node, place) if len(known.faults) < _ADVISED else ([], [])
    close, wrong = suggest(name, fitting), suggest(name, others)
    wanted = " or ".join(sorted(place.kinds))
    if name in known.step_names:
        advice = Advice(f"{name!r} is a step, but not one above this line")
    elif close:
        fix = known.fixer.renamed(node, name, close[0]) if is_sure(name, close) else None
        advice = Advice(f"did you mean {', '.join(close)}?", fix)
    else:
        bound = _called(known, name, fitting) if isinstance(node, Retrieve) else _bound(fitting, wanted)
        amiss = f"; {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} no {wanted}" if wrong else ""
        advice = Advice(bound + amiss)
    known.fault(
        "unknown_name",
        f"unknown {what} {name!r}",
        node.span,
        advice,
        expected=() if place.kinds == ANYTHING.kinds else sorted(place.kinds),
        candidates=close or sorted(fitting)[:_MOST],
    )


def _bound(fitting: list[str], wanted: str) -> str:
    return f"bound are {', '.join(sorted(fitting)[:_MOST])}" if fitting else f"no {wanted} is bound"


def _called(known: Known, name: str, fitting: list[str]) -> str:
    """What can be called: retrievers, which somebody must have bound, and functions."""
    retrievers = sorted(n for n in fitting if n not in OPERATORS)
    functions = sorted(n for n in fitting if n in OPERATORS)
    bound = (
        f"retrievers are {', '.join(retrievers[:_MOST])}" if retrievers else f"no retriever is bound: bind({name}=…)"
    )
    more = f" and {len(functions) - _MOST} more" if len(functions) > _MOST else ""
    return f"{bound}; functions are {', '.join(functions[:_MOST])}{more}" if functions else bound


def _candidates(known: Known, node: Name | Retrieve, place: Expectation) -> tuple[list[str], list[str]]:
    """What there is that fits, and operands that do not."""
    types = {name: binding.type for name, binding in known.bindings.items()}
    types |= {name: found for name, step in known.steps.items() if (found := known.types.get(step))}
    if isinstance(node, Name):
        return [n for n, t in types.items() if place.takes(t)], [n for n, t in types.items() if not place.takes(t)]
    functions = (operator for operator in OPERATORS.values() if operator.is_function)
    fitting = [o.key for o in functions if any(s.result in place.kinds for s in o.signatures)]
    retrievers = [n for n, t in types.items() if t.kind is Kind.RETRIEVER]
    return fitting + (retrievers if Kind.RELATION in place.kinds else []), []


def _is_reserved(known: Known, node: Name) -> bool:
    """Report a word of the language that stands for nothing here; whether it was one."""
    if node.name in OPERATORS:
        message, hint = f"{node.name!r} is a function, not an operand", f"write {OPERATORS[node.name].usage}"
    elif node.name in RESERVED_OPERANDS:
        hints = {
            "query": 'run the program for a query: run("text"), or --query and --topic on the command line',
            "query_vec": "give the topics a query_vec column",
            "input": "it is what comes in where a program re-ranks results; none came in here",
        }
        message, hint = f"{node.name!r} is not bound here", hints.get(node.name, f"bind {node.name}")
    else:
        return False
    known.fault("unknown_name", message, node.span, hint)
    return True
