"""A schema as a Lark grammar: Lark itself accepts what the engine accepts, and nothing else."""

import itertools
import json
import random
import re
from typing import Any

import lark
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.export.elimination import expression
from guided.export.lark import LarkGrammar, lark_grammar
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.render import render
from guided.schema.formula.atoms import JsonOptions
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.schema.strategies import instances_near
from tests.schema.test_engine_random import KINDS, option_sets, refused_or_index, texts_of
from tests.schema.test_real_schemas import PARTS, files

BRIEF = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
# What no grammar says, and the engine does.
REFUSED = {"uniqueItems", "minProperties", "pattern", "limit rules", "limit expression", "limit depth"}


def grammar(schema: Any, *, most_rules: int = 20_000, **options: Any) -> LarkGrammar:
    return lark_grammar(schema, JsonOptions(**options), Limits(), most_rules=most_rules)


def parser(schema: Any, *, most_rules: int = 20_000, **options: Any) -> lark.Lark:
    return lark.Lark(grammar(schema, most_rules=most_rules, **options).text, parser="lalr")


def parser_or_refusal(schema: Any, most_rules: int, options: dict[str, Any]) -> lark.Lark | str:
    """Lark's parser, or in a word why there is none."""
    try:
        return parser(schema, most_rules=most_rules, **options)
    except SchemaError as error:
        return error.keyword
    except LimitError as error:
        return f"limit {error.what}"


def accepts(made: lark.Lark, text: str) -> bool:
    try:
        made.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_lark_accepts_the_texts_that_the_engine_accepts(kind: str) -> None:
    @settings(BRIEF, max_examples=examples(8))
    @given(KINDS[kind], option_sets(), st.sampled_from(["any", "schema"]), st.data())
    def run(schema: Any, options: dict[str, Any], order: str, data: st.DataObject) -> None:
        options["property_order"] = order
        if options["whitespace"].startswith("pretty"):  # which no grammar says
            options["whitespace"] = "flexible"
        index = refused_or_index(schema, options)
        if isinstance(index, str):
            with pytest.raises((SchemaError, LimitError)):
                grammar(schema, **options)
            return
        made = parser_or_refusal(schema, 500, options)
        if isinstance(made, str):
            event(f"refused {made}")
            assert made in REFUSED
            return
        for _ in range(6):
            text = data.draw(texts_of(data.draw(instances_near(schema)), options)).decode("utf-8", "replace")
            expected = index.guide().accepts(text.encode())
            event(f"accepted: {expected}")
            assert accepts(made, text) == expected, text

    run()


@pytest.mark.slow
def test_lark_accepts_the_instances_of_real_schemas() -> None:
    chance = random.Random(3)
    judged = loaded = 0
    for path in chance.sample([path for part in range(PARTS) for path in files(part)], 25):
        content = json.loads(path.read_bytes())
        index = refused_or_index(content["schema"], {})
        made = parser_or_refusal(content["schema"], 300, {})
        if isinstance(index, str) or isinstance(made, str):
            assert isinstance(made, str), path.name
            continue
        loaded += 1
        for test in content["tests"]:
            for separators in ((",", ":"), (", ", " : ")):
                text = json.dumps(test["data"], ensure_ascii=False, separators=separators)
                expected = index.guide().accepts(text.encode())
                judged += expected
                assert accepts(made, text) == expected, (path.name, text)
    assert loaded >= 12
    assert judged >= 20


