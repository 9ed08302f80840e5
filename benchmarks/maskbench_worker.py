"""One engine in a process of its own: file names on standard input, a line of JSON for each on standard output.

Who started it watches what it spends and ends it where an engine does not come back, which loses that file and nothing else. No
timer of CPU time is armed here: while one runs, Linux tells a process its CPU time in ticks of 4 ms. Before each file the peak of
resident memory is reset where the system can, so the peak that is told is this file's.

For a file: compile and first mask; then every instance, token by token, a mask before each token and one at the end, where a token that
ends a text must be allowed; then all instances again. Times are CPU time of the process less what reading the clock costs.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.clock import settle
from benchmarks.engines import Matcher
from benchmarks.machine import one_core
from benchmarks.maskbench_engines import NAMES, Compiled, Engine, Refused, engine
from benchmarks.maskbench_tokens import tokenizer
from benchmarks.vocabularies import vocabulary

__all__ = ["measured", "walked"]

_WARM = [
    {"type": "object", "properties": {"warm": {"type": "string", "minLength": 1}}, "required": ["warm"]},
    {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 3}, {"enum": ["warm", None]}]}},
]
_WARM_INSTANCES = [{"warm": "up"}, [4, "warm"]]

Cut = Callable[[bytes | str], list[int]]


def walked(
    matcher: Matcher, tokens: Sequence[int], eos: Sequence[int], overhead: int, masks: list[int], advances: list[int]
) -> int:
    """Walk a text; the number of tokens that were allowed, len(tokens) + 1 where the text is accepted.

    Nanoseconds of each mask and each advance are appended to the two lists.
    """
    clock = time.process_time_ns
    mask, advance, words = matcher.mask, matcher.advance, matcher.words
    for place, token in enumerate(tokens):
        begin = clock()
        mask()
        end = clock()
        masks.append(max(0, end - begin - overhead))
        if not words()[token >> 5] >> (token & 31) & 1:
            return place
        begin = clock()
        advance(token)
        end = clock()
        advances.append(max(0, end - begin - overhead))
    begin = clock()
    mask()
    end = clock()
    masks.append(max(0, end - begin - overhead))
    found = words()
    return len(tokens) + any(found[token >> 5] >> (token & 31) & 1 for token in eos)


def measured(engine: Engine, content: Any, cut: Cut, eos: Sequence[int], overhead: int) -> dict[str, Any]:
    """Everything that is told of one file."""
    texts = []
    for test in content.get("tests", ()):
        text = json.dumps(test["data"], ensure_ascii=False).encode("utf-8", "surrogatepass")
        texts.append(cut(text))
    schema = content["schema"]
    gc.collect()
    gc.disable()
    clock = time.process_time_ns
    begin = clock()
    try:
        compiled = engine.compile(schema)
        compiled_at = clock()
        matcher = compiled.start()
        matcher.mask()
        end = clock()
    except Refused as refused:
        return {"status": "refused", "reason": refused.kind, "message": str(refused)[:300], "compile": clock() - begin}
    finally:
        gc.enable()
    found: dict[str, Any] = {"compile": compiled_at - begin, "first": end - begin}
    gc.disable()
    try:
        found |= _passes(compiled, texts, eos, overhead)
    except Exception as error:  # noqa: BLE001, RUF100 - an engine that gives up while matching says so in many ways
        return found | {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}
    finally:
        gc.enable()
    error = compiled.error()
    found["status"] = "failed" if error else "done"
    found["reason"] = error.strip().partition("\n")[0]
    return found


def _passes(compiled: Compiled, texts: list[list[int]], eos: Sequence[int], overhead: int) -> dict[str, Any]:
    found: dict[str, Any] = {"tokens": [len(tokens) for tokens in texts]}
    for name in ("cold", "warm"):
        masks: list[int] = []
        advances: list[int] = []
        places, totals = [], []
        for tokens in texts:
            seen = len(masks), len(advances)
            places.append(walked(compiled.start(), tokens, eos, overhead, masks, advances))
            totals.append(sum(masks[seen[0] :]) + sum(advances[seen[1] :]))
        found[name] = {"masks": masks, "advances": advances, "places": places, "totals": totals}
    return found


def clock_overhead(repeat: int = 20_000) -> int:
    """Median nanoseconds between two readings of the clock of CPU time."""
    clock, found = time.process_time_ns, []
    for _ in range(repeat):
        begin = clock()
        found.append(clock() - begin)
    return int(statistics.median(found))


def _reset_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """Megabytes of the peak of resident memory; 0 where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=NAMES, required=True)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--options", default="{}")
    arguments = parser.parse_args()
    # Engines print; what they print is not the answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    one_core()
    tokens = vocabulary(arguments.vocabulary)
    cut = tokenizer(arguments.vocabulary, tokens)
    made = engine(arguments.engine, tokens, cut, **json.loads(arguments.options))
    overhead = clock_overhead()
    for schema, instance in zip(_WARM, _WARM_INSTANCES, strict=True):
        measured(made, {"schema": schema, "tests": [{"data": instance}]}, cut, tokens.eos, overhead)
    settle()
    print(json.dumps({"ready": True, "megabytes": _peak(), "overhead": overhead}), file=answers, flush=True)
    for line in sys.stdin:
        content = json.loads(Path(line.rstrip("\n")).read_bytes())
        _reset_peak()
        try:
            found = measured(made, content, cut, tokens.eos, overhead)
        except Exception as error:  # noqa: BLE001, RUF100 - an engine's fault is what is to be told
            found = {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({**found, "megabytes": _peak()}), file=answers, flush=True)


if __name__ == "__main__":
    main()
