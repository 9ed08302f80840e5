"""The functions that make generators of texts without values in them: `regex`, `choice`.

Apart from those of calls and JSON, so that who needs none of these does not pay for their import.
"""

from collections.abc import Iterable
from typing import Literal

from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex, Spec, StackSpec
from guided.errors import IndexFormatError, shown
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.scoring import ScoredChoice
from guided.limits import Limits

__all__ = ["choice", "index_of", "regex"]


def regex(
    model: LanguageModel,
    pattern: str | Regex,
    *,
    ascii: bool = False,  # noqa: A002 - the name that Regex has
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator:
    r"""Texts that a regular expression matches from end to end.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    pattern : str or Regex
        Python's ``re`` syntax.
    ascii : bool
        Read the pattern as under ``re.ASCII``: ``\d`` means 0 to 9. A `Regex` has its own.
    index : Index, optional
        Of the same pattern for the model's vocabulary, compiled before.
    limits : Limits, optional
        Budgets of the compile.

    Returns
    -------
    Generator
        Its results' ``value`` is the text.

    Raises
    ------
    PatternError
        The pattern is malformed, or asks for what no automaton can do.
    LimitError
        A budget of the compile is passed.
    VocabularyError
        The vocabulary can not spell any matching text, or the index was compiled for another vocabulary.
    IndexFormatError
        The index is of another pattern.
    TypeError
        ``ascii`` is given beside a `Regex`.
    """
    if isinstance(pattern, Regex):
        if ascii:
            raise TypeError("a Regex has its own ascii: give Regex(pattern, ascii=True)")
        spec = pattern
    else:
        spec = Regex(pattern, ascii=ascii)
    return Generator(model, index_of(spec, model, index, limits))


def choice(
    model: LanguageModel,
    options: Iterable[str] | Choice,
    *,
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator:
    """Exactly one of some texts.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    options : iterable of str, or Choice
        At least one, none twice.
    select : {"greedy", "score"}
        ``"greedy"`` chooses token by token, as every generator does; that is myopic, since the best first token may lead
        to a bad option. ``"score"`` takes the option with the highest mean log-probability per token; it costs one
        forward pass for each prefix that an option goes on from (`guided.generate.scoring`).
    index, limits
        As in `regex`.

    Returns
    -------
    Generator
        Its results' ``value`` is the option.

    Raises
    ------
    SchemaError
        There is no option, or one stands twice.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    """
    if select not in ("greedy", "score"):
        raise ValueError(f"select is 'greedy' or 'score', not {shown(select)}")
    spec = options if isinstance(options, Choice) else Choice(options)
    if select == "score":
        return ScoredChoice(model, index_of(spec, model, index, limits), spec.options)
    return Generator(model, index_of(spec, model, index, limits))


def index_of(spec: Spec | StackSpec, model: LanguageModel, index: Index | None, limits: Limits | None) -> Index:
    """The given index, checked against the spec, or one compiled now; raises as `regex`."""
    check_model(model)
    if index is None:
        return compile(spec, model.vocabulary, limits)
    if not isinstance(index, Index):
        raise TypeError(f"index must be an Index, as guided.compile returns it, not {type(index).__name__}")
    if index.spec_fingerprint != spec.fingerprint:
        raise IndexFormatError(
            f"the index was compiled from another spec ({index.spec_fingerprint[:12]}) than the one given "
            f"({spec.fingerprint[:12]})"
        )
    return index
