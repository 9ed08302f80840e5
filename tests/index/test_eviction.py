"""What an index drops to bound its memory is found again: with any bound its guides say the same."""

import gc
import json
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import StackSpec
from guided.errors import LimitError, StateEvicted
from guided.guide.guide import Guide
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.profiles import examples

SCHEMAS: dict[str, Any] = {
    "strings that differ": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "integers that differ": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    "counted names": {"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 3},
    "any value": True,
    "contains": {"type": "array", "contains": {"type": "integer"}, "minContains": 3, "maxContains": 5},
}
SPECS: dict[str, Callable[[], Any]] = {
    **{name: partial(JsonSchema, schema) for name, schema in SCHEMAS.items()},
    "grammar": lambda: Grammar('start: "(" start* ")" | NAME\nNAME: /[a-z]+/\n%ignore " "'),
    "tools": lambda: guided.Tools([{"name": "f", "parameters": {**SCHEMAS["counted names"], "properties": {"a": {}}}}]),
}
TOKENS = [bytes([value]) for value in range(256)]
TOKENS += [first.encode() + second.encode() for first in 'ab1"{[, ' for second in 'ab1"}]:, (']
VOCABULARY = Vocabulary([*TOKENS, None], eos=[len(TOKENS)], size=len(TOKENS) + 3)


def compiled(name: str, growth_bytes: int) -> Index:
    spec: StackSpec = SPECS[name]()
    return compile_spec(spec, VOCABULARY, Limits(growth_bytes=growth_bytes))


def choose(guide: Guide, draw: random.Random) -> int | None:
    tokens = np.flatnonzero(np.unpackbits(guide.mask().view(np.uint8), bitorder="little"))
    return int(draw.choice(tokens.tolist())) if len(tokens) else None


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 1 << 32), growth=st.sampled_from([100_000, 300_000, 1_000_000]), interleaved=st.integers(1, 3)
)
def test_guides_of_a_small_index_equal_those_of_a_large_one(
    name: str, seed: int, growth: int, interleaved: int
) -> None:
    small, large = compiled(name, growth), compiled(name, 1 << 40)
    draw = random.Random(seed)
    pairs = [(small.guide(), large.guide()) for _ in range(interleaved)]
    for _ in range(12 * interleaved):
        number = draw.randrange(interleaved)
        one, other = pairs[number]
        token = choose(other, draw)
        assert np.array_equal(one.mask(), other.mask())
        assert (one.is_accepting, one.is_finished, one.forced()) == (
            other.is_accepting,
            other.is_finished,
            other.forced(),
        )
        action = draw.randrange(8)
        if token is None or action == 0:
            n = draw.randint(0, len(one))
            one.rollback(n)
            other.rollback(n)
        elif action == 1:
            tokens = [token, *(draw.randrange(VOCABULARY.size) for _ in range(3))]
            assert one.validate(tokens) == other.validate(tokens)
            assert one.advance_many(tokens) == other.advance_many(tokens)
        elif action == 2:
            budget = other.remaining + draw.randint(0, 3)
            assert one.remaining == other.remaining
            assert np.array_equal(one.mask_within(budget), other.mask_within(budget))
            assert one.fits(token, budget) == other.fits(token, budget)
        elif action == 3:
            pairs[number] = (one.fork(), other.fork())
        elif action == 4:
            assert one.explain(token) == other.explain(token)
            rejected = draw.randrange(VOCABULARY.size)
            assert one.explain(rejected).allowed == other.explain(rejected).allowed
        else:
            one.advance(token)
            other.advance(token)


def test_an_evicted_state_number_is_refused_by_name() -> None:
    index = compiled("strings that differ", 100_000)
    first = index.next(index.initial, ord("["))
    kept = index.guide()
    kept.advance(ord("["))
    guide = index.guide()
    for token in b'["' + b"a" * 200:
        guide.advance(token)
    for ask in (index.mask, index.remaining, index.is_accepting, index.forced, index.allowed):
        with pytest.raises(StateEvicted, match=r"state \d+ was discarded") as caught:
            ask(first)
        assert caught.value.state == first
    with pytest.raises(StateEvicted):
        index.next(first, ord("]"))
    kept.advance(ord("]"))
    assert kept.is_accepting
    with pytest.raises(ValueError, match="states run from 0"):
        index.mask(1 << 40)


