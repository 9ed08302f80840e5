"""Masks of a lexer with a parser: a tree of lexemes, and its evaluation on a stack.

The effect of tokens within one lexeme depends on the lexer's control and the labels that its cell allows, but not on the rest of the
stack. It is found once (`guided.kernels.lexeme_plans`) and stored as a *plan*: tokens that end within the lexeme, and *edges*: an action
that ends it, with the *group* of trie nodes that reach it. On a stack, the completed lexeme is fed to the parser, which leads to
another control; the plan of the group from there is the next node of the tree (`evaluate`).

A lexeme is fed through the parser's own table (`guided.lalr.kernel_parser`): the effect of a terminal on a cell, as far as it needs no
cell below, is one *step*, computed once. Other actions use the reactions of `guided.automata.pushdown`. Plans of few tokens are made on
the spot. Other unknown entries are reported to the caller by one of the ``MISSING`` codes.

Stacks are those of `guided.kernels.tables`, without the number of cells of pushes. Their cells are plain ones; the indents of the text are
a separate argument.

Ref: the subterminal trees of DOMINO (Beurer-Kellner et al. 2024), with the parser's stack in place of its lookahead.
"""

import numpy as np

from guided.arrays import DEAD, UNKNOWN, Int32Array, Int64Array, UInt8Array, UInt64Array
from guided.kernels.hashing import enter, find
from guided.kernels.jit import kernel
from guided.kernels.lexeme_plans import keep
from guided.kernels.masks import add_tokens
from guided.kernels.plans import within
from guided.kernels.tables import ACTION, GUARD, SCRATCH, is_open, popped, reaction, top_cell

__all__ = [
    "BEGINS", "DONE", "FEEDS", "INDENTED", "KEYS", "MISSING_BEGIN", "MISSING_CELL", "MISSING_FEED", "MISSING_LABELS",
    "MISSING_PLAN", "MISSING_PUSH", "MISSING_REACTION", "MISSING_ROOM", "MISSING_ROW", "MISSING_STEPS", "N_GROUPS", "N_OUT",
    "N_STATES", "PUSHES", "evaluate", "plan_key",
]  # fmt: skip

# What is missing: a reaction (action, cell), room, a plan (group, control, labels), what is pushed in a step (cell, rule,
# terminal), the labels of a cell (cell, indents), the cell with indents (cell, indents), what is fed (indents, lexeme), where a lexeme
# begins (context, left class), room for steps of the parser, the row of a control (control, byte).
DONE, MISSING_REACTION, MISSING_ROOM, MISSING_PLAN = 0, 2, 3, 4
MISSING_PUSH, MISSING_LABELS, MISSING_CELL, MISSING_FEED, MISSING_BEGIN, MISSING_STEPS = 5, 6, 7, 8, 9, 10
MISSING_ROW = 11
# Kinds of questions in the parser's table: `kind << 58 | first << 29 | second`; steps are `cell << 32 | rule + 1 << 16 | terminal`.
PUSHES, INDENTED, FEEDS, BEGINS, STEPS = 1, 2, 3, 4, 5

_FED, _IGNORED = 1, 2
# Columns of a cell: its state and the lexer's context there, the cell without indents, its indents (-1: none), and the offset of its
# labels for each kind of indents.
_STATE, _CONTEXT, _PLAIN, _INDENTS, _LABELS = range(5)
# Places in `out`: number of jobs, what is missing, pushes in use, the status, and seven for the walk of a plan. Length of `out`.
_JOBS, _FIRST, _SECOND, _THIRD, _USED, _STATUS, _WALK = range(7)
N_OUT = 13
# A key of a plan has 19 bits for its group, and 22 each for control and labels.
N_GROUPS, N_STATES = 1 << 19, 1 << 22
# Place of the number of keys in the counts of plans.
KEYS = 6


@kernel
def _known(kind: int, first: int, second: int, keys: Int64Array, values: Int32Array) -> int:
    return find(np.int64(kind) << 58 | np.int64(first) << 29 | np.int64(second), keys, values)


@kernel
def _action(state: int, symbol: int, table: Int32Array) -> int:
    """Return the parser's action in a state for a symbol that it has there."""
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
def _may_enter(
    control: int, cell: int, indents: int, info: Int32Array, guards: UInt64Array, allows: UInt64Array, cells: Int32Array,
    variant: Int32Array, out: Int64Array,
) -> bool:  # fmt: skip
    """Return whether a control may be entered on a cell; True with a status if that is unknown."""
    if info[control, GUARD] < 0:
        return True
    allow: int = cells[cell, _LABELS + variant[indents]]
    if allow < 0:
        out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_LABELS, cell, indents
        return True
    return is_open(control, allow, info, guards, allows)


