"""The functions that make generators of texts without values in them: `regex`, `choice`.

Apart from those of calls and JSON, so that who needs none of these does not pay for their import.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex, Spec, StackSpec, TextOrMember
from guided.errors import IndexFormatError, shown
from guided.generate.generator import Generator
from guided.generate.model import LanguageModel, check_model
from guided.generate.scoring import ScoredChoice
from guided.keywords import suggest_keywords
from guided.limits import Limits

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = ["choice", "index_of", "regex"]

T = TypeVar("T")


@suggest_keywords()
def regex(
    model: LanguageModel,
    pattern: str | Regex,
    *,
    ascii: bool = False,  # noqa: A002 - the name that Regex has
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[str]:
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
    check_model(model)
    if isinstance(pattern, Regex):
        if ascii:
            raise TypeError("a Regex has its own ascii: give Regex(pattern, ascii=True)")
        spec = pattern
    else:
        spec = Regex(pattern, ascii=ascii)
    return Generator(model, index_of(spec, model, index, limits))


@overload
def choice(
    model: LanguageModel,
    options: Choice[T],
    *,
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[T]: ...


@overload
def choice(
    model: LanguageModel,
    options: Iterable[TextOrMember],
    *,
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[TextOrMember]: ...


@overload
def choice(
    model: LanguageModel,
    options: "TypeForm[T]",
    *,
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[T]: ...


@suggest_keywords()
def choice(
    model: LanguageModel,
    options: Any,
    *,
    select: Literal["greedy", "score"] = "greedy",
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[Any]:
    """Exactly one of some texts.

    Parameters
    ----------
    model : guided.Model
        Gives the logits.
    options : iterable of str, Enum class, Literal, or Choice
        At least one, none twice; see `Choice`.
    select : {"greedy", "score"}
        ``"greedy"`` chooses token by token, as every generator does; that is myopic, since the best first token may lead
        to a bad option. ``"score"`` takes the option with the highest mean log-probability per token; it costs one
        forward pass for each prefix that an option goes on from (`guided.generate.scoring`).
    index, limits
        As in `regex`.

    Returns
    -------
    Generator
        Its results' ``value`` is the option: a str, the member of an Enum, the value in a Literal.

    Raises
    ------
    SchemaError
        There is no option, or two have the same text.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    """
    check_model(model)
    if select not in ("greedy", "score"):
        raise ValueError(f"select is 'greedy' or 'score', not {shown(select)}")
    spec: Choice[Any] = options if isinstance(options, Choice) else Choice(options)
    if select == "score":
        return ScoredChoice(model, index_of(spec, model, index, limits), spec)
    return Generator(model, index_of(spec, model, index, limits), spec.read)


def index_of(spec: Spec | StackSpec, model: LanguageModel, index: Index | None, limits: Limits | None) -> Index:
    """The given index, checked against the spec, or one compiled now; raises as `regex`."""
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