BOOLEAN = {"type": "boolean"}
# What follows a member depends on which of the alternatives it leaves; two members are told apart by different formulas of equal meaning.
DISTINGUISHED = {
    "anyOf": [
        {"additionalProperties": False, "required": ["f"], "properties": {"f": BOOLEAN, "d": BOOLEAN}},
        {"additionalProperties": False, "required": ["f", "a"], "properties": {"f": BOOLEAN, "d": BOOLEAN, "a": True}},
        {
            "additionalProperties": False,
            "required": ["f", "z"],
            "properties": {"f": {"anyOf": [BOOLEAN]}, "z": BOOLEAN},
        },
    ]
}
PREFIXES = {"properties": {"a": True, "ab": {"const": 1}}, "additionalProperties": {"const": 2}}
QUOTED = {"properties": {'q"/\\': {"enum": ['"', "\\", "a/b", "'", '\\"']}}, "additionalProperties": False}
PATTERNS = {"patternProperties": {"^x": {"type": "null"}, "y$": {"const": None}}, "additionalProperties": {"const": 1}}
RECURSIVE = {
    "$ref": "#/$defs/x",
    "$defs": {"x": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "additionalProperties": False}},
}
ANY_ORDER = {"properties": {"c": True, "a": True, "b": True}, "required": ["a"], "additionalProperties": False}
NO_TEXT = {"not": {"properties": {"a": {"type": "string"}}, "required": ["a"]}, "type": "object"}
CASES: list[tuple[Any, dict[str, Any], list[str], list[str]]] = [
    (True, {}, ['{"a": [1, -0.5, null, "\\u001f\\n"]}', "0"], ["01", " 1", "1 ", "[1,]", '"\x1f"', "+1", "", "nul"]),
    (DISTINGUISHED, {}, ['{"f":true, "d":true}', '{"f":true,"d":true,"a":1}', '{"f":true,"z":false}'],
     ['{"f":true,"d":true,"z":true}', "{}"]),
    ({"properties": {"a": {"type": "integer"}}}, {"escapes": "any"}, ['{"\\u0061": 5}', '{"b": "x"}'],
     ['{"\\u0061": "x"}', '{"a":1,"\\u0061":1}']),
    (PREFIXES, {}, ['{"a":0,"ab":1,"abc":2,"":2}'], ['{"ab":2}', '{"abc":1}', '{"ab":1,"a":0}']),
    (QUOTED, {}, [json.dumps({'q"/\\': value}) for value in ('"', "\\", "a/b", "'", '\\"')],
     [json.dumps({'q"/\\': "\\\\"}), '{"q\\"/": "a/b"}']),
    ({"multipleOf": 21}, {}, ["21", "-42", "0", "2100.00"], ["22", "7", "21.5", "021"]),
    ({"minimum": 1, "maximum": 12, "type": "integer"}, {}, ["1", "9", "10", "12"], ["0", "13", "1.0", "120", "-1"]),
    ({"oneOf": [{"minimum": 3}, {"type": "integer"}]}, {}, ["3.5", "2"], ["3", "12", "2.5"]),
    ({"format": "email"}, {}, ['"a@b.c"', '"\\"a@b\\"@c.d"', "1"], ['"a@@b.c"', '"a"', f'"{"a" * 65}@b.c"']),
    ({"pattern": "^(?=.*[0-9])(?!x).{2,3}$"}, {}, ['"a1"', '"1ab"'], ['"x1"', '"ab"', '"1"', '"1abc"']),
    ({"type": "string", "minLength": 2, "maxLength": 2}, {"escapes": "any"}, ['"\\ud83d\\ude00é"', '"ab"'],
     ['"a"', '"\\ud83d\\ude00"', '"abc"']),
    ({"items": {"enum": ["a", "b"]}, "uniqueItems": True}, {}, ['["b","a"]', "[]"], ['["a","a"]']),
    ({"items": {"enum": [None, True, 1, "a", [], [1], {"a": 1, "b": 2}]}, "uniqueItems": True, "maxItems": 3},
     {"whitespace": "compact"},
     ['[true,1,null]', '["a",[],[1]]', '[{"a":1,"b":2},1]'], ['[1,1]', '[[1],null,[1]]', '[{"a":1,"b":2},{"a":1,"b":2}]', "[2]"]),
    ({"prefixItems": [{"enum": ["a", "b"]}], "items": {"anyOf": [{"type": "boolean"}, {"enum": ["b", "c"]}]}, "uniqueItems": True},
     {"whitespace": "compact"}, ['["a","b",true]', '["b","c",false,true]'], ['["b","c","b"]', "[true]", '["a",true,true]']),
    ({"items": {"pattern": "^[ab]c?$", "type": "string"}, "uniqueItems": True, "minItems": 4}, {"whitespace": "compact"},
     ['["a","bc","b","ac"]'], ['["a","bc","b"]', '["a","bc","b","a"]']),
    ({"uniqueItems": True, "maxItems": 1}, {}, ["[1]", "[]"], ["[1,2]"]),
    ({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 2}, {}, ['[1,"a",2]', "[1,2]"], ["[1]", "[1,2,3]"]),
    ({"minProperties": 2, "required": ["a", "b"]}, {}, ['{"b":1,"a":1,"c":1}'], ['{"a":1}', '{"a":1,"c":1}']),
    (NO_TEXT, {}, ['{"a":1}', "{}"], ['{"a":"x"}']),
    (PATTERNS, {}, ['{"xy":null,"x":null,"a":1}'], ['{"xy":1}', '{"a":null}']),
    ({"items": {"type": "null"}, "maxItems": 400}, {"whitespace": "compact"}, ["[]", "[null,null]"],
     ["[null, null]", f"[{','.join(['null'] * 401)}]"]),
    ({"type": "array"}, {"whitespace": " |\n|\n\n"}, ["[ 1\n\n,\n2 ]", "[ ]"], ["[1 ]", "[ 1  ]", "[ 1\n\n\n]"]),
    (ANY_ORDER, {"property_order": "any"}, ['{"b":1,"a":1,"c":1}', '{"a":1}'], ['{"b":1}', '{"a":1,"a":1}']),
    ({"type": "string", "pattern": r"^[\ud800]?y$"}, {}, ['"y"'], ['"x"']),
    (RECURSIVE, {}, ['{"x":{"x":{}}}'], ['{"x":1}', '{"y":{}}']),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "options", "valid", "invalid"), CASES)
