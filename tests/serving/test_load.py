"""Many requests at once, requests that end early, and long runs: nothing invalid is completed, and the engine lives."""

import asyncio
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.serving_server import MODEL, Server, serving
from tests.hostile.table import ROWS
from tests.serving.calls import Outcome, as_schema, ask, judged, openai
from tests.serving.conftest import BACKEND
from tests.serving.schemas import made_schema

# Schemas of MaskBench, one file each: {"schema": ...}. Without them, others are made.
SCHEMAS = Path(os.environ.get("GUIDED_DATA") or os.devnull) / "maskbench-dev"
# Schemas of `test_many_schemas`, and requests of the soak.
COUNT = int(os.environ.get("SERVING_COUNT", "200"))
SOAK = int(os.environ.get("SERVING_SOAK", "2000"))


def a_schema(number: int) -> Any:
    """A schema of its own for each number, with short values."""
    kinds: list[Any] = [
        {"type": "string", "maxLength": 1 + number % 7},
        {"type": "integer", "minimum": number, "maximum": number + 50},
        {"enum": [f"{number}-{letter}" for letter in "abc"]},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
    ]
    return {
        "type": "object",
        "properties": {f"k{number}": kinds[number % 4], "x": kinds[(number + 1) % 4]},
        "required": [f"k{number}"],
        "additionalProperties": False,
        "$comment": f"{number}",
    }


async def outcomes(client: Any, schemas: list[Any], at_once: int, **options: Any) -> list[Outcome]:
    gate = asyncio.Semaphore(at_once)

    async def one(number: int, schema: Any) -> Outcome:
        async with gate:
            return await judged(client, schema, **{"seed": number, "temperature": 0.7, **options})

    async with client:
        return await asyncio.gather(*(one(number, schema) for number, schema in enumerate(schemas)))


def counted(found: list[Outcome]) -> Counter[str]:
    return Counter(outcome.kind for outcome in found)


def test_32_requests_with_32_schemas_at_once(server: Server) -> None:
    schemas = [a_schema(number) for number in range(32)]
    kinds = counted(asyncio.run(outcomes(server.async_client(), schemas, 32)))
    assert set(kinds) <= {"valid", "length"}
    assert kinds["valid"] >= 24


def test_a_request_that_is_aborted_disturbs_no_other(server: Server) -> None:
    async def both() -> Outcome:
        async with server.async_client() as client:
            stream = await ask(client, "Letters", structured={"regex": "[a-z]{500}"}, max_tokens=400, stream=True)
            other = asyncio.create_task(judged(client, a_schema(3)))
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    break
            await stream.close()
            return await other

    assert asyncio.run(both()).kind in ("valid", "length")


def many_schemas() -> dict[str, Any]:
    """Real schemas by name where there are some, otherwise made ones."""
    if not SCHEMAS.is_dir():
        return {f"made_schema({number})": made_schema(number) for number in range(COUNT)}
    files = sorted(SCHEMAS.glob("*.json"))
    random.Random(7).shuffle(files)
    return {file.name: json.loads(file.read_text(encoding="utf-8"))["schema"] for file in files[:COUNT]}


