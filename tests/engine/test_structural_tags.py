"""Structural tags: the texts of each format, as xgrammar 0.2.8 accepts them, and refusals by path."""

import contextlib
import copy
import json
import pickle
import random
import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.automata.pushdown import KEPT
from guided.automata.stacks import Stacks
from guided.engine.compile import compile as compile_index
from guided.engine.files import load_index
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.structural_tags import STYLES, StructuralTag
from guided.errors import GrammarError, GuidedError, LimitError, PatternError, SchemaError, StateEvicted
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.test_arguments import NAMES, SCHEMAS, VALUES
from tests.calls.test_notations import INSTANCES, NESTED, check_walk, read_bytes, stacks_of
from tests.executed import executed_calls
from tests.masks import bits
from tests.profiles import examples

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)

_NUMBER = {"type": "json_schema", "json_schema": {"type": "integer"}}
_TAG = {"type": "tag", "begin": "<f>", "content": _NUMBER, "end": "</f>"}
_ANY = {"type": "any_text"}
_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "k": {"type": "string", "enum": ["x", "y"]}},
    "required": ["name", "age"],
}


def _triggered(**options: Any) -> dict[str, Any]:
    return {"type": "triggered_tags", "triggers": ["<f"], "tags": [_TAG], **options}


def _tag(content: Any, end: Any = "</a>") -> dict[str, Any]:
    return {"type": "tag", "begin": "<a>", "content": content, "end": end}


@pytest.mark.parametrize(
    ("form", "accepted", "refused"),
    [
        (
            _triggered(),
            ["", "x", "x<f>1</f>", "<f>1</f>y<f>2</f>", "<f>1</f><f>2</f>z", "x<"],
            ["x<fa", "<f>1", "<f>a</f>", "<f"],
        ),
        (
            {"type": "json_schema", "json_schema": {"properties": {"p": {"pattern": "^[a-c]*$"}}}, "excludes": ["ab", "\n"]},
            ['{"p": "ba"}', '{"k": ["b", 1]}'],
            ['{"p": "cab"}', '{"k": ["xab"]}', '{"ab": 1}', '{"k": "\\n"}'],
        ),
        (_triggered(stop_after_first=True), ["", "x", "x<f>1</f>"], ["<f>1</f>y", "<f>1</f><f>2</f>"]),
        (_triggered(at_least_one=True), ["<f>1</f>", "<f>1</f>y", "<f>1</f>y<f>2</f>"], ["", "x", "x<f>1</f>"]),
        (_triggered(at_least_one=True, stop_after_first=True), ["<f>1</f>"], ["", "<f>1</f>y", "x<f>1</f>"]),
        (_triggered(excludes=["no"]), ["x", "x<f>1</f>n"], ["no", "<f>1</f>no"]),
        (_tag(_ANY), ["<a></a>", "<a>x</a>"], ["<a>x</a></a>", "<a>x"]),
        (_tag(_ANY, ["</a>", "!"]), ["<a>x</a>", "<a>x!"], ["<a>x!</a>"]),
        (_tag(_triggered()), ["<a></a>", "<a>x<f>1</f>y</a>"], ["<a>x</a>y</a>"]),
        (_tag({"type": "regex", "pattern": "[0-9]+"}, ""), ["<a>12"], ["<a>"]),
        ({"type": "sequence", "elements": [{"type": "const_string", "value": "a"}, _ANY]}, ["a", "ab"], ["", "b"]),
        ({"type": "sequence", "elements": [_ANY, {"type": "const_string", "value": "a"}]}, ["a", "ba", "aa"], ["", "b"]),
        ({"type": "or", "elements": [_NUMBER, _TAG]}, ["1", "<f>1</f>"], ["", "<f>"]),
        (
            {"type": "tags_with_separator", "tags": [_TAG], "separator": ","},
            ["", "<f>1</f>", "<f>1</f>,<f>2</f>"],
            ["<f>1</f>,", "<f>1</f><f>2</f>", "x"],
        ),
        (
            {"type": "tags_with_separator", "tags": [_TAG], "separator": "", "at_least_one": True, "stop_after_first": True},
            ["<f>1</f>"],
            ["", "<f>1</f><f>2</f>"],
        ),
        ({"type": "dispatch", "rules": [["<f", _NUMBER]]}, ["", "a", "<f1", "<f1x<f2"], ["<fx"]),
        ({"type": "dispatch", "rules": [["<f", _NUMBER]], "loop": False}, ["", "a", "a<f1"], ["a<f1x", "<fx"]),
        (
            {"type": "dispatch", "rules": [[p, {"type": "const_string", "value": x}] for p, x in (("b", "x"), ("ab", "y"), ("cab", "z"))]},
            ["bx", "abx", "aby", "cabx", "caby", "cabz", "ccaby", "abybx"],
            ["by", "ab", "abz", "bz"],
        ),
        ({"type": "any_text", "excludes": ["ab"]}, ["", "b", "ba"], ["ab", "aab"]),
        ({"type": "optional", "content": _NUMBER}, ["", "1"], ["a"]),
        ({"type": "star", "content": _TAG}, ["", "<f>1</f><f>2</f>"], ["<f>"]),
        ({"type": "plus", "content": _TAG}, ["<f>1</f><f>2</f>"], [""]),
        ({"type": "repeat", "min": 1, "max": 2, "content": _TAG}, ["<f>1</f>"], ["", "<f>1</f>" * 3]),
        ({"type": "repeat", "min": 1, "max": -1, "content": _TAG}, ["<f>1</f>" * 3], [""]),
        ({"type": "grammar", "grammar": 'start: "a" start | "b"'}, ["b", "aab"], ["a"]),
        ({"type": "grammar", "grammar": 'root ::= "a" root "b" | "-"'}, ["-", "aa-bb"], ["a-"]),
        (
            {"type": "json_schema", "json_schema": _PERSON, "style": "qwen_xml"},
            [
                "<parameter=name>Bob</parameter><parameter=age>1</parameter>",
                "<parameter=name>a<b</parameter>\n<parameter=age>\n1\n</parameter>",
                "<parameter=name>Bob</parameter><parameter=age>1</parameter><parameter=k>x</parameter>",
            ],
            [
                "<parameter=age>1</parameter><parameter=name>Bob</parameter>",
                "<parameter=name>Bob</parameter>",
                "<parameter=name>Bob</parameter><parameter=age>1</parameter><parameter=k>z</parameter>",
            ],
        ),
        (
            {"type": "json_schema", "json_schema": _PERSON, "style": "minimax_xml"},
            ['<parameter name="name">Bob</parameter><parameter name="age">1</parameter>'],
            ["<parameter=name>Bob</parameter><parameter=age>1</parameter>"],
        ),
        (
            {"type": "json_schema", "json_schema": _PERSON, "style": "glm_xml"},
            ["<arg_key>name</arg_key>\n<arg_value>Bob</arg_value><arg_key>age</arg_key><arg_value>1</arg_value>"],
            ["<arg_key>name</arg_key><arg_value>Bob</arg_value>"],
        ),
        (
            {"type": "json_schema", "json_schema": _PERSON, "style": "deepseek_xml"},
            [
                '<｜DSML｜parameter name="name" string="true">Bob</｜DSML｜parameter>'
                '<｜DSML｜parameter name="age" string="false">1</｜DSML｜parameter>'
            ],
            [
                '<｜DSML｜parameter name="name" string="false">Bob</｜DSML｜parameter>'
                '<｜DSML｜parameter name="age" string="false">1</｜DSML｜parameter>'
            ],
        ),
        (
            {"type": "json_schema", "json_schema": _PERSON, "style": "deepseek_v4_1_xml"},
            [
                '<｜DSML｜ parameter name="name" string="true">Bob</｜DSML｜ parameter>'
                '<｜DSML｜ parameter name="age" string="false">1</｜DSML｜ parameter>'
            ],
            ['<｜DSML｜ parameter name="name" string="true">Bob</｜DSML｜ parameter>'],
        ),
        (
            {"type": "json_schema", "json_schema": _PERSON, "style": "kimi_k3_xml"},
            [
                '<|open|>argument key="name" type="string"<|sep|>Bob<|close|>argument<|sep|>'
                '<|open|>argument key="age" type="number"<|sep|>1<|close|>argument<|sep|>'
            ],
            ['<|open|>argument key="name" type="string"<|sep|>Bob<|close|>argument<|sep|>'],
        ),
        (
            {"type": "json_schema", "json_schema": {"properties": {"n": {"type": ["null", "array"]}, "o": _PERSON}}, "style": "cohere_xml"},
            [
                "",
                '<cofl:value name="n" type="list"></cofl:value>',
                '<cofl:value name="n" type="list"><cofl:value type="raw"><</cofl:value><cofl:value type="json">1</cofl:value></cofl:value>',
                '<cofl:value name="n" type="json">null</cofl:value><cofl:value name="o" type="dict"><cofl:value name="name" type="raw">Bob'
                '</cofl:value>\n<cofl:value name="age" type="json"> 1 </cofl:value></cofl:value>',
            ],
            [
                '<cofl:value name="n" type="raw">null</cofl:value>',
                '<cofl:value name="n" type="list"><cofl:value name="a" type="raw">b</cofl:value></cofl:value>',
                '<cofl:value name="n" type="list"><cofl:value type="json">"a"</cofl:value></cofl:value>',
                '<cofl:value name="o" type="dict"><cofl:value name="name" type="raw">Bob</cofl:value></cofl:value>',
                '<cofl:value name="o" type="json">{"name": "Bob", "age": 1}</cofl:value>',
            ],
        ),
    ],
)  # fmt: skip
def test_formats_have_the_texts_of_xgrammar(form: Any, accepted: list[str], refused: list[str]) -> None:
    tag = {"type": "structural_tag", "format": form}
    for spec in (StructuralTag(tag), StructuralTag(json.dumps(tag))):
        index = compile_index(spec, BYTES)
        assert [text for text in accepted if not index.accepts(text)] == []
        assert [text for text in refused if index.accepts(text)] == []