def test_cases(schema: Any, options: dict[str, Any], valid: list[str], invalid: list[str]) -> None:
    made, index = parser(schema, **options), compiled(schema, **options)
    for text in (*valid, *invalid):
        assert index.accepts(text.encode()) == (text in valid), text
        assert accepts(made, text) == (text in valid), text


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"l": {"items": {"type": "integer"}, "uniqueItems": True}}}, "/properties/l", "uniqueItems"),
        ({"properties": {"l": {"pattern": "(?<!a)b"}}}, "/l", "pattern"),
        ({"allOf": [{"additionalProperties": {"minProperties": 2}}]}, "/allOf/0/additionalProperties", "minProperties"),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"], "allOf": [{"properties": {"a": {"type": "null"}}}],
          "type": "object"}, "", "properties, required, allOf/0/properties"),
        ({"properties": {"a": {"format": "idn-hostname"}}}, "/properties/a", "format"),
    ],
)  # fmt: skip
def test_keywords_without_a_grammar_are_refused_by_name(schema: Any, pointer: str, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        grammar(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_indentation_is_refused() -> None:
    with pytest.raises(SchemaError, match="depth of a value"):
        grammar({}, whitespace="pretty(2)")


@pytest.mark.slow
def test_budgets() -> None:
    names = {f"n{i}": {"type": "null"} for i in range(30)}
    closed = {"properties": names, "additionalProperties": False}
    assert grammar(closed).n_rules < 100
    with pytest.raises(LimitError, match="at value"):
        grammar(closed, property_order="any")
    with pytest.raises(LimitError, match="too large, at value"):
        grammar(closed, most_rules=95)
    with pytest.raises(LimitError, match="too many names"):
        grammar({"properties": {f"n{i}": True for i in range(900)}})
    with pytest.raises(LimitError):
        grammar({"minItems": 10**9})
    with pytest.raises(LimitError, match="/p"):
        grammar({"properties": {"p": {"enum": ["x" * 1000 + str(i) for i in range(60)]}}})


def test_unenforced_keywords_are_in_the_grammar_text() -> None:
    found = grammar({"format": "idn-hostname"}, unsupported="record")
    assert found.unenforced == (("", "format"),)
    assert "// Not enforced: /format\n" in found.text


def test_names_and_comments_are_valid_for_every_schema() -> None:
    names = ["", "a\nb", "_", "9", "é", "start", "//", "\x1b[0m", "a" * 300, "A", "a"]
    schema = {"properties": {name: {"items": {"type": "null"}} for name in names}, "$defs": {"\n": True}}
    found = grammar(schema)
    assert found.text == grammar(schema).text
    assert found.text.replace("\n", "").isprintable()
    text = json.dumps({name: [None] for name in names})
    assert accepts(lark.Lark(found.text, parser="lalr"), text.replace("\\u00e9", "é"))


def test_the_tree_has_keys_and_values_and_no_punctuation() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    text = JsonSchema(schema).lark()
    (value,) = lark.Lark(text, parser="lalr").parse('{"n": 1}').children
    assert isinstance(value, lark.Tree)
    assert [(child.type, str(child)) for child in value.children if isinstance(child, lark.Token)] == [
        ("KEY_N", '"n"'),
        ("INTEGER", "1"),
    ]


@st.composite
def automata(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Rows of a partial automaton over "ab", and its accepting states."""
    n = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(st.integers(-1, n - 1), min_size=2, max_size=2), min_size=n, max_size=n))
    return rows, draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))


@given(automata())
def test_an_expression_means_its_automaton(automaton: tuple[list[list[int]], list[int]]) -> None:
    rows, ends = automaton
    words = ["".join(word) for length in range(6) for word in itertools.product("ab", repeat=length)]
    accepted = {word for word in words if _reads(rows, word) in ends}
    live = {state for state in range(len(rows)) if _reaches(rows, state, ends)}
    if 0 not in live:
        return
    edges = [
        (source, Charset.char("ab"[i]), target)
        for source in live
        for i, target in enumerate(rows[source])
        if target in live
    ]
    tree = expression(edges, sorted(live.intersection(ends)), 10_000)
    assert tree is not None
    pattern = re.compile(render(tree))
    assert {word for word in words if pattern.fullmatch(word)} == accepted


def _reads(rows: list[list[int]], word: str) -> int:
    state = 0
    for letter in word:
        state = rows[state]["ab".index(letter)] if state >= 0 else -1
    return state


def _reaches(rows: list[list[int]], state: int, ends: list[int]) -> bool:
    seen, todo = {state}, [state]
    while todo:
        more = {target for target in rows[todo.pop()] if target >= 0} - seen
        seen |= more
        todo += more
    return bool(seen.intersection(ends))
