"""The schema being lowered, as keyword handlers see it, with the formulas they have produced so far.

A keyword handler is a function ``(site, value)``. It appends a formula of the value to ``site.values``, or a formula over the atoms of
one type to that type's list. `Lowering` makes the site, calls the handlers in the order of the schema's text, and combines the lists.
The protocols `Lowering` and `References` declare what handlers may use of them.
"""

from typing import Any, Protocol

from guided.automata.steps import Steps
from guided.errors import SchemaError, shown
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.resources import Context, Target

__all__ = ["Lowering", "References", "Site"]


class References(Protocol):
    """Resolves references and tracks the context of schemas."""

    def opened(self, context: Context) -> Context:
        """Return the context for a schema that only tests the value: no option narrows it."""

    def entered(self, schema: Any, context: Context, location: Location) -> Context:
        """Return the context within a schema."""

    def resolve(self, keyword: str, reference: str, context: Context, location: Location) -> Target:
        """Return the target of a reference."""


class Lowering(Protocol):
    """One schema and its formulas (`guided.schema.frontend.lowering`)."""

    formulas: Formulas
    limits: Limits
    options: JsonOptions
    nested: int
    pattern_steps: Steps
    sequence: dict[int, int]
    origins: dict[int, Location]
    unknown_formats: dict[str, None]
    constants: dict[int, tuple[Any, int]]
    types: dict[tuple[str, int], tuple[int, frozenset[str]]]

    @property
    def places(self) -> int:
        """The places before and after the point in which numbers of a text are compared."""

    @property
    def references(self) -> References:
        """The references of the schema."""

    def below(self, schema: Any, context: Context, location: Location) -> int:
        """Return the formula of a subschema about a part of the value."""

    def inside(self, schema: Any, context: Context, location: Location, depth: int) -> int:
        """Return the formula of a subschema about the same value."""

    def referred(self, keyword: str, reference: str, context: Context, location: Location, depth: int) -> int:
        """Return the formula of a reference's target."""

    def constant_later(self, value: Any, location: Location) -> int:
        """Return the formula of one value, lowered on demand."""

    def strings(self, texts: list[str], location: Location) -> int:
        """Return the atom of listed strings."""

    def note_cap(self, name: str, location: Location) -> None:
        """Record that a cap bounds the values of a schema."""

    def refuse(self, reason: str, location: Location, keyword: str) -> None:
        """Reject a keyword that cannot be enforced, or record it."""


class Site:
    """One schema being lowered.

    Attributes
    ----------
    lowering : Lowering
    formulas : Formulas
        The table that formula ids refer to.
    schema : dict
    context : Context
        Its resource and dialect.
    location : Location
    depth : int
        Number of enclosing schemas about the same value.
    values, numbers, strings, arrays, objects : list of int
        Formulas of the value, and formulas over the atoms of one type.
    types : frozenset of str, optional
        The types that ``type`` allows; None: all.
    """

    def __init__(
        self, lowering: Lowering, schema: dict[str, Any], context: Context, location: Location, depth: int
    ) -> None:
        self.lowering, self.formulas = lowering, lowering.formulas
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

    def noted(self, *node: Any) -> int:
        """Return the formula of an atom, and record its location for an error that can only be found later."""
        formula = self.formulas.atom(node)
        self.lowering.origins.setdefault(formula, self.location)
        return formula

    def below(self, schema: Any, *tokens: str | int) -> int:
        """Return the formula of a subschema about a part of the value; deferred unless quick to lower."""
        return self.lowering.below(schema, self.context, (self.location, *tokens))

    def inside(self, schema: Any, *tokens: str | int) -> int:
        """Return the formula of a subschema about the same value."""
        return self.lowering.inside(schema, self.context, (self.location, *tokens), self.depth + 1)

    def tested(self, schema: Any, *tokens: str | int) -> int:
        """Return the same for a schema that only tests the value, such as that of ``not``: no option narrows it."""
        context = self.lowering.references.opened(self.context)
        return self.lowering.inside(schema, context, (self.location, *tokens), self.depth + 1)

    def wrong(self, keyword: str, expected: str) -> SchemaError:
        """Return the error of a malformed keyword."""
        return SchemaError(f"{expected}, not {shown(self.schema.get(keyword))}", pointer_of(self.location), keyword)

    def unenforced(self, keyword: str, reason: str) -> None:
        """Reject a keyword that cannot be enforced, or record it, depending on the options.

        Raises
        ------
        SchemaError
            The options do not request recording.
        """
        self.lowering.refuse(reason, self.location, keyword)
