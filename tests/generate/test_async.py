"""Generators within a running event loop: the same events, and the loop goes on meanwhile."""

import asyncio
import gc
import threading
from typing import Any

import numpy as np
import pytest

from guided.engine.specs import Choice
from guided.errors import SchemaError
from guided.events import Event
from guided.generate.api import generator, tools
from guided.generate.function_model import FunctionModel
from guided.generate.schemas import json
from guided.generate.texts import regex
from tests.calls.wanting import VOCABULARY, Wanting
from tests.generate.models import ASCII, ascii_model, greedy_text_model


async def listed(stream: Any) -> list[Event]:
    return [event async for event in stream]


@pytest.mark.parametrize("seed", range(4))
def test_events_and_results_are_those_of_a_stream(seed: int) -> None:
    made = regex(ascii_model(seed), "[ab]{3,9}c")
    options: dict[str, Any] = {"temperature": 1.0, "seed": seed, "max_tokens": 12}
    assert asyncio.run(listed(made.stream_async("a", **options))) == list(made.stream("a", **options))
    assert asyncio.run(made.generate_async("a", **options)) == made("a", **options)


def test_arguments_are_checked_before_the_first_event() -> None:
    with pytest.raises(ValueError, match="max_tokens"):
        regex(ascii_model(), "a").stream_async("a", max_tokens=0)


def test_errors_of_validators_are_raised() -> None:
    class Refused(str):
        __slots__ = ()

    made = json(greedy_text_model('"ab"'), str)
    assert asyncio.run(made.generate_async("x")).value == "ab"
    refuse = SchemaError("no", "", "type")

    class Picky:
        def __getattr__(self, name: str) -> Any:
            return getattr(made.spec, name)

        def read_part(self, path: Any, text: str, parsed: Any) -> Any:
            raise refuse

    made.spec = Picky()
    with pytest.raises(SchemaError, match="no"):
        asyncio.run(made.generate_async("x"))
    with pytest.raises(SchemaError, match="no"):
        made("x")


def test_the_event_loop_runs_while_the_model_computes() -> None:
    started, may_continue = threading.Event(), threading.Event()

    def logits(tokens: list[int]) -> np.ndarray:
        started.set()
        assert may_continue.wait(60)
        return np.zeros(ASCII.size)

    model = FunctionModel(logits, ASCII, lambda text: list(text.encode()))

    async def main() -> str:
        result = asyncio.ensure_future(generator(model, Choice(["a", "b"])).generate_async("x"))
        while not started.is_set():
            await asyncio.sleep(0)
        may_continue.set()
        return (await result).text

    assert asyncio.run(main()) in ("a", "b")


def test_tools_are_awaited_in_the_loop_and_texts_do_not_meet() -> None:
    loops: set[Any] = set()

    async def look(name: str) -> str:
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return name.upper()

    def cut(name: str) -> str:
        return name[:1]

    texts = ['A <T>look("ab")=AB and', 'B <T>cut("xyz")=x <T>look("c")=C']
    made = [tools(Wanting(text), [look, cut], format="tooldec-positional") for text in texts]

    async def main() -> list[str]:
        loops.add(asyncio.get_running_loop())
        return [result.text for result in await asyncio.gather(*(one.generate_async("?") for one in made))]

    assert asyncio.run(main()) == texts
    assert len(loops) == 1


def test_who_stops_early_gives_the_session_back() -> None:
    model = Wanting("It is a long text")
    made = tools(model, [test_arguments_are_checked_before_the_first_event], format="tooldec")

    async def breaks() -> None:
        stream = made.stream_async("?")
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(breaks())
    assert len(model._idle) == 1


def test_who_is_cancelled_while_the_model_computes_leaves_nothing_behind() -> None:
    started, may_continue = threading.Event(), threading.Event()

    def logits(tokens: list[int]) -> np.ndarray:
        if len(tokens) > 2:
            started.set()
            assert may_continue.wait(60)
        return np.zeros(VOCABULARY.size)

    model = FunctionModel(logits, VOCABULARY, lambda text: list(text.encode()))
    made = regex(model, "[ab]{8}")

    async def main() -> None:
        result = asyncio.ensure_future(made.generate_async("x"))
        while not started.is_set():
            await asyncio.sleep(0)
        result.cancel()
        with pytest.raises(asyncio.CancelledError):
            await result
        may_continue.set()

    asyncio.run(main())
    gc.collect()
    assert made("x", temperature=1.0, seed=1).text == made("x", temperature=1.0, seed=1).text
