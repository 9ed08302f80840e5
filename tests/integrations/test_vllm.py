"""The vLLM backend without vLLM: grammars never raise, and keep end tokens apart."""

from collections import Counter
from types import SimpleNamespace

import pytest
import torch

import guided
from guided.integrations import vllm, vllm_backend
from guided.integrations.vllm_backend import Grammar
from tests.masks import bits

BYTES = guided.Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256], size=300)


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What would be counted in Prometheus, whose client comes with vLLM."""
    counts: Counter[str] = Counter()
    metrics = SimpleNamespace(
        masked=lambda seconds: counts.update(["masked"]),
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
