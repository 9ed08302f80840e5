"""Whatever a tool gives or raises is shown to the model, or raised, as `errors` says."""

import asyncio
import dataclasses
import enum
import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.reads import Call
from guided.calls.rendering import render_result
from guided.calls.running import run, run_async
from guided.calls.tool import Tool
from guided.errors import CallError
from guided.events import Result, ToolResult
from guided.generate.api import tools
from guided.generate.generator import Generator
from tests.calls.wanting import Wanting


class Unwritable:
    def __str__(self) -> str:
        raise LookupError("no text")

    __repr__ = __str__


class UnwritableError(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise LookupError("no text")

    def encode(self, *_: Any) -> bytes:
        raise LookupError("no bytes")


class Dumped:
    def model_dump(self, **_: Any) -> Any:
        raise KeyError("no dump")

    def __str__(self) -> str:
        return "dumped"


class Notes(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise RuntimeError("no items")

    def __repr__(self) -> str:
        return "notes"


@dataclasses.dataclass
class Record:
    x: Any


class Level(enum.Enum):
    HIGH = 10**5000


def recursive() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


LONG = 10**5000 + 7

RESULTS: list[tuple[Any, str | None]] = [
    ("a\ud800b", "a\ufffdb"),
    ("\ud83d\ude00", "\U0001f600"),
    ({"k\udfff": ["\ud800"]}, '{"k\ufffd": ["\ufffd"]}'),
    (LONG, "<int that cannot be written: ValueError>"),
    ([LONG, {"a": 1}], "<list that cannot be written: ValueError>"),
    (Record(LONG), "<Record that cannot be written: ValueError>"),
    (2**63, str(2**63)),
    (Unwritable(), "<Unwritable that cannot be written: LookupError>"),
    ([Unwritable()], "<list that cannot be written: LookupError>"),
    ({LONG: 1}, "<dict that cannot be written: ValueError>"),
    (Text("plain"), "plain"),
    (Dumped(), "dumped"),
    (Notes(a=1), "notes"),
    (recursive(), "[[...]]"),
    (nested(100_000), "<list that cannot be written: RecursionError>"),
    (math.nan, "NaN"),
    ("x" * 200_000, "x" * 200_000),
]


@pytest.mark.parametrize(("value", "text"), RESULTS, ids=range(len(RESULTS)))
def test_any_result_has_a_text(value: Any, text: str) -> None:
    assert render_result(Call("f", {}, (0, 1), result=value)) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnwritableError(), "error: UnwritableError: <UnwritableError that cannot be written: ZeroDivisionError>"),
        (ValueError("\ud800"), "error: ValueError: \ufffd"),
        (ValueError(LONG), "error: ValueError: <ValueError that cannot be written: ValueError>"),
        (ValueError(), "error: ValueError: "),
        (
            ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])]),
            "error: ExceptionGroup: several (2 sub-exceptions) [ValueError: a; "
            "ExceptionGroup: inner (1 sub-exception) [KeyError: 'b']]",
        ),
        (
            ExceptionGroup("", [UnwritableError()] * 12),
            "error: ExceptionGroup:  (12 sub-exceptions) ["
            + "UnwritableError: <UnwritableError that cannot be written: ZeroDivisionError>; " * 10
            + "...]",
        ),
        (StopIteration(3), "error: StopIteration: 3"),
    ],
    ids=range(7),
)
def test_any_error_has_a_text(error: Exception, text: str) -> None:
    assert render_result(Call("f", {}, (0, 1), error=error)) == text


