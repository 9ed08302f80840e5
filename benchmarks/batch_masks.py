"""Filling the bitmask of a batch: ``python -m benchmarks.batch_masks [--batch N ...] [--vocabulary NAME]``.

Microseconds per row of `guided.fill_masks`, of guides in states whose masks were computed before: the median CPU time of the calling
thread, which other processes on the machine leave nearly alone, and in parentheses median and maximum by the clock. Each row has a guide
of its own, in one of many states of a regular expression and a schema. *busy*: the same, while another thread computes
in Python. *one by one*: a call per row, as vLLM fills its rows. *loop*: ``out[row] = guide.mask()``.

Results are first compared with the masks. The exit status is 1 if one differs.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import guided
from benchmarks.machine import load, processor
from benchmarks.tables import table
from benchmarks.vocabularies import MAIN, vocabulary

_SPECS = (
    guided.Regex(r"[a-z]{1,40}@[a-z]{1,40}\.(com|org) \d{4}-\d\d-\d\d"),
    guided.JsonSchema({"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array"}}}),
)


def guides(given: guided.Vocabulary, count: int) -> list[guided.Guide]:
    """Guides that have read random allowed tokens, in states whose masks are computed."""
    random = np.random.default_rng(0)
    indices = [guided.compile(spec, given) for spec in _SPECS]
    found = []
    for number in range(count):
        guide = indices[number % len(indices)].guide()
        for _ in range(number // len(indices) % 40):
            allowed = np.flatnonzero(np.unpackbits(guide.mask().view(np.uint8), bitorder="little"))
            token = int(random.choice(allowed))
            if token in given.eos:
                break
            guide.advance(token)
        guide.mask()
        found.append(guide)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32, 256])
    parser.add_argument("--vocabulary", default=MAIN)
    parser.add_argument("--repeat", type=int, default=300)
    given = parser.parse_args()
    words = vocabulary(given.vocabulary)
    rows = []
    for batch in given.batch:
        some = guides(words, batch)
        out = np.zeros((batch, -(-words.size // 32)), np.int32)
        assert not guided.fill_masks(some, out)
        if not all(np.array_equal(row, guide.mask()) for row, guide in zip(out, some, strict=True)):
            print("a row differs from its mask", file=sys.stderr)
            return 1

        def whole(some=some, out=out) -> None:
            guided.fill_masks(some, out)

        def one_by_one(some=some, out=out) -> None:
            for row, guide in enumerate(some):
                guided.fill_masks([guide], out, [row])

        def loop(some=some, out=out) -> None:
            for row, guide in enumerate(some):
                out[row] = guide.mask()

        cells = [f"{batch}"]
        cells += [_shown(measured(function, given.repeat), batch) for function in (whole, one_by_one, loop)]
        with busy_thread():
            cells += [_shown(measured(function, given.repeat), batch) for function in (whole, one_by_one)]
        rows.append(cells)
    print(f"{words.size:,} tokens, {processor()}, load {load()}\n")
    print(table(["rows", "fill_masks", "one by one", "loop", "fill_masks, busy", "one by one, busy"], rows))
    return 0


def measured(function: Callable[[], None], repeat: int) -> tuple[list[float], list[float]]:
    """Seconds of each call: CPU time of this thread, and by the clock."""
    cpu, wall = [], []
    for _ in range(repeat):
        begin_wall, begin = time.perf_counter(), time.thread_time()
        function()
        end = time.thread_time()
        cpu.append(end - begin)
        wall.append(time.perf_counter() - begin_wall)
    return cpu, wall


def _shown(seconds: tuple[list[float], list[float]], batch: int) -> str:
    cpu, wall = seconds
    middle, clock, longest = (
        1e6 * found / batch for found in (statistics.median(cpu), statistics.median(wall), max(wall))
    )
    return f"{middle:.2f} ({clock:.2f}, {longest:.0f})"


@contextmanager
def busy_thread() -> Iterator[None]:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
