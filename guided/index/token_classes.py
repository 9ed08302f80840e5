"""Classes of the tokens allowed in a configuration, by the configuration they lead to.

Classes are built as masks are (`guided.index.pushdown_masks`). Most tokens stay in the current string or key; their classes do not depend
on the stack and are found once per control. For a token that leaves it, the suffix after the action decides, once for each configuration
that the action leads to.

Configurations here have no maximum of code points, because short completions never come near one.

Complexity: one walk of the trie per control with a plan; otherwise as a mask.
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from guided.arrays import Int32Array, mask_words
from guided.automata.pushdown import UNLIMITED
from guided.automata.stacks import Configuration, Record, Stacks
from guided.caching import Kept
from guided.index.plans import StayClasses, TokenSuffixes
from guided.index.pushdown_masks import STAYS_KEPT, MaskMaker
from guided.kernels.masks import take_classes
from guided.kernels.tables import NOWHERE

__all__ = ["TokenClasses", "TokenClassifier"]

# Entries of about 20 kB each.
_AFTER_KEPT = 256
# More code points than any token reads.
_MANY = 1 << 20
_NONE: Int32Array = np.zeros(0, np.int32)


class _SuffixClasses(NamedTuple):
    """Classes of the token suffixes allowed in a configuration.

    Attributes
    ----------
    class_of : ndarray[int32], shape (n_pairs,)
        Class of each pair, from 0; -1 if its suffix is not allowed.
    configurations : list of Configuration
        Configuration after each class.
    deferred : list of int
        Pairs whose result depends on the bytes read before.
    """

    class_of: Int32Array
    configurations: list[Configuration]
    deferred: list[int]


class TokenClasses:
    """Classes of the tokens allowed in one configuration; ``scratch``: one word a token.

    Attributes
    ----------
    configurations : list of Configuration
        Configuration after each class; None for a class without tokens, such as the first. Other classes may be unused, too.
    deferred : list of int
        Tokens whose result depends on the bytes read before; they have class 0.
    stays : ndarray[int32], shape (size,) or (0,)
        Class of each token that stays on the stack; empty if none does. Arbitrary for other tokens.
    n_stays : int
        The classes of tokens that stay are those from 1 to this number.
    """

    def __init__(self, scratch: Int32Array) -> None:
        self._scratch = scratch
        self.configurations: list[Configuration | None] = [None]
        self.deferred: list[int] = []
        self.stays: Int32Array = _NONE
        self.n_stays = 0
        self._listed: list[tuple[Int32Array, Int32Array]] = []

    def stay(self, stays: StayClasses, stacks: Stacks, node: int, needed: int) -> None:
        """Add the tokens that stay on a stack."""
        assert len(self.configurations) == 1
        self.stays = stays.class_of
        for control, cells, after in stays.ends:
            top = node
            for cell in cells:
                top = stacks.push(cell, top)
            configuration = control, top, after if after >= 0 else max(needed + after, 0), UNLIMITED
            self.configurations.append(configuration if stacks.is_open(control, top) else None)
        self.n_stays = len(self.configurations) - 1

    def end(self, suffixes: TokenSuffixes, pairs: Int32Array, after: _SuffixClasses) -> None:
        """Add tokens that take an action."""
        classes = after.class_of[pairs]
        fit = classes >= 0
        self.add(suffixes.tokens[pairs[fit]], classes[fit] + len(self.configurations))
        self.configurations += after.configurations
        if after.deferred:
            self.deferred += suffixes.tokens[pairs[np.isin(pairs, after.deferred)]].tolist()

    def add(self, tokens: Int32Array, classes: Int32Array) -> None:
        """Set the classes of some tokens."""
        if len(tokens):
            self._listed.append((tokens, classes))

    def listed(self) -> tuple[Int32Array, Int32Array]:
        """Return the tokens whose classes were set one by one, and these classes."""
        if not self._listed:
            return _NONE, _NONE
        if len(self._listed) > 1:
            tokens, classes = (np.concatenate(parts) for parts in zip(*self._listed, strict=True))
            # The class of a repeated token is the one that was set last.
            self._scratch[tokens] = classes
            self._listed = [(tokens, self._scratch[tokens])]
        return self._listed[0]

    def class_of(self) -> Int32Array:
        """Return the class of each token in the mask: int32, shape (size,); arbitrary for other tokens."""
        found: Int32Array = self.stays.copy() if len(self.stays) else np.zeros_like(self._scratch)
        for tokens, classes in self._listed:
            found[tokens] = classes
        return found


class TokenClassifier:
    """Classes of tokens for one index. The caller holds the index's lock.

    Parameters
    ----------
    stacks : Stacks
    masker : MaskMaker
    """

    def __init__(self, stacks: Stacks, masker: MaskMaker) -> None:
        self._stacks = stacks
        self._masker = masker
        self._walk = masker.walk
        self._trie = masker.shared.trie
        self._size = masker.size
        # Scratch arrays: a mask, and a word for each token.
        self._words: Int32Array = np.zeros(mask_words(self._size), np.int32)
        self._ends, self._tokens, self._classes = np.zeros((3, self._size), np.int32)
        self._stays = Kept[tuple[Hashable, bool], StayClasses](STAYS_KEPT)
        self._after = Kept[tuple[int, bool, Configuration], _SuffixClasses](_AFTER_KEPT)

    def of(self, configuration: Configuration) -> TokenClasses:
        """Return the classes of the tokens allowed in a configuration."""
        classes = TokenClasses(self._ends)
        self._walk.deferred = []
        planned = self._masker.plan(configuration)
        base = -1
        if planned is not None:
            base, plan = planned
            _, node, needed, _ = configuration
            classes.stay(self._stays_of(base, needed > 0), self._stacks, node, needed)
            for group in plan.groups:
                for entry, least, most in group.taken(self._stacks.automaton.tables, needed):
                    records = list[Record]()
                    after = self._stacks.after_action(entry, node, records=records)
                    pairs = group.pairs
                    if least > 0 or most < UNLIMITED:
                        pairs = pairs[(group.counts >= least) & (group.counts <= most)]
                    if records:
                        classes.deferred += group.suffixes.tokens[pairs].tolist()
                    elif after is not None:
                        classes.end(group.suffixes, pairs, self._suffixes(group.suffixes, after))
        if base != configuration[0]:
            self._words.fill(0)
            classes.configurations += self._walk.ends(
                self._trie, configuration, self._words, self._ends, len(classes.configurations), base=base
            )
            n = take_classes(self._words, self._ends, self._tokens, self._classes)
            classes.add(self._tokens[:n].copy(), self._classes[:n].copy())
        classes.deferred += self._walk.deferred
        if classes.deferred:
            classes.add(np.array(classes.deferred, np.int32), np.zeros(len(classes.deferred), np.int32))
        return classes

    def _suffixes(self, suffixes: TokenSuffixes, configuration: Configuration) -> _SuffixClasses:
        """Return the classes of the suffixes allowed in a configuration."""
        control, node, needed, _ = configuration
        configuration = control, node, needed, UNLIMITED
        key = suffixes.byte, suffixes.is_again, configuration
        found = self._after.get(key)
        if found is None:
            later, self._walk.deferred = self._walk.deferred, []
            class_of: Int32Array = np.full(len(suffixes.tokens), -1, np.int32)
            class_of[suffixes.ending] = 0
            words = np.zeros(mask_words(len(suffixes.tokens)), np.int32)
            configurations = self._walk.ends(suffixes.trie, configuration, words, class_of, 1)
            found = _SuffixClasses(class_of, [configuration, *configurations], self._walk.deferred)
            self._walk.deferred = later
            self._after[key] = found
        return found

    def _stays_of(self, control: int, is_counted: bool) -> StayClasses:
        """Return the tokens that stay, with their code points if these are counted."""
        is_common = self._masker.family is not None and control < self._masker.n_shared
        known = self._masker.shared.stays if is_common else self._stays
        key = (self._masker.family, control) if is_common else control, is_counted
        found = known.get(key)
        if found is None:
            class_of: Int32Array = np.zeros(self._size, np.int32)
            words = np.zeros(mask_words(self._size), np.int32)
            # Why this many: while code points are needed, only the string itself can be read.
            many = _MANY if is_counted else 0
            with self._masker.shared.lock:
                walked = self._walk.stays(
                    self._trie, (control, NOWHERE, many, UNLIMITED), words, class_of, self._masker.shared.escapes
                )
            found = StayClasses(class_of, tuple((end, cells, needed - many) for end, cells, needed in walked))
            known[key] = found
        return found
