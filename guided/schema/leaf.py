"""`Leaf`: the automaton of one value without members (a string, a key, a number), and what its labels mean.

A value is read for one formula that must hold and for others that are only observed. The automaton accepts the texts for which
the first holds; the label of an accepting state says which of the others hold.
"""

from dataclasses import dataclass

from guided.automata.automaton import Automaton

__all__ = ["DIRECT", "Leaf"]

# With more formulas observed than this, labels are numbers of vectors.
DIRECT = 20


@dataclass(frozen=True, slots=True)
class Leaf:
    """An automaton and the meaning of its labels.

    Attributes
    ----------
    automaton : Automaton
        Canonical; every state is live, unless nothing satisfies.
    vectors : tuple of int
        The bits that each label stands for: bit i says that observed formula i holds. Empty where a label is those bits itself.
    """

    automaton: Automaton
    vectors: tuple[int, ...] = ()

    def bits(self, label: int) -> int:
        """Which observed formulas hold at an accepting state with this label."""
        return self.vectors[label] if self.vectors else label
