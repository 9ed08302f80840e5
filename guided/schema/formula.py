"""Boolean formulas over residual atoms, hash-consed: equal formulas have equal ids, so a state of a schema is one int.

A formula says what must still hold of a value that has been read in part. An *atom* is a tuple of hashable data whose first
member names it (`guided.schema.atoms` lists them all); reading on replaces every atom by a formula, its derivative, and simplifies
(`Formulas.rewrite`). Nodes:

    ("F",) ("T",)          false and true, ids 0 and 1
    ("&", ids) ("|", ids)  conjunction and disjunction: sorted ids, flat, at least two, no member twice
    ("!", id)              negation, never of a negation
    ("1", ids)             exactly one of a multiset holds: sorted ids
    any other tuple        an atom

Invariants: ids never change meaning; a node's members have smaller ids than the node itself, so a pass in the order of ids sees members
first, and nothing here recurses. Simplification is sound and cheap, not complete: two formulas of equal meaning may have two ids.

Complexity: making a node is O(members); `rewrite` visits each node of a formula once.
Ref: Brzozowski 1964 (derivatives); Antimirov 1996 (partial derivatives as sets); here over atoms of JSON Schema.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from guided.automata.steps import Steps
from guided.limits import Limits
from guided.schema.marks import Marks

__all__ = ["FALSE", "TRUE", "Atom", "Formulas"]

FALSE, TRUE = 0, 1

Atom: TypeAlias = tuple[Any, ...]

_CONNECTIVES = frozenset("&|!1")
# A member with this value decides.
_ZERO = {"&": FALSE, "|": TRUE}


# Bytes of memory of a formula with what is known of it, and of each of its parts, as measured.
_PER_NODE, _PER_MEMBER = 500, 40


class Formulas:
    """A table of formulas. Grows only; not shared by schemas.

    Attributes
    ----------
    nodes : list of tuple
        Node of each id.
    marks : Marks
        What can change each formula.
    steps : Steps
        Of the call at hand; those of an index once there is one.
    n_bytes : int
        About how many bytes of memory they take.
    """

    __slots__ = ("_atoms", "_ids", "marks", "n_bytes", "nodes", "steps")

    def __init__(self) -> None:
        self.nodes: list[Atom] = [("F",), ("T",)]
        self.marks = Marks(self.nodes)
        self.steps = Steps(Limits().call_steps, "call_steps")
        self.n_bytes = 0
        self._ids: dict[Atom, int] = {("F",): FALSE, ("T",): TRUE}
        self._atoms: dict[int, tuple[Atom, ...]] = {}

    def atom(self, node: Atom) -> int:
        """The id of an atom (or of any node that is known to be simplified).

        Raises
        ------
        LimitError
            The call takes too many steps.
        """
        found = self._ids.get(node)
        if found is None:
            self.spend(1)
            found = self._ids[node] = len(self.nodes)
            self.nodes.append(node)
            self.n_bytes += _PER_NODE + _PER_MEMBER * (len(node[1]) if node[0] in "&|" else len(node))
        return found

    def spend(self, count: int) -> None:
        """Count steps of the call at hand.

        Raises
        ------
        LimitError
            It takes too many.
        """
        self.steps.spend(count, "the schema leads to too many formulas")

    def among(self, earlier: int, value: int) -> int:
        """What holds of the values of which one of two formulas holds, in a node of its own: O(1), however many ``earlier`` is made of."""
        return value if earlier == FALSE else self.atom(("among", earlier, value, self.count_among(earlier) + 1))

    def count_among(self, formula: int) -> int:
        """Of how many formulas `among` made it."""
        node = self.nodes[formula]
        return int(node[3]) if node[0] == "among" else 1

    def list_among(self, formula: int) -> list[int]:
        """The formulas that `among` made it of, the first one first."""
        found: list[int] = []
        while self.nodes[formula][0] == "among":
            _, formula, value, _ = self.nodes[formula]
            found.append(value)
        return [formula, *reversed(found)]

    def negation(self, formula: int) -> int:
        """Not."""
        if formula <= TRUE:
            return TRUE - formula
        node = self.nodes[formula]
        return int(node[1]) if node[0] == "!" else self.atom(("!", formula))

    def conjunction(self, members: Iterable[int]) -> int:
        """And; true of nothing."""
        return self._flat("&", "|", members, TRUE, FALSE)

    def disjunction(self, members: Iterable[int]) -> int:
        """Or; false of nothing."""
        return self._flat("|", "&", members, FALSE, TRUE)

    def exactly_one(self, members: Iterable[int]) -> int:
        """Exactly one member holds, each counted as often as it stands."""
        kept = [member for member in members if member != FALSE]
        certain = kept.count(TRUE)
        if certain > 1 or not kept:
            return FALSE
        if certain:
            return self.conjunction(self.negation(member) for member in kept if member != TRUE)
        if len(kept) == 1:
            return kept[0]
        seen: set[int] = set()
        doubled = {member for member in kept if member in seen or seen.add(member)}  # type: ignore[func-returns-value]
        if doubled:  # Why: were such a member true, it would count twice
            rest = self.exactly_one(member for member in kept if member not in doubled)
            return self.conjunction([rest, *(self.negation(member) for member in doubled)])
        return self.atom(("1", tuple(sorted(kept))))

    def _flat(self, connective: str, dual: str, members: Iterable[int], unit: int, zero: int) -> int:
        nodes = self.nodes
        kept: set[int] = set()
        for member in members:
            if member == zero:
                return zero
            if member == unit:
                continue
            node = nodes[member]
            if node[0] == connective:
                kept.update(node[1])
            else:
                kept.add(member)
        if not kept:
            return unit
        if len(kept) == 1:
            return kept.pop()
        # PERF: `spend` checks it with the next new node (`python -m benchmarks.first_mask`).
        self.steps.spent += len(kept)
        has_dual = False
        for member in kept:
            kind = nodes[member][0]
            if kind == "!" and nodes[member][1] in kept:
                return zero
            has_dual |= kind == dual
        if has_dual:  # absorption: x & (x | y) is x
            kept = {member for member in kept if nodes[member][0] != dual or kept.isdisjoint(nodes[member][1])}
            if len(kept) == 1:
                return kept.pop()
        return self.atom((connective, tuple(sorted(kept))))

    def rewrite(
        self, formula: int, derivative: Callable[[Atom], int], memo: dict[int, int], touched: int | None = None
    ) -> int:
        """The formula with every atom replaced by what ``derivative`` gives for it.

        Parameters
        ----------
        formula : int
        derivative : callable
            From an atom to a formula. May itself use this table.
        memo : dict of int to int
            Results by id, filled; calls with the same ``derivative`` may share it.
        touched : int, optional
            The mark of all atoms that ``derivative`` changes (`guided.schema.marks`): what has none of it stays as it is.
        """
        if formula <= TRUE or (touched is not None and not self.marks.of(formula) & touched):
            return formula
        nodes, mark = self.nodes, self.marks.of
        todo = [formula]
        while todo:
            top = todo[-1]
            node = nodes[top]
            kind = node[0]
            if top in memo or kind not in _CONNECTIVES:
                todo.pop()
                if top not in memo:
                    memo[top] = derivative(node)
                continue
            zero = _ZERO.get(kind)
            results: list[int] = []
            pending: list[int] = []
            for member in (node[1],) if kind == "!" else node[1]:
                result = memo.get(member)
                if result is None and touched is not None and not mark(member) & touched:
                    result = memo[member] = member
                if result is None:
                    below = nodes[member]
                    if below[0] in _CONNECTIVES:
                        pending.append(member)
                        continue
                    result = memo[member] = derivative(below)
                results.append(result)
                if result == zero:
                    memo[top] = result
                    break
            else:
                self.steps.spent += 1 + len(results)
                if pending:
                    todo.extend(reversed(pending))
                else:
                    memo[top] = self._combined(kind, results)
        self.spend(0)
        return memo[formula]

    def _combined(self, kind: str, results: list[int]) -> int:
        if kind == "&":
            return self.conjunction(results)
        if kind == "|":
            return self.disjunction(results)
        return self.negation(results[0]) if kind == "!" else self.exactly_one(results)

    def atoms(self, formula: int) -> tuple[Atom, ...]:
        """The distinct atoms of a formula, in the order of their ids. O(nodes) the first time."""
        found = self._atoms.get(formula)
        if found is None:
            seen, todo = {formula}, [formula]
            leaves: list[int] = []
            while todo:
                top = todo.pop()
                node = self.nodes[top]
                if top <= TRUE:
                    continue
                if node[0] not in _CONNECTIVES:
                    leaves.append(top)
                    continue
                for member in (node[1],) if node[0] == "!" else node[1]:
                    if member not in seen:
                        seen.add(member)
                        todo.append(member)
            found = self._atoms[formula] = tuple(self.nodes[leaf] for leaf in sorted(leaves))
        return found

    def members(self, formula: int) -> tuple[int, ...]:
        """The members of a conjunction; of anything else, itself alone."""
        node = self.nodes[formula]
        return tuple(node[1]) if node[0] == "&" else (formula,)
