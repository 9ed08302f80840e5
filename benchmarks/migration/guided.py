"""The five tasks with guided."""

from typing import Any

import guided
from benchmarks.migration.tasks import LABELS, MODEL, MONTH, SUM, Person, add, get_weather

model = guided.load(MODEL)


def person(prompt: str) -> Person:
    return guided.json(model, Person)(prompt, max_tokens=60).value


def label(prompt: str) -> dict[str, float]:
    return guided.choice(model, LABELS, probabilities=True)(prompt).probabilities  # they sum to 1


def month(prompt: str) -> str:
    return guided.regex(model, MONTH)(prompt, max_tokens=20).text


def total(prompt: str) -> str:
    return guided.grammar(model, SUM)(prompt, max_tokens=20).text  # .value is Lark's tree


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    result = guided.tools(model, [add, get_weather], format="json", tool_choice="required")(prompt, max_tokens=60)
    (made,) = result.calls
    return made.name, made.arguments  # the function has run: made.result
