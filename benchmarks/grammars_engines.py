"""One adapter per engine for grammars: a grammar's name and a vocabulary in, matchers out; refusing is an exception with a reason.

Adding an engine is one module with `Engine` and one line here.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["NAMES", "Engine", "Step", "engine"]

# Whether a token is allowed, and nanoseconds of the mask and of the advance.
Step = Callable[[int], tuple[bool, int, int]]

# Name in tables -> module of the adapter, and what it is told.
_MODULES: dict[str, tuple[str, dict[str, Any]]] = {
    "guided": ("benchmarks.grammars_guided", {}),
    "llguidance": ("benchmarks.grammars_llguidance", {}),
    "xgrammar": ("benchmarks.grammars_xgrammar", {"form": "ebnf"}),
    "xgrammar plain": ("benchmarks.grammars_xgrammar", {"form": "plain"}),
    "xgrammar lark": ("benchmarks.grammars_xgrammar", {"form": "lark"}),
    "syncode": ("benchmarks.grammars_syncode", {"mode": "grammar_mask"}),
    "syncode strict": ("benchmarks.grammars_syncode", {"mode": "grammar_strict"}),
}
NAMES = tuple(_MODULES)


class Engine(Protocol):
    """A compiled grammar over a vocabulary. Making it is measured from within: imports and tokenizers are not in it."""

    spec_ms: float
    compile_ms: float
    # Whether it takes a token that it refused.
    goes_on: bool

    def start(self) -> Step:
        """What steps from the empty text on. What earlier texts left behind in caches may be used."""

    def end(self) -> bool:
        """Whether the text that was started last may end where it is."""


def engine(engine: str, grammar: str, words: Vocabulary) -> Engine:
    """A grammar in the engine of that name.

    Raises
    ------
    ImportError
        The engine is not installed.
    Exception
        What it says to a grammar that it does not take.
    """
    module, told = _MODULES[engine]
    made: Engine = import_module(module).Engine(grammar, words, **told)
    return made
