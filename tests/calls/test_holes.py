"""Values by their schemas within calls: against the regular automaton of the same signatures, masks, budgets, files, whole objects."""

import json
import pickle
import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.pushdown import KEPT
from guided.calls.files import load_index
from guided.calls.lowering import call_tree
from guided.calls.parse import CallParser, parse_text
from guided.calls.reads import ArgumentRead
from guided.calls.rendering import render_call
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Regex
from guided.engine.templates import Template
from guided.errors import CallError, VocabularyError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.schema.pushdown import frames
from guided.schema.pushdown.frames import Value
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.languages import Language, accepts
from tests.calls.signatures import TREE, calls, defined, inventories, mutants, tool_of, written
from tests.profiles import examples

BYTES = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
STYLES = ["tooldec", "tooldec-positional", "json"]
ANY_OF: dict[str, Any] = {
    "name": "pay",
    "parameters": {
        "type": "object",
        "oneOf": [
            {"properties": {"card": {"type": "string"}}, "required": ["card"]},
            {"properties": {"iban": {"type": "string"}, "bic": {"enum": ["A", "B"]}}, "required": ["iban"]},
        ],
    },
}


def plainer(text: str) -> str:
    """Without blanks outside of strings, and without ``-0``: in calls by schema, both may stand where the regular automaton has none."""
    pieces: list[str] = re.findall(r'"(?:[^"\\]|\\.)*"?|[^" ]+| ', text)
    joined = "".join(piece for piece in pieces if piece != " ")
    return re.sub(r"(?<![\w.\"+])-0(?![\d.\w\"])", "0", joined)


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=examples(30))
@given(data=st.data())
def test_T23_values_by_schema_are_those_of_the_regular_automaton(style: str, data: st.DataObject) -> None:
    is_positional = style == "tooldec-positional"
    shapes = {
        name: [item for item in shape if item[0] != "c_"]
        for name, shape in data.draw(inventories(is_positional)).items()
    }
    options: dict[str, Any] = {"tool_choice": data.draw(st.sampled_from(["required", "auto"]))}
    regular = Tools([tool_of(name, shape, is_positional) for name, shape in shapes.items()], style, **options)
    nested = Tools([defined(name, shape) for name, shape in shapes.items()], style, **options)
    oracle, found = Language(regular), Language(nested)
    for _ in range(6):
        name = data.draw(st.sampled_from(sorted(shapes)))
        arguments = data.draw(calls(shapes[name], is_positional))
        text = written(name, arguments, style, data.draw(st.sampled_from(["", " "])))
        if regular.is_running_text:
            text = f"x{regular.format.trigger}{text}{regular.format.terminator}y"
        for spoken in (text, data.draw(mutants(text))):
            expected = oracle.accepts(spoken.encode())
            actual = found.accepts(spoken.encode())
            assert actual or not expected, spoken
            assert not actual or expected or oracle.accepts(plainer(spoken).encode()), spoken
            if actual:
                read = parse_text(spoken, nested)
                if expected:
                    assert read == parse_text(spoken, regular)
            else:
                with pytest.raises(CallError) as caught:
                    parse_text(spoken, nested)
                assert caught.value.position == found.died_at(spoken.encode()), spoken


def index_of(*definitions: Any, vocabulary: Vocabulary = BYTES, **options: Any) -> Index:
    return compile_spec(Tools(definitions, **options), vocabulary)


