"""Regular expressions: every engine over every vocabulary and pattern, side by side in one process.

    python -m benchmarks.regex [--vocabulary NAME ...] [--pattern NAME ...] [--engine NAME ...] [--repeat N] [--json OUT]

For each vocabulary and pattern, in each repetition, every engine in turn, in an order of its own, compiles the pattern anew (never the
same spelling twice in a process, see `Pattern.fresh`, and see the adapters for caches) and walks along the texts. Measured:

- *compile*: the pattern to an object that can answer for its first mask;
- *whole*: and all that is left to do until nothing is computed later: for guided and the walk per state every mask of every state;
  for outlines-core and xgrammar what they compute ahead; llguidance has no such state;
- *text*: compile, then mask and advance along all texts, all caches of the pattern cold;
- *ready*: mask + advance in microseconds per step of the same texts once more, caches warm.

Every run is a test: the number of states, the number of tokens that guided allows and the refused texts are held against
the definitions, and the other engines' masks are compared with guided's at every step. Exit status 1 where guided is wrong.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import engines, machine, vocabularies
from benchmarks.clock import clock_overhead, median, no_collection, percentiles, settle, step_times, timed
from benchmarks.compare import agreement
from benchmarks.definitions import Pattern, load
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Regex
from guided.errors import TokenRejected
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["main", "run"]

PASSES = 9
# What each engine compiles, unmeasured, before each measured compile: so that none starts with the memory and the processor's caches as
# another engine left them.
SMALL = "a?b"
# Seconds of one compile after which an engine is not asked for that pattern again, over the vocabularies that follow.
PATIENCE = 15.0


class Runner:
    """One run: how many spellings of each pattern have been compiled, and what is wrong with guided."""

    def __init__(self, repeat: int, budget: float, names: Sequence[str]) -> None:
        self.repeat, self.budget, self.names = repeat, budget, names
        self.spellings: Counter[str] = Counter()
        self.overhead = clock_overhead()
        self.hopeless: set[tuple[str, str]] = set()
        self.wrong: list[str] = []

    def over(self, name: str, patterns: Sequence[Pattern]) -> dict[str, Any]:
        """All patterns over one vocabulary."""
        vocabulary = vocabularies.vocabulary(name)
        cut = vocabularies.Cutter(vocabulary)
        made, setups = {}, {}
        for engine in self.names:
            made[engine], cpu, _ = timed(engines.engine, engine, vocabulary)
            _, again, _ = timed(engines.engine, engine, vocabulary)
            setups[engine] = round(min(cpu, again), 3)
        about = {
            "tokens": len(vocabulary), "size": vocabulary.size, "eos": list(vocabulary.eos),
            "trie nodes": len(vocabulary.trie.byte),
        }  # fmt: skip
        cells = {}
        settle()
        for pattern in patterns:
            texts = [cut(text) for text in pattern.texts]
            index = self._checked(name, pattern, vocabulary, texts)
            cells[pattern.name] = self._pattern(pattern, index, made, texts)
            _print_row(name, pattern, cells[pattern.name])
        return {"vocabulary": about, "setup_ms": setups, "patterns": cells}

    def _checked(self, name: str, pattern: Pattern, vocabulary: Vocabulary, texts: list[list[int]]) -> Index:
        """guided's index, after it was held against the definition."""
        index = compile_spec(Regex(pattern.regex), vocabulary)
        where = f"{name}, {pattern.name}"
        if index.n_states != pattern.states:
            self.wrong.append(f"{where}: {index.n_states} states, not {pattern.states}")
        if taken := [text for text in pattern.refused if index.accepts(text.encode())]:
            self.wrong.append(f"{where}: accepts {taken}")
        found = agreement(index, _Plain(index), texts)
        if found.refused or found.allowed != pattern.allowed.get(name, found.allowed):
            self.wrong.append(
                f"{where}: {found.allowed} tokens allowed, not {pattern.allowed.get(name)}; {found.refused} refused"
            )
        return index

    def _pattern(self, pattern: Pattern, index: Index, made: dict[str, Any], texts: list[list[int]]) -> dict[str, Any]:
        names = [name for name in made if (name, pattern.name) not in self.hopeless]
        cells: dict[str, Any] = {name: {"compile": [], "wall": [], "whole": [], "text": []} for name in names}
        spent, kept = dict.fromkeys(names, 0.0), {}
        order = random.Random(pattern.name)
        for _ in range(self.repeat):
            along, whole = self._fresh(pattern), self._fresh(pattern)
            ready = [name for name in names if spent[name] <= self.budget]
            works = [(name, True) for name in ready] + [(name, False) for name in ready if not made[name].complete]
            order.shuffle(works)
            for name, is_along in works:
                if is_along:
                    kept[name] = _along(made[name], along, texts, cells[name])
                    spent[name] += cells[name]["text"][-1] / 1e3
                else:
                    _whole(made[name], whole, cells[name])
                    spent[name] += cells[name]["whole"][-1] / 1e3
        for name, cell in cells.items():
            if cell["compile"][0] > 1e3 * PATIENCE:
                self.hopeless.add((name, pattern.name))
            cell["agreement"] = asdict(agreement(index, kept[name], texts))
            if name != "walk per state":
                cell |= self._ready(kept[name], texts, cell["agreement"]["refused"])
            for measure in ("compile", "wall", "whole", "text"):
                cell[f"{measure}_ms"] = median(cell[measure]) if cell[measure] else None
                cell[measure] = [round(value, 3) for value in cell[measure]]
        return cells

    def _fresh(self, pattern: Pattern) -> str:
        self.spellings[pattern.name] += 1
        return pattern.fresh(self.spellings[pattern.name])

    def _ready(self, compiled: Any, texts: list[list[int]], refused: int) -> dict[str, Any]:
        starts = {"ready": compiled.start}
        if hasattr(compiled, "start_copying"):
            starts["ready_copying"] = compiled.start_copying
        found = {}
        for name, start in starts.items():
            with no_collection():
                times = [self._steps(start, tokens) for tokens in texts] if not refused else []
            if times:
                steps = np.concatenate(times)
                found[name] = {
                    "mask": percentiles(steps[:, 0]), "advance": percentiles(steps[:, 1]), "both": percentiles(steps.sum(1)),
                }  # fmt: skip
        if isinstance(compiled, engines.HasLookup) and not refused:
            found["lookup_us"] = _lookup(compiled, texts)
        return found

    def _steps(self, start: Any, tokens: list[int]) -> np.ndarray:
        """Nanoseconds of mask and advance per step, shape (steps, 2): medians over passes, less the clock."""
        times = step_times(start, tokens, PASSES)
        return np.median(times[1:], axis=0) - self.overhead


