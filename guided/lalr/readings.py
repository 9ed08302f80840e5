"""`Reader`: the readings of a prefix (`guided.lalr.prefix`) on stacks of which only the upper part is known.

A `Reading` is a hypothesis whose stack is given by the cells above a base that it shares with the other readings of the prefix. Where a
step needs a cell of the base, it raises `Beneath`; whoever knows that cell tries again with it. So a set of readings is a state of an
automaton with one stack, the base, and nearly always the set has one reading with nothing above the base.

A lexeme that could end where it stands is not split into two readings until it has to be: the reading stands for both. Only where a byte
goes on with the lexeme to where it could not end, both are kept, as one may fail where the other does not; and only if some context
lets the other one live (`Reader.may_part`).

Not here: numbers, tables, and stacks that are wholly known.
"""

from guided.arrays import DEAD
from guided.errors import LimitError
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.lexemes import Control
from guided.lalr.lexing import Said, last_characters
from guided.lalr.living import Living, Reading

__all__ = ["Beneath", "Reader", "Reading"]

_MOST_READINGS = 256
# Lexemes that are searched for one that a text comes of.
_MOST_SEARCHED = 2000
_NONE: frozenset[int] = frozenset()


class Beneath(Exception):
    """A cell of the base is needed."""


class Reader(Living):
    """Reads bytes with the lexer and the parser of one grammar."""

    def begin(self, above: tuple[int, ...], left: int, watchers: frozenset[int] = _NONE) -> Reading:
        """The begin of a lexeme on a stack whose top is known."""
        state = self.cells.known[above[-1]].state
        return Reading(above, self.lexing.starts[self.lexing.contexts[state]][left], b"", True, NO_NEWLINE, watchers)

    def lives(self, reading: Reading) -> bool:
        """Can something come of a reading?

        Yes, as long as its stack is not known and only its top cell is asked (`Living.guard`).

        Raises
        ------
        Beneath
            A cell of the base is needed.
        """
        if self.hangs_on_column(reading):
            return self._fits(reading)
        if self.is_certain(reading) or self._certain is None:
            return not reading.above or bool(self.allowed(reading.above[-1]) & self.wanted(reading))
        if not reading.above:
            raise Beneath
        if self.allowed(reading.above[-1]) & self.certain(reading):
            return True
        try:
            return self._search(reading)
        except LimitError:
            # Not decided within the budget counts as alive.
            return True

    def _fits(self, reading: Reading) -> bool:
        """Can a newline under way still end at a column that its stack takes, or become something else?"""
        if not reading.above:
            raise Beneath
        wanted = self.allowed(reading.above[-1]) & self.wanted(reading)
        indents = self.indents(reading.above[-1])
        columns = self.columns.within(reading.scanned, reading.column, indents)
        if wanted & ~self.newline or indents.parentheses or columns is None:
            return wanted != 0
        met = self.event(reading)
        if met is not None and met[0] == self.indenter.newline:
            columns = columns | {reading.column}
        try:
            return self._search(reading, columns)
        except LimitError:
            return True

    def _search(self, reading: Reading, columns: frozenset[int] | None = None) -> bool:
        """Lexeme by lexeme, until one leads to what is assured; ``columns``: those at which the first may end, if it is a newline."""
        seen: set[tuple[tuple[int, ...], Control]] = set()
        work = [(reading.above, self.outcomes(reading), columns)]
        for above, outcomes, places in work:
            indents = self.indents(above[-1])
            if (
                outcomes.can_end
                and self.fed_all(above, (*self.indenter.at_end(indents), self.end), indents) is not None
            ):
                return True
            for label, control in outcomes.lexemes:
                ends_line = 1 << label == self.newline and not indents.parentheses
                if ends_line and places is None:
                    if self.cells.known[above[-1]].expected & self.newline:
                        return True
                    continue
                fed = self.lexing.ignored if label == self._n_terminals else label
                for place in sorted(places) if ends_line and places is not None else (NO_NEWLINE,):
                    after = self.fed(above, fed, place)
                    if after is None:
                        continue
                    state = self.cells.known[after[-1]].state
                    if self._dead_ends.assures(state, control):
                        return True
                    if (after, control) not in seen:
                        if len(seen) == _MOST_SEARCHED:
                            return True
                        seen.add((after, control))
                        work.append((after, self._lexemes.begun(self.lexing.contexts[state], control), None))
        return False

    def _stays(self, reading: Reading, event: Said | None) -> bool:
        """Can something come of a reading whose lexeme may go on?"""
        if event is None or not event[1] or self._letters is not None or self._certain is not None:
            return self.lives(reading)
        # What stands behind the lexeme may not be what can come there: then only longer ones count.
        if not reading.above:
            raise Beneath
        return bool(self.allowed(reading.above[-1]) & self.later(reading.scanned)) or bool(
            self.ended(reading, event, _NONE)
        )

    def moved(self, watchers: frozenset[int], byte: int) -> frozenset[int] | None:
        """Watchers after a byte; None where one meets an event."""
        if not watchers:
            return watchers
        found = {self.lexing.rows[watcher][self.lexing.classes[byte]] for watcher in watchers} - {DEAD}
        return None if any(self.lexing.events[watcher] for watcher in found) else frozenset(found)

    def going(self, reading: Reading, byte: int, watchers: frozenset[int]) -> Reading | None:
        """A reading whose lexeme goes on with a byte; None where it cannot."""
        scanned = self.lexing.rows[reading.scanned][self.lexing.classes[byte]] if reading.scanned >= 0 else DEAD
        if scanned < 0:
            return None
        column = NO_NEWLINE
        if self.lexing.labels[scanned] & self.newline:
            column = self.indenter.column(reading.column, byte)
        text = self.lexing.kept(reading.text + bytes([byte]), scanned) if self.lexing.tails[scanned] >= 0 else b""
        return Reading(reading.above, scanned, text, False, column, watchers)

    def read(self, readings: set[Reading] | frozenset[Reading], byte: int, *, is_last: bool = True) -> set[Reading]:
        """What readings become with a byte; ``is_last``: what comes behind it is not known.

        Raises
        ------
        Beneath
            A cell of the base is needed.
        """
        found: set[Reading] = set()
        work = list(readings)
        while work:
            reading = work.pop()
            watchers = self.moved(reading.watchers, byte)
            if watchers is None or reading.scanned < 0:
                continue
            going = self.going(reading, byte, watchers)
            if going is not None:
                met, goes_on = self.lexing.arrived(going.scanned, byte)
                if met is not None and not goes_on:
                    found |= self.ended(going, met, watchers, is_last=is_last)
                elif not is_last or self._stays(going, None if met is None else self.event(going)):
                    found.add(going)
                if met is not None:
                    continue
            event = self.event(reading)
            if event is not None:
                behind = last_characters(reading.text, event[1]) + bytes([byte])
                if going is not None and not self.lexing.may_part(event, behind, going.scanned):
                    continue
                own = {reading.scanned} if self.lexing.goes_on[reading.scanned] else _NONE
                work += self.ended(reading, event, reading.watchers | own, is_last=False)
            if len(found) > _MOST_READINGS or len(work) > _MOST_READINGS:
                raise LimitError(
                    "readings", max(len(found), len(work)), _MOST_READINGS, "its terminals leave too many open"
                )
        return found

    def ended(self, reading: Reading, said: Said, watchers: frozenset[int], *, is_last: bool = True) -> set[Reading]:
        """What a reading becomes where its lexeme ends by a match, with these watchers in addition; the text behind is read again."""
        # Why only the last is asked what can come of it: behind the others it is known what comes.
        label, back, left = said
        above = self.fed(reading.above, label, reading.column)
        if above is None:
            return set()
        if not above:
            raise Beneath
        begun = self.begin(above, left)
        behind = last_characters(reading.text, back)
        found = {begun} if behind or not is_last or self.lives(begun) else set()
        for place, byte in enumerate(behind, 1):
            found = self.read(found, byte, is_last=is_last and place == len(behind))
        found = {one._replace(watchers=one.watchers | watchers) for one in found}
        return {one for one in found if self.lives(one)} if watchers and is_last else found

    def fed(self, above: tuple[int, ...], label: int, column: int) -> tuple[int, ...] | None:
        """The cells above the base after a lexeme has been taken for a label; None where it cannot come."""
        if label == self.lexing.ignored:
            return above
        if not above:
            raise Beneath
        said = self.indenter.tokens(self.indents(above[-1]), label, column)
        if said is None:
            return None
        tokens, indents = said
        return self.fed_all(above, tokens, indents)

    def fed_all(self, above: tuple[int, ...], tokens: tuple[int, ...], indents: Indents) -> tuple[int, ...] | None:
        """The cells above the base after these terminals; None where one cannot come."""
        cells = self.cells
        stack = list(above)
        if tokens:
            stack[-1] = cells.with_indents(stack[-1], None)
        for terminal in tokens:
            if not cells.known[stack[-1]].expected >> terminal & 1:
                return None
            while True:
                action = cells.actions[cells.known[stack[-1]].state][terminal]
                if action >= 0:
                    stack.append(cells.push(stack[-1], action))
                    break
                rule, length = cells.rules[-1 - action]
                if length >= len(stack):
                    raise Beneath
                del stack[len(stack) - length :]
                target = cells.gotos[cells.known[stack[-1]].state][rule]
                stack.append(cells.push(stack[-1], target))
                if terminal == cells.end and target == cells.end_state:
                    return tuple(stack)
        if self.indenter.newline >= 0:
            stack[-1] = cells.with_indents(stack[-1], indents)
        return tuple(stack)

    def may_end(self, readings: set[Reading] | frozenset[Reading]) -> bool:
        """May the text end here?

        Raises
        ------
        Beneath
            A cell of the base is needed.
        """
        work = list(readings)
        while work:
            reading = work.pop()
            if any(self.lexing.ends[watcher] for watcher in reading.watchers):
                continue
            if reading.is_fresh:
                if not reading.above:
                    raise Beneath
                indents = self.indents(reading.above[-1])
                if self.fed_all(reading.above, (*self.indenter.at_end(indents), self.end), indents) is not None:
                    return True
                continue
            said = self.lexing.ends[reading.scanned] or self.lexing.events[reading.scanned]
            if said is not None:
                work += self.ended(reading, said, _NONE, is_last=False)
        return False
