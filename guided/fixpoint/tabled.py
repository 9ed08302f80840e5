"""`TabledFixpoint`: least fixpoints of booleans on demand. A goal is true only if a finite derivation proves it.

A goal is evaluated by a search that may ask other goals. A goal asked again while its search runs (an *open* goal) counts as false. True is
definitive, since derivations are monotone. False depends on the open goals that its search counted as false. A tentative false stays
tabled while these goals are open. It becomes definitive when the last of them ends as false, and is dropped when one of them ends
as true. So a recursive schema does not repeat searches whose results are still valid.

Python's stack stays bounded at any depth of goals. When a dozen searches are nested, `ask` raises `_Deferred`, which unwinds to the
outermost call. That call opens the deferred goal, evaluates it from a shallow stack, and then searches the interrupted goals again,
innermost first. They stay open meanwhile, so answers mean the same as in a recursive search.

Complexity: one look-up for each goal, and a set of open goals for each tentative false. A goal is searched once more for each goal it asks
that was deferred or led to a deferred one.
Ref: Chen and Warren, "Tabled evaluation with delaying for general logic programs" (1996).
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

__all__ = ["TabledFixpoint"]

# Each search takes about ten Python frames, and callers such as web frameworks may already use hundreds of the thousand available.
_NESTED = 12


class _Open(NamedTuple):
    """An open goal: its search, and the open goals that the search counted as false."""

    search: Callable[[], bool]
    depends_on: set[Hashable]


class _Deferred(BaseException):
    """A goal that would be searched too deep on Python's stack. Not an error: only `TabledFixpoint` raises and catches it."""

    def __init__(self, goal: Hashable, search: Callable[[], bool]) -> None:
        super().__init__()
        self.goal, self.search = goal, search


class TabledFixpoint:
    """The table of goals and their values, and the open goals.

    Searches must be repeatable: a search that led to a deferred goal runs again. If a search raises an error, all open goals and all
    tentative values are dropped.

    Parameters
    ----------
    spend : callable
        Charges the steps of a search; raises an error when the budget is exceeded.
    most_nested : int
        Number of nested searches from which a further goal is deferred.

    Attributes
    ----------
    known : dict of hashable to bool
        The definitive values; the caller may enter those of goals that ask no others.
    """

    __slots__ = ("_dependents", "_most_nested", "_nested", "_open", "_tentative", "known", "spend")

    def __init__(self, spend: Callable[[int], None], most_nested: int = _NESTED) -> None:
        self.spend = spend
        self._most_nested = most_nested
        # Number of running searches, each called by the one before it.
        self._nested = 0
        self.known: dict[Hashable, bool] = {}
        # In opening order.
        self._open: dict[Hashable, _Open] = {}
        self._tentative: dict[Hashable, set[Hashable]] = {}
        # By open goal: the tentative goals that depend on it.
        self._dependents: dict[Hashable, set[Hashable]] = {}

    @property
    def is_open(self) -> bool:
        """Whether a goal is open, so that results computed now may be tentative."""
        return bool(self._open)

    @property
    def is_definitive(self) -> bool:
        """Whether the innermost search has so far not counted any open goal as false."""
        return not self._open or not next(reversed(self._open.values())).depends_on

    def ask(self, goal: Hashable, search: Callable[[], bool]) -> bool:
        """Return the value of a goal: from the table, or by ``search``, which may ask other goals.

        Raises
        ------
        LimitError
            The step budget is exceeded.
        """
        found = self.known.get(goal)
        if found is not None:
            return found
        if goal in self._open:
            self._counted({goal})
            return False
        depends_on = self._tentative.get(goal)
        if depends_on is not None:
            self._counted(depends_on)
            return False
        if self._nested >= self._most_nested:
            raise _Deferred(goal, search)
        is_outermost = not self._open
        self._open[goal] = _Open(search, set())
        return self._settle() if is_outermost else self._search(goal)

    def _settle(self) -> bool:
        """Search the innermost open goal until none is open; return the value of the outermost."""
        answer = False
        try:
            while self._open:
                try:
                    answer = self._search(next(reversed(self._open)))
                except _Deferred as deferred:
                    self._open[deferred.goal] = _Open(deferred.search, set())
        except BaseException:
            self._open.clear()
            self._tentative.clear()
            self._dependents.clear()
            raise
        return answer

    def _search(self, goal: Hashable) -> bool:
        """Search the innermost open goal, close it and return its value."""
        search, depends_on = self._open[goal]
        # Why: an interrupted search is repeated and collects its dependencies again.
        depends_on.clear()
        self._nested += 1
        try:
            answer = search()
        finally:
            self._nested -= 1
        del self._open[goal]
        depends_on.discard(goal)
        if depends_on:
            # Why: with many open goals, the dependency sets cost more than the searches.
            self.spend(len(depends_on) * len(self._dependents.get(goal, ())) // 256)
        self._close(goal, answer, depends_on)
        return answer

    def _counted(self, goals: set[Hashable]) -> None:
        next(reversed(self._open.values())).depends_on.update(goals)

    def _close(self, goal: Hashable, answer: bool, depends_on: set[Hashable]) -> None:
        dependents = self._dependents.pop(goal, set())
        if answer:
            self.known[goal] = True
            for one in dependents:
                for other in self._tentative.pop(one):
                    if other != goal:
                        self._dependents[other].discard(one)
            return
        for one in (goal, *dependents):
            held = self._tentative.pop(one, set())
            held.discard(goal)
            held |= depends_on
            if not held:
                self.known[one] = False
                continue
            self._tentative[one] = held
            for other in held:
                self._dependents.setdefault(other, set()).add(one)
        if depends_on:
            self._counted(depends_on)
