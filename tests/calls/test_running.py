"""Calls are run: arguments reach their parameters, coroutines end, errors are kept."""

import asyncio
import contextvars
import functools
import logging
import threading
from dataclasses import dataclass, replace
from typing import Any

import pydantic
import pytest

from guided.calls.reads import Call
from guided.calls.running import run, run_async
from guided.calls.tool import Tool
from guided.errors import CallRefused
from tests.calls.parsing import parse_call


def mixed(a: int, /, b: int = 3, *c: int, d: bool = False, from_: str = "x") -> tuple[Any, ...]:
    return a, b, c, d, from_


class Service:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def scale(self, x: int) -> int:
        return self.factor * x

    async def later(self, x: int) -> int:
        await asyncio.sleep(0)
        return self.factor + x


@dataclass
class Box:
    x: int


class Model(pydantic.BaseModel):
    x: int
    items: list[int] = pydantic.Field(default_factory=list)


@pytest.mark.parametrize(
    ("style", "text", "result"),
    [
        ("tooldec-positional", "mixed(1)", (1, 3, (), False, "x")),
        ("tooldec-positional", "mixed(1, 2, 3, 4, d=true)", (1, 2, (3, 4), True, "x")),
        ("tooldec", 'mixed(a=1, c=[7, 8], from="y")', (1, 3, (7, 8), False, "y")),
        ("json", '{"name": "mixed", "arguments": {"a": 1, "c": [], "d": true}}', (1, 3, (), True, "x")),
    ],
)
def test_arguments_reach_their_parameters(style: str, text: str, result: tuple[Any, ...]) -> None:
    tool = Tool(mixed)
    assert run(parse_call(text, [tool], style), tool).result == result


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (Service(3).scale, 15),
        (Service(3).later, 8),
        (functools.partial(lambda y, x: x * y, 2), 10),
        (lambda x: x + 1, 6),
        (Box, Box(5)),
        (Model, Model(x=5)),
    ],
    ids=["method", "coroutine", "partial", "lambda", "class", "model"],
)
def test_anything_that_can_be_called_is_run(function: Any, result: Any) -> None:
    tool = Tool(function, name="f", types={"x": int})
    assert run(Call("f", {"x": 5}, (0, 1)), tool).result == result


def test_a_definition_is_run_with_its_arguments_by_name() -> None:
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"x-y": {"type": "integer"}}}}
    tool = Tool(definition, run=lambda **arguments: arguments)
    assert run(Call("f", {"x-y": 3}, (0, 1)), tool).result == {"x-y": 3}


def test_a_coroutine_ends_within_a_running_loop_too() -> None:
    setting: contextvars.ContextVar[int] = contextvars.ContextVar("setting")

    async def tool(x: int) -> int:
        await asyncio.sleep(0)
        return x + setting.get()

    async def main() -> Call:
        setting.set(40)
        return run(Call("tool", {"x": 2}, (0, 1)), Tool(tool))

    assert asyncio.run(main()).result == 42


async def fails(x: int) -> None:
    raise LookupError(f"no {x}")


def divide(x: int) -> float:
    return 1 / x


@pytest.mark.parametrize(("function", "error"), [(divide, ZeroDivisionError), (fails, LookupError)])
def test_exceptions_of_tools_are_kept(function: Any, error: type[Exception]) -> None:
    call = Call(function.__name__, {"x": 0}, (0, 1))
    done = run(call, Tool(function))
    assert isinstance(done.error, error)
    assert done.result is None
    assert call.error is None


def test_an_interrupt_is_not_an_answer() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Call("stop", {}, (0, 1)), Tool(stop))


# Both ways to run a call, of which everything below holds.
WAYS = pytest.mark.parametrize(
    "way", [run, lambda *given, **options: asyncio.run(run_async(*given, **options))], ids=["run", "run_async"]
)
CALL = Call("f", {"x": 5}, (0, 1))


@WAYS
@pytest.mark.parametrize(
    ("function", "result"),
    [
        (Service(3).scale, 15),
        (Service(3).later, 8),
        (functools.partial(Service.later, Service(4)), 9),
        (lambda x: Service(5).later(x), 10),
        (Box, Box(5)),
        (Model, Model(x=5)),
    ],
    ids=["method", "coroutine", "partial", "gives a coroutine", "class", "model"],
)
@pytest.mark.parametrize("timeout", [None, 60])
def test_both_ways_give_the_same(way: Any, function: Any, result: Any, timeout: float | None) -> None:
    assert way(CALL, Tool(function, name="f", types={"x": int}), timeout).result == result


@WAYS
def test_a_function_that_is_too_late_is_left_to_itself(way: Any) -> None:
    end, ended = threading.Event(), threading.Event()

    def slow(x: int) -> int:
        end.wait(60)
        ended.set()
        return x

    done = way(CALL, Tool(slow), 0.02)
    assert not ended.is_set()
    end.set()
    assert ended.wait(60)
    assert (done.result, type(done.error), str(done.error)) == (None, TimeoutError, "not done within 0.02 s")


