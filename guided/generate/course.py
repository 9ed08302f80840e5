"""`Course`: what may be said from one result to the next, so that the whole text is one of its spec and ends within its budget.

A text is a sequence of *segments*: free text up to and including a call, or a list of calls; after it results are inserted. Which language
a segment has depends on how many came before:

- the first one may begin with reasoning; those after it may where reasoning has a beginning of its own;
- where calls are counted, none comes after the last that may, and none is missing at the end;
- where a text lasts *until* a tool is called, each segment ends with a call, and the last with that tool's.

Invariant: a segment leaves what those after it need at least (``reserve``), so that the budget is enough whatever is said.
"""

from dataclasses import dataclass

from guided.automata.automaton import Automaton
from guided.calls.modes import ended_by_calls
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.engine.specs import Spec, fingerprint_of
from guided.errors import IndexFormatError, SchemaError, shown
from guided.generate.model import LanguageModel
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex
from guided.limits import Limits

__all__ = ["Course", "Segment"]


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment.

    Attributes
    ----------
    spec : Tools
        What is read in it.
    index : Index
        Of its texts.
    reserve : int
        Tokens that the segments after it need at least.
    """

    spec: Tools
    index: Index
    reserve: int = 0

    @property
    def least(self) -> int:
        """Tokens that it needs at least."""
        return self.index.guide().remaining


class Course:
    """The segments of the texts of a spec.

    Parameters
    ----------
    model : LanguageModel
        Has the vocabulary.
    spec : Tools
        Of the whole text.
    has_segments : bool
        Are results inserted? Otherwise the whole text is one segment.
    index : Index, optional
        Of the spec or of its ``first_call()``, compiled before.
    until : str, optional
        The tool with whose call a text ends.
    limits : Limits, optional
        Budgets of the compiles.

    Attributes
    ----------
    index : Index
        Of the first segment.

    Raises
    ------
    SchemaError
        There is no tool ``until``.
    ValueError
        A text of this spec does not last until a call.
    LimitError, VocabularyError, IndexFormatError
        As `guided.tools`.
    """

    def __init__(
        self,
        model: LanguageModel,
        spec: Tools,
        has_segments: bool,
        index: Index | None = None,
        until: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        def made(changed: Tools, must_call: bool = False) -> Segment:
            return Segment(changed, compile(changed.first_call(must_call), model.vocabulary, limits))

        self._has_segments, self._until = has_segments, until
        self._fewest, self._most = spec.count.in_text(spec.format) if has_segments else (1, None)
        later = spec
        if has_segments and spec.reasoning is not None and not spec.reasoning[0].strip():
            later = spec.varied(reasoning=False)
        if until is not None:
            _check_until(spec, has_segments, until, index)
            self._calling = self._later_calling = made(spec, must_call=True)
            self._last = self._later_last = made(spec.varied(tools=_named(spec, until)), must_call=True)
            if later is not spec:
                self._later_calling = made(later, must_call=True)
                self._later_last = made(later.varied(tools=_named(spec, until)), must_call=True)
            self.index = self._calling.index
            return
        self.index = _index_of(spec, has_segments, model, index, limits)
        self._first = Segment(spec, self.index)
        self._later = self._first if later is spec else made(later)
        if self._fewest > 1:
            self._calling = made(later, must_call=True)
        if self._fewest > 1 or self._most is not None:
            self._silent = self._later_silent = made(spec.varied(tool_choice="none"))
            if later is not spec:
                self._later_silent = made(later.varied(tool_choice="none"))

    def segment(self, n_before: int, left: int) -> Segment:
        """The segment after so many, with so many tokens left."""
        if self._until is not None:
            calling, last = self._calling, self._last
            if n_before:
                calling, last = self._later_calling, self._later_last
            reserve = self._later_last.least
            has_room = left >= calling.least + reserve and (self._most is None or n_before + 1 < self._most)
            return Segment(calling.spec, calling.index, reserve) if has_room else last
        usual = self._later if n_before else self._first
        if self._most is not None and n_before >= self._most:
            return self._later_silent
        if self._fewest <= max(n_before, 1):
            return usual
        each = self._calling.least
        if n_before:
            return Segment(self._calling.spec, self._calling.index, (self._fewest - n_before - 1) * each)
        # Why silent: who begins to call has to go on, and there is no room for that.
        has_room = left >= self._fewest * each + usual.least
        return Segment(usual.spec, usual.index, (self._fewest - 1) * each) if has_room else self._silent

    def least(self, n_before: int) -> int:
        """How many tokens a text needs at least after so many segments."""
        if self._until is not None:
            return (self._later_last if n_before else self._last).least
        if self._fewest > 1 and n_before:
            return max(self._fewest - n_before, 0) * self._calling.least
        return (self._later if n_before else self._first).least


def _check_until(spec: Tools, has_segments: bool, until: str, index: Index | None) -> None:
    if until not in spec.layouts:
        raise SchemaError(f"there is no tool {shown(until)}; there are {', '.join(spec.layouts)}", "", "until")
    if not has_segments:
        raise ValueError("a text lasts until a call with tool_choice='auto', and where calls are run")
    if index is not None:
        raise ValueError("an index of the tools is no index of texts that last until a call")


def _named(spec: Tools, name: str) -> list[Tool]:
    return [tool for tool in spec.tools if tool.name == name]


@dataclass(frozen=True, slots=True)
class _Cut:
    """The spec of an index of running text, ended by calls: only its automaton is new, nothing is lowered again."""

    text: Index
    markers: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint_of("cut", self.text.spec_fingerprint)

    def lower(self, limits: Limits) -> Automaton:  # noqa: ARG002 - the protocol's signature
        tables = self.text.tables
        assert isinstance(tables, RegularIndex), "calls are of regular languages"
        return ended_by_calls(tables.automaton)


def _index_of(
    spec: Tools, has_segments: bool, model: LanguageModel, index: Index | None, limits: Limits | None
) -> Index:
    """The index of the first segment, or of the whole text where there are none."""
    needed: Spec = spec.first_call() if has_segments else spec
    if index is None:
        return compile(needed, model.vocabulary, limits)
    if not isinstance(index, Index):
        raise TypeError(f"index must be an Index, as guided.compile returns it, not {type(index).__name__}")
    if index.spec_fingerprint == needed.fingerprint:
        return index
    if index.spec_fingerprint == spec.fingerprint:
        index.check_vocabulary(model.vocabulary)
        # What an index with a stack is made of is made as texts need it, and so anew.
        cut = needed if isinstance(index.tables, PushdownIndex) else _Cut(index, spec.markers)
        return compile(cut, model.vocabulary, limits)
    raise IndexFormatError(
        f"the index was compiled from another spec ({index.spec_fingerprint[:12]}) than these tools in this format "
        f"({spec.fingerprint[:12]})"
    )
