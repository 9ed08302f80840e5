"""Steps of an index with a stack against brute force: what may follow, what is forced, how far a text goes, why a token is refused.

And the same by many threads and processes at once.
"""

import random
from typing import Any

import pytest

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError
from guided.limits import Limits
from guided.schema.pushdown import machine
from guided.vocabulary.vocabulary import Vocabulary
from tests.index.test_pushdown_budget import SCHEMAS, reached
from tests.index.test_pushdown_files import TOKENS
from tests.masks import bits
from tests.schema.engine import compiled
from tests.together import N_THREADS, in_new_process, processes, threads


def places(index: Index, count: int, seed: int) -> list[tuple[int, bytes]]:
    """States on random walks, and the texts that lead to them."""
    draw, found = random.Random(seed), []
    state, text = index.initial, b""
    while len(found) < count:
        found.append((state, text))
        tokens = [token for token in index.allowed(state).tolist() if token not in index.vocabulary.eos]
        if not tokens or len(text) > 40:
            state, text = index.initial, b""
            continue
        token = draw.choice(tokens)
        state, text = index.next(state, token), text + (index.vocabulary[token] or b"")
    return found


def reads(index: Index, text: bytes) -> bool:
    """Can a text be read, byte by byte?"""
    return reached(index, text) >= 0


@pytest.mark.parametrize("name", SCHEMAS)
def test_following_bytes_can_be_read(name: str) -> None:
    index = compiled(SCHEMAS[name], TOKENS, property_order="any")
    plain = compiled(SCHEMAS[name], property_order="any")
    for state, text in places(index, 30, 1):
        expected = [byte for byte in range(256) if reads(plain, text + bytes([byte]))]
        assert index.tables.onward(state) == expected


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("whitespace", ["compact", "flexible", "pretty(2)"])
def test_forced_bytes_are_the_only_ones(name: str, whitespace: str) -> None:
    index = compiled(SCHEMAS[name], TOKENS, property_order="any", whitespace=whitespace)
    plain = compiled(SCHEMAS[name], property_order="any", whitespace=whitespace)
    lengths = set()
    for state, text in places(index, 40, 2):
        expected = b""
        while not plain.is_accepting(here := reached(plain, text + expected)):
            allowed = plain.allowed(here).tolist()
            if len(allowed) != 1:
                break
            expected += bytes(allowed)
        assert index.forced(state) == expected
        lengths.add(len(expected))
    assert 0 in lengths


def test_forced_bytes_of_a_whole_text() -> None:
    index = compiled({"const": {"a": [True, "x"], "b": None}}, whitespace="compact")
    assert index.guide().forced() == b'{"a":[true,"x"],"b":null}'


@pytest.mark.parametrize("name", SCHEMAS)
def test_traces_go_as_far_as_texts_do(name: str) -> None:
    index = compiled(SCHEMAS[name], TOKENS, property_order="any")
    draw = random.Random(name)
    for state, text in places(index, 20, 3):
        data = bytes(draw.choice(b'{}[]",:0a x') for _ in range(6))
        after, count = index.tables.trace(state, data)
        assert reads(index, text + data[:count])
        assert count == len(data) or not reads(index, text + data[: count + 1])
        assert after == reached(index, text + data[:count])


@pytest.mark.parametrize("name", SCHEMAS)
def test_explanations_are_the_masks(name: str) -> None:
    index = compiled(SCHEMAS[name], TOKENS, property_order="any")
    for state, _ in places(index, 6, 4):
        allowed = set(index.allowed(state).tolist())
        for token in range(0, len(TOKENS), 3):
            explanation = index.explain(state, token)
            assert explanation.allowed == (token in allowed)
            data = TOKENS[token]
            if data is not None and token not in allowed:
                assert explanation.accepted_bytes < len(data)
                assert explanation.expected


def walk(index: Index, seed: int, steps: int = 40) -> list[tuple[bytes, int, bytes]]:
    """Masks, bounds and forced bytes along a random walk; the numbers of states hang on who came first."""
    draw, guide = random.Random(seed), index.guide()
    found = []
    for _ in range(steps):
        within = guide.mask_within(guide.remaining + 2)
        found.append((guide.mask().tobytes() + within.tobytes(), guide.remaining, guide.forced()))
        allowed = bits(guide.mask())
        if not allowed:
            break
        guide.advance(draw.choice(allowed))
    return found


def compiled_walk(schema: Any, tokens: Vocabulary, seed: int) -> list[tuple[bytes, int, bytes]]:
    return walk(compile_spec(JsonSchema(schema), tokens), seed)


@pytest.mark.parametrize("name", ["anything", "recursive", "conditional", "different", "pattern"])
def test_sixty_four_threads_find_the_results_of_one(name: str) -> None:
    expected = [compiled_walk(SCHEMAS[name], TOKENS, seed) for seed in range(8)]
    index = compile_spec(JsonSchema(SCHEMAS[name]), TOKENS)
    found = threads(lambda number: walk(index, number % 8))
    assert found == [expected[number % 8] for number in range(N_THREADS)]


def walks_by_processes(method: str) -> dict[str, list[Any]]:
    """For each schema the walk of this process, and those of two others."""
    found = {}
    with processes(method) as pool:
        for name in ("conditional", "different"):
            index = compile_spec(JsonSchema(SCHEMAS[name]), TOKENS)
            expected = walk(index, 5)
            jobs = [pool.submit(compiled_walk, SCHEMAS[name], TOKENS, 5), pool.submit(walk, index, 5)]
            found[name] = [expected, *(job.result(timeout=120) for job in jobs)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_find_the_same(method: str) -> None:
    for expected, *others in in_new_process(walks_by_processes, method).values():
        assert others == [expected] * 2


def test_a_call_that_exceeds_its_steps_may_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has computed is kept, so that it may end after some attempts, then with the masks of a call that has enough steps."""
    # Else the schema is refused.
    monkeypatch.setattr(machine, "check_objects", lambda _: None)
    names = [f"k{i}" for i in range(60)]
    schema = {"dependentRequired": {name: [after] for name, after in zip(names, names[1:] + names[:1], strict=True)}}
    text, refused = b'{"k0": 1, "k1": [], "k2": ""', 0
    guides = [
        compile_spec(JsonSchema({"type": "object", **schema}), TOKENS, Limits(call_steps=steps)).guide()
        for steps in (20_000, 250_000)
    ]
    for at in range(len(text)):
        found = []
        for guide in guides:
            while True:
                try:
                    found.append(guide.mask().tobytes())
                    assert guide.advance_many(text[at : at + 1]) == 1
                    break
                except LimitError:
                    assert len(guide) == at
                    refused += 1
                    assert refused < 500
        assert found[-1] == found[0]
    assert refused
