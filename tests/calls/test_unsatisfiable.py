"""Optional parameters that no value satisfies: calls never have them, and the index says so. Required ones are refused."""

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import pydantic
import pytest
from annotated_types import Ge, Le, MinLen

import guided
from guided.calls.spec import Tools
from guided.errors import SchemaError

VOCABULARY = guided.Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
Never = Annotated[int, Ge(5), Le(3)]
NEVER: list[Any] = [
    {"type": "boolean", "enum": ["x"]},
    {"type": "string", "minLength": 5, "maxLength": 2},
    {"allOf": [{"type": "integer"}, {"type": "string"}]},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "object", "properties": {"y": {"not": {}}}, "required": ["y"]},
    {"$ref": "#/$defs/never"},
    False,
]


def definition(schema: Any, required: tuple[str, ...] = ("a",)) -> dict[str, Any]:
    properties = {"a": {"type": "integer"}, "x": schema, "b": {"type": "integer"}}
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "$defs": {"never": {"enum": []}},
    }
    return {"name": "f", "parameters": parameters}


def note(*places: str) -> tuple[str, ...]:
    return (f"no value satisfies these optional parameters, so calls never have them: {', '.join(places)}",)


@pytest.mark.parametrize("engine", ["nested", "lalr"])
@pytest.mark.parametrize("schema", NEVER[:3] + NEVER[-1:], ids=json.dumps)
def test_an_optional_property_that_no_value_satisfies_is_never_written(schema: Any, engine: Any) -> None:
    spec = Tools([definition(schema)], tool_choice="required", engine=engine)
    index = guided.compile(spec, VOCABULARY)
    assert spec.notes == index.notes == note("/f/x")
    for text, accepted in [
        ('{"a": 1}', True),
        ('{"a": 1, "b": 2}', True),
        ('{"a": 1, "x": true}', False),
        ("{}", False),
    ]:
        assert index.accepts(f'{{"name": "f", "arguments": {text}}}'.encode()) == accepted


@pytest.mark.parametrize("schema", NEVER, ids=json.dumps)
def test_unsatisfiable_properties_are_excluded_as_in_json_schema(schema: Any) -> None:
    """The same object by `JsonSchema`, which never writes the property."""
    tool = guided.Tool(definition(schema))
    parameters = definition(schema)["parameters"] | {"additionalProperties": False}
    whole = guided.compile(guided.JsonSchema(parameters), VOCABULARY)
    index = guided.compile(Tools([tool], tool_choice="required"), VOCABULARY)
    for text in ('{"a": 1}', '{"a": 1, "b": 2}', '{"a": 1, "x": true}', '{"a": 1, "x": []}', '{"a": 1, "x": {}}'):
        assert whole.accepts(text.encode()) == index.accepts(f'{{"name": "f", "arguments": {text}}}'.encode())
    assert tool.signature == "f(a: int, b: int = ...)"
    assert tool.never_written() == ("/f/x",)
    assert list(tool.to_openai()["function"]["parameters"]["properties"]) == ["a", "b"]


@pytest.mark.parametrize("schema", NEVER, ids=json.dumps)
def test_a_required_property_that_no_value_satisfies_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="no value satisfies") as caught:
        guided.Tool(definition(schema, ("a", "x")))
    assert caught.value.pointer.startswith("/f/x")
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


@dataclasses.dataclass
class Record:
    a: int
    x: Never = 0


class Typed(TypedDict):
    a: int
    x: NotRequired[Never]


class Model(pydantic.BaseModel):
    a: int
    x: Never = 0


class Tree(pydantic.BaseModel):
    trees: list["Tree"] = []
    x: Never = 0


# Annotation, values that are accepted, values that are not, and the place in the schema that is noted; none behind references.
NESTED: list[tuple[Any, list[str], list[str], str]] = [
    (Record, ['{"a": 1}'], ['{"a": 1, "x": 4}'], "/properties/x"),
    (Typed, ['{"a": 1}'], ['{"a": 1, "x": 4}'], "/properties/x"),
    (Model, ['{"a": 1}'], ['{"a": 1, "x": 4}'], "/properties/x"),
    (list[Record], ["[]", '[{"a": 1}]'], ['[{"x": 4}]'], ""),
    (Never | None, ["null"], ["4"], "/anyOf/0"),
    (Never | str | None, ["null", '"a"'], ["4"], "/anyOf/0"),
    (list[Never], ["[]"], ["[4]", "[null]"], "/items"),
    (set[Never], ["[]"], ["[4]"], "/items"),
    (dict[str, Never], ["{}"], ['{"a": 4}'], "/additionalProperties"),
    (dict[str, list[Never]], ["{}", '{"a": []}'], ['{"a": [4]}'], "/additionalProperties/items"),
    (Tree, ["{}", '{"trees": [{}]}'], ['{"x": 4}', '{"trees": [{"x": 4}]}'], ""),
]


