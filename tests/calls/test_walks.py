"""Texts of a model with random logits are calls that json and jsonschema take; `benchmarks.call_walks` says many more of them."""

from collections.abc import Iterator

import pytest

from benchmarks import call_walks
from benchmarks.call_walks import inventories, walk
from guided.calls.tool import Tool
from tests.real_vocabularies import real_vocabulary

pytestmark = [pytest.mark.slow, pytest.mark.network]


@pytest.mark.parametrize(
    ("kind", "is_lazy", "texts"), [("definitions", True, 40), ("definitions", False, 30), ("signatures", False, 20)]
)
def test_random_texts_are_calls(kind: str, is_lazy: bool, texts: int) -> None:
    found = inventories()
    if kind not in found:
        pytest.skip("set GUIDED_DATA to a folder with funcqa")
    # Built whole, few are enough.
    tools = found[kind] if is_lazy else found[kind][:30]
    result = walk(tools, real_vocabulary("smollm2"), texts, seed=3, is_lazy=is_lazy)
    assert result.wrong == []
    assert result.texts == texts
    assert len(result.called) >= min(len(tools), texts) // 2


def test_texts_that_are_not_calls_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool({"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}})
    texts = {
        b'{"name": "f", "arguments": {"a": 1}}': None,
        b'{"name": "f", "arguments": {"a": 1.5}}': "1.5 is not of type 'integer'",
        b'{"name": "f", "arguments": {"b": 1}}': "Additional properties are not allowed ('b' was unexpected)",
        b'{"name": "g", "arguments": {}}': "there is no such tool",
        b'{"arguments": {}, "name": "f"}': "it is something else",
        b'{"name": "f", "arguments": {"a": 1}': "Expecting ',' delimiter: line 1 column 36 (char 35)",
    }
    said: Iterator[bytes] = iter(texts)
    monkeypatch.setattr(call_walks, "_said", lambda *_: (next(said), 1))
    monkeypatch.setattr(call_walks, "BEGIN", b"")
    monkeypatch.setattr(call_walks, "_in_turn", lambda *_: iter([""] * 9))
    found = walk([tool], real_vocabulary("smollm2"), len(texts), seed=0)
    assert [reason for _, reason in found.wrong] == [reason for reason in texts.values() if reason]
