"""Keywords about several arguments, and undeclared ones, where a format writes arguments one by one: against JSON and each byte alone."""

import datetime
import json
import random
import re
from itertools import permutations
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types
import jsonschema
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.calls.formats.files import format_named, format_names
from guided.calls.formats.format import Format
from guided.calls.formats.texts import written as written_text
from guided.calls.lowering import arguments_of
from guided.calls.parse import CallParser, parse_text
from guided.calls.reads import ArgumentRead, Call
from guided.calls.rendering import render_calls
from guided.calls.running import run
from guided.calls.schema import ValueScanner
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile as compile_spec
from guided.engine.templates import Template
from guided.errors import CallError, LimitError, SchemaError, StateEvicted
from guided.limits import Limits
from guided.schema.formula.atoms import Notation
from guided.schema.strings.notation import as_python, in_notation
from tests.automata.enumerated import EXHAUSTIVE
from tests.calls.families import TYPE_OF
from tests.calls.languages import Language
from tests.calls.test_notations import VOCABULARY, check_walk
from tests.executed import executed_calls
from tests.profiles import examples
from tests.schema import official

FORMATS = [name for name in format_names() if not format_named(name).is_json]
NAMES = ["a", "b", "c", "z", "zz"]
VALUES: list[Any] = ["x", "5", 5, 1.5, None, True, [], ["q"], [1], {"k": "v"}, "", "[1]", "é\n"]
LEAVES: st.SearchStrategy[Any] = st.sampled_from([
    {}, {"type": "string"}, {"type": "integer"}, {"type": ["string", "integer"]}, {"enum": ["x", 5, None]}, {"const": "5"},
    {"type": "array", "items": {"type": "string"}}, {"type": ["array", "string"]}, {"type": "boolean"}, {"type": "object"},
    {"minLength": 1},
    {"type": "string", "maxLength": 1}, {"minimum": 2}, {"type": ["null", "string"], "pattern": "^x?$"}, False,
])  # fmt: skip
PROPERTIES = st.dictionaries(st.sampled_from(NAMES[:3]), LEAVES, min_size=1, max_size=3)
PARTS = st.recursive(
    st.one_of(
        st.sampled_from(NAMES[:2]).map(lambda name: {"required": [name]}),
        PROPERTIES.map(lambda found: {"properties": found}),
        st.tuples(PROPERTIES, st.sampled_from(NAMES[:2])).map(
            lambda found: {"properties": found[0], "required": [found[1]]}
        ),
        st.integers(0, 2).map(lambda n: {"minProperties": n}),
        st.integers(1, 2).map(lambda n: {"maxProperties": n}),
        st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map(
            lambda found: {"dependentRequired": {found[0]: [found[1]]}}
        ),
        st.sampled_from(["^[a-c]$", "^.$"]).map(lambda source: {"propertyNames": {"pattern": source}}),
        LEAVES.map(lambda leaf: {"additionalProperties": leaf}),
        LEAVES.map(lambda leaf: {"patternProperties": {"^z": leaf}}),
    ),
    lambda inner: st.one_of(
        inner.map(lambda part: {"not": part}),
        st.tuples(inner, inner).map(lambda parts: {"if": parts[0], "then": parts[1]}),
        inner.map(lambda part: {"$ref": "#/$defs/part", "$defs": {"part": part}}),
        *(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts, name=name: {name: parts})
            for name in ("anyOf", "oneOf", "allOf")
        ),
    ),
    max_leaves=4,
)
SCHEMAS = st.tuples(PROPERTIES, PARTS).map(lambda parts: {"type": "object", "properties": parts[0], **_flat(parts[1])})


def _flat(part: dict[str, Any]) -> dict[str, Any]:
    """The part as keywords beside ``properties``, with its definitions at the root."""
    definitions: dict[str, Any] = {}

    def moved(one: Any) -> Any:
        if isinstance(one, dict):
            found = {key: moved(value) for key, value in one.items()}
            if "$ref" in found:
                name = f"part{len(definitions)}"
                definitions[name] = found.pop("$defs")["part"]
                found["$ref"] = f"#/$defs/{name}"
            return found
        return list(map(moved, one)) if isinstance(one, list) else one

    found = moved(part)
    return {**({"allOf": [found]} if "properties" in found else found), "$defs": definitions}


