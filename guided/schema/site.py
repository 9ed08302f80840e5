"""The schema that is being lowered, as its keywords see it, and the formulas they have put down so far.

A handler of a keyword is a function ``(site, value)``: it appends a formula of the value to ``site.values``, or a formula over the atoms
of one type to that type's list. `Lowering` makes the site, calls the handlers in the order of the schema's text, and puts the lists
together. A location is a linked list, ``(location of the schema around, *tokens)``, spelled out as a pointer only when someone asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from guided.errors import SchemaError, shown
from guided.schema.formula import TRUE, Formulas

if TYPE_CHECKING:
    from guided.schema.lowering import Lowering
    from guided.schema.resources import Context

__all__ = ["Location", "Site", "loop", "pointer_of", "typed"]

Location: TypeAlias = tuple[Any, ...]


class Site:
    """One schema in the course of being lowered.

    Attributes
    ----------
    lowering : Lowering
    schema : dict
    context : Context
        Which resource and dialect it belongs to.
    location : Location
    depth : int
        Schemas around it that are about the same value.
    values, numbers, strings, arrays, objects : list of int
        Formulas of the value, and formulas over the atoms of one type.
    types : frozenset of str, optional
        The types that ``type`` leaves; None: all.
    """

    __slots__ = (
        "arrays",
        "context",
        "depth",
        "location",
        "lowering",
        "numbers",
        "objects",
        "schema",
        "strings",
        "types",
        "values",
    )

    def __init__(
        self, lowering: Lowering, schema: dict[str, Any], context: Context, location: Location, depth: int
    ) -> None:
        self.lowering = lowering
        self.schema = schema
        self.context = context
        self.location = location
        self.depth = depth
        self.values: list[int] = []
        self.numbers: list[int] = []
        self.strings: list[int] = []
        self.arrays: list[int] = []
        self.objects: list[int] = []
        self.types: frozenset[str] | None = None

    @property
    def formulas(self) -> Formulas:
        """The table that ids refer to."""
        return self.lowering.formulas

    def atom(self, *node: Any) -> int:
        """The formula that is this atom."""
        return self.lowering.formulas.atom(node)

    def noted(self, *node: Any) -> int:
        """The same, for an atom that may be refused later, when it is known what else holds: here it is first met."""
        formula = self.lowering.formulas.atom(node)
        self.lowering.origins.setdefault(formula, self.location)
        return formula

    def below(self, schema: Any, *tokens: str | int) -> int:
        """The formula of a subschema that is about a part of the value; lowered later, unless that is quickly done."""
        return self.lowering.below(schema, self.context, (self.location, *tokens))

    def inside(self, schema: Any, *tokens: str | int) -> int:
        """The formula of a subschema that is about the same value."""
        return self.lowering.inside(schema, self.context, (self.location, *tokens), self.depth + 1)

    def tested(self, schema: Any, *tokens: str | int) -> int:
        """The same for a schema that does not describe the value, such as that of ``not``: objects in it are not closed."""
        context = self.lowering.references.opened(self.context)
        return self.lowering.inside(schema, context, (self.location, *tokens), self.depth + 1)

    def wrong(self, keyword: str, expected: str) -> SchemaError:
        """The error that says what a malformed keyword should have been."""
        return SchemaError(f"{expected}, not {shown(self.schema.get(keyword))}", pointer_of(self.location), keyword)

    def unenforced(self, keyword: str, reason: str) -> None:
        """Refuse a keyword that cannot be enforced, or record it, as the options say.

        Raises
        ------
        SchemaError
            The options do not ask to record it.
        """
        self.lowering.refuse(reason, self.location, keyword)


def pointer_of(location: Location) -> str:
    """The JSON Pointer of a location; of another document than the schema itself, after its URI and ``#``."""
    tokens: list[str] = []
    while len(location) > 1:
        tokens.extend(str(token).replace("~", "~0").replace("/", "~1") for token in reversed(location[1:]))
        location = location[0]
    document = location[0] if location else ""
    return (f"{document}#" if document else "") + "".join(f"/{token}" for token in reversed(tokens))


def typed(formulas: Formulas, name: str, members: list[int]) -> int:
    """If the value is of this type (number, string, array or object), then all these formulas hold of it."""
    formula = members[0] if len(members) == 1 else formulas.conjunction(members)
    if formula > TRUE:
        return formulas.atom((name, formula))
    return TRUE if formula else formulas.negation(formulas.atom(("type", name)))


def loop(location: Location) -> SchemaError:
    """The error of a schema that says of a value only that the same schema holds of it."""
    return SchemaError("the schema refers to itself about the same value", pointer_of(location), "$ref")