@kernel
def _stepped(
    cell: int, rule: int, terminal: int, key: np.int64, table: Int32Array, cells: Int32Array, keys: Int64Array, values: Int32Array,
    records: Int32Array, counts: Int64Array, out: Int64Array,
) -> int:  # fmt: skip
    """Compute the step of a terminal on a cell, after a possible reduction (-1: none), as far as it needs no cell below."""
    begin = counts[1]
    first = begin + 3
    last = first
    state: int = cells[cell, _STATE]
    if 2 * counts[0] + 2 >= len(keys):
        out[_STATUS] = MISSING_STEPS
        return DEAD
    taken: int = 0
    begun = rule
    target: int = _action(state, table[table[2] + 2 * rule], table) if rule >= 0 else UNKNOWN
    while True:
        if target >= 0:
            if last >= len(records):
                out[_STATUS] = MISSING_STEPS
                return DEAD
            records[last] = state = target
            last += 1
            if rule < 0:
                break
        target = _action(state, terminal, table)
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
        state = records[last - 1] if last > first else cells[cell, _STATE]
        target = _action(state, table[table[2] + 2 * rule], table)
    if first > len(records):
        out[_STATUS] = MISSING_STEPS
        return DEAD
    # What is left of the states is pushed.
    top = cell
    for k in range(first, last):
        top = _known(PUSHES, top, records[k], keys, values)
        if top < 0:
            out[_STATUS], out[_FIRST], out[_SECOND], out[_THIRD] = MISSING_PUSH, cell, begun, terminal
            return DEAD
        records[k] = top
    records[begin], records[begin + 1], records[begin + 2] = taken, rule, last
    enter(key, begin, keys, values)
    counts[0], counts[1] = counts[0] + 1, last
    return int(begin)


@kernel
def _fed(
    terminal: int, node: int, used: int, table: Int32Array, cells: Int32Array, keys: Int64Array, values: Int32Array,
    records: Int32Array, counts: Int64Array, nodes: Int32Array, pushed: Int32Array, out: Int64Array,
) -> tuple[int, int]:  # fmt: skip
    """Feed a terminal that the top cell expects, and return (node, used)."""
    begin = used
    rule: int = -1
    while True:
        cell = top_cell(node, nodes, pushed)
        key = np.int64(STEPS) << 58 | np.int64(cell) << 32 | np.int64(rule + 1) << 16 | np.int64(terminal)
        step = find(key, keys, values)
        if step < 0:
            step = _stepped(cell, rule, terminal, key, table, cells, keys, values, records, counts, out)
            if step < 0:
                return node, used
        if records[step] == 0:
            break
        node = popped(node, records[step], nodes, pushed)
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
    """Follow reactions from an entry, and return (control or DEAD, node, indents, used)."""
    has_indents = len(variant) > 1
    while entry <= ACTION:
        action: int = ACTION - entry
        result: int = actions[action, 0]
        if result < 0:
            cell = top_cell(node, nodes, pushed)
            if has_indents:
                plain = cell
                cell = _known(INDENTED, plain, indents, keys, values)
                if cell < 0:
                    out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_CELL, plain, indents
                    return DEAD, node, indents, used
            result = reaction(action, cell, reactions, reacted)
            if result == UNKNOWN:
                out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_REACTION, action, cell
            if result < 0:
                return DEAD, node, indents, used
        if results[result, 0] > 0:
            has_indents = False
        node = popped(node, results[result, 0], nodes, pushed)
        cell = results[result, 1]
        if cell >= 0:
            if used >= len(pushed):
                out[_STATUS] = MISSING_ROOM
                return DEAD, node, indents, used
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
    """Return whether a token may end with the lexeme that an action completes: 1, 0, or -1 if the action must be followed to decide."""
    if native[action, 4] == 0:
        return -1
    terminal: int = native[action, 1]
    if native[action, 2] >= 0:
        feed = _known(FEEDS, indents, native[action, 2], keys, values)
        if feed < 0 or records[feed] != feed + 3:
            return -1
        terminal = records[feed + 2]
    return int(expected[top_cell(node, nodes, pushed), terminal >> 6] >> np.uint64(terminal & 63) & np.uint64(1))


