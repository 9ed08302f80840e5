"""The grammars' terminals are benign: a lexeme ends where something else begins, and no lexeme is taken for another."""

import re
from collections.abc import Iterable, Iterator
from re import _constants as constants
from re import _parser as syntax
from typing import Any

import numpy as np
import pytest
from lark.lexer import ContextualLexer, Token

from guided.automata.build import from_tree
from guided.patterns.parse import parse
from guided.patterns.tree import Node, alternate
from guided.resources import grammar_names
from tests.grammars.loading import parser_of
from tests.grammars.samples import samples_of
from tests.grammars.sentences import lexemes
from tests.lalr.oracle import match

NAMES = grammar_names()
# Terminals that only the end of the text can end.
LAST = {"command": {"COMMENT"}, "react": {"ANSWER"}}


def patterns(name: str) -> dict[str, str]:
    return {terminal.name: terminal.pattern.to_regexp() for terminal in parser_of(name).terminals if terminal.pattern}


def operations(parsed: Any) -> Iterator[tuple[Any, Any]]:
    """All operations of a parsed pattern."""
    stack = [parsed]
    while stack:
        item = stack.pop()
        if isinstance(item, syntax.SubPattern):
            stack.extend(item.data)
        elif isinstance(item, tuple) and item and isinstance(item[0], constants._NamedIntConstant):
            yield item[0], item[1]
            stack.append(item[1])
        elif isinstance(item, tuple | list):
            stack.extend(item)


@pytest.mark.parametrize("name", NAMES)
def test_terminals_are_regular_and_look_ahead_a_bounded_way(name: str) -> None:
    refused = {constants.GROUPREF, constants.GROUPREF_EXISTS, constants.ATOMIC_GROUP, constants.POSSESSIVE_REPEAT}
    for pattern in patterns(name).values():
        for operation, argument in operations(syntax.parse(pattern)):
            assert operation not in refused
            if operation in (constants.ASSERT, constants.ASSERT_NOT):
                assert argument[1].getwidth()[1] < 100


def contexts(name: str) -> Iterator[Any]:
    lexer = parser_of(name).parser.lexer
    lexer = getattr(lexer, "lexer", lexer)
    assert isinstance(lexer, ContextualLexer)
    yield from {id(context): context for context in lexer.lexers.values()}.values()


@pytest.mark.parametrize("name", NAMES)
def test_something_ends_every_lexeme(name: str) -> None:
    found = {
        terminal: parse(pattern) for terminal, pattern in patterns(name).items() if terminal not in LAST.get(name, ())
    }
    blanks = {terminal for terminal in parser_of(name).ignore_tokens if re.search(patterns(name)[terminal], "x ")}
    if blanks:
        # Blanks and line feeds do; they may stand between any two lexemes.
        ends = np.isin(np.arange(256), [ord(" "), ord("\n")])
        groups = {frozenset(found) - blanks - {"_NEWLINE"}}
    else:
        ends = np.isin(np.arange(256), sorted(begins_of(found.values())))
        names = [{terminal.name for terminal in context.terminals} for context in contexts(name)]
        groups = {frozenset(found.keys() & some) for some in names}
    for group in groups:
        if group:
            automaton = from_tree(alternate(found[terminal] for terminal in sorted(group)))
            after = automaton.table[automaton.accepting][:, automaton.classes]
            assert ((after < 0) & ends).any(axis=1).all(), group


def begins_of(trees: Iterable[Node]) -> set[int]:
    """The bytes that lexemes begin with."""
    automaton = from_tree(alternate(trees))
    return set(np.flatnonzero(automaton.table[0, automaton.classes] >= 0).tolist())


def first(context: Any, text: str, position: int) -> tuple[str, str] | None:
    """The lexeme that a context reads, and its terminal after keywords have been told apart."""
    found = match(context, text, position)
    if found is None:
        return None
    value, terminal = found
    token = Token(terminal, value)
    return str(token), context.callback[terminal](token).type if terminal in context.callback else terminal


@pytest.mark.parametrize("name", NAMES)
def test_no_lexeme_is_taken_for_another(name: str) -> None:
    spellings = lexemes(name, samples_of(name).accepted)
    for context in contexts(name):
        for terminal in context.terminals:
            for lexeme in spellings.get(terminal.name, [])[:4]:
                # Why two places: some terminals want a beginning before them, some a character.
                found = [first(context, before + lexeme, len(before)) for before in ("", "x")]
                assert (lexeme, terminal.name) in found, (lexeme, terminal.name, found)
