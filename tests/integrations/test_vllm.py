"""The vLLM backend without vLLM: grammars never raise, and keep end tokens apart."""

import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.integrations import vllm, vllm_backend
from guided.integrations.serving import spec_of
from guided.integrations.vllm_backend import Grammar
from tests.executed import executed_lines
from tests.masks import bits

BYTES = guided.Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256], size=300)


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What would be counted in Prometheus, whose client comes with vLLM."""
    counts: Counter[str] = Counter()
    metrics = SimpleNamespace(
        masked=lambda seconds: counts.update(["masked"]),
        flush=lambda: counts.update(["flushed"]),
        failures=SimpleNamespace(inc=lambda: counts.update(["failures"])),
    )
    monkeypatch.setattr(vllm_backend, "metrics", lambda: metrics)
    return counts


def allowed(grammar: Grammar) -> set[int]:
    mask = torch.zeros((2, 10), dtype=torch.int32)
    grammar.fill_bitmask(mask, 1)
    assert not mask[0].any()
    return set(bits(mask[1].numpy()))


def grammar_of(pattern: str, stops: set[int]) -> Grammar:
    return Grammar(guided.compile(guided.Regex(pattern), BYTES), stops)


def test_a_text_to_its_end(counted: Counter[str]) -> None:
    grammar = grammar_of("ab?", {256})
    assert allowed(grammar) == {ord("a")}
    assert grammar.accept_tokens("id", [ord("a")])
    assert allowed(grammar) == {ord("b"), 256}
    assert not grammar.is_terminated()
    assert grammar.accept_tokens("id", [256, 7])  # tokens after the end are not the grammar's
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    grammar.reset()
    assert allowed(grammar) == {ord("a")}
    assert counted["masked"] == 3
    assert counted["flushed"] == 1  # at the end of the text
    assert not counted["failures"]


def test_a_wrong_token_is_rejected() -> None:
    assert not grammar_of("ab", {256}).accept_tokens("id", [ord("b")])


def test_drafts_are_validated_without_reading() -> None:
    grammar = grammar_of("a{3}", {256})
    assert grammar.validate_tokens([97, 97, 98]) == [97, 97]
    assert grammar.validate_tokens([97, 97, 97, 256]) == [97, 97, 97, 256]
    assert allowed(grammar) == {97}
    assert grammar.accept_tokens("id", [97, 97, 97, 256])
    assert grammar.validate_tokens([97]) == []


def test_end_tokens_belong_to_the_request() -> None:
    index = guided.compile(guided.Regex("a"), BYTES)
    usual, other = Grammar(index, {256}), Grammar(index, {299})
    for grammar, end in ((usual, 256), (other, 299)):
        assert grammar.accept_tokens("id", [97])
        assert allowed(grammar) == {end}


def test_ordinary_stop_tokens_are_allowed_after_complete_texts() -> None:
    grammar = grammar_of("[ab]{2}b?", {256, ord("b")})
    assert allowed(grammar) == {ord("a")}
    assert grammar.validate_tokens([97, ord("b")]) == [97]
    assert grammar.accept_tokens("id", [97, 97])
    assert allowed(grammar) == {256, ord("b")}
    assert grammar.accept_tokens("id", [ord("b")])
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert allowed(grammar) == {256, ord("b")}
    grammar.rollback(2)
    assert not grammar.accept_tokens("id", [ord("b")])


def test_a_text_that_needs_a_stop_token_ends_with_an_error(
    counted: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    grammar = grammar_of("ab", {256, ord("b")})
    assert grammar.accept_tokens("id", [97])
    assert len(allowed(grammar)) == 320
    assert not grammar.accept_tokens("id", [ord("b")])
    assert counted["failures"] == 1
    assert "stop_token_ids" in caplog.text


def test_a_mask_takes_as_long_with_many_stop_tokens() -> None:
    """A client chooses how many there are, and masks are filled in the loop of the engine."""
    vocabulary = guided.Vocabulary([bytes([value]) for value in range(256)] + [b"ab"] * 3000 + [None], eos=[3256])
    index = guided.compile(guided.Regex("[a-z]{3,9}"), vocabulary)
    steps = []
    for stops in (range(256, 266), range(256, 266), range(256, 3256)):
        grammar = Grammar(index, {*stops, 3256})
        mask = torch.zeros((1, 102), dtype=torch.int32)
        for text in (b"", b"xyz"):
            assert grammar.accept_tokens("id", text)
            steps.append(executed_lines(lambda grammar=grammar, mask=mask: grammar.fill_bitmask(mask, 0)))  # type: ignore[misc]
            assert {256, 3256} & set(bits(mask[0].numpy())) == ({256, 3256} if text else set())
        steps.append(executed_lines(lambda grammar=grammar: grammar.validate_tokens([97] * 4)))  # type: ignore[misc]
    # The first one computes what the index keeps.
    assert steps[3:6] == steps[6:]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
)


@given(VALUES)
def test_the_size_of_a_value_is_about_that_of_its_text(value: Any) -> None:
    size, text = vllm_backend._size(value, 1 << 30), len(json.dumps(value, ensure_ascii=False))
    assert size <= 2 * text + 2
    assert text <= 8 * size


@pytest.mark.parametrize(
    "value", [["a"] * 300_000, {f"{i}": i for i in range(300_000)}, [[[]] * 9] * 50_000, "x" * 3_000_000]
)
def test_a_large_value_is_not_read_to_its_end(value: Any) -> None:
    """The event loop asks for the size of whatever a client sends."""
    assert executed_lines(lambda: vllm_backend._size(value, 1000)) < 10 * 1000
    assert vllm_backend._size(value, 1000) > 1000


def test_negative_stop_tokens_are_not_taken_from_the_end() -> None:
    with pytest.raises(ValueError, match="end token -2"):
        grammar_of("a", {-2, 256})


def test_special_stop_tokens_that_a_text_contains_end_it_where_it_is_complete() -> None:
    """The text of the special token is then spelled by ordinary ones."""
    tokens = [bytes([value]) for value in range(256)]
    vocabulary = guided.Vocabulary([*tokens, None, None], eos=[256], special={"<call>": 257}, size=300)
    tag = {"format": {"type": "sequence", "elements": [
        {"type": "const_string", "value": "<call>"}, {"type": "regex", "pattern": "a+"}]}}  # fmt: skip
    index = guided.compile(spec_of("STRUCTURAL_TAG", json.dumps(tag)), vocabulary)
    assert allowed(Grammar(index, {256})) == {ord("<"), 257}
    grammar = Grammar(index, {256, 257})
    assert allowed(grammar) == {ord("<")}
    assert grammar.accept_tokens("id", b"<call>a")
    assert allowed(grammar) == {ord("a"), 256, 257}
    assert grammar.accept_tokens("id", [257])
    assert grammar.is_terminated()


def test_rows_of_several_bitmasks() -> None:
    """The words of the last bitmask are kept: another one is another memory."""
    grammar = grammar_of("ab", {256})
    masks = [torch.zeros((2, 10), dtype=torch.int32) for _ in range(2)]
    for row in (0, 1):
        for mask in masks:
            grammar.fill_bitmask(mask, row)
    assert all(set(bits(row.numpy())) == {ord("a")} for mask in masks for row in mask)


def test_an_error_of_the_metrics_does_not_leave_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(seconds: float) -> None:
        raise OSError("the folder of metrics is full")

    metrics = SimpleNamespace(masked=fail, flush=lambda: None, failures=SimpleNamespace(inc=lambda: None))
    monkeypatch.setattr(vllm_backend, "metrics", lambda: metrics)
    grammar = grammar_of("ab", {256})
    assert allowed(grammar) == set(range(320))
    assert not grammar.accept_tokens("id", [ord("a")])


def test_an_error_of_a_mask_does_not_leave_the_grammar(counted: Counter[str]) -> None:
    index = guided.compile(guided.JsonSchema({"type": "array"}), BYTES, guided.Limits(growth_bytes=0))
    grammar = Grammar(index, {256})
    assert grammar.accept_tokens("id", [ord("[")])
    assert len(allowed(grammar)) == 320
    assert len(allowed(grammar)) == 320
    assert not grammar.is_terminated()
    assert not grammar.accept_tokens("id", [ord("]")])
    assert grammar.validate_tokens([ord("]")]) == []
    assert counted["failures"] == 1
    grammar.reset()
    assert ord("[") in allowed(grammar)


def test_a_wrong_rollback_does_not_leave_the_grammar(counted: Counter[str]) -> None:
    grammar = grammar_of("a", {256})
    grammar.rollback(5)
    assert counted["failures"] == 1
    assert not grammar.accept_tokens("id", [97])


def test_without_vllm_everything_is_missing() -> None:
    try:
        import vllm as installed  # noqa: F401
    except ImportError:
        (message,) = vllm.differences()
        assert "No module named 'vllm'" in message
    else:
        pytest.skip("vLLM is installed: see tests/serving/test_vllm_classes.py")
