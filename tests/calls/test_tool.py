"""Tools from callables and definitions: names, parameters, and every way to get them wrong."""

import datetime
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Never

import pydantic
import pytest

from guided.calls.formats import format_names
from guided.calls.inputs import compile as compiled
from guided.calls.naming import inventory
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.running import run
from guided.calls.spec import Tools
from guided.calls.tool import Example, Tool
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.errors import CallError, PatternError, SchemaError
from tests.identifiers import shown
from tests.schema.engine import BYTES


def get_weather(city: str, day: Literal["today", "tomorrow"] = "today") -> "Unresolved":  # noqa: F821
    """What the weather will be like.

    Args:
        city: Where.
        day: When.
    """


class Service:
    def __init__(self, a: int) -> None: ...

    def method(self, x: int, *rest: float, flag: bool = False) -> None:
        """A method."""

    @classmethod
    def of_class(cls, y: str) -> None: ...

    @staticmethod
    def static(z: bool) -> None: ...

    def __call__(self, q: int) -> None:
        """Called."""


class Model(pydantic.BaseModel):
    """A model."""

    a: int = pydantic.Field(3, ge=0, description="How many.")
    b: Annotated[str, pydantic.Field(pattern="^x")]
    c: str = pydantic.Field(alias="the-c")
    d: list[int] = pydantic.Field(default_factory=list)


@dataclass
class Record:
    a: int
    b: str = ""


def listed(pairs: list[tuple[int, str]]) -> None: ...


class Pair(NamedTuple):
    x: int
    y: int = 0


@functools.wraps(get_weather)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return get_weather(*args, **kwargs)


CALLABLES: list[tuple[Callable[..., Any], str]] = [
    (get_weather, 'get_weather(city: str, day: "today" | "tomorrow" = ...)'),
    (wrapped, 'get_weather(city: str, day: "today" | "tomorrow" = ...)'),
    (functools.partial(get_weather, "Oslo"), 'get_weather(day: "today" | "tomorrow" = ...)'),
    (functools.partial(get_weather, day="today"), "get_weather(city: str)"),
    (functools.partial(functools.partial(get_weather, day="today"), city="Oslo"), "get_weather()"),
    (functools.partial(Service.method, Service(1), flag=True), "method(x: int, *rest: float)"),
    (Service(1).method, "method(x: int, *rest: float, flag: bool = ...)"),
    (Service.of_class, "of_class(y: str)"),
    (Service.static, "static(z: bool)"),
    (Service(1), "Service(q: int)"),
    (Service, "Service(a: int)"),
    (listed, "listed(pairs: list[tuple[int, str]])"),
    (Record, "Record(a: int, b: str = ...)"),
    (Pair, "Pair(x: int, y: int = ...)"),
    (Model, "Model(a: int >= 0 = ..., b: str, the-c: str, d: list[int] = ...)"),
]


@pytest.mark.parametrize(("function", "signature"), CALLABLES, ids=shown)
def test_a_tool_is_anything_that_can_be_called(function: Callable[..., Any], signature: str) -> None:
    assert Tool(function).signature == signature


def pay(amount: int, *notes: str, user_id: int, currency: str = "EUR") -> tuple[int, tuple[str, ...], int, str]:
    return amount, notes, user_id, currency


PAYMENT = functools.partial(pay, user_id=7)


@pytest.mark.parametrize("form", ["json", "tooldec", "hermes", "react", "pythonic"])
def test_what_a_partial_binds_is_neither_offered_nor_replaced(form: str) -> None:
    spec = Tools([PAYMENT], form, tool_choice="required")
    tool = spec.tools[0]
    assert "user_id" not in str(tool.to_openai())
    assert "user_id" not in tool.signature
    call = Call("pay", {"amount": 5, "currency": "USD"}, (0, 0))
    assert run(call, tool).result == (5, (), 7, "USD")
    assert run(Call("pay", {"amount": 5, "notes": ["a"]}, (0, 0)), tool).error is None
    for text in ('{"name": "pay", "arguments": {"amount": 5, "user_id": 8}}', "pay(amount=5, user_id=8)"):
        with pytest.raises(CallError):
            parse_text(text, Tools([PAYMENT], "json" if text[0] == "{" else "pythonic", tool_choice="required"))
    with pytest.raises(SchemaError, match="unknown parameter 'user_id'"):
        Tool(PAYMENT, types={"user_id": int})
    assert JsonSchema(PAYMENT).read('{"amount": 5, "user_id": 8}') == {"amount": 5}


