"""Every format that comes with the package: rendered, read, streamed, mutated, walked, against readers from the families' documentation."""

import dataclasses
import json
import random
import re
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.calls.formats import Format, format_named, format_names
from guided.calls.groups import triggers_of
from guided.calls.parse import CallParser, parse_text
from guided.calls.reads import Call, CallRead, Read, TextRead
from guided.calls.rendering import render_calls, render_results
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.errors import CallError, SchemaError
from guided.schema.strings.notation import as_python
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.families import READERS, Found, pythonic
from tests.calls.languages import Language
from tests.calls.signatures import calls, defined, inventories, tool_of
from tests.profiles import examples

FORMATS = [format_named(name) for name in format_names()]
SEVERAL = [form for form in FORMATS if form.several is not None]
every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def get_weather(city: str, day: Literal["today", "tomorrow"], days: int = 1, exact: bool = False) -> None: ...
def get_weather_now(city: str) -> None: ...
def now() -> None: ...


TOOLS = [get_weather, get_weather_now, now]
OSLO = Call("get_weather", {"city": "Oslo", "day": "today", "days": 2, "exact": True}, (0, 0))
BERGEN = Call("get_weather_now", {"city": 'Bergen, "by" the </sea>'}, (0, 0))
SHORT = Call("get_weather_now", {"city": 'é"'}, (0, 0))
NOW = Call("now", {}, (0, 0))


def told(found: Sequence[Call]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in found]


def by_position(found: Found, spec: Tools) -> Found:
    """The same calls; values without keys have the names that their places have."""
    named: Found = []
    for name, arguments in found:
        rest = {key: value for key, value in arguments.items() if key}
        slots = spec.argument_lists[name].positional
        named.append((name, {**{slot.label: value for slot, value in zip(slots, arguments.get("", ()))}, **rest}))  # noqa: B905
    return named


def test_every_format_has_a_reader() -> None:
    assert set(READERS) == set(format_names())


@every_format
@pytest.mark.parametrize("choice", ["auto", "required"])
@settings(max_examples=examples(8, by_default=2))
@given(data=st.data())
def test_T17_rendered_calls_are_accepted_and_read(form: Format, choice: str, data: st.DataObject) -> None:
    shapes = data.draw(inventories(form.is_positional))
    several = form.several is not None and data.draw(st.booleans())
    definitions: list[Any] = [tool_of(name, shape, form.is_positional) for name, shape in shapes.items()]
    if data.draw(st.booleans()) and not (form.quote and "list" in str(shapes)):
        definitions = [defined(name, shape) for name, shape in shapes.items()]
    spec = Tools(definitions, form, tool_choice=choice, parallel_tool_calls=several)
    given = []
    for _ in range(data.draw(st.integers(1, 3)) if several else 1):
        name = data.draw(st.sampled_from(sorted(shapes)))
        given.append(Call(name, data.draw(calls(shapes[name], form.is_positional)), (0, 0)))
    text = render_calls(given, spec.argument_lists, form, is_alone=choice != "auto")
    said = f"Well.{text}" if choice == "auto" else text
    assert Language(spec).accepts(said.encode()), said
    found = parse_text(said, spec)
    assert told(found) == told(given)
    assert by_position(READERS[form.name](said), spec) == told(given)
    if form.is_listed or len(given) == 1:
        assert "".join(said.encode()[slice(*call.span)].decode() for call in found) == text


def joined(reads: Sequence[Read]) -> list[Read]:
    """Reads in which text that was told in pieces is one."""
    found: list[Read] = []
    for read in reads:
        last = found[-1] if found else None
        if isinstance(read, TextRead) and isinstance(last, TextRead):
            found[-1] = dataclasses.replace(last, data=last.data + read.data)
        else:
            found.append(read)
    return found


def reads_of(spec: Tools, pieces: Sequence[bytes]) -> list[Read]:
    parser = CallParser(spec)
    found = [read for piece in pieces for read in parser.feed(piece)]
    return joined([*found, *parser.close()])


