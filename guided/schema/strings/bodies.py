r"""Automata over classes of characters -> automata over the bytes of JSON strings, by arrays.

An edge by a class of characters becomes the paths of their spellings (`guided.schema.strings.spelling`): UTF-8 of unescaped characters,
short escapes, and hexadecimal escapes. All paths of a partition of the characters form one decision tree with shared inner nodes, built
once per partition. `guided.automata.utf8.expanded` takes every state's edges through it and interns the states within characters.

States within a character are never merged with those between characters, so that characters can be counted
(`guided.schema.strings.measure`); otherwise the result is minimal. After ``\``, for example, only ``n`` may follow, and a value may also
continue with ``n`` alone: two states.

Complexity: O(states x bytes), O(nodes of the tree) per distinct row of edges.
"""

from dataclasses import dataclass

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.growth import room
from guided.automata.minimize import canonical
from guided.automata.partition import Partition
from guided.automata.utf8 import decision_tree, expanded
from guided.kernels.minimize import equal_columns
from guided.limits import Limits
from guided.schema.formula.memo import Memo
from guided.schema.strings.hexadecimal import HexTree
from guided.schema.strings.spelling import Spelling

__all__ = ["spelled"]

_N_CONTINUATION, _BACKSLASH = 64, 0x5C
# Bytes within an escape, in the order of their columns after the continuation bytes.
_INSIDE = b"\"'\\/nrtu0123456789abcdefABCDEF"
_COLUMN = {byte: _N_CONTINUATION + i for i, byte in enumerate(_INSIDE)}
_BYTES = np.array([*range(0x80, 0x80 + _N_CONTINUATION), *_INSIDE], np.int32)
_DIGIT_VALUES = np.array([*range(16), *range(10, 16)])
_DIGIT_COLUMNS = np.array([_COLUMN[byte] for byte in b"0123456789abcdefABCDEF"])
_CUTS = np.array(sorted({0, 0x20, *(cut for one in b"\"'\\" for cut in (one, one + 1))}), np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """The decision tree of a partition's spellings.

    Attributes
    ----------
    root : ndarray[int32], shape (r,)
        Values by column of first bytes.
    inner : ndarray[int32], shape (n_nodes, m)
        Values by column of further bytes.
    classes : ndarray[uint8], shape (256,)
        Joint column of each byte.
    columns : ndarray[int32], shape (n_joint, 2)
        For each joint column, the column of states and of states within a character in `expanded`'s table.
    """

    root: Int32Array
    inner: Int32Array
    classes: "np.ndarray[tuple[int], np.dtype[np.uint8]]"
    columns: Int32Array


_memo: Memo[_Paths] = Memo(512, 1 << 24)


def spelled(
    table: Int32Array,
    accepting: BoolArray,
    labels: Int32Array,
    parts: Partition,
    spelling: Spelling,
    limits: Limits,
) -> Automaton:
    """Return the automaton of the spellings of an automaton's values: minimal, but for states within characters.

    Parameters
    ----------
    table : ndarray[int32], shape (n_states, n_classes)
        Minimal and trim, start state 0 (`guided.automata.minimize.minimal`); no edge by a class without characters.
    accepting : ndarray[bool], labels : ndarray[int32], shape (n_states,)
    parts : Partition
        The character classes.
    spelling : Spelling
        The spellings of characters.

    Raises
    ------
    LimitError
        ``states``, ``transitions`` or ``steps`` of ``limits`` is exceeded.
    """
    paths = _paths(parts, spelling)
    n = len(table)
    wide = expanded(table, paths.root, paths.inner, limits)
    out = room((len(wide), len(paths.columns)), np.int32)
    # Why clipped: else numpy would make a copy first.
    for i, part in enumerate((slice(n), slice(n, None))):
        np.take(wide[part], paths.columns[:, i], axis=1, out=out[part], mode="clip")
    del wide
    final = np.zeros(len(out), np.bool_)
    final[:n] = accepting
    marks = np.zeros(len(out), np.int32)
    marks[:n] = labels
    return Automaton(*canonical(out, paths.classes, final, marks, is_minimal=True))


def _paths(parts: Partition, spelling: Spelling) -> _Paths:
    key = parts.starts.tobytes(), parts.classes.tobytes(), id(spelling)
    found = _memo.get(key)
    return _memo.put(key, _decide(parts, spelling)) if found is None else found


def _decide(parts: Partition, spelling: Spelling) -> _Paths:
    points = np.union1d(parts.starts, _CUTS).astype(np.int32)
    classes = parts.classes[np.searchsorted(parts.starts, points, side="right") - 1]
    is_raw = (points >= 0x20) & (points != ord(spelling.quote)) & (points != _BACKSLASH)
    root, utf8 = decision_tree(points, np.where(is_raw, classes, DEAD).astype(np.int32), parts.n_classes)
    tree = HexTree(points, classes, len(utf8))
    inside = np.full(len(_COLUMN) + _N_CONTINUATION, DEAD, np.int32)
    inside[[_COLUMN[ord(escape[1])] for _, escape in spelling.short]] = tree.classes_of(
        [ord(character) for character, _ in spelling.short]
    )
    inside[_COLUMN[ord("u")]] = tree.root(spelling.escaped)
    n_hex = len(tree.rows)
    inner = np.full((len(utf8) + n_hex + 1, len(inside)), DEAD, np.int32)
    inner[: len(utf8), :_N_CONTINUATION] = utf8
    _place(inner[len(utf8) : -1], tree.rows)
    inner[-1] = inside
    root[_BACKSLASH] = -2 - (len(inner) - 1) if inside.max() >= 0 or inside.min() < DEAD else DEAD
    return _narrowed(root, inner)


def _place(inner: Int32Array, rows: list[list[int]]) -> None:
    """Copy the nodes of a `HexTree` into their columns."""
    if not rows:
        return
    digits = np.array(rows, np.int32)
    inner[:, _DIGIT_COLUMNS] = digits[:, _DIGIT_VALUES]
    inner[:, _COLUMN[_BACKSLASH]] = digits[:, 16]
    inner[:, _COLUMN[ord("u")]] = digits[:, 17]


def _narrowed(root: Int32Array, inner: Int32Array) -> _Paths:
    """Merge equal columns."""
    width = inner.shape[1]
    firsts, first_of = np.unique(root, return_inverse=True)
    kept, number = np.empty(width, np.int32), np.full(width, DEAD, np.int32)
    used = np.flatnonzero((inner != DEAD).any(axis=0)).astype(np.int32)
    n_kept = equal_columns(inner, used, kept, number, np.zeros(width, np.uint64))
    further = np.full(256, DEAD, np.int64)
    further[_BYTES] = number
    # A class for each pair of what a byte does first and inside a character.
    _, byte, classes = np.unique(first_of * (n_kept + 1) + further, return_index=True, return_inverse=True)
    columns = np.stack([first_of[byte], np.where(further[byte] < 0, 0, len(firsts) + further[byte])], axis=1)
    inner = np.ascontiguousarray(inner[:, kept[:n_kept]])
    return _Paths(firsts, inner, classes.astype(np.uint8), columns.astype(np.int32))
