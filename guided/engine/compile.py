"""`compile`: spec x vocabulary -> index. `compose`: the index of a composition, whose parts have indices of their own."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from guided.automata.automaton import Automaton
from guided.engine.algebra import Composition, check_levels
from guided.engine.composed import Composed
from guided.engine.index import Index, Origin
from guided.engine.located import at_place
from guided.engine.network import Network, network_of, trimmed
from guided.engine.specs import (
    NO_TEXT,
    NO_VALUE,
    AnySpec,
    Lowered,
    Regex,
    StackSpec,
    StoredSpec,
    impossible_parts,
    needs_stack,
    reads_values,
)
from guided.errors import (
    GrammarError,
    GuidedError,
    LimitError,
    PatternError,
    SchemaError,
    VocabularyError,
    brief,
    kind_of,
)
from guided.index.composition import CompositionIndex, PartIndex
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex, build_regular
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary, markers_in, with_markers

__all__ = ["compile", "compose", "remake"]


class Made(NamedTuple):
    """The tables of a spec."""

    tables: RegularIndex | PushdownIndex | CompositionIndex
    # For index files; None if the spec is a finite automaton.
    source: StoredSpec | None
    unenforced: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def compile(spec: AnySpec | Composed, vocabulary: Vocabulary, limits: Limits | None = None) -> Index:  # noqa: A001 - the contract's name
    """Compile a spec over a vocabulary; parameters, results and errors are those of `guided.calls.inputs.compile`.

    O(trie nodes) look-ups and O(states) for each distinct transition function; see docs/design.md.
    """
    is_composed = isinstance(spec, Composition | Composed)
    if isinstance(spec, type) or not (is_composed or needs_stack(spec) or _is_lowered(spec)):
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
    tables, source, unenforced, notes = _made(spec, spelling, limits)
    if source is not None and 0 in spelling.alphabet:
        # Only for specs with a stack: their strings may need any byte.
        notes += ("strings that need bytes the vocabulary cannot encode are excluded",)
    written = spec.tree if isinstance(spec, Composed) else spec
    reader = written if reads_values(written) else None
    if isinstance(tables, RegularIndex):
        if source is not None:
            # An index without its spec cannot search them later.
            notes += impossible_parts(source, limits)
        return Index(tables, vocabulary, spec.fingerprint, unenforced, notes, None, brief(spec, 110), reader)
    assert source is not None
    # The name of a spec that is stored is found when it is asked for.
    summary = "" if source is spec else brief(spec, 110)
    return Index(tables, vocabulary, "", unenforced, notes, Origin(remake, source, limits), summary, reader)


def _made(spec: AnySpec | Composed, vocabulary: Vocabulary, limits: Limits) -> Made:
    """Return the tables of a spec over a vocabulary with its markers."""
    if isinstance(spec, Composition | Composed):
        check_levels(spec.levels, limits)
        return compose(spec, vocabulary, limits)
    source = spec if needs_stack(spec) else spec.lower(limits)
    if isinstance(source, Automaton):
        if isinstance(spec, Regex) and source.is_empty():
            reason = "the pattern matches no text: a lookaround or anchor requires what never comes"
            raise PatternError(reason, spec.pattern, 0)
        return Made(build_regular(source, vocabulary, limits), None, (), getattr(spec, "notes", ()))
    tables, lowered = _tables_of(source, vocabulary, limits)
    return Made(tables, source, lowered.unenforced, lowered.notes)


def _tables_of(spec: StackSpec, vocabulary: Vocabulary, limits: Limits) -> tuple[PushdownIndex | RegularIndex, Lowered]:
    """Return the index of a spec with a stack, regular if that is wanted and possible, and what it is lowered to. Raises as `StackSpec`."""
    alphabet = vocabulary.alphabet
    lowered = spec.pushdown(limits, alphabet)
    flat = None if lowered.flat is None else lowered.flat()
    if flat is not None:
        return build_regular(flat, vocabulary, limits), lowered
    tables = PushdownIndex(
        lowered.automaton,
        vocabulary,
        limits,
        lowered.family,
        lowered.n_common,
        lowered.masks,
        lambda: spec.pushdown(limits, alphabet).automaton,
        lowered.last_bytes,
    )
    return tables, lowered


def compose(
    spec: Composition | Composed,
    vocabulary: Vocabulary,
    limits: Limits,
    *,
    merges: bool = True,
) -> Made:
    """Return the index of a composition.

    ``merges``: as in `network_of`.

    Raises
    ------
    LimitError, PatternError, SchemaError, GrammarError, VocabularyError
        As `guided.compile`.
    """
    tree = spec.tree if isinstance(spec, Composed) else spec
    network = network_of(tree, limits, merges=merges)
    # A part without a text is an alternative less, wherever it comes from.
    notes = dict.fromkeys(
        f"{brief(text, 80)} has no text: what it excludes is in its stop string" for text in network.empty
    )
    if not network.parts:
        if network.frame.is_empty():
            raise _no_text(network)
        return Made(build_regular(network.frame, vocabulary, limits), None, (), tuple(notes))
    # PERF: before the parts are lowered, of which hundreds would take seconds.
    if max(map(len, network.calls.values()), default=0) > limits.readings:
        raise LimitError("readings", limits.readings + 1, limits.readings, "the text can be read in too many ways")
    unenforced: dict[tuple[str, str], None] = {}
    letters = np.frombuffer(vocabulary.alphabet, np.bool_)
    tables: list[PartIndex | None] = []
    errors: list[GuidedError] = []
    # Parts that differ only in their budget share an index.
    known: dict[Automaton, PartIndex] = {}
    for leaf in network.parts:
        try:
            if leaf.lowered is not None:
                with at_place(leaf.place):
                    found, lowered = _tables_of(leaf.lowered, vocabulary, limits)
                unenforced.update(dict.fromkeys(lowered.unenforced))
                notes.update(dict.fromkeys(lowered.notes))
            else:
                assert leaf.automaton is not None
                if leaf.automaton not in known:
                    known[leaf.automaton] = build_regular(leaf.automaton.within(letters), vocabulary, limits)
                found = known[leaf.automaton]
            tables.append(found)
            notes.update(dict.fromkeys(getattr(leaf.spec, "notes", ())))
        except (SchemaError, GrammarError, VocabularyError) as error:
            if not isinstance(error, VocabularyError) and error.reason not in (NO_TEXT, NO_VALUE):
                raise
            note = f"{brief(leaf.spec, 80)} has no text: {error}"
            errors.append(VocabularyError(note) if isinstance(error, VocabularyError) else error)
            tables.append(None)
            notes[note] = None
    kept = trimmed(network, letters, [each is None for each in tables])
    if kept is None:
        raise errors[0] if errors else _no_text(network)
    frame = kept.frame
    # The index of the frame keeps what leads to a part or to the end.
    is_exit = frame.accepting.copy()
    is_exit[list(kept.calls)] = True
    outline = Automaton(frame.table, frame.classes, is_exit, frame.labels)
    composed = CompositionIndex(
        build_regular(outline, vocabulary, limits),
        frame.accepting,
        kept.calls,
        [each for each in tables if each is not None],
        [-1 if leaf.max_tokens is None else leaf.max_tokens for leaf in kept.parts],
        vocabulary,
        limits,
    )
    return Made(composed, Composed(tree, spec.fingerprint, limits), tuple(unenforced), tuple(notes))


def _no_text(network: Network) -> VocabularyError:
    if network.frame.is_empty():
        of_texts = f": {', '.join(brief(text, 80) for text in network.empty[:3])}" if network.empty else ""
        return VocabularyError(f"the language is empty: no text matches{of_texts}")
    return VocabularyError("every text of the composition needs a byte that has no token of its own in the vocabulary")


def _is_lowered(spec: object) -> bool:
    """Return whether an object is a `Spec`; does not compute its fingerprint if that is a property."""
    return callable(getattr(spec, "lower", None)) and (
        hasattr(type(spec), "fingerprint") or hasattr(spec, "fingerprint")
    )


def remake(origin: Origin, vocabulary: Vocabulary) -> Index:
    """Return the index of an origin. Raises as `compile`."""
    spec = origin.spec
    assert needs_stack(spec) or isinstance(spec, Composed)
    return compile(spec, vocabulary, origin.limits)


def _advice_on(given: object) -> str:
    """Return a hint how to obtain a vocabulary from another object."""
    has_one = isinstance(getattr(given, "vocabulary", None), Vocabulary)
    return "give its attribute vocabulary" if has_one else "Vocabulary.from_tokenizer(...) makes one"
