"""Compilation of a pattern tree, or of a list of strings, to an `Automaton`.

Each operand of an Intersect or a Complement is a language of its own, so its assertions see only its own span (see `guided.patterns.tree`).
It is compiled by itself, from the inside out, and within another node replaced by its automaton (`Operand`).
"""

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, copy_context
from functools import reduce
from itertools import accumulate
from typing import TypeVar

import numpy as np

from guided.arrays import DEAD
from guided.automata.automaton import Automaton
from guided.automata.determinize import CharDFA, determinize
from guided.automata.lookaround import determinize_with_assertions
from guided.automata.minimize import canonical
from guided.automata.nfa import Operand, build_nfa
from guided.automata.partition import partition
from guided.automata.product import PER_CELL, char_intersection, complement, minimized
from guided.automata.steps import Steps, check_size
from guided.automata.unfolding import determinize_unfolded, is_unfoldable
from guided.errors import LimitError
from guided.kernels.acyclic import child_table, merge_suffixes
from guided.kernels.trie import build_trie
from guided.limits import Limits
from guided.patterns.charset import SURROGATE, Charset
from guided.patterns.tree import Alternate, Chars, Complement, Intersect, Literal, Node, fold, parts_of, rebuilt

__all__ = ["from_strings", "from_tree", "in_one_budget", "over_characters", "spend_together"]

_LIMITS = Limits()
# Cost of a state of an NFA in steps of a determinization (8 ns each): Python emits it.
_PER_STATE = 60
# Cost of a class of a set of characters: it is found and written, and memory for it is found.
_PER_CLASS = 2
# Cost in steps of a determinization (8 ns each) of: an operand, a product, an edge or node in Python, a cell of a table.
_OPERAND, _PART, _EDGE, _CELL = 50_000, 12_000, 400, 4
_TOO_MANY = "too many or too large intersections and complements"
_Result = TypeVar("_Result")
_together: ContextVar[Steps | None] = ContextVar("_together", default=None)

# Up to this size a set of characters is treated as a list of texts.
_FEW = 256


def from_tree(tree: Node, limits: Limits | None = None) -> Automaton:
    """Return the automaton of the texts that a pattern tree matches as a whole.

    Raises
    ------
    LimitError
        A budget of ``limits`` was exceeded.

    Notes
    -----
    Thompson's construction, subset construction over classes of characters (with obligations for assertions), Hopcroft's minimization,
    expansion to UTF-8. Exponential in the worst case, within the budgets.
    """
    bounds = limits or Limits()
    if (texts := _texts(tree)) is not None:
        return from_strings(texts, bounds)
    steps = Steps(bounds.steps)
    return Automaton.from_characters(over_characters(tree, bounds, steps), bounds, steps)


def over_characters(tree: Node, limits: Limits | None = None, steps: Steps | None = None) -> CharDFA:
    """Return the automaton over classes of characters of the texts that a pattern tree matches as a whole; not minimal.

    Its cost is added to ``steps``.

    Raises
    ------
    LimitError
        A budget of ``limits`` was exceeded.
    """
    bounds = limits or Limits()
    steps = steps or Steps(bounds.steps)
    has_operands, before = _operands_in(tree)
    steps.spend(before, _TOO_MANY)
    if not has_operands:
        return _over_characters(tree, bounds, steps)

    def lowered(node: Node, parts: Sequence[Node | CharDFA]) -> Node | CharDFA:
        match node:
            case Intersect():
                if not parts:
                    raise ValueError("an intersection has at least one operand")
                return reduce(lambda left, right: char_intersection(left, right, bounds, steps), map(compiled, parts))
            case Complement():
                return complement(compiled(parts[0]))
            case _:
                return rebuilt(node, [_operand(part, steps) if isinstance(part, CharDFA) else part for part in parts])

    def compiled(part: Node | CharDFA) -> CharDFA:
        steps.spend(_PART, _TOO_MANY)
        if isinstance(part, CharDFA):
            return part
        found = _over_characters(part, bounds, steps)
        if found.partition.symbols:
            raise TypeError("an intersection or a complement must not contain calls")
        return minimized(found)

    found = fold(tree, lowered)
    return found if isinstance(found, CharDFA) else _over_characters(found, bounds, steps)


def spend_together(count: int) -> None:
    """Count the steps of something built now or earlier within `in_one_budget`; no effect outside of it.

    Raises
    ------
    LimitError
        ``steps`` was exceeded.
    """
    if (together := _together.get()) is not None:
        together.spend(count, "too many parts, patterns and grammars")


def in_one_budget(run: Callable[[], _Result], steps: Steps | None = None) -> _Result:
    """Call a function; its calls of `spend_together` share one budget, ``steps``. A call within another joins the outer budget.

    A compile counts the cost of the operands in its tree again, so that a spec is refused or not regardless of caches.
    """
    # Why a context: an interrupt, wherever it comes, leaves no budget that later compiles would join.
    context = copy_context()
    context.run(_together.set, _together.get() or steps or Steps(_LIMITS.steps))
    return context.run(run)


