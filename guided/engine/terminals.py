"""`definition`: what a spec matches, in the notation of Lark's terminals, for ``Grammar(terminals=...)``.

Strings, patterns, choices and compositions of them are written as an author of the grammar would write them, so Lark decides which of
several texts a terminal matches: alternatives longest first, then as in ``re``. Of other specs the automaton is written: as the list of its
texts if they are few, or else as a regular expression.
"""

from collections.abc import Iterable, Sequence
from typing import Any, get_origin

import numpy as np

from guided.automata.automaton import Automaton
from guided.automata.flattening import flattened
from guided.engine.algebra import (
    Alternatives,
    Composable,
    Composition,
    Concatenation,
    Dispatch,
    FreeText,
    Maybe,
    Named,
    Part,
    Repeat,
    folded,
)
from guided.engine.network import leaf_of
from guided.engine.specs import Choice, Regex
from guided.errors import GrammarError
from guided.export.characters import operand_of
from guided.export.elimination import expression
from guided.lalr.sources import lark_pattern, lark_string
from guided.limits import Limits
from guided.patterns.render import render

__all__ = ["definition"]

_NOTHING = "/(?:)/"
# Texts of an automaton that are listed, and sets of characters in the expression of one with more.
_LISTED_TEXTS, _EXPRESSION_SETS = 1_000, 10_000


def definition(name: str, given: Any, limits: Limits) -> str:
    """Return what a terminal matches in Lark's notation.

    Raises
    ------
    GrammarError
        It matches nothing or the empty text, or needs more than a finite automaton.
    TypeError
        It is of none of these types.
    """
    if not isinstance(given, Composable | type) and get_origin(given) is None:
        return _listed(name, given)
    if isinstance(given, Choice):
        return _listed(name, given.options)
    if isinstance(given, Regex):
        return _pattern(given)

    def joined(part: Part, inner: list[str]) -> str:
        if not isinstance(part, Composition) or isinstance(part, FreeText):
            return _leaf(name, part, limits)
        if isinstance(part, Dispatch):
            raise GrammarError("a terminal cannot be a structural tag with triggers", name)
        found = _joined(part, inner)
        if len(found) > limits.pattern_length:
            raise GrammarError("the terminal's definition is too long", name)
        return found

    return folded(given, joined, lambda part: () if isinstance(part, Dispatch) else part.parts)


def _listed(name: str, texts: Any) -> str:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise TypeError(f"terminal {name} must be a list of str, a spec or a type, not {type(texts).__name__}")
    found = list(dict.fromkeys(texts))
    for text in found:
        if not isinstance(text, str):
            raise TypeError(f"terminal {name} must match texts, not {type(text).__name__}")
    if not found or "" in found:
        raise GrammarError("a terminal must match at least one text, and none of them may be empty", name)
    return _any_of(found)


def _any_of(texts: Sequence[str]) -> str:
    return " | ".join(lark_string(text) if text else _NOTHING for text in texts)


def _pattern(spec: Regex) -> str:
    # Why a group: Lark joins patterns as they are. Why a flag: the pattern has its own, whatever that of the grammar is.
    return lark_pattern(f"(?{'a' if spec.ascii else 'u'}:{spec.pattern})")


def _leaf(name: str, item: Part, limits: Limits) -> str:
    if isinstance(item, str):
        return _any_of([item])
    if isinstance(item, Choice):
        return f"({_any_of(item.options)})"
    if isinstance(item, Regex):
        return _pattern(item)
    if isinstance(item, FreeText) and item.max_tokens is not None:
        raise GrammarError("a terminal cannot count tokens: leave out max_tokens", name)
    leaf = leaf_of(item, limits)
    automaton = leaf.automaton
    if automaton is None and leaf.lowered is not None and leaf.lowered.kind != "grammar":
        automaton = flattened(leaf.lowered.pushdown(limits, bytes([1] * 256)).automaton, limits.configurations)
    if automaton is None:
        raise GrammarError(
            f"a terminal must be a finite automaton, and {item!r} needs a stack or too many states", name
        )
    if automaton.is_empty():
        raise GrammarError("a terminal must match at least one text", name)
    if (texts := _texts(automaton)) is not None:
        return f"({_any_of(texts)})"
    operand = operand_of(automaton)
    found = expression(operand.edges, operand.accepting, _EXPRESSION_SETS)
    if found is None:
        raise GrammarError(f"the regular expression of {item!r} is too long for a terminal", name)
    return lark_pattern(render(found))


def _texts(automaton: Automaton) -> list[str] | None:
    """Return the texts of an automaton in order of bytes; None if there are too many."""
    found: list[str] = []
    by_byte = automaton.by_byte()
    # Invariant: every state leads to acceptance, so a loop makes the list too long.
    todo: list[tuple[int, bytes]] = [(0, b"")]
    while todo:
        state, text = todo.pop()
        if automaton.accepting[state]:
            found.append(text.decode())
        onward = np.flatnonzero(by_byte[state] >= 0).tolist()
        todo += [(int(by_byte[state, byte]), text + bytes([byte])) for byte in reversed(onward)]
        if len(found) + len(todo) > _LISTED_TEXTS or len(text) > automaton.n_states:
            return None
    return found


def _joined(part: Composition, inner: list[str]) -> str:
    match part:
        case Alternatives():
            return f"({' | '.join(inner)})"
        case Maybe():
            return f"({inner[0]})?"
        case Repeat():
            return _repeated(part, *inner)
        case Concatenation() | Named():
            return f"({' '.join(inner)})" if inner else _NOTHING
    raise TypeError(f"not a composition: {type(part).__name__}")


def _repeated(part: Repeat, item: str, separator: str = "") -> str:
    if part.max == 0:
        return _NOTHING
    if not separator:
        return _times(item, part.min, part.max)
    most = None if part.max is None else part.max - 1
    found = f"({item} {_times(f'({separator} {item})', max(part.min - 1, 0), most)})"
    return found if part.min else f"{found}?"


def _times(item: str, least: int, most: int | None) -> str:
    if most == 0:
        return _NOTHING
    if most is not None:
        return f"({item})~{least}..{most}"
    return f"({item})*" if least == 0 else f"({item})+" if least == 1 else f"(({item})~{least} ({item})*)"
