"""The queue of checks: order, patience, and requests that are aborted."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from guided.integrations.check_queue import CheckQueue


def blocked(order: list[str], name: str, gate: threading.Event) -> Callable[[], str]:
    """A check that notes its name, and ends once the gate is open."""

    def check() -> str:
        order.append(name)
        assert gate.wait(10)
        return name

    return check


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0.01)


def test_shorter_texts_come_first_and_equal_ones_in_order() -> None:
    order: list[str] = []
    gate = threading.Event()

    async def main() -> list[str]:
        queue = CheckQueue(n_threads=1)
        tasks = []
        for name, length in [("first", 9), ("long", 1000), ("short", 3), ("middle", 50), ("short too", 3)]:
            tasks.append(asyncio.create_task(queue.run(length, blocked(order, name, gate))))
            await turns(1)
        gate.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == ["first", "long", "short", "middle", "short too"]
    assert order == ["first", "short", "short too", "middle", "long"]


def test_threads_work_at_once() -> None:
    both = threading.Barrier(2)

    async def main() -> None:
        queue = CheckQueue(n_threads=2)
        await asyncio.gather(*(queue.run(1, lambda: both.wait(10)) for _ in range(2)))

    asyncio.run(main())


def test_a_check_that_does_not_begin_in_time_is_given_up() -> None:
    order: list[str] = []
    gate = threading.Event()

    async def main() -> None:
        queue = CheckQueue(n_threads=1, patience=0.1)
        running = asyncio.create_task(queue.run(1, blocked(order, "running", gate)))
        await turns(1)
        with pytest.raises(TimeoutError, match=r"not checked within 0\.1 s"):
            await queue.run(1, blocked(order, "late", gate))
        gate.set()
        assert await running == "running"
        # The thread is free again.
        assert await queue.run(1, lambda: "next") == "next"

    asyncio.run(main())
    assert order == ["running"]


@pytest.mark.parametrize("aborted", ["running", "waiting"])
def test_an_aborted_request_leaves_its_place(aborted: str) -> None:
    order: list[str] = []
    gate = threading.Event()

    async def main() -> None:
        queue = CheckQueue(n_threads=1)
        tasks = {name: asyncio.create_task(queue.run(1, blocked(order, name, gate))) for name in ("running", "waiting")}
        await turns()
        tasks[aborted].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks.pop(aborted)
        await turns()
        # The thread is busy until its check ends, whoever waits for it.
        assert order == ["running"]
        gate.set()
        assert await asyncio.gather(*tasks.values()) == list(tasks)
        assert await queue.run(1, lambda: "next") == "next"
        assert queue._free == 1
        assert queue._waiting == []

    asyncio.run(main())


def test_an_error_of_a_check_frees_its_thread() -> None:
    def fail() -> None:
        raise ValueError("no")

    async def main() -> str:
        queue = CheckQueue(n_threads=1)
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                await queue.run(1, fail)
        return await queue.run(1, lambda: "next")

    assert asyncio.run(main()) == "next"


def test_a_queue_serves_one_loop_after_another() -> None:
    queue = CheckQueue(n_threads=1)
    for number in range(3):
        assert asyncio.run(queue.run(1, lambda number=number: number)) == number  # type: ignore[misc]
