"""Text mode and tool mode: one automaton for free text with calls in it.

Text mode is the automaton that looks for the triggers (`guided.calls.triggers`): any byte is allowed in it, valid UTF-8 or not. The
byte that completes a trigger leads into the call's automaton; from there a call is the only way on, and its last byte
leads back to text mode, where triggers are looked for anew. A token is a string of bytes, so tokens across the borders need no
care: one that completes the trigger and goes on as no call can has no path.

Where calls are counted, there is one copy of all this for each number of calls that have been.

Labels tell the modes apart: `TEXT`, `CALL`, `CALL_END` for the state just after a call, which allows what the start of a text does, and
`REASONING` for what the model says to itself before (`reasoning_before`).
"""

from collections.abc import Sequence

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.automaton import Automaton
from guided.calls.triggers import Trigger, Triggers
from guided.errors import GuidedError, LimitError
from guided.limits import Limits

__all__ = [
    "CALL",
    "CALL_END",
    "REASONING",
    "TEXT",
    "calls_only",
    "ended_by_calls",
    "reasoning_before",
    "running_text",
    "with_calls",
]

TEXT, CALL, CALL_END, REASONING = 1, 2, 3, 4

# States whose rows are computed at once: what numpy computes with takes more memory than what it finds.
_BLOCK = 1 << 14


def running_text(
    triggers: Sequence[Trigger],
    call: Automaton | None,
    limits: Limits,
    goes_on: bool = True,
    fewest: int = 1,
    most: int | None = None,
) -> Automaton:
    """Free text with calls in it.

    Parameters
    ----------
    triggers : sequence of Trigger
        At least one.
    call : Automaton or None
        What follows the trigger, up to the end of the terminator; no text of it continues another. None: nothing may follow, so
        no trigger ever comes.
    goes_on : bool
        Does text follow a call? Otherwise the text ends with its first call.
    fewest, most : int, int or None
        How many calls there are, if there are any and text goes on.

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of ``limits`` is passed.

    Notes
    -----
    O(n k) for n states of the call and k byte classes, and for each call that is counted, but for the minimization.
    """
    machine = Triggers(triggers)
    n_text, n_call = len(machine.children), 0 if call is None else call.n_states
    columns, representatives = _columns(b"".join(trigger.text for trigger in triggers), call)
    n_copies = _copies(fewest, most) if goes_on and call is not None else 1
    n_states, end = n_text + n_call + 1, n_text + n_call
    if n_states * n_copies > limits.states:
        raise LimitError("states", n_states * n_copies, limits.states)
    if n_states * n_copies * len(representatives) > limits.transitions:
        raise LimitError("transitions", n_states * n_copies * len(representatives), limits.transitions)
    table = np.full((n_states, len(representatives)), DEAD, np.int32)
    if call is not None:
        if (call.table[call.accepting] >= 0).any():
            raise GuidedError("a call that is complete could go on: the format needs a terminator")
        # Why one more: -1 for no edge finds the last entry.
        onward = np.append(np.where(call.accepting, end, np.arange(n_text, end)), DEAD).astype(np.int32)
        for begin in range(0, n_call, _BLOCK):
            rows = call.table[begin : begin + _BLOCK]
            table[n_text + begin : n_text + begin + len(rows)] = onward[rows[:, call.classes[representatives]]]
    table[0] = 0
    # Invariant: the row of ``fallback`` is complete before those that begin with it, and leads to no trigger that has fired.
    for node in machine.order:
        if node:
            table[node] = table[machine.fallback[node]]
        for byte, child in machine.children[node].items():
            table[node, columns[byte]] = _entry(machine.fired[child], child, n_text, call)
    if goes_on:
        table[end] = table[machine.start]
    labels = np.full(n_states, TEXT, np.int32)
    labels[n_text:end], labels[end] = CALL, CALL_END
    accepting = labels != CALL
    if n_copies > 1:
        table, labels, accepting = _counted(table, labels, machine.start, end, n_copies, fewest, most)
    return Automaton.from_table(table, columns, accepting, labels, start=machine.start)


def calls_only(calls: Automaton) -> Automaton:
    """An automaton of calls and nothing else, with its states labelled."""
    labels = np.where(calls.accepting, CALL_END, CALL).astype(np.int32)
    return Automaton.from_table(calls.table, calls.classes, calls.accepting, labels)


