"""Splits a schema into the values of its strings and the spellings of other values.

Formats that write strings differently from JSON need both parts, which are computed from formulas over the atoms of strings and numbers.
"""

from dataclasses import dataclass
from functools import lru_cache

from guided.calls.schema import SchemaType, options_in
from guided.limits import Limits
from guided.patterns.tree import Literal, Node, alternate
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.lowering import Lowering
from guided.schema.pushdown.structure import structure_of
from guided.schema.strings.notation import texts_of
from guided.schema.strings.trees import tree_of_strings
from guided.schema.values.context import SchemaContext

__all__ = ["Parts", "parts_of"]

_NESTED = frozenset(b"[{")
_ALL = bytes([1] * 256)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a type.

    Attributes
    ----------
    strings : Node or None
        Values of its strings.
    others : Node or None
        Spellings of values that are neither strings nor nested.
    nests : bool
        Whether a value may be an array or an object.
    """

    strings: Node | None
    others: Node | None
    nests: bool


@lru_cache(maxsize=4096)
def parts_of(kind: SchemaType) -> Parts:
    """Split a type into its parts."""
    formulas, options = Formulas(), options_in(None, kind.caps)
    lowering = Lowering(kind.document, options, formulas, Limits(), pointer=kind.pointer)
    context = SchemaContext(formulas, lowering, options, Limits(), structure_of(options, _ALL).alphabet)
    begins, others = kind.begins, list[Node](map(Literal, kind.words))
    if not set(b"-0123456789").isdisjoint(begins):
        number = context.typed(lowering.root, "number")
        others.append(texts_of(context.leaf("number", (number,)).automaton).tree)
    strings = tree_of_strings(formulas, context.typed(lowering.root, "string")) if ord('"') in begins else None
    return Parts(strings, alternate(others) if others else None, not _NESTED.isdisjoint(begins))
