"""Rows of frames: an automaton of strings over classes of bytes, written into the tables of a pushdown automaton.

Common arguments of the kernels:

    table        ndarray[int32], shape (n, k): the automaton
    classes      ndarray[uint8], shape (256,): its columns
    ends         ndarray[int32], shape (n,): entry for the closing quote, 0 for none
"""

from guided.arrays import DEAD, Int32Array, Int64Array, UInt8Array
from guided.kernels.jit import kernel
from guided.kernels.tables import LIVE, MANY, PLAN

__all__ = ["fill_rows", "fill_spaced", "note_live", "universal"]

_NEAR = 64


@kernel
def universal(
    table: Int32Array,
    classes: UInt8Array,
    ends: Int32Array,
    other_table: Int32Array,
    other_classes: UInt8Array,
    other_ends: Int32Array,
    state: int,
    twin: Int32Array,
    todo: Int32Array,
) -> int:
    """Return the number of states visited if a state is equivalent to the start state of another automaton, else 0.

    Parameters
    ----------
    other_table, other_classes, other_ends : in
        The other automaton; its ends are 0 or 1, where 1 corresponds to the end of ``state``.
    state : int
        An accepting state.
    twin : ndarray[int32], shape (n,), in and out
        -1 on entry; state of the other automaton for each of ``todo``. Unchanged if the result is 0.
    todo : ndarray[int32], shape (m,), out
        The visited states, ``state`` first. If there is no room for all, the result is 0.

    Notes
    -----
    O(states x 256).
    """
    twin[state], todo[0] = 0, state
    count, i, answer = 1, 0, True
    while i < count and answer:
        here, there = todo[i], twin[todo[i]]
        i += 1
        answer = ends[here] == (ends[state] if other_ends[there] else 0)
        b = 0
        while b < 256 and answer:
            target, other = table[here, classes[b]], other_table[there, other_classes[b]]
            b += 1
            if target < 0 or other < 0:
                answer = target < 0 and other < 0
            elif twin[target] < 0:
                answer = count < len(todo)
                if answer:
                    twin[target], todo[count] = other, target
                    count += 1
            else:
                answer = twin[target] == other
    if not answer:
        for k in range(count):
            twin[todo[k]] = -1
        return 0
    return count


@kernel
def fill_rows(
    table: Int32Array,
    classes: UInt8Array,
    ends: Int32Array,
    quote: int,
    first: int,
    control_of: Int32Array,
    base: int,
    rows: Int32Array,
    info: Int32Array,
    live: UInt8Array,
) -> None:
    """Write the controls ``first`` to ``first + n - 1``: rows, live bytes, and plans.

    Parameters
    ----------
    quote : int
        The byte that ends a string.
    control_of : ndarray[int32], shape (n,), in
        Control of each state as a target.
    base : int
        A common control, -1 for none. It serves as the plan of each row that differs from its row in few bytes; other rows with many
        live bytes have plans of their own.
    rows, info, live : out

    Notes
    -----
    O(n x 256).
    """
    for state in range(len(table)):
        control = first + state
        count = differing = 0
        for b in range(256):
            target = table[state, classes[b]]
            entry = control_of[target] if target >= 0 else DEAD
            if b == quote and ends[state] != 0:
                entry = ends[state]
            rows[control, b] = entry
            if entry != DEAD:
                if count < MANY:
                    live[control, count] = b
                count += 1
            if base >= 0 and rows[base, b] != entry:
                differing += 1
        info[control, LIVE] = min(count, MANY + 1)
        if count <= MANY:
            info[control, PLAN] = -1
        else:
            info[control, PLAN] = base if base >= 0 and differing <= _NEAR else control


@kernel
def note_live(first: int, n: int, rows: Int32Array, info: Int32Array, live: UInt8Array) -> None:
    """Write the number of live bytes of the controls ``first`` to ``first + n - 1``, and the bytes if they are few. O(n x 256)."""
    for control in range(first, first + n):
        count = 0
        for b in range(256):
            if rows[control, b] != DEAD:
                if count < MANY:
                    live[control, count] = b
                count += 1
        info[control, LIVE] = min(count, MANY + 1)


@kernel
def fill_spaced(
    spaces: Int32Array,
    accepting: Int64Array,
    row: Int32Array,
    first: int,
    rows: Int32Array,
    info: Int32Array,
    live: UInt8Array,
) -> None:
    """Write the controls of a row with whitespace before it: ``first`` is the start of the whitespace.

    Parameters
    ----------
    spaces : ndarray[int32], shape (n, 256), in
        Next state of the whitespace by byte, -1 for none.
    accepting : ndarray[int64], in
        Its accepting states, ascending, in which the row's bytes are allowed.
    row : ndarray[int32], shape (256,), in
        Entries after the whitespace; live ones override those of the whitespace.
    first : int
    rows, info, live : out
        Rows, and live bytes.

    Notes
    -----
    O(n x 256).
    """
    at = 0
    for state in range(len(spaces)):
        is_place = at < len(accepting) and accepting[at] == state
        at += is_place
        for b in range(256):
            target = spaces[state, b]
            entry = first + target if target >= 0 else DEAD
            rows[first + state, b] = row[b] if is_place and row[b] != DEAD else entry
    note_live(first, len(spaces), rows, info, live)
