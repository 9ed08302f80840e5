"""Reading calls: three independent answers to what is a call, errors with class and place, bytes as they come."""

import datetime
import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.calls.parse import CallParser, parse_text
from guided.calls.reads import ArgumentRead, Call, CallRead, CallStarted, TextRead
from guided.calls.spec import Tools
from guided.errors import CallError
from tests.calls.languages import Language
from tests.calls.parsing import parse_call
from tests.calls.signatures import calls, inventories, mutants, tool_of, written
from tests.oracles import slow_call
from tests.profiles import examples

STYLES = ["tooldec", "tooldec-positional", "json"]


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=examples(60))
@given(data=st.data())
def test_automaton_parser_and_regular_expression_agree(style: str, data: st.DataObject) -> None:
    is_positional = style == "tooldec-positional"
    shapes = data.draw(inventories(is_positional))
    spec = Tools([tool_of(name, shape, is_positional) for name, shape in shapes.items()], style, tool_choice="required")
    automaton, oracle = Language(spec), slow_call(shapes, style)
    for _ in range(6):
        name = data.draw(st.sampled_from(sorted(shapes)))
        arguments = data.draw(calls(shapes[name], is_positional))
        text = written(
            name, arguments, style, data.draw(st.sampled_from(["", " "])), data.draw(st.sampled_from(["", "+"]))
        )
        assert automaton.accepts(text.encode())
        assert oracle.fullmatch(text)
        found = parse_call(text, spec.tools, style)
        assert (found.name, found.arguments, found.span) == (name, arguments, (0, len(text.encode())))
        mutant = data.draw(mutants(text))
        expected = oracle.fullmatch(mutant) is not None
        assert automaton.accepts(mutant.encode()) == expected, mutant
        if expected:
            parse_text(mutant, spec)
        else:
            with pytest.raises(CallError) as caught:
                parse_text(mutant, spec)
            assert caught.value.position == automaton.died_at(mutant.encode()), (mutant, caught.value)


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_running_text_is_read_as_the_automaton_reads_it(style: str, data: st.DataObject) -> None:
    is_positional = style == "tooldec-positional"
    shapes = data.draw(inventories(is_positional))
    spec = Tools([tool_of(name, shape, is_positional) for name, shape in shapes.items()], style)
    automaton = Language(spec)
    form = spec.format
    text, expected = "", []
    for _ in range(data.draw(st.integers(0, 3))):
        text += data.draw(st.text("<T>tol_ca é", max_size=6).filter(lambda said: form.start not in said))
        name = data.draw(st.sampled_from(sorted(shapes)))
        arguments = data.draw(calls(shapes[name], is_positional))
        begin = len(text.encode())
        text += form.start + written(name, arguments, style) + form.terminator
        expected.append(Call(name, arguments, (begin, len(text.encode()))))
    text += data.draw(st.text("<T>tol_ca é", max_size=6).filter(lambda said: form.start not in said))
    # Text and the trigger after it may join to an earlier trigger; mostly they do not.
    if automaton.accepts(text.encode()):
        assert parse_text(text, spec) == expected
    mutant = data.draw(mutants(text))
    if automaton.accepts(mutant.encode()):
        parse_text(mutant, spec)
    else:
        with pytest.raises(CallError) as caught:
            parse_text(mutant, spec)
        assert caught.value.position == automaton.died_at(mutant.encode())


def get_weather(city: str, day: Literal["today", "tomorrow"]) -> None: ...
def add(*numbers: float) -> None: ...
def now() -> None: ...
def mixed(a: int, b: int = 3, *c: int, d: bool = False, e: bool) -> None: ...


TOOLS = [get_weather, add, now, mixed]

