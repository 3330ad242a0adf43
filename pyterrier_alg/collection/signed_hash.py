"""Signed hashing: a text's bag of words folded into a fixed number of dimensions, the same on every machine.

A stand-in for a trained text encoder that needs no model: exact, tiny, and rich in ties, which is what an experiment on
rank order wants. It says nothing about search quality.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Integral

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import AlgebraError
from pyterrier_alg.collection.records import texts_to_encode

__all__ = ["SignedHashEncoder", "tokens"]

_TOKEN = re.compile("[a-z0-9]+")


def tokens(text: str) -> list[str]:
    """The words of a text in their order: lower-cased, then runs of ASCII letters and digits; no stopping, no stemming.

    Example:
        >>> tokens("Band-pass FILTERS, 2nd ed.")
        ['band', 'pass', 'filters', '2nd', 'ed']
    """
    return _TOKEN.findall(text.lower())


#: More would exhaust the memory of most machines before anything is scored.
MOST_DIMENSIONS = 1 << 16


@dataclass(frozen=True)
class SignedHashEncoder:
    """Texts and term counts to unit float32 vectors by the signed hashing trick, weighted by raw counts.

    The digest of a token is BLAKE2b with `digest_size=8` over its UTF-8 bytes, keyed with the seed as 8 bytes,
    little-endian. Read as a little-endian unsigned integer h, its highest bit is the sign (1 is −1) and
    `(h mod 2^63) mod dimensions` is the dimension. Signed counts add up as integers; an element is that integer over
    the square root of the integer sum of squares: one float64 square root, one division, rounded to float32. No step
    depends on order, threads or a BLAS.

    Source: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009, with the hash above.

    Attributes:
        dimensions: 1 to 65,536.
        seed: 0 up to 2^64 − 1; another seed is another space.

    Raises:
        AlgebraError: `bad_parameter`, where dimensions or seed are out of range.

    Example:
        >>> SignedHashEncoder(dimensions=4).encode("digital data storage")
        array([0.57735026, 0.57735026, 0.57735026, 0.        ], dtype=float32)
    """

    dimensions: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what would make no space."""
        dimensions: object = self.dimensions
        if not isinstance(dimensions, Integral) or not 1 <= int(dimensions) <= MOST_DIMENSIONS:
            message = f"dimensions must be a whole number from 1 to {MOST_DIMENSIONS:,}, not {dimensions!r}"
            raise AlgebraError("bad_parameter", message)
        if not 0 <= self.seed < 2**64:
            raise AlgebraError("bad_parameter", f"seed must be from 0 to 2^64 - 1, not {self.seed}")

    @property
    def identity(self) -> str:
        """What a space records as its encoder: `"signed-hash/blake2b/seed=0/256"`."""
        return f"signed-hash/blake2b/seed={self.seed}/{self.dimensions}"

    def encode(self, text: str) -> npt.NDArray[np.float32]:
        """The text's unit vector, shape (dimensions,).

        Raises:
            AlgebraError: `zero_vector`, where the text has no tokens or its tokens cancel.
        """
        bag = Counter(tokens(text))
        rows = self.encode_counts([0, len(bag)], range(len(bag)), list(bag.values()), list(bag))
        if not rows.any():
            reason = f"its tokens cancel in {self.dimensions} dimensions" if bag else "it has no letters or digits"
            raise AlgebraError("zero_vector", f"the text {text!r} has no direction: {reason}")
        return rows.reshape(-1)

    @property
    def document_identity(self) -> str:
        """The same as `identity`: documents and queries are hashed alike."""
        return self.identity

    def encode_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One unit row a text, shape (len(texts), dimensions); zeros where a text has no tokens or they cancel.

        Example:
            >>> SignedHashEncoder(dimensions=4).encode_documents(["digital data storage", "?"]).tolist()[1]
            [0.0, 0.0, 0.0, 0.0]
        """
        bags = [Counter(tokens(text)) for text in texts_to_encode(texts)]
        vocabulary = {term: place for place, term in enumerate(dict.fromkeys(term for bag in bags for term in bag))}
        offsets = np.cumsum([0, *map(len, bags)])
        places = [vocabulary[term] for bag in bags for term in bag]
        return self.encode_counts(offsets, places, [n for bag in bags for n in bag.values()], list(vocabulary))

    def unknown(self, text: str) -> list[str]:
        """The text's tokens that the encoder would ignore: none, since every token is hashed."""
        return []

    def encode_counts(
        self,
        indptr: npt.ArrayLike,
        indices: npt.ArrayLike,
        counts: npt.ArrayLike,
        vocabulary: Sequence[str],
    ) -> npt.NDArray[np.float32]:
        """One unit row for each bag of words, bags being given as a compressed sparse row matrix.

        Args:
            indptr: where each bag begins, and where the last one ends; n + 1 integers.
            indices: for each entry the position of its term in the vocabulary.
            counts: for each entry how often the term occurs.
            vocabulary: the terms.

        Returns:
            float32, shape (n, dimensions). A bag that is empty, or whose terms cancel, has a row of zeros: only the
            caller knows what to call it.
        """
        dimension, sign = self._hash(vocabulary)
        starts, places = np.asarray(indptr, np.int64), np.asarray(indices, np.int64)
        sums = np.zeros((len(starts) - 1, self.dimensions), np.int64)
        cells = np.repeat(np.arange(len(sums)), np.diff(starts)) * self.dimensions + dimension[places]
        np.add.at(sums.reshape(-1), cells, sign[places] * np.asarray(counts, np.int64))
        norms = np.sqrt(np.einsum("ij,ij->i", sums, sums).astype(np.float64))
        norms[norms == 0] = 1
        rows = np.empty(sums.shape, np.float32)
        # Formed in float64 and rounded once as it is stored, without a float64 matrix in between.
        np.divide(sums, norms[:, None], out=rows, dtype=np.float64, casting="same_kind")
        return rows

    def _hash(self, vocabulary: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The dimension and the sign of each term."""
        key = int(self.seed).to_bytes(8, "little")
        digests = b"".join(blake2b(term.encode(), digest_size=8, key=key).digest() for term in vocabulary)
        values = np.frombuffer(digests, "<u8").astype(np.uint64)
        dimension = (values & np.uint64(2**63 - 1)) % np.uint64(self.dimensions)
        return dimension.astype(np.int64), 1 - 2 * (values >> np.uint64(63)).astype(np.int64)
