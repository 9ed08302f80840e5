"""Calls between which no result is inserted run together: order, errors, cancellation and context are those of single calls."""

import asyncio
import threading
from typing import Any

import pytest

import guided
from guided.events import ToolCall, ToolResult


def text(*names: str) -> str:
    return "[" + ", ".join(f'{{"name": "meet", "arguments": {{"name": "{name}"}}}}' for name in names) + "]"


def made(tool: Any, *names: str, **options: Any) -> Any:
    model = guided.testing.scripted(text(*names))
    return guided.tools(model, [tool], tool_choice="required", parallel_tool_calls=True, format="json", **options)


def test_functions_run_at_the_same_time_and_results_keep_their_order() -> None:
    barrier = threading.Barrier(3, timeout=60)

    def meet(name: str) -> str:
        barrier.wait()
        return name * 2

    events = list(made(meet, "a", "b", "c").stream("?"))
    assert [type(event) for event in events if isinstance(event, ToolCall | ToolResult)] == [ToolCall] * 3 + [
        ToolResult
    ] * 3
    assert [event.call.result for event in events if isinstance(event, ToolResult)] == ["aa", "bb", "cc"]


def test_coroutines_run_in_one_loop() -> None:
    def meeting(loops: set[Any]) -> Any:
        arrived: list[str] = []

        async def meet(name: str) -> str:
            arrived.append(name)
            loops.add(asyncio.get_running_loop())
            while len(arrived) < 2:
                await asyncio.sleep(0)
            return name

        return meet

    loops: set[Any] = set()
    assert [call.result for call in made(meeting(loops), "a", "b")("?").calls] == ["a", "b"]
    assert [call.result for call in asyncio.run(made(meeting(loops), "a", "b").generate_async("?")).calls] == ["a", "b"]
    assert len(loops) == 2


@pytest.mark.parametrize("concurrency", [1, 2, 8])
def test_no_more_run_than_asked_for_and_errors_stay_with_their_calls(concurrency: int) -> None:
    lock, running, most = threading.Lock(), 0, 0

    def meet(name: str, user: guided.Context[str] = "") -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            if name == "b":
                raise KeyError(name)
            return name + user
        finally:
            with lock:
                running -= 1

    calls = made(meet, "a", "b", "c", concurrency=concurrency)("?", context="!").calls
    assert [call.result for call in calls] == ["a!", None, "c!"]
    assert isinstance(calls[1].error, KeyError)
    assert most <= concurrency
    with pytest.raises(KeyError):
        made(meet, "a", "b", "c", concurrency=concurrency, errors="raise")("?", context="!")


def test_all_calls_are_confirmed_in_order_before_any_runs() -> None:
    seen: list[str] = []

    def meet(name: str) -> str:
        seen.append("run")
        return name

    def confirm(call: Any) -> bool:
        seen.append(call.arguments["name"])
        return bool(call.arguments["name"] != "b")

    calls = made(meet, "a", "b", "c", confirm=confirm)("?").calls
    assert seen == ["a", "b", "c", "run", "run"]
    assert isinstance(calls[1].error, guided.CallRefused)


def test_a_cancelled_text_leaves_no_coroutine_running() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def meet(name: str) -> str:
        begun.append(name)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        return name

    async def main() -> None:
        task = asyncio.ensure_future(made(meet, "a", "b", "c", concurrency=2).generate_async("?"))
        while len(begun) < 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        assert sorted(ended) == begun == ["a", "b"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_concurrency_is_a_number_from_one() -> None:
    def meet(name: str) -> str:
        return name

    for wrong, error in ((0, ValueError), (True, TypeError), ("2", TypeError)):
        with pytest.raises(error, match="concurrency must be"):
            made(meet, "a", concurrency=wrong)
