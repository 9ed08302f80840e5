"""The kernels that tell frames that differ from a common one only in how they end, against sets of pairs and plain reading."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.arrays import DEAD, UNKNOWN
from guided.automata.pushdown import ACTION, GUARD, WIDTH, action_entry
from guided.kernels.likeness import arrive, is_like
from tests.profiles import examples

BYTES = (0x22, 0x41, 0x42, 0xC3)


def slow_is_like(
    rows: np.ndarray, direct: set[int], is_open: list[bool], control: int, common: int, most: int = 1 << 30
) -> bool:
    """By the definition: all pairs that are reached go on alike, and no control has two twins."""
    pairs, todo = {(control, common)}, [(control, common)]
    for here, there in todo:  # grows on the way
        for byte in (0, *BYTES):
            entry, other = int(rows[here, byte]), int(rows[there, byte])
            if UNKNOWN in (entry, other):
                return False
            if entry >= 0 or other >= 0:
                if entry < 0 or other < 0 or not is_open[entry]:
                    return False
                if (entry, other) not in pairs:
                    pairs.add((entry, other))
                    todo.append((entry, other))
            elif entry != DEAD and (other == DEAD or ACTION - entry in direct):
                return False
    met = {pair[0] for pair in pairs}
    return len(met) == len(pairs) <= most


@st.composite
def frames(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A common frame of two or three controls, and one that is made of it: states doubled, endings dropped, sometimes more changed."""
    chance = draw(st.randoms(use_true_random=False))
    n = chance.choice([2, 3])
    rows = np.full((3 * n, 256), DEAD, np.int32)
    for state in range(n):
        for byte in BYTES[1:]:
            if chance.random() < 0.8:
                rows[state, byte] = chance.randrange(n)
        if chance.random() < 0.7:
            rows[state, BYTES[0]] = action_entry(0)
    for state in range(n, 3 * n):
        rows[state] = rows[state % n]
        for byte in BYTES:
            if rows[state, byte] >= 0:
                rows[state, byte] += n * chance.choice([1, 2])
            elif rows[state, byte] != DEAD:
                rows[state, byte] = action_entry(1) if chance.random() < 0.5 else DEAD
    for _ in range(chance.choice([0, 0, 0, 1])):
        rows[chance.randrange(n, 3 * n), chance.choice(BYTES)] = chance.choice(
            [DEAD, UNKNOWN, action_entry(1), n, n + 1]
        )
    actions = np.array([[-1, 0, -1], [chance.choice([-1, -1, -1, 0]), 0, -1]], np.int32)
    info = np.full((3 * n, 8), -1, np.int32)
    info[n:, GUARD], info[n:, WIDTH] = np.arange(2 * n), 1
    guards = np.array([chance.choice([1, 1, 1, 3, 2]) for _ in range(2 * n)], np.uint64)
    return rows, info, actions, guards


@settings(max_examples=examples(150))
@given(frames(), st.sampled_from([-1, 0]), st.integers(1, 7))
def test_controls_are_equivalent_if_all_pairs_are(
    case: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], allow: int, most: int
) -> None:
    rows, info, actions, guards = case
    allows, n = np.array([1], np.uint64), len(rows) // 3
    is_open = [True] * n + [allow < 0 or bool(word & np.uint64(1)) for word in guards]
    direct = {i for i in range(2) if actions[i, 0] >= 0}
    twin, todo = np.full(len(rows), -1, np.int32), np.empty(most, np.int32)
    for control in range(n, 3 * n):
        for common in range(n):
            found = is_like(rows, info, actions, guards, allows, allow, control, common, twin, todo)
            assert found == slow_is_like(rows, direct, is_open, control, common, most)
            assert (twin == -1).all()


@given(st.lists(st.binary(min_size=1, max_size=5), max_size=8), st.randoms(use_true_random=False))
def test_texts_arrive_where_reading_leads(texts: list[bytes], chance: random.Random) -> None:
    letters = sorted({*b"".join(texts), 0})
    rows = np.full((2, 256), DEAD, np.int32)
    rows[:, letters] = [[chance.choice([0, 0, 1, 1, DEAD, action_entry(3)]) for _ in letters] for _ in range(2)]
    entries, indptr = np.empty(len(texts), np.int32), np.cumsum([0, *map(len, texts)]).astype(np.int32)
    arrive(rows, 0, np.frombuffer(b"".join(texts), np.uint8), indptr, entries)
    for text, entry in zip(texts, entries.tolist(), strict=True):
        here = 0
        for byte in text:
            here = int(rows[here, byte]) if here >= 0 else DEAD
        assert entry == here
