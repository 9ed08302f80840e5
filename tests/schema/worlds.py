"""Small worlds: schemas of few values, all of which can be tried."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from guided.errors import SchemaError
from guided.schema.formula.atoms import JsonOptions
from tests.schema.engine import compiled, is_empty
from tests.schema.oracle_text import is_text

__all__ = ["OPTIONS", "check", "check_some", "combined"]

OPTIONS = {"whitespace": "compact", "property_order": "any"}


def combined(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(lambda one: {"not": one}),
            st.tuples(st.sampled_from(["allOf", "anyOf", "oneOf"]), st.lists(inner, min_size=2, max_size=4)).map(
                lambda pair: {pair[0]: pair[1]}
            ),
        ),
        max_leaves=8,
    )


def check(schema: Any, world: Sequence[Any]) -> None:
    """The index of a schema against all values of its world, and all places on the way to them."""
    texts = [json.dumps(value, separators=(",", ":")).encode() for value in world]
    expected = [text for text in texts if is_text(schema, text, JsonOptions(**OPTIONS))]  # type: ignore[arg-type]
    try:
        index = compiled(schema, **OPTIONS)
    except SchemaError as error:
        if not is_empty(error):
            raise
        assert not expected
        return
    onward: dict[bytes, set[int]] = {b"": set()}
    for text in expected:
        for place in range(len(text)):
            onward.setdefault(text[:place], set()).add(text[place])
        onward.setdefault(text, set()).add(256)
    for beginning, expected_tokens in onward.items():
        guide = index.guide()
        guide.advance_many(list(beginning))
        mask = np.unpackbits(guide.mask().view(np.uint8), bitorder="little")
        assert set(np.flatnonzero(mask).tolist()) == expected_tokens, beginning


def check_some(schema: Any, world: Sequence[Any]) -> None:
    """The index of a schema that may have other values too: those of its world are accepted, and have completions on the way."""
    texts = [json.dumps(value, separators=(",", ":")).encode() for value in world]
    expected = [text for text in texts if is_text(schema, text, JsonOptions(**OPTIONS))]  # type: ignore[arg-type]
    if not expected:
        return
    index = compiled(schema, **OPTIONS)
    assert [text for text in texts if index.accepts(text)] == expected
    for text in expected[:: len(expected) // 10 + 1]:
        guide = index.guide()
        for byte in text:
            guide.advance(byte)
            assert guide.remaining == 0 or guide.mask_within(guide.remaining).any()
