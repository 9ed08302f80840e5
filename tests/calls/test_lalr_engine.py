"""`Tools(engine="lalr")`: the Lark grammar of calls on the engine of Lark grammars, beside the default engine and beside Lark itself."""

import json
from pathlib import Path
from typing import Any, Literal

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.calls.formats.files import format_named, format_names
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.spec import Tools
from guided.errors import LimitError, SchemaError
from guided.export.characters import Characters
from guided.limits import Limits
from tests.calls.signatures import TREE, calls, defined, inventories, mutants, tool_of, written
from tests.profiles import examples

BYTES = guided.Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
ARGUMENTS: dict[str, dict[str, Any]] = {
    "grow": {"tree": {"v": 1.5, "kids": [{"v": -2, "kids": []}, {}]}, "deep": True},
    "paint": {"colour": "dark red", "times": 12},
}
FLAT = ("functiongemma", "gemma", "gemma3", "lfm2", "olmo3", "pythonic")
# Bytes that may stand anywhere in UTF-8 where a character may begin.
PLAIN = [*range(128), 256]


def paint(colour: Literal["red", "dark red"], times: int = 1) -> str:
    """Paint it."""
    return colour * times


def indices(*tools: Any, **options: Any) -> tuple[guided.Index, guided.Index]:
    nested, lalr = (
        guided.compile(Tools(tools, **options, engine=engine), BYTES)  # type: ignore[arg-type]
        for engine in ("nested", "lalr")
    )
    return nested, lalr


def assert_same_masks(nested: guided.Index, lalr: guided.Index, text: bytes) -> None:
    """Along a text, up to where it breaks off, both allow the same; but for bytes that are no UTF-8, which only one of them allows."""
    state, other = nested.initial, lalr.initial
    for place in range(len(text) + 1):
        if place == 0 or text[place - 1] < 128:
            found = [
                [bool(index.mask(at)[i >> 5] >> (i & 31) & 1) for i in PLAIN]
                for index, at in ((nested, state), (lalr, other))
            ]
            assert found[0] == found[1], (
                text[:place],
                [PLAIN[i] for i in range(len(PLAIN)) if found[0][i] != found[1][i]],
            )
        if place < len(text):
            state, other = nested.next(state, text[place]), lalr.next(other, text[place])
            assert (state < 0) == (other < 0), text[: place + 1]
            if state < 0:
                return


@pytest.mark.parametrize("name", ["kimi-k3", "minimax-m3"])
def test_arguments_with_types_have_no_grammar(name: str) -> None:
    with pytest.raises(SchemaError, match="no grammar is made of keywords about several arguments"):
        Tools([paint], name, engine="lalr").lark()


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("name", [name for name in format_names() if not format_named(name).is_whole])
def test_every_format_has_a_grammar_of_the_same_calls(name: str, choice: str) -> None:
    options: dict[str, Any] = {"format": name, "tool_choice": choice}
    # Some formats write arguments that nest in no way.
    tools: list[Any] = [paint] if name in FLAT else [paint, TREE]
    spec = Tools(tools, engine="lalr", **options)
    reads = lark.Lark(spec.lark(), parser="lalr")
    nested, lalr = indices(*tools, **options)
    for tool in spec.tools:
        call = Call(tool.name, ARGUMENTS[tool.name], (0, 0))
        text = render_calls([call], spec.argument_lists, spec.format, choice == "required")
        assert nested.accepts(text.encode())
        assert lalr.accepts(text.encode())
        reads.parse(text)
        assert_same_masks(nested, lalr, text.encode() + (b" and <" if choice == "auto" else b""))
        assert parse_text(text, spec) == parse_text(text, Tools(tools, **options))


@pytest.mark.slow
@pytest.mark.parametrize("is_defined", [False, True])
@pytest.mark.parametrize("style", ["tooldec", "tooldec-positional", "json"])
@settings(max_examples=examples(8))
@given(data=st.data())
def test_both_engines_read_the_same(style: str, is_defined: bool, data: st.DataObject) -> None:
    is_positional = style == "tooldec-positional"
    shapes = data.draw(inventories(is_positional))
    if is_defined:
        shapes = {name: [item for item in shape if item[0] != "c_"] for name, shape in shapes.items()}
    tools = [
        defined(name, shape) if is_defined else tool_of(name, shape, is_positional) for name, shape in shapes.items()
    ]
    choice = data.draw(st.sampled_from(["required", "auto"]))
    nested, lalr = indices(*tools, format=style, tool_choice=choice)
    spec = Tools(tools, style, choice, engine="lalr")
    for _ in range(4):
        name = data.draw(st.sampled_from(sorted(shapes)))
        arguments = data.draw(calls(shapes[name], is_positional))
        text = written(
            name, arguments, style, data.draw(st.sampled_from(["", " "])), data.draw(st.sampled_from(["", "+"]))
        )
        if choice == "auto":
            text = f"x{spec.format.trigger}{text}{spec.format.terminator}y"
        for spoken in (text, data.draw(mutants(text))):
            assert nested.accepts(spoken.encode()) == lalr.accepts(spoken.encode()), spoken
            assert_same_masks(nested, lalr, spoken.encode())