CALLS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("tooldec", 'get_weather(city="Oslo", day="today")', "get_weather", {"city": "Oslo", "day": "today"}),
    ("tooldec", 'get_weather(city="a, b)",day="today")', "get_weather", {"city": "a, b)", "day": "today"}),
    ("tooldec", "add(numbers=[1, 2.5])", "add", {"numbers": [1.0, 2.5]}),
    ("tooldec", "add()", "add", {}),
    ("tooldec", "now()", "now", {}),
    ("tooldec", "mixed(a=1, c=[2], e=true)", "mixed", {"a": 1, "c": [2], "e": True}),
    ("tooldec-positional", "add(1,+2, -3)", "add", {"numbers": [1.0, 2.0, -3.0]}),
    ("tooldec-positional", "add()", "add", {}),
    ("tooldec-positional", "mixed(1, e=false)", "mixed", {"a": 1, "e": False}),
    (
        "tooldec-positional",
        "mixed(1, 2, 3, 4, d=true, e=true)",
        "mixed",
        {"a": 1, "b": 2, "c": [3, 4], "d": True, "e": True},
    ),
    ("json", '{"name":"now","arguments":{}}', "now", {}),
    ("json", '{"name": "add", "arguments": {"numbers": [1]}}', "add", {"numbers": [1.0]}),
    ("json", '{"name": "mixed", "arguments": {"a": 1, "e": true}}', "mixed", {"a": 1, "e": True}),
]


@pytest.mark.parametrize(("style", "text", "name", "arguments"), CALLS)
def test_T17_T18_T21_T26_calls_are_read(style: str, text: str, name: str, arguments: dict[str, Any]) -> None:
    found = parse_call(text, TOOLS, style)
    assert (found.name, found.arguments) == (name, arguments)
    assert found.result is None
    assert parse_call(text.encode(), TOOLS, style) == found


# As in the paper's figures 7 and 8: calls that models wrote, with names that do not exist, wrong arguments, broken syntax.
WRONG: list[tuple[str, str, str, str, int]] = [
    ("tooldec", 'get_wether(city="Oslo")', "name", "no tool name starts with this", 6),
    ("tooldec", 'get_weather_now(city="Oslo")', "name", "starts with 'get_weather'", 11),
    ("tooldec", "weather_today()", "name", "no tool name starts with this", 0),
    ("tooldec", "Now()", "name", "no tool name starts with this", 0),
    ("tooldec", 'get_weather(city="Oslo")', "argument", "is missing its argument 'day'", 23),
    ("tooldec", 'get_weather(day="today")', "argument", "the name of an argument of get_weather: ", 12),
    ("tooldec", 'get_weather(town="Oslo", day="today")', "argument", "the name of an argument of get_weather: ", 12),
    (
        "tooldec",
        'get_weather(cityname="Oslo", day="today")',
        "argument",
        "the name of an argument of get_weather: ",
        16,
    ),
    ("tooldec", 'get_weather(city="Oslo", city="Oslo")', "argument", "the name of an argument of get_weather: ", 25),
    ("tooldec", 'get_weather(city="Oslo", day="monday")', "argument", 'must be "today" | "tomorrow"; this', 30),
    ("tooldec", "get_weather(city=Oslo)", "argument", "'city' must be str", 17),
    ("tooldec", 'get_weather("Oslo", "today")', "argument", "the name of an argument of get_weather: ", 12),
    ("tooldec", "mixed(a=1.5, e=true)", "argument", "'a' must be int", 9),
    ("tooldec", "mixed(a=01, e=true)", "argument", "'a' must be int", 9),
    ("tooldec", "mixed(a=+1, e=true)", "argument", "'a' must be int", 8),
    ("tooldec", "now(1)", "argument", "unexpected argument", 4),
    ("tooldec", "now(,)", "argument", "unexpected argument", 4),
    ("tooldec-positional", 'get_weather("Oslo", "today", 3)', "argument", "unexpected argument", 27),
    ("tooldec-positional", "mixed(1, d=true)", "argument", "is missing its argument 'e'", 15),
    ("tooldec-positional", "mixed(e=true)", "argument", "'a' must be int", 6),
    ("json", '{"name": "get_weather", "arguments": {"city": "Oslo"}}', "argument", "is missing its argument 'day'", 52),
    ("json", '{"name": "get_weather", "arguments": {"city": 3}}', "argument", "'city' must be str", 46),
    ("json", '{"name": "now", "arguments": {"x": 3}}', "argument", "unexpected argument", 30),
    ("json", '{"name": "get_weather", "arguments": {"city": "Oslo"},', "argument", "is missing its argument 'day'", 52),
    ("json", '{"name": "get_weather", "arguments": {}}', "argument", "is missing its argument 'city'", 38),
    ("json", '{"name": "later", "arguments": {}}', "name", "no tool name starts with this", 10),
    ("tooldec", "now", "syntax", "ends inside a call", 3),
    ("tooldec", 'get_weather(city="Oslo', "syntax", "ends inside a call", 22),
    ("tooldec", "now[]", "syntax", "expected '('", 3),
    ("tooldec", "now()=", "syntax", "unexpected text", 5),
    ("tooldec", 'get_weather(city="Oslo"; day="today")', "syntax", "expected ', ' at", 23),
    ("tooldec", "mixed(a=1, e=true;", "syntax", "expected ')' at", 17),
    ("tooldec", "mixed(a=1, d=true; e=true)", "syntax", "expected ', ' at", 17),
    ("tooldec-positional", "add(1;", "syntax", "expected ')' or ', ' at", 5),
    ("tooldec", "", "syntax", "ends before a call", 0),
    ("json", "{'name': 'now'}", "syntax", "expected", 1),
    ("json", '{"name": "now", "parameters": {}}', "syntax", "expected", 17),
    ("json", '{"name": "now", "arguments": {}} ', "syntax", "unexpected text", 32),
    ("json", "```json", "syntax", "expected", 0),
]


