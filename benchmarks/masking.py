"""Time per token of generation with masks, in this checkout and in an earlier one: ``python -m benchmarks.masking --before FOLDER``.

``guided.regex`` with a `guided.FunctionModel` that costs nearly nothing, so that the time is that of masks, choice and bookkeeping. Pairs
of processes, one with each checkout, measure in turn. A pair's ratio is that of its least times, to which neighbours on the machine add
nothing, and beside it that of its medians; intervals are Student's over the pairs, so that what differs from process to process counts as
chance. CPU time. ``--record`` keeps all times in benchmarks/record/masking.json.

    git worktree add /tmp/before 933e3d8^     # before generators had methods other than masks
    python -m benchmarks.masking --before /tmp/before
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["CASES", "Pairs", "main", "ratio", "recorded_table"]

ROOT = Path(__file__).parent.parent
RECORD = Path(__file__).parent / "record" / "masking.json"
_TOKENS = 400
# Tokens of the vocabulary, temperature.
CASES = {"greedy": (257, 0.0), "temperature 1": (257, 1.0), "greedy, 49,153 tokens": (49_153, 0.0)}
# Two-sided 95 % quantiles of Student's distribution by number of pairs.
_STUDENT = {4: 3.182, 6: 2.571, 8: 2.365, 10: 2.262, 12: 2.201, 16: 2.131, 20: 2.093}

# Of a case: for each pair of processes the microseconds per token before, and now.
Pairs = list[tuple[list[float], list[float]]]


def main() -> None:
    """Measure, and print a line per case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout")
    parser.add_argument("--pairs", type=int, choices=list(_STUDENT), default=8)
    parser.add_argument("--rounds", type=int, default=25, help="measurements of each process")
    parser.add_argument("--record", action="store_true")
    parser.add_argument(
        "--report", action="store_true", help="measure nothing; the table of benchmarks/record/sampling.md"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        _work()
        return
    if given.report:
        print(recorded_table())
        return
    if given.before is None:
        parser.error("--before is needed")
    from benchmarks import machine

    about = {"command": " ".join(["python -m benchmarks.masking", *sys.argv[1:]]), **machine.describe()}
    about["before"] = subprocess.run(
        ["git", "-C", str(given.before), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found: dict[str, Pairs] = {case: [] for case in CASES}
    for _ in range(given.pairs):
        for case, times in _pair(given.before, given.rounds).items():
            found[case].append(times)
    if given.record:
        machine.write({"about": about, "us per token": found}, RECORD)
    print(_table(found))


def _pair(before: Path, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """Two processes that measure in turn, the first one first in every other round."""
    workers = [_started(folder) for folder in (before, ROOT)]
    times: dict[str, tuple[list[float], list[float]]] = {case: ([], []) for case in CASES}
    for number in range(rounds + 1):
        for case in CASES:
            for place in (0, 1) if number % 2 else (1, 0):
                took = _asked(workers[place], case)
                # The first round warms up.
                if number:
                    times[case][place].append(took)
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()
    return times


def _started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).resolve()), "--worker"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _asked(worker: subprocess.Popen[str], case: str) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(case + "\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def _work() -> None:
    """Answer each line of the input, a case, by microseconds per token."""
    # Why: a file that is run as a script would find this folder's modules first.
    sys.path = [path for path in sys.path if path != str(Path(__file__).parent.resolve())]
    import numpy as np

    import guided

    made = {}
    for case, (size, temperature) in CASES.items():
        words = [bytes([place]) if place < 256 else b"%c%d" % (97 + place % 26, place) for place in range(size - 1)]
        rows = np.random.default_rng(0).normal(size=(7, size)).astype(np.float32)
        # Texts do not end before the budget does.
        rows[:, -1] = -50
        model = guided.FunctionModel(
            lambda tokens, rows=rows: rows[len(tokens) % 7],  # type: ignore[misc]
            guided.Vocabulary([*words, None], eos=[size - 1]),
            lambda _: [0],
        )
        made[case] = guided.regex(model, "([a-z][0-9]*)+"), temperature
    for line in sys.stdin:
        generator, temperature = made[line.strip()]
        begun = time.process_time()
        result = generator("", max_tokens=_TOKENS, temperature=temperature, seed=0)
        took = time.process_time() - begun
        assert result.forward_passes >= _TOKENS - 2, result.forward_passes
        print(1e6 * took / result.forward_passes, flush=True)


def ratio(pairs: Pairs, of: Callable[[list[float]], float] = min) -> tuple[float, float, float]:
    """Now over before, each the least or another statistic of a process, and its 95 % interval."""
    logs = [math.log(of(now) / of(before)) for before, now in pairs]
    mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - _STUDENT[len(logs)] * error), math.exp(mean + _STUDENT[len(logs)] * error)


def _table(found: dict[str, Pairs]) -> str:
    from benchmarks.tables import table

    rows = []
    for case, pairs in found.items():
        before, now = (statistics.median(min(pair[place]) for pair in pairs) for place in (0, 1))
        ratios = ("{:.2f} ({:.2f}-{:.2f})".format(*ratio(pairs, of)) for of in (min, statistics.median))
        rows.append([case, f"{before:.0f}", f"{now:.0f}", *ratios])
    return table(["", "before, us", "now, us", "now / before", "of medians"], rows)


def recorded_table() -> str:
    """The table of the record."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return _table(found["us per token"])


if __name__ == "__main__":
    main()
