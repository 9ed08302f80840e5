"""The lexer of a grammar: which terminals each parser state tries, and which strings are keywords of a regex terminal, as in Lark's lexers.

Lark's own lexers are not made, because they take steps that may take exponential time. Lark compares all terminals with each other to warn
of overlaps; here each terminal only gets Lark's other checks. Lark compiles the terminals of each parser state into one pattern, which this
package does not use. And Lark asks `re` whether a regex terminal matches a string terminal whole; here the regex terminal's own scanner
decides.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from re import _constants as constants
from re import _parser as parser
from typing import Any

from lark.common import LexerConf
from lark.lexer import PatternRE, PatternStr, Scanner, TerminalDef

from guided.automata.steps import Steps
from guided.errors import GrammarError
from guided.lalr.scanner import Scanner as OwnScanner
from guided.lalr.scanner import scanner_of, terminal_tree
from guided.lalr.tables import Lexer, LexerContext, Terminal
from guided.limits import Limits
from guided.patterns.bounds import first_characters
from guided.patterns.charset import Charset
from guided.patterns.source import Intervals

__all__ = ["NoLexer", "lexer_of", "parsed_pattern", "terminals_of"]

# Step cost of a terminal of a context, of a string terminal that a regex terminal may match, and of a byte that its scanner reads.
_TERMINAL, _PAIR, _BYTE = 300, 50, 50
_TOO_MANY = "the grammar has too many terminals in too many states: use fewer terminals"
_NONE: frozenset[int] = frozenset()
# What may name a group, or mean something else within one: named groups, references to groups, conditions, and flags of the whole pattern.
_UNLIKE_IN_A_GROUP = re.compile(r"\\[1-9]|\(\?(?:P|\(|[a-zA-Z]+\))")
# Full match: (terminal, text) -> whether the terminal matches the whole text.
_Whole = Callable[[Terminal, str], bool]


class NoLexer:
    """A plugin of Lark in place of its lexers."""

    def __init__(self, *_: object, **__: object) -> None:
        pass


def terminals_of(conf: LexerConf) -> list[TerminalDef]:
    """Return the terminals of a grammar in the order in which Lark's lexers try them."""
    return sorted(conf.terminals, key=_preference)


def lexer_of(
    conf: LexerConf, accepted: Sequence[Collection[int]], limits: Limits, steps: Steps
) -> tuple[Lexer, list[int]]:
    """Return the lexer of a grammar, and its context in each parser state.

    Parameters
    ----------
    accepted : sequence of collection of int
        By parser state: the terminals that it accepts, besides ignored ones.

    Raises
    ------
    GrammarError
        Lark refuses a terminal.
    LimitError
        The terminals exceed a budget.
    """
    known = terminals_of(conf)
    numbers = {str(terminal.name): number for number, terminal in enumerate(known)}
    terminals = [Terminal(str(one.name), one.pattern.to_regexp(), int(conf.g_regex_flags)) for one in known]
    ignored = frozenset(numbers[str(name)] for name in conf.ignore)
    whole, groups = _matcher(limits, steps), cache(_groups)
    checked: set[int] = set()
    strings: dict[int, set[int]] = {}
    for number, one in enumerate(known):
        if isinstance(one.pattern, PatternStr):
            strings.setdefault(one.priority, set()).add(number)
    regexes = {number for number, one in enumerate(known) if isinstance(one.pattern, PatternRE)}

    @cache
    def words_of(owner: int) -> frozenset[int]:
        """Return the strings that are keywords of a regex terminal."""
        same = sorted(strings.get(known[owner].priority, _NONE))
        steps.spend(_PAIR * len(same), _TOO_MANY)
        return frozenset(one for one in same if whole(terminals[owner], known[one].pattern.value))

    def context_of(active: frozenset[int]) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """Return the terminals that are tried where these can come, and the keywords, as Lark's ``_create_unless``."""
        steps.spend(_TERMINAL * len(active), _TOO_MANY)
        for number in sorted(active - checked):
            _validate(known[number], terminals[number])
        checked.update(active)
        pairs = [(owner, word) for owner in sorted(active & regexes) for word in sorted(words_of(owner) & active)]
        embedded = {word for owner, word in pairs if set(known[word].pattern.flags) <= set(known[owner].pattern.flags)}
        tried = tuple(sorted(active - embedded))
        names = [name for number in tried for name in groups(terminals[number])]
        if len(names) != len(set(names)):
            # Lark's own scanner refuses them.
            Scanner([known[number] for number in tried], conf.g_regex_flags, re, False)  # type: ignore[no-untyped-call]
        return tried, pairs

    by_state = [ignored.union(terminals) for terminals in accepted]
    found = {active: context_of(active) for active in dict.fromkeys(by_state)}
    keywords = sorted({pair for _, pairs in found.values() for pair in pairs})
    keyword_of = {pair: number for number, pair in enumerate(keywords)}
    contexts: dict[LexerContext, int] = {}
    of_active = {
        active: contexts.setdefault(LexerContext(tried, tuple(keyword_of[pair] for pair in pairs)), len(contexts))
        for active, (tried, pairs) in found.items()
    }
    return Lexer(tuple(terminals), ignored, tuple(keywords), tuple(contexts)), [of_active[one] for one in by_state]


def _preference(terminal: TerminalDef) -> tuple[int, int, int, str]:
    """Sort key: the order in which Lark's lexers try terminals."""
    pattern = terminal.pattern
    return -terminal.priority, -pattern.max_width, -len(pattern.value), str(terminal.name)


def _groups(terminal: Terminal) -> tuple[str, ...]:
    """Return the group names of a terminal's pattern, including its own; the own name twice if it cannot be compiled as a group."""
    # PERF: parsing all terminals again takes a twentieth of the check of grammars/sql.lark.
    if "(" not in terminal.pattern or not (terminal.flags & re.VERBOSE or _UNLIKE_IN_A_GROUP.search(terminal.pattern)):
        return (terminal.name,)
    try:
        return tuple(parsed_pattern(f"(?P<{terminal.name}>{terminal.pattern})", terminal.flags).state.groupdict)
    except re.error:
        return terminal.name, terminal.name


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


def _validate(known: TerminalDef, terminal: Terminal) -> None:
    """Check a terminal as Lark's lexers do."""
    try:
        if isinstance(known.pattern, PatternRE):
            parsed_pattern(terminal.pattern, terminal.flags)
    except re.error as error:
        raise GrammarError(f"its pattern {known.pattern} cannot be compiled: {error}", known.name) from None
    if known.pattern.min_width == 0:
        reason = f"{known.pattern} can match the empty string, which Lark's lexers reject"
        advice = "let it match a character or more, and mark its uses in rules with `?`"
        raise GrammarError(f"{reason}: {advice}", known.name)


def _matcher(limits: Limits, steps: Steps) -> _Whole:
    intervals = Intervals(limits.intervals)

    @cache
    def first(terminal: Terminal) -> Charset:
        return first_characters(terminal_tree(terminal, limits, intervals))[0]

    @cache
    def scanner(terminal: Terminal) -> OwnScanner:
        return scanner_of(Lexer((terminal,), frozenset(), (), (LexerContext((0,), ()),)), limits, steps)

    def whole(terminal: Terminal, text: str) -> bool:
        if not text or text[0] not in first(terminal):
            return False
        data, automaton = text.encode(), scanner(terminal)
        steps.spend(_BYTE * len(data), _TOO_MANY)
        lexeme = automaton.match(data, 0, 0, automaton.first_left)
        return lexeme is not None and lexeme[1] == len(data)

    return whole
