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
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from guided.arrays import Int32Array
from guided.engine.index import Index
from guided.errors import GuidedError, LimitError
from guided.generate.warming import load_kernels
from guided.guide.end_tokens import token_mask
from guided.integrations.check_queue import CheckQueue
from guided.integrations.serving import JSON_KINDS, WHITESPACE_NAMES, FrontEnd, Indices, Options, Shared, vocabulary_of
from guided.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

__all__ = ["Backend", "Grammar", "RequestChecks"]

_Outcome = TypeVar("_Outcome")
_logger = logging.getLogger("vllm.guided")
# Rows of masks that are counted together: Prometheus' counters cost as much as a mask.
_COUNTED_TOGETHER = 64


# Constraints of at most this size become text in the event loop, so that those that are known wait for no thread.
_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True)
class _Constraint:
    """What a request asks for."""

    kind: str
    text: str
    options: Options
    # Mask of the only tokens that the request allows.
    allowed: Int32Array | None


# What `RequestChecks.ahead` found for a request of this task: its params, what they ask for, and why it is refused.
_ahead: ContextVar[tuple[Any, _Constraint | None, str] | None] = ContextVar("guided_ahead", default=None)


class RequestChecks:
    """What the front end checks of a request. One per process and tokenizer (`of`).

    Raises
    ------
    VocabularyError, TypeError
        The tokenizer is not supported.
    """

    def __init__(self, tokenizer: Any, config: Any, model_config: Any) -> None:
        # Why kept: `of` knows it by its id.
        self._tokenizer = tokenizer
        self._vocabulary = _vocabulary(tokenizer, model_config.get_vocab_size())
        self._front_end = FrontEnd(self._vocabulary, _options(config))
        # By this the process recognizes constraints into which it has put options itself.
        self._seal = secrets.token_hex(16)
        # Checks with a part of their budgets, and those for which this is not enough.
        self.first, self.rest = CheckQueue(), CheckQueue()
        load_kernels()
        # What all schemas share.
        self._front_end.refusal("JSON_OBJECT", "")

    @classmethod
    def of(cls, tokenizer: Any, config: Any, model_config: Any) -> "RequestChecks":
        """Return the checks of a tokenizer, made on first use."""
        key = id(tokenizer), _options(config)
        return _checks_of.get(key, lambda: cls(tokenizer, config, model_config))[0]

    def refusal(self, params: Any, model_config: Any) -> str:
        """Return why a request with these ``SamplingParams`` cannot be served; empty if it can. Raises nothing.

        Sets the backend in the params of a request that can be served, and puts its options about JSON into its constraint. In the event
        loop, `ahead` must come first, so that this takes no time and waits for no thread.
        """
        outputs = params.structured_outputs
        try:
            refusal = self._setting_refused(params, outputs, model_config)
            if not refusal:
                found = _ahead.get()
                if found is not None and found[0] is outputs:
                    _, constraint, refusal = found
                else:
                    constraint, refusal = self._read(params)
                    if constraint is not None:
                        refusal = self._timed(self._front_end.refusal, constraint)
                if constraint is not None and not refusal:
                    self._put(outputs, constraint)
        except Exception as error:  # Why all: it must end this request only, and with a reason
            refusal = _unexpected(error)
        if refusal:
            metrics().refusals.inc()
        else:
            outputs._backend = "guided"
        return refusal

    async def ahead(self, params: Any) -> None:
        """Do the costly part of `refusal` on a thread, and leave the outcome to the call of it in this task.

        Raises
        ------
        TimeoutError
            Too many checks are waiting.
        """
        if _size(_parts_of(params), _AT_ONCE) > _AT_ONCE:
            constraint, refusal = await asyncio.to_thread(self._read, params)
        else:
            constraint, refusal = self._read(params)
        if constraint is not None:
            one = constraint
            found = self._front_end.known(one.kind, one.text, one.options, one.allowed)
            if found is None:
                found = await self.first.run(len(one.text), lambda: self._timed(self._front_end.first_refusal, one))
            if found is None:
                found = await self.rest.run(len(one.text), lambda: self._timed(self._front_end.refusal, one))
            refusal = found
        _ahead.set((params.structured_outputs, constraint, refusal))

    def _read(self, params: Any) -> tuple[_Constraint | None, str]:
        """Return what a request asks for, or None and why that cannot be read."""
        try:
            return self._constraint_of(params), ""
        except LimitError as error:
            return None, f"LimitError: {error}"
        except RecursionError:
            return None, "LimitError: the schema nests too deeply"
        except Exception as error:  # Why all: it must end this request only, and with a reason
            return None, _unexpected(error)

    @staticmethod
    def _timed(check: Callable[..., tuple[_Outcome, bool]], one: _Constraint) -> _Outcome:
        """Return the outcome of a check, and note how long it took if it was not known."""
        begin = time.perf_counter()
        outcome, known = check(one.kind, one.text, one.options, one.allowed)
        if not known:
            metrics().check_seconds.observe(time.perf_counter() - begin)
        return outcome

    def _constraint_of(self, params: Any) -> _Constraint:
        """Return what a request asks for. Params that were checked before may carry their options in their text.

        Raises
        ------
        LimitError
            It is too large to be written as text.
        """
        from vllm.v1.structured_output.request import get_structured_output_key

        outputs, most = params.structured_outputs, self._front_end.limits.file_bytes
        size = _size(_parts_of(params), most)
        if size > most:
            raise LimitError("file_bytes", size, most, "the constraint of a request is too long")
        option, text = get_structured_output_key(outputs)
        options = self._front_end.options
        if option.name in JSON_KINDS:
            options, text = self._options_of(outputs).unpacked(text, self._seal)
        allowed = params.allowed_token_ids
        return _Constraint(
            option.name, text, options, None if allowed is None else token_mask(allowed, self._vocabulary.size)
        )

    def _options_of(self, outputs: Any) -> Options:
        """Return the options of a request: those of the server, and what the request itself says."""
        usual = self._front_end.options
        whitespace = "compact" if outputs.disable_any_whitespace else usual.whitespace
        if outputs.whitespace_pattern is not None:
            whitespace = outputs.whitespace_pattern
        return Options(whitespace, usual.additional_properties and not outputs.disable_additional_properties)

    def _put(self, outputs: Any, constraint: _Constraint) -> None:
        """Write a constraint as text into its params, with the options of the request, since the engine's compile gets nothing else."""
        text, is_own = constraint.text, constraint.options != self._front_end.options
        if constraint.kind == "JSON_OBJECT" and is_own:
            text, outputs.json_object = '{"type": "object"}', None
        if is_own:
            text = constraint.options.packed(text, self._seal)
        if constraint.kind == "STRUCTURAL_TAG":
            outputs.structural_tag = text
        elif constraint.kind == "JSON" or (constraint.kind == "JSON_OBJECT" and is_own):
            outputs.json = text

    def _setting_refused(self, params: Any, outputs: Any, model_config: Any) -> str:
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
        return self._options_refused(outputs) or self._tokens_refused(params)

    def _options_refused(self, outputs: Any) -> str:
        is_json = outputs.json is not None or outputs.json_object or outputs.structural_tag is not None
        options = {
            "whitespace_pattern": outputs.whitespace_pattern is not None,
            "disable_any_whitespace": outputs.disable_any_whitespace,
            "disable_additional_properties": outputs.disable_additional_properties,
        }
        given = [name for name, is_given in options.items() if is_given]
        if given and not is_json:
            return f"{given[0]} applies to JSON only, and the request has another constraint: leave it out"
        if outputs.whitespace_pattern is not None:
            if outputs.disable_any_whitespace:
                return "whitespace_pattern and disable_any_whitespace contradict each other: leave one out"
            if outputs.whitespace_pattern in WHITESPACE_NAMES:
                return "whitespace_pattern is a regular expression of whitespace, not a name"
            if self._front_end.options.whitespace == "compact":
                return "this server writes JSON without whitespace: leave whitespace_pattern out"
        return ""

    def _tokens_refused(self, params: Any) -> str:
        """Return why the stop tokens of a request cannot end its text, or why it cannot end with the tokens that are allowed."""
        size, stops, allowed = self._vocabulary.size, params.stop_token_ids or (), params.allowed_token_ids
        for name, tokens in (("stop_token_ids", stops), ("allowed_token_ids", allowed or ())):
            odd = set(map(type, tokens)) - {int}
            if odd:
                return f"{name} must be whole numbers, not {odd.pop().__name__}"
            for token in (min(tokens, default=0), max(tokens, default=0)):
                if not 0 <= token < size:
                    return f"{name}: {token} is not a token, ids run from 0 to {size - 1}"
        ends = {*self._vocabulary.eos, *stops}
        if allowed is not None and ends.isdisjoint(allowed):
            return f"allowed_token_ids has no token that ends the text: add {min(ends)}"
        return ""


