"""Duplicates told apart, and names from a language model, mapped back."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.naming import PROMPT, as_named, distinct, inventory, renamed
from guided.calls.parse import parse_text
from guided.calls.sources.documents import read_tools
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.errors import SchemaError


def tool(name: str, *labels: str) -> Tool:
    properties = {label: {"type": "string"} for label in labels}
    return Tool({"name": name, "parameters": {"type": "object", "properties": properties, "required": list(labels)}})


def names(tools: Any) -> list[str]:
    return [each.name for each in tools]


def test_T10_duplicates_are_renamed_on_request() -> None:
    tools = [tool("add"), tool("location", "station"), tool("location", "person"), tool("location_2")]
    with pytest.raises(SchemaError, match="two tools have this name") as caught:
        Tools(tools)
    assert caught.value.pointer == "/location"
    spec = Tools(tools, duplicates="rename")
    assert names(spec.tools) == ["add", "location_of_station", "location_of_person", "location_2"]
    assert [each.original for each in spec.tools] == ["add", "location", "location", "location_2"]
    with pytest.raises(ValueError, match="'error' or 'rename'"):
        Tools(tools, duplicates="both")  # type: ignore[arg-type]


def test_T30_more_detail_distinguishes_duplicates() -> None:
    """What the source calls them, else their arguments, else their places."""
    place = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    paths = {
        path: {"get": {"operationId": "list", "parameters": [place] * path.count("{id}")}}
        for path in ("/pets", "/pets/{id}/toys")
    }
    assert names(distinct(read_tools({"openapi": "3.1.0", "paths": paths}))) == [
        "list_GET_/pets",
        "list_GET_/pets/_id_/toys",
    ]
    assert names(distinct([tool("f"), tool("f", "a", "b")])) == ["f", "f_of_a_and_b"]
    assert names(distinct([tool("f", "a"), tool("f", "a"), tool("f_2"), tool("f")])) == ["f", "f_3", "f_2", "f_4"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["f", "f_2", "f_of_a", "g"]), st.sampled_from(["", "a", "b"])), min_size=1, max_size=8
    )
)
def test_T10_renaming_is_deterministic_and_leaves_distinct_names(given_names: list[tuple[str, str]]) -> None:
    tools = [tool(name, *label) for name, label in given_names]
    found = distinct(tools)
    assert len(set(names(found))) == len(found)
    assert names(distinct(tools)) == names(found) == names(distinct(found))
    assert [each.original for each in found] == names(tools)
    for before, after in zip(tools, found, strict=True):
        if names(tools).count(before.name) == 1:
            assert after is before


def test_T29_names_from_a_model_are_mapped_back_in_their_order() -> None:
    tools = [tool("search", "query"), tool("get_movie", "id")]
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "1. movies_search\n\n2) movie_get \n"

    found = renamed(tools, ask)
    assert [(each.name, each.original) for each in found] == [("movies_search", "search"), ("movie_get", "get_movie")]
    assert [each.parameters()[0].label for each in found] == ["query", "id"]
    (call,) = parse_text('{"name": "movie_get", "arguments": {"id": "7"}}', Tools(found, tool_choice="required"))
    assert (call.name, call.original) == ("movie_get", "get_movie")
    (prompt,) = asked
    assert prompt == PROMPT.replace("{tools}", "1. search(query: str)\n2. get_movie(id: str)")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("a", "2 names expected, 1 given"),
        ("a\nb\nc", "3 given"),
        ("a\na", "duplicate name"),
        ("a\nb c", "a tool name must consist of"),
    ],
)
def test_T29_an_answer_that_is_not_usable_is_refused(answer: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        renamed([tool("f"), tool("g")], lambda _: answer)


@pytest.mark.parametrize(
    ("make", "error", "reason"),
    [
        (lambda: renamed([tool("f")], lambda _: 3), TypeError, "the answer must be a str"),
        (lambda: renamed([tool("f")], lambda _: "g", "no place"), ValueError, "once"),
        (lambda: as_named(tool("f"), "a b"), SchemaError, "a tool name must consist of"),
        (lambda: inventory([]), SchemaError, "tools is empty"),
    ],
)
def test_invalid_names_are_refused(make: Callable[[], Any], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        make()
