"""Inventories of many tools: the same language as that of the automaton that has all of it, made of no more than what texts get to."""

import itertools
import json
import pickle
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import numpy as np
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.arrays import DEAD, UNKNOWN
from guided.automata.automaton import Automaton
from guided.calls import call_states
from guided.calls.call_states import CallStates
from guided.calls.files import load_index
from guided.calls.formats.files import format_named, format_names
from guided.calls.inventory import CHECKED_AT_ONCE as MANY
from guided.calls.inventory import Inventory
from guided.calls.lowering import options_of
from guided.calls.names import Names
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.sources.documents import read_tools
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.engine.compile import compile  # noqa: A004
from guided.engine.index import Index
from guided.engine.marked_grammar import MarkedGrammar
from guided.engine.templates import Template
from guided.errors import GuidedError, IndexFormatError, LimitError, SchemaError, VocabularyError
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.schema.formula.atoms import NO_CAPS
from guided.schema.pushdown.embedding import Embedding
from guided.schema.pushdown.frames import SubTrie
from guided.vocabulary.trie import trie_of
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.languages import Language
from tests.calls.sources.documents import OPENAPI, SERVICE
from tests.masks import bits
from tests.profiles import examples

# Every byte, and tokens that cross the borders of names, arguments and calls.
PIECES = [
    b"ge", b"get", b"get_", b"t_a", b't"', b'", "', b'": {"', b'{"name": "', b"}}", b"}}\n", b"(", b"t(", b"a=", b'a": ',
    b", ", b")", b") =",    b"1", b"12", b"1, ", b"1)", b"1}}", b"true", b'"x"', b"<T>", b"<T>g", b"</", b"<tool_call>",
    b"]", b"[", b"},", b"{}",
]  # fmt: skip
VOCABULARY = Vocabulary([bytes([value]) for value in range(256)] + PIECES + [None], eos=[256 + len(PIECES)])
TYPES: list[Any] = [
    {"type": "integer"},
    {"type": "number"},
    {"enum": ["x", "get"]},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
    {"$ref": "#/$defs/tree"},
]
LONG = "a" * 300
TREE = {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 1}}


def definition(name: str, labels: Mapping[str, tuple[int, bool]]) -> dict[str, Any]:
    properties = {label: TYPES[kind] for label, (kind, _) in labels.items()}
    required = [label for label, (_, needed) in labels.items() if needed]
    parameters = {"type": "object", "properties": properties, "required": required, "$defs": TREE}
    return {"name": name, "parameters": parameters}


def many(count: int, prefix: str = "tool") -> list[dict[str, Any]]:
    return [definition(f"{prefix}_{number}", {"a": (number % 3, True)}) for number in range(count)]


# Formats that know calls by their names have all of them in the automaton of text.
FORMS = [name for name in format_names() if not format_named(name).by_name]
NAMES = st.sampled_from(["g", "get", "get_a", "get_ab", "t", "get.t", "a", "1"])
LABELS = st.dictionaries(
    st.sampled_from(["a", "b", "get"]), st.tuples(st.integers(0, len(TYPES) - 1), st.booleans()), max_size=3
)
INVENTORIES = st.dictionaries(NAMES, LABELS, min_size=1, max_size=5)
# Without arrays, which not every format can write.
SINGLE = st.dictionaries(
    NAMES,
    st.dictionaries(st.sampled_from(["a", "b", "get"]), st.tuples(st.integers(0, 3), st.booleans()), max_size=3),
    min_size=1,
    max_size=5,
)


def inventories(form: str) -> st.SearchStrategy[Any]:
    return SINGLE if format_named(form).quote else INVENTORIES


class Regular:
    """A spec of an automaton."""

    fingerprint = "regular"

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton

    def lower(self, limits: Limits) -> Automaton:
        return self.automaton


def whole(spec: Tools) -> Any:
    """The spec of the automaton that has all calls of a spec."""
    frame = spec._frame(Limits())
    if frame.values:
        return Template(frame, options_of(spec.format, NO_CAPS), "whole", spec.markers)
    return Regular(frame.automaton)


