"""Tools and a format -> the pattern tree of a call.

`guided.calls.argument_list.ArgumentList` has the arguments of a tool's call in a format. This module builds the tree from it, and
`guided.calls.parse` reads calls by it. All occurrences of a type share one tree object, and tools with the same arguments share the tree
after the name: ``(add|multiply)(...)``.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from guided.calls.argument_list import ArgumentList, ArgumentPosition, Slot
from guided.calls.embedded import EmbeddedValues
from guided.calls.formats.format import Format
from guided.calls.formats.texts import BLANKS, any_of, ending, least, part, source, written
from guided.calls.parameters import SEPARABLE, Parameter
from guided.calls.schema import PYTHON, SchemaType, in_notation, list_of, options_in, type_of_schema
from guided.errors import SchemaError, placed, shown, within
from guided.export.spelling import spell_text
from guided.patterns.tree import Graph, Literal, Node, alternate, concat
from guided.schema.formula.atoms import JSON_TYPES, Arguments, Caps, JsonOptions, Notation
from guided.schema.formula.memo import Memo
from guided.schema.frontend.json_values import text_of, value_of
from guided.schema.frontend.location import pointer_to
from guided.schema.strings.notation import is_name
from guided.schema.strings.spelling import DUMPS

__all__ = [
    "after_value",
    "argument_list_of",
    "around",
    "call_tree",
    "check_name",
    "key_end",
    "label_node",
    "least_length",
    "names_node",
    "options_of",
    "read_label",
    "rest_tree",
    "skipped",
]

_LETTERS = frozenset(b"tfn")
_NOTHING = Literal("")
# Names of arguments that are not declared one by one, as ECMA-262 patterns: in formats without tags, in those with quotes, and what no name
# in a tag contains.
_LABELS, _NO_NAME = r"^[A-Za-z_][\w.\-]*$", r'\x00-\x1f\x7f=<>"\\'
_QUOTED_NAMES = rf"^[^{_NO_NAME} ':,{{}}\[\]]+$"
# Documents with a name that would need quotes, or None.
_documents: Memo[tuple[Any, str | None]] = Memo(256)
_QUOTES = "cannot write this name: it needs quotes"


def argument_list_of(tool: str, parameters: Sequence[Parameter], form: Format) -> ArgumentList:
    """Arrange the arguments of a tool in a format.

    Raises
    ------
    SchemaError
        The format cannot write a parameter's name, or its strings.
    """
    check_name(tool, form)
    positional: list[Slot] = []
    keyed: list[Slot] = []
    variadic: Slot | None = None
    # Without keys, every value before a required one is required too.
    needed = [i for i, parameter in enumerate(parameters) if parameter.required and parameter.kind != "keyword"]
    last = max(needed, default=-1)
    for i, parameter in enumerate(parameters):
        pointer = pointer_to(tool, parameter.label)
        if parameter.kind == "whole":
            return ArgumentList((), None, (), _whole(parameter.type, form, pointer_to(tool)))
        kind = parameter.type
        if parameter.kind == "variadic" and not form.is_positional:
            kind = list_of(kind)
        with placed(pointer):
            kind, text = _written_types(kind, form, pointer)
        if form.is_positional and parameter.kind == "variadic":
            variadic = Slot(parameter.label, kind, False)
        elif form.is_positional and parameter.kind != "keyword":
            positional.append(Slot(parameter.label, kind, i <= last))
        else:
            if not form.can_name(parameter.label):
                raise _refused(_QUOTES, form, pointer, "name")
            keyed.append(Slot(parameter.label, kind, parameter.required, text))
    # Values must not begin like a key that may occur in their place.
    firsts = {(form.before_key.lstrip(BLANKS) or slot.label).encode()[0] for slot in keyed}
    for slot in (*positional, *([variadic] if variadic else ())):
        if firsts & (set(slot.type.begins) - _LETTERS):
            reason = "cannot tell this value from the name of the next argument"
            raise _refused(reason, form, pointer_to(tool, slot.label), "name")
    return ArgumentList(tuple(positional), variadic, tuple(keyed))


def check_name(tool: str, form: Format) -> None:
    """Raise SchemaError if a format cannot write the name of a tool."""
    if ":" in tool and not form.has_colons:
        reason = "writes a colon after names, so names must not contain one: rename the tool with Tool(..., name=...)"
        raise _refused(reason, form, pointer_to(tool), "name")


def _whole(kind: SchemaType, form: Format, pointer: str) -> SchemaType:
    """Return the type of all arguments as a format writes them."""
    if form.is_json:
        return _in_any_order(kind) if form.argument_order == "any" else kind
    found = _as_arguments(kind, form)
    declared = kind.document.get("properties", {}) if isinstance(kind.document, dict) else {}
    for label in declared:
        if not form.can_name(label) or not re.search(arguments_of(form).names, label):
            raise _refused(_QUOTES, form, pointer + pointer_to(label), "name")
    # PERF: most tools have required parameters of few types, and a scanner of all takes milliseconds (`python -m benchmarks.call_formats`).
    with within(pointer):
        is_empty = not _has_arguments(kind, form) and found.scanner().is_empty
    if is_empty:
        names = arguments_of(form).names
        by_name = replace(found, arguments=replace(arguments_of(form), names=""))
        if by_name.scanner().is_empty:
            raise _no_value(form, pointer)
        reason = f"cannot write the name of an argument that all values need: names there match {names}"
        raise _refused(reason, form, pointer)
    return found


def _has_arguments(kind: SchemaType, form: Format) -> bool:
    """Return whether each required parameter surely has values that a format writes, and no keyword is about several."""
    document = kind.document
    if kind.pointer or not isinstance(document, dict) or not document.keys() <= SEPARABLE:
        return False
    declared = document.get("properties", {})
    return document.get("type") == "object" and all(
        name in declared
        and _has_argument(
            text_of({"type": "object", "properties": {"a": declared[name]}, "required": ["a"]}), kind.caps, form
        )
        for name in document.get("required", ())
    )


@lru_cache(maxsize=4096)
def _has_argument(text: str, caps: Caps, form: Format) -> bool:
    """Return whether an object has a value, which refers to nothing around it, in a format."""
    if "$" in text:
        return False
    try:
        return _as_arguments(type_of_schema(value_of(text), "", caps), form).has_arguments
    except SchemaError:
        return False


@lru_cache(maxsize=4096)
def _in_any_order(kind: SchemaType) -> SchemaType:
    return replace(kind, any_order=True)


@lru_cache(maxsize=4096)
def _as_arguments(kind: SchemaType, form: Format) -> SchemaType:
    plain = _in_any_order(kind) if form.argument_order == "any" else kind
    return replace(
        plain,
        plain=plain,
        arguments=arguments_of(form),
        notation=form.quotes,
        is_python=form.values == "python",
    )


@lru_cache(maxsize=64)
def arguments_of(form: Format) -> Arguments:
    """Return how a format writes the members of the outermost object.

    If nothing separates a tool's name from the arguments, their first character, and that of the close, is before them.
    """
    skip = skipped(form)
    after, before = ending(form.after_value) if form.values == "raw" and not form.quote else ("", form.after_value)
    reserved = form.reserved
    if form.element:
        after, _, before = form.after_value.partition("{name}")
        before, reserved = before.removeprefix(form.after_key), (*reserved, form.before_key[:-1])
    closes = tuple(text.rstrip(BLANKS) for text in form.texts("close"))
    end, after_key = form.after_key[0], source((form.after_key[1:],), form.id)
    between: tuple[tuple[str, tuple[str, ...]], ...] = ((after_key, ()),)
    if form.has_types:
        keys = {kind: form.after_key[1:].replace("{type}", kind) for kind in JSON_TYPES}
        between = tuple((source((text,), form.id), (kind,)) for kind, text in keys.items())
    elif form.text_key:
        others = tuple(kind for kind in JSON_TYPES if kind != "string")
        between = (source((form.after_text_key[1:],), form.id), ("string",)), (after_key, others)
    no_name = end + "&" * form.has_types + "/" * bool(form.element)
    # In tags, blanks are only within a name.
    tagged = f"^[^{_NO_NAME}{no_name} ](?:[^{_NO_NAME}{no_name}]*[^{_NO_NAME}{no_name} ])?$"
    names = _LABELS if form.values != "raw" else _QUOTED_NAMES if form.quote else tagged
    return Arguments(
        first=source((form.before_key[len(skip) :],), form.id),
        following=source((before + form.separator + form.before_key,), form.id),
        close_first=source(tuple(text[len(skip) :] for text in closes), form.id),
        close=source(tuple(before + text for text in closes), form.id),
        end=end,
        between=between,
        names=names,
        notation=Notation("", after, reserved, "all" if len(between) == 1 else "strings") if after else None,
        item=form.element and source((before + written(form.key, form.element),), form.id),
        inner_close=form.element and source((before + after,), form.id),
        element=form.element,
    )


def skipped(form: Format) -> str:
    """Return the character before all arguments that belongs to the text after a tool's name."""
    return form.before_key[:1] if any(not least(text) for text in form.texts("after_name")) else ""


