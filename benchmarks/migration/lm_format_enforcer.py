"""The five tasks with lm-format-enforcer."""

import json
from typing import Any

from lmformatenforcer import CharacterLevelParser, JsonSchemaParser, RegexParser
from lmformatenforcer.characterlevelparser import StringParser, UnionParser
from lmformatenforcer.integrations.transformers import (
    build_token_enforcer_tokenizer_data,
    build_transformers_prefix_allowed_tokens_fn,
)
from pydantic import TypeAdapter
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from benchmarks.migration.tasks import LABELS, MODEL, MONTH, Person, add, get_weather

tokenizer = PreTrainedTokenizerFast.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
tokens = build_token_enforcer_tokenizer_data(tokenizer)


def generate(prompt: str, parser: CharacterLevelParser, max_new_tokens: int) -> str:
    allowed = build_transformers_prefix_allowed_tokens_fn(tokens, parser)
    ids = tokenizer.encode(prompt, return_tensors="pt")
    output = model.generate(ids, max_new_tokens=max_new_tokens, prefix_allowed_tokens_fn=allowed)
    return tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True)


def person(prompt: str) -> Person:
    return Person.model_validate_json(generate(prompt, JsonSchemaParser(Person.model_json_schema()), 60))


def label(prompt: str) -> str:
    return generate(prompt, UnionParser([StringParser(each) for each in LABELS]), 10)


def month(prompt: str) -> str:
    return generate(prompt, RegexParser(MONTH), 20)


# Not offered: it has no grammars.


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    calls = [
        {
            "type": "object",
            "properties": {"name": {"enum": [tool.__name__]}, "arguments": TypeAdapter(tool).json_schema()},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in (add, get_weather)
    ]
    made = json.loads(generate(prompt, JsonSchemaParser({"anyOf": calls}), 60))
    return made["name"], made["arguments"]  # you call the function
