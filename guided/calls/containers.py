"""Composite types: arrays, tuples, mappings, records, unions, and any JSON, all with bounded nesting.

A regular language has bounded nesting: arrays and objects nest at most `MAX_NESTING` deep in one argument. Records have their fields in one
order, optional ones present or not, and no others, so their keys are unique. Mappings have arbitrary keys, and a regular language cannot
detect duplicates: the last one wins, as in `json.loads`, and a minimum above 1 is rejected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guided.calls.scalars import boolean, null, number, text
from guided.calls.strings import any_text
from guided.calls.values import COLON, COMMA, ValueType, constant
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, alternate, concat, optional, repeat

__all__ = [
    "MAX_NESTING",
    "Field",
    "anything",
    "array",
    "fixed",
    "following",
    "in_order",
    "mapping",
    "record",
    "union",
    "with_description",
]

MAX_NESTING = 3


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record.

    Attributes
    ----------
    name : str
        The key.
    type : ValueType
        Type of its value.
    required : bool
        Whether the field must be present.
    description : str
        Text for models and people; may be empty.
    """

    name: str
    type: ValueType
    required: bool
    description: str = ""


def in_order(items: Sequence[tuple[Node, bool]], separator: Node) -> Node:
    """Concatenate items in order with separators; items that are not required may be missing.

    Notes
    -----
    O(n) nodes if an item is required, otherwise O(n log n).
    """
    first = next((i for i, (_, required) in enumerate(items) if required), None)
    if first is None:
        return optional(_some([node for node, _ in items], separator)) if items else Literal("")
    leading = [optional(concat([node, separator])) for node, _ in items[:first]]
    return concat([*leading, items[first][0], *following(items[first + 1 :], separator)])


def following(items: Sequence[tuple[Node, bool]], separator: Node) -> list[Node]:
    """The items in order, each after a separator."""
    pairs = [(concat([separator, node]), required) for node, required in items]
    return [node if required else optional(node) for node, required in pairs]


def _some(items: Sequence[Node], separator: Node) -> Node:
    """At least one of the items, in order."""
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    rest = following([(node, False) for node in items[half:]], separator)
    return alternate([concat([_some(items[:half], separator), *rest]), _some(items[half:], separator)])


@lru_cache(maxsize=4096)
def array(
    item: ValueType, minimum: int, maximum: int | None, build: Callable[[list[Any]], Any], name: str
) -> ValueType:
    """Return the type of arrays of ``minimum`` to ``maximum`` items of one type.

    Parameters
    ----------
    build : callable
        List of decoded items -> Python value.
    name : str
        For display.
    """

    def decode(value: Any) -> Any:
        if type(value) is not list or len(value) < minimum or (maximum is not None and len(value) > maximum):
            raise ValueError(f"{value!r} is not a valid {name}")
        return build([item.decode(element) for element in value])

    node = concat([Literal("["), _repeated(item.node, minimum, maximum), Literal("]")])
    schema = {"type": "array", "items": item.schema} | _bounds("Items", minimum, maximum)
    return ValueType(name, node, decode, item.depth + 1, schema=schema)


@lru_cache(maxsize=4096)
def fixed(items: tuple[ValueType, ...], build: Callable[[list[Any]], Any], name: str) -> ValueType:
    """Return the type of arrays with one item of each type.

    Parameters
    ----------
    build : callable
        List of decoded items -> Python value.
    name : str
        For display.
    """

    def decode(value: Any) -> Any:
        if type(value) is not list or len(value) != len(items):
            raise ValueError(f"{value!r} is not a valid {name}")
        return build([item.decode(element) for item, element in zip(items, value, strict=True)])

    node = concat([Literal("["), in_order([(item.node, True) for item in items], COMMA), Literal("]")])
    schema = {"type": "array", "prefixItems": [item.schema for item in items]} | _bounds(
        "Items", len(items), len(items)
    )
    return ValueType(name, node, decode, 1 + _deepest(items), schema=schema)


