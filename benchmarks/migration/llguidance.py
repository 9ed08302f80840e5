"""The five tasks with llguidance."""

import json
from typing import Any

import llguidance
import llguidance.hf
import llguidance.torch
import torch
from pydantic import TypeAdapter
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.migration.tasks import LABELS, MODEL, MONTH, SUM, Person, add, get_weather

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
tokens = llguidance.hf.from_tokenizer(tokenizer, n_vocab=model.config.vocab_size)


@torch.inference_mode()
def generate(prompt: str, grammar: str, max_new_tokens: int) -> str:
    matcher = llguidance.LLMatcher(tokens, grammar)
    mask = llguidance.torch.allocate_token_bitmask(1, model.config.vocab_size)
    ids, begin, cache = tokenizer(prompt, return_tensors="pt").input_ids, 0, None
    text: list[int] = []
    while not matcher.is_stopped() and len(text) < max_new_tokens:
        output = model(ids[:, begin:], past_key_values=cache, use_cache=True)
        logits, cache, begin = output.logits[:, -1], output.past_key_values, ids.shape[1]
        llguidance.torch.fill_next_token_bitmask(matcher, mask)
        llguidance.torch.apply_token_bitmask_inplace(logits, mask)
        text.append(int(logits.argmax()))
        matcher.consume_token(text[-1])
        ids = torch.cat([ids, torch.tensor([[text[-1]]])], dim=1)
    if matcher.is_error():
        raise ValueError(matcher.get_error())  # errors of grammars are states, not exceptions
    return tokenizer.decode(text, skip_special_tokens=True)


def person(prompt: str) -> Person:
    grammar = llguidance.LLMatcher.grammar_from_json_schema(Person.model_json_schema())
    return Person.model_validate_json(generate(prompt, grammar, 60))


def label(prompt: str) -> str:
    choices = " | ".join(json.dumps(each) for each in LABELS)
    return generate(prompt, llguidance.LLMatcher.grammar_from_lark(f"start: {choices}"), 10)


def month(prompt: str) -> str:
    return generate(prompt, llguidance.LLMatcher.grammar_from_regex(MONTH), 20)


def total(prompt: str) -> str:
    return generate(prompt, llguidance.LLMatcher.grammar_from_lark(SUM), 20)


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.__name__}, "arguments": TypeAdapter(tool).json_schema()},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in (add, get_weather)
    ]
    made = json.loads(generate(prompt, llguidance.LLMatcher.grammar_from_json_schema({"anyOf": calls}), 60))
    return made["name"], made["arguments"]  # you call the function
