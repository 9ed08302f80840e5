"""`JsonSchema(engine="lalr")`: the Lark grammar of a schema on the engine of Lark grammars, beside the default engine."""

import json
from typing import Any

import numpy as np
import pytest

import guided
from guided.errors import SchemaError

BYTES = guided.Vocabulary(
    [bytes([byte]) for byte in range(256)] + [b'{"', b'":', b"],", b"true", b'"}', None], eos=[261]
)
SCHEMAS: dict[str, Any] = {
    "object": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y", None]}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "recursion": {"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "boolean"}]}},
    "string": {"type": "string", "pattern": "^[a-c]{2,3}$"},
    "choice": {"oneOf": [{"const": 1}, {"type": "array", "items": {"type": "null"}, "maxItems": 2}]},
}
TEXTS = (
    "{}", '{"a": 1}', '{"a": 1, "b": "x"}', '{"a": 1, "b": null}', '{"a": 1, "b": "z"}', '{"b": "x"}', "[]", "[[], [true]]", "[1]",
    '"ab"', '"abcd"', "1", "2", "[null]", "[null, null, null]", '{"a": 1',
)  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_both_engines_accept_the_same(name: str) -> None:
    nested, lalr = (
        guided.compile(guided.JsonSchema(SCHEMAS[name], engine=engine), BYTES) for engine in ("nested", "lalr")
    )
    assert nested.spec_fingerprint != lalr.spec_fingerprint
    found = [text for text in TEXTS if lalr.accepts(text.encode())]
    assert found == [text for text in TEXTS if nested.accepts(text.encode())]
    assert found
    for text in found:
        state, other = nested.initial, lalr.initial
        for byte in text.encode():
            assert np.array_equal(nested.mask(state), lalr.mask(other)), (text, byte)
            state, other = nested.next(state, byte), lalr.next(other, byte)


def test_saved_and_loaded(tmp_path: Any) -> None:
    spec = guided.JsonSchema(SCHEMAS["object"], engine="lalr")
    guided.compile(spec, BYTES).save(tmp_path / "index")
    loaded = guided.load_index(tmp_path / "index", BYTES)
    assert loaded.spec_fingerprint == spec.fingerprint
    assert loaded.accepts(b'{"a": 2}')


def test_specs_without_a_grammar_are_refused() -> None:
    with pytest.raises(SchemaError, match="uniqueItems"):
        guided.compile(guided.JsonSchema({"type": "array", "uniqueItems": True}, engine="lalr"), BYTES)
    with pytest.raises(ValueError, match="engine must be"):
        guided.JsonSchema({}, engine="earley")  # type: ignore[arg-type]


def test_values_are_read_as_by_default() -> None:
    assert guided.JsonSchema(SCHEMAS["object"], engine="lalr").read('{"a": 1}') == json.loads('{"a": 1}')
