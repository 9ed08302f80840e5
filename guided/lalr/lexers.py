"""Lark's lexers for untrusted grammars: the same lexers, without steps that may take exponential time.

Lark compares all terminals with each other to warn of overlaps, which is exponential in their patterns; here each terminal only gets
Lark's other checks. Lark compiles the terminals of each parser state into one pattern, which this package does not use. And Lark asks
`re` whether a regex terminal matches a string terminal whole, which may take exponential time; here the regex terminal's own scanner
decides.

The classes are plugins of Lark (``_plugins``); the resulting lexers equal Lark's.
"""

import re
from collections.abc import Callable, Collection
from copy import copy
from functools import cache
from re import _constants as constants
from re import _parser as parser
from typing import Any

from lark.lexer import BasicLexer, ContextualLexer, PatternRE, PatternStr, Scanner, TerminalDef, UnlessCallback

from guided.automata.steps import Steps
from guided.errors import GrammarError
from guided.lalr.scanner import Scanner as OwnScanner
from guided.lalr.scanner import scanner_of, terminal_tree
from guided.lalr.tables import Lexer, LexerContext, Terminal
from guided.limits import Limits
from guided.patterns.bounds import first_characters
from guided.patterns.charset import Charset
from guided.patterns.source import Intervals

__all__ = ["lexer_plugins", "parsed_pattern"]

# Step cost of a terminal of a lexer, of a string terminal that a regex terminal may match, and of a byte
# that its scanner reads.
_TERMINAL, _PAIR, _BYTE = 300, 50, 50
_TOO_MANY = "the grammar has too many terminals in too many states"
# Full match: (pattern, text) -> whether the pattern matches the whole text.
_Whole = Callable[[str, str], bool]


def lexer_plugins(limits: Limits, steps: Steps) -> dict[str, type]:
    """Return the lexers as plugins of Lark.

    They raise `GrammarError` where Lark refuses terminals, and `LimitError` if terminals exceed a budget.
    """
    whole, groups = _matcher(limits, steps), cache(_groups)
    checked: set[TerminalDef] = set()

    class Basic(BasicLexer):
        def __init__(self, conf: Any, _: object = None) -> None:
            steps.spend(_TERMINAL * len(conf.terminals), _TOO_MANY)
            if not conf.skip_validation:
                _validate(conf.terminals, conf.ignore, conf.g_regex_flags)
                conf = copy(conf)
                conf.skip_validation = True
            super().__init__(conf)

        @property
        def scanner(self) -> Scanner:
            """The scanner, built on first use. ``_build_scanner`` returns it or sets it, depending on Lark's version."""
            if self._scanner is None:
                terminals, self.callback = _without_keywords(self.terminals, whole, steps)
                self._scanner = _Tried(terminals, self.g_regex_flags, groups)
            return self._scanner

    class Contextual(ContextualLexer):
        def __init__(self, conf: Any, states: dict[int, Collection[str]], always_accept: Collection[str] = ()) -> None:
            conf = copy(conf)
            conf.skip_validation = True
            super().__init__(conf, states, always_accept)
            for lexer in {id(lexer): lexer for lexer in self.lexers.values()}.values():
                assert isinstance(lexer, Basic), "made by BasicLexer below"
                _check_ignored(lexer.terminals, lexer.ignore_types)
                _validate([one for one in lexer.terminals if one not in checked], (), lexer.g_regex_flags)
                checked.update(lexer.terminals)

    Contextual.BasicLexer = Basic
    return {"BasicLexer": Basic, "ContextualLexer": Contextual}


class _Tried(Scanner):
    """The terminals that a scanner tries, in order. It never matches, so their combined pattern is not compiled."""

    def __init__(
        self, terminals: list[TerminalDef], flags: int, groups: Callable[[str, str, int], tuple[str, ...]]
    ) -> None:
        names = [name for one in terminals for name in groups(str(one.name), one.pattern.to_regexp(), flags)]
        if len(names) != len(set(names)):
            # Lark's own scanner refuses them.
            super().__init__(terminals, flags, re, False)  # type: ignore[no-untyped-call]
        self.terminals = terminals


