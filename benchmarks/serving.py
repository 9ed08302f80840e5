"""Structured output as vLLM serves it: ``python -m benchmarks.serving [--backend NAME ...] [--batch N ...] [--rounds N]``.

Starts one server after the other (``benchmarks.serving_server``: the default model on the CPU), in as many rounds as asked for, backends in
alternating order, because a shared machine changes from minute to minute. Needs vLLM: ``make test-serving`` makes an environment.

- *throughput*: tokens per second of a batch under a schema, over those of the same batch without constraint, measured directly before:
  mean over the rounds, and its standard error.
- *TTFT*: milliseconds to the first token of schemas that the server has never seen, one at a time: median, p99, maximum; and of the same
  schemas again, and without constraint.
- *stalls*: the longest gap between tokens of streams that run while new schemas arrive; and while requests without constraint do: median
  over the rounds.
- *mask*: microseconds per row of the bitmask in the engine, of known and new masks: mean over the rounds (``benchmarks.serving_timing``).
- *refused*: schemas answered with HTTP 400; *wrong*: complete answers that are not valid, and other errors.

Schemas are made by number, from parts that all backends claim to support, so that figures compare the same work.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, load, processor, write
from benchmarks.serving_server import MODEL, Server, is_installed, serving
from benchmarks.serving_timing import per_row, variables
from benchmarks.tables import table

__all__ = ["main", "schema"]

BACKENDS = ("guided", "xgrammar", "guidance", "outlines")
_MESSAGES = [{"role": "user", "content": "Answer with one short JSON value."}]
_numbers = itertools.count(int(time.time()) % 1_000_000 * 1_000)


def schema(number: int) -> dict[str, Any]:
    """A schema for each number, of up to a dozen properties."""
    leaves: list[dict[str, Any]] = [
        {"type": "string", "maxLength": 20},
        {"type": "integer", "minimum": 0, "maximum": 1000},
        {"enum": [f"red{number}", "green", "blue"]},
        {"type": "array", "items": {"type": "string", "maxLength": 10}, "maxItems": 4},
        {"type": "boolean"},
    ]
    names = [f"field{number}_{place}" for place in range(2 + number % 10)]
    nested = {
        "type": "object",
        "properties": {f"inner{number}": leaves[number % 5]},
        "required": [f"inner{number}"],
        "additionalProperties": False,
    }
    properties = {name: leaves[(place + number) % 5] for place, name in enumerate(names)} | {"nested": nested}
    return {"type": "object", "properties": properties, "required": [*names, "nested"], "additionalProperties": False}


def new_schema() -> dict[str, Any]:
    """A schema that no server has seen."""
    return schema(next(_numbers))


def _options(given: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    options = {"model": MODEL, "messages": _MESSAGES, "temperature": 0.7, **more}
    if given is not None:
        options["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": given}}
    return options


async def throughput(client: Any, batch: int, tokens: int, constrained: bool) -> tuple[float, dict[str, int]]:
    """Tokens per second of a batch, and how the requests ended."""
    import openai

    ends: dict[str, int] = defaultdict(int)
    count = 0

    async def one(seed: int) -> None:
        nonlocal count
        given = new_schema() if constrained else None
        try:
            answer = await client.chat.completions.create(
                **_options(given, max_tokens=tokens, seed=seed), extra_body={} if constrained else {"ignore_eos": True}
            )
        except openai.APIStatusError as error:
            ends["refused" if error.status_code == 400 else "wrong"] += 1
            return
        count += answer.usage.completion_tokens
        ends[_end(answer.choices[0], given)] += 1

    begin = time.perf_counter()
    await asyncio.gather(*(one(seed) for seed in range(batch)))
    return count / (time.perf_counter() - begin), ends


def _end(choice: Any, given: dict[str, Any] | None) -> str:
    import jsonschema

    if given is None or choice.finish_reason == "length":
        return "length"
    try:
        is_valid = jsonschema.Draft202012Validator(given).is_valid(json.loads(choice.message.content))
    except ValueError:
        is_valid = False
    return "valid" if is_valid and choice.finish_reason == "stop" else "wrong"


async def first_token(client: Any, given: dict[str, Any] | None) -> float:
    """Seconds to the first token."""
    begin = time.perf_counter()
    found = 0.0
    async for chunk in await client.chat.completions.create(**_options(given, max_tokens=2), stream=True):
        if not found and chunk.choices and chunk.choices[0].delta.content:
            found = time.perf_counter() - begin
    return found or time.perf_counter() - begin


async def longest_gap(client: Any, streams: int, tokens: int, arriving: int, constrained: bool) -> float:
    """Seconds of the longest gap between tokens of streams, while other requests arrive."""
    gaps = []

    async def stream() -> None:
        options = _options(None, max_tokens=tokens)
        last = 0.0
        async for _ in await client.chat.completions.create(**options, stream=True, extra_body={"ignore_eos": True}):
            now = time.perf_counter()
            if last:
                gaps.append(now - last)
            last = now

    async def arrive() -> None:
        for _ in range(arriving):
            await first_token(client, new_schema() if constrained else None)

    await asyncio.gather(arrive(), *(stream() for _ in range(streams)))
    return max(gaps)


async def measured(server: Server, batches: list[int], tokens: int, fresh: int) -> dict[str, Any]:
    """All figures of one server."""
    found: dict[str, Any] = {"backend": server.backend, "ratios": {}, "ends": defaultdict(int)}
    async with server.async_client() as client:
        for constrained in (False, True):  # warm
            await throughput(client, 2, 8, constrained)
        for batch in batches:
            free, _ = await throughput(client, batch, tokens, constrained=False)
            guided, ends = await throughput(client, batch, tokens, constrained=True)
            found["ratios"][batch] = guided / free
            for end, count in ends.items():
                found["ends"][end] += count
        schemas = [new_schema() for _ in range(fresh)]
        found["plain"] = [await first_token(client, None) for _ in range(fresh)]
        found["new"] = [await first_token(client, one) for one in schemas]
        found["again"] = [await first_token(client, one) for one in schemas]
        found["stall"] = await longest_gap(client, 4, tokens, fresh // 4 + 1, constrained=True)
        found["stall_plain"] = await longest_gap(client, 4, tokens, fresh // 4 + 1, constrained=False)
    found["mask"] = per_row(server.metrics())
    return found


def _milliseconds(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"{1e3 * statistics.median(ordered):.0f} / {1e3 * p99:.0f} / {1e3 * ordered[-1]:.0f}"


def _ratio(ratios: list[float]) -> str:
    """The mean over rounds, with its standard error if there are several."""
    mean = f"{statistics.mean(ratios):.2f}"
    return f"{mean} ± {statistics.stdev(ratios) / len(ratios) ** 0.5:.2f}" if len(ratios) > 1 else mean


def _report(rounds: list[dict[str, Any]], batches: list[int]) -> str:
    by_backend: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in rounds:
        by_backend[one["backend"]].append(one)
    rows = []
    for backend, runs in by_backend.items():
        ends = {end: sum(run["ends"][end] for run in runs) for end in ("valid", "length", "refused", "wrong")}
        masks = [1e6 * run["mask"] for run in runs if run["mask"]]
        rows.append([
            backend,
            *(_ratio([run["ratios"][batch] for run in runs]) for batch in batches),
            *(_milliseconds([value for run in runs for value in run[key]]) for key in ("new", "again", "plain")),
            *(f"{1e3 * statistics.median(run[key] for run in runs):.0f}" for key in ("stall", "stall_plain")),
            " / ".join(str(count) for count in ends.values()),
            f"{statistics.mean(masks):.1f}" if masks else "-",
        ])  # fmt: skip
    heads = [
        "backend", *(f"throughput, batch {batch}" for batch in batches), "TTFT new, ms", "TTFT again, ms",
        "TTFT without, ms", "stall, ms", "stall without, ms", "valid / cut / refused / wrong", "mask, us/row",
    ]  # fmt: skip
    return table(heads, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", nargs="+", default=list(BACKENDS))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--tokens", type=int, default=64, help="budget of a request")
    parser.add_argument("--schemas", type=int, default=40, help="never-seen schemas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where all figures go, after each server")
    given = parser.parse_args()
    if not is_installed():
        print("vLLM is not installed: make test-serving makes an environment", file=sys.stderr)
        return 2
    about = {"command": f"python -m benchmarks.serving {' '.join(sys.argv[1:])}", **describe("vllm")}
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.rounds):
            for backend in given.backend if number % 2 == 0 else reversed(given.backend):
                log = Path(folder) / f"{number}-{backend}.log"
                with serving(backend, log, variables=variables(Path(folder) / "plugin")) as server:
                    rounds.append(asyncio.run(measured(server, given.batch, given.tokens, given.schemas)))
                print(f"round {number + 1}, {backend}, load {load()}", file=sys.stderr, flush=True)
                if given.json:
                    write({**about, "load at end": load(), "rounds": rounds}, given.json)
    print(f"{processor()}, load {load()}\n")
    print(_report(rounds, given.batch))
    return int(any(one["backend"] == "guided" and one["ends"]["wrong"] for one in rounds))


if __name__ == "__main__":
    sys.exit(main())