def tools(schema: Any, form: str | Format) -> Tools:
    return Tools([{"name": "f", "parameters": schema}], form, tool_choice="required", strict=False)


def written(arguments: dict[str, Any], spec: Tools) -> str:
    (name,) = spec.argument_lists
    return render_calls([Call(name, arguments, (0, 0))], spec.argument_lists, spec.format, is_alone=True)


@settings(max_examples=examples(60, by_default=4))
@given(schema=SCHEMAS, name=st.sampled_from(FORMATS), chance=st.randoms(use_true_random=False))
def test_arguments_are_those_of_json_in_every_format(schema: Any, name: str, chance: random.Random) -> None:
    """Without a string, values are written exactly if JSON allows them; a string may also look like another value or end early."""
    try:
        spec = tools(schema, name)
    except SchemaError:
        # No value satisfies it, or a required argument is not declared.
        with pytest.raises(SchemaError, match=r"no value|required but not|cannot write any"):
            tools(schema, name)
        return
    judge, in_json = jsonschema.Draft202012Validator(schema), Language(tools(schema, "json"))
    language, good = Language(spec), list[bytes]()
    whole = spec.argument_lists["f"].whole
    is_whole = whole is not None
    if whole is not None and whole.arguments is not None:
        assert whole.has_arguments
    for _ in range(30):
        names = sorted(chance.sample(NAMES, chance.randrange(len(NAMES))))
        arguments = {label: chance.choice(VALUES) for label in names}
        is_allowed = in_json.accepts(json.dumps({"name": "f", "arguments": arguments}).encode())
        assert judge.is_valid(arguments) or not is_allowed
        try:
            text = written(arguments, spec)
        except SchemaError:
            is_string = any(isinstance(value, str) for value in arguments.values())
            assert not is_allowed or is_string or (spec.format.element and not all(arguments.values()))
            continue
        if is_whole or is_allowed:
            assert language.accepts(text.encode()) == is_allowed
        if is_allowed:
            (call,) = parse_text(text, spec)
            assert isinstance(call, Call)
            assert (call.arguments, call.error) == (arguments, None)
            good.append(text.encode())
    if good and is_whole:
        try:
            check_walk(spec, chance.choice(good), chance)
        except StateEvicted:
            # Each undeclared name that is counted takes states of its own, as in JSON.
            return


WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "at": {"$ref": "#/$defs/place"}, "days": {"type": "integer"}},
    "oneOf": [{"required": ["city"]}, {"required": ["at"]}],
    "dependentRequired": {"days": ["city"]},
    "additionalProperties": {"type": ["string", "number"]},
    "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
}


@pytest.mark.parametrize("name", FORMATS)
def test_arguments_are_read_with_their_spans(name: str) -> None:
    spec = tools(WEATHER, name)
    for arguments in ({"city": "São Paulo", "days": 3, "unit": "C"}, {"at": {"lat": 1.5}}, {"city": "x", "limit": 12}):
        text = written(arguments, spec)
        parser = CallParser(spec)
        reads = [read for read in parser.feed(text) if isinstance(read, ArgumentRead)]
        assert {read.name: read.value for read in reads} == arguments
        for read in reads:
            found = text.encode()[slice(*read.span)].decode()
            assert found.strip().strip('"') == str(read.value) or not isinstance(read.value, str | int) or found
            assert str(arguments[read.name]).rstrip("}")[-1] in found
    for arguments in ({"days": 3}, {"city": "x", "at": {"lat": 1.5}}, {"city": "x", "unit": True}, {}):
        with pytest.raises(SchemaError):
            written(arguments, spec)


