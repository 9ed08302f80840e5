"""One index for many threads, and specs, vocabularies and indices in other processes: forked, spawned, pickled."""

import copy
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guided.calls.files import load_index
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.specs import Choice, Regex, Spec
from guided.index.regular import RegularIndex
from guided.vocabulary.vocabulary import Vocabulary
from tests.together import N_THREADS, in_new_process, processes, threads


def add(a: int, b: int = 0) -> int:
    """Add numbers."""
    return a + b


def vocabulary() -> Vocabulary:
    pairs = [bytes([first, second]) for first in range(97, 123) for second in range(97, 123)]
    tokens = [*(bytes([value]) for value in range(256)), *pairs]
    return Vocabulary(tokens, eos=[len(tokens)], size=len(tokens) + 7, special={"<s>": len(tokens) + 1})


SPECS: dict[str, Callable[[], Spec]] = {
    "regex": lambda: Regex(r"(?:[a-z]{1,5}|é\d?)(?:, \w{2,9})*"),
    "choice": lambda: Choice(["north", "south", "east", "west", "é"]),
    "tools": lambda: Tools([add], tool_choice="required"),
    "definitions": lambda: Tools(
        [{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}]
    ),
}


def walk(index: Index, seed: int, steps: int = 60) -> list[tuple[bytes, int]]:
    """Masks and budgets along a random walk; with a stack, states are numbered as texts reach them."""
    draw, guide = random.Random(seed), index.guide()
    found = []
    for _ in range(steps):
        mask = guide.mask()
        found.append((mask.tobytes(), guide.remaining))
        allowed = index.allowed(guide.state).tolist()
        if not allowed:
            break
        guide.advance(draw.choice(allowed))
    return found


def compiled_walk(spec: Spec, tokens: Vocabulary, seed: int) -> list[tuple[bytes, int]]:
    return walk(compile_spec(spec, tokens), seed)


def loaded_walk(path: Path, tokens: Vocabulary, seed: int) -> list[tuple[bytes, int]]:
    return walk(load_index(path, tokens, mmap=True), seed)


@pytest.mark.parametrize("name", SPECS)
def test_sixty_four_threads_find_the_results_of_one(name: str) -> None:
    spec, tokens = SPECS[name](), vocabulary()
    expected = [walk(compile_spec(spec, tokens), seed) for seed in range(8)]
    index = compile_spec(spec, tokens)
    found = threads(lambda number: walk(index, number % 8))
    assert found == [expected[number % 8] for number in range(N_THREADS)]


@pytest.mark.slow
def test_sixty_four_threads_compile_the_same() -> None:
    """Caches of parts are filled by all at once."""
    tokens = vocabulary()

    def run(number: int) -> str:
        spec = Tools([add, {"name": "g", "parameters": {"type": "object", "properties": {"s": {"type": "string"}}}}])
        index = compile_spec([Regex(r"(?i)[a-k]+\w{3}"), spec][number % 2], tokens)
        # An index with a stack is what its texts make of it.
        return index.tables.automaton.fingerprint if isinstance(index.tables, RegularIndex) else str(walk(index, 1))

    found = threads(run)
    assert len(set(found[::2])) == len(set(found[1::2])) == 1


def walks_by_processes(method: str, folder: Path) -> dict[str, list[Any]]:
    """For each spec the walk of this process, and those of others that get the spec, the index, and its file."""
    tokens, found = vocabulary(), {}
    with processes(method) as pool:
        for name, make in SPECS.items():
            index = compile_spec(make(), tokens)
            expected = walk(index, 5)
            index.save(path := folder / name)
            jobs = [
                pool.submit(compiled_walk, make(), tokens, 5),
                pool.submit(walk, index, 5),
                pool.submit(loaded_walk, path, tokens, 5),
            ]
            found[name] = [expected, *(job.result(timeout=120) for job in jobs)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_find_the_same(method: str, tmp_path: Path) -> None:
    """Specs and vocabularies go to the other process, indices too, pickled or as files that are mapped."""
    for expected, *others in in_new_process(walks_by_processes, method, tmp_path).values():
        assert others == [expected] * 3


@pytest.mark.parametrize("name", SPECS)
def test_an_index_survives_pickling_at_any_time(name: str) -> None:
    index = compile_spec(SPECS[name](), vocabulary())
    before = pickle.loads(pickle.dumps(index))
    expected = walk(index, 3)
    after = pickle.loads(pickle.dumps(index))
    for copied in (before, after, copy.copy(index), copy.deepcopy(index)):
        assert walk(copied, 3) == expected
        assert copied.vocabulary == index.vocabulary
        assert copied.spec_fingerprint == index.spec_fingerprint
        if isinstance(index.tables, RegularIndex):
            arrays = copied.tables.arrays()
            assert all(np.array_equal(arrays[key], array) for key, array in index.tables.arrays().items())
            assert not any(array.flags.writeable for array in arrays.values())
    # Why 1,500: how an index with a stack came to its states is sent.
    more = len(pickle.dumps(index)) - len(pickle.dumps(before))
    assert abs(more) < (100 if isinstance(index.tables, RegularIndex) else 1500), "masks are not sent"


def test_a_guide_survives_pickling() -> None:
    guide = compile_spec(Regex("ab*c"), vocabulary()).guide()
    guide.advance(97)
    copied = pickle.loads(pickle.dumps(guide))
    assert copied.state == guide.state
    copied.advance(99)
    assert copied.state != guide.state
    copied.rollback(2)
    assert copied.state == 0


def walks_around_a_fork() -> tuple[Any, Any, Any]:
    """The first half of a walk, the walk of a child forked then, and the walk of this process."""
    index = compile_spec(SPECS["regex"](), vocabulary())
    half = walk(index, 11, steps=20)
    with processes("fork") as pool:
        child = pool.submit(walk, index, 11).result(timeout=120)
    return half, child, walk(index, 11)


@pytest.mark.slow
def test_a_fork_in_the_middle_of_a_walk_continues() -> None:
    """Masks made before a fork are there after it; masks made after it are the child's own."""
    half, child, whole = in_new_process(walks_around_a_fork)
    assert child[: len(half)] == half
    assert whole == child