def around(index: Index) -> CallStates:
    assert isinstance(index.tables, PushdownIndex)
    assert isinstance(index.tables.automaton, Embedding)
    found = index.tables.automaton._host
    assert isinstance(found, CallStates)
    return found


def assert_same(one: Index, other: Index, data: st.DataObject, longest: int = 30) -> None:
    """Both allow the same along a random text that keeps to calls where it can."""
    guides = one.guide(), other.guide()
    keen = list(range(256, len(one.vocabulary) - 1))
    for _ in range(longest):
        masks = [guide.mask() for guide in guides]
        assert np.array_equal(*masks)
        assert guides[0].is_accepting == guides[1].is_accepting
        # An explicit automaton still has names that cannot be spelled, which lead nowhere.
        assert guides[1].forced().startswith(guides[0].forced())
        allowed = bits(masks[0])
        assert allowed, "an allowed token never leads to a dead end"
        wanted = [token for token in allowed if token in keen] or allowed
        token = data.draw(st.sampled_from(wanted if data.draw(st.integers(0, 3)) else allowed))
        for guide in guides:
            guide.advance(token)
        if guides[0].is_finished:
            break


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(8))
@given(st.data())
def test_T23_the_lazy_automaton_equals_the_explicit_one(form: str, data: st.DataObject) -> None:
    inventory = data.draw(inventories(form))
    choice = data.draw(st.sampled_from(["auto", "required"]))
    counts = [False] if format_named(form).several is None else [False, True, (1, 2), (2, 3)]
    several, reasoning = (
        data.draw(st.sampled_from(counts)),
        data.draw(st.sampled_from([False, ("<think>", "</think>\n")])),
    )
    tools = [definition(name, labels) for name, labels in inventory.items()]
    spec = Tools(tools, form, tool_choice=choice, parallel_tool_calls=several, reasoning=reasoning)
    first = choice == "auto" and data.draw(st.booleans())
    must_call = first and data.draw(st.booleans())
    spec = spec.first_call(must_call) if first else spec
    explicit = compile(whole(spec), VOCABULARY)
    lazy = compile(spec.inventory(), VOCABULARY)
    assert_same(explicit, lazy, data)


def test_the_text_before_names_is_entered_at_once() -> None:
    """An identifier of up to 64 characters has a state for each length."""
    vocabulary = Vocabulary(
        [*(bytes([value]) for value in range(256)), *(letter * 64 for letter in (b"a", b"b", b"c", b"d")), None],
        eos=[260],
    )
    guide = compile(Tools(many(1), "openai", tool_choice="required"), vocabulary).guide()
    guide.advance_many(b'{"tool_calls": [{"id": "')
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename == call_states.__file__:
            counted[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        allowed = bits(guide.mask())
    finally:
        sys.setprofile(None)
    assert set(range(256, 260)) <= set(allowed)
    assert counted["near"] <= 2
    assert counted["_after"] < 64 * 64


@settings(max_examples=examples(15))
@given(st.data())
def test_T23_over_a_vocabulary_that_lacks_bytes(data: st.DataObject) -> None:
    lacking = data.draw(st.sets(st.sampled_from(b"gt_.1[tru"), max_size=3))
    tokens = [bytes([value]) for value in range(256) if value not in lacking]
    vocabulary = Vocabulary([*tokens, b'{"name": "', None], eos=[len(tokens) + 1])
    tools = [definition(name, labels) for name, labels in data.draw(INVENTORIES).items()]
    spec = Tools(tools, "tooldec", tool_choice="required")
    try:
        explicit = compile(whole(spec), vocabulary)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            compile(spec.inventory(), vocabulary)
        return
    assert_same(explicit, compile(spec.inventory(), vocabulary), data)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(10))
@given(st.data())
def test_T28_every_place_is_completed_within_its_budget(form: str, data: st.DataObject) -> None:
    tools = [definition(name, labels) for name, labels in data.draw(inventories(form)).items()]
    choice = data.draw(st.sampled_from(["auto", "required"]))
    spec = Tools(tools, form, tool_choice=choice)
    index = compile(spec.inventory(), VOCABULARY)
    guide, text = index.guide(), b""
    for left in range(guide.remaining + data.draw(st.integers(1, 30)), 0, -1):
        allowed = bits(guide.mask_within(left))
        token = data.draw(st.sampled_from(allowed))
        guide.advance(token)
        if guide.is_finished:
            break
        text += VOCABULARY[token] or b""
    assert guide.is_accepting
    parse_text(text, spec)


