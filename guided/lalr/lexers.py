"""Lark's lexers for texts that nobody has looked at: the same lexers, without what may take for ever.

Lark compares all terminals with each other to warn of overlaps, which is exponential in what the terminals look like; here they are
only checked as it checks them otherwise. And Lark asks `re` whether a regex terminal matches a string terminal whole, which may
take exponential time too; here the regex terminal's own scanner is asked.

The classes are plugins of Lark (``_plugins``); what they build is what Lark builds.
"""

import re
from collections.abc import Callable, Collection
from copy import copy
from functools import cache
from typing import Any

from lark.lexer import BasicLexer, ContextualLexer, PatternRE, PatternStr, Scanner, TerminalDef, UnlessCallback

from guided.errors import GrammarError
from guided.lalr.scanner import Scanner as OwnScanner
from guided.lalr.scanner import scanner_of, terminal_tree
from guided.lalr.terminals import Lexer, LexerContext, Terminal
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.first import first_characters

__all__ = ["lexer_plugins"]

# Whether a regular expression matches a text whole.
_Whole = Callable[[str, str], bool]


def lexer_plugins(limits: Limits) -> dict[str, type]:
    """The lexers, as plugins of Lark. What they raise: `GrammarError` as Lark's, `LimitError` where a terminal passes a budget."""
    whole = _matcher(limits)

    class Basic(BasicLexer):
        def __init__(self, conf: Any, _: object = None) -> None:
            if not conf.skip_validation:
                _validate(conf.terminals, conf.ignore, conf.g_regex_flags)
                conf = copy(conf)
                conf.skip_validation = True
            super().__init__(conf)

        @property
        def scanner(self) -> Scanner:
            """The scanner, built on first use. ``_build_scanner`` returns it or sets it, depending on Lark's version."""
            if self._scanner is None:
                terminals, self.callback = _without_keywords(self.terminals, whole)
                self._scanner = _scanner(terminals, self.g_regex_flags)
            return self._scanner

    class Contextual(ContextualLexer):
        def __init__(self, conf: Any, states: dict[int, Collection[str]], always_accept: Collection[str] = ()) -> None:
            conf = copy(conf)
            conf.skip_validation = True
            super().__init__(conf, states, always_accept)
            for lexer in {id(lexer): lexer for lexer in self.lexers.values()}.values():
                assert isinstance(lexer, Basic), "made by BasicLexer below"
                _validate(lexer.terminals, lexer.ignore_types, lexer.g_regex_flags)

    Contextual.BasicLexer = Basic
    return {"BasicLexer": Basic, "ContextualLexer": Contextual}


def _validate(terminals: Collection[TerminalDef], ignored: Collection[str], flags: int) -> None:
    """As `BasicLexer` does."""
    for terminal in terminals:
        try:
            re.compile(terminal.pattern.to_regexp(), flags)
        except re.error as error:
            raise GrammarError(f"its pattern {terminal.pattern} cannot be compiled: {error}", terminal.name) from None
        if terminal.pattern.min_width == 0:
            raise GrammarError("it may match nothing at all, which Lark's lexers refuse", terminal.name)
    for name in sorted(set(ignored) - {terminal.name for terminal in terminals}):
        raise GrammarError("it is ignored but not defined", name)


def _without_keywords(terminals: Collection[TerminalDef], whole: _Whole) -> tuple[list[TerminalDef], dict[str, Any]]:
    """As Lark's ``_create_unless``: the terminals that are tried, and what retypes the tokens of those that match others whole."""
    strings = [terminal for terminal in terminals if isinstance(terminal.pattern, PatternStr)]
    embedded: set[TerminalDef] = set()
    callbacks: dict[str, Any] = {}
    for owner in terminals:
        if not isinstance(owner.pattern, PatternRE):
            continue
        same = [string for string in strings if string.priority == owner.priority]
        keywords = [string for string in same if whole(owner.pattern.to_regexp(), string.pattern.value)]
        if keywords:
            callbacks[owner.name] = UnlessCallback(_scanner(keywords, 0))
            embedded.update(string for string in keywords if set(string.pattern.flags) <= set(owner.pattern.flags))
    return [terminal for terminal in terminals if terminal not in embedded], callbacks


def _scanner(terminals: list[TerminalDef], flags: int) -> Scanner:
    return Scanner(terminals, flags, re, False)  # type: ignore[no-untyped-call]


def _matcher(limits: Limits) -> _Whole:
    @cache
    def first(pattern: str) -> Charset:
        return first_characters(terminal_tree(Terminal("", pattern, 0), limits))

    @cache
    def scanner(pattern: str) -> OwnScanner:
        terminal, context = Terminal("", pattern, 0), LexerContext((0,), ())
        return scanner_of(Lexer((terminal,), frozenset(), (), (context,)), limits)

    @cache
    def whole(pattern: str, text: str) -> bool:
        if not text or text[0] not in first(pattern):
            return False
        data, automaton = text.encode(), scanner(pattern)
        lexeme = automaton.match(data, 0, 0, automaton.first_left)
        return lexeme is not None and lexeme[1] == len(data)

    return whole