@pytest.mark.parametrize("name", FORMATS)
def test_arguments_are_scanned_at_most_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as they come, and once more to find names and values."""
    spec, scanned = tools(WEATHER, name), 0
    text = written({"city": "São Paulo", "days": 3, "unit": "C"}, spec)
    read = ValueScanner.read

    def counted(*arguments: Any) -> Any:
        nonlocal scanned
        scanned += 1
        return read(*arguments)

    monkeypatch.setattr(ValueScanner, "read", counted)
    parser = CallParser(spec)
    parser.feed(text)
    assert 0 < scanned <= 2 * len(text.encode())


@pytest.mark.parametrize("name", ["qwen-coder", "deepseek-v3.2", "pythonic", "gemma"])
def test_specs_are_restored(name: str) -> None:
    lowered = Tools(
        [{"name": "f", "parameters": WEATHER}, {"name": "g", "parameters": {}}], name, tool_choice=["f"], strict=False
    )
    found = lowered.lower(Limits())
    if isinstance(found, Template):
        again = Template.from_data(found.data)
        assert [value.arguments for value in again.frame.values] == [value.arguments for value in found.frame.values]
    else:
        again = type(found).from_data(found.data)
    assert again.fingerprint == found.fingerprint


def test_a_declared_name_that_a_format_cannot_write_is_named() -> None:
    with pytest.raises(SchemaError, match="cannot write this name") as caught:
        tools({"type": "object", "properties": {"a b": {}}, "minProperties": 1}, "pythonic")
    assert (caught.value.pointer, caught.value.keyword) == ("/f/a b", "name")


ORDERED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
    },
    "required": ["a", "c"],
}


@pytest.mark.parametrize("name", format_names())
def test_arguments_may_come_in_any_order(name: str) -> None:
    """Those that are missing or repeated are still refused, and members of values have the schema's order."""
    values = {"a": "x", "b": 5, "c": {"x": 1, "y": 2}}
    definition = {"name": "f", "parameters": ORDERED}
    spec, declared = (
        Tools([definition], name, tool_choice="required", argument_order=order) for order in ("any", None)
    )
    language = Language(spec)
    for count in range(4):
        for labels in permutations(values, count):
            arguments = {label: values[label] for label in labels}
            text = None
            try:
                text = written(arguments, spec)
            except SchemaError:
                assert not {"a", "c"} <= set(labels)
                continue
            assert language.accepts(text.encode()) == ({"a", "c"} <= set(labels))
            if {"a", "c"} <= set(labels):
                (call,) = parse_text(text, spec)
                assert isinstance(call, Call)
                assert list(call.arguments.items()) == list(arguments.items())
                assert Language(declared).accepts(text.encode()) == (list(labels) == sorted(labels)) or (
                    format_named(name).is_positional
                )
    text = written({"c": {"x": 1, "y": 2}, "a": "x"}, spec)
    swapped = text.replace('"x": 1, "y": 2', '"y": 2, "x": 1').replace("x:1,y:2", "y:2,x:1")
    swapped = re.sub("(<x>1.*</x>)(.*<y>2.*</y>)", r"\2\1", swapped)
    assert swapped != text
    assert not language.accepts(swapped.encode())


@pytest.mark.parametrize("name", ["json", "qwen-coder", "pythonic", "gemma"])
def test_masks_of_arguments_in_any_order_are_those_of_single_bytes(name: str) -> None:
    spec = Tools([{"name": "f", "parameters": ORDERED}], name, tool_choice="required", argument_order="any")
    for arguments in ({"c": {"x": 1}, "b": 7, "a": "ab"}, {"b": 1, "a": "<", "c": {}}):
        check_walk(spec, written(arguments, spec).encode(), random.Random(1))


@pytest.mark.parametrize("name", ["qwen-coder", "gemma", "pythonic", "kimi-k3", "minimax-m3"])
def test_arguments_in_any_order_cost_what_they_cost_in_json(name: str) -> None:
    """Whether a format can write the required ones is decided once for each type."""
    kinds = [
        {"type": "string"},
        {"enum": ["c", "f"]},
        {"type": "integer"},
        {"type": "array", "items": {"type": "string"}},
    ]

    def made(form: str, mark: str) -> Tools:
        properties = [{f"{mark}{number}{i}": kind for i, kind in enumerate(kinds)} for number in range(10)]
        parameters = [{"type": "object", "properties": one, "required": [*one]} for one in properties]
        definitions = [{"name": f"{mark}{i}", "parameters": one} for i, one in enumerate(parameters)]
        return Tools(definitions, form, argument_order="any")

    def work(form: str) -> int:
        mark = f"{name}_in_{form}_".replace("-", "_")
        made(form, f"a_{mark}")
        return executed_calls(lambda: made(form, f"b_{mark}"))

    assert work(name) < 2 * work("json")


