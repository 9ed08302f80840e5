"""Schemas that an attacker might send, and their price: ``python -m tests.schema.hostile NAME...`` prints what came of each.

A line is JSON: name, outcome (index, SchemaError, LimitError, TypeError), pointer, keyword, CPU seconds, and megabytes of the peak beyond
what the process had before.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from guided.cli.warmup import warm
from guided.errors import LimitError, SchemaError
from tests.hostile_specs import megabytes_of
from tests.schema.engine import compiled

__all__ = ["SCHEMAS"]


def _nested(key: str, depth: int, wrap: Callable[[Any], Any] = lambda inner: inner) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {key: wrap(schema)}
    return schema


def _one(inner: Any) -> Any:
    return [inner]


def _named(inner: Any) -> Any:
    return {"a": inner}


def _deep_value(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _itself() -> Any:
    value: list[Any] = []
    value += [value, value]
    return value


def _doubled(times: int) -> Any:
    value: Any = [1]
    for _ in range(times):
        value = [value, value]
    return value


def _product(outer: str, inner: str, count: int, width: int) -> Any:
    return {
        outer: [
            {inner: [{"properties": {f"p{i}_{j}": {"const": j}}, "required": [f"p{i}_{j}"]} for j in range(width)]}
            for i in range(count)
        ]
    }


def _chain(count: int) -> Any:
    definitions: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(count)}
    definitions[f"d{count}"] = {"type": "string"}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def _clauses(names: int, count: int) -> Any:
    """Propositional logic: a name comes or does not."""
    draw = random.Random(3)

    def literal() -> Any:
        wanted = {"required": [f"v{draw.randrange(names)}"]}
        return wanted if draw.random() < 0.5 else {"not": wanted}

    return {"type": "object", "allOf": [{"anyOf": [literal() for _ in range(3)]} for _ in range(count)]}


def _pigeons(holes: int) -> Any:
    everywhere = [{"anyOf": [{"required": [f"{p} {h}"]} for h in range(holes)]} for p in range(holes + 1)]
    alone = [
        {"not": {"required": [f"{p} {h}", f"{q} {h}"]}}
        for h in range(holes)
        for p in range(holes + 1)
        for q in range(p)
    ]
    return {"type": "object", "allOf": everywhere + alone}


SCHEMAS: dict[str, Callable[[], Any]] = {
    "10,000 levels of items": lambda: _nested("items", 10_000),
    "10,000 levels of properties": lambda: _nested("properties", 10_000, _named),
    "10,000 levels of allOf": lambda: _nested("allOf", 10_000, _one),
    "10,000 levels of anyOf": lambda: _nested("anyOf", 10_000, _one),
    "10,000 levels of not": lambda: _nested("not", 10_000),
    "10,000 levels of contains": lambda: _nested("contains", 10_000),
    "10,000 levels of propertyNames": lambda: _nested("propertyNames", 10_000),
    "a constant of 10,000 levels": lambda: {"const": _deep_value(10_000)},
    "10,000 levels of JSON text": lambda: '{"items":' * 10_000 + "{}" + "}" * 10_000,
    "1,000 levels of items": lambda: _nested("items", 1_000),
    "a constant within itself": lambda: {"const": _itself()},
    "a constant in 2^60 places": lambda: {"const": _doubled(60)},
    "an enum of 100,000 strings": lambda: {"enum": [f"value {i}" for i in range(100_000)]},
    "an enum of 100,000 numbers": lambda: {"enum": list(range(100_000))},
    "an enum of 10,000 objects": lambda: {"enum": [{"a": i, "b": [i]} for i in range(10_000)]},
    "an enum of 20,000 objects of three members": lambda: {
        "enum": [{"id": i, "name": f"thing {i}", "tags": [i % 7, "x"]} for i in range(20_000)]
    },
    "an enum of 20,000 objects and other conditions": lambda: {
        "enum": [{"a": i, "b": [i]} for i in range(20_000)],
        "properties": {"a": {"minimum": 3}},
    },
    "100,000 properties": lambda: {"properties": {f"p{i}": {"type": "string"} for i in range(100_000)}},
    "1,000 optional properties": lambda: {
        "properties": {f"p{i}": {} for i in range(1_000)},
        "additionalProperties": False,
    },
    "1,000 required properties": lambda: {
        "properties": {f"p{i}": {} for i in range(1_000)},
        "required": [f"p{i}" for i in range(1_000)],
    },
    "1,000 patterns": lambda: {"patternProperties": {f"^a{{{i}}}b": {"maxLength": i} for i in range(1_000)}},
    "allOf of 12 anyOf of 4": lambda: _product("allOf", "anyOf", 12, 4),
    "anyOf of 12 allOf of 4": lambda: _product("anyOf", "allOf", 12, 4),
    "oneOf of 12 oneOf of 4": lambda: _product("oneOf", "oneOf", 12, 4),
    "640 clauses of 150 names": lambda: _clauses(150, 640),
    "10 pigeons in 9 holes": lambda: _pigeons(9),
    "10 items in 9 places": lambda: {
        "maxItems": 9,
        "type": "array",
        "allOf": [
            {"contains": {"type": "object", "properties": {"a": {"const": i}}, "required": ["a"]}} for i in range(10)
        ],
    },
    "allOf of 20 not": lambda: {"allOf": [{"not": {"required": [f"a{i}", f"b{i}"]}} for i in range(20)]},
    "allOf of 12 contains": lambda: {"allOf": [{"contains": {"const": i}} for i in range(12)]},
    "allOf of 30 patterns": lambda: {"allOf": [{"pattern": f"a.{{{i}}}b"} for i in range(30)]},
    "allOf of 100 multiples": lambda: {"allOf": [{"multipleOf": i} for i in range(2, 102)]},
    "a contradiction": lambda: {"type": "string", "allOf": [{"type": "number"}]},
    "a contradiction of bounds": lambda: {"type": "number", "minimum": 3, "maximum": 2},
    "a contradiction far down": lambda: {
        "type": "array",
        "minItems": 1,
        "items": {"type": "object", "required": ["a"], "maxProperties": 0},
    },
    "not anything": lambda: {"not": {}},
    "false": lambda: False,
    "a reference to itself": lambda: {"$ref": "#"},
    "references in a circle": lambda: {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "itself in allOf": lambda: {"allOf": [{"$ref": "#"}, {"type": "string"}]},
    "itself under not": lambda: {"not": {"$ref": "#"}},
    "recursion without base": lambda: {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "2^60 references": lambda: _chain(60),
    "a pattern bomb": lambda: {"pattern": "^(?:(?:(?:a{1,100}){1,100}){1,100}){1,100}$"},
    "a pattern of states": lambda: {"pattern": "(a|b)*a(a|b){40}c"},
    "a pattern of assertions": lambda: {"pattern": "".join(f"(?=.*a.{{{i}}}b)" for i in range(30))},
    "a pattern of 1,000,000 letters": lambda: {"pattern": "a" * 1_000_000},
    "a pattern of 10,000 groups": lambda: {"pattern": "(" * 10_000 + ")" * 10_000},
    "a length of 10^9": lambda: {"type": "string", "minLength": 10**9, "maxLength": 10**9},
    "a length of 10^300": lambda: {"minLength": 10**300},
    "10^9 items": lambda: {"minItems": 10**9, "items": {"minItems": 10**9}},
    "10^9 properties": lambda: {"minProperties": 10**9},
    "contains 10^9 times": lambda: {"contains": {"const": 1}, "minContains": 10**9},
    "pattern and length of 10^6": lambda: {"pattern": "^(ab|c)*$", "minLength": 10**6, "maxLength": 10**6 + 1},
    "NUL everywhere": lambda: {
        "properties": {"\0": {"const": "\0"}},
        "required": ["\0"],
        "additionalProperties": False,
    },
    "lone surrogates": lambda: {"properties": {"\ud800": {"const": "\udc00"}}, "required": ["\ud800"]},
    "a lone surrogate in an enum": lambda: {"enum": ["\ud800", "a"]},
    "a lone surrogate in a pattern": lambda: {"pattern": "\ud800"},
    "a bound of 1e308": lambda: {"minimum": 1e308, "maximum": 1.7e308},
    "a multiple of 1e-308": lambda: {"multipleOf": 1e-308},
    "a multiple of a large prime": lambda: {"type": "integer", "multipleOf": 1_000_000_007},
    "a bound of 10,000 digits": lambda: {"minimum": 10**10_000 + 1},
    "infinity": lambda: {"minimum": float("inf")},
    "not a number": lambda: {"const": float("nan")},
    "1e999999999 in JSON text": lambda: '{"minimum": 1e999999999}',
    "10 MB of properties": lambda: {"properties": {f"{'p' * 90}{i}": {} for i in range(100_000)}},
    "10 MB of description": lambda: {"description": "x" * 10_000_000},
    "10 MB of JSON text": lambda: '{"enum": [' + ",".join(f'"{i:090}"' for i in range(100_000)) + "]}",
    "10 MB of brackets": lambda: "[" * 10_000_000,
    "keys of all kinds": lambda: {"properties": {"": {}, " ": {}, "\u2028": {}, '"': {}, "\\": {}, "😀": {}}},
    "a schema that is a list": list,
    "a schema that is text": lambda: "}",
    "wrong kinds": lambda: {"properties": {"a": 3}, "required": {"b": 1}, "type": 7, "items": "x"},
    "names that are no text": lambda: {1: {}, None: {}},
}


def outcome(name: str) -> dict[str, Any]:
    """What comes of one schema."""
    schema = SCHEMAS[name]()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before, begin = megabytes_of("VmRSS"), time.process_time()
    told: dict[str, Any] = {"outcome": "index"}
    try:
        guide = compiled(schema).guide()
        # Why: what is put off until a text comes is part of the price.
        for _ in range(20):
            allowed = [token for token in range(256) if guide.mask()[token >> 5] >> (token & 31) & 1]
            if not allowed:
                break
            guide.advance(allowed[0])
    except SchemaError as error:
        told = {
            "outcome": "SchemaError",
            "pointer": error.pointer[:200],
            "keyword": error.keyword,
            "reason": error.reason[:200],
        }
    except LimitError as error:
        told = {"outcome": "LimitError", "what": error.what, "message": str(error)[:200]}
    except TypeError as error:
        told = {"outcome": "TypeError", "message": str(error)[:200]}
    return {"name": name} | told | {"seconds": time.process_time() - begin, "megabytes": megabytes_of("VmHWM") - before}


def main() -> None:
    warm(lambda _: None)  # Why: what a first process on a machine compiles is not the schema's price
    for name in sys.argv[1:]:
        print(json.dumps(outcome(name)), flush=True)


if __name__ == "__main__":
    main()
