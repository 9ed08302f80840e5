"""The kernels' tests again, as plain Python and with checked bounds; and all modes give the same index, bit by bit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.digest import digest

ROOT = Path(__file__).parents[2]
MODES = ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"]


def run(mode: str, *arguments: str) -> str:
    """A Python process in a mode."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in MODES and not name.startswith(("COV_", "COVERAGE_"))
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        env=inherited | {mode: "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


OUT_OF_BOUNDS = """
import numpy as np
from guided.kernels.rows import fill_mask
try:
    tokens, ones = np.array([96], np.int32), np.ones(1, np.int32)
    fill_mask(np.zeros(1, np.int32), np.array([0, 1]), tokens, ones, np.zeros((2, 3), np.int32), np.zeros(3, np.int32))
except IndexError:
    print("checked")
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_bounds_are_checked(mode: str) -> None:
    assert run(mode, "-c", OUT_OF_BOUNDS) == "checked\n"


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_the_same_index(mode: str) -> None:
    assert run(mode, "-m", "tests.kernels.digest").split() == digest()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_the_kernels_tests_pass_in_every_mode(mode: str) -> None:
    files = sorted(str(path) for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_modes.py")
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile=default"]
    assert " passed" in run(mode, "-m", "pytest", *options, *files)
