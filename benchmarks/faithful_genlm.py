"""genlm-control's samplers for `benchmarks.faithful`; needs its environment."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from genlm.backend.llm import AsyncTransformer
from genlm.backend.llm.base import AsyncLM
from genlm.backend.tokenization import Token
from genlm.control import AWRS, SMC, BoolFSA, JsonSchema, PromptedLLM, direct_token_sampler, eager_token_sampler

__all__ = ["draws_of", "language_model", "small_model"]


class _Function(AsyncLM):
    """A function as a language model."""

    def __init__(self, function: Callable[[Sequence[int]], np.ndarray], pieces: Sequence[bytes]) -> None:
        # Why not the base's: it decodes the vocabulary of a tokenizer of transformers.
        self.tokenizer = SimpleNamespace(eos_token_id=len(pieces))
        self.byte_vocab = [Token(number, data) for number, data in enumerate([*pieces, b"<eos>"])]
        self._function = function

    async def next_token_logprobs(self, token_ids: list[int], lora_name: str | None = None) -> torch.Tensor:
        return self.next_token_logprobs_sync(token_ids, lora_name)

    def next_token_logprobs_sync(self, token_ids: list[int], lora_name: str | None = None) -> torch.Tensor:  # noqa: ARG002
        return torch.from_numpy(np.float32(self._function(token_ids)))


def small_model(function: Callable[[Sequence[int]], np.ndarray], pieces: Sequence[bytes]) -> PromptedLLM:
    """A model from a function of the tokens, whose end of sequence is the id after those of the pieces."""
    return PromptedLLM(_Function(function, pieces), prompt_ids=[], eos_byte_strings=[b"<eos>"])


def language_model(model: Any, tokenizer: Any, prompt: Sequence[int]) -> PromptedLLM:
    """A model of transformers with its caches."""
    return PromptedLLM(AsyncTransformer(model, tokenizer), prompt_ids=list(prompt))


def draws_of(model: PromptedLLM, task: Any, stack: ExitStack) -> dict[str, Any]:
    """The samplers by name, each a function of a number of particles and a seed, until the stack is closed."""
    is_pattern = isinstance(task.constraint, str)
    constraint = BoolFSA.from_regex(task.constraint) if is_pattern else JsonSchema(dict(task.constraint))
    coerced = constraint.coerce(model, f=b"".join)
    samplers = {"genlm AWRS": AWRS(model, coerced)}
    if is_pattern:
        samplers["genlm direct"] = direct_token_sampler(model * coerced)
        samplers["genlm eager"] = eager_token_sampler(model, constraint)
    return {name: _draw(sampler, frozenset(task.texts), stack) for name, sampler in samplers.items()}


def _draw(sampler: Any, texts: frozenset[bytes], stack: ExitStack) -> Any:
    loop = asyncio.new_event_loop()
    stack.callback(loop.close)
    stack.callback(lambda: loop.run_until_complete(sampler.cleanup()))

    def draw(particles: int, seed: int) -> tuple[dict[tuple[int, ...], float], float] | None:
        np.random.seed(seed)  # noqa: NPY002 - what genlm-control draws from
        torch.manual_seed(seed)
        random.seed(seed)
        try:
            found = loop.run_until_complete(
                SMC(sampler)(
                    n_particles=particles,
                    ess_threshold=0.5,
                    max_tokens=40,
                    terminate_when=lambda context: b"".join(context) in texts,
                )
            )
        except AssertionError:
            # AWRS checks its own rounding errors.
            return None
        weights: dict[tuple[int, ...], float] = {}
        for context, weight in zip(found.contexts, found.normalized_weights.tolist(), strict=True):
            key = tuple(token.token_id for token in context[:-1])
            if weight:
                weights[key] = weights.get(key, 0.0) + weight
        return weights, float(found.log_ml)

    return draw
