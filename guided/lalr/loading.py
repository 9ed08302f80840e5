"""Loads a grammar text with Lark and returns `LalrTables`; every error is a `GrammarError` or a `LimitError`.

Any exception that Lark raises becomes a `GrammarError` with rule or terminal, line and column (`refusals`). Lark is recursive: a grammar
nested so deeply that Python's stack overflows is refused too. Inputs that would keep Lark busy indefinitely are refused first (`size`),
and its slow steps are replaced (`lexers`) or budgeted (`analysis`).
"""

import re
from collections.abc import Iterator, KeysView, Sequence
from contextlib import contextmanager
from functools import cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any

from lark import Lark, load_grammar
from lark.common import LexerConf
from lark.grammar import Symbol
from lark.lexer import Pattern
from lark.tree import Tree

from guided.automata.build import spend_together
from guided.automata.steps import Steps
from guided.errors import GrammarError, GuidedError
from guided.lalr.imports import packaged_only
from guided.lalr.lark_tables import check_object, read_tables
from guided.lalr.lexers import NoLexer
from guided.lalr.refusals import WHOLE, refusal
from guided.lalr.scanner import terminal_tree
from guided.lalr.size import check_size
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.patterns.source import Intervals

__all__ = ["import_sources", "tables_of_object", "tables_of_text"]

_TOO_LARGE = "the grammar is too large for Lark: use fewer optional parts, counts and templates, and remove the rules that nothing uses"
# Steps of loading any grammar, however small, with Lark.
_LOADING = 500_000
# Features of `re` that no automaton supports; a pattern that may use one is parsed right after loading, while its position is known.
_UNUSUAL = re.compile(r"\\[1-9]|\(\?P=|\(\?\(|\(\?>|[*+?}]\+|\(\?<")

# Terminals of Lark's notation that take quadratic or exponential time in Lark, written so that each character is read once. They match the
# same texts. Invariant: sorted by the lengths of their patterns, they are in the same order, because Lark prefers longer patterns.
_LINEAR = {
    "STRING": r'"(?:[^"\\\n]|\\.)*+"i?',
    "REGEXP": r"/(?!/)(?:[^/\\]|\\[\s\S])*+/[imslux]*",
    "_NL": r"\r?\n\s*+",
    "_NL_OR": r"\r?\n\s*+\|",
    "COMMENT": r"\s*+(?://|\#)[^\n]*",
}


def tables_of_text(
    text: str,
    *,
    start: Sequence[str],
    limits: Limits,
    lexer: str = "contextual",
    postlex: object | None = None,
    import_paths: Sequence[str] = (),
    source: str | None = None,
    allow_files: bool = False,
    flags: int = 0,
    steps: Steps | None = None,
) -> LalrTables:
    """Return the tables of a grammar's text.

    Parameters
    ----------
    start : sequence of str
        Start rules.
    lexer : {"contextual", "basic"}
    postlex : Indenter, optional
    import_paths : sequence of str
        Folders that ``%import`` searches.
    source : str, optional
        The file of the text; relative imports are relative to it.
    allow_files : bool
        Whether ``%import`` may read files outside of ``import_paths``. Otherwise only Lark's own grammars can be imported.
    flags : int
        Flags of ``re`` for all patterns.
    steps : Steps, optional
        What the text was made with; by default a new budget.

    Raises
    ------
    GrammarError
        Lark refuses the grammar, or tables cannot express it.
    LimitError
        It is too large.
    """
    _prepare_lark()
    steps = steps or Steps(limits.steps)
    options = {
        "parser": "lalr",
        "start": list(start),
        "lexer": lexer,
        "postlex": postlex,
        "import_paths": import_sources(import_paths, allow_files=allow_files),
        "source_path": source,
        "g_regex_flags": flags,
        "_plugins": {"LALR_Parser": _NoParser, "BasicLexer": NoLexer, "ContextualLexer": NoLexer},
    }
    with _refusing(text, source):
        steps.spend(check_size(text, limits, start), _TOO_LARGE)
        tables = read_tables(Lark(text, **options), limits, steps)
        intervals = Intervals(limits.intervals)
        for terminal in tables.lexer.terminals:
            if _UNUSUAL.search(terminal.pattern):
                terminal_tree(terminal, limits, intervals)
        spend_together(steps.spent + _LOADING)
        return tables


def tables_of_object(lark: Lark, limits: Limits) -> LalrTables:
    """Return the tables of a Lark object.

    Raises
    ------
    GrammarError
        It is not an LALR parser, or tables cannot express it.
    LimitError
        It is too large.
    """
    _prepare_lark()
    with _refusing(""):
        check_object(lark)
        return read_tables(lark, limits, Steps(limits.steps))


@cache
def _prepare_lark() -> None:
    """Replace three parts of Lark.

    The parser that it reads grammars with, and keeps, gets terminals that read each character once (`_LINEAR`), and no search for
    collisions of these: the search compares all pairs of them, 0.13 s in each process, and finds none. And two sets of texts have one
    order in every process: the flags of a part of a terminal, and the symbols of a definition, of which an error names one.
    """
    Pattern._get_flags = _with_flags  # type: ignore[method-assign]
    load_grammar._find_used_symbols = _used_symbols
    function: Any = load_grammar._get_parser
    names = {
        **function.__globals__,
        "LexerConf": partial(LexerConf, skip_validation=True),
        "TERMINALS": {**load_grammar.TERMINALS, **_LINEAR},
        # Why: the function keeps its parser as an attribute of itself, and a program may have used Lark before.
        "_get_parser": SimpleNamespace(),
    }
    function.cache = FunctionType(function.__code__, names)()


class _NoParser:
    """A plugin of Lark in place of its parser, whose tables `guided.lalr.lark_tables` makes."""

    _parse_table = SimpleNamespace(states={})

    def __init__(self, *_: object, **__: object) -> None:
        pass


def _with_flags(pattern: Pattern, value: str) -> str:
    for flag in sorted(pattern.flags):
        value = f"(?{flag}:{value})"
    return value


def _used_symbols(tree: Tree[Any]) -> KeysView[str]:
    """Return the names of the symbols in a definition, in the order of the text."""
    parts = (part for part in tree.iter_subtrees_topdown() if part.data == "expansion")  # type: ignore[no-untyped-call]
    symbols = (symbol for part in parts for symbol in part.scan_values(lambda value: isinstance(value, Symbol)))
    return {symbol.name: None for symbol in symbols}.keys()


def import_sources(import_paths: Sequence[str], *, allow_files: bool) -> list[Any]:
    """Return the value of Lark's ``import_paths`` option."""
    return [*import_paths] if allow_files else [*import_paths, packaged_only]


@contextmanager
def _refusing(text: str, source: str | None = None) -> Iterator[None]:
    """Convert exceptions of Lark to errors of this package."""
    try:
        yield
    except RecursionError:
        raise GrammarError("it is nested too deeply for Lark", WHOLE) from None
    except MemoryError:
        raise GrammarError("Lark ran out of memory while reading it", WHOLE) from None
    except GrammarError as error:
        raise (refusal(error, text, source) if text else error) from None
    except GuidedError:
        raise
    except Exception as error:  # Why: Lark raises its own errors, and arbitrary exceptions on unexpected inputs
        raise refusal(error, text, source) from None
