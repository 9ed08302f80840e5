"""Values in notations other than JSON: texts, masks, budgets and what is read back, against words, jsonschema and each byte alone."""

import ast
import dataclasses
import json
import random
import re
import shutil
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from guided.automata.automaton import Automaton
from guided.automata.pushdown import KEPT
from guided.automata.stacks import Configuration, Stacks
from guided.calls.formats.files import format_named, format_names
from guided.calls.formats.format import Format
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.schema import type_of_schema
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.templates import Template
from guided.errors import LimitError, SchemaError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.languages import Language
from tests.masks import bits
from tests.profiles import examples
from tests.real_vocabularies import real_file
from tests.schema import official

RAW = Format(
    "raw", trigger="!", before_name="", after_name="(", key="{name}=", after_value="</>", separator="", close=")", terminator="",
    result="{result}", several=None, values="raw", reserved=("bb",),
)  # fmt: skip
LETTERS = 'ab1<[]"'
WORDS = ["".join(letters) for n in range(5) for letters in product(LETTERS, repeat=n)]
PIECES = [
    "<'",
    "'>",
    "<'>",
    "<'>,",
    "[<'>",
    "<'>]",
    "a<'",
    "{a",
    "a:",
    "a:<'>",
    "],",
    "},",
    "}}",
    ",ab:",
    "</",
    "</>",
    "</>)",
    ">)",
    "aa",
    "ab",
    "a<",
    "<<",
    "<a",
    "[1",
    "[1]",
    "]<",
    "1<",
    "11",
    "</a",
    "b</>",
    "é<",
]
TOKENS = [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in PIECES)]
VOCABULARY = Vocabulary([*TOKENS, None], eos=[len(TOKENS)])
# No text has the beginning of what closes it.
MARKED = dataclasses.replace(RAW, name="marked", reserved=("bb", "</"))
RAW_FORMATS = ["qwen-coder", "glm", "minimax", "anthropic", "deepseek-v3.2", "deepseek-v4", "seed-oss"]
MAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
LENGTH = st.integers(0, 4)
CONDITIONS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    *(st.fixed_dictionaries({name: LENGTH}) for name in ("minLength", "maxLength")),
    st.fixed_dictionaries({"minLength": LENGTH, "maxLength": LENGTH}),
    st.sampled_from(["^a*$", "^(ab|1)*$", "<$", "^[^a]", "a.?b"]).map(lambda source: {"pattern": source}),
    st.lists(st.sampled_from(["a", "1", "</", "", "[1]", 1, None, [1]]), min_size=1).map(
        lambda values: {"enum": values}
    ),
)
SCHEMAS = st.tuples(
    st.lists(st.sampled_from(["string", "integer", "null", "array", "boolean"]), min_size=1, unique=True),
    st.recursive(
        CONDITIONS,
        lambda inner: st.one_of(
            inner.map(lambda one: {"not": one}),
            *(
                st.lists(inner, min_size=1, max_size=3).map(lambda parts, name=name: {name: parts})
                for name in ("anyOf", "oneOf", "allOf")
            ),
        ),
        max_leaves=4,
    ),
).map(lambda parts: {"type": parts[0], "items": {"const": 1}, "maxItems": 2, **parts[1]})
ARRAYS: list[Any] = [[], [1], [1, 1]]


def tools(schema: Any, form: Any) -> Tools:
    parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return Tools([{"name": "f", "parameters": parameters}], form, tool_choice="required")


def read(text: str, judge: Any, form: Format) -> list[Any]:
    """What a raw text means by the documentation: the value, if it is one."""
    if any(end in text for end in (form.after_value, *form.reserved)):
        return []
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if (
        not isinstance(value, str)
        and judge.is_valid(value)
        and not (isinstance(value, int) and text != json.dumps(value))
    ):
        return [value]
    if text.startswith("[") and any(map(judge.is_valid, ARRAYS)):
        return []
    return [text] if judge.is_valid(text) else []


def written(schema: Any, form: Format, value: Any) -> str | None:
    try:
        return render_calls([Call("f", {"a": value}, (0, 0))], tools(schema, form).argument_lists, form, is_alone=True)
    except SchemaError:
        return None


