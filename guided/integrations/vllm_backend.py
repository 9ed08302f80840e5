"""The two sides of the vLLM backend: checks of requests in the front end, grammars in the engine.

`guided.integrations.vllm` connects them. The classes have the interfaces of vLLM's ``StructuredOutputBackend`` and
``StructuredOutputGrammar`` without deriving from them, so that this module imports no vLLM.

Nothing raises out of a `Grammar`: an exception in ``fill_bitmask`` would end vLLM's engine and every request in it. A grammar that fails
(`LimitError`: a mask over its budget) logs why, allows all tokens once, and rejects the token that follows, upon which vLLM ends the
request, and only this one, with an error. That token is not part of any answer that counts as complete.

Ordinary tokens in ``stop_token_ids``: like end tokens, they are allowed exactly where the text is complete, and end it. Where the text
cannot continue without such a token, the request ends with an error.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from guided.engine.index import Index
from guided.errors import GuidedError
from guided.guide.batch import fill_masks
from guided.integrations.serving import FrontEnd, Indices, Options
from guided.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = ["Backend", "Grammar", "RequestChecks", "checked_on_a_thread"]

_logger = logging.getLogger("vllm.guided")
# Checks that run at once. They compute in Python, so more would only wait for each other, and the event loop for them.
_CHECKING_THREADS = 2


class RequestChecks:
    """What the front end checks of a request. One per process and tokenizer (`of`).

    Parameters
    ----------
    tokenizer, config, model_config
        vLLM's.

    Raises
    ------
    VocabularyError, TypeError
        The tokenizer is not supported.
    """

    _known: "tuple[Any, RequestChecks] | None" = None

    def __init__(self, tokenizer: Any, config: Any, model_config: Any) -> None:
        self._front_end = FrontEnd(_vocabulary(tokenizer, model_config.get_vocab_size()), _options(config))
        # What all schemas share, and the kernels.
        self._front_end.refusal("JSON_OBJECT", "")

    @classmethod
    def of(cls, tokenizer: Any, config: Any, model_config: Any) -> "RequestChecks":
        """Return the checks of a tokenizer, made on first use."""
        known = cls._known
        if known is None or known[0] is not tokenizer:
            known = cls._known = tokenizer, cls(tokenizer, config, model_config)
        return known[1]

    def refusal(self, params: Any, model_config: Any) -> str:
        """Return why a request with these ``SamplingParams`` cannot be served; empty if it can.

        Sets the backend in the params of a request that can be served, and puts its options about JSON into its constraint.
        """
        outputs = params.structured_outputs
        refusal = self._setting_refused(params, outputs, model_config) or self._checked(outputs, is_final=True)
        if refusal:
            metrics().refusals.inc()
        else:
            outputs._backend = "guided"
        return refusal

    def prepare(self, params: Any) -> None:
        """Compute the costly part of `refusal` ahead; it is then known."""
        self._checked(params.structured_outputs, is_final=False)

    def _checked(self, outputs: Any, *, is_final: bool) -> str:
        from vllm.v1.structured_output.request import get_structured_output_key

        begin = time.perf_counter()
        try:
            option, text = get_structured_output_key(outputs)
        except RecursionError:
            return "LimitError: the schema nests too deeply"
        kind, options = option.name, self._options_of(outputs)
        if kind == "JSON" and outputs._backend == "guided":
            # Params that were checked before may carry their options already.
            _, text = options.unpacked(text)
        if kind in ("JSON", "JSON_OBJECT") and options != self._front_end.options:
            text = options.packed(text if kind == "JSON" else '{"type": "object"}')
            kind = "JSON"
            if is_final:
                outputs.json, outputs.json_object = text, None
        refusal, known = self._front_end.refusal(kind, text)
        if not known:
            metrics().check_seconds.observe(time.perf_counter() - begin)
        return refusal

    def _options_of(self, outputs: Any) -> Options:
        """Return the options of a request: those of the server, and what the request itself says."""
        usual = self._front_end.options
        whitespace = outputs.whitespace_pattern or ("compact" if outputs.disable_any_whitespace else usual.whitespace)
        return Options(whitespace, usual.additional_properties and not outputs.disable_additional_properties)

    @staticmethod
    def _setting_refused(params: Any, outputs: Any, model_config: Any) -> str:
        if getattr(model_config, "is_diffusion", False):
            return "diffusion models do not write from left to right, which a constraint needs"
        if outputs._backend not in (None, "guided"):
            return "a request cannot choose its backend: leave _backend out"
        if outputs.json_object is False:
            return "json_object must be true if it is given"
        if outputs.json is not None and outputs.json == "":
            return "SchemaError: the schema is empty"
        if params.ignore_eos:
            return "ignore_eos continues the text after its end, where no constraint holds: leave it out"
        return ""


_pool: ThreadPoolExecutor | None = None


async def checked_on_a_thread(checks: Callable[[], RequestChecks], params: Any) -> None:
    """Check a request on a thread, and leave the outcome to `RequestChecks.refusal`. Raises nothing."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(_CHECKING_THREADS, thread_name_prefix="guided-check")

    def prepare() -> None:
        try:
            checks().prepare(params)
        except Exception:  # Why all: the check itself comes next, raises the same, and knows whom to tell
            _logger.debug("guided: a check failed ahead of time", exc_info=True)

    await asyncio.get_running_loop().run_in_executor(_pool, prepare)


