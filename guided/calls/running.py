"""Run a call: ask whether it may be run, bind its arguments to the tool's signature, call it, and wait for what it gives.

Arguments are bound by `inspect`, never spliced into code. What a tool raises is data, for the model to see; so are a refusal and a
timeout. There are two ways to wait, which give the same: `run` blocks its thread and gives coroutines a loop of their own;
`run_async` awaits them in the caller's loop, and calls functions that may block in a thread.

A call that is too late is over for the model, but a function in a thread is not ended by that (`guided.calls.waiting`).
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

from guided.calls.reads import Call
from guided.calls.tool import Tool
from guided.calls.waiting import awaited, finished, in_thread, in_thread_async, seconds
from guided.errors import shown

__all__ = ["CallRefused", "Confirm", "run", "run_async"]

Confirm: TypeAlias = Callable[[Call], bool | str | Awaitable[bool | str]]


class CallRefused(PermissionError):
    """A call was not confirmed, and so not run; the message says why."""


def run(call: Call, tool: Tool, timeout: float | None = None, confirm: Confirm | None = None) -> Call:
    """The call with its ``result``, or with its ``error``: what the tool raised, a `CallRefused`, or a `TimeoutError`.

    Parameters
    ----------
    call : Call
        A call of the tool.
    tool : Tool
        With something to run.
    timeout : float, optional
        Seconds that it may take; it is run in a thread then. From `threading.TIMEOUT_MAX` (centuries) up there is no limit.
    confirm : callable, optional
        Given the call, says whether it may be run: True, False, or a text that says why not. It may be a coroutine function.
        What it raises is raised.

    Raises
    ------
    TypeError
        ``confirm`` gave neither a bool nor a text.
    """
    if confirm is not None:
        answer = confirm(call)
        reason = _refusal(finished(answer) if inspect.isawaitable(answer) else answer)
        if reason:
            return replace(call, error=CallRefused(reason))

    limit = seconds(timeout)

    def give() -> Any:
        result = _given(call, tool)
        return finished(result, limit) if inspect.isawaitable(result) else result

    try:
        return replace(call, result=give() if limit is None else in_thread(give, limit))
    except Exception as error:
        return replace(call, error=_own(error))


async def run_async(call: Call, tool: Tool, timeout: float | None = None, confirm: Confirm | None = None) -> Call:
    """As `run`, within a running event loop: coroutines are awaited in it, functions are called in a thread."""
    if confirm is not None:
        answer = confirm(call)
        reason = _refusal(await answer if inspect.isawaitable(answer) else answer)
        if reason:
            return replace(call, error=CallRefused(reason))

    async def give() -> Any:
        result = _given(call, tool) if _is_coroutine(tool.run) else await in_thread_async(lambda: _given(call, tool))
        return await result if inspect.isawaitable(result) else result

    try:
        return replace(call, result=await awaited(give(), seconds(timeout)))
    except Exception as error:
        return replace(call, error=_own(error))


def _own(error: Exception) -> Exception:
    """What the tool itself raised: Python turns a StopIteration that leaves a coroutine into a RuntimeError (PEP 479)."""
    while (
        type(error) is RuntimeError
        and isinstance(error.__cause__, StopIteration)
        and error.args == ("coroutine raised StopIteration",)
    ):
        error = error.__cause__
    return error


def _refusal(answer: object) -> str:
    """Why a call is not run; empty where it is."""
    if not isinstance(answer, bool | str):
        raise TypeError(f"confirm gives True, False or a text that says why not, not {shown(answer)}")
    return "" if answer is True else answer or "it was not confirmed"


def _is_coroutine(function: object) -> bool:
    """Does calling it give a coroutine, and block nothing?"""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _given(call: Call, tool: Tool) -> Any:
    """What the tool gives, which may have to be awaited."""
    try:
        return _called(call, tool)
    except (asyncio.CancelledError, GeneratorExit) as error:
        # Why: these would seem to end the caller's own coroutine or generator.
        raise RuntimeError(f"the tool raised {type(error).__name__}") from error


def _called(call: Call, tool: Tool) -> Any:
    assert tool.run is not None, "a tool without anything to run is not run"
    arguments = call.arguments
    parameters = {parameter.label: parameter for parameter in tool.parameters()}
    if any(parameter.kind == "whole" for parameter in parameters.values()):
        return tool.run(**arguments)
    given = {parameters[label].name: value for label, value in arguments.items()}
    if any(parameters[label].kind in ("positional", "variadic") for label in arguments) and not tool.is_definition:
        bound = inspect.signature(tool.run).bind_partial()
        bound.arguments.update(given)
        # Why the defaults: values after a missing one would otherwise not be given by position.
        bound.apply_defaults()
        return tool.run(*bound.args, **bound.kwargs)
    return tool.run(**given)