def test_the_older_form() -> None:
    schema = {"type": "integer"}
    for written in (schema, json.dumps(schema)):
        spec = StructuralTag(
            {"structures": [{"begin": "<f>", "schema": written, "end": "</f>"}], "triggers": ["<f"]},
        )
        index = compile_index(spec, BYTES)
        assert index.accepts("a<f>1</f>b")
        assert not index.accepts("a<f>x</f>b")


@pytest.mark.parametrize("schema", [{"schema": None}, {}, {"schema": {}}])
@pytest.mark.parametrize("is_needed", [False, True])
def test_the_older_form_of_api_servers(schema: Any, is_needed: bool) -> None:
    """Servers write null where a structure has no schema, and always whether a call is needed."""
    tag = {"structures": [{"begin": "<f>", "end": "</f>", **schema}], "triggers": ["<f"], "at_least_one": is_needed}
    index = compile_index(StructuralTag(tag), BYTES)
    assert index.accepts('<f>{"a": [1]}</f>')
    assert index.accepts("a<f>1</f>") != is_needed
    assert index.accepts("a") != is_needed


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ({}, r"a structural tag needs 'format', or 'structures' and 'triggers' \(at the root, format\)"),
        ({"type": "x"}, r"unknown type 'x', expected 'structural_tag' \(at /type, type\)"),
        ({"format": 1}, r"a format must be an object, not int \(at /format, type\)"),
        ({"format": {"type": "no"}}, r"unknown format 'no'; formats are const_string, .*, token_dispatch \(at /format, type\)"),
        ({"format": {"type": "token", "token": 1}}, r"single tokens are given by their texts, not by their numbers \(at /format, type\)"),
        ({"format": {"type": "any_tokens", "exclude_tokens": ["a", 1]}}, r"single tokens are given by their texts"),
        ({"format": {"type": "any_tokens", "exclude_tokens": [""]}}, r"at /format/exclude_tokens/0, exclude_tokens"),
        ({"format": {"type": "any_tokens", "excludes": ["a"]}}, r"unknown key 'excludes'"),
        ({"format": {"type": "token"}}, r"'token' is missing \(at /format, token\)"),
        ({"format": {"type": "exclude_token"}}, r"formats of single tokens such as 'exclude_token' cannot be enforced"),
        ({"format": {"type": "const_string"}}, r"'value' is missing \(at /format, value\)"),
        ({"format": {"type": "const_string", "value": 1}}, r"'value' must be a string, not int \(at /format/value, value\)"),
        ({"format": {"type": "sequence", "elements": [{"type": "or", "elements": []}]}}, r"at /format/elements/0/elements, elements"),
        ({"format": {"type": "json_schema", "json_schema": {}, "style": "minimax_m4_xml"}}, r"unknown or unsupported style"),
        ({"format": {"type": "json_schema", "json_schema": {}, "excludes": [""]}}, r"at /format/excludes/0, excludes"),
        ({"format": _triggered(triggers=["<g"])}, r"0 triggers are prefixes of '<f>'; one must be \(at /format/tags/0/begin"),
        ({"format": {"type": "repeat", "min": 2, "max": 1, "content": _ANY}}, r"max 1 is below min 2"),
        ("{", "the structural tag is not valid JSON"),
    ],
)  # fmt: skip
def test_unsatisfiable_values_are_refused_by_path(tag: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        StructuralTag(tag)


_BEGIN, _END = {"type": "token", "token": "<a>"}, {"type": "token", "token": "</a>"}
_INNER = {"type": "regex", "pattern": "x+"}


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ({"type": "token", "token": "<a>"}, {"type": "const_string", "value": "<a>"}),
        ({"type": "any_tokens", "exclude_tokens": ["</a>", "<b>"]}, {"type": "any_text", "excludes": ["</a>", "<b>"]}),
        ({"type": "any_tokens", "max_tokens": 3}, {"type": "any_text", "max_tokens": 3}),
        ({"type": "tag", "begin": _BEGIN, "content": {"type": "any_tokens", "exclude_tokens": ["<b>"]}, "end": _END},
         {"type": "tag", "begin": "<a>", "content": {"type": "any_text", "excludes": ["<b>"]}, "end": "</a>"}),
        ({"type": "tag", "begin": _BEGIN, "content": _INNER, "end": ["</a>", "</b>"]},
         {"type": "tag", "begin": "<a>", "content": _INNER, "end": ["</a>", "</b>"]}),
        ({"type": "token_triggered_tags", "trigger_tokens": ["<a>"], "exclude_tokens": ["<b>"], "at_least_one": True,
          "tags": [{"type": "tag", "begin": _BEGIN, "content": _INNER, "end": _END}]},
         {"type": "triggered_tags", "triggers": ["<a>"], "excludes": ["<b>"], "at_least_one": True,
          "tags": [{"type": "tag", "begin": "<a>", "content": _INNER, "end": "</a>"}]}),
        ({"type": "token_dispatch", "rules": [["<a>", _INNER]], "loop": False, "exclude_tokens": ["<b>"]},
         {"type": "dispatch", "rules": [["<a>", _INNER]], "loop": False, "excludes": ["<b>"]}),
    ],
)  # fmt: skip
def test_tokens_in_tags_are_their_texts(given: Any, same: Any) -> None:
    """Special tokens of that name spell them, and so do other tokens."""
    vocabulary = Vocabulary(
        [*(bytes([value]) for value in range(256)), None, None, b"</a", None], eos=[256],
        special={"<a>": 257, "</a>": 259},
    )  # fmt: skip
    index, other = (compile_index(StructuralTag({"format": each}), vocabulary) for each in (given, same))
    assert index.spec_fingerprint == other.spec_fingerprint
    allowed = bits(index.mask(index.initial))
    assert allowed == bits(other.mask(other.initial))
    assert (257 in allowed) == ("<a>" in json.dumps(given))


