"""The tools of ``guided demo``: Python functions that return made-up, deterministic results.

Each has one example, from which few-shot prompts are built; `PLAIN` are questions that need no tool. The result of an example is the tool's
actual return value.
"""

import datetime
from typing import Literal
from zlib import crc32

from guided.calls.tool import Example, Tool

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


TOOLS = (
    Tool(
        get_weather,
        examples=[
            Example(
                "What will the weather be like in Oslo tomorrow?",
                "It will snow in Oslo tomorrow, at -3 C.",
                {"city": "Oslo", "day": "tomorrow"},
                "snow, -3 C",
            )
        ],
    ),
    Tool(
        set_alarm,
        examples=[
            Example(
                "Wake me up at 7 in the morning.",
                "Your alarm is set for 07:00.",
                {"time": "07:00"},
                "alarm set for 07:00",
            )
        ],
    ),
    Tool(
        convert_currency,
        examples=[
            Example(
                "How many euros do I get for 250 dollars?",
                "You get 230.00 euros for 250 dollars.",
                {"amount": 250, "source": "USD", "target": "EUR"},
                "230.00 EUR",
            )
        ],
    ),
    Tool(
        search_flights,
        examples=[
            Example(
                "Find me a flight from Madrid to Vienna today.",
                "There is a flight at 19:35, XY772.",
                {"origin": "Madrid", "destination": "Vienna", "day": "today"},
                "XY772 at 19:35",
            )
        ],
    ),
    Tool(
        play_music,
        examples=[
            Example(
                "Put on some songs by Nina Simone.",
                "Now playing Nina Simone.",
                {"artist": "Nina Simone"},
                "playing Nina Simone",
            )
        ],
    ),
    Tool(
        send_message,
        examples=[
            Example(
                "Tell Paul that I will be late.",
                "I told Paul that you will be late.",
                {"person": "Paul", "text": "I will be late."},
                "sent to Paul: 4 words",
            )
        ],
    ),
)

PLAIN = (
    Example("Who wrote Hamlet?", "William Shakespeare wrote Hamlet."),
    Example("What is the opposite of hot?", "The opposite of hot is cold."),
)