def check_walk(spec: Tools | JsonSchema[Any], data: bytes, chance: random.Random) -> None:
    """Walk a text by tokens: each mask has the tokens whose bytes can be read one after the other, and budgets lead to an end."""
    index, stacks = compile_spec(spec, VOCABULARY), stacks_of(spec)
    assert isinstance(index, Index)
    state, texts = index.initial, list[bytes | None]()
    place: Configuration | None = (stacks.automaton.start, 0, *KEPT)
    while data:
        allowed = set(bits(index.mask(state)))
        assert (len(TOKENS) in allowed) == (place is not None and stacks.is_end(place)), data
        allowed.discard(len(TOKENS))
        readable = {token: read_bytes(stacks, place, texts.copy(), spelled) for token, spelled in enumerate(TOKENS)}
        assert allowed == {token for token, after in readable.items() if after is not None}, data
        left, ending = index.remaining(state), state
        while not index.is_accepting(ending):
            within = bits(index.mask_within(ending, left))
            assert within, (data, left)
            ending = index.next(ending, chance.choice(within))
            assert index.remaining(ending) < left
            left = index.remaining(ending)
        chosen = chance.choice([token for token in sorted(allowed) if data.startswith(TOKENS[token])])
        state, place = index.next(state, chosen), read_bytes(stacks, place, texts, TOKENS[chosen])
        data = data[len(TOKENS[chosen]) :]
    assert index.is_accepting(state)


def stacks_of(spec: Tools | JsonSchema[Any]) -> Stacks:
    lowered = spec if isinstance(spec, JsonSchema) else spec.lower(Limits())
    assert not isinstance(lowered, Automaton)
    return Stacks(lowered.pushdown(Limits(), bytes([1] * 256)).automaton)


def read_bytes(
    stacks: Stacks, place: Configuration | None, texts: list[bytes | None], data: bytes
) -> Configuration | None:
    for byte in data:
        place = None if place is None else stacks.read(place, bytes([byte]), texts)
    return place


def check(schema: Any, form: Format, words: list[str], chance: random.Random) -> None:
    """Compare a schema with what words mean, and walk some of those that it allows."""
    judge = jsonschema.Draft202012Validator(schema)
    values = {word: read(word, judge, form) for word in words}
    try:
        spec = tools(schema, form)
    except SchemaError:
        assert not any(values.values())
        return
    language, good = Language(spec), list[bytes]()
    for word, value in values.items():
        text = f"f(a={word}</>)"
        assert language.accepts(text.encode()) == bool(value), word
        if value:
            good.append(text.encode())
            (call,) = parse_text(text, spec)
            assert isinstance(call, Call)
            assert (call.arguments, call.error) == ({"a": value[0]}, None)
            assert json.dumps(call.arguments["a"]) == json.dumps(value[0])
    if good and not isinstance(spec.lower(Limits()), Automaton):
        for data in chance.sample(good, min(3, len(good))):
            check_walk(spec, data, chance)


@pytest.mark.parametrize("form", [RAW, MARKED], ids=lambda form: form.name)
@settings(max_examples=examples(30))
@given(schema=SCHEMAS, chance=st.randoms(use_true_random=False))
def test_raw_texts_masks_and_values_are_those_that_words_tell(form: Format, schema: Any, chance: random.Random) -> None:
    check(schema, form, chance.sample(WORDS, 400) + WORDS[:73], chance)


STRINGS: dict[str, Any] = {
    "maxLength": {"type": "string", "maxLength": 65_536},
    "lengths": {"type": "string", "minLength": 2, "maxLength": 4096},
    "uri": {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083},
    "mail": {"type": "string", "format": "email", "pattern": MAIL},
    "regex": {"type": "string", "format": "regex"},
    "optional": {"anyOf": [{"type": "string", "maxLength": 20_000}, {"type": "null"}]},
}