def test_an_interrupt_while_a_result_is_written_is_not_swallowed() -> None:
    class Interrupting:
        def __str__(self) -> str:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render_result(Call("f", {}, (0, 1), result=Interrupting()))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.integers(10**4299, 10**4300 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
    | st.text(st.sampled_from("a\ud800\udc00\udfff")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


def oracle(value: Any) -> Any:
    """The value with surrogates as they are read: pairs joined, others replaced."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [oracle(item) for item in value]
    if isinstance(value, dict):
        return {oracle(key): oracle(item) for key, item in value.items()}
    return value


@given(value=VALUES)
def test_json_values_are_written_as_json_reads_them(value: Any) -> None:
    text = render_result(Call("f", {}, (0, 1), result=value))
    text.encode()
    if isinstance(value, str):
        assert text == oracle(value)
        return
    assert json.loads(text) == oracle(value)


def generator(function: Any, text: str = "<T>f()=", **options: Any) -> Generator:
    return tools(Wanting(text), [Tool(function, name="f")], format="tooldec-positional", **options)


def one(made: Generator) -> Result[Any]:
    found = made("?", max_tokens=40)
    assert isinstance(found, Result)
    return found


def from_stream(made: Generator) -> Any:
    return list(made.stream("?", max_tokens=40))


def from_batch(made: Generator) -> Any:
    results = made.batch(["?", "?"], max_tokens=40)
    # The error of one text stays with its result.
    for result in results:
        if result.error is not None:
            raise result.error
    return results


def from_async(made: Generator) -> Any:
    return asyncio.run(made.generate_async("?", max_tokens=40))


def from_async_stream(made: Generator) -> Any:
    async def events() -> list[Any]:
        return [event async for event in made.stream_async("?", max_tokens=40)]

    return asyncio.run(events())


WAYS = pytest.mark.parametrize("way", [one, from_stream, from_batch, from_async, from_async_stream])


@WAYS
@pytest.mark.parametrize("number", range(11))
def test_generation_continues_after_any_result(way: Any, number: int) -> None:
    value, _ = RESULTS[number]
    way(generator(lambda: value))


@WAYS
@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration, LookupError, RecursionError])
@pytest.mark.parametrize("is_async", [False, True])
def test_exceptions_of_tools_are_raised_unchanged_or_wrapped(way: Any, kind: Any, is_async: bool) -> None:
    error = kind("end")

    def tool() -> int:
        raise error

    async def later() -> int:
        raise error

    made = generator(later if is_async else tool, errors="raise")
    with pytest.raises(CallError if kind in (StopIteration, StopAsyncIteration) else kind) as caught:
        way(made)
    if isinstance(caught.value, CallError):
        assert (caught.value.kind, caught.value.__cause__) == ("tool", error)
    else:
        assert caught.value is error


@WAYS
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass_through_generation(way: Any, kind: type[BaseException]) -> None:
    def tool() -> int:
        raise kind

    with pytest.raises(kind):
        way(generator(tool))


CALL = Call("f", {}, (0, 1))
RUNS = pytest.mark.parametrize(
    "way", [run, lambda *given, **options: asyncio.run(run_async(*given, **options))], ids=["run", "run_async"]
)


@RUNS
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError])
def test_errors_that_end_coroutines_are_kept_as_those_of_the_tool(
    way: Any, is_async: bool, timeout: float | None, kind: type[BaseException]
) -> None:
    error = kind("end")

    def tool() -> int:
        raise error

    async def later() -> int:
        raise error

    found = way(CALL, Tool(later if is_async else tool, name="f"), timeout).error
    if isinstance(error, Exception):
        assert found is error
    else:
        assert type(found) is RuntimeError


@pytest.mark.parametrize("timeout", [math.inf, 1e300, 10**400, threading.TIMEOUT_MAX, 2 * threading.TIMEOUT_MAX])
def test_a_timeout_that_is_not_reached_has_no_effect(timeout: float) -> None:
    assert one(generator(lambda: 3, "<T>f()=3 ok", timeout=timeout)).text == "<T>f()=3 ok"
    for way in (run, lambda *given: asyncio.run(run_async(*given))):
        assert way(CALL, Tool(lambda: 3, name="f"), timeout).result == 3


@pytest.mark.parametrize("timeout", [math.nan, 0, -1, -math.inf, True, "5", 1j])
def test_other_timeouts_are_refused_at_once(timeout: Any) -> None:
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
        generator(lambda: 3, timeout=timeout)
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
        run(CALL, Tool(lambda: 3, name="f"), timeout)


def test_results_are_read_by_the_model_as_they_are_shown() -> None:
    made = generator(lambda: "a\ud800", "<T>f()=a\ufffd ok")
    events = list(made.stream("?"))
    assert [event.text for event in events if isinstance(event, ToolResult)] == ["a\ufffd"]
    assert one(made).text == "<T>f()=a\ufffd ok"
