"""Specs that are part of a document: their errors say where.

`Located` and `LocatedStack` wrap a leaf of a composition. They lower as the wrapped spec does; errors get the JSON Pointer of its place.
Two classes, since having `pushdown` or `lower` is what distinguishes a `StackSpec` from other specs. `TreeSpec` is a leaf made from a
pattern tree.
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
from guided.engine.specs import Lowered, impossible_parts, needs_stack
from guided.errors import GuidedError, SchemaError
from guided.limits import Limits
from guided.patterns.tree import Node

__all__ = ["Located", "LocatedStack", "TreeSpec", "at_place", "located"]


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

    @property
    def max_tokens(self) -> int | None:
        """Maximum number of tokens that begin in the text, as of the spec."""
        return getattr(self.spec, "max_tokens", None)

    def lower(self, limits: Limits) -> Any:
        """Return what the spec is lowered to. Raises as the spec, with the place."""
        with at_place(self.place):
            return self.spec.lower(limits)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LocatedStack(Located):
    """A spec that needs a stack, at a place of a document; implements `StackSpec`."""

    @property
    def kind(self) -> str:
        """Kind of the spec in index files."""
        return str(self.spec.kind)

    @property
    def data(self) -> str:
        """The spec as text, without its place."""
        return str(self.spec.data)

    def from_data(self, data: str, limits: Limits | None = None) -> Any:
        """Return the spec that `data` describes."""
        return self.spec.from_data(data, limits)

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """Return the automaton of the texts. Raises as the spec, with the place."""
        with at_place(self.place):
            return self.spec.pushdown(limits, alphabet)  # type: ignore[no-any-return]

    def impossible_parts(self, limits: Limits) -> tuple[str, ...]:
        """Return the spec's notes on parts that no text ever has, with the place."""
        return tuple(f"{self.place}: {note}" for note in impossible_parts(self.spec, limits))


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
        found = Automaton.from_characters(over_characters(self.tree, limits, steps), limits)
        spend_together(steps.spent)
        return found


def located(spec: Any, place: str) -> Located:
    """Return a spec whose errors say that it is at a place of a document."""
    return (LocatedStack if needs_stack(spec) else Located)(spec, place)


@contextmanager
def at_place(place: str) -> Iterator[None]:
    """Put a place into the errors of a block."""
    try:
        yield
    except GuidedError as error:
        if isinstance(error, SchemaError):
            raise SchemaError(error.reason, place + error.pointer, error.keyword) from error
        found = copy.copy(error)
        found.args = (f"{place}: {error}",)
        raise found from error
