"""What each kind of call costs along random texts of real schemas: ``python -m benchmarks.soak DIR [--sample N] [--worst N]``.

``DIR`` holds MaskBench's files. Each schema is compiled, and texts of it are made of tokens drawn at random from the mask within a budget:
the least number of tokens and some more. So every step asks for the mask, the bound of what is left, and the mask within the budget, as
generation with ``max_tokens`` does. Times are CPU time; the first ask of a place and later ones are not told apart. Every text must end
within its budget.
"""

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import guided
from benchmarks.clock import settle, timed
from benchmarks.vocabularies import MAIN, NAMES, vocabulary
from guided.errors import GuidedError
from guided.generate.warming import warm
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits

__all__ = ["main"]

# Tokens beyond the least number, one text for each.
SLACK = (0, 3, 40)


class Calls:
    """The times of calls, in milliseconds, by kind; and the schema of each."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.slowest: dict[str, Counter[str]] = {}

    def timed(self, kind: str, file: str, work: Any, *arguments: Any) -> Any:
        """The result of a call, whose time is noted."""
        result, cpu, _ = timed(work, *arguments)
        self.times.setdefault(kind, []).append(cpu)
        slowest = self.slowest.setdefault(kind, Counter())
        slowest[file] = max(slowest[file], cpu)  # type: ignore[assignment]
        return result


def walk(calls: Calls, file: str, index: guided.Index, words: Vocabulary, chance: random.Random, slack: int) -> None:
    """One text."""
    guide = index.guide()
    left = calls.timed("remaining", file, lambda: guide.remaining) + slack
    while True:
        calls.timed("mask", file, guide.mask)
        assert calls.timed("remaining", file, lambda: guide.remaining) <= left
        allowed = bits(calls.timed("mask_within", file, guide.mask_within, left))
        assert allowed, "nothing is allowed within the budget"
        token = chance.choice(allowed)
        if token in words.eos:
            return
        calls.timed("advance", file, guide.advance, token)
        left -= 1


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vocabulary", default=MAIN, choices=NAMES)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many schemas; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="name the schemas of the slowest calls")
    given = parser.parse_args()
    files = sorted(given.folder.glob("*.json"))
    if given.sample:
        files = random.Random(given.seed).sample(files, min(given.sample, len(files)))
    words = vocabulary(given.vocabulary)
    warm(lambda _: None)
    settle()
    calls, outcomes = Calls(), Counter[str]()
    for number, path in enumerate(files):
        chance = random.Random(f"{given.seed}/{path.name}")
        schema = json.loads(path.read_bytes())["schema"]
        try:
            index = calls.timed("compile", path.name, guided.compile, guided.JsonSchema(schema), words)
        except GuidedError as error:
            outcomes[f"refused: {type(error).__name__}"] += 1
            continue
        for slack in SLACK:
            try:
                walk(calls, path.name, index, words, chance, slack)
                outcomes["texts"] += 1
            except (GuidedError, AssertionError) as error:
                outcomes[f"{type(error).__name__}: {path.name}: {error}"] += 1
        if sys.stderr.isatty() or number % 100 == 99:
            print(f"{number + 1} of {len(files)}", file=sys.stderr)
    print("| call | calls | all, s | mean, ms | p50 | p99 | p99.9 | largest | over 50 ms |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind, times in calls.times.items():
        row = np.array(times)
        cells = [row.mean(), *np.percentile(row, [50, 99, 99.9]), row.max()]
        shown = " | ".join(f"{cell:.3f}" for cell in cells)
        print(f"| {kind} | {len(row):,} | {row.sum() / 1000:.1f} | {shown} | {(row > 50).sum()} |")
    for kind, slowest in calls.slowest.items():
        print(
            f"\nslowest {kind}:", *(f"{file} {cpu:.1f}" for file, cpu in slowest.most_common(given.worst)), sep="\n  "
        )
    print(f"\n{dict(outcomes)}")
    return int(any("Assertion" in outcome for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