@pytest.mark.parametrize("name", ["qwen-coder", "gemma", "kimi-k3", "minimax-m3"])
def test_a_required_argument_without_a_text_is_refused(name: str) -> None:
    form = format_named(name)
    notation = form.quotes or arguments_of(form).notation
    assert notation is not None
    for value, is_refused in (
        ({"const": f"x{notation.closing}"}, True),
        ({"type": ["string", "null"], "enum": [None]}, False),
    ):
        definition = {"name": "f", "parameters": {"type": "object", "properties": {"a": value}, "required": ["a"]}}
        if is_refused:
            with pytest.raises(SchemaError, match="cannot write any value of this type"):
                Tools([definition], name, argument_order="any")
        else:
            assert Tools([definition], name, argument_order="any")


class Place(pydantic.BaseModel):
    lat: float
    lon: float = 0.0


def even(value: int) -> int:
    assert value % 2 == 0, "it is odd"
    return value


def travel(
    city: Annotated[str, pydantic.Field(max_length=8)],
    /,
    day: datetime.date,
    *stops: int,
    place: Place | None = None,
    from_: Literal["a", "b"] = "a",
    folder: Path = Path(),
    seats: Annotated[int, pydantic.AfterValidator(even)] = 2,
    never: Annotated[int, annotated_types.Gt(3), annotated_types.Lt(4)] = 0,
) -> None:
    """Travel."""


@pytest.mark.parametrize("name", format_names())
def test_arguments_of_functions_may_come_in_any_order(name: str) -> None:
    """Each is read by the type of its parameter, and the function gets it as in a call in order."""
    spec = Tools([travel], name, tool_choice="required", argument_order="any")
    arguments = {
        "folder": Path("/x"), "seats": 4, "from": "b", "day": datetime.date(2026, 1, 2), "city": "Oslo", "stops": [1, 2],
        "place": Place(lat=1, lon=2),
    }  # fmt: skip
    language, chance = Language(spec), random.Random(name)
    for _ in range(5):
        labels = chance.sample(list(arguments), len(arguments) - 1)
        is_whole = {"city", "day"} <= set(labels)
        try:
            text = written({label: arguments[label] for label in labels}, spec)
        except SchemaError:
            assert not is_whole
            continue
        assert language.accepts(text.encode()) == is_whole
        if not is_whole:
            continue
        (call,) = parse_text(text, spec)
        assert isinstance(call, Call)
        assert call.error is None
        assert list(call.arguments.items()) == [(label, arguments[label]) for label in labels]
    text = written({"day": arguments["day"], "city": "Oslo"}, spec)
    assert not language.accepts(text.replace("Oslo", "OsloOsloO").encode())
    assert not language.accepts(text.replace("2026-01-02", "2026-02-30").encode())
    text = written({"seats": 4, "day": arguments["day"], "city": "Oslo"}, spec).replace("4", "3", 1)
    assert language.accepts(text.encode())
    with pytest.raises(CallError, match=r"(?s)it is odd.*at /seats"):
        parse_text(text, spec)
    assert "/travel/never" in str(spec.notes)


def test_functions_are_called_with_arguments_in_any_order() -> None:
    def take(a: int, /, b: str, *c: int, d: bool = False) -> tuple[Any, ...]:
        return a, b, c, d

    spec = Tools([take], "qwen-coder", tool_choice="required", argument_order="any")
    (call,) = parse_text(written({"d": True, "c": [3, 4], "b": "1", "a": 1}, spec), spec)
    assert isinstance(call, Call)
    assert run(call, spec.tools[0]).result == (1, "1", (3, 4), True)


