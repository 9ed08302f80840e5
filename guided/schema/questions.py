"""Boolean questions that depend on each other, answered by their least fixpoint: yes only where a finite chain of reasons says so.

A question that is asked again while it is open counts as no. A yes is final: reasons are never against anything. A no rests on those
open questions that it counted as no. It is kept as long as all of them are open; when the last of them ends with no as well, it is
final, and when one of them ends with yes, it is forgotten. So in a recursive schema nothing is searched twice for want of a memo.

Python's stack stays bounded however deep questions lead to questions. Where a dozen searches have called each other, `ask` raises
`_Deferred`, which unwinds to the outermost call. That call opens the deferred question, answers it from a shallow stack, and then searches
the interrupted questions again, innermost first; they stay open meanwhile, so answers mean the same as in a recursive search.

Complexity: a look-up for each question, and for each no that rests on open ones a set of them. A question is searched once more for each
of the questions it asks that was deferred, or led to a deferred one.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

__all__ = ["Questions"]

# Each search takes some ten frames of Python, and callers (web frameworks, say) may have used hundreds of the thousand that there are.
_NESTED = 12


class _Open(NamedTuple):
    """An open question: how it is searched, and the open questions that its search counted as no."""

    search: Callable[[], bool]
    rests_on: set[Hashable]


class _Deferred(BaseException):
    """A question that is too deep on Python's stack to be searched. Not an error: only `Questions.ask` raises and catches it."""

    def __init__(self, question: Hashable, search: Callable[[], bool]) -> None:
        super().__init__()
        self.question, self.search = question, search


class Questions:
    """The answers so far, and the questions that are open.

    Searches must be repeatable: one that led to a deferred question is run again. One that ends by an error leaves nothing that rests on
    what was open.

    Parameters
    ----------
    spend : callable
        Told how many steps a search takes; ends it by an error where they are too many.
    most_nested : int
        Searches that may call each other before a question is deferred.
    """

    __slots__ = ("_known", "_most_nested", "_nested", "_open", "_resting", "_tentative", "spend")

    def __init__(self, spend: Callable[[int], None], most_nested: int = _NESTED) -> None:
        self.spend = spend
        self._most_nested = most_nested
        # Searches that are running, each called by the one before it.
        self._nested = 0
        self._known: dict[Hashable, bool] = {}
        # In the order in which they were opened.
        self._open: dict[Hashable, _Open] = {}
        self._tentative: dict[Hashable, set[Hashable]] = {}
        # Of an open question: tentative ones that rest on it.
        self._resting: dict[Hashable, set[Hashable]] = {}

    @property
    def is_open(self) -> bool:
        """Is a question open? Then what is found out may rest on it."""
        return bool(self._open)

    @property
    def is_certain(self) -> bool:
        """Has the search of the last open question counted no open question as no, so far?"""
        return not self._open or not next(reversed(self._open.values())).rests_on

    def known(self, question: Hashable) -> bool | None:
        """The answer where it is final."""
        return self._known.get(question)

    def ask(self, question: Hashable, search: Callable[[], bool]) -> bool:
        """The answer; by ``search``, which may ask others, where it is not known.

        Raises
        ------
        LimitError
            There are too many steps.
        """
        found = self._known.get(question)
        if found is not None:
            return found
        if question in self._open:
            self._counted({question})
            return False
        rests_on = self._tentative.get(question)
        if rests_on is not None:
            self._counted(rests_on)
            return False
        if self._nested >= self._most_nested:
            raise _Deferred(question, search)
        is_outermost = not self._open
        self._open[question] = _Open(search, set())
        return self._settle() if is_outermost else self._search(question)

    def _settle(self) -> bool:
        """Search the innermost open question until none is open; the answer to the last, which is the outermost."""
        answer = False
        try:
            while self._open:
                try:
                    answer = self._search(next(reversed(self._open)))
                except _Deferred as deferred:
                    self._open[deferred.question] = _Open(deferred.search, set())
        except BaseException:
            self._open.clear()
            self._tentative.clear()
            self._resting.clear()
            raise
        return answer

    def _search(self, question: Hashable) -> bool:
        """Search the innermost open question, and close it."""
        search, rests_on = self._open[question]
        # Why: what an interrupted search counted, this one counts again.
        rests_on.clear()
        self._nested += 1
        try:
            answer = search()
        finally:
            self._nested -= 1
        del self._open[question]
        rests_on.discard(question)
        # Why: among many open questions the sets of what rests on what cost more than the searches.
        self.spend(len(rests_on) * len(self._resting.get(question, ())) // 256)
        self._close(question, answer, rests_on)
        return answer

    def _counted(self, questions: set[Hashable]) -> None:
        next(reversed(self._open.values())).rests_on.update(questions)

    def _close(self, question: Hashable, answer: bool, rests_on: set[Hashable]) -> None:
        resting = self._resting.pop(question, set())
        if answer:
            self._known[question] = True
            for one in resting:
                for other in self._tentative.pop(one):
                    if other != question:
                        self._resting[other].discard(one)
            return
        for one in (question, *resting):
            held = self._tentative.pop(one, set())
            held.discard(question)
            held |= rests_on
            if not held:
                self._known[one] = False
                continue
            self._tentative[one] = held
            for other in held:
                self._resting.setdefault(other, set()).add(one)
        if rests_on:
            self._counted(rests_on)
