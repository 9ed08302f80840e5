"""Calls and results as a format writes them: the other direction of `guided.calls.parse`.

`render_call` writes every blank of the format; `json_value` is the JSON of a Python value that an argument may have;
`render_result` is the text that a model reads.
"""

import dataclasses
import datetime
import enum
import json
import uuid
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

from guided.calls.formats import Format
from guided.calls.lowering import Layout, Slot, around
from guided.calls.reads import Call
from guided.errors import SchemaError, shown

__all__ = ["json_value", "render_call", "render_result"]


def render_call(name: str, arguments: Mapping[str, Any], layout: Layout, form: Format) -> str:
    """A call, without trigger and terminator.

    Parameters
    ----------
    name : str
        The tool's.
    arguments : Mapping
        Values by label.
    layout : Layout
        The tool's, in this format.

    Raises
    ------
    SchemaError
        An argument is unknown, missing, or has no JSON.
    """
    if layout.whole is not None:
        before, after = around(layout, form)
        return (
            form.before_name
            + name
            + before
            + _spelled(name, Slot("", "arguments", layout.whole, True), arguments)
            + after
        )
    slots = [*layout.positional, *([layout.variadic] if layout.variadic else []), *layout.keyed]
    known = {slot.label for slot in slots}
    for label in arguments:
        if label not in known:
            raise SchemaError(f"{name} has no argument {label!r}", f"/{name}/{label}", "example")
    # Without keys, a value stands only where all before it do.
    given = [slot.label in arguments for slot in slots[: len(slots) - len(layout.keyed)]]
    for i, slot in enumerate(slots):
        if (slot.required or any(given[i:])) and slot.label not in arguments:
            raise SchemaError(f"{name} lacks its argument {slot.label!r}", f"/{name}/{slot.label}", "example")
    written: list[str] = []
    for slot in layout.positional:
        if slot.label not in arguments:
            break
        written.append(_spelled(name, slot, arguments[slot.label]))
    if layout.variadic is not None:
        values = arguments.get(layout.variadic.label, ())
        written.extend(_spelled(name, layout.variadic, value) for value in values)
    for slot in layout.keyed:
        if slot.label in arguments:
            label = json.dumps(slot.label, ensure_ascii=False)[1:-1] if form.is_quoted else slot.label
            written.append(form.key.replace("{name}", label) + _spelled(name, slot, arguments[slot.label]))
    return form.before_name + name + form.after_name + form.separator.join(written) + form.close


def render_result(call: Call) -> str:
    """What a model reads of a call's result: strings as they are, other values as JSON, or as Python writes them."""
    if call.error is not None:
        return f"error: {type(call.error).__name__}: {call.error}"
    if isinstance(call.result, str):
        return call.result
    try:
        return json.dumps(json_value(call.result), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(call.result)


def json_value(value: Any) -> Any:
    """The JSON value of a Python value.

    Raises
    ------
    TypeError
        It has none.
    """
    match value:
        case enum.Enum():
            return json_value(value.value)
        case None | bool() | int() | float() | str():
            return value
        case datetime.date() | datetime.time():
            return value.isoformat()
        case uuid.UUID():
            return str(value)
        case Decimal():
            return float(value)
        case Mapping():
            return {
                key if isinstance(key, str) else json.dumps(json_value(key)): json_value(v) for key, v in value.items()
            }
        case tuple() if hasattr(value, "_asdict"):
            return json_value(value._asdict())
        case list() | tuple():
            return [json_value(item) for item in value]
        case Set():
            return sorted((json_value(item) for item in value), key=repr)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {item.name: json_value(getattr(value, item.name)) for item in dataclasses.fields(value)}
        case _ if hasattr(value, "model_dump"):
            return value.model_dump(mode="json", by_alias=True)
        case _:
            raise TypeError(f"a {type(value).__name__} has no JSON")


def _spelled(tool: str, slot: Slot, value: Any) -> str:
    if slot.type.is_bare:
        return str(value)
    try:
        return json.dumps(json_value(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"{shown(value)} is no value of {slot.type.name}", f"/{tool}/{slot.label}", "example"
        ) from error