@kernel
def _after(
    action: int, node: int, indents: int, used: int, info: Int32Array, actions: Int32Array, results: Int32Array, reactions: Int64Array,
    reacted: Int32Array, guards: UInt64Array, allows: UInt64Array, table: Int32Array, cells: Int32Array, native: Int32Array,
    variant: Int32Array, expected: UInt64Array, keys: Int64Array, values: Int32Array, records: Int32Array, counts: Int64Array,
    nodes: Int32Array, pushed: Int32Array, out: Int64Array,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Follow an action, and return (control or DEAD, node, indents, used). The result is valid only if the status is DONE."""
    kind: int = native[action, 0]
    if kind == _FED:
        lexeme: int = native[action, 2]
        first: int = native[action, 1]
        last = first + 1
        after = indents
        if lexeme >= 0:
            feed = _known(FEEDS, indents, lexeme, keys, values)
            if feed == UNKNOWN:
                out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_FEED, indents, lexeme
            if feed < 0:
                return DEAD, node, indents, used
            first, last, after = feed + 2, records[feed], records[feed + 1]
        for k in range(first, last):
            terminal: int = records[k] if lexeme >= 0 else k
            cell = top_cell(node, nodes, pushed)
            if not expected[cell, terminal >> 6] >> np.uint64(terminal & 63) & np.uint64(1):
                return DEAD, node, indents, used
            node, used = _fed(terminal, node, used, table, cells, keys, values, records, counts, nodes, pushed, out)
            if out[_STATUS] != DONE:
                return DEAD, node, indents, used
        indents = after
    if kind == _FED or kind == _IGNORED:
        context: int = cells[top_cell(node, nodes, pushed), _CONTEXT]
        control = _known(BEGINS, context, native[action, 3], keys, values)
        if control < 0:
            out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_BEGIN, context, native[action, 3]
    else:
        control, node, indents, used = _reacted(
            ACTION - action, node, indents, used, actions, results, reactions, reacted, cells, variant, keys, values, nodes, pushed, out
        )  # fmt: skip
    if control >= 0 and not _may_enter(
        control, top_cell(node, nodes, pushed), indents, info, guards, allows, cells, variant, out
    ):
        control = DEAD
    return control, node, indents, used


@kernel
def plan_key(group: int, control: int, allow: int) -> int:
    """Return the key of a plan in the table of plans. Its lower bits make the slot."""
    key = np.int64(group) << 44 | np.int64(control) << 22 | np.int64(allow)
    return int(key ^ key >> 31)


@kernel
def _small_plan(
    group: int, control: int, allow: int, byte: UInt8Array, depth: Int32Array, skip: Int32Array, token_indptr: Int32Array,
    token_ids: Int32Array, below: UInt64Array, rows: Int32Array, info: Int32Array, actions: Int32Array, guards: UInt64Array,
    allows: UInt64Array, n_words: int, plans: Int32Array, plan_keys: Int64Array, plan_values: Int32Array, tokens: Int32Array,
    dense: Int32Array, edges: Int32Array, groups: Int32Array, group_nodes: Int32Array, group_hashes: UInt64Array,
    group_slots: Int32Array, plan_counts: Int64Array, path: Int32Array, loops: UInt64Array, found: Int32Array, escapes: Int32Array,
    kinds: Int32Array, kind_of: Int32Array, n_dense: int, out: Int64Array,
) -> int:  # fmt: skip
    """Make and enter the plan of a group of few tokens; UNKNOWN with a status if a row is missing or the caller has to make it."""
    out[_STATUS], out[_FIRST], out[_SECOND], out[_THIRD] = MISSING_PLAN, group, control, allow
    first, last = groups[group, 0], groups[group, 1]
    n_tokens = 0
    for g in range(first, last):
        node = group_nodes[g]
        n_tokens += token_indptr[skip[node]] - token_indptr[node]
    # A plan of this group is not dense, so none is derived from another. Each escape has a token of its own.
    if n_tokens > min(n_dense, len(kinds)) or group >= N_GROUPS or max(control, allow) >= N_STATES:
        return UNKNOWN
    if 2 * plan_counts[KEYS] + 2 > len(plan_keys) or 2 * len(actions) > len(kind_of):
        return UNKNOWN
    walk = out[_WALK:]
    walk[:] = 0
    walk[5] = -1
    missing = within(
        byte, depth, skip, token_indptr, token_ids, below, rows, info, guards, allows, n_words, group_nodes[first:last],
        groups[group, 2] != 0, control, allow, DEAD, 0, escapes[:0], path, loops, found[:0], found, escapes, walk,
    )  # fmt: skip
    if missing != DONE:
        out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_ROW, walk[2], walk[3]
        return UNKNOWN
    missing = keep(
        skip, actions, found[: walk[0]], escapes[: walk[1]], kinds, kind_of, plans, tokens, dense, edges, groups, group_nodes,
        group_hashes, group_slots, plan_counts, n_dense, False,
    )  # fmt: skip
    if missing != DONE:
        return UNKNOWN
    made = plan_counts[0] - 1
    enter(plan_key(group, control, allow), made, plan_keys, plan_values)
    plan_counts[KEYS] += 1
    out[_STATUS] = DONE
    return int(made)


@kernel
def evaluate(
    byte: UInt8Array, depth: Int32Array, skip: Int32Array, token_indptr: Int32Array, token_ids: Int32Array, below: UInt64Array,
    rows: Int32Array, info: Int32Array, actions: Int32Array, results: Int32Array,
    reactions: Int64Array, reacted: Int32Array, guards: UInt64Array, allows: UInt64Array, n_words: int, table: Int32Array,
    cells: Int32Array, native: Int32Array, variant: Int32Array, expected: UInt64Array,
    keys: Int64Array, values: Int32Array, records: Int32Array, counts: Int64Array, plans: Int32Array, plan_keys: Int64Array,
    plan_values: Int32Array, tokens: Int32Array, dense: Int32Array, edges: Int32Array, groups: Int32Array, group_nodes: Int32Array,
    group_hashes: UInt64Array, group_slots: Int32Array, plan_counts: Int64Array, path: Int32Array, loops: UInt64Array,
    found: Int32Array, escapes: Int32Array, kinds: Int32Array, kind_of: Int32Array, n_dense: int,
    nodes: Int32Array, pushed: Int32Array, jobs: Int32Array, mask: Int32Array, out: Int64Array,
) -> int:  # fmt: skip
    """Set the bits of all tokens of a plan allowed on a stack; return DONE, or the missing entry: call again once it is computed.

    Parameters
    ----------
    byte, depth, skip, token_indptr, token_ids, below : in
        Trie, as `guided.kernels.plans.within` takes it.
    rows, info, actions, results, reactions, reacted, guards, allows : in
        Tables of the automaton (`guided.automata.pushdown.PushdownTables`: ``keys`` and ``values`` are the reactions).
    n_words : int
        Words of a set of labels.
    table, cells, native, variant, expected : in
        The parser (`guided.lalr.kernel_parser.KernelParser`).
    keys, values, records, counts : in and out
        Cached entries for the parser's stacks (see there); steps are added.
    plans : ndarray[int32], shape (n_plans, 5), in and out
        First and end of its tokens, row in ``dense`` (-1: none), first and end of its edges.
    plan_keys, plan_values : in and out
        Table of keys (`guided.kernels.hashing`) from `plan_key` to plan.
    tokens, dense, edges, groups, group_nodes : in and out
        Tokens of plans; masks of those with many, shape (n, words); action and group of each edge, shape (n, 2); first and end in
        ``group_nodes``, whether the byte is read again, and whether all tokens end with the lexeme, shape (n, 4).
    group_hashes, group_slots, plan_counts, kinds, kind_of, n_dense : in and out
        As `guided.kernels.lexeme_plans.keep` takes them, the counts with the number of ``plan_keys`` in use.
    path, loops, found, escapes : scratch
        As `guided.kernels.plans.within` takes them.
    nodes : ndarray[int32], shape (n, 3), in
        The caller's stacks: cell, and node below.
    pushed : ndarray[int32], shape (n, 2), out
        Stacks of the evaluation.
    jobs : ndarray[int32], shape (n, 5), in and out
        Plan, stack, indents, next edge (-1: not begun) of each open job, and the number of pushes in use before it.
    mask : ndarray[int32], shape (words,), in and out
    out : ndarray[int64], shape (13,), in and out
        [0] number of jobs; [1], [2], [3] the missing entry; [4] pushes in use; [5] as returned; then scratch.

    Notes
    -----
    O(tokens and edges of the plans visited, rules reduced for them, and words of their masks).
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
            add_tokens(tokens, plans[plan, 0], plans[plan, 1], mask)
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
                        add_tokens(token_ids, token_indptr[group_nodes[g]], token_indptr[group_nodes[g] + 1], mask)
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
        allow: int = cells[top_cell(after, nodes, pushed), _LABELS + variant[ind]]
        if allow < 0:
            out[_STATUS], out[_FIRST], out[_SECOND] = MISSING_LABELS, top_cell(after, nodes, pushed), ind
            break
        following = find(plan_key(group, control, allow), plan_keys, plan_values)
        if following < 0:
            following = _small_plan(
                group, control, allow, byte, depth, skip, token_indptr, token_ids, below, rows, info, actions, guards, allows, n_words,
                plans, plan_keys, plan_values, tokens, dense, edges, groups, group_nodes, group_hashes, group_slots, plan_counts,
                path, loops, found, escapes, kinds, kind_of, n_dense, out,
            )  # fmt: skip
            if following < 0:
                break
        jobs[n - 1, 3] = edge + 1
        jobs[n, 0], jobs[n, 1], jobs[n, 2], jobs[n, 3], jobs[n, 4] = following, after, ind, -1, out[_USED]
        out[_USED] = used
        n += 1
    out[_JOBS] = n
    return int(out[_STATUS])
