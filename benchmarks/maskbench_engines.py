"""One adapter per engine for JSON Schema: a schema in, matchers out; refusing is an answer with a reason.

Beside each other with the adapters for patterns (`benchmarks.engines`), whose `Matcher` they share. Adding an engine is one module with
`Engine` and one line here.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from benchmarks.engines import Matcher
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["NAMES", "NO_VALUE", "Compiled", "Engine", "Refused", "engine", "options"]

# Name in tables -> module of the adapter, and what it is told.
_MODULES: dict[str, tuple[str, dict[str, Any]]] = {
    "guided": ("benchmarks.maskbench_guided", {}),
    "llguidance": ("benchmarks.maskbench_llguidance", {}),
    "xgrammar": ("benchmarks.maskbench_xgrammar", {"strict_mode": False}),
    "xgrammar strict": ("benchmarks.maskbench_xgrammar", {"strict_mode": True}),
    "outlines-core": ("benchmarks.maskbench_outlines", {}),
}
NAMES = tuple(_MODULES)
# The reason of an engine that says of a schema that no value satisfies it.
NO_VALUE = "no value satisfies the schema"


class Refused(Exception):
    """The engine says that it cannot do this schema.

    Attributes
    ----------
    kind : str
        Few words, for counting.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class Compiled(Protocol):
    """A compiled schema."""

    def start(self) -> Matcher:
        """A matcher at the empty text. What earlier matchers left behind in caches may be used."""

    def error(self) -> str:
        """What went wrong inside while matching, if anything."""


class Engine(Protocol):
    """An engine over one vocabulary; making it is the set-up, which is not measured."""

    def __init__(self, vocabulary: Vocabulary, cut: Callable[[bytes | str], list[int]], **options: Any) -> None: ...

    def compile(self, schema: Any) -> Compiled:
        """Compile a schema, as parsed from JSON.

        Raises
        ------
        Refused
            The engine does not support something in it.
        """


def options(name: str) -> dict[str, Any]:
    """What the engine of that name is told."""
    return _MODULES[name][1]


def engine(name: str, vocabulary: Vocabulary, cut: Callable[[bytes | str], list[int]], **more: Any) -> Engine:
    """The engine of that name over a vocabulary.

    Parameters
    ----------
    name : str
    vocabulary : Vocabulary
    cut : callable
        The model's tokenizer, for engines that want one.
    **more
        Options beside, or instead of, the engine's usual ones.

    Raises
    ------
    ImportError
        It is not installed.
    """
    module, usual = _MODULES[name]
    made: Engine = import_module(module).Engine(vocabulary, cut, **{**usual, **more})
    return made