def _unexpected(error: Exception) -> str:
    """Log the current exception, and return it as the reason of a refusal."""
    _logger.exception("guided: the check of a request failed")
    return f"the constraint cannot be checked ({type(error).__name__}: {error})"


def _parts_of(params: Any) -> list[Any]:
    """Return what the text of a constraint is made of, and what belongs to it."""
    outputs = params.structured_outputs
    return [
        outputs.json, outputs.choice, outputs.regex, outputs.grammar, outputs.structural_tag, outputs.whitespace_pattern,
        params.allowed_token_ids,
    ]  # fmt: skip


def _size(value: Any, most: int) -> int:
    """Return about how many characters a JSON value takes as text; counting stops above ``most``."""
    total, todo = 0, [value]
    while todo and total <= most:
        each = todo.pop()
        total += 2
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, int):
            total += each.bit_length() >> 2
        elif isinstance(each, dict | list | tuple):
            # Why before: a list is copied at once.
            total += len(each)
            if total <= most:
                todo += each
                todo += each.values() if isinstance(each, dict) else ()
    return total


# The checks of one tokenizer: a process serves one model.
_checks_of = Shared[RequestChecks](1)


class Grammar:
    """The constraint of one request: vLLM's ``StructuredOutputGrammar``.

    ``stops``: tokens that end the text.
    """

    def __init__(self, index: Index, stops: Iterable[int]) -> None:
        spelled, reads = index.vocabulary.tokens, index.tables.reads
        # Those with bytes, and special ones that the text may contain.
        ordinary = {token for token in stops if 0 <= token < len(spelled) and (spelled[token] or reads(token))}
        ends = sorted(set(stops) - ordinary)
        self._guide = index.guide(end_tokens=ends or None)
        # Ordinary tokens that end the text, their words and bits in a mask, and whether one of them did.
        self._stops = frozenset(ordinary)
        if ordinary:
            mask = token_mask(tuple(ordinary), index.vocabulary.size).view(np.uint32)
            self._stop_words = np.flatnonzero(mask)
            self._stop_bits = mask[self._stop_words]
        self._has_stopped = False
        self._has_failed = False

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Read tokens; those after the end are not the grammar's. False ends the request with an error."""
        try:
            is_read = not self._has_failed and all(self._accepts(token) for token in tokens)
            if not is_read or self.is_terminated():
                metrics().flush()
            return is_read
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
                # PERF: `fill_masks` would take three times as long for one row (`python -m benchmarks.serving_masks`).
                row = _words_of(bitmask)[batch_index]
                row[...] = self._guide.mask()
                if self._stops:
                    self._write_stops(row)
                metrics().masked(time.perf_counter() - begin)
        except Exception:
            self._fail("no mask")
        if self._has_failed:
            bitmask[batch_index].fill_(-1)

    def _write_stops(self, row: Int32Array) -> None:
        """Allow the ordinary tokens that end the text exactly where it is complete."""
        words = row.view(np.uint32)
        if self._guide.is_accepting:
            words[self._stop_words] |= self._stop_bits
        else:
            words[self._stop_words] &= ~self._stop_bits
        if not words.any():
            raise GuidedError("the text cannot continue without a token of stop_token_ids")

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


