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
from guided.lalr.tables import Lexer, LexerContext, bits
from guided.limits import Limits

__all__ = ["Event", "Keyword", "Ordered", "determinize_in_order"]

# As in `guided.automata.lookaround`: a step here costs about as much as this many compiled ones.
_STEP_COST = 250
# A state's further cost here, and in the tables that a parser's lexer makes of it.
_STATE_COST = 4_000
# Steps that are counted at once.
_PORTION = 1 << 20
# Positions of one closure whose steps are counted together.
_AT_ONCE = 1024
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
        As in `Scanner.events`.
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
    program: Program, parts: Partition, lexer: Lexer, keywords: Sequence[Keyword], limits: Limits, steps: Steps
) -> Ordered:
    """Return the automaton of all contexts of a lexer.

    Where the lexer does not take the match that `re` finds first, the automaton finds all matches of all terminals.

    Parameters
    ----------
    program : Program
        The lexer's terminals.
    parts : Partition
        Partition of the program's sets.
    keywords : sequence of Keyword
        In the order in which Lark tries them.
    limits : Limits
    steps : Steps
        Counter to continue.

    Raises
    ------
    GrammarError
        A terminal looks ahead of its end without a bound, or two match the same text and neither is cut off.
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` is exceeded.
    """
    return _Construction(program, parts, lexer, keywords, limits, steps).run()


