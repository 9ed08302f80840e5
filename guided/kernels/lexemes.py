"""Masks of a lexer with a parser: a tree of lexemes, and its evaluation on a stack.

What tokens do within one lexeme hangs on the lexer's control and the labels that its cell allows, not on the rest of the stack; so
it is found once (`guided.kernels.lexeme_plans`) and kept as a *plan*: tokens that end within the lexeme, and *edges*: an action that
ends it, with the *group* of trie nodes that reach it. On a stack, the lexeme that has ended is fed to the parser, which leads to
another control; the plan of the group from there is the next node of the tree (`evaluate`).

A lexeme is fed by the parser's own table (`guided.lalr.feeds`): what a terminal does on a cell, as far as no cell below is needed, is one
*step*, made once. Other actions go by the reactions of `guided.automata.pushdown`, whose constants are repeated here (numba freezes
globals). Whatever is not known is returned to the caller, by one of the ``MISSING`` codes.

A stack is a node: its top cell and the node below; nodes from ``SCRATCH`` on are pushes of the evaluation and live in ``pushed``. Cells
on it are plain ones, and the indents of the text travel beside it.

Ref: the subterminal trees of DOMINO (Beurer-Kellner et al. 2024), with the parser's stack in place of its lookahead.
"""

import numpy as np

from guided.arrays import Int32Array, Int64Array, UInt64Array
from guided.kernels.jit import kernel

__all__ = [
    "BEGINS", "DONE", "FEEDS", "INDENTED", "MISSING_BEGIN", "MISSING_CELL", "MISSING_FEED", "MISSING_LABELS",
    "MISSING_PLAN", "MISSING_PUSH", "MISSING_REACTION", "MISSING_ROOM", "MISSING_STEPS", "PUSHES", "SCRATCH", "evaluate",
]  # fmt: skip

# What is missing: a reaction (action, cell), room, a plan (group, control, labels), what is pushed in a step (cell, rule,
# terminal), the labels of a cell (cell, indents), the cell with indents (cell, indents), what is fed (indents, lexeme), where a lexeme
# begins (context, left class), room for steps of the parser.
DONE, MISSING_REACTION, MISSING_ROOM, MISSING_PLAN = 0, 2, 3, 4
MISSING_PUSH, MISSING_LABELS, MISSING_CELL, MISSING_FEED, MISSING_BEGIN, MISSING_STEPS = 5, 6, 7, 8, 9, 10
SCRATCH = 1 << 29
# Kinds of questions in the parser's table: `kind << 58 | first << 29 | second`; steps are `cell << 32 | rule + 1 << 16 | terminal`.
PUSHES, INDENTED, FEEDS, BEGINS, STEPS = 1, 2, 3, 4, 5

_DEAD, _UNKNOWN, _ACTION = -1, -2, -16
_GUARD, _WIDTH = 2, 3
_FED, _IGNORED = 1, 2
# Columns of a cell: its state and the lexer's context there, the cell without indents, its indents (-1: none), and the offset of its
# labels for each kind of indents.
_STATE, _CONTEXT, _PLAIN, _INDENTS, _LABELS = range(5)
# Places in `out`: number of jobs, what is missing, pushes in use, and the status.
_JOBS, _FIRST, _SECOND, _THIRD, _USED, _STATUS = range(6)


@kernel
def _found(key: int | np.int64, keys: Int64Array, values: Int32Array) -> int:
    """What a table of open addressing has for a key; UNKNOWN where it has nothing."""
    wrap = np.int64(len(keys) - 1)
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & wrap
    while keys[slot] >= 0:
        if keys[slot] == key:
            return int(values[slot])
        slot = (slot + 1) & wrap
    return _UNKNOWN


@kernel
def _known(kind: int, first: int, second: int, keys: Int64Array, values: Int32Array) -> int:
    return _found(np.int64(kind) << 58 | np.int64(first) << 29 | np.int64(second), keys, values)


@kernel
def _action(state: int, symbol: int, table: Int32Array) -> int:
    """What the parser does in a state with a symbol that it has there."""
    low: int = table[4 + state]
    high: int = table[5 + state]
    symbols, values = table[0], table[1]
    while high - low > 1:
        middle = (low + high) >> 1
        if table[symbols + middle] <= symbol:
            low = middle
        else:
            high = middle
    return int(table[values + low])


@kernel
def _top(node: int, nodes: Int32Array, pushed: Int32Array) -> int:
    return int(nodes[node, 0] if node < SCRATCH else pushed[node - SCRATCH, 0])


