"""`compose`: the index of a composition."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from guided.automata.automaton import Automaton
from guided.engine.algebra import Composition
from guided.engine.composed import Composed
from guided.engine.network import network_of, nfa_of
from guided.engine.specs import Lowered, StackSpec
from guided.index.composition import CompositionIndex, PartIndex
from guided.index.regular import RegularIndex, build_regular
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["ComposedIndex", "compose"]


class ComposedIndex(NamedTuple):
    """The tables of a composition.

    Attributes
    ----------
    tables : RegularIndex or CompositionIndex
        Regular if all leaves are.
    spec : Composed
        For index files.
    unenforced : tuple of (str, str)
    notes : tuple of str
        Of all parts.
    """

    tables: RegularIndex | CompositionIndex
    spec: Composed
    unenforced: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def compose(
    spec: Composition | Composed,
    vocabulary: Vocabulary,
    limits: Limits,
    alphabet: bytes,
    tables_of: Callable[[StackSpec], tuple[PartIndex, Lowered]],
    *,
    merges: bool = True,
) -> ComposedIndex:
    """Return the index of a composition.

    Parameters
    ----------
    spec : Composition or Composed
    vocabulary : Vocabulary
        Special tokens named in the spec have bytes in it.
    limits : Limits
    alphabet : bytes
        256 flags: 1 for each byte that has a token of its own.
    tables_of : callable
        Returns the index of a spec with a stack.
    merges : bool
        As in `network_of`.

    Raises
    ------
    LimitError, PatternError, SchemaError, GrammarError, VocabularyError
        As `guided.compile`.
    """
    tree = spec.tree if isinstance(spec, Composed) else spec
    origin = Composed(tree, spec.fingerprint, limits)
    network = network_of(nfa_of(tree, limits), limits, alphabet, merges=merges)
    frame = network.frame
    if not network.parts:
        whole = Automaton.from_table(frame.table, frame.classes, frame.accepting)
        return ComposedIndex(build_regular(whole, vocabulary, limits), origin)
    unenforced: dict[tuple[str, str], None] = {}
    notes: dict[str, None] = {}
    parts: list[PartIndex] = []
    # Equal specs share an index: hundreds of tools may have the same arguments.
    known: dict[str, tuple[PartIndex, Lowered]] = {}
    for leaf in network.parts:
        if leaf.lowered is not None:
            fingerprint = leaf.lowered.fingerprint
            if fingerprint not in known:
                known[fingerprint] = tables_of(leaf.lowered)
            tables, lowered = known[fingerprint]
            parts.append(tables)
            unenforced.update(dict.fromkeys(lowered.unenforced))
            notes.update(dict.fromkeys(lowered.notes))
        else:
            assert leaf.automaton is not None
            letters = np.frombuffer(alphabet, np.bool_)
            parts.append(build_regular(leaf.automaton.within(letters), vocabulary, limits))
        notes.update(dict.fromkeys(getattr(leaf.spec, "notes", ())))
    # The index of the frame keeps what leads to a part or to the end.
    is_exit = frame.accepting.copy()
    is_exit[list(network.calls)] = True
    outline = Automaton.from_canonical(frame.table, frame.classes, is_exit, frame.labels)
    budgets = [-1 if leaf.max_tokens is None else leaf.max_tokens for leaf in network.parts]
    composed = CompositionIndex(
        build_regular(outline, vocabulary, limits), frame.accepting, network.calls, parts, budgets, vocabulary, limits
    )
    return ComposedIndex(composed, origin, tuple(unenforced), tuple(notes))
