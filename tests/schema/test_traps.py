r"""Traps of JSON Schema that engines fall into, one by one.

Texts whose bytes are not their values, and keywords that mean something else than it seems.
"""

import itertools
import json
import random
from typing import Any

import jsonschema
import pytest

from guided.errors import LimitError, SchemaError
from tests.schema.engine import compiled

ANY = {"property_order": "any", "numbers": "any", "escapes": "any"}
DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"


def check(schema: Any, good: list[str], bad: list[str], **options: Any) -> None:
    """All of the first texts are in the language, none of the second."""
    guide = compiled(schema, **options).guide()
    wrong = [text for text in good if not guide.accepts(text.encode())]
    assert not wrong, f"valid, and rejected: {wrong}"
    wrong = [text for text in bad if guide.accepts(text.encode())]
    assert not wrong, f"invalid, and accepted: {wrong}"


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"additionalProperties": {"type": "string"}}},
        {"not": {"patternProperties": {"^x": {"type": "string"}}}},
        {"oneOf": [{"additionalProperties": {"type": "string"}}, {"maxProperties": 9}]},
        {"if": {"additionalProperties": {"type": "string"}}, "then": False},
        {"not": {"maxProperties": 1}},
        {"allOf": [{"not": {"properties": {"a": {"not": {"additionalProperties": {"type": "string"}}}}}}, {}]},
    ],
)
def test_a_repeated_name_removes_no_member(schema: Any) -> None:
    guide = compiled({"type": "object", **schema}, **ANY).guide()
    values = ["1", '"s"', '{"x":1}', '{"x":"s"}']
    names = ["x", "y", "a"]
    members = [f'"{name}":{value}' for name in names for value in values]
    texts = ["{" + ",".join(some) + "}" for n in range(4) for some in itertools.product(members, repeat=n)]
    accepted = [text for text in texts if guide.accepts(text.encode())]
    assert accepted
    validator = jsonschema.Draft202012Validator({"type": "object", **schema})
    assert not [text for text in accepted if not validator.is_valid(json.loads(text))]
    once = [
        text
        for text in texts
        if validator.is_valid(json.loads(text)) and all(text.count(f'"{name}"') < 2 for name in names)
    ]
    assert set(once) <= set(accepted)


def test_a_name_may_repeat_if_all_members_have_one_schema() -> None:
    check({"additionalProperties": {"type": "string"}}, ['{"x":"","x":"s"}'], ['{"x":1,"x":"s"}', '{"x":"s","x":1}'])


@pytest.mark.parametrize("order", ["schema", "any"])
def test_an_escaped_name_does_not_escape_its_property(order: str) -> None:
    schema = {"properties": {"a": {"type": "string"}}}
    check(schema, [r'{"\u0061":"x"}', '{"a":"x"}'], [r'{"\u0061":5}', '{"a":5}'], escapes="any", property_order=order)
    check(schema, [], [r'{"\u0061":5}', r'{"\u0061":"x"}'], escapes="canonical", property_order=order)


def test_an_escaped_name_meets_required() -> None:
    check({"required": ["a"]}, [r'{"\u0061":1}', '{"a":1}'], ["{}", '{"A":1}'], **ANY)


def test_a_surrogate_pair_is_a_name_by_value() -> None:
    schema = {"properties": {"😀": False, "é": {"type": "null"}}}
    check(
        schema,
        [r'{"\u00e9":null}', r'{"\u00E9":null}'],
        [r'{"\ud83d\ude00":1}', r'{"\uD83D\uDE00":1}', r'{"\u00e9":1}'],
        **ANY,
    )


@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_repeated_name_does_not_satisfy_min_properties(order: str) -> None:
    check({"minProperties": 2}, ['{"x":1,"y":2}'], ['{"x":1,"x":2}', '{"x":1}'], property_order=order)
    check(
        {"minProperties": 2, "properties": {"x": {}}},
        ['{"x":1,"y":2}'],
        ['{"x":1,"x":2}', '{"y":1,"y":2}'],
        property_order=order,
    )


@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_repeated_escaped_name_does_not_satisfy_min_properties(order: str) -> None:
    schema = {"minProperties": 2, "properties": {"x": {}}}
    check(schema, [], [r'{"x":1,"\u0078":2}', r'{"y":1,"\u0079":2}'], property_order=order, escapes="any")


