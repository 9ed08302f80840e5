"""A grammar as text -> Lark -> `LalrTables`; every error on the way is a `GrammarError` or a `LimitError`.

What Lark raises, for whatever text, becomes a `GrammarError` with rule or terminal, line and column (`refusals`). Lark recurses over what
it builds: a grammar nested so deeply that Python's stack ends is refused too. What would keep Lark busy for ever is refused before
(`size`), replaced (`lexers`), or counted (`analysis`).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lark import Lark
from lark.parsers.lalr_parser import LALR_Parser

from guided.errors import GrammarError, GuidedError
from guided.lalr.analysis import ITEM, Analysis
from guided.lalr.imports import packaged_only
from guided.lalr.lexers import lexer_plugins
from guided.lalr.reading import check_object, read_tables
from guided.lalr.refusals import WHOLE, refusal
from guided.lalr.scanner import terminal_tree
from guided.lalr.size import check_size
from guided.lalr.tables import LalrTables
from guided.limits import Limits

__all__ = ["import_sources", "tables_of_object", "tables_of_text"]

# What `re` runs and no automaton does; a pattern with one of these is parsed as soon as it is read, while its place is known.
_UNUSUAL = re.compile(r"\\[1-9]|\(\?P=|\(\?\(|\(\?>|[*+?}]\+|\(\?<")


def tables_of_text(
    text: str,
    *,
    start: Sequence[str],
    lexer: str,
    postlex: object | None,
    import_paths: Sequence[str],
    source: str | None,
    limits: Limits,
    allow_files: bool = False,
) -> LalrTables:
    """The tables of a grammar's text.

    Parameters
    ----------
    start : sequence of str
        Start rules.
    lexer : {"contextual", "basic"}
    postlex : Indenter, optional
    import_paths : sequence of str
        Folders where ``%import`` looks.
    source : str, optional
        The file that the text is from: relative imports are relative to it.
    allow_files : bool
        May ``%import`` read files outside of ``import_paths``? Otherwise only Lark's own grammars can be imported.

    Raises
    ------
    GrammarError
        Lark refuses the grammar, or it asks for what no table says.
    LimitError
        It is too large.
    """
    parser = _parser(limits.steps // ITEM)
    options = {
        "parser": "lalr",
        "start": list(start),
        "lexer": lexer,
        "postlex": postlex,
        "import_paths": import_sources(import_paths, allow_files=allow_files),
        "source_path": source,
        "_plugins": {"LALR_Parser": parser, **lexer_plugins(limits)},
    }
    with _refusing(text):
        check_size(text, limits)
        lark = Lark(text, **options)
        tables = read_tables(lark, lark.parser.parser.analysis)
        for terminal in tables.lexer.terminals:
            if _UNUSUAL.search(terminal.pattern):
                terminal_tree(terminal, limits)
        return tables


def tables_of_object(lark: Lark, limits: Limits) -> LalrTables:
    """The tables of a Lark object.

    Raises
    ------
    GrammarError
        It is no LALR parser, or does what no table says.
    LimitError
        It is too large.
    """
    with _refusing(""):
        check_object(lark)
        return read_tables(lark, _analyzed(lark.parser.parser_conf, limits.steps // ITEM))


def _analyzed(parser_conf: Any, budget: int) -> Analysis:
    analysis = Analysis(budget, parser_conf)
    analysis.compute_lalr()  # type: ignore[no-untyped-call]
    return analysis


def _parser(budget: int) -> type[LALR_Parser]:
    """Lark's parser as far as its tables go; it keeps the analysis."""

    class Parser(LALR_Parser):
        def __init__(self, parser_conf: Any, **_: bool) -> None:
            self.analysis = _analyzed(parser_conf, budget)
            self._parse_table = self.analysis.parse_table
            self.parser_conf = parser_conf

    return Parser


def import_sources(import_paths: Sequence[str], *, allow_files: bool) -> list[Any]:
    """Lark's ``import_paths``."""
    return [*import_paths] if allow_files else [*import_paths, packaged_only]


@contextmanager
def _refusing(text: str) -> Iterator[None]:
    """Turn what Lark raises into errors of our own."""
    try:
        yield
    except RecursionError:
        raise GrammarError("it is nested too deeply for Lark", WHOLE) from None
    except MemoryError:
        raise GrammarError("it takes Lark more memory than there is", WHOLE) from None
    except GrammarError as error:
        raise (refusal(error, text) if text else error) from None
    except GuidedError:
        raise
    except Exception as error:  # Why: Lark raises errors of its own, and of all kinds where it did not think of a text
        raise refusal(error, text) from None
