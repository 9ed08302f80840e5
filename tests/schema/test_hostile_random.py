"""Random hostile schemas: typed errors only, bounded calls and memory, an unchanged guide after an error, and an end within each budget."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile_specs import slowness
from tests.schema.hostile_random import attempt

ROOT = Path(__file__).parents[2]
# CPU seconds of one call, by what the limits are divided by: about twice what the worst of thousands of schemas took.
SECONDS = {1: 8.0, 3: 6.0, 30: 5.0, 100: 5.0}
MEGABYTES = 1000


@pytest.mark.parametrize("scale", [30, 100])
def test_small_hostile_schemas(scale: int) -> None:
    n_steps = n_ended = 0
    for number in range(50):
        # The first calls may compile kernels, so they are only stopped where they do not end; the slow test has the bounds.
        _, trial = attempt(scale, number, scale, is_large=False)
        n_steps, n_ended = n_steps + trial.n_steps, n_ended + trial.n_ended
    assert n_steps > 50
    assert n_ended > 10


def test_a_budget_keeps_the_next_token_of_a_completion_whose_bound_took_too_many_steps() -> None:
    _, trial = attempt(22, 448, 100, is_large=False)
    assert trial.n_ended > 0


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "count"), [(1, 40), (3, 60), (30, 300), (100, 400)])
def test_hostile_schemas(scale: int, count: int) -> None:
    program = [sys.executable, "-m", "tests.schema.hostile_random", "1", str(count), str(scale)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=ROOT, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["findings"] == []
    assert summary["megabytes"] < MEGABYTES
    assert summary["slowest"][0][0] < SECONDS[scale] * slowness(), summary["slowest"][0]
    assert summary["tokens"] > 2 * count
