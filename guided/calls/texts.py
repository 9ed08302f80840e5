"""The text around calls, as one tree or one automaton."""

from collections.abc import Iterable
from dataclasses import dataclass

from guided.automata.calls import CallAutomaton
from guided.calls.formats.format import Format
from guided.calls.formats.texts import BLANKS, any_of, final_blanks, part
from guided.calls.groups import Count, opening, several_of, triggers_of
from guided.calls.modes import calls_only, reasoning_before, running_text, with_calls
from guided.encoding import fingerprint_of
from guided.limits import Limits
from guided.patterns.tree import Node, alternate, concat

__all__ = ["Texts"]


@dataclass(frozen=True, slots=True)
class Texts:
    """Describes the text around calls.

    Attributes
    ----------
    form : Format
    is_running : bool
        Whether calls are within running text. Otherwise the text consists of calls only.
    count : Count
    reasoning : tuple of (str, str) or None
        Opening and closing delimiters of reasoning before the text.
    continues : bool
        Whether running text continues after a call.
    must_call : bool
        Whether every text has a call; used if the text does not continue after one.
    """

    form: Format
    is_running: bool
    count: Count
    reasoning: tuple[str, str] | None = None
    continues: bool = True
    must_call: bool = False

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that may be special tokens of a vocabulary: those that open and close a call, and others of the format."""
        form = self.form
        found = form.markers or (form.start, form.terminator.strip())
        thought = tuple(text.strip() for text in self.reasoning or ())
        return (*(found if self.is_running or form.is_tagged or form.is_listed else form.markers), *thought)

    def fingerprint(self, found: str) -> str:
        """Return the fingerprint of a spec with these texts; ``found``: that of the same one whose texts continue."""
        return found if self.continues else fingerprint_of("next call" if self.must_call else "first call", found)

    def tree(self, call: Node) -> Node:
        """The pattern tree after the trigger, or of the whole text if it consists of calls only."""
        form, count = self.form, self.count
        before, between, after = map(part, form.around)
        end, blanks = any_of(form.texts("terminator")), part(final_blanks(form.trigger))
        if form.is_listed:
            listed = concat([before, several_of(call, between, count), after])
            return concat([blanks if self.is_running else opening(form), listed, end])
        if self.is_running:
            return concat([blanks, call, end])
        if form.is_tagged:
            return several_of(concat([opening(form), call, end]), between, count)
        if count.most == 1:
            return call
        several = concat([before, several_of(call, between, count), after])
        return alternate([call, several]) if count.fewest == 1 else several

    def automaton(self, call: Node | None, names: Iterable[str], limits: Limits) -> CallAutomaton:
        """Build the labeled automaton of the texts.

        Parameters
        ----------
        call : Node or None
            None if no call is possible.
        names : iterable of str
            Tool names, for formats in which the name begins a call.

        Raises
        ------
        LimitError
            A budget is exceeded.
        """
        calls = None if call is None else CallAutomaton.from_tree(self.tree(call), limits)
        if self.is_running:
            triggers = triggers_of(self.form, names)
            found = running_text(triggers, calls, limits, self.continues, *self.count.in_text(self.form))
            found = with_calls(found) if self.must_call else found
        else:
            assert calls is not None, "a text of calls only has a call"
            found = calls_only(calls)
        if self.reasoning is None:
            return found
        begin, end = (text.strip(BLANKS).encode() for text in self.reasoning)
        blanks = b"" if self.is_running else final_blanks(self.reasoning[1]).encode()
        return reasoning_before(begin, end, blanks, found)