VALUES = {"tree": {"v": 1.5, "kids": [{"v": -2, "kids": []}, {}]}, "deep": True}
TOKENS = Vocabulary(
    [
        *(bytes([value]) for value in range(256)),
        b'": {"',
        b"}}",
        b", ",
        b'"v": 1',
        b"<T>g",
        b"tree={",
        b"})",
        b"]}",
        b" =",
        b"1,",
        None,
    ],
    eos=[266],
)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_masks_are_the_tokens_that_can_be_read(style: str, choice: str) -> None:
    spec = Tools([TREE, ANY_OF] if style == "json" else [TREE], style, tool_choice=choice)
    index = compile_spec(spec, TOKENS)
    form = spec.format
    text = render_call("grow", VALUES, spec.argument_lists["grow"], form)
    if choice == "auto":
        text = f"so {form.trigger}{text}{form.terminator} ok"
    tables = index.tables
    assert isinstance(tables, PushdownIndex)
    guide = index.guide()
    for byte in [*text.encode(), 266]:
        place = tables.configuration(guide.state)
        bits = np_bits(guide.mask())
        for token, data in enumerate(TOKENS.tokens):
            if data:
                assert bool(bits[token]) == (tables.stacks.read(place, data, []) is not None), (text, data)
        assert bool(bits[266]) == guide.is_accepting
        guide.advance(byte)
    assert guide.is_finished


def np_bits(mask: Any) -> list[int]:
    return [int(word) >> bit & 1 for word in mask.tolist() for bit in range(32)]


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=examples(15))
@given(data=st.data())
def test_T28_every_place_is_completed_within_its_budget(style: str, data: st.DataObject) -> None:
    choice = data.draw(st.sampled_from(["auto", "required"]))
    index = index_of(
        *([TREE, ANY_OF] if style == "json" else [TREE]), vocabulary=TOKENS, format=style, tool_choice=choice
    )
    guide = index.guide()
    if choice == "auto":
        guide.advance_many(list(f"hm {index_form(style)}".encode()))
    for _ in range(data.draw(st.integers(0, 30))):
        allowed = [token for token in index.allowed(guide.state).tolist() if token < 266]
        if allowed:
            guide.advance(data.draw(st.sampled_from(allowed)))
    left = guide.remaining
    while not guide.is_accepting:
        mask = index.mask_within(guide.state, left)
        choices = [token for token, bit in enumerate(np_bits(mask)) if bit]
        assert choices
        guide.advance(data.draw(st.sampled_from(choices)))
        assert guide.remaining < left
        left = guide.remaining


def index_form(style: str) -> str:
    return Tools([TREE], style).format.trigger


def test_one_object_of_arguments_supports_schemas_that_separate_arguments_do_not() -> None:
    spec = Tools([ANY_OF], tool_choice="required")
    call = '{"name": "pay", "arguments": %s}'
    for arguments, expected in [
        ({"card": "1"}, True),
        ({"iban": "1", "bic": "A"}, True),
        ({"bic": "A"}, False),
        ({}, False),
        ({"card": "1", "iban": "1"}, False),
    ]:
        text = call % json.dumps(arguments)
        assert accepts(spec, text) == expected, text
        if expected:
            parser = CallParser(spec)
            reads = [read for read in parser.feed(text.encode()) if isinstance(read, ArgumentRead)]
            assert {read.name: read.value for read in reads} == arguments
            assert [json.loads(text[slice(*read.span)]) for read in reads] == list(arguments.values())
            assert parse_text(text, spec)[0].arguments == arguments
            assert render_call("pay", arguments, spec.argument_lists["pay"], spec.format) == text
    assert Tool(ANY_OF).signature.startswith("pay(arguments: ")


class Node(pydantic.BaseModel):
    value: int
    kids: list["Node"] = []


def grow(node: Node, *others: Node, deep: bool = False, anything: Any = None) -> list[Any]:
    return [node, others, deep, anything]


@pytest.mark.parametrize("style", STYLES)
def test_T20_recursive_models_are_read_as_themselves(style: str) -> None:
    spec = Tools([grow], style, tool_choice="required")
    form = spec.format
    arguments = {"node": {"value": 1, "kids": [{"value": 2, "kids": [{"value": 3}]}]}, "others": [{"value": 4}]}
    text = render_call("grow", {**arguments, "deep": True}, spec.argument_lists["grow"], form)
    (call,) = parse_text(text, spec)
    assert call.arguments["node"] == Node(value=1, kids=[Node(value=2, kids=[Node(value=3)])])
    assert call.arguments["others"] == [Node(value=4)]
    assert accepts(spec, text)
    assert not accepts(spec, text.replace("3", "null"))


