"""Run a call: bind its arguments to the tool's signature and call it.

Arguments are bound by `inspect`, never spliced into code. Coroutines are run to their end. What a tool raises is data, for the model
to see.
"""

import asyncio
import inspect
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import Any

from guided.calls.reads import Call
from guided.calls.tool import Tool

__all__ = ["run"]


def run(call: Call, tool: Tool) -> Call:
    """The call with its ``result``, or with the ``error`` that the tool raised.

    Parameters
    ----------
    call : Call
        A call of the tool.
    tool : Tool
        With something to run.
    """
    try:
        return replace(call, result=_run(tool, call.arguments))
    except Exception as error:
        return replace(call, error=error)


def _run(tool: Tool, arguments: Mapping[str, Any]) -> Any:
    assert tool.run is not None, "a tool without anything to run is not run"
    parameters = {parameter.label: parameter for parameter in tool.parameters()}
    if any(parameter.kind == "whole" for parameter in parameters.values()):
        result = tool.run(**arguments)
        return _finished(result) if inspect.iscoroutine(result) else result
    given = {parameters[label].name: value for label, value in arguments.items()}
    if any(parameters[label].kind in ("positional", "variadic") for label in arguments) and not tool.is_definition:
        bound = inspect.signature(tool.run).bind_partial()
        bound.arguments.update(given)
        # Why the defaults: values after a missing one would otherwise not be given by position.
        bound.apply_defaults()
        result = tool.run(*bound.args, **bound.kwargs)
    else:
        result = tool.run(**given)
    return _finished(result) if inspect.iscoroutine(result) else result


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, from within a running event loop, too."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # Why a thread: a loop cannot wait for itself, so the coroutine gets another one.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(copy_context().run, asyncio.run, coroutine).result()
