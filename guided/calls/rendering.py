"""Renders calls and results in a format; the inverse of `guided.calls.parse`.

`render_call` writes every optional blank of the format; `json_value` converts a Python value of an argument to JSON; `render_result` makes
the text of a result for the model.
"""

import dataclasses
import datetime
import enum
import json
import re
import uuid
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

from guided.calls.argument_list import ArgumentList, Slot
from guided.calls.formats.format import Format
from guided.calls.formats.texts import BLANKS, written
from guided.calls.lowering import around, skipped
from guided.calls.reads import Call
from guided.calls.schema import SchemaType
from guided.errors import SchemaError, shown
from guided.schema.formula.atoms import Notation
from guided.schema.frontend.json_values import parse_json
from guided.schema.frontend.location import pointer_to
from guided.schema.strings.notation import as_python, in_notation

__all__ = ["argument_json", "json_value", "openings", "render_call", "render_calls", "render_result", "render_results"]

# Maximum number of errors shown of an exception group.
_ERRORS_SHOWN = 10


def render_calls(
    calls: Sequence[Call], argument_lists: Mapping[str, ArgumentList], form: Format, is_alone: bool = False
) -> str:
    """Render calls that belong together, with their delimiters.

    Parameters
    ----------
    calls : sequence of Call
        At least one; their names, arguments and ids are used.
    argument_lists : Mapping
        Argument lists of the tools in this format, by name.
    is_alone : bool
        Whether the calls are the whole text.

    Raises
    ------
    SchemaError
        As in `render_call`; or the format has one call at a time.
    """
    if len(calls) > 1 and form.several is None:
        raise SchemaError(f"format {form.name!r} allows one call at a time", "", "several")
    found = [
        render_call(call.name, call.arguments, argument_lists[call.name], form, _id(call, place, form))
        for place, call in enumerate(calls)
    ]
    before, between, after = map(written, form.around)
    trigger, terminator = form.trigger, written(form.terminator)
    if is_alone:
        trigger = trigger.lstrip("\n")
    if form.is_listed:
        return trigger + before + between.join(found) + after + terminator
    if form.is_tagged or not is_alone:
        joint = between if form.is_tagged else "\n" if between != trigger else ""
        return joint.join(trigger + call + terminator for call in found)
    return found[0] if len(found) == 1 else before + between.join(found) + after


def openings(name: str, argument_list: ArgumentList, form: Format, is_alone: bool) -> list[str]:
    """All beginnings of a call of a tool up to its arguments; with all blanks, and also without those of the trigger."""
    call_id = form.id_example
    behind = written(around(argument_list, form)[0][0], id=call_id) or form.close[:1]
    call = written(form.before_name, id=call_id) + name + behind
    before, between, _ = map(written, form.around)
    first = before + call if form.is_listed else call
    if is_alone and not form.is_tagged and not form.is_listed:
        return [call]
    triggers = [form.trigger, form.start, form.trigger.lstrip("\n"), form.start.lstrip("\n")]
    return [*(trigger + first for trigger in dict.fromkeys(triggers)), *([between + call] if form.is_listed else [])]