@WAYS
def test_a_coroutine_that_is_too_late_is_cancelled(way: Any) -> None:
    cancelled = threading.Event()

    async def slow(x: int) -> int:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise LookupError("too late to be told") from None
        return x

    done = way(CALL, Tool(slow), 0.02)
    assert (type(done.error), str(done.error)) == (TimeoutError, "not done within 0.02 s")
    assert cancelled.wait(60)


@WAYS
def test_a_coroutine_that_is_cancelled_by_itself_is_an_error(way: Any) -> None:
    async def gives_up(x: int) -> int:
        raise asyncio.CancelledError

    done = way(CALL, Tool(gives_up))
    assert (type(done.error), str(done.error)) == (RuntimeError, "the awaited object was cancelled")


def test_coroutines_are_awaited_in_the_running_loop_and_functions_do_not_hold_it_up() -> None:
    loops: list[Any] = []
    first, second = threading.Event(), threading.Event()

    async def tool(x: int) -> int:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return x

    def waits(x: int) -> int:
        first.set()
        assert second.wait(60)
        return x

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        assert (await run_async(CALL, Tool(tool))).result == 5
        waiting = asyncio.ensure_future(run_async(CALL, Tool(waits)))
        while not first.is_set():
            await asyncio.sleep(0)
        # The loop goes on while the function waits for it.
        second.set()
        assert (await waiting).result == 5

    asyncio.run(main())
    assert loops[0] is loops[1]


def test_who_is_cancelled_cancels_the_tool() -> None:
    happened: list[str] = []

    async def slow(x: int) -> int:
        happened.append("begun")
        try:
            await asyncio.sleep(60)
        finally:
            happened.append("ended")
        return x

    async def main() -> None:
        running = asyncio.ensure_future(run_async(CALL, Tool(slow)))
        while not happened:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0)

    asyncio.run(main())
    assert happened == ["begun", "ended"]


async def later(answer: Any) -> Any:
    await asyncio.sleep(0)
    return answer


@WAYS
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("answer", "error"),
    [(True, None), (False, "it was not confirmed"), ("", "it was not confirmed"), ("ask later", "ask later")],
)
def test_calls_are_run_when_they_are_confirmed(way: Any, is_async: bool, answer: Any, error: str | None) -> None:
    asked: list[Call] = []
    ran: list[int] = []

    def confirm(call: Call) -> Any:
        asked.append(call)
        return later(answer) if is_async else answer

    def f(x: int) -> int:
        ran.append(x)
        return 2 * x

    done = way(CALL, Tool(f), confirm=confirm)
    assert asked == [CALL]
    if error is None:
        assert (done.result, done.error, ran) == (10, None, [5])
    else:
        assert (done.result, str(done.error), ran) == (None, error, [])
        assert isinstance(done.error, CallRefused)


@WAYS
def test_exceptions_of_confirm_are_raised(way: Any) -> None:
    def gone(call: Call) -> bool:
        raise EOFError("nobody there")

    with pytest.raises(EOFError, match="nobody there"):
        way(CALL, Tool(divide, name="f"), confirm=gone)
    with pytest.raises(TypeError, match="confirm must return True, False or a str with the reason, not None"):
        way(CALL, Tool(divide, name="f"), confirm=lambda call: None)


@WAYS
@pytest.mark.parametrize("timeout", [None, 60])
def test_a_tool_sees_the_context_of_its_caller(way: Any, timeout: float | None) -> None:
    setting: contextvars.ContextVar[int] = contextvars.ContextVar("setting")
    setting.set(40)
    assert way(CALL, Tool(lambda x: x + setting.get(), name="f", types={"x": int}), timeout).result == 45


def test_an_interrupt_in_a_thread_is_none_of_its_results() -> None:
    def stop(x: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(CALL, Tool(stop), 60)


def boom(x: int) -> int:
    raise LookupError("no such number")


@pytest.mark.parametrize("way", [run, lambda *job: asyncio.run(run_async(*job))], ids=["blocking", "awaited"])
def test_every_call_is_logged(way: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fine(x: int) -> int:
        return x

    call = Call("fine", {"x": 3}, (0, 0))
    with caplog.at_level(logging.INFO, "guided.calls"):
        way(call, Tool(fine))
        way(replace(call, name="boom"), Tool(boom))
        way(call, Tool(fine), None, lambda _: "not today")
    records: list[Any] = [record for record in caplog.records if record.name == "guided.calls"]
    assert [record.tool for record in records] == ["fine", "boom", "fine"]
    assert [record.arguments for record in records] == [{"x": 3}] * 3
    assert [type(record.error) for record in records] == [type(None), LookupError, CallRefused]
    assert all(record.seconds >= 0 for record in records)
    first, second, third = (record.getMessage() for record in records)
    assert first.startswith("fine(x=3) returned after ")
    assert second.startswith("boom(x=3) failed: LookupError('no such number') after ")
    assert "not today" in third
    caplog.clear()
    way(call, Tool(fine))
    assert not [record for record in caplog.records if record.name == "guided.calls"]