def _groups(name: str, pattern: str, flags: int) -> tuple[str, ...]:
    """Return the group names of a terminal's pattern, including its own; the own name twice if it cannot be compiled as a group."""
    if "(" not in pattern:
        return (name,)
    try:
        return tuple(parsed_pattern(f"(?P<{name}>{pattern})", flags).state.groupdict)
    except re.error:
        return name, name


def parsed_pattern(pattern: str, flags: int) -> Any:
    """Return the tree of a pattern, as `re.compile` makes and checks it.

    Why not `re.compile`: for each set of characters that ignores case it visits all of them, a second of CPU time in a hundred letters.

    Raises
    ------
    re.error
    """
    tree = parser.parse(pattern, flags)
    work = [tree]
    while work:
        for kind, given in work.pop():
            if kind in (constants.ASSERT, constants.ASSERT_NOT) and given[0] < 0:
                least, most = given[1].getwidth()
                if least != most:
                    raise re.error("look-behind requires fixed-width pattern")
            # Why: what a node has within is in tuples and lists of its own form.
            within = given if isinstance(given, list | tuple) else (given,)
            parts = [part for one in within for part in (one if isinstance(one, list) else (one,))]
            work.extend(part for part in parts if isinstance(part, parser.SubPattern))
    return tree


def _validate(terminals: Collection[TerminalDef], ignored: Collection[str], flags: int) -> None:
    """Check terminals as `BasicLexer` does."""
    for terminal in terminals:
        try:
            if isinstance(terminal.pattern, PatternRE) or terminal.pattern.flags:
                parsed_pattern(terminal.pattern.to_regexp(), flags)
        except re.error as error:
            raise GrammarError(f"its pattern {terminal.pattern} cannot be compiled: {error}", terminal.name) from None
        if terminal.pattern.min_width == 0:
            raise GrammarError("it can match the empty string, which Lark's lexers reject", terminal.name)
    _check_ignored(terminals, ignored)


def _check_ignored(terminals: Collection[TerminalDef], ignored: Collection[str]) -> None:
    for name in sorted(set(ignored) - {terminal.name for terminal in terminals}):
        raise GrammarError("it is in %ignore but not defined", name)


def _without_keywords(
    terminals: Collection[TerminalDef], whole: _Whole, steps: Steps
) -> tuple[list[TerminalDef], dict[str, Any]]:
    """Return the terminals to try, and the callbacks that retype tokens that match a keyword, as Lark's ``_create_unless``."""
    strings: dict[int, list[TerminalDef]] = {}
    for terminal in terminals:
        if isinstance(terminal.pattern, PatternStr):
            strings.setdefault(terminal.priority, []).append(terminal)
    embedded: set[TerminalDef] = set()
    callbacks: dict[str, Any] = {}
    for owner in terminals:
        if not isinstance(owner.pattern, PatternRE):
            continue
        same, pattern = strings.get(owner.priority, []), owner.pattern.to_regexp()
        steps.spend(_PAIR * len(same), _TOO_MANY)
        keywords = [string for string in same if whole(pattern, string.pattern.value)]
        if keywords:
            callbacks[owner.name] = UnlessCallback(_Tried(keywords, 0, lambda name, *_: (name,)))
            embedded.update(string for string in keywords if set(string.pattern.flags) <= set(owner.pattern.flags))
    return [terminal for terminal in terminals if terminal not in embedded], callbacks


def _matcher(limits: Limits, steps: Steps) -> _Whole:
    intervals = Intervals(limits.intervals)

    @cache
    def first(pattern: str) -> Charset:
        return first_characters(terminal_tree(Terminal("", pattern, 0), limits, intervals))[0]

    @cache
    def scanner(pattern: str) -> OwnScanner:
        terminal, context = Terminal("", pattern, 0), LexerContext((0,), ())
        return scanner_of(Lexer((terminal,), frozenset(), (), (context,)), limits, steps)

    @cache
    def whole(pattern: str, text: str) -> bool:
        if not text or text[0] not in first(pattern):
            return False
        data, automaton = text.encode(), scanner(pattern)
        steps.spend(_BYTE * len(data), _TOO_MANY)
        lexeme = automaton.match(data, 0, 0, automaton.first_left)
        return lexeme is not None and lexeme[1] == len(data)

    return whole
