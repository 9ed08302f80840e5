"""File content of an index with a stack: the explored states, as the bytes that lead to them, and their masks.

The automaton is rebuilt from its spec. Reading each state's bytes from its parent fills the tables that it needs, so a file contains no
tables of the automaton, and a loaded index stays lazy.

| array | type | shape | content |
|---|---|---|---|
| ``parent`` | int32 | N - 2 | parent of each state from the third on |
| ``text_indptr`` | int64 | N - 1 | rows of ``text`` |
| ``text`` | uint8 | | bytes read from the parent |
| ``masks`` | int32 | M x words | distinct masks |
| ``mask_of`` | int32 | N | mask of each state, -1 if not kept |

Complexity: O(bytes read + bytes of masks), in both directions.
"""

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import mask_of, mask_words
from guided.index.pushdown import PushdownIndex

__all__ = ["explored_arrays", "restore"]

_TYPES = {"parent": np.int32, "text_indptr": np.int64, "text": np.uint8, "masks": np.int32, "mask_of": np.int32}


def explored_arrays(index: PushdownIndex) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file; none if nothing was explored."""
    n_states = index.explored
    if not n_states:
        return {}
    steps = dict(islice(index.journal.items(), n_states - 2))
    # State numbers have gaps where states were evicted.
    states = [index.initial, index.final, *steps]
    rows = {state: row for row, state in enumerate(states)}
    known = [index.known_mask(state) for state in states]
    numbers: dict[int, int] = {}
    for mask in known:
        if mask is not None:
            numbers.setdefault(id(mask), len(numbers))
    distinct = {numbers[id(mask)]: mask for mask in known if mask is not None}
    return {
        "parent": np.array([rows[parent] for parent, _ in steps.values()], np.int32),
        "text_indptr": np.cumsum([0, *(len(data) for _, data in steps.values())]).astype(np.int64),
        "text": np.frombuffer(b"".join(data for _, data in steps.values()), np.uint8),
        "masks": np.stack([distinct[i] for i in range(len(distinct))]),
        "mask_of": np.array([-1 if mask is None else numbers[id(mask)] for mask in known], np.int32),
    }


def restore(index: PushdownIndex, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Restore a file's states and masks in a new index.

    Raises
    ------
    ValueError
        The arrays do not belong to an index of this automaton and vocabulary.
    """
    if not arrays:
        return
    if {name: array.dtype for name, array in arrays.items()} != {name: np.dtype(kind) for name, kind in _TYPES.items()}:
        raise ValueError("its arrays are missing or of another type")
    parent, indptr, text, masks, mask_numbers = (arrays[name] for name in _TYPES)
    n_states = len(mask_numbers)
    ends_text = mask_of(list(index.vocabulary.eos), index.size)
    readable = mask_of(index.vocabulary.trie.token_ids, index.size) | ends_text
    fits = (
        masks.shape == (len(masks), mask_words(index.size))
        and all(array.ndim == 1 for array in (parent, indptr, text, mask_numbers))
        and len(parent) == n_states - 2
        and len(indptr) == n_states - 1
        and indptr[0] == 0
        and indptr[-1] == len(text)
        and bool((np.diff(indptr) >= 0).all())
        and bool((parent >= 0).all())
        and bool(((mask_numbers >= -1) & (mask_numbers < len(masks))).all())
        and not (masks & ~readable).any()
    )
    if not fits:
        raise ValueError("its arrays contain numbers out of range")
    data, ends = text.tobytes(), indptr.tolist()
    steps = zip(parent.tolist(), ends[:-1], ends[1:], strict=True)
    index.replay({state: (before, data[begin:end]) for state, (before, begin, end) in enumerate(steps, start=2)})
    index.settle(n_states)
    is_empty = [not mask.any() for mask in masks]
    may_end = [bool((mask & ends_text).any()) for mask in masks]
    for state, mask in enumerate(mask_numbers.tolist()):
        if mask >= 0:
            ends = state != index.final and index.is_accepting(state)
            if is_empty[mask] != (state == index.final) or may_end[mask] != ends:
                raise ValueError(f"the mask of state {state} is wrong")
            index.give_mask(state, masks[mask])
    index.settle(n_states)