@every_format
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_streamed_at_every_split_a_text_is_read_as_it_is_at_once(form: Format, choice: str) -> None:
    spec = Tools(TOOLS, form, tool_choice=choice, parallel_tool_calls=form.several is not None)
    given = [SHORT, NOW] if form.several else [SHORT]
    data = render_calls(given, spec.argument_lists, form, is_alone=choice != "auto").encode()
    if choice == "auto":
        data = b"Hm <t [" + data + b"\nso <"
    whole = reads_of(spec, [data])
    assert told([read.call for read in whole if isinstance(read, CallRead)]) == told(given)
    if choice == "auto":  # the call is the same, with text around it
        for place in range(1, len(data)):
            assert reads_of(spec, [data[:place], data[place:]]) == whole
    assert reads_of(spec, [data[place : place + 1] for place in range(len(data))]) == whole


MUTANTS: list[tuple[str, str, str]] = [
    # What is replaced in the call to Oslo, by what, and the class of the error.
    ("get_weather", "get_wether", "name"),
    ("get_weather", "get_weath", "name"),
    ("get_weather", "get_weather_no", "name"),
    ("get_weather", "get_weather_nowx", "name"),
    ("get_weather", "get_rain", "name"),
    ("get_weather", "Get_weather", "name"),
    ("city", "town", "argument"),
    ("city", "cit", "argument"),
    ("today", "monday", "argument"),
    ("today", "toda", "argument"),
    ("2", '"2"', "argument"),
    ("2", "2.5", "argument"),
    ("2", "02", "argument"),
    ("true", "1", "argument"),
    ("True", "1", "argument"),
    ("True", "true", "argument"),
    ("exact", "extra", "argument"),
]


def replaced(form: Format, text: str, old: str, new: str) -> str | None:
    """The text with a mutation, or None where the format has no such thing to mutate."""
    place = text.find(old, len(form.trigger) if old in form.trigger else 0)
    return None if place < 0 else text[:place] + new + text[place + len(old) :]


@every_format
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_T5_mutants_are_refused_with_their_class_where_they_begin(form: Format, choice: str) -> None:
    spec, language = spec_of(form, choice)
    for old, new, kind in MUTANTS:
        check_mutant(spec, language, form, choice, old, new, kind)


def check_mutant(spec: Tools, language: Language, form: Format, choice: str, old: str, new: str, kind: str) -> None:
    text = replaced(form, render_calls([OSLO], spec.argument_lists, form, is_alone=choice != "auto"), old, new)
    if text is None:
        return
    if form.by_name and choice == "auto" and kind == "name":
        # Without a tool's name it is no call, but text.
        assert language.accepts(text.encode())
        assert parse_text(text, spec) == []
        return
    assert not language.accepts(text.encode()), text
    with pytest.raises(CallError) as caught:
        parse_text(text, spec)
    assert (caught.value.position, caught.value.kind) == (language.died_at(text.encode()), kind), text


@cache
def spec_of(form: Format, choice: str) -> tuple[Tools, Language]:
    spec = Tools(TOOLS, form, tool_choice=choice)
    return spec, Language(spec)


LOOSE = {"city": "string", "day": "string", "days": "integer", "exact": "boolean", "z": "integer"}


@every_format
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_T18_T19_T26_missing_and_further_arguments_and_cut_calls_are_refused(form: Format, choice: str) -> None:
    spec, language = spec_of(form, choice)
    loose = Tools(
        [
            {"name": "get_weather", "parameters": {"properties": {key: {"type": kind} for key, kind in LOOSE.items()}}},
            {"name": "now", "parameters": {"properties": {"z": {"type": "integer"}}}},
        ],
        dataclasses.replace(form, is_positional=False),
    )  # fmt: skip
    for name, arguments in (
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {}),
        ("get_weather", {**OSLO.arguments, "z": 1}),
        ("now", {"z": 1}),
    ):
        call = Call(name, arguments, (0, 0))
        text = render_calls([call], loose.argument_lists, loose.format, is_alone=choice != "auto")
        assert not language.accepts(text.encode()), text
        with pytest.raises(CallError) as caught:
            parse_text(text, spec)
        assert caught.value.kind == "argument", text
        assert caught.value.position == language.died_at(text.encode())
    data = render_calls([OSLO], spec.argument_lists, form, is_alone=choice != "auto").encode()
    assert language.accepts(data)
    begun = len(triggers_of(form, ["get_weather"])[0].text) if choice == "auto" else 0
    parser = CallParser(spec)
    for place in range(len(data)):
        if place >= begun:
            assert not language.accepts(data[:place]), data[:place]
            with pytest.raises(CallError, match=r"ends (inside|before) a call"):
                parser.close()
        parser.feed(data[place : place + 1])
    parser.close()


