"""SGLang's grammar objects over guides, and the backend that makes them.

SGLang ends a request whose ``accept_token`` raises ValueError, and its scheduler dies of any other exception. So an object that fails
(`LimitError`: a mask over its budget) logs why, allows all tokens once, and raises ValueError at the next token.

The registry returns a custom backend as it is, so `create` itself wraps it for models that reason, as SGLang does with its own.

Imports SGLang, and is only imported by it.
"""

import logging
from collections.abc import Iterable
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarRow,
    InvalidGrammarObject,
)

from guided.engine.index import Index
from guided.errors import TokenRejected
from guided.generate.warming import load_kernels
from guided.guide.batch import fill_masks
from guided.integrations.masking import mask_store
from guided.integrations.serving import FrontEnd, Indices, Options, vocabulary_of
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["GuidedGrammarBackend", "GuidedGrammarObject", "create"]

_logger = logging.getLogger(__name__)
# SGLang's key of a request for any JSON object.
_ANY_OBJECT = "$$ANY$$"


class GuidedGrammarObject(BaseGrammarObject):
    """The constraint of one request."""

    def __init__(self, index: Index) -> None:
        super().__init__()
        self._index, self._guide = index, index.guide()
        self._has_failed = False

    def accept_token(self, token: int) -> None:
        """Read a token; those after the end are ignored.

        Raises
        ------
        ValueError
            The token is not allowed, or no mask could be made for it.
        """
        if self.finished or self._guide.is_finished:
            return
        if self._has_failed:
            raise ValueError("the constraint failed: see the log")
        try:
            self._guide.advance(int(token))
            # SGLang asks for it, so as not to read a token twice where a request moves to another server.
            self.current_token = token
        except TokenRejected as error:
            # Not the whole message: the reason takes a search, and the engine waits.
            raise ValueError(f"token {token} is not allowed here; expected {error.expected}") from error
        except Exception as error:
            self._fail(error)
            raise ValueError(str(error)) from error

    def rollback(self, k: int) -> None:
        """Undo tokens."""
        try:
            self._guide.rollback(min(k, len(self._guide)))
        except Exception as error:
            self._fail(error)

    def is_terminated(self) -> bool:
        """Return whether the text has ended."""
        return self._guide.is_finished

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:  # noqa: ARG004 - the interface's
        """Return a bitmask that allows all tokens, in memory from which devices copy fast."""
        shape = batch_size, (vocab_size + 31) // 32
        return torch.full(shape, -1, dtype=torch.int32, pin_memory=torch.cuda.is_available())

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the mask into a row."""
        self.fill_vocab_mask_batched([GrammarRow(idx, self)], vocab_mask)

    @staticmethod
    def fill_vocab_mask_batched(entries: list[GrammarRow], vocab_mask: torch.Tensor) -> None:
        """Write the masks of rows by one call; rows of other objects, such as those that wrap reasoning, one by one."""
        own: dict[int, GuidedGrammarObject] = {}
        for row, grammar in entries:
            if isinstance(grammar, GuidedGrammarObject):
                own[row] = grammar
            else:
                grammar.fill_vocab_mask(vocab_mask, row)
        # All tokens are allowed where the text has ended or will be refused.
        guides = [None if one._has_failed or one._guide.is_finished else one._guide for one in own.values()]
        for row, error in fill_masks(guides, vocab_mask, own).items():
            own[row]._fail(error)
            vocab_mask[row].fill_(-1)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Allow all tokens."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """Copy a bitmask to a device."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Set the logits of disallowed tokens to minus infinity, in place."""
        if logits.device.type == "cpu":
            mask_store(logits).apply(logits, list(vocab_mask.numpy()), out=logits)
        else:
            apply_on_device(logits, vocab_mask)

    def copy(self) -> "GuidedGrammarObject":
        """Return the constraint of another request, at its start; both share the index."""
        return GuidedGrammarObject(self._index)

    def try_jump_forward(self, tokenizer: Any) -> None:  # noqa: ARG002 - the interface's
        """Return None: tokens are sampled one by one."""
        return

    def _fail(self, error: Exception) -> None:
        self._has_failed = True
        _logger.error("guided: the request ends with an error: %s", error)


class GuidedGrammarBackend(BaseGrammarBackend):
    """Makes constraints of requests."""

    # What the wrapper for reasoning takes from its backend.
    allocate_vocab_mask = staticmethod(GuidedGrammarObject.allocate_vocab_mask)
    move_vocab_mask = staticmethod(GuidedGrammarObject.move_vocab_mask)
    apply_vocab_mask = staticmethod(GuidedGrammarObject.apply_vocab_mask)

    def __init__(self, vocabulary: Vocabulary, options: Options | None = None) -> None:
        super().__init__()
        load_kernels()
        self._indices = Indices(vocabulary, options)
        # Checks have stricter budgets than the engine's.
        self._front_end = FrontEnd(vocabulary, options)

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """Return the constraint of a schema."""
        return self._of("JSON_OBJECT", "") if key_string == _ANY_OBJECT else self._of("JSON", key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """Return the constraint of a regular expression."""
        return self._of("REGEX", key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """Return the constraint of a grammar in Lark's notation."""
        return self._of("GRAMMAR", key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """Return the constraint of a structural tag."""
        return self._of("STRUCTURAL_TAG", key_string)

    def _of(self, kind: str, text: str) -> BaseGrammarObject:
        try:
            refusal, _ = self._front_end.refusal(kind, text)
            return InvalidGrammarObject(refusal) if refusal else GuidedGrammarObject(self._indices.index(kind, text)[0])
        except Exception as error:  # Why all: the scheduler would die of it
            _logger.exception("guided: a constraint cannot be compiled")
            return InvalidGrammarObject(f"{type(error).__name__}: {error}")

    def reset(self) -> None:
        """Drop all constraints and indices."""
        super().reset()
        self._indices.clear()

    @property
    def is_support_token_filter(self) -> bool:
        """Whether rows can be restricted by token ids, as strict thinking needs."""
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor,
        token_ids: list[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or forbid tokens in a row, and the opposite for all others if it is reset."""
        from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch

        set_token_filter_torch(
            vocab_mask, token_ids, batch_idx, is_allowed=is_allowed, reset_vocab_mask=reset_vocab_mask
        )


def create(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None) -> Any:
    """Return the backend of a server; for models that reason, wrapped so that constraints begin after the reasoning.

    Raises
    ------
    VocabularyError, TypeError
        The tokenizer is not supported.
    """
    from sglang.srt.runtime_context import get_serving

    del server_args
    serving = get_serving()
    eos = sorted(eos_token_ids) if eos_token_ids else [tokenizer.eos_token_id]
    vocabulary = vocabulary_of(tokenizer, vocab_size, eos)
    pattern = serving.constrained_json_whitespace_pattern
    is_compact = serving.constrained_json_disable_any_whitespace
    backend = GuidedGrammarBackend(vocabulary, Options(pattern or ("compact" if is_compact else "flexible")))
    if not serving.reasoning_parser:
        return backend
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    return ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=bool(serving.enable_strict_thinking)
    )


def apply_on_device(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
    """Set the logits of disallowed tokens to minus infinity, in place, on any device."""
    bits = torch.arange(32, device=logits.device, dtype=torch.int32)
    refused = ((vocab_mask.unsqueeze(-1) >> bits) & 1 == 0).flatten(1)[:, : logits.shape[-1]]
    logits.masked_fill_(refused, -torch.inf)
