"""Deep and mutually recursive schemas: an index that is right or a typed error, whatever the caller's stack has left."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import GuidedError
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples

T = TypeVar("T")
# Of all calls for one schema.
# A completion of so many tokens is followed to its end in the tests of one schema, and in those of random schemas: `mask_within` takes
# 0.1 s a token in schemas of 60 levels.
LONGEST = 5_000
LONGEST_OF_RANDOM = 150
VOCABULARY = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)

# Keyword -> a schema around another. Most need a value of it: then the depth of the schema is the depth of every value.
WRAPS: dict[str, Callable[[Any], Any]] = {
    "allOf": lambda inner: {"allOf": [inner, {"minLength": 0}]},
    "anyOf": lambda inner: {"anyOf": [inner, {"type": "null"}]},
    "oneOf": lambda inner: {"oneOf": [inner, {"type": "null"}]},
    "not": lambda inner: {"not": inner},
    "if": lambda inner: {"if": inner, "then": {"minLength": 1}, "else": {"type": "number"}},
    "then": lambda inner: {"if": {"type": "string"}, "then": inner},
    "else": lambda inner: {"if": {"type": "number"}, "else": inner},
    "items": lambda inner: {"type": "array", "items": inner, "minItems": 1},
    "optional items": lambda inner: {"type": "array", "items": inner},
    "prefixItems": lambda inner: {"type": "array", "prefixItems": [inner], "minItems": 1, "items": False},
    "contains": lambda inner: {"type": "array", "contains": inner},
    "not contains": lambda inner: {"type": "array", "not": {"contains": inner}},
    "unevaluatedItems": lambda inner: {"type": "array", "unevaluatedItems": inner, "minItems": 1},
    "properties": lambda inner: {"type": "object", "properties": {"a": inner}, "required": ["a"]},
    "not properties": lambda inner: {"not": {"properties": {"a": inner}}},
    "additionalProperties": lambda inner: {"type": "object", "additionalProperties": inner, "minProperties": 1},
    "patternProperties": lambda inner: {"patternProperties": {"^a": inner}, "required": ["ab"], "type": "object"},
    "propertyNames": lambda inner: {"propertyNames": inner, "minProperties": 1},
    "dependentSchemas": lambda inner: {"dependentSchemas": {"a": inner}, "required": ["a"]},
    "unevaluatedProperties": lambda inner: {"type": "object", "unevaluatedProperties": inner, "minProperties": 1},
}
INSTANCES = [None, 0, "", "a", [], [0], [[]], [["a"]], {}, {"a": 0}, {"a": {}}, {"a": {"a": "a"}}, {"ab": [0]}]


def deep(frames: int, run: Callable[[], T]) -> T:
    """Run with so many frames of the caller on the stack."""
    return run() if frames == 0 else deep(frames - 1, run)


def chain(wrap: Callable[[Any], Any], depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


def referred(levels: list[Any]) -> Any:
    """A schema of definitions, of which each level may refer to others."""
    return {"$ref": "#/$defs/0", "$defs": {str(i): level for i, level in enumerate(levels)}}


def complete(index: Index, longest: int) -> bytes:
    """A text of the language, by the tokens that leave one within reach; every call on the way may raise only typed errors."""
    guide = index.guide()
    text = b""
    while not guide.is_accepting:
        left = guide.remaining
        if left > longest:
            break
        tokens = np.flatnonzero(np.unpackbits(guide.mask_within(left).view(np.uint8), bitorder="little"))
        assert np.isin(tokens, index.allowed(guide.state)).all()
        assert guide.explain(int(tokens[0])).allowed
        guide.advance(int(tokens[0]))
        text += bytes([int(tokens[0])])
        assert guide.remaining < left
    else:
        assert index.accepts(text)
    return text


def expected_verdict(schema: Any, text: str) -> bool | None:
    """What jsonschema says; None where it recurses too deep, or the text was cut."""
    try:
        return jsonschema.Draft202012Validator(schema).is_valid(json.loads(text))
    except (RecursionError, ValueError):
        return None
    except BaseException as error:
        # A RecursionError within a comparison in Rust becomes a panic, whose class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        return None


def check(schema: Any, longest: int = LONGEST) -> Index | None:
    """The index, whose verdicts are jsonschema's; None where there is a typed error."""
    try:
        index = compile_spec(JsonSchema(schema), VOCABULARY)
        texts = [complete(index, longest), *(json.dumps(value, separators=(",", ":")).encode() for value in INSTANCES)]
        verdicts = [index.accepts(text) for text in texts]
    except GuidedError:
        return None
    for text, verdict in zip(texts, verdicts, strict=True):
        expected = expected_verdict(schema, text)
        assert expected is None or verdict == expected, text
    return index