@pytest.mark.parametrize("count", [1, MANY, MANY + 1])
def test_tools_by_definitions_are_an_inventory_for_any_number(count: int) -> None:
    spec = Tools(many(count))
    assert isinstance(spec.lower(Limits()), Inventory)
    assert spec.fingerprint == spec.inventory().fingerprint
    index = compile(spec.first_call(), VOCABULARY)
    assert index.spec_fingerprint == spec.first_call().fingerprint
    assert compile(spec, VOCABULARY).spec_fingerprint == spec.fingerprint
    typed = Tool(definition("typed", {"a": (0, True)}), types={"a": int})
    assert isinstance(Tools([*many(count), typed]).lower(Limits()), Template)
    assert isinstance(Tools(many(count), engine="lalr", tool_choice=["tool_0"]).lower(Limits()), MarkedGrammar)


def test_few_definitions_that_need_no_stack_are_a_finite_automaton() -> None:
    tools = [{"name": f"tool_{number}"} for number in range(MANY)]
    few, more = Tools(tools), Tools([*tools, {"name": "more"}])
    assert isinstance(few.lower(Limits()), Automaton)
    assert isinstance(more.lower(Limits()), Inventory)
    assert few.with_changes(add=[{"name": "more"}]).fingerprint == more.fingerprint
    assert compile(few, VOCABULARY).spec_fingerprint == few.fingerprint


@pytest.mark.parametrize("count", [MANY, MANY + 1])
def test_parameters_without_a_value_are_reported_for_any_number_of_tools(count: int) -> None:
    """Of few tools when the spec is made, of more when a text reaches the tool."""
    empty = {"name": "empty", "parameters": {"properties": {"a": {"type": "integer"}, "b": False}, "required": ["a"]}}
    spec = Tools([*many(count - 1), empty], tool_choice="required")
    index = compile(spec, VOCABULARY)
    text = b'{"name": "empty", "arguments": {"a": 1}}'
    note = "no value satisfies these optional parameters, so calls never have them: /empty/b"
    if count <= MANY:
        assert index.notes == spec.notes == (note,)
        assert index.accepts(text)
    else:
        assert spec.notes == ()
        with pytest.warns(UserWarning, match="no value satisfies /empty/b, so calls never have it"):
            assert index.accepts(text)
        assert spec.notes == (note,)


@pytest.mark.parametrize("count", [1, MANY + 1])
@pytest.mark.parametrize("form", FORMS)
def test_text_after_calls_ends_no_numbers(form: str, count: int) -> None:
    """In running text any byte may follow a call, but the digits of a number within it belong together."""
    tools: list[Any] = many(count)
    if format_named(form).is_json:
        tools.append({"name": "whole", "parameters": {"minProperties": 1, "additionalProperties": {"type": "integer"}}})
    typed = [Tool(definition("typed", {"a": (0, True)}), types={"a": int})]
    for extra in ([],) if format_named(form).is_whole else ([], typed):
        spec = Tools([*tools, *extra], form)
        language = Language(spec)
        for tool in {"tool_0", tools[-1]["name"]}:
            value: Any = {0: 123, 1: -1.25, 2: "get"}[int(tool[5:]) % 3] if tool != "whole" else 123
            text = (
                f"a{render_calls([Call(tool, {'a': value}, (0, 0))], spec.argument_lists, spec.format, is_alone=False)}"
            )
            assert language.accepts(text.encode()), text
            assert parse_text(text, spec)[0].arguments == {"a": value}