def test_structural_tags_refuse_other_types() -> None:
    with pytest.raises(SchemaError, match="a structural tag must be an object, not int"):
        StructuralTag(1)  # type: ignore[arg-type]


# A schema of the argument ``v``, and texts of it in the qwen style.
_VALUES = [
    ({"type": "string", "minLength": 2}, ["aa", '"x"', "a<b"], ["x", ""]),
    ({"type": "string", "pattern": "^a+$"}, ["aa"], ['"aa"', "b", ""]),
    ({"type": "string", "format": "date"}, ["2020-01-01"], ['"2020-01-01"', "2020"]),
    ({"const": "x"}, ["x"], ['"x"', "y", " x"]),
    ({"enum": ["x\n", "y"]}, ["y"], ["x"]),
    ({"enum": ["x", 1, None]}, ["x", "1", "null"], ['"x"', "2"]),
    ({"type": ["string", "null"]}, ["x", "null", ""], ["a</parameter>"]),
    ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]}, ["x", "null"], ["xx", " null "]),
    ({"oneOf": [{"type": "integer"}, {"enum": ["auto"]}]}, ["12", "auto"], ['"auto"', "x"]),
    ({"allOf": [{"type": "string"}, {"minLength": 1}]}, ["x", '"'], [""]),
    ({"not": {"type": "string"}}, ["1", "null", '{"a": "b"}', "[]"], ["x", '"x"']),
    ({}, ["x", "1", "[1]", ""], ["a</parameter>"]),
    (True, ["x"], []),
    ({"$ref": "#/$defs/text"}, ["x", '"x"'], []),
    ({"$ref": "#/$defs/nested"}, ['{"nested": {}}', "{}"], ["x", '{"nested": 1}']),
    ({"type": "array", "items": {"type": "string"}}, ['["a"]', "[]"], ["a", "[a]"]),
    ({"type": "boolean"}, ["true", " false "], ["True"]),
    ({"anyOf": [{"type": "string", "pattern": "^z"}, {"type": "array", "items": False}]}, ["zz", "[]"], ["[1]", "a"]),
    ({"type": ["string", "integer"], "enum": ["a", 1, None]}, ["a", "1"], ["null", '"a"']),
    ({"anyOf": [{"const": "a"}, {"type": "integer", "minimum": 1, "maximum": 0}]}, ["a"], ["1"]),
]  # fmt: skip
_DEFINITIONS = {
    "text": {"type": "string"},
    "nested": {"type": "object", "properties": {"nested": {"$ref": "#/$defs/nested"}}, "additionalProperties": False},
}


def _schema(value: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"v": value}, "required": ["v"], "$defs": _DEFINITIONS}


def _styled(schema: Any, style: str = "qwen_xml", **options: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "json_schema": schema, "style": style, **options}}


@pytest.mark.parametrize(("value", "accepted", "refused"), _VALUES)
def test_strings_are_plain_however_a_schema_spells_them(value: Any, accepted: list[str], refused: list[str]) -> None:
    schema = _schema(value)
    for style, begin, end in (
        ("qwen_xml", "<parameter=v>", "</parameter>"),
        ("minimax_xml", '<parameter name="v">', "</parameter>"),
        ("glm_xml", "<arg_key>v</arg_key><arg_value>", "</arg_value>"),
    ):
        index = compile_index(StructuralTag(_styled(schema, style)), BYTES)
        texts = [text.replace("</parameter>", end) for text in refused]
        assert [text for text in accepted if not index.accepts(begin + text + end)] == []
        assert [text for text in texts if index.accepts(begin + text + end)] == []


@pytest.mark.parametrize(
    ("value", "strings", "others", "neither"),
    [
        ({"type": ["string", "null"]}, ["x", "null", "1"], ["null", " null "], ["1"]),
        ({"enum": ["x", 1]}, ["x"], ["1"], ["2"]),
        ({}, ["x", "1"], ["1", "[1]", '"x"'], ["x"]),
        ({"type": "string", "pattern": "^a$"}, ["a"], [], ["b", " a"]),
        ({"type": "integer"}, [], ["1"], ["a"]),
    ],
)
def test_styles_that_mark_strings(value: Any, strings: list[str], others: list[str], neither: list[str]) -> None:
    index = compile_index(StructuralTag(_styled(_schema(value), "deepseek_xml")), BYTES)

    def accepts(text: str, marks: str) -> bool:
        begin = f'<\uff5cDSML\uff5cparameter name="v" string="{marks}">'
        return index.accepts(f"{begin}{text}</\uff5cDSML\uff5cparameter>")

    quoted = [text for text in others if text == '"x"']
    assert [text for text in strings if not accepts(text, "true")] == []
    assert [text for text in others if text not in quoted and not accepts(text, "false")] == []
    assert [text for text in (*neither, *quoted) if accepts(text, "false")] == []


def test_the_kimi_style_names_the_type_of_each_value() -> None:
    index = compile_index(
        StructuralTag(_styled(_schema({"type": ["string", "integer", "null"]}), "kimi_k3_xml")), BYTES
    )

    def accepts(kind: str, text: str) -> bool:
        return index.accepts(f'<|open|>argument key="v" type="{kind}"<|sep|>{text}<|close|>argument<|sep|>')

    assert accepts("string", "1")
    assert accepts("number", "1")
    assert accepts("null", "null")
    assert not accepts("null", "1")
    assert not accepts("boolean", "true")


def _arguments(*values: tuple[str, str]) -> str:
    return "".join(f"<parameter={name}>{value}</parameter>" for name, value in values)


