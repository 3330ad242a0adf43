"""BM25 over term counts: the formula computed otherwise, the order, and what it refuses."""

import pickle
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyterrier_alg.algebra import AlgebraError, BindingError, parse
from pyterrier_alg.collection import Collection, Topic, vaswani
from pyterrier_alg.collection.lexical import CountsRetriever
from pyterrier_alg.collection.vaswani_data import load_vaswani
from pyterrier_alg.engines.registry import engine, engines

WORDS = ["a", "b", "c", "wave", "z9"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=12)
QUERIES = st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=6).map(" ".join)
CONSTANTS = st.tuples(st.sampled_from([0.0, 0.9, 1.2, 50.0]), st.sampled_from([0.0, 0.4, 0.75, 1.0]))


def named(texts):
    """Docnos whose order is not that of the documents."""
    return [{"docno": f"d{7 * place % 13}", "text": text} for place, text in enumerate(texts)]


def by_hand(documents, query, k1, b):
    """The formula as it is written, with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        k1, b = Decimal(k1), Decimal(b)
        bags = {document["docno"]: Counter(document["text"].split()) for document in documents}
        size, tokens = Decimal(len(bags)), Decimal(sum(map(Counter.total, bags.values())))
        having = {term: sum(term in words for words in bags.values()) for term in query.split()}
        scores = {}
        for docno, words in bags.items():
            score = Decimal(0)
            for term in query.split():
                if words[term]:
                    idf = (1 + (size - having[term] + Decimal("0.5")) / (having[term] + Decimal("0.5"))).ln()
                    norm = k1 * (1 - b + b * words.total() / (tokens / size))
                    score += idf * words[term] / (words[term] + norm)
            if score:
                scores[docno] = score
        return scores


@given(texts=TEXTS, query=QUERIES, constants=CONSTANTS, depth=st.integers(1, 15))
@settings(max_examples=200, deadline=None)
def test_it_is_the_formula_in_the_total_order(texts, query, constants, depth):
    documents = named(texts)
    retriever = CountsRetriever.of("texts", documents, k1=constants[0], b=constants[1])
    expected = by_hand(documents, query, *constants)
    everything = list(retriever.search(query, 99).items())
    assert {docno: pytest.approx(float(score), rel=1e-14) for docno, score in expected.items()} == dict(everything)
    assert everything == sorted(everything, key=lambda pair: (-pair[1], pair[0]))
    assert list(retriever.search(query, depth).items()) == everything[:depth]


@given(texts=TEXTS.filter(len), query=QUERIES, seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_every_bit_is_the_same_whatever_the_order_of_words_documents_and_terms(texts, query, seed):
    documents = named(texts)
    retriever = CountsRetriever.of("texts", documents)
    expected = list(retriever.search(query, 99).items())
    random = np.random.default_rng(seed)

    def shuffled(things):
        return [things[place] for place in random.permutation(len(things))]

    assert list(CountsRetriever.of("texts", shuffled(documents)).search(query, 99).items()) == expected
    assert list(retriever.search(" ".join(shuffled(query.split())), 99).items()) == expected
    vocabulary = shuffled(retriever.vocabulary)
    terms = np.array([vocabulary.index(retriever.vocabulary[term]) for term in retriever.terms], dtype=np.int64)
    other = CountsRetriever("texts", retriever.docnos, vocabulary, retriever.offsets, terms, retriever.counts)
    assert list(other.search(query, 99).items()) == expected


def test_a_written_out_example():
    texts = [("b", "wave wave guide"), ("a", "guide"), ("c", "valve")]
    retriever = CountsRetriever.of("three texts", [{"docno": docno, "text": text} for docno, text in texts], k1=1, b=0)
    # tf / (tf + 1), times ln(8 / 5) where two documents have the term, ln(8 / 3) where one has.
    assert retriever.search("guide", 9) == {"a": 0.2350018146228678, "b": 0.2350018146228678}
    assert list(retriever.search("guide", 9)) == ["a", "b"] and list(retriever.search("guide", 1)) == ["a"]
    assert retriever.search("WAVE?", 9) == {"b": pytest.approx(2 / 3 * 0.9808292530117262, rel=1e-15)}
    assert retriever.search("valve valve", 9) == {"c": 0.9808292530117262}


@pytest.mark.parametrize("text", ["", " ", "?!", "unheard", '"', "\x00", "\ud800", "ψ", "x" * 100_000])
def test_nothing_is_found_for_what_no_text_has(text):
    assert CountsRetriever.of("a text", [{"docno": "a", "text": "wave"}]).search(text, 9) == {}


def test_a_term_of_every_document_still_counts_for_something():
    found = CountsRetriever.of("texts", [{"docno": d, "text": "wave " * n} for d, n in (("a", 1), ("b", 2))])
    assert all(score > 0 for score in found.search("wave", 2).values())


@pytest.mark.parametrize("documents", [[], [{"docno": "a", "text": ""}]])
def test_collections_without_words(documents):
    retriever = CountsRetriever.of("nothing", documents)
    assert retriever.search("wave", 9) == {} and pickle.loads(pickle.dumps(retriever)).search("", 1) == {}


def test_other_terms_are_those_of_another_tokeniser():
    retriever = CountsRetriever.of("texts", [{"docno": "a", "text": "Wave-guide"}], tokenise=str.split)
    assert list(retriever.search("Wave-guide", 1)) == ["a"] and retriever.search("wave", 1) == {}


OFFSETS, TERMS, COUNTS = [0, 2, 2], [0, 1], [1, 1]


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"docnos": ["a", "a"]}, "bad_operand", "docno"),
        ({"docnos": ["a", 2]}, "bad_operand", "docno"),
        ({"docnos": ["a", "half \ud800"]}, "bad_operand", "docno"),
        ({"vocabulary": ["x", "half \ud800"]}, "bad_operand", "term"),
        ({"default_depth": 0}, "bad_operand", "depth"),
        ({"default_depth": "deep"}, "bad_operand", "deep"),
        ({"k1": "a"}, "bad_parameter", "k1='a'"),
        ({"vocabulary": ["x", "x"]}, "bad_operand", "term"),
        ({"offsets": [0, 2]}, "bad_operand", "2 documents"),
        ({"offsets": [0, 3, 2]}, "bad_operand", "ascend"),
        ({"offsets": [1, 2, 2]}, "bad_operand", "ascend"),
        ({"offsets": [0, 1, 1]}, "bad_operand", "ascend"),
        ({"offsets": [0.0, 2.0, 2.0]}, "bad_operand", "offsets are whole numbers"),
        ({"terms": [0, 2]}, "bad_operand", "term of the vocabulary"),
        ({"terms": [-1, 0]}, "bad_operand", "term of the vocabulary"),
        ({"terms": [1, 1]}, "bad_operand", "in one entry"),
        ({"terms": [[0, 1]]}, "bad_operand", "one dimension"),
        ({"counts": [1, 0]}, "bad_operand", "count from 1"),
        ({"counts": [1]}, "bad_operand", "1 counts"),
        ({"counts": [0.5, 1.0]}, "bad_operand", "counts are whole numbers"),
        ({"k1": -1.0}, "bad_parameter", "k1=-1.0"),
        ({"k1": float("nan")}, "bad_parameter", "k1=nan"),
        ({"b": 1.5}, "bad_parameter", "b=1.5"),
    ],
)
def test_what_are_no_counts(changes, code, told):
    sound = {"docnos": ["a", "b"], "vocabulary": ["x", "y"], "offsets": OFFSETS, "terms": TERMS, "counts": COUNTS}
    assert list(CountsRetriever("sound", **sound).search("y", 2)) == ["a"]
    with pytest.raises(AlgebraError, match=told) as caught:
        CountsRetriever("unsound", **{**sound, **changes})
    assert caught.value.code == code


def test_over_vaswani_on_every_engine():
    c = vaswani(bm25="counts")
    scope = c.at(Topic("1", "Dielectric constant of LIQUIDS (microwave)!"))
    retriever = scope.operands["bm25"].retriever
    expected = list(retriever.search("constant dielectric liquids microwave of", 20).items())
    assert len(expected) == 20 and expected[0][1] > expected[19][1] > 0
    formula = parse("top(20, bm25(query, 100))")
    for name in engines():
        assert list(engine(name).run(formula, scope)) == expected, name


def test_over_vaswani_it_is_the_formula():
    data = load_vaswani()
    found = vaswani(bm25="counts").at().operands["bm25"].retriever.search("dielectric constant", 20_000)
    counts = {
        docno: {
            data.vocabulary[t]: int(n) for t, n in zip(data.document_terms[p], data.document_counts[p], strict=True)
        }
        for docno, p in zip(data.docnos, map(slice, data.document_offsets, data.document_offsets[1:]), strict=True)
    }
    documents = [
        {"docno": docno, "text": " ".join(term for term, n in words.items() for _ in range(n))}
        for docno, words in counts.items()
    ]
    expected = by_hand(documents, "dielectric constant", 1.2, 0.75)
    assert found == {docno: pytest.approx(float(score), rel=1e-14) for docno, score in expected.items()}


@pytest.mark.parametrize(
    ("documents", "code"),
    [
        ([{"docno": "a"}], "bad_operand"),
        ([{"docno": "a", "text": 5}], "bad_operand"),
        (["a"], "bad_operand"),
        ([{"text": "x"}], "bad_docno"),
        ([{"docno": "a", "text": "x"}] * 2, "duplicate_docno"),
    ],
)
def test_what_cannot_be_counted(documents, code):
    with pytest.raises(BindingError) as caught:
        CountsRetriever.of("some", documents)
    assert caught.value.code == code


def test_a_document_without_text_has_no_terms_and_no_depth_no_results():
    retriever = CountsRetriever.of("some", [{"docno": d, "text": t} for d, t in (("a", None), ("b", "x"), ("c", "x"))])
    assert set(retriever.search("x", 5)) == {"b", "c"} and retriever.search("x", 0) == {}


def test_counts_by_tokenisers_without_a_name_are_told_apart():
    def counted(text, tokenise=str.split):
        return Collection(["a"]).bind(r=CountsRetriever.of("x", [{"docno": "a", "text": text}], tokenise=tokenise))

    assert counted("b") == counted("b") != counted("b c")
    assert counted("b") != counted("b", lambda text: text.split())
