"""Terminals that can always follow a terminal, whatever the lexer's longest match does.

After a lexeme, the next one may start at once, with a letter (a class of characters) that ends every longer match of the lexeme, or after
ignored text that starts with such a letter. ``follow(context, label)`` is a set of terminals each of which can come next, anywhere in a
text and however the lexeme was spelled. It is a lower bound: it considers at most one lexeme of ignored text, and leaves out matches that
look back more than one letter. For most grammars it contains every terminal that the context accepts, because a space ends any lexeme.

O(contexts * states with a match), on bit sets.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from guided.arrays import DEAD
from guided.lalr.items import Items
from guided.lalr.lexemes import Control, Lexemes
from guided.lalr.scanner import NOTHING, Scanner, leading
from guided.lalr.tables import LalrTables

__all__ = ["LexicalFollow"]


class LexicalFollow:
    """Lower bounds on adjacency. Sets of terminals are bits, including ``$END``.

    Parameters
    ----------
    newline : int
        The newline terminal of an Indenter, or -1.

    Attributes
    ----------
    columns_are_free : bool
        An Indenter's newline can end at any column, so every indentation is possible after it.
    columns : frozenset of int
        Scanner states of a newline after a line break and spaces, if ``columns_are_free``.
    """

    def __init__(self, tables: LalrTables, scanner: Scanner, lexemes: Lexemes, newline: int) -> None:
        self._lexemes, self._starts = lexemes, lexemes.starts
        self._label, self._end, self._ignored = scanner.ignored, 1 << tables.end, 1 << scanner.ignored
        self._newline = 1 << newline if newline >= 0 else 0
        self._break, self._space = lexemes.letter("\n"), lexemes.letter(" ")
        self._every = (1 << len(lexemes.examples)) - 1
        # By state: the letters after which its lexeme cannot continue.
        dead = np.packbits(lexemes.columns == DEAD, axis=1, bitorder="little")
        self._killing = [
            int.from_bytes(row.tobytes(), "little") if may_continue else self._every
            for row, may_continue in zip(dead, lexemes.may_continue, strict=True)
        ]
        # By label: states with a match; states before a match that ends one letter back, with those letters and their targets. The states
        # of one list share what can follow.
        matches: dict[int, list[int]] = {}
        for state, (label, back, _) in enumerate(lexemes.events):
            if label != NOTHING and back == 0 and lexemes.is_between[state]:
                matches.setdefault(label, []).append(state)
        self._matches = {label: self._alike(states) for label, states in matches.items()}
        self._before: dict[int, list[tuple[list[int], list[tuple[int, int]]]]] = {}
        # DEAD, at index -1, has no match.
        is_behind = np.array([*(label != NOTHING and back == 1 for label, back, _ in lexemes.events), False])
        is_before = is_behind[lexemes.columns] & np.array(lexemes.is_between, np.bool_)[:, None]
        alike: dict[tuple[bytes, tuple[int, ...]], list[int]] = {}
        for state in np.flatnonzero(is_before.any(axis=1)).tolist():
            row = np.where(is_before[state], lexemes.columns[state], DEAD)
            alike.setdefault((row.tobytes(), lexemes.ends[state][:2]), []).append(state)
        for states in alike.values():
            by_label: dict[int, list[tuple[int, int]]] = {}
            for letter in np.flatnonzero(is_before[states[0]]).tolist():
                target = lexemes.rows[states[0]][letter]
                by_label.setdefault(lexemes.events[target][0], []).append((letter, target))
            for label, targets in by_label.items():
                self._before.setdefault(label, []).append((states, targets))
        self._reached = self._reachable()
        self._labels = scanner.labels
        self._groups: dict[int, dict[int, int]] = {}
        self._ignored_from: dict[int, list[int]] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._known_behind: dict[tuple[int, int, int, bool], int] = {}
        self._follow: dict[tuple[int, int], int] = {}
        self.columns = self._columns(newline) if newline >= 0 else frozenset()
        self.columns_are_free = newline < 0 or bool(self.columns)

    def allows(self, context: int, control: Control, terminals: int) -> bool:
        """Return whether each of these terminals can follow a control in a context; a lower bound."""
        if control.rest or control.is_end:
            return False
        letters, ends = self._every, self._lexemes.ends
        for watcher in control.watchers:
            letters &= self._killing[watcher]
        may_end = all(ends[watcher][0] == NOTHING for watcher in control.watchers)
        return not terminals & ~self._behind(context, control.left, letters, may_end)

    def begin(self, context: int, left: int) -> int:
        """Return the terminals that can start a text."""
        start = self._starts[context][left]
        return self._passed(context, start, self._every, self._at(start, self._every) | self._end) & ~self._ignored

    def follow(self, context: int, label: int) -> int:
        """Return the terminals that can follow a label in a context."""
        key = context, label
        known = self._follow.get(key)
        if known is None:
            matches, before = self._matches.get(label, ()), self._before.get(label, ())
            known = self._end * 2 - 1 if matches or before else 0
            for states in matches:
                known &= self._behind_match(context, states[0])
            for states, targets in before:
                known &= self._behind_one(context, label, states[0], targets)
            self._follow[key] = known
        return known

    def certain(self, wanted: Mapping[int, Collection[tuple[int, int]]]) -> list[int]:
        """Return, per scanner state, the labels that its lexeme may get now or after one more letter without restricting what follows.

        ``wanted``: maps a label to the contexts after it, each with the terminals that must all be able to follow, if these are known.
        """
        found = [0] * len(self._lexemes.rows)
        for label in {*self._matches, *self._before}:
            pairs = wanted.get(label)
            if pairs is None:
                continue
            for states in self._matches.get(label, ()):
                if all(not terminals & ~self._behind_match(context, states[0]) for context, terminals in pairs):
                    for state in states:
                        found[state] |= 1 << label
            for states, targets in self._before.get(label, ()):
                if all(
                    not terminals & ~self._behind_one(context, label, states[0], targets)
                    for context, terminals in pairs
                ):
                    for state in states:
                        found[state] |= 1 << label
        return found

    def readable(self, items: Items, contexts: Sequence[int]) -> set[int]:
        """Return the terminals that the lexer reads in some state that expects them."""
        found = self._labels
        bits = 0
        for state in items.states:
            wanted = sum(1 << terminal for terminal in items.moves[state] if terminal < self._label)
            for start in self._starts[contexts[state]]:
                bits |= found[start] & wanted if start >= 0 else 0
        return {terminal for terminal in range(self._label - 1) if bits >> terminal & 1}

    def endless(self, items: Items, contexts: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of labels (a, b): after b has ended, a may stay possible forever while other lexemes are read."""
        behind: dict[int, set[int]] = {self._label: {contexts[state] for state in items.states}}
        for state in items.states:
            behind.setdefault(items.reached_by[state], set()).add(contexts[state])
        mortal = leading(self._lexemes.sources, [letters != 0 for letters in self._killing])
        found: set[tuple[int, int]] = set()
        for label, alike in self._matches.items():
            for state in chain.from_iterable(alike):
                endless = {
                    target: letters
                    for target, letters in self._grouped(state).items()
                    if not mortal[target] and self._lexemes.events[target][0] == NOTHING
                }
                starts = {self._starts[context][self._lexemes.events[state][2]] for context in behind.get(label, ())}
                for target, letters in endless.items():
                    if any(self._at(start, letters) for start in starts):
                        found.update(
                            (other, label) for other in range(self._label + 2) if self._labels[target] >> other & 1
                        )
        return sorted(found)

    def _columns(self, newline: int) -> frozenset[int]:
        """Return the states of newlines that are a line break and spaces; empty if some width is missing.

        From here on, only these count as matches of the newline.
        """
        kept: set[int] = set()
        if self._break < 0 or self._space < 0:
            return frozenset()
        for row in self._starts:
            for start in row:
                if start < 0 or not self._reached[start] & self._newline:
                    continue
                state = self._lexemes.rows[start][self._break]
                while state not in kept:
                    if state < 0 or self._lexemes.events[state][:2] != (newline, 0):
                        return frozenset()
                    kept.add(state)
                    state = self._lexemes.rows[state][self._space]
        self._matches[newline] = self._alike(kept)
        return frozenset(kept)

    def _alike(self, states: Iterable[int]) -> list[list[int]]:
        """Return states with a match in lists, by what decides what can follow it."""
        found: dict[tuple[int, int, bool], list[int]] = {}
        for state in states:
            found.setdefault(self._limits(state), []).append(state)
        return list(found.values())

    def _limits(self, state: int) -> tuple[int, int, bool]:
        """Return the left class after the match of a state, the letters that end its lexeme, and whether the text may end."""
        may_end = not self._lexemes.may_continue[state] or self._lexemes.ends[state][0] == NOTHING
        return self._lexemes.events[state][2], self._killing[state], may_end

    def _behind_match(self, context: int, state: int) -> int:
        return self._behind(context, *self._limits(state))

    def _behind(self, context: int, left: int, letters: int, may_end: bool) -> int:
        """Return the terminals that can follow an ended lexeme, starting with one of these letters."""
        key = context, left, letters, may_end
        found = self._known_behind.get(key)
        if found is None:
            start = self._starts[context][left]
            found = self._at(start, letters) | (self._end if may_end else 0)
            found = self._known_behind[key] = self._passed(context, start, letters, found)
        return found

    def _behind_one(self, context: int, label: int, state: int, targets: Sequence[tuple[int, int]]) -> int:
        """Return the terminals that can follow a match that ends one letter back, choosing the best letter for each."""
        lexemes = self._lexemes
        found = self._end if lexemes.ends[state][:2] == (label, 0) else 0
        for letter, match in targets:
            start = self._starts[context][lexemes.events[match][2]]
            begun = lexemes.rows[start][letter] if start >= 0 else DEAD
            if begun < 0:
                continue
            if lexemes.may_continue[match]:
                found |= self._at(begun, self._killing[match]) & ~self._newline
            else:
                found |= self._reached[begun] & (-1 if letter == self._break else ~self._newline)
                if self._passes(begun):
                    found |= self._behind_match(context, begun)
        return found

    def _passed(self, context: int, start: int, letters: int, found: int) -> int:
        """Add the terminals that can follow one lexeme of ignored text that starts with one of these letters."""
        if found & self._ignored:
            for target, mask in self._grouped(start).items():
                if mask & letters:
                    for state in self._ignoring(target):
                        found |= self._at(self._starts[context][self._lexemes.events[state][2]], self._killing[state])
                        if self._lexemes.ends[state][0] == NOTHING:
                            found |= self._end
        return found

    def _ignoring(self, state: int) -> list[int]:
        """Return the states reachable from a state, itself included, that match ignored text."""
        known = self._ignored_from.get(state)
        if known is None:
            known, seen, work = [], {state}, [state]
            while work:
                one = work.pop()
                if self._passes(one):
                    known.append(one)
                for target in self._grouped(one):
                    if target not in seen and self._reached[target] & self._ignored:
                        seen.add(target)
                        work.append(target)
            self._ignored_from[state] = known
        return known

    def _passes(self, state: int) -> bool:
        return self._lexemes.events[state][:2] == (self._label, 0)

    def _at(self, start: int, letters: int) -> int:
        """Return the labels of lexemes that continue from `start` with one of these letters; newlines start with a line break."""
        if start < 0:
            return 0
        key = start, letters
        found = self._known.get(key)
        if found is None:
            found = 0
            for target, mask in self._grouped(start).items():
                if mask & letters:
                    found |= self._reached[target]
            if found & self._newline:
                after = self._lexemes.rows[start][self._break] if self._break >= 0 else DEAD
                if after < 0 or not letters >> self._break & 1 or not self._reached[after] & self._newline:
                    found &= ~self._newline
            self._known[key] = found
        return found

    def _grouped(self, state: int) -> dict[int, int]:
        """Return the successors of a state, each with the letters that lead there."""
        found = self._groups.get(state)
        if found is None:
            found = self._groups[state] = {}
            for letter, target in enumerate(self._lexemes.rows[state]):
                if target >= 0:
                    found[target] = found.get(target, 0) | 1 << letter
        return found

    def _reachable(self) -> list[int]:
        """Return, per state, the reachable labels whose match looks back at most one letter."""
        events = self._lexemes.events
        return leading(
            self._lexemes.sources,
            [1 << label if label != NOTHING and back <= 1 else 0 for label, back, _ in events],
        )
