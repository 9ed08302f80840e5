"""`Grammar`: the spec of the texts that Lark parses by a grammar."""

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from guided.engine.specs import Lowered, fingerprint_of
from guided.errors import GrammarError, VocabularyError, shown
from guided.index.lexeme_masks import LexemeMasks
from guided.keywords import suggest_keywords
from guided.lalr.bounded import bounded_scanner, bounded_tables
from guided.lalr.machine import LalrMachine
from guided.lalr.packed import packed, unpacked
from guided.lalr.review import Finding, review
from guided.lalr.scanner import Scanner, scanner_of
from guided.lalr.sources import GrammarLike, Source, source_of
from guided.lalr.standing import Standing, Standings
from guided.lalr.tables import LalrTables, Start
from guided.limits import Limits
from guided.schema.json_values import text_of, value_of

__all__ = ["Grammar"]

_NO_TEXT = "no text can be parsed from it"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Grammar:
    """The texts that ``lark.Lark(grammar, parser="lalr").parse`` accepts, and no others. See docs/lark.md.

    Parameters
    ----------
    grammar : str, path or lark.Lark
        A str is a grammar's text, the name of a bundled grammar (docs/grammars.md), or ``"python"`` for the grammar of Python that is
        part of Lark; it is never read as a file. A `pathlib.Path` is a file. A Lark object parses by LALR.
    start : str
        The start rule; ``"file_input"`` for ``"python"``.
    postlex : lark.indenter.Indenter, optional
        What turns columns into INDENT and DEDENT; ``"python"`` and ``"python3"`` bring their own.
    lexer : {"contextual", "basic"}
        As in Lark.
    import_paths : sequence of path
        Folders where ``%import`` looks.
    allow_files : bool
        Let a str name a file, and let a text import files, relative to the running script. Off by default: a text that strangers wrote
        reads no files but those of ``import_paths`` and of the packages guided and lark. A grammar in a file may always import others.

    max_ignored : int, optional
        Characters of ignored text (``%ignore``) in a row, at most: before the first token, between two tokens, and after the last one.
        Without it there is no bound, as in Lark, and a model may write blanks until its budget ends. 0 allows none.

    Attributes
    ----------
    tables : LalrTables
        What Lark built; the bound is no part of them.
    start : str
    max_ignored : int or None

    Raises
    ------
    GrammarError
        Lark refuses the grammar, it asks for what no automaton can do, or there is no such name or file; with the rule or terminal.
    LimitError
        It is too large.
    TypeError, ValueError
        An argument is of another type, or unknown.

    Examples
    --------
    >>> spec = Grammar('start: "a" start "b" | "c"')
    >>> spec.parse("acb").data
    'start'
    """

    kind: ClassVar[str] = "grammar"

    tables: LalrTables = field(repr=False)
    start: str
    max_ignored: int | None
    _source: Source | None = field(repr=False)

    @suggest_keywords()
    def __init__(
        self,
        grammar: GrammarLike,
        start: str = "start",
        postlex: object | None = None,
        lexer: str = "contextual",
        import_paths: Sequence[str | os.PathLike[str]] = (),
        *,
        allow_files: bool = False,
        max_ignored: int | None = None,
    ) -> None:
        _check_bound(max_ignored)
        source = source_of(grammar, start, postlex, lexer, import_paths, allow_files)
        tables = source.tables(Limits())
        self._set(tables, source.start, max_ignored, source)
        _start(tables, source.start)

    def _set(self, tables: LalrTables, start: str, max_ignored: int | None, source: Source | None) -> None:
        values = {"tables": tables, "start": start, "max_ignored": max_ignored, "_source": source}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<Grammar from {shown(self.start, 40)}: {len(self.tables.lexer.terminals):,} terminals, {self.tables.n_states:,} states>"

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self.fingerprint == other.fingerprint

    def __reduce__(self) -> Any:
        return Grammar.from_data, (self.data,)

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of the tables and the start: whatever Lark makes the same of is the same."""
        return fingerprint_of("grammar", self.data)

    @property
    def data(self) -> str:
        """The tables as text, with the version of Unicode that its patterns mean."""
        content = {"tables": packed(self.tables), "start": self.start, "unicode": unicodedata.unidata_version}
        return text_of(content if self.max_ignored is None else {**content, "max_ignored": self.max_ignored})

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "Grammar":
        """The spec of what `data` gave; it has no parser.

        Raises
        ------
        ValueError
            The text is something else, or means another version of Unicode than this Python's.
        """
        content = value_of(data, limits)
        try:
            version, start = content["unicode"], str(content["start"])
            tables = unpacked(content["tables"], limits)
            _start(tables, start)
            bound = content.get("max_ignored")
            _check_bound(bound)
        except (KeyError, TypeError, GrammarError) as error:
            raise ValueError(f"this is no grammar: {error}") from error
        if version != unicodedata.unidata_version:
            raise ValueError(
                f"its patterns mean characters of Unicode {version}, and this Python has {unicodedata.unidata_version}"
            )
        spec = cls.__new__(cls)
        spec._set(tables, start, bound, None)
        return spec

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """The automaton of the texts.

        Raises
        ------
        GrammarError
            A terminal asks for what no automaton can do, or there is no text.
        LimitError
        VocabularyError
            There are texts, but all need bytes that the alphabet lacks.
        """
        machine = self._machine(limits, alphabet)
        if machine.is_empty:
            if not all(alphabet) and not self._machine(limits, bytes([1] * 256)).is_empty:
                raise VocabularyError(
                    "every text of the grammar needs a byte that no token of the vocabulary has alone"
                )
            raise GrammarError(_NO_TEXT, self.start)
        return Lowered(machine, "grammar", 0, notes=(*self.tables.notes, *machine.dead_ends.notes), masks=LexemeMasks)

    def _machine(self, limits: Limits, alphabet: bytes) -> LalrMachine:
        tables, scanner = self._bounded(limits)
        return LalrMachine(tables, scanner, _start(tables, self.start), limits, alphabet)

    def _bounded(self, limits: Limits) -> tuple[LalrTables, Scanner]:
        """Tables and scanner, with the bound of ignored text if there is one."""
        return _bounded(self.tables, self.max_ignored, limits)

    def review(self) -> list[Finding]:
        """What an author should know of the grammar: conflicts, dead ends, lookaheads, each with a short example if there is one.

        Raises
        ------
        GrammarError, LimitError
            As `pushdown`.
        """
        machine = self._machine(Limits(), bytes([1] * 256))
        if machine.is_empty:
            raise GrammarError(_NO_TEXT, self.start)
        tables, scanner = self._bounded(Limits())
        return review(tables, scanner, _start(tables, self.start), machine.dead_ends)

    def standing(self, text: bytes) -> Standing | None:
        """Where a text that has begun stands: the lexeme under way, and the terminals that are expected. O(bytes).

        None where Lark's lexer or parser has broken off before its end.
        """
        return _standings(self.tables, self.start, self.max_ignored).of(text)

    def parse(self, text: str) -> Any:
        """What Lark makes of a text; ``max_ignored`` plays no part.

        Raises
        ------
        GrammarError
            The text is none of the grammar, or the spec is from a file of an index and has no parser.
        LimitError
            It nests too deep for Lark.
        """
        if self._source is None:
            raise GrammarError("a grammar from a file of an index has no parser: make it from its text", self.start)
        return self._source.parse(text)


@lru_cache(maxsize=8)
def _standings(tables: LalrTables, start: str, max_ignored: int | None) -> Standings:
    tables, scanner = _bounded(tables, max_ignored, Limits())
    return Standings(tables, scanner, _start(tables, start))


def _bounded(tables: LalrTables, max_ignored: int | None, limits: Limits) -> tuple[LalrTables, Scanner]:
    scanner = scanner_of(tables.lexer, limits)
    if max_ignored is None or not tables.lexer.ignored:
        return tables, scanner
    return bounded_tables(tables), bounded_scanner(scanner, max_ignored, limits)


def _check_bound(max_ignored: object) -> None:
    if max_ignored is None:
        return
    if not isinstance(max_ignored, int) or isinstance(max_ignored, bool):
        raise TypeError(f"max_ignored is a number of characters, not {type(max_ignored).__name__}")
    if max_ignored < 0:
        raise ValueError(f"max_ignored is a number of characters, 0 or more, not {shown(max_ignored)}")


def _start(tables: LalrTables, name: str) -> Start:
    for start in tables.starts:
        if start.name == name:
            return start
    known = ", ".join(start.name for start in tables.starts)
    raise GrammarError(f"the grammar was not read with this start; there are: {known}", name)
