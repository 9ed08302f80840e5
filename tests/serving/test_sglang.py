"""The SGLang backend on SGLang's own classes; a server needs hardware that this suite does without."""

import json
import sys
import time
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
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
        ("json", 'guided["", "flexible", true]\n{}'),
        ("regex", "a("),
        ("regex", "(a|b)*a(a|b){25}"),
        ("ebnf", "root ::= a"),
        ("structural_tag", "[]"),
    ],
)
def test_unsupported_requests_are_invalid_grammars(backend: GuidedGrammarBackend, key: tuple[str, str]) -> None:
    found = value(backend, key)
    assert isinstance(found, base.InvalidGrammarObject)
    assert found.error_message


def test_a_wrong_token_raises_token_rejected(backend: GuidedGrammarBackend) -> None:
    grammar = value(backend, ("regex", "ab"))
    with pytest.raises(ValueError, match="not allowed"):
        grammar.accept_token(ord("b"))
    assert grammar.current_token is None
    grammar.accept_token(ord("a"))
    assert grammar.current_token == ord("a")


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


# SGLang's own manager of grammars, with the backend that its registry creates: only the scheduler around it is missing.


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    from guided.integrations.load import default_model_folder

    # A module that has nothing to do with grammars imports two constants; torchvision does not load beside torch's CPU build.
    for name in ("torchvision", "torchvision.transforms", "torchvision.transforms.functional"):
        sys.modules[name] = module = types.ModuleType(name)
        module.InterpolationMode = object  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of quantization that needs a GPU
        import sglang.srt.arg_groups.pipeline
        import sglang.srt.managers.schedule_batch  # noqa: F401
    return AutoTokenizer.from_pretrained(default_model_folder())


@contextmanager
def managing(tokenizer: Any, **settings: Any) -> Iterator[Any]:
    """SGLang's manager, as its scheduler makes it, with settings of the server."""
    from sglang.srt.constrained.grammar_manager import GrammarManager
    from sglang.srt.plugins import load_plugins
    from sglang.srt.runtime_context import get_context, get_parallel

    load_plugins()  # finds the backend by its entry point
    with (
        get_context().override_server_args(grammar_backend="guided", **settings) as server_args,
        get_parallel().override(pp_rank=0, pp_size=1, tp_rank=0),
    ):
        group = SimpleNamespace(world_size=1, first_rank=0, is_first_rank=True)
        model = SimpleNamespace(vocab_size=49152, hf_eos_token_id={2}, think_end_ids=None)
        yield GrammarManager(
            SimpleNamespace(
                server_args=server_args, tokenizer=tokenizer, model_config=model, dp_tp_cpu_group=None,
                dp_tp_group=group, pp_group=None,
            )
        )  # fmt: skip


def processed(manager: Any, reasoning: bool = False, **constraint: Any) -> tuple[Any, bool]:
    """A request of SGLang's after its grammar is ready, and whether it had to wait."""
    from sglang.srt.managers.schedule_batch import Req
    from sglang.srt.sampling.sampling_params import SamplingParams

    request = Req("1", "x", [1], SamplingParams(**constraint))
    request.require_reasoning = reasoning
    waits = manager.process_req_with_grammar(request)
    end = time.monotonic() + 60
    while waits and request not in manager.get_ready_grammar_requests():
        assert time.monotonic() < end
    manager.grammar_queue.clear()
    return request, waits


def written(grammar: Any, tokenizer: Any, first: tuple[int, ...] = ()) -> str:
    """A text sampled as SGLang's scheduler does: fill, move and apply the mask, accept the token."""
    random = torch.Generator().manual_seed(0)
    ids = list(first)
    for token in first:
        grammar.accept_token(token)
    while not grammar.is_terminated() and len(ids) < 200:
        mask = grammar.allocate_vocab_mask(49152, 2, "cpu")
        grammar.fill_vocab_mask_batched([base.GrammarRow(1, grammar)], mask)
        logits = torch.randn((2, 49152), generator=random)
        grammar.apply_vocab_mask(logits=logits, vocab_mask=grammar.move_vocab_mask(mask, "cpu"))
        token = int(logits[1].argmax())
        grammar.accept_token(token)
        # Speculation takes tokens back and reads them again.
        if len(ids) % 3 == 0:
            grammar.rollback(1)
            grammar.accept_token(token)
        ids.append(token)
    return str(tokenizer.decode(ids[len(first) :], skip_special_tokens=True))


@pytest.mark.parametrize(
    "constraint",
    [
        {"json_schema": '{"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 2}'},
        {"regex": r"\[[12],[12]\]"},
        {"ebnf": 'start: "[" D "," D "]"\nD: "1" | "2"'},
        {"structural_tag": '{"format": {"type": "regex", "pattern": "\\\\[[12],[12]\\\\]"}}'},
    ],
    ids=lambda constraint: next(iter(constraint)),
)
def test_a_request_through_the_manager(constraint: dict[str, str], tokenizer: Any) -> None:
    with managing(tokenizer, constrained_json_disable_any_whitespace=True) as manager:
        assert isinstance(manager.grammar_backend, GuidedGrammarBackend)
        for waits in (True, False):  # the second has it from SGLang's cache
            request, did_wait = processed(manager, **constraint)
            assert did_wait == waits
            assert json.loads(written(request.grammar, tokenizer)) in ([1, 1], [1, 2], [2, 1], [2, 2])
        assert len(manager) == 0


@pytest.mark.parametrize(
    "constraint",
    [
        {"json_schema": '{"type": "integer", "minimum": 3, "maximum": 2}'},
        {"regex": "(a|b)*a(a|b){25}"},
        {"ebnf": "root ::= a"},
        {"structural_tag": "{}"},
        {"regex": "a\x00"},
    ],
    ids=["schema", "ReDoS", "GBNF", "tag", "NUL"],
)
def test_a_bad_request_is_aborted_with_a_reason(constraint: dict[str, str], tokenizer: Any) -> None:
    with managing(tokenizer) as manager:
        for _ in range(2):
            request, _ = processed(manager, **constraint)
            assert request.grammar is None or isinstance(request.grammar, base.InvalidGrammarObject)
            assert request.to_finish.status_code == 400
            assert "Failed to compile" in request.to_finish.message
        good, _ = processed(manager, regex="[ab]")
        assert written(good.grammar, tokenizer) in "ab"


def test_a_model_that_reasons_through_the_manager(tokenizer: Any) -> None:
    with managing(tokenizer, reasoning_parser="deepseek-r1") as manager:
        thoughts = tuple(tokenizer.encode("one two")) + tuple(manager.grammar_backend.think_end_ids)
        for _ in range(2):
            request, _ = processed(manager, reasoning=True, regex="[ab]{3}")
            text = written(request.grammar, tokenizer, thoughts)
            assert len(text) == 3
            assert set(text) <= set("ab")
        request, _ = processed(manager, reasoning=False, regex="[ab]{3}")
        assert len(written(request.grammar, tokenizer)) == 3