@kernel
def _is_open(
    control: int, cell: int, indents: int, info: Int32Array, guards: UInt64Array, allows: UInt64Array, cells: Int32Array,
    variant: Int32Array, out: Int64Array,
) -> bool:  # fmt: skip
    """May a control be entered on a cell? True as well where that is not known: then the status says so."""
    guard: int = info[control, _GUARD]
    if guard < 0:
        return True
    allow: int = cells[cell, _LABELS + variant[indents]]
    if allow < 0:
        out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_LABELS, cell, indents
        return True
    for k in range(info[control, _WIDTH]):
        if guards[guard + k] & allows[allow + k]:
            return True
    return False


@kernel
def _stepped(
    cell: int, rule: int, terminal: int, key: np.int64, table: Int32Array, cells: Int32Array, keys: Int64Array, values: Int32Array,
    records: Int32Array, counts: Int64Array, out: Int64Array,
) -> int:  # fmt: skip
    """Make what a terminal does on a cell, upon which a rule may have been reduced (-1: none), as far as no cell below is needed."""
    begin = counts[1]
    first = begin + 3
    last, top = first, cell
    if 2 * counts[0] + 2 >= len(keys):
        out[_STATUS] = MISSING_STEPS
        return _DEAD
    taken: int = 0
    begun = rule
    target: int = _action(cells[cell, _STATE], table[table[2] + 2 * rule], table) if rule >= 0 else _UNKNOWN
    while True:
        if target >= 0:
            above = _known(PUSHES, top, target, keys, values)
            if above < 0:
                out[_STATUS], out[_FIRST], out[_SECOND], out[_THIRD] = MISSING_PUSH, cell, begun, terminal
                return _DEAD
            if last >= len(records):
                out[_STATUS] = MISSING_STEPS
                return _DEAD
            records[last] = above
            last, top = last + 1, above
            if rule < 0:
                break
        target = _action(cells[top, _STATE], terminal, table)
        if target >= 0:
            rule = -1
            continue
        rule = -1 - target
        length: int = table[table[2] + 2 * rule + 1]
        if length > last - first:
            taken = length - (last - first)
            last = first
            break
        last -= length
        top = records[last - 1] if last > first else cell
        target = _action(cells[top, _STATE], table[table[2] + 2 * rule], table)
    if first > len(records):
        out[_STATUS] = MISSING_STEPS
        return _DEAD
    records[begin], records[begin + 1], records[begin + 2] = taken, rule, last
    wrap = np.int64(len(keys) - 1)
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) & wrap
    while keys[slot] >= 0:
        slot = (slot + 1) & wrap
    values[slot] = begin
    keys[slot] = key
    counts[0], counts[1] = counts[0] + 1, last
    return int(begin)


@kernel
def _fed(
    terminal: int, node: int, used: int, table: Int32Array, cells: Int32Array, keys: Int64Array, values: Int32Array,
    records: Int32Array, counts: Int64Array, nodes: Int32Array, pushed: Int32Array, out: Int64Array,
) -> tuple[int, int]:  # fmt: skip
    """Feed a terminal that the top cell expects: (node, used)."""
    begin = used
    rule: int = -1
    while True:
        cell = _top(node, nodes, pushed)
        key = np.int64(STEPS) << 58 | np.int64(cell) << 32 | np.int64(rule + 1) << 16 | np.int64(terminal)
        step = _found(key, keys, values)
        if step < 0:
            step = _stepped(cell, rule, terminal, key, table, cells, keys, values, records, counts, out)
            if step < 0:
                return node, used
        if records[step] == 0:
            break
        for _ in range(records[step]):
            node = nodes[node, 1] if node < SCRATCH else pushed[node - SCRATCH, 1]
        rule = records[step + 1]
    # What was pushed here and is taken off again needs no room.
    used = max(begin, node - SCRATCH + 1)
    if used + records[step + 2] - step > len(pushed):
        out[_STATUS] = MISSING_ROOM
        return node, used
    for k in range(step + 3, records[step + 2]):
        pushed[used, 0], pushed[used, 1] = records[k], node
        node = SCRATCH + used
        used += 1
    return node, used


