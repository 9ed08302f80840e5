"""Text mode and tool mode: the automaton against a search for the trigger, and what a spec allows in each mode."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_strings
from guided.automata.calls import CallAutomaton
from guided.calls import schema
from guided.calls.modes import CALL, CALL_END, TEXT, calls_only, reasoning_before
from guided.calls.modes import running_text as running_text_with_values
from guided.calls.spec import Tools
from guided.calls.tool import Tool
from guided.calls.triggers import Trigger
from guided.errors import GuidedError, LimitError, SchemaError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.patterns.tree import Call, Literal, Repeat, concat
from guided.schema.formula.memo import Memo
from tests.calls.languages import Language, accepts

TRIGGERS = [b"a", b"ab", b"aab", b"aa", b"aba", b"abaab"]
CALLS = [b"x=", b"yy=", b"ya="]


def without_calls(automaton: Automaton) -> CallAutomaton:
    """The automaton without call edges, in the form of one with them."""
    n, k = automaton.table.shape
    table = np.concatenate([automaton.table, np.full((n, 1), -1, np.int32)], axis=1)
    classes = np.append(automaton.classes.astype(np.int32), np.int32(k))
    return CallAutomaton(table, classes, automaton.accepting, automaton.labels, np.full(n, -1, np.int32))


def running_text(triggers: list[Trigger], call: Automaton | None, *options: Any, **more: Any) -> Automaton:
    """The automaton of text with calls in which no schema values are."""
    found = running_text_with_values(triggers, None if call is None else without_calls(call), *options, **more)
    assert not len(found.calls)
    return found.automaton


def mode_of(data: bytes, trigger: bytes, calls: Collection[bytes], continues: bool = True) -> int | None:
    """The mode after a text, by a plain search for triggers; None: it is no beginning of an allowed text."""
    mode = TEXT
    while (place := data.find(trigger)) >= 0:
        rest = data[place + len(trigger) :]
        call = next((call for call in calls if rest.startswith(call)), None)
        if call is None:
            return CALL if any(call.startswith(rest) for call in calls) else None
        data, mode = rest[len(call) :], CALL_END
        if not continues:
            return None if data else CALL_END
    return TEXT if data else mode


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("continues", [True, False])
@given(data=st.lists(st.sampled_from([b"a", b"b", b"x=", b"yy=", b"\xff", *TRIGGERS]), max_size=9).map(b"".join))
def test_T2_text_and_calls_take_turns(trigger: bytes, continues: bool, data: bytes) -> None:
    automaton = running_text([Trigger(trigger)], from_strings(CALLS), Limits(), continues)
    state, mode = automaton.run(data), mode_of(data, trigger, CALLS, continues)
    assert (state >= 0) == (mode is not None)
    if mode is not None:
        assert automaton.labels[state] == mode
        assert automaton.accepting[state] == (mode != CALL)


def fired_at(data: bytes, triggers: Collection[bytes], first: Collection[bytes], begin: int) -> tuple[int, int] | None:
    """Where the first trigger to be complete begins and ends, of a text that begins at a place; by trying all."""
    for end in range(begin + 1, len(data) + 1):
        found = [end - len(text) for text in triggers if data.endswith(text, begin, end)]
        found += [begin for text in first if data[begin:end] == text]
        if found:
            return min(found), end
    return None


@given(
    triggers=st.lists(st.sampled_from([*TRIGGERS, b"\na", b"\nb"]), min_size=1, max_size=3, unique=True),
    first=st.lists(st.sampled_from([*TRIGGERS, b"b", b"bba", b" a"]), max_size=3, unique=True),
    data=st.lists(st.sampled_from([b"a", b"b", b" ", b"\n", b"x=", b"yy=", *TRIGGERS]), max_size=9).map(b"".join),
)
def test_some_triggers_fire_only_at_the_beginning_of_a_text(
    triggers: list[bytes], first: list[bytes], data: bytes
) -> None:
    given_triggers = [Trigger(text) for text in triggers] + [Trigger(text, is_first=True) for text in first]
    automaton = running_text(given_triggers, from_strings(CALLS), Limits())
    # A trigger that begins with a line feed also stands at the beginning of a text without it.
    at_first = [*first, *(text[1:] for text in triggers if text.startswith(b"\n"))]
    begin, mode = 0, TEXT
    while (found := fired_at(data, triggers, at_first, begin)) is not None:
        rest = data[found[1] :]
        call = next((call for call in CALLS if rest.startswith(call)), None)
        if call is None:
            mode = CALL if any(call.startswith(rest) for call in CALLS) else 0
            break
        begin = found[1] + len(call)
    state = automaton.run(data)
    assert (state >= 0) == bool(mode)
    assert state < 0 or automaton.accepting[state] == (mode == TEXT)


@given(st.binary(max_size=12))
def test_T2_any_bytes_are_text(data: bytes) -> None:
    assert running_text([Trigger(b"<T>")], from_strings(CALLS), Limits()).accepts(data.replace(b"<T>", b""))


def test_T2_the_start_of_a_text_and_the_end_of_a_call_have_the_same_continuations() -> None:
    automaton = running_text([Trigger(b"<T>")], from_strings(CALLS), Limits())
    (end,) = np.flatnonzero(automaton.labels == CALL_END)
    assert np.array_equal(automaton.table[0], automaton.table[end])
    assert automaton.run(b"<T>x=") == end


def test_without_calls_the_trigger_is_never_allowed() -> None:
    automaton = running_text([Trigger(b"aab")], None, Limits())
    assert automaton.accepts(b"aaaa ab")
    assert not automaton.accepts(b"aaab")
    assert set(automaton.labels.tolist()) == {TEXT}


def test_calls_alone_are_labelled() -> None:
    automaton = calls_only(without_calls(from_strings(CALLS))).automaton
    assert automaton.labels.tolist() == [CALL_END if accepting else CALL for accepting in automaton.accepting]


def test_call_edges_are_kept_in_every_copy_and_behind_reasoning() -> None:
    call = CallAutomaton.from_tree(concat([Literal("x"), Call(7), Literal(";")]), Limits())
    assert call.calls.tolist() == [[1, 7, 2]]
    text = running_text_with_values([Trigger(b"<T>")], call, Limits(), fewest=1, most=3)
    for found in (text, reasoning_before(b"<think>", b"</think>", b"\n", text)):
        automaton, edges = found.automaton, {state: (number, behind) for state, number, behind in found.calls.tolist()}
        assert len(edges) == 3
        state = automaton.run(b"<T>")
        for _ in range(3):
            number, behind = edges[automaton.run(b"x", state)]
            assert number == 7
            end = automaton.run(b";", behind)
            assert automaton.labels[end] == CALL_END
            state = automaton.run(b" <T>", end)
        assert state < 0, "there are three calls at most"
    alone = reasoning_before(b"<t>", b"</t>", b"\n", calls_only(CallAutomaton.from_tree(Call(0), Limits())))
    for data in (b"", b"<t></t>", b"<t></t>\n"):
        assert alone.automaton.run(data) in alone.calls[:, 0]


def test_a_call_that_could_go_on_needs_a_terminator() -> None:
    with pytest.raises(GuidedError, match="the format needs a terminator"):
        running_text([Trigger(b"a")], from_strings([b"x", b"xy"]), Limits())
    call = CallAutomaton.from_tree(concat([Literal("x"), Repeat(Call(0), 0, 1)]), Limits())
    with pytest.raises(GuidedError, match="the format needs a terminator"):
        running_text_with_values([Trigger(b"a")], call, Limits())


def test_budgets_are_kept() -> None:
    calls = from_strings(CALLS)
    for limits, what in ((Limits(states=5), "states"), (Limits(transitions=10), "transitions")):
        with pytest.raises(LimitError) as caught:
            running_text([Trigger(b"<T>")], calls, limits)
        assert caught.value.what == what


def add(a: int, b: int) -> int:
    return a + b


def now() -> None: ...


def lowered(*tools: Any, **options: Any) -> Automaton:
    return Language(Tools(tools, "tooldec", **options))


@pytest.mark.parametrize("choice", ["required", ["add", "now"], ("now", "add")])
def test_required_is_exactly_one_call(choice: Any) -> None:
    automaton = lowered(add, now, tool_choice=choice)
    assert automaton.accepts(b"add(a=1, b=2)")
    assert automaton.accepts(b"now()")
    for text in (b"", b"now()now()", b" now()", b"now() =", b"<T>now()", b"text"):
        assert not automaton.accepts(text)


@pytest.mark.parametrize(
    "choice", ["now", ["now"], {"type": "function", "function": {"name": "now"}}, {"type": "tool", "name": "now"}]
)
def test_a_name_is_a_call_of_that_tool(choice: Any) -> None:
    automaton = lowered(add, now, tool_choice=choice)
    assert (
        Tools([add, now], "tooldec", tool_choice=choice).fingerprint
        == Tools([now], "tooldec", tool_choice="required").fingerprint
    )
    assert not automaton.accepts(b"add(a=1, b=2)")


def test_several_calls_may_be_required() -> None:
    one = '{"name": "now", "arguments": {}}'
    automaton = Language(Tools([now], tool_choice="required", parallel_tool_calls=True))
    for text in (one, f"[{one}]", f"[{one}, {one}]", f"[{one},{one},{one}]"):
        assert automaton.accepts(text.encode()), text
    for text in ("", "[]", f"{one}{one}", f"[{one}", f"[{one},]", f"{one}, {one}"):
        assert not automaton.accepts(text.encode()), text
    automaton = lowered(now, tool_choice="required", parallel_tool_calls=True)
    assert automaton.accepts(b"now()\nnow()now()")
    assert not automaton.accepts(b"now()\n")


def test_none_is_text_without_calls() -> None:
    automaton = lowered(add, now, tool_choice="none")
    assert automaton.accepts(b"<T now()")
    assert not automaton.accepts(b"<T>now() =")


def test_fingerprints_identify_the_language() -> None:
    specs = [
        Tools([add, now]),
        Tools([add]),
        Tools([add, now], "tooldec"),
        Tools([add, now], tool_choice="required"),
        Tools([add, now], tool_choice="none"),
        Tools([add, now], tool_choice="now"),
        Tools([add, now], tool_choice="required", parallel_tool_calls=True),
        Tools([add, now], max_digits=3),
        Tools([Tool(add, types={"a": parse("[0-9]")}), now]),
        Tools([Tool(add, types={"a": parse("[0-9]+(?<=1)")}), now]),
        Tools([Tool(add, types={"a": parse("[0-9]+(?<=2)")}), now]),
        Tools([add, now]).first_call(),
    ]
    fingerprints = [spec.fingerprint for spec in specs]
    assert len(set(fingerprints)) == len(fingerprints)
    assert Tools([add, now]).fingerprint == Tools([Tool(add), now], "json", "auto").fingerprint


def test_fingerprints_do_not_depend_on_what_caches_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal types of one spec are one document only if the first is still known when the second is made."""
    parts = {name: {"type": kind} for name, kind in zip("abcd", ["integer", "string"] * 2, strict=True)}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": parts}}, now]
    known = Tools(tools, "tooldec").fingerprint
    monkeypatch.setattr(schema, "_types", Memo(1))
    assert Tools(tools, "tooldec").fingerprint == known


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tool_choice": "later"}, SchemaError, "unknown tool 'later'; known tools are add, now"),
        ({"tool_choice": ["add", "later"]}, SchemaError, "unknown tool 'later'"),
        ({"tool_choice": []}, SchemaError, "an empty list allows nothing"),
        ({"tool_choice": {"type": "function"}}, SchemaError, "unknown tool None"),
        (
            {"tool_choice": 3},
            TypeError,
            "tool_choice must be 'auto', 'required', 'none', a name or a list of names, not int",
        ),
        ({"engine": "earley"}, ValueError, "engine must be 'nested' or 'lalr', not 'earley'"),
        ({"max_length": 0}, ValueError, "max_length must be an integer >= 1, not 0"),
        ({"max_digits": True}, ValueError, "max_digits must be an integer >= 1, not True"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        lowered(add, now, **options)
    assert message in str(caught.value)


def test_definitions_are_closed_where_they_do_not_say_otherwise() -> None:
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    call = '{"name": "f", "arguments": {"a": 1%s}}'
    for strict in (True, False):
        spec = Tools([definition], tool_choice="required", strict=strict)
        assert accepts(spec, call % "")
        assert accepts(spec, call % ', "b": null') != strict
        assert not accepts(spec, call % ', "a": 1')
    closed = {**definition, "parameters": {**definition["parameters"], "additionalProperties": False}}
    assert not accepts(Tools([closed], tool_choice="required", strict=False), call % ', "b": null')


def test_a_budget_of_a_compile_is_kept() -> None:
    with pytest.raises(LimitError):
        Tools([add], "tooldec").lower(Limits(states=10))