def test_an_order_of_arguments_that_cannot_be_is_refused() -> None:
    def function(a: int) -> None: ...

    with pytest.raises(SchemaError, match="leave out types=") as caught:
        Tools([Tool({"name": "f", "parameters": ORDERED}, types={"a": int})], argument_order="any")
    assert (caught.value.pointer, caught.value.keyword) == ("/f", "argument_order")
    order: Any = "some"
    with pytest.raises(ValueError, match="argument_order must be"):
        Tools([function], argument_order=order)


@pytest.mark.parametrize("name", FORMATS)
def test_values_of_different_types_may_have_the_same_strings(name: str) -> None:
    kinds = {"a": ["string", "integer"], "b": ["string", "boolean"], "c": ["string"], "d": ["string", "integer"]}
    spec = tools({"properties": {label: {"type": kind} for label, kind in kinds.items()}, "minProperties": 1}, name)
    for arguments in ({"a": 1, "b": True, "c": "1", "d": 2}, {"a": "x", "b": "1", "c": "true", "d": "y"}):
        (call,) = parse_text(written(arguments, spec), spec)
        assert isinstance(call, Call)
        assert call.arguments == arguments


@pytest.mark.parametrize("name", ["qwen-coder", "pythonic", "gemma"])
def test_hundreds_of_arguments_beside_undeclared_ones(name: str) -> None:
    labels = [f"argument_{i}" for i in range(400)]
    spec = tools({"properties": {label: {"type": "integer"} for label in labels}, "minProperties": 2}, name)
    language = Language(spec)
    for arguments in ({labels[0]: 1, labels[399]: 2}, {labels[7]: 1, "argument_400": None}):
        assert language.accepts(written(arguments, spec).encode())
    with pytest.raises(SchemaError):
        written({labels[0]: 1}, spec)


def nested(value: Any, form: Format) -> str:
    """A value whose members or items are written as arguments are."""
    if not isinstance(value, dict | list):
        return value if isinstance(value, str) else json.dumps(value)
    parts = value.items() if isinstance(value, dict) else ((form.element, item) for item in value)
    return "".join(
        form.key.replace("{name}", name) + nested(part, form) + form.after_value.replace("{name}", name)
        for name, part in parts
    )


def spelled(arguments: dict[str, Any], form: Format) -> str:
    """A call with any arguments, whether they are allowed or not, and whether they can be read back."""
    found = []
    for label, value in arguments.items():
        is_text = form.values == "raw" and isinstance(value, str)
        text = json.dumps(value, ensure_ascii=False)
        text = in_notation(value, Notation(form.quote, form.quote)) if form.quote else value if is_text else text
        text = as_python(text) if form.values == "python" else nested(value, form) if form.element else text
        key = ((is_text and form.text_key) or form.key).replace("{type}", TYPE_OF[type(value)])
        found.append(written_text(key, label) + text + written_text(form.after_value, label))
    before, _, after = map(written_text, form.around) if form.is_listed else ("", "", "")
    around = (
        (form.trigger + before, after + written_text(form.terminator)) if form.is_tagged or form.is_listed else ("", "")
    )
    call = (
        written_text(form.before_name, id=form.id_example),
        "f",
        written_text(form.after_name, id=form.id_example),
        written_text(form.separator).join(found),
    )
    return around[0].lstrip("\n") + "".join(call) + written_text(form.close) + around[1]


