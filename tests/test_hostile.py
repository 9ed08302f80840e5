"""Thousands of hostile inputs give a result or a typed error, and never anything else.

A finding is whatever is neither a result nor a `GuidedError`, `TypeError` or `ValueError`; an error that is not raised on purpose where the
input was data; a message with an address of memory in it, or with nothing; more than 5 s of CPU for one input; a process that ends; and a
wrong result (`tests.hostile`).

``python -m benchmarks.hostile --only fuzz`` goes on for as long as it is told and prints the totals;
``python -m tests.test_hostile SEED COUNT`` prints a line for each input of a seed, and with a NUMBER more tries one of them again.
"""

import ast
import copy
import json
import linecache
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from guided.engine.specs import Regex
from guided.errors import GuidedError
from guided.limits import Limits
from tests.hostile import KINDS, MIXED_UP, warm_up

CPU_SECONDS = 5.0
ROOT = Path(__file__).parents[1]
PACKAGE = str(ROOT / "guided")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


@dataclass(frozen=True)
class Finding:
    """What went wrong with one input."""

    seed: int
    number: int
    kind: str
    what: str


@cache
def _raises(path: str) -> set[int]:
    """Lines of a file that are part of a raise statement."""
    tree = ast.parse("".join(linecache.getlines(path)))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def fault(error: BaseException, is_data: bool = True) -> str | None:
    """Why an exception is a finding, or None; ``is_data`` where the input was of the right types, whatever it held."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    path, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    place = f"{type(error).__name__}: {str(error)[:300]!r} at {path.removeprefix(str(ROOT) + '/')}:{line}"
    # Sequences end iterations by IndexError.
    kinds = (GuidedError, TypeError, ValueError) if is_data else (GuidedError, TypeError, ValueError, IndexError)
    if isinstance(error, AssertionError) or not isinstance(error, kinds):
        return place
    if ADDRESS.search(str(error)):
        return f"address in {place}"
    if not str(error).strip():
        return f"no message in {place}"
    if isinstance(error, GuidedError) or not is_data:
        return None
    # What is data is refused on purpose; where a caller mixes up arguments, Python's own TypeError will do.
    return None if path.startswith(PACKAGE) and line in _raises(path) else f"not on purpose: {place}"


def attempt(seed: int, number: int) -> tuple[str, str, str | None]:
    """Try one input: (kind, what it gave, why that is a finding)."""
    draw = random.Random(f"{seed} {number}")
    (kind,) = draw.choices(list(KINDS), list(KINDS.values()))
    before = time.process_time()
    result, found = "result", None
    try:
        kind(draw)
    except Exception as error:
        result, found = type(error).__name__, fault(error, kind not in MIXED_UP)
    spent = time.process_time() - before
    if found is None and spent > CPU_SECONDS:
        found = f"{spent:.1f} s of CPU"
    return kind.__name__, result, found


def child(seed: int, count: int, only: int | None) -> None:
    """A line for each input, begun before it is tried, so that the parent knows which one ended the process."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    warm_up()
    for number in range(count) if only is None else [only]:
        print(f"{number} ", end="", flush=True)
        name, result, found = attempt(seed, number)
        print(json.dumps([name, result, found, time.process_time()]), flush=True)


def run(seed: int, count: int, cpu_seconds: int) -> tuple[Counter[str], list[Finding], float]:
    """A child process with a limit of CPU: results by kind, findings, CPU seconds."""
    program = ["-c", f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({cpu_seconds}, {cpu_seconds + 5}))"]
    program[1] += f"; from tests.test_hostile import child; child({seed}, {count}, None)"
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        done = subprocess.run([sys.executable, *program], cwd=ROOT, stdout=output, stderr=errors, check=False)
        output.seek(0)
        errors.seek(0)
        lines, said = output.read().splitlines(), errors.read()
    results: Counter[str] = Counter()
    findings: list[Finding] = []
    spent = 0.0
    for line in lines:
        number, _, rest = line.partition(" ")
        if not rest:
            findings.append(Finding(seed, int(number), "process", f"ended with {done.returncode}: {said[-500:]}"))
            continue
        name, result, found, spent = json.loads(rest)
        results[f"{name}: {result}"] += 1
        if found is not None:
            findings.append(Finding(seed, int(number), name, found))
    if done.returncode and not findings:
        findings.append(Finding(seed, -1, "process", f"ended with {done.returncode}: {said[-500:]}"))
    return results, findings, spent


@pytest.mark.slow
def test_hostile_input_gives_a_result_or_a_typed_error() -> None:
    results, findings, _ = run(seed=1, count=400, cpu_seconds=300)
    assert findings == []
    assert results.total() == 400
    assert sum(count for name, count in results.items() if name.endswith(": result")) > 100


def test_findings_are_found() -> None:
    """The judge itself: what must be told apart is."""

    def judged(work: Callable[[], object], is_data: bool = True) -> str | None:
        with pytest.raises(Exception) as error:  # noqa: PT011 - what it is is judged
            work()
        return fault(error.value, is_data)

    def address() -> None:
        raise ValueError(f"{object()}")

    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    nothing: dict[str, int] = {}
    assert judged(lambda: Regex("(").lower(Limits())) is None
    assert judged(lambda: Regex(3)) is None  # type: ignore[arg-type]
    assert "KeyError" in (judged(lambda: nothing["a"]) or "")
    assert "not on purpose" in (judged(lambda: json.loads("{")) or "")
    assert judged(lambda: json.loads("{"), is_data=False) is None
    assert "RecursionError" in (judged(lambda: copy.deepcopy(deep)) or "")
    assert "address" in (judged(address, is_data=False) or "")


if __name__ == "__main__":
    child(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