_M3 = "]<]minimax[>["
_OPEN = {"properties": {"v": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        (_PERSON, ["<name>Bob|</name>|<age>1|</age>", "<name>|</name>\n|<age>1|</age> "],
         ["<name>Bob|</age>|<age>1|</age>", "<name>Bob</name>|<age>1|</age>"]),
        (_schema({"type": "string"}), ["<v>a]<]|</v>", "<v>[1]|</v>"], ["<v>|a|</v>", "<v>|<a>|</a>|</v>"]),
        (_schema({"type": "string", "minLength": 1, "maxLength": 2}), ["<v>ab|</v>"], ["<v>|</v>", "<v>abc|</v>"]),
        (_schema({"type": "array", "items": {"type": "integer"}}), ["<v>|</v>", "<v>|<item>1|</item>|</v>", "<v>\n|<item>1|</item>\n|</v>"],
         ["<v>[]|</v>", "<v>|<item>a|</item>|</v>"]),
        (_schema({"type": ["string", "array"], "minLength": 2}), ["<v>|</v>", "<v>aa|</v>", "<v>|<item>a|</item>|</v>"],
         ["<v>a|</v>", "<v>\n|</v>"]),
        (_schema({"type": ["string", "array"], "minItems": 1}), ["<v>|</v>"], []),
        (_schema({"type": ["array", "object"]}),
         ["<v>|</v>", "<v>|<item>a|</item>|</v>", "<v>|<ite>a|</ite>|</v>", "<v>|<items>a|</items>|<item>b|</item>|</v>"],
         ["<v>|<item>a|</item>|<b>|</b>|</v>", "<v>a|</v>", "<v>|<items>a|</item>|</v>"]),
        (_schema({"type": "object", "properties": {"item": {"type": "null"}, "b": _PERSON}}),
         ["<v>|</v>", "<v>|<item>null|</item>|<b>|<name>x|</name>|<age>2|</age>|</b>|</v>"],
         ["<v>|<item>null|</item>|<item>null|</item>|</v>"]),
        (_OPEN,
         ["<v>|</v>", "<v>|<a b>x|</a b>|</v>", "<v>|<é>|<a>5|</a>|</é>|</v>"],
         ["<v>|<a>x|</b>|</v>", "<v>|< a>x|</ a>|</v>", "<v>|<a>x|</a></v>"]),
        (_schema({"type": "array", "uniqueItems": True}),
         ["<v>|<item>>|</item>|<item>|<a>1|</a>|</item>|<item>|<a>x|</a>|</item>|</v>"],
         ["<v>|<item>>|</item>|<item>>|</item>|</v>", "<v>|<item>|<a>1|</a>|<b>|</b>|</item>|<item>|<b>|</b>|<a>1|</a>|</item>|</v>"]),
        (_schema({"type": "array", "items": {"uniqueItems": True, "minItems": 2, "type": "array"}, "uniqueItems": True}),
         ["<v>|<item>|<item>1|</item>|<item>2|</item>|</item>|<item>|<item>2|</item>|<item>1|</item>|</item>|</v>"],
         ["<v>|<item>|<item>1|</item>|<item>1|</item>|</item>|</v>",
          "<v>|<item>|<item>1|</item>|<item>2|</item>|</item>"
          "|<item>|<item>1|</item>|<item>2|</item>|</item>|</v>"]),
        ({"properties": {"v": {"type": "object", "minProperties": 2}}},
         ["<v>|<a>1|</a>|<b>1|</b>|</v>"], ["<v>|<a>1|</a>|<a>1|</a>|</v>", "<v>|</v>"]),
    ],
)  # fmt: skip
def test_the_style_that_repeats_names(schema: Any, accepted: list[str], refused: list[str]) -> None:
    """A bar stands for the mark before each tag, which is left out before the first one."""
    index = compile_index(StructuralTag(_styled(schema, "minimax_m3_xml")), BYTES)
    assert [text for text in accepted if not index.accepts(f"|{text}".replace("|", _M3))] == []
    assert [text for text in refused if index.accepts(f"|{text}".replace("|", _M3))] == []


_A, _B, _TEXT = ("a", "1"), ("b", "2"), ("c", "x")
_INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["b"]}
_NESTED = {"type": "object", "properties": {"o": {**_INTEGERS, "required": ["a", "b"]}}, "required": ["o"]}


@pytest.mark.parametrize(
    ("schema", "options", "accepted", "refused"),
    [
        (_INTEGERS, {}, [(_B,), (_A, _B)], [(), (_A,), (_B, _A), (_B, _TEXT)]),
        (_INTEGERS, {"any_order": True}, [(_B,), (_A, _B), (_B, _A)], [(), (_A,), (_A, _A, _B), (_B, _TEXT)]),
        ({**_INTEGERS, "additionalProperties": True}, {}, [(_B,), (_B, _TEXT, _TEXT), (_TEXT, _B)], [(_B, _A)]),
        (_NESTED, {}, [(("o", '{"a": 1, "b": 2}'),)], [(("o", '{"b": 2, "a": 1}'),)]),
        (_NESTED, {"any_order": True}, [(("o", '{"b": 2, "a": 1}'),), (("o", '{"a": 1, "b": 2}'),)], [(("o", '{"b": 2}'),)]),
        (
            {**_INTEGERS, "additionalProperties": True},
            {"any_order": True},
            [(_TEXT, _B, _TEXT, _A)],
            [(_TEXT,), (_B, ("a", "x"))],
        ),
        ({**_INTEGERS, "additionalProperties": {"type": "integer"}}, {}, [(_B, ("c", "1"))], [(_B, _TEXT)]),
        ({"type": "object"}, {}, [(), (_A, _TEXT), (("filter[x]", "a"),)], [((" a", "a"),)]),
        ({"type": "object", "properties": {}}, {}, [()], [(_TEXT,)]),
        ({"type": "object", "properties": {"a b": {"type": "integer"}}}, {}, [(), (("a b", "1"),)], [(_A,)]),
        (True, {}, [(), (_A, _TEXT)], []),
        ({"type": "object", "additionalProperties": False}, {}, [()], [(_A,)]),
        ({"$schema": "http://json-schema.org/draft-07/schema#", **_INTEGERS}, {}, [(_B,)], [()]),
        ({"$ref": "#/definitions/x", "definitions": {"x": _INTEGERS}}, {}, [(_A, _B)], [(_A,)]),
        ({"anyOf": [_INTEGERS, {"properties": {"c": {"const": "x"}}}]}, {}, [(_B,), (_TEXT,), (), (_B, _TEXT)], [(("b", "x"), _TEXT, _A)]),
        ({**_INTEGERS, "required": [], "minProperties": 1}, {}, [(_A,), (_B,)], [()]),
        ({**_INTEGERS, "required": [], "dependentRequired": {"a": ["b"]}}, {}, [(), (_B,), (_A, _B)], [(_A,)]),
        ({"patternProperties": {"^x": {"type": "integer"}}}, {}, [(), (("xy", "1"),)], [(("xy", "a"),)]),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": _INTEGERS["properties"]}, {}, [(_A,)], [(), (_A, _B)]),
        ({"properties": {c: {} for c in "abcdefghijkl"}}, {"any_order": True}, [tuple((c, c) for c in "lajbk")], [(_A, _B, _A)]),
        ({"required": ["d"], "additionalProperties": {"const": "y"}}, {}, [(("d", "y"),)], [(), (("d", "x"),)]),
    ],
)  # fmt: skip
def test_objects_in_a_style(schema: Any, options: Any, accepted: list[Any], refused: list[Any]) -> None:
    index = compile_index(StructuralTag(_styled(schema, **options)), BYTES)
    assert [given for given in accepted if not index.accepts(_arguments(*given))] == []
    assert [given for given in refused if index.accepts(_arguments(*given))] == []


