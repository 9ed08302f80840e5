"""Arrangement of calls: alone, several, or in a list, with their delimiters; as a tree, and as triggers to search for.

`Count` is the allowed number of calls. `tree_of_calls` is the tree after the trigger in running text, or of the whole text if it consists
of calls only; the parser reads it in the same order.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guided.calls.formats.format import Format
from guided.calls.formats.texts import any_of, part, written
from guided.calls.triggers import Trigger
from guided.errors import ArgumentError, SchemaError, shown
from guided.patterns.tree import Literal, Node, alternate, concat, repeat

__all__ = ["Count", "opening", "tree_of_calls", "triggers_of"]


@dataclass(frozen=True, slots=True)
class Count:
    """The allowed number of calls.

    Attributes
    ----------
    fewest : int
        Minimum, at least 1.
    most : int or None
        Maximum; None: unbounded.
    is_counted : bool
        Whether the limits also count the calls in running text. Otherwise they apply to calls that belong together.
    """

    fewest: int = 1
    most: int | None = 1
    is_counted: bool = False

    @classmethod
    def of(cls, item: Any, form: Format) -> "Count":
        """Convert ``parallel_tool_calls`` to a count.

        Parameters
        ----------
        item : bool, or pair of int
            False: one call; True: any number, at least one; a pair: minimum and maximum, with None for no maximum.

        Raises
        ------
        SchemaError
            The format supports one call at a time only.
        """
        if isinstance(item, bool):
            count = cls(1, None) if item else cls()
        else:
            match item:
                case (int() as fewest, (int() | None) as most) if not isinstance(fewest, bool):
                    count = cls(fewest, most, is_counted=True)
                case _:
                    raise TypeError(f"parallel_tool_calls must be a bool or a pair of integers, not {shown(item)}")
            if fewest < 1 or (most is not None and most < fewest):
                raise ArgumentError(
                    "parallel_tool_calls", f"must be (min, max) with 1 <= min <= max, not {shown(item)}"
                )
        if form.several is None and count.most != 1:
            reason = f"format {form.name!r} allows one call at a time"
            raise SchemaError(reason, "", "parallel_tool_calls")
        return count

    def in_text(self, form: Format) -> tuple[int, int | None]:
        """The minimum and maximum number of calls, or lists of calls, in running text that has any."""
        if not self.is_counted:
            return 1, None
        return (1, 1) if form.is_listed else (self.fewest, self.most)


@lru_cache(maxsize=256)
def opening(form: Format) -> Node:
    """All beginnings of a call or a list of calls at the start of a text."""
    triggers = [text.lstrip("\n") for text in form.first_triggers or form.texts("trigger")]
    return alternate(concat([Literal(text.rstrip(" \n")), _blanks(text)]) for text in triggers)


def triggers_of(form: Format, names: Iterable[str]) -> list[Trigger]:
    """The triggers that begin a call in running text."""
    own = [b""]
    if form.by_name:
        before = written((form.around[0] if form.is_listed else "") + form.before_name)
        own = [(before + name + written(form.after_name)[0]).encode() for name in names]
    first = sorted(set(form.first_triggers) - set(form.texts("trigger")))
    return [
        Trigger(text.rstrip(" \n").encode() + call, len(call), is_first)
        for is_first, texts in ((False, form.texts("trigger")), (True, first))
        for text in texts
        for call in own
    ]


def tree_of_calls(call: Node, form: Format, count: Count, is_running: bool) -> Node:
    """The tree after the trigger, or of the whole text if it consists of calls only."""
    before, between, after = map(part, form.around)
    end = any_of(form.texts("terminator"))
    if form.is_listed:
        listed = concat([before, _several(call, between, count), after])
        return concat([_blanks(form.trigger) if is_running else opening(form), listed, end])
    if is_running:
        return concat([_blanks(form.trigger), call, end])
    if form.is_tagged:
        return _several(concat([opening(form), call, end]), between, count)
    several = concat([before, _several(call, between, count), after])
    if count.most == 1:
        return call
    return alternate([call, several]) if count.fewest == 1 else several


def _several(call: Node, between: Node, count: Count) -> Node:
    if count.most == 1:
        return call
    most = None if count.most is None else count.most - 1
    return concat([call, repeat(concat([between, call]), count.fewest - 1, most)])


def _blanks(trigger: str) -> Node:
    """The blanks at the end of a trigger, each optional."""
    return part(trigger[len(trigger.rstrip(" \n")) :])
