"""Names of members whose automaton counts characters: refused with their place when the schema is compiled, or read in any text."""

from typing import Any

import pytest

from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError
from tests.schema.engine import BYTES

SETS = {"[a-z]": "a", "[^/]": "\u00e9", r"\w": "_", r"[\p{L}\p{N}_]": "\u4e2d", ".": "\U00010000"}


@pytest.mark.parametrize("keyword", ["propertyNames", "patternProperties"])
@pytest.mark.parametrize("letters", SETS)
@pytest.mark.parametrize("count", [90, 400, 3_000, 30_000])
def test_names_that_count_far_are_refused_at_once_or_read(keyword: str, letters: str, count: int) -> None:
    pattern = f"^{letters}{{1,{count}}}$"
    inner: dict[str, Any] = {"pattern": pattern} if keyword == "propertyNames" else {pattern: {"type": "integer"}}
    reason = ""
    try:
        index = compile_spec(JsonSchema({"items": {"type": "object", keyword: inner}}), BYTES)
    except LimitError as error:
        reason = str(error)
    if reason:
        assert count > 90
        assert f"the names at /items/{keyword} need too large an automaton" in reason or "transitions" in reason
        return
    guide = index.guide()
    for piece in ['[{"', SETS[letters] * 80, '": 1, "', SETS[letters] * 30]:
        guide.mask()
        assert guide.advance_many(piece.encode()) == len(piece.encode())
        assert guide.remaining > 0


@pytest.mark.parametrize(("most", "is_fine"), [(400, True), (4_000, False)])
def test_lengths_of_names_are_counted(most: int, is_fine: bool) -> None:
    schema = {"items": {"propertyNames": {"maxLength": most}}}
    if is_fine:
        index = compile_spec(JsonSchema(schema), BYTES)
        assert [index.accepts('[{"' + "a" * length + '": 1}]') for length in (most, most + 1)] == [True, False]
        return
    with pytest.raises(LimitError, match="the names at /items/propertyNames need too large an automaton") as caught:
        compile_spec(JsonSchema(schema), BYTES)
    assert caught.value.what == "growth_bytes"
