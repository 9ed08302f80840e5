"""Run calls: ask for confirmation, bind their arguments to the tools' signatures, call the tools, and wait for the results.

Arguments are bound by `inspect`, never spliced into code. An exception of a tool is data for the model, and so are a refusal and a timeout.
There are two ways to wait, with the same result: `run` blocks its thread and runs coroutines in a loop of their own; `run_async` awaits
them in the caller's loop, and runs functions that may block in a thread. `Together` runs several calls at a time: coroutines in one loop,
functions in threads.

After a timeout the call has failed, but its function keeps running in its thread (`guided.calls.waiting`).

The logger ``guided.calls`` has a record of level INFO for each call, also for one that was refused. Its attributes ``tool``, ``arguments``,
``seconds`` and ``error`` are those of the message.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from guided.calls.reads import Call
from guided.calls.tool import Tool
from guided.calls.waiting import awaited, finished, in_thread, in_thread_async, seconds
from guided.errors import CallRefused, shown
from guided.schema.frontend.callables import context_names

__all__ = ["CallOfTool", "Confirm", "Together", "log_call", "run", "run_async"]

_logger = logging.getLogger("guided.calls")

Confirm: TypeAlias = Callable[[Call], bool | str | Awaitable[bool | str]]
# A call and its tool, which has a function to run.
CallOfTool: TypeAlias = tuple[Call, Tool]


def run(
    call: Call, tool: Tool, timeout: float | None = None, confirm: Confirm | None = None, context: Any = None
) -> Call:
    """Run a call; return it with its ``result``, or with its ``error``: the tool's exception, a `CallRefused`, or a `TimeoutError`.

    Parameters
    ----------
    call : Call
        A call of the tool.
    tool : Tool
        A tool with a function to run.
    timeout : float, optional
        Maximum number of seconds; the call then runs in a thread. Values from `threading.TIMEOUT_MAX` (centuries) up mean no limit.
    confirm : callable, optional
        Receives the call and returns True, False, or a text with the reason for the refusal. May be a coroutine function. Its
        exceptions propagate.
    context : Any
        Value of the tool's parameters that are a `guided.Context`.

    Raises
    ------
    TypeError
        ``confirm`` returned neither a bool nor a text.
    """
    call = _confirmed(call, confirm)
    if call.error is not None:
        return call
    begin = time.perf_counter()
    limit = seconds(timeout)

    def give() -> Any:
        result = _given(call, tool, context)
        return finished(result, limit) if inspect.isawaitable(result) else result

    try:
        done = replace(call, result=give() if limit is None else in_thread(give, limit))
    except Exception as error:
        done = replace(call, error=_own(error))
    return log_call(done, begin)


async def run_async(
    call: Call, tool: Tool, timeout: float | None = None, confirm: Confirm | None = None, context: Any = None
) -> Call:
    """Like `run`, for a running event loop: coroutines are awaited in it, functions run in a thread."""
    call = await _confirmed_async(call, confirm)
    if call.error is not None:
        return call
    begin = time.perf_counter()

    async def give() -> Any:
        blocking = partial(_given, call, tool, context)
        result = blocking() if _is_coroutine(tool.run) else await in_thread_async(blocking)
        return await result if inspect.isawaitable(result) else result

    try:
        done = replace(call, result=await awaited(give(), seconds(timeout)))
    except Exception as error:
        done = replace(call, error=_own(error))
    return log_call(done, begin)


@dataclass(frozen=True, slots=True)
class Together:
    """Calls that run together, at most ``concurrency`` at a time; `run` and `run_async` return them in order, each as `run` does.

    A single call, or ``concurrency=1``, runs in the caller's thread. Otherwise all are confirmed one after another, and then coroutines
    run in one loop and functions in threads. If it is interrupted, coroutines are cancelled, and no further call begins; a function keeps
    running in its thread.
    """

    jobs: Sequence[CallOfTool]
    concurrency: int
    timeout: float | None = None
    confirm: Confirm | None = None
    context: Any = None

    def run(self) -> list[Call]:
        """Run the calls and wait for them."""
        if min(len(self.jobs), self.concurrency) < 2:
            return [run(call, tool, self.timeout, self.confirm, self.context) for call, tool in self.jobs]
        return finished(self._confirmed_run([(_confirmed(call, self.confirm), tool) for call, tool in self.jobs]))

    async def run_async(self) -> list[Call]:
        """Like `run`, for a running event loop."""
        if min(len(self.jobs), self.concurrency) < 2:
            return [await run_async(call, tool, self.timeout, self.confirm, self.context) for call, tool in self.jobs]
        return await self._confirmed_run(
            [(await _confirmed_async(call, self.confirm), tool) for call, tool in self.jobs]
        )

    async def _confirmed_run(self, jobs: Sequence[CallOfTool]) -> list[Call]:
        """Run the calls that were not refused."""
        places = asyncio.Semaphore(self.concurrency)

        async def one(call: Call, tool: Tool) -> Call:
            if call.error is not None:
                return call
            async with places:
                return await run_async(call, tool, self.timeout, context=self.context)

        tasks = [asyncio.ensure_future(one(*job)) for job in jobs]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def log_call(call: Call, begin: float) -> Call:
    """Write a record of a call that is done or was refused, and return the call; ``begin``: `time.perf_counter` before it."""
    if _logger.isEnabledFor(logging.INFO):
        given = ", ".join(f"{name}={shown(value)}" for name, value in call.arguments.items())
        outcome = "returned" if call.error is None else f"failed: {shown(call.error, 200)}"
        took = time.perf_counter() - begin
        fields = {"tool": call.name, "arguments": call.arguments, "seconds": took, "error": call.error}
        _logger.info("%s(%s) %s after %.3f s", call.name, given, outcome, took, extra=fields)
    return call


def _own(error: Exception) -> Exception:
    """The tool's own exception: Python turns a StopIteration that leaves a coroutine into a RuntimeError (PEP 479)."""
    while (
        type(error) is RuntimeError
        and isinstance(error.__cause__, StopIteration)
        and error.args == ("coroutine raised StopIteration",)
    ):
        error = error.__cause__
    return error


