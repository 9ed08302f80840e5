"""The engine as the tests of this folder ask it: whole texts, byte by byte."""

from collections.abc import Mapping
from typing import Any

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["BYTES", "compiled", "is_empty", "refusal"]

# Every byte is a token, so every text can be spelled; 256 ends it.
BYTES = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])


def compiled(
    schema: Any, vocabulary: Vocabulary = BYTES, registry: Mapping[str, Any] | None = None, **options: Any
) -> Index:
    """The index of a schema."""
    more = {"registry": registry} if registry is not None else {}
    return compile_spec(JsonSchema(schema, **options, **more), vocabulary)


def is_empty(error: SchemaError | LimitError) -> bool:
    """Whether the engine refuses a schema because no value satisfies it: then every text is rejected, which is a verdict."""
    return isinstance(error, SchemaError) and error.reason.startswith("no value satisfies")


def refusal(error: SchemaError | LimitError) -> str:
    """What the engine refuses, in a word."""
    return error.keyword if isinstance(error, SchemaError) else f"limit {error.what}"
