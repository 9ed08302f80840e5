"""Processes forked while threads use indices: every index works in the child, whatever the threads were doing."""

import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex, Spec
from guided.locks import Rank, new_lock
from guided.vocabulary.vocabulary import Vocabulary

SECONDS = 20.0
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "tags": {"type": "array", "items": {"type": "integer"}}},
    "additionalProperties": {"type": "array", "uniqueItems": True, "maxItems": 4},
}
SPECS: dict[str, Callable[[], Spec]] = {
    "regex": lambda: Regex(r"[a-z]{1,5}(?:, \w{2,9})*"),
    "JSON": lambda: JsonSchema(SCHEMA),
    "grammar": lambda: Grammar('start: "(" start* ")" | NAME\nNAME: /[a-z]+/\n%ignore " "'),
    "tools": lambda: Tools([{"name": "f", "parameters": {**SCHEMA, "required": ["name"]}}]),
}


def compiled() -> list[Index]:
    tokens = [bytes([value]) for value in range(256)]
    tokens += [first.encode() + second.encode() for first in 'ab"{[, ' for second in 'ab"}]:, ']
    vocabulary = Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 1)
    return [compile_spec(spec(), vocabulary) for spec in SPECS.values()]


def walk(index: Index, seed: int, steps: int = 20) -> list[bytes]:
    """The masks along a random walk."""
    draw, guide, masks = random.Random(seed), index.guide(), list[bytes]()
    for _ in range(steps):
        masks.append(guide.mask().tobytes())
        allowed = index.allowed(guide.state).tolist()
        if not allowed:
            break
        guide.advance(draw.choice(allowed))
        assert guide.is_finished or guide.remaining >= 0
    return masks


@contextmanager
def busy(work: Callable[[int], object], n_threads: int = 4) -> Iterator[None]:
    """Threads that do work of ever other seeds."""
    is_over = threading.Event()

    def run(number: int) -> None:
        seed = 1000 * number
        while not is_over.is_set():
            work(seed)
            seed += 1

    threads = [threading.Thread(target=run, args=[number]) for number in range(1, n_threads + 1)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def status_of_child(run: Callable[[], bool]) -> int:
    """Fork; the exit status of a child that runs this: 0 if it is true, negative if it had to be killed."""
    with warnings.catch_warnings():
        # Python 3.12 warns of forks of processes with threads, which is the point here.
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if run() else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
@pytest.mark.no_cover  # coverage's own lock is not safe across forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_can_use_indices_that_threads_were_using() -> None:
    expected = [[walk(index, seed) for seed in range(5)] for index in compiled()]
    indices = compiled()

    def work(seed: int) -> None:
        for index in indices:
            walk(index, seed)

    def in_child() -> bool:
        return [[walk(index, seed) for seed in range(5)] for index in indices] == expected

    with busy(work):
        statuses = [status_of_child(in_child) for _ in range(20)]
    assert statuses == [0] * 20


@pytest.mark.slow
@pytest.mark.no_cover  # coverage's own lock is not safe across forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_several_threads_fork_while_locks_are_taken_and_freed() -> None:
    statuses: list[int] = []
    lock = new_lock(Rank.INDEX)

    def in_child() -> bool:
        with lock, new_lock(Rank.VOCABULARY):
            return True

    def work(seed: int) -> None:
        index, vocabulary = new_lock(Rank.INDEX), new_lock(Rank.VOCABULARY)
        with lock, vocabulary:
            pass
        with index:
            pass
        if seed % 100 == 0:
            statuses.append(status_of_child(in_child))

    with busy(work):
        statuses += [status_of_child(in_child) for _ in range(20)]
    assert len(statuses) >= 24
    assert set(statuses) == {0}
