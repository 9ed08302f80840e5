"""Drivers that run coroutines on a model: one as a stream, with or without an event loop, or several in a batch.

A `TextCoroutine` (`guided.generate.decoding`) requests logits and work, and yields events; a driver answers the requests and passes the
events on. All drivers run the same coroutines, so every generator supports streams, event loops and batches. A coroutine that requests
`Rows` has a batch of its own, and runs alone.

The logger ``guided.generate`` has a record of level INFO for each text. Its attributes ``n_tokens``, ``finish_reason``, ``steered``,
``forward_passes``, ``retries``, ``seconds`` and ``error`` are those of the message. Texts are not logged.
"""

import logging
import time
from collections.abc import AsyncGenerator, Generator, Iterable
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

    The first request of the coroutine contains the whole prompt.

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
                    batch = model.batch()
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


def together(
    model: LanguageModel, coroutines: Iterable[tuple[int, TextCoroutine]], width: int, window: int | None = None
) -> Generator[tuple[int, list[Event]], None, None]:
    """Run coroutines in step, each in one row of a batch; they must not request `Rows`.

    When one ends, the next one takes its row, so all rows stay busy however long the iterable is. What its prompt shares with another row
    is not read again.

    Parameters
    ----------
    model : LanguageModel
        Answers the coroutines' requests.
    coroutines : iterable of (int, TextCoroutine)
        With ascending numbers. The first request of each contains its whole prompt. The next one is taken when a row is free.
    width : int
        Number of rows.
    window : int, optional
        By how much the numbers of two rows may differ. None: by any amount.

    Yields
    ------
    (int, list of Event)
        The number of a coroutine and its events, in the order in which they end.
    """
    source, batch, rows, last = iter(coroutines), model.batch(), list[_Row](), -1
    while True:
        kept, new = [place for place, row in enumerate(rows) if row.request is not None], list[_Row]()
        first = min((rows[place].number for place in kept), default=last)
        while len(kept) + len(new) < width and (window is None or last < first + window):
            if (item := next(source, None)) is None:
                break
            row = _Row(*item)
            last = row.number
            if row.request is None:
                yield row.number, row.events
            else:
                new.append(row)
        if new:
            # Equal prompts are read once.
            places: dict[tuple[int, ...], int] = {}
            order = [places.setdefault(row.tokens, len(places)) for row in new]
            logits = batch.refill(kept, list(places))
            if len(places) < len(new):
                batch.keep([*range(len(kept)), *(len(kept) + place for place in order)])
            for row, place in zip(new, order, strict=True):
                row.answer(logits[place])
            rows = [*(rows[place] for place in kept), *new]
        elif not kept:
            return
        else:
            if len(kept) < len(rows):
                batch.keep(kept)
                rows = [rows[place] for place in kept]
            for place, row in enumerate(rows):
                if row.request is not None and row.request.keep is not None:
                    batch.rewind(place, row.request.keep)
            for row, answer in zip(rows, batch.feed([row.tokens for row in rows]), strict=True):
                row.answer(answer)
        yield from [(row.number, row.events) for row in rows if row.request is None]


class _Row:
    """A coroutine of a batch: its number, its events so far, and its request for logits, None when it has ended."""

    def __init__(self, number: int, coroutine: TextCoroutine) -> None:
        self.number, self.events, self._coroutine = number, list[Event](), coroutine
        self._begin = time.perf_counter()
        self.request: Feed | None = None
        self.answer(None)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Tokens of the request."""
        return () if self.request is None else self.request.tokens

    def answer(self, logits: Logits | None) -> None:
        """Answer the request, and run the coroutine to its next one."""
        answer: Any = logits
        self.request = None
        while self.request is None:
            try:
                item = self._coroutine.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(item, Feed):
                self.request = item
            elif isinstance(item, Work):
                answer = item.run()
            else:
                assert not isinstance(item, Rows), "a search has a batch of its own"
                self.events.append(_logged(item, self._begin))
