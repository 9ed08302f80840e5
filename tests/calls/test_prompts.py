"""Few-shot prompts from the tools' own examples; the prompt that was measured, character by character."""

import datetime
from typing import Literal

import pytest

from guided.calls.prompts import few_shot
from guided.calls.spec import Tools
from guided.calls.tool import Example, Tool
from guided.errors import SchemaError

Day = Literal["today", "tomorrow"]
Currency = Literal["USD", "EUR"]


def get_weather(city: str, day: Day) -> str:
    return "sunny, 21 C"


def set_alarm(time: datetime.time) -> str: ...
def convert_currency(amount: float, from_: Currency, to: Currency) -> str: ...
def search_flights(origin: str, destination: str, day: Day) -> str: ...
def play_music(artist: str) -> str: ...
def send_message(person: str, text: str) -> str: ...


def example(question: str, answer: str, result: str, **call: object) -> Example:
    return Example(question, answer, {name.rstrip("_"): value for name, value in call.items()}, result)


TOOLS = [
    Tool(
        get_weather,
        examples=[
            example(
                "What will the weather be like in Oslo tomorrow?",
                "It will snow in Oslo tomorrow, at -3 C.",
                "snow, -3 C",
                city="Oslo",
                day="tomorrow",
            )
        ],
    ),
    Tool(
        set_alarm,
        examples=[
            example("Wake me up at 7 in the morning.", "Your alarm is set for 07:00.", "alarm set", time="07:00")
        ],
    ),
    Tool(
        convert_currency,
        examples=[
            example(
                "How many euros do I get for 250 dollars?",
                "You get 230.00 euros for 250 dollars.",
                "230.00",
                amount=250,
                from_="USD",
                to="EUR",
            )
        ],
    ),
    Tool(
        search_flights,
        examples=[
            example(
                "Find me a flight from Madrid to Vienna today.",
                "There is a flight at 18:05, IB3120.",
                "IB3120 at 18:05",
                origin="Madrid",
                destination="Vienna",
                day="today",
            )
        ],
    ),
    Tool(
        play_music,
        examples=[
            example("Put on some songs by Nina Simone.", "Now playing Nina Simone.", "playing", artist="Nina Simone")
        ],
    ),
    Tool(
        send_message,
        examples=[
            example(
                "Tell Paul that I will be late.",
                "I told Paul that you will be late.",
                "sent",
                person="Paul",
                text="I will be late.",
            )
        ],
    ),
]
PLAIN = [
    Example("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
    Example("What is the opposite of hot?", "The opposite of hot is cold."),
]
MEASURED = """\
Q: What will the weather be like in Oslo tomorrow?
A: <T>get_weather(city="Oslo", day="tomorrow") = snow, -3 C
It will snow in Oslo tomorrow, at -3 C.

Q: Who wrote Hamlet?
A: William Shakespeare wrote Hamlet.

Q: Wake me up at 7 in the morning.
A: <T>set_alarm(time="07:00") = alarm set
Your alarm is set for 07:00.

Q: How many euros do I get for 250 dollars?
A: <T>convert_currency(amount=250, from="USD", to="EUR") = 230.00
You get 230.00 euros for 250 dollars.

Q: Find me a flight from Madrid to Vienna today.
A: <T>search_flights(origin="Madrid", destination="Vienna", day="today") = IB3120 at 18:05
There is a flight at 18:05, IB3120.

Q: What is the opposite of hot?
A: The opposite of hot is cold.

Q: Put on some songs by Nina Simone.
A: <T>play_music(artist="Nina Simone") = playing
Now playing Nina Simone.

Q: Tell Paul that I will be late.
A: <T>send_message(person="Paul", text="I will be late.") = sent
I told Paul that you will be late.

Q: Will it be sunny in Berlin tomorrow?
A:"""


def test_the_prompt_that_was_measured() -> None:
    assert few_shot(Tools(TOOLS, "tooldec"), "Will it be sunny in Berlin tomorrow?", PLAIN) == MEASURED


def test_plain_examples_may_be_pairs() -> None:
    pairs = [(example.question, example.answer) for example in PLAIN]
    assert few_shot(Tools(TOOLS, "tooldec"), "Will it be sunny in Berlin tomorrow?", pairs) == MEASURED
    with pytest.raises(TypeError, match="a pair of str"):
        few_shot(Tools(TOOLS, "tooldec"), "?", ["Who?"])  # type: ignore[list-item]


def test_without_plain_examples_only_the_tools_own_are_shown() -> None:
    prompt = few_shot(Tools(TOOLS[:1], "tooldec"), "And in Rome?")
    assert prompt == MEASURED.split("\n\n")[0] + "\n\nQ: And in Rome?\nA:"


def test_other_formats_write_the_same_examples() -> None:
    prompt = few_shot(Tools(TOOLS[:1], "json"), "And in Rome?")
    assert (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "day": "tomorrow"}}\n</tool_call>' in prompt
    )
    assert "\n<tool_response>\nsnow, -3 C\n</tool_response>\nIt will snow" in prompt
    prompt = few_shot(Tools(TOOLS[:1], "tooldec-positional"), "And in Rome?")
    assert 'A: <T>get_weather("Oslo", "tomorrow")=snow, -3 C' in prompt


@pytest.mark.parametrize(
    ("count", "places"), [(1, [3]), (2, [1, 4]), (3, [1, 3, 5]), (6, [1, 1, 2, 3, 4, 5]), (12, None)]
)
def test_plain_examples_are_spread_evenly(count: int, places: list[int] | None) -> None:
    plain = [Example(f"plain {i}?", "yes") for i in range(count)]
    blocks = few_shot(Tools(TOOLS, "tooldec"), "?", plain).split("\n\n")[:-1]
    before = [sum("<T>" in block for block in blocks[: blocks.index(f"Q: plain {i}?\nA: yes")]) for i in range(count)]
    assert before == sorted(before)
    assert len(blocks) == len(TOOLS) + count
    if places is not None:
        assert before == places


def test_an_example_without_a_call_is_shown_as_it_is() -> None:
    tool = Tool(play_music, examples=[Example("Who are you?", "A machine.")])
    assert few_shot(Tools([tool], "tooldec"), "?") == "Q: Who are you?\nA: A machine.\n\nQ: ?\nA:"


def test_values_of_python_are_written_as_json() -> None:
    tool = Tool(set_alarm, examples=[Example("?", "ok", {"time": datetime.time(7, 30)}, None)])
    assert '<T>set_alarm(time="07:30:00") = null' in few_shot(Tools([tool], "tooldec"), "?")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ({"artist": 3}, "is not a call of the tool"),
        ({"singer": "x"}, "has no argument 'singer'"),
        ({}, "is missing its argument 'artist'"),
    ],
)
def test_an_example_that_is_not_a_call_is_refused(call: dict[str, object], reason: str) -> None:
    tool = Tool(play_music, examples=[Example("?", "ok", call, "playing")])
    with pytest.raises(SchemaError, match=reason) as caught:
        few_shot(Tools([tool], "tooldec"), "?")
    assert caught.value.pointer.startswith("/play_music")


def test_prompts_need_examples_and_running_text() -> None:
    with pytest.raises(SchemaError, match="no tool has examples"):
        few_shot(Tools([play_music], "tooldec"), "?")
    with pytest.raises(SchemaError, match="only allows calls"):
        few_shot(Tools(TOOLS, "tooldec", tool_choice="required"), "?")
