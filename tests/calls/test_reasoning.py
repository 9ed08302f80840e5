"""What a model says to itself before: against a plain search for its end, in the automaton and in the parser."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.modes import CALL, REASONING, TEXT
from guided.calls.parse import CallParser, parse_text
from guided.calls.reads import TextRead
from guided.calls.spec import Tools
from guided.errors import CallError, SchemaError
from guided.limits import Limits
from tests.calls.languages import Language


def now() -> None: ...


THINK = ("<think>\n", "</think>\n\n")
CALL_NOW = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


def slow(text: str, choice: str, begin: str, end: str) -> bool:
    """Is a text allowed? By a plain search."""
    plain = Language(Tools([now], "hermes", tool_choice=choice))
    if not text.startswith(begin):
        return plain.accepts(text.encode())
    _, found, rest = text.partition(end)
    rests = [rest] if choice == "auto" else [rest, rest.removeprefix("\n"), rest.removeprefix("\n").removeprefix("\n")]
    return bool(found) and any(plain.accepts(rest.encode()) for rest in rests)


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
@pytest.mark.parametrize("reasoning", [THINK, ("", "</think>\n\n")])
@given(
    pieces=st.lists(
        st.sampled_from(["<think>", "</think>", "<", "/think>", "\n", "a", "<tool_call>", CALL_NOW, "</th"]), max_size=6
    )
)
def test_reasoning_ends_where_its_end_first_is(choice: str, reasoning: Any, pieces: list[str]) -> None:
    text = "".join(pieces)
    spec, language = spec_of(choice, reasoning)
    expected = slow(text, choice, reasoning[0].strip(), "</think>")
    assert language.accepts(text.encode()) == expected
    parser = CallParser(spec)
    if expected:
        reads = [*parser.feed(text.encode()), *parser.close()]
        thought = b"".join(read.data for read in reads if isinstance(read, TextRead) and read.is_reasoning).decode()
        is_thought = text.startswith(reasoning[0].strip())
        assert thought == (text[: text.index("</think>") + len("</think>")] if is_thought else "")
    else:
        with pytest.raises(CallError) as caught:
            parse_text(text, spec)
        assert caught.value.position == language.died_at(text.encode())


_specs: dict[Any, tuple[Tools, Language]] = {}


def spec_of(choice: str, reasoning: Any) -> tuple[Tools, Language]:
    if (choice, reasoning) not in _specs:
        spec = Tools([now], "hermes", tool_choice=choice, reasoning=reasoning)
        _specs[choice, reasoning] = spec, Language(spec)
    return _specs[choice, reasoning]


def test_no_call_begins_within_reasoning() -> None:
    spec = Tools([now], "hermes", reasoning=True)
    text = f"<think>\nI could say {CALL_NOW} or <tool_call>.\n</think>\n\nWell.\n{CALL_NOW}"
    (call,) = parse_text(text, spec)
    assert text[slice(*call.span)] == CALL_NOW
    assert call.span[1] == len(text)
    lowered: Any = spec.lower(Limits())
    assert [int(lowered.labels[lowered.run(text[:length].encode())]) for length in (0, 7, 9, 60)] == [
        TEXT,
        REASONING,
        REASONING,
        REASONING,
    ]
    assert lowered.labels[lowered.run(text[:-3].encode())] == CALL


def test_reasoning_is_read_incrementally() -> None:
    spec = Tools([now], "hermes", tool_choice="required", reasoning=True)
    data = f"<think>\nHm < é\n</think>\n\n{CALL_NOW}".encode()
    whole = CallParser(spec).feed(data)
    for size in (1, 2, 3, 7):
        parser = CallParser(spec)
        reads = [read for place in range(0, len(data), size) for read in parser.feed(data[place : place + size])]
        thought = b"".join(read.data for read in reads if isinstance(read, TextRead))
        assert thought == whole[0].data  # type: ignore[union-attr]
        assert [read for read in reads if not isinstance(read, TextRead)] == whole[1:]
        parser.close()


def test_in_harmony_analysis_is_reasoning() -> None:
    spec = Tools([now], "harmony", reasoning=True)
    text = (
        "<|channel|>analysis<|message|>I call <|channel|>commentary to=functions.now<|end|><|start|>assistant"
        "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}"
    )
    assert [call.name for call in parse_text(text, spec)] == ["now"]
    assert Language(spec).accepts(text.encode())


@pytest.mark.parametrize("reasoning", [("<think>",), ("a", " \n"), ("a", "")])
def test_reasoning_has_an_end(reasoning: Any) -> None:
    with pytest.raises(SchemaError, match="must be a pair") as caught:
        Tools([now], reasoning=reasoning)
    assert caught.value.keyword == "reasoning"


def test_a_format_without_reasoning_asks_for_its_texts() -> None:
    with pytest.raises(SchemaError, match="has no delimiters of reasoning: pass"):
        Tools([now], "react", reasoning=True)
    with pytest.raises(TypeError, match="a bool or a pair of str"):
        Tools([now], reasoning="<think>")  # type: ignore[arg-type]
