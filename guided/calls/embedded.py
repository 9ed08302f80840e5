"""The schema values of a spec: in the tree of a call each is a `guided.patterns.tree.Call` with its number."""

from dataclasses import replace

from guided.automata.calls import CallAutomaton
from guided.calls.schema import SchemaType
from guided.errors import SchemaError
from guided.patterns.tree import Call, Node
from guided.schema.frontend.location import pointer_to
from guided.schema.pushdown.frames import Frame, Value

__all__ = ["EmbeddedValues"]


class EmbeddedValues:
    """The schema values of one spec, numbered in order of first use.

    Parameters
    ----------
    has_texts : bool
        Whether values in a notation are part of the tree instead of calls.
    tool : str
        The tool whose arguments come next.
    """

    def __init__(self, has_texts: bool = False, tool: str = "") -> None:
        self._has_texts = has_texts
        self.tool = tool
        self._places: dict[tuple[SchemaType, bytes], str] = {}
        self._numbers: dict[tuple[SchemaType, bytes], int] = {}

    def call(self, kind: SchemaType, begins: bytes = b"", label: str = "") -> Node:
        """Return the node of a value of a type that begins with one of the given bytes; without bytes, of any value.

        ``label``: the argument, if the value is not all of them.
        """
        place = pointer_to(self.tool, label) if label else pointer_to(self.tool)
        if self._has_texts and kind.arguments is not None:
            raise SchemaError("no grammar is made of keywords about several arguments", place, "engine")
        if self._has_texts and (kind.is_python or (kind.notation is not None and kind.notation.part != "others")):
            return kind.texts(place)
        self._places.setdefault((kind, begins), place)
        return Call(self._numbers.setdefault((kind, begins), len(self._numbers)))

    @property
    def values(self) -> tuple[Value, ...]:
        """The values in order of their numbers."""
        return tuple(
            replace(kind.value, begins=begins or kind.value.begins, place=self._places[kind, begins])
            for kind, begins in self._numbers
        )

    def frame(self, automaton: CallAutomaton) -> Frame:
        """Return an automaton that calls these values as a frame around them."""
        return Frame(automaton.automaton, automaton.calls, self.values)
