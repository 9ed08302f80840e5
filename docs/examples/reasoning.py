"""Lets a model think in free text, and then answer in JSON: one output, one constraint.

    python docs/examples/reasoning.py "What is the capital of Spain?"

The text ends its reasoning with `</think>`; what follows fits the model `City`. The reasoning takes at most 40 tokens, and the answer
is whole within `max_tokens`.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import guided


class City(BaseModel):
    """A city and where it lies."""

    name: Annotated[str, Field(min_length=1, max_length=30)]
    continent: Literal["Africa", "America", "Asia", "Europe", "Oceania"]


QUESTIONS = ["What is the capital of France?", "What is the largest city of Japan?"]
SHOT = """Question: What is the capital of Italy?
<think>Rome is the capital of Italy, and Italy is in Europe.</think>{"name": "Rome", "continent": "Europe"}

"""


def main(model: guided.LanguageModel, questions: Sequence[str]) -> None:
    """Print the reasoning and the answer to each question."""
    spec = guided.FreeText(stop="</think>", max_tokens=40).named("reasoning") + guided.JsonSchema(City).named("city")
    answer = guided.generator(model, spec)
    for question in questions:
        prompt = f"{SHOT}Question: {question}\n<think>"
        result = answer(prompt, max_tokens=90)
        print(question)
        print(f"    {result.captures['reasoning'].removesuffix('</think>').strip()!r}")
        print(f"    {result.captures['city']!r}")


if __name__ == "__main__":
    main(guided.load(), sys.argv[1:] or QUESTIONS)