def options_of(form: Format, caps: Caps) -> JsonOptions:
    """The options of values by schema in a format."""
    return replace(PYTHON, caps=caps) if form.values == "python" else options_in(form.quotes, caps)


def call_tree(inventory: Sequence[tuple[str, ArgumentList]], form: Format, embedded: EmbeddedValues) -> Node:
    """The tree of a call, from before the name to the close. Adds the call's schema values to `embedded`."""
    names: dict[ArgumentList, list[str]] = {}
    for name, argument_list in inventory:
        names.setdefault(argument_list, []).append(name)
    calls: list[Node] = []
    for argument_list, found in names.items():
        embedded.tool = found[0]
        calls.append(concat([names_node(tuple(found)), rest_tree(argument_list, form, embedded)]))
    return concat([any_of(form.texts("before_name"), form.id), alternate(calls)])


def rest_tree(argument_list: ArgumentList, form: Format, embedded: EmbeddedValues) -> Node:
    """The tree of the text after a tool's name, to the close. Adds the call's schema values to `embedded`."""
    before, after = (any_of(texts, form.id) for texts in around(argument_list, form))
    arguments = (
        _arguments(argument_list, form, embedded)
        if argument_list.whole is None
        else embedded.call(argument_list.whole, b"" if argument_list.whole.arguments else b"{")
    )
    return concat([before, arguments, after])


