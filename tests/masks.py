"""Masks as lists of tokens."""

import numpy as np

__all__ = ["bits"]


def bits(words: np.ndarray) -> list[int]:
    """The tokens of a mask, ascending."""
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()