class Grammar:
    """The constraint of one request: vLLM's ``StructuredOutputGrammar``.

    Parameters
    ----------
    index : Index
    stops : iterable of int
        Tokens that end the text.
    """

    def __init__(self, index: Index, stops: Iterable[int]) -> None:
        spelled = index.vocabulary.tokens
        ordinary = {token for token in stops if token < len(spelled) and spelled[token]}
        ends = sorted(set(stops) - ordinary)
        self._guide = index.guide(end_tokens=ends or None)
        # Ordinary tokens that end the text, and whether one of them did.
        self._stops = sorted(ordinary)
        self._has_stopped = False
        self._has_failed = False

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Read tokens; those after the end are not the grammar's. False ends the request with an error."""
        try:
            return not self._has_failed and all(self._accepts(token) for token in tokens)
        except Exception:
            self._fail(f"tokens of the request {request_id} cannot be read")
            return False

    def _accepts(self, token: int) -> bool:
        if self.is_terminated():
            return True
        if token in self._stops:
            self._has_stopped = self._guide.is_accepting
            return self._has_stopped
        return self._guide.advance_many([token]) == 1

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Return the longest prefix of a draft that can be read."""
        try:
            if self._has_failed or self.is_terminated():
                return []
            stop = next((place for place, token in enumerate(tokens) if token in self._stops), len(tokens))
            return tokens[: self._guide.validate(tokens[:stop])]
        except Exception:
            self._fail("a draft cannot be read")
            return []

    def rollback(self, num_tokens: int) -> None:
        """Undo tokens."""
        try:
            if self._has_stopped and num_tokens:
                self._has_stopped = False
                num_tokens -= 1
            self._guide.rollback(num_tokens)
        except Exception:
            self._fail(f"{num_tokens} tokens cannot be undone")

    def fill_bitmask(self, bitmask: "torch.Tensor", batch_index: int) -> None:
        """Write the mask into a row."""
        begin = time.perf_counter()
        try:
            if not self._has_failed:
                errors = fill_masks([self._guide], bitmask, [batch_index])
                if errors:
                    raise errors[batch_index]
                if self._stops:
                    self._write_stops(bitmask[batch_index])
        except Exception:
            self._fail("no mask")
        if self._has_failed:
            bitmask[batch_index].fill_(-1)
        metrics().masked(time.perf_counter() - begin)

    def _write_stops(self, row: "torch.Tensor") -> None:
        """Allow the ordinary tokens that end the text exactly where it is complete."""
        words, may_end = row.numpy().view("uint32"), self._guide.is_accepting
        for token in self._stops:
            bit = 1 << (token & 31)
            word = int(words[token >> 5])
            words[token >> 5] = word | bit if may_end else word & ~bit
        if not words.any():
            raise GuidedError(f"the text cannot continue without a token of stop_token_ids: {self._stops}")

    def is_terminated(self) -> bool:
        """Return whether the text has ended."""
        return self._has_stopped or self._guide.is_finished

    def reset(self) -> None:
        """Return to the empty text."""
        self._guide.reset()
        self._has_stopped = self._has_failed = False

    def _fail(self, what: str) -> None:
        """Log the current exception; the request ends with an error at its next token."""
        if not self._has_failed:
            self._has_failed = True
            metrics().failures.inc()
            _logger.exception("guided: %s, so the request ends with an error", what)


class Backend:
    """The engine's side: vLLM's ``StructuredOutputBackend``.

    Parameters
    ----------
    vllm_config, tokenizer : object
        vLLM's.
    vocab_size : int
        Width of the model's logits.

    Raises
    ------
    VocabularyError, TypeError
        The tokenizer is not supported.
    """

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        begin = time.perf_counter()
        self.vllm_config, self.tokenizer, self.vocab_size = vllm_config, tokenizer, vocab_size
        self._vocabulary = _vocabulary(tokenizer, vocab_size)
        self._indices = Indices(self._vocabulary, _options(vllm_config.structured_outputs_config))
        # What all schemas share, and the kernels.
        self._indices.index("JSON_OBJECT", "")
        _logger.info("guided: %d tokens, ready in %.1f s", vocab_size, time.perf_counter() - begin)

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: Iterable[int] | None = None
    ) -> Grammar:
        """Return the grammar of a request; vLLM calls this on threads.

        Raises
        ------
        GuidedError, ValueError
            The constraint is over a budget of the engine, or a stop token is a special one that the texts hold. vLLM ends the request
            with an error.
        """
        begin = time.perf_counter()
        index, known = self._indices.index(request_type.name, grammar_spec)
        if known:
            metrics().hits.inc()
        else:
            metrics().compile_seconds.observe(time.perf_counter() - begin)
        return Grammar(index, stop_token_ids or self._vocabulary.eos)

    def allocate_token_bitmask(self, max_num_seqs: int) -> "torch.Tensor":
        """Return a bitmask that allows all tokens."""
        import torch

        return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Drop all indices."""
        self._indices.clear()