def test_short_completions_of_few_tools_take_the_shortest_call() -> None:
    long = definition("a", {"a_long_label": (0, True), "another_long_label": (0, True)})
    for count, name in ((5, b"a_longer"), (MANY, b"a")):
        tools = [long, definition("a_longer", {}), *many(count)]
        index = compile(Tools(tools, tool_choice="required"), VOCABULARY)
        guide, text = index.guide(), b""
        while not guide.is_accepting:
            token = bits(guide.mask_within(guide.remaining))[0]
            text += VOCABULARY[token] or b""
            guide.advance(token)
        assert text.startswith((b'{"name": "%s",' % name, b'{"name":"%s",' % name))


def test_T22_tools_with_the_same_arguments_share_the_states_after_the_name() -> None:
    """Counted in rests and in controls: one more call of a tool with known arguments makes those of its name and no more."""
    tools = [definition(f"tool_{number}", {"a": (4, True), "b": (number % 2, False)}) for number in range(40)]
    index = compile(Tools(tools, tool_choice="required").inventory(), VOCABULARY)
    made = []
    for number in range(40):
        text = json.dumps({"name": f"tool_{number}", "arguments": {"a": [1], "b": 1}})
        guide = index.guide()
        guide.advance_many([VOCABULARY.tokens.index(bytes([byte])) for byte in text.encode()])
        assert guide.is_accepting
        assert isinstance(index.tables, PushdownIndex)
        made.append(index.tables.automaton.tables.n_controls)
    assert len(around(index)._frames) == 2
    assert max(np.diff(made[2:])) <= len("tool_39")


def test_T22_equal_arguments_of_different_documents_share_one_rest() -> None:
    tools = [Tool(tool.schema, name=f"{tool.name}_{copy}") for copy in "ab" for tool in read_tools(OPENAPI)]
    tools += read_tools(SERVICE)
    index = compile(Tools(tools, tool_choice="required").inventory(), VOCABULARY)
    for name in ("getPet_a", "getPet_b"):
        assert index.accepts(json.dumps({"name": name, "arguments": {"id": 1}}).encode())
    assert len(around(index)._frames) == 1


@pytest.mark.parametrize("form", ["json", "qwen-coder", "gemma", "pythonic"])
def test_arguments_that_refer_to_the_same_definition_share_a_machine(form: str) -> None:
    """Counted in nodes of formulas: the definition alone needs two hundred."""
    made = []
    for count in (4, 24):
        shared = {"type": "object", "properties": {f"m{i}": {"enum": [i, "a"]} for i in range(200)}, "required": ["m3"]}
        arguments = {
            f"a{i}": {"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/d"}}, "required": [f"p{i}"]}
            for i in range(count)
        }
        parameters = {"properties": arguments, "required": list(arguments), "$defs": {"d": shared}}
        index = compile(Tools([{"name": "f", "parameters": parameters}], form, tool_choice="required"), VOCABULARY)
        assert index.guide().remaining > 0
        assert isinstance(index.tables, PushdownIndex)
        automaton = index.tables.automaton
        assert isinstance(automaton, Embedding)
        made.append(sum(len(machine.formulas.nodes) for machine in automaton._machines.values()))
    assert made[1] - made[0] < 20 * 20


def test_T11_adding_a_tool_equals_a_rebuild_and_touches_no_other() -> None:
    tools, new = many(MANY + 20), definition("tool_1_new", {"b": (5, True)})
    spec = Tools(tools)
    index = compile(spec, VOCABULARY)
    text = b'<tool_call>{"name": "tool_1_new", "arguments": {"b": [[]]}}</tool_call>'
    before = spec.argument_lists["tool_1"]
    grown = spec.with_changes(add=[new])
    rebuilt = Tools([new, *tools])
    assert grown.fingerprint == rebuilt.fingerprint != spec.fingerprint
    assert grown.argument_lists["tool_1"] is before
    assert compile(grown, VOCABULARY).accepts(text)
    assert not compile(spec, VOCABULARY).accepts(text)
    assert not index.accepts(text)
    one, other = compile(grown, VOCABULARY).guide(), compile(rebuilt, VOCABULARY).guide()
    for byte in text:
        assert np.array_equal(one.mask(), other.mask())
        one.advance(byte)
        other.advance(byte)
    (call,) = parse_text(text, grown)
    assert call.arguments == {"b": [[]]}


