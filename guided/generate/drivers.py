"""Run scripts on a model: one as a stream, in an event loop or without one, or several in step with one forward pass for all.

A script (`guided.generate.decoding`) asks for logits and for work, and says events; a driver answers and passes the events on. The
scripts are the same for all drivers, so whatever generates one text generates many.
"""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from guided.calls.waiting import in_thread_async
from guided.events import Event
from guided.generate.decoding import Feed, Script, Work
from guided.generate.model import Batch, LanguageModel, Logits, Session

__all__ = ["alone", "alone_async", "together"]


def alone(model: LanguageModel, script: Script) -> Generator[Event, None, None]:
    """Run one script on a model.

    Parameters
    ----------
    model : LanguageModel
        Answers the script's requests.
    script : Script
        Its first request holds the whole prompt.

    Yields
    ------
    Event
        The script's events as they come.
    """
    steps = _steps(model, script)
    answer = None
    try:
        while (item := _next(steps, answer)) is not None:
            if isinstance(item, Work):
                answer = item.run()
            else:
                answer = None
                yield item
    finally:
        steps.close()


async def alone_async(model: LanguageModel, script: Script) -> AsyncGenerator[Event, None]:
    """Run one script on a model within a running event loop, which goes on meanwhile: the model computes in a thread.

    Parameters and events are those of `alone`.
    """
    steps = _steps(model, script)
    answer = None
    try:
        while (item := await in_thread_async(partial(_next, steps, answer))) is not None:
            if isinstance(item, Work):
                answer = await item.run_async()
            else:
                answer = None
                yield item
    finally:
        # Why suppressed: who is cancelled while the model computes cannot end it. It is ended when nothing holds it any more.
        with suppress(ValueError):
            steps.close()


def _next(steps: Generator[Event | Work, Any, None], answer: Any) -> Event | Work | None:
    """What comes next; None at the end."""
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def _steps(model: LanguageModel, script: Script) -> Generator[Event | Work, Any, None]:
    """A script with its requests for logits answered."""
    with ExitStack() as stack:
        session: Session | None = None
        answer: Any = None
        while True:
            try:
                item = script.send(answer)
            except StopIteration:
                return
            if not isinstance(item, Feed):
                answer = yield item
            elif session is None:
                session = stack.enter_context(model.lease(item.tokens))
                answer = session.start(item.tokens)
            else:
                if item.keep is not None:
                    session.rewind(item.keep)
                answer = session.feed(item.tokens)


def together(model: LanguageModel, scripts: Sequence[Script]) -> list[list[Event]]:
    """Run scripts in step, one row of a batch each.

    Parameters
    ----------
    model : LanguageModel
        Answers the scripts' requests.
    scripts : sequence of Script
        The first request of each holds its whole prompt.

    Returns
    -------
    list of list of Event
        Every script's events.
    """
    events: list[list[Event]] = [[] for _ in scripts]
    rows = list(range(len(scripts)))
    requests = [_until_request(script, None, said) for script, said in zip(scripts, events, strict=True)]
    batch: Batch | None = None
    answers: Sequence[Logits | None]
    while True:
        going_on = [row for row, request in enumerate(requests) if request is not None]
        if not going_on:
            return events
        feeds = [request for request in requests if request is not None]
        if batch is None:
            batch = model.batch(len(feeds))
            answers = batch.start([feed.tokens for feed in feeds])
        else:
            if len(going_on) < len(rows):
                batch.keep(going_on)
            for row, feed in enumerate(feeds):
                if feed.keep is not None:
                    batch.rewind(row, feed.keep)
            answers = batch.feed([feed.tokens for feed in feeds])
        rows = [rows[row] for row in going_on]
        requests = [
            _until_request(scripts[place], logits, events[place]) for place, logits in zip(rows, answers, strict=True)
        ]


def _until_request(script: Script, answer: Any, events: list[Event]) -> Feed | None:
    """Run a script to its next request for logits, collecting its events; None: it has ended."""
    while True:
        try:
            item = script.send(answer)
        except StopIteration:
            return None
        if isinstance(item, Feed):
            return item
        answer = None
        if isinstance(item, Work):
            answer = item.run()
        else:
            events.append(item)
