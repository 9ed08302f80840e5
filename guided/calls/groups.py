"""Arrangement of calls: alone, several, or in a list, with their delimiters; as a tree, and as triggers to search for.

`Count` is the allowed number of calls. The parser reads calls in the order of their tree (`guided.calls.texts`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guided.calls.formats.format import Format
from guided.calls.formats.texts import final_blanks, part, written
from guided.calls.triggers import Trigger
from guided.errors import ArgumentError, SchemaError, shown
from guided.patterns.tree import Literal, Node, alternate, concat, repeat

__all__ = ["Count", "opening", "several_of", "triggers_of"]


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
    return alternate(concat([Literal(text.rstrip(" \n")), part(final_blanks(text))]) for text in triggers)


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


def several_of(call: Node, between: Node, count: Count) -> Node:
    """The tree of as many calls as are allowed, with a text between them."""
    if count.most == 1:
        return call
    most = None if count.most is None else count.most - 1
    return concat([call, repeat(concat([between, call]), count.fewest - 1, most)])
