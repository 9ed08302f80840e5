"""The table of call formats by kind of value: no cell of it fails, and a small part of the benchmark runs."""

import pytest

from benchmarks.call_formats import VALUES, cells_of, measured, run, shown, tool_of
from guided.calls.formats import format_names
from guided.calls.reads import Call
from guided.vocabulary.vocabulary import Vocabulary

BYTES = Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)


@pytest.mark.parametrize("name", format_names()[::8])
def test_every_kind_of_value_is_measured(name: str) -> None:
    for kind, (_, value) in VALUES.items():
        found = measured([tool_of(kind)], Call("f", {"value": value}, (0, 0)), name, BYTES)
        assert set(found) == {
            "ready ms",
            *(f"{one}, {which} us" for one in ("first", "again") for which in ("median", "worst")),
        }


@pytest.mark.network
def test_a_small_part_runs() -> None:
    found = {"pythonic": cells_of("pythonic", ["list of strings"], "smollm2")}
    assert set(found["pythonic"]) == {"list of strings", "signatures", "definitions"}
    text = shown(found, ["list of strings"])
    assert "| pythonic | " in text
    assert "pythonic, list of strings" in text


@pytest.mark.slow
@pytest.mark.network
def test_formats_are_measured_in_processes_of_their_own() -> None:
    found = run(["json", "gemma"], ["maxLength 500"], "smollm2")
    assert list(found) == ["json", "gemma"]
