"""Byte-level access to a language: an automaton, or an index with a stack.

States are integers, 0 is the start. `guided check` and `guided explain` are based on these functions.
"""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from guided.automata.automaton import Automaton
    from guided.engine.algebra import Composition
    from guided.engine.specs import Spec, StoredSpec
    from guided.index.composition import CompositionIndex
    from guided.index.pushdown import PushdownIndex

__all__ = ["Language", "language_with_stack", "targets"]

Language: TypeAlias = "Automaton | PushdownIndex | CompositionIndex"


def targets(language: Language, state: int) -> list[int]:
    """The state after each of the 256 bytes; -1 if the byte is rejected."""
    from guided.automata.automaton import Automaton

    if isinstance(language, Automaton):
        return language.targets(state)
    reached = [language.trace(state, bytes([byte])) for byte in range(256)]
    return [target if count else -1 for target, count in reached]


def language_with_stack(spec: "Spec | StoredSpec | Composition") -> Language:
    """Return the language of a spec that may need a stack, over all bytes.

    Raises
    ------
    GuidedError
        The spec is malformed, or cannot be enforced.
    """
    from guided.engine.compile import compile as compile_spec
    from guided.index.regular import RegularIndex
    from guided.vocabulary.vocabulary import single_bytes

    tables = compile_spec(spec, single_bytes()).tables
    return tables.automaton if isinstance(tables, RegularIndex) else tables
