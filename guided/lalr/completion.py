"""`Completion`: a short way to the end of a text of a Lark grammar, byte by byte.

*The policy.* At a place it weighs, for each reading, the terminals that the lexeme at hand can still become, and where it has ended, those
that the next one can be: the bytes to a lexeme of the terminal, and what the stack that it leads to costs (`guided.lalr.costs`). The
first byte of the cheapest is taken that can be read and leads to what was meant; white space comes in where nothing else ends a lexeme.
The policy looks at the place only, so what it gives from a place on the way is the rest.

*The search.* Costs are estimates, since conflicts and lookaheads forbid what they count on. So a policy's way is followed to the end of
the text before it is trusted. A place from which it does not get there is left on the shortest way, the first in the order of bytes, to
one from which it does; then the next places on that way have the same rest. Where no such place is found within a number of steps, there
is no completion: the text cannot be ended, or `Completion.given_up` says that not all was searched.

Invariant: a place's completion, once given, is never another.

Complexity: O(terminals that can come) for a byte met first; O(1) for each later.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from guided.automata.pushdown import KEPT, Pushdown, action_entry
from guided.automata.stacks import Place, Stacks
from guided.errors import LimitError
from guided.lalr.costs import NEVER, Costs
from guided.lalr.indents import NO_NEWLINE
from guided.lalr.readings import Reader, Reading
from guided.lalr.tasks import Ended
from guided.lalr.ways import Ways, preference

__all__ = ["Completion"]

_NONE: frozenset[int] = frozenset()
# So many bytes without coming closer to the end, and a policy's way leads nowhere.
_MOST_ASTRAY = 500
# Steps of one search, of the policy or of a byte.
_MOST_STEPS = 20_000


class _Option(NamedTuple):
    """A lexeme to go on with, ordered by cost: its first byte, and where that should lead, if the lexeme at hand is to end before it."""

    cost: int
    label: int
    byte: int
    meant: Place | None


class Completion:
    """Completions of one grammar.

    Parameters
    ----------
    automaton : Pushdown
    reader : Reader
    readings : callable
        The readings that a control stands for.
    action : callable
        The action of a task; ``again``: is its byte read again?
    groups : list of list of int
        The bytes that can come; those that lead to the same from every state together.

    Attributes
    ----------
    given_up : LimitError or None
        Set once a search has run out of steps: then a place without a completion may have one.
    """

    def __init__(
        self,
        automaton: Pushdown,
        reader: Reader,
        readings: Callable[[int], frozenset[Reading]],
        action: Callable[..., int],
        groups: list[list[int]],
    ) -> None:
        self._automaton, self._reader, self._readings, self._action = automaton, reader, readings, action
        self._bytes = sorted((min(alike, key=preference) for alike in groups), key=preference)
        self._ways = Ways(reader.lexing, sorted(byte for alike in groups for byte in alike))
        self._stacks = Stacks(automaton)
        self._costs = Costs(reader.cells, self._stacks, self._weights())
        self._fed: dict[tuple[int, int, int, int], int] = {}
        # The next byte of each place whose completion is known; none where no completion was found.
        self._steps: dict[Place, bytes] = {}
        # Places that the policy brings to the end, and those that it does not.
        self._leads: dict[Place, bool] = {}
        self._left = 0
        self.given_up: LimitError | None = None

    def _weights(self) -> list[int]:
        lexing, indenter = self._reader.lexing, self._reader.indenter
        starts = sorted({state for row in lexing.starts for state in row if state >= 0})
        found = []
        for label in range(self._reader.end):
            lengths = [away for state in starts if (away := self._ways.least(state, label)) > 0]
            found.append(min(lengths) + 1 if lengths else NEVER)
        # An INDENT takes a blank of its newline, a DEDENT nothing.
        for weight, terminal in enumerate(reversed(indenter.following)):
            found[terminal] = weight
        return found

    def node(self, cell: int, below: int) -> int:
        """The stack of a cell on another stack (-1: none)."""
        return self._stacks.push(cell, below)

    def next(self, control: int, cell: int, below: int) -> bytes:
        """The next byte of the completion of a place where the text cannot end; empty where no completion was found."""
        place = control, self.node(cell, below), *KEPT
        if place not in self._steps:
            self._left = _MOST_STEPS
            if not self._arrives(place):
                self._search(place)
        return self._steps[place]

    # The search

    def _arrives(self, place: Place) -> bool:
        """Does the policy come to the end of the text? The steps on the way are noted."""
        path: dict[Place, bytes] = {}
        least, astray = NEVER, 0
        first, leads = place, True
        while not self._stacks.is_end(place):
            known = self._leads.get(place)
            if known is not None:
                leads = known
                break
            step = None
            cost = self._costs.of(place[1])
            astray = 0 if cost < least else astray + 1
            least = min(cost, least)
            if place not in path and astray <= _MOST_ASTRAY and self._left > 0:
                self._left -= 1
                step = self._policy(place)
            if step is None:
                leads = False
                break
            path[place], place = step
        if leads:
            self._steps.update(path)
            self._leads.update(dict.fromkeys(path, True))
        else:
            self._leads[first] = False
        return leads

    def _search(self, start: Place) -> None:
        """Note the way to the nearest place from which the policy comes to the end."""
        came: dict[Place, tuple[Place, bytes]] = {}
        seen, work = {start}, [start]
        for place in work:
            for value in self._bytes:
                byte = bytes([value])
                after = self._stacks.read(place, byte)
                self._left -= 1
                if self._left <= 0:
                    advice = "no text was found that completes what has been read, but not all was searched"
                    self.given_up = LimitError("steps", _MOST_STEPS + 1, _MOST_STEPS, advice)
                    self._steps[start] = b""
                    return
                if after is None or after in seen:
                    continue
                seen.add(after)
                came[after] = place, byte
                if self._stacks.is_end(after) or self._arrives(after):
                    while after != start:
                        after, byte = came[after]
                        self._steps[after] = byte
                    return
                work.append(after)
        self._steps[start] = b""

    # The policy

    def _policy(self, place: Place) -> tuple[bytes, Place] | None:
        """The byte that seems the shortest way, and where it leads."""
        for thorough in (False, True):
            for option in sorted(self._options(place, thorough=thorough), key=lambda option: option[:3]):
                byte = bytes([option.byte])
                after = self._stacks.read(place, byte)
                if after is not None and (option.meant is None or self._is_meant(after, option)):
                    return byte, after
        return None

    def _is_meant(self, after: Place, option: _Option) -> bool:
        """Has the byte begun the lexeme that was meant, so that no other reading is left?"""
        assert option.meant is not None
        meant = self._stacks.read(option.meant, bytes([option.byte]))
        return meant is not None and self._bare(meant) == self._bare(after)

    def _bare(self, place: Place) -> set[tuple[int, int]]:
        """Stack and scanner's state of each reading of a place."""
        return {(self._upon(place[1], one.above), one.scanned) for one in self._readings(place[0])}

    def _upon(self, node: int, above: tuple[int, ...]) -> int:
        for cell in above:
            node = self._stacks.push(cell, node)
        return node

    def _options(self, place: Place, *, thorough: bool) -> Iterator[_Option]:
        for reading in sorted(self._readings(place[0]), key=_order):
            if reading.scanned < 0:
                continue
            node = self._upon(place[1], reading.above)
            yield from self._onward(reading, node, None, thorough=thorough)
            for label, back, left in () if reading.is_fresh else self._ways.said(reading.scanned):
                after = None if back else self._ended(node, Ended(label, reading.column, left, reading.watchers))
                if after is None:
                    continue
                for one in sorted(self._readings(after[0]), key=_order):
                    if one.scanned >= 0:
                        yield from self._onward(one, self._upon(after[1], one.above), after, thorough=thorough)

    def _onward(self, reading: Reading, node: int, meant: Place | None, *, thorough: bool) -> Iterator[_Option]:
        """The lexemes that the one at hand can become; of a fresh one, up to the first that is as cheap as can be."""
        reader, ways, scanned = self._reader, self._ways, reading.scanned
        cell = self._stacks.top(node)[0]
        labels = reader.cells.known[cell].expected | 1 << reader.lexing.ignored
        is_line = labels & reader.newline and not reader.indents(cell).parentheses
        # Within parentheses a newline is ignored.
        labels = labels & ~reader.newline if is_line else labels | reader.newline
        found: list[_Option] = []
        least = self._costs.of(node) if reading.is_fresh and not thorough else -1
        for away, label in ways.ways(scanned, labels):
            if not away:
                continue
            text, said = ways.way(scanned, label)
            cost = away + 1 + self._after(node, said, NO_NEWLINE)
            if cost < NEVER:
                found.append(_Option(cost, label, text[0], meant))
            if cost <= least:
                break
        if is_line:
            found.extend(self._lines(reading, node, meant))
        yield from found

    def _lines(self, reading: Reading, node: int, meant: Place | None) -> Iterator[_Option]:
        """Newlines of an Indenter, up to the columns that it can take."""
        reader, ways = self._reader, self._ways
        label = reader.indenter.newline
        columns = reader.indents(self._stacks.top(node)[0]).columns
        line = ways.line(reading.scanned, label)
        for column in (*columns, columns[-1] + 1):
            texts = [] if line is None else [line + b" " * column]
            if NO_NEWLINE < reading.column < column:
                texts.append(b" " * (column - reading.column))
            for text in texts:
                state = ways.walked(reading.scanned, text)
                for said in ways.said(state) if state >= 0 else ():
                    if said[0] != label:
                        continue
                    cost = len(text) + 1 + self._after(node, said, column)
                    if cost < NEVER:
                        yield _Option(cost, label, text[0], meant)

    def _after(self, node: int, said: tuple[int, int, int], column: int) -> int:
        """The cost of a stack after a lexeme; NEVER where it cannot come."""
        label, _, left = said
        key = node, label, left, column
        found = self._fed.get(key)
        if found is None:
            after = self._ended(node, Ended(label, column, left, _NONE))
            found = self._fed[key] = NEVER if after is None else self._costs.of(after[1])
        return found

    def _ended(self, node: int, task: Ended) -> Place | None:
        """Where the next lexeme begins, after one has ended."""
        return self._stacks.react(action_entry(self._action(task, again=True)), node)


def _order(reading: Reading) -> tuple[object, ...]:
    """An order of the readings of a place that is the same in every process."""
    return *reading[:-1], sorted(reading.watchers)
