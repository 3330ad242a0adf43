"""Collections from what others write, and back: dense indexes of pyterrier_dr, frames, Arrow, Parquet, Lance, corpora.

A reader checks everything that binding checks, and gives a collection with one matrix and the metadata columns. Rows
go straight to their place in docno order, a batch at a time, so that a matrix is in memory once.
"""

from pyterrier_alg.collection.formats.arrow import from_arrow, to_arrow
from pyterrier_alg.collection.formats.corpus import from_corpus
from pyterrier_alg.collection.formats.flex import from_flex, to_flex
from pyterrier_alg.collection.formats.frame import from_frame, to_frame
from pyterrier_alg.collection.formats.lance import from_lance, to_lance
from pyterrier_alg.collection.formats.parquet import from_parquet, to_parquet

__all__ = [
    "from_arrow",
    "from_corpus",
    "from_flex",
    "from_frame",
    "from_lance",
    "from_parquet",
    "to_arrow",
    "to_flex",
    "to_frame",
    "to_lance",
    "to_parquet",
]
