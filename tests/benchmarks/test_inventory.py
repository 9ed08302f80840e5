"""The benchmark of inventories runs: it calls what programs call."""

import pytest

from benchmarks.inventory import definition, measured
from guided.calls.tool import Tool
from tests.real_vocabularies import real_vocabulary


@pytest.mark.network
def test_an_inventory_is_measured() -> None:
    found = measured([Tool(definition(number)) for number in range(20)], real_vocabulary("gpt2"))
    assert found["tools"] == 20
    assert found["refused"] == 0
    assert found["add ms"] > 0
