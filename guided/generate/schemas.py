"""Factory function for generators of JSON: `json`."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from guided.engine.algebra import Composable
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema, SchemaOptions
from guided.errors import shown
from guided.generate.model import LanguageModel, check_model
from guided.generate.structured import JsonGenerator
from guided.generate.texts import index_of
from guided.keywords import refuse_options_of, suggest_keywords
from guided.limits import Limits

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

__all__ = ["json"]

T = TypeVar("T")


@overload
def json(
    model: LanguageModel, schema: JsonSchema[T], *, index: Index | None = None, limits: Limits | None = None
) -> JsonGenerator[T]: ...


@overload
def json(
    model: LanguageModel,
    schema: "type[T] | TypeAdapter[T]",
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[SchemaOptions],
) -> JsonGenerator[T]: ...


@overload
def json(
    model: LanguageModel,
    schema: Mapping[str, Any] | bool | str | PathLike[str] | Callable[..., Any],
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[SchemaOptions],
) -> JsonGenerator[Any]: ...


@overload
def json(
    model: LanguageModel,
    schema: "TypeForm[T]",
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[SchemaOptions],
) -> JsonGenerator[T]: ...


@refuse_options_of(JsonSchema, "schema")
@suggest_keywords(SchemaOptions)
def json(
    model: LanguageModel,
    schema: Any,
    *,
    index: Index | None = None,
    limits: Limits | None = None,
    **options: Unpack[SchemaOptions],
) -> JsonGenerator[Any]:
    """Generate JSON that a schema or type allows, parsed to values.

    Parameters
    ----------
    model : guided.Model
        Source of the logits.
    schema : JsonSchema, dict, bool, str, path, type or callable
        As in `JsonSchema`: a JSON Schema, a pydantic model, dataclass or any other type, a function, a tool, ...
    index : Index, optional
        An index of the same schema and options for the model's vocabulary.
    limits : Limits, optional
        Compile budgets.
    **options
        Options of `JsonSchema`, such as ``whitespace`` and ``max_length``. A `JsonSchema` object has its own.

    Returns
    -------
    JsonGenerator
        ``value`` of its results is an instance of the type, or the parsed JSON for a schema.

    Raises
    ------
    SchemaError
        The schema is malformed, no value satisfies it, or a keyword cannot be enforced; with JSON Pointer and keyword.
    PatternError
        A pattern in it uses a construct that no automaton can express.
    LimitError, VocabularyError, IndexFormatError
        As in `regex`.
    TypeError
        An argument has the wrong type.
    """
    check_model(model)
    if isinstance(schema, Composable) and not isinstance(schema, JsonSchema):
        raise TypeError(f"json takes a schema or a type; guided.generator(model, ...) takes {shown(schema)}")
    spec = schema if isinstance(schema, JsonSchema) else JsonSchema(schema, **options)
    return JsonGenerator(model, index_of(spec, model, index, limits), spec, limits)