def test_numbers_are_not_used_twice() -> None:
    index, seen = compiled("integers that differ", 600_000), dict[int, bytes]()
    draw = random.Random(5)
    for _ in range(30):
        guide, text = index.guide(), b""
        for token in b"[" + b",".join(b"%d" % draw.randrange(1000) for _ in range(5)):
            if not guide.advance_many([token]):
                break
            text += bytes([token])
            assert seen.setdefault(guide.state, text) == text
            assert guide.mask() is not None


def test_memory_of_an_index_is_bounded_for_all_texts() -> None:
    growth = 4_000_000
    index = compiled("strings that differ", growth)
    assert isinstance(index.tables, PushdownIndex)
    draw = random.Random(1)
    start, most = index.tables.n_bytes, 0
    for _ in range(40):
        items = [b'"%s"' % bytes(draw.choices(b"abcdef", k=6)) for _ in range(20)]
        guide = index.guide()
        assert guide.advance_many(b"[" + b",".join(dict.fromkeys(items)) + b"]") > 100
        assert guide.is_accepting
        most = max(most, index.tables.n_bytes)
    # One call may go beyond.
    assert most - start < 1.2 * growth


def test_the_memory_of_one_call_is_bounded_too() -> None:
    schema = {"type": "string", "allOf": [{"pattern": "a.{7}b"}, {"pattern": "b.{7}a"}]}
    limits = Limits(growth_bytes=4 << 20)
    index = compile_spec(JsonSchema(schema), VOCABULARY, limits)
    least = index.n_bytes
    for _ in range(3):
        with pytest.raises(LimitError, match="single call") as caught:
            index.guide().advance(ord('"'))
        assert caught.value.what == "growth_bytes"
        assert index.n_bytes < least + 3 * limits.growth_bytes


@pytest.mark.parametrize("name", SPECS)
def test_an_automaton_that_an_index_drops_is_freed_at_once(name: str) -> None:
    """Python's collector runs late, and does not see what was frozen (`gc.freeze`)."""
    index = compiled(name, 1 << 40)
    assert isinstance(index.tables, PushdownIndex)
    guide, draw = index.guide(), random.Random(2)
    for _ in range(40):
        token = choose(guide, draw)
        if token is None or token >= 256:
            guide = index.guide()
            continue
        assert guide.mask_within(guide.remaining + 2).any()
        guide.advance(token)
    automaton, stacks = weakref.ref(index.tables.automaton), weakref.ref(index.tables.stacks)
    gc.collect()
    gc.disable()
    try:
        index.tables._begin_anew(guide.state)
        assert automaton() is None
        assert stacks() is None
    finally:
        gc.enable()
    assert guide.mask().any()


