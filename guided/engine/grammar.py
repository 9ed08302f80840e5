"""`Grammar`: the spec of texts that Lark parses with a grammar."""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypedDict

from guided.encoding import fingerprint_of
from guided.engine.algebra import Composable, Part
from guided.engine.lark_lowering import bounded, lower, machine_of, start_of
from guided.engine.specs import NO_TEXT, Lowered
from guided.errors import GrammarError, check_word, shown, whole_number
from guided.keywords import suggest_keywords
from guided.lalr.packed import packed, unpacked
from guided.lalr.prefix_position import PrefixPosition, PrefixPositions
from guided.lalr.review import Finding, review
from guided.lalr.scanner import Scanner
from guided.lalr.tables import LalrTables
from guided.limits import Limits
from guided.schema.frontend.json_values import text_of, value_of

if TYPE_CHECKING:
    from guided.lalr.sources import GrammarLike, Source

__all__ = ["Dialect", "Grammar", "GrammarOptions"]

Dialect: TypeAlias = Literal["auto", "lark", "gbnf", "llguidance"]
_DIALECTS = {"gbnf": "GBNF", "llguidance": "llguidance's dialect"}


class GrammarOptions(TypedDict, total=False):
    """Keyword arguments of `Grammar`."""

    start: str | None
    postlex: object | None
    lexer: str
    import_paths: Sequence[str | os.PathLike[str]]
    allow_files: bool
    max_ignored: int | None
    terminals: Mapping[str, Iterable[str] | Part] | None
    ascii: bool
    dialect: Dialect


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Grammar(Composable):
    r"""Texts that ``lark.Lark(grammar, parser="lalr").parse`` accepts, or those of a grammar in another notation. See docs/lark.md.

    Parameters
    ----------
    grammar : str, path or lark.Lark
        A str is the text of a grammar, the name of a bundled grammar (docs/grammars.md), or ``"python"`` for Lark's own Python grammar; it
        is never read as a file. A `pathlib.Path` is a file. A Lark object must use LALR.
    start : str, optional
        The start rule. By default ``start``; ``root`` in GBNF, and ``file_input`` for ``"python"``.
    postlex : lark.indenter.Indenter, optional
        Turns columns into INDENT and DEDENT; ``"python"`` and ``"python3"`` include theirs.
    lexer : {"contextual", "basic"}
        As in Lark.
    import_paths : sequence of path
        Folders that ``%import`` searches.
    allow_files : bool
        Let a str name a file, and let the text of a grammar import files relative to the running script. Off by default: an untrusted
        grammar reads only files of ``import_paths`` and of the packages guided and lark. A grammar in a file may always import others.

    max_ignored : int, optional
        Maximum number of consecutive characters of ignored text (``%ignore``): before the first token, between two tokens, and after the
        last one. Without it there is no bound, as in Lark, and a model may emit blanks until its budget ends. 0 allows none.
    terminals : mapping of str to list of str, spec, composition or type, optional
        Terminals of the grammar that match these texts instead, as if the grammar ended in ``%override NAME: ...``. A spec must be a
        finite automaton: `Regex`, `Choice`, schemas of finitely many states, and compositions of them.
    ascii : bool
        Read all patterns with ``re.ASCII``: ``\w``, ``\d``, ``\s`` and ``\b`` mean ASCII characters only, as for `Regex`.
    dialect : {"auto", "lark", "gbnf", "llguidance"}
        The notation: Lark's; GBNF, that of llama.cpp (XGrammar's EBNF); or llguidance's dialect of Lark. By default the text decides: it is
        Lark's unless Lark lacks a part of it. GBNF takes no options but ``start`` and ``limits``, and llguidance's dialect also takes
        ``max_ignored``.
    limits : Limits, optional
        Budgets of reading the grammar, which includes what Lark does; `guided.compile` has its own.

    Attributes
    ----------
    tables : LalrTables
        Tables built by Lark; they do not include ``max_ignored``.
    start : str
    max_ignored : int or None

    Raises
    ------
    GrammarError
        Lark refuses the grammar, it needs more than an automaton, or the name or file does not exist; with the rule or terminal.
    LimitError
        The grammar is too large.
    TypeError, ArgumentError
        An argument has the wrong type, or its value is unknown.

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
    _source: "Source | None" = field(repr=False)

    @suggest_keywords()
    def __init__(
        self,
        grammar: "GrammarLike",
        start: str | None = None,
        postlex: object | None = None,
        lexer: str = "contextual",
        import_paths: Sequence[str | os.PathLike[str]] = (),
        *,
        allow_files: bool = False,
        max_ignored: int | None = None,
        terminals: Mapping[str, Iterable[str] | Part] | None = None,
        ascii: bool = False,  # noqa: A002 - the name that Regex has
        dialect: Dialect = "auto",
        limits: Limits | None = None,
    ) -> None:
        # Why here: whoever imports the class to recognize grammars does not need Lark.
        from guided.lalr.sources import dialect_of, overridden, source_of, text_of_file

        max_ignored = None if max_ignored is None else whole_number(max_ignored, "max_ignored", least=0)
        limits = Limits.of(limits)
        check_word("dialect", dialect, "auto", "lark", "gbnf", "llguidance")
        if dialect != "lark" and isinstance(grammar, str | os.PathLike):
            text = grammar if isinstance(grammar, str) else text_of_file(Path(grammar))
            notation = dialect if dialect != "auto" else dialect_of(text)
            if notation != "lark":
                options = {
                    "postlex": postlex,
                    "import_paths": import_paths,
                    "allow_files": allow_files,
                    "terminals": terminals,
                }
                options |= {"lexer": lexer != "contextual", "ascii": ascii}
                options |= {"max_ignored": max_ignored is not None} if notation == "gbnf" else {}
                for name in (name for name, given in options.items() if given):
                    raise TypeError(
                        f"{name} is an option of grammars in Lark's notation, and this one is in {_DIALECTS[notation]}"
                    )
                from guided.engine.llguidance import tables_of_llguidance
                from guided.lalr.gbnf import tables_of_gbnf

                if notation == "gbnf":
                    tables, start = tables_of_gbnf(text, start or "root", limits)
                else:
                    tables, start = tables_of_llguidance(text, start or "start", limits)
                self._set(tables, start, max_ignored, None)
                return
        source = source_of(grammar, start or "start", postlex, lexer, import_paths, allow_files)
        if not isinstance(ascii, bool):
            raise TypeError(f"ascii must be True or False, not {shown(ascii)}")
        if ascii:
            if source.lark is not None:
                raise TypeError("a Lark object carries its own g_regex_flags: leave out ascii")
            source = replace(source, flags=re.ASCII)
        if terminals is not None and not isinstance(terminals, Mapping):
            raise TypeError(f"terminals must be a dict, not {type(terminals).__name__}")
        if terminals:
            from guided.engine.terminals import definition

            source = overridden(source, {name: definition(name, given, limits) for name, given in terminals.items()})
        tables = source.tables(limits)
        self._set(tables, source.start, max_ignored, source)
        start_of(tables, source.start)

    def _set(self, tables: LalrTables, start: str, max_ignored: int | None, source: "Source | None") -> None:
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
        """SHA-256 in hex of the tables and the start: grammars that Lark compiles to the same tables are equal."""
        return fingerprint_of("grammar", self.data)

    @property
    def data(self) -> str:
        """The tables as text, with the Unicode version of its patterns."""
        content = {"tables": packed(self.tables), "start": self.start, "unicode": unicodedata.unidata_version}
        return text_of(content if self.max_ignored is None else {**content, "max_ignored": self.max_ignored})

    @classmethod
    def from_data(cls, data: str, limits: Limits | None = None) -> "Grammar":
        """Return the spec that `data` describes; it has no parser.

        Raises
        ------
        ValueError
            The text does not describe such a spec, or needs another Unicode version than this Python's.
        """
        content = value_of(data, limits)
        try:
            version, start = content["unicode"], str(content["start"])
            tables = unpacked(content["tables"], limits)
            start_of(tables, start)
            bound = content.get("max_ignored")
            bound = None if bound is None else whole_number(bound, "max_ignored", least=0)
        except (KeyError, TypeError, GrammarError) as error:
            raise ValueError(f"not a valid grammar: {error}") from error
        if version != unicodedata.unidata_version:
            raise ValueError(
                f"its patterns mean characters of Unicode {version}, and this Python has {unicodedata.unidata_version}"
            )
        spec = cls.__new__(cls)
        spec._set(tables, start, bound, None)
        return spec

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """Return the automaton of the texts.

        Raises
        ------
        GrammarError
            A terminal needs more than a finite automaton, or the language is empty.
        LimitError
        VocabularyError
            Valid texts exist, but all need bytes that the alphabet lacks.
        """
        return lower(self.tables, self.start, self.max_ignored, limits, alphabet)

    def review(self) -> list[Finding]:
        """Return findings for the author of the grammar: conflicts, dead ends, lookaheads, each with a short example if there is one.

        Raises
        ------
        GrammarError, LimitError
            As `pushdown`.
        """
        machine = machine_of(self.tables, self.start, self.max_ignored, Limits(), bytes([1] * 256))
        if machine.is_empty:
            raise GrammarError(NO_TEXT, self.start)
        return review(machine, self._prefix_positions())

    def prefix_position(self, text: bytes) -> PrefixPosition | None:
        """Return the current lexeme and the expected terminals after the beginning of a text. O(bytes + size of the grammar).

        None if Lark's lexer or parser rejects the text, and for GBNF, whose texts have no lexemes.

        Raises
        ------
        LimitError
            The text leads to too many stacks of the parser.
        """
        return None if self.tables.lexer.is_scannerless else self._prefix_positions().of(text)

    def _prefix_positions(self) -> PrefixPositions:
        # Why new ones: they keep the stacks of their texts, and threads share the grammar.
        return PrefixPositions(self.tables, _scanner(self.tables, self.max_ignored), start_of(self.tables, self.start))

    @property
    def can_parse(self) -> bool:
        """Whether `parse` works, which it does not for other notations than Lark's and for a grammar from an index file."""
        return self._source is not None

    def parse(self, text: str) -> Any:
        """Return Lark's parse of a text; ``max_ignored`` does not apply.

        Raises
        ------
        GrammarError
            The text is not in the language, or the spec has no parser (`can_parse`).
        LimitError
            The text nests too deeply for Lark.
        """
        if self._source is None:
            raise GrammarError(
                "other notations than Lark's and a grammar loaded from an index file have no parser: create the spec from a text for Lark",
                self.start,
            )
        return self._source.parse(text)

    def read(self, text: str) -> Any:
        """Return what `parse` does, or the text itself if there is no parser."""
        return self.parse(text) if self.can_parse else text


@lru_cache(maxsize=8)
def _scanner(tables: LalrTables, max_ignored: int | None) -> Scanner:
    return bounded(tables, max_ignored, Limits())
