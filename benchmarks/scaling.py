"""What grows with what: the stages of a compile, cost against the size of the pattern, the length of the output, and the vocabulary (E7).

    python -m benchmarks.scaling [--repeat N] [--quick] [--json OUT]

- *stages*: guided's own stages, pattern by pattern (`benchmarks.walk`).
- *pattern*: a quoted string of 1 to n characters, whole index (as in `benchmarks.regex`) and ready step, n from 10 to 10,000. An engine
  that needs more than the budget for one compile stops there.
- *output*: mask + advance per step along a prose text of 10,000 tokens, by the place in the text.
- *matching*: the step of an index beside naive matching, which asks of every token of the vocabulary whether the text with it
  can still be matched (Python's ``regex`` with partial matching), over the length of the text and over vocabularies. This is figure 2
  of Willard and Louf 2023, with real vocabularies.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import regex as matching

from benchmarks import engines, machine, vocabularies, walk
from benchmarks.clock import clock_overhead, median, no_collection, percentiles, settle, step_times, timed
from guided.engine.compile import compile as compile_spec
from guided.engine.specs import Regex

__all__ = ["main", "run"]

STRING = r'"[^"\\\n]{1,%d}"'
SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
BUDGET = 5.0
PROSE = r"[a-zA-Z0-9 ,.;:'()-]*"
TEXT = (
    "The committee met on Tuesday to discuss the budget for 2026; and agreed that the new library (the one on Elm Street) "
    "should open before winter. Mrs O'Neill asked whether the heating had been tested: it had, twice. "
)
LENGTH = 10_000
WINDOWS = ((1, 100), (101, 1_000), (1_001, 3_000), (3_001, 10_000))
PLACES = (1, 10, 30, 100, 300, 1_000)
FEW_PLACES = (1, 10, 30, 100)


def pattern_size(vocabulary: Any, repeat: int, budget: float) -> dict[str, list[dict[str, Any]]]:
    """Whole-index milliseconds of a string of 1 to n characters, and microseconds of a ready step, by engine."""
    found: dict[str, list[dict[str, Any]]] = {}
    cut, overhead = vocabularies.Cutter(vocabulary), clock_overhead()
    for name in engines.NAMES:
        engine, rows = engines.engine(name, vocabulary), []
        settle()
        if engine.lazy:
            continue
        for n in SIZES:
            times = []
            for _ in range(repeat):
                with no_collection():
                    compiled, cpu, _ = timed(engine.compile, STRING % n)
                    _, finished, _ = timed(compiled.finish)
                times.append(cpu + finished)
                if times[-1] > 1e3 * budget / 10:
                    break
            rows.append({"n": n, "whole_ms": median(times)})
            if name != "walk per state":
                text = '"' + (TEXT * (n // len(TEXT) + 1))[: min(n, 1_000)] + '"'
                with no_collection():
                    steps = np.median(step_times(compiled.start, cut(text), 9)[1:], axis=0).sum(1) - 2 * overhead
                rows[-1]["step_us"] = percentiles(steps)["p50"]
            shown = f"{rows[-1]['whole_ms']:12,.2f} ms  step {rows[-1].get('step_us', '-')} us"
            print(f"pattern size  {name:15} n={n:6,}  {shown}", flush=True)
            if rows[-1]["whole_ms"] > 1e3 * budget:
                break
            del compiled
        found[name] = rows
    return found


def output_length(vocabulary: Any, tokens: list[int]) -> dict[str, list[dict[str, Any]]]:
    """Microseconds of a step by its place in a text, by engine."""
    found = {}
    overhead = clock_overhead()
    for name in engines.NAMES:
        if name == "walk per state":
            continue
        compiled = engines.engine(name, vocabulary).compile(PROSE)
        with no_collection():
            times = np.median(step_times(compiled.start, tokens, 3), axis=0).sum(1) - 2 * overhead
        found[name] = [{"from": low, "to": high, **percentiles(times[low - 1 : high])} for low, high in WINDOWS]
        shown = "  ".join(f"{row['from']}-{row['to']}: {row['p50']:.2f}" for row in found[name])
        print(f"output length  {name:15} p50 us  {shown}", flush=True)
    return found


def naive_step(vocabulary: Any, pattern: Any, text: str) -> int:
    """Tokens after which the text can still be matched: every token is tried."""
    count = 0
    for data in vocabulary.tokens:
        if data and pattern.fullmatch(text + data.decode("latin-1"), partial=True):
            count += 1
    return count


def naive_matching(name: str, places: tuple[int, ...], length: int) -> list[dict[str, Any]]:
    """Microseconds of one step at some places of a text: naively, and of the index (mask + advance)."""
    vocabulary = vocabularies.vocabulary(name)
    tokens = prose(vocabulary, length)
    pattern = matching.compile(PROSE)
    compiled = engines.engine("guided", vocabulary).compile(PROSE)
    index = compile_spec(Regex(PROSE), vocabulary)
    with no_collection():
        steps = np.median(step_times(compiled.start, tokens, 5), axis=0).sum(1) - 2 * clock_overhead()
    rows = []
    for place in places:
        text = vocabulary.decode(tokens[: place - 1]).decode("latin-1")
        begin = time.process_time()
        count = naive_step(vocabulary, pattern, text)
        seconds = time.process_time() - begin
        guide = index.guide()
        guide.advance_many(tokens[: place - 1])
        allowed = len(index.allowed(guide.state)) - len(vocabulary.eos)
        if count != allowed:
            raise AssertionError(f"{name}, token {place}: naive matching allows {count} tokens, the index {allowed}")
        near = steps[max(0, place - 50) : place + 50]
        rows.append({
            "vocabulary": name, "tokens": len(vocabulary), "place": place,
            "naive_us": round(1e6 * seconds, 1), "index_us": round(float(np.median(near)) / 1e3, 3),
        })  # fmt: skip
        print(
            f"matching  {name:15} token {place:6,}  naive {1e6 * seconds:12,.0f} us  index {rows[-1]['index_us']:.2f} us"
        )
    return rows


def prose(vocabulary: Any, length: int) -> list[int]:
    """That many tokens of prose."""
    cut = vocabularies.Cutter(vocabulary)
    tokens = cut(TEXT)
    return (tokens * (length // len(tokens) + 1))[:length]


def run(repeat: int, quick: bool = False) -> dict[str, Any]:
    """The whole record; ``quick``: fewer places and vocabularies of naive matching, and no pattern that takes more than a second."""
    names = (vocabularies.MAIN, "mistral-32k") if quick else vocabularies.NAMES
    budget = 1.0 if quick else BUDGET
    machine.one_core()
    record: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.scaling", *sys.argv[1:]]),
        **machine.describe(),
    }
    vocabulary = vocabularies.vocabulary(vocabularies.MAIN)
    compile_spec(Regex(STRING % 100), vocabulary)
    settle()
    record["stages"] = {name: walk.stages(name, vocabulary, 2 * repeat + 1) for name in walk.PATTERNS}
    record["pattern size"] = pattern_size(vocabulary, repeat, budget)
    record["budget s"] = budget
    record["output length"] = output_length(vocabulary, prose(vocabulary, LENGTH))
    record["matching by length"] = naive_matching(vocabularies.MAIN, FEW_PLACES if quick else PLACES, 2_000)
    record["matching by vocabulary"] = [row for name in names for row in naive_matching(name, (100,), 200)]
    record["load at end"] = machine.load()
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="less of what takes long")
    parser.add_argument("--json", type=Path, help="write the record here")
    given = parser.parse_args()
    record = run(given.repeat, given.quick)
    if given.json:
        machine.write(record, given.json)


if __name__ == "__main__":
    main()
