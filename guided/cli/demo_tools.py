"""The tools of ``guided demo``: Python functions that return made-up, deterministic results.

Each has one example in ``demo_examples.json``, from which few-shot prompts are built; `PLAIN` are questions that need no tool.
The result of an example is the tool's actual return value.
"""

import datetime
from importlib.resources import files
from typing import Literal
from zlib import crc32

from guided.calls.tool import Example, Tool
from guided.schema.frontend.json_values import parse_json

__all__ = ["NAMED_TYPES", "PLAIN", "TOOLS"]

Day = Literal["today", "tomorrow"]
Currency = Literal["USD", "EUR", "GBP", "JPY"]
NAMED_TYPES = {"Day": Day, "Currency": Currency}

_SKIES = ("snow", "cloudy", "sunny", "rain")
_PER_DOLLAR = {"USD": 1.0, "EUR": 0.92, "GBP": 0.79, "JPY": 150.0}


def get_weather(city: str, day: Day) -> str:
    """The weather in a city."""
    number = _number(city, day)
    sky = _SKIES[number % len(_SKIES)]
    degrees = number // 5 % 12
    return f"{sky}, {-degrees if sky == 'snow' else 10 + degrees} C"


def set_alarm(time: datetime.time) -> str:
    """Set the alarm clock."""
    return f"alarm set for {time:%H:%M}"


def convert_currency(amount: float, source: Currency, target: Currency) -> str:
    """Convert money."""
    return f"{amount / _PER_DOLLAR[source] * _PER_DOLLAR[target]:.2f} {target}"


def search_flights(origin: str, destination: str, day: Day) -> str:
    """Find a flight."""
    number = _number(origin, destination, day)
    return f"XY{number % 900 + 100} at {number // 7 % 16 + 6:02}:{number // 11 % 12 * 5:02}"


def play_music(artist: str) -> str:
    """Play an artist's music."""
    return f"playing {artist}"


def send_message(person: str, text: str) -> str:
    """Send a message to someone."""
    return f"sent to {person}: {len(text.split())} words"


def _number(*words: str) -> int:
    """A pseudo-random number that depends only on the words."""
    return crc32(" ".join(words).casefold().encode())


_EXAMPLES = {
    name: [Example(*example) for example in examples]
    for name, examples in parse_json(
        files("guided.cli").joinpath("demo_examples.json").read_text(encoding="utf-8")
    ).items()
}
TOOLS = tuple(
    Tool(function, examples=_EXAMPLES[function.__name__])
    for function in (get_weather, set_alarm, convert_currency, search_flights, play_music, send_message)
)
PLAIN = tuple(_EXAMPLES["no tool"])