@pytest.mark.parametrize("order", ["schema", "any"])
def test_declared_names_occur_once(order: str) -> None:
    check(
        {"properties": {"a": {}, "b": {}}},
        ['{"a":1,"b":2}', "{}"],
        ['{"a":1,"a":2}', '{"a":1,"b":2,"a":3}'],
        property_order=order,
    )


@pytest.mark.parametrize("order", ["schema", "any"])
def test_names_that_are_prefixes_of_others(order: str) -> None:
    schema = {
        "properties": {
            "a": {"type": "null"},
            "ab": {"type": "boolean"},
            "abc": {"type": "string"},
            "": {"type": "number"},
        },
        "additionalProperties": {"type": "array"},
    }
    check(
        schema,
        ['{"a":null,"ab":true,"abc":"","":1}', '{"abcd":[]}', '{"abd":[],"b":[]}', '{"abc":""}'],
        ['{"a":true}', '{"ab":null}', '{"abc":true}', '{"abcd":null}', '{"":[]}', '{"abc":[]}'],
        property_order=order,
    )


def test_a_declared_name_is_not_an_additional_property_in_any_spelling() -> None:
    schema = {"properties": {"a": {"type": "null"}}, "additionalProperties": False}
    check(schema, [r'{"\u0061":null}', '{"a":null}', "{}"], ['{"b":null}', r'{"\u0062":null}', r'{"\u0061":1}'], **ANY)


def test_pattern_properties_match_by_value() -> None:
    schema = {"patternProperties": {"^a$": {"type": "null"}}, "additionalProperties": {"type": "number"}}
    check(schema, [r'{"\u0061":null}', '{"aa":1}'], [r'{"\u0061":1}', '{"aa":null}'], **ANY)


def test_pattern_properties_and_properties_both_apply() -> None:
    schema = {
        "properties": {"foo": {"minLength": 2}, "bar": {}},
        "patternProperties": {"o": {"type": "string"}, "^f": {"maxLength": 3}},
        "additionalProperties": False,
    }
    check(
        schema,
        ['{"foo":"abc"}', '{"bar":1}', '{"xo":"long text"}'],
        ['{"foo":"a"}', '{"foo":12}', '{"foo":"abcd"}', '{"x":1}'],
    )


def test_names_that_are_only_required_need_not_be_declared() -> None:
    check(
        {"required": ["a", "b"]},
        ['{"a":1,"b":2}', '{"b":2,"x":0,"a":1}', "1", "[]"],
        ['{"a":1}', "{}", '{"a":1,"c":2}'],
    )


def test_dependencies_of_undeclared_names() -> None:
    schema = {"dependentRequired": {"a": ["b"]}}
    check(schema, ["{}", '{"b":1}', '{"a":1,"b":1}', '{"b":1,"a":1}'], ['{"a":1}', '{"a":1,"c":1}'])
    old = {"$schema": DRAFT7, "dependencies": {"a": ["b"], "c": {"maxProperties": 1}}}
    check(old, ["{}", '{"a":1,"b":1}', '{"c":1}'], ['{"a":1}', '{"c":1,"d":1}'])


def test_quotes_and_backslashes_in_names() -> None:
    names = ['"', "\\", "a\nb", "\x1f", "/", "\x7f", "\u2028"]
    schema = {"properties": {name: {"const": i} for i, name in enumerate(names)}, "additionalProperties": False}
    good = [json.dumps({name: i}, ensure_ascii=False) for i, name in enumerate(names)]
    bad = [json.dumps({name: i + 1}, ensure_ascii=False) for i, name in enumerate(names)]
    check(schema, good, bad)
    check(schema, [*good, *(json.dumps({name: i}) for i, name in enumerate(names))], bad, escapes="any")


# ------------------------------------------------------------------------------------------------------------- order


def test_declared_names_in_the_order_of_the_schema_and_others_anywhere() -> None:
    schema = {"properties": {"b": {}, "a": {}}, "required": ["c"]}
    check(
        schema,
        ['{"b":1,"a":1,"c":1}', '{"c":1,"b":1,"a":1}', '{"x":0,"b":1,"c":1,"y":0,"a":1}', '{"a":1,"c":1}'],
        ['{"a":1,"b":1,"c":1}', '{"b":1,"a":1}'],
    )
    check(schema, ['{"a":1,"b":1,"c":1}'], ['{"a":1,"b":1}'], property_order="any")


