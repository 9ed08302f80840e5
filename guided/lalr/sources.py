"""What users give as a grammar -> its text and Lark's options: text, a name, a file, or a Lark object.

``"python"`` is the grammar of Python that comes with Lark, with its Indenter; other names are those of `guided.resources`.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lark import Lark
from lark.exceptions import LarkError
from lark.indenter import PythonIndenter

from guided.errors import GrammarError, LimitError, shown
from guided.files import read_text
from guided.lalr.loading import import_sources, tables_of_object, tables_of_text
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.resources import grammar_names, grammar_path

if TYPE_CHECKING:
    from lark import ParseTree as ParseTree

__all__ = ["GrammarLike", "Source", "source_of"]

GrammarLike: TypeAlias = str | os.PathLike[str] | Lark

_START = "start"
_LEXERS = ("contextual", "basic")
_NAME = re.compile(r"[\w.-]+")
# What looks like a file's name: one line without what grammars are made of, and a folder or the suffix of grammars.
_PATH = re.compile(r"[^\n\"|]*\.lark|(?=[^\n]*[/\\])[^\n\":|*(\s]+|[A-Za-z]:[/\\][^\n\"|]*")
# Grammars of the package that are read with an Indenter.
_INDENTED = ("python3",)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a grammar is from.

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
        May ``%import`` read files?
    lark : Lark or None
        The object that was given.
    """

    text: str
    start: str
    lexer: str
    postlex: Any
    import_paths: tuple[str, ...]
    path: str | None
    allow_files: bool
    lark: Lark | None = None

    def tables(self, limits: Limits) -> LalrTables:
        """The grammar's tables.

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
            limits=limits,
        )

    def parse(self, text: str) -> Any:
        """Lark's tree of a text.

        Raises
        ------
        GrammarError
            The text is none of the grammar.
        LimitError
            It nests too deep for Lark.
        """
        parser = self.lark or Lark(
            self.text,
            parser="lalr",
            start=self.start,
            lexer=self.lexer,
            postlex=self.postlex,
            import_paths=import_sources(self.import_paths, allow_files=self.allow_files),
            source_path=self.path,
        )
        try:
            return parser.parse(text, start=self.start)
        except (LarkError, AssertionError, IndexError) as error:
            raise GrammarError(f"the text is not of the grammar: {error}", self.start) from error
        except RecursionError as error:
            raise LimitError("depth", len(text), len(text), "the text nests too deep for Lark") from error


def source_of(
    grammar: GrammarLike,
    start: str,
    postlex: object | None,
    lexer: str,
    import_paths: Sequence[str | os.PathLike[str]],
    allow_files: bool = False,
) -> Source:
    """The source of what was given.

    A str is a grammar's text or the name of a bundled grammar; it is no file unless ``allow_files`` is set.

    Raises
    ------
    GrammarError
        There is no such name or file.
    TypeError, ValueError
        An argument is of another type, or ``lexer`` is unknown.
    """
    if not isinstance(start, str):
        raise TypeError(f"start is the name of a rule, not {type(start).__name__}")
    if lexer not in _LEXERS:
        raise ValueError(f"lexer is 'contextual' or 'basic', not {shown(lexer)}")
    if isinstance(import_paths, str | os.PathLike):
        raise TypeError("import_paths is a list of folders")
    folders = tuple(os.fspath(folder) for folder in import_paths)
    if isinstance(grammar, Lark):
        if postlex is not None or folders or lexer != "contextual":
            raise TypeError("a Lark object has its own postlex, lexer and imports")
        starts = list(grammar.options.start)
        only = starts[0] if start == _START and _START not in starts and len(starts) == 1 else start
        return Source("", only, "", None, (), None, allow_files=True, lark=grammar)
    if isinstance(grammar, os.PathLike):
        return Source(_read(Path(grammar)), start, lexer, postlex, folders, os.fspath(grammar), allow_files=True)
    if not isinstance(grammar, str):
        raise TypeError(f"a grammar is text, a name, a path or a Lark object, not {type(grammar).__name__}")
    if grammar == "python":
        text = files("lark.grammars").joinpath("python.lark").read_text(encoding="utf-8")
        start = "file_input" if start == _START else start
        return Source(text, start, lexer, postlex or PythonIndenter(), folders, None, allow_files)
    if _NAME.fullmatch(grammar) and grammar in grammar_names():
        path = grammar_path(grammar)
        indenter = PythonIndenter() if grammar in _INDENTED else None
        return Source(_read(path), start, lexer, postlex or indenter, folders, str(path), allow_files=True)
    if _PATH.fullmatch(grammar):
        if allow_files:
            return Source(_read(Path(grammar)), start, lexer, postlex, folders, grammar, allow_files)
        raise GrammarError(
            f"a str is a grammar's text or the name of a bundled grammar, and is never read as a file: give "
            f"pathlib.Path({shown(grammar)}), or set allow_files=True",
            grammar,
        )
    if _NAME.fullmatch(grammar):
        names = ", ".join(("python", *grammar_names()))
        advice = (
            f"no bundled grammar has this name: they are {names}; a grammar's text is written `start: ...`, "
            "to read a file, give a pathlib.Path"
        )
        raise GrammarError(advice, grammar)
    return Source(grammar, start, lexer, postlex, folders, None, allow_files)


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise GrammarError(f"the file cannot be read: {error}", str(path)) from None