def test_blanks_around_arguments_are_bounded() -> None:
    index = compile_index(StructuralTag(_styled(_schema({"type": "integer"}), max_whitespace_cnt=2)), BYTES)
    assert index.accepts(" \n<parameter=v>  1</parameter>")
    assert not index.accepts("<parameter=v>   1</parameter>")


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        ({"max_chars": 3}, ["<a></a>", "<a>é\U0001f600x</a>", "<a></</a>"], ["<a>abcd</a>", "<a></a></a>"]),
        ({"max_chars": 3, "excludes": ["b"]}, ["<a>ac</a>"], ["<a>b</a>"]),
        ({"max_chars": 0}, ["<a></a>"], ["<a>x</a>"]),
        ({"max_tokens": 0}, ["<a></a>"], ["<a>x</a>"]),
    ],
)
def test_free_text_of_bounded_length(options: Any, accepted: list[str], refused: list[str]) -> None:
    index = compile_index(StructuralTag({"format": _tag({"type": "any_text", **options})}), BYTES)
    assert [text for text in accepted if not index.accepts(text)] == []
    assert [text for text in refused if index.accepts(text)] == []
    index = compile_index(StructuralTag({"format": {"type": "any_text", "max_chars": 2}}), BYTES)
    assert index.accepts("ab")
    assert not index.accepts("abc")


_LEGACY = {"structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}], "triggers": ["<f"]}


@pytest.mark.parametrize(
    ("tag", "kind", "message"),
    [
        (_styled({"properties": []}), SchemaError, "at /format/json_schema, properties"),
        (_styled(_schema({"enum": 3})), SchemaError, "at /format/json_schema/properties/v, enum"),
        (_styled({"properties": {"a": {}}, "required": "a"}), SchemaError, "at /format/json_schema, required"),
        (_styled(_schema({"type": "nope"})), SchemaError, "at /format/json_schema/properties/v, type"),
        (_styled({"properties": {"a<": {}}}, "glm_xml"), SchemaError, "cannot write the name 'a<' .at /format/json_schema/properties/a<, "),
        (_styled({"anyOf": [{"$ref": "#/$defs/x"}, {}], "$defs": {"x": {"properties": {"a<b": {"type": "null"}}}}}, "glm_xml"), SchemaError,
         "cannot write the name 'a<b' .at /format/json_schema/.defs/x/properties/a<b"),
        (_styled({"const": {"a<b": 1}}, "glm_xml"), SchemaError, "cannot write the name 'a<b' .at /format/json_schema, const"),
        (_styled({"type": "integer"}), SchemaError, "no object satisfies the schema.* .at /format/json_schema, type"),
        (_styled(False), SchemaError, "no value satisfies the schema .at /format/json_schema"),
        (_styled({"required": ["x"], "properties": {}}), SchemaError, "no object satisfies"),
        (_styled({"$ref": "#"}), SchemaError, "at /format/json_schema"),
        (_styled({"anyOf": [{"$ref": "#"}]}), SchemaError, "at /format/json_schema"),
        (_styled({}, max_whitespace_cnt=0), SchemaError, "must be positive"),
        (_styled({}, style=3), SchemaError, "at /format/style, style"),
        (_styled({}, any_order="yes"), SchemaError, "'any_order' must be a bool, not 'yes' .at /format/any_order"),
        ({"format": _triggered(at_least_one="no")}, SchemaError, "at /format/at_least_one, at_least_one"),
        ({"format": {**_TAG, "end": []}}, SchemaError, "a tag needs at least one end string .at /format/end, end"),
        ({"format": {**_TAG, "end": ["x", 1]}}, SchemaError, "at /format/end/1, end"),
        ({"format": _triggered(tags=[3])}, SchemaError, "a tag must be an object, not int .at /format/tags/0"),
        ({"format": _triggered(triggers=[])}, SchemaError, "at /format/triggers, triggers"),
        ({"format": _triggered(exclude=["x"])}, SchemaError, "unknown key 'exclude'; is 'excludes' meant"),
        ({"format": _TAG, "fromat": 1}, SchemaError, "unknown key 'fromat'; is 'format' meant"),
        ({"format": {"type": "const_string", "value": "\ud800"}}, SchemaError, "lone surrogate.*at /format/value"),
        ({"format": {"type": "any_text", "excludes": [""]}}, SchemaError, "at /format/excludes/0, excludes"),
        ({"format": {"type": "any_text", "max_tokens": 2**40}}, SchemaError, "at /format/max_tokens"),
        ({"format": {"type": "dispatch", "rules": ["ab"]}}, SchemaError, "at /format/rules/0, rules"),
        ({**_LEGACY, "at_least_one": 1}, SchemaError, "at_least_one"),
        ({**_LEGACY, "triggers": ["<g"]}, SchemaError, "at /structures/0/begin, begin"),
        ({**_LEGACY, "structures": [{**_LEGACY["structures"][0], "ends": 1}]}, SchemaError, "at /structures/0, 'ends'"),
        ({**_LEGACY, "structures": [{"begin": "<f>", "schema": {"type": "x"}, "end": ""}]}, SchemaError, "at /structures/0/schema, type"),
        ({"format": _tag({"type": "regex", "pattern": "(a"})}, PatternError, "^/format/content/pattern: "),
        ({"format": _tag({"type": "grammar", "grammar": "start: x"})}, GrammarError, "^/format/content/grammar: "),
        ({"format": _tag({"type": "grammar", "grammar": "root ::= x"})}, GrammarError, "^/format/content/grammar: "),
        ({"format": _tag({"type": "grammar", "grammar": 'start: start "a"'})}, GrammarError, "^/format/content/grammar: "),
        ({"format": _tag({"type": "json_schema", "json_schema": {"type": "x"}})}, SchemaError, "at /format/content/json_schema, type"),
        ({"format": _tag({"type": "json_schema", "json_schema": {"allOf": [{"type": "null"}, {"type": "array"}]}})}, SchemaError,
         "no value satisfies the schema .at /format/content/json_schema, allOf/0/type, allOf/1/type"),
        (_styled(_schema({"type": "string", "maxLength": 1, "minLength": 2})), SchemaError, "json_schema/properties/v, maxLength"),
        (_styled(_schema({"$ref": "#/$defs/text", "type": "integer"})), SchemaError, "no value satisfies"),
        ({"format": {"type": "any_text", "max_chars": 10**8}}, LimitError, "^/format: "),
    ],
)  # fmt: skip
def test_errors_say_where_and_compiling_too(tag: Any, kind: type[GuidedError], message: str) -> None:
    with pytest.raises(kind, match=message):
        compile_index(StructuralTag(tag), BYTES)


def test_unknown_keys_of_people_have_no_effect() -> None:
    tag = {"format": {"type": "const_string", "value": "a", "description": "x", "x-note": 1}}
    assert compile_index(StructuralTag(tag), BYTES).accepts("a")


_WHOLE = {
    "format": {
        "type": "sequence",
        "elements": [
            _triggered(excludes=["x"], at_least_one=True, stop_after_first=False),
            _styled({**_schema({"enum": ["x", 1]}), "additionalProperties": {"$ref": "#/$defs/text"}}, any_order=True)["format"],
            {"type": "json_schema", "json_schema": {"properties": {"a": {"type": "string"}}}, "max_whitespace_cnt": 2},
            {"type": "or", "elements": [{"type": "dispatch", "rules": [["a", _NUMBER]], "loop": False}, _ANY]},
            {"type": "tags_with_separator", "tags": [_TAG], "separator": ",", "at_least_one": True},
            {"type": "repeat", "min": 0, "max": 2, "content": {"type": "regex", "pattern": "[a-c]+"}},
            {"type": "any_text", "max_chars": 4, "excludes": ["no"]},
            {"type": "grammar", "grammar": 'start: "a" | "b"'},
        ],
    },
}  # fmt: skip
_JUNK = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        3,
        1.5,
        10**20,
        "",
        "a",
        "root",
        "\ud800",
        "#",
        "(",
        [],
        ["a"],
        [[]],
        [1],
        {},
        {"a": 1},
        {"type": "x"},
    ]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in _places(each, (*path, key)))]


