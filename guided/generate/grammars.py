"""The function that makes generators of texts by a grammar: `grammar`."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.texts import index_of
from guided.keywords import suggest_keywords
from guided.lalr.sources import GrammarLike
from guided.limits import Limits

if TYPE_CHECKING:
    from guided.lalr.sources import ParseTree

__all__ = ["grammar"]


@overload
def grammar(
    model: LanguageModel,
    grammar: str | os.PathLike[str],
    start: str = "start",
    postlex: object | None = None,
    lexer: str = "contextual",
    import_paths: Sequence[str | os.PathLike[str]] = (),
    *,
    allow_files: bool = False,
    max_ignored: int | None = None,
    index: Index | None = None,
    limits: Limits | None = None,
) -> "Generator[ParseTree]": ...


@overload
def grammar(
    model: LanguageModel,
    grammar: Grammar | GrammarLike,
    start: str = "start",
    postlex: object | None = None,
    lexer: str = "contextual",
    import_paths: Sequence[str | os.PathLike[str]] = (),
    *,
    allow_files: bool = False,
    max_ignored: int | None = None,
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[Any]: ...


@suggest_keywords()
def grammar(
    model: LanguageModel,
    grammar: Grammar | GrammarLike,
    start: str = "start",
    postlex: object | None = None,
    lexer: str = "contextual",
    import_paths: Sequence[str | os.PathLike[str]] = (),
    *,
    allow_files: bool = False,
    max_ignored: int | None = None,
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[Any]:
    """Texts that Lark parses by a grammar.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    grammar : Grammar, str, path or lark.Lark
        What `Grammar` takes: a grammar's text, a name such as ``"json"`` or ``"python"``, a `pathlib.Path`, a Lark object.
    start, postlex, lexer, import_paths, allow_files, max_ignored
        Those of `Grammar`, which brings its own.
    index : Index, optional
        Of the same grammar for the model's vocabulary, compiled before.
    limits : Limits, optional
        Budgets of the compile.

    Returns
    -------
    Generator
        Its results' ``value`` is Lark's tree of the text; of a Lark object with a transformer, what that makes of it.

    Raises
    ------
    GrammarError
        Lark refuses the grammar, no text can be parsed from it, or it asks for what no automaton can do; with the rule or terminal.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    TypeError
        An argument is of another type.
    """
    check_model(model)
    if isinstance(grammar, Grammar):
        spec = grammar
        own = start, postlex, lexer, tuple(import_paths), allow_files, max_ignored
        if own != ("start", None, "contextual", (), False, None):
            raise TypeError("a Grammar has its own start, postlex, lexer, import_paths, allow_files and max_ignored")
    else:
        spec = Grammar(grammar, start, postlex, lexer, import_paths, allow_files=allow_files, max_ignored=max_ignored)
    return Generator(model, index_of(spec, model, index, limits), spec.parse)
