"""Hostile schemas: an index, or a typed error, within five seconds of CPU time and a gigabyte; never anything else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hostile_specs import slowness
from tests.schema.hostile import SCHEMAS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
SECONDS, MEGABYTES = 5, 1000
# Schemas that no value satisfies, and schemas that mean nothing: the error names the place.
NO_INDEX = {
    "a contradiction", "a contradiction of bounds", "a contradiction far down", "not anything", "false", "a reference to itself",
    "references in a circle", "recursion without base", "infinity", "not a number",
    "a schema that is a list", "a schema that is text", "wrong kinds",
    "itself under not", "a constant within itself", "a constant in 2^60 places",
}  # fmt: skip
INDEX = {
    "1,000 optional properties", "1,000 required properties", "an enum of 100,000 strings", "a bound of 1e308", "NUL everywhere",
    "10 MB of description", "keys of all kinds", "a length of 10^9", "2^60 references",
}  # fmt: skip

TOO_DEEP = {name for name in SCHEMAS if "10,000 levels" in name or "1,000 levels" in name} | {"10 MB of brackets"}

PARTS = 6


def measured(names: list[str]) -> list[dict[str, Any]]:
    """What came of schemas, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.schema.hostile", *names],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=600,
    )
    told: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["name"] for each in told] == names, done.stderr[-2000:]
    assert done.returncode == 0
    return told


def is_large(each: dict[str, Any]) -> bool:
    return each["megabytes"] > MEGABYTES or (each["seconds"] > SECONDS and each["seconds"] > SECONDS * slowness())


@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_schemas_cost_little(part: int) -> None:
    told = measured(list(SCHEMAS)[part::PARTS])
    large = [each for each in told if is_large(each)]
    # Why again: what shares the processor's caches with a schema slows it down by half, and may be gone the next time.
    for _ in range(2):
        large = [each for each in measured([each["name"] for each in large]) if is_large(each)] if large else []
    assert not large
    assert not [each for each in told if each["name"] in NO_INDEX and each["outcome"] == "index"]
    assert not [each for each in told if each["name"] in INDEX and each["outcome"] != "index"]
    deep = [each for each in told if each["name"] in TOO_DEEP]
    assert all(each["outcome"] == "LimitError" and each["what"] in {"reference_depth", "schema_depth"} for each in deep)
    # Why: a wrong type is a mistake of the program that calls, not of who wrote the schema.
    assert not [
        each for each in told if (each["outcome"] == "TypeError") != (each["name"] == "a schema that is a list")
    ]
    refused = [each for each in told if each["outcome"] == "SchemaError"]
    assert all(each["keyword"] and (not each["pointer"] or each["pointer"].startswith("/")) for each in refused)
