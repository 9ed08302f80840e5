"""Resolves the user's grammar argument (text, a name, a file, or a Lark object) to a text, its notation and Lark's options.

``"python"`` is the Python grammar bundled with Lark, with its Indenter; other names are those of `guided.resources`.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lark import Lark
from lark.exceptions import LarkError
from lark.indenter import PythonIndenter

from guided.errors import GrammarError, LimitError, check_word, shown
from guided.files import read_text
from guided.keywords import closest
from guided.lalr.loading import import_sources, tables_of_object, tables_of_text
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.resources import grammar_names, grammar_path

if TYPE_CHECKING:
    from lark import ParseTree as ParseTree

__all__ = [
    "GrammarLike",
    "Source",
    "dialect_of",
    "lark_pattern",
    "lark_string",
    "overridden",
    "source_of",
    "text_of_file",
]

GrammarLike: TypeAlias = str | os.PathLike[str] | Lark

_START = "start"
_LEXERS = ("contextual", "basic")
_NAME = re.compile(r"[\w.-]+")
_TERMINAL = re.compile(r"_?[A-Z][_A-Z0-9]*")
_CONTROLS = {
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\f": "\\x0c",
    "\v": "\\x0b",
    "\x85": "\\x85",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
# Matches strings that look like a file name: one line without grammar syntax, with a folder separator or the suffix .lark.
_PATH = re.compile(r"[^\n\"|]*\.lark|(?=[^\n]*[/\\])[^\n\":|*(\s]+|[A-Za-z]:[/\\][^\n\"|]*")
# Bundled grammars that use an Indenter.
_INDENTED = ("python3",)
# A line that begins with a name and the sign of a definition.
_GBNF = re.compile(r"[ \t]*[A-Za-z0-9_-]+[ \t]*::=")
_FIRST_LINE = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*+")
# Why the ends are optional: each character is read once.
_LITERALS = re.compile(r'"(?:\\.|[^"\\\n])*+"?|/(?!/)(?:\\.|[^/\\\n])*+/?|(?:#|//)[^\n]*')
_LLGUIDANCE = re.compile(
    r"^[ \t]*%llguidance\b|%(?:json|regex|lark)\s*\{|<[|\[][^<>\s]*>"
    r"|^[ \t]*[?!]{0,2}\w[\w-]*\[(?:lazy|suffix|stop|capture|max_tokens|temperature)\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Origin of a grammar.

    Attributes
    ----------
    text : str
        The grammar; empty for a Lark object.
    start : str
    lexer : {"contextual", "basic"}
    postlex : Indenter or None
    import_paths : tuple of str
    path : str or None
        The file of the text.
    allow_files : bool
        Whether ``%import`` may read files.
    lark : Lark or None
        The Lark object, if one was given.
    flags : int
        Flags of ``re`` for all patterns.
    """

    text: str
    start: str
    lexer: str
    postlex: Any
    import_paths: tuple[str, ...]
    path: str | None
    allow_files: bool
    lark: Lark | None = None
    flags: int = 0

    def tables(self, limits: Limits) -> LalrTables:
        """Return the grammar's tables.

        Raises
        ------
        GrammarError, LimitError
        """
        if self.lark is not None:
            return tables_of_object(self.lark, limits)
        return tables_of_text(
            self.text,
            start=[self.start],
            lexer=self.lexer,
            postlex=self.postlex,
            import_paths=self.import_paths,
            source=self.path,
            allow_files=self.allow_files,
            flags=self.flags,
            limits=limits,
        )

    def parse(self, text: str) -> Any:
        """Parse a text with Lark and return its tree; raises as `guided.engine.grammar.Grammar.parse`."""
        parser = self.lark or Lark(
            self.text,
            parser="lalr",
            start=self.start,
            lexer=self.lexer,
            postlex=self.postlex,
            import_paths=import_sources(self.import_paths, allow_files=self.allow_files),
            source_path=self.path,
            g_regex_flags=self.flags,
        )
        try:
            return parser.parse(text, start=self.start)
        except (LarkError, AssertionError, IndexError) as error:
            raise GrammarError(f"the text does not match the grammar: {error}", self.start) from error
        except RecursionError as error:
            most = sys.getrecursionlimit()
            raise LimitError(
                "recursion", most + 1, most, "Lark's parser uses Python's stack: sys.setrecursionlimit raises it"
            ) from error