class _Construction:
    def __init__(
        self,
        program: Program,
        parts: Partition,
        lexer: Lexer,
        keywords: Sequence[Keyword],
        limits: Limits,
        steps: Steps,
    ) -> None:
        # Whether a match ends the threads that are less preferred.
        self.cuts = not (lexer.is_scannerless or lexer.takes_longest)
        self.program, self.code = program, program.instructions
        self.contexts, self.keywords = lexer.contexts, keywords
        self.ignored, self.label_of_ignored = lexer.ignored, lexer.label_of_ignored
        # The terminals of GBNF are parts of rules, and numbered (`guided.lalr.gbnf`).
        named = (one.name.rpartition("_")[0].lower() if lexer.is_scannerless else one.name for one in lexer.terminals)
        self.names = (*named, "$END", "%ignore")
        self.limits, self.steps, self.uncounted = limits, steps, 0
        self.n_classes = parts.n_classes
        indptr, members = parts.set_indptr, parts.set_classes
        # By character set: its classes, as bits.
        self.members = [
            sum(1 << c for c in members[indptr[i] : indptr[i + 1]].tolist()) for i in range(len(program.charsets))
        ]
        self.every = (1 << parts.n_classes) - 1
        self.machine = Machine(program.nfa, parts, self.steps) if program.nfa is not None else None
        self.trackers: list[Trackers] = []
        self.lefts: dict[Trackers, int] = {}
        self.left_groups: dict[int, dict[int, int]] = {}
        # Obligations after a character, with the classes of characters for which it leaves them, by obligations and trackers before it;
        # and the steps of single obligations, by class and trackers after it.
        self.owing: dict[tuple[frozenset[Any], int], dict[frozenset[Any], int]] = {}
        self.stepped: dict[tuple[int, int], dict[Obligation, Obligation | bool]] = {}
        # The state after the threads, keywords and trackers that a character leads to; and the numbers in a set of classes.
        self.arrived: dict[tuple[tuple[_Thread, ...], _Spelled, int], int] = {}
        self.listed: dict[int, list[int]] = {}
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
        self.steps.spend(self.uncounted, _TOO_MANY)
        return Ordered(rows, events, ends, self.starts, first_left, len(self.trackers))

    def _spend(self, count: int) -> None:
        self.uncounted += count
        if self.uncounted > _PORTION:
            self.steps.spend(self.uncounted, _TOO_MANY)
            self.uncounted = 0

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
        """Return the next states. Classes of characters that lead to the same threads, in order, are one group."""
        lefts = self._lefts_after(left) if self.machine is not None else {0: self.every}
        groups = [_Group(classes, after, [], []) for after, classes in lefts.items()]
        cost = len(threads)
        for place, obligations in threads:
            if isinstance(place, Event):
                if place.back >= self.limits.lookahead:
                    raise GrammarError(
                        f"looks too far ahead of its end: a lookahead there may read {self.limits.lookahead:,} characters",
                        self.names[place.label],
                    )
                moved: _Position = place._replace(back=place.back + 1)
                classes = self.every
            else:
                moved = place + 1
                classes = self.members[self.code[place].a]
            cost += classes.bit_count()
            rests = self._rests(obligations, left) if obligations else {obligations: classes}
            for rest, those in rests.items():
                for group in _within(groups, classes & those):
                    group.threads.append((moved, rest))
        for keyword, count in spelled:
            word = self.keywords[keyword].spelling
            if count < len(word):
                for group in _within(groups, self.members[word[count]]):
                    group.words.append((keyword, count + 1))
        self._spend(_STATE_COST + _STEP_COST * cost // 4)
        row = [DEAD] * self.n_classes
        for group in sorted(groups, key=lambda group: group.classes & -group.classes):
            if group.threads:
                target = self._arrive(group)
                for c in self._listed(group.classes):
                    row[c] = target
        return row

    def _arrive(self, group: "_Group") -> int:
        """Return the state that a group of classes leads to, or DEAD."""
        words = frozenset(group.words)
        key = tuple(group.threads), words, group.left
        number = self.arrived.get(key)
        if number is None:
            closed, event = self._close(group.threads, group.left, words)
            number = DEAD
            if closed or event is not None:
                number = self._number((closed, event, words if closed else _NOTHING, group.left if closed else 0))
            self.arrived[key] = number
        return number

    def _listed(self, classes: int) -> list[int]:
        """Return the members of a set of numbers."""
        found = self.listed.get(classes)
        if found is None:
            found = self.listed[classes] = bits(classes)
        return found

    def _lefts_after(self, left: int) -> dict[int, int]:
        """Return the trackers after a character, with the classes of characters that lead to them."""
        groups = self.left_groups.get(left)
        if groups is None:
            assert self.machine is not None, "without assertions nothing is tracked"
            groups, trackers = {}, self.trackers[left]
            for c in range(self.n_classes):
                after = self._left(self.machine.next_trackers(trackers, c, {}))
                groups[after] = groups.get(after, 0) | 1 << c
            self.left_groups[left] = groups
        return groups

    def _rests(self, obligations: frozenset[Any], left: int) -> dict[frozenset[Any], int]:
        """Return the remaining obligations after a character that fails none, with the classes of characters that leave them."""
        rests = self.owing.get((obligations, left))
        if rests is None:
            assert self.machine is not None, "only assertions have obligations"
            rests = self.owing[obligations, left] = {}
            # PERF: most of the dozens of classes have the same effect on the obligations (a third of the time of grammars/sql.lark).
            alike = self._alike(self.machine.reads(obligations))
            for after, led in self._lefts_after(left).items():
                for classes in filter(None, (led & one for one in alike)):
                    c = (classes & -classes).bit_length() - 1
                    stepped = self.stepped.setdefault((c, after), {})
                    rest = self.machine.obligations_after(obligations, c, self.trackers[after], stepped)
                    if rest is not None:
                        rests[rest] = rests.get(rest, 0) | classes
        return rests

    def _alike(self, read: int) -> list[int]:
        """Return the classes of characters grouped by which of some sets, as bits, contain them."""
        groups = [self.every]
        for number in self._listed(read):
            inside = self.members[number]
            groups = [part for group in groups for part in (group & inside, group & ~inside) if part]
        return groups

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
            if not len(seen) % _AT_ONCE:
                self._spend(_STEP_COST * _AT_ONCE)
            place, obligations, entered = item
            if isinstance(place, Event):
                if not obligations:
                    event = place
                    break
                closed[place, obligations] = None
                continue
            op, a, b, c, is_lazy = code[place]
            if op == READ:
                closed[place, obligations] = None
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
                closed[found, obligations] = None
        self._spend(_STEP_COST * (len(seen) % _AT_ONCE))
        return tuple(closed if self.cuts else sorted(closed)), event

    def _label(self, terminal: int, spelled: _Spelled) -> int:
        """Return the token type of a terminal, given the keywords spelled so far."""
        if terminal in self.ignored:
            return self.label_of_ignored
        for number, count in sorted(spelled):
            keyword = self.keywords[number]
            if keyword.owner == terminal and count == len(keyword.spelling):
                return keyword.terminal
        return terminal


@dataclass(slots=True)
class _Group:
    """Classes of characters, as bits, the trackers after these, and the threads and keywords that they lead to."""

    classes: int
    left: int
    threads: list[_Thread]
    words: list[tuple[int, int]]


def _within(groups: list[_Group], classes: int) -> list[_Group]:
    """Return the groups within a set of classes, after splitting those that are partly within it."""
    found = []
    for group in groups[:]:
        common = group.classes & classes
        if common:
            if common != group.classes:
                groups.append(_Group(group.classes & ~common, group.left, group.threads[:], group.words[:]))
                group.classes = common
            found.append(group)
    return found
