"""Masks as arrays of words: setting the bits of tokens, and finding equal masks.

A mask has the bit of token t at ``t & 31`` of word ``t >> 5``, least significant bit first.
"""

import numpy as np

from guided.arrays import Int32Array
from guided.kernels.jit import inlined, kernel

__all__ = [
    "add_tokens",
    "are_equal",
    "content_hash",
    "count_classes",
    "keep_below",
    "remove_tokens",
    "set_pairs",
    "take_classes",
]

# Keys of the hash: an odd number, plus multiples of 2^64 divided by the golden ratio. Of multiples alone one would be twice another, and
# masks of a single token would collide.
_SEED, _GOLDEN = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x9E3779B97F4A7C15)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_WORD, _BIT = np.uint32(5), np.uint32(31)


@inlined
def add_tokens(tokens: Int32Array, first: int, end: int, mask: Int32Array) -> None:
    """Set the bits of ``tokens[first:end]``.

    PERF: indices are unsigned: for signed ones numba checks whether they count from the end.
    """
    for k in range(np.uint64(first), np.uint64(end)):
        token = np.uint32(tokens[k])
        mask[token >> _WORD] |= np.int32(1) << np.int32(token & _BIT)


@inlined
def remove_tokens(tokens: Int32Array, first: int, end: int, mask: Int32Array) -> None:
    """Clear the bits of ``tokens[first:end]``."""
    for k in range(np.uint64(first), np.uint64(end)):
        token = np.uint32(tokens[k])
        mask[token >> _WORD] &= ~(np.int32(1) << np.int32(token & _BIT))


@kernel
def set_pairs(
    pairs: Int32Array,
    counts: Int32Array,
    least: int,
    most: int,
    fits: Int32Array,
    tokens: Int32Array,
    mask: Int32Array,
) -> None:
    """Set the bit of ``tokens[pair]`` for each of ``pairs`` in the mask ``fits`` whose count is from ``least`` to ``most``."""
    for k in range(len(pairs)):
        pair = pairs[k]
        if least <= counts[k] <= most and fits[pair >> 5] >> np.int32(pair & 31) & 1:
            token = tokens[pair]
            mask[token >> 5] |= np.int32(1) << np.int32(token & 31)


@kernel
def count_classes(mask: Int32Array, class_of: Int32Array, first: Int32Array, counts: Int32Array) -> None:
    """Write the first token of each class but 0 in a mask, and count them. O(words + tokens of the mask)."""
    for k in range(len(mask)):
        word = mask[k]
        for b in range(32 if word else 0):
            if word >> np.int32(b) & 1:
                number = class_of[32 * k + b]
                if 0 < number < len(counts):
                    if counts[number] == 0:
                        first[number] = 32 * k + b
                    counts[number] += 1


@kernel
def take_classes(words: Int32Array, class_of: Int32Array, tokens: Int32Array, classes: Int32Array) -> int:
    """List the tokens of a mask and their classes, and return how many there are. O(words + tokens of the mask)."""
    n = 0
    for k in range(len(words)):
        word = words[k]
        for b in range(32 if word else 0):
            if word >> np.int32(b) & 1:
                tokens[n], classes[n] = 32 * k + b, class_of[32 * k + b]
                n += 1
    return n


@kernel
def keep_below(
    mask: Int32Array,
    class_of: Int32Array,
    least: int,
    most: int,
    tokens: Int32Array,
    classes: Int32Array,
    bounds: Int32Array,
    limit: int,
    found: Int32Array,
) -> int:
    """Set the bits of a mask's tokens whose class has a bound below a limit, and return the largest bound of any of its tokens.

    The class of a token is that in ``classes`` if it is in ``tokens``, else that in ``class_of``, which may be empty. Tokens of class 0
    have no bound and are omitted. ``least`` and ``most``: the range of bounds of the classes in ``class_of``. If the limit is not within
    it, all tokens of ``class_of`` are kept or omitted at once, and the returned bound may be that of a class without tokens.

    O(words + length of ``tokens``), and the tokens of the mask if the limit is within the range.
    """
    peak = -1
    if len(class_of) and least < limit <= most:
        found[:] = 0
        add_tokens(tokens, 0, len(tokens), found)
        for k in range(len(mask)):
            word = mask[k] & ~found[k]
            kept = np.int32(0)
            for b in range(32 if word else 0):
                if word >> np.int32(b) & 1:
                    number = class_of[32 * k + b]
                    if 0 < number < len(bounds):
                        peak = max(peak, bounds[number])
                        if bounds[number] < limit:
                            kept |= np.int32(1) << np.int32(b)
            found[k] = kept
    elif len(class_of) and most < limit:
        # Why a loop: numba copies a whole array by way of an allocation.
        for k in range(len(mask)):
            found[k] = mask[k]
        peak = most
    else:
        found[:] = 0
        peak = most if len(class_of) else peak
    for i in range(len(tokens)):
        k, bit = tokens[i] >> 5, np.int32(1) << np.int32(tokens[i] & 31)
        found[k] &= ~bit
        if mask[k] & bit and classes[i] > 0:
            peak = max(peak, bounds[classes[i]])
            if bounds[classes[i]] < limit:
                found[k] |= bit
    return peak


@kernel
def content_hash(words: Int32Array) -> int:
    """Return a hash of a mask's words. O(words)."""
    # PERF: sums of products are computed by vector instructions (NH, Black et al. 1999), and a chain of multiplications is not
    # (`python -m benchmarks.maskbench`).
    half = len(words) // 2
    first, second = words[:half], words[half : 2 * half]
    total, key = np.uint64(0), _SEED
    for k in range(half):
        key += _GOLDEN
        total += np.uint64(np.uint32(first[k]) ^ np.uint32(key >> _HALF)) * np.uint64(
            np.uint32(second[k]) ^ np.uint32(key & _LOW)
        )
    for k in range(2 * half, len(words)):
        total = (total ^ np.uint64(np.uint32(words[k]))) * _GOLDEN
    return int(np.int64(total >> np.uint64(1)))


@kernel
def are_equal(first: Int32Array, second: Int32Array) -> bool:
    """Return whether two masks of one width are equal. They mostly are, so nothing is gained by stopping early."""
    differing = np.int32(0)
    for k in range(len(first)):
        differing |= first[k] ^ second[k]
    return bool(differing == 0)
