"""Hash-consed Boolean formulas over residual atoms: equal formulas have equal ids, so a state of a schema is one int.

A formula describes the rest of a value that has been read in part. An *atom* is a tuple of hashable data whose first
member is its name (`guided.schema.formula.atoms` lists all atoms). Reading input replaces every atom by a formula, its derivative, and
simplifies the result (`Formulas.rewrite`). Nodes:

    ("F",) ("T",)          false and true, ids 0 and 1
    ("&", ids) ("|", ids)  conjunction and disjunction: sorted ids, flat, at least two, no member twice
    ("!", id)              negation, never of a negation
    ("1", ids)             exactly one member of a multiset holds: sorted ids
    any other tuple        an atom

Invariants: the meaning of an id never changes. A node's members have smaller ids than the node, so a pass in id order visits members
first, and nothing here recurses. Simplification is sound and cheap but incomplete: equivalent formulas may have different ids.

Complexity: making a node is O(members); `rewrite` visits each node of a formula once.
Ref: Brzozowski 1964 (derivatives); Antimirov 1996 (partial derivatives as sets); here over atoms of JSON Schema.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, TypeAlias

from guided.automata.steps import Steps
from guided.caching import cached_property
from guided.limits import Limits
from guided.schema.formula.marks import Marks

__all__ = ["FALSE", "TRUE", "Atom", "Formulas"]

FALSE, TRUE = 0, 1

Atom: TypeAlias = tuple[Any, ...]

_CONNECTIVES = frozenset("&|!1")
# A member with this value determines the value of the connective.
_ZERO = {"&": FALSE, "|": TRUE}


# Measured memory in bytes of a formula with its cached results, and of each member of a conjunction or disjunction.
_PER_NODE, _PER_MEMBER = 580, 40
_CALL_STEPS = Limits().call_steps


class Formulas:
    """A table of formulas. It only grows and is never shared between schemas.

    Attributes
    ----------
    nodes : list of tuple
        Node of each id.
    members : list of tuple
        Members of each conjunction; of any other formula, a tuple of the formula alone.
    kinds : set of str
        The first members of all nodes but false and true.
    steps : Steps
        Step budget of the current call, or of the index once it exists; and their memory.
    ended : dict of int to int
        The truth of formulas where no further member or item comes.
    paid : set
        What has been charged and is shared with other tables, so that it is charged once.
    """

    def __init__(self) -> None:
        self.nodes: list[Atom] = [("F",), ("T",)]
        self.members: list[tuple[int, ...]] = [(FALSE,), (TRUE,)]
        self.kinds: set[str] = set()
        self.steps = Steps(_CALL_STEPS, "call_steps")
        self.ended: dict[int, int] = {}
        self.paid: set[Hashable] = set()
        self._ids: dict[Atom, int] = {("F",): FALSE, ("T",): TRUE}
        self._atoms: dict[int, dict[int, Atom]] = {}

    @cached_property
    def marks(self) -> Marks:
        """The keys and valuations that can change each formula."""
        return Marks(self.nodes)

    def atom(self, node: Atom) -> int:
        """Return the id of an atom, or of any other node that is already simplified.

        Raises
        ------
        LimitError
            The step budget of the call is exceeded.
        """
        # PERF: a compile makes hundreds of atoms, and hashing one takes as long as the rest.
        new = len(self.nodes)
        found = self._ids.setdefault(node, new)
        if found == new:
            self.nodes.append(node)
            self.members.append(node[1] if node[0] == "&" else (found,))
            self.kinds.add(node[0])
            self.steps.n_bytes += _PER_NODE
            self.steps.spent += 1
            if self.steps.spent > self.steps.limit:
                self.spend(0)
        return found

    def spend(self, count: int) -> None:
        """Charge steps to the current call.

        Raises
        ------
        LimitError
            The step budget of the call is exceeded.
        """
        self.steps.spend(count, "the schema leads to too many formulas")

    def among(self, earlier: int, value: int) -> int:
        """Return the disjunction of two formulas as a separate ``among`` node: O(1), whatever the number of values in ``earlier``."""
        return value if earlier == FALSE else self.atom(("among", earlier, value, self.count_among(earlier) + 1))

    def count_among(self, formula: int) -> int:
        """Return the number of formulas that `among` combined into this one."""
        node = self.nodes[formula]
        return int(node[3]) if node[0] == "among" else 1

    def list_among(self, formula: int) -> list[int]:
        """Return the formulas that `among` combined into this one, oldest first."""
        found: list[int] = []
        while self.nodes[formula][0] == "among":
            _, formula, value, _ = self.nodes[formula]
            found.append(value)
        return [formula, *reversed(found)]

    def negation(self, formula: int) -> int:
        """Return the negation."""
        if formula <= TRUE:
            return TRUE - formula
        node = self.nodes[formula]
        return int(node[1]) if node[0] == "!" else self.atom(("!", formula))

    def conjunction(self, members: Iterable[int]) -> int:
        """Return the conjunction; `TRUE` if there are no members."""
        return self._flat("&", "|", members, TRUE, FALSE)

    def disjunction(self, members: Iterable[int]) -> int:
        """Return the disjunction; `FALSE` if there are no members."""
        return self._flat("|", "&", members, FALSE, TRUE)

    def exactly_one(self, members: Iterable[int]) -> int:
        """Return the formula "exactly one member holds"; repeated members count repeatedly."""
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
        if doubled:  # Why: a repeated member counts at least twice if true, so it must be false
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
        # PERF: the next new node checks the budget in `spend` (`python -m benchmarks.first_mask`).
        self.steps.spent += len(kept)
        has_dual = False
        if "!" in self.kinds or dual in self.kinds:
            for member in kept:
                kind = nodes[member][0]
                if kind == "!" and nodes[member][1] in kept:
                    return zero
                has_dual |= kind == dual
        if has_dual:  # absorption: x & (x | y) is x
            kept = {member for member in kept if nodes[member][0] != dual or kept.isdisjoint(nodes[member][1])}
            if len(kept) == 1:
                return kept.pop()
        new = len(nodes)
        found = self.atom((connective, tuple(sorted(kept))))
        if found == new:
            self.steps.n_bytes += _PER_MEMBER * len(kept)
        return found

    def rewrite(
        self, formula: int, derivative: Callable[[Atom], int], memo: dict[int, int], touched: int | None = None
    ) -> int:
        """Return the formula with every atom replaced by its derivative.

        Parameters
        ----------
        formula : int
        derivative : callable
            Maps an atom to a formula. May itself use this table.
        memo : dict of int to int
            Results by id, filled by this call. Calls with the same ``derivative`` may share it.
        touched : int, optional
            The mark of all atoms that ``derivative`` changes (`guided.schema.formula.marks`). Subformulas without a bit of it are kept.
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
                    self.steps.spent += len(results)
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

    def atoms(self, formula: int) -> Collection[Atom]:
        """Return the distinct atoms of a formula in id order. O(nodes) the first time."""
        return self.atoms_by_id(formula).values()

    def atoms_by_id(self, formula: int) -> dict[int, Atom]:
        """Return the same by id, as a dict to be read only."""
        found = self._atoms.get(formula)
        if found is None:
            nodes, every = self.nodes, self.below((formula,))
            found = {one: nodes[one] for one in every if one > TRUE and nodes[one][0] not in _CONNECTIVES}
            self._atoms[formula] = found
        return found

    def below(self, wanted: Iterable[int]) -> list[int]:
        """Return the formulas and all their subformulas down to atoms, members before the nodes that contain them."""
        seen = set(wanted)
        todo = list(seen)
        while todo:
            node = self.nodes[todo.pop()]
            if node[0] not in _CONNECTIVES:
                continue
            for member in (node[1],) if node[0] == "!" else node[1]:
                if member not in seen:
                    seen.add(member)
                    todo.append(member)
        return sorted(seen)

    def is_no(self, atom: Atom, kind: str) -> bool:
        """Return whether a node is the negation of an atom of a kind."""
        return atom[0] == "!" and bool(self.nodes[atom[1]][0] == kind)