def test_T12_removing_tools_equals_a_rebuild() -> None:
    tools = many(MANY + 20)
    gone = ["tool_3", "tool_33", "tool_119"]
    spec = Tools(tools).with_changes(remove=gone)
    rebuilt = Tools([tool for tool in tools if tool["name"] not in gone])
    assert spec.fingerprint == rebuilt.fingerprint
    index = compile(spec, VOCABULARY)
    for number in (3, 33, 34, 119):
        text = b'<tool_call>{"name": "tool_%d", "arguments": {"a": %s}}</tool_call>' % (
            number,
            b'"x"' if number % 3 == 2 else b"1",
        )
        assert index.accepts(text) == (f"tool_{number}" not in gone)
    assert (
        spec.with_changes(add=[tool for tool in tools if tool["name"] in gone]).fingerprint == Tools(tools).fingerprint
    )
    small = Tools(tools).with_changes(remove=[f"tool_{number}" for number in range(1, MANY + 20)])
    assert small.fingerprint == Tools(tools[:1]).fingerprint
    assert [tool.name for tool in small.tools] == ["tool_0"]


def test_T12_a_subset_for_one_request() -> None:
    tools = many(MANY + 50)
    some = [f"tool_{number}" for number in range(0, MANY + 50, 7)]
    spec = Tools(tools, tool_choice=some)
    index = compile(spec, VOCABULARY)
    for number in range(30):
        text = b'{"name": "tool_%d", "arguments": {"a": %s}}' % (number, b'"x"' if number % 3 == 2 else b"1")
        assert index.accepts(text) == (number % 7 == 0)
    large = [f"tool_{number}" for number in range(MANY + 1)]
    assert (
        compile(Tools(tools, tool_choice=large), VOCABULARY).spec_fingerprint
        == Tools(many(MANY + 1), tool_choice="required").fingerprint
    )


@given(st.sets(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=12), st.data())
def test_names_are_a_trie(names: set[str], data: st.DataObject) -> None:
    removed = data.draw(st.sets(st.sampled_from(sorted(names)), max_size=len(names) - 1))
    added = data.draw(st.sets(st.text("abc", min_size=1, max_size=6), max_size=4)) - names
    found = Names.of(names).changed(added, removed)
    kept = (names - removed) | added
    assert [found[place].decode() for place in range(len(found))] == sorted(kept)
    spelled = sorted(name.encode() for name in kept)
    # What texts may come is a trie of their own: of some names, of parts of them, and of what is none.
    texts = data.draw(st.sets(st.text("abcd", min_size=1, max_size=6), min_size=1))
    trie = trie_of([text.encode() for text in sorted(texts)])
    prefixes = {text.encode()[:length] for text in texts for length in range(len(text) + 1)}
    for begun in sorted({name[:length] for name in spelled for length in range(len(name) + 1)}):
        low, high = bisect_left(spelled, begun), bisect_left(spelled, begun + b"~")
        assert [found[place] for place in range(low, high)] == [name for name in spelled if name.startswith(begun)]
        assert len(found[found.shortest(low, high)]) == min(map(len, spelled[low:high]))
        for byte in b"abcd":
            begin, end = found.within(low, high, len(begun), byte)
            assert spelled[begin:end] == [name for name in spelled if name.startswith(begun + bytes([byte]))]
        ahead = SubTrie(trie.byte, trie.depth, trie.skip, 0, len(trie.byte))
        places = found.below(low, high, len(begun), ahead)
        reached = [begun]
        for above, byte in zip(places.parent[1:].tolist(), places.byte[1:].tolist(), strict=True):
            reached.append(reached[above] + bytes([byte]))
        assert reached == sorted(
            begun + prefix for prefix in prefixes if any(name.startswith(begun + prefix) for name in spelled)
        )
        rows, ends = found.rows(places)
        for prefix, first, last, row, is_end in zip(reached, places.low, places.high, rows, ends, strict=True):
            assert spelled[first:last] == [name for name in spelled if name.startswith(prefix)]
            assert is_end == (prefix in spelled)
            onward = {name[len(prefix)] for name in spelled if name.startswith(prefix) and name != prefix}
            assert set(np.flatnonzero(row == UNKNOWN).tolist()) == onward
            assert set(np.flatnonzero(row == DEAD).tolist()) == set(range(256)) - onward


