"""The five tasks with outlines."""

from typing import Any, Literal

import outlines
from pydantic import BaseModel, ConfigDict, TypeAdapter
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.migration.tasks import LABELS, MODEL, MONTH, SUM, Person

model = outlines.from_transformers(AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL))


def person(prompt: str) -> Person:
    return Person.model_validate_json(model(prompt, Person, max_new_tokens=60))


def label(prompt: str) -> str:
    return model(prompt, Literal[*LABELS])


def month(prompt: str) -> str:
    return model(prompt, outlines.regex(MONTH), max_new_tokens=20)


def total(prompt: str) -> str:
    return model(prompt, outlines.cfg(SUM), max_new_tokens=20)


class Add(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Literal["add"]
    a: int
    b: int


class GetWeather(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Literal["get_weather"]
    city: Literal["London", "Lyon", "Rome"]
    day: Literal["today", "tomorrow"]


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    made = TypeAdapter(Add | GetWeather).validate_json(model(prompt, Add | GetWeather, max_new_tokens=60))
    return made.name, made.model_dump(exclude={"name"})  # you call the function
