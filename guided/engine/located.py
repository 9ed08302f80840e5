"""Specs that are part of a document: their errors say where.

`Located` is a leaf of a composition: a spec, whose errors get the JSON Pointer of its place (`guided.engine.network.leaf_of`). `TreeSpec`
is a leaf made from a pattern tree.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from guided.automata.automaton import Automaton
from guided.automata.build import over_characters, spend_together
from guided.automata.steps import Steps
from guided.engine.algebra import Composable
from guided.errors import GuidedError, SchemaError
from guided.limits import Limits
from guided.patterns.tree import Node

__all__ = ["Located", "TreeSpec", "at_place"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Located(Composable):
    """A spec at a place of a document."""

    spec: Any
    # JSON Pointer of the spec in the document.
    place: str

    def __repr__(self) -> str:
        return repr(self.spec)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the spec's content."""
        return str(self.spec.fingerprint)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TreeSpec(Composable):
    """The texts of a pattern tree."""

    tree: Node
    # SHA-256 in hex of what the tree was made from.
    fingerprint: str
    # Maximum number of tokens that begin in the text.
    max_tokens: int | None = None

    def lower(self, limits: Limits) -> Any:
        """Return the automaton of the tree."""
        steps = Steps(limits.steps)
        found = Automaton.from_characters(over_characters(self.tree, limits, steps), limits, steps)
        spend_together(steps.spent)
        return found


@contextmanager
def at_place(place: str) -> Iterator[None]:
    """Put a place, if it is not empty, into the errors of a block."""
    try:
        yield
    except GuidedError as error:
        if not place:
            raise
        if isinstance(error, SchemaError):
            raise SchemaError(error.reason, place + error.pointer, error.keyword) from error
        found = copy.copy(error)
        found.args = (f"{place}: {error}",)
        raise found from error