def test_only_the_places_of_names_that_tokens_lead_to_are_made() -> None:
    chance = np.random.default_rng(0)
    spelled = {"".join(chance.choice(list("abcdefgh"), 12)) for _ in range(3000)}
    spec = Tools([{"name": name} for name in spelled], tool_choice="required")
    index = compile(spec, VOCABULARY)
    assert isinstance(index.tables, PushdownIndex)
    guide = index.guide()
    for byte in b'{"name": "':
        guide.mask()
        guide.advance(byte)
    before = index.tables.automaton.tables.n_controls
    allowed = {VOCABULARY[token] or b"" for token in bits(guide.mask())}
    assert allowed == {
        token for token in VOCABULARY.tokens if token and any(name.encode().startswith(token) for name in spelled)
    }
    prefixes = {token[:length] for token in allowed for length in range(len(token) + 1)}
    assert index.tables.automaton.tables.n_controls - before <= len(prefixes)


def test_the_names_of_part_of_a_trie() -> None:
    found, trie = Names.of(["abc", "abd", "b"]), trie_of([b"xab", b"xb", b"y"])
    # The nodes below x: a, ab, b.
    places = found.below(0, 3, 0, SubTrie(trie.byte, trie.depth, trie.skip, 1, 4))
    assert (places.byte[1:].tobytes(), places.depth.tolist(), places.parent[1:].tolist()) == (
        b"abb",
        [0, 1, 2, 1],
        [0, 1, 0],
    )


@pytest.mark.parametrize("is_explored", [False, True])
def test_an_inventory_is_loaded_from_disk_and_from_other_processes(is_explored: bool, tmp_path: Path) -> None:
    tools = [*many(MANY), *read_tools(OPENAPI), *read_tools(SERVICE)]
    spec = Tools(tools, tool_choice="required")
    index = compile(spec, VOCABULARY)
    if is_explored:
        index.explore(30)
    path = tmp_path / "tools.index"
    index.save(path)
    text = b'{"name": "smallservice.PutTree", "arguments": {"Tree": [[]]}}'
    for again in (load_index(path, VOCABULARY), pickle.loads(pickle.dumps(index))):
        assert again.spec_fingerprint == spec.fingerprint
        assert again.accepts(text)
        one, other = index.guide(), again.guide()
        for byte in text:
            assert np.array_equal(one.mask(), other.mask())
            one.advance(byte)
            other.advance(byte)
    load_index(path, VOCABULARY).save(tmp_path / "again.index")
    if not is_explored:
        assert (tmp_path / "again.index").read_bytes() == path.read_bytes()


def test_a_large_inventory_is_an_array_of_its_file(tmp_path: Path) -> None:
    index = compile(Tools(many(MANY + 1), tool_choice="required"), VOCABULARY)
    path = tmp_path / "tools.index"
    index.explore(5)
    index.save(path)
    again = load_index(path, VOCABULARY)
    assert again.accepts(b'{"name": "tool_7", "arguments": {"a": 1}}')
    assert again.n_states == index.n_states
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexFormatError):
        load_index(path, VOCABULARY)


@pytest.mark.parametrize("data", ["", "AAAA", "e30="])
def test_data_that_is_not_an_inventory_is_refused(data: str) -> None:
    with pytest.raises(ValueError, match=r"no inventory|padding|base64|compressed data is damaged"):
        Inventory.from_data(data)


def bad_tool(schema: Any = True, label: str = "x", name: str = "bad", **keywords: Any) -> dict[str, Any]:
    """A definition with one required argument; with keywords for the object around it."""
    parameters = {"type": "object", "properties": {label: schema}, "required": [label], **keywords}
    return {"name": name, "parameters": parameters}


