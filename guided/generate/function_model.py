"""A language model made from a plain function: for tests, remote models, and any other source of logits."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from guided.errors import ModelError, kind_of
from guided.generate.model import LanguageModel, Logits, Session
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["FunctionModel", "FunctionSession"]


class FunctionModel(LanguageModel):
    """A model from a function of all tokens so far.

    Parameters
    ----------
    function : callable
        Maps a list of token ids to the logits of the next token, array-like with shape ``(vocabulary.size,)``.
    vocabulary : Vocabulary
        The model's vocabulary.
    encode : callable
        Maps a str to a list of token ids.
    decode : callable, optional
        Maps a list of token ids to a str; by default the bytes of the vocabulary.
    """

    def __init__(
        self,
        function: Callable[[list[int]], npt.ArrayLike],
        vocabulary: Vocabulary,
        encode: Callable[[str], Sequence[int]],
        decode: Callable[[list[int]], str] | None = None,
    ) -> None:
        for name, one in (("function", function), ("encode", encode)):
            if not callable(one):
                raise TypeError(f"{name} must be a function, not {kind_of(one)}")
        # Why this block: a function has no cache between calls, so it should receive a prompt once.
        super().__init__(vocabulary, block=2**31)
        self._function, self._encode, self._decode = function, encode, decode

    def encode(self, text: str) -> list[int]:
        """Encode a text with the given function."""
        return [int(token) for token in self._encode(text)]

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode tokens to a text."""
        return super().decode(tokens) if self._decode is None else self._decode(list(tokens))

    def session(self) -> Session:
        """Return a new, empty session."""
        return FunctionSession(self._function, self.vocabulary.size, self.block)


class FunctionSession(Session):
    """One sequence that a function reads as a whole."""

    def __init__(self, function: Callable[[list[int]], npt.ArrayLike], size: int, block: int) -> None:
        super().__init__(size, block)
        self._function = function

    def _forward(self, tokens: Sequence[int]) -> Logits:
        given = self._function([*self._tokens, *tokens])
        try:
            return np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"the model's function must return an array of numbers, not {type(given).__name__}"
            ) from error

    def _truncate(self, n_kept: int) -> None:
        """Do nothing: there is no cache besides the tokens."""
