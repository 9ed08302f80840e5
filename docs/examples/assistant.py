"""An assistant with the weather and a calendar. It asks before it writes into the calendar, and gives slow tools five seconds.

    python docs/examples/assistant.py "What is on my calendar tomorrow?"

The weather is made up; the calendar is a dict.
"""

import datetime
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import guided

Day = Literal["today", "tomorrow"]
Confirm = Callable[[guided.events.Call], bool | str]
CALENDAR = {"today": ["09:00 dentist"], "tomorrow": ["18:30 cinema with Ada"]}


async def get_weather(city: str, day: Day) -> str:
    """The weather in a city."""
    return "sunny, 21 C" if day == "tomorrow" else "rain, 12 C"


def show_calendar(day: Day) -> str:
    """What is on the calendar."""
    return "; ".join(CALENDAR[day]) or "nothing"


def add_event(day: Day, time: datetime.time, title: Annotated[str, guided.Regex(r"[\w' ]{1,40}")]) -> str:
    """Put something on the calendar."""
    CALENDAR[day].append(f"{time:%H:%M} {title}")
    return "added"


TOOLS = [
    guided.Tool(
        add_event,
        examples=[
            {
                "question": "Put dinner with Bob on my calendar for tomorrow at 19:00.",
                "call": {"day": "tomorrow", "time": "19:00", "title": "dinner with Bob"},
                "result": "added",
                "answer": "Dinner with Bob is on your calendar for tomorrow at 19:00.",
            }
        ],
    ),
    guided.Tool(
        get_weather,
        examples=[
            {
                "question": "What will the weather be like in Oslo tomorrow?",
                "call": {"city": "Oslo", "day": "tomorrow"},
                "result": "snow, -3 C",
                "answer": "It will snow in Oslo tomorrow, at -3 C.",
            }
        ],
    ),
    guided.Tool(
        show_calendar,
        examples=[
            {
                "question": "What is on my calendar today?",
                "call": {"day": "today"},
                "result": "10:00 meeting; 12:30 lunch",
                "answer": "You have a meeting at 10:00 and lunch at 12:30.",
            }
        ],
    ),
]
PLAIN = [("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."), ("What do cats eat?", "Cats eat fish.")]
QUESTIONS = [
    "What will the weather be like in Berlin tomorrow?",
    "What is on my calendar tomorrow?",
    "Put chess with Eve on my calendar for today at 20:15.",
    "What do bees make?",
]


def confirm(call: guided.events.Call) -> bool | str:
    """Reading is free; writing has to be confirmed, in the terminal."""
    if call.name != "add_event":
        return True
    return input(f"    {call.name} {call.arguments}: y/n? ") == "y" or "the user said no"


def main(model: guided.LanguageModel, questions: Sequence[str], confirm: Confirm = confirm) -> None:
    """Print what is said and done, as it comes."""
    assistant = guided.tools(model, TOOLS, format="tooldec", confirm=confirm, timeout=5)
    for question in questions:
        print(question)
        for event in assistant.stream(assistant.few_shot(question, PLAIN), max_tokens=60, stop="\nQ:"):
            match event:
                case guided.events.Text(text):
                    print(text, end="", flush=True)
                case guided.events.ToolCall(text=text):
                    print(f"\n    {text}")
                case guided.events.ToolResult(text=text):
                    print(f"    {text.strip()}")
        print("\n")


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS)
