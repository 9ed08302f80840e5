"""Texts of a model that chooses at random among what is allowed: each is a call that json and jsonschema take.

The tools are those of small documents and, where the data are at hand, of RestBench and BFCL. ``GUIDED_EXHAUSTIVE=1`` takes 20,000 texts.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from guided.calls.naming import distinct
from guided.calls.parse import parse_text
from guided.calls.sources.documents import read_tools
from guided.calls.spec import Tools
from guided.calls.tool import Entry, Tool
from guided.engine.compile import compile  # noqa: A004
from tests.automata.enumerated import EXHAUSTIVE
from tests.calls.ground_truth import cases
from tests.calls.sources.documents import OPENAPI, SERVICE, SWAGGER
from tests.masks import bits
from tests.real_vocabularies import real_vocabulary
from tests.schema.official import data_folder

N_WALKS = 20_000 if EXHAUSTIVE else 40
BUDGET = 60


def all_tools() -> tuple[Tool, ...]:
    tools = [tool for document in (OPENAPI, SWAGGER, SERVICE) for tool in read_tools(document)]
    for name in ("restbench", "bfcl"):
        folder = data_folder(name)
        if folder is not None:
            lists = {id(case.tools): case.tools for case in cases(name, Path(folder))}
            tools += [tool for each in lists.values() for tool in each]
    return distinct(tools)


def schema_of(tool: Tool) -> Any:
    schema = tool.schema.source.schema(tool.schema.key) if isinstance(tool.schema, Entry) else tool.schema
    return schema if isinstance(tool.schema, Entry) else {**schema, "additionalProperties": False}


@pytest.mark.parametrize("is_lazy", [True, False], ids=["inventory", "explicit"])
def test_random_texts_are_calls(is_lazy: bool) -> None:
    tools = {tool.name: tool for tool in all_tools()}
    if not is_lazy:
        tools = dict(list(tools.items())[:40])
    vocabulary = real_vocabulary("smollm2")
    spec = Tools(tools.values(), tool_choice="required")
    index = compile(spec.inventory() if is_lazy else spec, vocabulary)
    chance, seen = np.random.default_rng(3), set()
    for _ in range(N_WALKS // 2):
        guide, data = index.guide(), bytearray()
        for left in range(guide.remaining + BUDGET, 0, -1):
            token = int(chance.choice(bits(guide.mask_within(left))))
            guide.advance(token)
            if guide.is_finished:
                break
            data += vocabulary[token] or b""
        assert guide.is_accepting
        text = data.decode()
        call = json.loads(text)
        assert list(call) == ["name", "arguments"]
        schema = schema_of(tools[call["name"]])
        kind = jsonschema.Draft4Validator if "$schema" in schema else jsonschema.Draft202012Validator
        error = jsonschema.exceptions.best_match(kind(schema).iter_errors(call["arguments"]))
        assert error is None, (text, error)
        assert parse_text(text, spec)[0].name == call["name"]
        seen.add(call["name"])
    assert len(seen) >= 5