GROWTH = """
import json
from benchmarks.soak_history import soak
from guided.generate.warming import warm
from tests.schema.engine import BYTES

warm(lambda _: None)
found = soak("different objects", BYTES, 25_000, 600, True)
print(json.dumps([found["tokens"], found["MB"]]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of the process as Linux reports it")
def test_a_process_grows_by_less_than_100_mb() -> None:
    """Of twelve schemas whose next values depend on all earlier ones, this one needs most memory (`python -m benchmarks.soak_history`)."""
    program = [sys.executable, "-c", GROWTH]
    found = subprocess.run(program, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    tokens, megabytes = json.loads(found.stdout)
    assert tokens == 25_000
    assert megabytes < 100


def test_explored_states_stay_and_are_saved(tmp_path: Any) -> None:
    index, untouched = compiled("any value", 30_000), compiled("any value", 30_000)
    index.explore(40)
    untouched.explore(40)
    masks = [index.mask(state).tobytes() for state in range(40)]
    untouched.save(tmp_path / "untouched")
    guide = index.guide()
    for token in b'{"' + b"ab" * 300 + b'": [[[{"a": "' + b"x" * 300:
        guide.advance(token)
    assert [index.mask(state).tobytes() for state in range(40)] == masks
    index.save(tmp_path / "used")
    assert (tmp_path / "used").read_bytes() == (tmp_path / "untouched").read_bytes()
    loaded = guided.load_index(tmp_path / "used", VOCABULARY)
    assert [loaded.mask(state).tobytes() for state in range(40)] == masks


def test_an_index_explored_after_it_dropped_states_can_be_saved(tmp_path: Any) -> None:
    index = compiled("strings that differ", 100_000)
    guide = index.guide()
    for token in b'["' + b"ab" * 200:
        guide.advance(token)
    index.explore(30)
    index.save(tmp_path / "index")
    loaded = guided.load_index(tmp_path / "index", VOCABULARY)
    twin = loaded.guide()
    for token in b'["ab", ':
        twin.advance(token)
    assert loaded.accepts('["ab"]')
    assert guide.advance_many(b'"]') == 2


def test_other_end_tokens() -> None:
    size = len(TOKENS) + 3
    index = compiled("integers that differ", 1_000_000)
    guide = index.guide(end_tokens=[size - 1])
    other = compiled("integers that differ", 1 << 40).guide(end_tokens=[size - 1])
    for token in [*b"[" + b",".join(b"%d" % value for value in range(20)) + b"]", size - 1]:
        guide.advance(token)
        other.advance(token)
        assert np.array_equal(guide.mask(), other.mask())
    assert guide.is_finished
    guide.rollback(1)
    assert guide.is_accepting


@pytest.mark.slow
def test_threads_over_an_index_that_keeps_little() -> None:
    index, large = compiled("any value", 100_000), compiled("any value", 1 << 40)
    failures: list[BaseException] = []

    def run(seed: int) -> None:
        try:
            draw = random.Random(seed)
            for _ in range(6):
                one, other = index.guide(), large.guide()
                for _ in range(40):
                    token = choose(other, draw)
                    assert np.array_equal(one.mask(), other.mask())
                    if token is None:
                        break
                    one.advance(token)
                    other.advance(token)
                    assert one.is_accepting == other.is_accepting
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[seed]) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_text_too_large_for_the_index_fails_alone() -> None:
    index = compile_spec(JsonSchema(SCHEMAS["any value"]), VOCABULARY, Limits(growth_bytes=1 << 40, states=400))
    large, small = index.guide(), index.guide()
    text = b"[" * 1000
    with pytest.raises(LimitError):
        large.advance_many(text)
    before = len(large)
    assert 100 < before < 1000
    assert large.mask().any()
    assert len(large) == before
    assert small.advance_many(b"[") == 1


# Grammars of which one text reaches all states of the terminals, and such texts.
LONG: dict[str, Callable[[int], tuple[str, str]]] = {
    "a counted letter": lambda n: (f"start: A\nA: /a{{1,{n}}}/", "a" * n),
    "two counts": lambda n: (f"start: A B\nA: /a{{1,{n}}}/\nB: /b{{1,{n}}}/", "a" * n + "b" * n),
    "lengths that overlap": lambda n: (f"start: (A | B)*\nA: /[a-z]{{1,{n}}}/\nB: /b[a-z]{{1,{n // 3}}}c/", "b" * n),
    "an exact count": lambda n: (f"start: A*\nA: /[a-z]{{{n}}}/", "a" * 3 * n),
    "keywords in a row": lambda n: (
        "start: " + " ".join(f'"k{i}"' for i in range(n // 10)),
        "".join(f"k{i}" for i in range(n // 10)),
    ),
}


@pytest.mark.parametrize("size", [100, 300, 1_000])
@pytest.mark.parametrize("kind", LONG)
def test_grammars_whose_terminals_one_text_cannot_afford_are_refused(kind: str, size: int) -> None:
    """What compiles is read: the growth of a text that nests little is known at compile."""
    text, way = LONG[kind](size)
    is_read, refused = [], set[str]()
    for growth in (100_000, 500_000, 4_000_000):
        try:
            index = compile_spec(Grammar(text), VOCABULARY, Limits(growth_bytes=growth))
        except LimitError as error:
            is_read.append(False)
            refused.add(error.what)
            continue
        guide = index.guide()
        for begin in range(0, len(way), 8):
            guide.advance_many(way[begin : begin + 8].encode())
            guide.mask()
        is_read.append(True)
    assert is_read == sorted(is_read)
    assert is_read[-1]
    assert refused <= {"growth_bytes"}