def post(channel: str, /, *files: str, from_: str = "me", **more: datetime.date) -> Any:
    return channel, files, from_, more


POST = functools.partial(post, until=datetime.date(2030, 1, 1))


@pytest.mark.parametrize("form", format_names())
def test_keyword_arguments_of_other_names_have_their_type_and_no_name_that_is_taken(form: str) -> None:
    spec = Tools([POST], form, tool_choice="required")
    index = compiled(spec, BYTES)

    def written(**more: Any) -> str:
        call = Call("post", {"channel": "a", "files": ["b"], "from": "c", **more}, (0, 0))
        return render_calls([call], spec.argument_lists, spec.format, True)

    (call,) = parse_text(written(since="2024-02-29", channel_="2024-03-01"), spec)
    days = {"since": datetime.date(2024, 2, 29), "channel_": datetime.date(2024, 3, 1)}
    assert run(call, spec.tools[0]).result == ("a", ("b",), "c", {"until": datetime.date(2030, 1, 1), **days})
    assert index.accepts(written(since="2024-02-29"))
    (call,) = parse_text(written(), spec)
    assert run(call, spec.tools[0]).result == ("a", ("b",), "c", {"until": datetime.date(2030, 1, 1)})
    # What only looks like the parameter is a name, too.
    starred = Call("post", {"channel": "a", "files": ["b"], "**more": days["since"]}, (0, 0))
    assert run(starred, spec.tools[0]).result == (
        "a",
        ("b",),
        "me",
        {"until": datetime.date(2030, 1, 1), "**more": days["since"]},
    )
    for name in ("until", "from_"):
        assert not index.accepts(written(since="2024-02-29").replace("since", name))
    assert not index.accepts(written(since="2024-02-29").replace("02-29", "02-30"))


def test_keyword_arguments_in_signatures_and_schemas() -> None:
    tool = Tool(post)
    assert tool.signature == "post(channel: str, *files: str, from: str = ..., **more: date)"
    parameters = tool.to_openai()["function"]["parameters"]
    assert list(parameters["properties"]) == ["channel", "files", "from"]
    assert parameters["additionalProperties"] == {"type": "string", "format": "date"}
    assert Tool(lambda a, **_: 0, name="f").to_openai()["function"]["parameters"]["additionalProperties"] is True
    spec = JsonSchema(POST)
    assert spec.read('{"channel": "a", "x": "2024-02-29"}') == {"channel": "a", "x": datetime.date(2024, 2, 29)}
    index = compiled(spec, BYTES)
    assert index.accepts(b'{"channel":"a","x":"2024-02-29"}')
    assert not index.accepts(b'{"channel":"a","until":"2024-02-29"}')


def test_a_partial_may_bind_the_name_of_keyword_arguments() -> None:
    day = datetime.date(2030, 1, 1)
    tool = Tool(functools.partial(post, more=day))
    assert tool.signature == "post(channel: str, *files: str, from: str = ..., **more: date)"
    call = Call("post", {"channel": "a", "since": day}, (0, 0))
    assert run(call, tool).result == ("a", (), "me", {"more": day, "since": day})


def test_never_leaves_optional_parameters_out() -> None:
    tool = Tool(post, types={"more": Never, "from_": Never})
    assert tool.signature == "post(channel: str, *files: str)"
    assert tool.never_written() == ("/post/from_", "/post/more")
    with pytest.raises(SchemaError, match="no value has this type"):
        Tool(post, types={"channel": Never})


@pytest.mark.parametrize(
    "method",
    [Service.method, functools.partial(Service.method, x=1), Service.__call__, Service.of_class.__func__],
    ids=shown,
)
def test_methods_without_an_instance_are_refused(method: Any) -> None:
    for make in (Tool, lambda one: Tools([one]), JsonSchema):
        with pytest.raises(
            SchemaError, match=r"is a method without its (self|cls): pass the method of an instance"
        ) as error:
            make(method)
        assert error.value.keyword in ("self", "cls")


def test_docstrings_describe_tools_and_parameters() -> None:
    tool = Tool(get_weather)
    assert tool.description == "What the weather will be like."
    assert [parameter.description for parameter in tool.parameters()] == ["Where.", "When."]
    assert Tool(Service(1).method).description == "A method."
    assert Tool(get_weather, description="Other.").description == "Other."

    def noted(x: Annotated[int, "how many"]) -> None: ...

    assert Tool(noted).parameters()[0].description == "how many"