@pytest.mark.slow
@pytest.mark.parametrize("keyword", WRAPS)
def test_a_chain_of_one_keyword_from_a_deep_stack(keyword: str) -> None:
    deep(500, lambda: check(chain(WRAPS[keyword], 40, {"type": "string"})))


@pytest.mark.slow
@pytest.mark.parametrize("depth", [150, 600])
@pytest.mark.parametrize("keyword", WRAPS)
def test_a_long_chain_of_one_keyword(keyword: str, depth: int) -> None:
    deep(500, lambda: check(chain(WRAPS[keyword], depth, {"type": "string"})))


@pytest.mark.parametrize("keyword", ["items", "properties", "additionalProperties", "unevaluatedItems", "prefixItems"])
def test_values_needed_within_values_have_no_limit_of_their_own(keyword: str) -> None:
    assert deep(500, lambda: check(chain(WRAPS[keyword], 90, {"type": "string"}))) is not None


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_deep_constants(wrap: Callable[[Any], Any]) -> None:
    value = chain(wrap, 90, 1)
    index = deep(500, lambda: compile_spec(JsonSchema({"const": value}), VOCABULARY))
    text = json.dumps(value, separators=(",", ":")).encode()
    assert index.accepts(text)
    assert not index.accepts(text.replace(b"1", b"2"))
    assert index.guide().remaining == len(text)


def test_chained_definitions() -> None:
    arrays = [{"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{i + 1}"}} for i in range(400)]
    index = deep(500, lambda: compile_spec(JsonSchema(referred([*arrays, {"type": "null"}])), VOCABULARY))
    assert index.accepts(b"[" * 400 + b"null" + b"]" * 400)
    assert not index.accepts(b"[" * 399 + b"null" + b"]" * 399)
    assert index.guide().remaining == 804


@pytest.mark.parametrize(
    ("schema", "shortest"),
    [
        ({"not": {"uniqueItems": True}}, 5),
        ({"type": "array", "not": {"uniqueItems": True}}, 5),
        ({"if": {"uniqueItems": True}, "then": {"const": {}}, "required": ["\u00e9"]}, 5),
        ({"type": "array", "items": {"type": "string", "minLength": 2}, "not": {"uniqueItems": True}}, 11),
        ({"type": "array", "minItems": 4, "not": {"uniqueItems": True}}, 9),
        ({"prefixItems": [{"type": "string"}, {"type": "null"}, {"type": "string"}], "items": False, "type": "array",
          "not": {"uniqueItems": True}}, 12),
    ],
)  # fmt: skip
def test_completions_of_arrays_whose_items_must_not_all_differ(schema: Any, shortest: int) -> None:
    index = check(schema)
    assert index is not None
    assert index.guide().remaining == shortest


levels = st.integers(0, 6)


@st.composite
def mutually_recursive(draw: st.DrawFn) -> Any:
    """Definitions that refer to each other through any keyword; few of them have an end of their own."""

    def reference() -> Any:
        return {"$ref": f"#/$defs/{draw(levels)}"}

    def level() -> Any:
        kind = draw(st.sampled_from(["array", "array", "oneOf", "null", "wrap"]))
        if kind == "array":
            found: dict[str, Any] = {"type": "array", "contains": reference()}
            if draw(st.booleans()):
                found["oneOf"] = [{"items": reference()}, {"maxItems": draw(st.integers(0, 2))}]
            return found
        if kind == "oneOf":
            return {"oneOf": [reference(), {"type": "object", "properties": {"a": reference()}}]}
        return {"type": "null"} if kind == "null" else WRAPS[draw(st.sampled_from(sorted(WRAPS)))](reference())

    return referred([level() for _ in range(7)])


@st.composite
def deeply_mixed(draw: st.DrawFn) -> Any:
    """Keywords within each other, in a pattern that repeats."""
    pattern = draw(st.lists(st.sampled_from(sorted(WRAPS)), min_size=1, max_size=3))
    schema: Any = {"type": "string"}
    for i in range(draw(st.sampled_from([10, 40, 100, 300]))):
        schema = WRAPS[pattern[i % len(pattern)]](schema)
    return schema


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(deeply_mixed() | mutually_recursive())
def test_deep_and_recursive_schemas_give_an_index_or_a_typed_error(schema: Any) -> None:
    deep(500, lambda: check(schema, LONGEST_OF_RANDOM))