# The bitmask that was filled last, and its words.
_last_bitmask: tuple[Any, Any] = (None, None)


def _words_of(bitmask: "torch.Tensor") -> Int32Array:
    """Return the words of a bitmask over the same memory.

    PERF: a tensor makes a new array for each call in 1 us, and vLLM fills one bitmask again and again.
    """
    global _last_bitmask
    tensor, words = _last_bitmask
    if tensor is not bitmask:
        words = bitmask.numpy()
        _last_bitmask = bitmask, words
    found: Int32Array = words
    return found


class Backend:
    """The engine's side: vLLM's ``StructuredOutputBackend``.

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
        load_kernels()
        # What all schemas share.
        self._indices.index("JSON_OBJECT", "")
        _logger.info("guided: %d tokens, ready in %.1f s", vocab_size, time.perf_counter() - begin)

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: Iterable[int] | None = None
    ) -> Grammar:
        """Return the grammar of a request; vLLM calls this on threads.

        Raises
        ------
        GuidedError, ValueError
            The constraint is over a budget of the engine. vLLM ends the request with an error.
        """
        begin = time.perf_counter()
        index, known = self._indices.index(request_type.name, grammar_spec)
        if known:
            metrics().hits.inc()
        else:
            metrics().compile_seconds.observe(time.perf_counter() - begin)
        return Grammar(index, stop_token_ids or self._vocabulary.eos)

    def known_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: Iterable[int] | None
    ) -> Grammar | None:
        """Return the grammar of a request whose index is known, and None for another. Raises nothing."""
        try:
            index = self._indices.known(request_type.name, grammar_spec)
            if index is None:
                return None
            metrics().hits.inc()
            return Grammar(index, stop_token_ids or self._vocabulary.eos)
        except Exception:  # Why all: `compile_grammar` comes next, meets the same error, and may raise it
            return None

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
        # Seconds of rows that are not counted yet. A deque, because several threads may fill rows.
        self._rows: deque[float] = deque()

    def masked(self, seconds: float) -> None:
        """Count a row, with the next `flush` or after some rows more."""
        self._rows.append(seconds)
        if len(self._rows) >= _COUNTED_TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Count the rows that were filled before."""
        rows = []
        with suppress(IndexError):
            while True:
                rows.append(self._rows.popleft())
        if rows:
            self.mask_seconds.inc(sum(rows))
            self.mask_rows.inc(len(rows))


_metrics = Shared[Metrics](1)


@functools.cache
def metrics() -> Metrics:
    """Return the metrics of the process."""
    # Why shared: threads that call this for the first time at once call it all, and Prometheus refuses a second counter of a name.
    return _metrics.get("metrics", Metrics)[0]


def _vocabulary(tokenizer: Any, size: int) -> Vocabulary:
    end = getattr(tokenizer, "eos_token_id", None)
    return vocabulary_of(tokenizer, size, None if end is None else [end])


def _options(config: Any) -> Options:
    return Options("compact" if config.disable_any_whitespace else "flexible", not config.disable_additional_properties)
