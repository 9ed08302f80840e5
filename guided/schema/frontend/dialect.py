"""The keyword table of one draft of JSON Schema, possibly narrowed by a metaschema."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["Dialect", "Handler", "subschemas"]

# Takes a site (`guided.schema.frontend.site`) and the keyword's value.
Handler: TypeAlias = Callable[[Any, Any], None]


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One draft.

    Attributes
    ----------
    name : str
    year : int
        3, 4, 6, 7, 2019 or 2020.
    identifier : str
        The keyword that names a resource: ``"id"`` or ``"$id"``.
    handlers : Mapping of str to Handler
        The function that lowers each constraining keyword.
    positions : Mapping of str to str
        How each keyword contains subschemas.
    companions : Mapping of str to str
        Keywords without a handler -> the keyword whose handler reads them.
    """

    name: str
    year: int
    identifier: str
    handlers: Mapping[str, Handler] = field(repr=False)
    positions: Mapping[str, str] = field(repr=False)
    companions: Mapping[str, str] = field(repr=False)

    @property
    def reference_stands_alone(self) -> bool:
        """Whether keywords beside ``$ref`` are ignored."""
        return self.year < 2019


def subschemas(schema: Mapping[str, Any], positions: Mapping[str, str]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield what is directly within a schema as a schema, in the order of the text, with the tokens that lead there."""
    for keyword, value in schema.items():
        how = positions.get(keyword, "")
        if isinstance(value, dict) and how.startswith("map"):
            yield from (((keyword, name), part) for name, part in value.items())
        elif isinstance(value, list) and "schemas" in how:
            yield from (((keyword, i), part) for i, part in enumerate(value))
        elif how.startswith("schema"):
            yield (keyword,), value