@pytest.mark.parametrize("name", [*RAW_FORMATS, "minimax-m3"])
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("maxLength", ["", "é" * 65_536], ["a" * 65_537]),
        ("lengths", ["ab", "<" * 4096], ["a", "a" * 4097]),
        ("uri", ["https://example.org/" + "a" * 2063], ["https://example.org/" + "a" * 2064, "x y", ""]),
        ("mail", ["ada@example.org"], ["a..b@example.org", ".a@example.org", "ada@example"]),
        ("regex", ["^a+(b|c)$"], ["(a"]),
        ("optional", ["null", "nil", "a" * 20_000], ["a" * 20_001]),
    ],
)
def test_strings_of_any_length_are_read_in_every_format(name: str, kind: str, good: list[str], bad: list[str]) -> None:
    form, spec = format_named(name), tools(STRINGS[kind], name)
    index = compile_spec(spec, VOCABULARY)
    assert isinstance(index, Index)
    for text in (*good, *bad):
        value = None if text == "null" and not form.text_key else text
        call = text_with(form, text)
        assert index.accepts(call) == (text in good), text[:40]
        if text in good:
            (found,) = parse_text(call, spec)
            assert isinstance(found, Call)
            assert found.arguments == {"a": value}
            assert render_calls([found], spec.argument_lists, form, is_alone=True) == call
    assert isinstance(index.tables, PushdownIndex)
    assert index.tables.automaton.tables.n_controls < 20_000


def text_with(form: Format, value: str) -> str:
    """A call with a string, as the format writes it."""
    mark = "MARK"
    written = render_calls(
        [Call("f", {"a": mark}, (0, 0))], tools({"type": "string"}, form).argument_lists, form, is_alone=True
    )
    return written.replace(mark, value)


@pytest.mark.parametrize("name", [*RAW_FORMATS, "minimax-m3"])
@pytest.mark.parametrize("kind", ["maxLength", "lengths", "uri"])
def test_states_of_raw_strings_do_not_depend_on_lengths(name: str, kind: str) -> None:
    def walked(most: int) -> int:
        index = compile_spec(tools({**STRINGS[kind], "maxLength": most}, name), VOCABULARY)
        assert isinstance(index, Index)
        assert index.accepts(text_with(format_named(name), "https://a.b/c"))
        assert isinstance(index.tables, PushdownIndex)
        return index.tables.automaton.tables.n_controls

    assert walked(30) == walked(30_000)


@pytest.mark.parametrize("name", RAW_FORMATS)
@pytest.mark.parametrize(
    ("schema", "values", "bad"),
    [
        ({}, ["a", "", 1.5, None, True, [1, "a"], {"b": [None]}], []),
        ({"type": ["string", "array"], "items": {"type": "string"}}, ["a", "12", [], ["a", "b"]], [["a", 1]]),
        ({"oneOf": [{"type": "object", "required": ["b"]}, {"type": "string", "maxLength": 3}]}, [{"b": 1}, "abc"], [{"c": 1}, "abcd"]),
    ],
)  # fmt: skip
def test_strings_beside_arrays_and_objects(name: str, schema: Any, values: list[Any], bad: list[Any]) -> None:
    form, spec = format_named(name), tools(schema, name)
    language = Language(spec)
    for number, value in enumerate(values):
        text = render_calls([Call("f", {"a": value}, (0, 0))], spec.argument_lists, form, is_alone=True)
        assert language.accepts(text.encode()), text
        (call,) = parse_text(text, spec)
        assert isinstance(call, Call)
        assert call.arguments == {"a": value}
        if number < examples(len(values), by_default=1):
            check_walk(spec, text.encode(), random.Random(0))
    for value in bad:
        text = text_with(form, value if isinstance(value, str) else json.dumps(value))
        if not isinstance(value, str):
            text = text.replace('string="true"', 'string="false"')
        assert not language.accepts(text.encode()), text


def test_a_text_that_begins_like_an_array_is_no_string_where_there_are_arrays() -> None:
    language = Language(tools({"type": ["string", "array"]}, "glm"))
    form = format_named("glm")
    assert not language.accepts(text_with(form, "[sic] it").encode())
    assert language.accepts(text_with(form, "{sic} it").encode())
    assert Language(tools({"type": "string"}, "glm")).accepts(text_with(form, "[sic] it").encode())


