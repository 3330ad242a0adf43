"""Collections: what a program may name. Records, operands, spaces; Vaswani ready made."""

from pyterrier_alg.algebra.kinds import Distance, Space
from pyterrier_alg.collection.binding import UnknownNameError
from pyterrier_alg.collection.collection import Collection
from pyterrier_alg.collection.indexer import AlgebraIndexer
from pyterrier_alg.collection.orienting import Orientation, orient_schema
from pyterrier_alg.collection.specs import Column, Mask, Matrix, QueryVectors, Relation, Retriever, Run, Vector
from pyterrier_alg.collection.topics import Topic
from pyterrier_alg.collection.vaswani import vaswani

__all__ = [
    "AlgebraIndexer",
    "Collection",
    "Column",
    "Distance",
    "Mask",
    "Matrix",
    "Orientation",
    "QueryVectors",
    "Relation",
    "Retriever",
    "Run",
    "Space",
    "Topic",
    "UnknownNameError",
    "orient_schema",
    "Vector",
    "vaswani",
]
