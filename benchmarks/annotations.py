"""Python functions and definitions in JSON: ``python -m benchmarks.annotations [--tools N] [--vocabulary V]``

The same tools as functions and as definitions of their schemas. For each: to make the spec and compile it, then the same random calls token
by token, one of each tool. A step is a mask and an advance; the first pass meets places that no text has met, the second none.
Milliseconds of CPU, microseconds of wall time.
"""

import argparse
import inspect
import random
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Le, MaxLen

import guided
from benchmarks.clock import no_collection, percentiles, settle
from benchmarks.vocabularies import MAIN, NAMES, Cutter, vocabulary

Int64Array: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

__all__ = ["functions", "run"]

KINDS: tuple[Any, ...] = (
    int, float, bool, str, Annotated[int, Ge(1), Le(500)], Annotated[str, MaxLen(80)], Literal["celsius", "fahrenheit", "kelvin"],
    list[str], int | None, list[Annotated[int, Ge(0), Le(9)]],
)  # fmt: skip


def functions(count: int) -> list[Callable[..., None]]:
    """So many functions of one to four arguments."""
    chance = random.Random(1)
    found: list[Callable[..., None]] = []
    for number in range(count):

        def function(**arguments: Any) -> None:
            """Do nothing."""

        kinds = [chance.choice(KINDS) for _ in range(chance.randint(1, 4))]
        function.__name__ = function.__qualname__ = f"tool_{number}"
        function.__annotations__ = {f"argument_{i}": kind for i, kind in enumerate(kinds)}
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind)
                for name, kind in function.__annotations__.items()
            ]
        )
        found.append(function)
    return found


def definitions(tools: list[Callable[..., None]]) -> list[dict[str, Any]]:
    """The same as definitions in JSON."""
    return [{"name": tool.__name__, "parameters": guided.JsonSchema(tool).schema} for tool in tools]


def texts(index: guided.Index, tools: list[Callable[..., None]], cut: Cutter) -> list[list[int]]:
    """The tokens of a random call of each tool, steered to its end after forty of them."""
    chance, found = random.Random(2), []
    for tool in tools:
        guide = index.guide()
        tokens = cut(f'{{"name": "{tool.__name__}", "arguments": {{')
        guide.advance_many(tokens)
        left = guide.remaining + 40
        while not guide.is_accepting:
            mask = guide.mask_within(left).view(np.uint8)
            allowed = np.flatnonzero(np.unpackbits(mask, bitorder="little"))
            tokens.append(int(chance.choice(allowed.tolist())))
            guide.advance(tokens[-1])
            left -= 1
        found.append(tokens)
    return found


def passed(index: guided.Index, calls: list[list[int]]) -> Int64Array:
    """Nanoseconds of each step of all calls: a mask and an advance."""
    clock, found = time.perf_counter_ns, []
    for tokens in calls:
        guide = index.guide()
        for token in tokens:
            begin = clock()
            guide.mask()
            guide.advance(token)
            found.append(clock() - begin)
    return np.array(found, np.int64)


def run(count: int, name: str) -> list[tuple[str, float, float, dict[str, float], dict[str, float]]]:
    """Of each way: CPU milliseconds of spec and compile and of all first calls, and what steps took in the first and in the second pass."""
    words = vocabulary(name)
    tools = functions(count)
    asked = definitions(tools)
    calls = texts(guided.compile(guided.Tools(tools, tool_choice="required"), words), tools, Cutter(words))
    found = []
    for way, given in (("functions", tools), ("definitions", asked)):
        settle()
        begin = time.process_time()
        index = guided.compile(guided.Tools(given, tool_choice="required"), words)
        spent = 1e3 * (time.process_time() - begin)
        with no_collection():
            begin = time.process_time()
            times = passed(index, calls)
            walked = 1e3 * (time.process_time() - begin)
            found.append((way, spent, walked, percentiles(times), percentiles(passed(index, calls))))
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=int, default=100)
    parser.add_argument("--vocabulary", choices=NAMES, default=MAIN)
    options = parser.parse_args()
    run(10, options.vocabulary)  # what the process makes once
    print(
        "| way | compile, first calls, ms | first pass: mean, p50, p99 us | second pass: mean, p50, p99 us |\n|---|---|---|---|"
    )
    for way, spent, walked, *passes in run(options.tools, options.vocabulary):
        shown = (f"{times['mean']:.1f}, {times['p50']:.1f}, {times['p99']:.1f}" for times in passes)
        print(f"| {way} | {spent:.0f}, {walked:.0f} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
