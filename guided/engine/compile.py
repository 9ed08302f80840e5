"""`compile`: spec x vocabulary -> index."""

from collections.abc import Hashable
from functools import lru_cache
from typing import cast

from guided.automata.automaton import Automaton
from guided.engine.index import Index, Origin
from guided.engine.specs import Spec, StackSpec
from guided.errors import LimitError, VocabularyError, brief
from guided.index.pushdown import PushdownIndex, Shared
from guided.index.regular import build_regular
from guided.keywords import suggest_keywords
from guided.limits import Limits
from guided.vocabulary.markers import with_markers
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["compile", "remake"]

_USUAL = Limits()


@suggest_keywords()
def compile(spec: Spec | StackSpec, vocabulary: Vocabulary, limits: Limits | None = None) -> Index:  # noqa: A001 - the contract's name
    """Compile what may be said for a model's vocabulary.

    Parameters
    ----------
    spec : Regex, Choice, Tools, JsonSchema or Grammar
        What may be said.
    vocabulary : Vocabulary
        The tokens of the model.
    limits : Limits, optional
        Budgets; the defaults hold a compile under about 5 s and 1 GB.

    Returns
    -------
    Index
        Immutable and thread-safe.

    Raises
    ------
    PatternError, SchemaError, GrammarError
        The spec is malformed or cannot be enforced; with its place.
    VocabularyError
        The vocabulary cannot spell any text of the spec.
    LimitError
        A budget is passed.
    TypeError
        An argument is of another type.

    Notes
    -----
    O(trie nodes) look-ups and O(states) for each distinct transition function; see docs/design.md.
    """
    # PERF: isinstance of a protocol asks for its members one by one, at a fifth of a small compile.
    has_stack = callable(getattr(spec, "pushdown", None))
    if isinstance(spec, type) or not (has_stack or isinstance(spec, Spec)):
        given = f"the class {spec.__name__}" if isinstance(spec, type) else type(spec).__name__
        raise TypeError(f"a spec is expected (Regex, Choice, Tools, JsonSchema, Grammar), not {given}")
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"a Vocabulary is expected, not {type(vocabulary).__name__}: {_advice_on(vocabulary)}")
    if limits is None:
        limits = _USUAL
    elif not isinstance(limits, Limits):
        raise TypeError(f"limits are a Limits, not {type(limits).__name__}")
    if vocabulary.size > limits.tokens:
        raise LimitError("tokens", vocabulary.size, limits.tokens, "the vocabulary is too wide")
    if vocabulary.trie.max_depth > limits.token_length:
        raise LimitError("token_length", vocabulary.trie.max_depth, limits.token_length, "a token is too long")
    if has_stack:
        stacked = cast("StackSpec", spec)
        return _with_stack(stacked, vocabulary, limits, with_markers(vocabulary, getattr(spec, "markers", ())))
    # Of the special tokens, those that a call format begins and ends its calls with are text to it.
    spelling = with_markers(vocabulary, getattr(spec, "markers", ()))
    lowered = cast("Spec", spec).lower(limits)
    if not isinstance(lowered, Automaton):
        return _with_stack(lowered, vocabulary, limits, spelling, brief(spec, 110))
    notes: tuple[str, ...] = getattr(spec, "notes", ())
    return Index(
        build_regular(lowered, spelling, limits), vocabulary, spec.fingerprint, notes=notes, summary=brief(spec, 110)
    )


def _with_stack(
    spec: StackSpec, vocabulary: Vocabulary, limits: Limits, spelling: Vocabulary, summary: str = ""
) -> Index:
    if not vocabulary.eos:
        raise VocabularyError("the vocabulary has no EOS token: pass eos=[...] so that a text can end")
    alphabet = _alphabet(spelling)
    lowered = spec.pushdown(limits, alphabet)
    shared = _shared(spelling, lowered.family)
    tables = PushdownIndex(
        lowered.automaton,
        spelling,
        limits,
        shared,
        lowered.n_common,
        lowered.masks,
        lambda: spec.pushdown(limits, alphabet).automaton,
    )
    notes = lowered.notes
    if not all(alphabet):
        notes = (*notes, "texts that need bytes without a token of their own are left out")
    origin = Origin(remake, spec, limits)
    return Index(tables, vocabulary, spec.fingerprint, lowered.unenforced, notes, origin, summary)


def remake(origin: Origin, vocabulary: Vocabulary) -> Index:
    """The index of an origin. Raises as `compile`."""
    return compile(origin.spec, vocabulary, origin.limits)


@lru_cache(maxsize=16)
def _alphabet(vocabulary: Vocabulary) -> bytes:
    """256 bytes, 1 for each byte that has a token of its own."""
    missing = vocabulary.missing_bytes
    return bytes(byte not in missing for byte in range(256))


@lru_cache(maxsize=16)
def _shared(vocabulary: Vocabulary, _family: Hashable) -> Shared:
    """What the indices of one family of automata over a vocabulary share."""
    return Shared(vocabulary)


def _advice_on(given: object) -> str:
    """How to come from something else to a vocabulary."""
    has_one = isinstance(getattr(given, "vocabulary", None), Vocabulary)
    return "give its attribute vocabulary" if has_one else "Vocabulary.from_tokenizer(...) makes one"