# ----------------------------------------------------------------------------------------------------------- numbers


def test_minus_zero_is_zero() -> None:
    check({"type": "integer", "minimum": 0}, ["0", "-0"], ["-1"])
    check({"const": 0}, ["0", "-0"], ["1", "00"], numbers="any")
    check({"exclusiveMinimum": 0}, ["0.1"], ["0", "-0", "-0.0", "-0e5"], numbers="any")


def test_one_point_zero_is_an_integer_where_numbers_are_values() -> None:
    check(
        {"type": "integer"},
        ["1", "1.0", "1e2", "1.0e0", "1.5e1", "0.0", "0e7"],
        ["1.5", "1e-1", "1.25e1"],
        numbers="any",
    )
    check({"type": "integer"}, ["1", "-12"], ["1.0", "1e2", "1.5"], numbers="plain")
    check({"$schema": DRAFT4, "type": "integer"}, ["1"], ["1.0", "12345.0"], numbers="any")


def test_numbers_beyond_floats() -> None:
    check({"minimum": 1}, ["1e400", "1E+400", "9" * 400], ["-1e400", "1e-400"], numbers="any")
    check({"maximum": 1e308}, ["1e308", "-1e400"], ["1e309", "1" + "0" * 309], numbers="any")
    check({"type": "integer", "maximum": 12345678901234567890}, ["12345678901234567890"], ["12345678901234567891"])


def test_numbers_that_json_forbids() -> None:
    check(
        {"type": "number"},
        ["0", "-1.5"],
        ["01", "+1", ".5", "1.", "-", "1e", "0x1", "NaN", "Infinity", "--1", "1 2", ""],
        numbers="any",
    )


def test_multiples_are_exact() -> None:
    check({"multipleOf": 0.01}, ["0.07", "19.99", "4.35", "1"], ["0.075", "0.001"])
    check(
        {"type": "integer", "multipleOf": 3},
        ["0", "3", "-9", "300000000000000000003"],
        ["1", "-2", "300000000000000000004"],
    )


def test_constants_are_equal_by_value() -> None:
    check({"const": 1}, ["1", "1.0", "1e0", "1.0E+00"], ["true", '"1"', "1.1"], numbers="any")
    check({"const": False}, ["false"], ["0", "null"])
    check(
        {"enum": [[1, {"a": 2}], None]}, ['[1,{"a":2}]', '[1.0,{"a":2.0}]', "null"], ['[1,{"a":2,"b":3}]', "[1]"], **ANY
    )
    check({"const": {"b": 1, "a": 2}}, ['{"a":2,"b":1}', '{"b":1,"a":2}'], ['{"a":2}', "{}"], property_order="any")


def test_draft_4_bounds_exclude_by_a_flag() -> None:
    check({"$schema": DRAFT4, "minimum": 1, "exclusiveMinimum": True}, ["1.1", "2"], ["1", "0"])


# ----------------------------------------------------------------------------------------------------------- strings


def test_lengths_count_code_points() -> None:
    schema = {"minLength": 2, "maxLength": 2}
    check(schema, ['"ab"', '"😀é"', r'"\n\\"', r'"\u0001a"'], ['"a"', '"😀"', '"abc"', r'"\\"'])
    check(schema, [r'"\ud83d\ude00a"', r'"\u0061\u0062"'], [r'"\ud83d\ude00"', r'"\u0061"'], escapes="any")


def test_lone_surrogates_have_no_text() -> None:
    check(
        {"type": "string"},
        [r'"\ud83d\ude00"'],
        [r'"\ud83d"', r'"\ude00"', r'"\ud83da"', r'"\ude00\ud83d"', r'"\ud83d\ud83d\ude00"'],
        escapes="any",
    )


def test_strings_that_json_forbids() -> None:
    guide = compiled({}, escapes="any").guide()
    for text in [
        b'"\x00"',
        b'"\n"',
        b'"\x1f"',
        b'"\xff"',
        b'"\xc0\x80"',
        b'"\xed\xa0\x80"',
        b'"\\x"',
        b'"\\u12"',
        b'"a',
        b'"\xf4\x90\x80\x80"',
        b"'a'",
    ]:
        assert not guide.accepts(text), text
    assert guide.accepts(b'"\x7f"')


