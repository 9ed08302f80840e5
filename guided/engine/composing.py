"""`compose`: the index of a composition."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from guided.automata.automaton import Automaton
from guided.engine.algebra import Composition
from guided.engine.composed import Composed
from guided.engine.located import at_place
from guided.engine.network import Network, network_of, trimmed
from guided.engine.specs import NO_TEXT, NO_VALUE, Lowered, StackSpec
from guided.errors import GrammarError, GuidedError, LimitError, SchemaError, VocabularyError, brief
from guided.index.composition import CompositionIndex, PartIndex
from guided.index.regular import RegularIndex, build_regular
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["ComposedIndex", "compose"]


class ComposedIndex(NamedTuple):
    """The tables of a composition."""

    # Regular if all leaves are.
    tables: RegularIndex | CompositionIndex
    # For index files.
    spec: Composed
    unenforced: tuple[tuple[str, str], ...] = ()
    # Of all parts.
    notes: tuple[str, ...] = ()


def compose(
    spec: Composition | Composed,
    vocabulary: Vocabulary,
    limits: Limits,
    tables_of: Callable[[StackSpec], tuple[PartIndex, Lowered]],
    *,
    merges: bool = True,
) -> ComposedIndex:
    """Return the index of a composition.

    ``tables_of`` returns the index of a spec with a stack.
    ``merges``: as in `network_of`.

    Raises
    ------
    LimitError, PatternError, SchemaError, GrammarError, VocabularyError
        As `guided.compile`.
    """
    tree = spec.tree if isinstance(spec, Composed) else spec
    origin = Composed(tree, spec.fingerprint, limits)
    network = network_of(tree, limits, merges=merges)
    # A part without a text is an alternative less, wherever it comes from.
    notes = dict.fromkeys(
        f"{brief(text, 80)} has no text: what it excludes is in its stop string" for text in network.empty
    )
    if not network.parts:
        if network.frame.is_empty():
            raise _no_text(network)
        return ComposedIndex(build_regular(network.frame, vocabulary, limits), origin, (), tuple(notes))
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
                    found, lowered = tables_of(leaf.lowered)
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
    return ComposedIndex(composed, origin, tuple(unenforced), tuple(notes))


def _no_text(network: Network) -> VocabularyError:
    if network.frame.is_empty():
        of_texts = f": {', '.join(brief(text, 80) for text in network.empty[:3])}" if network.empty else ""
        return VocabularyError(f"the language is empty: no text matches{of_texts}")
    return VocabularyError("every text of the composition needs a byte that has no token of its own in the vocabulary")
