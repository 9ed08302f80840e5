"""A language byte by byte, whatever it is made of: an automaton, or an index with a stack.

States are integers, 0 is the start. What `guided check` and `guided explain` say of a text is said in these terms.
"""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from guided.automata.automaton import Automaton
    from guided.index.pushdown import PushdownIndex

__all__ = ["Language", "language_with_stack", "may_end", "read", "targets"]

Language: TypeAlias = "Automaton | PushdownIndex"


def read(language: Language, data: bytes) -> tuple[int, int]:
    """Read bytes as far as they go: the state reached, and how many were read. O(len(data))."""
    from guided.automata.automaton import Automaton

    if not isinstance(language, Automaton):
        return language.trace(0, data)
    state, count = 0, 0
    while count < len(data) and (target := language.run(data[count : count + 1], state)) >= 0:
        state, count = target, count + 1
    return state, count


def may_end(language: Language, state: int) -> bool:
    """May a text end in a state?"""
    from guided.automata.automaton import Automaton

    return bool(language.accepting[state]) if isinstance(language, Automaton) else language.is_accepting(state)


def targets(language: Language, state: int) -> list[int]:
    """The state after each of the 256 bytes; -1 where it cannot come."""
    from guided.automata.automaton import Automaton

    if isinstance(language, Automaton):
        found: list[int] = language.table[state][language.classes].tolist()
        return found
    reached = [language.trace(state, bytes([byte])) for byte in range(256)]
    return [target if count else -1 for target, count in reached]


def language_with_stack(spec: object) -> "PushdownIndex":
    """The language of a spec with a stack, over all bytes.

    Raises
    ------
    SchemaError, PatternError, LimitError
        The schema is malformed, or cannot be enforced.
    """
    from guided.engine.compile import compile as compile_spec
    from guided.engine.specs import StackSpec
    from guided.index.pushdown import PushdownIndex
    from guided.vocabulary.vocabulary import Vocabulary

    assert isinstance(spec, StackSpec), spec
    tables = compile_spec(spec, Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)).tables
    assert isinstance(tables, PushdownIndex)
    return tables