def test_patterns_are_searched_for() -> None:
    check({"pattern": "b"}, ['"b"', '"abc"', "1"], ['"a"', '""'])
    check({"pattern": "^b"}, ['"bc"'], ['"ab"'])
    check({"pattern": "b$"}, ['"ab"'], [r'"b\n"', '"ba"'])
    check({"pattern": "^a|b$"}, ['"ax"', '"xb"'], ['"xax"'])


def test_pattern_and_length_both_hold() -> None:
    check({"pattern": "^(ab)+$", "minLength": 3, "maxLength": 5}, ['"abab"'], ['"ab"', '"ababab"', '"aba"'])


def test_patterns_are_ecma() -> None:
    check({"pattern": r"^\d$"}, ['"1"'], ['"१"'])
    check({"pattern": r"^\w$"}, ['"_"'], ['"é"'])
    check({"pattern": "^(?!a)(?=.b)..$"}, ['"xb"'], ['"ab"', '"xx"'])


def test_unknown_formats_and_keywords_mean_nothing() -> None:
    check({"format": "no-such-format"}, ['"x"', "1"], [])
    check({"_format": "date", "x-minimum": 3}, ['"x"', "1"], [])
    with pytest.raises(SchemaError) as caught:
        compiled({"properties": {"a/b": {"format": "no-such-format"}}}, format="strict")
    assert caught.value.keyword == "format"
    assert caught.value.pointer == "/properties/a~1b"


def test_formats_by_option() -> None:
    check({"format": "date"}, ['"2024-02-29"', "1"], ['"2023-02-29"', '"x"'])
    check({"format": "date"}, ['"x"'], [], format="annotate")


# -------------------------------------------------------------------------------------------------- types and drafts


def test_keywords_apply_to_their_own_type_only() -> None:
    check(
        {"minLength": 2, "minimum": 3, "required": ["a"], "minItems": 1},
        ['"ab"', "3", '{"a":1}', "[1]", "true", "null"],
        ['"a"', "2", "{}", "[]"],
    )


def test_type_object_with_an_enum_of_strings_has_no_value() -> None:
    with pytest.raises((SchemaError, LimitError)):
        compiled({"type": "object", "enum": ["a", "b"]})
    check({"properties": {"x": {"type": "object", "enum": ["a"]}}}, ["{}", '{"y":1}'], ['{"x":"a"}', '{"x":{}}'])


def test_siblings_of_references_by_draft() -> None:
    schema = {
        "definitions": {"s": {"type": "string"}},
        "properties": {"a": {"$ref": "#/definitions/s", "maxLength": 1}},
    }
    check(schema, ['{"a":"x"}'], ['{"a":"xx"}', '{"a":1}'])
    check({"$schema": DRAFT7, **schema}, ['{"a":"x"}', '{"a":"xx"}'], ['{"a":1}'])


def test_if_and_const_are_not_keywords_in_draft_4() -> None:
    check({"$schema": DRAFT4, "if": {"type": "string"}, "then": False, "const": 3}, ['"x"', "4"], [])
    check({"$schema": DRAFT7, "if": {"type": "string"}, "then": False}, ["4"], ['"x"'])


def test_a_reference_by_identifier_and_anchor() -> None:
    schema = {
        "$id": "https://example.com/root",
        "$defs": {"a": {"$id": "inner", "type": "string"}, "b": {"$anchor": "n", "type": "number"}},
        "items": {"anyOf": [{"$ref": "inner"}, {"$ref": "#n"}, {"$ref": "https://example.com/root#/$defs/c%25"}]},
    }
    schema["$defs"]["c%"] = {"type": "null"}
    check(schema, ['["a",1,null]'], ["[true]", "[{}]"])
    old = {"$schema": DRAFT4, "definitions": {"a": {"id": "#x", "type": "string"}}, "items": {"$ref": "#x"}}
    check(old, ['["a"]'], ["[1]"])


def test_references_through_escaped_pointers() -> None:
    schema = {
        "$defs": {"a/b": {"type": "null"}, "c~d": {"type": "boolean"}},
        "items": [{"$ref": "#/$defs/a~1b"}],
        "$schema": DRAFT7,
    }
    check(schema, ["[null]"], ["[1]"])