@pytest.mark.parametrize("name", FLAT)
def test_arrays_between_other_quotes_are_refused_with_their_place(name: str) -> None:
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "array", "items": {"type": "integer"}}}}}
    with pytest.raises(SchemaError, match="reads no array or object in this format") as caught:
        guided.compile(Tools([tool], name, tool_choice="required", engine="lalr"), BYTES)
    assert (caught.value.pointer, caught.value.keyword) == ("/f/a", "type")


def test_texts_of_running_text_are_utf8() -> None:
    nested, lalr = indices(paint, format="hermes", tool_choice="auto", reasoning=("<think>", "</think>"))
    for text in ("", "é <t", "<think>so</think> a", "<think>so", '<tool_call>\n{"name": "paint"', "a<think>"):
        assert nested.accepts(text.encode()) == lalr.accepts(text.encode()), text
        assert_same_masks(nested, lalr, text.encode())
    assert nested.accepts(b"\xff")
    assert not lalr.accepts(b"\xff")


@pytest.mark.parametrize("must_call", [False, True])
def test_first_calls(must_call: bool) -> None:
    nested, lalr = (
        guided.compile(Tools([paint], "hermes", engine=engine).first_call(must_call), BYTES)
        for engine in ("nested", "lalr")
    )
    call = '<tool_call>\n{"name": "paint", "arguments": {"colour": "red"}}\n</tool_call>'
    for text in ("a", "a" + call, "a" + call + "b"):
        assert nested.accepts(text.encode()) == lalr.accepts(text.encode()), text
        assert_same_masks(nested, lalr, text.encode())


def test_saved_loaded_and_called(tmp_path: Path) -> None:
    marked = guided.Vocabulary(
        [*(bytes([value]) for value in range(256)), None, None], eos=[256], special={"<tool_call>": 257}
    )
    spec = Tools([paint], "hermes", "required", engine="lalr")
    index = guided.compile(spec, marked)
    assert index.notes == ()
    assert index.spec_fingerprint == spec.fingerprint != Tools([paint], "hermes", "required").fingerprint
    index.save(tmp_path / "index")
    loaded = guided.load_index(tmp_path / "index", marked)
    for each in (index, loaded):
        guide = each.guide()
        guide.advance_many([257, *b'\n{"name": "paint", "arguments": {"colour": "red"}}\n</tool_call>'])
        assert guide.is_accepting
    call = json.dumps({"name": "paint", "arguments": {"colour": "red", "times": 2}})
    read = parse_text(f"<tool_call>\n{call}\n</tool_call>", spec)
    assert [(one.name, one.arguments) for one in read] == [("paint", {"colour": "red", "times": 2})]


def test_specs_without_a_grammar_are_refused() -> None:
    unique = {"name": "f", "parameters": {"properties": {"a": {"type": "array", "uniqueItems": True}}}}
    with pytest.raises(SchemaError, match="uniqueItems"):
        guided.compile(Tools([unique], engine="lalr"), BYTES)
    with pytest.raises(ValueError, match="engine must be"):
        Tools([paint], engine="earley")  # type: ignore[arg-type]
    with pytest.raises(LimitError):
        Tools([paint], engine="lalr").lark(limits=Limits(states=8))


def test_characters_are_those_that_python_decodes() -> None:
    pattern = "[\\x00-é߿-ࠀ中-鿿\ud7fb-\ue000\uffff-\U00010001\U0010ffff]|a(?:b|[^b])"
    automaton = guided.Regex(pattern).lower(Limits())
    found = Characters(automaton.targets).edges(0)
    points = [
        *range(0x100),
        *range(0x7F0, 0x810),
        *range(0xD700, 0xE100),
        *range(0xFFF0, 0x10010),
        0x4E2D,
        0x10FFFE,
        0x10FFFF,
    ]
    for character in (chr(point) for point in points if not 0xD800 <= point < 0xE000):
        targets = [target for target, charset in found.items() if character in charset]
        assert targets == [state for state in [automaton.run(character.encode())] if state >= 0], ascii(character)
