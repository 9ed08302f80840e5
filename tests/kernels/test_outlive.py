"""The kernel that searches pairs of lexemes, against the same search with sets."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.arrays import DEAD
from guided.kernels.outlive import can_outlive
from tests.profiles import examples


def slow_can_outlive(
    rows: list[list[int]], columns: list[int], has_match: list[bool], has_end: list[bool], state: int, watcher: int
) -> bool:
    """By the definition, over all pairs that can be reached."""
    pairs, todo = {(state, watcher)}, [(state, watcher)]
    for own, other in todo:  # grows on the way
        if has_match[own] or (has_end[own] and not has_end[other]):
            return True
        for column in columns:
            after, watched = rows[own][column], rows[other][column]
            if after == DEAD or (watched != DEAD and has_match[watched]):
                continue
            if watched == DEAD:
                return True
            if (after, watched) not in pairs:
                pairs.add((after, watched))
                todo.append((after, watched))
    return False


@settings(max_examples=examples(300), deadline=None)
@given(st.randoms(use_true_random=False))
def test_pairs_of_lexemes_against_the_definition(chance) -> None:
    n, n_columns = chance.randrange(1, 7), chance.randrange(1, 5)
    rows = [[chance.randrange(n) if chance.random() < 0.8 else DEAD for _ in range(n_columns)] for _ in range(n)]
    columns = [column for column in range(n_columns) if chance.random() < 0.9]
    has_match = [chance.random() < 0.15 for _ in range(n)]
    has_end = [chance.random() < 0.15 for _ in range(n)]
    seen, work = np.zeros((n * n >> 3) + 1, np.uint8), np.empty((n * n, 2), np.int32)
    for state in range(n):
        for watcher in range(n):
            said = can_outlive(
                np.array(rows, np.int32), np.array(columns, np.int32), np.array(has_match), np.array(has_end), state, watcher, seen, work
            )  # fmt: skip
            assert said == slow_can_outlive(rows, columns, has_match, has_end, state, watcher)
            assert not seen.any()


def test_too_many_pairs_are_reported() -> None:
    rows = np.array([[1, DEAD], [0, 1]], np.int32)
    never = np.zeros(2, np.bool_)
    seen, work = np.zeros(1, np.uint8), np.empty((1, 2), np.int32)
    assert can_outlive(rows, np.array([0], np.int32), never, never, 0, 0, seen, work) == -1
    assert not seen.any()
