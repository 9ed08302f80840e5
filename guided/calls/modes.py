"""Text mode and tool mode: one automaton for free text with calls in it.

Text mode is the automaton that looks for the trigger (Knuth, Morris, Pratt): any byte is allowed in it, valid UTF-8 or not. The
byte that completes the trigger leads to the start of the call's automaton; from there a call is the only way on, and its last byte
leads back to text mode, where the trigger is looked for anew. A token is a string of bytes, so tokens across the borders need no
care: one that completes the trigger and goes on as no call can has no path.

Labels tell the modes apart: `TEXT`, `CALL`, and `CALL_END` for the state just after a call, which allows what the start of a text does.
"""

import numpy as np

from guided.arrays import DEAD, UInt8Array
from guided.automata.automaton import Automaton
from guided.errors import GuidedError, LimitError
from guided.limits import Limits

__all__ = ["CALL", "CALL_END", "TEXT", "calls_only", "ended_by_calls", "running_text"]

TEXT, CALL, CALL_END = 1, 2, 3

# States whose rows are computed at once: what numpy computes with takes more memory than what it finds.
_BLOCK = 1 << 14


def running_text(trigger: bytes, call: Automaton | None, limits: Limits, goes_on: bool = True) -> Automaton:
    """Free text with calls in it.

    Parameters
    ----------
    trigger : bytes
        Not empty.
    call : Automaton or None
        What follows the trigger, up to the end of the terminator; no text of it continues another. None: nothing may follow, so
        the trigger never comes.
    goes_on : bool
        Does text follow a call? Otherwise the text ends with its first call.

    Raises
    ------
    LimitError
        ``states`` or ``transitions`` of ``limits`` is passed.

    Notes
    -----
    O(n k) for n states of the call and k byte classes, but for the minimization.
    """
    n_text, n_call = len(trigger), 0 if call is None else call.n_states
    columns, representatives = _columns(trigger, call)
    n_states, end = n_text + n_call + 1, n_text + n_call
    if n_states > limits.states:
        raise LimitError("states", n_states, limits.states)
    if n_states * len(representatives) > limits.transitions:
        raise LimitError("transitions", n_states * len(representatives), limits.transitions)
    table = np.full((n_states, len(representatives)), DEAD, np.int32)
    table[0] = 0
    # Invariant: ``fallback`` is where the trigger's first ``matched`` bytes without the first one lead.
    fallback = 0
    for matched, byte in enumerate(trigger):
        column = columns[byte]
        if matched:
            table[matched] = table[fallback]
            fallback = int(table[fallback, column])
        table[matched, column] = matched + 1 if matched + 1 < n_text else DEAD
    if call is not None:
        if (call.table[call.accepting] >= 0).any():
            raise GuidedError("a call that is complete could go on: the format needs a terminator")
        table[n_text - 1, columns[trigger[-1]]] = n_text
        # Why one more: -1 for no edge finds the last entry.
        onward = np.append(np.where(call.accepting, end, np.arange(n_text, end)), DEAD).astype(np.int32)
        for begin in range(0, n_call, _BLOCK):
            rows = call.table[begin : begin + _BLOCK]
            table[n_text + begin : n_text + begin + len(rows)] = onward[rows[:, call.classes[representatives]]]
    if goes_on:
        table[end] = table[0]
    labels = np.full(n_states, TEXT, np.int32)
    labels[n_text:end], labels[end] = CALL, CALL_END
    return Automaton.from_table(table, columns, labels != CALL, labels)


def calls_only(calls: Automaton) -> Automaton:
    """An automaton of calls and nothing else, with its states labelled."""
    labels = np.where(calls.accepting, CALL_END, CALL).astype(np.int32)
    return Automaton.from_table(calls.table, calls.classes, calls.accepting, labels)


def ended_by_calls(text: Automaton) -> Automaton:
    """Of an automaton of running text, the texts up to and including their first call, and those without one."""
    table = np.where((text.labels == CALL_END)[:, None], DEAD, text.table).astype(np.int32)
    return Automaton.from_table(table, text.classes, text.accepting, text.labels)


def _columns(trigger: bytes, call: Automaton | None) -> tuple[UInt8Array, UInt8Array]:
    """Class of each byte, and a byte of each class: bytes are told apart by the call's automaton and by the trigger."""
    by_call = np.zeros(256, np.int64) if call is None else call.classes.astype(np.int64)
    by_trigger = np.zeros(256, np.int64)
    by_trigger[list(trigger)] = 1 + np.array(list(trigger))
    _, representatives, classes = np.unique(by_call * 257 + by_trigger, return_index=True, return_inverse=True)
    return classes.astype(np.uint8), representatives.astype(np.uint8)
