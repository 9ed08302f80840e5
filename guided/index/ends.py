"""Where tokens end: the tokens that may follow a place, in classes of those that lead to the same place.

As a mask is made of a control's plan and of walks over the trie (`guided.index.pushdown_masks`), so are the classes: most tokens stay in
the string or key at hand, and which class each of these has does not depend on the stack, so it is found once per control. Where a
token ends what is at hand, what it holds after that decides, once for each place that its action leads to.

Places are without a maximum of code points: a short completion never comes near one.

Complexity: one walk of the trie per control that has a plan; else as a mask.
"""

from functools import cached_property

import numpy as np

from guided.arrays import Int32Array, mask_words
from guided.automata.pushdown import ACTION, LIKE, UNLIMITED
from guided.automata.stacks import Place, Record, Stacks
from guided.index.plans import Group, Rests, Stays
from guided.index.pushdown_masks import MaskMaker
from guided.kernels import likeness
from guided.kernels.pushdown import NOWHERE

__all__ = ["Ends", "TokenEnds"]

# Half a megabyte each, for 128,000 tokens.
_MOST_STAYS = 16
# About 20 kB each.
_MOST_AFTER = 256
# More code points than any token reads.
_MANY = 1 << 20
# Controls of an automaton that may be common to all of its family.
_MOST_COMMON = 4096


class _After:
    """The rests of tokens that may follow a place.

    Attributes
    ----------
    class_of : ndarray[int32], shape (n_pairs,)
        Class of each pair, from 0 on; -1: it may not follow.
    places : list of Place
        Of each class.
    deferred : list of int
        Pairs that hang on what was read.
    """

    __slots__ = ("class_of", "deferred", "places")

    def __init__(self, class_of: Int32Array, places: list[Place], deferred: list[int]) -> None:
        self.class_of = class_of
        self.places = places
        self.deferred = deferred


class Ends:
    """Where the tokens end that may follow one place.

    Attributes
    ----------
    places : list of Place
        Of each class; None: no token has it. The first is None. There may be others that no token has.
    deferred : list of int
        Tokens that hang on what was read, which have no class.
    """

    def __init__(self, size: int) -> None:
        self.places: list[Place | None] = [None]
        self.deferred: list[int] = []
        self._size = size
        self._stays: Int32Array | None = None
        self._groups: list[tuple[Int32Array, Int32Array]] = []

    def stay(self, stays: Stays, stacks: Stacks, node: int, needed: int) -> None:
        """Enter the tokens that stay on a stack."""
        assert len(self.places) == 1
        self._stays = stays.class_of
        for control, cells, after in stays.ends:
            top = node
            for cell in cells:
                top = stacks.push(cell, top)
            place = control, top, after if after >= 0 else max(needed + after, 0), UNLIMITED
            self.places.append(place if stacks.is_open(control, top) else None)

    def end(self, group: Group, after: _After) -> None:
        """Enter the tokens of a group."""
        classes = after.class_of[group.pairs]
        fit = classes >= 0
        self._groups.append((group.rests.tokens[group.pairs[fit]], classes[fit] + len(self.places)))
        self.places += after.places
        if after.deferred:
            self.deferred += group.rests.tokens[group.pairs[np.isin(group.pairs, after.deferred)]].tolist()

    @cached_property
    def class_of(self) -> Int32Array:
        """Class of each token that is in the mask: int32, shape (size,); any number for other tokens."""
        found: Int32Array = np.zeros(self._size, np.int32) if self._stays is None else self._stays.copy()
        for tokens, classes in self._groups:
            found[tokens] = classes
        return found


class TokenEnds:
    """Classes of tokens for one index. The index's lock is held by whoever calls.

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
        self._stays: dict[tuple[int, bool], Stays] = {}
        self._after: dict[tuple[int, bool, Place], _After] = {}

    def of(self, place: Place) -> Ends:
        """The classes of the tokens that may follow."""
        ends = Ends(self._size)
        self._walk.deferred = []
        planned = self._masker.plan(place)
        base = -1
        if planned is not None:
            base, plan = planned
            _, node, needed, _ = place
            ends.stay(self._stays_of(base, needed > 0), self._stacks, node, needed)
            for group in plan.groups:
                asked = list[Record]()
                after = self._stacks.react(ACTION - group.action, node, records=asked)
                if asked:
                    ends.deferred += group.rests.tokens[group.pairs].tolist()
                elif after is not None:
                    ends.end(group, self._rests(group.rests, after))
        if base != place[0]:
            words = np.zeros(mask_words(self._size), np.int32)
            ends.places += self._walk.ends(self._trie, place, words, ends.class_of, len(ends.places), base=base)
        ends.deferred += self._walk.deferred
        return ends

    def _rests(self, rests: Rests, place: Place) -> _After:
        """Where the rests end that may follow a place."""
        control, node, needed, _ = place
        place = control, node, needed, UNLIMITED
        key = rests.byte, rests.is_again, place
        found = self._after.get(key)
        if found is None:
            later, self._walk.deferred = self._walk.deferred, []
            class_of: Int32Array = np.full(len(rests.tokens), -1, np.int32)
            class_of[rests.ending] = 0
            words = np.zeros(mask_words(len(rests.tokens)), np.int32)
            places = self._walk.ends(rests.trie, place, words, class_of, 1)
            found = _After(class_of, [place, *places], self._walk.deferred)
            self._walk.deferred = later
            if len(self._after) >= _MOST_AFTER:
                self._after.clear()
            self._after[key] = found
        return found

    def _stays_of(self, control: int, is_counted: bool) -> Stays:
        """The tokens that stay, with the code points that they read if these are counted."""
        known = self._masker.shared.stays if control < self._masker.n_shared else self._stays
        found = known.get((control, is_counted))
        if found is None:
            common = self._stacks.automaton.tables.info.item(control, LIKE)
            if common >= 0 and common != control and not is_counted:
                found = self._paired(control, common)
            if found is None:
                found = self._walked(control, is_counted)
            # Why all at once: indices share the common ones, each under its own lock.
            if len(known) >= _MOST_STAYS:
                known.clear()
            known[control, is_counted] = found
        return found

    def _paired(self, control: int, common: int) -> Stays | None:
        """Those of a control that goes on wherever a common one does."""
        own: Int32Array = np.full(_MOST_COMMON, -1, np.int32)
        todo: Int32Array = np.empty(_MOST_COMMON, np.int32)
        if common >= len(own) or not likeness.pair(self._stacks.automaton.tables.rows, control, common, own, todo):
            return None
        stays = self._stays_of(common, is_counted=False)
        if any(cells for _, cells, _ in stays.ends):
            return None
        return Stays(stays.class_of, tuple((own.item(end), cells, 0) for end, cells, _ in stays.ends))

    def _walked(self, control: int, is_counted: bool) -> Stays:
        class_of: Int32Array = np.zeros(self._size, np.int32)
        words = np.zeros(mask_words(self._size), np.int32)
        # Why so many are needed: where some are, nothing but the string itself is read.
        place = control, NOWHERE, _MANY if is_counted else 0, UNLIMITED
        with self._masker.shared.lock:
            ends = self._walk.stays(self._trie, place, words, class_of, self._masker.shared.escapes)
        return Stays(class_of, tuple((end, cells, needed - place[2]) for end, cells, needed in ends))