def test_a_value_that_may_begin_like_the_next_key_is_distinguished_from_it() -> None:
    definition_like = grow.__kwdefaults__
    assert definition_like

    def pick(node: Node | bool | None = None, *, true: int = 0, false_: int = 1, nil: int = 2) -> None: ...

    spec = Tools([pick], "tooldec-positional", tool_choice="required")
    for text, arguments in {
        "pick(true)": {"node": True},
        "pick(true=1)": {"true": 1},
        "pick(null, nil=3)": {"node": None, "nil": 3},
        'pick({"value": 1}, true=2)': {"node": Node(value=1), "true": 2},
    }.items():
        assert accepts(spec, text), text
        assert parse_text(text, spec)[0].arguments == arguments
    for text in ("pick(tru)", "pick(true, true)", "pick(nul=1)"):
        assert not accepts(spec, text), text


def test_files_and_processes_keep_the_language(tmp_path: Path) -> None:
    index = index_of(TREE, format="tooldec", tool_choice="auto")
    text = b'a <T>grow(tree={"kids": [{"v": 1e3}]}) = b'
    index.explore(60)
    index.save(tmp_path / "a")
    index_of(TREE, format="tooldec", tool_choice="auto").save(tmp_path / "b")
    for other in (
        load_index(tmp_path / "a", BYTES),
        load_index(tmp_path / "b", BYTES),
        pickle.loads(pickle.dumps(index)),
    ):
        assert other.accepts(text)
        assert not other.accepts(text.replace(b"1e3", b"true"))
        assert other.spec_fingerprint == index.spec_fingerprint
    other = load_index(tmp_path / "a", BYTES)
    other.explore(60)
    other.save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("arrays"),
        lambda content: content["arrays"]["holes"][0].reverse(),
        lambda content: content["values"].clear(),
        lambda content: content["arrays"]["table"].__setitem__(1, content["arrays"]["classes"][1]),
        lambda content: content["options"].update(numbers="some"),
    ],
)
def test_a_damaged_template_is_refused(change: Any) -> None:
    template = Tools([grow], "tooldec").lower(Limits())
    assert isinstance(template, Template)
    content = json.loads(template.data)
    assert Template.from_data(json.dumps(content)).fingerprint == template.fingerprint
    change(content)
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
        Template.from_data(json.dumps(content))


def test_a_vocabulary_without_some_bytes_excludes_strings_that_need_them() -> None:
    definition = {"name": "f", "parameters": {"properties": {"a": {"enum": ["x", 1]}, "b": {"type": "array"}}}}
    letters = [bytes([value]) for value in range(256) if value not in b"x["]
    vocabulary = Vocabulary([*letters, None], eos=[len(letters)])
    index = index_of(definition, vocabulary=vocabulary, format="tooldec", tool_choice="required")
    assert index.accepts(b"f(a=1)")
    assert index.accepts(b"f()")
    assert not index.accepts(b'f(a="x")')
    assert not index.accepts(b"f(b=[])")
    guide = index.guide()
    for byte in b"f(":
        guide.advance(letters.index(bytes([byte])))
    assert letters.index(b"b") not in index.allowed(guide.state), "nothing could follow b="
    without = [letter for letter in letters if letter != b"("]
    with pytest.raises(VocabularyError):
        index_of(
            definition,
            vocabulary=Vocabulary([*without, None], eos=[len(without)]),
            format="tooldec",
            tool_choice="required",
        )