def test_notations_are_in_files_and_fingerprints() -> None:
    properties = {"a": {"type": ["string", "array"], "maxLength": 9}, "b": {}}
    tool = Tool({"name": "f", "parameters": {"type": "object", "properties": properties}}, types={"b": int})
    spec, other = (Tools([tool], form, tool_choice="required") for form in ("glm", "minimax"))
    lowered = spec.lower(Limits())
    assert isinstance(lowered, Template)
    again = Template.from_data(lowered.data)
    assert [value.notation for value in again.frame.values] == [value.notation for value in lowered.frame.values]
    assert again.data == lowered.data
    assert spec.fingerprint != other.fingerprint


QUOTED = Format(
    "quoted", trigger="!", before_name="", after_name="(", key="{name}=", separator=",", close=")", terminator="", result="{result}",
    several=None, values="raw", quote="<'>", reserved=("bb",),
)  # fmt: skip


def quoted(value: Any) -> str:
    """A value as a chat template with quote tokens writes it."""
    match value:
        case str():
            return f"<'>{value}<'>"
        case dict():
            return "{" + ",".join(f"{name}:{quoted(one)}" for name, one in value.items()) + "}"
        case list():
            return "[" + ",".join(map(quoted, value)) + "]"
        case _:
            return json.dumps(value)


def literal(value: Any, chance: random.Random, quotes: str = "'\"") -> str:
    """The value as Python writes it, with one of some quotes around each string."""
    match value:
        case str():
            escaped = json.dumps(value, ensure_ascii=False)[1:-1]
            single = escaped.replace('\\"', '"').replace("'", "\\'")
            return f'"{escaped}"' if chance.choice(quotes) == '"' else f"'{single}'"
        case dict():
            members = (f"{literal(name, chance, quotes)}:{literal(one, chance, quotes)}" for name, one in value.items())
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(literal(one, chance, quotes) for one in value) + "]"
        case _:
            return repr(value)


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.text("ab<'>}{,:]\"é", max_size=4).filter(lambda text: "<'>" not in text and "bb" not in text and not text.endswith(("<", "<'"))),
    st.integers(-9, 99), st.none(), st.booleans(),
)  # fmt: skip
NAMES_OF_MEMBERS = st.sampled_from(["a", "ab", "b_1", "c.d", "$e", "é", "f'"])
INSTANCES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES_OF_MEMBERS, inner, max_size=3)),
    max_leaves=5,
)
NESTED: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        CONDITIONS,
        CONDITIONS.map(lambda one: {"type": "string", **one}),
        st.sampled_from(["string", "integer", "null", "boolean", "array", "object"]).map(lambda name: {"type": name}),
        st.just({}),
        st.lists(INSTANCES, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"maxItems": LENGTH, "uniqueItems": st.just(True), "contains": inner},
        ),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES_OF_MEMBERS, inner, max_size=3)},
            optional={
                "required": st.lists(NAMES_OF_MEMBERS, max_size=2, unique=True),
                "additionalProperties": st.one_of(inner, st.just(False)),
                "patternProperties": st.sampled_from(["^a", "1$"]).flatmap(
                    lambda source: inner.map(lambda one: {source: one})
                ),
                "minProperties": st.integers(0, 2),
                "propertyNames": st.sampled_from([{"maxLength": 2}, {"pattern": "^[a-b]"}]),
            },
        ),
        *(
            st.lists(inner, min_size=1, max_size=2).map(lambda parts, name=name: {name: parts})
            for name in ("anyOf", "oneOf", "allOf")
        ),
        inner.map(lambda one: {"not": one}),
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("name", ["quoted", "pythonic"])
@settings(max_examples=examples(25))
@given(schema=NESTED, values=st.lists(INSTANCES, min_size=5, max_size=12), chance=st.randoms(use_true_random=False))
def test_nested_values_are_those_of_the_schema(
    name: str, schema: Any, values: list[Any], chance: random.Random
) -> None:
    judge, form = jsonschema.Draft202012Validator(schema), QUOTED if name == "quoted" else format_named(name)
    values = [
        *values,
        *(value for value in [*values, [values], {"a": values[0]}] for value in ([value], {"ab": value})),
    ]
    try:
        spec = tools(schema, form)
        plain = type_of_schema(schema, "/f/a").scanner()
    except (SchemaError, LimitError):
        return
    language, good = Language(spec), list[Any]()
    for value in values:
        spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = f"f(a={quoted(value)})" if form is QUOTED else f"[f(a={literal(value, chance)})]"
        expected = plain.accepts(spelled.encode())
        assert expected <= judge.is_valid(value)
        assert language.accepts(text.encode()) == expected, text
        if expected:
            good.append(value)
            (call,) = parse_text(text, spec)
            assert isinstance(call, Call)
            assert json.dumps(call.arguments["a"]) == json.dumps(value)
            rendered = render_calls([call], spec.argument_lists, form, is_alone=True)
            if form is QUOTED:
                assert rendered == text
            else:
                assert ast.literal_eval(rendered[5:-2]) == ast.literal_eval(text[5:-2]) == value
    if good and not isinstance(spec.lower(Limits()), Automaton):
        value = chance.choice(good)
        # Why both quotes: strings that contain none have the same automaton between either.
        for text in [quoted(value)] if form is QUOTED else [literal(value, chance, quote) for quote in "'\""]:
            check_walk(spec, f"f(a={text})".encode() if form is QUOTED else f"[f(a={text})]".encode(), chance)


