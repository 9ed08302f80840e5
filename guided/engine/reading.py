"""How the texts of an index are read: what is kept with it, and what is left of that in a file.

The reader of an index is the spec that it was compiled from, if values are more than texts: it has `read`, `parse` or named parts, or is
one of tools. A file holds no Python objects. What it says about the values of a finite automaton is data: ``"json"``, or the values of a
choice, which are texts or JSON scalars (an Enum member is stored as its value). Other indices are stored as their specs, which read too.
"""

import json
from collections.abc import Sequence
from typing import Any

from guided.engine.specs import Choice
from guided.errors import SchemaError
from guided.schema.frontend.json_values import parse_json

__all__ = ["JsonTexts", "loaded_reader", "stored_reader"]

# Characters of the values of a choice that a file's header may hold.
_IN_HEADER = 1 << 14


class JsonTexts:
    """Reads JSON texts as plain values."""

    def read(self, text: str | bytes) -> Any:
        """Return the value of a text; a SchemaError if it is not JSON."""
        try:
            return parse_json(text)
        except ValueError as error:
            raise SchemaError(f"the text is not valid JSON: {error}", "", "schema") from error

    def read_part(self, _path: Sequence[str | int], _text: str, parsed: Any) -> Any:
        """Return the value of a part of a text."""
        return parsed

    def __repr__(self) -> str:
        return "<reader of JSON>"


def stored_reader(reader: Any) -> Any:
    """Return what a file says of the reader of a finite automaton; None if values are texts."""
    if isinstance(reader, JsonTexts) or hasattr(type(reader), "read_part"):
        return "json"
    if not isinstance(reader, Choice):
        return None
    values = reader.scalars
    if values == list(reader.options) or len(json.dumps(values)) > _IN_HEADER:
        return None
    return {"choice": values}


def loaded_reader(data: Any) -> Any:
    """Return the reader of a file.

    Raises
    ------
    ValueError
        The data is of no reader.
    """
    if data is None:
        return None
    if data == "json":
        return JsonTexts()
    if isinstance(data, dict) and data.keys() == {"choice"} and isinstance(data["choice"], list):
        try:
            return Choice(data["choice"])
        except (TypeError, SchemaError) as error:
            raise ValueError(f"not the values of a choice: {error}") from error
    raise ValueError("not a reader")
