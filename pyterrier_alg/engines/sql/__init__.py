"""SQL engines: one compiler, a dialect for each database."""
