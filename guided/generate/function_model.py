"""A language model from a plain function: for tests, for remote models, for whatever gives logits."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from guided.errors import ModelError
from guided.generate.model import LanguageModel, Logits, Session
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["FunctionModel"]


class FunctionModel(LanguageModel):
    """A model from a function of all tokens so far.

    Parameters
    ----------
    function : callable
        From a list of token ids to the logits of the next token: anything that NumPy makes an array of shape
        ``(vocabulary.size,)`` of.
    vocabulary : Vocabulary
        Of its tokens.
    encode : callable
        From a str to a list of token ids.
    decode : callable, optional
        From a list of token ids to a str; by default the bytes of the vocabulary.
    """

    def __init__(
        self,
        function: Callable[[list[int]], npt.ArrayLike],
        vocabulary: Vocabulary,
        encode: Callable[[str], Sequence[int]],
        decode: Callable[[list[int]], str] | None = None,
    ) -> None:
        # Why such a block: a function keeps nothing between calls, and shall see a prompt once.
        super().__init__(vocabulary, block=2**31)
        self._function, self._encode, self._decode = function, encode, decode

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, as the given function cuts it."""
        return [int(token) for token in self._encode(text)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        return super().decode(tokens) if self._decode is None else self._decode(list(tokens))

    def session(self) -> Session:
        """A new, empty session."""
        return _FunctionSession(self._function, self.vocabulary.size, self.block)


class _FunctionSession(Session):
    def __init__(self, function: Callable[[list[int]], npt.ArrayLike], size: int, block: int) -> None:
        super().__init__(size, block)
        self._function = function

    def _forward(self, tokens: Sequence[int]) -> Logits:
        given = self._function([*self._tokens, *tokens])
        try:
            return np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ModelError(f"the model's function gave no array of numbers but {type(given).__name__}") from error

    def _truncate(self, n_kept: int) -> None:
        """Nothing is kept besides the tokens."""
