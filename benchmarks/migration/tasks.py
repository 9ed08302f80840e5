"""The five tasks, the same for every library."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=120)
    city: Literal["London", "Lyon", "Rome"]


LABELS = [" positive", " negative", " neutral"]
MONTH = r"20[0-9]{2}-(0[1-9]|1[0-2])"
SUM = """
start: term OPERATOR term (OPERATOR term)?
term: NUMBER | "(" start ")"
OPERATOR: "+" | "-"
NUMBER: /[0-9]{1,3}/
"""


def add(a: int, b: int) -> int:
    """Sum of two numbers."""
    return a + b


def get_weather(city: Literal["London", "Lyon", "Rome"], day: Literal["today", "tomorrow"]) -> str:
    """Weather of a city."""
    return f"{day} in {city}: sunny"


from guided.integrations.load import default_model_folder  # noqa: E402

MODEL = str(default_model_folder())  # SmolLM2-135M-Instruct; any folder or name that transformers loads

PERSON_PROMPT = 'Ada is 36 and lives in London. As JSON: {"name": "Ada", "age": 36, "city": "London"}\nTom, 41, is from Lyon. As JSON: '
LABEL_PROMPT = "Review: A waste of money.\nSentiment: negative\nReview: The best film of the year!\nSentiment:"
MONTH_PROMPT = "May 2021 is 2021-05. December 2024 is "
SUM_PROMPT = "two plus three: 2+3\nfour minus one: 4-1\nsix plus seven: "
CALL_PROMPT = (
    'Q: What is 2 plus 3?\nA: {"name": "add", "arguments": {"a": 2, "b": 3}}\n'
    "Q: How is the weather in Rome tomorrow?\nA: "
)