def _confirmed(call: Call, confirm: Confirm | None) -> Call:
    """The call, with an error if it is not confirmed."""
    if confirm is None:
        return call
    begin, answer = time.perf_counter(), confirm(call)
    return _answered(call, finished(answer) if inspect.isawaitable(answer) else answer, begin)


async def _confirmed_async(call: Call, confirm: Confirm | None) -> Call:
    if confirm is None:
        return call
    begin, answer = time.perf_counter(), confirm(call)
    return _answered(call, await answer if inspect.isawaitable(answer) else answer, begin)


def _answered(call: Call, answer: object, begin: float) -> Call:
    if not isinstance(answer, bool | str):
        raise TypeError(f"confirm must return True, False or a str with the reason, not {shown(answer)}")
    if answer is True:
        return call
    return log_call(replace(call, error=CallRefused(answer or "it was not confirmed")), begin)


def _is_coroutine(function: object) -> bool:
    """Return whether it is a coroutine function, so that calling it does not block."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _given(call: Call, tool: Tool, context: Any) -> Any:
    """The return value of the tool, which may be awaitable."""
    try:
        return _called(call, tool, context)
    except (asyncio.CancelledError, GeneratorExit) as error:
        # Why: these would end the caller's own coroutine or generator.
        raise RuntimeError(f"the tool raised {type(error).__name__}") from error


def _called(call: Call, tool: Tool, context: Any) -> Any:
    assert tool.run is not None, "a tool without anything to run is not run"
    arguments = call.arguments
    parameters = {
        parameter.label: parameter for parameter in tool.parameters() if parameter.kind not in ("others", "whole")
    }
    own = {} if context is None else dict.fromkeys(context_names(tool.run), context)
    given = {parameters[label].name: value for label, value in arguments.items() if label in parameters} | own
    others = {label: value for label, value in arguments.items() if label not in parameters}
    if (
        any(parameters[label].kind in ("positional", "variadic") for label in arguments.keys() & parameters)
        and not tool.is_definition
    ):
        bound = inspect.signature(tool.run).bind_partial()
        bound.arguments.update(given)
        # Why the defaults: otherwise values after a missing one would not be passed by position.
        bound.apply_defaults()
        return tool.run(*bound.args, **bound.kwargs, **others)
    return tool.run(**others | given)
