"""`compile`: spec x vocabulary -> index."""

from guided.engine.index import Index
from guided.engine.specs import Spec
from guided.errors import LimitError
from guided.index.regular import build_regular
from guided.limits import Limits
from guided.vocabulary.markers import with_markers
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["compile"]


def compile(spec: Spec, vocabulary: Vocabulary, limits: Limits | None = None) -> Index:  # noqa: A001 - the contract's name
    """Compile what may be said for a model's vocabulary.

    Parameters
    ----------
    spec : Regex, Choice or Tools
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
    PatternError, SchemaError
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
    if isinstance(spec, type) or not isinstance(spec, Spec):
        given = f"the class {spec.__name__}" if isinstance(spec, type) else type(spec).__name__
        raise TypeError(f"a spec is expected (Regex, Choice, Tools), not {given}")
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            f"a Vocabulary is expected, not {type(vocabulary).__name__}: Vocabulary.from_tokenizer(...) makes one"
        )
    if limits is None:
        limits = Limits()
    elif not isinstance(limits, Limits):
        raise TypeError(f"limits are a Limits, not {type(limits).__name__}")
    if vocabulary.size > limits.tokens:
        raise LimitError("tokens", vocabulary.size, limits.tokens, "the vocabulary is too wide")
    if vocabulary.trie.max_depth > limits.token_length:
        raise LimitError("token_length", vocabulary.trie.max_depth, limits.token_length, "a token is too long")
    # Of the special tokens, those that a call format begins and ends its calls with are text to it.
    spelling = with_markers(vocabulary, getattr(spec, "markers", ()))
    tables = build_regular(spec.lower(limits), spelling, limits)
    return Index(tables, vocabulary, spec.fingerprint)