def test_a_pydantic_model_has_the_constraints_of_its_fields() -> None:
    a, b, c, _ = Tool(Model).parameters()
    assert a.description == "How many."
    assert not a.type.scanner().accepts(b"-1")
    assert not b.type.scanner().accepts(b'"ax"')
    assert Tool(Model, types={"the-c": Regex("y")}).parameters()[2].type is not c.type
    with pytest.raises(SchemaError, match="unknown parameter 'e'"):
        Tool(Model, types={"e": Regex("y")})


def test_labels_are_names_without_the_underscore_of_keywords_or_aliases() -> None:
    def convert(from_: str, class_: int, plain_: int, x: Annotated[int, pydantic.Field(alias="the-x")]) -> None: ...

    assert [parameter.label for parameter in Tool(convert).parameters()] == ["from", "class", "plain_", "the-x"]


def test_a_default_may_have_any_value_and_kinds_are_kept() -> None:
    def f(a: int, /, b: int = 3, *c: int, d: int, e: str = "x") -> None: ...

    found = [(parameter.name, parameter.required, parameter.kind) for parameter in Tool(f).parameters()]
    assert found == [
        ("a", True, "positional"),
        ("b", False, "either"),
        ("c", False, "variadic"),
        ("d", True, "keyword"),
        ("e", False, "keyword"),
    ]


@pytest.mark.parametrize("kind", [Regex("[a-z]+"), Choice(["a", "b"]), __import__("re").compile("[ab]"), Literal["a"]])
def test_T16_types_of_ones_own_replace_the_annotation(kind: Any) -> None:
    tool = Tool(get_weather, types={"city": kind})
    scanner = tool.parameters()[0].type.scanner()
    assert scanner.accepts(b'"a"')
    assert not scanner.accepts(b'"A"')


DEFINITION = {
    "name": "get_weather",
    "description": "What the weather will be like.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer", "minimum": 0}},
        "required": ["city"],
    },
}


@pytest.mark.parametrize(
    "definition",
    [
        DEFINITION,
        {"type": "function", "function": DEFINITION},
        {"type": "function", **DEFINITION},
        {"name": "get_weather", "description": DEFINITION["description"], "input_schema": DEFINITION["parameters"]},
        {"name": "get_weather", "description": DEFINITION["description"], "inputSchema": DEFINITION["parameters"]},
    ],
    ids=["flat", "nested", "responses", "anthropic", "mcp"],
)
def test_a_tool_is_a_definition_in_json(definition: dict[str, Any]) -> None:
    tool = Tool(definition)
    assert tool.signature == "get_weather(city: str, days: int >= 0 = ...)"
    assert tool.description == "What the weather will be like."
    assert tool.parameters()[0].description == "Where."
    assert tool.run is None
    assert Tool(definition, run=print).run is print
    assert Tool(definition, name="other").name == "other"


def test_T26_a_definition_without_parameters_has_none() -> None:
    assert Tool({"name": "now"}).parameters() == ()
    assert Tool({"name": "now", "parameters": {"type": "object", "properties": {}}}).parameters() == ()


def test_examples_are_kept() -> None:
    example = Example("Weather?", "Snow.", {"city": "Oslo"}, "snow")
    tool = Tool(get_weather, examples=[example, {"question": "Who?", "answer": "He."}])
    assert tool.examples == (example, Example("Who?", "He."))


def test_T10_duplicate_names_are_an_error() -> None:
    with pytest.raises(SchemaError, match=r"two tools have this name.*Tool\(\.\.\., name=\.\.\.\)") as caught:
        inventory([get_weather, Tool(Service(1).method, name="get_weather")])
    assert caught.value.pointer == "/get_weather"
    assert [tool.name for tool in inventory([get_weather, Tool(get_weather, name="other")])] == ["get_weather", "other"]


@pytest.mark.parametrize("name", ["", "a b", "a(b", "a,b", 'a"b', "a=b", "a\n", "<a>"])
def test_names_are_validated(name: str) -> None:
    with pytest.raises(SchemaError, match="a tool name must consist of letters"):
        Tool(get_weather, name=name)


@pytest.mark.parametrize("name", ["exp10", "spotify.search", "a-b", "GET/movie", "ns:tool", "größe"])
def test_names_may_be_those_of_registries(name: str) -> None:
    assert Tool(get_weather, name=name).name == name


def test_only_what_the_model_writes_needs_an_annotation_that_can_be_resolved() -> None:
    def pay(amount: int, account: "Nowhere") -> "Nowhere": ...  # noqa: F821

    assert Tool(pay, types={"account": str}).signature == "pay(amount: int, account: str)"
    assert Tool(functools.partial(pay, account=None)).signature == "pay(amount: int)"


