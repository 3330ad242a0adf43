"""Generators that several tests share: hostile names, texts and numbers, any tree that the table allows."""

from hypothesis import strategies as st

from pyterrier_alg.algebra import OPERATORS, Apply, Count, Formula, Name, Number, Retrieve, Text
from pyterrier_alg.algebra.operators import RESERVED
from pyterrier_alg.algebra.reading import make_call

FUNCTIONS = sorted(key for key, entry in OPERATORS.items() if entry.is_function)
INFIX = sorted(key for key, entry in OPERATORS.items() if not entry.is_function and key not in ("neg", "~"))

python_names = st.sampled_from(["S", "T", "E", "q1", "m", "n", "x_1", "_", "query", "all", "e5"])
hostile_names = st.one_of(
    st.sampled_from(
        ["group by", "0.5", "a#b", "a=b", "(", "é", "e\u0301", "🙂", " ", "a\tb", '"', "\\", "-", "▷", "１"]
    ),
    st.text(st.characters(exclude_characters="`\r\n", exclude_categories=["Cs"]), min_size=1, max_size=6),
)
names = python_names | hostile_names
texts = st.one_of(
    st.sampled_from(
        ["", '"', "'", "\\", "\\u0041", "a\nb\r\t\f\b\0", "it's", "e\u0301é", "👩‍🔬🇫🇷", "# no", "\u2028\x7f\x85"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
finite = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 60.0, 1e15, 1e16, 1e22, -1e-7, 5e-324, 1.7976931348623157e308, 0.1 + 0.2]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
digits = st.one_of(st.sampled_from(["0", "1", "10", "60", "100", "0052", "9" * 30]), st.integers(0, 10**6).map(str))


def _calls(children):
    """A function of the table with as many arguments as it takes, counts where it wants counts, of any kinds."""

    @st.composite
    def build(draw):
        key = draw(st.sampled_from(FUNCTIONS))
        operator = OPERATORS[key]
        places = draw(st.sampled_from(operator.signatures)).parameters
        spread = [place for place in places for _ in range(draw(st.integers(1, 3)) if place.many else 1)]
        # A number that prints as digits is a count where the notation wants one.
        counts = digits.map(Count) | children.filter(lambda e: not repr(e).isdigit())
        arguments = tuple(draw(counts if place.accepts.startswith("count") else children) for place in spread)
        given = [option for option in operator.options if draw(st.booleans())]
        options = [(o.name, draw(counts if o.accepts.startswith("count") else children)) for o in given]
        return make_call(key, arguments, tuple(options))

    return build()


def trees(leaf_names=names, leaf_numbers=finite):
    """Expressions with every sort of node; not necessarily of sound kinds."""
    called = leaf_names.filter(lambda name: name not in RESERVED and name not in OPERATORS)
    leaves = st.one_of(leaf_names.map(Name), leaf_numbers.map(Number), texts.map(Text))

    def extend(children):
        return st.one_of(
            st.builds(lambda key, a, b: Apply(key, (a, b)), st.sampled_from(INFIX), children, children),
            st.builds(lambda key, a: Apply(key, (a,)), st.sampled_from(["neg", "~"]), children),
            st.builds(lambda c, a: Apply("*", (Number(c), a)), leaf_numbers, children),
            st.builds(lambda name, a: Retrieve(name, (a,)), called, children),
            st.builds(lambda name, a, k: Retrieve(name, (a, Count(k))), called, children, digits),
            _calls(children),
        )

    return st.recursive(leaves, extend, max_leaves=12)


step_names = names.filter(lambda name: name not in RESERVED)
formulas = st.builds(
    lambda steps, result: Formula(tuple(steps), result), st.lists(st.tuples(step_names, trees()), max_size=3), trees()
)
