"""`Labeled`: the automaton of strings, keys or numbers that satisfy a formula, and what its labels say about other formulas.

It accepts the texts that satisfy the required formula; the label of an accepting state determines which observed formulas hold.
"""

from dataclasses import dataclass

from guided.automata.automaton import Automaton

__all__ = ["DIRECT", "Labeled"]

# With more observed formulas than this, labels are indices of vectors.
DIRECT = 20


@dataclass(frozen=True, slots=True)
class Labeled:
    """An automaton and the meaning of its labels.

    Attributes
    ----------
    automaton : Automaton
        Every state is live, unless the language is empty. Minimal, but for states within and between characters that are equal.
    vectors : tuple of int
        The bits of each label: bit i is set if observed formula i holds. Empty if labels are the bits themselves.
    cost : int
        Steps of a call (`Limits.call_steps`) that making it takes, besides one for each state.
    """

    automaton: Automaton
    vectors: tuple[int, ...] = ()
    cost: int = 0

    def bits(self, label: int) -> int:
        """Return which observed formulas hold at an accepting state with this label."""
        return self.vectors[label] if self.vectors else label