@lru_cache(maxsize=4096)
def mapping(key: ValueType, value: ValueType, minimum: int = 0, maximum: int | None = None) -> ValueType:
    """Return the type of objects with any keys of one type and values of another.

    Parameters
    ----------
    key : ValueType
        All of its spellings must be strings.
    minimum : int
        0 or 1: equal keys are one entry, so larger minimums cannot be checked.
    """

    def decode(found: Any) -> dict[Any, Any]:
        if type(found) is not dict or len(found) < minimum or (maximum is not None and len(found) > maximum):
            raise ValueError(f"{found!r} is not a valid {name}")
        return {key.decode(name): value.decode(item) for name, item in found.items()}

    name = f"dict[{key.name}, {value.name}]"
    entry = concat([key.node, COLON, value.node])
    node = concat([Literal("{"), _repeated(entry, minimum, maximum), Literal("}")])
    schema = {"type": "object", "additionalProperties": value.schema} | _bounds("Properties", minimum, maximum)
    if key.schema != {"type": "string"}:
        schema["propertyNames"] = key.schema
    return ValueType(name, node, decode, value.depth + 1, schema=schema)


@lru_cache(maxsize=4096)
def record(fields: tuple[Field, ...], build: Callable[[dict[str, Any]], Any], name: str) -> ValueType:
    """Return the type of objects with fields in a fixed order.

    Parameters
    ----------
    build : callable
        Decoded values by key -> Python value; may raise ValueError.
    name : str
        For display.
    """
    types = {field.name: field.type for field in fields}
    required = {field.name for field in fields if field.required}

    def decode(value: Any) -> Any:
        if type(value) is not dict or not required <= value.keys() <= types.keys():
            raise ValueError(f"{value!r} is not a valid {name}")
        return build({key: types[key].decode(item) for key, item in value.items()})

    entries = [(concat([constant(field.name), COLON, field.type.node]), field.required) for field in fields]
    node = concat([Literal("{"), in_order(entries, COMMA), Literal("}")])
    schema = {
        "type": "object",
        "properties": {field.name: with_description(field.type.schema, field.description) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": False,
    }
    return ValueType(name, node, decode, 1 + _deepest([field.type for field in fields]), schema=schema)


def with_description(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return a schema with a description, if not empty."""
    return {**schema, "description": description} if description else dict(schema)


@lru_cache(maxsize=4096)
def union(members: tuple[ValueType, ...]) -> ValueType:
    """Return the union of several types; a value of several members is decoded by the first of them."""
    name = " | ".join(member.name for member in members)

    def decode(value: Any) -> Any:
        for member in members:
            try:
                return member.decode(value)
            except ValueError:
                continue
        raise ValueError(f"{value!r} is not a valid {name}")

    is_string = all(member.is_string for member in members)
    strings = [member.strings for member in members if member.strings is not None]
    parts = [member.node if member.strings is None else member.others for member in members]
    others = [part for part in parts if part is not None]
    return ValueType(
        name,
        alternate([member.node for member in members]),
        decode,
        _deepest(members),
        is_string,
        strings=alternate(strings) if strings else None,
        others=alternate(others) if strings and others else None,
        schema={"anyOf": [member.schema for member in members]},
    )


@lru_cache(maxsize=8)
def anything(depth: int) -> ValueType:
    """Return the type of any JSON value whose arrays and objects nest at most ``depth`` deep."""
    scalars = (null(), boolean(), number(), text())
    node: Node = alternate([scalar.node for scalar in scalars])
    leaf = node
    for _ in range(depth):
        items = _repeated(node, 0, None)
        entries = _repeated(concat([text().node, COLON, node]), 0, None)
        node = alternate(
            [leaf, concat([Literal("["), items, Literal("]")]), concat([Literal("{"), entries, Literal("}")])]
        )
    return ValueType("Any", node, _as_it_is, depth, strings=any_text(), others=node)


def _as_it_is(value: Any) -> Any:
    return value


def _repeated(item: Node, minimum: int, maximum: int | None) -> Node:
    """``minimum`` to ``maximum`` items with commas between them."""
    if maximum == 0:
        return Literal("") if minimum == 0 else Chars(Charset.EMPTY)
    rest = repeat(concat([COMMA, item]), max(minimum - 1, 0), None if maximum is None else maximum - 1)
    some = concat([item, rest])
    return some if minimum else optional(some)


def _bounds(of: str, minimum: int, maximum: int | None) -> dict[str, Any]:
    """The keywords of JSON Schema for the number of items or properties."""
    found = {f"min{of}": minimum or None, f"max{of}": maximum}
    return {keyword: bound for keyword, bound in found.items() if bound is not None}


def _deepest(types: Sequence[ValueType]) -> int:
    return max((member.depth for member in types), default=0)