def around(argument_list: ArgumentList, form: Format) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All spellings of the text before the arguments of a call, and of the text after them."""
    before, after = form.texts("after_name"), form.texts("close")
    if argument_list.whole is None:
        return before, after
    if argument_list.whole.arguments is not None:
        skip = skipped(form)
        return tuple(text + skip for text in before), tuple(text[len(text.rstrip(BLANKS)) :] for text in after)
    return tuple(text[:-1] for text in before), tuple(text[1:] for text in after)


def least_length(argument_list: ArgumentList, form: Format) -> int:
    """Length in bytes of the shortest text after a tool's name, where each value counts one."""
    before, after = (min(len(least(text).encode()) for text in texts) for texts in around(argument_list, form))
    if argument_list.whole is not None:
        is_written = argument_list.whole.arguments is not None
        return before + (min(len(least(text)) for text in form.texts("close")) if is_written else 1) + after
    lengths = []
    for number, slot in enumerate(argument_list.slots):
        if slot.required:
            text = least(form.after_value)
            if number >= argument_list.first_key:
                text += (
                    least(form.before_key) + slot.label + least(form.after_text_key if slot.is_text else form.after_key)
                )
            lengths.append(1 + len(text.encode()))
    return before + sum(lengths) + max(len(lengths) - 1, 0) * len(least(form.separator).encode()) + after


def _arguments(argument_list: ArgumentList, form: Format, embedded: EmbeddedValues) -> Node:
    """The arguments, in the order of `ArgumentList.steps`."""

    def spelled(slot: Slot, position: ArgumentPosition) -> Node:
        if position.at < argument_list.first_key:
            return _value(slot, form, embedded, is_beside_keys=bool(argument_list.keyed))
        before, label = part(form.before_key), label_node((slot.label,), form.is_quoted)
        values = [concat([key_end(one, form), _value(one, form, embedded, is_beside_keys=False)]) for one in slot.kinds]
        return concat([before, label, alternate(values)])

    points = {argument_list.start: 0}
    edges: list[tuple[int, Node, int]] = []
    # A point before each argument, and one before its separator; point 1 is the end.
    n_points = 2
    before: dict[int, int] = {}
    work = [argument_list.start]
    for position in work:
        ways = argument_list.steps(position)
        for slot, after in ways:
            if after not in points:
                points[after] = n_points
                n_points += 1
                work.append(after)
            if slot is None:
                edges.append((points[position], _NOTHING, points[after]))
                continue
            if position.at not in before:
                before[position.at] = n_points
                n_points += 1
                edges.append((before[position.at], spelled(slot, position), points[after]))
            edges.append(
                (points[position], _NOTHING if position.is_first else part(form.separator), before[position.at])
            )
        if not ways:
            edges.append((points[position], _NOTHING, 1))
    return Graph(tuple(edges), n_points)


def key_end(slot: Slot, form: Format) -> Node:
    """The text between a parameter's name and a value of the given kind."""
    return part(form.after_text_key if slot.is_text else form.after_key)