@pytest.mark.parametrize("name", ["pythonic", "gemma3", "lfm2", "olmo3"])
@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"enum": ["it's", 'a"b']}, ["'it\\'s'", '"it\'s"', "'a\"b'", '"a\\"b"'], ["'its'", "'it\\\\'s'"]),
        (
            {"type": "string", "maxLength": 65_536, "pattern": "^['\"]*$"},
            ["'\"\\''", '"\\"\'"', "'" + '"' * 65_536 + "'"],
            ["'a'", "'" + '"' * 65_537 + "'"],
        ),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            ["['a', \"b\"]"],
            ["['a', \"a\"]", "['it\\'s', \"it's\"]"],
        ),
        (
            {"properties": {"it's": {"type": "null"}}},
            ["{'it\\'s': None}", '{"it\'s": None}', "{'a': 1, \"b\": 2}"],
            ["{'it\\'s': 1}", "{'a\": 1}"],
        ),
        ({"type": "object", "minProperties": 2}, ["{'a': 1, \"b\": 2}"], ["{'a': 1, \"a\": 2}", "{'a': 1}"]),
        (
            {"patternProperties": {"^'": {"const": True}}},
            ["{'\\'a': True, \"'b\": True}"],
            ["{'\\'a': False}", '{"\'a": False}'],
        ),
        (
            {"type": "object", "propertyNames": {"maxLength": 2}, "required": ["\\'"]},
            ["{'\\\\\\'': [None]}"],
            ["{'\\\\\\'': 1, 'abc': 1}", "{'a': 1}"],
        ),
        (
            {"anyOf": [{"properties": {"k": {"maxLength": 2}}}, {"required": ["n"]}]},
            ["{'k': 'ab'}", "{'k': 'abc', 'n': 1}"],
            ["{'k': 'abc'}"],
        ),
        # The automaton of these strings is the same between either quotes.
        ({"type": "string", "pattern": "^[a-z]+$"}, ["'ab'", '"ab"'], ["'ab\"", "\"ab'"]),
        (
            {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}},
            ["['ab', \"ab\"]"],
            ["['ab', \"ab']", "['ab', 'abcd']"],
        ),
    ],
)
def test_python_literals_have_either_quotes_at_any_depth(name: str, schema: Any, yes: list[str], no: list[str]) -> None:
    spec = tools({"type": ["string", "array", "object"], **schema}, name)
    any_value = tools({}, name)
    call = Call("f", {"a": ""}, (0, 0))
    before, after = render_calls([call], any_value.argument_lists, spec.format, is_alone=True).split('""')
    language = Language(spec)
    for text, expected in [*((text, True) for text in yes), *((text, False) for text in no)]:
        written = f"{before}{text}{after}"
        assert language.accepts(written.encode()) == expected, text
        if expected:
            (found,) = parse_text(written, spec)
            assert isinstance(found, Call)
            assert found.arguments == {"a": ast.literal_eval(text)}
            if len(text) < 30 and not isinstance(spec.lower(Limits()), Automaton):
                check_walk(spec, written.encode(), random.Random(0))


def fetch(url: pydantic.HttpUrl, note: Annotated[str, pydantic.Field(max_length=4096)] = "") -> None:
    """Fetch a page."""


