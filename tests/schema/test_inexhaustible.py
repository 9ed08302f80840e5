"""Items that must differ, where a token goes on from one to the next: it may come where its bytes may, one after the other."""

import random
from typing import Any

import pytest

from guided.index.pushdown import PushdownIndex
from guided.vocabulary.vocabulary import Vocabulary
from tests.schema.engine import BYTES, compiled

_TEXT = {"type": "string"}
_FEW = {"type": "object", "properties": {"a": _TEXT, "b": {"const": 1}}, "additionalProperties": False}
ITEMS: dict[str, Any] = {
    "any": {},
    "integers": {"type": "integer"},
    "positive": {"type": "integer", "minimum": 1},
    "numbers": {"type": "number"},
    "strings": _TEXT,
    "words": {"type": "string", "minLength": 2},
    "short": {"type": "string", "maxLength": 2},
    "letters": {"type": "string", "pattern": "^[ab]?$"},
    "literals": {"type": ["boolean", "null"]},
    "mixed": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "null"}, "maxItems": 1}, _TEXT]},
    "arrays": {"type": "array", "items": _TEXT, "minItems": 1},
    "empty": {"const": []},
    "nothing in": {"type": ["array", "object"], "maxItems": 0, "maxProperties": 0},
    "pairs": {"type": "array", "items": {"const": 1}, "maxItems": 1},
    "nested": {"type": "array", "items": {"type": "array", "items": {"enum": ["a", 0]}, "maxItems": 2}, "maxItems": 2},
    "open": {"type": "object", "properties": {"b": {"const": 1}}},
    "closed": _FEW,
    "one member": {**_FEW, "maxProperties": 1},
    "one of two": {"oneOf": [_FEW, {"type": "object", "required": ["c"], "maxProperties": 2}]},
    "inner": {"type": "object", "properties": {"a": _FEW}, "required": ["a"], "additionalProperties": False},
    "named": {"type": "object", "propertyNames": {"pattern": "^b"}},
    "many or none": {"anyOf": [{"type": "string"}, {"type": "object", "maxProperties": 0}]},
    "words or any": {"type": ["string", "object"], "pattern": "^[ab]*$", "minLength": 1},
    "zeros": {"type": "object", "properties": {"b": {"type": "integer"}}, "additionalProperties": False, "minProperties": 1},
}  # fmt: skip
ARRAYS: dict[str, Any] = {
    "two that are equal": {"type": "array", "maxItems": 2, "not": {"uniqueItems": True}},
    "three of which two are": {"type": "array", "maxItems": 3, "items": _TEXT, "not": {"uniqueItems": True}},
    "one of the two": {"oneOf": [{"type": "array", "uniqueItems": True}, {"type": "array", "maxItems": 2, "items": _TEXT}]},
    "either": {"type": "array", "if": {"uniqueItems": True}, "then": {"maxItems": 3}},
    "short or different": {"type": "array", "items": _TEXT, "anyOf": [{"uniqueItems": True}, {"maxItems": 3}]},
    "different before": {"type": "array", "prefixItems": [{}, {}, {"enum": ["a", "b"]}], "uniqueItems": True, "minItems": 3},
    "contained": {"type": "array", "contains": {"enum": ["a", "b"]}, "minContains": 2, "uniqueItems": True},
    "within": {"type": "array", "items": {"type": "array", "contains": {"type": "string"}}, "uniqueItems": True},
    "observed": {"anyOf": [{"type": "array", "uniqueItems": True, "items": _TEXT}, {"type": "array", "contains": {"const": 1}}]},
}  # fmt: skip
TEXTS = [
    '[0,0,00,0e1,-0.0,1e-1,10,1]', '["a","ab","a","","b"]', '[true,null,true,"x",[null],[null],[]]', '[[1],[1],[],["a",0],["a"]]',
    '[{"b":1},{"b":1},{"a":"x","b":1},{"b":0},{}]', '[{"a":{"b":1}},{"a":{"b":1}},{"a":{"a":"x"}},{"a":{"a":"x"}}]',
    '[{"b":1,"a":"x"},{"a":"x","b":1},{"c":1,"d":0},{"c":1}]', '[[[0],["a"]],[[0],["a"]],[[0,"a"]]]',
    '[[],{},[]]', '[{},[],{}]', '[[],[]]', '["a","a"]', '["a","b","a"]', '["b",1,"a","a","b"]',
]  # fmt: skip


def _pieces(draw: random.Random) -> list[bytes]:
    """What stands between two items of the texts, and some more of both."""
    found = set()
    for text in TEXTS:
        for comma in (place for place, letter in enumerate(text) if letter == ","):
            found.update(text[max(comma - draw.randrange(6), 0) : comma + 1 + n].encode() for n in range(9))
    spaced = [one.replace(letter, letter + blank) for one in found for letter, blank in ((b",", b" "), (b"{", b"\n  "))]
    return sorted(found.union(spaced))


PIECES = _pieces(random.Random(1))
VOCABULARY = Vocabulary([*(bytes([value]) for value in range(256)), *PIECES, None], eos=[256 + len(PIECES)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("numbers", "order", "whitespace"), [("plain", "schema", "compact"), ("any", "any", "flexible")]
)
@pytest.mark.parametrize("name", ITEMS)
def test_tokens_across_items_are_allowed_if_their_bytes_are(
    name: str, numbers: str, order: str, whitespace: str
) -> None:
    _check({"type": "array", "items": ITEMS[name], "uniqueItems": True}, numbers, order, whitespace)


@pytest.mark.parametrize("name", ARRAYS)
def test_tokens_across_items_of_which_some_may_have_to_differ(name: str) -> None:
    _check(ARRAYS[name])


def _check(schema: dict[str, Any], numbers: str = "plain", order: str = "schema", whitespace: str = "flexible") -> None:
    options = {"whitespace": whitespace, "numbers": numbers, "property_order": order}
    index, single = (compiled(schema, vocabulary, **options).tables for vocabulary in (VOCABULARY, BYTES))
    assert isinstance(index, PushdownIndex)
    assert isinstance(single, PushdownIndex)
    for text in TEXTS:
        here, there = index.initial, single.initial
        for byte in text.encode():
            mask = index.mask(here)
            for token, piece in enumerate(PIECES, 256):
                is_allowed = bool(mask[token >> 5] >> (token & 31) & 1)
                _, count = single.trace(there, piece)
                assert is_allowed == (count == len(piece)), (text, piece)
            here, there = index.next(here, byte), single.next(there, byte)
            if here < 0:
                break
