"""`Segments`: the constraint of each segment of a text, so that the whole text is in the spec and fits its budget.

A text is a sequence of *segments*: free text up to and including a call or a list of calls, after which results are inserted. The language
of a segment depends on the number of segments before it:

- the first one may begin with reasoning; later ones may if reasoning has an opening delimiter;
- if calls are counted, no call follows the last allowed one, and the required number is reached at the end;
- if a text lasts *until* a tool is called, each segment ends with a call, and the last segment with a call of that tool.

Invariant: each segment leaves the minimum number of tokens that the following segments need (``reserve``), so the budget always suffices.
Near its end, a text may contain fewer calls, or only the last one; ``free`` is what it might contain otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from guided.calls.spec import Tools
from guided.engine.compile import compile  # noqa: A004 - the contract's name
from guided.engine.index import Index
from guided.errors import SchemaError, shown
from guided.generate.model import LanguageModel
from guided.generate.texts import index_of
from guided.limits import Limits

__all__ = ["Segment", "Segments"]


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment."""

    # The calls that the segment can contain.
    spec: Tools
    # Index of the segment's texts.
    index: Index
    # Minimum number of tokens the following segments need.
    reserve: int = 0
    # The segment that a larger budget would allow, of other calls.
    free: "Segment | None" = None

    @property
    def least(self) -> int:
        """Minimum number of tokens of the segment."""
        return self.index.guide().remaining


class Segments:
    """The segments of the texts of a spec.

    If results are not inserted (``has_segments``), the whole text is one segment. ``index``: of the spec or of its ``first_call()``;
    then of the first segment. ``until``: the tool whose call ends a text.

    Raises
    ------
    SchemaError
        Unknown tool `until`.
    ValueError
        `until` does not apply to texts of this spec.
    LimitError, VocabularyError, IndexFormatError
        As in `guided.tools`.
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

        def both(change: Callable[[Tools], Tools], must_call: bool = False) -> tuple[Segment, Segment]:
            """Return the segment of a changed spec before all others, and later."""
            first = made(change(spec), must_call)
            return first, first if later is spec else made(change(later), must_call)

        self._has_segments, self._until = has_segments, until
        self._fewest, self._most = spec.count.in_text(spec.format) if has_segments else (1, None)
        later = spec
        if has_segments and spec.reasoning is not None and not spec.reasoning[0].strip():
            later = spec.with_options(reasoning=False)
        if until is not None:
            if until not in spec.argument_lists:
                known = ", ".join(spec.argument_lists)
                raise SchemaError(f"unknown tool {shown(until)}; known tools are {known}", "", "until")
            if not has_segments:
                raise ValueError(
                    "until= needs tool_choice='auto', calls that are run, and texts that continue after a call, not a first_call()"
                )
            if index is not None:
                raise ValueError("until= needs indices of its own, of texts that end with a call: leave index= out")
            named = [tool for tool in spec.tools if tool.name == until]
            self._first_calling = both(lambda one: one, must_call=True)
            self._last = both(lambda one: one.with_options(tools=named), must_call=True)
            self.index = self._first_calling[0].index
            return
        needed = spec.first_call() if has_segments else spec
        if isinstance(index, Index) and index.spec_fingerprint == spec.fingerprint != needed.fingerprint:
            # Texts of the index continue after a call, and those of a segment end there.
            index.check_vocabulary(model.vocabulary)
            index = None
        # Of the first segment, or of the whole text if there are no segments.
        self.index = index_of(needed, model, index, limits)
        first = Segment(spec, self.index)
        self._usual = first, first if later is spec else made(later)
        if self._fewest > 1:
            self._calling = made(later, must_call=True)
        if self._fewest > 1 or self._most is not None:
            self._silent = both(lambda one: one.with_options(tool_choice="none"))

    def segment(self, n_before: int, left: int) -> Segment:
        """Return the segment after `n_before` segments, with `left` tokens of budget."""
        if self._until is not None:
            calling, last = self._first_calling[n_before > 0], self._last[n_before > 0]
            reserve = self._last[1].least
            if self._most is not None and n_before + 1 >= self._most:
                return last
            has_room = left >= calling.least + reserve
            return replace(calling, reserve=reserve) if has_room else replace(last, free=calling)
        usual = self._usual[n_before > 0]
        if self._most is not None and n_before >= self._most:
            return self._silent[1]
        if self._fewest <= max(n_before, 1):
            return usual
        each = self._calling.least
        if n_before:
            return replace(self._calling, reserve=(self._fewest - n_before - 1) * each)
        # Why silent: once a call begins, the required number must follow, and they do not fit.
        has_room = left >= self._fewest * each + usual.least
        return replace(usual, reserve=(self._fewest - 1) * each) if has_room else replace(self._silent[0], free=usual)

    def least(self, n_before: int) -> int:
        """Return the minimum number of tokens that a text needs after `n_before` segments."""
        if self._until is not None:
            return self._last[n_before > 0].least
        if self._fewest > 1 and n_before:
            return max(self._fewest - n_before, 0) * self._calling.least
        return self._usual[n_before > 0].least