def render_call(
    name: str, arguments: Mapping[str, Any], argument_list: ArgumentList, form: Format, call_id: str | None = None
) -> str:
    """Render a call, without trigger and terminator.

    Parameters
    ----------
    name : str
        Name of the tool.
    arguments : Mapping
        Values by label.
    argument_list : ArgumentList
        Argument list of the tool in this format.
    call_id : str, optional
        Id of the call, for formats with ids.

    Raises
    ------
    SchemaError
        An argument is unknown, missing, or cannot be written as JSON.
    """
    given_id = form.id_example if call_id is None else call_id
    before, after = (written(texts[0], id=given_id) for texts in around(argument_list, form))
    begun = written(form.before_name, id=given_id) + name + before
    if argument_list.whole is not None and argument_list.whole.arguments is not None:
        return begun + _arguments(name, argument_list.whole, arguments, form) + after
    if argument_list.whole is not None:
        return begun + _spelled(name, Slot("arguments", argument_list.whole, True), arguments, form) + after
    slots = argument_list.slots
    known = {slot.label for slot in slots}
    for label in arguments:
        if label not in known:
            raise SchemaError(f"{name} has no argument {label!r}", pointer_to(name, label), "example")
    # Without keys, a value requires all values before it.
    given = [slot.label in arguments for slot in slots[: len(slots) - len(argument_list.keyed)]]
    values: list[str] = []
    for i, slot in enumerate(slots):
        if (slot.required or any(given[i:])) and slot.label not in arguments:
            raise SchemaError(f"{name} is missing its argument {slot.label!r}", pointer_to(name, slot.label), "example")
    for slot in argument_list.positional:
        if slot.label not in arguments:
            break
        values.append(_spelled(name, slot, arguments[slot.label], form) + written(form.after_value))
    if argument_list.variadic is not None:
        further = arguments.get(argument_list.variadic.label, ())
        values.extend(
            _spelled(name, argument_list.variadic, value, form) + written(form.after_value) for value in further
        )
    for slot in argument_list.keyed:
        if slot.label in arguments:
            label = json.dumps(slot.label, ensure_ascii=False)[1:-1] if form.is_quoted else slot.label
            kind = _kind(slot, arguments[slot.label])
            value = _spelled(name, kind, arguments[slot.label], form) + written(form.after_value)
            values.append(written(form.text_key if kind.is_text else form.key, label) + value)
    return begun + written(form.separator).join(values) + after


def _arguments(tool: str, kind: SchemaType, arguments: Mapping[str, Any], form: Format) -> str:
    """Render arguments that one schema describes, and the close, as `guided.calls.lowering.arguments_of` writes them."""
    values = []
    try:
        found = _json_of(kind, arguments)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"{shown(arguments)} is not a value of {kind.name}", pointer_to(tool), "example") from error
    for label, value in found.items():
        is_text = isinstance(value, str)
        if form.element:
            text = _nested(value, form)
        elif form.quote:
            text = in_notation(value, Notation(form.quote, form.quote))
        elif is_text and form.values == "raw":
            text = value
        else:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            text = as_python(text) if form.values == "python" else text
        key = ((is_text and form.text_key) or form.key).replace("{type}", _type(value))
        values.append(written(key, label) + text + written(form.after_value, label))
    close = form.close.rstrip(BLANKS)
    spelled = (written(form.separator).join(values) + written(close))[len(skipped(form)) :]
    is_spelled = kind.scanner().accepts(spelled.encode())
    if not is_spelled or parse_json(kind.in_json(spelled)) != found:
        raise SchemaError(
            f"{shown(arguments)} is not a value of {kind.name}, or is ambiguous here", pointer_to(tool), "example"
        )
    return spelled


def _nested(value: Any, form: Format) -> str:
    """Render a value whose members or items are written as arguments are."""
    if not isinstance(value, dict | list):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    parts = value.items() if isinstance(value, dict) else ((form.element, item) for item in value)
    return "".join(
        written(form.key, name) + _nested(part, form) + written(form.after_value, name).rstrip(BLANKS)
        for name, part in parts
    )


def render_results(calls: Sequence[Call], form: Format) -> list[list[tuple[str, bool]]]:
    """Render the results of calls that belong together.

    Returns
    -------
    list of list of (str, bool)
        The pieces of each call; the flag marks the result itself, in which special tokens are not recognized.
    """
    before, between, after = map(written, form.results)
    found = []
    for place, call in enumerate(calls):
        placeholder = "{json}" if "{json}" in form.result else "{result}"
        text = render_result(call)
        head, _, tail = form.result.partition(placeholder)
        given_id = _id(call, place, form)
        pieces = [
            ((between if place else before) + written(head, call.name, given_id), False),
            (json.dumps(text, ensure_ascii=False) if placeholder == "{json}" else text, True),
            (written(tail, call.name, given_id) + (after if place == len(calls) - 1 else ""), False),
        ]
        found.append([piece for piece in pieces if piece[0]])
    return found


def render_result(call: Call) -> str:
    """Render a call's result or error for the model; works for any object and returns valid Unicode.

    A string is used as is, other values as JSON, or else as ``str``; an error by its class and message, including those of the errors in
    an exception group. If that fails, the text names the value's type and the failure. Unpaired surrogates become U+FFFD. Integers have
    at most 4,300 digits (`sys.set_int_max_str_digits`).
    """
    if call.error is not None:
        return f"error: {_described(call.error)}"
    try:
        found = call.result if isinstance(call.result, str) else json.dumps(json_value(call.result), ensure_ascii=False)
        return _unicode(found)
    except Exception:  # Why: the value is any object, whose methods may raise anything
        return _as_text(call.result)


