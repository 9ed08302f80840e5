"""Random grammars against Lark: ``python -m benchmarks.random_grammars [--count N] [--seconds S] [--seed FIRST] [--log FILE]``.

A grammar is drawn from each number from ``--seed`` on, until ``--count`` of those that Lark takes have been compared, or ``--seconds`` of
CPU time have gone: acceptance, viability and masks (`tests.lalr.random_grammars`). The log has a line of JSON for every hundred: the
numbers done, what came out, and the numbers at which two of them disagree; a run with a log that is there goes on where it ended. The exit
status is 1 where anything disagreed.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import lark.lexer

from tests.lalr.random_grammars import Mismatch, check

__all__ = ["main"]

COMPARED = ("exact", "in doubt")
EACH = 100


def compared(state: dict[str, Any]) -> int:
    """How many grammars were compared."""
    return sum(state["counts"].get(name, 0) for name in COMPARED) + len(state["mismatches"])


def begun(log: Path, seed: int) -> dict[str, Any]:
    """The last line of a log that begins with the same number, or the begin."""
    if log.exists():
        last: dict[str, Any] = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])
        if last["seed"] == seed:
            return last
    return {"seed": seed, "next": seed, "counts": {}, "mismatches": [], "cpu_s": 0.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="grammars to compare")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU time of this run")
    parser.add_argument("--seed", type=int, default=0, help="the first number")
    parser.add_argument("--log", type=Path, default=Path(".cache/random_grammars.jsonl"))
    given = parser.parse_args()
    # Why: Lark's comparison of terminals takes most of the time, and changes no parser.
    lark.lexer.has_interegular = False
    state = begun(given.log, given.seed)
    counts = Counter(state["counts"])
    given.log.parent.mkdir(parents=True, exist_ok=True)
    begin = time.process_time()
    spent = state["cpu_s"]
    while compared(state) < given.count and time.process_time() - begin < given.seconds:
        try:
            counts[check(state["next"])] += 1
        except Mismatch as mismatch:
            state["mismatches"].append(state["next"])
            print(state["next"], mismatch, flush=True)
        except Exception as error:  # what breaks is a mismatch too, and others are to be found
            state["mismatches"].append(state["next"])
            print(state["next"], type(error).__name__, error, flush=True)
        state["next"] += 1
        state["counts"] = dict(sorted(counts.items()))
        state["cpu_s"] = round(spent + time.process_time() - begin, 1)
        if state["next"] % EACH == 0 or compared(state) == given.count:
            with given.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(state) + "\n")
    print(f"{compared(state):,} grammars, {len(state['mismatches'])} mismatches: {state['counts']}, {state['cpu_s']} s")
    return 1 if state["mismatches"] else 0


if __name__ == "__main__":
    sys.exit(main())
