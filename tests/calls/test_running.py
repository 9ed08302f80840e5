"""Calls are run: arguments reach their parameters, coroutines end, errors are kept."""

import asyncio
import contextvars
import functools
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from guided.calls.parse import parse_call
from guided.calls.reads import Call
from guided.calls.running import run
from guided.calls.tool import Tool


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
def test_what_a_tool_raises_is_kept(function: Any, error: type[Exception]) -> None:
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
