"""Settings of all tests."""

import gc
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import real_vocabularies
from tests.profiles import DEEP_FACTOR, DEFAULT_EXAMPLES

# Set before anything imports torch: see guided.integrations.load, which does the same for programs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# A verdict must not depend on whether somebody has built the extension of compiled kernels.
os.environ.setdefault("GUIDED_COMPILED_KERNELS", "0")

# No deadline: the first example of a test may compile a kernel, and machines differ.
# Derandomized: a commit has the same verdict everywhere. GUIDED_RANDOM=1 draws other examples in each run.
# No check of how long inputs take to draw: that depends on what else the machine does.
_COMMON: dict[str, Any] = {
    "deadline": None,
    "derandomize": "GUIDED_RANDOM" not in os.environ,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("default", max_examples=DEFAULT_EXAMPLES, **_COMMON)
settings.register_profile("ci", max_examples=100, **_COMMON)
settings.register_profile("deep", max_examples=100 * DEEP_FACTOR, **_COMMON)
settings.load_profile("default")

# Why: all that collecting makes stays until the end. Python's collector finds nothing in it, but would walk it again and again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()
    # A collection of all generations walks what the caches keep, and finds little: once in a million allocations is enough.
    gc.set_threshold(2_000, 20, 25)


def pytest_runtest_setup(item: pytest.Item) -> None:
    real_vocabularies.running_test = item
