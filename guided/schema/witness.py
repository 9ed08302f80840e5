"""A short way out of any place in a JSON text: which bytes to read so that the text is soon complete.

`Witness` is a policy: a function of control, top cell and what is wished of it, that gives the next bytes. Whoever follows it, byte by
byte or in larger steps, reads one text and gets to the end; the rest of that text is what the policy gives from any place on the way. So
lengths of completions fall by what has been read of them, which budgets rely on.

A cell may wait for the report of its pending value, and some reports lead to an end sooner than others. What is *wished* of a value is
a list of alternatives: which observed formulas shall hold and which not, and what is left to be done then, in bytes. A value takes the
one that is cheapest for both. The wishes for a cell's value follow from its state and from what is wished of the cell itself, so
they are known bottom up.

Which kind of value, which member comes next, and whether to close, is from `guided.schema.shortest`; in a string, number or key the way is
the shortest to a state whose end is alive and serves the wish.

Complexity: O(1) for what was asked before, else a few look-ups of costs, and O(bytes) of the way.
"""

from itertools import islice
from typing import TypeAlias

import numpy as np

from guided.arrays import DEAD, Int32Array
from guided.automata.pushdown import ACTION, GUARD, action_entry
from guided.schema import objects
from guided.schema.formula import FALSE, TRUE
from guided.schema.jobs import Job
from guided.schema.layout import BLANK, NEWLINE
from guided.schema.nearest import path_down
from guided.schema.plain import PlainState
from guided.schema.shortest import CLOSE, INFINITE, Shortest, Single
from guided.schema.structure import CLOSING, COLON, COMMA, LITERALS, QUOTE
from guided.schema.witness_ways import Content, Frame, Parts, Ways, Wish, Wishes

__all__ = ["Content", "Parts", "Wishes", "Witness"]

_MOST_WISHES = 16
_MOST_REPORTS = 8
_MOST_KEYS = 16
_SPACES = b" \t\n\r"
_BLANKS = np.frombuffer(_SPACES, np.uint8)
_MARKS = np.frombuffer(b',:"]}', np.uint8)


_State: TypeAlias = "PlainState | objects.ObjectState | tuple[int, ...]"
_ANY: Wishes = (Wish(0, 0, 0),)


