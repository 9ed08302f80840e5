"""Short completions of JSON texts: the bytes that lead from any position to the end.

`Witness` is a policy: it maps a control, the top cell and the target valuations of that cell to the next bytes. Following it, byte by byte
or in larger steps, yields one fixed text.
Invariant: the completion from any point of that text is the rest of it. Completion lengths therefore fall with each byte read; budgets
rely on this.

A cell may wait for the valuation of its pending value, and some valuations lead to shorter completions than others. The *targets* for a
value are alternatives: which observed formulas must hold, which must not, and how many bytes remain afterwards. A value takes the
alternative with the least total cost. The targets for a cell's value follow from the cell's state and the targets for the cell itself, so
they are computed from the bottom of the stack upwards.

`guided.schema.pushdown.shortest` chooses the type of a value, the next member, and whether to close. Within a string, number or key, the
completion is the shortest path to a live end state that satisfies a target.

Complexity: O(1) for repeated queries; otherwise a few cost look-ups and O(bytes) of the completion.
"""

from collections.abc import Mapping

import numpy as np

from guided.arrays import DEAD
from guided.automata.pushdown import ACTION, GUARD, action_entry
from guided.errors import too_few_values
from guided.schema.containers.conjunctive import ConjunctiveState
from guided.schema.containers.general import ITEM, ArrayState, ObjectState
from guided.schema.containers.opening import Container, OpenContainer
from guided.schema.formula.atoms import BEGINS
from guided.schema.formula.queries import ANY_VALUATION, TargetValuations, ValueQuery
from guided.schema.pushdown.arguments import ArgumentFrames
from guided.schema.pushdown.costs import KEYS_TRIED, Costs
from guided.schema.pushdown.elements import Element
from guided.schema.pushdown.frame_paths import FramePaths
from guided.schema.pushdown.key_frames import KeyFrames
from guided.schema.pushdown.layout import BLANK, NEWLINE
from guided.schema.pushdown.leaf_frames import LeafFrame
from guided.schema.pushdown.shortest import CLOSE, INFINITE
from guided.schema.pushdown.structure import CLOSING, COLON, COMMA, LITERALS, QUOTE
from guided.schema.pushdown.value_starts import TextStart, ValueStarts

__all__ = ["Witness"]

_TARGETS_TRIED = 16
_VALUATIONS_TRIED = 8
_FEW_OBSERVED = 16
_SPACES = b" \t\n\r"
_BLANKS = np.frombuffer(_SPACES, np.uint8)
_MARKS = np.frombuffer(b',:"]}', np.uint8)