def _value(slot: Slot, form: Format, embedded: EmbeddedValues, is_beside_keys: bool) -> Node:
    """A value and the text after it."""
    value = _spelled(slot, form.has_plus, embedded, is_beside_keys)
    after = after_value(slot, form)
    return concat([value, part(after)]) if after else value


def after_value(slot: Slot, form: Format) -> str:
    """The text after a value, without what belongs to a value in a notation."""
    return ending(form.after_value)[1] if slot.type.closing else form.after_value


def _spelled(slot: Slot, has_plus: bool, embedded: EmbeddedValues, is_beside_keys: bool) -> Node:
    """A value. If a key may occur in its place, the words of JSON become literals, since a key may begin like one."""
    kind = slot.type
    begins = kind.begins if has_plus or is_beside_keys else b""
    nodes: list[Node] = [embedded.call(kind, label=slot.label)]
    if is_beside_keys and kind.words:
        rest = bytes(byte for byte in begins if byte not in _LETTERS)
        nodes = [embedded.call(kind, rest, slot.label)] if rest else []
        nodes += map(Literal, kind.words)
    digits = bytes(byte for byte in begins if byte in b"0123456789")
    if has_plus and digits:
        nodes.append(concat([Literal("+"), embedded.call(kind, digits, slot.label)]))
    return alternate(nodes)


@lru_cache(maxsize=256)
def names_node(names: tuple[str, ...]) -> Node:
    """The alternatives of tool names."""
    return alternate(Literal(name) for name in names)


@lru_cache(maxsize=4096)
def label_node(labels: tuple[str, ...], is_quoted: bool) -> Node:
    """The alternatives of parameter names as a format writes them: bare, or escaped as in a JSON string."""
    return alternate(spell_text(label, DUMPS) if is_quoted else Literal(label) for label in labels)


def read_label(spelling: str, is_quoted: bool) -> str:
    """Decode a spelling to the parameter name."""
    return str(json.loads(f'"{spelling}"')) if is_quoted else spelling


def _written_types(kind: SchemaType, form: Format, pointer: str) -> tuple[SchemaType, SchemaType | None]:
    """The type as a format writes it, and the type of its strings if the format gives them a key of their own.

    A raw string must not contain its delimiter; if a text can be both a
    string and another value, it is read as the other value: for ``str | None``, ``null`` is None.
    """
    if form.values == "python":
        return in_notation(kind, is_python=True), None
    if form.values != "raw" or (not form.quote and ord('"') not in kind.begins):
        return kind, None
    notation = form.quotes or Notation("", ending(form.after_value)[0], form.reserved)
    if not form.text_key:
        return _raw(kind, notation, form, pointer), None
    text = _raw(kind, replace(notation, part="strings"), form, pointer)
    return (text if kind.begins == b'"' else _raw(kind, replace(notation, part="others"), form, pointer)), text


def _raw(kind: SchemaType, notation: Notation, form: Format, pointer: str) -> SchemaType:
    found = in_notation(kind, notation=notation)
    name = _unwritten(kind.document) if form.quote else None
    if name is not None:
        raise _refused(f"cannot write the name {shown(name)} of a member", form, pointer)
    with within(pointer):
        is_empty = found.scanner().is_empty
    if is_empty:
        raise _no_value(form, pointer)
    return found


def _unwritten(document: Any) -> str | None:
    """Return a name of a member that a schema declares and that would need quotes; None if there is none."""
    found = _documents.get(id(document))
    if found is None:
        name = next((name for name in _names(document) if not is_name(name)), None)
        found = _documents.put(id(document), (document, name))
    return found[1]


def _names(document: Any) -> Iterator[str]:
    """Yield the names of members that a schema declares."""
    work = [document]
    for item in work:  # grows during iteration
        if isinstance(item, Mapping):
            declared = item.get("properties")
            yield from declared if isinstance(declared, Mapping) else ()
            work.extend(item.values())
        elif isinstance(item, list | tuple):
            work.extend(item)


def _no_value(form: Format, pointer: str) -> SchemaError:
    """The error of a type all of whose values have a string that a format cannot write."""
    texts = " or ".join(map(repr, (form.quote or ending(form.after_value.partition("{name}")[0])[0], *form.reserved)))
    return _refused(f"cannot write any value of this type: no string there contains {texts}", form, pointer)


def _refused(reason: str, form: Format, pointer: str, keyword: str = "types") -> SchemaError:
    return SchemaError(f"format {form.name!r} {reason}", pointer, keyword)
