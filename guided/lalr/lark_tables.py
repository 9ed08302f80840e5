"""Conversion of Lark's parser objects to `LalrTables`. The tables are read from the objects that Lark runs, not recomputed.

For each parser state: its row of the parse table, and the terminals and keyword callbacks of its lexer (`ContextualLexer.lexers`,
or the one of the basic lexer). Conflicts come from Lark's analysis, which resolves them silently.

Refused, because tables cannot express them: callbacks on tokens, custom lexers and post-lexers, patterns of the ``regex`` module,
grammars over bytes.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from lark import Lark
from lark.grammar import Rule
from lark.indenter import Indenter
from lark.lexer import BasicLexer, ContextualLexer, TerminalDef, UnlessCallback
from lark.parser_frontends import PostLexConnector
from lark.parsers.lalr_analysis import IntParseTable, LALR_Analyzer, Reduce

from guided.errors import GrammarError
from guided.lalr.tables import Conflict, Indentation, LalrTables, Lexer, LexerContext, Start, Terminal, column, csr

__all__ = ["check_object", "read_tables"]

_END = "$END"
# Methods that an Indenter must not override, so that `Indentation` describes it.
_INDENTER = ("handle_NL", "_process", "process", "always_accept")


def read_tables(lark: Lark, analysis: LALR_Analyzer) -> LalrTables:
    """Return the tables of a Lark object.

    Parameters
    ----------
    analysis : LALR_Analyzer
        Analysis of the same rules; source of the conflicts.

    Raises
    ------
    GrammarError
        Its lexer or post-lexer cannot be expressed as tables.
    """
    lexer = lark.parser.lexer
    indentation = None
    if isinstance(lexer, PostLexConnector):
        indentation = _indentation(lexer.postlexer)
        lexer = lexer.lexer
    table = lark.parser.parser._parse_table
    states = _breadth_first(table)
    nonterminals = sorted({str(rule.origin.name) for rule in lark.rules})
    terminals = sorted(lark.parser.lexer_conf.terminals, key=_preference)
    read, contexts = _lexer(lexer, terminals, states)
    known = {*nonterminals, _END, *(terminal.name for terminal in terminals)}
    # Lark keeps unreachable rules that refer to each other; their terminals may occur in no state.
    used = {str(symbol) for state in states for symbol in table.states[state]}
    used |= {str(symbol.name) for rule in lark.rules for symbol in rule.expansion}
    declared = sorted(used - known)
    symbols = (*(str(terminal.name) for terminal in terminals), *declared, _END, *nonterminals)
    symbol_of = {name: number for number, name in enumerate(symbols)}
    end = symbol_of[_END]
    rules = {rule: (str(rule.origin.name), *(str(symbol.name) for symbol in rule.expansion)) for rule in lark.rules}
    ordered = sorted(rules, key=lambda rule: rules[rule])
    rule_of = {rule: number for number, rule in enumerate(ordered)}
    state_of = {state: number for number, state in enumerate(states)}
    entries: list[int] = []
    for number, state in enumerate(states):
        for symbol, (action, target) in table.states[state].items():
            entries += number, symbol_of[str(symbol)], -1 - rule_of[target] if action is Reduce else state_of[target]
    return LalrTables(
        symbols,
        end,
        *csr(entries, len(states), end),
        column([symbol_of[rules[rule][0]] for rule in ordered]),
        column([len(rule.expansion) for rule in ordered]),
        tuple(_text(rules[rule]) for rule in ordered),
        column(contexts),
        tuple(
            Start(name, state_of[table.start_states[name]], state_of[table.end_states[name]])
            for name in lark.options.start
        ),
        read,
        indentation,
        _conflicts(analysis),
    )


def check_object(lark: Lark) -> None:
    """Refuse a Lark object that tables cannot express.

    Raises
    ------
    GrammarError
        It is not an LALR parser, has callbacks on tokens or plugins, or reads bytes or patterns of another module.
    """
    options = lark.options
    if options.parser != "lalr":
        raise GrammarError(f"the parser is {options.parser!r}: only parser='lalr' is supported", "Lark")
    if options.regex:
        raise GrammarError("terminals of the regex module (regex=True) are not supported: write them for re", "Lark")
    if options.use_bytes:
        raise GrammarError("a grammar over bytes (use_bytes=True) is not supported: texts are UTF-8", "Lark")
    for name in sorted(map(str, lark.parser.lexer_conf.callbacks)):
        raise GrammarError("lexer_callbacks are not supported: they may change tokens while parsing", name)
    for name in sorted(map(str, options._plugins)):
        raise GrammarError("plugins of Lark are not supported", name)


def _indentation(postlex: object) -> Indentation:
    kind = type(postlex)
    if not isinstance(postlex, Indenter) or any(
        getattr(kind, name) is not getattr(Indenter, name) for name in _INDENTER
    ):
        raise GrammarError("this postlex is not supported: only Lark's Indenter is", kind.__name__)
    return Indentation(
        str(postlex.NL_type),
        tuple(map(str, postlex.OPEN_PAREN_types)),
        tuple(map(str, postlex.CLOSE_PAREN_types)),
        str(postlex.INDENT_type),
        str(postlex.DEDENT_type),
        int(postlex.tab_len),
    )


def _breadth_first(table: IntParseTable) -> list[int]:
    """Return the states that the starts reach, in an order that depends only on names."""
    states = list(dict.fromkeys(table.start_states[name] for name in sorted(table.start_states)))
    seen = set(states)
    for state in states:
        row = table.states[state]
        for symbol in sorted(row):
            action, target = row[symbol]
            if action is not Reduce and target not in seen:
                seen.add(target)
                states.append(target)
    return states


def _preference(terminal: TerminalDef) -> tuple[int, int, int, str]:
    """Sort key: the order in which Lark's lexers try terminals."""
    pattern = terminal.pattern
    return -terminal.priority, -pattern.max_width, -len(pattern.value), str(terminal.name)