def _described(error: BaseException, levels: int = 3) -> str:
    """The class and message of an error, and of the errors in a group."""
    found = f"{type(error).__name__}: {_as_text(error)}"
    if isinstance(error, BaseExceptionGroup) and levels:
        inner = [_described(one, levels - 1) for one in error.exceptions[:_ERRORS_SHOWN]]
        more = [] if len(error.exceptions) <= _ERRORS_SHOWN else ["..."]
        found += f" [{'; '.join([*inner, *more])}]"
    return found


def _as_text(value: object) -> str:
    """``str(value)``, or the type of the value if that fails."""
    try:
        return _unicode(str(value))
    except Exception as error:  # Why: as above
        return f"<{type(value).__name__} that cannot be written: {type(error).__name__}>"


def _unicode(text: str) -> str:
    """A text as valid Unicode: surrogate pairs become their character, other surrogates U+FFFD."""
    # Why through the class: subclasses of str may override methods.
    plain = str.__str__(text)
    try:
        plain.encode()
    except UnicodeEncodeError:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return plain


def json_value(value: Any) -> Any:
    """Convert a Python value to JSON.

    Raises
    ------
    TypeError
        The value cannot be written as JSON.
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
            raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def argument_json(written: str, value: Any) -> str:
    """An argument as JSON: the model's spelling if it is JSON of the value."""
    try:
        found = json.loads(written)
    except ValueError:
        return json.dumps(json_value(value))
    except RecursionError:
        return written
    # Unquoted text may look like JSON and still be a string.
    return written if not isinstance(value, str) or found == value else json.dumps(value)


def _type(value: Any) -> str:
    """The type of a JSON value, as texts before it name it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case _:
            return "object" if isinstance(value, Mapping) else "array"


def _id(call: Call, place: int, form: Format) -> str:
    """The id of a call, or the example counted on by its index."""
    if call.id is not None or not place:
        return form.id_example if call.id is None else call.id
    first = form.id_example[len(form.id_example.rstrip("0123456789")) :]
    found = form.id_example.removesuffix(first) + str(int(first or 0) + place).zfill(len(first))
    return found if re.fullmatch(form.id, found) else form.id_example


def _kind(slot: Slot, value: Any) -> Slot:
    """The kind under which a value is written."""
    if slot.text is None:
        return slot
    try:
        is_text = isinstance(json_value(value), str)
    except TypeError:
        is_text = False
    return next((kind for kind in slot.kinds if kind.is_text == is_text), slot)


def _spelled(tool: str, slot: Slot, value: Any, form: Format) -> str:
    try:
        found = _json_of(slot.type, value)
        if slot.type.notation is not None and slot.type.notation.opening:
            return _checked(in_notation(found, slot.type.notation), slot, found)
        if form.values != "raw" or not isinstance(found, str) or not slot.type.closing:
            text = json.dumps(found, ensure_ascii=False, allow_nan=False)
            return as_python(text) if form.values == "python" else text
        return _checked(f"{form.quote}{found}{form.quote}", slot, found)
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"{shown(value)} is not a value of {slot.type.name}", pointer_to(tool, slot.label), "example"
        ) from error


def _json_of(kind: SchemaType, value: Any) -> Any:
    """The JSON of a value: as the type writes it, unless the usual JSON is a value of the type."""
    try:
        found = json_value(value)
        written = json.dumps(found, allow_nan=False).encode()
        if kind.reader is None or (kind.plain or kind).scanner().accepts(written):
            return found
    except TypeError:
        if kind.reader is None:
            raise
    return kind.reader.adapter.dump_python(value, mode="json", by_alias=True, warnings=False)


def _checked(spelled: str, slot: Slot, value: Any) -> str:
    """Return a spelling of a value if it is read back as that value, else raise ValueError."""
    is_spelled = slot.type.scanner().accepts((spelled + slot.type.closing).encode())
    # Why JSON: the type may read another object, such as a URL.
    if not is_spelled or parse_json(slot.type.in_json(spelled)) != value:
        raise ValueError(f"{spelled!r} is ambiguous here: it looks like its terminator or like a value of another type")
    return spelled