def test_the_fingerprint_depends_on_the_types_of_values() -> None:
    def spec(schema: Any, **options: Any) -> Tools:
        return Tools([{"name": "f", "parameters": {"properties": {"a": schema}}}], **options)

    def mixed(schema: Any) -> Tools:
        return Tools([{"name": "f", "parameters": {"properties": {"a": schema}}}, grow])

    one = spec({"type": "integer"}).fingerprint
    assert one == spec({"type": "integer"}).fingerprint
    assert len({one, spec({"type": "number"}).fingerprint, spec({"type": "integer"}, max_digits=3).fingerprint}) == 3
    assert spec({"type": "integer"}).first_call().fingerprint != one
    # A frame is told by the texts that it allows, an inventory by its definitions.
    assert mixed({"type": "integer", "description": "x"}).fingerprint == mixed({"type": "integer"}).fingerprint
    assert mixed({"type": "number"}).fingerprint != mixed({"type": "integer"}).fingerprint


def test_a_compile_builds_the_tree_of_calls_once() -> None:
    def get(names: list[str]) -> None:
        """Do nothing."""

    built = 0

    def note(frame: FrameType, event: str, _given: Any) -> None:
        nonlocal built
        built += event == "call" and frame.f_code is call_tree.__code__

    sys.setprofile(note)
    try:
        compile_spec(Tools([get], "pythonic", tool_choice="required"), BYTES)
    finally:
        sys.setprofile(None)
    assert built == 1


def test_values_are_entered_when_a_text_gets_there() -> None:
    definitions = [{"name": f"f{n}", "parameters": {"properties": {"a": {"const": n}}}} for n in range(40)]
    index = index_of(*definitions, format="tooldec", tool_choice="required")
    tables = index.tables
    assert isinstance(tables, PushdownIndex)
    before = tables.automaton.tables.n_cells
    place = tables.stacks.read((tables.automaton.start, 0, *KEPT), b"f7(a=7)")
    assert place is not None
    assert tables.automaton.tables.n_cells == before + 1
    assert tables.stacks.is_end(place)


def test_no_characters_are_reserved() -> None:
    def f(a: Node, b: str, c: Any) -> None: ...

    odd = "\U000f0000\U000f0001\U000f0000\U000f0010"
    spec = Tools([f], "tooldec", tool_choice="required")
    text = f'f(a={{"value": 1}}, b="{odd}", c="{odd}")'
    assert accepts(spec, text)
    assert not accepts(spec, f'f(a={odd}, b="", c=1)')
    named = Tools([{"name": "f", "parameters": {"properties": {odd: {}}}}], tool_choice="required")
    assert accepts(named, f'{{"name": "f", "arguments": {{"{odd}": [1]}}}}')
    typed = Tools([Tool(f, types={"b": Regex("[\U000f0000-\U000f000f]{4}")})], "tooldec", tool_choice="required")
    odd = odd.replace("\U000f0010", "\U000f000f")
    text = f'f(a={{"value": 1}}, b="{odd}", c=[])'
    assert accepts(typed, text)
    (call,) = parse_text(text, typed)
    assert call.arguments["b"] == odd


def test_values_are_plain_data() -> None:
    assert Value({"type": "integer"}, "/a", b"1") == Value({"type": "integer"}, "/a", b"1")


def test_large_frames_are_entered_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks and completions along a call are those of the frame that is entered at once."""
    spec, entered = Tools([grow], "tooldec", tool_choice="required"), list[int]()
    text = render_call(
        "grow", {"node": {"value": 1, "kids": []}, "deep": True}, spec.argument_lists["grow"], spec.format
    )
    nearest = frames.FrameStates._nearest

    def counted(self: frames.FrameStates, state: int, control_of: Any) -> Any:
        entered.append(state)
        return nearest(self, state, control_of)

    def walked() -> list[tuple[bytes, int]]:
        guide, found = compile_spec(spec, BYTES).guide(), []
        for value in text.encode():
            found.append((guide.mask().tobytes(), guide.remaining))
            guide.advance(value)
        return found

    at_once = walked()
    monkeypatch.setattr(frames, "_SMALL", 2)
    monkeypatch.setattr(frames, "_AT_ONCE", 3)
    monkeypatch.setattr(frames.FrameStates, "_nearest", counted)
    assert walked() == at_once
    assert len(entered) > 1