def dialect_of(text: str) -> str:
    """Return ``"gbnf"``, ``"llguidance"``, or ``"lark"`` for a text that has nothing which Lark lacks.

    GBNF defines its first rule with ``::=``, and llguidance's dialect of Lark has statements, attributes and tokens of its own.
    """
    begin = _FIRST_LINE.match(text)
    if _GBNF.match(text, begin.end() if begin else 0):
        return "gbnf"
    return "llguidance" if _LLGUIDANCE.search(_LITERALS.sub('""', text)) else "lark"


def source_of(
    grammar: GrammarLike,
    start: str,
    postlex: object | None,
    lexer: str,
    import_paths: Sequence[str | os.PathLike[str]],
    allow_files: bool = False,
) -> Source:
    """Resolve a grammar argument.

    A str is a grammar's text or the name of a bundled grammar; it is read as a file only if ``allow_files`` is set.

    Raises
    ------
    GrammarError
        There is no such name or file.
    TypeError, ValueError
        An argument has the wrong type, or ``lexer`` is unknown.
    """
    if not isinstance(start, str):
        raise TypeError(f"start must be the name of a rule, not {type(start).__name__}")
    check_word("lexer", lexer, *_LEXERS)
    if isinstance(import_paths, str | os.PathLike):
        raise TypeError("import_paths must be a list of folders")
    folders = tuple(os.fspath(folder) for folder in import_paths)
    if isinstance(grammar, Lark):
        if postlex is not None or folders or lexer != "contextual":
            raise TypeError("a Lark object carries its own postlex, lexer and imports")
        starts = list(grammar.options.start)
        only = starts[0] if start == _START and _START not in starts and len(starts) == 1 else start
        return Source("", only, "", None, (), None, allow_files=True, lark=grammar)
    if isinstance(grammar, os.PathLike):
        return Source(text_of_file(Path(grammar)), start, lexer, postlex, folders, os.fspath(grammar), allow_files=True)
    if isinstance(grammar, str):
        # As files are read.
        grammar = grammar.removeprefix("\ufeff")
    else:
        raise TypeError(f"a grammar must be text, a name, a path or a Lark object, not {type(grammar).__name__}")
    if grammar == "python":
        text = files("lark.grammars").joinpath("python.lark").read_text(encoding="utf-8")
        start = "file_input" if start == _START else start
        return Source(text, start, lexer, postlex or PythonIndenter(), folders, None, allow_files)
    if _NAME.fullmatch(grammar) and grammar in grammar_names():
        path = grammar_path(grammar)
        indenter = PythonIndenter() if grammar in _INDENTED else None
        return Source(text_of_file(path), start, lexer, postlex or indenter, folders, str(path), allow_files=True)
    if _PATH.fullmatch(grammar):
        if allow_files:
            return Source(text_of_file(Path(grammar)), start, lexer, postlex, folders, grammar, allow_files)
        raise GrammarError(
            f"a str is a grammar's text or the name of a bundled grammar, and is never read as a file: give "
            f"pathlib.Path({shown(grammar)}), or set allow_files=True",
            grammar,
        )
    if _NAME.fullmatch(grammar):
        names = "python", *grammar_names()
        reason = f"unknown grammar{closest(grammar, names)}; bundled grammars are {', '.join(names)}"
        raise GrammarError(f"{reason}; a grammar's text is written `start: ...`, and a file is a path", grammar)
    return Source(grammar, start, lexer, postlex, folders, None, allow_files)


def overridden(source: Source, terminals: Mapping[str, str]) -> Source:
    """Return a source in which some terminals are defined anew, in Lark's notation, as if its author had written them so.

    Raises
    ------
    GrammarError
        The source is a Lark object, or a name is not that of a terminal.
    """
    if source.lark is not None:
        raise GrammarError("the terminals of a Lark object cannot be replaced: pass the grammar's text", source.start)
    for name in terminals:
        if not _TERMINAL.fullmatch(name):
            raise GrammarError("not the name of a terminal, which is written in capitals", name)
    lines = (f"%override {name}: {definition}" for name, definition in terminals.items())
    return replace(source, text="\n".join([source.text, *lines, ""]))


def lark_string(text: str) -> str:
    """Return a text as a string of a Lark grammar."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(_CONTROLS.get(letter, letter) for letter in escaped) + '"'


def lark_pattern(pattern: str) -> str:
    """Return a regular expression as a pattern of a Lark grammar."""
    # A slash that is escaped already stays as it is.
    return (
        "/" + re.sub(r"(\\.)|/", lambda found: found[1] or r"\/", pattern, flags=re.DOTALL).replace("\n", r"\n") + "/"
    )


def text_of_file(path: Path) -> str:
    """Return the text of a grammar's file; GrammarError if it cannot be read."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise GrammarError(f"the file cannot be read: {error}", str(path)) from None