def anything(*args, **kwargs): ...  # type: ignore[no-untyped-def]
def field_as_default(x: int = pydantic.Field(ge=0)) -> None: ...
def unresolved(x: "Nowhere") -> None: ...  # noqa: F821
def bad(x: int, y: type) -> None: ...
def aliased(x: Annotated[int, pydantic.Field(alias="y")], y: int) -> None: ...


def of(**parameters: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": parameters}


REFUSED: list[tuple[Callable[[], Any], str, str, str]] = [
    (lambda: Tool(anything), "use functools.wraps in a decorator", "/anything", "signature"),
    (lambda: JsonSchema(anything), "use functools.wraps in a decorator", "", "signature"),
    (lambda: Tool(field_as_default), "into Annotated", "/field_as_default/x", "Field"),
    (lambda: Tool(unresolved), "annotations cannot be resolved", "/unresolved/x", "Nowhere"),
    (lambda: Tool(bad), "this type has no JSON Schema", "/bad/y", "type"),
    (lambda: Tool(bad), "Tool(..., types={name: annotation}) gives another type", "/bad/y", "type"),
    (lambda: Tool(aliased), "duplicate parameter 'y'", "/aliased", "alias"),
    (lambda: Tool(lambda x: x), "a tool name must consist of letters", "/<lambda>", "name"),
    (lambda: Tool(type), "its signature cannot be read", "/type", "signature"),
    (lambda: Tool(get_weather, types={"town": Regex("a")}), "unknown parameter 'town'", "/get_weather/town", "types"),
    (
        lambda: Tool(get_weather, types={"city": NotATree()}),
        "cannot be compiled to a pattern",
        "/get_weather/city",
        "NotATree",
    ),
    (lambda: Tool({"description": "x"}), "a definition needs a name", "", "name"),
    (lambda: Tool({"function": 3}), "a definition needs a name", "", "name"),
    (lambda: Tool(of(type="array")), "a schema of type object", "/f", "parameters"),
    (lambda: Tool({"name": "f", "parameters": 3}), "a schema of type object", "/f", "parameters"),
    (
        lambda: Tool(of(type="object", minProperties=1)),
        "no value satisfies",
        "/f",
        "minProperties, additionalProperties",
    ),
    (lambda: Tool(of(type="object", required=["a"])), "'a' is required but not in properties", "/f", "required"),
    (lambda: Tool(of(type="object", properties=[])), "properties must map names", "/f", "properties"),
    (lambda: Tool(of(type="object", required="a")), "a list of names", "/f", "required"),
    (lambda: Tool(of(type="object", properties={"a": {"type": "odd"}})), "a type must be one of", "/f/a", "type"),
    (
        lambda: Tool(of(oneOf=[{"properties": {"a": False}, "required": ["a"]}])),
        "no value satisfies",
        "/f",
        "type, oneOf",
    ),
    (lambda: Tool(of(type="object"), types={"b": Regex("a")}), "unknown parameter 'b'", "/f/b", "types"),
    (lambda: inventory([]), "tools is empty: pass at least one tool", "", "tools"),
]


class NotATree:
    def lower(self, limits: Any) -> Any: ...


@pytest.mark.parametrize(("make", "reason", "pointer", "keyword"), REFUSED, ids=shown)
def test_a_tool_that_cannot_be_lowered_is_refused(
    make: Callable[[], Any], reason: str, pointer: str, keyword: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        make()
    assert reason in str(caught.value)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)


def test_a_malformed_pattern_is_refused() -> None:
    with pytest.raises(PatternError):
        Tool(get_weather, types={"city": Regex("a(")})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tool(3), "a tool must be a callable or a dict, not int"),
        (lambda: Tool(get_weather, name=3), "the name of a tool must be a str, not int"),
        (lambda: Tool(get_weather, run=print), "run= is only for JSON definitions"),
        (lambda: Tool(get_weather, examples=["x"]), "an example must be an Example, a dict or a pair of str, not str"),
        (
            lambda: inventory(get_weather),
            "tools must be a list of callables, dicts and Tools, not function: put a single tool in a list",
        ),
        (
            lambda: inventory({"name": "f"}),
            "tools must be a list of callables, dicts and Tools, not dict: put a single tool in a list",
        ),
        (
            lambda: inventory("f"),
            "tools must be a list of callables, dicts and Tools, not str: put a single tool in a list",
        ),
    ],
)
def test_wrong_types_are_type_errors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
