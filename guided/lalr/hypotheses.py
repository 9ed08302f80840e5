"""`HypothesisReader`: advances the hypotheses about a prefix on stacks whose lower part is unknown.

The stack of a `Hypothesis` consists of known cells on top of a base that all hypotheses of the
prefix share. A step that needs a cell of the base raises `StackUnderflow`; a caller that knows the cell retries with it. A set of
hypotheses is therefore a state of an automaton with one stack, the base. Nearly always the set has a single hypothesis with no cells above
the base.

A lexeme that could end at the current byte is not split at once: one hypothesis stands for both cases. It splits when a byte extends the
lexeme to a state where it cannot end, because then either case may fail alone, and only if some context lets the ended lexeme survive
(`Lexing.may_part`).

Not handled here: table numbers, and stacks that are fully known.
"""

from guided.arrays import DEAD
from guided.errors import LimitError
from guided.lalr.indents import NO_NEWLINE, Indents
from guided.lalr.lexemes import Control
from guided.lalr.lexing import Match, last_characters
from guided.lalr.viability import Hypothesis, Viability

__all__ = ["Hypothesis", "HypothesisReader", "StackUnderflow"]

_NONE: frozenset[int] = frozenset()


class StackUnderflow(Exception):
    """Raised when a step needs a cell of the base."""


