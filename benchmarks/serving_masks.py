"""vLLM's backends without a server: ``python -m benchmarks.serving_masks [--schemas N] [--data FOLDER]``.

For each backend, through vLLM's own classes and with the default model's tokenizer: the time of compiling a never-seen schema, and of
filling one row of the bitmask, for each token of a valid text, in CPU time of the process, all threads. Backends take turns at each schema,
so that a machine that changes its speed does so for all.

Schemas: those of `benchmarks.serving`, made by number, or with ``--data`` those of a folder with MaskBench's files that have a valid text.
*refused*: schemas that the backend does not compile, or that its check refuses. *rejected*: valid texts with a token that the backend's
mask does not allow, or that it does not accept.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.machine import load, processor
from benchmarks.serving import BACKENDS, schema
from benchmarks.serving_server import is_installed
from benchmarks.tables import table

__all__ = ["main"]

_LONGEST = 1000


def made(count: int) -> Iterator[tuple[Any, Any]]:
    """Schemas by number, each with a value."""
    for number in range(count):
        found = schema(number)
        yield found, _value(found)


def _value(given: dict[str, Any]) -> Any:
    if "enum" in given:
        return given["enum"][-1]
    if given["type"] == "object":
        return {name: _value(inner) for name, inner in given["properties"].items()}
    return {"string": "some text", "integer": 42, "array": ["one", "two"], "boolean": True}[given["type"]]


def of_folder(folder: Path, count: int) -> Iterator[tuple[Any, Any]]:
    """Schemas of MaskBench, each with its first valid value."""
    files = sorted(folder.glob("*.json"))
    random.Random(11).shuffle(files)
    for file in files:
        found = json.loads(file.read_text(encoding="utf-8"))
        values = [test["data"] for test in found.get("tests", ()) if test["valid"]]
        if values and count:
            count -= 1
            yield found["schema"], values[0]


def backends(names: list[str], tokenizer: Any, size: int) -> dict[str, Any]:
    """vLLM's backends by name, made as its engine makes them."""
    from vllm.config import StructuredOutputsConfig
    from vllm.v1.structured_output.backend_guidance import GuidanceBackend
    from vllm.v1.structured_output.backend_outlines import OutlinesBackend
    from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend

    from guided.integrations.vllm_backend import Backend

    classes = {"guided": Backend, "xgrammar": XgrammarBackend, "guidance": GuidanceBackend, "outlines": OutlinesBackend}
    config = SimpleNamespace(
        structured_outputs_config=StructuredOutputsConfig(backend="auto"), model_config=None, speculative_config=None
    )
    return {name: classes[name](config, tokenizer=tokenizer, vocab_size=size) for name in names}


def measured(backend: Any, kind: Any, text: str, tokens: list[int], end: int) -> tuple[float, list[float], str]:
    """CPU seconds of the compile and of each mask, and what went wrong."""
    begin = time.process_time()
    try:
        grammar = backend.compile_grammar(kind, text, {end})
    except Exception:  # Why all: each backend has errors of its own
        return time.process_time() - begin, [], "refused"
    mask = backend.allocate_token_bitmask(1)
    compiled, fills = time.process_time() - begin, []
    for token in [*tokens, end]:
        begin = time.process_time()
        grammar.fill_bitmask(mask, 0)
        fills.append(time.process_time() - begin)
        if not (int(mask[0, token >> 5]) >> (token & 31)) & 1 or not grammar.accept_tokens("1", [token]):
            return compiled, fills, "rejected"
    return compiled, fills, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", nargs="+", default=list(BACKENDS))
    parser.add_argument("--schemas", type=int, default=100)
    parser.add_argument("--data", type=Path, help="folder of MaskBench's files")
    given = parser.parse_args()
    if not is_installed():
        print("vLLM is not installed: make test-serving makes an environment", file=sys.stderr)
        return 2
    from transformers import AutoTokenizer
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    from guided.integrations.load import default_model_folder

    tokenizer = AutoTokenizer.from_pretrained(default_model_folder())
    all_of_them = backends(given.backend, tokenizer, 49152)
    cases = of_folder(given.data, given.schemas) if given.data else made(given.schemas)
    compiles, fills, wrong = defaultdict(list), defaultdict(list), defaultdict(list)
    for number, (one, value) in enumerate(cases):
        text = json.dumps(one)
        tokens = tokenizer.encode(json.dumps(value, ensure_ascii=False), add_special_tokens=False)[:_LONGEST]
        names = given.backend if number % 2 == 0 else given.backend[::-1]
        for name in names:
            compiled, masks, error = measured(
                all_of_them[name], StructuredOutputOptions.JSON, text, tokens, tokenizer.eos_token_id
            )
            if number >= 3:  # the first ones load what all share
                compiles[name].append(compiled)
                fills[name] += masks
                wrong[name].append(error)
    rows = [
        [name, *_shown(fills[name], 1e6), *_shown(compiles[name], 1e3),
         str(wrong[name].count("refused")), str(wrong[name].count("rejected"))]
        for name in given.backend
    ]  # fmt: skip
    print(f"{processor()}, load {load()}, {len(compiles[given.backend[0]])} schemas\n")
    heads = [
        "backend", "mask, us: mean", "median", "p99", "max", "compile, ms: mean", "median", "p99", "max", "refused", "rejected",
    ]  # fmt: skip
    print(table(heads, rows))
    return 0


def _shown(seconds: list[float], unit: float) -> list[str]:
    ordered = sorted(seconds) or [0.0]
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    found = (statistics.mean(ordered), statistics.median(ordered), p99, ordered[-1])
    return [f"{unit * value:.1f}" for value in found]


if __name__ == "__main__":
    sys.exit(main())