@pytest.mark.parametrize(("style", "text", "kind", "reason", "position"), WRONG)
def test_invalid_calls_are_refused_with_class_and_place(
    style: str, text: str, kind: str, reason: str, position: int
) -> None:
    with pytest.raises(CallError) as caught:
        parse_call(text, TOOLS, style)
    assert reason in str(caught.value)
    assert (caught.value.kind, caught.value.position) == (kind, position)
    spec = Tools(TOOLS, style, tool_choice="required")
    assert Language(spec).died_at(text.encode()) == position


@pytest.mark.parametrize(
    ("text", "position"), [("say <T>now() ok", 13), ("say <T>later()=", 7), ("<T>now()", 8), ("<T><T>now() =", 3)]
)
def test_T19_in_running_text_the_terminator_is_needed(text: str, position: int) -> None:
    spec = Tools(TOOLS, "tooldec")
    with pytest.raises(CallError) as caught:
        parse_text(text, spec)
    assert caught.value.position == position == Language(spec).died_at(text.encode())


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_reading_in_pieces_equals_reading_at_once(size: int) -> None:
    spec = Tools(TOOLS, "tooldec")
    data = 'Hi <T <<T>get_weather(city="Köln", day="today") = <T>add(numbers=[1, 2])=é <T'.encode()
    parser = CallParser(spec)
    reads = [read for n in range(0, len(data), size) for read in parser.feed(data[n : n + size])]
    reads += parser.close()
    text = [read for read in reads if isinstance(read, TextRead)]
    assert b"".join(read.data for read in text) == b"Hi <T < \xc3\xa9 <T"
    assert all(data[read.position :].startswith(read.data) for read in text)
    others = [read for read in reads if not isinstance(read, TextRead)]
    city, day = data.index(b'"K'), data.index(b'"today')
    first = Call("get_weather", {"city": "Köln", "day": "today"}, (data.index(b"<T>get"), data.index(b" <T>add")))
    second = Call("add", {"numbers": [1.0, 2.0]}, (data.index(b"<T>add"), data.index(b"\xc3\xa9")))
    start = data.index(b"get_")
    assert others == [
        CallStarted("get_weather", (start, start + 11)),
        ArgumentRead("city", "Köln", (city, city + 7)),
        ArgumentRead("day", "today", (day, day + 7)),
        CallRead(first),
        CallStarted("add", (data.index(b"add"), data.index(b"add") + 3)),
        ArgumentRead("numbers", [1.0, 2.0], (data.index(b"[1"), data.index(b"]") + 1)),
        CallRead(second),
    ]
    assert parse_text(data, spec) == [first, second]


