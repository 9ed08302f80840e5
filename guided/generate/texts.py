"""Factory functions for generators of plain text: `regex`, `choice`.

Separate from those of calls and JSON, so that programs without these do not import them.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.engine.specs import AnySpec, Choice, Regex, TextOrMember
from guided.errors import IndexFormatError
from guided.generate.generator import Generator, check_index
from guided.generate.model import LanguageModel, check_model
from guided.generate.weighing import WeighedChoice
from guided.keywords import refuse_options_of, suggest_keywords
from guided.limits import Limits

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = ["choice", "index_of", "regex"]

T = TypeVar("T")


@refuse_options_of(re.Pattern, "pattern", "ascii")
@refuse_options_of(Regex, "pattern", "ascii")
@suggest_keywords()
def regex(
    model: LanguageModel,
    pattern: "str | re.Pattern[str] | Regex",
    *,
    ascii: bool = False,  # noqa: A002 - the name that Regex has
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[str]:
    r"""Generate text that a regular expression matches in full.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    pattern : str, compiled pattern or Regex
        Python's ``re`` syntax.
    ascii : bool
        Compile the pattern with ``re.ASCII``: ``\d`` means 0 to 9. A compiled pattern or `Regex` has its own flag.
    index : Index, optional
        An index of the same pattern for the model's vocabulary.
    limits : Limits, optional
        Compile budgets.

    Returns
    -------
    Generator
        ``value`` of its results is the text.

    Raises
    ------
    PatternError
        The pattern is malformed, or uses a construct that no automaton can express.
    LimitError
        A compile budget is exceeded.
    VocabularyError
        The vocabulary cannot spell any matching text, or the index was compiled for another vocabulary.
    IndexFormatError
        The index was compiled from another pattern.
    TypeError
        ``ascii`` is given together with a `Regex`.
    """
    check_model(model)
    if isinstance(pattern, re.Pattern):
        pattern = Regex.of(pattern)
    spec = pattern if isinstance(pattern, Regex) else Regex(pattern, ascii=ascii)
    return Generator(model, index_of(spec, model, index, limits), limits=limits)


class ChoiceOptions(TypedDict, total=False):
    """Keyword arguments of `choice`."""

    probabilities: bool
    tolerance: float | None
    index: Index | None
    limits: Limits | None


@overload
def choice(model: LanguageModel, options: Choice[T], **how: Unpack[ChoiceOptions]) -> Generator[T]: ...


@overload
def choice(
    model: LanguageModel, options: Iterable[TextOrMember], **how: Unpack[ChoiceOptions]
) -> Generator[TextOrMember]: ...


@overload
def choice(model: LanguageModel, options: "TypeForm[T]", **how: Unpack[ChoiceOptions]) -> Generator[T]: ...


@suggest_keywords()
def choice(
    model: LanguageModel,
    options: Any,
    *others: Any,
    probabilities: bool = False,
    tolerance: float | None = None,
    index: Index | None = None,
    limits: Limits | None = None,
) -> Generator[Any]:
    """Generate exactly one of the options.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    options : iterable of str, numbers and Enum members, Enum class, Literal, or Choice
        At least one, all distinct; see `Choice`.
    probabilities : bool
        Compute the probability of each option under the model, given that it says one of them: choosing token by token is myopic, because
        the best first token may lead to a bad option. ``probabilities`` of the result has them; its ``value`` is the most probable option,
        or with ``temperature=1`` one drawn by them. All spellings of an option in tokens count. Costs one forward pass for each prefix of
        an option that is likely enough to matter.
    tolerance : float, optional
        Greatest error of a probability, by default 1e-4; only with ``probabilities=True``. Options that are less probable may be missing. 0
        evaluates every spelling of every option, of which long options have very many.
    index, limits
        As in `regex`.

    Returns
    -------
    Generator
        ``value`` of its results is the option: a str, an Enum member, or the value in a Literal.

    Raises
    ------
    SchemaError
        There is no option, or two have the same text.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    """
    check_model(model)
    if others:
        raise TypeError("the options are one argument: pass a list, as in guided.choice(model, ['yes', 'no'])")
    spec: Choice[Any] = options if isinstance(options, Choice) else Choice(options)
    if probabilities:
        tolerance = 1e-4 if tolerance is None else tolerance
        return WeighedChoice(model, index_of(spec, model, index, limits), spec, tolerance, limits)
    if tolerance is not None:
        raise ValueError("tolerance is for probabilities=True")
    return Generator(model, index_of(spec, model, index, limits), spec.read, limits=limits)


def index_of(spec: AnySpec, model: LanguageModel, index: Index | None, limits: Limits | None) -> Index:
    """Return the given index after checking it against the spec, or compile one; raises as `regex` does."""
    if index is None:
        return compile(spec, model.vocabulary, limits)
    check_index(index)
    if index.spec_fingerprint != spec.fingerprint:
        raise IndexFormatError(
            f"the index was compiled from another spec ({index.spec_fingerprint[:12]}) than the one given "
            f"({spec.fingerprint[:12]})"
        )
    return index
