"""The SGLang backend on SGLang's own classes; a server needs hardware that this suite does without."""

import json
from typing import Any

import numpy as np
import pytest
import torch

import guided
from guided.integrations.serving import Options

pytest.importorskip("sglang")
base = pytest.importorskip("sglang.srt.constrained.base_grammar_backend")

from guided.integrations import sglang  # noqa: E402
from guided.integrations.sglang_backend import GuidedGrammarBackend, GuidedGrammarObject, apply_on_device  # noqa: E402

BYTES = guided.Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256], size=300)


@pytest.fixture
def backend() -> GuidedGrammarBackend:
    return GuidedGrammarBackend(BYTES)


def value(backend: Any, key: tuple[str, str], reasoning: bool = False) -> Any:
    """The constraint of a request, as SGLang's manager gets it."""
    found, is_cached = backend.get_cached_or_future_value(key, reasoning)
    if not is_cached:
        found = found.result(60)
        backend.set_cache(key, found.copy())
    return found


def tokens(grammar: Any) -> set[int]:
    mask = grammar.allocate_vocab_mask(300, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    return set(np.flatnonzero(np.unpackbits(mask.numpy().view(np.uint8), bitorder="little")).tolist())


def test_the_registry_has_the_backend() -> None:
    from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES

    sglang.register()
    sglang.register()
    assert base.GRAMMAR_BACKEND_REGISTRY["guided"] is sglang._create
    assert "guided" in GRAMMAR_BACKEND_CHOICES


@pytest.mark.parametrize(
    ("key", "first", "text"),
    [
        (("json", json.dumps({"enum": ["a"]})), '"', '"a"'),
        (("json", "$$ANY$$"), "{", "{}"),
        (("regex", r"\d{2}"), "0123456789", "12"),
        (("ebnf", 'start: "a" "b"'), "a", "ab"),
        (("structural_tag", '{"format": {"type": "const_string", "value": "xy"}}'), "x", "xy"),
    ],
)
def test_a_request_of_each_kind(backend: GuidedGrammarBackend, key: tuple[str, str], first: str, text: str) -> None:
    for _ in range(2):  # compiled, then from SGLang's cache
        grammar = value(backend, key)
        assert tokens(grammar) == set(first.encode())
        for byte in text.encode():
            grammar.accept_token(byte)
        assert 256 in tokens(grammar)
        grammar.accept_token(256)
        assert grammar.is_terminated()
        grammar.accept_token(7)  # after the end
        grammar.rollback(2)
        assert not grammar.is_terminated()
        assert tokens(grammar) & set(text[-1:].encode())


@pytest.mark.parametrize(
    "key",
    [
        ("json", '{"type": "text"}'),
        ("json", "{"),
        ("regex", "a("),
        ("regex", "(a|b)*a(a|b){25}"),
        ("ebnf", 'root ::= "a"'),
        ("structural_tag", "[]"),
    ],
)
def test_what_cannot_be_served_is_an_invalid_grammar(backend: GuidedGrammarBackend, key: tuple[str, str]) -> None:
    found = value(backend, key)
    assert isinstance(found, base.InvalidGrammarObject)
    assert found.error_message


def test_a_wrong_token_raises_the_one_error_that_is_caught(backend: GuidedGrammarBackend) -> None:
    grammar = value(backend, ("regex", "ab"))
    with pytest.raises(ValueError, match="not allowed"):
        grammar.accept_token(ord("b"))
    grammar.accept_token(ord("a"))


def test_a_batch_is_filled_by_one_call(backend: GuidedGrammarBackend) -> None:
    grammars = [value(backend, ("regex", pattern)) for pattern in ("a", "b", "c")]
    mask = grammars[0].allocate_vocab_mask(300, 4, "cpu")
    rows = [base.GrammarRow(row, grammar) for row, grammar in zip((3, 0, 1), grammars, strict=True)]
    grammars[0].fill_vocab_mask_batched(rows, mask)
    for row, grammar in rows:
        alone = grammar.allocate_vocab_mask(300, 1, "cpu")
        grammar.fill_vocab_mask(alone, 0)
        assert torch.equal(mask[row], alone[0])
    assert (mask[2] == -1).all()
    GuidedGrammarObject.reset_vocab_mask(mask)
    assert (mask == -1).all()


@pytest.mark.parametrize("apply", [GuidedGrammarObject.apply_vocab_mask, apply_on_device])
def test_masks_are_applied(backend: GuidedGrammarBackend, apply: Any) -> None:
    grammar = value(backend, ("regex", "[ab]"))
    mask = grammar.allocate_vocab_mask(300, 2, "cpu")
    grammar.fill_vocab_mask(mask, 1)
    logits = torch.zeros((2, 300))
    apply(logits, mask)
    assert torch.isfinite(logits[0]).all()
    assert set(torch.isfinite(logits[1]).nonzero().flatten().tolist()) == set(b"ab")


def test_an_error_of_a_mask_ends_only_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    index = guided.compile(guided.JsonSchema({"type": "array"}), BYTES, guided.Limits(growth_bytes=0))
    failing, other = GuidedGrammarObject(index), value(GuidedGrammarBackend(BYTES), ("regex", "a"))
    failing.accept_token(ord("["))
    mask = failing.allocate_vocab_mask(300, 2, "cpu")
    failing.fill_vocab_mask_batched([base.GrammarRow(0, failing), base.GrammarRow(1, other)], mask)
    assert (mask[0] == -1).all()
    assert (mask[1] != -1).any()
    with pytest.raises(ValueError, match="failed"):
        failing.accept_token(ord("]"))
    other.accept_token(ord("a"))


def test_options_of_the_server() -> None:
    compact = GuidedGrammarBackend(BYTES, Options("compact"))
    grammar = value(compact, ("json", json.dumps({"type": "array", "minItems": 1})))
    grammar.accept_token(ord("["))
    assert ord(" ") not in tokens(grammar)


def test_constraints_begin_after_the_reasoning() -> None:
    reasoner = pytest.importorskip("sglang.srt.constrained.reasoner_grammar_backend")
    inner = GuidedGrammarBackend(BYTES)
    grammar = reasoner.ReasonerGrammarObject(
        value(inner, ("regex", "ab")), [ord("#")], allocate_vocab_mask_fn=inner.allocate_vocab_mask,
        move_vocab_mask_fn=inner.move_vocab_mask, apply_vocab_mask_fn=inner.apply_vocab_mask,
    )  # fmt: skip
    grammar.maybe_init_reasoning(True)
    for token in b"any thought":
        grammar.accept_token(token)
    grammar.accept_token(ord("#"))
    assert tokens(grammar) == {ord("a")}
    grammar.accept_token(ord("a"))
    grammar.accept_token(ord("b"))
    assert tokens(grammar) == {256}
