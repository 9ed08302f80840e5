"""Small models that need no weights, and the default model."""

import functools

import numpy as np
import pytest

from guided.errors import ModelError
from guided.generate.function_model import FunctionModel
from guided.integrations.load import load
from guided.integrations.transformers import Model
from guided.vocabulary.vocabulary import Vocabulary

ASCII = Vocabulary([bytes([value]) for value in range(128)], eos=[128], size=130)


class CountingModel(FunctionModel):
    """A model whose logits are a pseudo-random function of all tokens so far, and which counts what it is asked."""

    def __init__(self, vocabulary: Vocabulary, seed: int = 0) -> None:
        super().__init__(self._logits, vocabulary, lambda text: list(text.encode()))
        self._seed = seed
        self.asked: list[tuple[int, ...]] = []

    def _logits(self, tokens: list[int]) -> np.ndarray:
        self.asked.append(tuple(tokens))
        return np.random.default_rng([self._seed, *tokens]).normal(size=self.vocabulary.size) * 3


def ascii_model(seed: int = 0) -> CountingModel:
    """One token per ASCII character."""
    return CountingModel(ASCII, seed)


def greedy_text_model(text: str, vocabulary: Vocabulary = ASCII) -> FunctionModel:
    """A model that says one text, byte by byte, and ends then; it also rather ends than says something else."""
    ids = [*text.encode(), vocabulary.eos[0]]

    def logits(tokens: list[int]) -> np.ndarray:
        said = len(tokens) - 1
        result = np.zeros(vocabulary.size)
        result[ids[-1]] = 1
        result[ids[min(said, len(ids) - 1)]] = 5
        return result

    return FunctionModel(logits, vocabulary, lambda text: list(text.encode()))


@functools.cache
def default_model(dtype: str = "bfloat16") -> Model:
    """The default model, loaded once; the test that asks is skipped where it can not be had."""
    try:
        return load(dtype=dtype)
    except ModelError as error:
        pytest.skip(f"the default model is not available: {error}")
