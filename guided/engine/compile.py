"""`compile`: spec x vocabulary -> index."""

from collections.abc import Sequence
from typing import Any, cast

from guided.automata.automaton import Automaton
from guided.engine.algebra import COMPOSITION, Composition, check_levels
from guided.engine.composing import compose
from guided.engine.index import Index, Origin
from guided.engine.specs import Lowered, Regex, Spec, StackSpec, StoredSpec, impossible_parts, needs_stack, reads_values
from guided.errors import LimitError, PatternError, VocabularyError, brief, kind_of
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex, build_regular
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary, markers_in, with_markers

__all__ = ["compile", "remake"]


def compile(spec: Spec | StoredSpec | Composition, vocabulary: Vocabulary, limits: Limits | None = None) -> Index:  # noqa: A001 - the contract's name
    """Compile a spec over a vocabulary; parameters, results and errors are those of `guided.calls.inputs.compile`.

    O(trie nodes) look-ups and O(states) for each distinct transition function; see docs/design.md.
    """
    has_stack = needs_stack(spec)
    is_composed = getattr(spec, "kind", "") == COMPOSITION
    if isinstance(spec, type) or not (has_stack or is_composed or _is_lowered(spec)):
        raise TypeError(
            f"expected a spec (Regex, Choice, Tools, JsonSchema, Grammar, a composition), not {kind_of(spec)}"
        )
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"expected a Vocabulary, not {kind_of(vocabulary)}: {_advice_on(vocabulary)}")
    limits = Limits.of(limits)
    if not vocabulary.eos:
        raise VocabularyError("the vocabulary has no EOS token: pass eos=[...] so that a text can end")
    if vocabulary.size > limits.tokens:
        raise LimitError("tokens", vocabulary.size, limits.tokens, "the vocabulary is too wide")
    if vocabulary.trie.max_depth > limits.token_length:
        raise LimitError("token_length", vocabulary.trie.max_depth, limits.token_length, "a token is too long")
    # Special tokens that begin and end calls in a call format are text to that format.
    markers: Sequence[str] = getattr(spec, "markers", ())
    spelling = vocabulary
    if markers:
        spelling = with_markers(vocabulary, markers_in(markers, vocabulary) if is_composed else markers)
    written: Any = spec
    if is_composed:
        index, written = _composed(spec, vocabulary, limits, spelling), getattr(spec, "tree", spec)
    elif has_stack:
        index = _with_stack(cast("StackSpec", spec), vocabulary, limits, spelling)
    elif isinstance(lowered := cast("Spec", spec).lower(limits), Automaton):
        if isinstance(spec, Regex) and lowered.is_empty():
            reason = "the pattern matches no text: a lookaround or anchor requires what never comes"
            raise PatternError(reason, spec.pattern, 0)
        tables, notes = build_regular(lowered, spelling, limits), getattr(spec, "notes", ())
        index = Index(tables, vocabulary, spec.fingerprint, _notes=notes, summary=brief(spec, 110))
    else:
        index = _with_stack(lowered, vocabulary, limits, spelling, brief(spec, 110))
    if reads_values(written):
        object.__setattr__(index, "reader", written)
    return index


def _with_stack(
    spec: StackSpec, vocabulary: Vocabulary, limits: Limits, spelling: Vocabulary, summary: str = ""
) -> Index:
    tables, lowered = _pushdown_tables(spec, spelling, limits)
    notes = (*lowered.notes, *_notes_on(spelling.alphabet))
    if isinstance(tables, RegularIndex):
        # An index without its spec cannot search them later.
        notes += impossible_parts(spec, limits)
        return Index(tables, vocabulary, spec.fingerprint, lowered.unenforced, notes, summary=brief(spec, 110))
    return Index(tables, vocabulary, "", lowered.unenforced, notes, Origin(remake, spec, limits), summary)


def _pushdown_tables(
    spec: StackSpec, spelling: Vocabulary, limits: Limits
) -> tuple[PushdownIndex | RegularIndex, Lowered]:
    alphabet = spelling.alphabet
    lowered = spec.pushdown(limits, alphabet)
    flat = None if lowered.flat is None else lowered.flat()
    if flat is not None:
        return build_regular(flat, spelling, limits), lowered
    tables = PushdownIndex(
        lowered.automaton,
        spelling,
        limits,
        lowered.family,
        lowered.n_common,
        lowered.masks,
        lambda: spec.pushdown(limits, alphabet).automaton,
        lowered.last_bytes,
    )
    return tables, lowered


def _composed(spec: Any, vocabulary: Vocabulary, limits: Limits, spelling: Vocabulary) -> Index:
    check_levels(spec.levels, limits)
    composed = compose(spec, spelling, limits, lambda part: _pushdown_tables(part, spelling, limits))
    if isinstance(composed.tables, RegularIndex):
        fingerprint = composed.spec.fingerprint
        return Index(composed.tables, vocabulary, fingerprint, _notes=composed.notes, summary=brief(spec, 110))
    notes = (*composed.notes, *_notes_on(spelling.alphabet))
    origin = Origin(remake, composed.spec, limits)
    return Index(composed.tables, vocabulary, "", composed.unenforced, notes, origin, summary=brief(spec, 110))


def _is_lowered(spec: Any) -> bool:
    """Return whether an object is a `Spec`; does not compute its fingerprint if that is a property."""
    return callable(getattr(spec, "lower", None)) and (
        hasattr(type(spec), "fingerprint") or hasattr(spec, "fingerprint")
    )


def _notes_on(alphabet: bytes) -> tuple[str, ...]:
    return () if 0 not in alphabet else ("strings that need bytes the vocabulary cannot encode are excluded",)


def remake(origin: Origin, vocabulary: Vocabulary) -> Index:
    """Return the index of an origin. Raises as `compile`."""
    return compile(origin.spec, vocabulary, origin.limits)


def _advice_on(given: object) -> str:
    """Return a hint how to obtain a vocabulary from another object."""
    has_one = isinstance(getattr(given, "vocabulary", None), Vocabulary)
    return "give its attribute vocabulary" if has_one else "Vocabulary.from_tokenizer(...) makes one"