def test_arguments_are_reported_as_soon_as_they_are_complete() -> None:
    parser = CallParser(Tools(TOOLS, "tooldec"))
    assert parser.feed(b'<T>get_weather(city="Oslo') == [CallStarted("get_weather", (3, 14))]
    assert parser.feed(b'"') == [ArgumentRead("city", "Oslo", (20, 26))]
    assert parser.call_start == 0
    assert parser.feed(b', day="today"') == [ArgumentRead("day", "today", (32, 39))]
    assert parser.feed(b")") == []
    assert [type(read) for read in parser.feed(b"=")] == [CallRead]
    assert parser.call_start is None


def test_invalid_utf_8_is_text_but_no_argument() -> None:
    spec = Tools(TOOLS, "tooldec")
    assert len(parse_text(b"\xff\xfe <T>now() = \xc3", spec)) == 1
    with pytest.raises(CallError) as caught:
        parse_text(b'<T>get_weather(city="\xff"', spec)
    assert caught.value.position == 21


def test_several_calls_are_read() -> None:
    spec = Tools(TOOLS, "json", tool_choice="required", parallel_tool_calls=True)
    one = '{"name": "now", "arguments": {}}'
    assert [call.name for call in parse_text(one, spec)] == ["now"]
    assert [call.span for call in parse_text(f"[{one}, {one}]", spec)] == [(1, 33), (35, 67)]
    for text in ("[]", f"[{one}", f"{one}, {one}", f"[{one},]", f"{one}]", f"[{one}]]"):
        with pytest.raises(CallError) as caught:
            parse_text(text, spec)
        assert caught.value.position == Language(spec).died_at(text.encode()), text
    spec = Tools(TOOLS, "tooldec", tool_choice="required", parallel_tool_calls=True)
    assert [call.name for call in parse_text("now()\nadd()now()", spec)] == ["now", "add", "now"]
    for text in ("now()\n", "now();now()"):
        with pytest.raises(CallError) as caught:
            parse_text(text, spec)
        assert caught.value.position == Language(spec).died_at(text.encode()), text


def test_without_tools_a_trigger_is_an_error() -> None:
    spec = Tools(TOOLS, "tooldec", tool_choice="none")
    assert parse_text("just <T text", spec) == []
    with pytest.raises(CallError, match="no tool may be called") as caught:
        parse_text("just <T>now() =", spec)
    assert caught.value.position == Language(spec).died_at(b"just <T>now() =") == 7


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise TypeError(f"{self.number} is odd")


def test_errors_of_custom_classes_are_argument_errors() -> None:
    def halve(even: Even) -> None: ...

    assert parse_call('halve(even={"number": 4})', [halve], "tooldec").arguments == {"even": Even(4)}
    with pytest.raises(CallError, match=r"invalid value for argument .*: 3 is odd") as caught:
        parse_call('halve(even={"number": 3})', [halve], "tooldec")
    assert (caught.value.kind, caught.value.position) == ("argument", 11)


def test_model_text_is_never_evaluated() -> None:
    def f(x: str, when: datetime.date) -> None: ...

    text = "__import__('os').system('true')"
    call = parse_call(f'f(x={json.dumps(text)}, when="2024-02-29")', [f], "tooldec")
    assert call.arguments == {"x": text, "when": datetime.date(2024, 2, 29)}
    with pytest.raises(CallError):
        parse_call(f"f(x={text})", [f], "tooldec")


@pytest.mark.parametrize(
    ("form", "text", "span"),
    [
        ("json", '{"name": "f", "arguments": {"x": 1, "x": 2}}', (41, 42)),
        ("pythonic", "[f(x=1, x=2)]", (10, 11)),
    ],
)
def test_of_an_undeclared_argument_that_comes_twice_the_last_value_is_read(
    form: str, text: str, span: tuple[int, int]
) -> None:
    tool = {"name": "f", "parameters": {"type": "object", "additionalProperties": True}}
    reads = CallParser(Tools([tool], form, tool_choice="required")).feed(text)
    assert [read for read in reads if isinstance(read, ArgumentRead)] == [ArgumentRead("x", 2, span)]
