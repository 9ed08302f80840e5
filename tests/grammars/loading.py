"""The grammars of the package as Lark's parsers, and which of their rules a text exercises."""

from collections import Counter
from functools import cache

import lark
from lark.grammar import Rule
from lark.indenter import PythonIndenter

from guided.resources import grammar_path

__all__ = ["INDENTED", "accepts", "load", "parser_of", "reductions", "source"]

INDENTED = {"python3"}


def source(name: str) -> str:
    """The text of a grammar."""
    return grammar_path(name).read_text(encoding="utf-8")


def load(name: str, **options: object) -> lark.Lark:
    """A new parser. Lark's options may be given; by default they are those that the package's users need."""
    if name in INDENTED:
        options.setdefault("postlex", PythonIndenter())
    return lark.Lark(source(name), parser="lalr", **options)  # type: ignore[arg-type]


@cache
def parser_of(name: str) -> lark.Lark:
    """The parser of a grammar, made once."""
    return load(name)


def accepts(grammar: str | lark.Lark, text: str) -> bool:
    """Is a text in the language of a grammar, given by name or as a parser?"""
    try:
        (parser_of(grammar) if isinstance(grammar, str) else grammar).parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except (lark.indenter.DedentError, AssertionError):
        # Why the assertion: Lark's post-lexer has no better word for a bracket that was not opened.
        return False
    return True


def reductions(name: str, text: str) -> Counter[Rule]:
    """How often each rule is used in the derivation of a text."""
    counted: Counter[Rule] = Counter()
    core = parser_of(name).parser.parser.parser
    kept = core.callbacks
    core.callbacks = {rule: _counting(counted, rule) for rule in kept}
    try:
        parser_of(name).parse(text)
    finally:
        core.callbacks = kept
    return counted


def _counting(counted: Counter[Rule], rule: Rule) -> object:
    def count(children: object) -> None:
        counted[rule] += 1

    return count