def test_recursion_that_must_go_on_for_ever_has_no_value() -> None:
    with pytest.raises((SchemaError, LimitError)):
        compiled({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})
    check(
        {
            "properties": {"a": {"$ref": "#/$defs/x"}},
            "$defs": {"x": {"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 1}},
        },
        ["{}", '{"b":1}'],
        ['{"a":[]}', '{"a":[[]]}'],
    )


def test_recursion_of_any_depth() -> None:
    tree = {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["v"],
        "additionalProperties": False,
    }
    deep = '{"v":1,"kids":[' * 60 + '{"v":1}' + "]}" * 60
    check(tree, [deep], [deep.replace('{"v":1}', '{"v":"1"}'), deep[:-1]])


def test_any_value_nests_to_any_depth() -> None:
    check({}, ["[" * 500 + "]" * 500, '{"a":' * 300 + "1" + "}" * 300], ["[" * 500 + "]" * 499, "[" * 3 + "]" * 4])


# --------------------------------------------------------------------------------------------------------- applicators


def test_one_of_is_exactly_one() -> None:
    check({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, ["1", "2.5", '"not a number"'], ["3", "1.5"])
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    check(schema, ['{"a":1}', '{"b":1}', '{"c":1,"a":1}'], ['{"a":1,"b":1}', "{}", "1"])


def test_not() -> None:
    check({"not": {"type": "string"}}, ["1", "{}"], ['"x"'])
    check({"not": {"required": ["a"]}, "type": "object"}, ["{}", '{"b":1}'], ['{"a":1}', '{"b":1,"a":1}'])
    check({"type": "array", "not": {"items": {"type": "integer"}}}, ['["a"]', "[1,null]"], ["[]", "[1]", "[1,2]"])
    check({"type": "string", "not": {"pattern": "a"}}, ['""', '"b"'], ['"a"', '"xax"'])


def test_if_then_else() -> None:
    schema = {
        "if": {"properties": {"k": {"const": 1}}, "required": ["k"]},
        "then": {"required": ["a"]},
        "else": {"required": ["b"]},
        "type": "object",
    }
    check(
        schema,
        ['{"k":1,"a":0}', '{"a":0,"k":1}', '{"k":2,"b":0}', '{"b":0}'],
        ['{"k":1,"b":0}', '{"k":2,"a":0}', "{}"],
        property_order="any",
    )
    check({"then": False}, ["1"], [])


def test_keywords_beside_applicators_all_hold() -> None:
    check(
        {"anyOf": [{"type": "string"}, {"type": "number"}], "minLength": 2, "maximum": 3},
        ['"ab"', "3"],
        ['"a"', "4", "null"],
    )
    check(
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}, "maxLength": 1, "enum": ["a", "bb", 1]},
        ['"a"'],
        ['"bb"', "1", '"c"'],
    )
    check(
        {"allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"maximum": 2}}}]},
        ['{"a":1}'],
        ['{"a":0}', '{"a":3}'],
    )


def test_counts_at_the_close() -> None:
    check({"type": "object", "minProperties": 1, "properties": {"a": {}}}, ['{"a":1}', '{"b":1}'], ["{}"])
    check({"type": "object", "not": {"minProperties": 1}}, ["{}"], ['{"a":1}'])
    check(
        {"maxProperties": 1, "properties": {"a": {}}}, ["{}", '{"a":1}', '{"b":1}'], ['{"a":1,"b":1}', '{"b":1,"c":1}']
    )
    check({"type": "array", "not": {"minItems": 2}}, ["[]", "[1]"], ["[1,2]"])


def test_contains() -> None:
    check({"contains": {"type": "integer"}}, ["[1]", '["a",1]', "{}"], ["[]", '["a"]'])
    check(
        {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3},
        ["[1,2]", '[1,"a",2,3]'],
        ["[1]", "[1,2,3,4]"],
    )
    check({"contains": {"type": "integer"}, "minContains": 0}, ["[]", '["a"]'], [])
    check({"minContains": 3}, ["[]"], [])


def test_unique_items_of_finite_sets() -> None:
    check(
        {"uniqueItems": True, "items": {"enum": ["a", "b", 1]}},
        ["[]", '["a","b"]', '[1,"a"]'],
        ['["a","a"]', "[1,1]", '["a","b","a"]'],
    )
    check({"uniqueItems": True, "items": {"type": "boolean"}}, ["[true,false]"], ["[true,true]", "[true,false,true]"])
    check({"uniqueItems": True, "items": {"const": 1}}, ["[1]"], ["[1,1.0]", "[1,1]"], numbers="any")


def test_prefix_items_and_items() -> None:
    schema = {"prefixItems": [{"type": "string"}, {"type": "number"}], "items": False}
    check(schema, ["[]", '["a"]', '["a",1]'], ['["a",1,2]', "[1]"])
    old = {"$schema": DRAFT7, "items": [{"type": "string"}], "additionalItems": {"type": "null"}}
    check(old, ["[]", '["a",null,null]'], ["[1]", '["a",1]'])
    check({"$schema": DRAFT7, "additionalItems": False}, ["[1,2]"], [])


def test_property_names() -> None:
    check({"propertyNames": {"maxLength": 1}}, ["{}", '{"a":1}', '{"é":1}'], ['{"ab":1}', '{"a":1,"bc":2}'])
    check({"propertyNames": {"pattern": "^a"}, "required": ["ab"]}, ['{"ab":1}'], ['{"ab":1,"b":1}', "{}"])
    check({"propertyNames": False}, ["{}", "1"], ['{"a":1}'])
    check({"propertyNames": {"type": "number"}}, ["{}"], ['{"1":1}'])


def test_a_name_with_an_unsatisfiable_value_is_never_allowed() -> None:
    schema = {"properties": {"a": False, "ab": {}}, "type": "object"}
    guide = compiled(schema).guide()
    for byte in b'{"a':
        guide.advance(byte)
    mask = guide.mask()
    assert not mask[ord('"') >> 5] >> (ord('"') & 31) & 1
    guide.advance(ord("b"))


# ------------------------------------------------------------------------------------------------------------ contract


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"a": {"type": "strin"}}}, "/properties/a", "type"),
        ({"$ref": "#/$defs/none"}, "", "$ref"),
        ({"items": {"$ref": "https://example.com/not-given"}}, "/items", "$ref"),
        ({"allOf": [{"pattern": "("}]}, "/allOf/0", "pattern"),
        ({"minLength": -1}, "", "minLength"),
        ({"required": "a"}, "", "required"),
        ({"anyOf": []}, "", "anyOf"),
        ({"properties": []}, "", "properties"),
        ({"multipleOf": 0}, "", "multipleOf"),
    ],
)
def test_errors_are_named_with_their_place(schema: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compiled(schema).guide().mask()
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_nothing_is_dropped_silently() -> None:
    schema = {"type": "object", "properties": {"a": {"format": "idn-hostname"}}}
    with pytest.raises(SchemaError) as caught:
        compiled(schema)
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a", "format")
    index = compiled(schema, unsupported="record")
    assert index.unenforced == (("/properties/a", "format"),)
    assert index.guide().accepts(b'{"a":"x"}')
    assert not compiled({"type": "object"}).unenforced


def test_unique_items_of_any_kind() -> None:
    good = ["[]", "[1]", '[1,"1",true,null,[],{}]', '[{"a":1},{"a":2}]', "[[1,2],[2,1]]", '{"a":1}', '["a","A"]']
    bad = ["[1,2,1]", '["x","x"]', '[{"a":1,"b":2},{"b":2,"a":1}]', "[[1],[1]]", "[null,null]", "[{},{}]", "[-0,0]"]
    check({"uniqueItems": True}, good, bad)
    check(
        {"uniqueItems": True}, [*good, "[1,1.5]"], [*bad, "[1,1.0]", "[1.5,1.50]", r'["a","\u0061"]', "[1e1,10]"], **ANY
    )
    check({"uniqueItems": False}, ["[1,1]"], [])


def _nested_value(draw: random.Random, depth: int) -> Any:
    if depth == 0 or draw.random() < 0.2:
        return draw.randrange(4)
    if draw.random() < 0.3:
        return {name: _nested_value(draw, depth - 1) for name in draw.sample("abc", draw.randrange(3))}
    return [_nested_value(draw, depth - 1) for _ in range(draw.randrange(3))]


def test_unique_items_that_nest() -> None:
    """Many texts on one index, whose items come and go."""
    index, draw = compiled({"uniqueItems": True}), random.Random(1)
    verdicts = set()
    for _ in range(400):
        items = [[_nested_value(draw, 3)] for _ in range(3)]
        expected = all(one != other for place, one in enumerate(items) for other in items[:place])
        assert index.accepts(json.dumps(items).encode()) == expected, items
        verdicts.add(expected)
    assert verdicts == {True, False}
