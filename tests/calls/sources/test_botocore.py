"""Models of AWS services as tools: a small one, and that a model which makes no sense is refused."""

import copy
import json
from typing import Any

import jsonschema
import pytest

from guided.calls.sources.botocore import Service
from guided.calls.sources.documents import read_tools
from guided.calls.spec import Tools
from guided.errors import SchemaError
from tests.calls.languages import Language
from tests.calls.sources.documents import SERVICE

ARGUMENTS: list[tuple[dict[str, Any], bool]] = [
    ({"Tree": []}, True),
    ({"Tree": [[], [[]]]}, True),
    ({"Tree": [[], [], []]}, False),
    ({}, False),
    ({"Tree": [], "Names": {"oak": "a"}}, True),
    ({"Tree": [], "Names": {}}, False),
    ({"Tree": [], "Names": {"ash": "a"}}, False),
    ({"Tree": [], "Kind": "elm"}, True),
    ({"Tree": [], "Count": 10}, False),
    ({"Tree": [], "When": "2026-02-03"}, True),
    ({"Tree": [], "One": {"A": 1}}, True),
    ({"Tree": [], "One": {"A": 1, "B": "b"}}, False),
    ({"Tree": [], "More": 1}, False),
]


def test_shapes_become_schemas() -> None:
    put, trees = read_tools(SERVICE)
    assert (put.name, put.original, put.description) == ("smallservice.PutTree", "PutTree", "<p>Puts a tree.</p>")
    assert trees.parameters() == ()
    assert [(item.label, item.required, item.description) for item in put.parameters()][:4] == [
        ("Tree", True, "The tree."),
        ("Names", False, ""),
        ("Kind", False, ""),
        ("Count", False, "How many."),
    ]


@pytest.mark.parametrize(("arguments", "fits"), ARGUMENTS)
def test_calls_are_those_of_the_model(arguments: dict[str, Any], fits: bool) -> None:
    validator = jsonschema.Draft202012Validator(Service(SERVICE).schema("PutTree"))
    assert validator.is_valid(arguments) == fits
    language = Language(Tools(read_tools(SERVICE), tool_choice="required"))
    text = json.dumps({"name": "smallservice.PutTree", "arguments": arguments})
    assert language.accepts(text.encode()) == fits


def test_a_request_may_refer_to_itself() -> None:
    model = copy.deepcopy(SERVICE)
    model["shapes"]["PutTreeRequest"] = {"type": "structure", "members": {"Next": {"shape": "PutTreeRequest"}}}
    language = Language(Tools(read_tools(model), tool_choice="required"))
    assert language.accepts(b'{"name": "smallservice.PutTree", "arguments": {"Next": {"Next": {}}}}')
    assert not language.accepts(b'{"name": "smallservice.PutTree", "arguments": {"Next": {"Last": {}}}}')


def test_a_source_made_of_its_data_gives_the_same_schemas() -> None:
    again = Service(json.loads(json.dumps(Service(SERVICE).data)))
    for key in SERVICE["operations"]:
        found = Service(SERVICE).schema(key)
        for inner in found["properties"].values():
            inner.pop("description", None)
        assert again.schema(key) == found


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [({}, "unknown shape 'PutTreeRequest'"), ({"PutTreeRequest": {"type": "odd"}}, "the type 'odd'")],
)
def test_a_model_that_makes_no_sense_is_refused(shapes: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason) as caught:
        read_tools({**SERVICE, "shapes": shapes}, select=["PutTree"])
    assert caught.value.pointer == "/smallservice.PutTree/operations/PutTree"
    with pytest.raises(SchemaError, match="metadata, operations and shapes"):
        read_tools({"operations": [], "shapes": {}})