STRINGS = {"type": "array", "items": {"type": "string"}}
# What some formats cannot write.
UNWRITABLE: list[dict[str, Any]] = [
    bad_tool(),
    bad_tool(STRINGS),
    bad_tool({"type": "object", "properties": {"a": {"type": "string"}}}),
    bad_tool({"anyOf": [{"type": "string"}, STRINGS]}),
    bad_tool({"type": "array", "items": {"type": "number"}}),
    bad_tool({"type": "integer"}, label="filter[status]"),
    bad_tool({"type": "integer"}, label="@type"),
    bad_tool({"type": "integer"}, label="a b"),
    bad_tool({"type": "integer"}, name="group:bad"),
    bad_tool({"type": "integer"}, minProperties=1),
    bad_tool({"type": "integer"}, anyOf=[{"required": ["x"]}]),
    bad_tool({"type": "integer"}, additionalProperties={}),
]


def outcome(make: Any) -> tuple[str, str] | None:
    try:
        make()
    except GuidedError as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize("form", FORMS)
def test_what_a_format_cannot_write_is_refused_at_once_for_any_number_of_tools(form: str) -> None:
    others = [Tool(item) for item in many(MANY)]
    for bad in UNWRITABLE:
        few = outcome(lambda bad=bad: Tools([bad], form))
        assert outcome(lambda bad=bad: Tools([*others, bad], form)) == few, bad
        changed = Tools(others[:-1], form)
        assert outcome(lambda bad=bad, spec=changed: spec.with_changes([others[-1], bad])) == few
        if few is None:
            continue
        assert f"/{bad['name']}" in few[1]
        # Tools that the choice excludes are not written.
        Tools([*others, bad], form, tool_choice="none")
        Tools([*others, bad], form, tool_choice=[tool.name for tool in others])
        for spec in (
            Tools([others[0], bad], form, unsupported="skip"),
            Tools([*others, bad], form, unsupported="skip"),
        ):
            assert bad["name"] not in spec.argument_lists
            assert bad["name"] not in {tool.name for tool in spec.tools}
            assert [note for note in spec.notes if bad["name"] in note and few[1] in note]
            assert compile(spec, VOCABULARY).notes == spec.notes
            assert pickle.loads(pickle.dumps(spec)).notes == spec.notes == spec.with_options(strict=True).notes
            in_json = spec.with_options(format="json")
            assert bad["name"] in in_json.argument_lists
            assert not in_json.notes


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


UNUSABLE: list[tuple[dict[str, Any], str]] = [
    (bad_tool(nested(300)), "/bad/x"),
    (bad_tool({"type": "integer", "maximum": 10**10_100}), "/bad/x"),
    (bad_tool({"type": "string", "pattern": "a" * 1_000_001}), "/bad/x"),
    (bad_tool({"type": "string", "pattern": "("}), "/bad/x"),
    (bad_tool({"type": "odd"}), "/bad/x"),
    (bad_tool({"minimum": 2, "maximum": 1, "type": "integer"}), "/bad/x"),
    (bad_tool({"type": "integer"}, additionalProperties=nested(300)), "/bad"),
    (bad_tool(name="a b"), "/a b"),
]


@pytest.mark.parametrize("count", [0, 3, MANY])
def test_an_error_of_one_tool_names_it_and_its_argument(count: int) -> None:
    others = many(count)
    for bad, pointer in UNUSABLE:
        with pytest.raises((SchemaError, LimitError)) as caught:
            Tools([*others, bad])
        assert caught.value.pointer == pointer
        assert f"(at {pointer}" in str(caught.value)
        if others:
            spec = Tools([*others, bad], unsupported="skip")
            assert list(spec.argument_lists) == [tool["name"] for tool in others]
            assert len(spec.notes) == 1
            assert spec.notes[0].startswith(f"left out {bad['name']}: ")
            with pytest.raises(SchemaError, match=f"left out {bad['name']}: ") as refused:
                Tools([*others, bad], unsupported="skip", tool_choice=bad["name"])
            assert refused.value.keyword == "tool_choice"
        else:
            with pytest.raises(SchemaError, match="no tool can be used; the first: "):
                Tools([bad], unsupported="skip")


def small(a: int) -> None: ...
def large(a: int, text: Annotated[int, pydantic.Field(alias=LONG)]) -> None: ...