def _damaged(tag: Any, path: tuple[Any, ...], junk: Any, action: str) -> Any:
    if not path:
        return junk
    tag = copy.deepcopy(tag)
    holder = tag
    for key in path[:-1]:
        holder = holder[key]
    if action == "delete":
        del holder[path[-1]]
    elif action == "add" and isinstance(holder, dict):
        holder[f"{path[-1]}s"] = junk
    else:
        holder[path[-1]] = junk
    return tag


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_tags_are_read_or_refused(data: st.DataObject) -> None:
    tag = data.draw(st.sampled_from([_WHOLE, _LEGACY]))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(_places(tag)))
        tag = _damaged(tag, path, data.draw(_JUNK), data.draw(st.sampled_from(["delete", "replace", "add"])))
        if not isinstance(tag, dict):
            break
    with contextlib.suppress(GuidedError):
        compile_index(StructuralTag(tag), BYTES)


def test_structural_tags_survive_pickling_and_files(tmp_path: Any) -> None:
    tag = StructuralTag(_styled(_schema({"anyOf": [{"type": "string", "pattern": "^a+$"}, {"type": "array"}]})))
    index = compile_index(tag, BYTES)
    text = "<parameter=v>aa</parameter>"
    assert compile_index(pickle.loads(pickle.dumps(tag)), BYTES).accepts(text)
    index.save(tmp_path / "tag.index")
    loaded = load_index(tmp_path / "tag.index", BYTES)
    assert loaded.accepts(text)
    assert not loaded.accepts("<parameter=v>b</parameter>")


@pytest.mark.parametrize("kind", ["json_schema", "regex", "any_text", "grammar"])
def test_places_survive_pickling_and_files(kind: str, tmp_path: Path) -> None:
    never = {"type": "string", "minLength": 3, "maxLength": 1}
    schema = {"type": "object", "properties": {"never": never, "a": {"type": "integer"}}}
    others = {
        "json_schema": {"json_schema": never},
        "regex": {"pattern": "a+"},
        "any_text": {"excludes": ["a"]},
        "grammar": {"grammar": 'root ::= "a" root | "b"'},
    }
    either = {
        "type": "or",
        "elements": [{"type": kind, **others[kind]}, {"type": "json_schema", "json_schema": schema}],
    }
    index = compile_index(StructuralTag({"type": "structural_tag", "format": either}), BYTES)
    assert any(note.startswith("/format/elements/1/json_schema: no value satisfies") for note in index.notes)
    index.save(tmp_path / "tag.index")
    loaded = load_index(tmp_path / "tag.index", BYTES)
    assert loaded.notes == pickle.loads(pickle.dumps(index)).notes == index.notes
    loaded.save(tmp_path / "again.index")
    assert (tmp_path / "again.index").read_bytes() == (tmp_path / "tag.index").read_bytes()


def test_the_value_of_a_format_is_that_of_its_spec() -> None:
    spec = "x" + StructuralTag({"format": {"type": "json_schema", "json_schema": {"type": "object"}}}).named("it")
    assert guided.captures(spec, 'x{"a": 1}') == {"it": {"a": 1}}


_STORED = json.loads((Path(__file__).parents[1] / "data" / "structural_tags.json").read_text(encoding="utf-8"))


def test_verdicts_are_those_of_xgrammar_on_stored_tags() -> None:
    """By ``python -m benchmarks.structural_tags --count 100 --store FILE``; see there.

    Texts that differ have a string of ``minLength`` that contains the text after a value, which xgrammar does not exclude.
    """
    assert len(_STORED) == 99
    for stored in _STORED[::3]:
        index = compile_index(StructuralTag(stored["tag"]), BYTES)
        differing = {text for text, verdict in stored["texts"].items() if index.accepts(text) != verdict}
        assert differing == set(stored["differing"])
    assert all("minLength" in json.dumps(stored["tag"]) for stored in _STORED if stored["differing"])


def test_many_triggers_take_linear_work() -> None:
    def work(n: int) -> int:
        names = [f"<tool_{number:05}" for number in range(n)]
        tags = [{"begin": f"{name}>", "content": {"type": "any_text"}, "end": "</t>"} for name in names]
        of_tags = {"type": "triggered_tags", "triggers": names, "tags": tags}
        of_rules = {"type": "dispatch", "rules": [[name, {"type": "const_string", "value": "x"}] for name in names]}
        found: list[Index] = []
        count = executed_calls(
            lambda: found.extend(compile_index(StructuralTag({"format": each}), BYTES) for each in (of_tags, of_rules))
        )
        assert found[0].accepts("so <tool_00003>text</t> and")
        assert found[1].accepts("so <tool_00003x and")
        return count

    assert work(200) < 6 * work(50)


@pytest.mark.parametrize("style", STYLES)
def test_plain_schemas_in_a_style_cost_little_more_than_in_json(style: str) -> None:
    def compiled(style: str, name: str) -> Index:
        properties = {f"{name}a": {"type": "string"}, f"{name}b": {"type": "integer"}}
        return compile_index(StructuralTag(_styled({"properties": properties, "required": [f"{name}b"]}, style)), BYTES)

    def work(style: str) -> int:
        compiled(style, "p")
        return executed_calls(lambda: [compiled(style, f"p{number}") for number in range(8)])

    assert work(style) < 2.5 * work("json")


@pytest.mark.parametrize("style", STYLES)
def test_budgets_of_many_arguments_are_within_the_steps_of_a_call(style: str) -> None:
    names = [f"{number:03}_name_of_a_member" for number in range(500)]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names}
    guide = compile_index(StructuralTag(_styled(schema, style)), BYTES).guide()
    for byte in _written(style, names[0], 12).encode()[:-3]:
        left = guide.remaining
        assert guide.mask_within(left).any()
        guide.advance(byte)
    assert guide.remaining in (left - 1, left)


def test_schemas_in_a_style_are_read_within_the_limits_of_the_tag() -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"pattern": "(a|b)*a(a|b){12}$"}}}}
    tag = {"format": {"type": "json_schema", "style": "qwen_xml", "json_schema": schema}}
    compile_index(StructuralTag(tag), BYTES)
    with pytest.raises(LimitError) as caught:
        compile_index(StructuralTag(tag), BYTES, Limits(states=5_000))
    assert (caught.value.what, caught.value.limit) == ("states", 5_000)