def label(tags: list[str], to: str | list[str] = "", counts: dict[str, int] | None = None) -> None:
    """Label something."""


@pytest.mark.parametrize("name", [*RAW_FORMATS, "gemma", "functiongemma", "pythonic", "gemma3", "lfm2"])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (fetch, {"url": "https://example.org/" + "a" * 2000, "note": "n" * 4096}),
        (label, {"tags": ["a", "b c"], "to": ["x"], "counts": {"k": 1}}),
        (label, {"tags": [], "to": "12", "counts": None}),
    ],
)
def test_long_and_nested_strings_of_annotations_are_read_by_their_schema(
    name: str, function: Any, arguments: dict[str, Any]
) -> None:
    spec = Tools([function], name, tool_choice="required")
    call = Call(function.__name__, arguments, (0, 0))
    text = render_calls([call], spec.argument_lists, spec.format, is_alone=True)
    index = compile_spec(spec, VOCABULARY)
    assert isinstance(index, Index)
    assert index.accepts(text)
    assert function is label or not index.accepts(text.replace("n" * 4096, "n" * 4097))
    (found,) = parse_text(text, spec)
    assert isinstance(found, Call)
    assert found.error is None
    if function is fetch:
        assert isinstance(found.arguments["url"], pydantic.HttpUrl)
    assert {key: str(value) if key == "url" else value for key, value in found.arguments.items()} == arguments


def test_caps_hold_for_strings_that_are_read_by_their_schema() -> None:
    spec = Tools([label], "gemma", tool_choice="required", max_length=3)
    language = Language(spec)
    for text, expected in (("abc", True), ("abcd", False)):
        call = f'<|tool_call>call:label{{tags:[<|"|>{text}<|"|>]}}<tool_call|>'
        assert language.accepts(call.encode()) == expected


REFUSED_NAMES = [
    ([*RAW_FORMATS, "gemma"], ["", ' "x']),
    (["qwen-coder", "seed-oss"], ["a>b"]),
    (["gemma"], ["filter[status]", "created[gte]", "user id", "a:b", "a>b"]),
]


@pytest.mark.parametrize("name", [*RAW_FORMATS, "gemma"])
@pytest.mark.parametrize(
    "written", ["$filter", "@type", "a/b", "filter[status]", "created[gte]", "user id", "a:b", "é.ü", "a>b", ' "x', ""]
)
def test_names_are_written_where_the_text_after_them_tells_their_end(name: str, written: str) -> None:
    form = format_named(name)
    schema = {"type": "object", "properties": {written: {"type": "string"}, "a": {}}, "required": [written]}
    refused = [name for names, given in REFUSED_NAMES for name in names if written in given]
    if name in refused:
        with pytest.raises(SchemaError, match="cannot write this name") as caught:
            Tools([{"name": "f", "parameters": schema}], name)
        assert caught.value.pointer == f"/f/{written}"
        return
    spec = Tools([{"name": "f", "parameters": schema}], name, tool_choice="required")
    for arguments in ({written: "x"}, {written: "x", "a": None}):
        text = render_calls([Call("f", arguments, (0, 0))], spec.argument_lists, form, is_alone=True)
        assert Language(spec).accepts(text.encode())
        (found,) = parse_text(text, spec)
        assert isinstance(found, Call)
        assert found.arguments == arguments


@pytest.mark.parametrize("name", ["gemma", "functiongemma"])
@pytest.mark.parametrize("value", [["a", "b"], {"b": ["c"]}, "d"])
def test_quote_tokens_may_be_special_tokens_at_any_depth(name: str, value: Any) -> None:
    form = format_named(name)
    special = {marker: 300 + place for place, marker in enumerate(form.markers)}
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=400, special=special)
    spec = tools({}, name)
    index = compile_spec(spec, vocabulary)
    assert isinstance(index, Index)
    text = render_calls([Call("f", {"a": value}, (0, 0))], spec.argument_lists, form, is_alone=True)
    state, quotes = index.initial, 0
    for piece in re.split("(" + "|".join(map(re.escape, special)) + ")", text):
        for token in [special[piece]] if piece in special else piece.encode():
            assert token in bits(index.mask(state))
            left, state = index.remaining(state), index.next(state, token)
            assert index.remaining(state) >= left - 1
            quotes += token == special[form.quote]
    assert index.is_accepting(state)
    assert quotes == 2 * (len(value) if isinstance(value, list) else 1)