class HypothesisReader(Viability):
    """Advances hypotheses byte by byte through the lexer and parser of one grammar."""

    def begin(self, above: tuple[int, ...], left: int, watchers: frozenset[int] = _NONE) -> Hypothesis:
        """Return the hypothesis that starts a lexeme on a stack whose top is known."""
        state = self.cells.known[above[-1]].state
        return Hypothesis(above, self.lexing.starts[self.lexing.contexts[state]][left], b"", True, NO_NEWLINE, watchers)

    def is_live(self, hypothesis: Hypothesis) -> bool:
        """Return whether a hypothesis is live.

        If only the top cell decides and the stack is unknown, the answer is True: the control's guard does the test (`Viability.guard`).

        Raises
        ------
        Beneath
            A cell of the base is needed.
        """
        if self.depends_on_column(hypothesis):
            return self._fits(hypothesis)
        if self.is_certain(hypothesis) or self._certain is None:
            return not hypothesis.above or bool(self.allowed(hypothesis.above[-1]) & self.wanted(hypothesis))
        if not hypothesis.above:
            raise StackUnderflow
        if self.allowed(hypothesis.above[-1]) & self.certain(hypothesis):
            return True
        try:
            return self._search(hypothesis)
        except LimitError:
            # Undecided within the budget counts as live.
            return True

    def _fits(self, hypothesis: Hypothesis) -> bool:
        """Return whether a newline being read can still end at a column that the stack accepts, or become another terminal."""
        if not hypothesis.above:
            raise StackUnderflow
        wanted = self.allowed(hypothesis.above[-1]) & self.wanted(hypothesis)
        indents = self.indents(hypothesis.above[-1])
        columns = self.columns.within(hypothesis.scanned, hypothesis.column, indents)
        if wanted & ~self.newline or indents.parentheses or columns is None:
            return wanted != 0
        met = self.event(hypothesis)
        if met is not None and met[0] == self.indenter.newline:
            columns = columns | {hypothesis.column}
        try:
            return self._search(hypothesis, columns)
        except LimitError:
            return True

    def _search(self, hypothesis: Hypothesis, columns: frozenset[int] | None = None) -> bool:
        """Search lexeme by lexeme for a safe state.

        ``columns``: the columns at which the first lexeme may end if it is a newline.
        """
        seen: set[tuple[tuple[int, ...], Control]] = set()
        work = [(hypothesis.above, self.outcomes(hypothesis), columns)]
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
                    if self._dead_ends.is_safe(state, control):
                        return True
                    if (after, control) not in seen:
                        if len(seen) >= self._dead_ends.most_searched:
                            return True
                        seen.add((after, control))
                        work.append((after, self._lexemes.begun(self.lexing.contexts[state], control), None))
        return False

    def _survives(self, hypothesis: Hypothesis, event: Match | None) -> bool:
        """Return whether a hypothesis whose lexeme may continue is live."""
        if event is None or not event[1] or self._lookaheads is not None or self._certain is not None:
            return self.is_live(hypothesis)
        # The text after the match may be invalid there; then only longer lexemes count.
        if not hypothesis.above:
            raise StackUnderflow
        return bool(self.allowed(hypothesis.above[-1]) & self.later(hypothesis.scanned)) or bool(
            self.ended(hypothesis, event, _NONE)
        )

    def watchers_after(self, watchers: frozenset[int], byte: int) -> frozenset[int] | None:
        """Return the watchers after a byte; None if one of them matches."""
        if not watchers:
            return watchers
        found = {self.lexing.rows[watcher][self.lexing.classes[byte]] for watcher in watchers} - {DEAD}
        return None if any(self.lexing.events[watcher] for watcher in found) else frozenset(found)

    def continued(self, hypothesis: Hypothesis, byte: int, watchers: frozenset[int]) -> Hypothesis | None:
        """Return the hypothesis whose lexeme continues with this byte; None if it cannot."""
        scanned = self.lexing.rows[hypothesis.scanned][self.lexing.classes[byte]] if hypothesis.scanned >= 0 else DEAD
        if scanned < 0:
            return None
        column = NO_NEWLINE
        if self.lexing.labels[scanned] & self.newline:
            column = self.indenter.column(hypothesis.column, byte)
        text = self.lexing.kept(hypothesis.text + bytes([byte]), scanned) if self.lexing.tails[scanned] >= 0 else b""
        return Hypothesis(hypothesis.above, scanned, text, False, column, watchers)

    def read(
        self, hypotheses: set[Hypothesis] | frozenset[Hypothesis], byte: int, *, is_last: bool = True
    ) -> set[Hypothesis]:
        """Return the hypotheses after a byte; ``is_last``: the byte after it is unknown.

        Raises
        ------
        Beneath
            A cell of the base is needed.
        """
        found: set[Hypothesis] = set()
        work = list(hypotheses)
        while work:
            hypothesis = work.pop()
            watchers = self.watchers_after(hypothesis.watchers, byte)
            if watchers is None or hypothesis.scanned < 0:
                continue
            continued = self.continued(hypothesis, byte, watchers)
            if continued is not None:
                met, may_continue = self.lexing.arrived(continued.scanned, byte)
                if met is not None and not may_continue:
                    found |= self.ended(continued, met, watchers, is_last=is_last)
                elif not is_last or self._survives(continued, None if met is None else self.event(continued)):
                    found.add(continued)
                if met is not None:
                    continue
            event = self.event(hypothesis)
            if event is not None:
                behind = last_characters(hypothesis.text, event[1]) + bytes([byte])
                if continued is not None and not self.lexing.may_part(event, behind, continued.scanned):
                    continue
                own = {hypothesis.scanned} if self.lexing.may_continue[hypothesis.scanned] else _NONE
                work += self.ended(hypothesis, event, hypothesis.watchers | own, is_last=False)
            count = max(len(found), len(work))
            if count > self._most_hypotheses:
                raise LimitError(
                    "readings", count, self._most_hypotheses, "the grammar's terminals match the text in too many ways"
                )
        return found

    def ended(
        self, hypothesis: Hypothesis, match: Match, watchers: frozenset[int], *, is_last: bool = True
    ) -> set[Hypothesis]:
        """Return the hypotheses after the lexeme ends with this match, with `watchers` added.

        The text after the match is read again.
        """
        # Why: only the last byte needs a liveness check; the bytes after the others are known and are read anyway.
        label, back, left = match
        above = self.fed(hypothesis.above, label, hypothesis.column)
        if above is None:
            return set()
        if not above:
            raise StackUnderflow
        begun = self.begin(above, left)
        behind = last_characters(hypothesis.text, back)
        found = {begun} if behind or not is_last or self.is_live(begun) else set()
        for place, byte in enumerate(behind, 1):
            found = self.read(found, byte, is_last=is_last and place == len(behind))
        found = {one._replace(watchers=one.watchers | watchers) for one in found}
        return {one for one in found if self.is_live(one)} if watchers and is_last else found

    def fed(self, above: tuple[int, ...], label: int, column: int) -> tuple[int, ...] | None:
        """Return the cells above the base after a lexeme with this label; None if the parser rejects it."""
        if label == self.lexing.ignored:
            return above
        if not above:
            raise StackUnderflow
        result = self.indenter.tokens(self.indents(above[-1]), label, column)
        if result is None:
            return None
        tokens, indents = result
        return self.fed_all(above, tokens, indents)

    def fed_all(self, above: tuple[int, ...], tokens: tuple[int, ...], indents: Indents) -> tuple[int, ...] | None:
        """Return the cells above the base after these terminals; None if the parser rejects one."""
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
                    raise StackUnderflow
                del stack[len(stack) - length :]
                target = cells.gotos[cells.known[stack[-1]].state][rule]
                stack.append(cells.push(stack[-1], target))
                if terminal == cells.end and target == cells.end_state:
                    return tuple(stack)
        if self.indenter.newline >= 0:
            stack[-1] = cells.with_indents(stack[-1], indents)
        return tuple(stack)

    def may_end(self, hypotheses: set[Hypothesis] | frozenset[Hypothesis]) -> bool:
        """Return whether the text may end here.

        Raises
        ------
        Beneath
            A cell of the base is needed.
        """
        work = list(hypotheses)
        while work:
            hypothesis = work.pop()
            if any(self.lexing.ends[watcher] for watcher in hypothesis.watchers):
                continue
            if hypothesis.is_fresh:
                if not hypothesis.above:
                    raise StackUnderflow
                indents = self.indents(hypothesis.above[-1])
                if self.fed_all(hypothesis.above, (*self.indenter.at_end(indents), self.end), indents) is not None:
                    return True
                continue
            match = self.lexing.ends[hypothesis.scanned] or self.lexing.events[hypothesis.scanned]
            if match is not None:
                work += self.ended(hypothesis, match, _NONE, is_last=False)
        return False