@kernel
def _reacted(
    entry: int, node: int, indents: int, used: int, actions: Int32Array, results: Int32Array, reactions: Int64Array,
    reacted: Int32Array, cells: Int32Array, variant: Int32Array, keys: Int64Array, values: Int32Array, nodes: Int32Array,
    pushed: Int32Array, out: Int64Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Follow reactions from an entry: (control or DEAD, node, indents, used)."""
    has_indents = len(variant) > 1
    while entry <= _ACTION:
        action: int = _ACTION - entry
        result: int = actions[action, 0]
        if result < 0:
            cell = _top(node, nodes, pushed)
            if has_indents:
                plain = cell
                cell = _known(INDENTED, plain, indents, keys, values)
                if cell < 0:
                    out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_CELL, plain, indents
                    return _DEAD, node, indents, used
            result = _found(np.int64(action) << 32 | np.int64(cell), reactions, reacted)
            if result == _UNKNOWN:
                out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_REACTION, action, cell
            if result < 0:
                return _DEAD, node, indents, used
        if results[result, 0] > 0:
            has_indents = False
        for _ in range(results[result, 0]):
            node = nodes[node, 1] if node < SCRATCH else pushed[node - SCRATCH, 1]
        cell = results[result, 1]
        if cell >= 0:
            if used >= len(pushed):
                out[_STATUS] = MISSING_ROOM
                return _DEAD, node, indents, used
            has_indents = cells[cell, _INDENTS] >= 0
            if has_indents:
                indents = cells[cell, _INDENTS]
            pushed[used, 0], pushed[used, 1] = cells[cell, _PLAIN], node
            node = SCRATCH + used
            used += 1
        entry = results[result, 2]
    return entry, node, indents, used


@kernel
def _may_end(
    action: int, node: int, indents: int, native: Int32Array, expected: UInt64Array, keys: Int64Array, values: Int32Array,
    records: Int32Array, nodes: Int32Array, pushed: Int32Array,
) -> int:  # fmt: skip
    """May the text break off behind a lexeme that an action ends? 1, 0, or -1: that has to be read."""
    if native[action, 4] == 0:
        return -1
    terminal: int = native[action, 1]
    if native[action, 2] >= 0:
        feed = _known(FEEDS, indents, native[action, 2], keys, values)
        if feed < 0 or records[feed] != feed + 3:
            return -1
        terminal = records[feed + 2]
    return int(expected[_top(node, nodes, pushed), terminal >> 6] >> np.uint64(terminal & 63) & np.uint64(1))


@kernel
def _after(
    action: int, node: int, indents: int, used: int, info: Int32Array, actions: Int32Array, results: Int32Array, reactions: Int64Array,
    reacted: Int32Array, guards: UInt64Array, allows: UInt64Array, table: Int32Array, cells: Int32Array, native: Int32Array,
    variant: Int32Array, expected: UInt64Array, keys: Int64Array, values: Int32Array, records: Int32Array, counts: Int64Array,
    nodes: Int32Array, pushed: Int32Array, out: Int64Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Where an action leads: (control or DEAD, node, indents, used). What comes is only true where the status is DONE."""
    kind: int = native[action, 0]
    if kind == _FED:
        lexeme: int = native[action, 2]
        first: int = native[action, 1]
        last = first + 1
        after = indents
        if lexeme >= 0:
            feed = _known(FEEDS, indents, lexeme, keys, values)
            if feed == _UNKNOWN:
                out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_FEED, indents, lexeme
            if feed < 0:
                return _DEAD, node, indents, used
            first, last, after = feed + 2, records[feed], records[feed + 1]
        for k in range(first, last):
            terminal: int = records[k] if lexeme >= 0 else k
            cell = _top(node, nodes, pushed)
            if not expected[cell, terminal >> 6] >> np.uint64(terminal & 63) & np.uint64(1):
                return _DEAD, node, indents, used
            node, used = _fed(terminal, node, used, table, cells, keys, values, records, counts, nodes, pushed, out)
            if out[_STATUS] != DONE:
                return _DEAD, node, indents, used
        indents = after
    if kind == _FED or kind == _IGNORED:
        context: int = cells[_top(node, nodes, pushed), _CONTEXT]
        control = _known(BEGINS, context, native[action, 3], keys, values)
        if control < 0:
            out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_BEGIN, context, native[action, 3]
    else:
        control, node, indents, used = _reacted(
            _ACTION - action, node, indents, used, actions, results, reactions, reacted, cells, variant, keys, values, nodes, pushed, out
        )  # fmt: skip
    if control >= 0 and not _is_open(
        control, _top(node, nodes, pushed), indents, info, guards, allows, cells, variant, out
    ):
        control = _DEAD
    return control, node, indents, used


@kernel
def evaluate(
    token_indptr: Int32Array, token_ids: Int32Array, info: Int32Array, actions: Int32Array, results: Int32Array,
    reactions: Int64Array, reacted: Int32Array, guards: UInt64Array, allows: UInt64Array, table: Int32Array, cells: Int32Array,
    native: Int32Array, variant: Int32Array, expected: UInt64Array,
    keys: Int64Array, values: Int32Array, records: Int32Array, counts: Int64Array, plans: Int32Array, plan_keys: Int64Array,
    plan_values: Int32Array, tokens: Int32Array, dense: Int32Array, edges: Int32Array, groups: Int32Array, group_nodes: Int32Array,
    nodes: Int32Array, pushed: Int32Array, jobs: Int32Array, mask: Int32Array, out: Int64Array,
) -> int:  # fmt: skip
    """Set the bits of all tokens that may follow a plan on a stack; DONE, or what is missing: call again when it is known.

    Parameters
    ----------
    token_indptr, token_ids : in
        Tokens that end in each node of the trie.
    info, actions, results, reactions, reacted, guards, allows : in
        Tables of the automaton (`guided.automata.pushdown.PushdownTables`: ``keys`` and ``values`` are the reactions).
    table, cells, native, variant, expected : in
        The parser (`guided.lalr.feeds.Feeds`).
    keys, values, records, counts : in and out
        What is known of the parser's stacks (there as well); steps are added.
    plans : ndarray[int32], shape (n_plans, 5), in
        First and end of its tokens, row in ``dense`` (-1: none), first and end of its edges.
    plan_keys, plan_values : in
        Open addressing: ``k ^ k >> 31`` of ``k = group << 44 | control << 22 | labels`` (-1: free) to plan. The lower bits make the slot.
    tokens, dense, edges, groups, group_nodes : in
        Tokens of plans; masks of those with many, shape (n, words); action and group of each edge, shape (n, 2); first and end in
        ``group_nodes``, whether the byte is read again, and whether all tokens end with the lexeme, shape (n, 4).
    nodes : ndarray[int32], shape (n, 3), in
        The caller's stacks: cell, and node below.
    pushed : ndarray[int32], shape (n, 2), out
        Stacks of the evaluation.
    jobs : ndarray[int32], shape (n, 5), in and out
        Plan, stack, indents, next edge (-1: not begun) of what is under way, and the pushes that were in use before it.
    mask : ndarray[int32], shape (words,), in and out
    out : ndarray[int64], shape (6,), in and out
        [0] number of jobs; [1], [2], [3] what is missing; [4] pushes in use; [5] as returned.

    Notes
    -----
    O(tokens and edges of the plans met, rules reduced for them, and words of their masks).
    """
    n: int = out[_JOBS]
    out[_STATUS] = DONE
    while n > 0:
        plan, node, indents, edge = jobs[n - 1, 0], jobs[n - 1, 1], jobs[n - 1, 2], jobs[n - 1, 3]
        if edge < 0:
            if plans[plan, 2] >= 0:
                row = plans[plan, 2]
                for w in range(len(mask)):
                    mask[w] |= dense[row, w]
            for k in range(plans[plan, 0], plans[plan, 1]):
                mask[tokens[k] >> 5] |= np.int32(1) << np.int32(tokens[k] & 31)
            edge = plans[plan, 3]
            jobs[n - 1, 3] = edge
        if edge >= plans[plan, 4]:
            n -= 1
            out[_USED] = jobs[n, 4]
            continue
        group: int = edges[edge, 1]
        if groups[group, 3] != 0:
            # All tokens end with the lexeme.
            ends = _may_end(edges[edge, 0], node, indents, native, expected, keys, values, records, nodes, pushed)
            if ends >= 0:
                if ends:
                    for g in range(groups[group, 0], groups[group, 1]):
                        for k in range(token_indptr[group_nodes[g]], token_indptr[group_nodes[g] + 1]):
                            mask[token_ids[k] >> 5] |= np.int32(1) << np.int32(token_ids[k] & 31)
                jobs[n - 1, 3] = edge + 1
                continue
        control, after, ind, used = _after(
            edges[edge, 0], node, indents, out[_USED], info, actions, results, reactions, reacted, guards, allows, table, cells, native,
            variant, expected, keys, values, records, counts, nodes, pushed, out,
        )  # fmt: skip
        if n >= len(jobs):
            out[_STATUS] = MISSING_ROOM
        if out[_STATUS] != DONE:
            break
        if control < 0:
            jobs[n - 1, 3] = edge + 1
            continue
        allow: int = cells[_top(after, nodes, pushed), _LABELS + variant[ind]]
        if allow < 0:
            out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_LABELS, _top(after, nodes, pushed), ind
            break
        key = np.int64(group) << 44 | np.int64(control) << 22 | np.int64(allow)
        found = _found(key ^ key >> 31, plan_keys, plan_values)
        if found < 0:
            out[_STATUS], out[_FIRST], out[_SECOND], out[_THIRD] = MISSING_PLAN, group, control, allow
            break
        jobs[n - 1, 3] = edge + 1
        jobs[n, 0], jobs[n, 1], jobs[n, 2], jobs[n, 3], jobs[n, 4] = found, after, ind, -1, out[_USED]
        out[_USED] = used
        n += 1
    out[_JOBS] = n
    return int(out[_STATUS])
