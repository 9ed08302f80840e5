"""Exact lookahead of the lexer: what the next lexeme can become, subject to the longest-match constraints of ended lexemes.

After a lexeme, its *control* determines what may follow: the left context of terminals that look behind, the watchers (scanner states of
lexemes that must not reach a longer match), the characters that were read beyond the lexeme and are read again, and whether the text ends
with them. An *outcome* is a label that a lexeme can get, with the control after it. Outcomes and the parser's stack determine every
continuation; the characters of the text itself do not matter. They are found as they are asked for, depth first: one of the first usually
answers a query, and where lexemes that count are watched there are as many as pairs of counts.

A letter here is a class of characters, represented by one of `Scanner.examples`, so no state lies inside a character. O(states * letters)
for an outcome set without watchers, times the number of watcher sets that stay alive together with the lexeme; budgeted by `Steps`, cached.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.steps import Steps
from guided.lalr.lexing import begin_of_last, last_characters
from guided.lalr.scanner import NOTHING, Scanner, sources_of, tuples

__all__ = ["Control", "Lexemes", "Outcomes"]

_NONE: frozenset[int] = frozenset()
_NO_TEXT = -1
_STEP_COST, _LETTER_COST, _TEXT_COST = 20, 2, 64
_TOO_MANY = "the grammar's terminals overlap in too many ways"
_TOO_LONG = "the lookaheads of the grammar's terminals may read too many texts"


class Control(NamedTuple):
    """Constraints that an ended lexeme places on the text after it.

    Attributes
    ----------
    left : int
        Left class at its end.
    watchers : frozenset of int
        Scanner states, after all characters of ``rest``, that must not reach a match.
    rest : tuple of int
        Letters that have been read after the lexeme.
    is_end : bool
        The text ends after them.
    """

    left: int
    watchers: frozenset[int]
    rest: tuple[int, ...]
    is_end: bool


class Outcomes(NamedTuple):
    """What a text can become next: labels with controls, and whether the text may end before another lexeme."""

    lexemes: Iterable[tuple[int, Control]]
    can_end: bool


# A state, the letters that a match may look back at, the watchers, and whether no letter of the lexeme has been read.
_Item: TypeAlias = tuple[int, tuple[int, ...], frozenset[int], bool]


class _Onward:
    """The outcomes of reading on from some items; more are found while it is iterated.

    PERF: once there are no more, only the outcomes are kept, and what it does is a method of `Lexemes`: a grammar has thousands, and
    Python searches for garbage among all that is kept (`python -m benchmarks.grammars`).
    """

    __slots__ = ("_found", "_lexemes", "_listed", "_seen", "_work")

    def __init__(self, lexemes: "Lexemes", work: list[_Item], found: Iterable[tuple[int, Control]] = ()) -> None:
        self._lexemes, self._work, self._listed = lexemes, work, list(found)
        self._found = set(self._listed)
        # Invariant: only items reached by a letter; the first items may be reached again, with their matches.
        self._seen: set[tuple[int, tuple[int, ...], frozenset[int]]] = set()

    def __iter__(self) -> Iterator[tuple[int, Control]]:
        at = 0
        while True:
            while at < len(self._listed):
                yield self._listed[at]
                at += 1
            if not self._work:
                return
            more = self._lexemes.expand(self._work, self._seen) - self._found
            self._found |= more
            self._listed += more
            if not self._work:
                del self._found, self._seen


class Lexemes:
    """Lookahead queries on a scanner.

    Attributes
    ----------
    rows : list of tuple of int
        Next state by letter, for states between characters; empty for others.
    sources : list of tuple of int
        The states between characters with an edge to each state.
    is_between : list of bool
        Whether a state is between characters.
    keeps_texts : bool
        Whether a match may look back at several characters.
    """

    def __init__(self, scanner: Scanner, steps: Steps) -> None:
        self._steps = steps
        self.starts, self.events, self.ends = map(tuples, (scanner.starts, scanner.events, scanner.ends))
        self._scanner, self._table, self._classes = scanner, scanner.table, scanner.classes
        self._byte_rows = scanner.rows
        self._n_columns: int = scanner.table.shape[1]
        columns = scanner.by_example()
        is_between = _is_between(columns, scanner)
        self._between = np.flatnonzero(is_between)
        self._letters: dict[bytes, int] = {}
        kept = list[int]()
        for number, column in enumerate(columns[self._between].T):
            key = column.tobytes()
            if key not in self._letters:
                self._letters[key] = len(kept)
                kept.append(number)
        self.columns = np.ascontiguousarray(columns[:, kept])
        self.examples = [scanner.examples[number] for number in kept]
        self.is_between: list[bool] = is_between.tolist()
        self.rows: list[tuple[int, ...]] = [()] * len(self._table)
        for state, row in zip(self._between.tolist(), tuples(self.columns[self._between]), strict=True):
            self.rows[state] = row
        # By state: whether its lexeme may turn out longer than a match there, so that it is watched.
        self.may_continue = [False] * len(self._table) if scanner.is_scannerless else scanner.may_continue
        self.sources = sources_of(self.rows)
        # By state: how many of the last letters a match there or later may look back at.
        self._kept = [max(count, 0) for count in scanner.tails]
        self._edges: list[list[tuple[int, int]] | None] = [None] * len(self.rows)
        self.keeps_texts = self._count_texts()
        # Incomplete characters, each as the map from every state to the state after it.
        self._partials = [np.arange(len(self._table), dtype=np.int32)]
        self._partial_of: dict[bytes, int] = {}
        self._partial_rows: dict[tuple[int, int], int] = {}
        self._begun: dict[tuple[int, Control], Outcomes] = {}
        self._free: dict[tuple[int, tuple[int, ...]], frozenset[tuple[int, Control]]] = {}
        self._within: dict[tuple[int, bytes, frozenset[int]], Outcomes] = {}
        self._fresh: dict[tuple[int, frozenset[int]], Outcomes] = {}
        self._watched: dict[frozenset[int], list[frozenset[int] | None]] = {}
        self._reduced: dict[frozenset[int], frozenset[int]] = {}
        self._implied: dict[tuple[int, int], bool] = {}
        # Why not beside lookaheads: what is read again moves some watchers of a set before others.
        self._reduces = not any(event[1] > 0 for event in (*self.events, *self.ends))
        # Each outcome and set of watchers once. PERF: the collector of cycles visits each (`python -m benchmarks.grammars`).
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self._outcomes: dict[tuple[int, Control], tuple[int, Control]] = {}

    def letter(self, character: str) -> int:
        """Return the letter of a character; -1 if no state continues with it."""
        return self._letters.get(self._scanner.after(character.encode())[self._between].tobytes(), -1)

    def begun(self, context: int, control: Control) -> Outcomes:
        """Return the outcomes after a lexeme, in a context of the lexer."""
        key = context, control
        found = self._begun.get(key)
        if found is None:
            found = self._begun[key] = self._begin(context, control)
        return found

    def fresh(self, state: int, watchers: frozenset[int]) -> Outcomes:
        """Return the outcomes of a lexeme that starts in a scanner state, which may be DEAD."""
        key = state, watchers
        found = self._fresh.get(key)
        if found is None:
            lexemes = _Onward(self, [(state, (), watchers, True)] if state >= 0 else [])
            found = self._fresh[key] = Outcomes(lexemes, self._may_end(watchers))
        return found

    def outcomes_of_match(self, state: int, text: bytes, watchers: frozenset[int]) -> frozenset[tuple[int, Control]]:
        """Return the outcomes of a lexeme that has just reached a match, between characters; empty if it has not."""
        found: set[tuple[int, Control]] = set()
        if self.is_between[state] and self.events[state][0] != NOTHING:
            self._arrived(state, self._spelled(last_characters(text, self.events[state][1])), watchers, found)
        return frozenset(found)

    def outcomes_of_lexeme(self, state: int, text: bytes, watchers: frozenset[int]) -> Outcomes:
        """Return the outcomes of the current lexeme, given the state after its last byte, which may be inside a character."""
        if self.is_between[state]:
            found = last_characters(text, self._kept[state]) if self._kept[state] else b""
            key = state, found, watchers
        else:
            key = state, text, watchers
        outcomes = self._within.get(key)
        if outcomes is None:
            outcomes = self._within[key] = Outcomes(self._going(*key), False)
        return outcomes

    def _going(self, state: int, text: bytes, watchers: frozenset[int]) -> Iterable[tuple[int, Control]]:
        if self.is_between[state]:
            return _Onward(self, [(state, self._spelled(text), watchers, False)])
        found: set[tuple[int, Control]] = set()
        onward: list[_Item] = []
        met: set[tuple[int, tuple[int, ...], frozenset[int]]] = set()
        begin = begin_of_last(text) if text else 0
        work = [(state, self._partial(text[begin:]) if text else _NO_TEXT, watchers)]
        seen = set(work)
        while work:
            state, partial, watchers = work.pop()
            self._steps.spend((_STEP_COST + _LETTER_COST * len(text)) * self._n_columns, _TOO_MANY)
            for column, target in enumerate(self._byte_rows[state]):
                moved = self._moved(watchers, self._byte_rows, column) if target >= 0 else None
                if moved is None:
                    continue
                read = self._read(partial, column) if text else _NO_TEXT
                if not self.is_between[target]:
                    item = target, read, moved
                    if item not in seen:
                        seen.add(item)
                        work.append(item)
                    continue
                letters: tuple[int, ...] = ()
                if kept := self._kept[target]:
                    letter = self._letters[self._partials[read][self._between].tobytes()]
                    letters = (*self._spelled(last_characters(text[:begin], kept - 1)), letter)
                arrived = target, letters, moved
                if arrived not in met:
                    met.add(arrived)
                    self._arrived(*arrived, found)
                    onward.append((*arrived, False))
        return _Onward(self, onward, found)

    def _partial(self, text: bytes) -> int:
        """Return the number of an incomplete character; two with the same effect on every state share a number."""
        partial = 0
        for byte in text:
            partial = self._read(partial, int(self._classes[byte]))
        return partial

    def _read(self, partial: int, column: int) -> int:
        key = partial, column
        found = self._partial_rows.get(key)
        if found is None:
            states = self._partials[partial]
            moved = np.where(states >= 0, self._table[states, column], DEAD).astype(np.int32)
            found = self._partial_rows[key] = self._partial_of.setdefault(moved.tobytes(), len(self._partials))
            if found == len(self._partials):
                self._partials.append(moved)
                self._steps.spend(len(moved), _TOO_MANY)
        return found

    def _begin(self, context: int, control: Control) -> Outcomes:
        left, watchers, rest, is_end = control
        state: int = self.starts[context][left]
        if not rest and not is_end:
            return self.fresh(state, watchers)
        text: tuple[int, ...] = ()
        found: set[tuple[int, Control]] = set()
        for i, letter in enumerate(rest):
            state = self.rows[state][letter] if state >= 0 else DEAD
            if state < 0:
                return Outcomes(found, False)
            text = self._cut((*text, letter), state)
            label, back, after = self.events[state]
            if label != NOTHING:
                own = self._advanced(state, rest[i + 1 :]) if self.may_continue[state] else _NONE
                if own is not None:
                    behind = text[len(text) - back :] + rest[i + 1 :]
                    found.add(self._outcome(label, Control(after, watchers | own, behind, is_end)))
        can_end = not rest and self._may_end(watchers)
        if not is_end:
            return Outcomes(_Onward(self, [(state, text, watchers, False)], found), can_end)
        if rest and self._may_end(watchers):
            self._ended(state, text, found)
        return Outcomes(found, can_end)

    def _may_end(self, watchers: frozenset[int]) -> bool:
        return all(self.ends[watcher][0] == NOTHING for watcher in watchers)

    def expand(
        self, work: list[_Item], seen: set[tuple[int, tuple[int, ...], frozenset[int]]]
    ) -> set[tuple[int, Control]]:
        """Read on from the last item: add those that it leads to, and return its outcomes. If it raises, nothing has changed."""
        state, text, watchers, is_fresh = work[-1]
        if not watchers and not is_fresh:
            freely = self._freely(state, text)
            work.pop()
            return set(freely)
        per_letter = _STEP_COST + _LETTER_COST * (len(text) + len(watchers))
        self._steps.spend(per_letter * len(self.examples), _TOO_MANY)
        work.pop()
        found: set[tuple[int, Control]] = set()
        if not is_fresh and self._may_end(watchers):
            self._ended(state, text, found)
        for letter, (target, moved) in enumerate(zip(self.rows[state], self._moves(watchers), strict=True)):
            if target < 0 or moved is None:
                continue
            read = self._cut((*text, letter), target) if self._kept[target] else ()
            item = target, read, moved
            if item not in seen:
                seen.add(item)
                self._arrived(*item, found)
                work.append((*item, False))
        return found

    def _freely(self, state: int, text: tuple[int, ...]) -> frozenset[tuple[int, Control]]:
        """Return the outcomes of the current lexeme if there are no watchers."""
        key = state, text
        known = self._free.get(key)
        if known is not None:
            return known
        found: set[tuple[int, Control]] = set()
        seen: set[tuple[int, tuple[int, ...]]] = set()
        work = [key]
        while work:
            state, text = work.pop()
            self._ended(state, text, found)
            edges = self._edges_of(state)
            self._steps.spend((_STEP_COST + _LETTER_COST * len(text)) * (1 + len(edges)), _TOO_MANY)
            for letter, target in edges:
                item = target, self._cut((*text, letter), target)
                if item not in seen:
                    seen.add(item)
                    self._arrived(*item, _NONE, found)
                    work.append(item)
        outcomes = self._free[key] = frozenset(found)
        return outcomes

    def _edges_of(self, state: int) -> list[tuple[int, int]]:
        """Return the letters and targets of a state: of several letters with one target only the first, unless its text is kept."""
        found = self._edges[state]
        if found is None:
            met: set[int] = set()
            found = self._edges[state] = []
            for letter, target in enumerate(self.rows[state]):
                if target >= 0 and (target not in met or self._kept[target]):
                    met.add(target)
                    found.append((letter, target))
        return found

    def _arrived(
        self, state: int, text: tuple[int, ...], watchers: frozenset[int], found: set[tuple[int, Control]]
    ) -> None:
        """Add the match that has just been reached."""
        label, back, left = self.events[state]
        if label != NOTHING:
            own = self.reduced(watchers | {state}) if self.may_continue[state] else watchers
            found.add(self._outcome(label, Control(left, own, text[len(text) - back :], False)))

    def _ended(self, state: int, text: tuple[int, ...], found: set[tuple[int, Control]]) -> None:
        """Add the match that counts if the text ends here."""
        label, back, left = self.ends[state]
        if label != NOTHING:
            found.add(self._outcome(label, Control(left, _NONE, text[len(text) - back :], True)))

    def _outcome(self, label: int, control: Control) -> tuple[int, Control]:
        """Return the one outcome that equals this."""
        outcome = label, control
        return self._outcomes.setdefault(outcome, outcome)

    def _moves(self, watchers: frozenset[int]) -> list[frozenset[int] | None]:
        """Return the watchers after each letter; None for a letter on which one matches."""
        found = self._watched.get(watchers)
        if found is None:
            found = [self._moved(watchers, self.rows, letter) for letter in range(len(self.examples))]
            self._watched[watchers] = found
        return found

    def _moved(self, watchers: frozenset[int], rows: list[tuple[int, ...]], step: int) -> frozenset[int] | None:
        """Return the watchers after a letter or byte; None if one matches."""
        if not watchers:
            return watchers
        moved = {rows[watcher][step] for watcher in watchers} - {DEAD}
        if any(self.events[watcher][0] != NOTHING for watcher in moved):
            return None
        one = frozenset(moved)
        return self._sets.setdefault(one, one)

    def reduced(self, watchers: frozenset[int]) -> frozenset[int]:
        """Return the watchers without those that match no text before another one does: all begin at the same place of the text."""
        if len(watchers) < 2 or not self._reduces:
            return watchers
        found = self._reduced.get(watchers)
        if found is None:
            kept: list[int] = []
            for watcher in sorted(watchers):
                if not any(self._implies(one, watcher) for one in kept):
                    kept = [one for one in kept if not self._implies(watcher, one)] + [watcher]
            found = self._reduced[watchers] = frozenset(kept)
        return found

    def _implies(self, one: int, other: int) -> bool:
        """Return whether no text lets a watcher match before another one does."""
        known = self._implied.get((one, other))
        if known is not None:
            return known
        first = one, other
        work, pairs = [first], {first}
        while work:
            one, other = pair = work.pop()
            self._steps.spend(_STEP_COST * len(self.examples), _TOO_MANY)
            if self.ends[other][0] != NOTHING and self.ends[one][0] == NOTHING:
                self._implied[pair] = self._implied[first] = False
                return False
            for after, behind in zip(self.rows[one], self.rows[other], strict=True):
                if behind < 0 or after == behind or (after >= 0 and self.events[after][0] != NOTHING):
                    continue
                if after < 0 or self.events[behind][0] != NOTHING or self._implied.get((after, behind)) is False:
                    self._implied[pair] = self._implied[first] = False
                    return False
                if (after, behind) not in pairs and (after, behind) not in self._implied:
                    pairs.add((after, behind))
                    work.append((after, behind))
        self._implied.update(dict.fromkeys(pairs, True))
        return True

    def _advanced(self, watcher: int, letters: tuple[int, ...]) -> frozenset[int] | None:
        watchers: frozenset[int] | None = frozenset({watcher})
        for letter in letters:
            if watchers is not None:
                watchers = self._moved(watchers, self.rows, letter)
        return watchers

    def _cut(self, text: tuple[int, ...], state: int) -> tuple[int, ...]:
        kept = self._kept[state]
        return text[len(text) - kept :] if len(text) > kept else text

    def _count_texts(self) -> bool:
        """Spend the steps of the texts of several letters that are kept, each of which may follow each; return whether there are any."""
        kept = np.array(self._kept)
        deepest = int(kept.max(initial=0))
        if deepest < 2:
            return False
        is_between = np.array(self.is_between)
        sources, letters = np.nonzero((self.columns >= 0) & is_between[:, None])
        targets = self.columns[sources, letters]
        order = np.argsort(-kept[targets], kind="stable")
        sources, targets = sources[order], targets[order]
        ways, n_texts = is_between.astype(np.float64), 0.0
        for length in range(1, deepest + 1):
            # The edges to states that keep so many letters, and the ways to go along as many of them.
            count = np.searchsorted(-kept[targets], -length, side="right")
            ways = np.bincount(targets[:count], ways[sources[:count]], len(kept)).astype(np.float64)
            n_texts += ways[kept == length].sum() if length > 1 else 0.0
            if _TEXT_COST * n_texts * n_texts > self._steps.left:
                self._steps.spend(self._steps.left + 1, _TOO_LONG)
            self._steps.spend(int(count), _TOO_LONG)
        self._steps.spend(int(_TEXT_COST * n_texts * n_texts), _TOO_LONG)
        return True

    def _spelled(self, text: bytes) -> tuple[int, ...]:
        """Return the letters of a UTF-8 text."""
        return tuple(map(self.letter, text.decode()))


def _is_between(columns: Int32Array, scanner: Scanner) -> BoolArray:
    """Return, per state, whether whole characters lead there."""
    found = np.zeros(len(columns), np.bool_)
    work = np.unique(scanner.starts[scanner.starts >= 0])
    while len(work):
        found[work] = True
        targets = np.unique(columns[work])
        targets = targets[targets >= 0]
        work = targets[~found[targets]]
    return found
