"""The text around calls: one tree, one automaton, whatever stands where a call does."""

from collections.abc import Iterable
from dataclasses import dataclass

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.formats.format import Format
from guided.calls.formats.texts import BLANKS
from guided.calls.groups import Count, tree_of_calls, triggers_of
from guided.calls.modes import calls_only, reasoning_before, running_text, with_calls
from guided.limits import Limits
from guided.patterns.tree import Node

__all__ = ["Texts"]


@dataclass(frozen=True, slots=True)
class Texts:
    """What is said besides calls.

    Attributes
    ----------
    form : Format
    is_running : bool
        Are calls within running text? Else there is nothing but calls.
    count : Count
    reasoning : tuple of (str, str) or None
        What begins and ends reasoning before all that.
    goes_on : bool
        Does running text go on after a call?
    must_call : bool
        Where it does not: does each text have a call?
    """

    form: Format
    is_running: bool
    count: Count
    reasoning: tuple[str, str] | None = None
    goes_on: bool = True
    must_call: bool = False

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens of a vocabulary: what begins and what ends a call, and what else a format has of them."""
        form = self.form
        found = form.markers or (form.start, form.terminator.strip())
        thought = tuple(text.strip() for text in self.reasoning or ())
        return (*(found if self.is_running or form.is_tagged or form.is_listed else form.markers), *thought)

    def tree(self, call: Node) -> Node:
        """The tree of what follows the trigger, or of the whole text where nothing but calls is said."""
        return tree_of_calls(call, self.form, self.count, self.is_running)

    def automaton(self, call: Node | None, names: Iterable[str], limits: Limits) -> Automaton:
        """The automaton of the texts, its states labelled.

        Parameters
        ----------
        call : Node or None
            None: there is no call.
        names : iterable of str
            Of the tools, for formats that know calls by their names.

        Raises
        ------
        LimitError
            A budget is passed.
        """
        calls = None if call is None else from_tree(self.tree(call), limits)
        if self.is_running:
            triggers = triggers_of(self.form, names)
            found = running_text(triggers, calls, limits, self.goes_on, *self.count.in_text(self.form))
            found = with_calls(found) if self.must_call else found
        else:
            assert calls is not None, "where nothing but calls is said, there is one"
            found = calls_only(calls)
        if self.reasoning is None:
            return found
        begin, end = (text.strip(BLANKS).encode() for text in self.reasoning)
        blanks = b"" if self.is_running else self.reasoning[1][len(self.reasoning[1].rstrip(BLANKS)) :].encode()
        return reasoning_before(begin, end, blanks, found)
