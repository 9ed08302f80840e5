"""`NameMasks`: masks of calls of many tools, for which the names that tokens lead to are made at once.

Where a mask asks for what follows a place of names, all its tokens may spell names from there: the trie of tokens and that of names are
walked together (`guided.calls.names`), and what they have in common becomes controls before the walk gets there.
"""

from guided.index.plans import WalkTrie
from guided.index.pushdown_masks import Masks
from guided.schema.embedding import Embedding
from guided.schema.frames import Ahead

__all__ = ["NameMasks"]


class NameMasks(Masks):
    """Makes the masks of one inventory."""

    def foresee(self, entry: int, trie: WalkTrie, begin: int, end: int) -> None:
        """See `MaskMaker`."""
        automaton = self.stacks.automaton
        assert isinstance(automaton, Embedding), "values in calls are embedded"
        if entry >= 0 and begin < end:
            automaton.foresee(entry, Ahead(trie.byte, trie.depth, trie.skip, begin, end))