def unwritable(value: Any, form: Format) -> list[str]:
    """The names in a value that the format does not write; of members, only where these have no quotes."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [name for item in inner for name in unwritable(item, form)] if form.quote or form.element else []
    kept = r"[A-Za-z_][\w.\-]*" if form.values != "raw" or form.quote else r'[^\s<>="\\](?:[^\n<>="\\]*[^\s<>="\\])?'
    names = value if isinstance(value, dict) else ()
    if form.element:
        found += [name for name in names if "/" in name]
    return [*found, *(name for name in names if not re.fullmatch(kept, name))]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(130 if EXHAUSTIVE else 10))
def test_real_schemas_have_the_arguments_of_json_in_every_format(part: int) -> None:
    """Only names, and strings that look like another value, may keep arguments from being written. ``GUIDED_EXHAUSTIVE=1`` takes all."""
    folder = official.data_folder("maskbench-dev")
    if folder is None:
        pytest.skip(official.MISSING)
    n_read = 0
    names = [name for name in FORMATS if not format_named(name).is_positional]
    for number, path in list(enumerate(sorted(folder.glob("*.json"))))[part::130]:
        document = json.loads(path.read_text(encoding="utf-8"))
        schema = {key: value for key, value in document["schema"].items() if key not in ("$id", "id")}
        chance = random.Random(number)
        order = chance.choice(("any", "declared"))
        options: dict[str, Any] = {"strict": chance.random() < 0.5, "tool_choice": "required", "argument_order": order}
        definition = {"name": "f", "parameters": schema}
        try:
            in_json = compile_spec(Tools([definition], "json", **options), VOCABULARY)
        except (SchemaError, LimitError):
            continue
        given = [test["data"] for test in document.get("tests", ()) if isinstance(test["data"], dict)][:6]
        for form in map(format_named, chance.sample(names, 3)):
            try:
                spec = Tools([definition], form, **options)
                index = compile_spec(spec, VOCABULARY)
            except SchemaError as error:
                message = str(error)
                assert any(
                    each in message
                    for each in ("cannot write this name", "cannot write the name", "cannot write any value")
                )
                assert unwritable(schema.get("properties", {}), form) or any(unwritable(one, form) for one in given)
                continue
            index.guide().mask()
            for arguments in given:
                is_allowed = in_json.accepts(json.dumps({"name": "f", "arguments": arguments}))
                text = spelled(arguments, form)
                is_accepted, call = index.accepts(text), None
                if is_accepted:
                    (call,) = parse_text(text, spec)
                    assert isinstance(call, Call)
                    assert call.error is None
                is_read = call is not None and json.dumps(call.arguments) == json.dumps(arguments)
                if is_allowed and not is_read:
                    is_text = form.values == "raw" and any(isinstance(value, str) for value in arguments.values())
                    is_text = is_text or bool(form.element)
                    assert is_text or unwritable(arguments, form), (path.name, text)
                    assert is_accepted or unwritable(arguments, form), (path.name, text)
                assert is_allowed or not is_read, (path.name, text)
                n_read += is_read
    assert n_read >= 10


@pytest.mark.parametrize("name", ["qwen-coder", "glm", "minimax", "deepseek-v4", "hunyuan-3"])
def test_undeclared_names_in_tags_have_blanks_within(name: str) -> None:
    spec = tools({"properties": {"user id": {"type": "integer"}}, "additionalProperties": {"type": "integer"}}, name)
    language = Language(spec)
    for label, is_name in (
        ("user id", True),
        ("edit own content", True),
        ("own ", False),
        (" own", False),
        ("", False),
    ):
        text = spelled({label: 5}, spec.format)
        assert language.accepts(text.encode()) == is_name
        if is_name:
            (call,) = parse_text(text, spec)
            assert isinstance(call, Call)
            assert call.arguments == {label: 5}


@pytest.mark.parametrize(("name", "most"), [("json", 170), ("qwen-coder", 190), ("kimi-k3", 300), ("minimax-m3", 300)])
def test_the_budget_of_many_arguments_of_different_types_takes_few_steps(name: str, most: int) -> None:
    names = [f"n{number}" for number in range(100)]
    types = {label: {"type": "object", "properties": {f"a{label}": {"type": "string"}}} for label in names}
    properties = {label: {"$ref": f"#/definitions/{label}"} for label in names}
    parameters = {"type": "object", "definitions": types, "properties": properties, "required": names}
    spec = Tools([{"name": "f", "parameters": parameters}], name, tool_choice="required", argument_order="any")
    guide = compile_spec(spec, VOCABULARY, Limits(call_steps=most * len(names))).guide()
    assert guide.remaining > 5 * len(names)
