"""`DeadEnds`: decides whether a hypothesis about a prefix can still become a text.

A hypothesis (`guided.lalr.hypotheses`) is live if some lexeme that it can become leads the parser and the lexer to the end of a text. Two
methods decide this:

- *safe states*: a proof that every stack with certain states on top can be completed after certain controls (`guided.lalr.safe_states`).
  A hypothesis is live if it reaches one of them, nearly always with its next lexeme; otherwise a search follows its lexemes;
- *cells*: if the proof does not cover every state, lookaheads and cells (`guided.lalr.lookahead_classes`, `guided.lalr.coaccessible`)
  decide at once.

In three cases neither is exact: too many lookaheads; an Indenter, whose columns are not part of a stack; and ended lexemes that may be
watched forever, as ``/`` before ``*`` where comments start that way. Then a hypothesis that the search refutes is dead, and one that the
search cannot exhaust counts as live. `DeadEnds.notes` reports these cases.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.lalr.coaccessible import Coaccessible
from guided.lalr.indents import Columns, Indenter, imbalance
from guided.lalr.items import Items, derived, items_of
from guided.lalr.lexemes import Control, Lexemes
from guided.lalr.lexical_follow import LexicalFollow
from guided.lalr.lookahead_classes import LookaheadClasses, lookahead_classes
from guided.lalr.safe_states import safe_states
from guided.lalr.scanner import Scanner
from guided.lalr.tables import LalrTables, Start
from guided.limits import Limits

__all__ = ["DeadEnds"]

# Steps of queries for one of a call, and for a lexeme that a search tries.
_PER_STEP, _LEXEME = 100, 200
_TOO_MANY = "the grammar's terminals and conflicts lead to too many outcomes"


class DeadEnds:
    """Liveness of the hypotheses of one start symbol.

    Parameters
    ----------
    limits : Limits
        ``dead_end_steps`` and ``steps`` bound the construction and each query.
    call : Steps
        The steps of the current call, to which those of queries are added.

    Attributes
    ----------
    call : Steps
        Those of the current call.
    indenter : Indenter
    lexemes : Lexemes
    columns : Columns
    lookaheads : LookaheadClasses or None
    cells : Coaccessible or None
        The cells of stacks. Both are None if the proof suffices without them, or if they exceeded the budget.
    unproductive : tuple of str
        Rules and terminals that derive no readable text.
    most_searched : int
        Maximum number of configurations in a search; beyond it a hypothesis counts as live.
    doubts : tuple of str
        Reasons why a dead hypothesis may count as live; empty if all answers are exact.
    """

    def __init__(
        self,
        tables: LalrTables,
        scanner: Scanner,
        start: Start,
        limits: Limits,
        call: Steps,
    ) -> None:
        self.call, self._most = call, min(limits.steps, limits.dead_end_steps)
        most = self._most
        self._steps = Steps(most, "steps" if most < limits.dead_end_steps else "dead_end_steps")
        self.most_searched = limits.dead_end_configurations
        self._contexts: list[int] = tables.context.tolist()
        self._ignored, self._end = scanner.ignored, tables.end
        self.indenter = indenter = Indenter(tables)
        self.lexemes = Lexemes(scanner, self._steps)
        self.lookaheads: LookaheadClasses | None = None
        self.cells: Coaccessible | None = None
        items = items_of(tables, start)
        self._lexical_follow = LexicalFollow(tables, scanner, self.lexemes, indenter.newline)
        self.columns = Columns(scanner, indenter, self._lexical_follow.columns)
        of_indenter = indenter.newline, indenter.indent, indenter.dedent
        readable = self._lexical_follow.readable(items, self._contexts)
        symbols = derived(tables.rules, readable | set(of_indenter) if indenter.newline in readable else readable)
        self._safe_states = safe_states(
            tables, items, start, self._lexical_follow, symbols, scanner.first_left, of_indenter, self._steps
        )
        doubts = self._endless(tables, items)
        # The proof does not cover ignored text that looks ahead or is followed by a lexeme that looks behind; it may be a dead end.
        of_ignored = np.concatenate([scanner.events, scanner.ends])
        of_ignored = of_ignored[of_ignored[:, 0] == self._ignored]
        looks_around = scanner.starts.shape[1] > scanner.n_runs or bool((of_ignored[:, 1] > 0).any())
        if tables.indentation is not None:
            doubts += self._uncounted(tables)
        elif (doubts or looks_around or not self._safe_states.is_complete) and self._make_cells(
            tables, items, start, scanner.first_left
        ):
            doubts = []
        if self.cells is None and not self._safe_states.is_complete:
            doubts.append("the check of its conflicts and of where its terminals end was too large")
        self.doubts = tuple(doubts)
        self.unproductive = self._unproductive(tables, items, symbols)
        self._steps.begin()

    @property
    def notes(self) -> tuple[str, ...]:
        """Unproductive symbols and doubts as messages for users."""
        return (
            *(f"{name} occurs in no accepted text" for name in self.unproductive),
            *(f"dead ends are possible: {doubt}" for doubt in self.doubts),
        )

    def certain(self, tables: LalrTables, start: Start) -> list[int] | None:
        """Return, per scanner state, the labels that its lexeme may get now or one letter later and that leave every stack completable.

        None if the query does not apply: if cells decide, or if there are doubts. An Indenter's newline is assumed to be harmless.
        """
        if self.cells is not None or self.doubts:
            return None
        after = tables.after[:]
        # Ignored text can follow any terminal that was fed.
        anywhere = set[int]().union({start.state}, *after)
        can_come, contexts = self._safe_states.can_come, self._contexts
        # INDENT and DEDENT follow a newline without lexemes of their own.
        with_newline = sum(1 << symbol for symbol in self.indenter.following)
        newline = self.indenter.newline
        if newline >= 0:
            # White space after a newline belongs to the newline.
            brought = set[int]().union(*(after[symbol] for symbol in (newline, *self.indenter.following)))
            anywhere -= {state for state in brought if state not in can_come}
            after[newline] = set()
        after[self._ignored] = anywhere
        return self._lexical_follow.certain(
            {
                label: {(contexts[state], can_come[state] & ~with_newline) for state in states}
                for label, states in enumerate(after)
                if states <= can_come.keys()
            }
        )

    def is_safe(self, state: int, control: Control) -> bool:
        """Return whether every stack with `state` on top is proved completable after a control; a lower bound."""
        wanted = self._safe_states.can_come.get(state)
        return wanted is not None and self._lexical_follow.allows(self._contexts[state], control, wanted)

    @contextmanager
    def query(self) -> Iterator[None]:
        """Give the block the steps of one query, as far as the call has them left, and add them to those of the call.

        Raises
        ------
        LimitError
            The query or the call exceeds its steps. Only that of the query depends on nothing but the query.
        """
        steps, call = self._steps, self.call
        # What cells took since the last query.
        call.spend(steps.spent // _PER_STEP, _TOO_MANY)
        steps.spent, steps.limit = 0, min(self._most, max(0, call.left) * _PER_STEP)
        try:
            yield
        finally:
            call.spend(-(-steps.spent // _PER_STEP), _TOO_MANY)
            steps.spent, steps.limit = 0, self._most

    def try_lexeme(self) -> None:
        """Count a lexeme that a search of a query tries."""
        self._steps.spend(
            _LEXEME, "the search for a continuation takes too many steps: use terminals that overlap less"
        )

    def is_of_query(self, error: LimitError) -> bool:
        """Return whether an error is that of a query, instead of the call's."""
        return error.what == self._steps.what and error.limit == self._most

    def _make_cells(self, tables: LalrTables, items: Items, start: Start, first_left: int) -> bool:
        """Build lookaheads and cells; return False if they exceed the budget."""
        first = self._contexts[start.state], Control(first_left, frozenset(), (), False)
        try:
            self.lookaheads = lookahead_classes(tables, items, self.lexemes, first, self._steps)
            self.cells = Coaccessible(tables, items, start, self.lookaheads, self._steps)
        except LimitError:
            if self.lexemes.keeps_texts:
                # Without cells, a mask would tell most of these texts apart.
                raise
            self.lookaheads = None
            return False
        return True

    def _endless(self, tables: LalrTables, items: Items) -> list[str]:
        """Describe the ended lexemes that may be watched forever."""
        names = (*tables.symbols[: self._end + 1], "ignored text", "ignored text that is too long")
        endless = self._lexical_follow.endless(items, self._contexts)
        return [f"the lexer may read any text after {names[b]} as part of {names[a]}" for a, b in endless]

    def _uncounted(self, tables: LalrTables) -> list[str]:
        """Describe how an Indenter's counts can differ from those of the stack."""
        found = []
        broken = imbalance(self.indenter, tables)
        if broken:
            found.append(f"the Indenter's counts can differ from the rules: {broken}")
        if not self._lexical_follow.columns_are_free:
            found.append(f"{tables.symbols[self.indenter.newline]} cannot end at every indentation")
        return found

    def _unproductive(self, tables: LalrTables, items: Items, symbols: set[int]) -> tuple[str, ...]:
        """Return the rules and terminals that parser states expect but no text contains."""
        found = symbols if self.cells is None else symbols - set(self.cells.empty())
        waited = {symbol for state in items.states for symbol in items.moves[state]}
        return tuple(tables.symbols[symbol] for symbol in sorted(waited - found - {self._end}))
