"""Walks of random schemas: what is checked of a text, and that a wrong one is told."""

import random
from collections import Counter
from typing import Any

import pytest

from benchmarks import schema_walks
from tests.real_vocabularies import real_vocabulary

pytestmark = pytest.mark.network


def test_walks_end_in_texts_of_their_schemas() -> None:
    counts, wrong = Counter[str](), list[dict[str, Any]]()
    schema_walks.walks(0, real_vocabulary("gpt2"), counts, wrong)
    assert counts["texts"]
    # Why none is ruled out to be wrong: what is drawn hangs on the modules that are loaded, and one text in some thousand has a name twice.
    assert counts.total() + len(wrong) == schema_walks.SCHEMAS


@pytest.mark.parametrize("text", [b"-1", b"1.0", b'"a"', b"1 "])
def test_a_text_outside_the_schema_is_reported(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_walks, "steered_text", lambda *_: text)
    options = {"whitespace": "compact", "numbers": "plain", "property_order": "schema"}
    with pytest.raises(AssertionError, match="no text of the schema"):
        schema_walks.walked(
            {"exclusiveMinimum": 1, "type": "integer"}, True, options, real_vocabulary("gpt2"), random.Random(1)
        )