def ended_by_calls(text: Automaton) -> Automaton:
    """Of an automaton of running text, the texts up to and including their first call, and those without one."""
    is_end = text.labels == CALL_END
    table = np.where(is_end[:, None], DEAD, text.table).astype(np.int32)
    return Automaton.from_table(table, text.classes, text.accepting | is_end, text.labels)


def with_calls(text: Automaton) -> Automaton:
    """Of an automaton of running text that its first call ends, the texts that have one."""
    return Automaton.from_table(text.table, text.classes, text.labels == CALL_END, text.labels)


def reasoning_before(begin: bytes, end: bytes, blanks: bytes, text: Automaton) -> Automaton:
    """The texts of an automaton, and those with reasoning before them.

    Parameters
    ----------
    begin : bytes
        Begins the reasoning; empty: all texts begin within it.
    end : bytes
        Its first occurrence ends the reasoning. Not empty.
    blanks : bytes
        May follow the end, each of them or not.
    text : Automaton
        Labelled.

    Notes
    -----
    O(n k): one state for each byte of what is given, beside those of the text.
    """
    machine = Triggers([Trigger(end)])
    columns, representatives = _columns(begin + end + blanks, text)
    onward = np.append(np.arange(text.n_states), DEAD).astype(np.int32)
    # The states: those of the text, of the end that is looked for, of the blanks after it, of the beginning.
    n_text = text.n_states
    after, first = n_text + len(end), n_text + len(end) + len(blanks)
    table = np.full((first + len(begin), len(representatives)), DEAD, np.int32)
    table[:n_text] = onward[text.table[:, text.classes[representatives]]]
    labels = np.full(len(table), REASONING, np.int32)
    accepting = np.zeros(len(table), np.bool_)
    labels[:n_text], accepting[:n_text] = text.labels, text.accepting
    table[n_text] = n_text
    for node in machine.order[:-1]:
        if node:
            table[n_text + node] = table[n_text + machine.fallback[node]]
        for byte, child in machine.children[node].items():
            table[n_text + node, columns[byte]] = n_text + child if child < len(end) else after if blanks else 0
    for place in reversed(range(len(blanks))):
        state, behind = after + place, after + place + 1 if place + 1 < len(blanks) else 0
        table[state] = table[behind]
        labels[state], accepting[state] = labels[behind], accepting[behind]
        table[state, columns[blanks[place]]] = behind
    # Of a beginning, what has been read may be the text's, too.
    read = 0
    for place, byte in enumerate(begin):
        state = first + place
        if read >= 0:
            table[state], labels[state], accepting[state] = table[read], text.labels[read], text.accepting[read]
        read = int(table[state, columns[byte]])
        table[state, columns[byte]] = state + 1 if place + 1 < len(begin) else n_text
    return Automaton.from_table(table, columns, accepting, labels, start=first if begin else n_text)


def _entry(fired: Trigger | None, child: int, n_text: int, call: Automaton | None) -> int:
    """Where the byte that leads to a node of the triggers leads."""
    if fired is None:
        return child
    if call is None:
        return DEAD
    state = call.run(fired.text[len(fired.text) - fired.read :])
    return n_text + state if state >= 0 else DEAD


def _copies(fewest: int, most: int | None) -> int:
    """As many as there are numbers of calls to be told apart."""
    if most is not None:
        return most + 1
    return fewest + 1 if fewest > 1 else 1


def _counted(
    table: Int32Array, labels: Int32Array, start: int, end: int, n_copies: int, fewest: int, most: int | None
) -> tuple[Int32Array, Int32Array, BoolArray]:
    """Copies of the states, one for each number of calls that have been: after the last one there are as many as one likes, or none."""
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


def _columns(triggers: bytes, call: Automaton | None) -> tuple[UInt8Array, UInt8Array]:
    """Class of each byte, and a byte of each class: bytes are told apart by the call's automaton and by the triggers."""
    by_call = np.zeros(256, np.int64) if call is None else call.classes.astype(np.int64)
    by_trigger = np.zeros(256, np.int64)
    by_trigger[list(triggers)] = 1 + np.array(list(triggers))
    _, representatives, classes = np.unique(by_call * 257 + by_trigger, return_index=True, return_inverse=True)
    return classes.astype(np.uint8), representatives.astype(np.uint8)
