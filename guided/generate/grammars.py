"""Factory function for generators of text by a grammar: `grammar`."""

import os
from typing import TYPE_CHECKING, Any, Unpack, overload

from guided.engine.grammar import Grammar, GrammarOptions
from guided.engine.index import Index
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.texts import index_of
from guided.keywords import refuse_options_of, suggest_keywords
from guided.limits import Limits

if TYPE_CHECKING:
    from guided.lalr.sources import GrammarLike, ParseTree

__all__ = ["grammar"]


@overload
def grammar(
    model: LanguageModel,
    grammar: str | os.PathLike[str],
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[GrammarOptions],
) -> "Generator[ParseTree]": ...


@overload
def grammar(
    model: LanguageModel,
    grammar: "Grammar | GrammarLike",
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[GrammarOptions],
) -> Generator[Any]: ...


@refuse_options_of(Grammar, "grammar")
@suggest_keywords(GrammarOptions)
def grammar(
    model: LanguageModel,
    grammar: "Grammar | GrammarLike",
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[GrammarOptions],
) -> Generator[Any]:
    """Generate text that Lark parses with a grammar.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    grammar : Grammar, str, path or lark.Lark
        As in `Grammar`: a grammar's text, a name such as ``"json"`` or ``"python"``, a `pathlib.Path`, a Lark object.
    index : Index, optional
        An index of the same grammar for the model's vocabulary.
    limits : Limits, optional
        Compile budgets.
    **options
        Options of `Grammar`, such as ``start`` and ``max_ignored``. A `Grammar` object has its own.

    Returns
    -------
    Generator
        ``value`` of its results is Lark's tree of the text; for a Lark object with a transformer, the transformed tree. In other dialects
        it is the text.

    Raises
    ------
    GrammarError
        Lark rejects the grammar, no text can be parsed with it, or it uses a construct that no automaton can express; names the rule or
        terminal.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    TypeError
        An argument has the wrong type.
    """
    check_model(model)
    spec = grammar if isinstance(grammar, Grammar) else Grammar(grammar, **options)
    return Generator(model, index_of(spec, model, index, limits), spec.read, limits=limits)