class Witness(Ways):
    """Short ways out, for one schema."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._reading = parts.reading
        self._formulas = parts.reading.formulas
        self._kinds = parts.reading.kinds
        self._shortest = Shortest(parts.reading)
        self._frames: list[Frame] = []
        self._firsts: Int32Array = np.zeros(0, np.int32)
        self._wishes: dict[tuple[int, Wishes], Wishes] = {}
        self._steps: dict[tuple[int, Wishes], int] = {}
        self._ways: dict[tuple[int, int, Wishes], bytes] = {}
        self._near: dict[tuple[int, int], bytes | None] = {}
        self._distances: dict[tuple[int, frozenset[int]], Int32Array] = {}
        self._counted: dict[int, Int32Array] = {}
        self._label_distances: dict[tuple[int, int], Int32Array] = {}
        self._spelled: dict[tuple[int, int], dict[int, bytes]] = {}

    @property
    def nothing(self) -> Wishes:
        """What is wished of a whole text."""
        return _ANY

    def wishes(self, cell: int, own: Wishes) -> Wishes:
        """What is wished of a value that is pending on a cell, given what is wished of the cell itself."""
        content = self._parts.contents[cell]
        if content is None or not content.observed:
            return _ANY
        found = self._wishes.get((cell, own))
        if found is None:
            assert not isinstance(content.state, PlainState)
            found = self._wishes[cell, own] = self._wishes_of(content.state, content.observed, own)
        return found

    def way_out(self, control: int, cell: int, own: Wishes, needed: int) -> bytes:
        """The next bytes, at least one unless the text is complete. ``needed``: code points that the string at hand still needs."""
        if needed:
            return self._way(control, cell, own, needed)
        key = (control, cell, own)
        found = self._ways.get(key)
        if found is None:
            found = self._ways[key] = self._way(control, cell, own, 0)
        return found

    def _way(self, control: int, cell: int, own: Wishes, needed: int) -> bytes:
        parts, content = self._parts, self._parts.contents[cell]
        structure = parts.structure
        if parts.tables.info.item(control, GUARD) >= 0:
            assert content is not None
            return self._in_key(control, content, own)
        if structure.string <= control < structure.other_key:
            return self._near_end(control, needed)
        frame = self._frame_at(control)
        if frame is not None:
            return self._in_leaf(control, frame, cell, own)
        if parts.in_string(control):
            return self._near_end(control, needed)
        if parts.in_number(control):
            found = self._nearest(control, 0)
            assert found is not None, "every control is live"
            return found[:-1] or self._after_report(cell, 0, own)
        if needed:
            return bytes([BLANK]) * needed
        job = parts.jobs(control)
        if job is not None:
            return self._of_value(control, job, cell, own)
        return self._at_punctuation(control, cell, own) or self._near_end(control, 0)

    def _at_punctuation(self, control: int, cell: int, own: Wishes) -> bytes:
        row = self._parts.tables.rows[control]
        if row[COLON] != DEAD:
            return b":"
        if row[COMMA] <= ACTION:
            return self._after_value(cell, own)
        for begin in (QUOTE, NEWLINE):
            if row[begin] <= ACTION:
                is_end = row[CLOSING["object"]] <= ACTION and self._step(cell, own) == CLOSE
                return bytes([CLOSING["object"] if is_end else begin])
        for only in (BLANK, *CLOSING.values()):
            if row[only] <= ACTION:
                return bytes([only])
        return self._through_spaces(control) if (row[_BLANKS] >= 0).any() else b""

    def _through_spaces(self, control: int) -> bytes:
        """The shortest whitespace that must still come."""
        rows, jobs = self._parts.tables.rows, self._parts.jobs
        text: dict[int, bytes] = {control: b""}
        for place in (queue := [control]):
            row = rows[place]
            if jobs(place) is not None or (row[_MARKS] != DEAD).any():
                return text[place]
            for space in _SPACES:
                target = row.item(space)
                if target >= 0 and target not in text:
                    text[target] = text[place] + bytes([space])
                    queue.append(target)
        raise AssertionError("whitespace ends")

    # Between members

    def _goals(self, state: objects.ObjectState | tuple[int, ...], own: Wishes) -> list[tuple[Single, int]]:
        """States that shall come to an end, and what is left then, for each alternative of what is wished."""
        conjunction, negation = self._formulas.conjunction, self._formulas.negation
        must, *observed = state.formulas if isinstance(state, objects.ObjectState) else state
        found = []
        for care, bits, cost in own:
            goal = conjunction(
                (
                    must,
                    *(
                        formula if bits >> i & 1 else negation(formula)
                        for i, formula in enumerate(observed)
                        if care >> i & 1
                    ),
                )
            )
            if goal != FALSE:
                found.append((_single(state, goal), cost))
        # Why also without a wish: what has been read may have made all of them impossible.
        found.append((_single(state, must), INFINITE))
        return found

    def _step(self, cell: int, own: Wishes) -> int:
        """How the object or array of a cell goes on, no value pending."""
        found = self._steps.get((cell, own))
        if found is None:
            content = self._parts.contents[cell]
            assert content is not None
            found = self._steps[cell, own] = self._step_of(content.state, own)
        return found

    def _step_of(self, state: _State, own: Wishes) -> int:
        if isinstance(state, PlainState):
            return self._shortest.step(state)
        goals = self._goals(state, own)
        if len({goal for goal, _ in goals}) == 1:
            return self._shortest.step(goals[0][0])
        costs = [(self._shortest.cost(goal), left, goal) for goal, left in goals]
        # Why first: what cannot be has a cost below that of what is not wished.
        *_, goal = min(costs, key=lambda one: (one[0] >= INFINITE, one[0] + one[1]))
        return self._shortest.step(goal)

    def _after_value(self, cell: int, own: Wishes) -> bytes:
        content = self._parts.contents[cell]
        if self._step(cell, own) != CLOSE:
            return b","
        assert content is not None
        return self._closing(content.state)

    def _closing(self, state: _State) -> bytes:
        if self._parts.structure.lines is not None:
            return bytes([NEWLINE])
        return b"}" if isinstance(state, (PlainState, objects.ObjectState)) else b"]"

    def _wishes_of(self, state: objects.ObjectState | tuple[int, ...], observed: Job, own: Wishes) -> Wishes:
        places = {formula: i for i, formula in enumerate(observed)}
        best: dict[tuple[int, int], int] = {}
        for goal, left in self._goals(state, own):
            formula = goal.formulas[0] if isinstance(goal, objects.ObjectState) else goal[0]
            for truths, after in islice(self._shortest.reports(TRUE, formula), _MOST_REPORTS):
                cost = left + self._shortest.cost(_single(goal, after))
                care = sum(1 << places[value] for value, _ in truths)
                bits = sum(1 << places[value] for value, holds in truths if holds)
                best[care, bits] = min(cost, best.get((care, bits), cost))
        ordered = sorted((cost, care, bits) for (care, bits), cost in best.items() if cost < 2 * INFINITE)
        found: list[Wish] = []
        for cost, care, bits in ordered:
            # Why not one that another implies: many of them say the same, and would leave no room for one that can be met.
            if all(one.care & ~care or one.bits != bits & one.care for one in found):
                found.append(Wish(care, bits, cost - ordered[0][0]))
                if len(found) == _MOST_WISHES:
                    break
        return tuple(found) or _ANY

    # Values

    def _formula(self, job: Job, wish: Wish) -> int:
        negation = self._formulas.negation
        return self._formulas.conjunction(
            (
                job[0],
                *(
                    formula if wish.bits >> i & 1 else negation(formula)
                    for i, formula in enumerate(job[1:])
                    if wish.care >> i & 1
                ),
            )
        )

    def _cost_of_value(self, job: Job, wishes: Wishes) -> tuple[int, int, Wish]:
        """Bytes of a value for a job and of what is left then, the value's formula, and the wish."""
        found = []
        for wish in (*wishes, _ANY[0]._replace(cost=INFINITE)):
            formula = self._formula(job, wish)
            cost = self._shortest.cost(formula)
            found.append((cost >= INFINITE, cost + wish.cost, formula, wish))
        return min(found, key=lambda one: one[:2])[1:]

    def _of_value(self, control: int, job: Job, cell: int, own: Wishes) -> bytes:
        content = self._parts.contents[cell]
        cost, formula, wish = self._cost_of_value(job, self.wishes(cell, own))
        bracket = CLOSING["array"]
        if self._parts.tables.rows.item(control, bracket) == action_entry(self._parts.structure.close_empty):
            assert content is not None
            report = self._parts.empty(content)
            if report >= 0 and min((one.cost for one in own if one.suits(report)), default=INFINITE) < cost:
                return bytes([bracket])
        if self._parts.tables.rows.item(control, NEWLINE) <= ACTION:
            return bytes([NEWLINE])
        kind = self._shortest.kind(formula)
        if kind in LITERALS:
            return LITERALS[kind]
        if kind != "number":
            return {"string": b'"', "array": b"[", "object": b"{"}[kind]
        leaf = self._kinds.leaf(kind, tuple(self._kinds.typed(one, kind) for one in job))
        return self._down(leaf, 0, (wish,))[0]

    def _in_leaf(self, control: int, frame: Frame, cell: int, own: Wishes) -> bytes:
        if frame.counts:
            return path_down(frame.leaf.automaton, self._distances_of_counted(frame), control - frame.first)[0] + b'"'
        path, end, _ = self._down(frame.leaf, control - frame.first, self.wishes(cell, own))
        if frame.kind == "string":
            return path + b'"'
        return path or self._after_report(cell, frame.leaf.bits(int(frame.leaf.automaton.labels[end])), own)

    def _after_report(self, cell: int, report: int, own: Wishes) -> bytes:
        """What ends a number: the next byte of the object or array around it."""
        content = self._parts.contents[cell]
        if content is None:
            return b""
        state = content.state
        if not isinstance(state, PlainState) and content.observed:
            formulas = state.formulas if isinstance(state, objects.ObjectState) else state
            told = self._reading.told(formulas, (0, *content.observed), report)
            state = state._replace(formulas=told) if isinstance(state, objects.ObjectState) else told
        return b"," if self._step_of(state, own) != CLOSE else self._closing(state)

    def _in_key(self, control: int, content: Content, own: Wishes) -> bytes:
        state = content.state
        assert isinstance(state, (PlainState, objects.ObjectState))
        table = self._reading.plain_table(state) if isinstance(state, PlainState) else state.table
        step = self._step_of(state, own)
        if step != CLOSE:
            rest = self._key_rest(control, table, step)
            if rest is not None:
                return rest
        found: list[tuple[int, int, bytes]] = []
        for label in self._open_labels(control, state, table):
            rest = self._key_rest(control, table, label)
            if rest is not None:
                found.append((len(rest), label, rest))
        found.sort()
        if len(found) <= _MOST_KEYS:
            return min(found, key=lambda one: one[0] + self._cost_of_member(state, one[1], own))[2]
        return found[0][2]

    def _cost_of_member(self, state: PlainState | objects.ObjectState, label: int, own: Wishes) -> int:
        if isinstance(state, PlainState):
            value, rest = self._reading.after_plain(state, label)
            return self._shortest.cost(value) + self._shortest.cost(rest)
        after = self._reading.member(state, label)
        assert after is not None
        assert not isinstance(after.state, PlainState)
        return self._cost_of_value(after.job, self._wishes_of(after.state, after.job[1:], own))[0]


def _single(state: objects.ObjectState | tuple[int, ...], formula: int) -> Single:
    return state._replace(formulas=(formula,)) if isinstance(state, objects.ObjectState) else (formula,)
