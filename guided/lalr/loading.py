"""A grammar as text -> Lark -> `LalrTables`; every error on the way is a `GrammarError` or a `LimitError`.

What Lark raises, for whatever text, becomes a `GrammarError` with the rule or terminal it is about; tracebacks from inside Lark do not
get out. Lark recurses over what it builds: a grammar nested so deeply that Python's stack ends is refused too. What would keep Lark busy
for ever is refused before (`size`), replaced (`lexers`), or counted (`analysis`).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lark import Lark
from lark.parsers.lalr_parser import LALR_Parser

from guided.errors import GrammarError, GuidedError
from guided.lalr.analysis import ITEM, Analysis
from guided.lalr.lexers import lexer_plugins
from guided.lalr.reading import check_object, read_tables
from guided.lalr.size import check_size
from guided.lalr.tables import LalrTables
from guided.limits import Limits

__all__ = ["tables_of_object", "tables_of_text"]

_WHOLE = "grammar"
# A symbol as Lark's messages quote it.
_QUOTED = re.compile(r"[`'\"<(*]\s*([^\W\d]\w*)\b")
_LINE = re.compile(r"\bline (\d+)")
_DEFINITION = re.compile(r"^[ \t]*[?!]*([^\W\d]\w*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", re.MULTILINE)


def tables_of_text(
    text: str,
    *,
    start: Sequence[str],
    lexer: str,
    postlex: object | None,
    import_paths: Sequence[str],
    source: str | None,
    limits: Limits,
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

    Raises
    ------
    GrammarError
        Lark refuses the grammar, or it asks for what no table says.
    LimitError
        It is too large.
    """
    check_size(text, limits)
    parser = _parser(limits.steps // ITEM)
    options = {
        "parser": "lalr",
        "start": list(start),
        "lexer": lexer,
        "postlex": postlex,
        "import_paths": list(import_paths),
        "source_path": source,
        "_plugins": {"LALR_Parser": parser, **lexer_plugins(limits)},
    }
    with _refusing(text):
        lark = Lark(text, **options)
        return read_tables(lark, lark.parser.parser.analysis)


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


@contextmanager
def _refusing(text: str) -> Iterator[None]:
    """Turn what Lark raises into errors of our own."""
    try:
        yield
    except GuidedError:
        raise
    except RecursionError:
        raise GrammarError("it is nested too deeply for Lark", _WHOLE) from None
    except MemoryError:
        raise GrammarError("it takes Lark more memory than there is", _WHOLE) from None
    except OSError as error:
        raise GrammarError(f"an import cannot be read: {error}", _WHOLE) from None
    except Exception as error:  # Why: Lark raises errors of its own, and of all kinds where it did not think of a text
        raise _refusal(error, text) from None


def _refusal(error: Exception, text: str) -> GrammarError:
    original = getattr(error, "orig_exc", None) or error
    reason = _sorted(str(original).strip()) or type(original).__name__
    line = _LINE.search(reason)
    quoted = _QUOTED.search(reason)
    rule = _WHOLE
    if line is not None:
        end = sum(map(len, text.splitlines(keepends=True)[: int(line[1])]))
        before = list(_DEFINITION.finditer(text, 0, end))
        rule = before[-1][1] if before else _WHOLE
    elif quoted is not None:
        rule = quoted[1]
    return GrammarError(" ".join(reason.split()), rule)


def _sorted(reason: str) -> str:
    """A message about collisions, whose order in Lark is that of sets, in one order."""
    if not reason.startswith("Reduce/Reduce"):
        return reason
    found = [collision.split("\n\t- ") for collision in reason.split("\n\n")]
    return "\n\n".join(sorted("\n\t- ".join([head, *sorted(rules)]) for head, *rules in found))