def _lexer(
    lexer: BasicLexer | ContextualLexer, terminals: Sequence[TerminalDef], states: Sequence[int]
) -> tuple[Lexer, list[int]]:
    """Return the lexer, and its context in each state."""
    if isinstance(lexer, ContextualLexer):
        by_state: list[Any] = [lexer.lexers[state] for state in states]
    elif isinstance(lexer, BasicLexer):
        by_state = [lexer] * len(states)
    else:
        raise GrammarError("a lexer of your own is not supported: use 'contextual' or 'basic'", type(lexer).__name__)
    numbers = {str(terminal.name): number for number, terminal in enumerate(terminals)}
    found: dict[int, tuple[tuple[int, ...], tuple[tuple[int, int], ...]]] = {}
    for one in by_state:
        if id(one) not in found:
            found[id(one)] = _context(one, numbers)
    keywords = sorted({keyword for _, pairs in found.values() for keyword in pairs})
    keyword_of = {keyword: number for number, keyword in enumerate(keywords)}
    contexts: dict[LexerContext, int] = {}
    number: dict[int, int] = {}
    for key, (tried, pairs) in found.items():
        context = LexerContext(tried, tuple(keyword_of[pair] for pair in pairs))
        number[key] = contexts.setdefault(context, len(contexts))
    of_state = [number[id(one)] for one in by_state]
    flags = int(by_state[0].g_regex_flags)
    read = Lexer(
        tuple(Terminal(str(terminal.name), terminal.pattern.to_regexp(), flags) for terminal in terminals),
        frozenset(numbers[str(name)] for name in by_state[0].ignore_types),
        tuple(keywords),
        tuple(contexts),
    )
    return read, of_state


def _context(lexer: BasicLexer, numbers: dict[str, int]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Return the terminals that a lexer tries, and its keywords."""
    tried = tuple(numbers[str(terminal.name)] for terminal in lexer.scanner.terminals)
    assert tried == tuple(sorted(tried)), "terminals are in the order of preference"
    pairs = [
        (numbers[str(owner)], numbers[str(terminal.name)])
        for owner, callback in lexer.callback.items()
        if isinstance(callback, UnlessCallback)
        for terminal in callback.scanner.terminals
    ]
    return tried, tuple(sorted(pairs))


def _conflicts(analysis: LALR_Analyzer) -> tuple[Conflict, ...]:
    found: Counter[tuple[str, str, str]] = Counter()
    text_of = cache(_text_of)
    for items in analysis.lr0_itemsets:
        for terminal, rules in items.lookaheads.items():
            if len(rules) == 1 and terminal not in items.transitions:
                continue
            ranked = sorted(rules, key=lambda rule: (-(rule.options.priority or 0), text_of(rule)))
            shifts = terminal in items.transitions
            taken = "" if shifts else text_of(ranked[0])
            found.update((str(terminal.name), text_of(rule), taken) for rule in (ranked if shifts else ranked[1:]))
    return tuple(Conflict(*conflict, count) for conflict, count in sorted(found.items()))


def _text_of(rule: Rule) -> str:
    return _text((str(rule.origin.name), *(str(symbol.name) for symbol in rule.expansion)))


def _text(names: Sequence[str]) -> str:
    return f"{names[0]}: {' '.join(names[1:])}".rstrip()
