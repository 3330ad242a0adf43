"""Every engine, in each of its settings, for tests that hold all of them to the same."""

from pyterrier_alg.engines.definition import DefinitionEngine
from pyterrier_alg.engines.sql.duckdb import DuckDbEngine
from pyterrier_alg.engines.sql.sqlite import SqliteEngine
from pyterrier_alg.engines.vectorised import VectorisedEngine
from pyterrier_alg.transformers import PipelineEngine

ENGINES = {
    "definition": DefinitionEngine(),
    "vectorised": VectorisedEngine(),
    "vectorised, unfolded": VectorisedEngine(fold_directions=False),
    "pipeline": PipelineEngine(),
    "sqlite": SqliteEngine(),
    "sqlite, exact": SqliteEngine(exact=True),
    "duckdb": DuckDbEngine(),
    "duckdb, exact": DuckDbEngine(exact=True),
}
