"""One adapter per engine: the same token bytes in, masks as the same words out.

An adapter adds as little as Python allows between the runner and what the engine's own users call: `Matcher.mask` and
`Matcher.advance` are the engine's own functions with their arguments bound. How each engine is kept from answering out of
a cache stands in its module. Adding an engine is one module with `Engine` and one line in `NAMES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["NAMES", "Compiled", "Engine", "Matcher", "engine"]

# Name in tables -> (module, what it needs installed).
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

    def finish(self) -> bool:
        """Do now what would else be left for the first visit of a state; False if the engine has no way to."""

    def start(self) -> Matcher:
        """A matcher at the empty text. What earlier matchers left behind in caches may be used."""


class Engine(Protocol):
    """An engine over one vocabulary; making it is the set-up, which is measured apart."""

    lazy: bool  # masks are not computed by `compile`

    def __init__(self, vocabulary: Vocabulary) -> None: ...

    def compile(self, regex: str) -> Compiled:
        """Compile a pattern. Nothing of it is kept for the next one."""


def engine(name: str, vocabulary: Vocabulary) -> Engine:
    """The engine of that name over a vocabulary.

    Raises
    ------
    ImportError
        It is not installed.
    """
    made: Engine = import_module(_MODULES[name]).Engine(vocabulary)
    return made


def spelled(vocabulary: Vocabulary, silent: Callable[[int], bytes] = lambda _: b"") -> list[bytes]:
    """The bytes of all ids up to the width of the logits; ``silent`` gives what stands for an id that spells nothing."""
    tokens = [*vocabulary.tokens, *[None] * (vocabulary.size - len(vocabulary))]
    return [data or silent(token) for token, data in enumerate(tokens)]
