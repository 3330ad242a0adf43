"""Whatever tree there is: its two texts, Python, pickles and copies all give the same tree back."""

import copy
import keyword
import pickle

from bound import OPERANDS
from hypothesis import assume, example, given, settings
from strategies import finite, formulas, python_names, trees

from pyterrier_alg import notation
from pyterrier_alg.algebra import OPERATORS, Apply, Count, Expression, Formula, Name, Number, Retrieve, Text, parse
from pyterrier_alg.algebra.expressions import lift, walk

S, T, m = Name("S"), Name("T"), Name("m")


class _Names(dict):
    """Python's view of a program: functions of the notation, and whatever else is asked for as an operand."""

    def __missing__(self, name):
        if name.startswith("__"):
            raise KeyError(name)
        return getattr(notation, name) if name in notation.__all__ else Name(name)


def python(text: str) -> Expression:
    return lift(eval(text, _Names(__builtins__={})))


def python_computes_itself(root: Expression) -> bool:
    """Whether some operator of the tree has only literals below it, which Python does not hand to us."""

    def literal(node):
        return isinstance(node, Number | Text) or (
            isinstance(node, Apply) and node.operator == "neg" and literal(node.arguments[0])
        )

    return any(
        isinstance(node, Apply) and not OPERATORS[node.operator].is_function and all(map(literal, node.arguments))
        for node in walk(root)
    )


_COMPARISONS = (">=", ">", "<=", "<")


def is_turned(root: Expression) -> bool:
    """Whether a literal stands on the left of a comparison: notation and Python both turn that around."""
    return any(
        isinstance(node, Apply) and node.operator in _COMPARISONS and isinstance(node.arguments[0], Number | Text)
        for node in walk(root)
    )


@settings(max_examples=300)
@given(trees())
@example(-Number(2.0))
@example(-Number(-2.0))
@example(Apply("neg", (-Number(2.0),)))
@example(Apply("@", (-S, -T)))
@example(Apply("@", (S, -Number(-1.0))))
@example(Apply("@", (S, Apply("~", (Number(-1.0),)))))
@example(Apply("top", (2.0 * S, T)))
@example(Retrieve("S", (Text("a"), 2.0 * S)))
@example(Apply("rrf", (S,), (("k", 2.0 * S),)))
@example(Apply("@", (-Number(1.0), T)))
@example(Apply("@", (Text("a"), -Text("b"))))
@example(Apply("*", (Number(2.0), Apply("@", (Number(3.0), S)))))
@example(Apply("*", (Number(2.0), Apply("@", (-S, T)))))
@example(Apply("*", (Number(2.0), Apply("@", (Text("x"), T)))))
@example(Apply("/", (S, Apply("*", (Number(2.0), T)))))
@example(Apply("*", (Number(2.0), Apply("*", (Number(3.0), S)))))
@example(Apply("*", (Apply("*", (Number(2.0), S)), Apply("*", (Number(3.0), T)))))
@example(Apply("*", (S, Apply("*", (Number(3.0), T)))))
@example(Apply("-", (S, Number(-3.0))))
@example(Apply("-", (S, Apply("*", (Number(-3.0), T)))))
@example(Apply("~", (Apply("neg", (Number(5e-324),)),)))
def test_both_texts_read_back(tree):
    assume(not is_turned(tree))
    for text in (repr(tree), str(tree)):
        again = parse(text)
        assert again.result == tree, text
        assert again.result.digest == tree.digest
        assert again.steps == ()
    assert repr(parse(str(tree)).result) == repr(tree)
    assert str(parse(repr(tree)).result) == str(tree)
    assert parse(repr(tree)).digest == parse(str(tree)).digest


@settings(max_examples=300)
@given(trees(leaf_names=python_names, leaf_numbers=finite))
def test_ascii_is_python(tree):
    assume(not python_computes_itself(tree) and not is_turned(tree))
    assume(not any(keyword.iskeyword(n.name) for n in walk(tree) if isinstance(n, Name)))
    assert python(repr(tree)) == tree


@given(trees(), trees())
def test_equality_hash_pickle_and_copy_are_by_content(tree, other):
    assume(not is_turned(tree))
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert copy.deepcopy(tree) == tree == copy.copy(tree)
    assert {tree: 1}[again] == 1
    assert (tree == other) == (repr(tree) == repr(other))


@settings(max_examples=100)
@given(formulas)
def test_formulas_read_back_with_their_steps(formula):
    assume(not any(map(is_turned, formula.expressions)))
    for text in (formula.ascii, formula.unicode):
        again = parse(text)
        assert again == formula
        assert hash(again) == hash(formula)
        assert again.digest == formula.digest
    assert pickle.loads(pickle.dumps(formula)) == formula == copy.deepcopy(formula)
    assert (repr(formula), str(formula)) == (formula.ascii, formula.unicode)


@given(finite)
def test_numbers_print_as_the_shortest_text_that_reads_back(value):
    text = repr(Number(value))
    assert parse(text).result == Number(value)
    assert float(text) == value
    assert text != "-0"
    if value == int(value) and abs(value) < 1e16:
        assert text.lstrip("-").isdigit()
    else:
        assert text == repr(value)


def test_different_trees_differ():
    different = [
        S, T, Name("s"), Number(1.0), Count("1"), Text("1"), Name("1"), Text("S"), -S, ~S, S + T, T + S, S - T,
        Retrieve("S", (T,)), Apply("abs", (S,)), Number(-1.0), -Number(1.0), (S + T) + S, S + (T + S),
        Apply("rrf", (S,)), Apply("rrf", (S, T)), Apply("rrf", (S,), (("k", Count("1")),)),
        Apply("rrf", (S,), (("depth", Count("1")),)), Apply("ids", (Text("a"), Text("b"))), Apply("ids", (Text("ab"),)),
        Name("é"), Name("e\u0301"),
    ]  # fmt: skip
    assert len(set(different)) == len(different)
    assert Formula((), S) != S
    assert Formula((("x", S),), T) != Formula((("y", S),), T)


def test_places_do_not_enter_equality():
    one, two = parse("S  +  T").result, parse("( S + T)").result
    assert one == two
    assert one.span != two.span
    assert OPERANDS["S"] + OPERANDS["T"] == one
