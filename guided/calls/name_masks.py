"""`NameMasks`: masks for calls of many tools, with the states of names created in one batch.

If a mask is needed at a place within names, each of its tokens may continue a name. The tries of tokens and names are therefore intersected
first (`guided.calls.names`), and the common places become controls before the mask is computed.
"""

from guided.automata.pushdown import Pushdown
from guided.index.plans import WalkTrie
from guided.index.pushdown_masks import Masks
from guided.schema.pushdown.embedding import Embedding
from guided.schema.pushdown.frames import SubTrie

__all__ = ["NameMasks"]


class NameMasks(Masks):
    """Computes the masks of one inventory."""

    @staticmethod
    def foresee(automaton: Pushdown, entry: int, trie: WalkTrie, begin: int, end: int) -> None:
        """See `MaskMaker`."""
        assert isinstance(automaton, Embedding), "values in calls are embedded"
        if entry >= 0 and begin < end:
            automaton.foresee(entry, SubTrie(trie.byte, trie.depth, trie.skip, begin, end))