@every_format
def test_tool_choice_none_is_text_without_calls(form: Format) -> None:
    spec = Tools(TOOLS, form, tool_choice="none")
    language = Language(spec)
    said = render_calls([NOW], Tools(TOOLS, form).argument_lists, form)
    assert language.accepts(b"Hm <t [ {")
    assert not language.accepts(said.encode())
    with pytest.raises(CallError, match="no tool may be called") as caught:
        parse_text(said, spec)
    assert caught.value.position == language.died_at(said.encode())


@every_format
@pytest.mark.parametrize("must_call", [False, True])
@pytest.mark.parametrize("parallel", [False, (2, 3)])
def test_first_calls_end_the_text(form: Format, must_call: bool, parallel: Any) -> None:
    several = {"parallel_tool_calls": parallel} if form.several is not None else {}
    spec = Tools(TOOLS, form, reasoning=("<r>", "</r>"), **several).first_call(must_call)
    language, argument_lists = Language(spec), spec.argument_lists
    call, two = (render_calls([NOW] * count, argument_lists, form) for count in ((1, 2) if several else (1, 1)))
    for text in (
        "",
        "So.",
        "<r>",
        "<r>so</r>",
        call,
        f"So.{call}",
        f"<r>{call}</r>{call}",
        f"{call}.",
        f"{call}{call}",
        two,
        f"{two}.",
    ):
        data = text.encode()
        if language.accepts(data):
            assert parse_text(text, spec) or not must_call
            continue
        with pytest.raises(CallError) as caught:
            parse_text(text, spec)
        assert caught.value.position == language.died_at(data), text
    with pytest.raises(CallError, match="ends before a call") if must_call else nullcontext():
        parse_text("So.", spec)
    with pytest.raises(CallError, match="ends inside reasoning"):
        parse_text("<r>so", spec)


@every_format
@pytest.mark.parametrize("choice", ["now", ["now", "get_weather_now"]])
def test_tool_choice_of_names_allows_those(form: Format, choice: Any) -> None:
    spec = Tools(TOOLS, form, tool_choice=choice)
    language = Language(spec)
    argument_lists = Tools(TOOLS, form).argument_lists
    for call in (NOW, BERGEN, OSLO):
        text = render_calls([call], argument_lists, form, is_alone=True)
        assert language.accepts(text.encode()) == (call.name in choice), text


@pytest.mark.parametrize("form", SEVERAL, ids=lambda form: form.name)
@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize(
    "parallel",
    [(1, 3), (2, None), *(pytest.param(pair, marks=pytest.mark.slow) for pair in ((1, 1), (2, 2), (3, 4)))],
)
def test_parallel_calls_are_as_many_as_are_asked_for(
    form: Format, choice: str, parallel: tuple[int, int | None]
) -> None:
    spec = Tools(TOOLS, form, tool_choice=choice, parallel_tool_calls=parallel)
    language, argument_lists = Language(spec), Tools(TOOLS, form, parallel_tool_calls=True).argument_lists
    fewest, most = parallel
    for count in range(1, 6):
        text = render_calls([NOW] * count, argument_lists, form, is_alone=choice != "auto")
        if choice == "auto":
            text = f"So.{text}."
        is_asked_for = fewest <= count and (most is None or count <= most)
        assert language.accepts(text.encode()) == is_asked_for, text
        if is_asked_for:
            assert len(parse_text(text, spec)) == count
        else:
            with pytest.raises(CallError):
                parse_text(text, spec)
    if choice == "auto":
        assert language.accepts(b"So.")


@pytest.mark.parametrize("form", [form for form in FORMATS if form.several is None], ids=lambda form: form.name)
def test_formats_with_one_call_at_a_time_refuse_several(form: Format) -> None:
    with pytest.raises(SchemaError, match="one call at a time") as caught:
        Tools(TOOLS, form, parallel_tool_calls=True)
    assert caught.value.keyword == "parallel_tool_calls"
    with pytest.raises(SchemaError, match="one call at a time"):
        render_calls([NOW, NOW], Tools(TOOLS, form).argument_lists, form)


