"""Servers with other settings: n-gram speculation, a cache too small for all requests, and options of JSON."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.serving_server import Server, serving
from tests.serving.calls import ask
from tests.serving.conftest import BACKEND
from tests.serving.test_load import a_schema, counted, outcomes

VARIANTS = {
    "speculation": (
        ["--speculative-config", json.dumps({"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4})],
        {},
    ),
    # Six blocks of 128 tokens, of which each of the long texts below needs two: some are preempted and computed again.
    "preemption": (["--num-gpu-blocks-override", "6", "--max-model-len", "512"], {}),
    "compact JSON": ([], {"disable_any_whitespace": True}),
}


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Server]]:
    more, config = VARIANTS[request.param]
    log: Path = tmp_path_factory.mktemp("serving") / "server.log"
    with serving(BACKEND, log, more, **config) as running:
        yield request.param, running


def test_answers_are_valid(variant: tuple[str, Server]) -> None:
    name, server = variant
    schemas = [a_schema(number) for number in range(16)]
    kinds = counted(asyncio.run(outcomes(server.async_client(), schemas, 16, max_tokens=120)))
    assert set(kinds) <= {"valid", "length"}
    assert kinds["valid"] >= 8
    digits = ask(server.client(), "1 2 3 1 2 3 1 2 3", structured={"regex": r"\d( \d){8}"})
    assert re.fullmatch("[0-9]( [0-9]){8}", digits.choices[0].message.content)
    if name == "compact JSON":
        answer = ask(server.client(), "Digits", structured={"json": {"const": [1, {"a": 2}]}})
        assert answer.choices[0].message.content == '[1,{"a":2}]'
    if name == "preemption":
        texts = asyncio.run(long_texts(server, 6))
        assert all(re.fullmatch("[a-z]( [a-z]){119}", text) for text in texts)
        preempted = [value for key, value in server.metrics().items() if key.startswith("vllm:num_preemptions_total")]
        assert sum(preempted) > 0
    assert server.is_alive()


async def long_texts(server: Server, count: int) -> list[str]:
    """Texts of more than a hundred tokens, at once."""
    async with server.async_client() as client:
        answers = await asyncio.gather(*(
            ask(client, "Letters", structured={"regex": "[a-z]( [a-z]){119}"}, max_tokens=300, seed=seed, temperature=1.0)
            for seed in range(count)
        ))  # fmt: skip
    return [answer.choices[0].message.content for answer in answers]