def _written(style: str, name: str, value: Any, padding: str = "") -> str:
    """An argument, or an item without a name, as the family's chat template writes it."""
    form = STYLES[style]
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object"}
    kind = kinds.get(type(value), "null")
    between = next(text for text, types in form.between if not types or kind in types).replace("\n", padding)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if form.item and kind in ("array", "object"):
        parts = value.items() if kind == "object" else (("", item) for item in value)
        text = padding.join(_written(style, one, part, padding) for one, part in parts)
    after = f"{form.after}{name or form.element}>" if form.element else form.after
    if form.item and not name:
        return f"{form.item}{between[1:]}{text}{after}"
    # Where nothing marks strings, blanks around another value may be those of a string.
    around = "\n" if form.padding == "line feeds" else padding if len(form.between) > 1 and kind != "string" else ""
    return f"{form.before}{name}{between}{around}{text}{around}{after}"


def _object_of(names: Iterable[str], values: Iterable[str]) -> str:
    return f"{{{','.join(f'{json.dumps(name, ensure_ascii=False)}:{one}' for name, one in zip(names, values, strict=True))}}}"


def _readings(style: str, value: Any) -> list[str]:
    """The JSON of all values that have the text of a value."""
    form, written = STYLES[style], json.dumps(value, ensure_ascii=False)
    if len(form.between) > 1:
        return [written]
    if not form.element:
        return [written, json.dumps(written, ensure_ascii=False)]
    if value in ("", [], {}):
        return ['""', "[]", "{}"]
    if isinstance(value, dict | list):
        names = value if isinstance(value, dict) else [form.element] * len(value)
        parts = value.values() if isinstance(value, dict) else value
        inner = list(product(*(_readings(style, part) for part in parts)))
        found = [_object_of(names, ones) for ones in inner]
        return found if {*names} != {form.element} else [*found, *(f"[{','.join(ones)}]" for ones in inner)]
    if isinstance(value, str):
        return [written, value] if re.fullmatch(_LIKE_JSON, value) else [written]
    return [written, json.dumps(written)]


def _is_read_as_itself(style: str, value: Any) -> bool:
    """Whether no other value has the text of a value, where both may come."""
    if isinstance(value, str) and len(STYLES[style].between) == 1 and _LIKE_JSON.match(value):
        return False
    if not STYLES[style].element or not isinstance(value, dict | list):
        return not STYLES[style].element or value != ""
    parts = value.values() if isinstance(value, dict) else value
    is_plain = [*value][:1] != [STYLES[style].element] or not isinstance(value, dict)
    return bool(value) and is_plain and all(_is_read_as_itself(style, part) for part in parts)


@pytest.mark.parametrize("style", STYLES)
def test_long_strings_in_a_style(style: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 65_536}}, "required": ["a"]}
    index = compile_index(
        StructuralTag({"format": {"type": "json_schema", "style": style, "json_schema": schema}}), BYTES
    )
    for length in (0, 65_536, 65_537):
        assert index.accepts(_written(style, "a", "b" * length)) == (length <= 65_536)
    assert not index.accepts(_written(style, "a", f"b{STYLES[style].after}b"))


def _reads(stacks: Stacks, text: str) -> bool:
    place = read_bytes(stacks, (stacks.automaton.start, 0, *KEPT), [], text.encode())
    return place is not None and stacks.is_end(place)


# A name that no style can write, and the beginning of texts that are other values than strings.
_UNWRITTEN = " c"
_LIKE_JSON = re.compile(r"[\[{]|\s*(-?[0-9]+|true|false|null)")


def _mentions(schema: Any, pointer: str) -> bool:
    """Whether the schema at a JSON Pointer mentions the name that cannot be written, or declares it there."""
    for token in pointer.split("/")[1:]:
        schema = schema[int(token) if isinstance(schema, list) else token]
    return pointer.endswith(f"/properties/{_UNWRITTEN}") or any(
        _UNWRITTEN in json.dumps(schema.get(keyword)) for keyword in ("required", "dependentRequired", "enum")
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _contains(value: Any, texts: tuple[str, ...]) -> bool:
    """Whether a string or a name contains one of some texts."""
    if isinstance(value, dict | list):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return any(_contains(part, texts) for part in parts)
    return isinstance(value, str) and any(text in value for text in texts)


@settings(max_examples=examples(40))
@given(
    schema=st.one_of(SCHEMAS, st.dictionaries(st.sampled_from(NAMES), NESTED, max_size=2).map(_object)),
    values=st.lists(INSTANCES, max_size=5).map(lambda values: VALUES + values),
    style=st.sampled_from(list(STYLES)),
    is_written=st.booleans(),
    excludes=st.sampled_from([(), ("x",), ("5", "q", "z"), ("</", "{", "a")]),
    chance=st.randoms(use_true_random=False),
)
def test_objects_in_a_style_are_those_of_json(
    schema: Any, values: list[Any], style: str, is_written: bool, excludes: tuple[str, ...], chance: random.Random
) -> None:
    """Whatever the keywords; where nothing marks strings, a text may be a string or another value."""
    if STYLES[style].element:
        names = re.compile('"ab"'), f'"{STYLES[style].element}"'
        schema, values = (json.loads(names[0].sub(names[1], json.dumps(one))) for one in (schema, values))
    if not is_written:
        schema = json.loads(re.sub('"(c|ab)"', f'"{_UNWRITTEN}"', json.dumps(schema)))
    spec = JsonSchema(schema, additional_properties=False)
    in_style = spec.written_as(STYLES[style].arguments(2), excludes)
    try:
        plain, in_json, stacks = map(stacks_of, (spec, spec.written_as(None, excludes), in_style))
    except SchemaError:
        with pytest.raises(SchemaError, match=r"no value|no object|cannot write the name") as caught:
            stacks_of(in_style)
        assert caught.value.reason.startswith("no ") or _mentions(schema, caught.value.pointer)
        return
    assert _UNWRITTEN not in schema["properties"]
    judge, good = jsonschema.Draft202012Validator(schema), list[bytes]()
    for _ in range(25):
        arguments = {name: chance.choice(values) for name in NAMES if chance.random() < 0.4}
        is_itself = all(_is_read_as_itself(style, value) for value in arguments.values())
        if not is_itself and not STYLES[style].element:
            continue
        written = json.dumps(arguments, ensure_ascii=False)
        is_allowed = _reads(in_json, written)
        assert is_allowed == (_reads(plain, written) and not _contains(arguments, excludes))
        assert judge.is_valid(arguments) or not is_allowed
        padding = chance.choice(["", "\n"])
        text = padding.join(_written(style, name, value, padding) for name, value in arguments.items())
        readings = product(*(_readings(style, value) for value in arguments.values()))
        may_be = any(
            _reads(
                in_json,
                _object_of(arguments, ones),
            )
            for ones in readings
        )
        is_read = _reads(stacks, text)
        assert (is_allowed and is_itself) <= is_read <= may_be, text
        if is_read:
            good.append(text.encode())
    if good:
        try:
            check_walk(in_style, chance.choice(good), chance)
        except StateEvicted:
            # Each undeclared name that is counted takes states of its own, as in JSON.
            return


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"type": "string", "maxLength": 3}, {"abc": "abc", "\nabc": "abc", "abc\n": "abc", "\n\nab": "\nab", "abcd": None}),
        ({"type": "string", "minLength": 2, "maxLength": 2}, {"\nab\n": "ab", "\na\n": None, "a\n\n": "a\n"}),
        ({"enum": ["x", "y\n", 5, None]}, {"\nx\n": "x", "y\n": None, "y\n\n": "y\n", "\n5\n": 5, "\nnull": None}),
        ({"type": ["array", "string"], "maxLength": 2}, {"\n[1] \n": [1], "\nab\n": "ab", "\n\n": "", "\n": ""}),
    ],
)  # fmt: skip
def test_one_line_feed_on_either_side_of_a_text_is_not_part_of_it(value: Any, texts: dict[str, Any]) -> None:
    """So the parsers of the family read it, where the chat template writes both."""
    index = compile_index(StructuralTag(_styled(_schema(value))), BYTES)
    judge = jsonschema.Draft202012Validator(value)
    for text, meant in texts.items():
        is_valid = meant is not None or text.strip() == "null"
        assert not is_valid or judge.is_valid(meant)
        assert index.accepts(f"<parameter=v>{text}</parameter>") == is_valid, text


