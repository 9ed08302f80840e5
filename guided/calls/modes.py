"""Text mode and tool mode: one automaton for free text with tool calls.

Text mode is the automaton that searches for the triggers (`guided.calls.triggers`) and accepts any byte, valid UTF-8 or not. The byte that
completes a trigger enters the automaton of the call; only the call can follow, and its last byte returns to text mode, where the search
starts again. A token is a byte string, so tokens across these borders need no special case: a token that completes the trigger and
continues with bytes that no call has is not allowed, because it has no path.

If calls are counted, there is one copy of the automaton for each number of completed calls.

Labels mark the modes: `TEXT`, `CALL`, `CALL_END` for the state just after a call, which has the successors of the start of a text, and
`REASONING` for reasoning before the text (`reasoning_before`).
"""

from collections.abc import Sequence

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, Int64Array
from guided.automata.calls import CALL_LETTER, NO_CALL, CallAutomaton
from guided.automata.steps import check_size
from guided.calls.triggers import Trigger, Triggers
from guided.errors import GuidedError
from guided.limits import Limits

__all__ = [
    "CALL",
    "CALL_END",
    "REASONING",
    "TEXT",
    "calls_only",
    "reasoning_before",
    "running_text",
    "with_calls",
]

TEXT, CALL, CALL_END, REASONING = 1, 2, 3, 4

# States per block of computed rows: NumPy's temporaries take more memory than the result.
_BLOCK = 1 << 14


def running_text(
    triggers: Sequence[Trigger],
    call: CallAutomaton | None,
    limits: Limits,
    continues: bool = True,
    fewest: int = 1,
    most: int | None = None,
) -> CallAutomaton:
    """Build the automaton of free text with tool calls.

    Parameters
    ----------
    triggers : sequence of Trigger
        At least one.
    call : CallAutomaton or None
        Automaton of the text after the trigger, up to the end of the terminator; it must be prefix-free. None: no call is possible, so
        a trigger cannot occur.
    continues : bool
        Whether text follows a call. Otherwise the text ends with its first call.
    fewest, most : int, int or None
        Minimum and maximum number of calls; used if text follows a call. A text without calls is always allowed.

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of ``limits`` is exceeded.

    Notes
    -----
    O(n k) for n states of the call and k byte classes, for each counted call, plus the minimization.
    """
    machine = Triggers(triggers)
    n_text, n_call = len(machine.children), 0 if call is None else len(call.table)
    columns, representatives = _columns(b"".join(trigger.text for trigger in triggers), call)
    n_copies = 1
    if continues and call is not None:
        # One copy for each number of calls that must be distinguished.
        n_copies = most + 1 if most is not None else fewest + 1 if fewest > 1 else 1
    n_states, end = n_text + n_call + 1, n_text + n_call
    check_size(n_states * n_copies, len(representatives), limits)
    table = np.full((n_states, len(representatives)), DEAD, np.int32)
    if call is not None:
        if (call.table[call.accepting] >= 0).any():
            raise GuidedError("ambiguous end: a complete call could continue, so the format needs a terminator")
        # Why one more entry: a missing edge is -1, which indexes the last entry.
        onward = np.append(np.where(call.accepting, end, np.arange(n_text, end)), DEAD).astype(np.int32)
        for begin in range(0, n_call, _BLOCK):
            rows = call.table[begin : begin + _BLOCK]
            table[n_text + begin : n_text + begin + len(rows)] = onward[rows[:, call.classes[representatives]]]
    table[0] = 0
    table[0, columns[CALL_LETTER]] = DEAD
    # Invariant: the row of ``fallback`` is complete before the rows copied from it, and leads to no trigger that has fired.
    for node in machine.order:
        if node:
            table[node] = table[machine.fallback[node]]
        for byte, child in machine.children[node].items():
            table[node, columns[byte]] = _entry(machine.fired[child], child, n_text, call)
    if continues:
        table[end] = table[machine.start]
    labels = np.full(n_states, TEXT, np.int32)
    labels[n_text:end], labels[end] = CALL, CALL_END
    called = np.full(n_states, NO_CALL, np.int32)
    if call is not None:
        called[n_text:end] = call.called
    accepting = labels != CALL
    if n_copies > 1:
        table, labels, accepting = _counted(table, labels, machine.start, end, n_copies, fewest, most)
        called = np.tile(called, n_copies)
    return CallAutomaton.from_table(table, columns, accepting, labels, called, machine.start)


def calls_only(calls: CallAutomaton) -> CallAutomaton:
    """Label an automaton of calls without text around them."""
    labels = np.where(calls.accepting, CALL_END, CALL).astype(np.int32)
    return CallAutomaton.from_table(calls.table, calls.classes, calls.accepting, labels, calls.called)


def with_calls(text: CallAutomaton) -> CallAutomaton:
    """Restrict running text that ends with its first call to the texts with a call."""
    return CallAutomaton.from_table(text.table, text.classes, text.labels == CALL_END, text.labels, text.called)