class Metrics:
    """Counters in Prometheus' registry, which vLLM's ``/metrics`` shows.

    The registry is that of a process: ``/metrics`` shows what the front end counts. What the engine counts is shown, too, if
    ``PROMETHEUS_MULTIPROC_DIR`` names a folder, as vLLM itself does with several API servers.
    """

    def __init__(self) -> None:
        from prometheus_client import Counter, Histogram

        times = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
        self.refusals = Counter("guided_refused_requests", "Requests that were answered with HTTP 400.")
        self.check_seconds = Histogram("guided_check_seconds", "Checks of new constraints.", buckets=times)
        self.compile_seconds = Histogram("guided_compile_seconds", "Compiles in the engine.", buckets=times)
        self.hits = Counter("guided_index_hits", "Requests whose index was known.")
        self.failures = Counter("guided_failed_requests", "Requests that ended with an error of their constraint.")
        self.mask_seconds = Counter("guided_mask_seconds", "Time spent on filling rows of masks.")
        self.mask_rows = Counter("guided_mask_rows", "Rows of masks filled.")

    def masked(self, seconds: float) -> None:
        """Count a row."""
        self.mask_seconds.inc(seconds)
        self.mask_rows.inc()


@functools.cache
def metrics() -> Metrics:
    """Return the metrics of the process."""
    return Metrics()


def _vocabulary(tokenizer: Any, size: int) -> Vocabulary:
    return Vocabulary.from_tokenizer(getattr(tokenizer, "backend_tokenizer", tokenizer), size, eos=_ends(tokenizer))


def _ends(tokenizer: Any) -> list[int] | None:
    end = getattr(tokenizer, "eos_token_id", None)
    return None if end is None else [end]


def _options(config: Any) -> Options:
    return Options("compact" if config.disable_any_whitespace else "flexible", not config.disable_additional_properties)
