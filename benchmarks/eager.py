"""What ``JsonSchema(eager=True)`` costs and saves: ``python -m benchmarks.eager DIR [--sample N] [--open] [--vocabulary V]``.

``DIR`` holds MaskBench's files. Each schema that fits `Limits.configurations` is compiled lazily and eagerly, objects closed as in
OpenAI's strict mode unless ``--open``, and both read the schema's valid texts. In CPU time, except for single masks (wall time): compile
and first mask; the other masks of the first pass; and after how many different texts the eager index has cost less. Of schemas that do
not fit, what ``eager="auto"`` spends to find out. Kernels and tables of strings are warm.
"""

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

import guided
from benchmarks.clock import no_collection, settle, timed
from benchmarks.machine import describe
from benchmarks.tables import table
from benchmarks.vocabularies import MAIN, NAMES, Cutter, vocabulary
from guided.generate.warming import warm
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["main"]


def _index(schema: Any, words: Vocabulary, closed: bool, eager: bool) -> tuple[guided.Index, float]:
    """The index and the CPU milliseconds until its first mask is there."""

    def work() -> guided.Index:
        index = guided.compile(guided.JsonSchema(schema, additional_properties=not closed, eager=eager), words)
        index.mask(index.initial)
        return index

    found, cpu, _ = timed(work)
    return found, cpu


def _masks(index: guided.Index, texts: list[list[int]]) -> list[float]:
    """Wall microseconds of each mask along texts, and the step before it."""
    found = []
    for tokens in texts:
        guide = index.guide()
        for token in tokens:
            begin = time.perf_counter_ns()
            guide.advance(token)
            guide.mask()
            found.append((time.perf_counter_ns() - begin) / 1e3)
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vocabulary", default=MAIN, choices=NAMES)
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--open", action="store_true", help="leave objects open")
    given = parser.parse_args()
    files = sorted(given.folder.glob("*.json"))
    files = random.Random(given.seed).sample(files, min(given.sample, len(files)))
    words = vocabulary(given.vocabulary)
    cut = Cutter(words)
    warm(lambda _: None)
    settle()
    costs: dict[str, list[float]] = {"lazy": [], "eager": []}
    masks: dict[str, list[float]] = {"lazy": [], "eager": []}
    states, too_large, refused = list[int](), list[float](), 0
    with no_collection():
        for path in files:
            content = json.loads(path.read_bytes())
            try:
                lazy, of_lazy = _index(content["schema"], words, not given.open, eager=False)
            except guided.GuidedError:
                refused += 1
                continue
            begin = time.process_time_ns()
            try:
                eager, of_eager = _index(content["schema"], words, not given.open, eager=True)
            except guided.LimitError:
                too_large.append((time.process_time_ns() - begin) / 1e6 - of_lazy)
                continue
            states.append(eager.n_states)
            texts = [json.dumps(test["data"], ensure_ascii=False) for test in content["tests"] if test["valid"]]
            read = [cut(text) for text in texts if lazy.accepts(text)]
            for name, index, cost in (("lazy", lazy, of_lazy), ("eager", eager, of_eager)):
                costs[name].append(cost)
                masks[name] += _masks(index, read)
    print(describe(), f"\n\n{len(files)} schemas, {refused} refused; {len(states)} fit, {len(too_large)} do not\n")
    rows = []
    for name, cost in costs.items():
        of_masks = [
            f"{figure:,.1f}" for figure in (np.mean(masks[name]), *np.percentile(masks[name], [50, 99, 99.9, 100]))
        ]
        rows.append([name, f"{np.median(cost):.1f}", f"{np.percentile(cost, 99):.0f}", *of_masks])
    print(
        table(
            ["index", "compile and first mask p50, ms", "p99, ms", "mask mean, us", "p50", "p99", "p99.9", "max"], rows
        )
    )
    print(f"\nstates: median {int(np.median(states)):,}, largest {max(states):,}")
    print(
        f'schemas that do not fit: `eager="auto"` spends {np.median(too_large):.0f} ms (median), {max(too_large):.0f} (most)'
    )


if __name__ == "__main__":
    main()
