"""Tables of a pushdown automaton as kernels read them: sentinels, columns, labels of controls, and stacks.

`guided.automata.pushdown` describes the tables. A stack is a node: its top cell, the node below it, and the number of cells above the
lowest. Nodes from ``SCRATCH`` on are pushes of the running kernel, in ``pushed``; all others are the caller's, in ``nodes``.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt64Array
from guided.kernels.hashing import find
from guided.kernels.jit import kernel

__all__ = [
    "ACTION",
    "BEYOND",
    "COUNTS",
    "DEFERRED",
    "DEPENDS_ON_BYTES",
    "END_ACTION",
    "GUARD",
    "LIVE",
    "MANY",
    "NEEDS",
    "NOWHERE",
    "PENDING",
    "PER_CELL",
    "PER_CELL_BELOW",
    "PLAN",
    "SCRATCH",
    "UNLIMITED",
    "WIDTH",
    "is_open",
    "popped",
    "reaction",
    "top_cell",
]  # fmt: skip

# Entries from here down are actions: `ACTION - entry` is the number of the action.
ACTION = -16
# In place of an index into `results`: the reaction must be computed for the bytes that were read.
DEFERRED = -3
# Flag added to an index into `results`: the reaction depends on the bytes read.
DEPENDS_ON_BYTES = 1 << 28
# Register value: no maximum of code points.
UNLIMITED = 1 << 30
# Code points allowed where some continuations have a greatest length and others have none: the register never falls below this.
BEYOND = 1 << 28
# In place of the code points allowed: both registers are a multiple of the cells above the lowest, or of these without the top one.
PER_CELL, PER_CELL_BELOW = -1, -2
# In place of an offset in `cell_allow`: the labels of the cell have not been computed.
PENDING = -2
# Columns of `info`: number of live bytes (more than MANY: not listed); whether the control counts (1: every byte it reads; 2: the
# registers are kept, within a character); guard (-1: none) and its words; entry at the end of the text (0: none); the control whose
# plan serves its masks (-1: none; a control that leads to guarded controls is guarded itself); and minimum number of code points that
# its string needs from there.
LIVE, COUNTS, GUARD, WIDTH, END_ACTION, PLAN, NEEDS = range(7)
MANY = 16
# First node that is a push of the running kernel.
SCRATCH = 1 << 29
# A stack whose cells are not known: actions that need them are recorded instead.
NOWHERE = -1


@kernel
def is_open(control: int, allow: int, info: Int32Array, guards: UInt64Array, allows: UInt64Array) -> bool:
    """Return whether a control has no guard, or one of its guard's labels is among those at ``allow`` (-1: all)."""
    guard = info[control, GUARD]
    if guard < 0 or allow < 0:
        return True
    for k in range(info[control, WIDTH]):
        if guards[guard + k] & allows[allow + k]:
            return True
    return False


@kernel
def reaction(action: int, cell: int, keys: Int64Array, values: Int32Array) -> int:
    """Return the reaction to an action on a cell; UNKNOWN if it has not been computed."""
    return find(np.int64(action) << 32 | np.int64(cell), keys, values)


@kernel
def top_cell(node: int, nodes: Int32Array, pushed: Int32Array) -> int:
    """Return the top cell of a stack."""
    return int(nodes[node, 0] if node < SCRATCH else pushed[node - SCRATCH, 0])


@kernel
def popped(node: int, count: int, nodes: Int32Array, pushed: Int32Array) -> int:
    """Return the stack without its ``count`` top cells."""
    for _ in range(count):
        node = nodes[node, 1] if node < SCRATCH else pushed[node - SCRATCH, 1]
    return int(node)
