"""The five tasks with xgrammar."""

import json
from typing import Any

import xgrammar
from pydantic import TypeAdapter
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from benchmarks.migration.tasks import LABELS, MODEL, MONTH, SUM, Person, add, get_weather

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=AutoConfig.from_pretrained(MODEL).vocab_size)
compiler = xgrammar.GrammarCompiler(info)


def generate(prompt: str, grammar: xgrammar.CompiledGrammar, max_new_tokens: int) -> str:
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)  # for one call
    inputs = tokenizer(prompt, return_tensors="pt")
    output = model.generate(**inputs, max_new_tokens=max_new_tokens, logits_processor=[processor])
    return tokenizer.decode(output[0, inputs.input_ids.shape[1] :], skip_special_tokens=True)


def person(prompt: str) -> Person:
    return Person.model_validate_json(generate(prompt, compiler.compile_json_schema(Person), 60))


def label(prompt: str) -> str:
    choices = " | ".join(json.dumps(each) for each in LABELS)
    return generate(prompt, compiler.compile_grammar(f"root ::= {choices}"), 10)


def month(prompt: str) -> str:
    return generate(prompt, compiler.compile_regex(MONTH), 20)


def total(prompt: str) -> str:
    return generate(prompt, compiler.compile_lark(SUM), 20)


def call(prompt: str) -> tuple[str, dict[str, Any]]:
    tags = [
        {
            "type": "tag",
            "begin": f'{{"name": "{tool.__name__}", "arguments": ',
            "content": {"type": "json_schema", "json_schema": TypeAdapter(tool).json_schema()},
            "end": "}",
        }
        for tool in (add, get_weather)
    ]
    tag = {"type": "structural_tag", "format": {"type": "or", "elements": tags}}
    made = json.loads(generate(prompt, compiler.compile_structural_tag(tag), 60))
    return made["name"], made["arguments"]  # you call the function
