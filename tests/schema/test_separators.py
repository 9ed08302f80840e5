"""``whitespace=(", ", ": ")`` and ``whitespace=N``: what `json.dumps` writes, and the number of characters in a row."""

import json
import re
from typing import Any

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import compiled

BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)
SEPARATORS = st.tuples(st.text(" \t\n\r", max_size=3), st.text(" \t\n\r", max_size=3)).map(
    lambda gaps: ("," + gaps[0], ":" + gaps[1])
)
SCHEMAS: list[Any] = [
    {},
    {"type": "array", "uniqueItems": True},
    {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "object"}},
        "required": ["a"],
    },
    {"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"items": {"enum": [1, "x", [2, 3]]}}]},
    {"type": "object", "minProperties": 2, "additionalProperties": {"type": ["array", "null"]}},
]
VALUES = st.recursive(
    st.sampled_from([1, 20, "x", "y z", None, True]),
    lambda inner: st.one_of(st.dictionaries(st.sampled_from("abc"), inner, max_size=3), st.lists(inner, max_size=3)),
    max_leaves=8,
)


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
@given(separators=SEPARATORS, value=VALUES, place=st.integers(0, 60), blank=st.sampled_from(" \n"))
def test_texts_are_those_of_dumps(schema: Any, separators: tuple[str, str], value: Any, place: int, blank: str) -> None:
    """One more blank anywhere outside of strings, or one fewer, is refused."""
    text = json.dumps(value, separators=separators)
    index, plain = compiled(schema, whitespace=separators), compiled(schema, whitespace="compact")
    is_valid = plain.accepts(json.dumps(value, separators=(",", ":")))
    assert index.accepts(text) == is_valid
    gaps = [found.end() for found in re.finditer(r'"[^"]*"|[\[\]{},:]|[a-z0-9]+', text)]
    at = gaps[place % len(gaps)]
    assert not index.accepts(text[:at] + blank + text[at:]) or (blank == text[at : at + 1] and False)
    if text[at : at + 1] in set(" \t\n\r"):
        assert not index.accepts(text[:at] + text[at + 1 :])


@settings(max_examples=examples(20))
@given(st.sampled_from(SCHEMAS), SEPARATORS, st.data())
def test_short_completions_end_in_time(schema: Any, separators: tuple[str, str], data: st.DataObject) -> None:
    guide = compiled(schema, whitespace=separators).guide()
    for _ in range(12):
        allowed = [token for token in bits(guide.mask()) if token < 256]
        if not allowed:
            break
        assert bits(guide.mask_within(guide.remaining))
        guide.advance(data.draw(st.sampled_from(allowed)))
    while guide.remaining:
        left = guide.remaining
        guide.advance(min(bits(guide.mask_within(left))))
        assert guide.remaining < left
    assert guide.is_accepting


@given(st.sampled_from([0, 1, 2, 20]), st.integers(0, 22), st.sampled_from(" \t\n\r"))
def test_a_number_bounds_the_characters_in_a_row(most: int, count: int, blank: str) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    index = guided.compile(guided.JsonSchema(schema, whitespace=most), BYTES)
    for text in ("[{}1, 2]", "[1{}]", "[1,{}2]", "[1{},2]"):
        expected = count <= most and (" 2" not in text or most > 0)
        assert index.accepts(text.format(blank * count)) == expected
    same = {0: "compact", 20: "flexible"}.get(most)
    if same is not None:
        other = guided.compile(guided.JsonSchema(schema, whitespace=same), BYTES)
        assert other.accepts("[" + blank * count + "1]") == index.accepts("[" + blank * count + "1]")


def test_the_lark_grammar_has_the_separators() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    }
    spec = guided.JsonSchema(schema, whitespace=(", ", ":  "))
    parser = lark.Lark(spec.lark(), parser="lalr")
    other = guided.compile(guided.JsonSchema(schema, whitespace=(", ", ":  "), engine="lalr"), BYTES)
    index = guided.compile(spec, BYTES)
    for text, expected in (
        ('[{"a":  1}, {}]', True),
        ('[{"a": 1}]', False),
        ("[{},{}]", False),
        ("[ {}]", False),
        ("[{},  {}]", False),
    ):
        assert index.accepts(text) == other.accepts(text) == expected
        if expected:
            parser.parse(text)
        else:
            with pytest.raises(lark.exceptions.UnexpectedInput):
                parser.parse(text)


@pytest.mark.parametrize(
    ("given_value", "error", "message"),
    [
        ((",", ":", ""), ValueError, "must be a comma and a colon"),
        ((", ",), ValueError, "must be a comma and a colon"),
        ((";", ":"), ValueError, "must be a comma and a colon"),
        ((", ", "= "), ValueError, "must be a comma and a colon"),
        ((" ,", ":"), ValueError, "must be a comma and a colon"),
        ((", ", 1), (TypeError, ValueError), "must be a comma and a colon"),
        (-1, ValueError, "whitespace must be at least 0 characters, not -1"),
        (True, TypeError, "whitespace must be a str, a number or a pair of str, not bool"),
        (None, TypeError, "whitespace must be a str, a number or a pair of str, not NoneType"),
    ],
)
def test_other_separators_and_numbers_are_refused(given_value: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        guided.JsonSchema({}, whitespace=given_value)


@pytest.mark.parametrize("name", ["separators", "indent", "max_whitespace", "ensure_ascii", "whitespace_pattern"])
def test_names_of_other_libraries_are_refused_with_ours(name: str) -> None:
    with pytest.raises(TypeError, match=r"here: (whitespace|escapes)="):
        guided.JsonSchema({}, **{name: 1})


def test_a_spec_with_separators_is_saved(tmp_path: Any) -> None:
    spec = guided.JsonSchema({"type": "array"}, whitespace=(", ", ": "))
    guided.compile(spec, BYTES).save(tmp_path / "index")
    index = guided.load_index(tmp_path / "index", BYTES)
    assert index.spec_fingerprint == spec.fingerprint != guided.JsonSchema({"type": "array"}).fingerprint
    assert (index.accepts("[1, 2]"), index.accepts("[1,2]")) == (True, False)
    assert repr(spec).endswith(", whitespace=(', ', ': ')>")
