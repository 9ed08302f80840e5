"""The questions of ``guided demo``, each with the call that answers it.

The first five are shown by default; one of them needs no tool.
"""

import datetime
from dataclasses import dataclass
from typing import Any

__all__ = ["QUESTIONS", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the call that answers it.

    Attributes
    ----------
    text : str
        The question.
    tool : str or None
        The tool to call; None if no call is needed.
    arguments : dict
        Typed values. Texts are compared ignoring case and final full stops.
    """

    text: str
    tool: str | None
    arguments: dict[str, Any]


def _weather(text: str, city: str, day: str) -> Question:
    return Question(text, "get_weather", {"city": city, "day": day})


def _alarm(text: str, hour: int, minute: int = 0) -> Question:
    return Question(text, "set_alarm", {"time": datetime.time(hour, minute)})


def _money(text: str, amount: float, source: str, target: str) -> Question:
    return Question(text, "convert_currency", {"amount": amount, "source": source, "target": target})


def _flight(text: str, origin: str, destination: str, day: str) -> Question:
    return Question(text, "search_flights", {"origin": origin, "destination": destination, "day": day})


def _music(text: str, artist: str) -> Question:
    return Question(text, "play_music", {"artist": artist})


def _message(text: str, person: str, message: str) -> Question:
    return Question(text, "send_message", {"person": person, "text": message})


QUESTIONS = (
    _weather("Will it be sunny in Berlin tomorrow?", "Berlin", "tomorrow"),
    _money("Convert 100 dollars to euros.", 100.0, "USD", "EUR"),
    _music("Put on a record by Johnny Cash.", "Johnny Cash"),
    _alarm("Set an alarm for 6:45 am.", 6, 45),
    Question("What do bees make?", None, {}),
    _weather("How is the weather in Rome today?", "Rome", "today"),
    _weather("Do I need an umbrella in London today?", "London", "today"),
    _weather("Is it going to rain in Paris tomorrow?", "Paris", "tomorrow"),
    _alarm("Wake me at half past eight in the morning.", 8, 30),
    _alarm("I have to get up at 5:30.", 5, 30),
    _alarm("Set my alarm to 10 in the morning.", 10),
    _money("How much is 50 euros in dollars?", 50.0, "EUR", "USD"),
    _money("What are 20 pounds worth in euros?", 20.0, "GBP", "EUR"),
    _money("How many yen do I get for 75 dollars?", 75.0, "USD", "JPY"),
    _flight("Is there a flight from Lisbon to Prague tomorrow?", "Lisbon", "Prague", "tomorrow"),
    _flight("I want to fly from Boston to Chicago today.", "Boston", "Chicago", "today"),
    _flight("Which flights go from Tokyo to Seoul tomorrow?", "Tokyo", "Seoul", "tomorrow"),
    _flight("Book me a flight from Athens to Cairo today.", "Athens", "Cairo", "today"),
    _music("Play something by Miles Davis.", "Miles Davis"),
    _music("I would like to hear Amy Winehouse.", "Amy Winehouse"),
    _music("Play the Beatles.", "The Beatles"),
    _message("Tell Anna that dinner is ready.", "Anna", "Dinner is ready."),
    _message("Send Tom a message that I am on my way.", "Tom", "I am on my way."),
    _message("Let Maria know that the meeting is cancelled.", "Maria", "The meeting is cancelled."),
    _message("Write to Ben that I love the book.", "Ben", "I love the book."),
)
