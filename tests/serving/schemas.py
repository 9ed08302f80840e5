"""Schemas in the shape of those that APIs and configurations use, made by number, for machines without a collection of real ones."""

import random
from collections.abc import Callable
from typing import Any

__all__ = ["made_schema"]

_NAMES = (
    "id", "name", "title", "kind", "status", "owner", "email", "created", "url", "count", "price", "size", "tags", "items", "options",
    "address", "city", "country", "code", "language", "version", "enabled", "score", "limits", "notes",
)  # fmt: skip
_WORDS = ("draft", "open", "closed", "red", "green", "blue", "small", "large", "daily", "weekly", "none", "all")


def made_schema(number: int) -> dict[str, Any]:
    """Return a schema of an object, another one for each number: nested, with references, alternatives, patterns and formats."""
    return _Maker(random.Random(number)).document()


class _Maker:
    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._shared: dict[str, Any] = {}

    def document(self) -> dict[str, Any]:
        for number in range(self._random.randint(0, 2)):
            self._shared[f"{self._random.choice(_NAMES)}_{number}"] = self._value(1)
        found = self._object(3)
        if self._shared:
            found["$defs"] = self._shared
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Record", **found}

    def _value(self, depth: int) -> dict[str, Any]:
        leaves: list[Callable[[], dict[str, Any]]] = [
            self._string,
            self._number,
            self._enum,
            lambda: {"type": "boolean"},
        ]
        inner: list[Callable[[], dict[str, Any]]] = [
            lambda: self._object(depth - 1), lambda: self._array(depth - 1), lambda: self._alternatives(depth - 1),
        ]  # fmt: skip
        if self._shared and self._random.random() < 0.2:
            return {"$ref": f"#/$defs/{self._random.choice(sorted(self._shared))}"}
        found = self._random.choice(leaves + inner if depth > 0 else leaves)()
        if self._random.random() < 0.3:
            found["description"] = f"The {self._random.choice(_WORDS)} one."
        return found

    def _object(self, depth: int) -> dict[str, Any]:
        names = self._random.sample(_NAMES, self._random.randint(1, 6))
        found: dict[str, Any] = {"type": "object", "properties": {name: self._value(depth) for name in names}}
        found["required"] = [name for name in names if self._random.random() < 0.6]
        if self._random.random() < 0.6:
            found["additionalProperties"] = self._random.choice([False, False, {"type": "string"}])
        if self._random.random() < 0.1:
            found["dependentRequired"] = {names[0]: [names[-1]]}
        return found

    def _array(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "array", "items": self._value(depth)}
        if self._random.random() < 0.5:
            found["minItems"] = self._random.randint(0, 2)
            found["maxItems"] = found["minItems"] + self._random.randint(0, 3)
        if self._random.random() < 0.2 and found["items"] == {"type": "string"}:
            found["uniqueItems"] = True
        return found

    def _alternatives(self, depth: int) -> dict[str, Any]:
        if self._random.random() < 0.5:
            return {"anyOf": [self._value(depth), {"type": "null"}]}
        kinds = self._random.sample(_WORDS, 2)
        return {"oneOf": [
            {"type": "object", "properties": {"type": {"const": kind}, "value": self._value(depth)}, "required": ["type", "value"]}
            for kind in kinds
        ]}  # fmt: skip

    def _string(self) -> dict[str, Any]:
        return {"type": "string"} | self._random.choice([
            {}, {"minLength": 1}, {"maxLength": self._random.randint(3, 40)}, {"pattern": "^[A-Z]{2}-[0-9]{1,4}$"},
            {"pattern": "^[a-z][a-z0-9_]*$"}, {"format": "date"}, {"format": "date-time"}, {"format": "email"}, {"format": "uuid"},
        ])  # fmt: skip

    def _number(self) -> dict[str, Any]:
        return self._random.choice([
            {"type": "integer"}, {"type": "integer", "minimum": 0, "maximum": self._random.randint(1, 5000)},
            {"type": "number", "exclusiveMinimum": 0}, {"type": "integer", "multipleOf": 5}, {"type": ["integer", "null"]},
        ])  # fmt: skip

    def _enum(self) -> dict[str, Any]:
        return {"enum": self._random.sample(_WORDS, self._random.randint(1, 4))}
