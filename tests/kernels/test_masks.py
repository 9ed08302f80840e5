"""Masks as arrays: equality and hashes, compared with numpy on random words."""

import numpy as np
import pytest

from guided.kernels.masks import are_equal, content_hash


def words(width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(2**31), 2**31, width).astype(np.int32)


@pytest.mark.parametrize("width", [0, 1, 2, 3, 8, 33, 100])
def test_equal_masks_have_equal_hashes_and_others_differ_in_any_bit(width: int) -> None:
    mask = words(width, 1)
    same = mask.copy()
    same.setflags(write=False)
    assert are_equal(mask, same)
    assert content_hash(mask) == content_hash(same) >= 0
    for at in range(width):
        for bit in (0, 15, 31):
            other = mask.copy()
            other[at] ^= np.int32(np.uint32(1 << bit))
            assert not are_equal(mask, other)
            assert content_hash(mask) != content_hash(other)


def test_masks_of_single_tokens_have_distinct_hashes() -> None:
    hashes = set()
    for token in range(32 * 40):
        mask = np.zeros(40, np.int32)
        mask[token >> 5] = np.int32(np.uint32(1 << (token & 31)))
        hashes.add(content_hash(mask))
    assert len(hashes) == 32 * 40
