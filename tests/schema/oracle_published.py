"""The `jsonschema` package as an oracle, with ECMA-262's patterns in place of Python's.

Its numbers are floats: not for values with large or fine ones.
"""

from collections.abc import Iterator
from typing import Any

import jsonschema

from tests.schema.oracle_ecma import search

__all__ = ["is_valid"]


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and not search(pattern, instance):
        yield jsonschema.ValidationError("no match")


def is_valid(schema: Any, instance: Any) -> bool:
    """Whether a value, as `json.loads` gives it, is valid by the draft that the schema names, 2020-12 if none."""
    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return bool(jsonschema.validators.extend(draft, {"pattern": _pattern})(schema).is_valid(instance))