@pytest.mark.parametrize("style", STYLES)
def test_indices_of_styles_are_restored(style: str) -> None:
    plain = JsonSchema(_schema({"type": "integer"}))
    styled = plain.written_as(STYLES[style].arguments(3))
    specs = [plain, styled, styled.written_as(styled.options.arguments, ("a",)), plain.written_as(None, ("a",))]
    for spec in specs:
        again = JsonSchema.from_data(spec.data)
        assert again.fingerprint == spec.fingerprint
        assert again.options == spec.options
    assert len({spec.fingerprint for spec in specs}) == len(specs)


def test_many_costly_leaves_are_refused_early() -> None:
    patterns = [{"type": "regex", "pattern": f"[a-z]{{1,{number}}}(foo|bar{number})?"} for number in range(1, 900)]
    strings = {f"p{number}": {"type": "string", "pattern": f"a{number}.*b"} for number in range(2_000)}
    arguments = {"type": "json_schema", "style": "qwen_xml", "json_schema": {"type": "object", "properties": strings}}
    excludes = {
        "type": "json_schema",
        "json_schema": {"type": "object"},
        "excludes": [str(7**n) for n in range(9, 199)],
    }
    grammars = [{"type": "grammar", "grammar": f'start: "({number}" start ")" | "a"'} for number in range(260)]
    for content, what in (
        ({"type": "sequence", "elements": patterns}, "nfa_states"),
        (arguments, "call_steps"),
        (excludes, "call_steps"),
        ({"type": "or", "elements": grammars}, "readings"),
    ):
        tag = StructuralTag({"format": content}, limits=Limits(steps=200_000_000))
        with pytest.raises(LimitError) as caught:
            compile_index(tag, BYTES, FRONT_END_LIMITS)
        assert caught.value.what == what


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("excludes", [["<b>"], ["<"], ["x<"], ["x<b>x", "xx"], ["b>"], ["b", "<b"]])
def test_the_end_of_a_tag_is_not_part_of_its_text(excludes: list[str], most: int | None) -> None:
    content = {"type": "any_text", "excludes": excludes} | ({} if most is None else {"max_chars": most})
    index = compile_index(
        StructuralTag({"format": {"type": "tag", "begin": "", "content": content, "end": "<b>"}}), BYTES
    )
    for letters in (letters for length in range(7) for letters in product("<b>x", repeat=length)):
        text = "".join(letters)
        inner = text.removesuffix("<b>")
        is_first = text.find("<b>") == len(inner) < len(text)
        is_allowed = not any(each in inner for each in excludes) and (most is None or len(inner) <= most)
        assert index.accepts(text) == (is_first and is_allowed), text


TOKENS = [b"a", b"<", b"b", b">", b"a<", b"<b", b"<b>", b"a<b>", b">a"]
WORDS = Vocabulary([*TOKENS, None], eos=[len(TOKENS)])


@pytest.mark.parametrize("end", ["<b>", ["<b>", "b>"], ["<b>", "a>"], ["<b>", "<b>>a"], ["a", "a<", "b", "a<b"]])
@pytest.mark.parametrize("excludes", [[], ["aa"], ["<"]])
@pytest.mark.parametrize("chars", [None, 2])
@pytest.mark.parametrize("most", [None, 1, 2])
def test_the_tokens_of_an_end_do_not_count(end: Any, excludes: list[str], chars: int | None, most: int | None) -> None:
    limits = {"max_tokens": most, "max_chars": chars}
    content = {"type": "any_text", "excludes": excludes} | {name: n for name, n in limits.items() if n is not None}
    ends = [end] if isinstance(end, str) else end
    made = compile_index(StructuralTag({"format": {"type": "tag", "begin": "", "content": content, "end": end}}), WORDS)
    stored = pickle.loads(pickle.dumps(made))

    def is_allowed(pieces: tuple[bytes, ...]) -> bool:
        text = b"".join(pieces).decode()
        found = [(text.find(one) + len(one), text.find(one)) for one in ends if one in text]
        first = [begin for end, begin in found if end == min(found)[0] < len(text)]
        for one in ends:
            inner = text.removesuffix(one)
            if first and len(inner) not in first:
                continue
            begins = [sum(map(len, pieces[:number])) for number in range(len(pieces))]
            if (
                inner != text
                and not any(each in inner for each in excludes)
                and (chars is None or len(inner) <= chars)
                and (most is None or sum(begin < len(inner) for begin in begins) <= most)
            ):
                return True
        return False

    for index in (made, stored):
        for tokens in (tokens for length in range(1, 4) for tokens in product(range(len(TOKENS)), repeat=length)):
            guide = index.guide()
            is_read = guide.advance_many(tokens) == len(tokens) and guide.is_accepting
            assert is_read == is_allowed(tuple(TOKENS[token] for token in tokens)), [TOKENS[token] for token in tokens]
        if index is made and most != 1:
            break


def by_bytes(index: Index, text: str) -> bool:
    """Whether a text is read with a token for each byte."""
    guide, data = index.guide(), text.encode()
    return guide.advance_many(list(data)) == len(data) and guide.is_accepting


def test_the_tokens_of_an_end_count_where_it_may_occur_within_itself() -> None:
    tag = {"type": "tag", "begin": "", "content": {"type": "any_text", "max_tokens": 3}, "end": "aa"}
    index = compile_index(StructuralTag({"format": tag}), BYTES)
    assert by_bytes(index, "aa")
    assert by_bytes(index, "xaa")
    assert not by_bytes(index, "xxaa")
    assert not by_bytes(index, "aaa"), "the first occurrence ends the text"


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        ({}, ["", "x", "x</a>y"], []),
        ({"max_chars": 2}, ["", "xy"], ["xyz"]),
        ({"max_tokens": 2}, ["", "xy"], ["xyz"]),
        ({"max_tokens": 3, "max_chars": 2}, ["", "xy"], ["xyz"]),
        ({"excludes": ["y"]}, ["xx"], ["xy"]),
    ],
)
@pytest.mark.parametrize("end", ["", [""]])
def test_without_an_end_free_text_lasts_as_long_as_the_whole_text(
    end: Any, options: Any, accepted: list[str], refused: list[str]
) -> None:
    tag = {"type": "tag", "begin": "", "content": {"type": "any_text", **options}, "end": end}
    index = compile_index(StructuralTag({"format": tag}), BYTES)
    assert [text for text in accepted if not by_bytes(index, text)] == []
    assert [text for text in refused if by_bytes(index, text)] == []