@pytest.mark.network
@pytest.mark.parametrize("name", [name for name in format_names() if format_named(name).markers])
def test_a_real_tokenizer_reads_marks_and_quotes_as_its_special_tokens(name: str, tmp_path: Path) -> None:
    """DeepSeek's tokenizer with the family's marks added: its own tokens of a call, one after the other, and within budgets."""
    form, given = format_named(name), real_file("deepseek-128k")
    tokenizer = Tokenizer.from_file(str(given))
    tokenizer.add_special_tokens(list(form.markers))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    shutil.copy(given.with_name("tokenizer_config.json"), tmp_path)
    vocabulary = Vocabulary.from_file(tmp_path / "tokenizer.json")
    spec = tools({}, form)
    index = compile_spec(spec, vocabulary)
    assert isinstance(index, Index)
    for value in ("Tromsø, 3 <", ["a", {"b": ["c"]}], {"b": ["c", None, 1.5]}):
        text = render_calls([Call("f", {"a": value}, (0, 0))], spec.argument_lists, form, is_alone=True)
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        marks = [tokenizer.token_to_id(mark) for mark in form.markers]
        assert sum(map(tokens.count, marks)) == sum(map(text.count, form.markers))
        state = index.initial
        for token in tokens:
            assert token in bits(index.mask(state))
            left = index.remaining(state)
            assert bits(index.mask_within(state, left))
            state = index.next(state, token)
        assert index.is_accepting(state)
        (found,) = parse_text(text, spec)
        assert isinstance(found, Call)
        assert found.arguments == {"a": value}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_real_schemas_as_parameters_are_those_of_json_in_every_format(part: int) -> None:
    """2,000 pairs: what `json` accepts, and nothing else, is written, accepted and read as it was. No limit is exceeded.

    Some formats cannot write each name, and minimax-m3 not each empty value.
    """
    folder = official.data_folder("maskbench-dev")
    if folder is None:
        pytest.skip(official.MISSING)
    names, n_read, n_missed, n_refused = format_names(), 0, 0, 0
    for number, path in list(enumerate(sorted(folder.glob("*.json"))))[part % 4 :: 4]:
        name = names[(number // 4 + 29 * (part // 4)) % len(names)]
        document = json.loads(path.read_text(encoding="utf-8"))
        schema = {key: value for key, value in document["schema"].items() if key != "$id"}
        is_whole = schema.get("type", "object") == "object"
        inside = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        parameters = schema if is_whole else {"properties": {"a": schema}, "required": ["a"], **inside}
        tool = {"name": "f", "parameters": parameters}
        try:
            in_json = Tools([tool], tool_choice="required", strict=False)
        except SchemaError:
            continue
        try:
            spec = Tools([tool], name, tool_choice="required", strict=False)
        except SchemaError as error:
            if "cannot write" not in str(error):
                raise
            n_refused += 1
            continue
        plain, language = Language(in_json), Language(spec)
        for value in (test["data"] for test in document.get("tests", ())):
            if is_whole and not isinstance(value, dict):
                continue
            call = Call("f", value if is_whole else {"a": value}, (0, 0))
            accepted, expected = (accepts_call(call, *each) for each in ((spec, language), (in_json, plain)))
            n_missed += accepted < expected
            if accepted:
                (found,) = parse_text(render_calls([call], spec.argument_lists, spec.format, is_alone=True), spec)
                assert isinstance(found, Call)
                # Otherwise the text of another value is that of a string.
                assert (found.arguments == call.arguments) == expected, (name, path.name, value)
                n_read += expected
    assert n_read > 200
    assert n_missed <= n_read // 20
    assert n_refused <= n_read // 10


def accepts_call(call: Call, spec: Tools, language: Language) -> bool:
    """Whether a call can be written, and its text is in the language."""
    try:
        text = render_calls([call], spec.argument_lists, spec.format, is_alone=True)
    except SchemaError:
        return False
    return language.accepts(text.encode())