@pytest.mark.parametrize("form", ["hermes", "tooldec", "mistral"])
@pytest.mark.parametrize(
    ("tools", "place"),
    [
        ([small, large], f"/large/{LONG}"),
        ([*many(1), bad_tool({"type": "integer"}, label=LONG)], f"/bad/{LONG}"),
        ([*many(MANY), bad_tool({"type": "integer"}, label=LONG)], f"/bad/{LONG}"),
    ],
    ids=["functions", "few definitions", "many definitions"],
)
def test_a_limit_that_one_tool_exceeds_names_it(form: str, tools: list[Any], place: str) -> None:
    """At compile; of many definitions, when a text reaches the tool."""
    spec = Tools(tools, form, tool_choice="required")
    call = b""
    if "bad" in spec.argument_lists:
        call = render_calls([Call("bad", {LONG: 1}, (0, 0))], spec.argument_lists, spec.format, is_alone=True).encode()
    with pytest.raises(LimitError) as caught:
        compile(spec, VOCABULARY, limits=Limits(states=250)).accepts(call)
    assert caught.value.pointer == place
    assert (caught.value.what, caught.value.limit) == ("states", 250)


def test_tools_that_are_left_out_are_counted() -> None:
    bad = [bad_tool({"type": "odd"}, name=f"bad_{number}") for number in range(25)]
    spec = Tools([*many(1), *bad], unsupported="skip")
    assert len(spec.notes) == 21
    assert spec.notes[-1] == "left out 5 more tools"
    with pytest.raises(ValueError, match="unsupported must be 'error' or 'skip'"):
        Tools(many(1), unsupported="record")  # type: ignore[arg-type]


def test_schemas_of_documents_are_refused_when_a_text_reaches_them() -> None:
    paths = {f"/{number}": {"get": {}} for number in itertools.chain(range(MANY), ["bad"])}
    paths["/bad"]["get"] = {"parameters": [{"name": "x", "in": "query", "schema": {"type": "odd"}}]}
    tools = read_tools({"openapi": "3.1.0", "paths": paths}, check=False)
    index = compile(Tools(tools, tool_choice="required"), VOCABULARY)
    assert index.accepts(b'{"name": "get_7", "arguments": {}}')
    with pytest.raises(SchemaError, match="a type must be one of") as caught:
        index.accepts(b'{"name": "get_bad", "arguments": {}}')
    assert caught.value.pointer == "/get_bad/x"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"remove": ["nothing"]}, "unknown tool 'nothing'"),
        ({"add": [definition("tool_1", {})]}, "duplicate tool name"),
        ({"add": [definition("x", {}), definition("x", {})]}, "two tools have this name"),
    ],
)
def test_changes_that_make_no_sense_are_refused(change: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        Tools(many(MANY + 1)).with_changes(**change)


@pytest.mark.parametrize(
    "change", [{"remove": "tool_1"}, {"add": "tool"}, {"add": definition("x", {})}, {"add": Tool(definition("x", {}))}]
)
def test_changes_are_given_as_lists(change: Any) -> None:
    with pytest.raises(TypeError, match="add must be a list of tools"):
        Tools(many(2)).with_changes(**change)


@pytest.mark.parametrize("n_tools", [2, MANY + 1])
def test_tools_that_are_added_are_renamed_as_those_that_are_given(n_tools: int) -> None:
    tools, more = many(n_tools), [definition("tool_1", {}), definition("other", {})]
    spec = Tools(tools, duplicates="rename")
    assert spec.with_changes(add=more).fingerprint == Tools([*tools, *more], duplicates="rename").fingerprint
    assert spec.with_changes(add=more[1:]).fingerprint == Tools([*tools, more[1]]).fingerprint


def test_small_specs_change_as_large_ones_do() -> None:
    def now() -> str: ...

    spec = Tools(many(3)).with_changes(add=[now], remove=["tool_1"])
    assert [tool.name for tool in spec.tools] == ["tool_0", "tool_2", "now"]
    replaced = Tools(many(MANY + 2)).with_changes(add=[definition("tool_1", {})], remove=["tool_1"])
    assert replaced.argument_lists["tool_1"].keyed == ()
    with pytest.raises(SchemaError, match="tools is empty"):
        Tools(many(1)).with_changes(remove=["tool_0"])