def test_many_schemas(server: Server, record: Callable[[str], None]) -> None:
    schemas = many_schemas()
    results = asyncio.run(outcomes(server.async_client(), list(schemas.values()), 24, max_tokens=60))
    kinds = counted(results)
    record(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    for name, result in zip(schemas, results, strict=True):
        if result.kind not in ("valid", "length"):
            print(name, result.kind, result.text[:300])
    assert kinds["failed"] == 0
    assert kinds["invalid"] == 0
    assert kinds["refused"] <= len(schemas) // 20
    assert all(len(result.text) > 30 for result in results if result.kind == "refused")


@pytest.mark.slow
def test_memory_stays_flat(tmp_path: Path, record: Callable[[str], None]) -> None:
    """Every request has a schema that the server has not seen. Few indices are kept, so that the caches are full after the first half.

    The worker holds no constraints. It grows while vLLM's cache of keys and values, 1 GiB, is used for the first time.
    """
    with serving(BACKEND, tmp_path / "server.log", variables={"GUIDED_INDEX_CACHE_MB": "64"}) as server:
        sizes = [server.memory()]
        for part in range(10):
            schemas = [a_schema(1000 + part * SOAK // 10 + number) for number in range(SOAK // 10)]
            kinds = counted(asyncio.run(outcomes(server.async_client(), schemas, 24, max_tokens=24)))
            assert set(kinds) <= {"valid", "length"}
            sizes.append(server.memory())
            print("MB:", {name: size >> 20 for name, size in sizes[-1].items()}, dict(kinds), flush=True)
        assert server.is_alive()
    growth = {name: sizes[-1][name] - sizes[5][name] >> 20 for name in sizes[-1]}
    record(f"growth in the second half, MB: {growth}")
    assert growth["front end"] < 32
    assert growth["VLLM::EngineCore"] < 32


def test_the_server_answers_while_schemas_are_checked(server: Server, record: Callable[[str], None]) -> None:
    """The event loop of the front end is free: requests of its own, which need no engine, are answered."""

    async def answers(grammars: list[str]) -> tuple[int, float]:
        """How many requests are answered before the last check ends, and the longest time that one of thirty or more takes."""
        meanwhile = 0
        async with server.async_client() as client:
            tasks = [
                asyncio.create_task(ask(client, "x", structured={"grammar": text}, max_tokens=1)) for text in grammars
            ]
            times = []
            while len(times) < 30 or not all(task.done() for task in tasks):
                begin = time.perf_counter()
                await client.models.list()
                times.append(time.perf_counter() - begin)
                meanwhile += not all(task.done() for task in tasks)
            for error in await asyncio.gather(*tasks, return_exceptions=True):
                assert server.backend != "guided" or isinstance(error, openai.BadRequestError)
            return meanwhile, max(times)

    checks = 8
    (_, idle), (meanwhile, busy) = (
        asyncio.run(answers(given)) for given in ([], [costly_grammar(i) for i in range(checks)])
    )
    record(f"longest answer {1e3 * busy:.0f} ms, {1e3 * idle:.0f} ms without checks; {meanwhile} answers meanwhile")
    # Of checks in the loop at most one could end between two answers.
    assert meanwhile > 2 * checks


# Schemas without a text: Python does not write such depths, and what is in 2^n places has no end.
UNWRITTEN = ("n levels of", "of n levels", "in 2^n places")
FIELDS = {"schema": "json", "grammar": "grammar", "tag": "structural_tag"}


def hostile_bodies(count: int) -> list[bytes]:
    """Requests of different rows of the hostile table, at full size: all tags, and as many schemas as grammars."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in FIELDS}
    for name, row in ROWS.items():
        if row.kind in FIELDS and not (row.kind == "schema" and any(part in name for part in UNWRITTEN)):
            by_kind[row.kind].append(name)
    draw, chosen = random.Random(7), by_kind["tag"]
    left = count - len(chosen)
    chosen = chosen + draw.sample(by_kind["schema"], left // 2) + draw.sample(by_kind["grammar"], left - left // 2)
    bodies = []
    for name in chosen:
        attack = ROWS[name].attack(ROWS[name].full)
        text = attack.given if isinstance(attack.given, str) else json.dumps(attack.given)
        options = {"whitespace_pattern": attack.options["whitespace"]} if "whitespace" in attack.options else {}
        bodies.append(body({FIELDS[attack.kind]: text, **options}))
    draw.shuffle(bodies)
    return bodies


def body(structured: dict[str, Any] | None) -> bytes:
    """The text of a request for at most eight tokens."""
    asked: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": "x"}], "max_tokens": 8}
    if structured is not None:
        asked["structured_outputs"] = structured
    return json.dumps(asked).encode()


def test_a_storm_of_hostile_requests_stops_nobody(server: Server, record: Callable[[str], None]) -> None:
    """Sixty at once, and an innocent request every second: each gets an answer or a reason, and the engine lives."""

    async def answered(bodies: list[bytes]) -> tuple[Counter[int], list[float]]:
        """How the requests end, and how long each innocent one takes that is sent until then, at least five."""
        import httpx

        innocent = body({"choice": ["yes", "no"]})
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=server.url, timeout=600, limits=limits) as client:

            async def status(content: bytes) -> int:
                headers = {"Content-Type": "application/json"}
                return (await client.post("/v1/chat/completions", content=content, headers=headers)).status_code

            async def innocent_one() -> float:
                begin = time.perf_counter()
                assert await status(innocent) == 200
                return time.perf_counter() - begin

            await innocent_one()
            storm = [asyncio.create_task(status(content)) for content in bodies]
            innocents = []
            while len(innocents) < 5 or not all(task.done() for task in storm):
                innocents.append(asyncio.create_task(innocent_one()))
                await asyncio.sleep(1)
            return Counter(await asyncio.gather(*storm)), await asyncio.gather(*innocents)

    found = {}
    for name, bodies in [("alone", []), ("plain", [body(None)] * 60), ("hostile", hostile_bodies(60))]:
        statuses, times = asyncio.run(answered(bodies))
        times.sort()
        found[name] = statuses
        record(
            f"{name}: {dict(sorted(statuses.items()))}, innocents: {len(times)}, latest {times[-1]:.2f} s, "
            f"median {times[len(times) // 2]:.2f} s"
        )
        assert server.is_alive()
    assert found["plain"] == Counter({200: 60})
    # 503: others were checked for longer than a client waits.
    assert set(found["hostile"]) <= {200, 400, 503} or server.backend != "guided", found["hostile"]


def costly_grammar(number: int) -> str:
    """A grammar that exceeds a budget after some tenths of a second."""
    names = [f"a{place}" for place in range(500)]
    rules = [f'{name}: "x{number}_{name}" start?' for name in names]
    return "\n".join([f"start: {' | '.join(names)}", *rules])


def test_a_schema_for_each_of_many_streams(server: Server) -> None:
    """New schemas arrive while others stream; every chunk of every stream belongs to a valid text."""

    async def streamed(client: Any, number: int) -> str:
        text = ""
        stream = await ask(
            client,
            "x",
            response_format=as_schema(a_schema(100 + number)),
            stream=True,
            max_tokens=60,
            seed=number,
            temperature=0.7,
        )
        async for chunk in stream:
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        return text

    async def all_of_them() -> list[str]:
        async with server.async_client() as client:
            return await asyncio.gather(*(streamed(client, number) for number in range(8)))

    texts = asyncio.run(all_of_them())
    assert all(text.startswith("{") for text in texts)
    complete = [json.loads(text) for text in texts if text.rstrip().endswith("}")]
    assert len(complete) >= 6
