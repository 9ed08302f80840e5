"""The oracles themselves: the validator against `jsonschema` and the official suite, the reader of texts against `json`."""

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.schema.formula.atoms import JsonOptions
from tests.schema import official
from tests.schema.oracle import Number, Undefined, Validator, equal, lifted
from tests.schema.oracle_ecma import search
from tests.schema.oracle_published import is_valid
from tests.schema.oracle_text import NotJson, is_text, read
from tests.schema.strategies import instances_near, schemas

# What the validator does not cover: other drafts, `dependencies`, vocabularies.
_NOT_COVERED = {
    "optional/cross-draft.json",
    "optional/dependencies-compatibility.json",
    "optional/format-assertion.json",
    "vocabulary.json",
}


def _lowered(value: Any) -> Any:
    """A value of the oracle as `json.loads` gives it."""
    if isinstance(value, Number):
        return json.loads(value.text)
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    return {name: _lowered(item) for name, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("case", official.cases("required", "optional"), ids=lambda case: case and case.name)
def test_the_validator_on_the_official_suite(case: official.Case) -> None:
    if case.file in _NOT_COVERED:
        pytest.skip("not covered by the validator")
    validator = Validator(case.schema, official.registry())
    assert [validator.is_valid(lifted(test.data)) for test in case.tests] == [test.valid for test in case.tests]


@given(st.data())
def test_the_validator_is_jsonschema(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    instance = data.draw(instances_near(schema))
    try:
        ours = Validator(schema).is_valid(lifted(instance))
    except Undefined:
        return
    assert ours == is_valid(schema, instance)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
), st.sampled_from([None, 0, 1, 3]), st.booleans())  # fmt: skip
def test_texts_of_dumps_are_read(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    document = read(text.encode())
    assert equal(document.value, lifted(value))
    assert "".join(gap + token for gap, token in zip(document.gaps, [*document.tokens, ""], strict=True)) == text
    options = JsonOptions(
        whitespace="flexible" if indent is None else f"pretty({indent})", numbers="any", escapes="any"
    )
    assert is_text(True, text.encode(), options)


def _mutants(text: str) -> Iterator[str]:
    for place in range(len(text) + 1):
        yield text[:place] + text[place + 1 :]
        for char in '{}[],:"\\0-.e+ \n\x00tu':
            yield text[:place] + char + text[place:]
            yield text[:place] + char + text[place + 1 :]


@pytest.mark.parametrize("text", ['{"a": [1, -0.5e+3, "\\u00e9\\n"], "": null}', "[true,false,{}]", '"\\ud83d\\ude00"'])
def test_json_equals_the_texts_that_the_json_module_reads(text: str) -> None:
    for mutant in _mutants(text):
        try:
            found: Any = _lowered(read(mutant.encode()).value)
        except NotJson:
            found = NotJson
        try:
            expected = json.loads(mutant, parse_constant=_no_constant)
            if "\\ud83d" in mutant or "\\ude00" in mutant:
                mutant.encode()
                json.dumps(expected, ensure_ascii=False).encode()
        except (ValueError, UnicodeEncodeError):
            expected = NotJson
        assert found == expected, mutant


def _no_constant(name: str) -> None:
    raise ValueError(name)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\d+$", "12", True),
        (r"^\d+$", "१", False),
        (r"^\w$", "é", False),
        (r"^\s$", "\ufeff", True),
        (r"^\S$", "\ufeff", False),
        (r"^.$", "\u2028", False),
        (r"a$", "a\n", False),
        (r"^[^]$", "\n", True),
        (r"[]", "a", False),
        (r"^\cA$", "\x01", True),
        (r"^\u{1F600}$", "😀", True),
        (r"^\ud83d\ude00$", "😀", True),
        (r"^[\d\-&&a]$", "&", True),
        (r"^(?<x>a)\k<x>$", "aa", True),
        (r"^(?!a)", "b", True),
        (r"\bword\b", "a word", True),
        (r"^\p{Lu}$", "É", True),
        (r"^[\D]$", "1", False),
        (r"\/", "/", True),
    ],
)
def test_ecma(pattern: str, text: str, expected: bool) -> None:
    assert search(pattern, text) is expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1e2", {"numbers": "plain"}, False),
        ("1.0", {"numbers": "any"}, True),
        ("1e2", {"numbers": "any"}, True),
        ("-0", {"numbers": "plain"}, True),
        ("1 ", {}, False),
        (" 1", {}, False),
    ],
)
def test_integers(text: str, options: dict[str, Any], expected: bool) -> None:
    assert is_text({"type": "integer"}, text.encode(), JsonOptions(**options)) is expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (r'"\u001f"', {}, True),
        (r'"\u001F"', {}, True),
        (r'"\u000a"', {}, False),
        (r'"\n"', {}, True),
        (r'"\/"', {}, False),
        (r'"\u0061"', {}, False),
        (r'"\u0061"', {"escapes": "any"}, True),
        (r'"\/"', {"escapes": "any"}, True),
        (r'"\ud800"', {"escapes": "any"}, False),
        ('{"a": 1,"b":2}', {}, True),
        ('{"a": 1}', {"whitespace": "compact"}, False),
        ('{"a":\t\n 1 }', {}, True),
        ('{"a":' + " " * 21 + "1}", {}, False),
        (' {"a":1}', {}, False),
        ('{\n  "a": [],\n  "b": [\n    1\n  ]\n}', {"whitespace": "pretty(2)"}, True),
        ('{"a":1}', {"whitespace": "pretty(2)"}, False),
        ('{"a": 1, "a": 1}', {}, False),
    ],
)
def test_spellings_by_option(text: str, options: dict[str, Any], expected: bool) -> None:
    assert is_text(True, text.encode(), JsonOptions(**options)) is expected


def test_the_order_of_properties() -> None:
    schema = {"properties": {"b": {"properties": {"y": {}, "x": {}}}, "a": {}}}
    for text, expected in [
        ('{"b":{},"a":1}', True),
        ('{"a":1,"b":{}}', False),
        ('{"c":1,"b":{"x":1,"y":1}}', False),
        ('{"c":0,"b":0,"d":0,"a":0}', True),
    ]:
        assert is_text(schema, text.encode(), JsonOptions()) is expected
        assert is_text(schema, text.encode(), JsonOptions(property_order="any"))


def test_numbers_are_exact() -> None:
    assert Number.of("1e400").value == 10**400
    assert Number.of("-0").value == 0
    assert lifted(0.1).value == Fraction(1, 10)
    assert not equal(lifted(1), True)
