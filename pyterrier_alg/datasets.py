"""Datasets that PyTerrier finds by name: `pt.get_dataset("alg:vaswani")`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
import pyterrier as pt

from pyterrier_alg.algebra.errors import AlgebraError, DataError
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.vaswani import vaswani
from pyterrier_alg.collection.vaswani_data import load_vaswani

__all__ = ["AlgDatasetProvider", "VaswaniDataset"]


class VaswaniDataset(pt.datasets.Dataset):  # type: ignore[misc]
    """The Vaswani test collection as this package ships it, and its texts where ir_datasets has them.

    Topics, qrels, results and the collection are shipped. Texts of documents and of topics are not: `get_corpus_iter`,
    `text_loader` and the topics' variant `"text"` read `irds:vaswani`, which ir_datasets downloads when it must.

    Example:
        >>> dataset = VaswaniDataset()
        >>> dataset.get_topics().head(2)
          qid                                              query
        0   1  by constant dielectric liquids measurement mic...
        1   2  analysis and design details fed mathematical m...
        >>> dataset.collection(bm25="counts")
        <Collection 'vaswani': 11,429 records; E, length, bm25, q1, q2, m, w>
    """

    def get_topics(self, variant: str | None = None) -> pd.DataFrame:
        """The topics: `qid` and `query`.

        Args:
            variant: `"bag"`, or None, for each topic's words in alphabetical order, which are shipped; `"text"` for
                its text as the collection has it, in capitals, from ir_datasets.

        Raises:
            DataError: `unknown_variant`; `missing_data`, `corrupted_data`.
            AlgebraError: `missing_texts`.
        """
        if variant == "text":
            topics: pd.DataFrame = _reading(lambda: _irds().get_topics())
            return topics.assign(query=topics["query"].str.strip())[["qid", "query"]]
        _refuse_variant("topics", variant, "bag", "text")
        return load_vaswani().topics()

    def get_topics_lang(self) -> str:
        """English."""
        return "en"

    def get_qrels(self, variant: str | None = None) -> pd.DataFrame:
        """The relevance judgements: `qid`, `docno` and `label`, which is always 1.

        Raises:
            DataError: `unknown_variant`; `missing_data`, `corrupted_data`.
        """
        _refuse_variant("qrels", variant)
        return load_vaswani().qrels()

    def get_results(self, variant: str | None = None) -> pd.DataFrame:
        """Terrier's recorded BM25 results, 1000 a topic: `qid`, `query`, `docno`, `score`, `rank` from 0.

        Raises:
            DataError: `unknown_variant`; `missing_data`, `corrupted_data`.
        """
        _refuse_variant("results", variant)
        data = load_vaswani()
        queries = data.topics().set_index("qid")["query"]
        run = data.run()
        run.insert(1, "query", run["qid"].map(queries))
        return run

    def get_corpus_iter(self, *, verbose: bool = True) -> Iterator[Mapping[str, Any]]:
        """The documents: dicts of `docno` and `text`.

        Args:
            verbose: whether to show progress.

        Raises:
            AlgebraError: `missing_texts`, when it is called, where ir_datasets has no texts and cannot download them.
        """
        documents: Iterator[Mapping[str, Any]] = _reading(lambda: _started(_irds().get_corpus_iter(verbose=verbose)))
        return documents

    def get_corpus_lang(self) -> str:
        """English."""
        return "en"

    def text_loader(self, fields: list[str] | str = "*", *, verbose: bool = False) -> pt.Transformer:
        """A transformer that adds documents' texts by `docno`.

        Args:
            fields: which; `text` is the only one.
            verbose: whether to say what it does.

        Raises:
            AlgebraError: `missing_texts`, where ir_datasets has no texts and cannot download them.
        """
        return _reading(lambda: _irds_with_texts().text_loader(fields, verbose=verbose))

    def collection(self, **settings: Any) -> Collection:
        """The collection that programs run over; the same object for the same settings.

        Args:
            **settings: of `vaswani`: `dimensions`, `bm25`, `q1`, `q2`, `folder`.

        Raises:
            DataError: as `vaswani`.
            AlgebraError: as `vaswani`.
        """
        return vaswani(**settings)

    def info_url(self) -> str:
        """Where the collection is from."""
        return "http://ir.dcs.gla.ac.uk/resources/test_collections/npl/"

    def _describe_component(self, component: str) -> bool | list[str] | None:
        components: dict[str, bool | list[str]] = {"topics": ["bag", "text"], "qrels": True, "corpus": True}
        return components.get(component)

    def __repr__(self) -> str:
        return "VaswaniDataset()"


class AlgDatasetProvider(pt.datasets.DatasetProvider):  # type: ignore[misc]
    """What PyTerrier asks for datasets whose names begin with `alg:`.

    Example:
        >>> AlgDatasetProvider().list_dataset_names()
        ['vaswani']
    """

    def get_dataset(self, name: str) -> VaswaniDataset:
        """A dataset by its name, a new object each time, since PyTerrier changes what it gets.

        Raises:
            KeyError: where there is none of this name.
        """
        if name not in self.list_dataset_names():
            raise KeyError(f"no dataset alg:{name}; there are {', '.join(self.list_dataset_names())}")
        return VaswaniDataset()

    def list_dataset_names(self) -> list[str]:
        """The names that may follow `alg:`."""
        return ["vaswani"]


def _irds() -> Any:
    return pt.get_dataset("irds:vaswani")


def _irds_with_texts() -> Any:
    """Its dataset, after a look at the first text."""
    dataset = _irds()
    _started(dataset.get_corpus_iter(verbose=False))
    return dataset


def _started(documents: Iterable[Mapping[str, Any]]) -> Any:
    """The same documents, the first of them read already; of the same length, where that is known."""
    iterator = iter(documents)
    first = next(iterator)

    def all_of_them() -> Iterator[Mapping[str, Any]]:
        yield first
        yield from iterator

    return pt.utils.GeneratorLen(all_of_them(), len(documents))  # type: ignore[arg-type]


def _reading(read: Any) -> Any:
    """What comes from ir_datasets, whose errors are many and its own."""
    try:
        return read()
    except Exception as error:
        raise AlgebraError(
            "missing_texts",
            f"the texts of irds:vaswani cannot be read: {type(error).__name__}: {error}",
            "ir_datasets downloads them into IR_DATASETS_HOME (~/.ir_datasets), which must be writable",
        ) from error


def _refuse_variant(what: str, variant: str | None, *known: str) -> None:
    if variant is not None and variant not in known[:1]:
        hint = f"variants: {', '.join(map(repr, known))}" if known else "leave the variant out"
        raise DataError("unknown_variant", f"Vaswani has no {what} of the variant {variant!r}", hint)