class Witness:
    """Short completions for one schema.

    Parameters
    ----------
    starts : ValueStarts
    keys : KeyFrames
    contents : mapping of int to (OpenContainer or None)
        Content of each cell.
    arguments : ArgumentFrames or None
        The texts around arguments, if members of the outermost object are written so.
    outermost : (int, int)
        The control at the start of such an object, and its cell.
    """

    def __init__(
        self,
        starts: ValueStarts,
        keys: KeyFrames,
        contents: Mapping[int, OpenContainer | None],
        arguments: ArgumentFrames | None,
        outermost: tuple[int, int],
    ) -> None:
        self._starts, self._keys, self._contents = starts, keys, contents
        self._arguments, self._outermost = arguments, outermost
        self._elements = None if arguments is None else arguments.elements
        self._context = starts.containers.context
        self._frame_paths = FramePaths(starts, keys)
        self._formulas = starts.containers.formulas
        self._costs = Costs(starts.containers)
        self._shortest = self._costs.shortest
        structure = starts.structure
        # A byte that begins a name without quotes.
        begins = np.flatnonzero(starts.tables.rows[structure.object_next] <= ACTION)
        self._names_at = -1 if structure.has_quoted_names or not len(begins) else int(begins[0])
        self._after_name = b":" if structure.has_quoted_names else b""
        # Whether no whitespace is needed between two tokens.
        gaps = structure.spaces, structure.after_comma, structure.after_colon
        self._is_tight = structure.lines is None and all(0 in spaces.accepting for spaces in gaps)
        self._targets: dict[tuple[int, TargetValuations], TargetValuations] = {}
        self._next: dict[tuple[int, int, TargetValuations], bytes] = {}

    @property
    def no_target(self) -> TargetValuations:
        """The targets for a whole text: none."""
        return ANY_VALUATION

    def targets(self, cell: int, own: TargetValuations) -> TargetValuations:
        """Return the targets for the pending value of a cell, given the targets for the cell itself."""
        content = self._contents[cell]
        if cell == self._starts.passing():
            return own
        if content is None or not content.observed:
            return ANY_VALUATION
        found = self._targets.get((cell, own))
        if found is None:
            state = content.state
            assert not isinstance(state, ConjunctiveState)
            found = self._targets[cell, own] = self._costs.targets_of(state, content.observed, own)
        return found

    def completion_step(self, control: int, cell: int, own: TargetValuations, needed: int) -> bytes:
        """Return the next bytes, at least one unless the text is complete.

        ``needed``: code points that the current string still needs.
        """
        if needed:
            return self._next_bytes(control, cell, own, needed)
        key = (control, cell, own)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self._next_bytes(control, cell, own, 0)
        return found

    def _next_bytes(self, control: int, cell: int, own: TargetValuations, needed: int) -> bytes:
        content = self._contents[cell]
        structure = self._starts.structure
        if self._starts.tables.info.item(control, GUARD) >= 0:
            assert content is not None
            return self._in_key(control, content, own)
        if structure.string <= control < structure.other_key:
            return self._frame_paths.near_end(control, needed)
        if self._elements is not None and control in self._elements.at:
            return self._of_element(self._elements.at[control], cell, own, needed)
        frame = self._frame_paths.frame_at(control)
        if frame is not None:
            return self._in_leaf(control, frame, cell, own, needed)
        text = self._starts.text_starts.get(control)
        if text is not None:
            begin = self._of_text(control, text, cell, own)
            # An optional line feed would take the place of the text's own.
            return begin[:1] if control in self._starts.before_feeds and begin[:1] == b"\n" else begin
        if self._arguments is not None:
            if control == self._outermost[0]:
                return self._before_argument(self._arguments.first, self._outermost[1], own)
            if self._arguments.is_before_name(control):
                return self._before_argument(control, cell, own)
            if self._arguments.is_before_value(control):
                return self._before_value(control, self.targets(cell, own))
        fixed = self._starts.closings.get(control) or self._starts.openings.get(control)
        if fixed is not None:
            return fixed
        if self._starts.frames.is_in_string(control):
            return self._frame_paths.near_end(control, needed, self.targets(cell, own))
        if control in self._starts.frames.without_numbers:
            found = self._frame_paths.nearest(control, 0)
            assert found is not None, "every control is live"
            return found[:-1] or self._after_valuation(cell, 0, own)
        if needed:
            return bytes([BLANK]) * needed
        query = self._starts.query_at(control)
        if query is not None:
            return self._of_value(control, query, cell, own)
        return self._at_punctuation(control, cell, own) or self._frame_paths.near_end(control, 0)

    def _before_argument(self, control: int, cell: int, own: TargetValuations) -> bytes:
        """Return bytes before the name of an argument, an item or the end, or those of the name, or before an item's value."""
        arguments, content = self._arguments, self._contents[cell]
        assert arguments is not None
        assert content is not None
        path, end = (arguments.path(control, is_end=is_end) for is_end in (False, True))
        if end is not None and (path is None or self._step(cell, own) == CLOSE):
            return end
        if path:
            return path
        if isinstance(content.state, ArrayState):
            after = content.state.after(ITEM)
            assert after is not None
            query, state = after
            return self._before_value(arguments.after_name(query), self._costs.targets_of(state, query[1:], own))
        start = self._keys.start(content.state.keys, content.state.others, is_outermost=True)
        return self._in_key(start, content, own)

    def _before_value(self, control: int, targets: TargetValuations) -> bytes:
        """Return the text from a control behind a name to the best value."""
        assert self._arguments is not None
        between = self._arguments.before_value(control)
        if len(between) == 1:
            return between[0][0]
        return min(between, key=lambda one: (self._costs.cost_of_value(one[1], targets)[0], len(one[0])))[0]

    def _at_punctuation(self, control: int, cell: int, own: TargetValuations) -> bytes:
        row = self._starts.tables.rows[control]
        if row[COLON] != DEAD:
            return b":"
        if row[COMMA] <= ACTION:
            return self._after_value(cell, own)
        if self._names_at >= 0 and row[self._names_at] <= ACTION:
            content = self._contents[cell]
            assert content is not None
            assert not isinstance(content.state, ArrayState)
            if row[CLOSING["object"]] <= ACTION and self._step(cell, own) == CLOSE:
                return bytes([CLOSING["object"]])
            return self._in_key(self._keys.start(content.state.keys, content.state.others), content, own)
        for begin in (QUOTE, NEWLINE):
            if row[begin] <= ACTION:
                content = self._contents[cell]
                assert content is not None
                if row[CLOSING["object"]] <= ACTION and self._step(cell, own) == CLOSE:
                    return bytes([CLOSING["object"]])
                return bytes([begin]) + self._required_name(content, own)
        for only in (BLANK, *CLOSING.values()):
            if row[only] <= ACTION:
                return bytes([only])
        return self._through_spaces(control) if (row[_BLANKS] >= 0).any() else b""

    def _through_spaces(self, control: int) -> bytes:
        """Return the shortest whitespace that is still required."""
        rows, queries = self._starts.tables.rows, self._starts.query_at
        text: dict[int, bytes] = {control: b""}
        for reached in (queue := [control]):
            row = rows[reached]
            if queries(reached) is not None or (row[_MARKS] != DEAD).any():
                return text[reached]
            for space in _SPACES:
                target = row.item(space)
                if target >= 0 and target not in text:
                    text[target] = text[reached] + bytes([space])
                    queue.append(target)
        raise AssertionError("whitespace ends")

    # Between members

    def _step(self, cell: int, own: TargetValuations) -> int:
        """Return the step of a cell's object or array when no value is pending: a label or CLOSE."""
        content = self._contents[cell]
        assert content is not None
        return self._costs.step_of(content.state, own)

    def _after_value(self, cell: int, own: TargetValuations) -> bytes:
        content = self._contents[cell]
        assert content is not None
        return self._onward(content, content.state, own)

    def _onward(self, content: OpenContainer, state: Container, own: TargetValuations) -> bytes:
        """Return the bytes after a value: the comma, with a required name, or what closes the container."""
        if self._costs.step_of(state, own) != CLOSE:
            name = self._required_name(content, own)
            return b',"' + name if name else b","
        if self._starts.structure.lines is not None:
            return bytes([NEWLINE])
        return bytes([CLOSING["array" if isinstance(state, ArrayState) else "object"]])

    def _required_name(self, content: OpenContainer, own: TargetValuations) -> bytes:
        """Return the next name if it is required, with its quote and the colon; empty if a space may come after a comma.

        PERF: fewer and longer steps for objects of many required members.
        """
        state = content.state
        if not self._is_tight or not self._after_name or content.is_apart:
            return b""
        if not isinstance(state, ConjunctiveState) or not state.required_next:
            return b""
        return self._in_key(self._keys.start(state.keys, state.others), content, own)

    # Values

    def _of_value(self, control: int, query: ValueQuery, cell: int, own: TargetValuations) -> bytes:
        content = self._contents[cell]
        cost, formula, target = self._costs.cost_of_value(query, self.targets(cell, own))
        bracket = CLOSING["array"]
        if self._starts.tables.rows.item(control, bracket) == action_entry(self._starts.structure.close_empty):
            assert content is not None
            valuation = content.empty
            if valuation >= 0 and min((one.cost for one in own if one.suits(valuation)), default=INFINITE) < cost:
                return bytes([bracket])
        if self._starts.tables.rows.item(control, NEWLINE) <= ACTION:
            return bytes([NEWLINE])
        kind = self._shortest.kind(formula)
        if kind in LITERALS:
            return self._starts.structure.words[kind]
        if kind != "number":
            return {"string": self._starts.structure.opening, "array": b"[", "object": b"{"}[kind]
        leaf = self._context.leaves.of(kind, tuple(self._context.typed(one, kind) for one in query))
        return leaf.path(0, (target,))[0]

    def _of_text(self, control: int, text: TextStart, cell: int, own: TargetValuations) -> bytes:
        """Return the beginning of a value in a notation: a text, if there is any that satisfies the targets."""
        if text.leaf is None:
            return self._of_value(text.nested, text.query, cell, own)
        leaf, targets, kind, target = (
            text.leaf,
            self.targets(cell, own),
            "string",
            ANY_VALUATION[0],
        )
        if len(text.query) > 1:
            _, formula, target = self._costs.cost_of_value(text.query, targets)
            kind = self._shortest.kind(formula)
        row = self._starts.tables.rows[control]
        if leaf.automaton.is_empty() or (kind in CLOSING and row[BEGINS[kind][0]] != DEAD):
            kinds = (kind, "array", "object")
            return next(BEGINS[one] for one in kinds if one in CLOSING and row[BEGINS[one][0]] != DEAD)
        if text.counts is not None:
            return text.counts.way(0, text.registers[0], targets, leaf.end, self._frame_paths.spend)
        return leaf.path(0, (target,))[0] + leaf.end

    def _of_element(self, element: Element, cell: int, own: TargetValuations, needed: int) -> bytes:
        """Return bytes of a value whose type nothing tells: those of a text, or those to a first member or item, or to the end."""
        targets = self.targets(cell, own)
        _, formula, _ = self._costs.cost_of_value(element.query, targets)
        kind = self._shortest.kind(formula)
        frame = self._frame_paths.frame_at(element.text) if element.text >= 0 else None
        found = self._begun(element, kind, targets) if kind in CLOSING else None
        if found is None and frame is not None:
            return self._in_leaf(element.text, frame, cell, own, needed)
        # Why the others: the bytes so far may rule out the best value.
        ways = (self._begun(element, other, targets) for other in CLOSING)
        return found or next(way for way in ways if way is not None)

    def _begun(self, element: Element, kind: str, targets: TargetValuations) -> bytes | None:
        """Return the bytes to the first item or member of an array or object, or to the end of an empty one; None if it cannot come."""
        content = element.array if kind == "array" else element.inner
        assert self._elements is not None
        may_end = element.empty == kind and not self._elements.is_in_name(element)
        if may_end and (content is None or self._costs.step_of(content.state, targets) == CLOSE):
            return element.way + bytes([self._elements.notation.end])
        if content is None:
            return None
        if isinstance(content.state, ArrayState):
            return element.way + element.rest.encode()
        if not self._frame_paths.open_labels(element.key, content.state):
            return None
        return element.way + self._in_key(element.key, content, targets)

    def _in_leaf(self, control: int, frame: LeafFrame, cell: int, own: TargetValuations, needed: int) -> bytes:
        state = control - frame.first
        if frame.counts is not None:
            return frame.counts.way(state, needed, self.targets(cell, own), frame.leaf.end, self._frame_paths.spend)
        path, end, _ = frame.leaf.path(state, self.targets(cell, own))
        if frame.leaf.end:
            return path + frame.leaf.end
        return path or self._after_valuation(cell, frame.leaf.bits(int(frame.leaf.automaton.labels[end])), own)

    def _after_valuation(self, cell: int, valuation: int, own: TargetValuations) -> bytes:
        """Return the byte that ends a number: the next byte of the surrounding object or array."""
        content = self._contents[cell]
        if content is None:
            passing = cell == self._starts.passing()
            return self._starts.closings[self._starts.closing_text(valuation).goes_to] if passing else b""
        state = content.state
        if content.observed:
            reported = state.with_valuation(content.observed, valuation)
            if reported is None:
                raise too_few_values()
            state = reported
        if content.is_outermost:
            arguments = self._arguments
            assert arguments is not None
            found = arguments.path(arguments.following, is_end=self._costs.step_of(state, own) == CLOSE)
            assert found, "a text follows a value"
            return found
        return self._onward(content, state, own)

    def _in_key(self, control: int, content: OpenContainer, own: TargetValuations) -> bytes:
        state = content.state
        assert not isinstance(state, ArrayState)
        step = self._costs.step_of(state, own)
        if step != CLOSE:
            rest = self._frame_paths.key_rest(control, state, step)
            if rest is not None:
                return rest + self._after_name if self._is_tight and not content.is_apart else rest
        paths = self._frame_paths
        lengths = [(paths.key_length(control, state, label), label) for label in paths.open_labels(control, state)]
        found = sorted((length, label) for length, label in lengths if length is not None)
        is_long = isinstance(state, ObjectState) and self._shortest.is_long(state.formulas[0])
        label = found[0][1]
        if 1 < len(found) <= KEYS_TRIED and not is_long:
            label = min(found, key=lambda one: one[0] + self._costs.cost_of_member(state, one[1], own))[1]
        rest = paths.key_rest(control, state, label)
        assert rest is not None, "the label is in reach"
        return rest
