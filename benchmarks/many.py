"""Many prompts: ``python -m benchmarks.many [--prompts N] [--width N ...]``.

The default model reads records into JSON, greedily. *Similar*: records of one form, whose answers have nearly the same length. *Unlike*:
the same with one to six items each. *Apart*: groups of ``width`` prompts one after another, without refilling rows. `map` yields texts as
they end, `batch` in order, so that a row may wait. *Rows used*: of all rows of all steps after the prompts, those that got a token.
Beside it is the most that is possible where all texts have one length: 50 texts in 8 rows leave 6 rows of the last 8 empty. *Of rows
computed*: the model computes only rows that have a text, so that at the end, steps have fewer rows. *Of positions*: a row that reads
several forced tokens at once makes the others as wide.

*Memory*: 1,000 and 10,000 prompts with a model that costs nothing, results dropped. *Import*: CPU milliseconds of ``import guided`` in a
new process, less those of an empty one, and whether numba and numpy are among the modules. The tables are those of
benchmarks/record/many.md.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, Field

import guided
from benchmarks.machine import load, processor
from guided.generate.model import Batch

_COUNTS = ("steps", "rows", "computed", "tokens", "positions")
BYTES = guided.Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])


class Item(BaseModel):
    """A line of an order."""

    product: Annotated[str, Field(max_length=20)]
    quantity: Annotated[int, Field(ge=1, le=99)]


class Order(BaseModel):
    """What is bought."""

    items: Annotated[list[Item], Field(min_length=1, max_length=6)]


class Counted(Batch):
    """A batch that counts its steps and the rows that got a token in them."""

    def __init__(self, inner: Batch, counts: dict[str, int]) -> None:
        self._inner, self._counts = inner, counts

    def refill(self, kept: Sequence[int], prompts: Sequence[Sequence[int]]) -> Any:
        return self._inner.refill(kept, prompts)

    def feed(self, rows: Sequence[Sequence[int]]) -> Any:
        self._counts["steps"] += 1
        self._counts["rows"] += sum(map(bool, rows))
        self._counts["computed"] += len(rows)
        self._counts["tokens"] += sum(map(len, rows))
        self._counts["positions"] += len(rows) * max(map(len, rows))
        return self._inner.feed(rows)

    def rewind(self, row: int, n_kept: int) -> None:
        self._inner.rewind(row, n_kept)

    def keep(self, rows: Sequence[int]) -> None:
        self._inner.keep(rows)


def prompts_of(count: int, most: int) -> list[str]:
    """Letters with up to so many items."""
    chance = random.Random(3)
    example = {"items": [{"product": "chair", "quantity": 3}, {"product": "vase", "quantity": 2}]}
    shot = f"Letter: Please send 3 chairs and 2 vases.\nJSON: {json.dumps(example)}\n\n"
    found = []
    for _ in range(count):
        names = chance.sample(["lamp", "chair", "table", "clock", "mirror", "vase", "carpet"], chance.randint(1, most))
        items = " and ".join(f"{chance.randint(2, 90)} {name}s" for name in names)
        found.append(f"{shot}Letter: Please send {items}.\nJSON: ")
    return found


def apart(generate: Any, prompts: Sequence[str], width: int, **options: Any) -> Iterator[tuple[int, Any]]:
    """Groups of prompts, each to its end."""
    for begin in range(0, len(prompts), width):
        yield from generate.map(prompts[begin : begin + width], width, **options)


def throughput(count: int, width: int) -> None:
    """Print the table of the default model."""
    model = guided.load()
    generate = guided.json(model, Order)
    plain, counts = model.batch, dict.fromkeys(_COUNTS, 0)
    model.batch = lambda: Counted(plain(), counts)  # type: ignore[method-assign]
    bound = count / (width * ceil(count / width))
    print(
        f"| {count} prompts, width {width} | tokens | CPU s | tokens/s | rows used | most if equal | of rows computed | of positions |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for name, most in (("similar", 1), ("unlike", 6)):
        prompts = prompts_of(count, most)
        list(generate.map(prompts[:2], 2, max_tokens=8))
        ways = {
            "map": lambda prompts=prompts: generate.map(prompts, width, max_tokens=120),
            "batch": lambda prompts=prompts: enumerate(generate.batch(prompts, width, max_tokens=120)),
            "apart": lambda prompts=prompts: apart(generate, prompts, width, max_tokens=120),
        }
        for way, run in ways.items():
            counts.update(dict.fromkeys(_COUNTS, 0))
            begin = time.process_time()
            n_tokens = sum(len(result.tokens) for _, result in run())
            took = time.process_time() - begin
            used = counts["rows"] / (counts["steps"] * width)
            print(
                f"| {name}, {way} | {n_tokens:,} | {took:.1f} | {n_tokens / took:.1f} | {used:.0%} | {bound:.0%} | "
                f"{counts['rows'] / counts['computed']:.0%} | {counts['tokens'] / counts['positions']:.0%} |",
                flush=True,
            )


def memory() -> None:
    """Print the peak memory of many prompts."""
    model = guided.FunctionModel(lambda _: [0.0] * 257, BYTES, str.encode)
    generate = guided.generator(model, guided.Regex("[a-z]{1,9}"))
    for count in (1_000, 10_000):
        for _ in generate.map((f"prompt {number}" for number in range(count)), temperature=1, seed=1, max_tokens=12):
            pass
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak memory after {count:,} prompts: {peak:.1f} MB")


def imports() -> None:
    """Print the CPU time of the import, the least of ten."""
    program = "import sys\nimport guided\nguided.__all__\nprint('numba' in sys.modules, 'numpy' in sys.modules)"

    def least(code: str) -> float:
        found = []
        for _ in range(10):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(found)

    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
    print(
        f"import guided: {1000 * (least(program) - least('import sys')):.1f} ms of CPU; numba, numpy imported: {said}"
    )
    first = "import guided\nguided.Regex"
    print(f"import guided; guided.Regex: {1000 * (least(first) - least('import sys')):.1f} ms of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=50)
    parser.add_argument("--width", type=int, nargs="*", default=[8, 10])
    arguments = parser.parse_args()
    print(f"{processor()}, load {load()}\n")
    imports()
    memory()
    for width in arguments.width:
        print()
        throughput(arguments.prompts, width)


if __name__ == "__main__":
    main()
