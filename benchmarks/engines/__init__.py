"""One adapter per engine: the same token bytes in, masks as the same words out.

An adapter adds as little as Python allows between the runner and what the engine's own users call: `Matcher.mask` and
`Matcher.advance` are the engine's own functions with their arguments bound. How each engine is kept from answering out of
a cache stands in its module. Adding an engine is one module with `Engine` and one line in `NAMES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["NAMES", "Compiled", "Engine", "HasLookup", "Matcher", "engine", "module", "spelled"]

# Name in tables -> module of the adapter.
_MODULES = {
    "guided": "benchmarks.engines.guided",
    "llguidance": "benchmarks.engines.llguidance",
    "outlines-core": "benchmarks.engines.outlines_core",
    "xgrammar": "benchmarks.engines.xgrammar",
    "walk per state": "benchmarks.engines.walk",
}
NAMES = tuple(_MODULES)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Where one text stands.

    Attributes
    ----------
    mask : callable
        Computes the mask of the place; what it returns is the engine's business.
    advance : callable of a token
        Reads a token that the mask allows.
    words : callable
        The mask that was computed last: ndarray[int32], shape (ceil(size / 32),), bit ``t & 31`` of word ``t >> 5``.
    """

    mask: Callable[[], Any]
    advance: Callable[[int], Any]
    words: Callable[[], npt.NDArray[np.int32]]


class Compiled(Protocol):
    """A compiled pattern."""

    def finish(self) -> None:
        """Do now what would else be left for the first visit of a state."""

    def start(self) -> Matcher:
        """A matcher at the empty text. What earlier matchers left behind in caches may be used."""


@runtime_checkable
class HasLookup(Protocol):
    """A compiled pattern whose step is two look-ups that can be timed alone."""

    def visited(self, tokens: list[int]) -> list[tuple[int, int]]:
        """The (state, token) pairs of a text."""

    def lookups(self) -> dict[str, Callable[[int, int], Any]]:
        """The look-ups by name; both take a state and a token."""

    def compiled_walk(self, tokens: list[int], rounds: int) -> Callable[[], Any]:
        """Both look-ups at each step of a text, so many times over, without Python in between."""


class Engine(Protocol):
    """An engine over one vocabulary; making it is the set-up, which is measured apart.

    Attributes
    ----------
    lazy : bool
        There is no point at which all masks are computed: they are computed as texts come to them.
    complete : bool
        `compile` does all that is done ahead; `Compiled.finish` has nothing to do.
    """

    lazy: bool
    complete: bool

    def __init__(self, vocabulary: Vocabulary) -> None: ...

    def compile(self, regex: str) -> Compiled:
        """Compile a pattern. Nothing of it is kept for the next one."""


def module(name: str) -> str:
    """The module of an engine's adapter."""
    return _MODULES[name]


def engine(name: str, vocabulary: Vocabulary) -> Engine:
    """The engine of that name over a vocabulary.

    Raises
    ------
    ImportError
        It is not installed.
    """
    made: Engine = import_module(module(name)).Engine(vocabulary)
    return made


def spelled(vocabulary: Vocabulary, silent: Callable[[int], bytes] = lambda _: b"") -> list[bytes]:
    """The bytes of all ids up to the width of the logits; ``silent`` gives what stands for an id that spells nothing."""
    tokens = [*vocabulary.tokens, *[None] * (vocabulary.size - len(vocabulary))]
    return [data or silent(token) for token, data in enumerate(tokens)]
