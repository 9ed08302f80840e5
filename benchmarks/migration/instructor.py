"""The five tasks with instructor, against a server of the OpenAI API: OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL say which."""

import os
from typing import Annotated, Any, Literal

import instructor
import lark
import openai
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from benchmarks.migration.tasks import LABELS, MONTH, SUM, Person

# JSON_SCHEMA: the server enforces the schema. Other modes leave it to the model, and ask again where it fails.
client = instructor.from_openai(openai.OpenAI(timeout=300), mode=instructor.Mode.JSON_SCHEMA)


def generate(prompt: str, response_model: Any, max_tokens: int, max_retries: int = 0) -> Any:
    return client.chat.completions.create(
        model=os.environ["OPENAI_MODEL"],
        messages=[{"role": "user", "content": prompt}],
        response_model=response_model,
        max_tokens=max_tokens,
        max_retries=max_retries,
    )


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")  # otherwise a model may add members until max_tokens


def person(prompt: str) -> Person:
    return generate(prompt, Person, 60)


class Label(Closed):
    label: Literal[*LABELS]


def label(prompt: str) -> str:
    return generate(prompt, Label, 20).label


class Month(Closed):
    month: Annotated[str, Field(pattern=f"^({MONTH})$")]


def month(prompt: str) -> str:
    return generate(prompt, Month, 60).month


def is_sum(text: str) -> str:
    try:
        lark.Lark(SUM).parse(text)
    except lark.LarkError as error:
        raise ValueError(f"not a sum such as 2+3: {error}") from error
    return text


class Sum(Closed):
    sum: Annotated[str, Field(max_length=20), AfterValidator(is_sum)]


def total(prompt: str) -> str:
    return generate(prompt, Sum, 60, max_retries=3).sum  # asked again with the error, at most three times


class Add(Closed):
    name: Literal["add"]
    a: int
    b: int


class GetWeather(Closed):
    name: Literal["get_weather"]
    city: Literal["London", "Lyon", "Rome"]
    day: Literal["today", "tomorrow"]


class Call(Closed):
    call: Add | GetWeather


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    made = generate(prompt, Call, 60).call
    return made.name, made.model_dump(exclude={"name"})  # you call the function
