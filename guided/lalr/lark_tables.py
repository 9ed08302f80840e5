"""Conversion of Lark's parser objects to `LalrTables`. The parse table is read from the objects that Lark runs, not recomputed.

For each parser state: its row of the parse table, and what its lexer tries (`guided.lalr.lexers`). Conflicts come from Lark's analysis,
which resolves them silently.

Refused, because tables cannot express them: callbacks on tokens, custom lexers and post-lexers, patterns of the ``regex`` module,
grammars over bytes.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache

from lark import Lark
from lark.grammar import Rule
from lark.indenter import Indenter
from lark.parsers.lalr_analysis import IntParseTable, LALR_Analyzer, Reduce

from guided.automata.steps import Steps
from guided.errors import GrammarError
from guided.lalr.lexers import lexer_of
from guided.lalr.tables import Conflict, Indentation, LalrTables, Start, column, csr
from guided.limits import Limits

__all__ = ["check_object", "read_tables"]

_END = "$END"
# Methods that an Indenter must not override, so that `Indentation` describes it.
_INDENTER = ("handle_NL", "_process", "process", "always_accept")


def read_tables(lark: Lark, analysis: LALR_Analyzer, limits: Limits, steps: Steps) -> LalrTables:
    """Return the tables of a Lark object.

    Parameters
    ----------
    analysis : LALR_Analyzer
        Analysis of the same rules; source of the conflicts.

    Raises
    ------
    GrammarError
        Its lexer or post-lexer cannot be expressed as tables.
    LimitError
        Its terminals exceed a budget.
    """
    conf = lark.parser.lexer_conf
    if isinstance(conf.lexer_type, type):
        reason = "a lexer of your own is not supported: use 'contextual' or 'basic'"
        raise GrammarError(reason, conf.lexer_type.__name__)
    indentation = _indentation(conf.postlex) if conf.postlex else None
    table = lark.parser.parser._parse_table
    states = _breadth_first(table)
    nonterminals = sorted({str(rule.origin.name) for rule in lark.rules})
    accepted = [{*conf.terminals_by_name}] * len(states)
    if conf.lexer_type == "contextual":
        always = conf.postlex.always_accept if conf.postlex else ()
        accepted = [{*table.states[state], *always} for state in states]
    lexer, contexts = lexer_of(conf, accepted, limits, steps)
    terminals = [terminal.name for terminal in lexer.terminals]
    known = {*nonterminals, _END, *terminals}
    # Lark keeps unreachable rules that refer to each other; their terminals may occur in no state.
    used = {str(symbol) for state in states for symbol in table.states[state]}
    used |= {str(symbol.name) for rule in lark.rules for symbol in rule.expansion}
    declared = sorted(used - known)
    symbols = (*terminals, *declared, _END, *nonterminals)
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
        lexer,
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
