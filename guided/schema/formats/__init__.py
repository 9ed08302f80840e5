"""Formats."""
from collections.abc import Callable, Mapping
from guided.patterns.tree import Node
__all__ = ["FORMATS"]
FORMATS: Mapping[str, Callable[[], Node]] = {}