def reasoning_before(begin: bytes, end: bytes, blanks: bytes, text: CallAutomaton) -> CallAutomaton:
    """Build the automaton of texts with optional reasoning before them.

    Parameters
    ----------
    begin : bytes
        Opens the reasoning; if empty, all texts begin within it.
    end : bytes
        Closes the reasoning at its first occurrence. Not empty.
    blanks : bytes
        Optional bytes after the end.
    text : CallAutomaton
        The text after the reasoning, with labels.

    Notes
    -----
    O(n k): one state for each byte of the delimiters, plus the states of the text.
    """
    machine = Triggers([Trigger(end)])
    columns, representatives = _columns(begin + end + blanks, text)
    # State ranges: the text, the search for the end, the blanks after it, the opening delimiter.
    n_text = len(text.table)
    onward = np.append(np.arange(n_text), DEAD).astype(np.int32)
    after, first = n_text + len(end), n_text + len(end) + len(blanks)
    table = np.full((first + len(begin), len(representatives)), DEAD, np.int32)
    table[:n_text] = onward[text.table[:, text.classes[representatives]]]
    labels = np.full(len(table), REASONING, np.int32)
    accepting = np.zeros(len(table), np.bool_)
    called = np.full(len(table), NO_CALL, np.int32)
    labels[:n_text], accepting[:n_text], called[:n_text] = text.labels, text.accepting, text.called
    table[n_text] = n_text
    table[n_text, columns[CALL_LETTER]] = DEAD
    for node in machine.order[:-1]:
        if node:
            table[n_text + node] = table[n_text + machine.fallback[node]]
        for byte, child in machine.children[node].items():
            table[n_text + node, columns[byte]] = n_text + child if child < len(end) else after if blanks else 0
    for place in reversed(range(len(blanks))):
        state, behind = after + place, after + place + 1 if place + 1 < len(blanks) else 0
        table[state] = table[behind]
        labels[state], accepting[state], called[state] = labels[behind], accepting[behind], called[behind]
        table[state, columns[blanks[place]]] = behind
    # A prefix of the opening delimiter may also be text.
    read = 0
    for place, byte in enumerate(begin):
        state = first + place
        if read >= 0:
            table[state], labels[state], accepting[state] = table[read], text.labels[read], text.accepting[read]
            called[state] = text.called[read]
        read = int(table[state, columns[byte]])
        table[state, columns[byte]] = state + 1 if place + 1 < len(begin) else n_text
    return CallAutomaton.from_table(table, columns, accepting, labels, called, first if begin else n_text)


def _entry(fired: Trigger | None, child: int, n_text: int, call: CallAutomaton | None) -> int:
    """The state after the byte that completes a node of the trigger search."""
    if fired is None:
        return child
    if call is None:
        return DEAD
    state = 0
    for byte in fired.text[len(fired.text) - fired.read :]:
        state = int(call.table[state, call.classes[byte]]) if state >= 0 else DEAD
    return n_text + state if state >= 0 else DEAD


def _counted(
    table: Int32Array, labels: Int32Array, start: int, end: int, n_copies: int, fewest: int, most: int | None
) -> tuple[Int32Array, Int32Array, BoolArray]:
    """Copy the states for each number of completed calls; the last copy allows any further calls, or none if there is a maximum."""
    n_states = len(table)
    copies = [np.where(table >= 0, table + n_states * count, DEAD) for count in range(n_copies)]
    for count, copy in enumerate(copies):
        copy[end] = copies[min(count + 1, n_copies - 1)][start]
    if most is not None:
        n_text = int(np.argmax(labels == CALL))
        rows = copies[-1][:n_text]
        copies[-1][:n_text] = np.where(rows < n_states * most + n_text, rows, DEAD)
    accepting = np.empty((n_copies, n_states), np.bool_)
    for count in range(n_copies):
        accepting[count] = (labels == TEXT) & (count == 0 or count >= fewest)
        accepting[count, end] = count + 1 >= fewest
    return np.concatenate(copies).astype(np.int32), np.tile(labels, n_copies), accepting.ravel()


def _columns(triggers: bytes, call: CallAutomaton | None) -> tuple[Int32Array, Int64Array]:
    """Class of each byte and of calls, and a representative of each class.

    Classes refine those of the call, and separate trigger bytes and the letter of calls.
    """
    by_call = np.zeros(CALL_LETTER + 1, np.int64) if call is None else call.classes.astype(np.int64)
    apart = np.zeros(CALL_LETTER + 1, np.int64)
    apart[[*triggers, CALL_LETTER]] = 1 + np.array([*triggers, CALL_LETTER])
    _, representatives, classes = np.unique(by_call * 258 + apart, return_index=True, return_inverse=True)
    return classes.astype(np.int32), representatives
