"""Structural tags: the texts of each format, as xgrammar 0.2.8 accepts them, and refusals by path."""

import json
from typing import Any

import pytest

from guided.engine.compile import compile as compile_index
from guided.engine.structural_tags import StructuralTag
from guided.errors import SchemaError
from guided.vocabulary.vocabulary import Vocabulary

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
    ("given", "accepted", "refused"),
    [
        (
            _triggered(),
            ["", "x", "x<f>1</f>", "<f>1</f>y<f>2</f>", "<f>1</f><f>2</f>z", "x<"],
            ["x<fa", "<f>1", "<f>a</f>", "<f"],
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
        ({"type": "any_text", "excludes": ["ab"]}, ["", "b", "ba"], ["ab", "aab"]),
        ({"type": "optional", "content": _NUMBER}, ["", "1"], ["a"]),
        ({"type": "star", "content": _TAG}, ["", "<f>1</f><f>2</f>"], ["<f>"]),
        ({"type": "plus", "content": _TAG}, ["<f>1</f><f>2</f>"], [""]),
        ({"type": "repeat", "min": 1, "max": 2, "content": _TAG}, ["<f>1</f>"], ["", "<f>1</f>" * 3]),
        ({"type": "repeat", "min": 1, "max": -1, "content": _TAG}, ["<f>1</f>" * 3], [""]),
        ({"type": "grammar", "grammar": 'start: "a" start | "b"'}, ["b", "aab"], ["a"]),
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
    ],
)  # fmt: skip
def test_formats_have_the_texts_of_xgrammar(given: Any, accepted: list[str], refused: list[str]) -> None:
    tag = {"type": "structural_tag", "format": given}
    for spec in (StructuralTag(tag), StructuralTag(json.dumps(tag))):
        index = compile_index(spec, BYTES)
        assert [text for text in accepted if not index.accepts(text)] == []
        assert [text for text in refused if index.accepts(text)] == []


def test_the_older_form() -> None:
    schema = {"type": "integer"}
    for given in (schema, json.dumps(schema)):
        spec = StructuralTag(
            {"structures": [{"begin": "<f>", "schema": given, "end": "</f>"}], "triggers": ["<f"]},
        )
        index = compile_index(spec, BYTES)
        assert index.accepts("a<f>1</f>b")
        assert not index.accepts("a<f>x</f>b")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ({}, r"a structural tag needs 'format', or 'structures' and 'triggers' \(at /, format\)"),
        ({"type": "x"}, r"unknown type 'x', expected 'structural_tag' \(at /type, type\)"),
        ({"format": 1}, r"a format must be an object, not int \(at /format, type\)"),
        ({"format": {"type": "no"}}, r"unknown format 'no' \(at /format, type\)"),
        ({"format": {"type": "token", "token": 1}}, r"formats of single tokens such as 'token' cannot be enforced"),
        ({"format": {"type": "const_string"}}, r"'value' is missing \(at /format, value\)"),
        ({"format": {"type": "const_string", "value": 1}}, r"'value' must be a string, not int \(at /format/value, value\)"),
        ({"format": {"type": "sequence", "elements": [{"type": "or", "elements": []}]}}, r"at /format/elements/0, elements"),
        ({"format": {"type": "any_text", "max_chars": 3}}, r"cannot be enforced \(at /format/max_chars, max_chars\)"),
        ({"format": {"type": "grammar", "grammar": 'root ::= "a"'}}, r"EBNF \(GBNF\) grammars are not supported"),
        ({"format": {"type": "json_schema", "json_schema": {}, "style": "cohere_xml"}}, r"unknown or unsupported style"),
        ({"format": {"type": "json_schema", "json_schema": {}, "excludes": ["a"]}}, r"at /format/excludes, excludes"),
        ({"format": _triggered(triggers=["<g"])}, r"0 triggers are prefixes of '<f>'; one must be \(at /format/tags/0/begin"),
        ({"format": {"type": "repeat", "min": 2, "max": 1, "content": _ANY}}, r"max 1 is below min 2"),
        ("{", "the structural tag is not valid JSON"),
    ],
)  # fmt: skip
def test_unsatisfiable_values_are_refused_by_path(tag: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        StructuralTag(tag)


def test_structural_tags_refuse_other_types() -> None:
    with pytest.raises(SchemaError, match="a structural tag must be an object, not int"):
        StructuralTag(1)  # type: ignore[arg-type]