@pytest.mark.parametrize(("annotation", "accepted", "refused", "place"), NESTED, ids=lambda item: "")
def test_annotations_are_satisfied_at_any_depth(
    annotation: Any, accepted: list[str], refused: list[str], place: str
) -> None:
    def f(p: Any) -> Any:
        return p

    tool = guided.Tool(f, types={"p": annotation})
    index = guided.compile(Tools([tool], tool_choice="required"), VOCABULARY)
    for text in (*accepted, *refused):
        assert index.accepts(f'{{"name": "f", "arguments": {{"p": {text}}}}}'.encode()) == (text in accepted), text
    noted = [note.partition(", so texts never have it")[0] for note in index.notes]
    assert noted == ([f"/f/p: no value satisfies {place}"] if place else [])


REQUIRED: list[tuple[Any, str]] = [
    (Never, "/f/p"),
    (Never | Annotated[str, MinLen(2), guided.Regex("a")], "/f/p"),
    (tuple[int, Never], "/f/p/prefixItems/1"),
    (Annotated[list[Never], MinLen(1)], "/f/p/items"),
]


@pytest.mark.parametrize(("annotation", "place"), REQUIRED, ids=lambda item: "")
def test_annotations_are_left_out_if_optional_and_refused_if_required(annotation: Any, place: str) -> None:
    def required(a: int, p: annotation) -> int: ...  # type: ignore[valid-type]
    def optional(a: int, p: annotation = None, b: int = 0) -> int: ...  # type: ignore[valid-type]

    with pytest.raises(SchemaError, match=r"no (value|number)") as caught:
        guided.Tool(required, name="f")
    assert caught.value.pointer == place
    tool = guided.Tool(optional, name="f")
    assert tool.signature == "f(a: int, b: int = ...)"
    index = guided.compile(Tools([tool], "tooldec", "required"), VOCABULARY)
    assert index.notes == note("/f/p")
    assert index.accepts(b"f(a=1, b=2)")
    assert not index.accepts(b"f(a=1, p=2)")


def test_parameters_after_one_that_is_never_written_are_not_positional() -> None:
    def f(a: int, x: Never = 0, b: int = 0) -> tuple[int, ...]:
        return a, x, b

    index = guided.compile(Tools([f], "tooldec-positional", "required"), VOCABULARY)
    assert index.accepts(b"f(1)")
    assert index.accepts(b"f(1, b=2)")
    assert not index.accepts(b"f(1, 2)")


def test_the_note_is_kept_in_files_and_by_first_calls(tmp_path: Path) -> None:
    plain, nested = definition(False), definition(False)
    nested["parameters"]["properties"]["b"] = {"type": "array", "items": {"type": "array"}}
    for tool in (plain, nested):
        spec = Tools([tool])
        for each in (spec, spec.first_call()):
            index = guided.compile(each, VOCABULARY)
            assert index.notes == note("/f/x")
            index.save(tmp_path / "calls.index")
            assert guided.load_index(tmp_path / "calls.index", VOCABULARY).notes == note("/f/x")
            assert pickle.loads(pickle.dumps(index)).notes == note("/f/x")


def test_many_tools_are_lowered_without_arguments_that_are_never_written() -> None:
    stock = [{**definition(False), "name": f"f{number}"} for number in range(150)]
    index = guided.compile(Tools(stock, tool_choice="required"), VOCABULARY)
    with pytest.warns(UserWarning, match="no value satisfies /f7/x, so calls never have it"):
        assert index.accepts(b'{"name": "f7", "arguments": {"a": 1, "b": 2}}')
    assert not index.accepts(b'{"name": "f7", "arguments": {"a": 1, "x": 2}}')
