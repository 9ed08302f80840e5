"""vLLM's backends without a server: ``python -m benchmarks.serving_masks [--schemas N] [--data FOLDER]``.

For each backend, through vLLM's own classes and with the default model's tokenizer: the time of compiling a never-seen schema, and of
filling one row of the bitmask, for each token of a valid text, the first time and when the text is written again, in CPU time of the
process, all threads. Some backends compute the first mask when they compile, so both are also added. Backends take turns at each schema,
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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.clock import settle
from benchmarks.machine import describe, load, processor, write
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


@dataclass
class Walk:
    """CPU seconds of one text.

    Attributes
    ----------
    compile : float
    new, again : list of float
        Of each mask, the first time and when the same text is written once more.
    error : str
        "refused", "rejected", or nothing.
    """

    compile: float
    new: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    error: str = ""


def measured(backend: Any, kind: Any, text: str, tokens: list[int], end: int) -> Walk:
    """Write a text twice through a backend."""
    begin = time.process_time()
    try:
        grammar = backend.compile_grammar(kind, text, {end})
    except Exception:  # Why all: each backend has errors of its own
        return Walk(time.process_time() - begin, error="refused")
    mask = backend.allocate_token_bitmask(1)
    found = Walk(time.process_time() - begin)
    for fills in (found.new, found.again):
        for token in [*tokens, end]:
            begin = time.process_time()
            grammar.fill_bitmask(mask, 0)
            fills.append(time.process_time() - begin)
            if not (int(mask[0, token >> 5]) >> (token & 31)) & 1 or not grammar.accept_tokens("1", [token]):
                found.error = "rejected"
                return found
        grammar = backend.compile_grammar(kind, text, {end})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", nargs="+", default=list(BACKENDS))
    parser.add_argument("--schemas", type=int, default=100)
    parser.add_argument("--data", type=Path, help="folder of MaskBench's files")
    parser.add_argument("--json", type=Path, help="where the figures go, with machine, load and versions")
    given = parser.parse_args()
    if not is_installed():
        print("vLLM is not installed: make test-serving makes an environment", file=sys.stderr)
        return 2
    from transformers import AutoTokenizer
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    from guided.integrations.load import default_model_folder

    about = {
        "command": f"python -m benchmarks.serving_masks {' '.join(sys.argv[1:])}",
        **describe("vllm", "outlines_core"),
    }
    tokenizer = AutoTokenizer.from_pretrained(default_model_folder())
    all_of_them = backends(given.backend, tokenizer, 49152)
    cases = of_folder(given.data, given.schemas) if given.data else made(given.schemas)
    walks: dict[str, list[Walk]] = {name: [] for name in given.backend}
    settle()  # as vLLM's engine before its first request
    for number, (one, value) in enumerate(cases):
        text = json.dumps(one)
        tokens = tokenizer.encode(json.dumps(value, ensure_ascii=False), add_special_tokens=False)[:_LONGEST]
        names = given.backend if number % 2 == 0 else given.backend[::-1]
        for name in names:
            walk = measured(all_of_them[name], StructuredOutputOptions.JSON, text, tokens, tokenizer.eos_token_id)
            if number >= 3:  # the first ones load what all share
                walks[name].append(walk)
    heads = ["mean", "median", "p99", "max"]
    figures = {
        name: {
            "new mask, us": _figures([seconds for walk in found for seconds in walk.new], 1e6),
            "mask again, us": _figures([seconds for walk in found for seconds in walk.again], 1e6),
            "compile, ms": _figures([walk.compile for walk in found], 1e3),
            "compile and first mask, ms": _figures([walk.compile + sum(walk.new[:1]) for walk in found], 1e3),
            **{error: sum(walk.error == error for walk in found) for error in ("refused", "rejected")},
        }
        for name, found in walks.items()
    }
    if given.json:
        write(
            {**about, "load at end": load(), "schemas": len(walks[given.backend[0]]), "backends": figures}, given.json
        )
    print(f"{processor()}, load {load()}, {len(walks[given.backend[0]])} schemas\n")
    rows = [
        [name, *(f"{one[head]:.1f}" for one in found.values() if isinstance(one, dict) for head in heads),
         str(found["refused"]), str(found["rejected"])]
        for name, found in figures.items()
    ]  # fmt: skip
    names = [
        f"{part}: mean" if head == "mean" else head
        for part in figures[given.backend[0]]
        if "," in part
        for head in heads
    ]
    print(table(["backend", *names, "refused", "rejected"], rows))
    return 0


def _figures(seconds: list[float], unit: float) -> dict[str, float]:
    ordered = sorted(seconds) or [0.0]
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    found = (statistics.mean(ordered), statistics.median(ordered), p99, ordered[-1])
    return {name: round(unit * value, 2) for name, value in zip(("mean", "median", "p99", "max"), found, strict=True)}


if __name__ == "__main__":
    sys.exit(main())
