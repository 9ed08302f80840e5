"""Enumerate the terms of a formula: conjunctions of literals (atoms and negated atoms) whose disjunction is the formula.

A formula is live exactly if one of its terms is, and a term leaves no choices, so liveness needs no case analysis of its own. Terms are
generated lazily. The search state is a set of literals and a list of *choices*; one option of each choice must hold. A caller that needs
one term stops at the first suitable one. A caller that knows contradictory sets of literals passes `is_excluded`, and no term that contains
such a set is generated.

The search propagates units and branches on the smallest choice, as in the DPLL procedure (Davis, Putnam, Logemann and Loveland): options
that contradict the literals are dropped, and a choice with one option left is taken. Within a choice the least demanding options come
first: required or absent names, then negated tables, then conditions on a value still to be read.

"Exactly one of n" has n options of n formulas each, and its negation n (n - 1) / 2 + 1 options. They are made one by one, as the search
takes them.

Complexity: lazy; a step is linear in the members of the open choices; exponential in the number of simultaneous choices that no literal
decides.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, count
from typing import NamedTuple, TypeAlias

from guided.schema.formula.formulas import FALSE, TRUE, Formulas

__all__ = ["Literals", "implicants"]

Literals: TypeAlias = frozenset[int]
# Formulas that must hold together.
_Option: TypeAlias = tuple[int, ...]
# What is searched: formulas that must hold, choices, literals taken.
_Entry: TypeAlias = "tuple[_Option, dict[int, _Choice], Literals]"

# How much an atom, and its negation, demands of the rest of an object or array; see `_rank`.
_RANKS = {"value": (3, 3), "required": (1, 0), "properties": (0, 2), "propertyNames": (0, 2), "items": (0, 2)}
_COMPOSITE = 2
# Members of choices visited per step.
_MEMBERS = 8


class _AnyOf(NamedTuple):
    """One of these members must hold; each is an option."""

    members: tuple[int, ...]

    @property
    def n_options(self) -> int:
        return len(self.members)

    def options(self) -> Iterator[_Option]:
        return ((member,) for member in self.members)

    def left(self, truth: Callable[[int], int]) -> "_AnyOf | None":
        """Return the choice without the options that are false; None if it holds."""
        members = []
        for member in self.members:
            found = truth(member)
            if found == TRUE:
                return None
            if found != FALSE:
                members.append(member)
        return self if len(members) == len(self.members) else _AnyOf(tuple(members))


class _OneOf(NamedTuple):
    """Exactly one of these members must hold, or, negated, any other number of them.

    Attributes
    ----------
    formulas : Formulas
    members : tuple of int
        Those that are not false.
    is_negated : bool
    held : tuple of int
        The members that are true.
    """

    formulas: Formulas
    members: tuple[int, ...]
    is_negated: bool
    held: tuple[int, ...] = ()

    @property
    def n_options(self) -> int:
        n = len(self.members)
        if self.is_negated:
            return n * (n - 1) // 2 + (not self.held)
        return n if not self.held else int(len(self.held) == 1)

    def options(self) -> Iterator[_Option]:
        """Yield one option for each member that may be the one; negated, first that none holds, then each pair of members."""
        negation = self.formulas.negation
        if not self.is_negated:
            for member in self.held or self.members:
                yield (member, *(negation(other) for other in self.members if other != member))
            return
        if not self.held:
            yield tuple(map(negation, self.members))
        yield from combinations(self.members, 2)

    def left(self, truth: Callable[[int], int]) -> "_OneOf | None":
        """Return the choice without the members that are false; None if it holds."""
        truths = [(member, truth(member)) for member in self.members]
        members = tuple([member for member, found in truths if found != FALSE])
        held = tuple([member for member, found in truths if found == TRUE])
        if (len(held) > 1 or not members) if self.is_negated else (len(held) == len(members) == 1):
            return None
        return _OneOf(self.formulas, members, self.is_negated, held)


_Choice: TypeAlias = _AnyOf | _OneOf


def implicants(
    formulas: Formulas,
    formula: int,
    spend: Callable[[int], None],
    is_excluded: Callable[[Literals], bool] | None = None,
) -> Iterator[tuple[int, ...]]:
    """Yield each consistent term once, as the sorted ids of its literals.

    Parameters
    ----------
    formulas : Formulas
    formula : int
    spend : callable
        Charges the work, one step for eight members of choices; raises an error to stop the search.
    is_excluded : callable, optional
        Whether to skip all terms that contain these literals. It may exclude more literals as terms are generated.
    """
    seen: set[tuple[int, ...]] = set()
    numbers = count()
    stack: list[Iterator[_Entry]] = [iter([((formula,), {}, frozenset())])]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        spend(1)
        certain, choices, taken = entry
        propagation = _Propagation(formulas, numbers, choices, taken, spend)
        if not propagation.add(certain):
            continue
        literals, choices = frozenset(propagation.literals), propagation.choices
        if is_excluded is not None and is_excluded(literals):
            continue
        if not choices:
            term = tuple(sorted(literals))
            if term not in seen:
                seen.add(term)
                yield term
            continue
        number = min(choices, key=lambda number: choices[number].n_options)
        stack.append(_branches(choices.pop(number), choices, literals))


def _branches(chosen: _Choice, others: dict[int, _Choice], literals: Literals) -> Iterator[_Entry]:
    """Yield what is left to search for each option of a choice."""
    return ((option, others, literals) for option in chosen.options())


class _Propagation:
    """Unit propagation: literals that hold, and the open choices, which have at least two options each."""

    def __init__(
        self,
        formulas: Formulas,
        numbers: Iterator[int],
        choices: dict[int, _Choice],
        literals: Literals,
        spend: Callable[[int], None],
    ) -> None:
        self._formulas, self._numbers = formulas, numbers
        self._spend = spend
        self.literals = set(literals)
        self.choices = dict(choices)
        # Formulas taken, and members of choices opened, that are not charged yet.
        self._n_taken = 0

    def add(self, certain: _Option) -> bool:
        """Take formulas that must hold, and all that follows from them; return False on a contradiction."""
        todo = list(certain)
        while todo:
            holds = self._take(todo)
            self._spend(self._n_taken // _MEMBERS)
            self._n_taken %= _MEMBERS
            if not holds:
                return False
            truths, n_visited = _Truths(self._formulas, self.literals), 0
            for number, choice in list(self.choices.items()):
                n_visited += len(choice.members)
                left = choice.left(truths.__getitem__)
                if left is not None and left.n_options > 1:
                    self.choices[number] = left
                    continue
                del self.choices[number]
                if left is not None:
                    option = next(left.options(), None)
                    if option is None:
                        return False
                    todo += option
            self._spend((n_visited + truths.n_visited) // _MEMBERS)
        return True

    def _take(self, todo: list[int]) -> bool:
        """Take formulas apart into literals and choices; return False on a contradiction."""
        formulas, literals = self._formulas, self.literals
        nodes, negation = formulas.nodes, formulas.negation
        while todo:
            top = todo.pop()
            self._n_taken += 1
            if top <= TRUE:
                if top == FALSE:
                    return False
                continue
            node = nodes[top]
            is_negated = node[0] == "!"
            inner = nodes[node[1]] if is_negated else node
            if inner[0] in ("&", "|"):
                members = map(negation, inner[1]) if is_negated else inner[1]
                if is_negated == (inner[0] == "|"):
                    todo += members
                else:
                    self._open(_AnyOf(_ranked(formulas, members)))
            elif inner[0] == "1":
                self._open(_OneOf(formulas, inner[1], is_negated))
            elif negation(top) in literals:
                return False
            else:
                literals.add(top)
        return True

    def _open(self, choice: _Choice) -> None:
        self._n_taken += len(choice.members)
        self.choices[next(self._numbers)] = choice


class _Truths(dict[int, int]):
    """The truth of formulas under literals: TRUE, FALSE, or -1 if undecided. Looks only one level deep.

    Attributes
    ----------
    n_visited : int
        Members of formulas that were looked at.
    """

    def __init__(self, formulas: Formulas, literals: set[int]) -> None:
        super().__init__({TRUE: TRUE, FALSE: FALSE})
        self.n_visited = 0
        self._formulas, self._literals = formulas, literals

    def __missing__(self, formula: int) -> int:
        nodes, negation, literals = self._formulas.nodes, self._formulas.negation, self._literals
        node = nodes[formula]
        is_negated = node[0] == "!"
        inner = nodes[node[1]] if is_negated else node
        if formula in literals:
            found = TRUE
        elif inner[0] in ("&", "|"):
            self.n_visited += len(inner[1])
            zero = FALSE if inner[0] == "&" else TRUE
            refuting = inner[1] if zero == TRUE else map(negation, inner[1])
            confirming = inner[1] if zero == FALSE else map(negation, inner[1])
            found = -1
            if not literals.isdisjoint(refuting):
                found = zero
            elif literals.issuperset(confirming):
                found = TRUE - zero
            if is_negated and found >= 0:
                found = TRUE - found
        else:
            found = FALSE if negation(formula) in literals else -1
        self[formula] = found
        return found


def _rank(formulas: Formulas, formula: int) -> int:
    node = formulas.nodes[formula]
    if node[0] == "!":
        return _RANKS.get(formulas.nodes[node[1]][0], (0, _COMPOSITE))[1]
    return _RANKS.get(node[0], (_COMPOSITE, 0))[0]


def _ranked(formulas: Formulas, members: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(members, key=lambda member: _rank(formulas, member)))
