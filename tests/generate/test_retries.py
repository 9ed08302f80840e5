"""Retries: a text whose value is refused by code is generated again, with its error in view."""

import asyncio
import json
import pickle
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pytest
from pydantic import AfterValidator, BaseModel, field_validator

import guided
from guided.events import Done, Refused, Text
from guided.integrations.openai_chunks import openai_chunks
from tests.generate.models import ASCII, default_model
from tests.generate.searches import searched


def even(value: int) -> int:
    if value % 2:
        raise ValueError(f"{value} is odd")
    return value


Even = Annotated[int, AfterValidator(even)]


class City(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name not in ("Oslo", "Rome"):
            raise ValueError(f"{name} is unknown")
        return name


@dataclass
class Span:
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError("first is after last")


class Scripted(guided.FunctionModel):
    """A model that gives one answer after another, each after a prompt that the ones before made longer.

    Attributes
    ----------
    asked : list of str
        Every text whose next token it was asked for.
    """

    def __init__(self, answers: list[str], ends: Callable[[str], int]) -> None:
        super().__init__(self._logits, ASCII, lambda text: list(text.encode()))
        self._answers, self._ends = answers, ends
        self.asked: list[str] = []

    def prompt_tokens(self, prompt: Any, tools: Any = None) -> list[int]:
        if isinstance(prompt, str):
            return self.encode(prompt)
        return self.encode("".join(f"<{one['role']}>{one['content']}" for one in prompt) + "<assistant>")

    def _logits(self, tokens: list[int]) -> np.ndarray:
        text = bytes(tokens).decode()
        self.asked.append(text)
        number, begin = self._ends(text)
        answer, result = self._answers[min(number, len(self._answers) - 1)], np.zeros(ASCII.size)
        said = text[begin:]
        following = answer.encode()[len(said)] if answer.startswith(said) and len(said) < len(answer) else ASCII.eos[0]
        result[following] = 9
        return result


def completing(*answers: str) -> Scripted:
    """After a str prompt that ends with ``:``."""

    def ends(text: str) -> Any:
        number = text.count("Corrected:\n")
        return number, text.rindex("Corrected:\n") + len("Corrected:\n") if number else text.index(":") + 1

    return Scripted(list(answers), ends)


def chatting(*answers: str) -> Scripted:
    """After messages."""

    def ends(text: str) -> Any:
        return text.count("<assistant>") - 1, text.rindex("<assistant>") + len("<assistant>")

    return Scripted(list(answers), ends)


def test_the_error_is_appended_to_a_text() -> None:
    model = completing("3", "42")
    result = guided.json(model, Even)("Even:", max_tokens=5, retries=2)
    assert result.value == 42
    assert result.text == "42"
    (refused,) = result.refused
    assert refused.text == "3"
    assert "3 is odd" in str(refused.error)
    shown = f"Even:3\n\nError: {refused.error}\nCorrected:\n"
    assert shown in model.asked
    assert all(text.startswith("Even:") for text in model.asked)
    assert result.forward_passes == len(model.asked)


def test_the_error_is_a_turn_of_messages() -> None:
    model = chatting('{"name": "Atlantis"}', '{"name": "Mu"}', '{"name": "Oslo"}')
    messages = [{"role": "user", "content": "A city?"}]
    result = guided.json(model, City)(messages, max_tokens=40, retries=2)
    assert result.value == City(name="Oslo")
    first, second = result.refused
    assert json.loads(first.text) == {"name": "Atlantis"}
    expected = (
        f"<user>A city?<assistant>{first.text}<user>Error: {first.error}\nAnswer again, corrected."
        f"<assistant>{second.text}<user>Error: {second.error}\nAnswer again, corrected.<assistant>"
    )
    assert any(text.startswith(expected) for text in model.asked)
    assert messages == [{"role": "user", "content": "A city?"}]


@pytest.mark.parametrize("begun", ["Here: ", [{"type": "text", "text": "Here: "}]])
def test_a_message_that_the_text_continues_becomes_one(begun: Any) -> None:
    model = chatting("Here: 3", "4")
    # This template leaves the last message open.
    model.prompt_tokens = lambda prompt, tools=None: (  # type: ignore[method-assign]
        model.encode("<user>?<assistant>Here: ")
        if len(prompt) == 2
        else guided.FunctionModel.encode(
            model, "".join(f"<{one['role']}>{one['content']}" for one in prompt) + "<assistant>"
        )
    )
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": begun}]
    result = guided.json(model, Even)(messages, max_tokens=5, retries=1)
    assert result.value == 4
    assert any(text.startswith("<user>?<assistant>Here: 3<user>Error: ") for text in model.asked)


def test_dataclasses_refuse_in_post_init() -> None:
    model = completing('{"first": 9, "last": 2}', '{"first": 2, "last": 9}')
    generate = guided.json(model, Span)
    with pytest.raises(guided.SchemaError, match="first is after last"):
        generate("Span:", max_tokens=40)
    assert generate("Span:", max_tokens=40, retries=1).value == Span(2, 9)


def test_the_last_error_has_all_texts() -> None:
    model = completing("3", "5", "7", "8")
    with pytest.raises(guided.SchemaError, match="7 is odd") as caught:
        guided.json(model, Even)("Even:", max_tokens=5, retries=2)
    error = caught.value
    assert [text for text, _ in error.attempts] == ["3", "5", "7"]
    assert ["3 is odd" in str(one) for _, one in error.attempts] == [True, False, False]
    assert error.__notes__ == ["3 texts were refused, the last: '7'"]
    again = pickle.loads(pickle.dumps(error))
    assert [text for text, _ in again.attempts] == ["3", "5", "7"]
    assert str(again) == str(error)


def test_without_retries_the_error_has_the_text() -> None:
    model = completing("3", "4")
    with pytest.raises(guided.SchemaError, match="3 is odd") as caught:
        guided.json(model, Even)("Even:", max_tokens=5)
    assert [text for text, _ in caught.value.attempts] == ["3"]
    assert caught.value.__notes__ == ["the refused text: '3'"]
    with pytest.raises(guided.SchemaError) as caught:
        guided.json(completing("[1,1,1,1]"), list[Even], whitespace="compact")("Odd:", max_tokens=6)
    assert caught.value.__notes__ == ["the refused text: '[1,10]'; max_tokens chose a part of it"]
    result = guided.json(completing("4"), Even)("Even:", max_tokens=5, retries=3)
    assert result.refused == ()
    assert result.value == 4


class Small(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def few(cls, x: int) -> int:
        return even({8: 3, 2: 2}[x])


class Word(BaseModel):
    x: str


def test_a_validator_that_fails_is_an_error_of_its_text() -> None:
    """A bug in a user's code ends neither a batch nor a run of the command line."""
    generate = guided.json(guided.testing.scripted('{"x": 9}'), Small)
    results = generate.batch(["a", "b"], max_tokens=20)
    assert ["a validator failed: KeyError: 9" in str(result.error) for result in results] == [True, True]
    with pytest.raises(guided.SchemaError) as caught:
        generate("a", max_tokens=20)
    assert isinstance(caught.value.__cause__, KeyError)


def test_of_a_union_the_error_is_that_of_the_branch_that_the_text_fits() -> None:
    for union in (Word | Small, Small | Word):
        with pytest.raises(guided.SchemaError, match="3 is odd") as caught:
            guided.json(guided.testing.scripted('{"x": 8}'), union)("a", max_tokens=20)
        assert caught.value.pointer == "/Small/x"


def test_items_of_an_iterable_are_validated_with_the_text() -> None:
    assert guided.json(guided.testing.scripted("[2, 4]"), Iterable[Even])("a", max_tokens=20).value == [2, 4]
    with pytest.raises(guided.SchemaError, match="3 is odd"):
        guided.json(guided.testing.scripted("[2, 3]"), Iterable[Even])("a", max_tokens=20)


class Pair(NamedTuple):
    first: Iterable[Iterable[Even]]
    second: "Frozen"


@dataclass(frozen=True, slots=True)
class Frozen:
    x: tuple[Iterable[int], dict[str, Iterable[int] | None]]


def test_an_iterable_within_a_type_is_read_too() -> None:
    spec = guided.JsonSchema(Pair)
    read = spec.read('[[[2], [4, 6]], {"x": [[1], {"a": [2], "b": null}]}]')
    assert read == Pair([[2], [4, 6]], Frozen(([1], {"a": [2], "b": None})))
    with pytest.raises(guided.SchemaError, match="3 is odd"):
        spec.read('[[[2], [4, 3]], {"x": [[], {}]}]')


@dataclass(frozen=True, slots=True)
class Unusual:
    """Fields that no instance has."""

    x: Iterable[Even]
    of_init: InitVar[int]
    of_class: ClassVar[int] = 0
    never_set: int = field(init=False)


class Extended(BaseModel, extra="allow"):
    __pydantic_extra__: dict[str, Iterable[Even]]


@pytest.mark.parametrize(
    ("kind", "begin", "end", "within"),
    [
        (Unusual, '{"x": ', ', "of_init": 1}', lambda value: value.x),
        (Extended, '{"y": ', "}", lambda value: value.y),
        (deque[Iterable[Even]], "[", "]", lambda value: value[0]),
    ],
)
def test_an_iterable_is_read_wherever_it_is(kind: Any, begin: str, end: str, within: Any) -> None:
    spec = guided.JsonSchema(kind)
    assert within(spec.read(f"{begin}[2, 4]{end}")) == [2, 4]
    with pytest.raises(guided.SchemaError, match="3 is odd"):
        spec.read(f"{begin}[2, 3]{end}")


def test_each_attempt_has_its_own_budget() -> None:
    model = completing("[" + "1," * 9 + "1]", "[2]")
    generate = guided.json(model, list[Even], whitespace="compact")
    result = generate("List:", max_tokens=21, retries=1)
    assert result.value == [2]
    assert len(result.refused[0].text) == 21


def test_a_text_that_a_stop_string_cut_is_not_generated_again() -> None:
    model = completing('{"name": "Atlantis"}', '{"name": "Oslo"}')
    result = guided.json(model, City)("City:", max_tokens=40, stop="At", retries=2)
    assert isinstance(result.error, guided.IncompleteError)
    assert result.refused == ()


def test_a_stream_tells_where_the_next_text_begins() -> None:
    events = list(guided.json(completing("3", "42"), Even).stream("Even:", max_tokens=5, retries=2))
    assert [type(event).__name__ for event in events] == ["Text", "Refused", "Text", "Text", "ValueCompleted", "Done"]
    texts = [event.text for event in events if isinstance(event, Text | Refused)]
    assert texts == ["3", "3", "4", "2"]
    assert isinstance(events[-1], Done)
    with pytest.raises(ValueError, match="without retries"):
        list(openai_chunks(guided.json(completing("3", "42"), Even).stream("Even:", max_tokens=5, retries=2)))


def test_a_stream_that_is_abandoned_ends_its_text() -> None:
    stream = guided.json(completing("3", "42"), Even).stream("Even:", max_tokens=5, retries=2)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert list(stream) == []


def test_event_loops_and_batches_retry() -> None:
    generate = guided.json(completing("3", "42"), Even)
    assert asyncio.run(generate.generate_async("Even:", max_tokens=5, retries=1)).value == 42
    prompts = ["Even:", "An even number:", "Even:"]
    results = generate.batch(prompts, max_tokens=5, retries=1)
    assert [result.value for result in results] == [42, 42, 42]
    assert [len(result.refused) for result in results] == [1, 1, 1]
    failed = generate.batch(["Even:"], max_tokens=5)
    assert isinstance(failed[0].error, guided.SchemaError)


@pytest.mark.parametrize("method", ["smc", "rejection", "beam"])
def test_searches_retry(method: Any) -> None:
    generate = guided.json(completing("3", "42"), Even)
    result = generate("Even:", max_tokens=2, search=searched(method, 2), retries=30, seed=1)
    assert result.value % 2 == 0


def test_conversations_keep_the_last_text() -> None:
    chat = guided.Conversation(guided.json(chatting("3", "42"), Even), max_tokens=5, retries=1)
    assert chat("Even?").value == 42
    assert chat.messages == [{"role": "user", "content": "Even?"}, {"role": "assistant", "content": "42"}]
    chat = guided.Conversation(guided.json(chatting("3", "42"), Even), max_tokens=5, retries=1)
    assert sum(isinstance(event, Refused) for event in chat.stream("Even?")) == 1
    assert chat.messages[-1] == {"role": "assistant", "content": "42"}


def test_parts_of_compositions_are_retried() -> None:
    spec = "N=" + guided.JsonSchema(Even).named("n") + ";"
    result = guided.generator(completing("N=3;", "N=42;"), spec)("Even:", max_tokens=9, retries=1)
    assert result.captures == {"n": 42}
    assert [one.text for one in result.refused] == ["N=3;"]


def test_tools_show_errors_in_results_instead() -> None:
    def half(x: int) -> int:
        """Half."""
        return x // 2

    with pytest.raises(ValueError, match="retries must be 0"):
        guided.tools(completing("x"), [half])("x:", retries=1)


@pytest.mark.parametrize("value", [-1, True, 1.5, None])
def test_wrong_retries_are_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="retries"):
        guided.json(completing("3"), Even)("Even:", retries=value)


@pytest.mark.model
@pytest.mark.slow
def test_a_real_model_reads_the_error() -> None:
    model = default_model()

    class Capital(BaseModel):
        city: str

        @field_validator("city")
        @classmethod
        def not_the_first(cls, city: str) -> str:
            if not tried:
                tried.append(city)
            if city == tried[0]:
                raise ValueError(f"{city} was refused; name another city")
            return city

    tried = list[str]()
    generate = guided.json(model, Capital)
    messages = [{"role": "user", "content": "Name a European capital as JSON."}]
    for prompt in (messages, "Q: Name a European capital as JSON.\nA: "):
        tried.clear()
        result = generate(prompt, max_tokens=40, retries=4, repetition_penalty=1.2)
        assert result.refused
        assert result.value.city != tried[0]
        # The first text is that of a call without retries: the model's cache is not disturbed.
        kept = tried[0]
        first = generate.batch([prompt], width=1, max_tokens=40, repetition_penalty=1.2)[0]
        assert first.text == result.refused[0].text
        assert tried[0] == kept
