"""Engines: ways to compute what a formula means over a scope."""
