"""Marks: which keys, and whether the valuation of a pending value, can change a formula of an object. Other subformulas need no rewriting.

A mark is a bit set, the union of the marks of a formula's atoms: `VALUE`, `EVERY_KEY`, and bits of names. Names may share a bit, so a
mark overapproximates: it may claim that a key changes a formula when it does not, never the reverse.

Complexity: O(members) once per node.
"""

from typing import Any

__all__ = ["EVERY_KEY", "VALUE", "Marks"]

# Atoms that the valuation of a pending value changes; atoms that any key changes.
VALUE, EVERY_KEY = 1, 2
_FIRST_NAME, _N_NAMES = 2, 58
_COUNTS = ("minProperties", "maxProperties", "propertyNames")
_TRUE = 1


class Marks:
    """Computes and caches the marks of one table of formulas.

    Parameters
    ----------
    nodes : list of tuple
        Node of each id; the table may still grow.
    """

    __slots__ = ("_known", "_names", "_nodes")

    def __init__(self, nodes: list[tuple[Any, ...]]) -> None:
        self._nodes = nodes
        self._known: dict[int, int] = {}
        self._names: dict[str, int] = {}

    def name(self, name: str) -> int:
        """Return the bit of a name."""
        return 1 << _FIRST_NAME + self._names.setdefault(name, len(self._names)) % _N_NAMES

    def of(self, formula: int) -> int:
        """Return the mark of a formula."""
        known = self._known
        found = known.get(formula)
        if found is not None:
            return found
        nodes, todo = self._nodes, [formula]
        while todo:
            top = todo[-1]
            node = nodes[top]
            if node[0] not in ("&", "|", "!", "1"):
                known[top] = self._of_atom(node)
                todo.pop()
                continue
            members = (node[1],) if node[0] == "!" else node[1]
            pending = [member for member in members if member not in known]
            if pending:
                todo += pending
                continue
            todo.pop()
            mark = 0
            for member in members:
                mark |= known[member]
            known[top] = mark
        return known[formula]

    def _of_atom(self, atom: tuple[Any, ...]) -> int:
        kind = atom[0]
        if kind == "value":
            return VALUE
        if kind == "required":
            return self.name(atom[1])
        if kind == "properties":
            _, declared, patterns, others = atom
            mark = EVERY_KEY if patterns or others != _TRUE else 0
            for name, _ in declared:
                mark |= self.name(name)
            return mark
        return EVERY_KEY if kind in _COUNTS else 0
