"""The five tasks with guidance."""

import json
from typing import Any

import guidance
from pydantic import TypeAdapter
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from benchmarks.migration.tasks import LABELS, MODEL, MONTH, SUM, Person, add, get_weather

model = guidance.models.Transformers(
    AutoModelForCausalLM.from_pretrained(MODEL), PreTrainedTokenizerFast.from_pretrained(MODEL), echo=False
)


def person(prompt: str) -> Person:
    state = model + prompt + guidance.json("person", schema=Person, max_tokens=60)
    return Person.model_validate_json(state["person"])


def label(prompt: str) -> str:
    return (model + prompt + guidance.select(LABELS, name="label"))["label"]


def month(prompt: str) -> str:
    return (model + prompt + guidance.gen("month", regex=MONTH, max_tokens=20))["month"]


def total(prompt: str) -> str:
    return (model + prompt + guidance.lark(SUM, name="sum", max_tokens=20))["sum"]


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.__name__}, "arguments": TypeAdapter(tool).json_schema()},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in (add, get_weather)
    ]  # gen(tools=...) is for hosted models only
    state = model + prompt + guidance.json("call", schema={"anyOf": calls}, max_tokens=60)
    made = json.loads(state["call"])
    return made["name"], made["arguments"]  # you call the function
