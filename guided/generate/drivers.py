"""Drivers that run coroutines on a model: one as a stream, with or without an event loop, or several in a batch.

A `TextCoroutine` (`guided.generate.decoding`) requests logits and work, and yields events; a driver answers the requests and passes the
events on. All drivers run the same coroutines, so every generator supports streams, event loops and batches. A coroutine that requests
`Rows` has a batch of its own, and runs alone.

The logger ``guided.generate`` has a record of level INFO for each text. Its attributes ``n_tokens``, ``finish_reason``, ``steered``,
``forward_passes``, ``retries``, ``seconds`` and ``error`` are those of the message. Texts are not logged.
"""

import logging
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from guided.calls.waiting import in_thread_async
from guided.events import Done, Event
from guided.generate.decoding import Feed, Rows, TextCoroutine, Work
from guided.generate.model import Batch, LanguageModel, Logits, Session

__all__ = ["alone", "alone_async", "together"]

_logger = logging.getLogger("guided.generate")


def alone(model: LanguageModel, coroutine: TextCoroutine) -> Generator[Event, None, None]:
    """Run one coroutine on a model.

    Parameters
    ----------
    model : LanguageModel
        Answers the coroutine's requests.
    coroutine : TextCoroutine
        Its first request contains the whole prompt.

    Yields
    ------
    Event
        The coroutine's events in order.
    """
    steps, begin = _steps(model, coroutine), time.perf_counter()
    answer = None
    try:
        while (item := _next(steps, answer)) is not None:
            if isinstance(item, Work):
                answer = item.run()
            else:
                answer = None
                yield _logged(item, begin)
    finally:
        steps.close()


async def alone_async(model: LanguageModel, coroutine: TextCoroutine) -> AsyncGenerator[Event, None]:
    """Run one coroutine on a model without blocking the running event loop: the model computes in a thread.

    Parameters and events are those of `alone`.
    """
    steps, begin = _steps(model, coroutine), time.perf_counter()
    answer = None
    try:
        while (item := await in_thread_async(partial(_next, steps, answer))) is not None:
            if isinstance(item, Work):
                answer = await item.run_async()
            else:
                answer = None
                yield _logged(item, begin)
    finally:
        # Why suppressed: a task cancelled during a forward pass cannot close the generator; it ends when it is garbage-collected.
        with suppress(ValueError):
            steps.close()


def _logged(event: Event, begin: float) -> Event:
    """Write a record of a text at its last event, and return the event; ``begin``: `time.perf_counter` before the text."""
    if isinstance(event, Done) and _logger.isEnabledFor(logging.INFO):
        result = event.result
        fields = {
            "n_tokens": len(result.tokens),
            "finish_reason": result.finish_reason,
            "steered": result.steered,
            "forward_passes": result.forward_passes,
            "retries": len(result.refused),
            "seconds": time.perf_counter() - begin,
            "error": result.error,
        }
        message = (
            "text of %(n_tokens)d tokens after %(seconds).3f s: finish_reason=%(finish_reason)r, steered=%(steered)s, "
            "%(forward_passes)d forward passes, %(retries)d retries, error=%(error)r"
        )
        _logger.info(message, fields, extra=fields)
    return event


def _next(steps: Generator[Event | Work, Any, None], answer: Any) -> Event | Work | None:
    """The next item; None at the end."""
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def _steps(model: LanguageModel, coroutine: TextCoroutine) -> Generator[Event | Work, Any, None]:
    """Run a coroutine and answer its requests for logits."""
    with ExitStack() as stack:
        session: Session | None = None
        batch: Batch | None = None
        answer: Any = None
        while True:
            try:
                item = coroutine.send(answer)
            except StopIteration:
                return
            if isinstance(item, Rows):
                if item.parents is None or batch is None:
                    batch = model.batch(len(item.tokens))
                    answer = batch.start(item.tokens)
                else:
                    batch.keep(item.parents)
                    answer = batch.feed(item.tokens)
            elif not isinstance(item, Feed):
                answer = yield item
            elif session is None or item.keep == 0:
                session = session or stack.enter_context(model.lease(item.tokens))
                answer = session.start(item.tokens)
            else:
                if item.keep is not None:
                    session.rewind(item.keep)
                answer = session.feed(item.tokens)


def together(model: LanguageModel, coroutines: Sequence[TextCoroutine]) -> list[list[Event]]:
    """Run coroutines in step, each in one row of a batch; they must not request `Rows`.

    Parameters
    ----------
    model : LanguageModel
        Answers the coroutines' requests.
    coroutines : sequence of TextCoroutine
        The first request of each contains its whole prompt.

    Returns
    -------
    list of list of Event
        The events of each coroutine.
    """
    begin = time.perf_counter()
    events: list[list[Event]] = [[] for _ in coroutines]
    rows = list(range(len(coroutines)))
    requests = [
        _until_request(coroutine, None, collected, begin)
        for coroutine, collected in zip(coroutines, events, strict=True)
    ]
    batch: Batch | None = None
    answers: Sequence[Logits | None]
    while True:
        going_on = [row for row, request in enumerate(requests) if request is not None]
        if not going_on:
            return events
        feeds = [request for request in requests if request is not None]
        if batch is None:
            # Equal prompts are read once.
            prompts = list(dict.fromkeys(feed.tokens for feed in feeds))
            batch = model.batch(len(prompts))
            places = [prompts.index(feed.tokens) for feed in feeds]
            found = batch.start(prompts)
            if len(prompts) < len(feeds):
                batch.keep(places)
            answers = [found[place] for place in places]
        else:
            if len(going_on) < len(rows):
                batch.keep(going_on)
            for row, feed in enumerate(feeds):
                if feed.keep is not None:
                    batch.rewind(row, feed.keep)
            answers = batch.feed([feed.tokens for feed in feeds])
        rows = [rows[row] for row in going_on]
        requests = [
            _until_request(coroutines[place], logits, events[place], begin)
            for place, logits in zip(rows, answers, strict=True)
        ]


def _until_request(coroutine: TextCoroutine, answer: Any, events: list[Event], begin: float) -> Feed | None:
    """Run a coroutine to its next request for logits and collect its events; None if it has ended."""
    while True:
        try:
            item = coroutine.send(answer)
        except StopIteration:
            return None
        if isinstance(item, Feed):
            return item
        assert not isinstance(item, Rows), "a search has a batch of its own"
        answer = None
        if isinstance(item, Work):
            answer = item.run()
        else:
            events.append(_logged(item, begin))