def _along(engine: engines.Engine, regex: str, texts: list[list[int]], cell: dict[str, Any]) -> Any:
    """Compile, and walk along the texts; the compiled pattern."""
    engine.compile(SMALL)
    with no_collection():
        compiled, cpu, wall = timed(engine.compile, regex)
        _, walked, _ = timed(_walk, compiled, texts)
    cell["compile"].append(cpu)
    cell["wall"].append(wall)
    cell["text"].append(cpu + walked)
    if engine.complete and not engine.lazy:
        cell["whole"].append(cpu)
    return compiled


def _whole(engine: engines.Engine, regex: str, cell: dict[str, Any]) -> None:
    """Compile once more and finish. Why anew: texts bring some of the masks into being."""
    engine.compile(SMALL)
    with no_collection():
        compiled, cpu, _ = timed(engine.compile, regex)
        _, finished, _ = timed(compiled.finish)
    cell["whole"].append(cpu + finished)


def _lookup(compiled: engines.HasLookup, texts: list[list[int]]) -> dict[str, float]:
    """Microseconds of the look-ups inside a step, from Python and compiled: least mean over a long loop."""
    steps = [pair for tokens in texts for pair in compiled.visited(tokens)]
    steps = steps * (4000 // len(steps) + 1)
    found = {}
    for name, look in compiled.lookups().items():
        best = min(_loop(look, steps) for _ in range(PASSES))
        found[name] = round(best / len(steps) / 1e3, 4)
    tokens = max(texts, key=len)
    rounds = 20_000 // len(tokens) + 1
    walk = compiled.compiled_walk(tokens, rounds)
    walk()
    best = min(_wall(walk) for _ in range(PASSES))
    found["kernel"] = round(best / (rounds * len(tokens)) / 1e3, 5)
    return found


def _loop(look: Any, steps: list[tuple[int, int]]) -> int:
    with no_collection():
        begin = time.perf_counter_ns()
        for state, token in steps:
            look(state, token)
        return time.perf_counter_ns() - begin


def _wall(work: Any) -> int:
    begin = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - begin


class _Plain:
    """guided's index behind the interface of the comparison."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def finish(self) -> None:
        """Nothing to do."""

    def start(self) -> engines.Matcher:
        guide = self.index.guide()
        return engines.Matcher(guide.mask, guide.advance, guide.mask)


def _walk(compiled: engines.Compiled, texts: list[list[int]]) -> None:
    """All masks and steps along the texts, as far as the engine goes."""
    for tokens in texts:
        matcher = compiled.start()
        for token in tokens:
            matcher.mask()
            try:
                if matcher.advance(token) is False:
                    break
            except (ValueError, TokenRejected):
                break
        else:
            matcher.mask()


def run(
    names: Sequence[str], patterns: Sequence[str], chosen: Sequence[str], repeat: int, budget: float
) -> tuple[dict[str, Any], list[str]]:
    """A whole run: (record, what is wrong with guided)."""
    machine.one_core()
    record: dict[str, Any] = {"command": " ".join(["python -m benchmarks.regex", *sys.argv[1:]]), **machine.describe()}
    definitions = load()
    runner = Runner(repeat, budget, chosen)
    record["clock overhead ns"] = runner.overhead
    record["repeat"], record["budget s"], record["passes"] = repeat, budget, PASSES
    # Why: numba compiles, or reads its cache, on first use.
    Runner(1, 0, chosen).over(names[0], [definitions["integer"], definitions["string 100"]])
    print()
    record["vocabularies"] = {name: runner.over(name, [definitions[key] for key in patterns]) for name in names}
    record["load at end"] = machine.load()
    return record, runner.wrong


def _print_row(name: str, pattern: Pattern, cells: dict[str, Any]) -> None:
    columns = []
    for engine, cell in cells.items():
        times = "/".join(
            "-" if cell[f"{key}_ms"] is None else f"{cell[f'{key}_ms']:.2f}" for key in ("compile", "whole", "text")
        )
        step = f" {cell['ready']['both']['p50']:.2f}us" if "ready" in cell else ""
        same = cell["agreement"]
        mark = (
            "" if same["equal"] == same["steps"] else f" [{same['canonical']}c {same['different']}d of {same['steps']}]"
        )
        columns.append(f"{engine} {times}{step}{mark}")
    print(f"{name:13} {pattern.name:11}  " + "  |  ".join(columns), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--vocabulary", nargs="+", default=vocabularies.NAMES, choices=vocabularies.NAMES, metavar="NAME"
    )
    parser.add_argument("--pattern", nargs="+", default=tuple(load()), choices=tuple(load()), metavar="NAME")
    parser.add_argument("--engine", nargs="+", default=engines.NAMES, choices=engines.NAMES, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=7, help="repetitions (default 7)")
    parser.add_argument(
        "--budget", type=float, default=1, help="seconds after which an engine repeats a pattern no more (default 1)"
    )
    parser.add_argument("--json", type=Path, help="write the record here")
    given = parser.parse_args()
    record, wrong = run(given.vocabulary, given.pattern, given.engine, given.repeat, given.budget)
    if given.json:
        machine.write(record, given.json)
    for line in wrong:
        print("WRONG", line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