@pytest.mark.parametrize("parallel", [0, (0, 1), (2, 1), "2", (1,), (True, 2)])
def test_odd_numbers_of_calls_are_refused(parallel: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="parallel_tool_calls"):
        Tools(TOOLS, parallel_tool_calls=parallel)


@cache
def vocabulary_of(form: Format) -> Vocabulary:
    """Bytes, and pieces of calls in the format as a tokenizer may cut them."""
    spec = Tools(TOOLS, form)
    chance = random.Random(form.name)
    pieces = set()
    for call in (OSLO, BERGEN, NOW):
        data = render_calls([call], spec.argument_lists, form).encode()
        for _ in range(40):
            place = chance.randrange(len(data))
            pieces.add(data[place : place + chance.randint(2, 9)])
    tokens = [*(bytes([value]) for value in range(256)), *sorted(pieces - {bytes([value]) for value in range(256)})]
    return Vocabulary([*tokens, None], eos=[len(tokens)])


def walked(index: Index, begun: bytes, budget: int, chance: random.Random) -> bytes:
    """A text by random logits, ended within a budget."""
    guide = index.guide()
    guide.advance_many(list(begun))
    found, left = bytearray(begun), budget + guide.remaining
    while not guide.is_accepting or len(found) == len(begun):
        words = guide.mask_within(left)
        allowed = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        token = int(chance.choice(allowed.tolist()))
        if token in index.vocabulary.eos:
            break
        guide.advance(token)
        found += index.vocabulary.tokens[token] or b""
        left -= 1
    return bytes(found)


@every_format
@pytest.mark.parametrize("choice", ["auto", "required", ["get_weather", "now"]], ids=["auto", "required", "two"])
def test_T1_random_walks_are_calls_to_an_independent_reader(form: Format, choice: Any) -> None:
    spec = Tools(TOOLS, form, tool_choice=choice, max_length=12, max_digits=4)
    index = compile_spec(spec if choice != "auto" else spec.first_call(), vocabulary_of(form))
    chance = random.Random(f"{form.name} {choice}")
    for _ in range(examples(12, by_default=3)):
        trigger = chance.choice(triggers_of(form, spec.argument_lists))
        begun = b"Hm. " * (not trigger.is_first) + trigger.text if choice == "auto" else b""
        text = walked(index, begun, chance.randint(0, 40), chance).decode()
        found = parse_text(text, spec)
        assert len(found) == 1
        assert by_position(READERS[form.name](text), spec) == told(found), text
        for call in found:
            assert call.name in spec.argument_lists
            inspect_arguments(call)


def inspect_arguments(call: Call) -> None:
    """Are the arguments those of the function, with their types?"""
    expected: dict[str, Any] = {"city": str, "day": str, "days": int, "exact": bool}
    required = {"get_weather": {"city", "day"}, "get_weather_now": {"city"}, "now": set()}[call.name]
    allowed = set(expected) if call.name == "get_weather" else required
    assert required <= call.arguments.keys() <= allowed
    for key, value in call.arguments.items():
        assert type(value) is expected[key]
    assert call.arguments.get("day", "today") in ("today", "tomorrow")


def take(
    a: str, b: str | None = None, c: int | str = 1, d: Literal["x", 3, None] = 3, e: list[str] | None = None
) -> None: ...


STRINGS = [
    "",
    "plain",
    "null",
    "3",
    " 3",
    "true",
    "[1]",
    '"',
    "'",
    "a\"b'c\\",
    "\n",
    "\n\n a \n",
    "<",
    "</",
    "é 😀 \x7f\x00",
    "\\n",
]