def _over_characters(tree: Node, limits: Limits, steps: Steps) -> CharDFA:
    nfa = build_nfa(tree, limits)
    steps.spend(_PER_STATE * nfa.n_states, "the pattern has too many letters and counts")
    parts = partition(nfa.charsets, limits, nfa.symbols)
    steps.spend(_PER_CLASS * parts.set_classes.size, "the pattern has too many large sets of characters")
    if not nfa.assertions:
        found = determinize(nfa, parts, limits, steps)
    elif is_unfoldable(nfa):
        found = determinize_unfolded(nfa, parts, limits, steps)
    else:
        found = determinize_with_assertions(nfa, parts, limits, steps)
    steps.spend(
        PER_CELL * found.table.size,
        "too many states for such sets of characters: lower counts, or use sets such as [a-z]",
    )
    return found


def from_strings(strings: Iterable[bytes], limits: Limits | None = None) -> Automaton:
    """Return the automaton of a finite set of byte strings. Linear in their bytes after a sort.

    Raises
    ------
    LimitError
        ``nfa_states`` (by the bytes of all strings), ``states`` or ``transitions`` of ``limits`` was exceeded.
    """
    bounds = limits or Limits()
    ordered = sorted(set(strings))
    total = sum(map(len, ordered))
    if total > bounds.nfa_states:
        raise LimitError("nfa_states", total, bounds.nfa_states, "use fewer or shorter texts")
    has_empty = bool(ordered) and not ordered[0]
    spelled = ordered[1:] if has_empty else ordered
    data = np.frombuffer(b"".join(spelled), np.uint8)
    offsets = np.fromiter(accumulate(map(len, spelled), initial=0), np.int64, len(spelled) + 1)
    size = len(data)
    byte, depth, skip = np.empty(size, np.uint8), np.empty(size, np.int32), np.empty(size, np.int32)
    ends = np.empty(len(spelled), np.int32)
    n = int(build_trie(data, offsets, byte, depth, skip, ends, np.empty(max(map(len, spelled), default=0), np.int32)))
    # The root becomes node 0, so that its subtree is numbered like any other.
    rooted_byte, rooted_skip = np.zeros(n + 1, np.uint8), np.empty(n + 1, np.int32)
    rooted_byte[1:], rooted_skip[1:], rooted_skip[0] = byte[:n], skip[:n] + 1, n + 1
    final = np.zeros(n + 1, np.bool_)
    final[ends + 1] = True
    final[0] = has_empty
    block, representative = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    slots = np.full(1 << (2 * n + 4).bit_length(), -1, np.int32)
    count = merge_suffixes(rooted_byte, rooted_skip, final, block, representative, np.empty(n + 1, np.uint64), slots)
    used = np.unique(rooted_byte[1:])
    classes = np.full(256, len(used), np.int32)
    classes[used] = np.arange(len(used))
    check_size(int(count), len(used) + 1, bounds)
    table = np.full((count, len(used) + 1), DEAD, np.int32)
    child_table(rooted_byte, rooted_skip, block, representative, count, classes, table)
    accepting = final[representative[:count]]
    return Automaton(
        *canonical(
            table, classes.astype(np.uint8), accepting, np.zeros(count, np.int32), int(block[0]), is_minimal=True
        )
    )


def _texts(tree: Node) -> list[bytes] | None:
    """Return the texts of a tree that is a plain list of texts, else None."""
    if not isinstance(tree, Alternate | Literal):
        return None
    texts: list[bytes] = []
    for item in tree.items if isinstance(tree, Alternate) else (tree,):
        if isinstance(item, Literal) and SURROGATE.search(item.text) is None:
            texts.append(item.text.encode())
        elif isinstance(item, Chars) and len(item.charset) <= _FEW:
            texts.extend(chr(point).encode() for low, high in item.charset.ranges for point in range(low, high + 1))
        else:
            return None
    return texts


def _operands_in(tree: Node) -> tuple[bool, int]:
    """Return whether any operand must be compiled, and the cost of those already compiled and, if so, of visiting all nodes."""
    stack: list[Node] = [tree]
    seen: set[int] = set()
    found, before = False, 0
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Literal or kind is Chars or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Operand):
            before += node.steps
            continue
        found = found or kind is Intersect or kind is Complement
        stack.extend(parts_of(node))
    return found, before + found * _EDGE * len(seen)


def _operand(dfa: CharDFA, steps: Steps) -> Operand:
    table = dfa.table
    steps.spend(_OPERAND + _EDGE * len(table), _TOO_MANY)
    sources, classes = np.nonzero(table >= 0)
    targets = table[sources, classes]
    order = np.lexsort((classes, targets, sources))
    sources, classes, targets = sources[order], classes[order], targets[order]
    # One edge for all classes that lead from a state to the same target.
    changes = (sources[1:] != sources[:-1]) | (targets[1:] != targets[:-1])
    begins = np.flatnonzero(np.append(True, changes)) if len(sources) else np.empty(0, np.int64)
    steps.spend(_EDGE * max(0, len(begins) - len(table)), _TOO_MANY)
    ends = np.append(begins[1:], len(sources))[: len(begins)]
    charsets: dict[bytes, Charset] = {}
    edges: list[tuple[int, Charset, int]] = []
    bounds = zip(begins.tolist(), ends.tolist(), sources[begins].tolist(), targets[begins].tolist(), strict=True)
    for begin, end, source, target in bounds:
        members = classes[begin:end]
        key = members.tobytes()
        charset = charsets.get(key)
        if charset is None:
            steps.spend(_CELL * len(dfa.partition.starts), _TOO_MANY)
            charset = charsets[key] = dfa.partition.charset(members)
        edges.append((source, charset, target))
    return Operand(tuple(edges), tuple(np.flatnonzero(dfa.accepting).tolist()), len(table))
