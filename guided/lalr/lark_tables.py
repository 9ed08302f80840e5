"""Conversion of Lark's parser objects to `LalrTables`: their rules, the LALR(1) table of these, and the lexer's context in each state.

The table is the one that Lark makes of the same rules (`guided.lalr.analysis`), with the conflicts that Lark resolves silently.

Refused, because tables cannot express them: callbacks on tokens, custom lexers and post-lexers, patterns of the ``regex`` module,
grammars over bytes.
"""

from dataclasses import replace

from lark import Lark
from lark import exceptions as of_lark
from lark.indenter import Indenter

from guided.automata.steps import Steps
from guided.errors import GrammarError
from guided.lalr.analysis import Analysis
from guided.lalr.lexers import lexer_of, terminals_of
from guided.lalr.tables import NO_TEXT, Conflict, Indentation, LalrTables, Start, Terminal, column, csr
from guided.limits import Limits

__all__ = ["check_object", "read_tables"]

_END = "$END"
# Methods that an Indenter must not override, so that `Indentation` describes it.
_INDENTER = ("handle_NL", "_process", "process", "always_accept")


def read_tables(lark: Lark, limits: Limits, steps: Steps) -> LalrTables:
    """Return the tables of a Lark object.

    Raises
    ------
    GrammarError
        Its lexer or post-lexer cannot be expressed as tables, or its rules collide.
    LimitError
        Its rules or terminals exceed a budget.
    """
    conf = lark.parser.lexer_conf
    if isinstance(conf.lexer_type, type):
        reason = "a lexer of your own is not supported: use 'contextual' or 'basic'"
        raise GrammarError(reason, conf.lexer_type.__name__)
    indentation = _indentation(conf.postlex) if conf.postlex else None
    sides = {(str(rule.origin.name), *(str(one.name) for one in rule.expansion)): rule for rule in lark.rules}
    written = sorted(sides)
    nonterminals = sorted({names[0] for names in written})
    terminals = [str(terminal.name) for terminal in terminals_of(conf)]
    # Lark keeps unreachable rules that refer to each other; their terminals may occur in no state.
    declared = sorted({name for names in written for name in names} - {*nonterminals, *terminals})
    symbols = (*terminals, *declared, _END, *nonterminals)
    numbers = {name: number for number, name in enumerate(symbols)}
    end = numbers[_END]
    rules = tuple((numbers[names[0]], tuple(numbers[name] for name in names[1:])) for names in written)
    starts = sorted(set(lark.options.start))
    for name in starts:
        if name not in nonterminals:
            raise of_lark.GrammarError(f"Using an undefined rule: {name}")
    priorities = [sides[names].options.priority or 0 for names in written]
    analysis = Analysis(symbols, end, rules, priorities, [numbers[name] for name in starts], steps)
    texts = [f"{names[0]}: {' '.join(names[1:])}".rstrip() for names in written]
    if analysis.collisions:
        raise _collision(
            sorted((symbols[terminal], [texts[one] for one in those]) for terminal, those in analysis.collisions)
        )
    entries: list[int] = []
    accepted = []
    for state, (moves, reduces) in enumerate(zip(analysis.moves, analysis.reduces, strict=True)):
        for symbol, target in moves.items():
            entries += state, symbol, target
        for symbol, rule in reduces.items():
            entries += state, symbol, -1 - rule
        accepted.append({symbol for symbol in (*moves, *reduces) if symbol < len(terminals)})
    every = set(range(len(terminals)))
    always = {numbers[name] for name in (conf.postlex.always_accept if conf.postlex else ()) if name in numbers} & every
    if conf.lexer_type != "contextual":
        always = every
    lexer, contexts = lexer_of(conf, [one | always for one in accepted], limits, steps)
    lexer = replace(lexer, terminals=(*lexer.terminals, *(Terminal(name, NO_TEXT, 0) for name in declared)))
    return LalrTables(
        lexer=lexer,
        nonterminals=tuple(nonterminals),
        rules=rules,
        **csr(entries, len(analysis.moves)),
        context=column(contexts),
        starts=tuple(
            Start(name, starts.index(name), analysis.moves[starts.index(name)][numbers[name]])
            for name in lark.options.start
        ),
        indentation=indentation,
        conflicts=tuple(
            Conflict(*conflict, count)
            for conflict, count in sorted(
                analysis.conflicts.items(), key=lambda item: (symbols[item[0][0]], item[0][1:], item[1])
            )
        ),
    )


def _collision(collisions: list[tuple[str, list[str]]]) -> GrammarError:
    """Return the error of rules that the parser cannot choose from, given the terminals before which it cannot."""
    terminal, (first, *_) = collisions[0]
    rules = list(dict.fromkeys(rule for _, those in collisions for rule in those))
    for rule in rules:
        name, _, side = rule.partition(": ")
        # Names of repeats begin so, which nobody wrote.
        if side == name and not name.startswith("__"):
            reason = f"the rule {name} may stand for itself alone, so a text has endless readings: leave that alternative out"
            return GrammarError(reason, name)
    name = first.partition(":")[0]
    before = f"before {terminal}" if terminal != _END else "at the end of the text"
    listed = "".join(f"\n    {rule}" for rule in rules)
    reason = (
        f"the same text can be read by different rules, and {before} LALR(1) cannot tell which (a reduce/reduce collision): "
        f"merge the rules, or give one a higher priority (`{name}.2: ...`). The rules:{listed}"
    )
    return GrammarError(reason, name)


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