@pytest.mark.parametrize("form", [form for form in FORMATS if form.values != "json"], ids=lambda form: form.name)
@pytest.mark.parametrize("is_definition", [False, True])
def test_T15_strings_without_json(form: Format, is_definition: bool) -> None:
    properties = {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": ["integer", "string"]}}
    given: Any = {"name": "take", "parameters": {"properties": properties}} if is_definition else take
    spec = Tools([given], form, tool_choice="required")
    language = Language(spec)
    for key in "abc":
        for value in STRINGS:
            is_alone = form.values == "raw" and not form.quote and not form.text_key and not form.has_types
            looks_like_another = is_alone and (key, value) in {("b", "null"), ("c", "3")}
            call = Call("take", {"a": "x", key: value}, (0, 0))
            if looks_like_another:
                with pytest.raises(SchemaError, match="is not a value of"):
                    render_calls([call], spec.argument_lists, form, is_alone=True)
                continue
            text = render_calls([call], spec.argument_lists, form, is_alone=True)
            assert language.accepts(text.encode()), text
            assert told(parse_text(text, spec)) == [("take", call.arguments)]
            assert READERS[form.name](text) == [("take", call.arguments)] or "\n" in value or "\x00" in value
    for key, value in (("b", None), ("c", 3)):
        call = Call("take", {"a": "x", key: value}, (0, 0))
        assert told(parse_text(render_calls([call], spec.argument_lists, form, is_alone=True), spec)) == [
            ("take", call.arguments)
        ]


@pytest.mark.parametrize("form", [form for form in FORMATS if form.values == "raw"], ids=lambda form: form.name)
def test_T15_raw_strings_end_where_their_end_first_is(form: Format) -> None:
    spec = Tools([get_weather_now], form, tool_choice="required")
    end = form.quote or form.after_value.replace("{name}", "city").replace("{\n}", "\n").replace("{ }", " ").rstrip(
        "\n"
    )
    for value in (end, f"a{end}b", *(f"a{text}" for text in form.reserved)):
        with pytest.raises(SchemaError, match="is not a value of"):
            render_calls([Call("get_weather_now", {"city": value}, (0, 0))], spec.argument_lists, form)
    if form.element:
        # No string contains the mark before each tag.
        end = form.before_key[:-1]
    for length in range(1, len(end)):
        call = Call("get_weather_now", {"city": f"a{end[:length]}"}, (0, 0))
        text = render_calls([call], spec.argument_lists, form, is_alone=True)
        assert told(parse_text(text, spec)) == [("get_weather_now", call.arguments)]


SCHEMAS: list[tuple[Any, list[Any], list[Any]]] = [
    ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc", 'a"'], ["a", "abcd"]),
    ({"type": "string", "pattern": "^a+$"}, ["a", "aaa"], ["", "ab"]),
    ({"type": "string", "format": "date"}, ["2024-02-29"], ["2023-02-29", "x"]),
    ({"enum": ["a b", "c", 1, None]}, ["a b", "c", 1, None], ["d", 2, True]),
    ({"anyOf": [{"type": "string", "maxLength": 1}, {"const": "xyz"}, {"type": "boolean"}]}, ["a", "xyz", True], ["ab"]),
    ({"oneOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 2}]}, ["a", "abc"], ["ab"]),
    ({"type": "string", "not": {"enum": ["no"]}}, ["yes"], ["no"]),
    ({"type": "integer", "minimum": 3, "multipleOf": 3}, [3, 6], [0, 4]),
    ({"type": ["number", "null"], "maximum": 2.5}, [2.5, -1, None], [2.6]),
    ({"type": "array", "items": {"enum": ["a", True]}, "minItems": 1, "maxItems": 2}, [["a"], [True, "a"]], [[], ["b"]]),
]  # fmt: skip


@pytest.mark.parametrize("name", ["qwen-coder", "pythonic", "hermes"])
@pytest.mark.parametrize(("schema", "yes", "no"), SCHEMAS)
def test_T16_schemas_hold_in_every_style(name: str, schema: Any, yes: list[Any], no: list[Any]) -> None:
    form = format_named(name)
    spec = Tools([{"name": "f", "parameters": {"properties": {"a": schema}}}], form, tool_choice="required")
    language = Language(spec)
    for value, expected in [*((value, True) for value in yes), *((value, False) for value in no)]:
        spelled = value if isinstance(value, str) and form.values == "raw" else json.dumps(value)
        spelled = as_python(spelled) if form.values == "python" else spelled
        text = {
            "qwen-coder": f"<tool_call>\n<function=f>\n<parameter=a>\n{spelled}\n</parameter>\n</function>\n</tool_call>",
            "pythonic": f"[f(a={spelled})]",
            "hermes": f'<tool_call>\n{{"name": "f", "arguments": {{"a": {spelled}}}}}\n</tool_call>',
        }[name]
        assert language.accepts(text.encode()) == expected, text
        if expected:
            assert told(parse_text(text, spec)) == [("f", {"a": value})]
            assert render_calls([Call("f", {"a": value}, (0, 0))], spec.argument_lists, form, is_alone=True) == text
        else:
            with pytest.raises(CallError):
                parse_text(text, spec)


@pytest.mark.parametrize(
    ("name", "schema", "reason"),
    [
        ("gemma", {"type": "object", "properties": {"a:b": {}}}, "cannot write the name 'a:b' of a member"),
        ("gemma", {"const": '<|"|>'}, "cannot write any value of this type"),
        ("glm", {"enum": ["</arg_value>"]}, "cannot write any value of this type"),
    ],
)
def test_types_that_a_style_cannot_write_are_refused_with_their_place(name: str, schema: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason) as caught:
        Tools([{"name": "f", "parameters": {"properties": {"a": schema}}}], name)
    assert (caught.value.pointer, caught.value.keyword) == ("/f/a", "types")


@pytest.mark.parametrize(
    "spelled", ["'it\\'s'", '"it\'s"', "'a\"b'", '"a\\"b"', "'\\u0001\\n\\\\'", '"😀"', "''", "'null'"]
)
def test_pythonic_strings_have_either_quotes(spelled: str) -> None:
    spec = Tools([get_weather_now], "pythonic", tool_choice="required")
    text = f"[get_weather_now(city={spelled})]"
    assert Language(spec).accepts(text.encode())
    assert told(parse_text(text, spec)) == pythonic(text)


@pytest.mark.parametrize(
    "spelled", ["'it's'", '"a"b"', "'a\nb'", '"\\ud83d\\ude00"', "'\\x41'", "'a", "b'a'", "None", "'a' 'b'"]
)
def test_invalid_string_literals_are_refused(spelled: str) -> None:
    spec = Tools([get_weather_now], "pythonic", tool_choice="required")
    text = f"[get_weather_now(city={spelled})]"
    assert not Language(spec).accepts(text.encode())
    with pytest.raises(CallError):
        parse_text(text, spec)


WHOLE: dict[str, Any] = {
    "name": "pay",
    "parameters": {
        "type": "object",
        "oneOf": [
            {"properties": {"card": {"type": "string"}}, "required": ["card"]},
            {"properties": {"iban": {"type": "string"}, "bic": {"enum": ["A"]}}, "required": ["iban"]},
        ],
    },
}


@every_format
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_T20_all_arguments_at_once_where_they_are_an_object(form: Format, choice: str) -> None:
    spec = Tools([WHOLE, now], form, tool_choice=choice)
    language = Language(spec)
    for arguments, expected in (
        ({"card": "c1"}, True),
        ({"iban": "é", "bic": "A"}, True),
        ({"bic": "A"}, False),
        ({}, False),
    ):
        call = Call("pay", arguments, (0, 0))
        if not form.is_json and not expected:
            with pytest.raises(SchemaError):
                render_calls([call], spec.argument_lists, form, is_alone=choice != "auto")
            continue
        text = render_calls([call], spec.argument_lists, form, is_alone=choice != "auto")
        assert language.accepts(text.encode()) == expected, text
        if expected:
            assert told(parse_text(text, spec)) == READERS[form.name](text) == [("pay", arguments)]
        else:
            with pytest.raises(CallError) as caught:
                parse_text(text, spec)
            assert caught.value.position == language.died_at(text.encode())


@every_format
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_T3_markers_may_be_special_tokens(form: Format, choice: str) -> None:
    spec = Tools(TOOLS, form, tool_choice=choice)
    names = [name for name in dict.fromkeys(spec.markers) if name]
    special = {name: 300 + place for place, name in enumerate(names)}
    vocabulary = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=400, special=special)
    index = compile_spec(spec, vocabulary)
    text = render_calls([OSLO], spec.argument_lists, form, is_alone=choice != "auto")
    pieces = (
        re.split("|".join(f"({re.escape(name)})" for name in sorted(names, key=len, reverse=True)), text)
        if names
        else [text]
    )
    tokens = [
        token for piece in pieces if piece for token in ([special[piece]] if piece in special else piece.encode())
    ]
    assert form.by_name or not form.markers or sum(token >= 300 for token in tokens) > 1
    guide = index.guide()
    assert guide.advance_many(tokens) == len(tokens)
    assert guide.is_accepting
    guide.reset()
    assert guide.advance_many(text.encode()) == len(text.encode()), "spelled by ordinary tokens, it is the same"


def test_T4_in_react_the_word_action_inside_a_thought_does_not_switch() -> None:
    spec = Tools(TOOLS, "react")
    language = Language(spec)
    thought = "Thought: I take Action: get_rain, an action that is none. Action Input: nothing\n"
    for said in (thought, f"{thought}\nAction: now\nAction Input: {{}}\nThought: Action: x\nFinal Answer: Action: y"):
        assert language.accepts(said.encode()), said
    assert told(parse_text(said, spec)) == [("now", {})]
    for said in ("Action: get_rain", f"{thought}Action: get_rain"):
        assert not language.accepts(said.encode())
        assert language.died_at(said.encode()) == len(said) - len("rain")
    # At the beginning of a text, and after a result, a line begins.
    assert told(parse_text("Action: now\nAction Input: {}", spec)) == [("now", {})]
    assert language.accepts(b"Action: now\nAction Input: {}Action: now\nAction Input: {}")


@every_format
def test_results_are_written_as_the_format_has_them(form: Format) -> None:
    given = [dataclasses.replace(OSLO, result='a "b"\n'), dataclasses.replace(NOW, error=ValueError("no"))]
    pieces = render_results(given, form)
    assert len(pieces) == 2
    text = "".join(piece for group in pieces for piece, _ in group)
    assert text.startswith(form.results[0])
    assert text.endswith(form.results[2])
    assert "{" + "result}" not in text
    said = [piece for group in pieces for piece, is_result in group if is_result]
    shown = ['a "b"\n', "error: ValueError: no"]
    assert said == ([json.dumps(item) for item in shown] if "{json}" in form.result else shown)


@pytest.mark.parametrize("name", ["deepseek-v3.2", "deepseek-v4", "deepseek-v4.1"])
def test_a_key_that_tells_strings_from_the_rest_is_held(name: str) -> None:
    form = format_named(name)
    spec = Tools([take], dataclasses.replace(form, name="own"), tool_choice="required")
    right = Call("take", {"a": "3", "b": "null", "c": 3}, (0, 0))
    text = render_calls([right], spec.argument_lists, form, is_alone=True)
    assert told(parse_text(text, spec)) == told([right])
    language = Language(spec)
    for label, flag, other in (("a", "true", "false"), ("b", "true", "false"), ("c", "false", "true")):
        begun = f'name="{label}" string="'
        wrong = text.replace(f'{begun}{flag}"', f'{begun}{other}"')
        if label == "b":
            # What is said to be no string is null.
            (call,) = parse_text(wrong, spec)
            assert call.arguments["b"] is None
            continue
        if label == "c":
            (call,) = parse_text(wrong, spec)
            assert call.arguments["c"] == "3"
            continue
        assert not language.accepts(wrong.encode())
        with pytest.raises(CallError) as caught:
            parse_text(wrong, spec)
        assert (caught.value.kind, caught.value.position) == ("argument", language.died_at(wrong.encode()))
        assert caught.value.position == wrong.encode().index(begun.encode()) + len(begun)


def test_calls_of_kimi_are_numbered_and_read_with_their_numbers() -> None:
    form = format_named("kimi-k2")
    spec = Tools(TOOLS, form, tool_choice="required", parallel_tool_calls=True)
    text = render_calls([SHORT] * 12, spec.argument_lists, form, is_alone=True)
    assert re.findall(r"functions\.get_weather_now:(\d+)<", text) == [str(number) for number in range(12)]
    found = parse_text(text, spec)
    assert [call.id for call in found] == [str(number) for number in range(12)]
    ((head, _), (said, _), (tail, _)), *_, last = render_results(
        [dataclasses.replace(call, result="rain") for call in found], form
    )
    assert head + said == "<|im_end|><|im_system|>tool<|im_middle|>## Return of functions.get_weather_now:0\nrain"
    assert (tail, last[-1][0]) == ("<|im_end|>", "<|im_end|><|im_assistant|>assistant<|im_middle|>")


def test_a_colon_after_names_is_in_none() -> None:
    with pytest.raises(SchemaError, match="writes a colon after names") as caught:
        Tools([{"name": "pets:list"}], "kimi-k2")
    assert (caught.value.pointer, caught.value.keyword) == ("/pets:list", "name")
    assert Tools([{"name": "pets:list"}], "json").argument_lists["pets:list"]
