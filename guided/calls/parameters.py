"""The parameters of a tool: from a Python signature, or from a JSON definition.

The *label* of a parameter is its name in calls. It is the function's own name, with two exceptions: a name that ends in ``_`` to avoid a
Python keyword loses the underscore (PEP 8's ``from_`` is ``from``), and pydantic's ``Field(alias=...)`` gives the label.
"""

import inspect
import keyword
import re
import typing
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypeAlias

from guided.calls.schema import (
    Document,
    SchemaType,
    Unsatisfiable,
    arguments_of,
    list_of,
    type_of_annotation,
    type_of_schema,
)
from guided.engine.specs import Choice, Regex
from guided.errors import SchemaError, annotation_text, placed, without_addresses
from guided.patterns.tree import Node
from guided.schema.formula.atoms import Caps
from guided.schema.frontend.callables import function_of, names_taken, parameters_of, unwrapped
from guided.schema.frontend.location import pointer_to
from guided.schema.frontend.reader import hint_of_field
from guided.schema.frontend.tool_definitions import closed_definition

__all__ = [
    "SEPARABLE",
    "Lowered",
    "Parameter",
    "of_definition",
    "of_signature",
    "together",
    "whole_of",
]

Kind: TypeAlias = Literal["either", "positional", "keyword", "variadic", "others", "whole"]
_KINDS: dict[Any, Kind] = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "either",
    inspect.Parameter.VAR_POSITIONAL: "variadic",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_KEYWORD: "others",
}
# Keywords of an object whose properties can be separate arguments; other keywords constrain all of them together.
SEPARABLE = frozenset({
    "$comment", "$defs", "$schema", "additionalProperties", "definitions", "description", "examples", "properties", "required",
    "title", "type",
})  # fmt: skip
_OTHER_TYPE = (
    "Tool(..., types={name: annotation}) gives another type, and typing.Never leaves an optional parameter out"
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A lowered parameter.

    Attributes
    ----------
    name : str
        Name in the function.
    label : str
        Name in calls.
    type : SchemaType
        Type of its value; of each value, if it is variadic or others.
    required : bool
        Whether every call must give it.
    kind : {"either", "positional", "keyword", "variadic", "others", "whole"}
        How Python takes it; "others" are ``**kwargs``, and "whole" stands for all arguments at once, by name.
    description : str
        Text for models and people; may be empty.
    taken : frozenset of str
        Names that others do not have.
    """

    name: str
    label: str
    type: SchemaType
    required: bool
    kind: Kind
    description: str = ""
    taken: frozenset[str] = frozenset()


@dataclass(slots=True)
class Lowered:
    """The parameters of a tool.

    Attributes
    ----------
    parameters : list of Parameter
        Parameters that calls can have.
    never : list of str
        JSON Pointers of optional parameters, ``/tool/parameter``, that no value satisfies, so that no call has them.
    """

    parameters: list[Parameter] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    _has_gap: bool = False

    def add(self, parameter: Parameter) -> None:
        """Append a parameter."""
        if self._has_gap and parameter.kind == "either":
            # Without a key, its value would take the position of the omitted parameter before it.
            parameter = replace(parameter, kind="keyword")
        self.parameters.append(parameter)

    def skip(self) -> None:
        """Record that a parameter was omitted because calls never have it."""
        self._has_gap = True


def of_signature(
    function: Callable[..., Any], tool: str, overrides: Mapping[str, Any], described: Mapping[str, str], caps: Caps
) -> Lowered:
    """Lower the parameters of a callable, without those that a partial binds.

    Parameters
    ----------
    tool : str
        Name of the tool, for error places.
    overrides : Mapping
        Parameter -> Regex, Choice, compiled pattern or tree (a string that it matches), or annotation.
    described : Mapping of str to str
        Descriptions by name.

    Raises
    ------
    SchemaError
        The signature is unavailable, the callable is a method without an instance, or a parameter cannot be lowered.
    PatternError
        A pattern is malformed.
    """
    if isinstance(function, type) and hasattr(function, "model_fields") and hasattr(function, "model_validate"):
        return _of_model(function, tool, overrides, described, caps)
    try:
        signature = {parameter.name: parameter for parameter in parameters_of(function, pointer_to(tool))}
    except (ValueError, TypeError) as error:
        raise SchemaError(f"its signature cannot be read: {error}", pointer_to(tool), "signature") from error
    _known(overrides, signature, tool)
    hints = _hints(function, tool, signature.keys() - overrides.keys())
    lowered = Lowered()
    for name, parameter in signature.items():
        pointer = pointer_to(tool, name)
        if hasattr(parameter.default, "is_required") and hasattr(parameter.default, "metadata"):
            raise SchemaError("put pydantic's Field into Annotated[...] and give the plain default", pointer, "Field")
        annotation = hints.get(name, parameter.annotation)
        annotation = Any if annotation is inspect.Parameter.empty else annotation
        metadata = getattr(annotation, "__metadata__", ())
        of_python, bare = _KINDS[parameter.kind], name.removesuffix("_")
        is_optional = parameter.default is not inspect.Parameter.empty or of_python in ("variadic", "others")
        # Why the stars: another argument may have the name.
        label = (
            f"**{name}" if of_python == "others" else _alias_in(metadata) or (bare if keyword.iskeyword(bare) else name)
        )
        lower = partial(_type_of, overrides.get(name, annotation), pointer, caps)
        kind = _satisfiable(lower, not is_optional, pointer, lowered.never)
        if kind is None:
            lowered.skip()
        else:
            description = described.get(name, "") or _description_in(metadata)
            taken = names_taken(function) if of_python == "others" else frozenset[str]()
            lowered.add(Parameter(name, label, kind, not is_optional, of_python, description, taken))
    labels = [parameter.label for parameter in lowered.parameters]
    for label in labels:
        if labels.count(label) > 1:
            raise SchemaError(f"duplicate parameter {label!r}", pointer_to(tool), "alias")
    return lowered


def _of_model(model: Any, tool: str, overrides: Mapping[str, Any], described: Mapping[str, str], caps: Caps) -> Lowered:
    """The fields of a pydantic model, whose signature lacks their constraints."""
    aliases = {name: info.validation_alias or info.alias or name for name, info in model.model_fields.items()}
    for name, alias in aliases.items():
        if not isinstance(alias, str):
            reason = "only aliases that are a single name are supported"
            raise SchemaError(reason, pointer_to(tool, name), "validation_alias")
    _known(overrides, dict.fromkeys(aliases.values()), tool)
    lowered = Lowered()
    for field_name, info in model.model_fields.items():
        name, required = aliases[field_name], info.is_required()
        lower = partial(_type_of, overrides.get(name, hint_of_field(info)), pointer_to(tool, name), caps)
        kind = _satisfiable(lower, required, pointer_to(tool, name), lowered.never)
        if kind is None:
            lowered.skip()
        else:
            description = info.description or _description_in(info.metadata) or described.get(name, "")
            lowered.add(Parameter(name, name, kind, required, "keyword", description))
    return lowered


def of_definition(schema: Any, tool: str, overrides: Mapping[str, Any], strict: bool, caps: Caps) -> Lowered:
    """Lower the parameters of a JSON definition: the properties of an object, in order.

    Parameters
    ----------
    schema : Mapping or None
        JSON Schema of the arguments; None: no arguments.
    strict : bool
        Whether a schema that does not mention additional arguments allows none. If False, it must forbid them explicitly.

    Raises
    ------
    SchemaError
        A keyword is unknown or not regular.
    PatternError
        A pattern is malformed.
    """
    pointer = pointer_to(tool)
    closed = _closed(schema, pointer, strict)
    if closed.get("additionalProperties") is not False or not closed.keys() <= SEPARABLE:
        _known(overrides, {}, tool)
        return Lowered([whole_of(schema, tool, strict, caps)])
    fields = _fields(closed, pointer)
    _known(overrides, {name: None for name, _, _ in fields}, tool)
    lowered, document = Lowered(), Document(closed, pointer, caps)
    for name, inner, required in fields:
        override = overrides.get(name)
        # PERF: many tools have many parameters of few types (`python -m benchmarks.inventory --definitions 100000`).
        kind = document.known(inner) if override is None else None
        if kind is None:
            inside = pointer + pointer_to(name)
            own = override is None
            lower = partial(document.type_of, name) if own else partial(_type_of, override, inside, caps)
            kind = _satisfiable(lower, required, inside, lowered.never)
        description = inner.get("description", "") if isinstance(inner, Mapping) else ""
        description = description if isinstance(description, str) else ""
        if kind is None:
            lowered.skip()
        else:
            lowered.add(Parameter(name, name, kind, required, "either", description))
    return lowered


def _closed(schema: Any, pointer: str, strict: bool) -> Mapping[str, Any]:
    if schema is not None and (not isinstance(schema, Mapping) or schema.get("type", "object") != "object"):
        raise SchemaError("the parameters of a tool must be a schema of type object", pointer, "parameters")
    return closed_definition(schema, strict)


def whole_of(schema: Any, tool: str, strict: bool, caps: Caps) -> Parameter:
    """Return one parameter that stands for all arguments of a definition.

    Raises
    ------
    SchemaError, PatternError
        As `of_definition`.
    """
    pointer = pointer_to(tool)
    closed = _closed(schema, pointer, strict)
    with placed(pointer):
        whole = type_of_schema({"type": "object", **closed}, pointer, caps)
    return Parameter("arguments", "arguments", whole, True, "whole")


def together(parameters: Sequence[Parameter], tool: str, caps: Caps) -> Parameter:
    """Return one parameter that stands for all of a function's.

    Raises
    ------
    SchemaError, PatternError
        As `of_signature`.
    """
    kinds = {
        one.label: list_of(one.type) if one.kind == "variadic" else one.type
        for one in parameters
        if one.kind != "others"
    }
    others = next((one for one in parameters if one.kind == "others"), None)
    more = (None, ()) if others is None else (others.type, others.taken)
    required = {parameter.label for parameter in parameters if parameter.required}
    pointer = pointer_to(tool)
    with placed(pointer):
        return Parameter("arguments", "arguments", arguments_of(kinds, required, pointer, caps, *more), True, "whole")


def _satisfiable(lower: Callable[[], SchemaType], required: bool, pointer: str, never: list[str]) -> SchemaType | None:
    """The type of a parameter; None if it is optional and no value satisfies it."""
    try:
        with placed(pointer):
            return lower()
    except Unsatisfiable as error:
        if required:
            raise SchemaError(error.reason, error.pointer, error.keyword) from None
        never.append(pointer)
        return None


def _fields(schema: Mapping[str, Any], pointer: str) -> list[tuple[str, Any, bool]]:
    """Name, schema and required flag of each property in order."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not all(isinstance(name, str) for name in properties):
        raise SchemaError("properties must map names to schemas", pointer, "properties")
    if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
        raise SchemaError("required must be a list of names", pointer, "required")
    for name in required:
        if name not in properties:
            raise SchemaError(f"{name!r} is required but not in properties", pointer, "required")
    return [(name, inner, name in required) for name, inner in properties.items()]


def _known(overrides: Mapping[str, Any], names: Mapping[str, Any], tool: str) -> None:
    for name in overrides:
        if name not in names:
            raise SchemaError(f"unknown parameter {name!r}", pointer_to(tool, name), "types")


def _type_of(given: Any, place: str, caps: Caps) -> SchemaType:
    """The type of an annotation, or of what is given instead of one."""
    if isinstance(given, Regex | Choice | re.Pattern | Node):
        given = Annotated[str, given]
    elif given is typing.Never:
        raise Unsatisfiable("no value has this type", place, "Never")
    # Of the class: an Annotated alias passes look-ups on to its type, and str has a method of that name.
    elif hasattr(type(given), "lower") and not isinstance(given, str):
        raise SchemaError("this type cannot be compiled to a pattern", place, type(given).__name__)
    try:
        return type_of_annotation(_without_alias(given), place, caps)
    except Unsatisfiable:
        raise
    except SchemaError as error:
        raise SchemaError(f"{error.reason}. {_OTHER_TYPE}", error.pointer, error.keyword) from error


def _without_alias(annotation: Any) -> Any:
    """The annotation with what pydantic's ``Field`` with an alias constrains: an alias belongs to a field."""
    if typing.get_origin(annotation) is not Annotated or _alias_in(annotation.__metadata__) is None:
        return annotation
    metadata = [
        part for item in annotation.__metadata__ for part in (item.metadata if hasattr(item, "is_required") else [item])
    ]
    return Annotated[(annotation.__origin__, *metadata)] if metadata else annotation.__origin__


def _alias_in(metadata: Iterable[Any]) -> str | None:
    """The name in pydantic's ``Field(alias=...)``."""
    aliases = (getattr(item, "alias", None) for item in metadata if hasattr(item, "is_required"))
    return next((alias for alias in aliases if isinstance(alias, str)), None)


def _description_in(metadata: Iterable[Any]) -> str:
    """The last text, `Doc` or pydantic's ``Field(description=...)``."""
    texts = [
        item if isinstance(item, str) else getattr(item, "documentation", None) or getattr(item, "description", None)
        for item in metadata
    ]
    return next((text for text in reversed(texts) if text and isinstance(text, str)), "")


def _hints(function: Any, tool: str, parameters: Container[str]) -> dict[str, Any]:
    """The resolved annotations of some parameters; empty if the callable has none."""
    inner = unwrapped(function)
    function = (vars(inner).get("__init__") or inner) if inspect.isclass(inner) else function_of(inner)
    annotations = getattr(function, "__annotations__", None)
    if not isinstance(annotations, dict):
        return {}
    if inspect.isclass(function):
        return _resolved(function, pointer_to(tool))
    # Why each by itself: an unresolvable annotation of the result, or of a bound or retyped parameter, must not reject the tool.
    inner = inspect.unwrap(function)
    found: dict[str, Any] = {}
    for name, hint in getattr(inner, "__annotations__", annotations).items():
        if name not in parameters:
            continue
        alone = SimpleNamespace(
            __annotations__={name: hint},
            __globals__=getattr(inner, "__globals__", {}),
            __type_params__=getattr(inner, "__type_params__", ()),
            __name__=annotation_text(hint),
        )
        found |= _resolved(alone, pointer_to(tool, name))
    return found


def _resolved(item: Any, pointer: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(item, include_extras=True)
    except Exception as error:  # Why: annotations in strings are evaluated, which can raise anything
        reason = f"annotations cannot be resolved: {without_addresses(str(error))}. {_OTHER_TYPE}"
        raise SchemaError(reason, pointer, getattr(item, "__name__", type(item).__name__)) from error
