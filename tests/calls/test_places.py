"""Errors of one of several tools name it and its argument, whenever they are raised."""

import json
import pickle
from pathlib import Path
from typing import Annotated, Any

import pytest

from guided.calls.files import load_index
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.algebra import FreeText
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.engine.structural_tags import StructuralTag
from guided.errors import LimitError, PatternError
from guided.limits import Limits
from tests.cli.programs import call
from tests.executed import executed_lines
from tests.schema.engine import BYTES

ITEMS = {"type": "array", "prefixItems": [{"type": "integer", "minimum": 7 * i} for i in range(80)], "minItems": 80}


def definition(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "parameters": schema}


def easy(a: int) -> None: ...


BEGINNINGS = {
    "json": '{"name": "hard", "arguments": {"p": [',
    "qwen-coder": "<tool_call>\n<function=hard>\n<parameter=p>\n[",
}
SETS: list[list[Any]] = [
    [definition("easy", a={"type": "integer"}), definition("hard", p=ITEMS)],
    [easy, definition("hard", p=ITEMS)],
]


def read(guide: Any, text: str) -> None:
    for byte in text.encode():
        guide.advance(byte)
        guide.mask()
        _ = guide.remaining


def first_error(guide: Any, text: str) -> LimitError:
    with pytest.raises(LimitError) as caught:
        read(guide, text)
    return caught.value


@pytest.mark.parametrize("form", BEGINNINGS)
@pytest.mark.parametrize("tools", SETS, ids=["definitions", "a function"])
@pytest.mark.parametrize("steps", [1_000, 2_000, 5_000])
def test_a_limit_within_an_argument_names_it(form: str, tools: list[Any], steps: int) -> None:
    spec, limits = Tools(tools, format=form, tool_choice="required"), Limits(call_steps=steps)
    index = compile_spec(spec, BYTES, limits)
    for each in (index, pickle.loads(pickle.dumps(index))):
        error = first_error(each.guide(), BEGINNINGS[form])
        assert (error.what, error.pointer) == ("call_steps", "/hard/p")
    composed = compile_spec(FreeText(stop=":") + spec, BYTES, limits)
    assert first_error(composed.guide(), f":{BEGINNINGS[form]}").pointer == "/hard/p"


@pytest.mark.parametrize("form", BEGINNINGS)
@pytest.mark.parametrize("wrap", [lambda found: found, lambda found: {"items": found}], ids=["alone", "items"])
def test_a_list_that_no_text_can_enter_is_refused_when_the_tools_are_made(form: str, wrap: Any) -> None:
    texts = [f"{i}{'ab' * 2_000}{i}" for i in range(20)]
    with pytest.raises(LimitError, match=r"^growth_bytes: .*too many or too long strings") as caught:
        Tools(
            [definition("easy", a={}), definition("hard", p=wrap({"enum": texts}))], tool_choice="required", format=form
        )
    assert caught.value.pointer == "/hard/p"
    Tools([definition("hard", p=wrap({"enum": texts[:3]}))], tool_choice="required", format=form)


def test_what_is_around_a_value_has_no_place() -> None:
    """After an error within a value, one outside of values does not name it."""
    spec = Tools([definition("hard", p=ITEMS)], tool_choice="required")
    index = compile_spec(spec, BYTES, Limits(call_steps=2_000))
    first_error(index.guide(), BEGINNINGS["json"])
    assert not isinstance(index.tables.mask(0), LimitError)
    assert index.tables.automaton.tables.place == ""  # type: ignore[union-attr]


@pytest.mark.parametrize("annotation", [Annotated[str, Regex("(a")], Annotated[str, Regex("[b-a]")]])
def test_a_pattern_of_an_annotation_names_the_argument(annotation: Any) -> None:
    def wrong(fine: int, query: str) -> None: ...

    wrong.__annotations__["query"] = annotation
    with pytest.raises(PatternError, match=r"at position \d, /wrong/query\)") as caught:
        compile_spec(Tools([easy, wrong]), BYTES)
    assert caught.value.pointer == "/wrong/query"
    assert pickle.loads(pickle.dumps(caught.value)).pointer == "/wrong/query"
    with pytest.raises(PatternError) as caught:
        Tools([Tool(easy, types={"a": Regex("(a")})])
    assert caught.value.pointer == "/easy/a"


def test_a_pattern_alone_has_no_place() -> None:
    with pytest.raises(PatternError) as caught:
        compile_spec(Regex("(a"), BYTES)
    assert (caught.value.pointer, str(caught.value).count("/")) == ("", 0)


ADDRESS = {"type": "object", "properties": {"zip": {"type": "string", "minLength": 5, "maxLength": 3}, "city": {}}}
ZIP = "/properties/zip, so texts never have it (at {}/properties/zip, minLength, maxLength)"


def tagged(schema: Any) -> StructuralTag:
    content = {"type": "json_schema", "json_schema": schema}
    return StructuralTag(
        {"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": content, "end": "</a>"}}
    )


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (JsonSchema(ADDRESS), ""),
        ("x" + JsonSchema(ADDRESS).named("a"), ""),
        (Tools([definition("mail", to=ADDRESS)]), "/mail/to: "),
        (Tools([easy, definition("mail", to=ADDRESS)]), "/mail/to: "),
        (Tools([definition("mail", to=ADDRESS)], format="qwen-coder", tool_choice="required"), "/mail/to: "),
        (":" + Tools([definition("mail", to=ADDRESS)], tool_choice="required"), "/mail/to: "),
        (tagged(ADDRESS), "/format/content/json_schema: "),
    ],
)
def test_parts_that_no_text_has_are_notes_wherever_the_schema_stands(spec: Any, place: str, tmp_path: Path) -> None:
    index = compile_spec(spec, BYTES)
    assert index.notes == (f"{place}no value satisfies {ZIP.format('')}",)
    index.save(tmp_path / "x.index")
    assert load_index(tmp_path / "x.index", BYTES).notes == index.notes
    assert compile_spec(JsonSchema({"type": "object"}), BYTES).notes == ()


def test_notes_of_many_values_share_the_steps_of_a_call() -> None:
    """Each value alone takes steps; what is searched is bounded for any number of tools."""

    def lines(n: int) -> int:
        parts = [
            {"type": "object", "properties": {"x": {**ADDRESS, "title": f"{i}", "maxProperties": i + 3}}}
            for i in range(n)
        ]
        index = compile_spec(
            Tools([definition(f"tool{i}", p=part) for i, part in enumerate(parts)]), BYTES, Limits(call_steps=2_000)
        )
        return executed_lines(lambda: index.notes)

    assert lines(80) < 2 * lines(40)


def test_the_command_line_notes_parts_that_no_text_has(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([definition("mail", to=ADDRESS)]))
    done = call("check", "--tools", str(tmp_path / "tools.json"), "hello")
    assert f"note: /mail/to: no value satisfies {ZIP.format('')}" in done.stdout
