"""Ordered determinization: converts a program of terminals to an automaton that finds the same matches as a backtracking matcher.

A state is the matcher's list of threads in order of preference, each with its pending lookahead obligations, plus the event reached by the
last step (if any), how far each keyword has been spelled, and the lookbehind trackers. On `MATCH`, all less preferred threads are dropped:
a backtracking matcher would try them only if this match failed. More preferred threads continue, and a later event overrides. The last
event before the automaton dies is therefore the match that `re` finds.

- A match with open obligations is a *pending* thread. It reads on until they are discharged; then its event is reported, with the number
  of characters read since the match ended (``back``). At the end of a text it counts if the end discharges its obligations.
- Left context: the lookbehind trackers run through the whole text, so a terminal's start state depends on its context and the trackers
  there. An event records the trackers at its end.
- A *keyword* is a string terminal that a regex terminal matches whole; Lark gives the token the keyword's type.

Invariant: among threads with equal futures, a state keeps only the preferred one. Exponential in the worst case, within budgets of states,
cells and steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from guided.arrays import DEAD
from guided.automata.lookaround import Machine, Obligation, Trackers, holds_at_end
from guided.automata.partition import Partition
from guided.automata.steps import Steps
from guided.errors import GrammarError, LimitError
from guided.lalr.program import AGAIN, ENTER, JUMP, LOOK, MATCH, READ, SPLIT, Program
from guided.lalr.tables import LexerContext
from guided.limits import Limits

__all__ = ["Event", "Keyword", "Ordered", "determinize_in_order"]

# As in `guided.automata.lookaround`: a step here costs about as much as this many compiled ones.
_STEP_COST = 250
# A state's further cost here, and in the tables that a parser's lexer makes of it.
_STATE_COST = 4_000
_TOO_MANY = "the terminals have too many states or overlap too much: lower the counts of repeats"
_NOTHING: frozenset[Any] = frozenset()


class Keyword(NamedTuple):
    """A keyword of a regex terminal.

    Attributes
    ----------
    owner : int
        The regex terminal.
    terminal : int
        The type of a token whose text is the keyword's.
    spelling : tuple of int
        The character sets that spell it, as numbers of the program's sets.
    """

    owner: int
    terminal: int
    spelling: tuple[int, ...]


class Event(NamedTuple):
    """A match.

    Attributes
    ----------
    label : int
        Terminal, or the number of terminals for ignored text.
    back : int
        Characters read since its end.
    left : int
        Number of the trackers at its end.
    """

    label: int
    back: int
    left: int


# A thread: an address, or the event of a pending thread; and its obligations.
_Position: TypeAlias = int | Event
_Thread: TypeAlias = tuple[_Position, frozenset[Any]]
# (Number of a keyword, number of its characters that have been read).
_Spelled: TypeAlias = frozenset[tuple[int, int]]
_State: TypeAlias = tuple[tuple[_Thread, ...], Event | None, _Spelled, int]


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """The automaton over classes of characters.

    Attributes
    ----------
    rows : list of list of int
        Next state by class, or DEAD.
    events, ends : list of (Event or None)
        Per state: the match reached there; the match if the text ends there.
    starts : dict of (int, int) to int
        First state, by context and number of the trackers.
    first_left : int
        Number of the trackers at the start of a text.
    n_lefts : int
    """

    rows: list[list[int]]
    events: list[Event | None]
    ends: list[Event | None]
    starts: dict[tuple[int, int], int]
    first_left: int
    n_lefts: int


def determinize_in_order(
    program: Program,
    parts: Partition,
    contexts: Sequence[LexerContext],
    keywords: Sequence[Keyword],
    ignored: frozenset[int],
    names: Sequence[str],
    limits: Limits,
    steps: Steps | None = None,
    *,
    cuts: bool = True,
) -> Ordered:
    """Return the automaton of all contexts of a grammar.

    Parameters
    ----------
    parts : Partition
        Partition of the program's sets.
    keywords : sequence of Keyword
        In the order in which Lark tries them.
    ignored : set of int
        Terminals whose text is ignored.
    names : sequence of str
        Names of the terminals, for errors.
    limits : Limits
    steps : Steps, optional
        Counter to continue.
    cuts : bool
        Whether a match ends the threads that are less preferred. Otherwise the automaton finds all matches of all terminals.

    Raises
    ------
    GrammarError
        A terminal looks ahead of its end without a bound, or two match the same text and neither is cut off.
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` is exceeded.
    """
    counter = steps or Steps(limits.steps)
    return _Construction(program, parts, contexts, keywords, ignored, names, limits, counter, cuts=cuts).run()


class _Construction:
    def __init__(
        self,
        program: Program,
        parts: Partition,
        contexts: Sequence[LexerContext],
        keywords: Sequence[Keyword],
        ignored: frozenset[int],
        names: Sequence[str],
        limits: Limits,
        steps: Steps,
        *,
        cuts: bool,
    ) -> None:
        self.cuts = cuts
        self.program, self.code = program, program.instructions
        self.contexts, self.keywords, self.ignored = contexts, keywords, ignored
        self.names = (*names, "%ignore")
        self.limits, self.steps = limits, steps
        self.n_classes = parts.n_classes
        indptr, members = parts.set_indptr, parts.set_classes
        self.members: list[list[int]] = [
            members[indptr[i] : indptr[i + 1]].tolist() for i in range(len(program.charsets))
        ]
        self.machine = Machine(program.nfa, parts, self.steps) if program.nfa is not None else None
        self.trackers: list[Trackers] = []
        self.lefts: dict[Trackers, int] = {}
        self.left_rows: dict[int, list[int]] = {}
        # By class: the sets of the assertions that contain it, as bits.
        n_sets = 0 if program.nfa is None else len(program.nfa.charsets)
        self.within = [0] * parts.n_classes
        for number, classes in enumerate(self.members[:n_sets]):
            for c in classes:
                self.within[c] |= 1 << number
        # Obligations after each class of characters, by obligations and trackers before it; and the steps of single obligations, by class
        # and trackers after it.
        self.owing: dict[tuple[frozenset[Any], int], list[frozenset[Any] | None]] = {}
        self.stepped: dict[tuple[int, int], dict[Obligation, Obligation | bool]] = {}
        self.threads: dict[_Thread, _Thread] = {}
        self.numbers: dict[_State, int] = {}
        self.work: list[_State] = []
        self.starts: dict[tuple[int, int], int] = {}

    def run(self) -> Ordered:
        first_left = self._left(self.machine.first_trackers() if self.machine is not None else ())
        rows: list[list[int]] = []
        events: list[Event | None] = []
        ends: list[Event | None] = []
        begun = 0
        while begun < len(self.trackers) or len(rows) < len(self.work):
            if begun < len(self.trackers):
                for number, context in enumerate(self.contexts):
                    self.starts[number, begun] = self._start(context, begun)
                begun += 1
                continue
            threads, event, spelled, left = self.work[len(rows)]
            events.append(event)
            ends.append(self._end(threads))
            rows.append(self._row(threads, spelled, left))
        return Ordered(rows, events, ends, self.starts, first_left, len(self.trackers))

    def _left(self, trackers: Trackers) -> int:
        number = self.lefts.setdefault(trackers, len(self.trackers))
        if number == len(self.trackers):
            self.trackers.append(trackers)
            self._check(number * len(self.contexts))
        return number

    def _number(self, state: _State) -> int:
        number = self.numbers.setdefault(state, len(self.work))
        if number == len(self.work):
            self.work.append(state)
            self._check(number)
        return number

    def _check(self, number: int) -> None:
        if number >= self.limits.states:
            raise LimitError("states", number + 1, self.limits.states, _TOO_MANY)
        if number * self.n_classes > self.limits.transitions:
            raise LimitError("transitions", number * self.n_classes, self.limits.transitions, _TOO_MANY)

    def _start(self, context: LexerContext, left: int) -> int:
        spelled = frozenset((keyword, 0) for keyword in context.keywords)
        threads: list[_Thread] = [(self.program.starts[terminal], _NOTHING) for terminal in context.terminals]
        closed, event = self._close(threads, left, spelled)
        return self._number((closed, event, spelled, left if self.machine is not None else 0))

    def _end(self, threads: tuple[_Thread, ...]) -> Event | None:
        """Return the match if the text ends: the most preferred pending one whose obligations the end discharges."""
        for place, obligations in threads:
            if isinstance(place, Event) and holds_at_end(obligations):
                return place
        return None

    def _row(self, threads: tuple[_Thread, ...], spelled: _Spelled, left: int) -> list[int]:
        """Return the next states. Threads are distributed to their classes in order; classes with equal thread lists share one closure."""
        arrived: list[list[_Thread]] = [[] for _ in range(self.n_classes)]
        lefts = self._lefts_after(left) if self.machine is not None else None
        cost = len(threads)
        for place, obligations in threads:
            if isinstance(place, Event):
                if place.back >= self.limits.lookahead:
                    raise GrammarError(
                        f"looks too far ahead of its end: a lookahead there may read {self.limits.lookahead:,} characters",
                        self.names[place.label],
                    )
                moved: _Position = place._replace(back=place.back + 1)
                classes: Sequence[int] = range(self.n_classes)
            else:
                moved = place + 1
                classes = self.members[self.code[place].a]
            cost += len(classes)
            if obligations:
                rests = self._rests(obligations, left)
                for c in classes:
                    rest = rests[c]
                    if rest is not None:
                        arrived[c].append((moved, rest))
            else:
                for c in classes:
                    arrived[c].append((moved, obligations))
        spelling: dict[int, set[tuple[int, int]]] = {}
        for keyword, count in spelled:
            word = self.keywords[keyword].spelling
            if count < len(word):
                for c in self.members[word[count]]:
                    spelling.setdefault(c, set()).add((keyword, count + 1))
        self.steps.spend(_STATE_COST + _STEP_COST * cost // 4, _TOO_MANY)
        known: dict[Any, int] = {}
        row = []
        for c, found in enumerate(arrived):
            if not found:
                row.append(DEAD)
                continue
            left_after = lefts[c] if lefts is not None else 0
            words = frozenset(spelling.get(c, ()))
            key = tuple(found), words, left_after
            number = known.get(key)
            if number is None:
                closed, event = self._close(found, left_after, words)
                number = DEAD
                if closed or event is not None:
                    number = self._number((closed, event, words if closed else _NOTHING, left_after if closed else 0))
                known[key] = number
            row.append(number)
        return row

    def _lefts_after(self, left: int) -> list[int]:
        """Return the trackers after each class of characters."""
        after = self.left_rows.get(left)
        if after is None:
            assert self.machine is not None, "without assertions nothing is tracked"
            trackers = self.trackers[left]
            after = [self._left(self.machine.next_trackers(trackers, c, {})) for c in range(self.n_classes)]
            self.left_rows[left] = after
        return after

    def _rests(self, obligations: frozenset[Any], left: int) -> list[frozenset[Any] | None]:
        """Return the remaining obligations after each class of characters; None if one has failed."""
        rests = self.owing.get((obligations, left))
        if rests is None:
            assert self.machine is not None, "only assertions have obligations"
            lefts = self._lefts_after(left)
            # PERF: most of the dozens of classes have the same effect on the obligations (a third of the time of grammars/sql.lark).
            read, known = self.machine.reads(obligations), dict[tuple[int, int], frozenset[Any] | None]()
            rests = []
            for c, after in enumerate(lefts):
                key = read & self.within[c], after
                if key not in known:
                    stepped = self.stepped.setdefault((c, after), {})
                    known[key] = self.machine.obligations_after(obligations, c, self.trackers[after], stepped)
                rests.append(known[key])
            self.owing[obligations, left] = rests
        return rests

    def _close(self, threads: list[_Thread], left: int, spelled: _Spelled) -> tuple[tuple[_Thread, ...], Event | None]:
        """Follow instructions that read nothing, in order of preference.

        Returns the threads that wait for a character, and the event that cut off the rest.
        """
        code = self.code
        closed: dict[_Thread, None] = {}
        seen: set[tuple[_Position, frozenset[Any], frozenset[int]]] = set()
        # Invariant: the most preferred item that is still to run is on top.
        stack: list[tuple[_Position, frozenset[Any], frozenset[int]]] = [
            (p, obligations, _NOTHING) for p, obligations in reversed(threads)
        ]
        event = None
        while stack:
            item = stack.pop()
            if item in seen:
                continue
            seen.add(item)
            place, obligations, entered = item
            if isinstance(place, Event):
                if not obligations:
                    event = place
                    break
                closed[self._thread(place, obligations)] = None
                continue
            op, a, b, c, is_lazy = code[place]
            if op == READ:
                closed[self._thread(place, obligations)] = None
            elif op == SPLIT:
                stack.append((b, obligations, entered))
                stack.append((a, obligations, entered))
            elif op == JUMP:
                stack.append((a, obligations, entered))
            elif op == ENTER:
                if c in entered:
                    stack.append((b, obligations, entered))
                else:
                    body, onward = (a, obligations, entered | {c}), (b, obligations, entered)
                    stack.extend((body, onward) if is_lazy else (onward, body))
            elif op == AGAIN:
                stack.append((b if c in entered else a, obligations, entered))
            elif op == LOOK:
                assert self.machine is not None, "assertions have a machine"
                alternatives = self.machine.asserted(a, self.trackers[left])
                stack.extend((place + 1, obligations | more, entered) for more in alternatives)
            else:
                assert op == MATCH
                found = Event(self._label(a, spelled), 0, left)
                if not obligations:
                    if event is not None and event != found:
                        other = self.names[event.label]
                        raise GrammarError(
                            f"a part of the rule matches a text that {other} matches too where both may stand: join the two",
                            self.names[a],
                        )
                    event = found
                    if self.cuts:
                        break
                    continue
                closed[self._thread(found, obligations)] = None
        self.steps.spend(_STEP_COST * len(seen), _TOO_MANY)
        return tuple(closed if self.cuts else sorted(closed)), event

    def _thread(self, place: _Position, obligations: frozenset[Any]) -> _Thread:
        """Return the one thread that equals this. PERF: Python searches all that are kept for garbage."""
        thread = place, obligations
        return self.threads.setdefault(thread, thread)

    def _label(self, terminal: int, spelled: _Spelled) -> int:
        """Return the token type of a terminal, given the keywords spelled so far."""
        if terminal in self.ignored:
            return len(self.program.starts)
        for number, count in sorted(spelled):
            keyword = self.keywords[number]
            if keyword.owner == terminal and count == len(keyword.spelling):
                return keyword.terminal
        return terminal
